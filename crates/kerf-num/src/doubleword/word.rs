//! The word that double-word numbers are made of: `f32` or `f64`.
//!
//! What holds: every operation of a [`Base`] is the correctly rounded IEEE 754
//! one, which the algorithms' proofs assume. The trait is sealed for that
//! reason.

use std::fmt::Debug;
use std::ops::{Add, Div, Mul, Neg, Sub};

use crate::exponent;

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

/// A word of double-word arithmetic: `f32` or `f64`.
pub trait Base:
    sealed::Sealed
    + Copy
    + Debug
    + Default
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + 'static
{
    /// Zero.
    const ZERO: Self;
    /// One.
    const ONE: Self;
    /// Two.
    const TWO: Self;
    /// Positive infinity.
    const INFINITY: Self;
    /// A quiet NaN.
    const NAN: Self;
    /// Unit roundoff: `2^-24` or `2^-53`.
    const UNIT_ROUNDOFF: Self;

    /// `self * b + c` with one rounding.
    fn mul_add(self, b: Self, c: Self) -> Self;
    /// The square root.
    fn sqrt(self) -> Self;
    /// The nearest integer, ties to even.
    fn round_even(self) -> Self;
    /// Whether the value is neither infinite nor NaN.
    fn is_finite(self) -> bool;
    /// `floor(log2 |self|)` of a finite value other than zero.
    fn exponent(self) -> i32;
    /// `self * 2^n`, rounded once.
    fn scale(self, n: i32) -> Self;
    /// The word that equals the integer `n`, for `|n| < 2^24`.
    fn from_int(n: i32) -> Self;
    /// The integer that the word holds, saturating.
    fn to_int(self) -> i32;
    /// The same value as `f64`, exactly.
    fn to_f64(self) -> f64;
}

impl Base for f64 {
    const ZERO: f64 = 0.0;
    const ONE: f64 = 1.0;
    const TWO: f64 = 2.0;
    const INFINITY: f64 = f64::INFINITY;
    const NAN: f64 = f64::NAN;
    const UNIT_ROUNDOFF: f64 = f64::EPSILON / 2.0;

    #[inline]
    fn mul_add(self, b: f64, c: f64) -> f64 {
        f64::mul_add(self, b, c)
    }
    #[inline]
    fn sqrt(self) -> f64 {
        f64::sqrt(self)
    }
    #[inline]
    fn round_even(self) -> f64 {
        self.round_ties_even()
    }
    #[inline]
    fn is_finite(self) -> bool {
        f64::is_finite(self)
    }
    #[inline]
    fn exponent(self) -> i32 {
        exponent::exponent(self)
    }
    #[inline]
    fn scale(self, n: i32) -> f64 {
        exponent::scale(self, n)
    }
    #[inline]
    fn from_int(n: i32) -> f64 {
        f64::from(n)
    }
    #[inline]
    fn to_int(self) -> i32 {
        self as i32
    }
    #[inline]
    fn to_f64(self) -> f64 {
        self
    }
}

impl Base for f32 {
    const ZERO: f32 = 0.0;
    const ONE: f32 = 1.0;
    const TWO: f32 = 2.0;
    const INFINITY: f32 = f32::INFINITY;
    const NAN: f32 = f32::NAN;
    const UNIT_ROUNDOFF: f32 = f32::EPSILON / 2.0;

    #[inline]
    fn mul_add(self, b: f32, c: f32) -> f32 {
        f32::mul_add(self, b, c)
    }
    #[inline]
    fn sqrt(self) -> f32 {
        f32::sqrt(self)
    }
    #[inline]
    fn round_even(self) -> f32 {
        self.round_ties_even()
    }
    #[inline]
    fn is_finite(self) -> bool {
        f32::is_finite(self)
    }
    #[inline]
    fn exponent(self) -> i32 {
        exponent::exponent(f64::from(self))
    }
    #[inline]
    fn scale(self, n: i32) -> f32 {
        // Exact in f64 for these n, which already reach past both ends of f32;
        // so the conversion back is the only rounding.
        (f64::from(self) * exponent::pow2(n.clamp(-400, 400))) as f32
    }
    #[inline]
    fn from_int(n: i32) -> f32 {
        n as f32
    }
    #[inline]
    fn to_int(self) -> i32 {
        self as i32
    }
    #[inline]
    fn to_f64(self) -> f64 {
        f64::from(self)
    }
}
