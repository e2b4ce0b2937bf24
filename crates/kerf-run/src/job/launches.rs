//! Single launches of a workload, timed: whole or a run of their blocks, in any shape.
//!
//! One program is compiled once and holds each kernel beside its clipped copy (`kerf_pass::clip_grid`) and
//! copies for fixed blocks. A launch is timed by itself, from the workload's first contents, which are put
//! back before every run. Then the cache is filled with other memory, so that a short sample does not find its data
//! there where the whole launch would not, and has to write back what the launch itself would have left.
use super::finished::launched_only;
use super::launch_kinds::{LaunchKind, kinds};
use super::report::Times;
use super::workshop::Workshop;
use super::{Device, Job, JobError};
use crate::bind::bind;
use crate::run::{LoadedBuffers, WorkloadSession};
use kerf_exec::cpu::{CpuExecutor, CpuOptions};
use kerf_exec::cuda::{CudaExecutor, attributes};
use kerf_exec::{Arg, Executor, KernelStats, Launch};
use kerf_ir::address::block;
use kerf_ir::finish;
use kerf_ir::kernels::{self, KernelInfo};
use kerf_llvm::Module;
use kerf_pass::{block_size, clip_grid};
use kerf_workload::expand::ArgValue;
use kerf_workload::workload::Workload;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What to run of a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Run {
    /// All of it.
    Whole,
    /// All of it, by the copy of the kernel that was compiled for this block.
    Fixed(usize),
    /// A run of its blocks.
    Part {
        /// Number of the first.
        first: u32,
        /// How many.
        count: u32,
    },
}

/// Times of a launch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LaunchTime {
    /// Median, in seconds.
    pub median_s: f64,
    /// Fastest.
    pub least_s: f64,
    /// Slowest.
    pub most_s: f64,
    /// Runs.
    pub runs: u32,
}

/// Samples of a launch.
const SAMPLES: usize = 5;

/// Seconds of one sample, at least, as far as [`MOST_RUNS`] go.
const SAMPLE_S: f64 = 2e-4;
const MOST_RUNS: f64 = 8.0;

enum Machine {
    Cpu(Box<CpuExecutor>),
    Cuda(Box<CudaExecutor>),
}

impl Machine {
    fn exec(&mut self) -> &mut dyn Executor {
        match self {
            Machine::Cpu(e) => e.as_mut(),
            Machine::Cuda(e) => e.as_mut(),
        }
    }
}

/// A workload on a device, whose launches can be timed.
pub struct LaunchTimer<'a> {
    /// The workload.
    pub workload: &'a Workload,
    /// Kernels of its program.
    pub kernels: &'a [KernelInfo],
    /// Its prepared module.
    pub module: &'a Module,
    /// Multiprocessors; 1 on the CPU.
    pub sms: u32,
    session: WorkloadSession<'a>,
    machine: Machine,
    loaded: LoadedBuffers,
    recorded: bool,
}

fn clipped_name(symbol: &str, flat: bool) -> String {
    format!("{symbol}_kerf_clip{}", if flat { "" } else { "3" })
}

fn fixed_name(symbol: &str, number: usize) -> String {
    format!("{symbol}_kerf_block{number}")
}

/// Where it cannot be told what a launch writes.
const HALF: f64 = 0.5;

/// The part of the memory that a launch touches which it writes: what of the cache's lines it leaves to be written back.
pub fn written_part(w: &Workload, m: &Module, k: &LaunchKind) -> f64 {
    let touched = m.function(&k.symbol);
    let Some(touched) = touched.and_then(|f| block::touched_params(m, f)) else {
        return HALF;
    };
    let mut buffers: BTreeMap<usize, bool> = BTreeMap::new();
    for (param, written) in touched {
        if let Some(ArgValue::Buffer { index, .. }) = k.launch.args.get(param) {
            *buffers.entry(*index).or_insert(false) |= written;
        }
    }
    let bytes = |b: usize| w.buffers.get(b).and_then(|b| b.bytes()).unwrap_or(0) as f64;
    let all: f64 = buffers.keys().map(|b| bytes(*b)).sum();
    let written = buffers.iter().filter(|b| *b.1).map(|b| bytes(*b.0));
    match all > 0.0 {
        true => written.sum::<f64>() / all,
        false => HALF,
    }
}

