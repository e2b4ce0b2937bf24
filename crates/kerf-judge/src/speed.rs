//! Time of a candidate beside the original's: measured in turn on a GPU, as `kerf tune` measures plans, or predicted from
//! counts for a profile.
use kerf_exec::worker::WorkerProcess;
use kerf_ir::program;
use kerf_pass::Plan;
use kerf_pass::count::Detail;
use kerf_predict::cost::{CostError, CostModel};
use kerf_run::job::{Job, JobError, JobReport, Patched};
use kerf_tune::counts::program_seconds;
use kerf_tune::criteria::Criteria;
use kerf_tune::evaluate::{
    EvaluationRequest, Evaluator, Input, PlanEvaluation, Sampling, WorkerProgram,
};
use kerf_workload::Workload;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Where times are from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SpeedKind {
    /// Measured on a GPU.
    Measured,
    /// Predicted by the cost model.
    Predicted,
}

/// Times of both programs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Speed {
    /// Where they are from.
    pub kind: SpeedKind,
    /// The GPU, or the profile that times are predicted for.
    pub device: String,
    /// Sizes in force.
    pub sizes: Vec<(String, i64)>,
    /// Seconds of the original.
    pub original_s: f64,
    /// Seconds of the candidate.
    pub candidate_s: f64,
    /// The original's time over the candidate's.
    pub speedup: f64,
    /// Lower end of its 95 % interval; none where it is predicted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// Upper end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    /// Samples of each program; 0 where it is predicted.
    pub samples: usize,
}

/// Seconds below which measured times are mostly launches: some five times what an empty kernel takes on an H200. They say
/// nothing about sizes that fill a GPU.
pub const SHORT_S: f64 = 20e-6;

/// Whether a candidate is faster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pace {
    /// The interval of the measured speed-up is wholly above 1.
    Faster,
    /// It is wholly below 1.
    Slower,
    /// It holds 1.
    Unclear,
    /// Both programs take less than [`SHORT_S`]: mostly launches, at a size that does not fill the GPU.
    TooShort,
    /// Predicted to be faster.
    PredictedFaster,
    /// Predicted to be no faster.
    PredictedSlower,
    /// There are no times.
    Unknown,
}

impl Pace {
    /// What times say.
    pub fn from_speed(speed: Option<&Speed>) -> Pace {
        let Some(s) = speed else {
            return Pace::Unknown;
        };
        let short = s.original_s.max(s.candidate_s) < SHORT_S;
        match (s.kind, s.low, s.high) {
            (SpeedKind::Measured, ..) if short => Pace::TooShort,
            (SpeedKind::Measured, Some(low), _) if low > 1.0 => Pace::Faster,
            (SpeedKind::Measured, _, Some(high)) if high < 1.0 => Pace::Slower,
            (SpeedKind::Measured, _, _) => Pace::Unclear,
            (SpeedKind::Predicted, _, _) if s.speedup > 1.0 => Pace::PredictedFaster,
            (SpeedKind::Predicted, _, _) => Pace::PredictedSlower,
        }
    }

    /// Does it stand against the candidate? Where faster is asked for, everything does that does not show it.
    pub fn refuses(self, must_be_faster: bool) -> bool {
        match self {
            Pace::Slower => true,
            Pace::Faster | Pace::PredictedFaster => false,
            Pace::Unclear | Pace::TooShort | Pace::PredictedSlower | Pace::Unknown => {
                must_be_faster
            }
        }
    }
}

/// Times of the candidate and the original on a GPU, in turn; and its errors there. The job names the GPU and has the
/// candidate as its `patched` program.
pub fn measure(
    job: Job,
    criteria: Criteria,
    program: WorkerProgram,
    limit: Duration,
) -> Result<(PlanEvaluation, Option<Speed>), JobError> {
    let sizes = job.overrides.clone();
    let seed = job.seed.unwrap_or(0);
    let evaluator = Evaluator::new(job, criteria, program, limit, 1);
    let e = evaluator.one(&EvaluationRequest {
        plan: Plan::default(),
        input: Input {
            seed,
            perturb: None,
        },
        timed: Sampling::All,
        energy_s: 0.0,
        order: 0,
        ahead: Vec::new(),
    })?;
    let speed = e.timing.as_ref().map(|t| Speed {
        kind: SpeedKind::Measured,
        device: e.device.clone(),
        sizes,
        original_s: t.baseline_s,
        candidate_s: t.median_s,
        speedup: 1.0 / t.ratio,
        low: Some(1.0 / t.ratio_high),
        high: Some(1.0 / t.ratio_low),
        samples: t.samples,
    });
    Ok((e, speed))
}

