//! The counting run: a workload, instrumented, on the job's device.
//!
//! The instrumented program is device code, and its counters are joined by integer sums, maxima and bitwise or: the counts of
//! a GPU are those of the CPU executor wherever the program itself has the same bits on both. A GPU that cannot hold or run
//! the instrumented program leaves it to the CPU executor, with the reason in the counts.
use super::check::refuse;
use super::counting_executor::CountingExecutor;
use super::finished::{Libdevice, bound_blocks, launched_only};
use super::resident_inputs::ResidentInputs;
use super::turn::alone;
use super::{Device, Job, JobError};
use crate::device_inputs::DeviceGenerator;
use crate::memory;
use crate::run::{FirstContents, WorkloadSession};
use kerf_clang::sha256;
use kerf_exec::cpu::{CpuCode, CpuExecutor, CpuOptions};
use kerf_exec::cuda::CudaExecutor;
use kerf_exec::{ExecError, Executor};
use kerf_ir::address::AccessDirection;
use kerf_ir::finish;
use kerf_ir::kernels::KernelInfo;
use kerf_llvm::{LlvmError, Module};
use kerf_pass::count::{
    self, CountDevice, CountTable, CountTally, Detail, KernelCounters, LaunchCounts, MemoryKind,
    Root, SiteRecord,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a counting run of the original program gave.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ProgramCounts {
    /// Kernels that were launched, in the program's order.
    pub kernels: Vec<KernelCounts>,
    /// Launches with equal shapes, arguments' sizes and block counts, and with accesses alike as far as these were looked at, in
    /// the order of the first.
    pub launches: Vec<LaunchCounts>,
    /// Copies between buffers.
    pub copies: u64,
    /// Bytes copied.
    pub copied_bytes: u64,
    /// Where the program was counted.
    #[serde(default = "on_cpu")]
    pub device: Device,
    /// Values of sites are those of some executions.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_sampled_values: bool,
    /// Why the job's GPU could not count it, where that was so.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs_cpu: Vec<String>,
    /// Arguments of the functions that the plan has for ranges.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub made: Vec<MadeArguments>,
}

/// Arguments of a function made for a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MadeArguments {
    /// Which of the plan's functions, in the order in which the plan has them.
    pub number: usize,
    /// All arguments.
    pub calls: u64,
    /// Those outside of the range, NaN among them: they took the library's function.
    pub outside: u64,
}

fn on_cpu() -> Device {
    Device::Cpu
}

/// One kernel, over all its launches.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct KernelCounts {
    /// Symbol.
    pub symbol: String,
    /// Name in the source.
    pub name: String,
    /// Launches.
    pub launches: u64,
    /// Threads of all launches.
    pub threads: u64,
    /// Sites.
    pub sites: Vec<SiteCounts>,
    /// Bytes by memory and object.
    pub traffic: Vec<Traffic>,
}

/// One site.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SiteCounts {
    /// Number in its kernel.
    pub id: usize,
    /// Operation.
    pub op: String,
    /// Format.
    pub format: kerf_num::Format,
    /// Group.
    pub group: usize,
    /// Source line, if known.
    pub line: Option<u32>,
    /// What was seen.
    #[serde(flatten)]
    pub seen: SiteRecord,
}

/// Bytes that threads moved between themselves and an object.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Traffic {
    /// What memory.
    pub memory: MemoryKind,
    /// What object.
    pub root: Root,
    /// Name of the parameter or variable, where it has one.
    pub name: Option<String>,
    /// Bytes loaded.
    pub loaded: u64,
    /// Bytes stored.
    pub stored: u64,
    /// Bytes of atomic operations.
    pub atomic: u64,
}

fn traffic(k: &KernelCounters, info: Option<&KernelInfo>, t: &CountTally) -> Vec<Traffic> {
    let mut by: BTreeMap<(MemoryKind, &Root), Traffic> = BTreeMap::new();
    for a in &k.accesses {
        let name = match &a.root {
            Root::Parameter(p) => info.and_then(|i| i.params.get(*p)).map(|p| p.name.clone()),
            Root::Variable(v) => Some(kerf_llvm::demangle(v)),
            Root::Array | Root::Unknown => None,
        };
        let to = by.entry((a.memory, &a.root)).or_insert_with(|| Traffic {
            memory: a.memory,
            root: a.root.clone(),
            name,
            loaded: 0,
            stored: 0,
            atomic: 0,
        });
        let bytes = a.bytes * t.block(a.block).threads;
        match a.direction {
            AccessDirection::Load => to.loaded += bytes,
            AccessDirection::Store => to.stored += bytes,
            AccessDirection::Atomic => to.atomic += bytes,
        }
    }
    by.into_values().collect()
}

/// What counting runs of one process keep for the next.
#[derive(Default)]
pub(super) struct CountingShelf {
    /// The program with counters for this machine, by what it was made of.
    code: Option<(String, CountTable, CpuCode)>,
}

