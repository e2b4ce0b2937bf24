//! One plan of an application, evaluated: runs of the program, its error and its time.
use super::acceptance::{self, Incomparable};
use super::error::AppError;
use super::request::AppRequest;
use super::run::{AppRunner, RunFailure};
use super::values::{self, NoValues, Values, values};
use crate::evaluate::PlanEvaluation;
use crate::result::write;
use kerf_pass::{Plan, SiteFormat};
use serde_json::json;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Why a plan has no error: what its runs did.
#[derive(Debug, Clone, thiserror::Error)]
pub enum EvaluationFailure {
    /// It was not run.
    #[error("")]
    NotRun,
    /// A run failed.
    #[error(transparent)]
    Run(#[from] RunFailure),
    /// A run gave no numbers.
    #[error(transparent)]
    Values(#[from] NoValues),
    /// Its numbers cannot be compared with those of the original program.
    #[error(transparent)]
    Incomparable(#[from] Incomparable),
}

/// What one evaluation gave.
pub(super) struct Evaluation {
    pub error: Result<f64, EvaluationFailure>,
    /// The number that is furthest off, in words, and whether it is small beside the others.
    pub worst: (String, bool),
    pub time: Option<f64>,
    pub wall_s: f64,
}

/// An application whose plans are evaluated.
pub(super) struct App<'r> {
    pub request: &'r AppRequest,
    pub runner: &'r AppRunner,
    /// Numbers of the original program.
    pub reference: &'r Values,
    /// Its time, where times are measured.
    pub base_time: Option<f64>,
    /// Time limit of one run.
    pub limit: Duration,
    pub started: Instant,
}

/// Whatever else goes on on the machine only adds to a time: the least is the program's own.
pub(super) fn least(all: &[f64]) -> f64 {
    all.iter().copied().fold(f64::INFINITY, f64::min)
}

/// Writes a plan as the runtime reads it; gives its file.
pub(super) fn save(
    dir: &Path,
    plan: &Plan,
    held: &BTreeMap<usize, SiteFormat>,
) -> Result<PathBuf, AppError> {
    let json = |v: serde_json::Result<String>| v.map_err(|e| AppError::Module(e.to_string()));
    let buffers = json(serde_json::to_string_pretty(
        &json!({ "allocations": held }),
    ))? + "\n";
    write(&dir.join("buffers.json"), buffers.as_bytes())?;
    let path = dir.join("plan.json");
    let text = json(serde_json::to_string_pretty(plan))? + "\n";
    write(&path, text.as_bytes())?;
    Ok(path)
}

impl App<'_> {
    /// Is the time for the search used?
    pub fn over(&self) -> bool {
        let most = self.request.most;
        most.is_some_and(|m| self.started.elapsed() >= m)
    }

    pub fn evaluate(
        &self,
        plan: &Plan,
        held: &BTreeMap<usize, SiteFormat>,
    ) -> Result<Evaluation, AppError> {
        let clock = Instant::now();
        let path = save(&self.runner.scratch, plan, held)?;
        let request = self.request;
        let (mut error, mut times, mut worst) = (
            Err(EvaluationFailure::NotRun),
            Vec::new(),
            Default::default(),
        );
        for _ in 0..request.runs() {
            let kernels = request.time.times_kernels();
            let ran = match self.runner.run(Some(&path), self.limit, kernels) {
                Ok(r) => r,
                Err(e) => {
                    error = Err(e.into());
                    break;
                }
            };
            let v = values(&request.source, &ran, &self.runner.trace());
            error = v.map_err(EvaluationFailure::from).and_then(|v| {
                worst = values::worst(&v, self.reference, request.floor);
                let error = acceptance::error(&v, self.reference, &request.criterion());
                error.map_err(EvaluationFailure::from)
            });
            if error.is_err() {
                break;
            }
            times.extend(request.time.seconds(&ran)?);
            // Beyond the tolerance its time is of little interest: once is enough.
            if error.as_ref().is_ok_and(|e| *e > request.tolerance) {
                break;
            }
        }
        let time = match (self.base_time, times.is_empty()) {
            (Some(b), false) if b > 0.0 => Some(least(&times) / b),
            _ => None,
        };
        Ok(Evaluation {
            error,
            worst,
            time,
            wall_s: clock.elapsed().as_secs_f64(),
        })
    }
}

/// An evaluation as the store keeps it.
pub(super) fn kept(e: &Evaluation, device: &str) -> PlanEvaluation {
    PlanEvaluation {
        error: e.error.as_ref().ok().copied().filter(|v| v.is_finite()),
        device: device.to_owned(),
        wall_s: e.wall_s,
        ..PlanEvaluation::failed_with(e.error.as_ref().err().map(ToString::to_string))
    }
}
