//! Versions of one program on a device: built, loaded with the same inputs, timed, their energy measured.
use super::super::finished::Workshop;
use super::super::report::{Energy, Times};
use super::super::timed::Runner;
use super::super::{Device, JobError};
use super::Sweep;
use crate::run::{Contents, Session};
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
pub(super) enum Built {
    Cpu(Box<CpuExecutor>, Vec<String>),
    Binary(Vec<u8>, Vec<String>),
}

/// A version on the device.
pub(super) struct Loaded {
    pub runner: Runner,
    /// Kernels in two versions.
    pub symbols: Vec<String>,
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
        Ok(match job.device {
            Device::Cpu => {
                let options = CpuOptions {
                    threads: job.threads,
                    ..CpuOptions::default()
                };
                Built::Cpu(Box::new(CpuExecutor::new(&m, options)?), symbols)
            }
            Device::Cuda => {
                let ptx = finish::ptx(&m, &job.arch).map_err(|e| JobError::Compile {
                    message: e.0,
                    help: None,
                })?;
                Built::Binary(kerf_exec::cuda::assemble(&ptx, job.ordinal)?, symbols)
            }
        })
    }

    /// On the device, with the inputs that all versions share.
    pub fn load(&self, built: Built) -> Result<Loaded, JobError> {
        let (exec, symbols): (Box<dyn Executor>, _) = match built {
            Built::Cpu(e, s) => (e, s),
            Built::Binary(b, s) => {
                let exec = CudaExecutor::from_binary(&b, self.used, self.sweep.job.ordinal)?;
                (Box::new(exec), s)
            }
        };
        let runner = Runner::with(exec, &self.at(&symbols, 0.0), Some(self.contents.clone()))?;
        Ok(Loaded { runner, symbols })
    }

    /// The session at a degree.
    fn at(&self, symbols: &[String], lambda: f64) -> Session<'b> {
        Session {
            workload: self.base.workload,
            kernels: self.base.kernels,
            globals: self.base.globals,
            params: self.base.params.clone(),
            seed: self.base.seed,
            storage: Vec::new(),
            perturb: self.base.perturb,
            lambda: symbols.iter().map(|s| (s.clone(), lambda as f32)).collect(),
            regroup: BTreeMap::new(),
            declared: None,
        }
    }

    /// Runs once at a degree, without a clock.
    pub fn run(&self, l: &mut Loaded, lambda: f64) -> Result<Outputs, JobError> {
        l.runner.run(&self.at(&l.symbols, lambda))?;
        self.outputs(l)
    }

    /// Records the run at a degree, so that it can be sampled; two replays warm it up. Without effect on
    /// the CPU, where the run is made at once.
    pub fn record(&self, l: &mut Loaded, lambda: f64) -> Result<(), JobError> {
        let s = self.at(&l.symbols, lambda);
        if self.sweep.job.device == Device::Cpu {
            l.runner.run(&s)?;
            return Ok(());
        }
        l.runner.record(&s, self.sweep.job.sample_s)
    }

    /// One sample of what was recorded.
    pub fn sample(&self, l: &mut Loaded, lambda: f64) -> Result<f64, JobError> {
        l.runner.sample(&self.at(&l.symbols, lambda))
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
        let read = |o| {
            self.base
                .output(l.runner.exec.as_mut(), &l.runner.loaded, o)
        };
        let all: Result<Outputs, _> = self.base.outputs().into_iter().map(read).collect();
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
