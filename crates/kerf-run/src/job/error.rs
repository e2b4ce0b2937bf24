//! Why a job failed.
use crate::advice::advice;
use crate::other_launches::LaunchesError;
use crate::run::RunError;
use crate::storage::HoldingError;
use kerf_clang::compile::CompileError;
use kerf_exec::ExecError;
use kerf_exec::worker::WorkerError;
use kerf_pass::PlanError;
use kerf_workload::mistakes::Mistakes;
use serde::{Deserialize, Serialize};

/// Why a job failed; a value, not a crash.
#[derive(Debug, Clone, Serialize, Deserialize, thiserror::Error)]
pub enum JobError {
    /// The workload file, its inputs or its arguments are wrong.
    #[error("{0}")]
    Input(String),
    /// The source does not compile.
    #[error("{message}")]
    Compile {
        /// What happened.
        message: String,
        /// What to do about it.
        help: Option<String>,
    },
    /// A kernel uses what the device cannot do.
    #[error("{0}")]
    Unsupported(String),
    /// The executor failed.
    #[error("{0}")]
    Exec(ExecError),
    /// The worker died or ran out of time.
    #[error("{0}")]
    Worker(String),
    /// A run changed memory that was not its own: nothing of it counts, nor anything else on the device.
    #[error("the run wrote beyond its buffers: {0} changed on the device")]
    Overwritten(String),
}

impl JobError {
    /// The worker that tells of it is of no more use: a context in which a kernel failed fails from then on.
    pub fn spoils_worker(&self) -> bool {
        matches!(
            self,
            JobError::Exec(
                ExecError::Device { .. }
                    | ExecError::Launch {
                        context_lives: false,
                        ..
                    }
            ) | JobError::Overwritten(_)
        )
    }
}

/// Why a worker process gave no report of a job.
#[derive(Debug, Clone, thiserror::Error)]
pub enum NoReport {
    /// The worker did not start, died or ran out of time.
    #[error(transparent)]
    Worker(#[from] WorkerError),
    /// The job failed.
    #[error(transparent)]
    Job(#[from] JobError),
}

impl From<NoReport> for JobError {
    fn from(e: NoReport) -> Self {
        match e {
            NoReport::Worker(e) => JobError::Worker(e.to_string()),
            NoReport::Job(e) => e,
        }
    }
}
impl From<HoldingError> for JobError {
    fn from(e: HoldingError) -> JobError {
        JobError::Input(e.to_string())
    }
}

impl From<CompileError> for JobError {
    fn from(e: CompileError) -> Self {
        JobError::Compile {
            message: e.to_string(),
            help: Some(advice(&e).to_owned()),
        }
    }
}
impl From<RunError> for JobError {
    fn from(e: RunError) -> Self {
        match e {
            RunError::Exec(e) => JobError::Exec(e),
            other => JobError::Input(other.to_string()),
        }
    }
}
impl From<LaunchesError> for JobError {
    fn from(e: LaunchesError) -> Self {
        JobError::Input(e.to_string())
    }
}
impl From<Mistakes> for JobError {
    fn from(e: Mistakes) -> Self {
        JobError::Input(e.to_string())
    }
}
impl From<PlanError> for JobError {
    fn from(e: PlanError) -> Self {
        let help = match &e {
            PlanError::Malformed(_) | PlanError::Version(_) | PlanError::Pass(_) => "",
            PlanError::UnknownKernel { .. } | PlanError::UnknownSite { .. } => {
                "; help: kerf inspect FILE --all lists kernels and sites"
            }
            PlanError::Storage { .. } | PlanError::SharedVariable { .. } => {
                "; help: take the buffer out of the plan's storage, or hold it alike everywhere (--plan)"
            }
            PlanError::Variant { .. } => {
                "; help: take the site out of the plan's math; kerf inspect FILE --all shows the variants of each site"
            }
            PlanError::Made { .. } => "; help: take the site out of the plan's `made` (--plan)",
            PlanError::Block { .. } => {
                "; help: take `block`, `regroup` or `reblock` out of the plan, or launch with that block (--plan)"
            }
            PlanError::Rewriting { .. }
            | PlanError::RewrittenVariant { .. }
            | PlanError::RewrittenTwice(_) => "; help: take `rewrites` out of the plan (--plan)",
            PlanError::Records { .. } | PlanError::RecordsTwice(_) => {
                "; help: take the buffer out of the plan's `records` (--plan); kerf inspect FILE --emit plan --records-as planes names those that can be stored so"
            }
            PlanError::Code { .. } => "; help: take `code` out of the plan (--plan)",
            PlanError::Coarsen { .. } => "; help: take `coarsen` out of the plan (--plan)",
            PlanError::Partition { .. } => "; help: take the partition out of the plan (--plan)",
            PlanError::Refused { .. } | PlanError::Shared { .. } => {
                "; help: take the site out of the plan (--plan); kerf inspect FILE --emit plan --all-as FORMAT names those that can have a format"
            }
        };
        JobError::Input(format!("{e}{help}"))
    }
}
impl From<ExecError> for JobError {
    fn from(e: ExecError) -> Self {
        JobError::Exec(e)
    }
}
