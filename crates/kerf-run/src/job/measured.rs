//! The runs of a job on its device: code is loaded, runs are timed, outputs and sensors read.
use super::answers::FinishedRun;
use super::baseline::{Baseline, JobContents};
use super::finished::prints;
use super::report::{Energy, JobSeconds, Times};
use super::resident::stays_on_device;
use super::timed::TimedProgram;
use super::turn::{MachineShare, kept_or_alone};
use super::workshop::Workshop;
use super::{Device, Job, JobError};
use crate::memory;
use crate::run::{LoadedBuffers, WorkloadSession};
use kerf_exec::Executor;
use kerf_exec::cpu::{CpuExecutor, CpuOptions};
use kerf_exec::cuda::watch::{Reading, Watch};
use kerf_exec::cuda::{self, CudaExecutor};
use kerf_ir::program::Program;
use kerf_llvm::Module;
use std::sync::Arc;
use std::time::Instant;

/// Where the interval of a median is wider than this part of it, more samples are taken: up to so many times
/// as many.
const UNSTEADY: f64 = 0.03;
const MORE: usize = 4;

/// Samples hardly differ where they all lie within this part of their median.
const STEADY: f64 = 0.02;

/// Where a few samples are enough if they hardly differ, so many times as many are enough if they do: who is near the fastest
/// is measured again.
const UNTIL_STEADY: usize = 3;

/// A program that is ready to be loaded.
enum Made {
    Cpu(Box<CpuExecutor>),
    Cuda(cuda::Code),
}

impl Made {
    fn load(self, job: &Job, used: &[String]) -> Result<Box<dyn Executor>, JobError> {
        Ok(match self {
            Made::Cpu(e) => e,
            Made::Cuda(code) => Box::new(CudaExecutor::from_code(code, used, job.ordinal)?),
        })
    }
}

/// A program under a plan, as its executor takes it, and whether its kernels write lines for people.
fn made(
    job: &Job,
    (m, program): (&Module, &Program),
    kept_before: &mut Workshop,
    spent: &mut JobSeconds,
) -> Result<(Made, bool), JobError> {
    let clock = Instant::now();
    Ok(match job.device {
        Device::Cpu => {
            let options = CpuOptions {
                checks: job.memcheck,
                threads: job.threads,
                no_regions: job.coroutines,
                order: job.order,
            };
            kept_before.finish(m, &job.toolchain())?;
            let exec = CpuExecutor::new(m, options)?;
            spent.codegen_s += clock.elapsed().as_secs_f64();
            (Made::Cpu(Box::new(exec)), prints(m))
        }
        Device::Cuda => {
            let code = kept_before.planned_code(job, (m, program))?;
            spent.codegen_s += clock.elapsed().as_secs_f64();
            let clock = Instant::now();
            let assembled = code.assembled(job.ordinal)?;
            spent.load_s += clock.elapsed().as_secs_f64();
            (Made::Cuda(assembled), code.prints)
        }
    })
}

/// The samples' median is not known well enough.
fn unsteady(samples: &[f64]) -> bool {
    let t = Times::new(samples.to_vec());
    t.is_some_and(|t| t.high_s - t.low_s > UNSTEADY * t.median_s)
}

/// All samples are nearly the same.
fn steady(samples: &[f64]) -> bool {
    let least = samples.iter().copied().fold(f64::INFINITY, f64::min);
    let most = samples.iter().copied().fold(0.0, f64::max);
    most - least <= STEADY * least
}

/// Energy of a run by NVML.
fn energy(
    job: &Job,
    session: &WorkloadSession,
    plan: &mut TimedProgram,
    watch: &Watch,
    per_run_s: f64,
) -> Result<Option<Energy>, JobError> {
    if plan.batch.is_some() {
        return plan.energy(watch, job.energy_s);
    }
    let Some(start) = watch.read().energy_j else {
        return Ok(None);
    };
    let clock = std::time::Instant::now();
    let mut runs = 0;
    while clock.elapsed().as_secs_f64() < job.energy_s {
        // Enough runs between looks at the clock that the device does not idle.
        let batch = (0.05 / per_run_s.max(1e-6)).clamp(1.0, 10_000.0) as u64;
        for _ in 0..batch {
            session.run(plan.exec.as_mut(), &mut plan.loaded)?;
        }
        runs += batch;
    }
    let window_s = clock.elapsed().as_secs_f64();
    let Some(end) = watch.read().energy_j else {
        return Ok(None);
    };
    Ok(Some(Energy {
        per_run_j: (end - start) / runs as f64,
        mean_w: (end - start) / window_s,
        window_s,
        runs,
    }))
}

/// What runs on the device, before it is there.
pub(super) struct Prepared {
    /// The program under the plan.
    plan: Made,
    base: Option<Baseline>,
    contents: JobContents,
    /// The sensors, where they are read.
    watch: Option<Arc<Watch>>,
    /// Seconds that a sample should last; zero: one run.
    sample_s: f64,
}

