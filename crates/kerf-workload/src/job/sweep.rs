//! One workload at many degrees of approximation: one program for all of them, compiled once.
//!
//! Errors are against the program as it is on the same device, as Li et al. (2016) have them, so degree 0
//! has none. The degree is an argument of the launch; nothing is compiled between two of them.
use super::check::refuse;
use super::finished::Workshop;
use super::report::{Energy, Times};
use super::timed::Runner;
use super::{Device, Job, JobError};
use crate::digest::digest;
use crate::generate::perturb::format_of;
use crate::run::Session;
use crate::workload::Workload;
use kerf_exec::cpu::{CpuExecutor, CpuOptions};
use kerf_exec::cuda::CudaExecutor;
use kerf_exec::cuda::watch::Watch;
use kerf_exec::{DeviceInfo, Executor, KernelStats};
use kerf_ir::finish;
use kerf_ir::kernels;
use kerf_ir::program::{self, Program};
use kerf_num::Format;
use kerf_pass::Plan;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// What to run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Sweep {
    /// Workload, device, toolchain, warm-up and repeats; its plan is not used.
    pub job: Job,
    /// Every math call at its cheapest, in all warps.
    pub cheap: Plan,
    /// The same in a part of the warps.
    pub parts: Plan,
    /// The same by hardware slots, to see whether it repeats; none: not tried.
    pub slots: Option<Plan>,
    /// Degrees, ascending.
    pub degrees: Vec<f64>,
    /// Energy is also measured at the largest degree whose error is at most this part of the largest.
    pub ratio: f64,
    /// File that is locked while the device is used.
    pub lock: Option<PathBuf>,
}

/// Errors of all outputs together against the program as it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Deviation {
    /// Mean relative error.
    pub mean_rel: f64,
    /// Largest relative error.
    pub max_rel: f64,
    /// Values compared.
    pub compared: u64,
    /// Values that are NaN or infinite in one of the two only.
    pub not_finite: u64,
    /// Integers that differ.
    pub integers: u64,
}

/// One degree.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Degree {
    /// Fraction of the warps.
    pub lambda: f64,
    /// Times, on a GPU.
    pub times: Option<Times>,
    /// Error.
    pub error: Deviation,
}

/// Whether the same again gives the same.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Repeated {
    /// Runs.
    pub runs: usize,
    /// Different outputs among them.
    pub different: usize,
    /// Mean relative error of each.
    pub errors: Vec<f64>,
}

/// What came of it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Swept {
    /// Device.
    pub device: DeviceInfo,
    /// Sizes and parameters in force.
    pub settings: BTreeMap<String, i64>,
    /// The program as it is.
    pub own: Option<Times>,
    /// It took the same time before and after the degrees.
    pub steady: bool,
    /// Every math call at its cheapest.
    pub cheap: Option<Times>,
    /// Its error.
    pub cheap_error: Deviation,
    /// The degrees.
    pub degrees: Vec<Degree>,
    /// At the middle degree, warps chosen by hash.
    pub hash: Repeated,
    /// At the middle degree, warps chosen by slot.
    pub slots: Option<Repeated>,
    /// Kernels in two versions.
    pub kernels: Vec<KernelStats>,
    /// Energy of the program as it is, at the degree of the ratio, and at its cheapest; on a GPU.
    pub energy: Vec<(f64, Energy)>,
}

/// Floating-point values of an output, and its other bytes.
struct Values {
    floats: Vec<(f64, f64)>,
    integers: Vec<u64>,
}

fn values(w: &Workload, buffer: usize, bytes: &[u8]) -> Values {
    let b = &w.buffers[buffer];
    let (size, scalars) = (b.elem.size(), b.elem.scalars());
    let floor = w.accept.criterion(&b.name).and_then(|c| c.floor);
    let mut v = Values {
        floats: Vec::with_capacity(b.len * scalars.len()),
        integers: Vec::new(),
    };
    for element in bytes.chunks_exact(size) {
        for (at, s) in &scalars {
            let mut word = [0u8; 8];
            let n = s.bytes().min(8);
            word[..n].copy_from_slice(&element[*at..at + n]);
            let word = u64::from_le_bytes(word);
            match format_of(*s) {
                Some(Format::F32) => {
                    let x = f64::from(f32::from_bits(word as u32));
                    v.floats
                        .push((x, floor.unwrap_or(Format::F32.min_normal())));
                }
                Some(f) => v
                    .floats
                    .push((f.decode(word), floor.unwrap_or(f.min_normal()))),
                None => v.integers.push(word),
            }
        }
    }
    v
}

