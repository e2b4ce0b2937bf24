//! What a pass over the elements accumulates, whoever makes it, and the report of it.

use super::report::digits_of;
use super::{ComparedElement, ErrorReport, Quantile, SumOfSquares};
use crate::dd::Dd;

/// The largest error so far, and the first element that has it.
#[derive(Copy, Clone, Debug, Default, PartialEq)]
pub struct LargestError {
    /// The error.
    pub error: f64,
    /// The element; none while the error is 0.
    pub at: Option<ComparedElement>,
}

impl LargestError {
    /// Takes a larger error. Elements come in ascending order of their index.
    pub(super) fn raise(&mut self, error: f64, at: ComparedElement) {
        if error > self.error {
            *self = LargestError {
                error,
                at: Some(at),
            };
        }
    }
}

/// What is known of all elements before the measures are taken. Fields mean what those of [`ErrorReport`] do.
#[derive(Clone, Debug, PartialEq)]
pub struct ErrorParts {
    /// Elements in the output.
    pub count: usize,
    /// Elements where both sides are finite.
    pub compared: usize,
    /// Elements where both sides are NaN.
    pub nan_pairs: usize,
    /// Elements where both sides are the same infinity.
    pub inf_pairs: usize,
    /// Elements where exactly one side is NaN.
    pub nan_mismatch: usize,
    /// Elements without NaN where a side is infinite and the two differ.
    pub inf_mismatch: usize,
    /// Index of the first NaN or infinity mismatch.
    pub first_mismatch: Option<usize>,
    /// Elements that differ from the rounded reference.
    pub bit_mismatches: usize,
    /// The largest absolute error.
    pub max_abs: LargestError,
    /// The largest relative error.
    pub max_rel: LargestError,
    /// The largest distance from the real reference in ulps of the format.
    pub max_ulp: LargestError,
    /// The largest count of representable steps from the rounded reference.
    pub max_ulp_rounded: f64,
    /// The largest absolute value of the reference.
    pub peak: f64,
    /// The sum of the relative errors.
    pub rel_sum: Dd,
    /// The squares of the absolute errors.
    pub abs_squares: SumOfSquares,
    /// The squares of the reference.
    pub reference_squares: SumOfSquares,
    /// The least divisor of the relative error.
    pub floor: f64,
}

impl ErrorParts {
    /// Before the first of `count` elements.
    pub fn new(count: usize, floor: f64) -> ErrorParts {
        ErrorParts {
            count,
            compared: 0,
            nan_pairs: 0,
            inf_pairs: 0,
            nan_mismatch: 0,
            inf_mismatch: 0,
            first_mismatch: None,
            bit_mismatches: 0,
            max_abs: LargestError::default(),
            max_rel: LargestError::default(),
            max_ulp: LargestError::default(),
            max_ulp_rounded: 0.0,
            peak: 0.0,
            rel_sum: Dd::ZERO,
            abs_squares: SumOfSquares::default(),
            reference_squares: SumOfSquares::default(),
            floor,
        }
    }

    /// The report, with `quantiles` of the relative error in ascending order.
    pub fn finish(self, quantiles: Vec<Quantile>) -> ErrorReport {
        let mut report = ErrorReport::empty(self.count, self.floor);
        report.compared = self.compared;
        report.nan_pairs = self.nan_pairs;
        report.inf_pairs = self.inf_pairs;
        report.nan_mismatch = self.nan_mismatch;
        report.inf_mismatch = self.inf_mismatch;
        report.first_mismatch = self.first_mismatch;
        report.bit_mismatches = self.bit_mismatches;
        (report.max_abs, report.max_abs_at) = (self.max_abs.error, self.max_abs.at);
        (report.max_rel, report.max_rel_at) = (self.max_rel.error, self.max_rel.at);
        (report.max_ulp, report.max_ulp_at) = (self.max_ulp.error, self.max_ulp.at);
        report.max_ulp_rounded = self.max_ulp_rounded;
        if self.compared > 0 {
            let compared = self.compared as f64;
            report.mean_rel = self.rel_sum.div_f64(compared).to_f64();
            report.rms = self.abs_squares.root_mean(compared);
            report.rel_l2 = self
                .abs_squares
                .norm_ratio(&self.reference_squares, self.floor);
            report.digits = digits_of(report.max_rel);
            report.set_peak(self.peak);
        }
        report.quantiles = quantiles;
        report
    }
}
