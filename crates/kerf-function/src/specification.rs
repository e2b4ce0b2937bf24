//! What is asked for, and why it cannot be had.
use crate::target::TargetFunction;
use crate::working_format::WorkingFormat;
use kerf_num::made::ArgumentGuard;
use rug::Float;
use serde::Serialize;

pub use kerf_num::made::ErrorMeasure;

/// The largest error that may be asked for.
pub(crate) const LARGEST_ERROR: f64 = 0.25;

/// A function, where and how accurately it is wanted. The range includes both ends.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct FunctionSpecification {
    /// The function.
    pub function: TargetFunction,
    /// The smallest argument.
    pub from: f64,
    /// The largest argument.
    pub to: f64,
    /// The largest admissible error.
    pub error: f64,
    /// What the error is measured against.
    pub measure: ErrorMeasure,
    /// Format of argument, result and arithmetic.
    pub format: WorkingFormat,
}

impl FunctionSpecification {
    /// Whether the function changes its sign between the ends of the range, at another place than 0: no relative error
    /// is small there, unless a reduction gives the distance from the zero.
    pub(crate) fn has_unreduced_zero(&self) -> bool {
        let is_negative = |x: f64| {
            let value = self.function.value(&Float::with_val(64, x), 64);
            value.is_sign_negative()
        };
        let at_zero = self.function.has_simple_zero_at_0() && self.from <= 0.0 && self.to >= 0.0;
        !at_zero && is_negative(self.from) != is_negative(self.to)
    }
    /// Every argument that was asked for.
    pub(crate) fn whole_range(&self) -> ArgumentGuard {
        ArgumentGuard::Between {
            from: self.from,
            to: self.to,
        }
    }
    /// Whether even the nearest number of the format may be too far from the function's value.
    pub(crate) fn is_beyond_rounding(&self) -> bool {
        self.measure == ErrorMeasure::Relative && self.error < self.format.unit_roundoff()
    }
}

/// Why there is no implementation.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum FunctionError {
    /// The range has no two ends in order.
    #[error("the range from {from:e} to {to:e} is empty or not finite")]
    Range {
        /// The smaller end.
        from: f64,
        /// The larger end.
        to: f64,
    },
    /// An end is not a number of the format.
    #[error("{end:e} is not a number of {format}")]
    NotOfFormat {
        /// The end.
        end: f64,
        /// The format.
        format: &'static str,
    },
    /// The function is not defined on all of the range.
    #[error("{function} is defined for {domain} only, and the range is from {from:e} to {to:e}")]
    Domain {
        /// The function's name.
        function: String,
        /// Where it is defined.
        domain: &'static str,
        /// The smallest argument.
        from: f64,
        /// The largest argument.
        to: f64,
    },
    /// The error is no positive number below 1/2.
    #[error("an error of {0:e} cannot be asked for: it has to be above 0 and at most 0.25")]
    Error(f64),
    /// A value of the function is beyond the format's largest number.
    #[error("{function} overflows {format} on the range")]
    Overflow {
        /// The function's name.
        function: String,
        /// The format.
        format: &'static str,
    },
    /// Values of the function are too far below the format's numbers.
    #[error(
        "{function} underflows {format} on the range, to where no product of two numbers scales its results"
    )]
    Underflow {
        /// The function's name.
        function: &'static str,
        /// The format.
        format: &'static str,
    },
    /// A function of two arguments with the range of one.
    #[error("{0} has two arguments, and only the first has a range")]
    SecondRangeMissing(&'static str),
    /// A function of one argument with ranges of two.
    #[error("{0} has one argument, and a range was given for a second one")]
    NoSecondArgument(&'static str),
    /// The function has a zero in the range that no reduction makes relatively accurate, or a pole.
    #[error(
        "{function} changes its sign on the range, at a zero or a pole: no relative error can be proven there"
    )]
    Zero {
        /// The function's name.
        function: String,
    },
    /// No polynomial of an admissible degree, on an admissible number of pieces, has a proven error that small.
    #[error(
        "no implementation in {format} has a proven {measure} error of {asked:e} on the range; the smallest bound that was reached is about {reached:.1e}"
    )]
    TooAccurate {
        /// The format.
        format: &'static str,
        /// What errors are measured against.
        measure: ErrorMeasure,
        /// The error that was asked for.
        asked: f64,
        /// The smallest bound, where it is above what was asked for; infinite where there is none.
        reached: f64,
    },
}
