//! Constants of the model that are fitted to recorded times.
use serde::{Deserialize, Serialize};

/// What no probe tells: fitted to recorded times.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct FittedConstants {
    /// Exponent with which the work of warps and the bytes that memory moves add up: between the longer and the sum. Warps
    /// that begin together ask for memory at the same time, and compute at the same time.
    pub across: f64,
    /// What loads take longer than a probe's, behind those of other warps.
    pub behind: f64,
    /// Cases in which threads that part by their numbers part together; in the others they are independent.
    pub together: f64,
    /// Exponent in how many of an access's sectors a warp waits for: none for one of them, one where all are independent.
    pub sectors: f64,
}

impl Default for FittedConstants {
    fn default() -> FittedConstants {
        FittedConstants {
            across: 2.0,
            behind: 1.7,
            together: 0.25,
            sectors: 0.5,
        }
    }
}
