//! The program is checked for undefined behaviour before a search: what reads uninitialised memory, races or leaves
//! its buffers has no result that a plan could be compared with.
//!
//! The checks run on the CPU executor, whatever device the search is for. A workload of few threads is checked at its own
//! sizes. Others are checked at much smaller ones first, then at larger ones while [`BUDGET`] lasts; at what sizes is said.
use crate::evaluate::WorkerProgram;
use kerf_exec::ExecError;
use kerf_exec::cpu::SanitizeOptions;
use kerf_exec::worker::WorkerProcess;
use kerf_run::job::{Device, Job, JobError, JobReport};
use kerf_workload::Workload;
use kerf_workload::expand::{ConcreteStep, expand};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long one run of the checks may last where there is no other result yet.
const LIMIT: Duration = Duration::from_secs(20);

/// How long the checks of a workload of many threads may last together, once the smallest sizes have passed; and the first ones of
/// one of few threads that is searched on a GPU, where there are smaller sizes.
const BUDGET: Duration = Duration::from_secs(5);

/// Threads of all launches up to which a workload is checked at its own sizes at once: with every access checked, kernels of
/// the examples take about a second for that many.
const FEW_THREADS: u64 = 1 << 16;

/// Steps of [`smaller`], from the smallest sizes up.
const STEPS: [u32; 3] = [4, 2, 1];

/// How much longer than the last the next run is expected to take, at least: sizes grow fourfold or more.
const GROWTH: u32 = 4;

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

/// What is checked.
#[derive(Debug, Clone)]
pub struct PrecheckRequest {
    /// A job of the program.
    pub job: Job,
    /// What it is checked for.
    pub checks: SanitizeOptions,
    /// The program of workers.
    pub program: WorkerProgram,
}

impl PrecheckRequest {
    /// Checks a workload on one input beside what else goes on: the checks are the CPU's work.
    pub fn start(self, w: Workload, seed: u64) -> RunningCheck {
        RunningCheck(std::thread::spawn(move || check(&self, &w, seed)))
    }
}

/// A check under way.
pub struct RunningCheck(JoinHandle<Result<SanitizerCheck, ExecError>>);

impl RunningCheck {
    /// Whether it has ended.
    pub fn is_finished(&self) -> bool {
        self.0.is_finished()
    }

    /// What it comes to. An error is a fault.
    pub fn result(self) -> Result<SanitizerCheck, ExecError> {
        let why = || "the thread of the checks failed".into();
        let result = self.0.join();
        result.unwrap_or_else(|_| Ok(SanitizerCheck::Not { why: why() }))
    }
}

