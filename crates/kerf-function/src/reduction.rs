//! Reductions: what is computed around a core, and the bound of the whole from that of the core.
//!
//! Each reduction gives a [`MadeCode`] for the whole range of a specification, or why it has none.
mod constant_power;
mod cube_root;
pub(crate) mod direct;
pub(crate) mod exponential;
mod logarithm;
pub(crate) mod search;
mod trigonometric;

use crate::code::StraightLineCode;
use crate::core_fit::EvaluationScheme;
use crate::specification::{ErrorMeasure, FunctionSpecification};
use crate::working_format::FormatRounding;
use kerf_hardround::interval::MpfrInterval;
use rug::Float;
use rug::float::Round;

pub use kerf_num::made::ArgumentGuard;

/// Code with its proven bound.
#[derive(Clone, Debug, PartialEq)]
pub struct MadeCode {
    /// How the argument is reduced, in words.
    pub reduction: &'static str,
    /// Where it holds.
    pub guard: ArgumentGuard,
    /// The code.
    pub code: StraightLineCode,
    /// Degree of the polynomials.
    pub degree: usize,
    /// Polynomials in a table; 1 where there is no table.
    pub pieces: usize,
    /// A bound of the error in the specification's measure.
    pub bound: f64,
}

/// Code, or the smallest bound that was reached.
pub(crate) type Attempt = Result<MadeCode, f64>;

/// All attempts for a specification; none of them need succeed.
pub(crate) fn attempts(spec: &FunctionSpecification, scheme: EvaluationScheme) -> Vec<Attempt> {
    let mut all = Vec::new();
    all.extend(exponential::attempt(spec, scheme));
    all.extend(logarithm::attempt(spec, scheme));
    all.extend(trigonometric::attempt(spec, scheme));
    all.extend(cube_root::attempt(spec, scheme));
    all.extend(constant_power::attempts(spec, scheme));
    all.extend(direct::attempts(spec, scheme));
    let made = all.iter().any(Result::is_ok);
    let zero = spec.measure == ErrorMeasure::Relative && spec.has_unreduced_zero();
    if !made && !zero && !spec.is_beyond_rounding() {
        all.extend(direct::table_attempts(spec, scheme));
    }
    all
}

/// The larger magnitude of the ends of a range.
pub(crate) fn largest_argument(spec: &FunctionSpecification) -> f64 {
    spec.from.abs().max(spec.to.abs())
}

/// A constant as a sum of two numbers of the format, and a bound of what is left.
pub(crate) fn two_words(spec: &FunctionSpecification, c: &MpfrInterval) -> (f64, f64, f64) {
    let high = spec.format.round(&c.lo);
    let precision = c.precision();
    let low = spec.format.round(&Float::with_val(precision, &c.lo - high));
    let sum = MpfrInterval::point(&Float::with_val(precision, high), precision).add(
        &MpfrInterval::point(&Float::with_val(precision, low), precision),
    );
    let left = c.sub(&sum).magnitude();
    (high, low, left)
}

/// A constant of MPFR's, enclosed.
pub(crate) fn enclosed(f: impl Fn(Round) -> Float) -> MpfrInterval {
    MpfrInterval {
        lo: f(Round::Down),
        hi: f(Round::Up),
    }
}

/// Bits of constants.
pub(crate) const CONSTANT_PRECISION: u32 = 256;
