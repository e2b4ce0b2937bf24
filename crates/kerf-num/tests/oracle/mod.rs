//! Exact values and correct roundings by MPFR, and random double-word numbers.
#![allow(dead_code, reason = "each test uses its part")]

use kerf_num::doubleword::{Dw, Elementary, fast_two_sum};
use kerf_num::{Dd, Format};
use proptest::prelude::*;
use rug::Float;
use rug::float::Round;

/// Enough bits for sums and products of the pairs drawn here to be exact.
pub const PRECISION: u32 = 3000;

/// `f32` or `f64`, as the tests need it.
pub trait Word: Elementary {
    const P: i32;
    const NAME: &'static str;
    /// Exponents from which no error term of any algorithm underflows.
    const EXPONENTS: std::ops::Range<i32>;
    fn cast(x: f64) -> Self;
}

impl Word for f32 {
    const P: i32 = 24;
    const NAME: &'static str = "f32";
    const EXPONENTS: std::ops::Range<i32> = -25..26;
    fn cast(x: f64) -> f32 {
        x as f32
    }
}

impl Word for f64 {
    const P: i32 = 53;
    const NAME: &'static str = "f64";
    const EXPONENTS: std::ops::Range<i32> = -200..200;
    fn cast(x: f64) -> f64 {
        x
    }
}

pub fn real(x: f64) -> Float {
    Float::with_val(PRECISION, x)
}

pub fn exact<T: Word>(x: Dw<T>) -> Float {
    real(x.hi.to_f64()) + x.lo.to_f64()
}

pub fn exact_dd(x: Dd) -> Float {
    real(x.hi) + x.lo
}

/// Relative error of `got` in units of `u^2`.
pub fn err_u2<T: Word>(got: Dw<T>, want: &Float) -> f64 {
    let error = exact(got) - want;
    if error.is_zero() {
        return 0.0;
    }
    let relative = error / want;
    (relative.abs() << (2 * T::P)).to_f64()
}

pub fn err_u2_dd(got: Dd, want: &Float) -> f64 {
    err_u2(Dw::from(got), want)
}

/// `x` correctly rounded to `format`, to nearest even.
pub fn round(x: &Float, format: Format) -> f64 {
    let (mut out, direction) = Float::with_val_round(format.mantissa_bits(), x, Round::Nearest);
    // MPFR's mantissas lie in [1/2, 1), so its exponents are one higher.
    out.subnormalize_round(format.min_exponent() + 1, direction, Round::Nearest);
    match out.get_exp() {
        Some(e) if e > format.max_exponent() + 1 => f64::INFINITY.copysign(out.to_f64()),
        _ => out.to_f64(),
    }
}

/// What a double-word number is drawn from; see [`Raw::build`].
#[derive(Clone, Copy, Debug)]
pub struct Raw {
    pub negative: bool,
    pub exponent: i32,
    pub shape: u8,
    pub mantissa: u64,
    pub low: i64,
    pub gap: i32,
}

impl Raw {
    /// A normalised double-word number. A quarter of the high words each is just
    /// above a power of two, just below one, short, or of any mantissa.
    pub fn build<T: Word>(self) -> Dw<T> {
        let top = 1u64 << (T::P - 1);
        let any = self.mantissa % top;
        let mantissa = match self.shape % 4 {
            0 => any % 8,
            1 => top - 1 - any % 8,
            2 => any & !((1 << (T::P - 7)) - 1),
            _ => any,
        };
        let sign = if self.negative { -1.0 } else { 1.0 };
        let ulp = 2f64.powi(self.exponent - (T::P - 1));
        let hi = sign * (top + mantissa) as f64 * ulp;
        let half_ulps = self.low as f64 / 2f64.powi(63);
        let lo = T::cast(half_ulps * ulp / 2.0 * 2f64.powi(-self.gap));
        fast_two_sum(T::cast(hi), lo)
    }

    /// The same, rounded to its high word.
    pub fn word<T: Word>(self) -> T {
        self.build::<T>().hi
    }
}

/// Raw numbers with exponents in the range that is safe for `T`.
pub fn raw<T: Word>() -> impl Strategy<Value = Raw> {
    let low = prop_oneof![4 => any::<i64>(), 1 => Just(i64::MAX), 1 => Just(0)];
    let gap = prop_oneof![3 => Just(0), 1 => 0..12i32];
    (
        any::<bool>(),
        T::EXPONENTS,
        any::<u8>(),
        any::<u64>(),
        low,
        gap,
    )
        .prop_map(|(negative, exponent, shape, mantissa, low, gap)| Raw {
            negative,
            exponent,
            shape,
            mantissa,
            low,
            gap,
        })
}

/// Pairs whose sum cancels: opposite signs, high words within a few ulps.
pub fn cancelling<T: Word>() -> impl Strategy<Value = (Raw, Raw)> {
    (raw::<T>(), -4i64..=4, any::<i64>(), 0..12i32).prop_map(|(x, steps, low, gap)| {
        let mantissa = x.mantissa.wrapping_add_signed(steps);
        (
            x,
            Raw {
                negative: !x.negative,
                mantissa,
                low,
                gap,
                ..x
            },
        )
    })
}
