//! One argument decided with MPFR: how many identical bits follow the round bit.
use crate::format::BinaryFormat;
use crate::function::ElementaryFunction;
use rug::float::Round;
use rug::integer::Order;
use rug::{Float, Integer};
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;

/// What one argument's value looks like after the last bit of the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfirmedValue {
    /// Identical bits after the round bit; none for an exact case (no other bits follow).
    pub k: Option<u32>,
    /// The round bit.
    pub round_bit: bool,
    /// Whether the identical bits are ones: the value lies just below a number of one bit more.
    pub ones: bool,
    /// Whether the value is negative.
    pub negative: bool,
    /// Exponent of the value's leading bit.
    pub exponent: i32,
}

/// First precision tried beyond the format's: enough for all but few arguments.
const BEYOND: u32 = 80;
/// Bits of a value at most. Subnormal arguments need about 3300: sin x is x - x^3/6.
const MOST_BITS: u32 = 1 << 14;
/// Exponents beyond these are outside every format.
const FAR: i32 = 1 << 20;

/// Why an argument has no [`ConfirmedValue`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoValue {
    /// The value is zero.
    Zero,
    /// It is beyond the largest number, or below a quarter of the smallest: half of it is where rounding changes.
    Range,
    /// The function is not defined there.
    Domain,
    /// It is nearer to a number than 2^-257 of its unit, or than [`MOST_BITS`] can tell: next to the limit of a function
    /// such as tanh, as many identical bits follow as anyone asks for.
    Limit,
}

/// Decides one argument. Truncated values show the true bits, and MPFR says whether they are all; where
/// they are the same to the end, more are computed.
pub fn value(
    f: ElementaryFunction,
    format: BinaryFormat,
    x: &Float,
) -> Result<ConfirmedValue, NoValue> {
    if f.beyond(x.to_f64()) == Some("limit") {
        return Err(NoValue::Limit);
    }
    let mut bits = format.precision + BEYOND;
    while bits <= MOST_BITS {
        let mut y = Float::with_val(bits.max(x.prec()), x);
        let order = f.apply(&mut y, Round::Zero);
        if y.is_zero() && order == Ordering::Equal {
            return Err(NoValue::Zero);
        }
        if !y.is_finite() {
            return Err(NoValue::Domain);
        }
        let Some(e) = y.get_exp().filter(|e| e.abs() < FAR) else {
            return Err(NoValue::Range);
        };
        let exponent = e - 1;
        if exponent > format.highest || exponent < format.lowest - 2 {
            return Err(NoValue::Range);
        }
        if let Some((k, round_bit, ones)) = tail(&y, order == Ordering::Equal, format.ulp(exponent))
        {
            return Ok(ConfirmedValue {
                k,
                round_bit,
                ones,
                negative: y.is_sign_negative(),
                exponent,
            });
        }
        bits *= 2;
    }
    Err(NoValue::Limit)
}

/// Identical bits after the round bit of a truncated value; none if they may go on.
fn tail(y: &Float, exact: bool, ulp: i32) -> Option<(Option<u32>, bool, bool)> {
    // |y| = m 2^e
    let (m, e) = y.to_integer_exp()?;
    let m: Integer = m.abs();
    let below = ulp - 1 - e; // bits after the round bit
    if below <= 0 {
        // Only exact values have none; truncated ones have at least the precision.
        return exact.then_some((None, below == 0 && m.get_bit(0), false));
    }
    let below = below as u32;
    let round_bit = m.get_bit(below);
    let first = m.get_bit(below - 1);
    let mut k = 0;
    while k < below && m.get_bit(below - 1 - k) == first {
        k += 1;
    }
    match (k == below, exact, first) {
        (false, ..) => Some((Some(k), round_bit, first)),
        (true, true, false) => Some((None, round_bit, false)),
        // All ones, then zeros for ever.
        (true, true, true) => Some((Some(k), round_bit, true)),
        (true, false, _) => None,
    }
}

/// An integer's 64-bit words, least first.
pub(crate) fn words(i: &Integer) -> Vec<u64> {
    i.to_digits::<u64>(Order::Lsf)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::BINARY64;
    use crate::function::FUNCTIONS;

    /// Every number has a value or a reason: next to limits, of subnormal and of the largest arguments.
    #[test]
    fn every_argument_is_decided() {
        let sizes = [
            f64::from_bits(1),
            f64::MIN_POSITIVE,
            1e-300,
            1e-8,
            0.5,
            0.625,
            1.0,
            3.0,
            25.0,
            1e3,
            1e6,
            1e16,
            1e300,
            f64::MAX,
        ];
        let powers = [
            ("x^64", ElementaryFunction::Power(64)),
            ("x^-3", ElementaryFunction::Power(-3)),
        ];
        for (name, f) in FUNCTIONS.into_iter().chain(powers) {
            for x in sizes.into_iter().flat_map(|x| [x, -x]) {
                let v = value(f, BINARY64, &Float::with_val(64, x));
                assert!(f.has(x) || v == Err(NoValue::Domain), "{name} {x:e} {v:?}");
                let inside = (0.6..0.7).contains(&x) && f.has(x);
                assert!(v.is_ok() || !inside, "{name} {x:e} {v:?}");
            }
        }
        let far = |f, x| value(f, BINARY64, &Float::with_val(64, x));
        assert_eq!(far(ElementaryFunction::Tanh, 1e300), Err(NoValue::Limit));
        assert_eq!(far(ElementaryFunction::Erfc, -1e5), Err(NoValue::Limit));
        assert_eq!(far(ElementaryFunction::Expm1, -1e9), Err(NoValue::Limit));
    }
}
