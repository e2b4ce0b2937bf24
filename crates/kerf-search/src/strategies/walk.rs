//! What the classical searches share: what was seen, and a number for each outcome.
use super::genetic::fitness;
use crate::outcome::Outcome;
use crate::problem::{Assignment, Search};
use crate::rng::Rng;
use crate::script::{Missing, ScriptProbe};
use crate::strategies::draw;
use std::collections::BTreeSet;

/// Draws after which a space counts as seen.
const TRIES: usize = 2000;

/// A search under way: what it has seen, and a number for each outcome.
pub struct NeighbourWalk<'r> {
    search: &'r Search<'r>,
    probe: &'r ScriptProbe<'r>,
    seen: BTreeSet<Assignment>,
}

impl<'r> NeighbourWalk<'r> {
    /// Nothing is seen yet.
    pub fn new(search: &'r Search<'r>, probe: &'r ScriptProbe<'r>) -> NeighbourWalk<'r> {
        NeighbourWalk {
            search,
            probe,
            seen: BTreeSet::new(),
        }
    }
    /// How good an assignment is: the logarithm of time, infinite if it failed; with a tolerance, the
    /// penalty of the genetic algorithms.
    pub fn rate(&mut self, a: &[u8]) -> Result<f64, Missing> {
        let o = self.probe.one(a)?;
        self.seen.insert(a.to_vec());
        Ok(self.value(&o))
    }
    fn value(&self, o: &Outcome) -> f64 {
        let problem = self.search.problem;
        match (o.time(), problem.tolerance) {
            (None, _) => f64::INFINITY,
            (Some(t), None) => t.ln(),
            (Some(t), Some(_)) => fitness(problem, t, o),
        }
    }
    /// How many were seen.
    pub fn seen(&self) -> usize {
        self.seen.len()
    }
    /// Whether one was seen.
    pub fn has_seen(&self, a: &[u8]) -> bool {
        self.seen.contains(a)
    }
    /// Where to start: the program as it is, if what it gives is known; then something new at random; none
    /// when a space is as good as seen.
    pub fn fresh(&self, rng: &mut Rng) -> Option<Assignment> {
        let problem = self.search.problem;
        if problem.baseline.is_some() && self.seen.is_empty() {
            return Some(problem.identity());
        }
        for _ in 0..TRIES {
            let a = draw(problem, rng);
            if !self.seen.contains(&a) {
                return Some(a);
            }
        }
        let mut points = problem.points.iter().flatten();
        points.find(|p| !self.seen.contains(*p)).cloned()
    }
}