impl Prepared {
    /// Makes code of a rewritten module, and of the program as it is where the job has it as a baseline.
    pub(super) fn new(
        job: &Job,
        (session, own): (&WorkloadSession, &WorkloadSession),
        (m, program): (&Module, &Program),
        kept_before: &mut Workshop,
        spent: &mut JobSeconds,
    ) -> Result<Prepared, JobError> {
        if job.device == Device::Cuda {
            kept_before.keep_context(job.ordinal)?;
        }
        // NVML takes milliseconds to answer, and nobody reads the sensors of a measurement beside the program's.
        let sensed = job.device == Device::Cuda && (!job.baseline || job.energy_s > 0.0);
        let watch = sensed.then(|| kept_before.watch(job.ordinal)).flatten();
        let (plan, prints) = made(job, (m, program), kept_before, spent)?;
        // Nobody wants to read a line a thousand times.
        let sample_s = if prints { 0.0 } else { job.sample_s };
        let clock = Instant::now();
        let base = match job.baseline && job.device == Device::Cuda {
            true => Some(kept_before.baseline(job, own, program)?),
            false => None,
        };
        spent.baseline_s = clock.elapsed().as_secs_f64();
        let clock = Instant::now();
        kept_before.start_resident(job, own, program)?;
        let contents = kept_before.contents(job, session, spent)?;
        kept_before.answers.prepare(job, session)?;
        spent.load_s += clock.elapsed().as_secs_f64() - spent.wait_s;
        Ok(Prepared {
            plan,
            base,
            contents,
            watch,
            sample_s,
        })
    }
}

/// The program under the plan and, where it is measured beside it, the program as it is. Both are on the same device: a
/// clock that drifts drifts for both.
struct Pair<'s> {
    plan: TimedProgram,
    session: &'s WorkloadSession<'s>,
    base: Option<TimedProgram>,
    own: &'s WorkloadSession<'s>,
}

impl<'s> Pair<'s> {
    fn load(
        job: &Job,
        (plan_code, base): (Made, Option<Baseline>),
        contents: JobContents,
        (session, used): (&'s WorkloadSession<'s>, &[String]),
        own: &'s WorkloadSession<'s>,
    ) -> Result<Pair<'s>, JobError> {
        let mut exec = plan_code.load(job, used)?;
        if let (false, Some(free)) = (job.device == Device::Cpu, exec.free_memory()?) {
            let programs = 1 + usize::from(matches!(base, Some(Baseline::Code(_))));
            if let Some(why) = memory::refusal_on_device(session.workload, programs, free) {
                return Err(JobError::Input(why));
            }
        }
        let plan = TimedProgram::with(exec, session, contents.held)?;
        let base = match base {
            Some(Baseline::Code(code)) => {
                let used = own.check()?;
                let exec = Made::Cuda(code).load(job, &used)?;
                Some(TimedProgram::with(exec, own, contents.own)?)
            }
            Some(Baseline::Loaded(p)) => Some(*p),
            None => None,
        };
        Ok(Pair {
            plan,
            session,
            base,
            own,
        })
    }

    /// Runs that are not timed, and the recording of those that are.
    fn warm_up(&mut self, runs: u32, sample_s: f64) -> Result<(), JobError> {
        // A program that was measured before has its recording.
        let mut fresh = self.base.as_mut().filter(|b| b.batch.is_none());
        self.plan.warm_up(self.session, runs)?;
        if let Some(b) = &mut fresh {
            b.warm_up(self.own, runs)?;
        }
        if sample_s > 0.0 {
            self.plan.record(self.session, sample_s)?;
            if let Some(b) = &mut fresh {
                b.record(self.own, sample_s)?;
            }
        }
        let _ = self.plan.exec.printed();
        Ok(())
    }

    /// Samples of the plan and of the program as it is, in turn.
    fn samples(&mut self, job: &Job, sample_s: f64) -> Result<(Vec<f64>, Vec<f64>), JobError> {
        let (mut samples, mut baseline) = (Vec::new(), Vec::new());
        let enough = job.repeats.max(1) as usize;
        let few = job.steady_repeats.map(|n| enough.min(n.max(1) as usize));
        let hardly_differ = |samples: &[f64], few: usize| {
            let last = samples.len().saturating_sub(few);
            steady(&samples[last..])
        };
        loop {
            if let Some(b) = &mut self.base {
                baseline.push(b.sample(self.own)?);
            }
            samples.push(self.plan.sample(self.session)?);
            let n = samples.len();
            let done = match few {
                Some(few) if n < few => false,
                Some(few) => {
                    n >= UNTIL_STEADY * few
                        || hardly_differ(&samples, few) && hardly_differ(&baseline, few)
                }
                None if n < enough => false,
                None if sample_s == 0.0 || n >= MORE * enough => true,
                None => !unsteady(&samples) && !unsteady(&baseline),
            };
            if done {
                return Ok((samples, baseline));
            }
        }
    }
}

