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
}

/// Decides one argument. Truncated values show the true bits, and MPFR says whether they are all; where
/// they are the same to the end, more are computed.
pub fn value(
    f: ElementaryFunction,
    format: BinaryFormat,
    x: &Float,
) -> Result<ConfirmedValue, NoValue> {
    let mut bits = format.precision + BEYOND;
    loop {
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
