//! CandidateTrials of a candidate in worker processes: a case is a question, and a worker that dies over it is an answer.
use crate::cases::{Case, CaseOptions, with_parameters};
use kerf_exec::cpu::SanitizeOptions;
use kerf_exec::worker::{WorkerError, WorkerProcess};
use kerf_run::job::{
    CandidateFinding, CandidateJob, CandidateReport, Defect, Job, JobError, LeftOut,
};
use kerf_tune::evaluate::WorkerProgram;
use kerf_workload::generate::special::InputChange;
use kerf_workload::workload::Workload;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

/// Runs on other inputs before the second run of a case: a program that answers from memory after a few calls is seen.
const EARLIER_RUNS: u32 = 3;

/// What all trials have in common.
#[derive(Clone)]
pub struct CandidateTrials<'r> {
    /// Original, candidate, acceptance and toolchain.
    pub job: &'r Job,
    /// The original's workload.
    pub workload: &'r Workload,
    /// How workers are started.
    pub program: &'r WorkerProgram,
    /// Time limit of one case.
    pub limit: Duration,
    /// When no further case is begun.
    pub deadline: Instant,
    /// What is checked, and what is let pass.
    pub checks: SanitizeOptions,
    /// What inputs are wanted.
    pub options: &'r CaseOptions,
}

/// A worker that lasts from case to case, once it is started. The system ends it with the thread that started it.
#[derive(Default)]
pub struct TrialWorker(Option<(WorkerProcess, ThreadId)>);

impl TrialWorker {
    /// Forgets a worker that a thread started which has ended: it ended too.
    fn kept_by_this_thread(mut self) -> TrialWorker {
        let here = std::thread::current().id();
        self.0 = self.0.filter(|(_, starter)| *starter == here);
        self
    }
}

impl CandidateTrials<'_> {
    fn question(&self, case: &Case, original_only: bool) -> CandidateJob {
        CandidateJob {
            job: Job {
                overrides: with_parameters(self.workload, self.options, &case.sizes),
                seed: Some(case.seed),
                perturb: case.perturb,
                memcheck: case.checked.then_some(self.checks),
                ..self.job.clone()
            },
            change: InputChange {
                values: case.values,
                nudged: false,
            },
            earlier_runs: EARLIER_RUNS,
            original_only,
        }
    }

    fn ask(
        &self,
        worker: &mut TrialWorker,
        question: &CandidateJob,
    ) -> Result<Result<CandidateReport, JobError>, WorkerError> {
        self.start(worker)?;
        let Some((mut w, starter)) = worker.0.take() else {
            return Err(WorkerError::Start("it is gone".into()));
        };
        let answer = w.ask(question, self.limit)?;
        worker.0 = Some((w, starter));
        Ok(answer)
    }

    /// Starts a worker that is not there, from this thread.
    fn start(&self, worker: &mut TrialWorker) -> Result<(), WorkerError> {
        if worker.0.is_none() {
            let args: Vec<&str> = self.program.args.iter().map(String::as_str).collect();
            let process = WorkerProcess::start(&self.program.path, &args)?;
            worker.0 = Some((process, std::thread::current().id()));
        }
        Ok(())
    }

    /// Tries the candidate on one input. An error is one of Kerf, of the original, or of how the candidate is called.
    pub fn case(&self, worker: &mut TrialWorker, case: &Case) -> Result<CandidateReport, JobError> {
        let died = match self.ask(worker, &self.question(case, false)) {
            Ok(answer) => return answer,
            Err(e @ WorkerError::Start(_)) => return Err(JobError::Worker(e.to_string())),
            Err(e) => e,
        };
        // Whose fault was it?
        let mut report = match self.ask(worker, &self.question(case, true)) {
            Ok(answer) => answer?,
            Err(e) => {
                return Ok(CandidateReport {
                    left_out: Some(LeftOut::OriginalFaults(e.to_string())),
                    ..CandidateReport::default()
                });
            }
        };
        if report.left_out.is_none() {
            report.findings.push(CandidateFinding {
                defect: Defect::Died,
                buffer: None,
                message: died.to_string(),
            });
        }
        Ok(report)
    }

    /// Tries the candidate on all inputs, by the workers of a pool side by side; answers are in the order of the inputs,
    /// none for those that were not begun in time. `seen` hears how many have ended.
    pub fn all(
        &self,
        cases: &[Case],
        pool: &mut Vec<TrialWorker>,
        seen: &(dyn Fn(usize) + Sync),
    ) -> Result<Vec<Option<CandidateReport>>, JobError> {
        for worker in pool.iter_mut().take(cases.len()) {
            self.start(worker)
                .map_err(|e| JobError::Worker(e.to_string()))?;
        }
        let shared = SharedCases {
            cases,
            next: AtomicUsize::new(0),
            ended: AtomicUsize::new(0),
            answers: Mutex::new(cases.iter().map(|_| None).collect()),
        };
        let used = std::thread::scope(|s| {
            let all: Vec<_> = std::mem::take(pool)
                .into_iter()
                .map(|worker| s.spawn(|| self.work_off(worker, &shared, seen)))
                .collect();
            let ended = all.into_iter().map(|t| match t.join() {
                Ok(worker) => worker,
                Err(panic) => std::panic::resume_unwind(panic),
            });
            ended.collect::<Vec<_>>()
        });
        *pool = used
            .into_iter()
            .map(TrialWorker::kept_by_this_thread)
            .collect();
        shared.reports()
    }

    /// Tries one input after another until none is left.
    fn work_off(
        &self,
        mut worker: TrialWorker,
        shared: &SharedCases,
        seen: &(dyn Fn(usize) + Sync),
    ) -> TrialWorker {
        while shared.cases.len() == 1 || Instant::now() < self.deadline {
            let k = shared.next.fetch_add(1, Ordering::Relaxed);
            let Some(case) = shared.cases.get(k) else {
                break;
            };
            let answer = self.case(&mut worker, case);
            if answer.is_err() {
                // What is wrong with one is wrong with all.
                shared.next.store(shared.cases.len(), Ordering::Relaxed);
            }
            let mut all = shared.answers.lock().unwrap_or_else(|e| e.into_inner());
            all[k] = Some(answer);
            drop(all);
            seen(shared.ended.fetch_add(1, Ordering::Relaxed) + 1);
        }
        worker
    }
}

/// Inputs that several workers share.
struct SharedCases<'c> {
    cases: &'c [Case],
    next: AtomicUsize,
    ended: AtomicUsize,
    answers: Mutex<Vec<Option<Result<CandidateReport, JobError>>>>,
}

impl SharedCases<'_> {
    /// All answers; the first error where there is one, which stopped the others.
    fn reports(self) -> Result<Vec<Option<CandidateReport>>, JobError> {
        let all = self.answers.into_inner().unwrap_or_else(|e| e.into_inner());
        all.into_iter().map(Option::transpose).collect()
    }
}
