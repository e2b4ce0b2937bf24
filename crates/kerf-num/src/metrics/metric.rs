//! The measures a tolerance can be set on.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A measure of an [`ErrorReport`](super::ErrorReport). The default is the worst
/// element's relative error: one destroyed element is enough to reject.
#[derive(
    Copy, Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// The largest relative error.
    #[default]
    MaxRel,
    /// The largest absolute error.
    MaxAbs,
    /// The largest distance from the real reference in ulps.
    MaxUlp,
    /// A quantile of the relative error.
    Quantile,
    /// The root of the mean squared absolute error.
    Rms,
    /// The norm of the error over the norm of the reference.
    RelL2,
    /// The largest absolute error over the largest absolute value of the reference: the relative error in the maximum
    /// norm, by which values near zero decide nothing.
    RelLinf,
    /// The mean relative error.
    MeanRel,
    /// Decimal digits that hold in the worst element; more is better.
    Digits,
    /// Peak signal-to-noise ratio in decibels; more is better.
    Psnr,
    /// Mean structural similarity of an image, at most 1; more is better.
    Ssim,
    /// The largest relative error in basis points, of which 10000 are the whole.
    Bp,
}

/// The text names no [`Metric`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown metric `{0}`: expected max_rel, max_abs, max_ulp, quantile, rms, rel_l2, \
     rel_linf, mean_rel, digits, psnr, ssim or bp"
)]
pub struct ParseMetricError(pub String);

impl Metric {
    /// Every metric.
    pub const ALL: [Metric; 12] = [
        Metric::MaxRel,
        Metric::MaxAbs,
        Metric::MaxUlp,
        Metric::Quantile,
        Metric::Rms,
        Metric::RelL2,
        Metric::RelLinf,
        Metric::MeanRel,
        Metric::Digits,
        Metric::Psnr,
        Metric::Ssim,
        Metric::Bp,
    ];

    /// Is more better?
    pub const fn more_is_better(self) -> bool {
        matches!(self, Metric::Digits | Metric::Psnr | Metric::Ssim)
    }

    /// The name, as [`Display`](fmt::Display) and serde write it.
    pub const fn name(self) -> &'static str {
        match self {
            Metric::MaxRel => "max_rel",
            Metric::MaxAbs => "max_abs",
            Metric::MaxUlp => "max_ulp",
            Metric::Quantile => "quantile",
            Metric::Rms => "rms",
            Metric::RelL2 => "rel_l2",
            Metric::RelLinf => "rel_linf",
            Metric::MeanRel => "mean_rel",
            Metric::Digits => "digits",
            Metric::Psnr => "psnr",
            Metric::Ssim => "ssim",
            Metric::Bp => "bp",
        }
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Metric {
    type Err = ParseMetricError;

    fn from_str(text: &str) -> Result<Metric, ParseMetricError> {
        Metric::ALL
            .into_iter()
            .find(|metric| metric.name() == text)
            .ok_or_else(|| ParseMetricError(text.to_owned()))
    }
}
