//! Versions of one program on a device: built, loaded with the same inputs, timed, their energy measured.
use super::super::finished::Workshop;
use super::super::report::{Energy, Times};
use super::super::timed::Runner;
use super::super::{Device, JobError};
use super::Sweep;
use crate::run::{Contents, Session};
use crate::storage::{self, Held};
use kerf_exec::Executor;
use kerf_exec::cpu::{CpuExecutor, CpuOptions};
use kerf_exec::cuda::CudaExecutor;
use kerf_exec::cuda::watch::Watch;
use kerf_ir::finish::{self, Reflect};
use kerf_ir::kernels;
use kerf_ir::program::Program;
use kerf_pass::Plan;
use std::collections::BTreeMap;
use std::time::Instant;

/// Outputs of a run, in the order of the workload's.
pub(super) type Outputs = Vec<Vec<u8>>;

/// What all versions have in common.
pub(super) struct Bench<'b> {
    pub sweep: &'b Sweep,
    pub program: &'b Program,
    pub base: &'b Session<'b>,
    pub used: &'b [String],
    pub contents: Contents,
    pub watch: Option<Watch>,
    pub shop: Workshop,
}

/// A version that is ready to be loaded.
pub(super) struct Built {
    code: Code,
    symbols: Vec<String>,
    storage: Vec<Option<Held>>,
}

enum Code {
    Cpu(Box<CpuExecutor>),
    Binary(Vec<u8>),
}

/// A version on the device.
pub(super) struct Loaded {
    pub runner: Runner,
    /// Kernels in two versions.
    pub symbols: Vec<String>,
    /// Buffers that it holds in other formats.
    storage: Vec<Option<Held>>,
}

/// Seconds of work after which a GPU's clock is up.
const WAKE_S: f64 = 0.2;

impl<'b> Bench<'b> {
    /// The program with a plan; machine code is made at once.
    pub fn build(&mut self, plan: &Plan) -> Result<Built, JobError> {
        self.build_as(plan, Reflect::default())
    }

    /// The program with a plan, and f32 operations as `reflect` has them.
    pub fn build_as(&mut self, plan: &Plan, reflect: Reflect) -> Result<Built, JobError> {
        let m = self.program.module()?;
        plan.apply(&m)?;
        let job = &self.sweep.job;
        self.shop.finish_as(&m, &job.toolchain(), reflect)?;
        let mut symbols = Vec::new();
        for (name, k) in &plan.kernels {
            if let (Some(_), Ok(info)) = (&k.partition, kernels::find(self.base.kernels, name)) {
                symbols.push(info.symbol.clone());
            }
        }
        let storage = storage::assign(self.base, plan).map_err(JobError::Input)?;
        let code = match job.device {
            Device::Cpu => {
                let options = CpuOptions {
                    threads: job.threads,
                    ..CpuOptions::default()
                };
                Code::Cpu(Box::new(CpuExecutor::new(&m, options)?))
            }
            Device::Cuda => {
                let ptx = finish::ptx(&m, &job.arch).map_err(|e| JobError::Compile {
                    message: e.0,
                    help: None,
                })?;
                Code::Binary(kerf_exec::cuda::assemble(&ptx, job.ordinal)?)
            }
        };
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
            Code::Binary(b) => {
                let exec = CudaExecutor::from_binary(&b, self.used, self.sweep.job.ordinal)?;
                Box::new(exec)
            }
        };
        let (symbols, storage) = (built.symbols, built.storage);
        let session = self.at(&symbols, &storage, 0.0);
        let contents = session.as_held(&self.contents);
        let runner = Runner::with(exec, &session, Some(contents))?;
        Ok(Loaded {
            runner,
            symbols,
            storage,
        })
    }

    /// The session at a degree.
    fn at(&self, symbols: &[String], storage: &[Option<Held>], lambda: f64) -> Session<'b> {
        Session {
            workload: self.base.workload,
            kernels: self.base.kernels,
            globals: self.base.globals,
            params: self.base.params.clone(),
            seed: self.base.seed,
            storage: storage.to_vec(),
            perturb: self.base.perturb,
            lambda: symbols.iter().map(|s| (s.clone(), lambda as f32)).collect(),
            regroup: BTreeMap::new(),
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
