//! Sine, cosine and tangent of every argument of a grid whose steps are too long for polynomials: a turn by a few
//! steps is a product with its sine and cosine, which are computed once.
//!
//! Values are multiples of 2^-126. A product of entries, each off by less than 1, is off by less than 6, a sum of two by
//! less than 12. In half units of binary64 that is 12 * 2^-61 for values of 2^-12; tangents of sines and cosines from there on
//! are off by 2^-109 relatively, and F, below 2^54, by less than 2^-55. Smaller values are MPFR's.
use crate::format::{BinadeGrid, BinaryFormat};
use crate::function::ElementaryFunction;
use rug::Float;
#[cfg(test)]
use rug::Integer;
use rug::float::Round;

/// Steps of a table: as many values come of one call of MPFR.
const TURNS: u64 = 1024;
/// Bits after the point.
const POINT: u32 = 126;
/// Values below 2 to minus this are left to MPFR.
const SMALLEST: u32 = 12;
/// Bound of a value's error.
pub const ERROR: f64 = 1.0 / (1u64 << 55) as f64;
/// Steps from 2 to this on are too long for polynomials of enough arguments.
const LEAST_STEP: i32 = -18;

/// Whether a grid is visited so.
pub fn serves(f: ElementaryFunction, grid: &BinadeGrid) -> bool {
    use ElementaryFunction::{Cos, Cospi, Sin, Sinpi, Tan, Tanpi};
    let turns = matches!(f, Sin | Cos | Tan | Sinpi | Cospi | Tanpi);
    turns && grid.exponent >= LEAST_STEP
}

/// Whether a function is of pi times its argument.
fn of_pi(f: ElementaryFunction) -> bool {
    use ElementaryFunction::{Cospi, Sinpi, Tanpi};
    matches!(f, Sinpi | Cospi | Tanpi)
}

/// Sine and cosine in multiples of 2^-126.
#[derive(Clone, Copy)]
struct Turn {
    sin: i128,
    cos: i128,
}

impl Turn {
    /// Of x, or of pi x.
    fn new(x: Float, of_pi: bool) -> Turn {
        let mut cos = Float::with_val(192, &x);
        let mut sin = Float::with_val(192, &x);
        match of_pi {
            false => {
                sin.sin_cos_round(&mut cos, Round::Nearest);
            }
            true => {
                sin.sin_pi_round(Round::Nearest);
                cos.cos_pi_round(Round::Nearest);
            }
        }
        // Below 1 in magnitude but for rounding: 2^126 has room.
        let fixed = |v: Float| {
            let v = v << POINT;
            let i = v.to_integer_round(Round::Nearest).map(|i| i.0);
            i.and_then(|i| i.to_i128()).unwrap_or(0)
        };
        Turn {
            sin: fixed(sin),
            cos: fixed(cos),
        }
    }

    fn sin(self, o: Turn) -> u128 {
        (times(self.sin, o.cos) + times(self.cos, o.sin)).unsigned_abs()
    }

    fn cos(self, o: Turn) -> u128 {
        (times(self.cos, o.cos) - times(self.sin, o.sin)).unsigned_abs()
    }
}

/// The product, too small by less than 4 in magnitude.
fn times(a: i128, b: i128) -> i128 {
    let high = upper(a.unsigned_abs(), b.unsigned_abs()) << 2;
    match (a < 0) != (b < 0) {
        true => -(high as i128),
        false => high as i128,
    }
}

/// The upper half of a product.
fn upper(a: u128, b: u128) -> u128 {
    let (a1, a0) = (a >> 64, a & u128::from(u64::MAX));
    let (b1, b0) = (b >> 64, b & u128::from(u64::MAX));
    let low = (a0 * b0) >> 64;
    let middle = a1 * b0 + low;
    let other = a0 * b1 + (middle & u128::from(u64::MAX));
    a1 * b1 + (middle >> 64) + (other >> 64)
}

