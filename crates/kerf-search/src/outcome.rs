//! What an evaluation gave, and the record of all of them.
use crate::problem::{Assignment, Problem};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;

/// What came of running an assignment.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It could not be built, crashed or hung.
    Failed,
    /// It ran.
    Ran {
        /// In the unit of the tolerance. Infinite (`null` in JSON) if outputs were not numbers.
        #[serde(serialize_with = "write_error", deserialize_with = "read_error")]
        error: f64,
        /// Over that of the program as it is.
        time: f64,
    },
}

/// JSON has no infinity, and serde_json writes it as `null`; said here so that it holds.
fn write_error<S: Serializer>(e: &f64, s: S) -> Result<S::Ok, S::Error> {
    Some(*e).filter(|e| e.is_finite()).serialize(s)
}

fn read_error<'de, D: Deserializer<'de>>(d: D) -> Result<f64, D::Error> {
    Ok(Option::<f64>::deserialize(d)?.unwrap_or(f64::INFINITY))
}

impl Outcome {
    /// It ran. An error that is not a number is taken as infinite.
    pub fn ran(error: f64, time: f64) -> Outcome {
        let error = if error.is_nan() { f64::INFINITY } else { error };
        Outcome::Ran { error, time }
    }
    /// Its error, if it ran.
    pub fn error(&self) -> Option<f64> {
        match *self {
            Outcome::Failed => None,
            Outcome::Ran { error, .. } => Some(error),
        }
    }
    /// Its time, if it ran.
    pub fn time(&self) -> Option<f64> {
        match *self {
            Outcome::Failed => None,
            Outcome::Ran { time, .. } => Some(time),
        }
    }
}

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
