//! Versions of one program on a device: built, loaded with the same inputs, timed, their energy measured.
use super::super::finished::{Libdevice, with_libdevice};
use super::super::report::{Energy, Times};
use super::super::timed::TimedProgram;
use super::super::{Device, Job, JobError};
use super::Sweep;
use crate::held::HeldBuffer;
use crate::run::{Contents, FirstContents, WorkloadSession};
use crate::storage;
use kerf_exec::Executor;
use kerf_exec::cpu::{CpuExecutor, CpuOptions};
use kerf_exec::cuda::watch::Watch;
use kerf_exec::cuda::{self, CudaExecutor};
use kerf_ir::finish::{self, Reflect};
use kerf_ir::kernels;
use kerf_ir::program::Program;
use kerf_llvm::Module;
use kerf_pass::Plan;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// Outputs of a run, in the order of the workload's.
pub(super) type Outputs = Vec<Vec<u8>>;

/// A version that is wanted: the program with a plan, and f32 operations as the second has them.
pub(super) type Wanted = (Plan, Reflect);

/// A version with nothing special about f32 operations.
pub(super) fn plain(plan: &Plan) -> Wanted {
    (plan.clone(), Reflect::default())
}

/// What makes machine code of plans, on any thread.
pub(super) struct Maker<'b> {
    job: &'b Job,
    program: &'b Program,
    libdevice: Mutex<Libdevice>,
}

impl<'b> Maker<'b> {
    pub fn new(job: &'b Job, program: &'b Program) -> Maker<'b> {
        Maker {
            job,
            program,
            libdevice: Mutex::default(),
        }
    }

    fn finished(&self, (plan, reflect): &Wanted) -> Result<Module, JobError> {
        let m = self.program.module()?;
        plan.apply(&m)?;
        let tools = self.job.toolchain();
        // Others wait for libdevice, not for the optimiser.
        let lib = {
            let mut held = self.libdevice.lock().unwrap_or_else(|e| e.into_inner());
            held.part(&m, &tools)?
        };
        with_libdevice(&m, &lib, &tools, *reflect)?;
        Ok(m)
    }

    fn assembled(&self, wanted: &Wanted) -> Result<cuda::Code, JobError> {
        let m = self.finished(wanted)?;
        let ptx = finish::ptx(&m, &self.job.arch).map_err(|e| JobError::Compile {
            message: e.0,
            help: None,
        })?;
        Ok(cuda::assemble(&ptx, self.job.ordinal)?)
    }

    fn executor(&self, wanted: &Wanted) -> Result<Code, JobError> {
        let options = CpuOptions {
            threads: self.job.threads,
            ..CpuOptions::default()
        };
        let m = self.finished(wanted)?;
        Ok(Code::Cpu(Box::new(CpuExecutor::new(&m, options)?)))
    }
}

