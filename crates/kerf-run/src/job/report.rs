//! What a job gave, as the worker answers it.
use super::{Device, StorageLosses};
use kerf_exec::cuda::watch::Reading;
use kerf_exec::{DeviceInfo, KernelStats};
use kerf_num::metrics::{Closeness, ComparedCounts, ErrorReport, Rejection};
use kerf_num::{Format, Metric};
use kerf_workload::workload::BufferSpec;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// What a job gave.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct JobReport {
    /// Device.
    pub device: DeviceInfo,
    /// Sizes and parameters in force.
    pub settings: BTreeMap<String, i64>,
    /// Seed of the inputs.
    pub seed: u64,
    /// Times.
    pub times: Option<Times>,
    /// Replays of the launches in each sample, where they were recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replays: Option<u32>,
    /// Where the job's own time went.
    #[serde(default)]
    pub spent: JobSeconds,
    /// Times of the program as it is, taken in turn with those, where the job asked for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<Times>,
    /// Digest of all inputs, where references are kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inputs: Option<String>,
    /// Energy.
    pub energy: Option<Energy>,
    /// Sensors before and after (CUDA).
    pub sensors: Vec<Reading>,
    /// Kernels launched.
    pub kernels: Vec<KernelStats>,
    /// Outputs.
    pub outputs: Vec<Output>,
    /// Reference.
    pub reference: Option<ReferenceInfo>,
    /// What an instrumented run of the original program counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counts: Option<super::ProgramCounts>,
    /// What the plan's scaled formats lose, array by array.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub losses: Vec<StorageLosses>,
    /// What the kernels printed.
    pub printed: String,
    /// Launches of one run.
    pub launches: u64,
    /// Warnings.
    pub warnings: Vec<String>,
}

/// Where the time of a job went, in seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct JobSeconds {
    /// Reading the workload, compiling the source or reading it from the cache, checking.
    pub prepare_s: f64,
    /// Carrying the plan out.
    pub rewrite_s: f64,
    /// Linking libdevice, optimising, emitting PTX or machine code.
    pub codegen_s: f64,
    /// Making the program as it is, to time it too; 0 where an earlier job left it.
    pub baseline_s: f64,
    /// Assembling PTX and loading it, making and filling buffers.
    pub load_s: f64,
    /// Waiting for other processes that measure on the same GPU.
    pub wait_s: f64,
    /// Running, warm-up and repeats and the program as it is included.
    pub run_s: f64,
    /// Computing or reading the reference.
    pub reference_s: f64,
    /// Reading outputs back and comparing them.
    pub compare_s: f64,
    /// Making and running the program that counts.
    #[serde(default)]
    pub count_s: f64,
}

impl JobSeconds {
    /// Adds another job's.
    pub fn add(&mut self, o: &JobSeconds) {
        self.prepare_s += o.prepare_s;
        self.rewrite_s += o.rewrite_s;
        self.codegen_s += o.codegen_s;
        self.baseline_s += o.baseline_s;
        self.load_s += o.load_s;
        self.wait_s += o.wait_s;
        self.run_s += o.run_s;
        self.reference_s += o.reference_s;
        self.compare_s += o.compare_s;
        self.count_s += o.count_s;
    }
}

/// Times of a run in seconds.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Times {
    /// Median.
    pub median_s: f64,
    /// Interval of the median, about 95 %, by order statistics; the extremes for few samples.
    pub low_s: f64,
    /// Upper end.
    pub high_s: f64,
    /// Every sample, in order.
    pub samples_s: Vec<f64>,
}

impl Times {
    /// Summary of samples; none without any.
    pub fn new(samples: Vec<f64>) -> Option<Times> {
        let mut s = samples.clone();
        s.sort_by(f64::total_cmp);
        let n = s.len();
        if n == 0 {
            return None;
        }
        let median = if n % 2 == 1 {
            s[n / 2]
        } else {
            0.5 * (s[n / 2 - 1] + s[n / 2])
        };
        // Normal approximation of the binomial ranks around the median.
        let half = 0.98 * (n as f64).sqrt();
        let low = ((n as f64 / 2.0 - half).floor().max(0.0)) as usize;
        let high = ((n as f64 / 2.0 + half).ceil() as usize).min(n - 1);
        Some(Times {
            median_s: median,
            low_s: s[low.min(n - 1)],
            high_s: s[high],
            samples_s: samples,
        })
    }
}

/// Energy of one run of the workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Energy {
    /// Joules for one run.
    pub per_run_j: f64,
    /// Mean power in watts.
    pub mean_w: f64,
    /// Length of the window in seconds.
    pub window_s: f64,
    /// Runs in the window.
    pub runs: u64,
}

impl Energy {
    /// Both windows as one.
    pub fn and(&self, other: &Energy) -> Energy {
        let all = [self, other];
        let joules: f64 = all.iter().map(|e| e.per_run_j * e.runs as f64).sum();
        let window_s: f64 = all.iter().map(|e| e.window_s).sum();
        let runs = self.runs + other.runs;
        Energy {
            per_run_j: joules / runs.max(1) as f64,
            mean_w: joules / window_s,
            window_s,
            runs,
        }
    }
}

