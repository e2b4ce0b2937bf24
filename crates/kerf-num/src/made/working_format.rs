//! The format that an implementation computes in: each operation rounds once, to nearest even.
use serde::{Deserialize, Serialize};

/// f64 or f32. Values of both are held as `f64`, which has every number of f32.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WorkingFormat {
    /// binary64
    F64,
    /// binary32
    F32,
}

use WorkingFormat::{F32, F64};

impl WorkingFormat {
    /// `f64` or `f32`.
    pub fn name(self) -> &'static str {
        match self {
            F64 => "f64",
            F32 => "f32",
        }
    }
    /// The format of a name.
    pub fn find(name: &str) -> Option<WorkingFormat> {
        [F64, F32].into_iter().find(|f| f.name() == name)
    }
    /// Bits of a significand, the leading one included.
    pub fn significand_bits(self) -> u32 {
        match self {
            F64 => 53,
            F32 => 24,
        }
    }
    /// Half of the distance from 1 to the next larger number.
    pub fn unit_roundoff(self) -> f64 {
        2f64.powi(-(self.significand_bits() as i32))
    }
    /// The smallest positive normal number.
    pub fn smallest_normal(self) -> f64 {
        match self {
            F64 => f64::MIN_POSITIVE,
            F32 => f64::from(f32::MIN_POSITIVE),
        }
    }
    /// The smallest positive number.
    pub fn smallest_subnormal(self) -> f64 {
        match self {
            F64 => f64::from_bits(1),
            F32 => f64::from(f32::from_bits(1)),
        }
    }
    /// The largest finite number.
    pub fn largest(self) -> f64 {
        match self {
            F64 => f64::MAX,
            F32 => f64::from(f32::MAX),
        }
    }
    /// 1.5 * 2^52 (f32: 2^23): added to a small number it rounds that to an integer, which is then the low bits of the
    /// sum.
    pub fn integer_shift(self) -> f64 {
        1.5 * 2f64.powi(self.significand_bits() as i32 - 1)
    }
    /// Whether a number is one of the format.
    pub fn has(self, x: f64) -> bool {
        match self {
            F64 => !x.is_nan(),
            F32 => f64::from(x as f32) == x,
        }
    }
    /// x + y
    pub fn add(self, x: f64, y: f64) -> f64 {
        match self {
            F64 => x + y,
            F32 => f64::from(x as f32 + y as f32),
        }
    }
    /// x - y
    pub fn sub(self, x: f64, y: f64) -> f64 {
        self.add(x, -y)
    }
    /// x * y
    pub fn mul(self, x: f64, y: f64) -> f64 {
        match self {
            F64 => x * y,
            F32 => f64::from(x as f32 * y as f32),
        }
    }
    /// x / y
    pub fn div(self, x: f64, y: f64) -> f64 {
        match self {
            F64 => x / y,
            F32 => f64::from(x as f32 / y as f32),
        }
    }
    /// The square root of x.
    pub fn sqrt(self, x: f64) -> f64 {
        match self {
            F64 => x.sqrt(),
            F32 => f64::from((x as f32).sqrt()),
        }
    }
    /// x * y + z
    pub fn fma(self, x: f64, y: f64, z: f64) -> f64 {
        match self {
            F64 => x.mul_add(y, z),
            F32 => f64::from((x as f32).mul_add(y as f32, z as f32)),
        }
    }
    /// The bits of a number, as a signed integer of the format's size.
    pub fn bits(self, x: f64) -> i64 {
        match self {
            F64 => x.to_bits() as i64,
            F32 => i64::from((x as f32).to_bits() as i32),
        }
    }
    /// The number of these bits.
    pub fn from_bits(self, bits: i64) -> f64 {
        match self {
            F64 => f64::from_bits(bits as u64),
            F32 => f64::from(f32::from_bits(bits as u32)),
        }
    }
    /// Bits of a significand that are stored.
    pub fn fraction_bits(self) -> u32 {
        self.significand_bits() - 1
    }
    /// The exponent field of 1.
    pub fn exponent_bias(self) -> i64 {
        match self {
            F64 => 1023,
            F32 => 127,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_round_once() {
        assert_eq!(F32.add(1.0, 2f64.powi(-25)), 1.0);
        assert_eq!(F32.from_bits(F32.bits(-1.5)), -1.5);
        assert!(F32.has(0.5) && !F32.has(0.1));
    }
}
