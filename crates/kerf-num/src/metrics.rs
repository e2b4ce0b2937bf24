//! Comparing an output with its reference.
//!
//! [`compare`] makes one pass over the elements and returns an [`ErrorReport`];
//! [`judge`] decides on it. [`CloseRule`] decides as `numpy.allclose` does.
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
mod closeness;
mod metric;
mod parts;
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
pub use closeness::{CloseRule, Closeness, NumpyType};
pub use metric::{Metric, ParseMetricError};
pub use parts::{ErrorParts, LargestError};
pub use quantile::{Quantile, nearest_rank};
pub use report::{ComparedElement, ErrorReport, MAX_DIGITS, MAX_PSNR};
pub use scatter::{
    ErrorCells, ErrorMap, NamedError, Scatter, ScatterBuilder, ScatterParts, WorstElement,
    half_decades, scatter,
};
pub use squares::SumOfSquares;
pub use ssim::{ImageExtents, SsimConstants, WINDOW, ssim};

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
    let options = CompareOptions::new(format, floor, quantiles)?;
    let mut pass = Pass {
        format,
        parts: ErrorParts::new(got.len(), options.floor()),
        rel_errors: Vec::with_capacity(got.len()),
    };
    for (index, (&got, &reference)) in got.iter().zip(reference).enumerate() {
        pass.element(index, got, reference);
    }
    let Pass {
        parts,
        mut rel_errors,
        ..
    } = pass;
    let found = quantile::quantiles(&mut rel_errors, options.quantiles());
    Ok(parts.finish(found))
}

/// What a comparison takes beside the values, checked.
#[derive(Clone, Debug, PartialEq)]
pub struct CompareOptions {
    format: Format,
    floor: f64,
    quantiles: Vec<f64>,
}

impl CompareOptions {
    /// For values of `format`. `floor` is the least divisor of the relative error, by default the format's smallest
    /// normal value; `quantiles` are in the report beside [`QUANTILES`].
    pub fn new(
        format: Format,
        floor: Option<f64>,
        quantiles: &[f64],
    ) -> Result<CompareOptions, CompareError> {
        let floor = floor.unwrap_or(format.min_normal());
        if !(floor >= 0.0 && floor.is_finite()) {
            return Err(CompareError::InvalidFloor(floor));
        }
        if let Some(&q) = quantiles.iter().find(|q| !(0.0..=1.0).contains(*q)) {
            return Err(CompareError::InvalidQuantile(q));
        }
        let mut ascending: Vec<f64> = QUANTILES.iter().chain(quantiles).copied().collect();
        ascending.sort_by(f64::total_cmp);
        ascending.dedup();
        Ok(CompareOptions {
            format,
            floor,
            quantiles: ascending,
        })
    }

    /// The same with these quantiles alone.
    pub fn only_quantiles(mut self, asked: &[f64]) -> CompareOptions {
        self.quantiles.retain(|q| asked.contains(q));
        self
    }

    /// The format of the values.
    pub fn format(&self) -> Format {
        self.format
    }

    /// The least divisor of the relative error.
    pub fn floor(&self) -> f64 {
        self.floor
    }

    /// The quantiles of the report, ascending and each once.
    pub fn quantiles(&self) -> &[f64] {
        &self.quantiles
    }
}

/// What accumulates over the elements.
struct Pass {
    format: Format,
    parts: ErrorParts,
    rel_errors: Vec<f64>,
}

impl Pass {
    fn element(&mut self, index: usize, got: f64, reference: Dd) {
        let parts = &mut self.parts;
        let same = |a: f64, b: f64| a == b || a.is_nan() && b.is_nan();
        if !same(got, self.format.round_dd(reference)) {
            parts.bit_mismatches += 1;
        }
        if !got.is_finite() || !reference.is_finite() {
            if same(got, reference.hi) {
                match got.is_nan() {
                    true => parts.nan_pairs += 1,
                    false => parts.inf_pairs += 1,
                }
                return;
            }
            if got.is_nan() != reference.is_nan() {
                parts.nan_mismatch += 1;
            } else {
                parts.inf_mismatch += 1;
            }
            parts.first_mismatch.get_or_insert(index);
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
            abs / size.max(parts.floor)
        };

        parts.compared += 1;
        parts.max_abs.raise(abs, at);
        parts.max_rel.raise(rel, at);
        parts
            .max_ulp
            .raise(ulp_from_real(got, reference, self.format), at);
        let steps = ulp_from_rounded(got, reference, self.format);
        parts.max_ulp_rounded = parts.max_ulp_rounded.max(steps);
        parts.peak = parts.peak.max(size);
        parts.rel_sum += Dd::from_f64(rel);
        parts.abs_squares.push(abs);
        parts.reference_squares.push(size);
        self.rel_errors.push(rel);
    }
}
