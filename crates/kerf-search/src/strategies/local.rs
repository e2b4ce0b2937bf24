//! Greedy local search: the first better neighbour, again from a random place when there is none.
use super::existing::Existing;
use super::walk::NeighbourWalk;
use crate::problem::Search;
use crate::rng::Rng;
use crate::script::{Missing, Script, ScriptProbe, Scripted};
use crate::strategy::{Reason, Strategy};

struct Local<'p> {
    existing: Existing<'p>,
}

impl Script for Local<'_> {
    fn play(&self, search: &Search, probe: &ScriptProbe) -> Result<Reason, Missing> {
        let mut rng = Rng::new(search.seed ^ 0x10ca1);
        let mut walk = NeighbourWalk::new(search, probe);
        while let Some(mut at) = walk.fresh(&mut rng) {
            let mut now = walk.rate(&at)?;
            // From what failed there is no way down.
            let mut better = now.is_finite();
            while better {
                better = false;
                let mut near = self.existing.neighbours(&at);
                rng.shuffle(&mut near);
                for next in near {
                    let then = walk.rate(&next)?;
                    if then < now {
                        (at, now, better) = (next, then, true);
                        break;
                    }
                }
            }
        }
        Ok(Reason::Exhausted)
    }
}

/// Greedy local search from random places.
pub fn local(search: Search<'_>) -> impl Strategy + '_ {
    let existing = Existing::new(search.problem);
    Scripted::new(search, Local { existing })
}
