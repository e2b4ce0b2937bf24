//! Evaluations: a plan on an input, in a worker process with a time limit. What one gives is in [`crate::plan_evaluation`]; a failure is a value.
use crate::criteria::Criteria;
pub use crate::plan_evaluation::{PlanEvaluation, Timing};
use kerf_exec::worker::{WorkerError, WorkerProcess};
use kerf_num::metrics::Scatter;
use kerf_pass::Plan;
use kerf_pass::count::Detail;
use kerf_run::job::{Device, Job, JobError, JobReport, MadeArguments, NoReport};
use kerf_workload::Perturb;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{JoinHandle, ThreadId};
use std::time::{Duration, Instant};

/// How worker processes are started.
#[derive(Debug, Clone)]
pub struct WorkerProgram {
    /// Program.
    pub path: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
}

/// Which inputs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Input {
    /// Seed.
    pub seed: u64,
    /// Changes to what the seed gives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub perturb: Option<Perturb>,
}

/// How many samples of a plan's time are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sampling {
    /// None.
    Untimed,
    /// The usual ones; a few are enough where they hardly differ. What scaled formats lose is not counted.
    UntilSteady,
    /// All of the usual ones: who compares several plans by them counts on it. What scaled formats lose is counted.
    All,
}

/// A plan on an input.
#[derive(Debug, Clone)]
pub struct EvaluationRequest {
    /// Plan.
    pub plan: Plan,
    /// Input.
    pub input: Input,
    /// How time is measured, where the device can.
    pub timed: Sampling,
    /// Seconds over which energy is measured, where the device can. 0: not.
    pub energy_s: f64,
    /// Order of blocks where results depend on it, on the CPU.
    pub order: u64,
    /// Plans that are likely to be asked for next.
    pub ahead: Vec<Plan>,
}

/// A worker between two evaluations. The system ends it with the thread that started it, not only with
/// the program.
struct Held {
    worker: HeldWorker,
    starter: ThreadId,
}

enum HeldWorker {
    /// It waits for a job.
    Idle(WorkerProcess),
    /// It carries out a job whose answer nobody waits for; none comes back if it died.
    Busy(JoinHandle<Option<WorkerProcess>>),
}

impl HeldWorker {
    /// The worker when it waits for a job; none if it died.
    fn idle(self) -> Option<WorkerProcess> {
        match self {
            HeldWorker::Idle(w) => Some(w),
            HeldWorker::Busy(thread) => thread.join().ok().flatten(),
        }
    }
}

/// Samples of an evaluation that are enough where they hardly differ.
const STEADY_REPEATS: u32 = 2;

/// What a worker program of another machine says when that machine is lost, as its last words.
pub const LOST: &str = "the rank is lost";

/// The exit code of such a program then (EX_TEMPFAIL of sysexits.h): the evaluation is done elsewhere.
pub const LOST_CODE: i32 = 75;

/// Worker processes that evaluate.
pub struct Evaluator {
    /// What all jobs have in common.
    pub job: Job,
    /// What counts as close enough.
    pub criteria: Criteria,
    /// Time limit of one evaluation.
    pub limit: Duration,
    program: WorkerProgram,
    /// Programs that reach workers elsewhere, one for each of the last workers.
    remote: Vec<WorkerProgram>,
    workers: Vec<Mutex<Option<Held>>>,
    /// Workers elsewhere that are lost.
    lost: Vec<AtomicBool>,
}

impl Evaluator {
    /// `workers` processes at a time; on a GPU one without a lock, since measurements disturb each other.
    pub fn new(
        job: Job,
        criteria: Criteria,
        program: WorkerProgram,
        limit: Duration,
        workers: usize,
    ) -> Evaluator {
        let n = match (job.device, &job.lock) {
            (Device::Cuda, None) => 1,
            _ => workers.max(1),
        };
        Evaluator {
            job,
            criteria,
            limit,
            program,
            remote: Vec::new(),
            workers: (0..n).map(|_| Mutex::new(None)).collect(),
            lost: (0..n).map(|_| AtomicBool::new(false)).collect(),
        }
    }

    /// With workers elsewhere, which the programs reach.
    pub fn with_remote(mut self, programs: &[WorkerProgram]) -> Evaluator {
        for p in programs {
            self.remote.push(p.clone());
            self.workers.push(Mutex::new(None));
            self.lost.push(AtomicBool::new(false));
        }
        self
    }

    /// The program of a worker.
    fn program(&self, slot: usize) -> &WorkerProgram {
        let own = self.workers.len() - self.remote.len();
        let elsewhere = slot.checked_sub(own).and_then(|i| self.remote.get(i));
        elsewhere.unwrap_or(&self.program)
    }

