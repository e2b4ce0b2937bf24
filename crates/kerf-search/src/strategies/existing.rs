//! Which assignments exist, and single steps from one to another.
use super::listed::Listed;
use crate::problem::{Assignment, Problem};
use crate::rng::Rng;
use crate::strategies::draw;

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
