//! Plans measured on a GPU, for comparison with predictions. Nothing is compared with a reference, so
//! sizes can be those that a GPU is for.
//!
//! All plans are compiled first, on all cores; then each is timed run by run in turn with the program
//! as it is. Processes that share the job's lock take turns, plan by plan.
use crate::sample::sample;
use crate::subject::Subject;
use crate::tunable::Tunable;
use kerf_exec::KernelStats;
use kerf_exec::cuda::{Code, CudaExecutor, assemble, load_binary};
use kerf_ir::finish;
use kerf_ir::kernels;
use kerf_pass::{Plan, SiteFormat};
use kerf_run::job::{Job, JobError, MachineShare, TimedProgram, Times, finish_with_tools};
use kerf_run::run::{Contents, FirstContents, WorkloadSession};
use kerf_run::storage;
use kerf_search::Assignment;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A plan that was measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MeasuredPlan {
    /// Levels of the groups.
    pub assignment: Assignment,
    /// Format in which all buffers and arrays are held that can be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<SiteFormat>,
    /// The plan itself.
    pub plan: Plan,
    /// Median of a run in seconds.
    pub seconds: f64,
    /// Lower end of the median's 95 % interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Median of the program as it is, taken in turn.
    pub baseline: f64,
    /// Registers, by kernel.
    pub registers: Vec<(String, u32)>,
    /// Bytes of local memory, by kernel: spills and arrays.
    pub local: Vec<(String, u32)>,
}

/// Plans to measure: `count` of lowered sites, then a fifth as many again with buffers held narrower.
pub fn plans(
    subject: &Subject,
    tunable: &Tunable,
    count: usize,
    seed: u64,
) -> Result<Vec<(Assignment, Option<SiteFormat>, Plan)>, JobError> {
    let levels: Vec<u8> = tunable
        .groups
        .iter()
        .map(|g| g.formats.len() as u8)
        .collect();
    let all = sample(&levels, count, seed);
    let mut out: Vec<_> = all
        .iter()
        .map(|a| (a.clone(), None, tunable.plan(subject, a)))
        .collect();
    let format = tunable
        .groups
        .iter()
        .find_map(|g| g.formats.get(1)?.format());
    let m = subject.program.module()?;
    for a in all.iter().take(count / 5) {
        let mut plan = tunable.plan(subject, a);
        if let Some(f) = format.and_then(SiteFormat::storage) {
            plan.hold_all(&m, f);
        }
        if plan != tunable.plan(subject, a) {
            out.push((a.clone(), format, plan));
        }
    }
    Ok(out)
}

/// PTX of a plan, and what the driver made of it.
fn compiled(job: &Job, subject: &Subject, plan: &Plan) -> Made {
    let m = subject.program.module()?;
    plan.apply(&m)?;
    finish_with_tools(&m, &job.toolchain())?;
    let ptx = finish::ptx(&m, &job.arch).map_err(|e| JobError::Compile {
        message: e.0,
        help: None,
    })?;
    let code = assemble(&ptx, job.ordinal)?;
    Ok((ptx, code))
}

type Made = Result<(String, Code), JobError>;

