//! The judgement of one candidate: inputs, trials, smallest failing sizes, times, decision.
use crate::cases::{Case, CaseKind, CaseOptions, cases};
use crate::minimise::minimise;
use crate::speed::{self, NoSpeed, Pace, Speed};
use crate::trials::{CandidateTrials, TrialWorker};
use crate::verdict::{
    CandidateDecision, CandidateVerdict, CaseOutcome, FoundDefect, InputCounts, SCHEMA, TriedCase,
    WorstErrors,
};
use kerf_device::profile::DeviceProfile;
use kerf_exec::cpu::SanitizeOptions;
use kerf_num::metrics::Rejection;
use kerf_predict::cost::CostModel;
use kerf_run::job::{
    CandidateFinding, CandidateReport, Defect, Job, JobError, OutputErrors, Patched,
};
use kerf_tune::criteria::{Criteria, CriteriaError};
use kerf_tune::evaluate::{PlanEvaluation, WorkerProgram};
use kerf_workload::Metric;
use kerf_workload::workload::Workload;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// Defects that are minimised, at most.
const MOST_MINIMISED: usize = 4;

/// What is to be judged, and how.
#[derive(Clone)]
pub struct JudgeRequest {
    /// A job of the original's workload on the CPU executor, with the toolchain.
    pub job: Job,
    /// The candidate.
    pub candidate: Patched,
    /// The tolerance, where not the workload's.
    pub tolerance: Option<f64>,
    /// The metric, where not the workload's.
    pub metric: Option<Metric>,
    /// What inputs are wanted.
    pub options: CaseOptions,
    /// What is checked of both programs, and what is let pass.
    pub checks: SanitizeOptions,
    /// How workers for trials are started.
    pub trial_program: WorkerProgram,
    /// How workers for other jobs are started.
    pub program: WorkerProgram,
    /// Time limit of one input.
    pub limit: Duration,
    /// How long inputs are tried.
    pub max_time: Duration,
    /// Worker processes at a time.
    pub workers: usize,
    /// How times are found.
    pub timing: TimingRequest,
    /// A candidate that is not shown to be faster is refused.
    pub must_be_faster: bool,
}

/// How times are found.
#[derive(Clone)]
pub enum TimingRequest {
    /// Measured on a GPU, by this job at full sizes.
    Measured(Box<Job>),
    /// Predicted for a device.
    Predicted(Box<DeviceProfile>),
    /// Not at all.
    None,
}