/// Why there are no times.
#[derive(Debug, thiserror::Error)]
pub enum NoSpeed {
    /// Nobody asked for them.
    #[error("times were not asked for")]
    NotAsked,
    /// There is nothing to time.
    #[error("the candidate does not compile")]
    NotCompiled,
    /// The GPU failed.
    #[error("{0}")]
    Failed(#[from] JobError),
    /// The GPU measured nothing.
    #[error("the GPU gave no times")]
    NoTimes,
    /// A profile lacks figures.
    #[error("{0}")]
    Profile(CostError),
    /// There is no prediction.
    #[error("{0}")]
    Unpredicted(#[from] NoPrediction),
}

/// Why there is no prediction.
#[derive(Debug, thiserror::Error)]
pub enum NoPrediction {
    /// A program could not be counted.
    #[error("its operations could not be counted: {0}")]
    NotCounted(String),
    /// The model has no answer.
    #[error("the cost model has no answer for it: {0}")]
    Unpredicted(#[from] CostError),
}

/// Counts a program and predicts its seconds.
fn predicted_seconds(
    model: &CostModel,
    job: &Job,
    patched: Option<&Patched>,
    (program, limit): (&WorkerProgram, Duration),
) -> Result<(f64, Vec<(String, i64)>), NoPrediction> {
    let not_counted = |e: &dyn std::fmt::Display| NoPrediction::NotCounted(e.to_string());
    let counting = Job {
        count: Some(Detail::Blocks),
        count_only: true,
        reference: false,
        baseline: false,
        memcheck: None,
        patched: patched.cloned(),
        ..job.clone()
    };
    let args: Vec<&str> = program.args.iter().map(String::as_str).collect();
    let mut w = WorkerProcess::start(&program.path, &args).map_err(|e| not_counted(&e))?;
    let answer: Result<JobReport, JobError> =
        w.ask(&counting, limit).map_err(|e| not_counted(&e))?;
    let report = answer.map_err(|e| not_counted(&e))?;
    let sizes = report.settings.into_iter().collect();
    let missing = || NoPrediction::NotCounted("there are no counts".into());
    let counts = report.counts.ok_or_else(missing)?;
    let tools = job.toolchain();
    let loaded = match patched {
        Some(p) => program::load(&tools, &p.source, &p.flags),
        None => Workload::read(&job.workload, &job.overrides)
            .map_err(|e| not_counted(&e))
            .map(|w| kerf_run::compile::own_program(&w, &tools))?,
    };
    let prepared = loaded.map_err(|e| not_counted(&e))?;
    let prepared = prepared.module().map_err(|e| not_counted(&e))?;
    Ok((program_seconds(model, &prepared, &counts)?, sizes))
}

/// Predicted times of both programs at the job's sizes.
pub fn predict(
    model: &CostModel,
    job: &Job,
    (program, limit): (&WorkerProgram, Duration),
) -> Result<Speed, NoPrediction> {
    let (original_s, sizes) = predicted_seconds(model, job, None, (program, limit))?;
    let (candidate_s, _) = predicted_seconds(model, job, job.patched.as_ref(), (program, limit))?;
    Ok(Speed {
        kind: SpeedKind::Predicted,
        device: model.profile_name().to_owned(),
        sizes,
        original_s,
        candidate_s,
        speedup: original_s / candidate_s,
        low: None,
        high: None,
        samples: 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn speed(kind: SpeedKind, speedup: f64, interval: Option<(f64, f64)>) -> Speed {
        Speed {
            kind,
            device: "d".into(),
            sizes: Vec::new(),
            original_s: speedup,
            candidate_s: 1.0,
            speedup,
            low: interval.map(|i| i.0),
            high: interval.map(|i| i.1),
            samples: 9,
        }
    }

    #[test]
    fn only_a_whole_interval_below_one_is_slower() {
        let measured = |low, high| {
            let s = speed(SpeedKind::Measured, 0.5 * (low + high), Some((low, high)));
            Pace::from_speed(Some(&s))
        };
        assert_eq!(measured(1.01, 1.2), Pace::Faster);
        assert_eq!(measured(0.9, 0.99), Pace::Slower);
        assert_eq!(measured(0.9, 1.1), Pace::Unclear);
        let mut short = speed(SpeedKind::Measured, 0.8, Some((0.7, 0.9)));
        (short.original_s, short.candidate_s) = (4e-6, 5e-6);
        assert_eq!(Pace::from_speed(Some(&short)), Pace::TooShort);
        short.candidate_s = 5e-5;
        assert_eq!(Pace::from_speed(Some(&short)), Pace::Slower);
        let predicted = |x| Pace::from_speed(Some(&speed(SpeedKind::Predicted, x, None)));
        assert_eq!(predicted(1.5), Pace::PredictedFaster);
        assert_eq!(predicted(1.0), Pace::PredictedSlower);
        assert_eq!(Pace::from_speed(None), Pace::Unknown);
        for (pace, plain, asked) in [
            (Pace::Faster, false, false),
            (Pace::Slower, true, true),
            (Pace::Unclear, false, true),
            (Pace::TooShort, false, true),
            (Pace::PredictedFaster, false, false),
            (Pace::PredictedSlower, false, true),
            (Pace::Unknown, false, true),
        ] {
            assert_eq!((pace.refuses(false), pace.refuses(true)), (plain, asked));
        }
    }
}
