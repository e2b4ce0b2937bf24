//! What a comparison found.

use serde::{Deserialize, Deserializer, Serialize};

use super::{Metric, Quantile};

/// The cap on [`ErrorReport::digits`], which exact results reach: a double-double
/// reference holds about that many.
pub const MAX_DIGITS: f64 = 32.0;

/// The cap on [`ErrorReport::psnr`], in decibels, which exact results reach.
pub const MAX_PSNR: f64 = 20.0 * MAX_DIGITS;

/// One element of an output with its reference.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ComparedElement {
    /// Position in the output.
    pub index: usize,
    /// The value there.
    #[serde(deserialize_with = "or_nan")]
    pub got: f64,
    /// The reference, rounded for display: its high word.
    #[serde(deserialize_with = "or_nan")]
    pub reference: f64,
    /// The rest of the reference: its low word.
    #[serde(deserialize_with = "or_nan")]
    pub reference_lo: f64,
}

/// The errors of an output against its reference.
///
/// Measures cover the compared elements only, those where both sides are finite;
/// each is 0 where nothing was compared or nothing differs. The `_at` fields name
/// the first of the worst elements, and nothing where that error is 0. JSON has no
/// infinity: what is not finite is written as null, and read as a NaN.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ErrorReport {
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
    /// Elements without NaN where a side is infinite and the two differ. An
    /// infinity for a finite reference past the format's range counts too.
    pub inf_mismatch: usize,
    /// Index of the first NaN or infinity mismatch.
    pub first_mismatch: Option<usize>,
    /// Elements that differ from the reference correctly rounded to the format;
    /// the two zeros are equal, and so are all NaNs.
    pub bit_mismatches: usize,
    /// The largest absolute error.
    #[serde(deserialize_with = "or_nan")]
    pub max_abs: f64,
    /// Where the absolute error is largest.
    pub max_abs_at: Option<ComparedElement>,
    /// The largest relative error.
    #[serde(deserialize_with = "or_nan")]
    pub max_rel: f64,
    /// Where the relative error is largest.
    pub max_rel_at: Option<ComparedElement>,
    /// The largest distance from the real reference in ulps of the format.
    #[serde(deserialize_with = "or_nan")]
    pub max_ulp: f64,
    /// The largest count of representable steps from the rounded reference.
    #[serde(deserialize_with = "or_nan")]
    pub max_ulp_rounded: f64,
    /// Where `max_ulp` is reached.
    pub max_ulp_at: Option<ComparedElement>,
    /// The root of the mean squared absolute error.
    #[serde(deserialize_with = "or_nan")]
    pub rms: f64,
    /// The 2-norm of the error over that of the reference, or over the floor
    /// where that is larger.
    #[serde(deserialize_with = "or_nan")]
    pub rel_l2: f64,
    /// The mean relative error.
    #[serde(deserialize_with = "or_nan")]
    pub mean_rel: f64,
    /// Quantiles of the relative error, ascending.
    pub quantiles: Vec<Quantile>,
    /// `-log10(max_rel)`, at most [`MAX_DIGITS`]; negative past an error of 1.
    #[serde(deserialize_with = "or_nan")]
    pub digits: f64,
    /// Peak signal-to-noise ratio, `20 log10(peak / rms)`, at most [`MAX_PSNR`].
    #[serde(deserialize_with = "or_nan")]
    pub psnr: f64,
    /// The peak that it is of: what was given, or the largest absolute value of the reference.
    #[serde(deserialize_with = "or_nan")]
    pub peak: f64,
    /// Mean structural similarity, of outputs that are images and were asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ssim: Option<f64>,
    /// The least divisor of the relative error that was used.
    #[serde(deserialize_with = "or_nan")]
    pub floor: f64,
}

/// A number, or the NaN that stands for what is not finite.
pub(super) fn or_nan<'de, D: Deserializer<'de>>(d: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(d)?.unwrap_or(f64::NAN))
}

impl ErrorReport {
    /// A report before the first element.
    pub(super) fn empty(count: usize, floor: f64) -> ErrorReport {
        ErrorReport {
            count,
            compared: 0,
            nan_pairs: 0,
            inf_pairs: 0,
            nan_mismatch: 0,
            inf_mismatch: 0,
            first_mismatch: None,
            bit_mismatches: 0,
            max_abs: 0.0,
            max_abs_at: None,
            max_rel: 0.0,
            max_rel_at: None,
            max_ulp: 0.0,
            max_ulp_rounded: 0.0,
            max_ulp_at: None,
            rms: 0.0,
            rel_l2: 0.0,
            mean_rel: 0.0,
            quantiles: Vec::new(),
            digits: MAX_DIGITS,
            psnr: MAX_PSNR,
            peak: 0.0,
            ssim: None,
            floor,
        }
    }

    /// Whether any element has a NaN or infinity that the reference has not, or
    /// the other way round.
    pub fn has_mismatch(&self) -> bool {
        self.nan_mismatch + self.inf_mismatch > 0
    }

    /// The measure `metric`; `quantile` counts for [`Metric::Quantile`] only.
    ///
    /// A NaN or infinity mismatch makes it infinitely bad: infinite, or minus
    /// infinity digits. A quantile that the report does not hold is answered by
    /// the next larger one it holds, or by the largest error, so the answer is
    /// never too low.
    pub fn value(&self, metric: Metric, quantile: f64) -> f64 {
        if self.has_mismatch() {
            return match metric {
                m if m.more_is_better() => f64::NEG_INFINITY,
                _ => f64::INFINITY,
            };
        }
        match metric {
            Metric::MaxRel => self.max_rel,
            Metric::MaxAbs => self.max_abs,
            Metric::MaxUlp => self.max_ulp,
            Metric::Quantile => self
                .quantiles
                .iter()
                .find(|known| known.q >= quantile)
                .map_or(self.max_rel, |known| known.rel),
            Metric::Rms => self.rms,
            Metric::RelL2 => self.rel_l2,
            Metric::RelLinf => self.rel_linf(),
            Metric::MeanRel => self.mean_rel,
            Metric::Digits => self.digits,
            Metric::Psnr => self.psnr,
            // What is no image resembles none.
            Metric::Ssim => self.ssim.unwrap_or(f64::NEG_INFINITY),
            Metric::Bp => 1e4 * self.max_rel,
        }
    }

    /// The largest absolute error over the peak, or over the floor where that is larger.
    pub fn rel_linf(&self) -> f64 {
        match self.max_abs {
            0.0 => 0.0,
            error => error / self.peak.max(self.floor),
        }
    }

    /// Takes the signal-to-noise ratio of another peak, such as 255 for images of bytes.
    pub fn set_peak(&mut self, peak: f64) {
        self.peak = peak;
        self.psnr = (20.0 * (peak / self.rms).log10()).min(MAX_PSNR);
        if self.rms == 0.0 {
            self.psnr = MAX_PSNR;
        }
    }
}

/// Decimal digits that a relative error leaves.
pub(super) fn digits_of(rel: f64) -> f64 {
    (-rel.log10()).min(MAX_DIGITS)
}
