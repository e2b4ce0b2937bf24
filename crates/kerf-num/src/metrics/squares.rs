//! A sum of squares that neither overflows nor underflows.
//!
//! What holds: the terms are squared after scaling by a power of two chosen from
//! the largest so far, and summed in double-double, so the root of the sum is
//! within a few ulps wherever it is in range.

use crate::dd::Dd;
use crate::exponent::{exponent, scale};

/// `sum * 2^(2 * exponent)` of the squares pushed so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SumOfSquares {
    exponent: i32,
    sum: Dd,
}

impl SumOfSquares {
    /// `sum * 2^(2 * exponent)`, the exponent being that of the largest term. Where a term is infinite, the sum is.
    pub fn from_scaled(sum: Dd, exponent: i32) -> SumOfSquares {
        SumOfSquares { exponent, sum }
    }

    /// Adds `x^2`.
    pub(super) fn push(&mut self, x: f64) {
        if x == 0.0 {
            return;
        }
        if !x.is_finite() {
            self.sum = Dd::from_f64(x.abs());
            return;
        }
        let e = exponent(x);
        if self.sum == Dd::ZERO {
            self.exponent = e;
        } else if e > self.exponent {
            self.sum = self.sum.ldexp((self.exponent - e).saturating_mul(2));
            self.exponent = e;
        }
        let scaled = Dd::from_f64(scale(x, -self.exponent));
        self.sum += scaled.mul(scaled);
    }

    /// The root of the sum over `count`.
    pub(super) fn root_mean(&self, count: f64) -> f64 {
        scale(self.sum.div_f64(count).sqrt().to_f64(), self.exponent)
    }

    /// The root of this sum over the root of `other`, or over `floor` where that
    /// is larger. Zero where this sum is zero.
    pub(super) fn norm_ratio(&self, other: &SumOfSquares, floor: f64) -> f64 {
        if self.sum == Dd::ZERO {
            return 0.0;
        }
        if other.root_mean(1.0) >= floor && other.sum != Dd::ZERO {
            let ratio = self.sum.div(other.sum).sqrt().to_f64();
            scale(ratio, self.exponent - other.exponent)
        } else {
            self.root_mean(1.0) / floor
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum_of_terms(terms: &[f64]) -> SumOfSquares {
        let mut sum = SumOfSquares::default();
        terms.iter().for_each(|&x| sum.push(x));
        sum
    }

    #[test]
    fn three_four_five_at_every_size() {
        for size in [1.0, 1e-300, 1e300, 2f64.powi(-1070)] {
            let sum = sum_of_terms(&[3.0 * size, 0.0, 4.0 * size]);
            assert_eq!(sum.root_mean(1.0), 5.0 * size);
        }
    }

    #[test]
    fn small_terms_before_and_after_a_large_one_count() {
        let tiny = 2f64.powi(-30);
        let mut terms = vec![tiny; 1 << 10];
        terms.push(1.0);
        terms.extend(vec![tiny; 1 << 10]);
        let expected = (Dd::ONE + Dd::from_f64(2f64.powi(-49))).sqrt().to_f64();
        assert_eq!(sum_of_terms(&terms).root_mean(1.0), expected);
    }

    #[test]
    fn ratio_of_norms_and_its_floor() {
        assert_eq!(
            sum_of_terms(&[1e-300]).norm_ratio(&sum_of_terms(&[2e-300]), 0.0),
            0.5
        );
        assert_eq!(
            sum_of_terms(&[1e-300]).norm_ratio(&sum_of_terms(&[0.0]), 2e-300),
            0.5
        );
        assert_eq!(sum_of_terms(&[]).norm_ratio(&sum_of_terms(&[]), 0.0), 0.0);
        assert_eq!(
            sum_of_terms(&[1.0]).norm_ratio(&sum_of_terms(&[]), 0.0),
            f64::INFINITY
        );
        assert_eq!(
            sum_of_terms(&[f64::INFINITY, 1.0]).root_mean(2.0),
            f64::INFINITY
        );
    }
}
