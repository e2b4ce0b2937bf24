//! The tolerance that a search keeps: one number over all outputs.
use kerf_num::Metric;
use kerf_num::metrics::{ComparedCounts, Rejection};
use kerf_run::job::{FormatErrors, JobReport};
use kerf_workload::Accept;
use kerf_workload::Criterion;
use kerf_workload::Workload;
use serde::{Deserialize, Serialize};

/// What each output has to satisfy, and the number that stands for all of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Criteria {
    /// As jobs are told.
    pub accept: Accept,
    /// The tolerance of the search. Errors of outputs with another one are scaled to it.
    pub tolerance: f64,
    /// Metric, as it was asked for.
    pub metric: Metric,
}

/// What is wrong with the tolerance.
#[derive(Debug, thiserror::Error, PartialEq)]
pub enum CriteriaError {
    /// None was given.
    #[error("no tolerance; help: --tolerance 1e-6, or `tolerance` in the workload's [accept]")]
    None,
    /// Not a tolerance.
    #[error("a tolerance of {0} cannot be met; expected a number above 0, e.g. 1e-6")]
    Bad(f64),
    /// A similarity that only the reference itself has.
    #[error("a similarity of {0} cannot be asked for; expected a number below 1, e.g. 0.999")]
    Similarity(f64),
    /// Structural similarity of something else.
    #[error(
        "`{0}` is no image, so it has no ssim; help: `shape = [rows, columns]`, of at least 11 by 11"
    )]
    NoImage(String),
}

/// An error of one output.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OutputError {
    /// Output.
    pub name: String,
    /// Its error by the metric; none if it is infinite, as with NaN where the reference has none.
    pub error: Option<f64>,
    /// What it may be.
    pub tolerance: f64,
    /// Its mean relative error; none if infinite.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_rel: Option<f64>,
    /// What its worst element pays: the largest relative error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worst: Option<WorstOutput>,
    /// Why it is rejected; none if it is accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rejection: Option<Rejection>,
    /// How many of its values were compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counts: Option<ComparedCounts>,
}

/// The element with the largest relative error.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorstOutput {
    /// Its relative error.
    pub max_rel: f64,
    /// Which it is, among the values of its format.
    pub index: u64,
    /// Its value.
    pub got: f64,
    /// What it should be.
    pub reference: f64,
}

impl WorstOutput {
    fn among(errors: &[FormatErrors]) -> Option<WorstOutput> {
        let one = |e: &FormatErrors| {
            let at = e.report.max_rel_at?;
            Some(WorstOutput {
                max_rel: finite(e.report.max_rel)?,
                index: at.index as u64,
                got: finite(at.got)?,
                reference: finite(at.reference)?,
            })
        };
        let all = errors.iter().filter_map(one);
        all.max_by(|a, b| a.max_rel.total_cmp(&b.max_rel))
    }
}

/// The outputs that are rejected for a reason, with what was compared of them; none if there are none.
pub(crate) fn rejected(outputs: &[OutputError], why: Rejection) -> Option<String> {
    let some: Vec<String> = outputs
        .iter()
        .filter(|o| o.rejection == Some(why))
        .map(|o| match o.counts {
            Some(c) => format!("output {}: {c}", o.name),
            None => format!("output {}", o.name),
        })
        .collect();
    (!some.is_empty()).then(|| some.join("; "))
}

/// A value of a metric as something to keep small, in the order of the metric.
fn small(metric: Metric, value: f64) -> f64 {
    match metric {
        Metric::Psnr => 10f64.powf(-value / 20.0),
        Metric::Ssim => 1.0 - value,
        _ => value,
    }
}

/// Decimal digits are a bound on the largest relative error, which has the order of every other metric.
fn plain(c: Criterion) -> Criterion {
    match c.metric {
        Metric::Digits => Criterion {
            metric: Metric::MaxRel,
            tolerance: 10f64.powf(-c.tolerance),
            ..c
        },
        _ => c,
    }
}

