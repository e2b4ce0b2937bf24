//! Double-double numbers: about 106 bits in the range of `f64`.
//!
//! [`Dd`] carries reference results, so it must not fail where the plain number
//! would not. What holds:
//!
//! * A [`Dd`] made here is normalised: `hi` is `hi + lo` rounded to nearest.
//! * Ordinary values meet the bounds of [`doubleword`](crate::doubleword):
//!   `add` and `sub` `3u^2 + 13u^3`, `mul` `5u^2`, `div` `15u^2 + 56u^3`, `sqrt`
//!   `25/8 u^2`, with `u = 2^-53`.
//! * Where the result's high word is infinite or NaN, it is what the `f64`
//!   operation on the high words gives, and the low word is zero. The same goes
//!   for the sign of a zero. Within a few ulps of overflow the result may fall
//!   back to the `f64` one, without a low word.
//! * Error terms that underflow are lost: below about `2^-968` a result has less
//!   than 106 bits, and in the subnormal range it is as good as `f64`.
//!
//! Algorithms: Joldes, Muller and Popescu 2017 and Lefèvre et al. 2023, as named
//! in [`doubleword`](crate::doubleword).

mod integral;
mod operators;
mod order;
mod remainder;

use crate::doubleword::{Dw, two_sum};

/// A double-double number, the unevaluated sum `hi + lo`.
#[repr(C)]
#[derive(Copy, Clone, Debug, PartialEq, Default)]
pub struct Dd {
    /// The value rounded to `f64`.
    pub hi: f64,
    /// What the rounding left out; zero where `hi` is not finite.
    pub lo: f64,
}

// The operators are implemented too; the named forms need no trait in scope.
#[allow(clippy::should_implement_trait)]
impl Dd {
    /// Zero.
    pub const ZERO: Dd = Dd::from_f64(0.0);
    /// One.
    pub const ONE: Dd = Dd::from_f64(1.0);
    /// Positive infinity.
    pub const INFINITY: Dd = Dd::from_f64(f64::INFINITY);
    /// A quiet NaN.
    pub const NAN: Dd = Dd::from_f64(f64::NAN);

    /// An `f64`, exactly.
    #[inline]
    pub const fn from_f64(x: f64) -> Dd {
        Dd { hi: x, lo: 0.0 }
    }

    /// An integer, exactly.
    #[inline]
    pub const fn from_i64(n: i64) -> Dd {
        let hi = n as f64;
        // The difference has at most 11 bits, so it converts exactly.
        Dd {
            hi,
            lo: (n as i128 - hi as i128) as f64,
        }
    }

    /// An unsigned integer, exactly.
    #[inline]
    pub const fn from_u64(n: u64) -> Dd {
        let hi = n as f64;
        Dd {
            hi,
            lo: (n as i128 - hi as i128) as f64,
        }
    }

    /// `a + b` of any two `f64`, exactly unless it overflows.
    #[inline]
    pub fn from_sum(a: f64, b: f64) -> Dd {
        Dd::settle(two_sum(a, b), a + b)
    }

    /// The value rounded to `f64`.
    #[inline]
    pub fn to_f64(self) -> f64 {
        // Adding a zero low word would turn a negative zero positive.
        if self.lo == 0.0 {
            self.hi
        } else {
            self.hi + self.lo
        }
    }

    /// Whether the value is NaN.
    #[inline]
    pub fn is_nan(self) -> bool {
        self.hi.is_nan()
    }

    /// Whether the value is neither infinite nor NaN.
    #[inline]
    pub fn is_finite(self) -> bool {
        self.hi.is_finite()
    }

    /// `self + rhs`. AccurateDWPlusDW.
    #[inline]
    pub fn add(self, rhs: Dd) -> Dd {
        let sum = Dw::from(self).accurate_dw_plus_dw(rhs.into());
        Dd::settle(sum, self.hi + rhs.hi)
    }

    /// `self + rhs` for a plain `f64`. DWPlusFP.
    #[inline]
    pub fn add_f64(self, rhs: f64) -> Dd {
        Dd::settle(Dw::from(self).dw_plus_fp(rhs), self.hi + rhs)
    }

    /// `self - rhs`. AccurateDWPlusDW.
    #[inline]
    pub fn sub(self, rhs: Dd) -> Dd {
        self.add(rhs.neg())
    }

