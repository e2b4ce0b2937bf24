//! What a strategy is.
use crate::history::{Evaluation, History};
use crate::outcome::Outcome;
use crate::problem::Assignment;
use serde::{Deserialize, Serialize};

/// What a strategy wants next.
#[derive(Debug, Clone, PartialEq)]
pub enum StrategyStep {
    /// One evaluation.
    Evaluate(Assignment),
    /// Several, in any order; all are told, in this order, before the next question.
    Batch(Vec<Assignment>),
    /// Nothing more.
    Done(Reason),
}

/// Why a search ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// Everything there is was evaluated.
    Exhausted,
    /// No change of the kind that the strategy makes is better.
    LocalOptimum,
    /// Nothing better was found for so long that the strategy gave up.
    Stalled,
    /// Nothing that was not evaluated is likely to be better and within the tolerance.
    Bracketed,
    /// No executions are left.
    Budget,
}

impl Reason {
    /// For people.
    pub fn words(self) -> &'static str {
        match self {
            Reason::Exhausted => "all evaluated",
            Reason::LocalOptimum => "local optimum",
            Reason::Stalled => "stalled",
            Reason::Bracketed => "optimum bracketed",
            Reason::Budget => "budget used",
        }
    }
}

/// A way to search. The same seed and the same outcomes give the same questions.
pub trait Strategy {
    /// What to evaluate next.
    fn ask(&mut self) -> StrategyStep;
    /// The outcome of something asked for.
    fn tell(&mut self, a: &[u8], o: &Outcome);
    /// What it may well ask for after what it asked for last, the likeliest first; nothing where it has no idea.
    fn likely(&self) -> Vec<Assignment> {
        Vec::new()
    }
    /// Whether it can be asked again before it was told what came of earlier questions.
    fn asks_ahead(&self) -> bool {
        false
    }
    /// All that was told.
    fn history(&self) -> &History;
    /// What it would give as its result: always something whose outcome was within the tolerance.
    fn best(&self) -> Option<&Evaluation> {
        self.history().best()
    }
}
