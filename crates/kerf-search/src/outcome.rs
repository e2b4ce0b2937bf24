//! What an evaluation gave.
use serde::{Deserialize, Deserializer, Serialize, Serializer};

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