/// The first of 128 bits of a quotient: `(a << shift) / b` rounded down, and that shift. It has 125 or 126 bits.
fn quotient(a: u128, b: u128) -> (u128, u32) {
    let (left, right) = (a.leading_zeros(), b.leading_zeros());
    let (a, b) = (a << left, b << right);
    let (rest, first) = divide(a >> 3, (a << 61) as u64, b);
    (first << 64 | divide(rest, 0, b).1, 125 + left - right)
}

/// Remainder and quotient of (n 2^64 + low) / d, for n < d and a d whose first bit is set: Knuth's division by two words.
#[inline(always)]
fn divide(n: u128, low: u64, d: u128) -> (u128, u128) {
    const ONE: u128 = 1 << 64;
    let (d1, d0) = (d >> 64, d & (ONE - 1));
    let mut q = if n >> 64 >= d1 { ONE - 1 } else { n / d1 };
    let mut r = n - q * d1;
    while r < ONE && q * d0 > (r << 64 | u128::from(low)) {
        q -= 1;
        r += d1;
    }
    let rest = (r << 64 | u128::from(low)).wrapping_sub(q * d0);
    (rest, q)
}

/// Calls `each` for every argument with F modulo 1 in 64 bits, within [`ERROR`] of it; none where MPFR has to decide.
pub fn visit(
    f: ElementaryFunction,
    format: BinaryFormat,
    grid: &BinadeGrid,
    each: impl FnMut(u64, Option<u64>),
) {
    let least = 1u128 << (POINT - SMALLEST);
    match f {
        ElementaryFunction::Sin | ElementaryFunction::Sinpi => {
            turn(f, grid, each, |a, b| fraction(format, a.sin(b), POINT))
        }
        ElementaryFunction::Cos | ElementaryFunction::Cospi => {
            turn(f, grid, each, |a, b| fraction(format, a.cos(b), POINT))
        }
        _ => turn(f, grid, each, |a, b| {
            let (s, c) = (a.sin(b), a.cos(b));
            if s < least || c < least {
                return None;
            }
            let (v, point) = quotient(s, c);
            fraction(format, v, point)
        }),
    }
}

fn turn(
    f: ElementaryFunction,
    grid: &BinadeGrid,
    mut each: impl FnMut(u64, Option<u64>),
    value: impl Fn(Turn, Turn) -> Option<u64>,
) {
    let exact = |m: u64| grid.float(m, 64);
    let count = TURNS.min(grid.len());
    let of_pi = of_pi(f);
    let table: Vec<Turn> = (0..count).map(|m| Turn::new(exact(m), of_pi)).collect();
    let mut at = grid.first;
    while at < grid.end {
        let base = Turn::new(exact(at), of_pi);
        for (m, turn) in (at..grid.end).zip(&table) {
            each(m, value(base, *turn));
        }
        at += count;
    }
}

/// F modulo 1 from a value with so many bits after the point.
#[inline(always)]
fn fraction(format: BinaryFormat, v: u128, point: u32) -> Option<u64> {
    let exponent = 127 - v.leading_zeros() as i32 - point as i32;
    if exponent < -(SMALLEST as i32) || exponent >= format.highest {
        return None;
    }
    // Bits after the round bit.
    let bits = point as i32 + format.ulp(exponent) - 1;
    match bits - 64 {
        more @ 0.. => Some((v >> more) as u64),
        less => Some((v << -less) as u64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As GMP divides, also next to the ends of what a word of the quotient can be.
    #[test]
    fn quotients() {
        let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
        let mut word = || {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            seed
        };
        let mut wide = || match word() % 4 {
            0 => u128::from(word()) << 63 | u128::from(u64::MAX),
            1 => u128::from(u64::MAX) << (word() % 63) | u128::from(word() % 3),
            2 => (1u128 << (64 + word() % 63)) - u128::from(word() % 3),
            _ => u128::from(word()) << 63 | u128::from(word()),
        };
        for _ in 0..20_000 {
            let (a, b) = (wide(), wide());
            let (q, shift) = quotient(a, b);
            let exact = (Integer::from(a) << shift) / Integer::from(b);
            assert_eq!(exact, q, "{a} {b}");
            assert!((125..=126).contains(&(128 - q.leading_zeros())), "{a} {b}");
        }
    }
}
