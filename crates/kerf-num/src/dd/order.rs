//! Order of double-doubles, minimum and maximum.
//!
//! What holds: for normalised operands the order is that of the real values; NaN
//! is unordered; [`Dd::min`] and [`Dd::max`] follow IEEE 754-2008 minNum and
//! maxNum as CUDA's `fmin` and `fmax` do, with negative zero below positive zero.

use std::cmp::Ordering;

use super::Dd;

impl PartialOrd for Dd {
    #[inline]
    fn partial_cmp(&self, other: &Dd) -> Option<Ordering> {
        // hi is the rounded value and rounding is monotone, so lo decides only
        // between equal high words.
        match self.hi.partial_cmp(&other.hi)? {
            Ordering::Equal => self.lo.partial_cmp(&other.lo),
            unequal => Some(unequal),
        }
    }
}

impl Dd {
    /// The smaller operand, or the other one where one is NaN.
    #[inline]
    pub fn min(self, rhs: Dd) -> Dd {
        if self.is_nan() {
            return rhs;
        }
        match self.partial_cmp(&rhs) {
            Some(Ordering::Greater) => rhs,
            Some(Ordering::Equal) if rhs.hi.is_sign_negative() => rhs,
            _ => self,
        }
    }

    /// The larger operand, or the other one where one is NaN.
    #[inline]
    pub fn max(self, rhs: Dd) -> Dd {
        if self.is_nan() {
            return rhs;
        }
        match self.partial_cmp(&rhs) {
            Some(Ordering::Less) => rhs,
            Some(Ordering::Equal) if rhs.hi.is_sign_positive() => rhs,
            _ => self,
        }
    }
}