/// Why nothing could be judged.
#[derive(Debug, thiserror::Error)]
pub enum JudgeError {
    /// The tolerance.
    #[error(transparent)]
    Criteria(#[from] CriteriaError),
    /// The workload, the original, or how the candidate is called.
    #[error(transparent)]
    Job(#[from] JobError),
}

/// The criteria: both programs may have NaN where the reference has one, since inputs hold some.
fn criteria(r: &JudgeRequest, w: &Workload) -> Result<Criteria, CriteriaError> {
    let mut criteria = Criteria::new(w, r.tolerance, r.metric)?;
    for c in criteria.accept.outputs.values_mut() {
        c.allow_nan = true;
    }
    Ok(criteria)
}

/// Puts inputs and answers together; equal inputs count once.
fn judged(cases: Vec<Case>, reports: Vec<Option<CandidateReport>>) -> Vec<TriedCase> {
    let mut seen: BTreeSet<(Vec<(String, i64)>, String)> = BTreeSet::new();
    let reports = reports.into_iter().chain(std::iter::repeat(None));
    let all = cases.into_iter().zip(reports);
    all.map(|(case, r)| {
        let Some(r) = r else {
            return TriedCase {
                case,
                outcome: CaseOutcome::NotTried,
                left_out: None,
                outputs: Vec::new(),
                findings: Vec::new(),
            };
        };
        let key = (case.sizes.clone(), r.inputs.clone());
        let outcome = match (&r.left_out, r.findings.is_empty()) {
            (Some(_), _) => CaseOutcome::LeftOut,
            (None, false) => CaseOutcome::Failed,
            (None, true) if !r.inputs.is_empty() && !seen.insert(key) => CaseOutcome::Same,
            (None, true) => CaseOutcome::Passed,
        };
        TriedCase {
            case,
            outcome,
            left_out: r.left_out,
            outputs: r.outputs,
            findings: r.findings,
        }
    })
    .collect()
}

/// Whether the candidate's error is beyond the tolerance, and no larger than the condition of the input explains.
fn is_excused(c: &TriedCase) -> bool {
    let excused = |o: &OutputErrors| {
        o.candidate > Some(o.tolerance) && o.allowed.is_none_or(|a| a > o.tolerance)
    };
    c.outcome == CaseOutcome::Passed && c.outputs.iter().any(excused)
}

fn counts(cases: &[TriedCase]) -> InputCounts {
    let count = |o: CaseOutcome| cases.iter().filter(|c| c.outcome == o).count();
    let failed = count(CaseOutcome::Failed);
    let counted = |c: &&TriedCase| matches!(c.outcome, CaseOutcome::Passed | CaseOutcome::Failed);
    InputCounts {
        tried: cases.len() - count(CaseOutcome::NotTried),
        not_tried: count(CaseOutcome::NotTried),
        counted: cases.iter().filter(counted).count(),
        failed,
        left_out: count(CaseOutcome::LeftOut),
        same: count(CaseOutcome::Same),
        ill_conditioned: cases
            .iter()
            .filter(counted)
            .filter(|c| is_excused(c))
            .count(),
        checked: cases
            .iter()
            .filter(counted)
            .filter(|c| c.case.checked)
            .count(),
    }
}

/// Largest errors of each output, over inputs on which both programs have one.
fn worst_errors(cases: &[TriedCase]) -> Vec<WorstErrors> {
    let mut all: Vec<WorstErrors> = Vec::new();
    let counted = cases.iter().filter(|c| c.outcome != CaseOutcome::LeftOut);
    for o in counted.flat_map(|c| &c.outputs) {
        let k = match all.iter().position(|w| w.name == o.name) {
            Some(k) => k,
            None => {
                all.push(WorstErrors {
                    name: o.name.clone(),
                    original: None,
                    candidate: None,
                    inputs: 0,
                });
                all.len() - 1
            }
        };
        if let (Some(own), Some(theirs)) = (o.original, o.candidate) {
            let w = &mut all[k];
            w.original = Some(w.original.map_or(own, |x| x.max(own)));
            w.candidate = Some(w.candidate.map_or(theirs, |x| x.max(theirs)));
            w.inputs += 1;
        }
    }
    all
}

/// The product of all sizes of an input.
fn extent(c: &Case) -> i64 {
    c.sizes.iter().fold(1, |n, (_, v)| n.saturating_mul(*v))
}

/// The defects that inputs show, each minimised.
fn defects(
    trials: &CandidateTrials,
    cases: &[TriedCase],
    worker: &mut TrialWorker,
) -> Result<Vec<FoundDefect>, JobError> {
    let mut found: Vec<FoundDefect> = Vec::new();
    for c in cases {
        let mut here: Vec<&CandidateFinding> = c.findings.iter().collect();
        here.dedup_by_key(|f| f.defect);
        for f in here {
            if let Some(d) = found.iter_mut().find(|d| d.defect == f.defect) {
                d.inputs += 1;
                // The search for the smallest starts at the smallest that is known.
                if extent(&c.case) < extent(&d.smallest) {
                    (d.smallest, d.message) = (c.case.clone(), f.message.clone());
                }
                continue;
            }
            found.push(FoundDefect {
                defect: f.defect,
                words: f.defect.words().into(),
                inputs: 1,
                first: c.case.name.clone(),
                smallest: c.case.clone(),
                message: f.message.clone(),
            });
        }
    }
    for d in found.iter_mut().take(MOST_MINIMISED) {
        if d.defect == Defect::NotCompiled {
            continue;
        }
        let message = std::mem::take(&mut d.message);
        let least = minimise(trials, worker, &d.smallest, d.defect, message)?;
        (d.smallest, d.message) = (least.case, least.message);
    }
    Ok(found)
}

/// What a run at full sizes on the GPU says of the candidate.
fn case_on_gpu(job: &Job, e: &PlanEvaluation, criteria: &Criteria) -> TriedCase {
    let mut findings = Vec::new();
    if let Some(why) = &e.failure {
        findings.push(CandidateFinding {
            defect: Defect::Faulted,
            buffer: None,
            message: why.clone(),
        });
    }
    for o in &e.outputs {
        let defect = match o.rejection {
            None => continue,
            Some(Rejection::BeyondTolerance) => Defect::Inaccurate,
            Some(Rejection::IntegersDiffer) => Defect::IntegersDiffer,
            Some(_) => Defect::NotFinite,
        };
        let error = o.error.map_or("infinite".into(), |x| format!("{x:.3e}"));
        findings.push(CandidateFinding {
            defect,
            buffer: Some(o.name.clone()),
            message: format!("{}: error {error}, tolerance {:e}", o.name, o.tolerance),
        });
    }
    let outcome = match findings.is_empty() && e.accepted(criteria.tolerance) {
        true => CaseOutcome::Passed,
        false => CaseOutcome::Failed,
    };
    let output = |o: &kerf_tune::criteria::OutputError| OutputErrors {
        name: o.name.clone(),
        original: None,
        candidate: o.error,
        tolerance: o.tolerance,
        allowed: Some(o.tolerance),
    };
    TriedCase {
        case: Case {
            name: "full sizes on the GPU".into(),
            kind: CaseKind::AsGiven,
            sizes: job.overrides.clone(),
            seed: job.seed.unwrap_or(0),
            values: None,
            perturb: None,
            checked: false,
        },
        outcome,
        left_out: None,
        outputs: e.outputs.iter().map(output).collect(),
        findings,
    }
}

/// Times of both programs, or why there are none; and the input on a GPU that went with them.
fn timed(
    r: &JudgeRequest,
    job: &Job,
    criteria: &Criteria,
) -> (Result<Speed, NoSpeed>, Option<TriedCase>) {
    match &r.timing {
        TimingRequest::None => (Err(NoSpeed::NotAsked), None),
        TimingRequest::Measured(gpu) => {
            let gpu = Job {
                patched: Some(r.candidate.clone()),
                accept: Some(criteria.accept.clone()),
                ..gpu.as_ref().clone()
            };
            match speed::measure(gpu.clone(), criteria.clone(), r.program.clone(), r.limit) {
                Ok((e, speed)) => {
                    let case = case_on_gpu(&gpu, &e, criteria);
                    (speed.ok_or(NoSpeed::NoTimes), Some(case))
                }
                Err(e) => (Err(e.into()), None),
            }
        }
        TimingRequest::Predicted(profile) => {
            let speed = match CostModel::new(profile) {
                Ok(model) => {
                    speed::predict(&model, job, (&r.program, r.limit)).map_err(NoSpeed::from)
                }
                Err(e) => Err(NoSpeed::Profile(e)),
            };
            (speed, None)
        }
    }
}

/// Notes of the runs, each once.
fn notes(reports: &[Option<CandidateReport>]) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for n in reports.iter().flatten().flat_map(|r| &r.notes) {
        if !all.contains(n) {
            all.push(n.clone());
        }
    }
    all.truncate(20);
    all
}

/// Whether the candidate is right on every input that counts; none where only values at the edges count, such as zeros: these
/// alone say too little.
fn is_correct(cases: &[TriedCase]) -> Option<bool> {
    let failed = cases.iter().any(|c| c.outcome == CaseOutcome::Failed);
    let own = |c: &TriedCase| c.outcome == CaseOutcome::Passed && c.case.kind != CaseKind::Values;
    (failed || cases.iter().any(own)).then_some(!failed)
}

fn decide(correct: Option<bool>, pace: Pace, must_be_faster: bool) -> CandidateDecision {
    match correct {
        Some(false) => CandidateDecision::Refused,
        None => CandidateDecision::Undecided,
        Some(true) if pace.refuses(must_be_faster) => CandidateDecision::Refused,
        Some(true) => CandidateDecision::Accepted,
    }
}

/// Judges a candidate. `seen` hears how many of how many inputs were tried.
pub fn judge(
    r: &JudgeRequest,
    seen: &(dyn Fn(usize, usize) + Sync),
) -> Result<CandidateVerdict, JudgeError> {
    let clock = Instant::now();
    let workload = Workload::read(&r.job.workload, &r.options.overrides).map_err(JobError::from)?;
    let criteria = criteria(r, &workload)?;
    let job = Job {
        overrides: r.options.overrides.clone(),
        patched: Some(r.candidate.clone()),
        accept: Some(criteria.accept.clone()),
        ..r.job.clone()
    };
    let trials = CandidateTrials {
        job: &job,
        workload: &workload,
        program: &r.trial_program,
        limit: r.limit,
        deadline: clock + r.max_time,
        checks: r.checks,
        options: &r.options,
    };
    let inputs = cases(&workload, &r.options);
    let many = inputs.len();
    // The first alone: what is wrong with all of them is said once, and what it compiles is kept for the others.
    let mut pool: Vec<TrialWorker> = Vec::new();
    pool.resize_with(r.workers.max(1), TrialWorker::default);
    let mut reports = trials.all(&inputs[..1], &mut pool, &|n| seen(n, many))?;
    let hopeless = |r: &CandidateReport| r.findings.iter().any(|f| f.defect == Defect::NotCompiled);
    let stop = reports.iter().flatten().any(hopeless);
    if !stop {
        reports.extend(trials.all(&inputs[1..], &mut pool, &|n| seen(n + 1, many))?);
    }
    let notes = notes(&reports);
    let mut judged = judged(inputs, reports);
    let mut worker = pool.pop().unwrap_or_default();
    let mut defects = defects(&trials, &judged, &mut worker)?;
    drop((pool, worker));
    let (speed, on_gpu) = match stop {
        true => (Err(NoSpeed::NotCompiled), None),
        false => timed(r, &job, &criteria),
    };
    if let Some(case) = on_gpu {
        for f in &case.findings {
            defects.push(FoundDefect {
                defect: f.defect,
                words: f.defect.words().into(),
                inputs: 1,
                first: case.case.name.clone(),
                smallest: case.case.clone(),
                message: f.message.clone(),
            });
        }
        judged.push(case);
    }
    let inputs = counts(&judged);
    let correct = is_correct(&judged);
    let (speed, no_speed) = match speed {
        Ok(s) => (Some(s), None),
        Err(why) => (None, Some(why.to_string())),
    };
    let pace = Pace::from_speed(speed.as_ref());
    Ok(CandidateVerdict {
        schema: SCHEMA.into(),
        kerf: env!("CARGO_PKG_VERSION").into(),
        decision: decide(correct, pace, r.must_be_faster),
        correct,
        pace,
        must_be_faster: r.must_be_faster,
        original: workload.source.clone(),
        candidate: r.candidate.source.clone(),
        workload: r.job.workload.clone(),
        metric: criteria.metric,
        tolerance: criteria.tolerance,
        inputs,
        errors: worst_errors(&judged),
        defects,
        speed,
        no_speed,
        notes,
        cases: judged,
        wall_s: clock.elapsed().as_secs_f64(),
    })
}
