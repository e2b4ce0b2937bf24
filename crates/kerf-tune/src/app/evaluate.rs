//! One plan of an application, evaluated: runs of the program, its error and its time.
use super::acceptance::{self, Incomparable};
use super::error::AppError;
use super::replay::Replayer;
use super::request::AppRequest;
use super::run::AppDevice;
use super::run::{AppRunner, Ran, RunFailure, least};
use super::values::{self, NoValues, ValueSource, Values, values};
use crate::evaluate::PlanEvaluation;
use crate::result::write;
use kerf_exec::replay::WorstNumber;
use kerf_pass::{Plan, SiteFormat};
use serde_json::json;
use std::cell::OnceCell;
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

/// The error of a run, and the number that is furthest off.
type Judged = (Result<f64, EvaluationFailure>, WorstNumber);

/// What one evaluation gave.
pub(super) struct Evaluation {
    pub error: Result<f64, EvaluationFailure>,
    pub worst: WorstNumber,
    pub time: Option<f64>,
    pub wall_s: f64,
}

/// An application whose plans are evaluated.
pub(super) struct App<'r> {
    pub request: &'r AppRequest,
    pub runner: &'r AppRunner,
    /// Replays of its recorded run, where they stand for it.
    pub replayer: Option<&'r Replayer>,
    /// Numbers of the original program.
    pub reference: &'r Values,
    /// Its time, where times are measured.
    pub base_time: Option<f64>,
    /// Time limit of one run.
    pub limit: Duration,
    /// When the search began: the first time that anybody asked whether its time is used.
    pub started: OnceCell<Instant>,
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
        let started = self.started.get_or_init(Instant::now);
        self.request.most.is_some_and(|m| started.elapsed() >= m)
    }

    /// One run of a plan, replayed or of the program: its error, and the number that is furthest off.
    fn run(&self, plan: &Path) -> Result<(Ran, Judged), EvaluationFailure> {
        let kernels = self.request.time.times_kernels();
        if let Some(r) = self.replayer {
            let criterion = self.request.criterion();
            let (ran, judged) = r.run(Some(plan), self.limit, kernels, &criterion)?;
            let error = acceptance::error_by(judged.judgement).map_err(EvaluationFailure::from);
            return Ok((ran, (error, judged.worst)));
        }
        let ran = self.runner.run(Some(plan), self.limit, kernels)?;
        let v = values(&self.request.source, &ran, &self.runner.trace())?;
        Ok((ran, self.error(&v)))
    }

    /// The error of a program's numbers, and the number that is furthest off.
    fn error(&self, v: &Values) -> Judged {
        let worst = values::worst(v, self.reference, self.request.floor);
        let error = acceptance::error(v, self.reference, &self.request.criterion());
        (error.map_err(EvaluationFailure::from), worst)
    }

    /// Is the program asked for its verdict on a plan that was replayed? What it copies from the device stands for its
    /// output as long as it is within the tolerance, until the plan is chosen; a plan that is no faster is of no interest.
    fn asks_program(&self, error: &Result<f64, EvaluationFailure>, time: Option<f64>) -> bool {
        let request = self.request;
        let is_within = error.as_ref().is_ok_and(|e| *e <= request.tolerance);
        let ran = !matches!(error, Err(EvaluationFailure::Run(_)));
        let is_faster = time.is_none_or(|t| t < 1.0);
        let is_open = match request.source {
            ValueSource::Copies => is_within,
            _ => !is_within || request.require.is_some(),
        };
        self.replayer.is_some() && request.program_decides() && ran && is_faster && is_open
    }

    /// The program's own verdict on a plan.
    fn verdict(&self, plan: &Path) -> Judged {
        let ran = self.runner.run(Some(plan), self.limit, false);
        let v = ran
            .map_err(EvaluationFailure::from)
            .and_then(|ran| Ok(values(&self.request.source, &ran, &self.runner.trace())?));
        match v {
            Ok(v) => self.error(&v),
            Err(e) => (Err(e), WorstNumber::default()),
        }
    }

    pub fn evaluate(
        &self,
        plan: &Plan,
        held: &BTreeMap<usize, SiteFormat>,
    ) -> Result<Evaluation, AppError> {
        let clock = Instant::now();
        let path = save(&self.runner.scratch, plan, held)?;
        let request = self.request;
        let mut error = Err(EvaluationFailure::NotRun);
        let (mut times, mut worst) = (Vec::new(), WorstNumber::default());
        for _ in 0..request.runs() {
            let (ran, judged) = match self.run(&path) {
                Ok(r) => r,
                Err(e) => {
                    error = Err(e);
                    break;
                }
            };
            (error, worst) = judged;
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
        if self.asks_program(&error, time) {
            (error, worst) = self.verdict(&path);
        }
        Ok(Evaluation {
            error,
            worst,
            time,
            wall_s: clock.elapsed().as_secs_f64(),
        })
    }
}

/// An evaluation as the store keeps it.
pub(super) fn kept(e: &Evaluation, device: AppDevice) -> PlanEvaluation {
    PlanEvaluation {
        error: e.error.as_ref().ok().copied().filter(|v| v.is_finite()),
        device: device.to_string(),
        wall_s: e.wall_s,
        ..PlanEvaluation::failed_with(e.error.as_ref().err().map(ToString::to_string))
    }
}
