//! Error-free transforms: a rounded operation together with its exact error.
//!
//! What holds: `hi + lo` of the result is exactly the sum or product, unless it
//! overflows or, for the product, the error lies below the smallest subnormal.
//! JMP algorithms 1 to 3 (Knuth and Møller; Dekker; the fma product). Rust
//! neither reassociates nor contracts these operations, which they depend on.

use super::{Base, Dw};

/// `a + b` and its rounding error, for any `a` and `b`. TwoSum; 6 operations.
#[inline]
pub fn two_sum<T: Base>(a: T, b: T) -> Dw<T> {
    let hi = a + b;
    let a_part = hi - b;
    let b_part = hi - a_part;
    let a_error = a - a_part;
    let b_error = b - b_part;
    Dw {
        hi,
        lo: a_error + b_error,
    }
}

/// `a + b` and its rounding error, given that the exponent of `a` is not below
/// that of `b`, or `a` is zero. Fast2Sum; 3 operations.
#[inline]
pub fn fast_two_sum<T: Base>(a: T, b: T) -> Dw<T> {
    let hi = a + b;
    let b_part = hi - a;
    Dw { hi, lo: b - b_part }
}

/// `a * b` and its rounding error, by fused multiply-add. TwoProd; 2 operations.
#[inline]
pub fn two_prod<T: Base>(a: T, b: T) -> Dw<T> {
    let hi = a * b;
    Dw {
        hi,
        lo: a.mul_add(b, -hi),
    }
}
