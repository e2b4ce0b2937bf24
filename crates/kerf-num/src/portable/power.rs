//! Powers, and the logarithm to base 2, by logarithms of two words.

use super::tables::{FIRST_ROW, LOG_ROWS, ROWS_PER_UNIT};
use super::{
    LN2_HIGH, LN2_LOW, binary_parts, exp_rest, halves, log_special, nearest, product, scaled,
};
use crate::doubleword::{Dw, fast_two_sum, two_sum};

/// `1 / ln 2`.
const LOG2_E: Dw<f64> = Dw {
    hi: std::f64::consts::LOG2_E,
    lo: 2.0355273740931033e-17,
};

/// The logarithm to base 2; of powers of two exactly.
pub fn log2(x: f64) -> f64 {
    let Some((k, m)) = binary_parts(x) else {
        return log_special(x);
    };
    let log = log_pair(0.0, m);
    let p = product(log.hi, LOG2_E.hi);
    let rest = p.lo + (log.hi * LOG2_E.lo + log.lo * LOG2_E.hi);
    let sum = two_sum(k, p.hi);
    sum.hi + (sum.lo + rest)
}

/// `x^y`. A result that is a number of `f64` comes out exactly.
pub fn pow(x: f64, y: f64) -> f64 {
    if y == 2.0 {
        return x * x;
    }
    if y == 0.0 || x == 1.0 {
        return 1.0;
    }
    if x.is_nan() || y.is_nan() {
        return f64::NAN;
    }
    let size = x.abs();
    if y.is_infinite() {
        return power_of_infinity(size, y > 0.0);
    }
    let (whole, odd) = parity(y);
    let value = match binary_parts(size) {
        Some(_) if x < 0.0 && !whole => f64::NAN,
        Some((k, m)) => finite_power(k, m, y),
        // Of zero or infinity.
        None if (size == 0.0) == (y > 0.0) => 0.0,
        None => f64::INFINITY,
    };
    if odd && x.is_sign_negative() {
        -value
    } else {
        value
    }
}

/// `size^y` for an infinite `y`.
fn power_of_infinity(size: f64, positive: bool) -> f64 {
    if size == 1.0 {
        return 1.0;
    }
    match (size > 1.0) == positive {
        true => f64::INFINITY,
        false => 0.0,
    }
}

/// Whether a finite number is an integer, and whether an odd one.
fn parity(y: f64) -> (bool, bool) {
    // All numbers from 2^53 on are even.
    if y.abs() >= 9_007_199_254_740_992.0 {
        return (true, false);
    }
    let integer = y as i64;
    let whole = integer as f64 == y;
    (whole, whole && integer & 1 == 1)
}

/// `(2^k m)^y` for a finite `y` other than zero.
fn finite_power(k: f64, m: f64, y: f64) -> f64 {
    let log = log_pair(k, m);
    let plain = y * log.hi;
    if plain.abs() < 1000.0 {
        let p = product(y, log.hi);
        return exp_pair(p.hi, p.lo + y * log.lo);
    }
    match plain > 0.0 {
        true => f64::INFINITY,
        false => 0.0,
    }
}

/// `ln m + k ln 2` in two words, relative error around `2^-67`, for `m` between `sqrt(1/2)` and
/// `sqrt(2)`.
///
/// With `r` near `1 / m`: `ln m = ln(1 + z) - ln r`, where `z = r m - 1` is exact in two words and at
/// most `2^-6.4` (P. T. P. Tang, ACM TOMS 16(4), 1990). Of the series, `z` and its square have two
/// words.
fn log_pair(k: f64, m: f64) -> Dw<f64> {
    let [r, log_high, log_low] = LOG_ROWS[(m * ROWS_PER_UNIT + 0.5) as usize - FIRST_ROW];
    let (upper, lower) = halves(m);
    let z = two_sum(upper * r - 1.0, lower * r);
    let square = product(z.hi, z.hi);
    let cubic = z.hi * square.hi * log_tail(z.hi);
    // Exact: both are multiples of 2^-32.
    let sum = two_sum(k * LN2_HIGH + log_high, z.hi);
    let more = two_sum(sum.hi, -0.5 * square.hi);
    let rest = (z.lo - z.hi * z.lo - 0.5 * square.lo) + (k * LN2_LOW + log_low) + cubic;
    fast_two_sum(more.hi, sum.lo + more.lo + rest)
}

/// `(ln(1 + z) - z + z^2 / 2) / z^3`.
#[inline]
fn log_tail(z: f64) -> f64 {
    const NINTH: f64 = 1.0 / 9.0;
    const SEVENTH: f64 = 1.0 / 7.0;
    const THIRD: f64 = 1.0 / 3.0;
    let high = SEVENTH - z * (0.125 - z * (NINTH - z * (0.1 - z * (1.0 / 11.0))));
    THIRD - z * (0.25 - z * (0.2 - z * (1.0 / 6.0 - z * high)))
}

/// `e^(hi + lo)` for a `hi` below 1,000 in magnitude and a `lo` that is small beside it.
fn exp_pair(hi: f64, lo: f64) -> f64 {
    let k = nearest(hi * LOG2_E.hi);
    let r = two_sum(hi - k * LN2_HIGH, lo - k * LN2_LOW);
    let sum = fast_two_sum(1.0, r.hi);
    let rest = sum.lo + (r.lo + r.hi * r.lo) + exp_rest(r.hi);
    scaled(sum.hi + rest, k)
}
