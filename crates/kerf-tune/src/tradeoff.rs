//! The trade-off between time and error over the part of the warps that runs approximate math: after Li et
//! al., "SFU-driven transparent approximation acceleration on GPUs" (2016), sections 5.3 to 7.
mod choice;

use crate::approx::Approx;
use crate::group::Grouping;
use crate::problem::{ProblemError, TuningScope, for_scope};
use crate::setting::PARTS;
use crate::subject::Subject;
use kerf_pass::{Plan, Select};
use kerf_run::job::{CallComparison, Swept};
use kerf_search::problem::NoModels;
use kerf_search::session::run;
use kerf_search::{Level, Outcome, Problem, Search, StrategyName, Variable};
use serde::{Deserialize, Serialize};

/// The versions of a program that a sweep needs.
#[derive(Debug, Clone)]
pub struct Versions {
    /// Every math call at its cheapest.
    pub cheap: Plan,
    /// The same in half of the warps, by hash.
    pub parts: Plan,
    /// The same, by hardware slot.
    pub slots: Plan,
    /// What is compared with whole-kernel fast-math.
    pub choice: CallComparison,
    /// Approximate calls, for people: `exp line 50`.
    pub calls: Vec<String>,
    /// Kernels that keep one version, and why.
    pub single: Vec<(String, String)>,
}

/// The versions of a subject.
pub fn versions(subject: &Subject) -> Result<Versions, ProblemError> {
    let of = |select: Select| {
        let scope = TuningScope {
            formats: &[],
            raise: false,
            by: Grouping::Site,
            storage: false,
            scaled: None,
            approx: Some(Approx {
                calls: false,
                warps: Some(select),
            }),
            layout: false,
            records: false,
            blocks: false,
            code: false,
            algebra: None,
            made: None,
        };
        for_scope(subject, &scope)
    };
    let (hash, slot) = (of(Select::Hash)?, of(Select::Slot)?);
    let mut calls = Vec::new();
    for (at, site) in hash.math.keys() {
        let s = &subject.kernels[*at].sites[*site];
        let line = s.location.as_ref().map_or(0, |l| l.line);
        let text = format!("{} line {line}", s.op);
        if !calls.contains(&text) {
            calls.push(text);
        }
    }
    let cheap = hash.plan(subject, &[PARTS]);
    Ok(Versions {
        choice: choice::choice(subject, &hash, &cheap),
        cheap,
        parts: hash.plan(subject, &[PARTS / 2]),
        slots: slot.plan(subject, &[PARTS / 2]),
        calls,
        single: hash.single,
    })
}

/// How well a line fits a curve.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CurveFit {
    /// Part of the variance that the least-squares line explains.
    pub r2: f64,
    /// The largest distance from the straight line between the curve's ends, over its range.
    pub bend: f64,
}

/// The straight line through a curve; none for fewer than three points or a curve without a range.
pub fn fit(points: &[(f64, f64)]) -> Option<CurveFit> {
    if points.len() < 3 || points.iter().any(|p| !p.1.is_finite()) {
        return None;
    }
    let n = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / n;
    let (mx, my) = (mean(|p| p.0), mean(|p| p.1));
    let (mut xx, mut xy, mut yy) = (0.0, 0.0, 0.0);
    for (x, y) in points {
        xx += (x - mx) * (x - mx);
        xy += (x - mx) * (y - my);
        yy += (y - my) * (y - my);
    }
    let values = || points.iter().map(|p| p.1);
    let range = values().fold(f64::NEG_INFINITY, f64::max) - values().fold(f64::INFINITY, f64::min);
    if !(xx > 0.0 && yy > 0.0 && range > 0.0) {
        return None;
    }
    let (a, b) = (points[0], points[points.len() - 1]);
    let line = |x: f64| a.1 + (x - a.0) / (b.0 - a.0) * (b.1 - a.1);
    let bend = points
        .iter()
        .map(|p| (p.1 - line(p.0)).abs())
        .fold(0.0, f64::max)
        / range;
    Some(CurveFit {
        r2: xy * xy / (xx * yy),
        bend,
    })
}

