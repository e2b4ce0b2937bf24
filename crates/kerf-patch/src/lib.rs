//! A plan carried into the user's source by ordinary means: declarations, casts, literals, math calls, launch bounds.
//!
//! * [`ast`] asks clang what the program is, [`model`] has its declarations and which of them change together.
//! * [`marks`] says what the plan wants where, [`solve`] finds the formats of declarations, [`walk`] the edits.
//! * [`split`] copies functions that the plan computes in two formats.
//! * [`tries`] runs the patched source as `kerf tune` runs plans; [`patch`] takes back what does not hold.
//!
//! Nothing is promised that was not run: what a patch gives is what its own source gave.
#![warn(missing_docs)]

pub mod ast;
pub mod defines;
pub mod edits;
pub mod host;
pub mod launch;
pub mod loader;
pub mod marks;
pub mod math;
pub mod model;
pub mod patch;
pub mod solve;
#[cfg(test)]
mod solve_tests;
pub mod source;
pub mod split;
#[cfg(test)]
mod tests;
pub mod toml;
pub mod tries;
pub mod types;
pub mod walk;

use std::path::PathBuf;

/// Why there is no patch.
#[derive(Debug, thiserror::Error)]
pub enum PatchError {
    /// The folder.
    #[error(transparent)]
    Result(#[from] kerf_tune::result::ResultError),
    /// The workload.
    #[error(transparent)]
    Subject(#[from] kerf_tune::subject::SubjectError),
    /// The program is another one now.
    #[error(
        "{0} has changed since it was tuned, and the plan is about the program as it was; help: tune again"
    )]
    Changed(String),
    /// There is no source to change.
    #[error(
        "{0} is no CUDA C++ or OpenCL C; help: the result's plan.json and tuned.ptx carry the plan"
    )]
    NoSource(PathBuf),
    /// The result has no plan.
    #[error("the result has no plan to carry into source: {0}")]
    NoPlan(String),
    /// clang.
    #[error("the source could not be read: {0}")]
    Clang(String),
    /// No room.
    #[error("no temporary folder: {0}")]
    Temporary(std::io::Error),
}
