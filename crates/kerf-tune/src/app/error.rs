//! Why the tuner of applications gives no result.
use super::acceptance::Incomparable;
use super::run::{RunFailure, UndefinedBehaviour};
use super::values::NoValues;
use crate::duration::TooLong;
use crate::problem::ProblemError;
use crate::result::ResultError;
use crate::store::StoreError;
use kerf_files::LockError;
use kerf_search::StrategyError;

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
pub enum AppError {
    /// The program itself does not run.
    #[error("{0}; help: {1}")]
    Program(RunFailure, &'static str),
    /// The program has undefined behaviour.
    #[error(
        "{0}; help: mend the kernel; KERF_DEVICE=cpu KERF_MEMCHECK=1 shows the same; --allow KIND searches all the same"
    )]
    Undefined(UndefinedBehaviour),
    /// Nothing to compare.
    #[error("{0}; help: {1}")]
    Values(NoValues, &'static str),
    /// The program's own numbers are none to compare with.
    #[error("the application's own output cannot be compared with: {0}; help: {1}")]
    Reference(Incomparable, &'static str),
    /// It gives something else each time.
    #[error(
        "the application's output changes from run to run: {0}, and the tolerance is {1:e}; help: fix its seed, compare something steadier (--stdout-pattern, --metric), or raise the tolerance"
    )]
    Unsteady(String, f64),
    /// A kernel that it does not launch.
    #[error("the application launches no kernel `{0}`; it launches {1}")]
    NoKernel(String, String),
    /// No kernels.
    #[error(
        "the application launches no kernel with floating-point operations; help: check its arguments"
    )]
    NoKernels,
    /// Device code.
    #[error("{0}")]
    Module(String),
    /// Nothing to tune.
    #[error(transparent)]
    Problem(#[from] ProblemError),
    /// The strategy.
    #[error(transparent)]
    Strategy(#[from] StrategyError),
    /// Hours, which nobody confirmed.
    #[error(transparent)]
    Long(#[from] TooLong),
    /// Another process uses the folder.
    #[error(transparent)]
    Locked(#[from] LockError),
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The folder.
    #[error(transparent)]
    Result(#[from] ResultError),
    /// No measured time.
    #[error(
        "the time pattern `{0}` matches nothing in the application's output; help: try it with grep -E"
    )]
    NoTime(String),
}
