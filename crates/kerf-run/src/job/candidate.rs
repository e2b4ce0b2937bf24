//! A candidate beside the original, on one input: errors of both against the original's reference, and what else sets them
//! apart. All of it on the CPU executor, in a worker that keeps the code of both programs from one input to the next.
//!
//! Each program runs checked for undefined behaviour, then on zeroed memory, behind runs on other inputs, and in another
//! order of blocks with other contents of its memory. What the original does not stand up to says nothing of the candidate.
mod comparison;
mod defect;
mod programs;
mod runs;

pub use defect::{CandidateFinding, CandidateReport, Defect, LeftOut, OutputErrors};

use super::execute::read_workload;
use super::finished::Libdevice;
use super::report::Output;
use super::shadowed::{Reference, ReferenceCode, reference};
use super::{Device, Job, JobError, Patched};
use crate::other_launches::LaunchedWorkload;
use comparison::{compared, error_of, measured, rejected, rejection, sensitivity, writes};
use kerf_clang::compile::{Purpose, Toolchain};
use kerf_exec::cpu::CpuOptions;
use kerf_ir::program;
use kerf_num::metrics::Rejection;
use kerf_workload::generate::special::InputChange;
use kerf_workload::workload::Workload;
use programs::{JudgedProgram, checked_run, code_of, session_of};
use runs::{RunPlan, Runs, fresh_run, runs};
use serde::{Deserialize, Serialize};

/// An input that a candidate is tried on.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CandidateJob {
    /// The original's workload with the candidate as its `patched` program; sizes, seed, acceptance and checks of this input.
    pub job: Job,
    /// Inputs at the edges of their formats.
    pub change: InputChange,
    /// Runs on other inputs before the second.
    pub earlier_runs: u32,
    /// Only the original runs: does the input count?
    pub original_only: bool,
}

/// Both programs, each as it is and as it is checked.
struct Pair {
    /// All that the compilations depend on.
    key: String,
    own: JudgedProgram,
    own_checked: JudgedProgram,
    other: JudgedProgram,
    other_checked: JudgedProgram,
}

/// What one input leaves for the next in the same process.
#[derive(Default)]
pub struct CandidateBench {
    pair: Option<Pair>,
    libdevice: Libdevice,
    references: ReferenceCode,
}

/// The original on an input.
struct OriginalRuns {
    reference: Reference,
    runs: Runs,
    /// Compared with the reference, by output.
    outputs: Vec<Output>,
    poisoned: bool,
}

/// Which program of the pair, compiled how.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Which {
    Own,
    Other,
}

fn candidate_of(job: &Job) -> Result<&Patched, JobError> {
    let missing = || JobError::Worker("the job has no candidate".into());
    job.patched.as_ref().ok_or_else(missing)
}

/// The message of a run that failed, and whether it was the kernels that failed.
enum RunFailure {
    Kernel(Defect, String),
    Other(JobError),
}

impl From<JobError> for RunFailure {
    fn from(e: JobError) -> RunFailure {
        let defect = match &e {
            JobError::Exec(e) => Defect::from_failure(e),
            _ => None,
        };
        match defect {
            Some(d) => RunFailure::Kernel(d, e.to_string()),
            None => RunFailure::Other(e),
        }
    }
}