    /// Whether an evaluation failed because its machine is lost.
    fn is_lost(&self, slot: usize, e: &NoReport) -> bool {
        let own = self.workers.len() - self.remote.len();
        let died = matches!(
            e,
            NoReport::Worker(WorkerError::Died {
                code: Some(LOST_CODE),
                ..
            })
        );
        let lost = slot >= own && died;
        if lost {
            self.lost[slot].store(true, Ordering::Relaxed);
        }
        lost
    }

    /// Evaluations that run at a time.
    pub fn parallel(&self) -> usize {
        self.workers.len()
    }

    /// Evaluates one, in this order of preference in worker 0. An error that is the input's or the
    /// machine's, not the plan's, is told as what it is.
    pub fn one(&self, r: &EvaluationRequest) -> Result<PlanEvaluation, JobError> {
        Ok(self.ask(0, r)?)
    }

    /// Has worker 0 run the program on an input and compute its reference, beside what this process does: evaluations that come
    /// later find both, and code that is made. What goes wrong shows in them.
    pub fn begin_program(&self, input: Input) {
        let request = EvaluationRequest {
            plan: Plan::default(),
            input,
            timed: Sampling::Untimed,
            energy_s: 0.0,
            order: 0,
            ahead: Vec::new(),
        };
        let (job, limit) = (self.job_for(&request), self.limit);
        let Ok(mut worker) = self.start(0) else {
            return;
        };
        let thread = std::thread::spawn(move || {
            let answer: Result<JobReport, JobError> = worker.ask(&job, limit).ok()?;
            let _ = worker.printed();
            (!answer.is_err_and(|e| e.spoils_worker())).then_some(worker)
        });
        *lock(&self.workers[0]) = Some(Held {
            worker: HeldWorker::Busy(thread),
            starter: std::thread::current().id(),
        });
    }

    fn ask(&self, slot: usize, r: &EvaluationRequest) -> Result<PlanEvaluation, NoReport> {
        let clock = Instant::now();
        let report = self.in_worker(slot, &self.job_for(r))?;
        Ok(PlanEvaluation::new(
            &report,
            &self.criteria,
            clock.elapsed().as_secs_f64(),
        ))
    }

    fn job_for(&self, r: &EvaluationRequest) -> Job {
        let cuda = self.job.device == Device::Cuda;
        let timed = r.timed != Sampling::Untimed && cuda;
        Job {
            plan: r.plan.clone(),
            seed: Some(r.input.seed),
            perturb: r.input.perturb,
            accept: Some(self.criteria.accept.clone()),
            reference: true,
            brief: true,
            baseline: timed,
            warmup: if timed { self.job.warmup } else { 0 },
            repeats: if timed { self.job.repeats } else { 1 },
            skip_losses: cuda && r.timed == Sampling::UntilSteady,
            steady_repeats: (r.timed == Sampling::UntilSteady).then_some(STEADY_REPEATS),
            sample_s: if timed { self.job.sample_s } else { 0.0 },
            energy_s: if cuda { r.energy_s } else { 0.0 },
            order: r.order,
            ahead: r.ahead.clone(),
            ..self.job.clone()
        }
    }

    /// A plan on an input, run once and not timed.
    fn untimed(&self, plan: &Plan, input: Input) -> Job {
        Job {
            plan: plan.clone(),
            seed: Some(input.seed),
            perturb: input.perturb,
            baseline: false,
            warmup: 0,
            repeats: 1,
            sample_s: 0.0,
            energy_s: 0.0,
            ..self.job.clone()
        }
    }

    /// How the error of a plan is spread over each output, by name. Nothing is timed.
    pub fn scatter(
        &self,
        plan: &Plan,
        input: Input,
    ) -> Result<Vec<(String, Vec<Scatter>)>, JobError> {
        let job = Job {
            accept: Some(self.criteria.accept.clone()),
            reference: true,
            scatter: true,
            ..self.untimed(plan, input)
        };
        let report = self.in_worker(0, &job)?;
        let all = report.outputs.into_iter();
        Ok(all.map(|o| (o.name, o.scatter)).collect())
    }

    /// How many arguments of the plan's functions were outside of the ranges that they were made for.
    pub fn made_arguments(
        &self,
        plan: &Plan,
        input: Input,
    ) -> Result<Vec<MadeArguments>, JobError> {
        let cuda = self.job.device == Device::Cuda;
        let job = Job {
            // The blocks that tell it are counted at any detail.
            count: Some(Detail::Executions),
            // On a GPU inputs and outputs stay there with their reference, which validation made before.
            reference: cuda,
            brief: true,
            skip_losses: true,
            ..self.untimed(plan, input)
        };
        let report = self.in_worker(0, &job)?;
        Ok(report.counts.map_or_else(Vec::new, |c| c.made))
    }

