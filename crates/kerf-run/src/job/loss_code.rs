//! The program that counts what a plan's scaled formats lose, as a GPU gets it.
use kerf_pass::storage::CountedObject;

/// The program that was made last: a plan is tried on many inputs.
pub(super) struct LossCode {
    /// All that it depends on.
    pub key: String,
    /// Its PTX; empty where nothing is counted.
    pub ptx: String,
    /// What is counted.
    pub objects: Vec<CountedObject>,
}
