//! The tolerance that a search keeps: one number over all outputs.
use kerf_num::Metric;
use kerf_workload::job::Report;
use kerf_workload::{Accept, Criterion, Workload};
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
            let c = plain(Criterion {
                metric,
                tolerance: t,
                floor: told.and_then(|c| c.floor),
                quantile: told.and_then(|c| c.quantile),
            });
            least = least.min(c.tolerance);
            accept.outputs.insert(b.name.clone(), c);
        }
        Ok(Criteria {
            accept,
            tolerance: least,
            metric: named.unwrap_or_default(),
        })
    }

    /// Errors by output, and the one that the search compares with the tolerance: infinite if an output
    /// has NaN, infinity or integers where the reference has others.
    pub fn judge(&self, r: &Report) -> (f64, Vec<OutputError>) {
        let mut worst = 0f64;
        let mut all = Vec::new();
        for o in &r.outputs {
            let Some(c) = self.accept.criterion(&o.name) else {
                continue;
            };
            let whole = o.integer_mismatches.is_none_or(|n| n == 0);
            let value = match &o.verdict {
                Some(v) => v.value,
                // An output without floating-point values: only its integers count.
                None => Some(0.0),
            };
            let value = value.filter(|_| whole);
            let scaled = value.map_or(f64::INFINITY, |v| match c.tolerance == self.tolerance {
                true => v,
                false => v / c.tolerance * self.tolerance,
            });
            worst = worst.max(scaled);
            all.push(OutputError {
                name: o.name.clone(),
                error: value,
                tolerance: c.tolerance,
            });
        }
        (worst, all)
    }
}