/// What a counting run takes from earlier ones.
pub(super) struct CountingTools<'k> {
    pub libdevice: &'k mut Libdevice,
    pub shelf: &'k mut CountingShelf,
    /// First contents of the buffers, where they are kept.
    pub contents: Option<FirstContents>,
}

/// Puts the counters into a prepared module and finishes it.
fn instrumented(
    job: &Job,
    session: &WorkloadSession,
    m: &Module,
    (detail, device): (Detail, CountDevice),
    libdevice: &mut Libdevice,
) -> Result<CountTable, JobError> {
    // Blocks are numbered over the whole program, which is what predictions look at.
    let counters = count::instrument(m, detail, device).map_err(not_made)?;
    launched_only(m, session, &session.check()?);
    libdevice.finish(m, &job.toolchain())?;
    Ok(counters)
}

fn not_made(e: LlvmError) -> JobError {
    JobError::Compile {
        message: format!("the counters could not be put in: {e}"),
        help: None,
    }
}

/// Takes calls that print out of a module: the driver would write the lines of the instrumented kernels among those of the
/// program. Gives names of functions whose results are used, which have to stay.
fn silence(m: &Module) -> Vec<&'static str> {
    let mut kept = Vec::new();
    for name in ["vprintf", "printf"] {
        let Some(f) = m.function(name) else { continue };
        for call in f.users() {
            match call.users().is_empty() {
                true => call.erase(),
                false => kept.push(name),
            }
        }
    }
    kept.dedup();
    kept
}

/// Why a GPU cannot count a program.
#[derive(Debug, thiserror::Error)]
pub enum NotCounted {
    /// Lines would be printed twice.
    #[error("results of {0} are used, whose lines would be printed twice")]
    Prints(String),
    /// There is no code for it.
    #[error("no PTX can be made of the counters: {0}")]
    Ptx(LlvmError),
    /// The driver does not take the code, or has no memory for it.
    #[error("{0}")]
    Driver(ExecError),
    /// Its memory is too small.
    #[error("the buffers take {need} of GPU memory, and {free} are free")]
    Memory {
        /// Bytes of the buffers, in words.
        need: String,
        /// Bytes that are free, in words.
        free: String,
    },
}

/// PTX of a prepared module with counters, which is changed; or why there is none.
pub(super) fn counting_code(
    job: &Job,
    session: &WorkloadSession,
    m: &Module,
    detail: Detail,
    libdevice: &mut Libdevice,
) -> Result<Result<(String, CountTable), NotCounted>, JobError> {
    let kept = silence(m);
    if !kept.is_empty() {
        return Ok(Err(NotCounted::Prints(kept.join(", "))));
    }
    bound_blocks(m, session)?;
    let counters = instrumented(job, session, m, (detail, CountDevice::Gpu), libdevice)?;
    Ok(match finish::ptx(m, &job.arch) {
        Ok(ptx) => Ok((ptx, counters)),
        Err(e) => Err(NotCounted::Ptx(e)),
    })
}

/// How far the driver optimises the counters: they run once, and take longer to compile than to run.
const LEVEL: u32 = 1;

/// Inputs of more bytes are made by the device: its generators are compiled sooner than the host makes these.
const MANY_BYTES: usize = 64 << 20;

/// First contents of a session's buffers, made on the GPU where they are large and in their own formats.
fn large_contents(job: &Job, session: &WorkloadSession) -> Result<Option<FirstContents>, JobError> {
    // Those of buffers that are held otherwise are made by the host.
    let own = session.storage.iter().all(Option::is_none);
    if !own || memory::arena_bytes(session.workload) < MANY_BYTES {
        return Ok(None);
    }
    let code = DeviceGenerator::code(job.ordinal)?;
    let contents = ResidentInputs::new(code, job.ordinal)?.contents(session)?;
    Ok(contents.map(FirstContents::Device))
}

/// A GPU that holds an instrumented program, or why it cannot.
fn gpu_with(
    job: &Job,
    session: &WorkloadSession,
    ptx: &str,
) -> Result<Result<CudaExecutor, NotCounted>, JobError> {
    let used = session.check()?;
    let made = CudaExecutor::at_level(ptx, &used, job.ordinal, LEVEL);
    let mut exec = match made {
        Ok(exec) => exec,
        Err(e @ (ExecError::Compile(_) | ExecError::Memory(_))) => {
            return Ok(Err(NotCounted::Driver(e)));
        }
        Err(e) => return Err(e.into()),
    };
    let need = memory::arena_bytes(session.workload);
    let free = exec.free_memory()?.unwrap_or(usize::MAX);
    if need > free {
        let (need, free) = (memory::words(need), memory::words(free));
        return Ok(Err(NotCounted::Memory { need, free }));
    }
    Ok(Ok(exec))
}

