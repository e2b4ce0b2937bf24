//! What an evaluation of a plan gives: errors, time, and why it may not be chosen.
use crate::approx::KernelNeeds;
use crate::confidence::ratio_of_medians;
use crate::criteria::{Criteria, OutputError};
use kerf_num::Metric;
use kerf_num::metrics::{ComparedCounts, Rejection, is_within};
use kerf_run::job::{Energy, JobReport, JobSeconds, StorageLosses, Times};
use serde::{Deserialize, Serialize};

/// A measured time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Timing {
    /// Median of the plan, in seconds.
    pub median_s: f64,
    /// Median of the program as it is, taken in turn.
    pub baseline_s: f64,
    /// Time of the plan over that of the program.
    pub ratio: f64,
    /// Lower end of the ratio's 95 % interval, by a bootstrap over pairs of samples.
    pub ratio_low: f64,
    /// Upper end.
    pub ratio_high: f64,
    /// Samples of each.
    #[serde(default)]
    pub samples: usize,
    /// Runs of the launches in each sample of the plan.
    #[serde(default)]
    pub replays: u32,
    /// Each sample of the plan over the program's that was taken in turn with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ratios: Vec<f64>,
}

impl Timing {
    fn new(plan: &Times, base: &Times, replays: u32) -> Option<Timing> {
        let (ratio, low, high) = ratio_of_medians(&plan.samples_s, &base.samples_s)?;
        let pairs = plan.samples_s.iter().zip(&base.samples_s);
        Some(Timing {
            median_s: plan.median_s,
            baseline_s: base.median_s,
            ratio,
            ratio_low: low,
            ratio_high: high,
            samples: plan.samples_s.len(),
            replays,
            ratios: pairs.map(|(p, b)| p / b).collect(),
        })
    }

    /// With the samples of a later measurement of the same plan.
    pub(crate) fn and(&self, later: &Timing) -> Timing {
        let ratios: Vec<f64> = self.ratios.iter().chain(&later.ratios).copied().collect();
        let ones = vec![1.0; ratios.len()];
        let (ratio, low, high) = ratio_of_medians(&ratios, &ones).unwrap_or((
            self.ratio,
            self.ratio_low,
            self.ratio_high,
        ));
        let (a, b) = (self.samples as f64, later.samples as f64);
        let mean = |x: f64, y: f64| (a * x + b * y) / (a + b).max(1.0);
        Timing {
            median_s: mean(self.median_s, later.median_s),
            baseline_s: mean(self.baseline_s, later.baseline_s),
            ratio,
            ratio_low: low,
            ratio_high: high,
            samples: self.samples + later.samples,
            replays: self.replays,
            ratios,
        }
    }
}

/// What an evaluation gave.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlanEvaluation {
    /// The error that the search compares with the tolerance; none if infinite, or if it failed.
    pub error: Option<f64>,
    /// Errors by output.
    pub outputs: Vec<OutputError>,
    /// Why it did not run to its end.
    pub failure: Option<String>,
    /// Time, where it was measured.
    pub timing: Option<Timing>,
    /// Time over that of the program, as it was predicted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub predicted: Option<f64>,
    /// Digest of its inputs.
    pub inputs: Option<String>,
    /// Digests of the outputs' bits.
    pub digests: Vec<String>,
    /// What kernels take of a multiprocessor, where the driver says.
    #[serde(default)]
    pub kernels: Vec<KernelNeeds>,
    /// Energy, where it was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energy: Option<Energy>,
    /// How many values of the outputs were compared, all outputs together.
    #[serde(default)]
    pub counts: ComparedCounts,
    /// What its scaled formats lose, array by array.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub losses: Vec<StorageLosses>,
    /// What a reader must know.
    pub warnings: Vec<String>,
    /// Device, in words.
    pub device: String,
    /// Seconds that it took, compilation and comparison included.
    pub wall_s: f64,
    /// Where they went.
    #[serde(default)]
    pub spent: JobSeconds,
}

impl PlanEvaluation {
    /// Within a tolerance? The error is one to keep small, whatever the metric, and absent where a verdict is against
    /// an output for another reason.
    pub fn accepted(&self, tolerance: f64) -> bool {
        let within = |e| is_within(Metric::MaxRel, e, tolerance);
        self.failure.is_none() && self.error.is_some_and(within)
    }

    /// Why an output is rejected, if not for its error.
    pub fn disqualified(&self) -> Option<Rejection> {
        let mut all = self.outputs.iter().filter_map(|o| o.rejection);
        all.find(|r| *r != Rejection::BeyondTolerance)
    }

    /// Without anything but perhaps a failure.
    pub(crate) fn failed_with(why: Option<String>) -> PlanEvaluation {
        PlanEvaluation {
            failure: why,
            ..PlanEvaluation::failed(String::new(), 0.0)
        }
    }

    pub(crate) fn failed(why: String, wall_s: f64) -> PlanEvaluation {
        PlanEvaluation {
            error: None,
            outputs: Vec::new(),
            failure: Some(why),
            timing: None,
            predicted: None,
            inputs: None,
            digests: Vec::new(),
            kernels: Vec::new(),
            energy: None,
            counts: ComparedCounts::default(),
            losses: Vec::new(),
            warnings: Vec::new(),
            device: String::new(),
            wall_s,
            spent: JobSeconds::default(),
        }
    }

    pub(crate) fn new(r: &JobReport, c: &Criteria, wall_s: f64) -> PlanEvaluation {
        let (error, outputs) = c.judge(r);
        let timing = match (&r.times, &r.baseline) {
            (Some(t), Some(b)) => Timing::new(t, b, r.replays.unwrap_or(1)),
            _ => None,
        };
        let counts = outputs
            .iter()
            .filter_map(|o| o.counts)
            .fold(ComparedCounts::default(), |all, one| all.and(&one));
        PlanEvaluation {
            error: error.is_finite().then_some(error),
            outputs,
            failure: hidden(&r.losses),
            timing,
            predicted: None,
            inputs: r.inputs.clone(),
            digests: r.outputs.iter().map(|o| o.digest.clone()).collect(),
            kernels: r
                .kernels
                .iter()
                .filter_map(|k| {
                    Some(KernelNeeds {
                        symbol: k.symbol.clone(),
                        registers: k.registers?,
                        shared: k.shared_bytes?,
                    })
                })
                .collect(),
            energy: r.energy.clone(),
            counts,
            losses: r.losses.clone(),
            warnings: r.warnings.clone(),
            device: format!("{} ({})", r.device.name, r.device.detail),
            wall_s,
            spent: r.spent,
        }
    }
}

/// Why a plan is refused whose codes stand for other values where the program has NaN or infinities: outputs would not show them.
fn hidden(losses: &[StorageLosses]) -> Option<String> {
    let mut lost = losses.iter().filter(|l| l.not_held > 0);
    lost.find_map(StorageLosses::sentence)
}