/// A number that is one.
fn finite(x: f64) -> Option<f64> {
    x.is_finite().then_some(x)
}

/// Mean relative error over the values of all formats.
fn mean(errors: &[FormatErrors]) -> Option<f64> {
    let sum = |e: &FormatErrors| Some(finite(e.report.mean_rel)? * e.report.compared as f64);
    let all: Option<f64> = errors.iter().map(sum).sum();
    let n: f64 = errors.iter().map(|e| e.report.compared as f64).sum();
    Some(all? / Some(n).filter(|n| *n > 0.0)?)
}

impl Criteria {
    /// From the command line and the file; what the command line says holds for every output.
    pub fn new(
        w: &Workload,
        tolerance: Option<f64>,
        metric: Option<Metric>,
    ) -> Result<Criteria, CriteriaError> {
        let mut accept = Accept::default();
        let mut least = f64::INFINITY;
        let mut named = metric;
        for b in w.buffers.iter().filter(|b| b.output) {
            let told = w.accept.criterion(&b.name);
            let metric = metric.or(told.map(|c| c.metric)).unwrap_or_default();
            named = named.or(Some(metric));
            // A tolerance in the file is one of the file's metric.
            let own = told.filter(|c| c.metric == metric).map(|c| c.tolerance);
            let t = tolerance.or(own).ok_or(CriteriaError::None)?;
            if !(t > 0.0 && t.is_finite()) {
                return Err(CriteriaError::Bad(t));
            }
            if metric == Metric::Ssim && t >= 1.0 {
                return Err(CriteriaError::Similarity(t));
            }
            if metric == Metric::Ssim && b.image().is_none() {
                return Err(CriteriaError::NoImage(b.name.clone()));
            }
            let c = plain(Criterion {
                metric,
                tolerance: t,
                floor: told.and_then(|c| c.floor),
                quantile: told.and_then(|c| c.quantile),
                peak: told.and_then(|c| c.peak),
                allow_nan: told.is_some_and(|c| c.allow_nan),
            });
            least = least.min(small(c.metric, c.tolerance));
            accept.outputs.insert(b.name.clone(), c);
        }
        Ok(Criteria {
            accept,
            tolerance: least,
            metric: named.unwrap_or_default(),
        })
    }

    /// Another tolerance, for every output.
    pub fn scale(&mut self, tolerance: f64) {
        self.tolerance = tolerance;
        for c in self.accept.outputs.values_mut() {
            c.tolerance = match c.metric {
                Metric::Psnr => -20.0 * tolerance.log10(),
                Metric::Ssim => 1.0 - tolerance,
                _ => tolerance,
            };
        }
    }

    /// Errors by output, and the one that the search compares with the tolerance. The verdicts are the job's, by
    /// `kerf_num::metrics::judge`: what is rejected for another reason than its error, and what has no verdict, is
    /// infinitely far off.
    pub fn judge(&self, r: &JobReport) -> (f64, Vec<OutputError>) {
        // Without any output there is nothing to accept.
        let mut worst = if r.outputs.is_empty() {
            f64::INFINITY
        } else {
            0.0
        };
        let mut all = Vec::new();
        for o in &r.outputs {
            let Some(c) = self.accept.criterion(&o.name) else {
                continue;
            };
            let verdict = o.verdict.as_ref();
            let value = verdict.and_then(|v| v.value);
            let (mine, bound) = (
                value.map(|v| small(c.metric, v)),
                small(c.metric, c.tolerance),
            );
            let scaled = mine.map_or(f64::INFINITY, |v| match bound == self.tolerance {
                true => v,
                false => v / bound * self.tolerance,
            });
            worst = worst.max(scaled);
            all.push(OutputError {
                name: o.name.clone(),
                error: value,
                tolerance: c.tolerance,
                mean_rel: mean(&o.errors),
                worst: WorstOutput::among(&o.errors),
                rejection: verdict.and_then(|v| v.rejection),
                counts: verdict.map(|v| v.counts),
            });
        }
        (worst, all)
    }
}