/// Counts on the job's GPU; gives the reason where it cannot.
fn on_gpu(
    job: &Job,
    session: &WorkloadSession,
    m: &Module,
    detail: Detail,
    (contents, libdevice): (Option<FirstContents>, &mut Libdevice),
) -> Result<Result<ProgramCounts, NotCounted>, JobError> {
    let (ptx, counters) = match counting_code(job, session, m, detail, libdevice)? {
        Ok(made) => made,
        Err(why) => return Ok(Err(why)),
    };
    let exec = match gpu_with(job, session, &ptx)? {
        Ok(exec) => exec,
        Err(why) => return Ok(Err(why)),
    };
    // The run would be in others' times.
    let _turn = alone(job)?;
    let contents = match contents {
        Some(kept) => Some(kept),
        None => large_contents(job, session)?,
    };
    let exec = CountingExecutor::new(Box::new(exec), &counters)?;
    match run_and_collect(session, exec, contents, &counters) {
        // Registers, or local memory for the counters of all resident threads. A fault of the program itself shows when the
        // counters are read.
        Err(JobError::Exec(e @ ExecError::Launch { .. })) => Ok(Err(NotCounted::Driver(e))),
        Ok(counts) => Ok(Ok(ProgramCounts {
            device: Device::Cuda,
            has_sampled_values: detail == Detail::SampledValues,
            ..counts
        })),
        Err(e) => Err(e),
    }
}

/// Counts on the CPU executor.
fn on_cpu_executor(
    job: &Job,
    session: &WorkloadSession,
    m: &Module,
    detail: Detail,
    tools: CountingTools,
) -> Result<ProgramCounts, JobError> {
    let options = CpuOptions {
        threads: job.threads,
        ..CpuOptions::default()
    };
    let launched = session.check()?;
    let key = format!("{} {detail:?} {launched:?}", sha256(&m.bitcode()));
    let known = tools.shelf.code.take().filter(|c| c.0 == key);
    let made = match known {
        Some(c) => c,
        None => {
            let what = (detail, CountDevice::Cpu);
            let counters = instrumented(job, session, m, what, tools.libdevice)?;
            (key, counters, CpuCode::new(m, options)?)
        }
    };
    let (_, counters, code) = tools.shelf.code.insert(made);
    let exec = CpuExecutor::from_code(code, options)?;
    let mut exec = CountingExecutor::new(Box::new(exec), counters)?;
    exec.sampled = job.count_sampled;
    run_and_collect(session, exec, tools.contents, counters)
}

/// Runs an instrumented program once and reads what it counted.
fn run_and_collect(
    session: &WorkloadSession,
    mut exec: CountingExecutor,
    contents: Option<FirstContents>,
    counters: &CountTable,
) -> Result<ProgramCounts, JobError> {
    let mut l = session.load_with(&mut exec, contents)?;
    session.run(&mut exec, &mut l)?;
    let mut kernels = Vec::new();
    for k in &counters.kernels {
        let Some((launches, threads, tally)) = exec.tallies.get(&k.symbol) else {
            continue;
        };
        let sites = k.sites.iter().zip(tally.sites(counters, k));
        let info = session.kernels.iter().find(|i| i.symbol == k.symbol);
        kernels.push(KernelCounts {
            symbol: k.symbol.clone(),
            name: k.name.clone(),
            launches: *launches,
            threads: *threads,
            sites: sites
                .map(|(s, seen)| SiteCounts {
                    id: s.id,
                    op: s.op.clone(),
                    format: s.format,
                    group: s.group,
                    line: s.location.as_ref().map(|l| l.line),
                    seen,
                })
                .collect(),
            traffic: traffic(k, info, tally),
        });
    }
    let over_all = |block: usize| {
        let tallies = exec.tallies.values();
        tallies.map(|(_, _, t)| t.block(block).threads).sum()
    };
    let made = counters.made.iter().map(|f| MadeArguments {
        number: f.number,
        calls: over_all(f.entry),
        outside: over_all(f.library),
    });
    Ok(ProgramCounts {
        kernels,
        made: made.collect(),
        launches: exec.take_launches(),
        copies: exec.copies.0,
        copied_bytes: exec.copies.1,
        device: Device::Cpu,
        has_sampled_values: false,
        needs_cpu: Vec::new(),
    })
}

/// Runs a session's workload once, instrumented, on the job's device. `m` is its prepared module, which stays as it is.
pub(super) fn counted(
    job: &Job,
    session: &WorkloadSession,
    (m, unlifted): (&Module, &[kerf_ptx::Unlifted]),
    detail: Detail,
    mut tools: CountingTools,
) -> Result<ProgramCounts, JobError> {
    let mut needs_cpu = Vec::new();
    if !job.counts_on_cpu() {
        // The CPU executor could not read them.
        let contents = tools.contents.take();
        let made = (contents, &mut *tools.libdevice);
        match on_gpu(job, session, &m.duplicate(), detail, made)? {
            Ok(counts) => return Ok(counts),
            Err(why) => needs_cpu.push(why.to_string()),
        }
        refuse(m, &session.check()?, session.kernels, unlifted)?;
    }
    let counts = on_cpu_executor(job, session, &m.duplicate(), detail, tools)?;
    Ok(ProgramCounts {
        needs_cpu,
        ..counts
    })
}
