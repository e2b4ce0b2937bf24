//! Exact non-negative fixed-point numbers wide enough for every finite `f64`.
//!
//! A [`Fixed`] is an integer count of `2^-1074`, the smallest subnormal, in
//! 2112 bits: the largest finite `f64` needs 2098 of them, and the sum of two
//! needs 2099. What holds: addition, subtraction and remainder are exact, and
//! [`Fixed::to_f64`] rounds to nearest even once. It serves the operations whose
//! double-word form would lose bits without bound, such as `fmod`.

use std::cmp::Ordering;

const LIMBS: usize = 33;

/// An exact non-negative multiple of `2^-1074`, least significant limb first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fixed([u64; LIMBS]);

impl Fixed {
    /// `|x|`, exactly. `x` must be finite.
    pub(crate) fn from_magnitude(x: f64) -> Fixed {
        let bits = x.to_bits() & !(1 << 63);
        let field = (bits >> 52) as usize;
        let fraction = bits & ((1 << 52) - 1);
        let (mantissa, shift) = match field {
            0 => (fraction, 0),
            _ => (fraction | 1 << 52, field - 1),
        };
        let mut limbs = [0; LIMBS];
        let wide = u128::from(mantissa) << (shift % 64);
        limbs[shift / 64] = wide as u64;
        // The largest shift is 2045, whose second limb is the last one.
        limbs[shift / 64 + 1] = (wide >> 64) as u64;
        Fixed(limbs)
    }

    /// The sum. It cannot overflow for values that came from two `f64`s.
    pub(crate) fn plus(mut self, rhs: &Fixed) -> Fixed {
        let mut carry = false;
        for (a, &b) in self.0.iter_mut().zip(&rhs.0) {
            let (sum, c1) = a.overflowing_add(b);
            let (sum, c2) = sum.overflowing_add(u64::from(carry));
            *a = sum;
            carry = c1 | c2;
        }
        self
    }

    /// The difference. `self` must not be below `rhs`.
    pub(crate) fn minus(mut self, rhs: &Fixed) -> Fixed {
        let mut borrow = false;
        for (a, &b) in self.0.iter_mut().zip(&rhs.0) {
            let (difference, b1) = a.overflowing_sub(b);
            let (difference, b2) = difference.overflowing_sub(u64::from(borrow));
            *a = difference;
            borrow = b1 | b2;
        }
        self
    }

    /// `self mod divisor`, by long division. `divisor` must not be zero.
    pub(crate) fn modulo(self, divisor: &Fixed) -> Fixed {
        let mut rest = self;
        let Some(steps) = rest.bit_length().checked_sub(divisor.bit_length()) else {
            return rest;
        };
        let mut subtrahend = divisor.clone().shifted_left(steps);
        for _ in 0..=steps {
            if rest >= subtrahend {
                rest = rest.minus(&subtrahend);
            }
            subtrahend.halve();
        }
        rest
    }

    /// The nearest `f64`, ties to even.
    pub(crate) fn to_f64(&self) -> f64 {
        let length = self.bit_length();
        let Some(shift) = length.checked_sub(53).filter(|&s| s > 0) else {
            // The encoding of m * 2^-1074 is m itself up to 53 bits.
            return f64::from_bits(self.0[0]);
        };
        let mut top = self.word_at(shift) & ((1 << 53) - 1);
        let round_bit = self.word_at(shift - 1) & 1 == 1;
        if round_bit && (top & 1 == 1 || self.any_below(shift - 1)) {
            top += 1;
        }
        // The hidden bit, and a carry out of the rounding, add to the exponent.
        f64::from_bits(((shift as u64) << 52) + top)
    }

    /// Number of bits up to the highest set one; 0 for zero.
    fn bit_length(&self) -> usize {
        match self.0.iter().rposition(|&limb| limb != 0) {
            Some(i) => 64 * i + 64 - self.0[i].leading_zeros() as usize,
            None => 0,
        }
    }

    /// The 64 bits that start at bit `at`.
    fn word_at(&self, at: usize) -> u64 {
        let (limb, bit) = (at / 64, at % 64);
        let high = self.0.get(limb + 1).copied().unwrap_or(0);
        ((u128::from(high) << 64 | u128::from(self.0[limb])) >> bit) as u64
    }

    /// Whether any bit below bit `at` is set.
    fn any_below(&self, at: usize) -> bool {
        let (limb, bit) = (at / 64, at % 64);
        self.0[..limb].iter().any(|&l| l != 0) || self.0[limb] & ((1 << bit) - 1) != 0
    }

    fn shifted_left(self, by: usize) -> Fixed {
        let (limbs, bits) = (by / 64, by % 64);
        let mut out = [0; LIMBS];
        for i in (limbs..LIMBS).rev() {
            let low = if i > limbs { self.0[i - limbs - 1] } else { 0 };
            let wide = u128::from(self.0[i - limbs]) << 64 | u128::from(low);
            out[i] = (wide << bits >> 64) as u64;
        }
        Fixed(out)
    }

    fn halve(&mut self) {
        for i in 0..LIMBS {
            let high = self.0.get(i + 1).copied().unwrap_or(0);
            self.0[i] = self.0[i] >> 1 | high << 63;
        }
    }
}

impl PartialOrd for Fixed {
    fn partial_cmp(&self, other: &Fixed) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Fixed {
    fn cmp(&self, other: &Fixed) -> Ordering {
        self.0.iter().rev().cmp(other.0.iter().rev())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_size_survives_the_round_trip() {
        for x in [
            0.0,
            f64::from_bits(1),
            f64::from_bits((1 << 52) - 1),
            f64::MIN_POSITIVE,
            f64::MIN_POSITIVE * 1.5,
            0.1,
            1.0,
            1e300,
            f64::MAX,
        ] {
            assert_eq!(Fixed::from_magnitude(x).to_f64(), x);
            assert_eq!(Fixed::from_magnitude(-x).to_f64(), x);
        }
    }

    #[test]
    fn to_f64_rounds_ties_to_even() {
        let half_ulp = Fixed::from_magnitude(f64::EPSILON / 2.0);
        let tie_down = Fixed::from_magnitude(1.0).plus(&half_ulp);
        assert_eq!(tie_down.to_f64(), 1.0);
        let above = tie_down.plus(&Fixed::from_magnitude(f64::from_bits(1)));
        assert_eq!(above.to_f64(), 1.0 + f64::EPSILON);
        let tie_up = Fixed::from_magnitude(1.0 + f64::EPSILON).plus(&half_ulp);
        assert_eq!(tie_up.to_f64(), 1.0 + 2.0 * f64::EPSILON);
        // A carry that runs into the exponent.
        let below_two = Fixed::from_magnitude(2.0 - f64::EPSILON).plus(&half_ulp);
        assert_eq!(below_two.to_f64(), 2.0);
    }

    #[test]
    fn modulo_agrees_with_the_exact_f64_remainder() {
        for (a, b) in [
            (10.0, 3.0),
            (1e300, 3.7e-200),
            (f64::MAX, f64::from_bits(3)),
            (5.5, 0.1),
            (6.0, 3.0),
            (2.0, 5.0),
            (f64::MIN_POSITIVE, f64::from_bits(7)),
        ] {
            let rest = Fixed::from_magnitude(a).modulo(&Fixed::from_magnitude(b));
            assert_eq!(rest.to_f64(), a % b, "{a} mod {b}");
        }
    }
}
