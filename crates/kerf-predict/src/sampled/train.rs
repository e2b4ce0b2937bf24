//! Training and judging the correction: each kernel is predicted by a model that never saw it.
use super::svr::{Svr, SvrSettings};
use super::{FEATURES, SCHEMA, SampleCorrection, Samples, counters};
use serde::{Deserialize, Serialize};

/// A launch that was sampled and measured whole.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Instance {
    /// Kernel: what is left out together.
    pub kernel: String,
    /// For people: workload, sizes, shape.
    pub name: String,
    /// Blocks along each axis.
    pub grid: [u32; 3],
    /// Threads of a block along each axis.
    pub block: [u32; 3],
    /// What is known beforehand.
    pub samples: Samples,
    /// Seconds of the whole launch, measured.
    pub measured: f64,
}

/// Prediction of one launch by models that never saw its kernel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CrossValidated {
    /// Kernel.
    pub kernel: String,
    /// Launch.
    pub name: String,
    /// Measured seconds.
    pub measured: f64,
    /// The line's error, signed, over the measured time.
    pub linear: f64,
    /// The line's at the middle's rate, where that is another.
    pub placed: f64,
    /// The corrected prediction's.
    pub corrected: f64,
    /// Samples over the whole launch, in seconds.
    pub sampling: f64,
    /// Waves of the launch.
    pub waves: f64,
    /// Seconds of the samples.
    pub sampled_s: f64,
}

/// Settings that are tried; the inner leave-one-out of the training part chooses.
fn grid() -> Vec<SvrSettings> {
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

/// Parts of the inner validation.
const FOLDS: usize = 6;

/// All that is known of a launch; counters where there are any.
fn features(i: &Instance) -> Vec<f64> {
    let s = &i.samples;
    s.features_of(usize::MAX).unwrap_or_else(|| s.features())
}

fn examples<'i>(all: impl Iterator<Item = &'i Instance>) -> Vec<(Vec<f64>, f64)> {
    let one = |i: &Instance| {
        let y = (i.measured / i.samples.placed()).ln();
        (features(i), y.clamp(-0.7, 0.7))
    };
    all.map(one).collect()
}

fn off(s: &Svr, i: &Instance) -> f64 {
    let factor = s.value(&features(i)).exp();
    i.samples.placed() * factor / i.measured - 1.0
}

fn kernels(all: &[&Instance]) -> Vec<String> {
    let mut names: Vec<String> = all.iter().map(|i| i.kernel.clone()).collect();
    names.sort();
    names.dedup();
    names
}

/// The settings with the least error on kernels left out in turn, several at a time.
pub fn choose(all: &[&Instance]) -> SvrSettings {
    let names = kernels(all);
    let fold = |i: &&&Instance, f: usize| {
        names.iter().position(|n| *n == i.kernel).unwrap_or(0) % FOLDS == f
    };
    let mut best = (f64::INFINITY, grid()[0]);
    for s in grid() {
        let mut sum = 0.0;
        for f in 0..FOLDS {
            let rest = examples(all.iter().filter(|i| !fold(i, f)).copied());
            let model = Svr::train(&rest, s);
            sum += all
                .iter()
                .filter(|i| fold(i, f))
                .map(|i| off(&model, i).abs())
                .sum::<f64>();
        }
        if sum < best.0 {
            best = (sum, s);
        }
    }
    best.1
}

/// Every launch predicted by a model, settings included, that never saw its kernel.
pub fn judge(all: &[Instance]) -> Vec<CrossValidated> {
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
                linear: s.linear() / i.measured - 1.0,
                placed: s.placed() / i.measured - 1.0,
                corrected: off(&model, i),
                sampling: sampled / i.measured,
                waves: s.blocks as f64 / s.wave.max(1) as f64,
                sampled_s: sampled,
            });
        }
    }
    out
}

fn mean(of: impl Iterator<Item = f64>) -> f64 {
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
    /// Of the line at the middle's rate, where that is another.
    pub placed: f64,
    /// Of the corrected prediction.
    pub corrected: f64,
}

/// Errors by class of the line's error, and of all.
pub fn classes(all: &[CrossValidated]) -> Vec<ErrorClass> {
    let of = |name: &str, from: f64, to: f64| {
        let mine: Vec<&CrossValidated> = all
            .iter()
            .filter(|j| (from..to).contains(&j.linear.abs()))
            .collect();
        ErrorClass {
            name: name.into(),
            launches: mine.len(),
            linear: mean(mine.iter().map(|j| j.linear)),
            placed: mean(mine.iter().map(|j| j.placed)),
            corrected: mean(mine.iter().map(|j| j.corrected)),
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
    /// Of the line at the middle's rate, where that is another.
    pub placed: f64,
    /// Of the corrected prediction.
    pub corrected: f64,
    /// Samples over the whole launch, mean of the launches.
    pub sampling: f64,
    /// Samples of all over all launches.
    pub sampling_total: f64,
}

/// Errors and cost by number of waves, at the bounds where samples change.
pub fn by_waves(all: &[CrossValidated], bounds: &[f64]) -> Vec<ByWaves> {
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
            linear: mean(mine.iter().map(|j| j.linear)),
            placed: mean(mine.iter().map(|j| j.placed)),
            corrected: mean(mine.iter().map(|j| j.corrected)),
            sampling: mean(mine.iter().map(|j| j.sampling)),
            sampling_total: sampled / whole.max(1e-12),
        });
    }
    out
}

/// Trains on everything; the errors it states are those of [`judge`].
pub fn train(device: &str, all: &[Instance], judged: &[CrossValidated]) -> SampleCorrection {
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
        linear_error: mean(judged.iter().map(|j| j.linear)),
        error: mean(judged.iter().map(|j| j.corrected)),
        error_90: errors.get(at).copied().unwrap_or(0.0),
    }
}
