//! Recorded measurements of plans, predicted again: programs, counts and plans of one folder.
//! Also used by the examples `prediction` and `fit`.
#![allow(dead_code)]
use kerf_device::bundled;
use kerf_llvm::Module;
use kerf_pass::Plan;
use kerf_predict::cost::{Compiler, CostModel, FittedConstants, Prediction, ProgramWork, ptxas};
use serde::Deserialize;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// A plan that was measured.
#[derive(Deserialize)]
pub struct Measured {
    pub plan: Plan,
    pub seconds: f64,
    pub low: f64,
    pub high: f64,
    pub baseline: f64,
    #[serde(default)]
    pub registers: Vec<(String, u32)>,
}

/// One workload.
pub struct Record {
    pub name: String,
    pub module: Module,
    pub work: ProgramWork,
    pub plans: Vec<Measured>,
}

/// Predictions of one workload beside its measurements.
pub struct Row {
    pub name: String,
    pub measured: Vec<f64>,
    pub noise: Vec<f64>,
    pub ratios: Vec<f64>,
    pub predicted: Vec<f64>,
    pub own: f64,
    own_prediction: Prediction,
    pub details: Vec<Prediction>,
    pub registers: Vec<Vec<(String, u32)>>,
    pub kinds: Vec<String>,
}

pub fn read(folder: &Path) -> Vec<Record> {
    read_with(folder, folder)
}

/// [`read`] with counts of another folder, where the program was counted again.
pub fn read_with(folder: &Path, counts: &Path) -> Vec<Record> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap_or_else(|e| panic!("{}: {e}", folder.display()))
        .filter_map(|e| {
            let name = e.ok()?.file_name().into_string().ok()?;
            Some(name.strip_suffix(".jsonl")?.to_owned())
        })
        .collect();
    names.sort();
    let mut out = Vec::new();
    for name in names {
        let file = |e: &str| folder.join(format!("{name}.{e}"));
        let counted = counts.join(format!("{name}.json"));
        let (Ok(bitcode), Ok(counts)) = (std::fs::read(file("bc")), std::fs::read(counted)) else {
            continue;
        };
        let plans = std::fs::read_to_string(file("jsonl")).expect("readable");
        out.push(Record {
            module: Module::parse(&bitcode, &name).expect("a module"),
            work: serde_json::from_slice(&counts).expect("counts"),
            plans: plans
                .lines()
                .map(|l| serde_json::from_str(l).expect("a measured plan"))
                .collect(),
            name,
        });
    }
    out
}

fn kind(p: &Plan) -> String {
    let sites: usize = p.kernels.values().map(|k| k.sites.len()).sum();
    let held: usize = p.kernels.values().map(|k| k.storage.len()).sum();
    format!("{sites} sites, {held} held")
}

/// NVIDIA's assembler and libdevice, where this machine has them.
pub struct Tools {
    pub ptxas: PathBuf,
    pub libdevice: Vec<u8>,
}

impl Tools {
    /// Of a folder with a CUDA toolkit's files.
    pub fn find(cuda: &Path) -> Option<Tools> {
        let ptxas = cuda.join("bin/ptxas");
        let libdevice = std::fs::read(cuda.join("nvvm/libdevice/libdevice.10.bc")).ok()?;
        ptxas.is_file().then_some(Tools { ptxas, libdevice })
    }

    /// Calls a prediction with the compiler.
    fn compile<T>(&self, predict: impl FnOnce(&Compiler) -> T) -> T {
        predict(&Compiler {
            libdevice: &self.libdevice,
            arch: "sm_90",
            assemble: &|text| ptxas(&self.ptxas, "sm_90", text),
        })
    }
}

/// The H200's.
fn model() -> CostModel {
    let h200 = bundled::find("h200").expect("bundled");
    CostModel::new(&h200.bundled.load().expect("valid")).expect("complete")
}

/// Seconds of the program beside its plans, usually.
fn usual(r: &Record) -> f64 {
    let mut own: Vec<f64> = r.plans.iter().map(|p| p.baseline).collect();
    own.sort_by(f64::total_cmp);
    own[own.len() / 2]
}

/// Predicts from the prepared program.
pub fn predict(r: &Record) -> Row {
    predict_with(r, None)
}

/// Predicts from machine code, where tools are given.
pub fn predict_with(r: &Record, tools: Option<&Tools>) -> Row {
    let model = model();
    let subject = model.subject(&r.module, &r.work).expect("fits");
    let one = |p: &Plan| match tools {
        None => subject.predict(p).expect("predicts"),
        Some(t) => t
            .compile(|with| subject.predict_compiled(p, with))
            .expect("predicts"),
    };
    let details: Vec<Prediction> = r.plans.iter().map(|p| one(&p.plan)).collect();
    let usual = usual(r);
    let own = one(&Plan::default());
    Row {
        name: r.name.clone(),
        // The device's clock drifts from plan to plan, for the program beside it as well.
        measured: r
            .plans
            .iter()
            .map(|p| p.seconds / p.baseline * usual)
            .collect(),
        noise: r
            .plans
            .iter()
            .map(|p| (p.high - p.low) / p.seconds)
            .collect(),
        ratios: r.plans.iter().map(|p| p.seconds / p.baseline).collect(),
        predicted: details.iter().map(|p| p.seconds).collect(),
        own: own.seconds,
        own_prediction: own,
        details,
        registers: r.plans.iter().map(|p| p.registers.clone()).collect(),
        kinds: r.plans.iter().map(|p| kind(&p.plan)).collect(),
    }
}

