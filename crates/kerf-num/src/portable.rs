//! Elementary functions with the same bits on every machine and device.
//!
//! They use additions, multiplications, divisions and integers only, which IEEE
//! 754 and integer arithmetic define to the last bit, and no fused
//! multiply-add; `functions.h` of kerf-run is the same on a device, step by
//! step. Rust neither reassociates nor contracts these operations.
//!
//! What holds: special values are those of the C standard (annex F). Against
//! MPFR, over 3,000,000 arguments in each of five to seven ranges, the largest
//! errors seen were, in ulps: `exp` 0.90, `log` 0.85, `log2` 0.501, `sin` 0.78,
//! `cos` 0.78, `pow` 0.78. The test `portable` asserts bounds on a part of them.
//! A result of `log2` or `pow` that is a number of `f64` comes out exactly.
//!
//! `exp`, `log` and the polynomials of `sin` and `cos` have the reductions and
//! coefficients of Sun's fdlibm.

mod power;
mod tables;
mod trigonometric;

pub use power::{log2, pow};
pub use trigonometric::{cos, sin};

use crate::doubleword::Dw;

/// The upper 33 bits of `ln 2`: multiples by exponents are exact.
const LN2_HIGH: f64 = 0.6931471803691238;
const LN2_LOW: f64 = 1.9082149292705877e-10;

/// `1.5 * 2^52`: a sum with it has no bits for a fraction.
const ROUNDING_SHIFT: f64 = 6_755_399_441_055_744.0;

/// `e^x`.
pub fn exp(x: f64) -> f64 {
    if x.abs() < 800.0 {
        return exp_moderate(x);
    }
    // Overflow, underflow, or NaN.
    match x < 0.0 {
        true => 0.0,
        false => x * f64::INFINITY,
    }
}

/// `e^x` for `|x| < 800`.
#[inline]
fn exp_moderate(x: f64) -> f64 {
    let k = nearest(x * std::f64::consts::LOG2_E);
    let high = x - k * LN2_HIGH;
    let low = k * LN2_LOW;
    let r = high - low;
    scaled(1.0 + (exp_rest(r) - low + high), k)
}

/// `e^r - 1 - r` for `|r| <= 0.35`.
#[inline]
fn exp_rest(r: f64) -> f64 {
    let z = r * r;
    let c = r - z
        * (1.666_666_666_666_660_2e-1
            + z * (-2.777_777_777_701_559_3e-3
                + z * (6.613_756_321_437_934e-5
                    + z * (-1.653_390_220_546_525_2e-6 + z * 4.138_136_797_057_238_4e-8))));
    r * c / (2.0 - c)
}

/// The natural logarithm.
pub fn log(x: f64) -> f64 {
    match binary_parts(x) {
        Some((k, m)) => log_sum(k, m),
        None => log_special(x),
    }
}

/// The natural logarithm of a positive normal number.
#[inline]
pub fn log_normal(x: f64) -> f64 {
    let (k, m) = normal_parts(x);
    log_sum(k, m)
}

/// `ln m + k ln 2` for `m` between `sqrt(1/2)` and `sqrt(2)`.
#[inline]
fn log_sum(k: f64, m: f64) -> f64 {
    let f = m - 1.0;
    let half_square = 0.5 * f * f;
    let s = f / (2.0 + f);
    let z = s * s;
    let w = z * z;
    let even = w
        * (0.399_999_999_994_094_2 + w * (0.222_221_984_321_497_84 + w * 0.153_138_376_992_093_73));
    let odd = z
        * (0.666_666_666_666_673_5
            + w * (0.285_714_287_436_623_9
                + w * (0.181_835_721_616_180_5 + w * 0.147_981_986_051_165_86)));
    s * (half_square + odd + even) + k * LN2_LOW - half_square + f + k * LN2_HIGH
}

/// `k` and `m` of `x = 2^k m` with `m` between `sqrt(1/2)` and `sqrt(2)`; none where the logarithm
/// of `x` is not finite.
#[inline]
fn binary_parts(x: f64) -> Option<(f64, f64)> {
    if (f64::MIN_POSITIVE..f64::INFINITY).contains(&x) {
        return Some(normal_parts(x));
    }
    if x > 0.0 && x < f64::MIN_POSITIVE {
        let (k, m) = normal_parts(x * 18_014_398_509_481_984.0); // 2^54
        return Some((k - 54.0, m));
    }
    None
}

#[inline]
fn normal_parts(x: f64) -> (f64, f64) {
    const SQRT_HALF: u64 = 0x3fe6_a09e_0000_0000;
    let shifted = x.to_bits() + (1f64.to_bits() - SQRT_HALF);
    let k = (shifted >> 52) as i32 - 1023;
    let m = f64::from_bits((shifted & ((1 << 52) - 1)) + SQRT_HALF);
    (f64::from(k), m)
}

/// The logarithm of what has no finite one, to any base.
fn log_special(x: f64) -> f64 {
    if x == 0.0 {
        return f64::NEG_INFINITY;
    }
    if x < 0.0 { f64::NAN } else { x }
}

/// The nearest integer to a number below `2^51`. Written as sums because the instruction for it is
/// missing from the oldest machines, and calling the library's function would take longer.
#[inline]
fn nearest(x: f64) -> f64 {
    (x + ROUNDING_SHIFT) - ROUNDING_SHIFT
}

/// `y 2^k`, rounded once, for a `y` near one and an integer `k` below 4,000 in magnitude.
#[inline]
fn scaled(y: f64, k: f64) -> f64 {
    // In two factors, so that neither overflows where the product does not.
    let k = k as i32;
    y * power_of_two(k / 2) * power_of_two(k - k / 2)
}

/// Zero and infinity beyond the range.
#[inline]
fn power_of_two(k: i32) -> f64 {
    f64::from_bits(((k + 1023).clamp(0, 2047) as u64) << 52)
}

/// The upper 26 bits of a number, and the rest.
#[inline]
fn halves(x: f64) -> (f64, f64) {
    let upper = f64::from_bits(x.to_bits() & !((1 << 27) - 1));
    (upper, x - upper)
}

/// `a b` and its rounding error, itself with a relative error of `2^-53`. Dekker's product.
#[inline]
fn product(a: f64, b: f64) -> Dw<f64> {
    let hi = a * b;
    let (a_upper, a_lower) = halves(a);
    let (b_upper, b_lower) = halves(b);
    let rest = ((hi - a_upper * b_upper) - a_lower * b_upper) - a_upper * b_lower;
    Dw {
        hi,
        lo: a_lower * b_lower - rest,
    }
}
