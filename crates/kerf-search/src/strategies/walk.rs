//! What the classical searches share: which assignments exist, a number for each outcome, and single steps.
use super::genetic::fitness;
use super::listed::Listed;
use crate::outcome::Outcome;
use crate::problem::{Assignment, Problem, Search};
use crate::rng::Rng;
use crate::script::{Missing, Probe};
use crate::strategies::draw;
use std::collections::BTreeSet;

/// Draws after which a space counts as seen.
const TRIES: usize = 2000;

/// The assignments that exist.
pub struct Existing<'p> {
    problem: &'p Problem,
    listed: Option<Listed<'p>>,
}

impl<'p> Existing<'p> {
    /// Of a problem.
    pub fn new(problem: &'p Problem) -> Existing<'p> {
        let points = problem.points.as_ref();
        Existing {
            listed: points.map(|p| Listed::new(problem, p)),
            problem,
        }
    }
    /// Whether there is such an assignment.
    pub fn has(&self, a: &[u8]) -> bool {
        match &self.listed {
            Some(l) => l.find(a).is_some(),
            None => self.problem.allows(a),
        }
    }
    /// All that differ in one variable.
    pub fn neighbours(&self, a: &[u8]) -> Vec<Assignment> {
        let mut out = Vec::new();
        let mut b = a.to_vec();
        for (d, v) in self.problem.variables.iter().enumerate() {
            for l in v.allowed().filter(|l| *l != a[d]) {
                b[d] = l;
                if self.has(&b) {
                    out.push(b.clone());
                }
            }
            b[d] = a[d];
        }
        out
    }
    /// One that differs in one variable, or, if there is none, any.
    pub fn step(&self, a: &[u8], rng: &mut Rng) -> Assignment {
        let n = a.len().max(1);
        for _ in 0..8 * n {
            let d = rng.below(n);
            let Some(v) = self.problem.variables.get(d) else {
                break;
            };
            let all: Vec<u8> = v.allowed().filter(|l| *l != a[d]).collect();
            let near: Vec<u8> = all
                .iter()
                .copied()
                .filter(|l| l.abs_diff(a[d]) == 1)
                .collect();
            // Values next to this one half of the time, any otherwise.
            let from = if rng.chance(0.5) && !near.is_empty() {
                &near
            } else {
                &all
            };
            let Some(l) = rng.pick(from) else { continue };
            let mut b = a.to_vec();
            b[d] = *l;
            if self.has(&b) {
                return b;
            }
        }
        draw(self.problem, rng)
    }
}

/// A search under way: what it has seen, and a number for each outcome.
pub struct Walk<'r> {
    search: &'r Search<'r>,
    probe: &'r Probe<'r>,
    seen: BTreeSet<Assignment>,
}

impl<'r> Walk<'r> {
    /// Nothing is seen yet.
    pub fn new(search: &'r Search<'r>, probe: &'r Probe<'r>) -> Walk<'r> {
        Walk {
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
        Ok(self.of(&o))
    }
    fn of(&self, o: &Outcome) -> f64 {
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