/// Relative errors of one workload's plans under each of some constants; `host`: of times that have the host's start in them.
pub fn errors_fitted(
    r: &Record,
    tools: Option<&Tools>,
    constants: &[FittedConstants],
    host: bool,
) -> Vec<Vec<f64>> {
    let model = model();
    let subject = model.subject(&r.module, &r.work).expect("fits");
    let usual = usual(r);
    let mut out = vec![Vec::new(); constants.len()];
    for p in &r.plans {
        let all = match tools {
            None => subject.predict_fitted(&p.plan, None, constants),
            Some(t) => t.compile(|with| subject.predict_fitted(&p.plan, Some(with), constants)),
        };
        let measured = p.seconds / p.baseline * usual;
        for ((errors, q), c) in out.iter_mut().zip(all.expect("predicts")).zip(constants) {
            let start = if host { c.run.host_start_s } else { 0.0 };
            errors.push((q.seconds + start) / measured - 1.0);
        }
    }
    out
}

/// Ranks, equal values sharing theirs.
fn ranks(x: &[f64]) -> Vec<f64> {
    let below = |v: f64| x.iter().filter(|o| **o < v).count() as f64;
    let same = |v: f64| x.iter().filter(|o| **o == v).count() as f64;
    x.iter()
        .map(|v| below(*v) + 0.5 * (same(*v) - 1.0))
        .collect()
}

/// Spearman's rank correlation.
pub fn rank_correlation(a: &[f64], b: &[f64]) -> f64 {
    let (a, b) = (ranks(a), ranks(b));
    let n = a.len() as f64;
    let mean = (n - 1.0) / 2.0;
    let dot = |x: &[f64], y: &[f64]| -> f64 {
        x.iter().zip(y).map(|(x, y)| (x - mean) * (y - mean)).sum()
    };
    let norm = (dot(&a, &a) * dot(&b, &b)).sqrt();
    if norm > 0.0 { dot(&a, &b) / norm } else { 0.0 }
}

fn mean(x: impl Iterator<Item = f64>) -> f64 {
    let all: Vec<f64> = x.collect();
    all.iter().sum::<f64>() / all.len().max(1) as f64
}

/// Workloads that the weights of the program's model were fitted to.
pub const FITTED: [&str; 7] = [
    "backprop",
    "black_scholes_cl",
    "cfd",
    "global_sum",
    "lavamd_single",
    "nbody_cl",
    "stencil",
];

impl Row {
    fn predicted_by(mut self, seconds: fn(&Prediction) -> f64) -> Row {
        self.predicted = self.details.iter().map(seconds).collect();
        self.own = seconds(&self.own_prediction);
        self
    }
    /// The same for times that have the host's start of a run in them.
    pub fn host_launched(self) -> Row {
        self.predicted_by(Prediction::host_launched_seconds)
    }
    /// The same for times of recorded launches.
    pub fn replayed(self) -> Row {
        self.predicted_by(|p| p.seconds)
    }
    pub fn fitted(&self) -> bool {
        FITTED.contains(&self.name.as_str())
    }
    pub fn errors(&self) -> Vec<f64> {
        let both = self.measured.iter().zip(&self.predicted);
        both.map(|(m, p)| p / m - 1.0).collect()
    }
    pub fn mean_error(&self) -> f64 {
        mean(self.errors().into_iter().map(f64::abs))
    }
    /// Error of the time over that of the program itself.
    pub fn ratio_error(&self) -> f64 {
        let both = self.ratios.iter().zip(&self.predicted);
        mean(both.map(|(m, p)| (p / self.own / m - 1.0).abs()))
    }
    pub fn correlation(&self) -> f64 {
        rank_correlation(&self.measured, &self.predicted)
    }
    /// Spearman's correlation over plans that measurement tells apart: from the fastest on, each whose
    /// interval does not overlap that of the one before; and how many these are.
    pub fn distinct(&self) -> (f64, usize) {
        let low = |i: usize| self.measured[i] * (1.0 - 0.5 * self.noise[i]);
        let high = |i: usize| self.measured[i] * (1.0 + 0.5 * self.noise[i]);
        let mut by: Vec<usize> = (0..self.measured.len()).collect();
        by.sort_by(|a, b| high(*a).total_cmp(&high(*b)));
        let mut kept: Vec<usize> = Vec::new();
        for i in by {
            if kept.last().is_none_or(|l| low(i) > high(*l)) {
                kept.push(i);
            }
        }
        let of = |x: &[f64]| kept.iter().map(|i| x[*i]).collect::<Vec<f64>>();
        let r = rank_correlation(&of(&self.measured), &of(&self.predicted));
        (r, kept.len())
    }
    /// Of pairs whose measured times differ by more than their intervals and one percent: those that are
    /// predicted in the right order less those in the wrong one, over all; and how many pairs.
    pub fn order(&self) -> (f64, usize) {
        let (mut sum, mut pairs) = (0.0, 0);
        for i in 0..self.measured.len() {
            for j in 0..i {
                let d = self.measured[i] / self.measured[j] - 1.0;
                if d.abs() <= (0.5 * (self.noise[i] + self.noise[j])).max(0.01) {
                    continue;
                }
                let p = self.predicted[i] / self.predicted[j] - 1.0;
                pairs += 1;
                sum += match p == 0.0 {
                    true => 0.0,
                    false => (d * p).signum(),
                };
            }
        }
        (if pairs > 0 { sum / pairs as f64 } else { 0.0 }, pairs)
    }
}