    /// `self * rhs`. DWTimesDW3.
    #[inline]
    pub fn mul(self, rhs: Dd) -> Dd {
        let product = Dw::from(self).dw_times_dw3(rhs.into());
        Dd::settle(product, self.hi * rhs.hi)
    }

    /// `self * rhs` for a plain `f64`. DWTimesFP3.
    #[inline]
    pub fn mul_f64(self, rhs: f64) -> Dd {
        Dd::settle(Dw::from(self).dw_times_fp3(rhs), self.hi * rhs)
    }

    /// `self * b + c`: the product rounded to double-double, then the sum. When
    /// the product overflows or underflows and the fused `f64` operation does
    /// not, the result is the latter.
    #[inline]
    pub fn fma(self, b: Dd, c: Dd) -> Dd {
        let plain = self.hi.mul_add(b.hi, c.hi);
        let words_only = self.lo == 0.0 && b.lo == 0.0 && c.lo == 0.0;
        if words_only && plain.abs() < f64::MIN_POSITIVE {
            // Correctly rounded, where the product's error may have underflowed.
            return Dd::from_f64(plain);
        }
        let product = self.mul(b);
        let sum = Dw::from(product).accurate_dw_plus_dw(c.into());
        Dd::settle(sum, plain)
    }

    /// `self / rhs`. DWDivDW2, chosen over DWDivDW3 for its exact quotients.
    #[inline]
    pub fn div(self, rhs: Dd) -> Dd {
        let quotient = Dw::from(self).dw_div_dw2(rhs.into());
        Dd::settle(quotient, self.hi / rhs.hi)
    }

    /// `self / rhs` for a plain `f64`. DWDivFP3.
    #[inline]
    pub fn div_f64(self, rhs: f64) -> Dd {
        Dd::settle(Dw::from(self).dw_div_fp3(rhs), self.hi / rhs)
    }

    /// The square root. SQRTDWtoDW.
    #[inline]
    pub fn sqrt(self) -> Dd {
        Dd::settle(Dw::from(self).sqrt_dw_to_dw(), self.hi.sqrt())
    }

    /// `e^self`; the error is measured, not proven: see
    /// [`Elementary`](crate::doubleword::Elementary).
    #[inline]
    pub fn exp(self) -> Dd {
        let r = Dw::from(self).exp();
        Dd::settle(two_sum(r.hi, r.lo), r.hi)
    }

    /// `ln self`; the error is measured, not proven: see
    /// [`Elementary`](crate::doubleword::Elementary).
    #[inline]
    pub fn log(self) -> Dd {
        let r = Dw::from(self).log();
        Dd::settle(two_sum(r.hi, r.lo), r.hi)
    }

    /// `-self`.
    #[inline]
    pub fn neg(self) -> Dd {
        Dd {
            hi: -self.hi,
            lo: -self.lo,
        }
    }

    /// `|self|`.
    #[inline]
    pub fn abs(self) -> Dd {
        if self.hi.is_sign_negative() {
            self.neg()
        } else {
            self
        }
    }

    /// The magnitude of `self` with the sign of `sign`.
    #[inline]
    pub fn copysign(self, sign: Dd) -> Dd {
        if self.hi.is_sign_negative() == sign.hi.is_sign_negative() {
            self
        } else {
            self.neg()
        }
    }

    /// `self * 2^n`, exact as long as neither word overflows or underflows.
    #[inline]
    pub fn ldexp(self, n: i32) -> Dd {
        let scaled = Dw::from(self).ldexp(n);
        // Rounding in the subnormal range can leave the words unnormalised.
        Dd::settle(two_sum(scaled.hi, scaled.lo), scaled.hi)
    }

    /// The result of a double-word algorithm, or the `f64` operation's where the
    /// algorithm's error terms made no sense: overflow, infinities and NaN make
    /// them NaN, and they lose the sign of a zero.
    #[inline]
    fn settle(result: Dw<f64>, plain: f64) -> Dd {
        let sound = result.hi.is_finite() && result.lo.is_finite();
        if sound && (result.hi != 0.0 || plain != 0.0) {
            result.into()
        } else {
            Dd::from_f64(plain)
        }
    }
}

impl From<Dd> for Dw<f64> {
    #[inline]
    fn from(x: Dd) -> Dw<f64> {
        Dw { hi: x.hi, lo: x.lo }
    }
}

impl From<Dw<f64>> for Dd {
    #[inline]
    fn from(x: Dw<f64>) -> Dd {
        Dd { hi: x.hi, lo: x.lo }
    }
}