/// Puts copies of the launched kernels beside them: clipped ones, and for each fixed block one.
fn copies(m: &Module, all: &[LaunchKind], fixed: &[(String, [u32; 3])]) -> Result<(), JobError> {
    let refused = |name: &str, why: String| {
        JobError::Input(format!(
            "{name} cannot be sampled: {why}; help: kerf run --device cuda measures it whole"
        ))
    };
    let mut done: Vec<String> = Vec::new();
    for k in all {
        let name = clipped_name(&k.symbol, k.flat());
        let Some(f) = m.function(&k.symbol).filter(|_| !done.contains(&name)) else {
            continue;
        };
        let copy = f.clone_function(&name);
        clip_grid::clip(m, copy, k.flat()).map_err(|e| refused(&k.name, e.0))?;
        done.push(name);
    }
    for (number, (symbol, block)) in fixed.iter().enumerate() {
        if let Some(f) = m.function(symbol) {
            let copy = f.clone_function(&fixed_name(symbol, number));
            block_size::fix(m, copy, *block).map_err(|e| refused(symbol, e.to_string()))?;
        }
    }
    Ok(())
}

/// Makes a workload's launches ready to be timed, and hands them to `work`. `fixed` are blocks that kernels,
/// by symbol, are also compiled for.
pub fn bench<T>(
    job: &Job,
    fixed: impl Fn(&Workload, &[KernelInfo], &Module) -> Vec<(String, [u32; 3])>,
    work: impl FnOnce(&mut LaunchTimer) -> Result<T, JobError>,
) -> Result<T, JobError> {
    let workload = Workload::read(&job.workload, &job.overrides)?;
    let program = crate::compile::own_program(&workload, &job.toolchain())?;
    let m = program.module()?;
    let (infos, globals) = (kernels::kernels(&m), kernels::globals(&m));
    let session = WorkloadSession {
        seed: job.seed.unwrap_or(workload.seed),
        ..WorkloadSession::plain(&workload, &infos, &globals)
    };
    let used = session.check()?;
    launched_only(&m, &session, &used);
    let prepared = m.duplicate();
    let all = kinds(&workload, &infos, &session.params)?;
    let fixed = fixed(&workload, &infos, &m);
    copies(&m, &all, &fixed)?;
    let mut symbols: Vec<String> = m.kernel_functions().iter().map(|f| f.name()).collect();
    symbols.sort();
    Workshop::default().finish(&m, &job.toolchain())?;
    let (mut machine, sms) = match job.device {
        Device::Cpu => {
            let options = CpuOptions {
                threads: job.threads,
                ..CpuOptions::default()
            };
            (Machine::Cpu(Box::new(CpuExecutor::new(&m, options)?)), 1)
        }
        Device::Cuda => {
            let ptx = finish::ptx(&m, &job.arch).map_err(|e| JobError::Compile {
                message: e.0,
                help: None,
            })?;
            let exec = CudaExecutor::new(&ptx, &symbols, job.ordinal)?;
            (Machine::Cuda(Box::new(exec)), attributes(job.ordinal)?.sms)
        }
    };
    let loaded = session.load(machine.exec())?;
    work(&mut LaunchTimer {
        workload: &workload,
        kernels: &infos,
        module: &prepared,
        sms,
        session,
        machine,
        loaded,
        recorded: false,
    })
}