pub fn table(rows: &[Row]) -> String {
    let mut o = String::from(
        "workload               plans   rank   apart (of)  order (pairs)  error    bias  of ratio  noise  measured ms      predicted ms     limit\n",
    );
    let span = |x: &[f64]| {
        let least = x.iter().copied().fold(f64::INFINITY, f64::min);
        let most = x.iter().copied().fold(0.0, f64::max);
        format!("{:.3}..{:.3}", 1e3 * least, 1e3 * most)
    };
    for r in rows {
        let bias = mean(r.errors().into_iter());
        let (order, pairs) = r.order();
        let (apart, told) = r.distinct();
        let _ = writeln!(
            o,
            "{:22} {:5} {:6.3}  {:6.3} {:4}  {:6.3} {:7}  {:5.1}% {:+6.1}%   {:5.1}%  {:4.1}%  {:16} {:16} {}",
            r.name,
            r.measured.len(),
            r.correlation(),
            apart,
            told,
            order,
            pairs,
            100.0 * r.mean_error(),
            100.0 * bias,
            100.0 * r.ratio_error(),
            50.0 * mean(r.noise.iter().copied()),
            span(&r.measured),
            span(&r.predicted),
            r.details[0].limit
        );
    }
    for (which, fitted) in [("fitted to", true), ("not fitted to", false)] {
        let some: Vec<&Row> = rows.iter().filter(|r| r.fitted() == fitted).collect();
        let _ = writeln!(o, "{which}: {}", summary(&some));
    }
    let all: Vec<&Row> = rows.iter().collect();
    let _ = writeln!(o, "all: {}", summary(&all));
    o
}

/// Plans and mean absolute errors of some workloads.
fn summary(rows: &[&Row]) -> String {
    let plans: usize = rows.iter().map(|r| r.measured.len()).sum();
    let error = mean(rows.iter().flat_map(|r| r.errors()).map(f64::abs));
    let ratio = mean(rows.iter().map(|r| r.ratio_error()));
    format!(
        "{plans} plans, mean absolute error {:.1} % of the time, {:.1} % of the time over the program's own",
        100.0 * error,
        100.0 * ratio
    )
}

pub fn worst(rows: &[Row], count: usize) -> String {
    let mut all: Vec<(f64, &Row, usize)> = Vec::new();
    for r in rows {
        all.extend(r.errors().into_iter().enumerate().map(|(i, e)| (e, r, i)));
    }
    all.sort_by(|a, b| b.0.abs().total_cmp(&a.0.abs()));
    let mut o = String::new();
    for (e, r, i) in all.into_iter().take(count) {
        let _ = writeln!(
            o,
            "{:+6.1}% {} #{i} ({}) measured {:.3} predicted {:.3} ms, {}",
            100.0 * e,
            r.name,
            r.kinds[i],
            1e3 * r.measured[i],
            1e3 * r.predicted[i],
            r.details[i].limit
        );
    }
    o
}

pub fn tsv(rows: &[Row]) -> String {
    let mut o = String::from(
        "workload\tplan\tkind\tmeasured_us\tlow_to_high\tratio\tpredicted_us\tpredicted_ratio\tlimit\n",
    );
    for r in rows {
        for i in 0..r.measured.len() {
            let _ = writeln!(
                o,
                "{}\t{i}\t{}\t{:.3}\t{:.4}\t{:.4}\t{:.3}\t{:.4}\t{}",
                r.name,
                r.kinds[i],
                1e6 * r.measured[i],
                r.noise[i],
                r.ratios[i],
                1e6 * r.predicted[i],
                r.predicted[i] / r.own,
                r.details[i].limit
            );
        }
    }
    o
}