fn deviation(own: &[Values], got: &[Values]) -> Deviation {
    let mut d = Deviation::default();
    let mut sum = 0.0;
    for (o, g) in own.iter().zip(got) {
        for ((x, floor), (y, _)) in o.floats.iter().zip(&g.floats) {
            if x == y || x.is_nan() && y.is_nan() {
                d.compared += 1;
            } else if x.is_finite() && y.is_finite() {
                let rel = (y - x).abs() / x.abs().max(*floor);
                d.compared += 1;
                d.max_rel = d.max_rel.max(rel);
                sum += rel;
            } else {
                d.not_finite += 1;
            }
        }
        let differ = o.integers.iter().zip(&g.integers).filter(|(a, b)| a != b);
        d.integers += differ.count() as u64;
    }
    d.mean_rel = sum / d.compared.max(1) as f64;
    d
}

struct Bench<'b> {
    sweep: &'b Sweep,
    program: &'b Program,
    base: &'b Session<'b>,
    used: &'b [String],
    watch: Option<Watch>,
    shop: Workshop,
}

impl<'b> Bench<'b> {
    /// The program with a plan, ready to be loaded: machine code for the CPU is made at once.
    fn build(&mut self, plan: &Plan) -> Result<Built, JobError> {
        let m = self.program.module()?;
        plan.apply(&m)?;
        let job = &self.sweep.job;
        self.shop.finish(&m, &job.toolchain())?;
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
                Built::Ptx(ptx, symbols)
            }
        })
    }

    fn load(&self, built: Built) -> Result<Loaded, JobError> {
        let (exec, symbols): (Box<dyn Executor>, _) = match built {
            Built::Cpu(e, s) => (e, s),
            Built::Ptx(ptx, s) => {
                let exec = CudaExecutor::new(&ptx, self.used, self.sweep.job.ordinal)?;
                (Box::new(exec), s)
            }
        };
        let runner = Runner::new(exec, &self.at(&symbols, 0.0))?;
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
        }
    }

    /// Runs at a degree; times where the device has them.
    fn measure(&self, l: &mut Loaded, lambda: f64, timed: bool) -> Result<Option<Times>, JobError> {
        let s = self.at(&l.symbols, lambda);
        let job = &self.sweep.job;
        if job.device == Device::Cpu || !timed {
            l.runner.batch = None;
            l.runner.run(&s)?;
            return Ok(None);
        }
        for _ in 0..job.warmup {
            l.runner.run(&s)?;
        }
        l.runner.record(&s, job.sample_s)?;
        let samples: Result<Vec<f64>, JobError> = (0..job.repeats.max(1))
            .map(|_| l.runner.sample(&s))
            .collect();
        Ok(Times::new(samples?))
    }

    /// Runs at a degree in turn with other processes; the outputs' bytes are read before the next may run.
    fn run_at(
        &self,
        l: &mut Loaded,
        lambda: f64,
        timed: bool,
    ) -> Result<(Option<Times>, Vec<Vec<u8>>), JobError> {
        let turn = self.turn()?;
        let times = self.measure(l, lambda, timed)?;
        let read = |o| {
            self.base
                .output(l.runner.exec.as_mut(), &l.runner.loaded, o)
        };
        let outputs: Result<Vec<_>, _> = self.base.outputs().into_iter().map(read).collect();
        drop(turn);
        Ok((times, outputs?))
    }

    fn values(&self, outputs: &[Vec<u8>]) -> Vec<Values> {
        let all = self.base.outputs().into_iter().zip(outputs);
        all.map(|(o, bytes)| values(self.base.workload, o, bytes))
            .collect()
    }

    /// The device for this process alone, among those that ask for it. Given back when dropped.
    fn turn(&self) -> Result<Option<std::fs::File>, JobError> {
        let Some(path) = &self.sweep.lock else {
            return Ok(None);
        };
        let fail =
            |e: std::io::Error| JobError::Input(format!("cannot lock {}: {e}", path.display()));
        let f = std::fs::OpenOptions::new()
            .append(true)
            .create(true)
            .open(path);
        let f = f.map_err(fail)?;
        f.lock().map_err(fail)?;
        Ok(Some(f))
    }

    /// Keeps the device busy until its clock is up.
    fn wake(&self, l: &mut Loaded) -> Result<(), JobError> {
        if self.sweep.job.device == Device::Cuda {
            let s = self.at(&l.symbols, 0.0);
            let clock = Instant::now();
            l.runner.record(&s, self.sweep.job.sample_s)?;
            while l.runner.batch.is_some() && clock.elapsed().as_secs_f64() < WAKE_S {
                l.runner.sample(&s)?;
            }
        }
        Ok(())
    }

    /// Energy by NVML, from one movement of its counter to another; what was last recorded is replayed.
    fn energy(&self, l: &mut Loaded) -> Result<Option<Energy>, JobError> {
        let (Some(watch), Some(batch)) = (&self.watch, l.runner.batch) else {
            return Ok(None);
        };
        let seconds = self.sweep.job.energy_s;
        let batch = batch.max(8);
        let settled = Instant::now() + Duration::from_millis(300);
        while Instant::now() < settled {
            l.runner.exec.replay(batch)?;
        }
        let mut runs = 0u64;
        let mut edge = |l: &mut Loaded| -> Result<Option<(Instant, f64, u64)>, JobError> {
            let first = watch.energy();
            let give_up = Instant::now() + Duration::from_secs(1);
            while Instant::now() < give_up {
                l.runner.exec.replay(batch)?;
                runs += u64::from(batch);
                if let (Some(now), true) = (watch.energy(), watch.energy() != first) {
                    return Ok(Some((Instant::now(), now, runs)));
                }
            }
            Ok(None)
        };
        let Some((start, from, before)) = edge(l)? else {
            return Ok(None);
        };
        let mut last = (start, from, before);
        while last.0.duration_since(start).as_secs_f64() < seconds {
            match edge(l)? {
                Some(e) => last = e,
                None => return Ok(None),
            }
        }
        let window_s = last.0.duration_since(start).as_secs_f64();
        let (joules, runs) = (last.1 - from, last.2 - before);
        Ok(Some(Energy {
            per_run_j: joules / runs.max(1) as f64,
            mean_w: joules / window_s,
            window_s,
            runs,
        }))
    }
}

