//! Everything, in order.
use crate::problem::{Assignment, Problem, Search};
use crate::script::{Missing, Script, ScriptProbe, Scripted};
use crate::strategy::{Reason, Strategy};
use crate::strategy_name::StrategyError;

/// The largest space that is gone through.
pub const LARGEST: u64 = 1 << 20;

/// Assignments asked for at a time.
const BATCH: usize = 4096;

struct Exhaustive;

/// The assignment after this one, by allowed levels, the last variable fastest.
fn advance(problem: &Problem, a: &mut Assignment) -> bool {
    for (l, v) in a.iter_mut().zip(&problem.variables).rev() {
        match v.allowed().find(|next| *next > *l) {
            Some(next) => {
                *l = next;
                return true;
            }
            None => *l = 0,
        }
    }
    false
}

/// Every assignment of a problem, in order.
pub fn every(problem: &Problem) -> Vec<Assignment> {
    if let Some(points) = &problem.points {
        return points.clone();
    }
    let mut a = problem.identity();
    let mut out = vec![a.clone()];
    while advance(problem, &mut a) {
        out.push(a.clone());
    }
    out
}

impl Script for Exhaustive {
    fn play(&self, search: &Search, probe: &ScriptProbe) -> Result<Reason, Missing> {
        for some in every(search.problem).chunks(BATCH) {
            probe.all(some)?;
        }
        Ok(Reason::Exhausted)
    }
}

/// Goes through the whole space, if it is not larger than [`LARGEST`].
pub fn exhaustive(search: Search<'_>) -> Result<impl Strategy + '_, StrategyError> {
    match search.problem.size() {
        n if n > LARGEST => Err(StrategyError::TooLarge(n, LARGEST)),
        _ => Ok(Scripted::new(search, Exhaustive)),
    }
}
