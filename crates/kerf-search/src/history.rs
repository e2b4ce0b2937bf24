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

/// Everything told so far, each assignment once, and the best of it; behind that, what is expected of assignments whose
/// outcomes are not known yet.
#[derive(Debug, Clone, Default)]
pub struct History {
    /// What was told, then what is expected.
    evaluations: Vec<Evaluation>,
    /// How many were told.
    told: usize,
    index: BTreeMap<Assignment, usize>,
    best: Option<usize>,
}

impl History {
    /// Notes an outcome; one that is known already stays. Gives whether it was new, and then nothing is expected any more.
    pub fn note(&mut self, problem: &Problem, a: &[u8], o: &Outcome) -> bool {
        if self.is_told(a) {
            return false;
        }
        self.forget_expected();
        let at = self.told;
        self.told += 1;
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
    /// Takes an outcome for what an assignment will give, until anything is told. It is never the best.
    pub fn expect(&mut self, a: Assignment, o: Outcome) {
        if self.is_told(&a) {
            return;
        }
        self.index.insert(a.clone(), self.evaluations.len());
        self.evaluations.push(Evaluation {
            assignment: a,
            outcome: o,
        });
    }
    /// Forgets what is expected; gives whether anything was.
    pub fn forget_expected(&mut self) -> bool {
        let expected = self.evaluations.split_off(self.told);
        for e in &expected {
            self.index.remove(&e.assignment);
        }
        !expected.is_empty()
    }
    /// Whether the outcome of an assignment was told.
    pub fn is_told(&self, a: &[u8]) -> bool {
        self.index.get(a).is_some_and(|i| *i < self.told)
    }
    /// What an assignment gave, or is expected to give.
    pub fn get(&self, a: &[u8]) -> Option<Outcome> {
        self.index.get(a).map(|i| self.evaluations[*i].outcome)
    }
    /// The fastest within the tolerance.
    pub fn best(&self) -> Option<&Evaluation> {
        self.best.map(|i| &self.evaluations[i])
    }
    /// In the order in which they were told, then those that are expected.
    pub fn all(&self) -> &[Evaluation] {
        &self.evaluations
    }
}