enum Built {
    Cpu(Box<CpuExecutor>, Vec<String>),
    Ptx(String, Vec<String>),
}

struct Loaded {
    runner: Runner,
    symbols: Vec<String>,
}

/// The program as it is takes the same time before and after the degrees, to this part of it, or times are
/// not to be trusted.
const STEADY: f64 = 0.03;

/// Seconds of work after which a GPU's clock is up.
const WAKE_S: f64 = 0.2;

/// Runs of the middle degree that tell whether it repeats.
const AGAIN: usize = 3;

impl Bench<'_> {
    fn again(&self, l: &mut Loaded, own: &[Values]) -> Result<Repeated, JobError> {
        let mut seen: Vec<Vec<String>> = Vec::new();
        let mut r = Repeated::default();
        for _ in 0..AGAIN {
            let (_, bytes) = self.run_at(l, 0.5, false)?;
            r.errors.push(deviation(own, &self.values(&bytes)).mean_rel);
            r.runs += 1;
            let elements = self.base.outputs().into_iter();
            let elements = elements.map(|o| &self.base.workload.buffers[o].elem);
            let d: Vec<String> = bytes
                .iter()
                .zip(elements)
                .map(|(b, e)| digest(b, e))
                .collect();
            if !seen.contains(&d) {
                seen.push(d);
            }
        }
        r.different = seen.len();
        Ok(r)
    }
}

