//! Each group lowered alone: its effect on every output, before the search.
use super::{Meanwhile, Tuner};
use crate::result::Alone;
use crate::store::{Phase, StoreError};
use kerf_search::{Assignment, Problem};

/// Groups with more levels (parts of the warps) are no formats, and are left out.
const MOST_LEVELS: usize = 8;

impl Tuner<'_> {
    /// Runs each group alone at each of its levels that is not forbidden, and writes the errors into the
    /// problem. Gives how many there are.
    pub(crate) fn each_alone(&mut self, problem: &mut Problem) -> Result<usize, StoreError> {
        let all = singles(problem);
        for (_, _, a) in &all {
            for phase in [Phase::Probe, Phase::Search] {
                if let Some(e) = self.store.get(phase, a, &self.input)? {
                    self.known.insert(a.clone(), e);
                }
            }
        }
        let new: Vec<Assignment> = all
            .iter()
            .map(|s| s.2.clone())
            .filter(|a| !self.known.contains_key(a))
            .collect();
        self.evaluate(Phase::Probe, &new, (0, new.len()), Meanwhile::default())?;
        for (i, l, a) in &all {
            let error = self.known.get(a).and_then(|e| e.error);
            problem.variables[*i].levels[*l].error = error;
        }
        Ok(all.len())
    }

    /// What is known of one group alone, level by level.
    pub(crate) fn alone(&self, group: usize) -> Vec<Alone> {
        let g = &self.tunable.groups[group];
        let mut out = Vec::new();
        if g.formats.len() > MOST_LEVELS {
            return out;
        }
        for (l, format) in g.formats.iter().enumerate().skip(1) {
            let mut a = vec![0; self.tunable.groups.len()];
            a[group] = l as u8;
            if let Some(e) = self.known.get(&a) {
                out.push(Alone {
                    format: *format,
                    error: e.error.filter(|_| e.failure.is_none()),
                    outputs: e.outputs.clone(),
                    failure: e.failure.clone(),
                });
            }
        }
        out
    }
}

/// Variable, level and assignment of every single change.
fn singles(problem: &Problem) -> Vec<(usize, usize, Assignment)> {
    let mut all = Vec::new();
    for (i, v) in problem.variables.iter().enumerate() {
        if v.levels.len() > MOST_LEVELS {
            continue;
        }
        for (l, level) in v.levels.iter().enumerate().skip(1) {
            if !level.veto {
                let mut a = problem.identity();
                a[i] = l as u8;
                all.push((i, l, a));
            }
        }
    }
    all
}