/// What a strategy comes to on a curve.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Searched {
    /// Its name.
    pub strategy: String,
    /// Fraction of the warps.
    pub lambda: f64,
    /// Runs that it asked for. The program as it is is known and not one of them.
    pub runs: usize,
    /// Time over that of the program; none on the CPU.
    pub time: Option<f64>,
    /// Mean relative error.
    pub error: f64,
}

/// A workload's trade-off.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Tradeoff {
    /// Workload.
    pub name: String,
    /// Approximate calls.
    pub calls: Vec<String>,
    /// Line through times.
    pub time_fit: Option<CurveFit>,
    /// Line through errors.
    pub error_fit: Option<CurveFit>,
    /// SMP, HEU and OMG at the ratio.
    pub searches: Vec<Searched>,
    /// Everything measured.
    pub swept: Swept,
}

/// Time over that of the program as it is: of the two versions where only some warps run the second, of the
/// fully approximate program where all do.
pub fn time_at(s: &Swept, i: usize) -> Option<f64> {
    let d = s.degrees.get(i)?;
    let own = s.own.as_ref()?.median_s;
    let mine = match (d.lambda >= 1.0, d.lambda <= 0.0) {
        (true, _) => s.cheap.as_ref()?.median_s,
        (_, true) => own,
        _ => d.times.as_ref()?.median_s,
    };
    Some(mine / own)
}

impl Tradeoff {
    /// From what was measured. Without times, as on the CPU, searches take the largest degree for the
    /// fastest.
    pub fn new(name: String, calls: Vec<String>, swept: Swept, ratio: f64) -> Tradeoff {
        let errors: Vec<(f64, f64)> = swept
            .degrees
            .iter()
            .map(|d| (d.lambda, d.error.mean_rel))
            .collect();
        let times: Vec<(f64, f64)> = swept
            .degrees
            .iter()
            .filter_map(|d| Some((d.lambda, d.times.as_ref()?.median_s)))
            .collect();
        let last = errors.last().map_or(0.0, |e| e.1);
        let searches = [StrategyName::Smp, StrategyName::Heu, StrategyName::Omg]
            .into_iter()
            .filter_map(|s| search(s, &swept, &errors, ratio * last))
            .collect();
        Tradeoff {
            time_fit: fit(&times),
            error_fit: fit(&errors),
            searches,
            name,
            calls,
            swept,
        }
    }
}

fn search(
    name: StrategyName,
    s: &Swept,
    errors: &[(f64, f64)],
    tolerance: f64,
) -> Option<Searched> {
    let levels = errors.iter().map(|e| Level::named(format!("{:.4}", e.0)));
    let variable = Variable::new("lambda", levels.collect());
    let problem = Problem::precision(vec![variable], Vec::new(), tolerance);
    let budget = errors.len() + 1;
    let at = Search {
        problem: &problem,
        models: &NoModels,
        seed: 1,
        budget,
    };
    let mut strategy = name.start(at).ok()?;
    let done = run(&problem, &mut *strategy, budget, |a| {
        let i = usize::from(a[0]);
        let time = time_at(s, i).unwrap_or(1.0 - 0.5 * errors[i].0);
        Outcome::ran(errors[i].1, time)
    });
    let best = done.best?.assignment[0] as usize;
    Some(Searched {
        strategy: name.to_string(),
        lambda: errors[best].0,
        runs: done.executed.len(),
        time: time_at(s, best),
        error: errors[best].1,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_fits_itself_and_a_bend_is_seen() {
        let line: Vec<(f64, f64)> = (0..9)
            .map(|i| (f64::from(i), 3.0 - 0.25 * f64::from(i)))
            .collect();
        let f = fit(&line).expect("a fit");
        assert!((f.r2 - 1.0).abs() < 1e-12 && f.bend < 1e-12);
        let square: Vec<(f64, f64)> = (0..=10).map(|i| (f64::from(i), f64::from(i * i))).collect();
        let f = fit(&square).expect("a fit");
        assert!(f.r2 < 0.96);
        assert!((f.bend - 0.25).abs() < 1e-12);
        assert_eq!(fit(&[(0.0, 1.0), (1.0, 1.0), (2.0, 1.0)]), None);
    }
}
