//! Training of the correction, and its cross-validation: each kernel is predicted by a model that was not trained on it.
use super::counters::{self, LaunchCounters};
use super::svr::{Svr, SvrSettings};
use super::{FEATURES, SCHEMA, SampleCorrection, Samples};
use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// A launch that was sampled and measured whole.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Instance {
    /// Kernel: its launches are left out together.
    pub kernel: String,
    /// For people: workload, sizes, shape.
    pub name: String,
    /// Blocks along each axis.
    pub grid: [u32; 3],
    /// Threads of a block along each axis.
    pub block: [u32; 3],
    /// Samples, known before the whole launch runs.
    pub samples: Samples,
    /// Seconds of the whole launch, measured.
    pub measured: f64,
}

/// Prediction of one launch by a model that was not trained on its kernel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CrossValidated {
    /// Kernel.
    pub kernel: String,
    /// Launch.
    pub name: String,
    /// Measured seconds.
    pub measured: f64,
    /// Signed relative error of the line.
    pub linear: f64,
    /// That of the line adjusted for the position of samples.
    pub placed: f64,
    /// That of the corrected prediction.
    pub corrected: f64,
    /// Samples over the whole launch, in seconds.
    pub sampling: f64,
    /// Waves of the launch.
    pub waves: f64,
    /// Seconds of the samples.
    pub sampled_s: f64,
}

/// Hyperparameters among which the inner cross-validation chooses.
fn candidates() -> Vec<SvrSettings> {
    let mut all = Vec::new();
    for c in [0.01, 0.03, 0.1, 0.3] {
        for gamma in [0.3, 1.0, 3.0] {
            for epsilon in [0.01, 0.03] {
                all.push(SvrSettings { c, epsilon, gamma });
            }
        }
    }
    all
}

/// Folds of the inner cross-validation.
const FOLDS: usize = 6;

/// Features of a launch, with hardware counters where there are any.
fn features(i: &Instance) -> Vec<f64> {
    let s = &i.samples;
    s.features_of(usize::MAX).unwrap_or_else(|| s.features())
}

fn examples<'i>(all: impl Iterator<Item = &'i Instance>) -> Vec<(Vec<f64>, f64)> {
    let one = |i: &Instance| {
        let y = (i.measured / i.samples.position_adjusted_s()).ln();
        (features(i), y.clamp(-0.7, 0.7))
    };
    all.map(one).collect()
}

fn relative_error(s: &Svr, i: &Instance) -> f64 {
    let factor = s.value(&features(i)).exp();
    i.samples.position_adjusted_s() * factor / i.measured - 1.0
}

fn kernels(all: &[&Instance]) -> Vec<String> {
    let mut names: Vec<String> = all.iter().map(|i| i.kernel.clone()).collect();
    names.sort();
    names.dedup();
    names
}

/// The hyperparameters with the least error in cross-validation by kernel.
fn choose(all: &[&Instance]) -> SvrSettings {
    let names = kernels(all);
    let fold = |i: &&&Instance, f: usize| {
        names.iter().position(|n| *n == i.kernel).unwrap_or(0) % FOLDS == f
    };
    let mut best = (f64::INFINITY, candidates()[0]);
    for s in candidates() {
        let mut sum = 0.0;
        for f in 0..FOLDS {
            let rest = examples(all.iter().filter(|i| !fold(i, f)).copied());
            let model = Svr::train(&rest, s);
            sum += all
                .iter()
                .filter(|i| fold(i, f))
                .map(|i| relative_error(&model, i).abs())
                .sum::<f64>();
        }
        if sum < best.0 {
            best = (sum, s);
        }
    }
    best.1
}

/// Every launch predicted by a model whose training, choice of hyperparameters included, left its kernel out.
fn cross_validate(all: &[Instance]) -> Vec<CrossValidated> {
    let refs: Vec<&Instance> = all.iter().collect();
    let mut out = Vec::new();
    for k in kernels(&refs) {
        let rest: Vec<&Instance> = refs.iter().filter(|i| i.kernel != k).copied().collect();
        let model = Svr::train(&examples(rest.iter().copied()), choose(&rest));
        for i in refs.iter().filter(|i| i.kernel == k) {
            let s = &i.samples;
            let sampled = s.sampled_s();
            out.push(CrossValidated {
                kernel: k.clone(),
                name: i.name.clone(),
                measured: i.measured,
                linear: s.linear_s() / i.measured - 1.0,
                placed: s.position_adjusted_s() / i.measured - 1.0,
                corrected: relative_error(&model, i),
                sampling: sampled / i.measured,
                waves: s.blocks as f64 / s.wave.max(1) as f64,
                sampled_s: sampled,
            });
        }
    }
    out
}

