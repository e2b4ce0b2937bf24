//! Error in units in the last place, in its two usual meanings.
//!
//! `ulp(x)` is the spacing of the format's values in the binade of `x`: for `x`
//! in `[2^e, 2^(e+1))` it is `2^(max(e, emin) - p + 1)` (Muller et al., "Handbook
//! of Floating-Point Arithmetic", 2nd ed., section 2.3.2, Goldberg's definition).
//! What holds: [`ulp_from_rounded`] is a whole number, 0 exactly where the result
//! is the correctly rounded one; [`ulp_from_real`] is at most 0.5 there, unless
//! the reference rounds to infinity.

use crate::dd::Dd;
use crate::exponent::{exponent, scale};
use crate::format::Format;

/// The spacing of `format` at `x`: the distance from a value of the format in the
/// binade of `x` to the next one away from zero.
///
/// Zero and subnormals have the smallest subnormal as their ulp. Past the largest
/// finite value the ulp stays that of the top binade. NaN for an infinite or NaN
/// `x`.
#[inline]
pub fn ulp(x: f64, format: Format) -> f64 {
    ulp_at(Dd::from_f64(x), format)
}

/// [`ulp`] at a double-double, whose low word decides the binade where the high
/// word is a power of two.
#[inline]
pub fn ulp_at(x: Dd, format: Format) -> f64 {
    if !x.is_finite() {
        return f64::NAN;
    }
    let binade = if x.hi == 0.0 { i32::MIN } else { binade(x) };
    let clamped = binade.clamp(format.min_exponent(), format.max_exponent());
    scale(1.0, clamped - (format.mantissa_bits() as i32 - 1))
}

/// `floor(log2 |x|)` of the real value `hi + lo`.
fn binade(x: Dd) -> i32 {
    let e = exponent(x.hi);
    let toward_zero = x.lo != 0.0 && (x.lo < 0.0) == (x.hi > 0.0);
    if toward_zero && x.hi.abs() == scale(1.0, e) {
        e - 1
    } else {
        e
    }
}

/// How many steps between neighbouring values of `format` lie between `got` and
/// the correctly rounded reference.
///
/// Steps count through subnormals and across zero, with both zeros in one place,
/// and infinity one step past the largest finite value. Two NaNs are 0 apart; a
/// NaN is infinitely far from a number. `got` is rounded to the format first.
#[inline]
pub fn ulp_from_rounded(got: f64, reference: Dd, format: Format) -> f64 {
    match (got.is_nan(), reference.is_nan()) {
        (true, true) => 0.0,
        (false, false) => {
            let want = format.ordinal(format.round_dd(reference));
            (i128::from(format.ordinal(got)) - i128::from(want)).unsigned_abs() as f64
        }
        _ => f64::INFINITY,
    }
}

/// `|got - reference| / ulp(reference)`, with the reference as a real number.
///
/// Two NaNs, or two equal infinities, are 0 apart; any other NaN or infinity on
/// one side alone is infinitely far, and so is a quotient past the range of
/// `f64`.
#[inline]
pub fn ulp_from_real(got: f64, reference: Dd, format: Format) -> f64 {
    if got.is_nan() && reference.is_nan() || got == reference.hi && got.is_infinite() {
        return 0.0;
    }
    if !got.is_finite() || !reference.is_finite() {
        return f64::INFINITY;
    }
    let error = Dd::from_f64(got).sub(reference).abs().to_f64();
    error / ulp_at(reference, format)
}
