//! Powers with a fixed exponent, as functions of one argument.
use kerf_hardround::interval::MpfrInterval;
use rug::Float;
use rug::float::Round;
use rug::ops::{Pow, PowAssignRound};

/// The exponent of x^c, a finite number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FixedExponent(u64);

impl FixedExponent {
    /// c
    pub fn new(c: f64) -> FixedExponent {
        FixedExponent(c.to_bits())
    }
    /// The number.
    pub fn value(self) -> f64 {
        f64::from_bits(self.0)
    }
    /// Whether x^c is a number for all x.
    pub(crate) fn is_of_all_numbers(self) -> bool {
        self.value() >= 0.0 && self.value().fract() == 0.0
    }
    /// x^c to so many bits.
    pub(crate) fn power(self, x: &Float, precision: u32) -> Float {
        let x = Float::with_val(precision.max(x.prec()), x);
        Float::with_val(precision, x.pow(self.value()))
    }
    /// Enclosures of the Taylor coefficients on positive numbers: each is the one before times (c - k + 1) / (k x).
    pub(crate) fn taylor(self, x: &MpfrInterval, n: usize) -> Option<Vec<MpfrInterval>> {
        if x.lo <= 0 {
            return None;
        }
        let precision = x.precision();
        let c = Float::with_val(precision, self.value());
        let power = |a: &mut Float, r: Round| a.pow_assign_round(&c, r);
        let first = match self.value() >= 0.0 {
            true => x.rising(power),
            false => x.falling(power),
        };
        let mut all = vec![first];
        let exponent = MpfrInterval::point(&c, precision);
        for k in 1..=n {
            let factor = exponent.sub(&MpfrInterval::int(k as i64 - 1, precision));
            let next = all[k - 1].mul(&factor).div(x)?.over(k as u32);
            all.push(next);
        }
        Some(all)
    }
}
