//! The remainder of double-doubles, as C's `fmod`.
//!
//! What holds: the remainder is computed exactly, whatever the size of the
//! quotient, and rounded once to double-double; it has the sign of the dividend.
//! Special values give what `f64` gives. Subtracting `trunc(a/b) * b` in
//! double-word would instead lose every bit once the quotient passes 106 bits.

use super::Dd;
use crate::fixed::Fixed;

impl Dd {
    /// The remainder of `self / rhs` with the quotient rounded towards zero.
    #[inline]
    pub fn fmod(self, rhs: Dd) -> Dd {
        if !self.is_finite() || rhs.is_nan() || rhs.hi == 0.0 {
            return Dd::from_f64(self.hi % rhs.hi);
        }
        if !rhs.is_finite() || self.abs() < rhs.abs() {
            return self;
        }
        if self.lo == 0.0 && rhs.lo == 0.0 {
            // The f64 remainder is exact.
            return Dd::from_f64(self.hi % rhs.hi);
        }
        let rest = magnitude(self).modulo(&magnitude(rhs));
        from_fixed(rest).copysign(self)
    }
}

/// `|x|` exactly, for a finite `x`.
fn magnitude(x: Dd) -> Fixed {
    let hi = Fixed::from_magnitude(x.hi);
    let lo = Fixed::from_magnitude(x.lo);
    if (x.lo < 0.0) == (x.hi < 0.0) {
        hi.plus(&lo)
    } else {
        hi.minus(&lo)
    }
}

/// The nearest double-double: the nearest `f64`, then the nearest to the rest.
fn from_fixed(x: Fixed) -> Dd {
    let hi = x.to_f64();
    let rounded = Fixed::from_magnitude(hi);
    let lo = if x >= rounded {
        x.minus(&rounded).to_f64()
    } else {
        -rounded.minus(&x).to_f64()
    };
    Dd { hi, lo }
}