fn mean_absolute(of: impl Iterator<Item = f64>) -> f64 {
    let (mut n, mut sum) = (0.0f64, 0.0);
    of.for_each(|x| {
        n += 1.0;
        sum += x.abs();
    });
    sum / n.max(1.0)
}

/// A row of the table by class of the line's error.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ErrorClass {
    /// For people: `0-5 %`.
    pub name: String,
    /// Launches.
    pub launches: usize,
    /// Mean absolute error of the line.
    pub linear: f64,
    /// Of the line adjusted for the position of samples.
    pub placed: f64,
    /// Of the corrected prediction.
    pub corrected: f64,
}

/// Errors by class of the line's error, and of all.
fn error_classes(all: &[CrossValidated]) -> Vec<ErrorClass> {
    let of = |name: &str, from: f64, to: f64| {
        let mine: Vec<&CrossValidated> = all
            .iter()
            .filter(|j| (from..to).contains(&j.linear.abs()))
            .collect();
        ErrorClass {
            name: name.into(),
            launches: mine.len(),
            linear: mean_absolute(mine.iter().map(|j| j.linear)),
            placed: mean_absolute(mine.iter().map(|j| j.placed)),
            corrected: mean_absolute(mine.iter().map(|j| j.corrected)),
        }
    };
    vec![
        of("0-5 %", 0.0, 0.05),
        of("5-10 %", 0.05, 0.10),
        of("over 10 %", 0.10, f64::INFINITY),
        of("all", 0.0, f64::INFINITY),
    ]
}

/// A row of the table by number of waves.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ByWaves {
    /// From so many waves on.
    pub from: f64,
    /// To before so many; none: no end.
    pub to: Option<f64>,
    /// Launches.
    pub launches: usize,
    /// Mean absolute error of the line.
    pub linear: f64,
    /// Of the line adjusted for the position of samples.
    pub placed: f64,
    /// Of the corrected prediction.
    pub corrected: f64,
    /// Samples over the whole launch, mean of the launches.
    pub sampling: f64,
    /// Samples of all over all launches.
    pub sampling_total: f64,
}

/// Errors and cost of sampling by number of waves.
fn by_waves(all: &[CrossValidated], bounds: &[f64]) -> Vec<ByWaves> {
    let mut out = Vec::new();
    for (n, from) in bounds.iter().enumerate() {
        let to = bounds.get(n + 1).copied();
        let inside = |j: &&CrossValidated| j.waves >= *from && to.is_none_or(|t| j.waves < t);
        let mine: Vec<&CrossValidated> = all.iter().filter(inside).collect();
        if mine.is_empty() {
            continue;
        }
        let sampled: f64 = mine.iter().map(|j| j.sampled_s).sum();
        let whole: f64 = mine.iter().map(|j| j.measured).sum();
        out.push(ByWaves {
            from: *from,
            to,
            launches: mine.len(),
            linear: mean_absolute(mine.iter().map(|j| j.linear)),
            placed: mean_absolute(mine.iter().map(|j| j.placed)),
            corrected: mean_absolute(mine.iter().map(|j| j.corrected)),
            sampling: mean_absolute(mine.iter().map(|j| j.sampling)),
            sampling_total: sampled / whole.max(1e-12),
        });
    }
    out
}

/// Trains on all launches; the errors that the model states are those of the cross-validation.
fn train(device: &str, all: &[Instance], judged: &[CrossValidated]) -> SampleCorrection {
    let refs: Vec<&Instance> = all.iter().collect();
    let mut errors: Vec<f64> = judged.iter().map(|j| j.corrected.abs()).collect();
    errors.sort_by(f64::total_cmp);
    let at = (errors.len() * 9 / 10).min(errors.len().saturating_sub(1));
    SampleCorrection {
        schema: SCHEMA.into(),
        device: device.into(),
        features: {
            let width = refs.first().map_or(FEATURES.len(), |i| features(i).len());
            let names = FEATURES.iter().chain(&counters::FEATURES);
            names.take(width).map(|f| (*f).to_owned()).collect()
        },
        svr: Svr::train(&examples(refs.iter().copied()), choose(&refs)),
        launches: all.len(),
        kernels: kernels(&refs).len(),
        linear_error: mean_absolute(judged.iter().map(|j| j.linear)),
        error: mean_absolute(judged.iter().map(|j| j.corrected)),
        error_90: errors.get(at).copied().unwrap_or(0.0),
    }
}

