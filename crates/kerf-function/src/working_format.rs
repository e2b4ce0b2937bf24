//! The format that an implementation computes in, and bounds of its rounding.
pub use kerf_num::made::WorkingFormat;
use rug::Float;

/// Rounding into a format, and what it costs.
pub trait FormatRounding {
    /// The nearest number of the format.
    fn round(self, x: &Float) -> f64;
    /// A bound of the rounding error of a result whose exact magnitude is at most `magnitude`: half of the last place
    /// there, or half of the smallest number.
    fn rounding_error(self, magnitude: f64) -> f64;
}

impl FormatRounding for WorkingFormat {
    fn round(self, x: &Float) -> f64 {
        match self {
            WorkingFormat::F64 => x.to_f64(),
            WorkingFormat::F32 => f64::from(x.to_f32()),
        }
    }
    fn rounding_error(self, magnitude: f64) -> f64 {
        if !magnitude.is_finite() {
            return f64::INFINITY;
        }
        let (_, exponent) = Float::with_val(53, magnitude).to_f64_exp();
        // magnitude < 2^exponent; a magnitude of exactly 2^exponent has `exponent + 1` from MPFR.
        let half_last_place = match magnitude {
            0.0 => 0.0,
            _ => 2f64.powi(exponent.max(-1000) - 1) * self.unit_roundoff(),
        };
        half_last_place.max(self.smallest_subnormal())
    }
}

#[cfg(test)]
mod tests {
    use super::WorkingFormat::{F32, F64};
    use super::*;

    #[test]
    fn rounding_error_is_half_of_the_last_place() {
        assert_eq!(F64.rounding_error(1.0), f64::EPSILON / 2.0);
        assert_eq!(F64.rounding_error(0.99), f64::EPSILON / 4.0);
        assert_eq!(F64.rounding_error(1.99), f64::EPSILON / 2.0);
        assert_eq!(F32.rounding_error(3.0), f64::from(f32::EPSILON));
        assert!(F32.rounding_error(1e-40) >= 2f64.powi(-150));
        assert_eq!(F64.rounding_error(0.0), f64::from_bits(1));
    }
}
