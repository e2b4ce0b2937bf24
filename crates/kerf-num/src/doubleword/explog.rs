//! Exponential and natural logarithm of double-word numbers.
//!
//! `exp`: `m = round(x / ln 2)`, `r = x - m ln 2` with `ln 2` in three parts, the
//! first two short enough that their products with `m` are exact; then
//! `1 + (r + r^2 p(r))` with the Taylor polynomial `p`, scaled by `2^m`.
//! `log`: `x = 2^k m` with `m` in `[sqrt(1/2), sqrt(2)]`, then
//! `k ln 2 + 2 atanh((m - 1) / (m + 1))` by the series of `atanh`, which keeps
//! the relative error small where the logarithm itself is.
//!
//! In both polynomials the terms too small to matter beyond one word are summed
//! in one word and only the rest in double-word.
//!
//! What holds: no proof from end to end is known. Against MPFR, over 600 000
//! points in each of seven ranges, the largest relative errors seen were, in
//! `u^2`: `exp` 1.28 (f32) and 1.25 (f64), `log` 6.13 and 5.70. The test `explog`
//! asserts [`Elementary::EXP_ERR_U2`] and [`Elementary::LOG_ERR_U2`] on a part of
//! them. They hold while the low word of the result is normal.

use super::constants::{self, head_f32, head_f64, tail_f32, tail_f64};
use super::{Base, Dw, two_sum};

/// A word for which `exp` and `log` have their constants.
pub trait Elementary: Base {
    /// Bound asserted on the measured relative error of `exp`, in units of
    /// `u^2`. Measured, not proven.
    const EXP_ERR_U2: f64;
    /// Bound asserted on the measured relative error of `log`, in units of
    /// `u^2`. Measured, not proven.
    const LOG_ERR_U2: f64;

    /// `exp` overflows above this.
    const EXP_MAX: Self;
    /// `exp` underflows to zero below this.
    const EXP_MIN: Self;
    /// `1 / ln 2`.
    const INV_LN2: Self;
    /// `sqrt(2)`.
    const SQRT2: Self;
    /// `ln 2` in three parts; `n` times either of the first two is exact for
    /// every exponent `n` of the word.
    const LN2: [Self; 3];
    /// `1/k!` from `k = 2` up.
    const EXP_HEAD: &'static [Dw<Self>];
    /// `1/k!` further up, where one word is enough.
    const EXP_TAIL: &'static [Self];
    /// `1/(2j + 1)` from `j = 1` up.
    const LOG_HEAD: &'static [Dw<Self>];
    /// `1/(2j + 1)` further up, where one word is enough.
    const LOG_TAIL: &'static [Self];
}

impl Elementary for f64 {
    const EXP_ERR_U2: f64 = 2.0;
    const LOG_ERR_U2: f64 = 8.0;
    const EXP_MAX: f64 = 709.79;
    const EXP_MIN: f64 = -745.14;
    const INV_LN2: f64 = std::f64::consts::LOG2_E;
    const SQRT2: f64 = std::f64::consts::SQRT_2;
    const LN2: [f64; 3] = constants::LN2_F64;
    // With |r| <= ln(2)/2, r^15/15! < 2^-10 u and r^23/23! < 2^-3 u^2.
    const EXP_HEAD: &'static [Dw<f64>] = &head_f64::<13>(&constants::INV_FACTORIAL);
    const EXP_TAIL: &'static [f64] = &tail_f64::<8>(&constants::INV_FACTORIAL, 13);
    // With z <= 0.0295, z^12/25 < 2^-12 u and z^22/45 < 2^-11 u^2.
    const LOG_HEAD: &'static [Dw<f64>] = &head_f64::<11>(&constants::INV_ODD);
    const LOG_TAIL: &'static [f64] = &tail_f64::<10>(&constants::INV_ODD, 11);
}