/// One run of the checks: a report, or none where it did not end.
fn one(
    request: &PrecheckRequest,
    seed: u64,
    overrides: &[(String, i64)],
    limit: Duration,
) -> Result<Option<JobReport>, JobError> {
    // Beside a search on a GPU, which has code to make meanwhile.
    let threads = match request.job.device {
        Device::Cuda => std::thread::available_parallelism()
            .map_or(1, |n| n.get() / 4)
            .max(1),
        Device::Cpu => request.job.threads,
    };
    let job = Job {
        seed: Some(seed),
        device: Device::Cpu,
        memcheck: Some(request.checks),
        threads,
        overrides: overrides.to_vec(),
        reference: false,
        count: None,
        save: None,
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
    let answer: Result<JobReport, JobError> = match w.ask(&job, limit) {
        Ok(a) => a,
        Err(kerf_exec::worker::WorkerError::Timeout(_)) => return Ok(None),
        Err(e) => return Err(failed(e)),
    };
    answer.map(Some)
}

/// Sizes that the file gives as expressions of others: they change when another does.
pub fn derived_sizes(w: &Workload, given: &[(String, i64)]) -> BTreeSet<String> {
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
    let derived = derived_sizes(w, given);
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

/// The workload's own sizes for the CPU, where it has some.
pub(crate) fn cpu_sizes(w: &Workload, given: &[(String, i64)]) -> Option<Vec<(String, i64)>> {
    let by_device = |name: &String| w.sizes_by_device.contains(name);
    let mut sizes: Vec<(String, i64)> = given.to_vec();
    sizes.retain(|(name, _)| !by_device(name));
    let on_cpu = Workload::read(&w.path, &sizes).ok()?;
    for name in &w.sizes_by_device {
        sizes.push((name.clone(), on_cpu.size(name)?));
    }
    (!w.sizes_by_device.is_empty()).then_some(sizes)
}

/// Sizes to check at before the workload's own, from the smallest up.
fn smaller_sizes(w: &Workload, given: &[(String, i64)]) -> Vec<Vec<(String, i64)>> {
    let divided = STEPS.map(|step| smaller(w, given, step));
    let mut all = match cpu_sizes(w, given) {
        Some(own) => [own]
            .into_iter()
            .chain(divided.into_iter().skip(1))
            .collect(),
        None => divided.to_vec(),
    };
    let less = |(name, value): &(String, i64)| w.sizes.iter().any(|s| s.0 == *name && s.1 > *value);
    all.retain(|sizes| sizes.iter().any(less));
    all.dedup();
    all
}

/// Threads of all launches of a run, counted until they are more than are checked at once; as many as can be where the steps
/// cannot be followed.
pub fn launched_threads(w: &Workload) -> u64 {
    let product = |d: [u32; 3]| d.iter().fold(1u64, |n, x| n.saturating_mul(u64::from(*x)));
    let Ok(steps) = expand(w, &w.launch_space.default_params()) else {
        return u64::MAX;
    };
    let mut all = 0u64;
    for step in steps {
        if let Ok(ConcreteStep::Launch(l)) = step {
            all = all.saturating_add(product(l.grid).saturating_mul(product(l.block)));
        }
        if all > FEW_THREADS {
            break;
        }
    }
    all
}

/// Checks the program on one input. An error is a fault, which stops the search.
pub fn check(
    request: &PrecheckRequest,
    w: &Workload,
    seed: u64,
) -> Result<SanitizerCheck, ExecError> {
    let shrinks = !smaller_sizes(w, &request.job.overrides).is_empty();
    match shrinks && launched_threads(w) > FEW_THREADS {
        true => from_small_sizes_up(request, w, seed),
        false => at_own_sizes(request, w, seed),
    }
}

/// The result of a run at the workload's own sizes; none where it did not end.
fn at_own(
    request: &PrecheckRequest,
    seed: u64,
    limit: Duration,
) -> Result<Option<SanitizerCheck>, ExecError> {
    match one(request, seed, &request.job.overrides, limit) {
        Ok(Some(report)) => Ok(Some(SanitizerCheck::Whole {
            notes: report.warnings,
        })),
        Err(JobError::Exec(e @ (ExecError::Fault(_) | ExecError::Undefined { .. }))) => Err(e),
        Err(e) => Ok(Some(SanitizerCheck::Not { why: e.to_string() })),
        Ok(None) => Ok(None),
    }
}

/// At the workload's own sizes, and only where that does not end at smaller ones.
fn at_own_sizes(
    request: &PrecheckRequest,
    w: &Workload,
    seed: u64,
) -> Result<SanitizerCheck, ExecError> {
    // A search on a GPU ends sooner than that.
    let soon =
        request.job.device == Device::Cuda && !smaller_sizes(w, &request.job.overrides).is_empty();
    let whole = at_own(request, seed, if soon { BUDGET } else { LIMIT })?;
    Ok(whole.unwrap_or_else(|| at_smaller_sizes(request, w, seed)))
}

/// At the smallest sizes first, then at larger ones, the workload's own at last, as far as [`BUDGET`] goes.
fn from_small_sizes_up(
    request: &PrecheckRequest,
    w: &Workload,
    seed: u64,
) -> Result<SanitizerCheck, ExecError> {
    let clock = Instant::now();
    let mut passed: Option<(SanitizerCheck, Duration)> = None;
    // Of the next run; none where it would not end in time.
    let limit_after = |last: Option<Duration>| match last {
        None => Some(LIMIT),
        Some(last) => {
            let left = BUDGET.saturating_sub(clock.elapsed());
            (left > GROWTH * last).then_some(left)
        }
    };
    for sizes in smaller_sizes(w, &request.job.overrides) {
        let Some(limit) = limit_after(passed.as_ref().map(|p| p.1)) else {
            break;
        };
        let started = clock.elapsed();
        match one(request, seed, &sizes, limit) {
            Ok(Some(report)) => {
                let notes = report.warnings;
                let took = clock.elapsed() - started;
                passed = Some((SanitizerCheck::Smaller { sizes, notes }, took));
            }
            Ok(None) => break,
            // It may be these sizes' alone: the workload's own decide.
            Err(_) => return at_own_sizes(request, w, seed),
        }
    }
    let Some((smaller, last)) = passed else {
        let why = format!("it did not end within {} s", LIMIT.as_secs());
        return Ok(SanitizerCheck::Not { why });
    };
    let whole = match limit_after(Some(last)) {
        Some(limit) => at_own(request, seed, limit)?,
        None => None,
    };
    Ok(whole.unwrap_or(smaller))
}

fn at_smaller_sizes(request: &PrecheckRequest, w: &Workload, seed: u64) -> SanitizerCheck {
    let mut why = format!("it did not end within {} s", LIMIT.as_secs());
    for sizes in smaller_sizes(w, &request.job.overrides) {
        match one(request, seed, &sizes, LIMIT) {
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