/// Launches of a record, at least.
const FEWEST_LAUNCHES: usize = 10;

/// Why no correction can be trained.
#[derive(Debug, thiserror::Error)]
pub enum TrainingError {
    /// The record is too small.
    #[error(
        "the record has {0} launches that were sampled and measured whole; {FEWEST_LAUNCHES} are the least"
    )]
    TooFew(usize),
}

/// Hardware counters of one file.
pub struct CounterTable {
    /// The file's name without its extension: a workload, or anything.
    pub name: String,
    /// Launches.
    pub launches: Vec<LaunchCounters>,
}

impl Instance {
    /// The workload, which the name starts with.
    fn workload(&self) -> &str {
        self.name.split(' ').next().unwrap_or_default()
    }
}

/// Keeps the launches that have counters, and attaches these. Workloads share names of kernels: a table that is named after a
/// workload of the record is used for that one only.
fn attach_counters(all: &mut Vec<Instance>, tables: &[CounterTable]) {
    let workloads: Vec<String> = all.iter().map(|i| i.workload().to_owned()).collect();
    all.retain_mut(|i| {
        let mut fitting = tables
            .iter()
            .filter(|t| t.name == i.workload() || !workloads.contains(&t.name));
        i.samples.counters = fitting
            .find_map(|t| counters::find(&t.launches, &[&i.kernel], i.block, i.grid).copied());
        i.samples.counters.is_some()
    });
}

/// A trained correction with its cross-validation.
pub struct TrainedCorrection {
    /// The correction.
    pub model: SampleCorrection,
    /// Cross-validation of each launch.
    pub launches: Vec<CrossValidated>,
    /// By class of the line's error.
    pub classes: Vec<ErrorClass>,
    /// By number of waves.
    pub waves: Vec<ByWaves>,
    /// Classes of the same launches without counters, where there are counters.
    pub without_counters: Option<Vec<ErrorClass>>,
}

impl TrainedCorrection {
    /// Trains a device's correction on a record; with counters, on those launches that have them. `wave_bounds`: rows of the
    /// table by waves.
    pub fn train(
        device: &str,
        mut record: Vec<Instance>,
        counters: &[CounterTable],
        wave_bounds: &[f64],
    ) -> Result<TrainedCorrection, TrainingError> {
        if !counters.is_empty() {
            attach_counters(&mut record, counters);
        }
        if record.len() < FEWEST_LAUNCHES {
            return Err(TrainingError::TooFew(record.len()));
        }
        let launches = cross_validate(&record);
        let model = train(device, &record, &launches);
        let without_counters = (!counters.is_empty()).then(|| {
            record.iter_mut().for_each(|i| i.samples.counters = None);
            error_classes(&cross_validate(&record))
        });
        Ok(TrainedCorrection {
            model,
            classes: error_classes(&launches),
            waves: by_waves(&launches, wave_bounds),
            without_counters,
            launches,
        })
    }

    /// Mean and median of the time of samples over that of the whole launch.
    pub fn sampling_cost(&self) -> (f64, f64) {
        let mut all: Vec<f64> = self.launches.iter().map(|j| j.sampling).collect();
        all.sort_by(f64::total_cmp);
        let mean = all.iter().sum::<f64>() / all.len().max(1) as f64;
        (mean, all.get(all.len() / 2).copied().unwrap_or(0.0))
    }

    /// The cross-validation as CSV, one line a launch.
    pub fn csv(&self) -> String {
        let mut out = String::from(
            "kernel,launch,waves,measured_s,linear_error,placed_error,corrected_error,sampling\n",
        );
        for j in &self.launches {
            let _ = writeln!(
                out,
                "{},\"{}\",{:.1},{:e},{:.4},{:.4},{:.4},{:.4}",
                j.kernel, j.name, j.waves, j.measured, j.linear, j.placed, j.corrected, j.sampling
            );
        }
        out
    }
}
