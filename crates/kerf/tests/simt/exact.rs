//! Exact arithmetic on a few thousand bits, and correct rounding from it.
use half::{bf16, f16};
use rug::Float;
use rug::float::Round;

/// Enough for any product of two doubles plus a third; quotients and roots are rounded in the
/// direction of the final rounding, so that rounding twice changes nothing.
const BITS: u32 = 8000;

pub fn number(x: f64) -> Float {
    Float::with_val(BITS, x)
}

/// x + y, x * y, x / y, sqrt(x) and x * y + z under a directed rounding.
pub fn add(x: f64, y: f64, r: Round) -> Float {
    Float::with_val_round(BITS, &number(x) + &number(y), r).0
}
pub fn mul(x: f64, y: f64, r: Round) -> Float {
    Float::with_val_round(BITS, &number(x) * &number(y), r).0
}
pub fn div(x: f64, y: f64, r: Round) -> Float {
    Float::with_val_round(BITS, &number(x) / &number(y), r).0
}
pub fn sqrt(x: f64, r: Round) -> Float {
    Float::with_val_round(BITS, number(x).sqrt_ref(), r).0
}
pub fn fma(x: f64, y: f64, z: f64, r: Round) -> Float {
    Float::with_val_round(BITS, &mul(x, y, r) + &number(z), r).0
}

/// Truncates to 53 bits with the last one telling whether anything was cut off; rounding that to a
/// format of at most 51 bits is correct.
fn sticky(e: &Float) -> f64 {
    let t = e.to_f64_round(Round::Zero);
    if *e == t || t.is_nan() || t.is_infinite() {
        t
    } else {
        f64::from_bits(t.to_bits() | 1)
    }
}

/// Rounds to `bits` of significand with smallest exponent `emin` and largest finite value `most`.
fn small(e: &Float, bits: i32, emin: i32, most: f64, r: Round) -> f64 {
    let v = sticky(e);
    if v == 0.0 || !v.is_finite() {
        return v;
    }
    let exponent = ((v.to_bits() >> 52) & 0x7ff) as i32 - 1023;
    let unit = 2f64.powi(exponent.max(emin) - (bits - 1));
    let q = v / unit;
    let q = match r {
        Round::Zero => q.trunc(),
        Round::Up => q.ceil(),
        Round::Down => q.floor(),
        _ => q.round_ties_even(),
    };
    let w = (q * unit).abs();
    let toward_zero = matches!(
        (r, v > 0.0),
        (Round::Zero, _) | (Round::Up, false) | (Round::Down, true)
    );
    let w = if w <= most {
        w
    } else if toward_zero {
        most
    } else {
        f64::INFINITY
    };
    w.copysign(v)
}

/// To f16.
pub fn to_f16(e: &Float, r: Round) -> f16 {
    f16::from_f64(small(e, 11, -14, 65504.0, r))
}

/// To bf16.
pub fn to_bf16(e: &Float, r: Round) -> bf16 {
    bf16::from_f64(small(e, 8, -126, f64::from(bf16::MAX), r))
}
