//! The scalar types a buffer may hold.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A scalar type of a buffer, a struct field or an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scalar {
    /// IEEE binary64.
    F64,
    /// IEEE binary32.
    F32,
    /// IEEE binary16.
    F16,
    /// bfloat16: the upper half of a binary32.
    Bf16,
    /// Signed 8-bit integer.
    I8,
    /// Unsigned 8-bit integer.
    U8,
    /// Signed 16-bit integer.
    I16,
    /// Unsigned 16-bit integer.
    U16,
    /// Signed 32-bit integer.
    I32,
    /// Unsigned 32-bit integer.
    U32,
    /// Signed 64-bit integer.
    I64,
    /// Unsigned 64-bit integer.
    U64,
}

/// A word that is not the name of a scalar type.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("unknown scalar type `{name}`")]
pub struct UnknownScalar {
    /// The word.
    pub name: String,
}

impl Scalar {
    /// Every scalar type, in the order the documentation lists them.
    pub const ALL: [Scalar; 12] = [
        Scalar::F64,
        Scalar::F32,
        Scalar::F16,
        Scalar::Bf16,
        Scalar::I8,
        Scalar::U8,
        Scalar::I16,
        Scalar::U16,
        Scalar::I32,
        Scalar::U32,
        Scalar::I64,
        Scalar::U64,
    ];

    /// The name workload files use.
    pub const fn name(self) -> &'static str {
        match self {
            Scalar::F64 => "f64",
            Scalar::F32 => "f32",
            Scalar::F16 => "f16",
            Scalar::Bf16 => "bf16",
            Scalar::I8 => "i8",
            Scalar::U8 => "u8",
            Scalar::I16 => "i16",
            Scalar::U16 => "u16",
            Scalar::I32 => "i32",
            Scalar::U32 => "u32",
            Scalar::I64 => "i64",
            Scalar::U64 => "u64",
        }
    }

    /// Size in bytes, which is also the alignment.
    pub const fn bytes(self) -> usize {
        match self {
            Scalar::I8 | Scalar::U8 => 1,
            Scalar::F16 | Scalar::Bf16 | Scalar::I16 | Scalar::U16 => 2,
            Scalar::F32 | Scalar::I32 | Scalar::U32 => 4,
            Scalar::F64 | Scalar::I64 | Scalar::U64 => 8,
        }
    }

    /// Whether this is a floating-point type.
    pub const fn is_float(self) -> bool {
        matches!(self, Scalar::F64 | Scalar::F32 | Scalar::F16 | Scalar::Bf16)
    }

    /// Smallest and largest value of an integer type; `None` for floats.
    pub const fn int_range(self) -> Option<(i128, i128)> {
        match self {
            Scalar::I8 => Some((i8::MIN as i128, i8::MAX as i128)),
            Scalar::U8 => Some((0, u8::MAX as i128)),
            Scalar::I16 => Some((i16::MIN as i128, i16::MAX as i128)),
            Scalar::U16 => Some((0, u16::MAX as i128)),
            Scalar::I32 => Some((i32::MIN as i128, i32::MAX as i128)),
            Scalar::U32 => Some((0, u32::MAX as i128)),
            Scalar::I64 => Some((i64::MIN as i128, i64::MAX as i128)),
            Scalar::U64 => Some((0, u64::MAX as i128)),
            Scalar::F64 | Scalar::F32 | Scalar::F16 | Scalar::Bf16 => None,
        }
    }

    /// Largest finite value of a float type; `None` for integers.
    pub fn max_finite(self) -> Option<f64> {
        match self {
            Scalar::F64 => Some(f64::MAX),
            Scalar::F32 => Some(f64::from(f32::MAX)),
            Scalar::F16 => Some(65504.0),
            Scalar::Bf16 => Some(half::bf16::MAX.to_f64()),
            _ => None,
        }
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Scalar {
    type Err = UnknownScalar;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Scalar::ALL
            .into_iter()
            .find(|s| s.name() == text)
            .ok_or_else(|| UnknownScalar {
                name: text.to_owned(),
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for s in Scalar::ALL {
            assert_eq!(s.to_string().parse(), Ok(s));
            assert_eq!(
                serde_json::to_string(&s).unwrap(),
                format!("\"{}\"", s.name())
            );
        }
        assert!("F64".parse::<Scalar>().is_err());
    }

    #[test]
    fn ranges_belong_to_integers_and_maxima_to_floats() {
        for s in Scalar::ALL {
            assert_eq!(s.is_float(), s.int_range().is_none());
            assert_eq!(s.is_float(), s.max_finite().is_some());
            if let Some((low, high)) = s.int_range() {
                assert_eq!(high - low + 1, 1i128 << (8 * s.bytes()));
            }
        }
        assert_eq!(
            Scalar::Bf16.max_finite(),
            Some(f64::from(f32::from_bits(0x7f7f_0000)))
        );
    }
}
