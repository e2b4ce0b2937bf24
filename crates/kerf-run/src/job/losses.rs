//! What a plan's scaled formats lose: numbers that saturate, and NaN and infinities that have no code.
//!
//! Stores are counted by a program of its own, which runs once: the timed one has no counters. Contents that the host encodes
//! are counted where they are encoded.
use super::baseline::JobContents;
use super::finished::{bound_blocks, launched_only};
use super::loss_code::LossCode;
use super::turn::alone;
use super::workshop::{Workshop, ptx};
use super::{Device, Job, JobError, JobSeconds};
use crate::run::{FirstContents, WorkloadSession};
use kerf_clang::sha256;
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

/// A program, and what is made of it for a job.
struct Counted<'a> {
    job: &'a Job,
    session: &'a WorkloadSession<'a>,
    used: &'a [String],
    program: &'a Program,
}

impl Counted<'_> {
    /// The module that counts, with all that it needs; none where no kernel stores in scaled formats.
    fn module(
        &self,
        kept_before: &mut Workshop,
    ) -> Result<Option<(Module, Vec<CountedObject>)>, JobError> {
        let m = self.program.module()?;
        let objects = self.job.plan.apply_with_losses(&m)?;
        if objects.is_empty() {
            return Ok(None);
        }
        launched_only(&m, self.session, self.used);
        kept_before.finish(&m, &self.job.toolchain())?;
        Ok(Some((m, objects)))
    }

    fn on_cpu(&self, kept_before: &mut Workshop) -> Result<Option<Loaded>, JobError> {
        let Some((m, objects)) = self.module(kept_before)? else {
            return Ok(None);
        };
        let options = CpuOptions {
            threads: self.job.threads,
            no_regions: self.job.coroutines,
            order: self.job.order,
            ..CpuOptions::default()
        };
        Ok(Some((Box::new(CpuExecutor::new(&m, options)?), objects)))
    }

    fn key(&self) -> String {
        let Job { plan, arch, .. } = self.job;
        format!("{arch} {} {plan:?}", sha256(&self.program.bitcode))
    }

    fn on_gpu(&self, kept_before: &mut Workshop) -> Result<Option<Loaded>, JobError> {
        let key = self.key();
        if kept_before.losses.as_ref().is_none_or(|c| c.key != key) {
            let (ptx, objects) = match self.module(kept_before)? {
                Some((m, objects)) => {
                    // Counters take registers: blocks of 1,024 threads have to start.
                    bound_blocks(&m, self.session)?;
                    (ptx(&m, &self.job.arch)?, objects)
                }
                None => (String::new(), Vec::new()),
            };
            kept_before.losses = Some(LossCode { key, ptx, objects });
        }
        let kept = kept_before.losses.as_ref();
        let Some(code) = kept.filter(|c| !c.objects.is_empty()) else {
            return Ok(None);
        };
        let exec = CudaExecutor::at_level(&code.ptx, self.used, self.job.ordinal, LEVEL)?;
        Ok(Some((Box::new(exec), code.objects.clone())))
    }
}

/// An executor with a program that counts, and what it counts.
type Loaded = (Box<dyn Executor>, Vec<CountedObject>);

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

/// What first contents lose.
fn of_contents(
    session: &WorkloadSession,
    contents: &JobContents,
) -> Result<Vec<StorageLosses>, JobError> {
    let mut all = Vec::new();
    for (i, b) in session.workload.buffers.iter().enumerate() {
        let Some((h, format)) = session.held(i).and_then(|h| h.scaled().map(|f| (h, f))) else {
            continue;
        };
        let [saturated, not_held] = match (contents.lost.get(i), &contents.own) {
            (Some(lost), _) => *lost,
            (None, Some(FirstContents::Host(made))) => h.losses(&made[i]),
            (None, _) => h.losses(&session.made(b)?),
        };
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
/// behaviour, nor where the job says so.
pub(super) fn losses(
    job: &Job,
    (session, used): (&WorkloadSession, &[String]),
    program: &Program,
    kept_before: &mut Workshop,
) -> Result<Vec<StorageLosses>, JobError> {
    if !job.plan.has_scaled_storage() || job.memcheck.is_some() || job.skip_losses {
        return Ok(Vec::new());
    }
    let mut contents = kept_before.contents(job, session, &mut JobSeconds::default())?;
    // Code is made first, while others use the GPU.
    contents.turn = None;
    let mut all = of_contents(session, &contents)?;
    let session = &uncoarsened(session);
    let counted = Counted {
        job,
        session,
        used,
        program,
    };
    let loaded = match job.device {
        Device::Cpu => counted.on_cpu(kept_before)?,
        Device::Cuda => counted.on_gpu(kept_before)?,
    };
    let Some((mut exec, objects)) = loaded else {
        return Ok(all);
    };
    // The run would be in others' times.
    let _turn = alone(job)?;
    let mut l = session.load_with(exec.as_mut(), contents.held)?;
    session.run(exec.as_mut(), &mut l)?;
    all.extend(read(exec.as_mut(), objects)?);
    Ok(all)
}
