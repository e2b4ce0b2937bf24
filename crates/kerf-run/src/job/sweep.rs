//! One workload at many degrees of approximation: one program for all of them, compiled once.
//!
//! Errors are against the program as it is on the same device, as Li et al. (2016) have them, so degree 0
//! has none. The degree is an argument of the launch; nothing is compiled between two of them.
mod bench;
mod deviation;
mod sites;

use super::check::{refuse, refuse_everywhere};
use super::report::{Energy, Times};
use super::turn::MachineShare;
use super::{Device, Job, JobError};
use crate::run::WorkloadSession;
use bench::{Bench, Built, Loaded, Maker, Outputs, no_version, plain};
use deviation::deviation;
use kerf_exec::cuda::watch::Watch;
use kerf_exec::{DeviceInfo, KernelStats};
use kerf_ir::kernels;
use kerf_pass::Plan;
use kerf_workload::digest::digest;
use kerf_workload::workload::Workload;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::mpsc::sync_channel;

pub use deviation::Deviation;
use sites::Tries;
pub use sites::{CallComparison, Change, ComparedCalls, Deed, Start, TimedVersion};

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
    /// Samples at degrees other than the first and the last, whose samples are the job's repeats.
    pub inner_repeats: u32,
    /// Calls one by one against whole-kernel fast-math, on a GPU; none: not compared.
    pub choice: Option<CallComparison>,
    /// File that is locked while the device is used.
    pub lock: Option<PathBuf>,
    /// Threads that make versions ready for a GPU.
    pub builders: usize,
}

/// Why calls were not compared in what is told before they are.
pub const NOT_YET: &str = "the run was stopped before calls were compared with fast-math";

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
pub struct RepeatCheck {
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
    /// Digests of the outputs of the program as it is.
    #[serde(default)]
    pub own_digests: Vec<String>,
    /// Digests of the outputs with every math call at its cheapest: equal on two devices that compute the
    /// same bits.
    #[serde(default)]
    pub cheap_digests: Vec<String>,
    /// The degrees.
    pub degrees: Vec<Degree>,
    /// At the middle degree, warps chosen by hash.
    pub hash: RepeatCheck,
    /// At the middle degree, warps chosen by slot.
    pub slots: Option<RepeatCheck>,
    /// Kernels in two versions.
    pub kernels: Vec<KernelStats>,
    /// Energy of the program as it is, at the degree of the ratio, and at its cheapest; on a GPU.
    pub energy: Vec<(f64, Energy)>,
    /// Calls one by one against whole-kernel fast-math.
    #[serde(default)]
    pub chosen: Option<ComparedCalls>,
    /// Why they were not compared, where they should have been.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_chosen: Option<String>,
    /// Seconds that this workload had the device for itself.
    #[serde(default)]
    pub turn_s: f64,
}

/// The program as it is takes the same time before and after the degrees, to this part of it, or times are
/// not to be trusted.
const STEADY: f64 = 0.03;

/// Runs of the middle degree that tell whether it repeats.
const AGAIN: usize = 6;

/// Outputs that wait to be compared while the device goes on.
const WAITING: usize = 2;

/// Versions that are built before the device is asked for.
struct Ready {
    own: Built,
    cheap: Built,
    parts: Built,
    slots: Option<Built>,
    choice: Option<Result<sites::Ready, JobError>>,
}

