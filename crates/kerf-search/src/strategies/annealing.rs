//! Simulated annealing: steps to neighbours, also to slower ones while it is hot.
use super::existing::Existing;
use super::walk::NeighbourWalk;
use crate::problem::Search;
use crate::rng::Rng;
use crate::script::{Missing, Script, ScriptProbe, Scripted};
use crate::strategy::{Reason, Strategy};

/// Differences of the logarithm of time that are taken for nothing, at the start and at the end.
const HOT: f64 = 0.3;
const COLD: f64 = 0.003;

/// Steps without anything new, for each variable, after which it starts elsewhere.
const PATIENCE: usize = 40;

struct Annealing<'p> {
    existing: Existing<'p>,
}

impl Script for Annealing<'_> {
    fn play(&self, search: &Search, probe: &ScriptProbe) -> Result<Reason, Missing> {
        let mut rng = Rng::new(search.seed ^ 0xa11);
        let mut walk = NeighbourWalk::new(search, probe);
        let patience = PATIENCE * search.problem.variables.len().max(1);
        while let Some(mut at) = walk.fresh(&mut rng) {
            let mut now = walk.rate(&at)?;
            let mut idle = 0;
            while idle < patience {
                let spent = walk.seen() as f64 / search.budget.max(1) as f64;
                let heat = HOT * (COLD / HOT).powf(spent.min(1.0));
                let next = self.existing.step(&at, &mut rng);
                idle = if walk.has_seen(&next) { idle + 1 } else { 0 };
                let then = walk.rate(&next)?;
                let worse = then - now;
                // Also true where both failed: then any step is as good.
                if then <= now || (worse.is_finite() && rng.chance((-worse / heat).exp())) {
                    (at, now) = (next, then);
                }
            }
        }
        Ok(Reason::Exhausted)
    }
}

/// Simulated annealing.
pub fn annealing(search: Search<'_>) -> impl Strategy + '_ {
    let existing = Existing::new(search.problem);
    Scripted::new(search, Annealing { existing })
}