/// The errors of an output's values of one format.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FormatErrors {
    /// The format.
    pub format: Format,
    /// The errors.
    #[serde(flatten)]
    pub report: ErrorReport,
}

/// An output of the run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Output {
    /// Buffer name.
    pub name: String,
    /// Element type.
    pub element: String,
    /// Elements.
    pub len: usize,
    /// Digest of its bits, NaNs made equal.
    pub digest: String,
    /// File it was saved to.
    pub saved: Option<PathBuf>,
    /// Error reports against the reference, by format of the scalars.
    pub errors: Vec<FormatErrors>,
    /// Integer scalars that differ from the reference's run.
    pub integer_mismatches: Option<usize>,
    /// Verdict; none where nothing was compared with a reference, and where the workload sets no criterion and
    /// nothing is wrong whatever the tolerance.
    pub verdict: Option<OutputVerdict>,
    /// How close it is to what it is expected to be, where the job said that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<OutputAnswer>,
    /// How the error is spread, by format of the scalars, where the job asked for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scatter: Vec<kerf_num::metrics::Scatter>,
}

impl Output {
    /// Of a buffer, before anything was compared.
    pub(super) fn empty(b: &BufferSpec) -> Output {
        Output {
            name: b.name.clone(),
            element: b.elem.to_string(),
            len: b.len,
            digest: String::new(),
            saved: None,
            errors: Vec::new(),
            integer_mismatches: None,
            verdict: None,
            answer: None,
            scatter: Vec::new(),
        }
    }

    /// Adds the report of the values of one format.
    pub(super) fn push_report(&mut self, format: Format, report: ErrorReport) {
        self.errors.push(FormatErrors { format, report });
    }
}

/// Whether an output is close enough.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct OutputVerdict {
    /// Metric; none where the workload sets no criterion, and what no tolerance excuses decides.
    pub metric: Option<Metric>,
    /// Its value; none where it is infinite, and where something else than the tolerance rejects.
    pub value: Option<f64>,
    /// Bound.
    pub tolerance: Option<f64>,
    /// Accepted, as `kerf_num::metrics::judge` decides?
    pub accepted: bool,
    /// Why not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rejection: Option<Rejection>,
    /// What was compared.
    pub counts: ComparedCounts,
}

/// An output against what it is expected to be.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct OutputAnswer {
    /// Is every number close?
    pub accepted: bool,
    /// How close they are.
    #[serde(flatten)]
    pub closeness: Closeness,
}

/// The reference's own story.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReferenceInfo {
    /// Comparisons that flipped.
    pub flips: Vec<Flip>,
    /// Operations without a shadow.
    pub untracked: Vec<String>,
    /// Seconds that it took.
    pub time_s: f64,
    /// It was not run but read from the folder of references.
    #[serde(default)]
    pub kept: bool,
    /// Where it was computed.
    #[serde(default = "on_cpu")]
    pub device: Device,
    /// Why device code could not compute it, where that was so.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs_host: Vec<String>,
}

fn on_cpu() -> Device {
    Device::Cpu
}

/// A comparison that goes the other way in exact arithmetic.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Flip {
    /// How often.
    pub count: u64,
    /// Where.
    pub place: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use kerf_num::Dd;

    #[test]
    fn errors_come_back_from_json() {
        let exact = [1.0, 2.0, 3.0].map(Dd::from_f64);
        let compared = |got: [f64; 3]| FormatErrors {
            format: Format::F32,
            report: kerf_num::metrics::compare(&got, &exact, Format::F32, None).expect("a report"),
        };
        let back = |e: &FormatErrors| -> FormatErrors {
            let text = serde_json::to_string(e).expect("JSON");
            serde_json::from_str(&text).expect("errors")
        };
        let some = compared([1.0, 2.5, f64::NAN]);
        assert_eq!(back(&some), some);
        assert_eq!((some.report.compared, some.report.nan_mismatch), (2, 1));
        // An infinite difference is null as well, and comes back as what it was.
        let answer = OutputAnswer {
            accepted: false,
            closeness: Closeness {
                values: 2,
                beyond: 1,
                largest_difference: f64::INFINITY,
                ..Closeness::default()
            },
        };
        let text = serde_json::to_string(&answer).expect("JSON");
        assert!(text.contains("\"largest_difference\":null"), "{text}");
        let read: OutputAnswer = serde_json::from_str(&text).expect("an answer");
        assert_eq!(read, answer);
        // What is not finite is null in JSON.
        let mut endless = some;
        endless.report.max_rel = f64::INFINITY;
        let read = back(&endless);
        assert!(read.report.max_rel.is_nan());
        assert_eq!(read.report.max_rel_at, endless.report.max_rel_at);
    }
}