impl CandidateBench {
    /// Compiles both programs, unless they are there; why the candidate cannot be compiled, where it cannot.
    fn compile(
        &mut self,
        job: &Job,
        workload: &Workload,
    ) -> Result<Option<CandidateFinding>, JobError> {
        let candidate = candidate_of(job)?;
        let flags = workload.flags_at(&workload.launch_space.default_params());
        let key = format!("{:?} {flags:?} {candidate:?}", workload.source);
        if self.pair.as_ref().is_some_and(|p| p.key == key) {
            return Ok(None);
        }
        let tools = job.toolchain();
        let sanitizing = Toolchain {
            purpose: Purpose::Sanitizing,
            ..job.toolchain()
        };
        let own = |t: &Toolchain| crate::compile::own_program(workload, t);
        let other = |t: &Toolchain| program::load(t, &candidate.source, &candidate.flags);
        let (own, own_checked) = (own(&tools)?, own(&sanitizing)?);
        let (other, other_checked) = match (other(&tools), other(&sanitizing)) {
            (Ok(a), Ok(b)) => (a, b),
            (Err(e), _) | (_, Err(e)) => {
                return Ok(Some(CandidateFinding {
                    defect: Defect::NotCompiled,
                    buffer: None,
                    message: e.to_string(),
                }));
            }
        };
        self.pair = Some(Pair {
            key,
            own: JudgedProgram::load(own)?,
            own_checked: JudgedProgram::load(own_checked)?,
            other: JudgedProgram::load(other)?,
            other_checked: JudgedProgram::load(other_checked)?,
        });
        Ok(None)
    }

    /// Tries the candidate on one input.
    pub fn try_candidate(&mut self, c: &CandidateJob) -> Result<CandidateReport, JobError> {
        let mut report = CandidateReport::default();
        let own = match read_workload(&c.job) {
            Ok(workload) => LaunchedWorkload {
                workload,
                declared: None,
            },
            Err(JobError::Input(m)) => {
                report.left_out = Some(LeftOut::Impossible(m));
                return Ok(report);
            }
            Err(e) => return Err(e),
        };
        if let Some(f) = self.compile(&c.job, &own.workload)? {
            report.findings.push(f);
            return Ok(report);
        }
        let original = match self.original(c, &own, &mut report)? {
            Ok(o) => o,
            Err(why) => {
                report.left_out = Some(why);
                return Ok(report);
            }
        };
        if c.original_only {
            return Ok(report);
        }
        self.candidate(c, &own, &original, &mut report)?;
        Ok(report)
    }

    /// The checked run of one of the programs.
    fn checked(
        &mut self,
        c: &CandidateJob,
        which: Which,
        launched: &LaunchedWorkload,
    ) -> Result<Vec<String>, JobError> {
        let Some(checks) = c.job.memcheck else {
            return Ok(Vec::new());
        };
        let tools = c.job.toolchain();
        let CandidateBench {
            pair, libdevice, ..
        } = self;
        let gone = || JobError::Worker("the programs are gone".into());
        let pair = pair.as_mut().ok_or_else(gone)?;
        let p = match which {
            Which::Own => &mut pair.own_checked,
            Which::Other => &mut pair.other_checked,
        };
        checked_run(p, c, launched, (libdevice, &tools), checks)
    }

    /// The original on an input; or why the input says nothing.
    fn original(
        &mut self,
        c: &CandidateJob,
        own: &LaunchedWorkload,
        report: &mut CandidateReport,
    ) -> Result<Result<OriginalRuns, LeftOut>, JobError> {
        let left_out = |e: JobError| match RunFailure::from(e) {
            RunFailure::Kernel(_, m) => Ok(Err(LeftOut::OriginalFaults(m))),
            RunFailure::Other(JobError::Input(m)) => Ok(Err(LeftOut::Impossible(m))),
            RunFailure::Other(JobError::Exec(e)) => Ok(Err(LeftOut::Impossible(e.to_string()))),
            RunFailure::Other(e) => Err(e),
        };
        match self.checked(c, Which::Own, own) {
            Ok(notes) => report.notes.extend(notes),
            Err(e) => return left_out(e),
        }
        match self.original_runs(c, own, report) {
            Ok(found) => Ok(found),
            Err(e) => left_out(e),
        }
    }

