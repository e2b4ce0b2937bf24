//! Rounding into a format.
//!
//! What holds: [`Format::round`] and [`Format::round_dd`] round to nearest even
//! once, from the value they are given, subnormals and overflow included.
//! `round_dd` goes through round-to-odd: 53 bits rounded to odd keep enough of
//! the rest for a correct second rounding to any format of at most 51 bits
//! (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums: proved
//! algorithms using rounding to odd", 2008, section 3).

use super::Format;
use crate::dd::Dd;
use crate::exponent::{exponent, pow2};

impl Format {
    /// `x` rounded to this format, to nearest even, as an `f64`.
    ///
    /// One rounding, subnormals and overflow to infinity included. The sign of
    /// zero and NaN are kept.
    #[inline]
    pub fn round(self, x: f64) -> f64 {
        match self {
            Format::F64 => x,
            Format::F32 => f64::from(x as f32),
            Format::F16 | Format::Bf16 => self.round_narrow(x),
        }
    }

    /// [`round`](Format::round) where neither the hardware nor `half` offers one
    /// correct rounding from `f64`: `half` drops the lower half of the `f64`.
    fn round_narrow(self, x: f64) -> f64 {
        if x == 0.0 || !x.is_finite() {
            return x;
        }
        // The spacing of the format at x; dividing by it is exact, because it
        // is a power of two and the quotient lies below 2^p.
        let spacing_exponent =
            exponent(x).max(self.min_exponent()) - (self.mantissa_bits() as i32 - 1);
        let steps = (x * pow2(-spacing_exponent)).round_ties_even();
        let rounded = steps * pow2(spacing_exponent);
        if rounded.abs() > self.max_finite() {
            f64::INFINITY.copysign(x)
        } else {
            rounded
        }
    }

    /// The real value `x.hi + x.lo` rounded to this format, to nearest even, as
    /// an `f64`. One rounding: the low word decides what would otherwise look
    /// like a tie.
    #[inline]
    pub fn round_dd(self, x: Dd) -> f64 {
        if x.lo == 0.0 || !x.is_finite() {
            return self.round(x.hi);
        }
        let x = Dd::from_sum(x.hi, x.lo);
        match self {
            Format::F64 => x.hi,
            _ => self.round(to_odd(x)),
        }
    }
}

/// The normalised `x`, with a low word other than zero, rounded to 53 bits with
/// round-to-odd: of the two neighbours, the one whose last bit is set.
fn to_odd(x: Dd) -> f64 {
    if x.hi.to_bits() & 1 == 1 {
        x.hi
    } else if x.lo > 0.0 {
        x.hi.next_up()
    } else {
        x.hi.next_down()
    }
}
