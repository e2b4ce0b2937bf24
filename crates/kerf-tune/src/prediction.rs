//! What models say of an assignment before it runs: its time, and its errors.
//!
//! A cost model predicts the time of an assignment over that of the program as it is; a sensitivity profile predicts errors
//! and forbids formats.
use kerf_pass::count::LocalError;
use kerf_search::Assignment;
use serde::{Deserialize, Serialize};

/// Cores that compile and predict.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Predicts time.
pub trait TimePredictor {
    /// Time over that of the program as it is; none if it cannot be told.
    fn predict(&self, a: &Assignment) -> Option<f64>;
    /// Several will be asked for: what they need can be made at once.
    fn prepare(&self, _all: &[Assignment]) {}
    /// How many take no longer than one, if they are prepared together.
    fn at_once(&self) -> usize {
        1
    }
    /// What it is, for results: a predicted time is never shown without it.
    fn describe(&self) -> String;
}

/// Predicts errors.
pub trait ErrorPredictor {
    /// Error, in the unit of the tolerance, of one group alone at a level.
    fn error(&self, group: usize, level: u8) -> Option<f64>;
    /// Why a group must not have a level: an overflow that was seen coming.
    fn veto(&self, group: usize, level: u8) -> Option<String>;
    /// What the operations of a group lose at a level, each by itself.
    fn local(&self, _group: usize, _level: u8) -> Option<LocalError> {
        None
    }
}

/// Nothing is known of errors before something ran.
pub struct Unknown;

impl ErrorPredictor for Unknown {
    fn error(&self, _group: usize, _level: u8) -> Option<f64> {
        None
    }
    fn veto(&self, _group: usize, _level: u8) -> Option<String> {
        None
    }
}

/// Which cost model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CostKind {
    /// From a counting run and a device profile.
    Counts,
    /// The static score of AMPT-GA, with the profile's throughputs as weights.
    Static,
}