impl Bench<'_> {
    /// The middle degree again and again: every other run comes straight after others, without a pause.
    fn again(&self, l: &mut Loaded, own: &Outputs) -> Result<RepeatCheck, JobError> {
        let mut seen: Vec<Outputs> = Vec::new();
        let mut r = RepeatCheck::default();
        for i in 0..AGAIN {
            let outputs = match i % 2 {
                0 => self.run(l, 0.5)?,
                _ => self.measure(l, 0.5, 1)?.1,
            };
            let d = deviation(self.base.workload, own, &outputs);
            r.errors.push(d.mean_rel);
            r.runs += 1;
            if !seen.contains(&outputs) {
                seen.push(outputs);
            }
        }
        r.different = seen.len();
        Ok(r)
    }

    fn digests(&self, outputs: &Outputs) -> Vec<String> {
        let all = self.base.outputs().into_iter().zip(outputs);
        all.map(|(o, b)| digest(b, &self.base.workload.buffers[o].elem))
            .collect()
    }

    /// Times and errors at all degrees. Outputs are compared while the next degree runs.
    fn degrees(&self, l: &mut Loaded, own: &Outputs) -> Result<Vec<Degree>, JobError> {
        let w = self.base.workload;
        let all = &self.sweep.degrees;
        let (times, errors) = std::thread::scope(|s| {
            let (to, from) = sync_channel::<Outputs>(WAITING);
            let compare = s.spawn(move || -> Vec<Deviation> {
                from.iter().map(|o| deviation(w, own, &o)).collect()
            });
            let mut times = Vec::new();
            for (i, lambda) in all.iter().enumerate() {
                let repeats = match i == 0 || i + 1 == all.len() {
                    true => self.sweep.job.repeats,
                    false => self.sweep.inner_repeats,
                };
                let (t, outputs) = self.measure(l, *lambda, repeats)?;
                times.push(t);
                // Fails only if the other end is gone, which the join tells.
                let _ = to.send(outputs);
            }
            drop(to);
            let errors = compare.join();
            let lost = |_| JobError::Input("comparing outputs failed".into());
            Ok::<_, JobError>((times, errors.map_err(lost)?))
        })?;
        let points = all.iter().zip(times).zip(errors);
        Ok(points
            .map(|((lambda, times), error)| Degree {
                lambda: *lambda,
                times,
                error,
            })
            .collect())
    }

    fn measured(&self, ready: Ready, so_far: &mut dyn FnMut(&Swept)) -> Result<Swept, JobError> {
        let (sweep, w) = (self.sweep, self.base.workload);
        let repeats = sweep.job.repeats;
        let clock = std::time::Instant::now();
        let mut own = self.load(ready.own)?;
        self.wake(&mut own)?;
        let (before, reference) = self.measure(&mut own, 0.0, repeats)?;
        let mut cheap = self.load(ready.cheap)?;
        let (cheap_times, outputs) = self.measure(&mut cheap, 1.0, repeats)?;
        let cheap_error = deviation(w, &reference, &outputs);
        let cheap_digests = self.digests(&outputs);
        let mut l = self.load(ready.parts)?;
        let degrees = self.degrees(&mut l, &reference)?;
        // The program as it is once more, so that a drift of the clock is in both ends of the curve.
        let (after, _) = self.measure(&mut own, 0.0, repeats)?;
        let steady = match (&before, &after) {
            (Some(a), Some(b)) => (a.median_s / b.median_s - 1.0).abs() <= STEADY,
            _ => true,
        };
        let samples = [&before, &after].into_iter().flatten();
        let own_times = Times::new(samples.flat_map(|t| t.samples_s.clone()).collect());
        let mut energy = Vec::new();
        if self.watch.is_some() {
            energy.extend(self.energy(&mut own)?.map(|e| (0.0, e)));
            let within = |d: &&Degree| d.error.mean_rel <= sweep.ratio * cheap_error.mean_rel;
            let at = degrees.iter().rev().find(within).map(|d| d.lambda);
            if let Some(at) = at.filter(|at| *at > 0.0 && *at < 1.0) {
                self.record(&mut l, at)?;
                energy.extend(self.energy(&mut l)?.map(|e| (at, e)));
            }
            energy.extend(self.energy(&mut cheap)?.map(|e| (1.0, e)));
        }
        drop(cheap);
        let hash = self.again(&mut l, &reference)?;
        let stats = l.runner.exec.kernel_stats().into_iter();
        let stats = stats.filter(|k| l.symbols.contains(&k.symbol)).collect();
        let device = l.runner.exec.device();
        drop(l);
        let slots = match ready.slots {
            None => None,
            Some(b) => Some(self.again(&mut self.load(b)?, &reference)?),
        };
        let mut settings: BTreeMap<String, i64> = w.sizes.iter().cloned().collect();
        settings.extend(self.base.params.clone());
        let mut swept = Swept {
            device,
            settings,
            own: own_times,
            steady,
            cheap: cheap_times,
            cheap_error,
            own_digests: self.digests(&reference),
            cheap_digests,
            degrees,
            hash,
            slots,
            kernels: stats,
            energy,
            not_chosen: None,
            chosen: None,
            turn_s: clock.elapsed().as_secs_f64(),
        };
        if let (Some(c), Some(r)) = (&sweep.choice, ready.choice) {
            swept.not_chosen = Some(NOT_YET.into());
            so_far(&swept);
            let chosen = r.and_then(|r| self.choose(c, r, &mut own, &reference));
            swept.not_chosen = chosen.as_ref().err().map(ToString::to_string);
            swept.chosen = chosen.ok().flatten();
            swept.turn_s = clock.elapsed().as_secs_f64();
        }
        Ok(swept)
    }
}

/// Carries it out in this process. `making_ready` is the caller's share of the machine, which ends when the
/// device is asked for. `so_far` gets what is known before calls are compared one by one, which takes longest.
pub fn sweep(
    sweep: &Sweep,
    making_ready: MachineShare,
    so_far: &mut dyn FnMut(&Swept),
) -> Result<Swept, JobError> {
    let job = &sweep.job;
    let workload = Workload::read(&job.workload, &job.overrides)?;
    let program = crate::compile::own_program(&workload, &job.toolchain())?;
    let m = program.module()?;
    let (infos, globals) = (kernels::kernels(&m), kernels::globals(&m));
    let base = WorkloadSession {
        seed: job.seed.unwrap_or(workload.seed),
        ..WorkloadSession::plain(&workload, &infos, &globals)
    };
    let used = base.check()?;
    refuse_everywhere(&m, &used, &infos, &program.unlifted)?;
    if job.device == Device::Cpu {
        refuse(&m, &used, &infos, &program.unlifted)?;
    }
    let gpu = job.device == Device::Cuda;
    let watch = (gpu && job.energy_s > 0.0)
        .then(|| Watch::new(job.ordinal as u32).ok())
        .flatten();
    // A context takes longer to make than most kernels run: it stays.
    let _context = match gpu {
        true => Some(kerf_exec::cuda::keep(job.ordinal)?),
        false => None,
    };
    let bench = Bench {
        sweep,
        maker: Maker::new(job, &program),
        base: &base,
        used: &used,
        contents: base.contents()?,
        watch,
    };
    let mut wanted = vec![
        plain(&Plan::default()),
        plain(&sweep.cheap),
        plain(&sweep.parts),
    ];
    wanted.extend(sweep.slots.as_ref().map(plain));
    let choice = sweep.choice.as_ref().filter(|_| gpu);
    let tries = choice.map(|c| Tries::for_choice(c, &mut wanted));
    let mut built = bench.build_all(&wanted).into_iter();
    let mut next = || built.next().unwrap_or_else(|| Err(no_version()));
    let ready = Ready {
        own: next()?,
        cheap: next()?,
        parts: next()?,
        slots: sweep.slots.as_ref().map(|_| next()).transpose()?,
        choice: tries.map(|t| t.ready(next)),
    };
    drop(making_ready);
    let _turn = MachineShare::alone(sweep.lock.as_deref())?;
    bench.measured(ready, so_far)
}