/// What `make` gives for each of a list, on so many threads, in the order of the list.
fn on_threads<T: Sync, R: Send>(
    all: &[T],
    threads: usize,
    make: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, R)>> = Mutex::new(Vec::new());
    std::thread::scope(|s| {
        for _ in 0..threads.clamp(1, all.len().max(1)) {
            s.spawn(|| {
                loop {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    let Some(one) = all.get(i) else { break };
                    let made = make(one);
                    let mut done = done.lock().unwrap_or_else(|e| e.into_inner());
                    done.push((i, made));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(|e| e.into_inner());
    done.sort_by_key(|d| d.0);
    done.into_iter().map(|d| d.1).collect()
}

/// What all versions have in common.
pub(super) struct Bench<'b> {
    pub sweep: &'b Sweep,
    pub maker: Maker<'b>,
    pub base: &'b WorkloadSession<'b>,
    pub used: &'b [String],
    pub contents: Contents,
    pub watch: Option<Watch>,
}

/// A version that is ready to be loaded.
pub(super) struct Built {
    code: Code,
    symbols: Vec<String>,
    storage: Vec<Option<HeldBuffer>>,
}

enum Code {
    Cpu(Box<CpuExecutor>),
    Cuda(cuda::Code),
}

/// A version on the device.
pub(super) struct Loaded {
    pub runner: TimedProgram,
    /// Kernels in two versions.
    pub symbols: Vec<String>,
    /// Buffers that it holds in other formats.
    storage: Vec<Option<HeldBuffer>>,
}

/// Where a list of versions is shorter than what was asked for, which it is not.
pub(super) fn no_version() -> JobError {
    JobError::Input("a version of the program is missing".into())
}

/// Seconds of work after which a GPU's clock is up.
const WAKE_S: f64 = 0.2;

impl<'b> Bench<'b> {
    /// The program with a plan; machine code is made at once.
    pub fn build(&self, plan: &Plan) -> Result<Built, JobError> {
        let mut one = self.build_all(&[plain(plan)]);
        one.pop().unwrap_or_else(|| Err(no_version()))
    }

    /// Many versions, in the order of the list. For a GPU they are made beside each other: compiling one of them takes one
    /// core a second, and there may be fifty.
    pub fn build_all(&self, wanted: &[Wanted]) -> Vec<Result<Built, JobError>> {
        let maker = &self.maker;
        let codes: Vec<Result<Code, JobError>> = match maker.job.device {
            Device::Cpu => wanted.iter().map(|w| maker.executor(w)).collect(),
            Device::Cuda => on_threads(wanted, self.sweep.builders, |w| maker.assembled(w))
                .into_iter()
                .map(|c| c.map(Code::Cuda))
                .collect(),
        };
        let pairs = codes.into_iter().zip(wanted);
        pairs.map(|(code, w)| self.built(code?, &w.0)).collect()
    }

    fn built(&self, code: Code, plan: &Plan) -> Result<Built, JobError> {
        let mut symbols = Vec::new();
        for (name, k) in &plan.kernels {
            if let (Some(_), Ok(info)) = (&k.partition, kernels::find(self.base.kernels, name)) {
                symbols.push(info.symbol.clone());
            }
        }
        let storage = storage::assign(self.base, plan)?;
        Ok(Built {
            code,
            symbols,
            storage,
        })
    }

    /// On the device, with the inputs that all versions share.
    pub fn load(&self, built: Built) -> Result<Loaded, JobError> {
        let exec: Box<dyn Executor> = match built.code {
            Code::Cpu(e) => e,
            Code::Cuda(c) => {
                let exec = CudaExecutor::from_code(c, self.used, self.sweep.job.ordinal)?;
                Box::new(exec)
            }
        };
        let (symbols, storage) = (built.symbols, built.storage);
        let session = self.at(&symbols, &storage, 0.0);
        let contents = session.as_held(&self.contents);
        let runner = TimedProgram::with(exec, &session, Some(FirstContents::Host(contents)))?;
        Ok(Loaded {
            runner,
            symbols,
            storage,
        })
    }

    /// The session at a degree.
    fn at(
        &self,
        symbols: &[String],
        storage: &[Option<HeldBuffer>],
        lambda: f64,
    ) -> WorkloadSession<'b> {
        WorkloadSession {
            workload: self.base.workload,
            kernels: self.base.kernels,
            globals: self.base.globals,
            params: self.base.params.clone(),
            seed: self.base.seed,
            storage: storage.to_vec(),
            perturb: self.base.perturb,
            change: self.base.change,
            lambda: symbols.iter().map(|s| (s.clone(), lambda as f32)).collect(),
            regroup: BTreeMap::new(),
            reblock: BTreeMap::new(),
            coarsen: BTreeMap::new(),
            declared: None,
        }
    }

    /// Runs once at a degree, without a clock.
    pub fn run(&self, l: &mut Loaded, lambda: f64) -> Result<Outputs, JobError> {
        l.runner.run(&self.at(&l.symbols, &l.storage, lambda))?;
        self.outputs(l)
    }

    /// Records the run at a degree, so that it can be sampled; two replays warm it up. Without effect on
    /// the CPU, where the run is made at once.
    pub fn record(&self, l: &mut Loaded, lambda: f64) -> Result<(), JobError> {
        let s = self.at(&l.symbols, &l.storage, lambda);
        if self.sweep.job.device == Device::Cpu {
            l.runner.run(&s)?;
            return Ok(());
        }
        l.runner.record(&s, self.sweep.job.sample_s)
    }

    /// One sample of what was recorded.
    pub fn sample(&self, l: &mut Loaded, lambda: f64) -> Result<f64, JobError> {
        l.runner.sample(&self.at(&l.symbols, &l.storage, lambda))
    }

    /// Runs at a degree; times where the device has them.
    pub fn measure(
        &self,
        l: &mut Loaded,
        lambda: f64,
        repeats: u32,
    ) -> Result<(Option<Times>, Outputs), JobError> {
        self.record(l, lambda)?;
        let mut samples = Vec::new();
        if self.sweep.job.device == Device::Cuda {
            for _ in 0..repeats.max(1) {
                samples.push(self.sample(l, lambda)?);
            }
        }
        Ok((Times::new(samples), self.outputs(l)?))
    }

    fn outputs(&self, l: &mut Loaded) -> Result<Outputs, JobError> {
        let session = self.at(&l.symbols, &l.storage, 0.0);
        let read = |o| session.output(l.runner.exec.as_mut(), &l.runner.loaded, o);
        let all: Result<Outputs, _> = session.outputs().into_iter().map(read).collect();
        Ok(all?)
    }

    /// Keeps the device busy until its clock is up.
    pub fn wake(&self, l: &mut Loaded) -> Result<(), JobError> {
        if self.sweep.job.device == Device::Cuda {
            self.record(l, 0.0)?;
            let clock = Instant::now();
            while l.runner.batch.is_some() && clock.elapsed().as_secs_f64() < WAKE_S {
                self.sample(l, 0.0)?;
            }
        }
        Ok(())
    }

    /// Energy of what was last recorded.
    pub fn energy(&self, l: &mut Loaded) -> Result<Option<Energy>, JobError> {
        match &self.watch {
            Some(w) => l.runner.energy(w, self.sweep.job.energy_s),
            None => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_threads_make_is_in_order() {
        let all: Vec<u64> = (0..40).collect();
        for threads in [0, 1, 3, 64] {
            let got = on_threads(&all, threads, |x| {
                // The first ones take longest.
                std::thread::sleep(std::time::Duration::from_micros(40 - x));
                x * x
            });
            assert_eq!(got, all.iter().map(|x| x * x).collect::<Vec<_>>());
        }
        assert!(on_threads(&[] as &[u64], 4, |x| *x).is_empty());
    }
}
