//! Sine and cosine.
//!
//! `x = n pi/2 + r` with `|r| <= pi/4` in two words. Below `2^20`, `n` times the first two of three
//! parts of `pi/2` is exact (Cody and Waite). Beyond, and for the few `r` near zero that this leaves
//! with too few bits, `x` is multiplied by 2/pi in integers (Payne and Hanek, SIGNUM Newsletter 18,
//! 1983).

use super::tables::TWO_OVER_PI;
use super::{ROUNDING_SHIFT, power_of_two, product};
use crate::doubleword::{Dw, fast_two_sum, two_sum};
use std::f64::consts::{FRAC_2_PI, FRAC_PI_2, FRAC_PI_4};

/// `pi/2` in parts of 33, 33 and 53 bits.
const HALF_PI: [f64; 3] = [
    1.5707963267341256,
    6.077100506303966e-11,
    2.0222662487959506e-21,
];

/// What `FRAC_PI_2` leaves of `pi/2`.
const FRAC_PI_2_REST: f64 = 6.123233995736766e-17;

/// The sine.
pub fn sin(x: f64) -> f64 {
    // The sign of zero stays.
    if x.abs() < 7.450580596923828e-9 {
        return x;
    }
    sine_of_quarters(x, 0)
}

/// The cosine.
pub fn cos(x: f64) -> f64 {
    sine_of_quarters(x, 1)
}

/// The sine of `x` and so many quarter turns.
#[inline]
fn sine_of_quarters(x: f64, quarters: u64) -> f64 {
    let (r, n) = reduced(x);
    let n = n.wrapping_add(quarters);
    let value = match n & 1 {
        0 => sin_reduced(r),
        _ => cos_reduced(r),
    };
    f64::from_bits(value.to_bits() ^ (n & 2) << 62)
}

/// `x - n pi/2` and `n` modulo 4, with higher bits that mean nothing.
#[inline]
fn reduced(x: f64) -> (Dw<f64>, u64) {
    let size = x.abs();
    if size <= FRAC_PI_4 {
        return (Dw::from_word(x), 0);
    }
    if size < 1_048_576.0 {
        let shifted = x * FRAC_2_PI + ROUNDING_SHIFT;
        let n = shifted - ROUNDING_SHIFT;
        let partly = two_sum(x - n * HALF_PI[0], -(n * HALF_PI[1]));
        let r = fast_two_sum(partly.hi, partly.lo - n * HALF_PI[2]);
        // Known to 2^-99.
        if r.hi.abs() > 3.725290298461914e-9 {
            return (r, shifted.to_bits());
        }
    }
    reduced_in_integers(x)
}

/// The same for `|x| > pi/4`, up to the largest.
#[cold]
fn reduced_in_integers(x: f64) -> (Dw<f64>, u64) {
    let bits = x.abs().to_bits();
    if bits >= f64::INFINITY.to_bits() {
        return (Dw::from_word(f64::NAN), 0);
    }
    // |x| = digits 2^(start - 62): bits of 2/pi before `start` of the table give multiples of 4.
    let start = (bits >> 52) as usize + 62 - 1075;
    let digits = u128::from((bits & ((1 << 52) - 1)) | 1 << 52);
    let (limb, shift) = (start / 64, start % 64);
    let window = |k: usize| {
        // Two shifts, since one by 64 is not defined.
        let next = TWO_OVER_PI[limb + k + 1] >> 1 >> (63 - shift);
        u128::from(TWO_OVER_PI[limb + k] << shift | next)
    };
    // |x| 2/pi modulo 4 in units of 2^-126.
    let turn = ((digits * window(0)) << 64)
        .wrapping_add(digits * window(1))
        .wrapping_add((digits * window(2)) >> 64);
    let n = ((turn >> 125) + 1) >> 1;
    let rest = turn.wrapping_sub(n << 126) as i128;
    let (negative, n) = (x < 0.0, n as u64);
    let r = quarters_to_radians(rest.unsigned_abs(), (rest < 0) != negative);
    (r, if negative { n.wrapping_neg() } else { n })
}

/// `size 2^-126 pi/2`. No number is so near a multiple of `pi/2` that `size` is below `2^60`.
fn quarters_to_radians(size: u128, negative: bool) -> Dw<f64> {
    let zeros = size.leading_zeros().min(127);
    let normal = size << zeros;
    let unit = power_of_two(-51 - zeros as i32);
    let unit = if negative { -unit } else { unit };
    let high = (normal >> 75) as u64 as f64 * unit;
    let low = ((normal >> 22) as u64 & ((1 << 53) - 1)) as f64 * (unit * f64::EPSILON / 2.0);
    let p = product(high, FRAC_PI_2);
    fast_two_sum(p.hi, p.lo + (high * FRAC_PI_2_REST + low * FRAC_PI_2))
}

/// `sin(hi + lo)` for at most `pi/4`.
#[inline]
fn sin_reduced(r: Dw<f64>) -> f64 {
    let (x, z) = (r.hi, r.hi * r.hi);
    let p = -1.666_666_666_666_663_2e-1
        + z * (8.333_333_333_322_49e-3
            + z * (-1.984_126_982_985_795e-4
                + z * (2.755_731_370_707_006_8e-6
                    + z * (-2.505_076_025_340_686_3e-8 + z * 1.589_690_995_211_55e-10))));
    x + (x * z * p + (r.lo - 0.5 * z * r.lo))
}

/// `cos(hi + lo)` for at most `pi/4`.
#[inline]
fn cos_reduced(r: Dw<f64>) -> f64 {
    let z = r.hi * r.hi;
    let p = 4.166_666_666_666_66e-2
        + z * (-1.388_888_888_887_411e-3
            + z * (2.480_158_728_947_673e-5
                + z * (-2.755_731_435_139_066_3e-7
                    + z * (2.087_572_321_298_175e-9 - z * 1.135_964_755_778_819_5e-11))));
    let half = 0.5 * z;
    let w = 1.0 - half;
    w + ((1.0 - w - half) + (z * z * p - r.hi * r.lo))
}
