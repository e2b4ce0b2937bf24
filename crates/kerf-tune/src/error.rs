//! Why a search gives no result.
use crate::criteria::CriteriaError;
use crate::duration::TooLong;
use crate::problem::ProblemError;
use crate::result::ResultError;
use crate::store::StoreError;
use crate::subject::SubjectError;
use kerf_exec::ExecError;
use kerf_files::LockError;
use kerf_run::job::JobError;
use kerf_search::StrategyError;

/// Why there is no result. A tolerance that cannot be met is a result.
#[derive(Debug, thiserror::Error)]
pub enum TuneError {
    /// The workload.
    #[error(transparent)]
    Subject(#[from] SubjectError),
    /// Nothing to tune.
    #[error(transparent)]
    Problem(#[from] ProblemError),
    /// The tolerance.
    #[error(transparent)]
    Criteria(#[from] CriteriaError),
    /// The strategy.
    #[error(transparent)]
    Strategy(#[from] StrategyError),
    /// The program itself does not run.
    #[error(transparent)]
    Baseline(#[from] JobError),
    /// Undefined behaviour.
    #[error("{0}\nwhat the program gives is chance, and there is nothing to tune")]
    Undefined(ExecError),
    /// Nothing can be compared.
    #[error(
        "every value of the reference is NaN or infinite ({0}), so there is nothing to compare; help: check the inputs (kerf run --reference shows the outputs)"
    )]
    NoReference(String),
    /// The program makes NaN, and nobody said that they are meant.
    #[error(
        "the program makes NaN of finite inputs: {0}; help: correct the inputs, or where NaN are meant, write `allow_nan = true` in the workload's [accept]"
    )]
    MakesNan(String),
    /// A ratio of nothing.
    #[error(
        "a ratio of quality needs the error of the fully approximate version: {0}; help: use --tolerance or --qos"
    )]
    NoRatio(String),
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
}