/// Carries it out in this process.
pub fn sweep(sweep: &Sweep) -> Result<Swept, JobError> {
    let job = &sweep.job;
    let workload = Workload::read(&job.workload, &job.overrides)?;
    let program = program::load(&job.toolchain(), &workload.source, &workload.flags)?;
    let m = program.module()?;
    let (infos, globals) = (kernels::kernels(&m), kernels::globals(&m));
    let base = Session {
        workload: &workload,
        kernels: &infos,
        globals: &globals,
        params: workload.launch_space.default_params(),
        seed: job.seed.unwrap_or(workload.seed),
        storage: Vec::new(),
        perturb: None,
        lambda: BTreeMap::new(),
        regroup: BTreeMap::new(),
    };
    let used = base.check()?;
    if job.device == Device::Cpu {
        refuse(&m, &used, &infos, &program.unlifted)?;
    }
    let watch = (job.device == Device::Cuda && job.energy_s > 0.0)
        .then(|| Watch::new(job.ordinal as u32).ok())
        .flatten();
    let mut bench = Bench {
        sweep,
        program: &program,
        base: &base,
        used: &used,
        watch,
        shop: Workshop::default(),
    };
    let own = bench.build(&Plan::default())?;
    let cheap = bench.build(&sweep.cheap)?;
    let parts = bench.build(&sweep.parts)?;
    let slots = sweep.slots.as_ref().map(|p| bench.build(p)).transpose()?;
    // Another process that loads would be in this one's times, so loading takes its turn too.
    let turn = bench.turn()?;
    let mut own = bench.load(own)?;
    let mut cheap = bench.load(cheap)?;
    let mut l = bench.load(parts)?;
    let mut slots = slots.map(|b| bench.load(b)).transpose()?;
    bench.wake(&mut own)?;
    drop(turn);
    let (before, bytes) = bench.run_at(&mut own, 0.0, true)?;
    let reference = bench.values(&bytes);
    let (cheap_times, bytes) = bench.run_at(&mut cheap, 1.0, true)?;
    let cheap_error = deviation(&reference, &bench.values(&bytes));
    let mut degrees = Vec::new();
    for lambda in &sweep.degrees {
        let (times, bytes) = bench.run_at(&mut l, *lambda, true)?;
        degrees.push(Degree {
            lambda: *lambda,
            times,
            error: deviation(&reference, &bench.values(&bytes)),
        });
    }
    // The program as it is once more, so that a drift of the clock is in both ends of the curve.
    let (after, _) = bench.run_at(&mut own, 0.0, true)?;
    let steady = match (&before, &after) {
        (Some(a), Some(b)) => (a.median_s / b.median_s - 1.0).abs() <= STEADY,
        _ => true,
    };
    let samples = [&before, &after].into_iter().flatten();
    let own_times = Times::new(samples.flat_map(|t| t.samples_s.clone()).collect());
    let mut energy = Vec::new();
    let turn = bench.turn()?;
    energy.extend(bench.energy(&mut own)?.map(|e| (0.0, e)));
    let within = |d: &&Degree| d.error.mean_rel <= sweep.ratio * cheap_error.mean_rel;
    let at = degrees.iter().rev().find(within).map(|d| d.lambda);
    if let Some(at) = at.filter(|_| bench.watch.is_some()) {
        bench.measure(&mut l, at, true)?;
        energy.extend(bench.energy(&mut l)?.map(|e| (at, e)));
    }
    energy.extend(bench.energy(&mut cheap)?.map(|e| (1.0, e)));
    drop(turn);
    let hash = bench.again(&mut l, &reference)?;
    let stats = l.runner.exec.kernel_stats().into_iter();
    let stats = stats.filter(|k| l.symbols.contains(&k.symbol)).collect();
    let device = l.runner.exec.device();
    let slots = match &mut slots {
        None => None,
        Some(l) => Some(bench.again(l, &reference)?),
    };
    let mut settings: BTreeMap<String, i64> = workload.sizes.iter().cloned().collect();
    settings.extend(base.params.clone());
    Ok(Swept {
        device,
        settings,
        own: own_times,
        steady,
        cheap: cheap_times,
        cheap_error,
        degrees,
        hash,
        slots,
        kernels: stats,
        energy,
    })
}
