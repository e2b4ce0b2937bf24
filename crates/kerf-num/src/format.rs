//! Storage formats of a kernel's numbers, and rounding into them.
//!
//! Every value of every format here is exactly an `f64`, so values travel as
//! `f64`. What holds: the constants are those of IEEE 754-2019 table 3.5, and of
//! bfloat16 as the upper half of a binary32, subnormals included.

mod encoding;
mod rounding;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::exponent::pow2;

/// A binary floating-point storage format.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// IEEE 754 binary64.
    F64,
    /// IEEE 754 binary32.
    F32,
    /// IEEE 754 binary16.
    F16,
    /// bfloat16: the upper half of a binary32.
    Bf16,
}

/// The text names no [`Format`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown format `{0}`: expected f64, f32, f16 or bf16")]
pub struct ParseFormatError(pub String);

impl Format {
    /// Every format, widest first.
    pub const ALL: [Format; 4] = [Format::F64, Format::F32, Format::F16, Format::Bf16];

    /// The name, as [`Display`](fmt::Display) and serde write it.
    #[inline]
    pub const fn name(self) -> &'static str {
        match self {
            Format::F64 => "f64",
            Format::F32 => "f32",
            Format::F16 => "f16",
            Format::Bf16 => "bf16",
        }
    }

    /// Size of one stored value.
    #[inline]
    pub const fn bytes(self) -> usize {
        match self {
            Format::F64 => 8,
            Format::F32 => 4,
            Format::F16 | Format::Bf16 => 2,
        }
    }

    /// Precision p in bits, the hidden bit included.
    #[inline]
    pub const fn mantissa_bits(self) -> u32 {
        match self {
            Format::F64 => 53,
            Format::F32 => 24,
            Format::F16 => 11,
            Format::Bf16 => 8,
        }
    }

    /// Exponent of the smallest normal value, `2^min_exponent`.
    #[inline]
    pub const fn min_exponent(self) -> i32 {
        1 - self.max_exponent()
    }

    /// Exponent of the largest finite value, which lies below
    /// `2^(max_exponent + 1)`.
    #[inline]
    pub const fn max_exponent(self) -> i32 {
        match self {
            Format::F64 => 1023,
            Format::F32 | Format::Bf16 => 127,
            Format::F16 => 15,
        }
    }

    /// The smallest positive normal value.
    #[inline]
    pub const fn min_normal(self) -> f64 {
        pow2(self.min_exponent())
    }

    /// The smallest positive value, `2^(min_exponent - p + 1)`.
    #[inline]
    pub const fn min_subnormal(self) -> f64 {
        match self {
            Format::F64 => f64::from_bits(1),
            _ => pow2(self.min_exponent() - (self.mantissa_bits() as i32 - 1)),
        }
    }

    /// The largest finite value.
    #[inline]
    pub const fn max_finite(self) -> f64 {
        let two_minus_ulp = 2.0 - pow2(1 - self.mantissa_bits() as i32);
        two_minus_ulp * pow2(self.max_exponent())
    }

    /// Unit roundoff `u = 2^-p`: the largest relative error of one rounding to
    /// a normal value.
    #[inline]
    pub const fn unit_roundoff(self) -> f64 {
        pow2(-(self.mantissa_bits() as i32))
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Format {
    type Err = ParseFormatError;

    fn from_str(text: &str) -> Result<Format, ParseFormatError> {
        Format::ALL
            .into_iter()
            .find(|format| format.name() == text)
            .ok_or_else(|| ParseFormatError(text.to_owned()))
    }
}
