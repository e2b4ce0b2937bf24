//! Static pruning (Ryoo et al. 2008, "Program optimization space pruning for a multithreaded GPU"): only what
//! no other beats in both efficiency and utilisation is run.
use crate::problem::{Assignment, Metrics, Search};
use crate::rng::Rng;
use crate::script::{Missing, Script, ScriptProbe, Scripted};
use crate::strategies::{LARGEST, every};
use crate::strategy::{Reason, Strategy};
use crate::strategy_name::{StrategyError, StrategyName};

struct Ryoo {
    front: Vec<Assignment>,
}

/// What no other beats in both, the more efficient first; of equals all stay.
fn front(mut all: Vec<(Metrics, Assignment)>) -> Vec<Assignment> {
    all.sort_by(|(x, _), (y, _)| {
        let by = y.efficiency.total_cmp(&x.efficiency);
        by.then(y.utilisation.total_cmp(&x.utilisation))
    });
    let mut out = Vec::new();
    let mut best: Option<Metrics> = None;
    for (m, a) in all {
        let kept = best.is_none_or(|b| m.utilisation > b.utilisation || m == b);
        if kept {
            best = Some(m);
            out.push(a);
        }
    }
    out
}

impl Script for Ryoo {
    fn play(&self, _: &Search, probe: &ScriptProbe) -> Result<Reason, Missing> {
        probe.all(&self.front)?;
        Ok(Reason::Exhausted)
    }
}

/// Runs the front of the two static metrics, in random order.
pub fn ryoo(search: Search<'_>) -> Result<impl Strategy + '_, StrategyError> {
    let size = search.problem.size();
    if size > LARGEST {
        return Err(StrategyError::TooLarge(size, LARGEST));
    }
    let rated: Vec<(Metrics, Assignment)> = every(search.problem)
        .into_iter()
        .filter_map(|a| Some((search.models.metrics(&a)?, a)))
        .filter(|(m, _)| m.efficiency.is_finite() && m.utilisation.is_finite())
        .collect();
    if rated.is_empty() {
        return Err(StrategyError::NoMetrics(StrategyName::Ryoo));
    }
    let mut front = front(rated);
    Rng::new(search.seed).shuffle(&mut front);
    Ok(Scripted::new(search, Ryoo { front }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_nothing_beats_in_both_stays() {
        let m = |efficiency, utilisation| Metrics {
            efficiency,
            utilisation,
        };
        let all = [
            (m(1.0, 1.0), vec![0]),
            (m(2.0, 0.5), vec![1]),
            (m(0.5, 0.9), vec![2]),
            (m(2.0, 0.4), vec![3]),
            (m(1.0, 1.0), vec![4]),
            (m(0.1, 2.0), vec![5]),
        ];
        assert_eq!(front(all.to_vec()), [vec![1], vec![0], vec![4], vec![5]]);
    }
}