impl LaunchTimer<'_> {
    /// Launches by kind, at some launch parameters.
    pub fn kinds(&self, params: &BTreeMap<String, i64>) -> Result<Vec<LaunchKind>, JobError> {
        kinds(self.workload, self.kernels, params)
    }

    /// The device, in words.
    pub fn device(&mut self) -> String {
        self.machine.exec().device().name
    }

    /// What the driver says of a kernel.
    pub fn stats(&mut self, symbol: &str) -> Option<KernelStats> {
        let all = self.machine.exec().kernel_stats();
        all.into_iter().find(|k| k.symbol == symbol)
    }

    /// Blocks of a launch that fit on one multiprocessor; 1 on the CPU.
    pub fn resident(&self, k: &LaunchKind) -> Result<u32, JobError> {
        Ok(match &self.machine {
            Machine::Cpu(_) => 1,
            Machine::Cuda(e) => e.blocks_per_sm(&k.symbol, k.threads(), k.launch.shared)?,
        })
    }

    fn launch(&mut self, k: &LaunchKind, run: Run) -> Result<(), JobError> {
        let info = kernels::find(self.kernels, &k.symbol)
            .map_err(|_| JobError::Input(format!("no kernel {}", k.name)))?;
        let bound = bind(&k.launch, info, &self.workload.buffers, &self.loaded.ids);
        let (mut args, shared) = bound.map_err(|wrong| {
            let all: Vec<String> = wrong.iter().map(|w| w.what.clone()).collect();
            JobError::Input(format!("{}: {}", k.name, all.join("; ")))
        })?;
        let (symbol, grid) = match run {
            Run::Whole => (k.symbol.clone(), k.launch.grid),
            Run::Fixed(n) => (fixed_name(&k.symbol, n), k.launch.grid),
            Run::Part { first, count } => {
                let sees = self
                    .module
                    .function(&k.symbol)
                    .is_none_or(clip_grid::sees_grid);
                // A kernel that does not see the grid runs as it is, and so at its own speed.
                if first == 0 && k.flat() && !sees {
                    (k.symbol.clone(), [count, 1, 1])
                } else {
                    let more = clip_grid::arguments(first, k.launch.grid);
                    args.extend(more.into_iter().map(Arg::Bytes));
                    (clipped_name(&k.symbol, k.flat()), [count, 1, 1])
                }
            }
        };
        Ok(self.machine.exec().launch(&Launch {
            symbol: &symbol,
            name: &k.name,
            grid,
            block: k.launch.block,
            dynamic_shared: shared,
            args: &args,
        })?)
    }

    /// Times a launch, or a part of it, from a cache as the launch leaves it.
    pub fn time(&mut self, k: &LaunchKind, run: Run) -> Result<LaunchTime, JobError> {
        let written = written_part(self.workload, self.module, k);
        self.time_from(k, run, written)
    }

    /// Times a launch, or a part of it, from a cache of which that part has to be written back.
    pub fn time_from(
        &mut self,
        k: &LaunchKind,
        run: Run,
        written: f64,
    ) -> Result<LaunchTime, JobError> {
        if let Machine::Cuda(e) = &mut self.machine {
            e.clear_cache(written)?;
        }
        let records = match self.recorded {
            true => self.machine.exec().record_again()?,
            false => self.machine.exec().record()?,
        };
        if !records {
            return self.once(k, run);
        }
        self.recorded = true;
        let done = self.launch(k, run);
        self.machine.exec().recorded()?;
        done?;
        let first = self.machine.exec().replay(1)?;
        let each = (SAMPLE_S / first.max(1e-7)).clamp(1.0, MOST_RUNS) as u32;
        let mut samples = Vec::new();
        for _ in 0..SAMPLES {
            samples.push(self.machine.exec().replay(each)?);
        }
        timed(samples, each * SAMPLES as u32)
    }

    /// Where nothing is recorded: one run from the first contents.
    fn once(&mut self, k: &LaunchKind, run: Run) -> Result<LaunchTime, JobError> {
        self.session.reset(self.machine.exec(), &mut self.loaded)?;
        self.machine.exec().start_clock()?;
        self.launch(k, run)?;
        let s = self.machine.exec().stop_clock()?;
        timed(vec![s], 1)
    }

    /// Bytes of the outputs after what was timed last, by position among the buffers.
    pub fn outputs(&mut self) -> Result<Vec<(usize, Vec<u8>)>, JobError> {
        let mut all = Vec::new();
        for o in self.session.outputs() {
            let bytes = self.machine.exec().read(self.loaded.ids[o])?;
            all.push((o, bytes));
        }
        Ok(all)
    }
}

fn timed(samples: Vec<f64>, runs: u32) -> Result<LaunchTime, JobError> {
    let most = samples.iter().copied().fold(0.0, f64::max);
    let least = samples.iter().copied().fold(f64::INFINITY, f64::min);
    let t = Times::new(samples).ok_or_else(|| JobError::Worker("no times".into()))?;
    Ok(LaunchTime {
        median_s: t.median_s,
        least_s: least,
        most_s: most,
        runs,
    })
}
