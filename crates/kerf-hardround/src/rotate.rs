//! Sine, cosine and tangent of every argument of a grid whose steps are too long for polynomials: a turn by a few
//! steps is a product with its sine and cosine, which are computed once.
//!
//! Values are multiples of 2^-126. A product of entries, each off by less than 1, is off by less than 6, a sum of two by
//! less than 12. In half units of binary64 that is 12 * 2^-61 for values of 2^-12; tangents of sines and cosines from there on
//! are off by 2^-109 relatively, and F, below 2^54, by less than 2^-55. Smaller values are MPFR's.
use crate::format::{Format, Grid};
use crate::function::Function;
use rug::float::Round;
use rug::{Float, Integer};

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
pub fn serves(f: Function, grid: &Grid) -> bool {
    let turns = matches!(f, Function::Sin | Function::Cos | Function::Tan);
    turns && grid.exponent >= LEAST_STEP
}

/// Sine and cosine in multiples of 2^-126.
#[derive(Clone, Copy)]
struct Turn {
    sin: i128,
    cos: i128,
}

impl Turn {
    fn new(x: Float) -> Turn {
        let mut cos = Float::new(192);
        let mut sin = Float::with_val(192, &x);
        sin.sin_cos_round(&mut cos, Round::Nearest);
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

    fn then(self, o: Turn) -> Turn {
        Turn {
            sin: times(self.sin, o.cos) + times(self.cos, o.sin),
            cos: times(self.cos, o.cos) - times(self.sin, o.sin),
        }
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

/// Calls `each` for every argument with F modulo 1 in 64 bits, within [`ERROR`] of it; none where MPFR has to decide.
pub fn visit(f: Function, format: Format, grid: &Grid, mut each: impl FnMut(u64, Option<u64>)) {
    let exact = |m: u64| grid.float(m, 64);
    let count = TURNS.min(grid.len());
    let table: Vec<Turn> = (0..count).map(|m| Turn::new(exact(m))).collect();
    let mut at = grid.first;
    while at < grid.end {
        let base = Turn::new(exact(at));
        for (m, turn) in (at..grid.end).zip(&table) {
            each(m, fraction(f, format, base.then(*turn)));
        }
        at += count;
    }
}

/// F modulo 1 from a sine and a cosine.
fn fraction(f: Function, format: Format, t: Turn) -> Option<u64> {
    let least = 1u128 << (POINT - SMALLEST);
    let (s, c) = (t.sin.unsigned_abs(), t.cos.unsigned_abs());
    let (v, point) = match f {
        Function::Sin => (s, POINT),
        Function::Cos => (c, POINT),
        _ if s < least || c < least => return None,
        _ => {
            // As many bits after the point as give the quotient 125 or 126.
            let point = 125 + s.leading_zeros() - c.leading_zeros();
            let v = (Integer::from(s) << point) / Integer::from(c);
            (v.to_u128()?, point)
        }
    };
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
