//! Rounding double-doubles to integers.
//!
//! What holds: the results are exact for normalised operands, and the sign of
//! zero, infinities and NaN come out as from the `f64` functions. The reason that
//! the words can be rounded one after the other: where `hi` is no integer, no
//! integer lies between `hi` and `hi + lo`, since rounding to nearest is monotone
//! and would have stopped at that integer.

use super::Dd;
use crate::doubleword::fast_two_sum;

impl Dd {
    /// The largest integer not above the value.
    #[inline]
    pub fn floor(self) -> Dd {
        self.by_words(f64::floor)
    }

    /// The smallest integer not below the value.
    #[inline]
    pub fn ceil(self) -> Dd {
        self.by_words(f64::ceil)
    }

    /// The integer part, towards zero.
    #[inline]
    pub fn trunc(self) -> Dd {
        if self.hi.is_sign_negative() {
            self.ceil()
        } else {
            self.floor()
        }
    }

    /// The nearest integer, ties to even.
    #[inline]
    pub fn round_even(self) -> Dd {
        let halfway = |word: f64| (word - word.trunc()).abs() == 0.5;
        if halfway(self.hi) && self.lo != 0.0 {
            // Not a tie after all: the low word says which side.
            let toward = if self.lo > 0.0 {
                self.hi.ceil()
            } else {
                self.hi.floor()
            };
            return Dd::from_f64(toward).copysign(self);
        }
        // Where lo is a tie, hi is even: it was itself rounded with ties to even.
        self.by_words(f64::round_ties_even)
    }

    /// Rounds `hi` and, where that is an integer already, `lo`.
    #[inline]
    fn by_words(self, round: impl Fn(f64) -> f64) -> Dd {
        let hi = round(self.hi);
        // A zero low word also covers infinities, NaN and negative zero.
        if hi != self.hi || self.lo == 0.0 {
            return Dd::from_f64(hi);
        }
        let sum = Dd::from(fast_two_sum(hi, round(self.lo)));
        if sum.hi == 0.0 {
            sum.copysign(self)
        } else {
            sum
        }
    }
}