fn all_compiled(job: &Job, subject: &Subject, plans: &[Plan]) -> Vec<Made> {
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, Made)>> = Mutex::default();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|s| {
        for _ in 0..cores.min(plans.len()) {
            s.spawn(|| {
                loop {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    let Some(p) = plans.get(i) else { break };
                    let one = compiled(job, subject, p);
                    done.lock()
                        .unwrap_or_else(|e| e.into_inner())
                        .push((i, one));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(|e| e.into_inner());
    done.sort_by_key(|d| d.0);
    done.into_iter().map(|d| d.1).collect()
}

/// A program that another compiler made of the same source, beside Kerf's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Beside {
    /// What it was called.
    pub name: String,
    /// Median of a run in seconds.
    pub seconds: f64,
    /// Lower end of the median's 95 % interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Median of its time over that of Kerf's program, taken in turn.
    pub ratio: f64,
    /// Lower end of that median's 95 % interval.
    pub ratio_low: f64,
    /// Upper end.
    pub ratio_high: f64,
    /// Registers, by kernel.
    pub registers: Vec<(String, u32)>,
}

/// Times programs that have the workload's kernels under the same symbols (PTX or a binary, as nvcc writes
/// them) in turn with Kerf's own. The first that is given back is Kerf's.
pub fn beside(
    job: &Job,
    subject: &Subject,
    others: &[(String, Vec<u8>)],
) -> Result<Vec<Result<Beside, JobError>>, JobError> {
    let m = subject.program.module()?;
    let (infos, globals) = (kernels::kernels(&m), kernels::globals(&m));
    let session = WorkloadSession::plain(&subject.workload, &infos, &globals);
    let used = session.check()?;
    let mut all = vec![(
        "kerf".to_owned(),
        compiled(job, subject, &Plan::default()).map(|c| c.1),
    )];
    for (name, bytes) in others {
        // A binary is an ELF file; everything else is taken for PTX.
        let code = match bytes.starts_with(b"\x7fELF") {
            true => load_binary(bytes, job.ordinal),
            false => assemble(&String::from_utf8_lossy(bytes), job.ordinal),
        };
        all.push((name.clone(), code.map_err(JobError::from)));
    }
    let contents = session.contents()?;
    // Copies disturb as kernels do.
    let turn = MachineShare::alone(job.lock.as_deref())?;
    let mut running = Vec::new();
    for (name, code) in all {
        let load = || -> Result<_, JobError> {
            let runner = runner(code?, &session, contents.clone(), &used, job)?;
            Ok((runner, Vec::new()))
        };
        running.push((name, load()));
    }
    for n in 0..job.warmup + job.repeats.max(1) {
        for (_, one) in &mut running {
            let Ok((runner, times)) = one else {
                continue;
            };
            let t = runner.sample(&session)?;
            if n >= job.warmup {
                times.push(t);
            }
        }
    }
    drop(turn);
    let own = match running.first() {
        Some((_, Ok((_, times)))) => times.clone(),
        _ => Vec::new(),
    };
    let mut out = Vec::new();
    for (name, one) in running {
        let finished = || -> Result<Beside, JobError> {
            let (runner, times): (_, Vec<f64>) = one?;
            let none = || JobError::Input("nothing was timed".into());
            let ratios = times.iter().zip(&own).map(|(t, o)| t / o).collect();
            let of = Times::new(ratios).ok_or_else(none)?;
            let mine = Times::new(times).ok_or_else(none)?;
            let stats = runner.exec.kernel_stats();
            let registers = stats
                .iter()
                .filter_map(|k| Some((k.symbol.clone(), k.registers?)));
            Ok(Beside {
                name,
                seconds: mine.median_s,
                low: mine.low_s,
                high: mine.high_s,
                ratio: of.median_s,
                ratio_low: of.low_s,
                ratio_high: of.high_s,
                registers: registers.collect(),
            })
        };
        out.push(finished());
    }
    Ok(out)
}

/// A program ready to be sampled: what it launches was recorded, so that the host is not in its times.
fn runner(
    code: Code,
    s: &WorkloadSession,
    contents: Contents,
    used: &[String],
    job: &Job,
) -> Result<TimedProgram, JobError> {
    let exec = CudaExecutor::from_code(code, used, job.ordinal)?;
    let mut r = TimedProgram::with(Box::new(exec), s, Some(FirstContents::Host(contents)))?;
    r.run(s)?;
    r.record(s, job.sample_s)?;
    Ok(r)
}

/// Measures plans in this process; `keep` is a folder for the PTX of each. `done` gets each as soon as it is there, or why there is none.
pub fn measure(
    job: &Job,
    subject: &Subject,
    plans: &[(Assignment, Option<SiteFormat>, Plan)],
    keep: Option<&Path>,
    mut done: impl FnMut(usize, Result<MeasuredPlan, JobError>),
) -> Result<(), JobError> {
    let m = subject.program.module()?;
    let (infos, globals) = (kernels::kernels(&m), kernels::globals(&m));
    let session = |plan: &Plan| -> Result<WorkloadSession, JobError> {
        let mut s = WorkloadSession::plain(&subject.workload, &infos, &globals);
        s.storage = storage::assign(&s, plan)?;
        Ok(s)
    };
    let own = Plan::default();
    let first = session(&own)?;
    let used = first.check()?;
    let every: Vec<Plan> = plans.iter().map(|p| p.2.clone()).collect();
    let codes = all_compiled(job, subject, &every);
    let (_, base) = compiled(job, subject, &own)?;
    let originals = first.contents()?;
    let turn = MachineShare::alone(job.lock.as_deref())?;
    let mut base = runner(base, &first, originals.clone(), &used, job)?;
    drop(turn);
    for (i, ((assignment, held, plan), made)) in plans.iter().zip(codes).enumerate() {
        if let (Some(dir), Ok((ptx, _))) = (keep, &made) {
            std::fs::write(dir.join(format!("{i}.ptx")), ptx)
                .map_err(|e| JobError::Input(format!("{}: {e}", dir.display())))?;
        }
        let one = || -> Result<MeasuredPlan, JobError> {
            let s = session(plan)?;
            let contents = s.as_held(&originals);
            // Copies disturb as kernels do.
            let _turn = MachineShare::alone(job.lock.as_deref())?;
            let mut exec = runner(made?.1, &s, contents, &used, job)?;
            let (mut mine, mut theirs) = (Vec::new(), Vec::new());
            for n in 0..job.warmup + job.repeats.max(1) {
                let b = base.sample(&first)?;
                let t = exec.sample(&s)?;
                if n >= job.warmup {
                    mine.push(t);
                    theirs.push(b);
                }
            }
            let stats = exec.exec.kernel_stats();
            let of = |f: fn(&KernelStats) -> Option<u32>| {
                let all = stats.iter();
                all.filter_map(|k| Some((k.symbol.clone(), f(k)?)))
                    .collect()
            };
            let none = || JobError::Input("nothing was timed".into());
            let mine = Times::new(mine).ok_or_else(none)?;
            let theirs = Times::new(theirs).ok_or_else(none)?;
            Ok(MeasuredPlan {
                assignment: assignment.clone(),
                held: *held,
                plan: plan.clone(),
                seconds: mine.median_s,
                low: mine.low_s,
                high: mine.high_s,
                baseline: theirs.median_s,
                registers: of(|k| k.registers),
                local: of(|k| k.local_bytes),
            })
        };
        done(i, one());
    }
    Ok(())
}
