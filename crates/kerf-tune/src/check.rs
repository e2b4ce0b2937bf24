//! A result on inputs that neither its search nor its validation has seen.
use crate::evaluate::{Evaluator, PlanEvaluation, WorkerProgram};
use crate::result::{self, ResultError, SearchVerdict, TuneResult};
use crate::store::{Store, StoreError};
use crate::subject::{Subject, SubjectError};
use crate::validate::{Excuse, Trials, Validation, Validator};
use kerf_run::job::{Device, Job};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Why a result could not be checked.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// The folder.
    #[error(transparent)]
    Result(#[from] ResultError),
    /// The workload.
    #[error(transparent)]
    Subject(#[from] SubjectError),
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The program is another one now.
    #[error(
        "the program has changed since it was tuned, and the plan numbers its operations; help: tune again"
    )]
    Changed,
    /// No room for what is computed on the way.
    #[error("no temporary folder: {0}")]
    Temporary(std::io::Error),
}

/// How to check.
pub struct CheckRequest {
    /// Result folder.
    pub dir: PathBuf,
    /// Device and toolchain; the workload, its sizes and its seed come from the result.
    pub job: Job,
    /// Inputs.
    pub inputs: usize,
    /// How workers are started.
    pub program: WorkerProgram,
    /// Time limit of one evaluation.
    pub limit: Duration,
    /// Evaluations at a time.
    pub workers: usize,
}

/// What came of it.
#[derive(Debug)]
pub struct ResultCheck {
    /// The result.
    pub result: TuneResult,
    /// On fresh inputs.
    pub validation: Validation,
}

/// The workload of a result: as it was named, or beside the result's folder's parent.
fn job(request: &CheckRequest, result: &TuneResult) -> Job {
    Job {
        workload: result.workload.clone(),
        overrides: result.overrides.clone(),
        seed: Some(result.input.seed),
        threads: match (request.job.device, request.workers > 1) {
            (Device::Cpu, true) => 1,
            _ => request.job.threads,
        },
        ..request.job.clone()
    }
}

/// Validates a result on fresh inputs, all of them, however many fail.
pub fn check(
    request: &CheckRequest,
    tell: impl FnMut(usize, &PlanEvaluation),
) -> Result<ResultCheck, CheckError> {
    let (result, plan) = result::read(&request.dir)?;
    let mut job = job(request, &result);
    let subject = Subject::load(&job.workload, &job.overrides, &job.toolchain())?;
    if subject.digest() != result.program {
        return Err(CheckError::Changed);
    }
    let own = tempfile::tempdir().map_err(CheckError::Temporary)?;
    job.references = Some(own.path().join("references"));
    let file = |dir: &Path| dir.join(crate::store::FILE);
    let mut store = Store::open(&file(own.path()), &json!({}), false)?;
    let evaluator = Evaluator::new(
        job,
        result.criteria.clone(),
        request.program.clone(),
        request.limit,
        request.workers,
    );
    let before = result.validation.as_ref();
    let demoted = result.demoted.iter().map(|d| d.validation.used);
    let trials = Trials {
        inputs: request.inputs,
        perturb: before.map_or(DEFAULT_PERTURB, |v| v.perturb),
        confidence: before.map_or(DEFAULT_CONFIDENCE, |v| v.confidence),
        skip: demoted.chain(before.map(|v| v.used)).max().unwrap_or(0),
    };
    let validation = Validator {
        evaluator: &evaluator,
        store: &mut store,
        tuned: result.input,
        digest: result.inputs.clone(),
        hard: Vec::new(),
        excuse: match result.verdict {
            // The program itself misses the tolerance everywhere.
            SearchVerdict::Raised => Excuse::Nothing,
            _ => Excuse::Program,
        },
    }
    .run(&result.assignment, &plan, &trials, true, tell)?;
    Ok(ResultCheck { result, validation })
}

/// Changes over the spread of the values.
pub const DEFAULT_PERTURB: f64 = 0.001;

/// Confidence of bounds.
pub const DEFAULT_CONFIDENCE: f64 = 0.95;
