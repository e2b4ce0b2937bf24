//! What a plan's scaled formats lose: numbers that saturate, and NaN and infinities that have no code.
//!
//! Stores are counted by a program of its own, which runs once: the timed one has no counters. Contents that the host encodes
//! are counted where they are encoded.
use super::finished::launched_only;
use super::turn::alone;
use super::workshop::{Workshop, ptx};
use super::{Device, Job, JobError, JobSeconds};
use crate::run::WorkloadSession;
use kerf_exec::Executor;
use kerf_exec::cpu::{CpuExecutor, CpuOptions};
use kerf_exec::cuda::CudaExecutor;
use kerf_ir::program::Program;
use kerf_llvm::Module;
use kerf_num::StorageFormat;
use kerf_pass::storage::{CountedObject, LOSSES};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What the values of one array lost on their way to codes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StorageLosses {
    /// The kernel that stored them; none for the first content of a buffer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// Parameter or array of the kernel, as the plan names it; or the buffer.
    pub name: String,
    /// What it is held in.
    pub format: StorageFormat,
    /// Finite values that became the largest number.
    pub saturated: u64,
    /// NaN and infinities that the format has no code for.
    pub not_held: u64,
}

impl StorageLosses {
    /// Was nothing lost?
    pub fn is_empty(&self) -> bool {
        self.saturated == 0 && self.not_held == 0
    }

    /// What was lost, in words; none if nothing was.
    pub fn sentence(&self) -> Option<String> {
        let place = match &self.kernel {
            Some(k) => format!("`{}` of kernel {k}", self.name),
            None => format!("the first content of buffer `{}`", self.name),
        };
        let largest = self.format.scaled().map_or(0.0, |s| s.largest());
        let saturated = format!("{} saturate at {largest:e}", values(self.saturated));
        let not_held = format!(
            "{} NaN or infinite, which it has no code for",
            match self.not_held {
                1 => "1 value is".to_owned(),
                n => format!("{n} values are"),
            }
        );
        let what = match (self.saturated, self.not_held) {
            (0, 0) => return None,
            (_, 0) => saturated,
            (0, _) => not_held,
            _ => format!("{saturated}, and {not_held}"),
        };
        Some(format!("{place} is held in {}: {what}", self.format))
    }
}

fn values(n: u64) -> String {
    match n {
        1 => "1 value".into(),
        n => format!("{n} values"),
    }
}

/// How far the driver optimises the program that counts, which runs once.
const LEVEL: u32 = 1;

/// An executor with the program that counts.
fn executor(
    job: &Job,
    m: &Module,
    used: &[String],
    kept_before: &mut Workshop,
) -> Result<Box<dyn Executor>, JobError> {
    kept_before.finish(m, &job.toolchain())?;
    Ok(match job.device {
        Device::Cpu => {
            let options = CpuOptions {
                threads: job.threads,
                no_regions: job.coroutines,
                order: job.order,
                ..CpuOptions::default()
            };
            Box::new(CpuExecutor::new(m, options)?)
        }
        Device::Cuda => {
            let text = ptx(m, &job.arch)?;
            Box::new(CudaExecutor::at_level(&text, used, job.ordinal, LEVEL)?)
        }
    })
}

/// A session of the same program whose threads compute one element each.
fn uncoarsened<'a>(session: &WorkloadSession<'a>) -> WorkloadSession<'a> {
    WorkloadSession {
        storage: session.storage.clone(),
        params: session.params.clone(),
        lambda: session.lambda.clone(),
        regroup: session.regroup.clone(),
        reblock: session.reblock.clone(),
        coarsen: BTreeMap::new(),
        declared: session.declared.clone(),
        ..*session
    }
}

/// First contents that the host encodes.
fn of_contents(session: &WorkloadSession) -> Result<Vec<StorageLosses>, JobError> {
    let mut all = Vec::new();
    for (i, b) in session.workload.buffers.iter().enumerate() {
        let Some((h, format)) = session.held(i).and_then(|h| h.scaled().map(|f| (h, f))) else {
            continue;
        };
        let [saturated, not_held] = h.losses(&session.made(b)?);
        all.push(StorageLosses {
            kernel: None,
            name: b.name.clone(),
            format: format.into(),
            saturated,
            not_held,
        });
    }
    Ok(all)
}

/// Reads the counters of objects.
fn read(
    exec: &mut dyn Executor,
    objects: Vec<CountedObject>,
) -> Result<Vec<StorageLosses>, JobError> {
    let id = exec.symbol(LOSSES, 16 * objects.len(), 8)?;
    let bytes = exec.read(id)?;
    let word = |k: usize| {
        let raw = bytes.as_chunks::<8>().0.get(k);
        raw.map_or(0, |b| u64::from_le_bytes(*b))
    };
    let each = objects.into_iter().enumerate();
    let all = each.map(|(k, o)| StorageLosses {
        kernel: Some(o.kernel),
        name: o.object,
        format: o.format.into(),
        saturated: word(2 * k),
        not_held: word(2 * k + 1),
    });
    Ok(all.collect())
}

/// What a job's plan loses on the job's inputs: nothing is counted where it has no scaled formats, nor in a check for undefined
/// behaviour.
pub(super) fn losses(
    job: &Job,
    (session, used): (&WorkloadSession, &[String]),
    run: &Program,
    kept_before: &mut Workshop,
) -> Result<Vec<StorageLosses>, JobError> {
    if !job.plan.has_scaled_storage() || job.memcheck.is_some() {
        return Ok(Vec::new());
    }
    let m = run.module()?;
    let objects = job.plan.apply_with_losses(&m)?;
    let mut all = of_contents(session)?;
    if objects.is_empty() {
        return Ok(all);
    }
    let session = uncoarsened(session);
    launched_only(&m, &session, used);
    let mut exec = executor(job, &m, used, kept_before)?;
    let contents = kept_before.contents(job, &session, &mut JobSeconds::default())?;
    // The run would be in others' times.
    let _turn = alone(job)?;
    let mut l = session.load_with(exec.as_mut(), contents.held)?;
    session.run(exec.as_mut(), &mut l)?;
    all.extend(read(exec.as_mut(), objects)?);
    Ok(all)
}
