//! Whether an output is accepted: the one decision behind every verdict of Kerf.
//!
//! [`judge`] takes what the comparison of one output with its reference found, its floating-point values by format
//! and its integers, and what the output has to satisfy. What holds:
//!
//! * Nothing is accepted of which nothing was compared. A value is compared where both sides are finite, and an integer
//!   always is. Pairs of NaN and pairs of equal infinities are special: they are counted, and never as compared.
//! * A NaN or infinity on one side alone rejects, and so does an integer that differs; no tolerance excuses them.
//! * A pair of NaN rejects, unless [`NanPairs::Allowed`]: a NaN says nothing of accuracy, and a program that makes NaN
//!   of finite inputs is more often wrong than it means them.
//! * The measure is that of the worst format, and has to be within the tolerance. A NaN tolerance accepts nothing.

use serde::{Deserialize, Serialize};
use std::fmt;

use super::{ErrorReport, Metric};

/// What pairs of NaN mean.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub enum NanPairs {
    /// The program made them of finite inputs, and nobody said that they are meant.
    #[default]
    Rejected,
    /// They are meant, or inputs were not finite.
    Allowed,
}

/// The bound on an output's error.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Bound {
    /// The measure.
    pub metric: Metric,
    /// The quantile, for [`Metric::Quantile`].
    pub quantile: f64,
    /// At most this; at least this where more is better.
    pub tolerance: f64,
}

/// Integers of an output against those of the reference.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Integers {
    /// How many there are.
    pub count: usize,
    /// How many differ.
    pub mismatches: usize,
}

/// How many values of an output were compared, and what became of the others.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ComparedCounts {
    /// All values, integers included.
    pub values: usize,
    /// Values that are finite on both sides, and integers.
    pub compared: usize,
    /// Values that are NaN on both sides.
    pub nan_pairs: usize,
    /// Values that are the same infinity on both sides.
    pub inf_pairs: usize,
    /// Values that are NaN on one side, or infinite on one side, or infinities of two signs.
    pub not_finite_mismatches: usize,
    /// Integers that differ.
    pub integer_mismatches: usize,
}

impl ComparedCounts {
    /// The counts of one output.
    pub fn new(reports: &[ErrorReport], integers: Integers) -> ComparedCounts {
        let sum = |of: fn(&ErrorReport) -> usize| reports.iter().map(of).sum::<usize>();
        ComparedCounts {
            values: sum(|r| r.count) + integers.count,
            compared: sum(|r| r.compared) + integers.count,
            nan_pairs: sum(|r| r.nan_pairs),
            inf_pairs: sum(|r| r.inf_pairs),
            not_finite_mismatches: sum(|r| r.nan_mismatch + r.inf_mismatch),
            integer_mismatches: integers.mismatches,
        }
    }

    /// Those of two outputs together.
    pub fn and(&self, other: &ComparedCounts) -> ComparedCounts {
        ComparedCounts {
            values: self.values + other.values,
            compared: self.compared + other.compared,
            nan_pairs: self.nan_pairs + other.nan_pairs,
            inf_pairs: self.inf_pairs + other.inf_pairs,
            not_finite_mismatches: self.not_finite_mismatches + other.not_finite_mismatches,
            integer_mismatches: self.integer_mismatches + other.integer_mismatches,
        }
    }

    /// Pairs that say nothing of accuracy.
    pub fn special(&self) -> usize {
        self.nan_pairs + self.inf_pairs
    }
}

impl fmt::Display for ComparedCounts {
    /// `990 of 1000 values compared, 7 pairs of NaN, 3 pairs of infinities`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} values compared", self.compared, self.values)?;
        for (count, what) in [(self.nan_pairs, "NaN"), (self.inf_pairs, "infinities")] {
            match count {
                0 => {}
                1 => write!(f, ", 1 pair of {what}")?,
                n => write!(f, ", {n} pairs of {what}")?,
            }
        }
        Ok(())
    }
}

