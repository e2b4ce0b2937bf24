//! Comparing an output with its reference.
//!
//! [`compare`] makes one pass over the elements and returns an [`ErrorReport`];
//! [`judge`] decides on it.
//! What holds:
//!
//! * NaN where the reference is NaN, and an infinity equal to the reference, are
//!   pairs: they are counted as such, never as compared, and contribute to no measure.
//!   Any other NaN or infinity is a mismatch, which no tolerance accepts.
//! * The relative error is `|got - ref| / max(|ref|, floor)`, and 0 where the
//!   two are equal. The floor keeps references near zero from making every
//!   error huge; by default it is the format's smallest normal value.
//! * Differences are taken against the double-double reference before any
//!   rounding. Sums run in double-double, and squares are scaled, so means and
//!   norms neither lose small terms nor overflow.

mod acceptance;
mod metric;
mod quantile;
mod report;
mod scatter;
mod squares;
mod ssim;

use crate::dd::Dd;
use crate::format::Format;
use crate::ulp::{ulp_from_real, ulp_from_rounded};

pub use acceptance::{
    Bound, ComparedCounts, Integers, Judgement, NanPairs, Rejection, is_within, judge,
    judge_measured,
};
pub use metric::{Metric, ParseMetricError};
pub use quantile::Quantile;
pub use report::{ComparedElement, ErrorReport, MAX_DIGITS, MAX_PSNR};
pub use scatter::{ErrorMap, Scatter, WorstElement, scatter};
pub use ssim::{ImageExtents, WINDOW, ssim};

use squares::SumOfSquares;

/// The quantiles of the relative error in every report.
pub const QUANTILES: [f64; 4] = [0.5, 0.9, 0.99, 0.999];

/// The two sides cannot be compared.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CompareError {
    /// The output and the reference differ in length.
    #[error("output has {got} elements and its reference {reference}")]
    LengthMismatch {
        /// Elements in the output.
        got: usize,
        /// Elements in the reference.
        reference: usize,
    },
    /// The floor of the relative error is negative, infinite or NaN.
    #[error("floor {0} is not a finite number of at least 0")]
    InvalidFloor(f64),
    /// A requested quantile lies outside `[0, 1]`.
    #[error("quantile {0} is not between 0 and 1")]
    InvalidQuantile(f64),
}

/// Compares `got`, values of `format`, with `reference` element by element.
///
/// `floor` is the least divisor of the relative error; by default the format's
/// smallest normal value.
pub fn compare(
    got: &[f64],
    reference: &[Dd],
    format: Format,
    floor: Option<f64>,
) -> Result<ErrorReport, CompareError> {
    compare_with_quantiles(got, reference, format, floor, &[])
}

/// [`compare`], with the relative error at further `quantiles` in the report.
pub fn compare_with_quantiles(
    got: &[f64],
    reference: &[Dd],
    format: Format,
    floor: Option<f64>,
    quantiles: &[f64],
) -> Result<ErrorReport, CompareError> {
    if got.len() != reference.len() {
        return Err(CompareError::LengthMismatch {
            got: got.len(),
            reference: reference.len(),
        });
    }
    let floor = floor.unwrap_or(format.min_normal());
    if !(floor >= 0.0 && floor.is_finite()) {
        return Err(CompareError::InvalidFloor(floor));
    }
    if let Some(&q) = quantiles.iter().find(|q| !(0.0..=1.0).contains(*q)) {
        return Err(CompareError::InvalidQuantile(q));
    }

    let mut pass = Pass::new(got.len(), format, floor);
    for (index, (&got, &reference)) in got.iter().zip(reference).enumerate() {
        pass.element(index, got, reference);
    }
    let wanted: Vec<f64> = QUANTILES.iter().chain(quantiles).copied().collect();
    Ok(pass.finish(&wanted))
}

/// What accumulates over the elements.
struct Pass {
    format: Format,
    report: ErrorReport,
    rel_errors: Vec<f64>,
    rel_sum: Dd,
    abs_squares: SumOfSquares,
    reference_squares: SumOfSquares,
}

impl Pass {
    fn new(count: usize, format: Format, floor: f64) -> Pass {
        Pass {
            format,
            report: ErrorReport::empty(count, floor),
            rel_errors: Vec::with_capacity(count),
            rel_sum: Dd::ZERO,
            abs_squares: SumOfSquares::default(),
            reference_squares: SumOfSquares::default(),
        }
    }

    fn element(&mut self, index: usize, got: f64, reference: Dd) {
        let report = &mut self.report;
        let same = |a: f64, b: f64| a == b || a.is_nan() && b.is_nan();
        if !same(got, self.format.round_dd(reference)) {
            report.bit_mismatches += 1;
        }
        if !got.is_finite() || !reference.is_finite() {
            if same(got, reference.hi) {
                match got.is_nan() {
                    true => report.nan_pairs += 1,
                    false => report.inf_pairs += 1,
                }
                return;
            }
            if got.is_nan() != reference.is_nan() {
                report.nan_mismatch += 1;
            } else {
                report.inf_mismatch += 1;
            }
            report.first_mismatch.get_or_insert(index);
            return;
        }

        let at = ComparedElement {
            index,
            got,
            reference: reference.hi,
            reference_lo: reference.lo,
        };
        let abs = Dd::from_f64(got).sub(reference).abs().to_f64();
        let size = reference.to_f64().abs();
        let rel = if abs == 0.0 {
            0.0
        } else {
            abs / size.max(report.floor)
        };
        let ulp = ulp_from_real(got, reference, self.format);
        let ulp_rounded = ulp_from_rounded(got, reference, self.format);

        report.compared += 1;
        raise(&mut report.max_abs, &mut report.max_abs_at, abs, at);
        raise(&mut report.max_rel, &mut report.max_rel_at, rel, at);
        raise(&mut report.max_ulp, &mut report.max_ulp_at, ulp, at);
        report.max_ulp_rounded = report.max_ulp_rounded.max(ulp_rounded);
        report.peak = report.peak.max(size);
        self.rel_sum += Dd::from_f64(rel);
        self.abs_squares.push(abs);
        self.reference_squares.push(size);
        self.rel_errors.push(rel);
    }

    fn finish(mut self, quantiles: &[f64]) -> ErrorReport {
        let mut report = self.report;
        if report.compared > 0 {
            let compared = report.compared as f64;
            report.mean_rel = self.rel_sum.div_f64(compared).to_f64();
            report.rms = self.abs_squares.root_mean(compared);
            report.rel_l2 = self
                .abs_squares
                .norm_ratio(&self.reference_squares, report.floor);
            report.digits = report::digits_of(report.max_rel);
            report.set_peak(report.peak);
        }
        report.quantiles = quantile::quantiles(&mut self.rel_errors, quantiles);
        report
    }
}

/// Keeps the first element with the largest error.
fn raise(max: &mut f64, max_at: &mut Option<ComparedElement>, error: f64, at: ComparedElement) {
    if error > *max {
        *max = error;
        *max_at = Some(at);
    }
}