    fn original_runs(
        &mut self,
        c: &CandidateJob,
        own: &LaunchedWorkload,
        report: &mut CandidateReport,
    ) -> Result<Result<OriginalRuns, LeftOut>, JobError> {
        let CandidateBench {
            pair,
            libdevice,
            references,
        } = self;
        let gone = || JobError::Worker("the programs are gone".into());
        let p = &mut pair.as_mut().ok_or_else(gone)?.own;
        let (kernels, globals) = (p.kernels.clone(), p.globals.clone());
        let session = session_of(c, own, &kernels, &globals);
        let used = session.check()?;
        let contents = session.contents()?;
        report.inputs = session.inputs_of(Some(&contents))?;
        let tools = c.job.toolchain();
        code_of(p, &used, &own.workload, (libdevice, &tools), false)?;
        let truth = reference(&on_cpu(&c.job), &session, &p.program, references)?;
        let code = code_of(p, &used, &own.workload, (libdevice, &tools), false)?;
        for poisoned in [true, false] {
            let plan = run_plan(c, poisoned);
            let runs = runs(code, &session, &contents, plan)?;
            let outputs = compared(&c.job, &session, &runs.first, &truth)?;
            let bad = |o: &&Output| rejection(o).is_some_and(|r| r != Rejection::NothingCompared);
            if let Some(o) = outputs.iter().find(bad) {
                return Ok(Err(LeftOut::OriginalInaccurate(measured(o))));
            }
            let mut unsteady = None;
            for run in [&runs.again, &runs.fresh] {
                let others = compared(&c.job, &session, run, &truth)?;
                unsteady = unsteady.or(others.iter().find(bad).map(measured));
            }
            match unsteady {
                None => {
                    let o = OriginalRuns {
                        reference: truth,
                        runs,
                        outputs,
                        poisoned,
                    };
                    return Ok(Ok(o));
                }
                Some(why) if !poisoned => return Ok(Err(LeftOut::OriginalUnsteady(why))),
                Some(_) => {
                    let note = "the original relies on zeros in buffers without `init`: these were not poisoned";
                    report.notes.push(note.into());
                }
            }
        }
        Err(JobError::Worker("the original was not run".into()))
    }

    /// The candidate on an input that counts.
    fn candidate(
        &mut self,
        c: &CandidateJob,
        own: &LaunchedWorkload,
        original: &OriginalRuns,
        report: &mut CandidateReport,
    ) -> Result<(), JobError> {
        let gone = || JobError::Worker("the programs are gone".into());
        let launches = candidate_of(&c.job)?.launches.clone().unwrap_or_default();
        let pair = self.pair.as_mut().ok_or_else(gone)?;
        let (own_kernels, other_kernels) = (&pair.own.kernels, &pair.other.kernels);
        let launched = match launches.launched(&own.workload, own_kernels, other_kernels) {
            Ok(l) => l,
            Err(e) if launches.workload.is_some() => {
                report.findings.push(not_launched(e.to_string()));
                return Ok(());
            }
            Err(e) => return Err(e.into()),
        };
        if launches.workload.is_none() {
            // The steps are the original's, which fit it: what does not fit here is how the candidate is called.
            let p = &pair.other;
            let fits = session_of(c, &launched, &p.kernels, &p.globals).check();
            fits.map_err(|m| {
                JobError::Input(format!(
                    "the original's launch does not fit the candidate: {m}; help: --map NAME=NAME says which argument is which, --candidate-workload gives the candidate's own launch"
                ))
            })?;
        }
        match self.checked(c, Which::Other, &launched) {
            Ok(notes) => report.notes.extend(notes),
            Err(e) => failed(e, report)?,
        }
        // What neither leaves its memory nor waits for ever can be run as it is, to see what comes of it.
        let harmless =
            |f: &CandidateFinding| matches!(f.defect, Defect::Race | Defect::Uninitialised);
        if !report.findings.iter().all(harmless) {
            return Ok(());
        }
        match self.candidate_runs(c, &launched, original, report) {
            Ok(()) => Ok(()),
            Err(e) => failed(e, report),
        }
    }

