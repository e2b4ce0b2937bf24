//! The record of all evaluations.
use crate::outcome::Outcome;
use crate::problem::{Assignment, Problem};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// An assignment and what it gave.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Evaluation {
    /// The assignment.
    pub assignment: Assignment,
    /// What it gave.
    pub outcome: Outcome,
}

/// Everything told so far, each assignment once, and the best of it.
#[derive(Debug, Clone, Default)]
pub struct History {
    evaluations: Vec<Evaluation>,
    index: BTreeMap<Assignment, usize>,
    best: Option<usize>,
}

impl History {
    /// Notes an outcome; one that is known already stays. Gives whether it was new.
    pub fn note(&mut self, problem: &Problem, a: &[u8], o: &Outcome) -> bool {
        if self.index.contains_key(a) {
            return false;
        }
        let at = self.evaluations.len();
        self.index.insert(a.to_vec(), at);
        self.evaluations.push(Evaluation {
            assignment: a.to_vec(),
            outcome: *o,
        });
        let time = |i: usize| self.evaluations[i].outcome.time();
        if problem.accepts(o) && self.best.and_then(time).is_none_or(|t| o.time() < Some(t)) {
            self.best = Some(at);
        }
        true
    }
    /// What an assignment gave.
    pub fn get(&self, a: &[u8]) -> Option<Outcome> {
        self.index.get(a).map(|i| self.evaluations[*i].outcome)
    }
    /// The fastest within the tolerance.
    pub fn best(&self) -> Option<&Evaluation> {
        self.best.map(|i| &self.evaluations[i])
    }
    /// In the order in which they were told.
    pub fn all(&self) -> &[Evaluation] {
        &self.evaluations
    }
}