    fn start(&self, slot: usize) -> Result<WorkerProcess, WorkerError> {
        let program = self.program(slot);
        let args: Vec<&str> = program.args.iter().map(String::as_str).collect();
        WorkerProcess::start(&program.path, &args)
    }

    /// Starts a worker of this thread's.
    fn held(&self, slot: usize) -> Result<Held, WorkerError> {
        Ok(Held {
            worker: HeldWorker::Idle(self.start(slot)?),
            starter: std::thread::current().id(),
        })
    }

    fn in_worker(&self, slot: usize, job: &Job) -> Result<JobReport, NoReport> {
        let mut held = lock(&self.workers[slot]);
        let (starter, idle) = match held.take() {
            Some(h) => (h.starter, h.worker.idle()),
            None => (std::thread::current().id(), None),
        };
        let (starter, mut worker) = match idle {
            Some(w) => (starter, w),
            None => (std::thread::current().id(), self.start(slot)?),
        };
        // A worker that died or was killed is not put back.
        let answer: Result<JobReport, JobError> = worker.ask(job, self.limit)?;
        let _ = worker.printed();
        if !answer.as_ref().is_err_and(JobError::spoils_worker) {
            let worker = HeldWorker::Idle(worker);
            *held = Some(Held { worker, starter });
        }
        Ok(answer?)
    }

    /// Evaluates all, several at a time. `done` is called with each as soon as it is there, before its
    /// worker begins another.
    pub fn all<E: Send>(
        &self,
        requests: &[EvaluationRequest],
        done: impl FnMut(usize, PlanEvaluation) -> Result<(), E> + Send,
    ) -> Result<(), E> {
        self.all_while(requests, done, || ())
    }

    /// [`Evaluator::all`], and something that this thread does meanwhile.
    pub fn all_while<E: Send>(
        &self,
        requests: &[EvaluationRequest],
        done: impl FnMut(usize, PlanEvaluation) -> Result<(), E> + Send,
        meanwhile: impl FnOnce(),
    ) -> Result<(), E> {
        let mut meanwhile = Some(meanwhile);
        let waiting: Mutex<VecDeque<usize>> = Mutex::new((0..requests.len()).collect());
        let state = Mutex::new((done, None::<E>));
        // More than once only where a machine was lost after the others had nothing left to do.
        while !lock(&waiting).is_empty() && lock(&state).1.is_none() {
            let many = lock(&waiting).len();
            let slots: Vec<usize> = (0..self.workers.len())
                .filter(|s| !self.lost[*s].load(Ordering::Relaxed))
                .take(many)
                .collect();
            for slot in &slots {
                let mut held = lock(&self.workers[*slot]);
                if held.is_none() {
                    // One that does not start is tried again, and its failure told, where it is needed.
                    *held = self.held(*slot).ok();
                }
            }
            std::thread::scope(|s| {
                for slot in slots {
                    let (waiting, state) = (&waiting, &state);
                    s.spawn(move || self.take(slot, requests, waiting, state));
                }
                if let Some(f) = meanwhile.take() {
                    f();
                }
            });
        }
        let here = std::thread::current().id();
        for slot in &self.workers {
            lock(slot).take_if(|w| w.starter != here);
        }
        let (_, failed) = state.into_inner().unwrap_or_else(|e| e.into_inner());
        failed.map_or(Ok(()), Err)
    }

    /// One worker's part of [`Evaluator::all`].
    fn take<E>(
        &self,
        slot: usize,
        requests: &[EvaluationRequest],
        waiting: &Mutex<VecDeque<usize>>,
        state: &Mutex<(
            impl FnMut(usize, PlanEvaluation) -> Result<(), E>,
            Option<E>,
        )>,
    ) {
        loop {
            let next = lock(waiting).pop_front();
            let Some(i) = next else { break };
            let clock = Instant::now();
            let e = match self.ask(slot, &requests[i]) {
                Ok(e) => e,
                Err(e) if self.is_lost(slot, &e) => {
                    lock(waiting).push_front(i);
                    break;
                }
                Err(e) => PlanEvaluation::failed(e.to_string(), clock.elapsed().as_secs_f64()),
            };
            let mut held = lock(state);
            if held.1.is_some() {
                break;
            }
            if let Err(e) = (held.0)(i, e) {
                held.1 = Some(e);
                break;
            }
        }
    }
}

/// What a thread that panicked left is whole: each is changed in one step.
fn lock<T>(m: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    m.lock().unwrap_or_else(|e| e.into_inner())
}
