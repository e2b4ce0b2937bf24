//! The program is checked for undefined behaviour before a search: what reads uninitialised memory, races or leaves
//! its buffers has no result that a plan could be compared with.
//!
//! The checks run on the CPU executor, whatever device the search is for. Where they do not end in time at the
//! workload's sizes they are tried at smaller ones, and what was not checked is said.
use crate::request::TuneRequest;
use kerf_exec::ExecError;
use kerf_exec::worker::WorkerProcess;
use kerf_run::job::{Device, Job, JobError, JobReport};
use kerf_workload::Workload;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::time::Duration;

/// How long one run of the checks may last.
const LIMIT: Duration = Duration::from_secs(20);

/// Sizes below this are left alone.
const SMALL: i64 = 64;

/// What came of it, where no fault stops the search.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "extent", rename_all = "snake_case")]
pub enum SanitizerCheck {
    /// Nothing was found, at the sizes of the workload.
    Whole {
        /// What was noticed.
        notes: Vec<String>,
    },
    /// Nothing was found at smaller sizes; those of the workload take too long.
    Smaller {
        /// The sizes that were checked.
        sizes: Vec<(String, i64)>,
        /// What was noticed.
        notes: Vec<String>,
    },
    /// It could not be checked.
    Not {
        /// Why.
        why: String,
    },
}

impl SanitizerCheck {
    /// What was noticed.
    pub fn notes(&self) -> &[String] {
        match self {
            SanitizerCheck::Whole { notes } | SanitizerCheck::Smaller { notes, .. } => notes,
            SanitizerCheck::Not { .. } => &[],
        }
    }

    /// What was not checked, if that is not nothing.
    pub fn gap(&self) -> Option<String> {
        match self {
            SanitizerCheck::Whole { .. } => None,
            SanitizerCheck::Smaller { sizes, .. } => {
                let at: Vec<String> = sizes.iter().map(|(n, v)| format!("{n}={v}")).collect();
                Some(format!(
                    "checked for undefined behaviour at {} only: at the sizes asked for that takes too long",
                    at.join(" ")
                ))
            }
            SanitizerCheck::Not { why } => Some(format!(
                "the program was not checked for undefined behaviour: {why}"
            )),
        }
    }
}

/// One run of the checks: a report, or none where it did not end.
fn one(
    request: &TuneRequest,
    seed: u64,
    overrides: &[(String, i64)],
) -> Result<Option<JobReport>, JobError> {
    let job = Job {
        seed: Some(seed),
        device: Device::Cpu,
        memcheck: Some(request.checks),
        overrides: overrides.to_vec(),
        reference: false,
        baseline: false,
        warmup: 0,
        repeats: 1,
        sample_s: 0.0,
        energy_s: 0.0,
        ..request.job.clone()
    };
    let args: Vec<&str> = request.program.args.iter().map(String::as_str).collect();
    let failed = |e: kerf_exec::worker::WorkerError| JobError::Worker(e.to_string());
    let mut w = WorkerProcess::start(&request.program.path, &args).map_err(failed)?;
    let answer: Result<JobReport, JobError> = match w.ask(&job, LIMIT) {
        Ok(a) => a,
        Err(kerf_exec::worker::WorkerError::Timeout(_)) => return Ok(None),
        Err(e) => return Err(failed(e)),
    };
    answer.map(Some)
}

/// Sizes that the file gives as expressions of others: they change when another does.
fn derived(w: &Workload, given: &[(String, i64)]) -> BTreeSet<String> {
    let mut out = BTreeSet::new();
    for (name, value) in &w.sizes {
        let mut other = given.to_vec();
        other.retain(|(n, _)| n != name);
        other.push((name.clone(), value / 2 + 1));
        if let Ok(changed) = Workload::read(&w.path, &other) {
            let moved = w.sizes.iter().zip(&changed.sizes);
            out.extend(
                moved
                    .filter(|(a, b)| a.0 != *name && a != b)
                    .map(|(a, _)| a.0.clone()),
            );
        }
    }
    out
}

/// The sizes of a workload divided by 4 as often as `step` says, where they are large.
fn smaller(w: &Workload, given: &[(String, i64)], step: u32) -> Vec<(String, i64)> {
    let derived = derived(w, given);
    let shrunk = |v: i64| match v / 4i64.pow(step) {
        less if v > SMALL => less.max(SMALL),
        _ => v,
    };
    let own = w.sizes.iter().filter(|(n, _)| !derived.contains(n));
    let mut out: Vec<(String, i64)> = own.map(|(n, v)| (n.clone(), shrunk(*v))).collect();
    out.extend(
        given
            .iter()
            .filter(|(n, _)| !w.sizes.iter().any(|(s, _)| s == n))
            .cloned(),
    );
    out
}

/// Checks the program on one input. An error is a fault, which stops the search.
pub fn check(request: &TuneRequest, w: &Workload, seed: u64) -> Result<SanitizerCheck, ExecError> {
    match one(request, seed, &request.job.overrides) {
        Ok(Some(report)) => Ok(SanitizerCheck::Whole {
            notes: report.warnings,
        }),
        Err(JobError::Exec(e @ (ExecError::Fault(_) | ExecError::Undefined { .. }))) => Err(e),
        Err(e) => Ok(SanitizerCheck::Not { why: e.to_string() }),
        Ok(None) => Ok(at_smaller_sizes(request, w, seed)),
    }
}

fn at_smaller_sizes(request: &TuneRequest, w: &Workload, seed: u64) -> SanitizerCheck {
    let mut why = format!("it did not end within {} s", LIMIT.as_secs());
    for step in [1, 2, 4] {
        let sizes = smaller(w, &request.job.overrides, step);
        match one(request, seed, &sizes) {
            Ok(Some(report)) => {
                return SanitizerCheck::Smaller {
                    sizes,
                    notes: report.warnings,
                };
            }
            Ok(None) => {}
            // A fault at sizes that nobody asked for may be theirs alone: it is said, and does not stop the search.
            Err(e) => {
                let at: Vec<String> = sizes.iter().map(|(n, v)| format!("{n}={v}")).collect();
                why = format!("{why}, and at {}: {e}", at.join(" "));
                break;
            }
        }
    }
    SanitizerCheck::Not { why }
}