    fn candidate_runs(
        &mut self,
        c: &CandidateJob,
        launched: &LaunchedWorkload,
        original: &OriginalRuns,
        report: &mut CandidateReport,
    ) -> Result<(), JobError> {
        let CandidateBench {
            pair,
            libdevice,
            references,
        } = self;
        let gone = || JobError::Worker("the programs are gone".into());
        let pair = pair.as_mut().ok_or_else(gone)?;
        let (kernels, globals) = (pair.other.kernels.clone(), pair.other.globals.clone());
        let session = session_of(c, launched, &kernels, &globals);
        let used = session.check()?;
        let tools = c.job.toolchain();
        let made = (libdevice, &tools);
        let code = code_of(&mut pair.other, &used, &launched.workload, made, false)?;
        let contents = session.contents()?;
        let tried = runs(code, &session, &contents, run_plan(c, original.poisoned))?;
        writes(&session, original, &tried, report);
        let outputs = compared(&c.job, &session, &tried.first, &original.reference)?;
        let limits = match outputs
            .iter()
            .any(|o| rejection(o) == Some(Rejection::BeyondTolerance))
        {
            true => {
                let own = &pair.own;
                let nudged = CandidateJob {
                    change: InputChange {
                        nudged: true,
                        ..c.change
                    },
                    ..c.clone()
                };
                sensitivity(&nudged, own, original, references)?
            }
            false => vec![0.0; outputs.len()],
        };
        for ((o, own), limit) in outputs.iter().zip(&original.outputs).zip(&limits) {
            let tolerance = o.verdict.as_ref().and_then(|v| v.tolerance).unwrap_or(0.0);
            report.outputs.push(OutputErrors {
                name: o.name.clone(),
                original: error_of(own),
                candidate: error_of(o),
                tolerance,
                allowed: Some(tolerance.max(*limit)).filter(|a| a.is_finite()),
            });
        }
        let judged = |outputs: &[Output]| rejected(outputs, original, &limits);
        if let Some(f) = judged(&outputs) {
            report.findings.push(f);
            return Ok(());
        }
        let again = judged(&compared(
            &c.job,
            &session,
            &tried.again,
            &original.reference,
        )?);
        let fresh = judged(&compared(
            &c.job,
            &session,
            &tried.fresh,
            &original.reference,
        )?);
        if let Some(f) = &fresh {
            let reordered = CpuOptions {
                order: 1,
                threads: c.job.threads,
                ..CpuOptions::default()
            };
            let run = fresh_run(code, &session, contents, reordered)?;
            let outputs = compared(&c.job, &session, &run, &original.reference)?;
            let defect = match judged(&outputs) {
                Some(_) => Defect::BlockOrder,
                None => Defect::MemoryContents,
            };
            report.findings.push(CandidateFinding {
                defect,
                ..f.clone()
            });
        } else if let Some(f) = again {
            report.findings.push(CandidateFinding {
                defect: Defect::KeptState,
                ..f
            });
        }
        Ok(())
    }
}

/// The job, computing references by the CPU.
fn on_cpu(job: &Job) -> Job {
    Job {
        device: Device::Cpu,
        ..job.clone()
    }
}

fn run_plan(c: &CandidateJob, poisoned: bool) -> RunPlan {
    RunPlan {
        earlier: c.earlier_runs,
        poisoned,
        threads: c.job.threads,
    }
}

fn not_launched(message: String) -> CandidateFinding {
    CandidateFinding {
        defect: Defect::NotLaunched,
        buffer: None,
        message,
    }
}

/// A run of the candidate that failed: a finding where it is the candidate's fault.
fn failed(e: JobError, report: &mut CandidateReport) -> Result<(), JobError> {
    let finding = match RunFailure::from(e) {
        RunFailure::Kernel(defect, message) => CandidateFinding {
            defect,
            buffer: None,
            message,
        },
        RunFailure::Other(JobError::Input(m)) => not_launched(m),
        RunFailure::Other(JobError::Exec(e)) => not_launched(e.to_string()),
        RunFailure::Other(e) => return Err(e),
    };
    report.findings.push(finding);
    Ok(())
}