impl Elementary for f32 {
    const EXP_ERR_U2: f64 = 2.0;
    const LOG_ERR_U2: f64 = 8.0;
    const EXP_MAX: f32 = 88.73;
    const EXP_MIN: f32 = -103.98;
    const INV_LN2: f32 = std::f32::consts::LOG2_E;
    const SQRT2: f32 = std::f32::consts::SQRT_2;
    const LN2: [f32; 3] = constants::LN2_F32;
    // r^9/9! < 2^-8 u and r^14/14! < 2^-9 u^2.
    const EXP_HEAD: &'static [Dw<f32>] = &head_f32::<7>(&constants::INV_FACTORIAL);
    const EXP_TAIL: &'static [f32] = &tail_f32::<5>(&constants::INV_FACTORIAL, 7);
    // z^6/13 < 2^-10 u and z^10/21 < 2^-7 u^2.
    const LOG_HEAD: &'static [Dw<f32>] = &head_f32::<5>(&constants::INV_ODD);
    const LOG_TAIL: &'static [f32] = &tail_f32::<4>(&constants::INV_ODD, 5);
}

impl<T: Elementary> Dw<T> {
    /// `e^x`. Overflow gives infinity, underflow zero, and NaN gives NaN, with a
    /// zero low word.
    pub fn exp(self) -> Self {
        if self.hi > T::EXP_MAX {
            return Dw::from_word(T::INFINITY);
        }
        if self.hi < T::EXP_MIN {
            return Dw::from_word(T::ZERO);
        }
        if !self.hi.is_finite() {
            return Dw::from_word(self.hi);
        }
        let m = (self.hi * T::INV_LN2).round_even();
        let [l1, l2, l3] = T::LN2;
        let r = self
            .dw_plus_fp(-(m * l1))
            .dw_plus_fp(-(m * l2))
            .dw_plus_fp(-(m * l3));
        let p = horner(r, T::EXP_HEAD, T::EXP_TAIL);
        let square = r.dw_times_dw3(r);
        let expm1 = r.accurate_dw_plus_dw(square.dw_times_dw3(p));
        let result = expm1.dw_plus_fp(T::ONE).ldexp(m.to_int());
        if result.hi.is_finite() {
            result
        } else {
            Dw::from_word(result.hi)
        }
    }

    /// `ln x`. Zero gives minus infinity, a negative number NaN, infinity and
    /// NaN themselves, with a zero low word. One gives exactly zero.
    pub fn log(self) -> Self {
        if self.hi == T::ZERO {
            return Dw::from_word(-T::INFINITY);
        }
        if self.hi < T::ZERO {
            return Dw::from_word(T::NAN);
        }
        if !self.hi.is_finite() {
            return Dw::from_word(self.hi);
        }
        let mut k = self.hi.exponent();
        if self.hi.scale(-k) > T::SQRT2 {
            k += 1;
        }
        let m = self.ldexp(-k);
        let s = m.dw_plus_fp(-T::ONE).dw_div_dw3(m.dw_plus_fp(T::ONE));
        let z = s.dw_times_dw3(s);
        let p = horner(z, T::LOG_HEAD, T::LOG_TAIL);
        // 2s is exact and carries nearly all of the result.
        let twice = Dw {
            hi: s.hi * T::TWO,
            lo: s.lo * T::TWO,
        };
        let cubic = twice.dw_times_dw3(z.dw_times_dw3(p));
        let log_m = twice.accurate_dw_plus_dw(cubic);
        if k == 0 {
            return log_m;
        }
        let [l1, l2, l3] = T::LN2;
        let n = T::from_int(k);
        two_sum(n * l1, n * l2)
            .dw_plus_fp(n * l3)
            .accurate_dw_plus_dw(log_m)
    }
}

/// The polynomial with coefficients `head` then `tail`, lowest degree first.
#[inline]
fn horner<T: Base>(x: Dw<T>, head: &[Dw<T>], tail: &[T]) -> Dw<T> {
    let in_word = tail
        .iter()
        .rev()
        .fold(T::ZERO, |sum, &c| sum.mul_add(x.hi, c));
    head.iter().rev().fold(Dw::from_word(in_word), |sum, &c| {
        c.accurate_dw_plus_dw(sum.dw_times_dw3(x))
    })
}