/// Why an output is not accepted.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rejection {
    /// No value is finite on both sides, and there are no integers.
    NothingCompared,
    /// NaN or infinity where the other side has none.
    NotFiniteMismatch,
    /// Integers differ.
    IntegersDiffer,
    /// NaN on both sides, which the workload does not allow.
    NanPairs,
    /// The error is beyond the tolerance.
    BeyondTolerance,
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Rejection::NothingCompared => "nothing could be compared",
            Rejection::NotFiniteMismatch => {
                "NaN or infinity where the reference has none, or the other way round"
            }
            Rejection::IntegersDiffer => "integers differ",
            Rejection::NanPairs => "the program makes NaN of finite inputs",
            Rejection::BeyondTolerance => "the error is beyond the tolerance",
        })
    }
}

/// The decision on one output.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    /// The measure of the worst format, 0 (or its best) for integers alone; none without a bound, and where something
    /// other than the tolerance rejects or the measure is infinite.
    pub value: Option<f64>,
    /// Why it is rejected; accepted if none.
    pub rejection: Option<Rejection>,
    /// What was compared.
    pub counts: ComparedCounts,
}

impl Judgement {
    /// Is it accepted?
    pub fn accepted(&self) -> bool {
        self.rejection.is_none()
    }
}

/// Whether a value of a measure is within a tolerance; never where one of them is NaN.
pub fn is_within(metric: Metric, value: f64, tolerance: f64) -> bool {
    match metric.more_is_better() {
        true => value >= tolerance,
        false => value <= tolerance,
    }
}

/// What rejects an output whatever the tolerance is.
fn disqualified(counts: &ComparedCounts, nan_pairs: NanPairs) -> Option<Rejection> {
    if counts.not_finite_mismatches > 0 {
        Some(Rejection::NotFiniteMismatch)
    } else if counts.integer_mismatches > 0 {
        Some(Rejection::IntegersDiffer)
    } else if counts.compared == 0 {
        Some(Rejection::NothingCompared)
    } else if counts.nan_pairs > 0 && nan_pairs == NanPairs::Rejected {
        Some(Rejection::NanPairs)
    } else {
        None
    }
}

/// The worst measure over the formats of an output; NaN if one is. Formats of which nothing was compared have none, and
/// integers that are all equal have the best.
fn worst(reports: &[ErrorReport], b: &Bound) -> f64 {
    let best = match b.metric {
        Metric::Digits => super::MAX_DIGITS,
        Metric::Psnr => super::MAX_PSNR,
        Metric::Ssim => 1.0,
        _ => 0.0,
    };
    let worse = |x: f64, y: f64| match b.metric.more_is_better() {
        _ if x.is_nan() || y.is_nan() => f64::NAN,
        true => x.min(y),
        false => x.max(y),
    };
    let some = reports.iter().filter(|r| r.compared > 0);
    let values = some.map(|r| r.value(b.metric, b.quantile));
    values.reduce(worse).unwrap_or(best)
}

/// Decides on one output: `reports` of its floating-point values by format, and its integers. Without a bound nothing
/// is beyond a tolerance, and what no tolerance excuses is rejected all the same.
pub fn judge(
    reports: &[ErrorReport],
    integers: Integers,
    bound: Option<&Bound>,
    nan_pairs: NanPairs,
) -> Judgement {
    let counts = ComparedCounts::new(reports, integers);
    judge_measured(counts, bound, nan_pairs, |b| worst(reports, b))
}

/// [`judge`] for a measure that is not an [`ErrorReport`]'s, such as a network's loss of accuracy: the counts are
/// looked at first, and `measure` is asked only where they do not reject.
pub fn judge_measured(
    counts: ComparedCounts,
    bound: Option<&Bound>,
    nan_pairs: NanPairs,
    measure: impl FnOnce(&Bound) -> f64,
) -> Judgement {
    if let Some(why) = disqualified(&counts, nan_pairs) {
        return Judgement {
            value: None,
            rejection: Some(why),
            counts,
        };
    }
    let value = bound.map(measure);
    let beyond = bound
        .zip(value)
        .is_some_and(|(b, v)| !is_within(b.metric, v, b.tolerance));
    Judgement {
        value: value.filter(|v| v.is_finite()),
        rejection: beyond.then_some(Rejection::BeyondTolerance),
        counts,
    }
}