/// What came of the runs.
pub(super) struct Measured {
    /// Where the program ran.
    pub exec: Box<dyn Executor>,
    /// Times of the program under the plan.
    pub times: Option<Times>,
    /// Times of the program as it is.
    pub baseline: Option<Times>,
    /// The program as it is, still on the device.
    pub base: Option<TimedProgram>,
    /// Replays of a sample.
    pub replays: Option<u32>,
    /// Its buffers: outputs are as the last run left them.
    pub loaded: LoadedBuffers,
    /// Bytes of the outputs, in the workload's order, where they were read.
    outputs: Option<Vec<Vec<u8>>>,
    /// Energy of a run.
    pub energy: Option<Energy>,
    /// The sensors before and after.
    pub sensors: Vec<Reading>,
    /// What kernels printed.
    pub printed: String,
    /// The GPU is this process's still: who compares on it goes on, and does not wait once more.
    pub turn: Option<MachineShare>,
}

/// Bytes of the outputs, in the workload's order.
fn read(
    session: &WorkloadSession,
    exec: &mut dyn Executor,
    loaded: &LoadedBuffers,
) -> Result<Vec<Vec<u8>>, JobError> {
    let mut all = Vec::new();
    for o in session.outputs() {
        all.push(session.output(exec, loaded, o)?);
        exec.undefined(loaded.ids[loaded.binding[o]])?;
    }
    Ok(all)
}

/// The outputs of a measured run on a session.
pub(super) struct MeasuredOutputs<'a>(pub &'a mut Measured, pub &'a WorkloadSession<'a>);

impl FinishedRun for MeasuredOutputs<'_> {
    fn address(&self, buffer: usize) -> Option<u64> {
        let MeasuredOutputs(measured, session) = self;
        let at = measured.loaded.binding[buffer];
        let address = measured.exec.device_address(measured.loaded.ids[at]);
        address.filter(|_| session.held(at).is_none())
    }

    /// They stay for whoever asks next.
    fn outputs(&mut self) -> Result<&[Vec<u8>], JobError> {
        let all = self.0.read_outputs(self.1)?;
        Ok(self.0.outputs.insert(all))
    }
}

impl Measured {
    /// Bytes of the outputs, in the workload's order.
    pub(super) fn read_outputs(
        &mut self,
        session: &WorkloadSession,
    ) -> Result<Vec<Vec<u8>>, JobError> {
        match self.outputs.take() {
            Some(all) => Ok(all),
            None => read(session, self.exec.as_mut(), &self.loaded),
        }
    }
}

/// Runs, times and reads. From loading to the outputs the GPU is this process's alone: copies disturb measurements too.
pub(super) fn measure(
    job: &Job,
    prepared: Prepared,
    (session, used): (&WorkloadSession, &[String]),
    own: &WorkloadSession,
    spent: &mut JobSeconds,
) -> Result<Measured, JobError> {
    let Prepared {
        plan,
        base,
        mut contents,
        watch,
        sample_s,
    } = prepared;
    let turn = kept_or_alone(contents.turn.take(), job, spent)?;
    let clock = Instant::now();
    let mut pair = Pair::load(job, (plan, base), contents, (session, used), own)?;
    spent.load_s += clock.elapsed().as_secs_f64();
    let clock = Instant::now();
    pair.warm_up(job.warmup, sample_s)?;
    let mut sensors: Vec<Reading> = watch.as_deref().map(Watch::read).into_iter().collect();
    let (samples, baseline) = pair.samples(job, sample_s)?;
    let replays = pair.plan.batch;
    // What is measured from here on, energy, would change outputs that it starts from.
    let outputs = match job.reads_outputs() && !stays_on_device(job) {
        true => Some(read(session, pair.plan.exec.as_mut(), &pair.plan.loaded)?),
        false => None,
    };
    let Pair { mut plan, base, .. } = pair;
    spent.run_s = clock.elapsed().as_secs_f64();
    let times = Times::new(samples);
    // Others that measure would be in it.
    let energy = match (&watch, job.energy_s > 0.0) {
        (Some(w), true) => {
            let once = times.as_ref().map_or(1e-3, |t| t.median_s);
            energy(job, session, &mut plan, w, once)?
        }
        _ => None,
    };
    let turn = stays_on_device(job).then_some(turn);
    let (mut exec, loaded) = (plan.exec, plan.loaded);
    sensors.extend(watch.as_deref().map(Watch::read));
    let printed = String::from_utf8_lossy(&exec.printed()).into_owned();
    Ok(Measured {
        exec,
        times,
        baseline: Times::new(baseline),
        base,
        replays,
        loaded,
        outputs,
        energy,
        sensors,
        printed,
        turn,
    })
}
