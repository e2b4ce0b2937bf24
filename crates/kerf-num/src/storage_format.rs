//! What an array in memory is held in: a floating-point format, or a scaled one.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::format::Format;
use crate::scaled::{ScaledFormat, StorageLoss};

/// The format of the elements of an array.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum StorageFormat {
    /// Numbers that are computed with, too.
    Float(Format),
    /// Codes with a scale.
    Scaled(ScaledFormat),
}

/// The text names no format of elements.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseStorageFormatError {
    /// A pair format.
    #[error("{0}: pairs are for computing, not for storing")]
    Pair(String),
    /// No format at all.
    #[error(
        "unknown format `{0}`: expected f64, f32, f16, bf16, or i16, i8, e4m3 or e5m2 with a power of two as its scale, e.g. i16*2^-12"
    )]
    Unknown(String),
}

impl StorageFormat {
    /// Bytes of an element.
    pub const fn bytes(self) -> usize {
        match self {
            StorageFormat::Float(f) => f.bytes(),
            StorageFormat::Scaled(s) => s.bytes(),
        }
    }

    /// The floating-point format, of one that is.
    pub const fn float(self) -> Option<Format> {
        match self {
            StorageFormat::Float(f) => Some(f),
            StorageFormat::Scaled(_) => None,
        }
    }

    /// The scaled format, of one that is.
    pub const fn scaled(self) -> Option<ScaledFormat> {
        match self {
            StorageFormat::Float(_) => None,
            StorageFormat::Scaled(s) => Some(s),
        }
    }

    /// The number that an element's bits stand for.
    pub fn decode(self, bits: u64) -> f64 {
        match self {
            StorageFormat::Float(f) => f.decode(bits),
            StorageFormat::Scaled(s) => s.decode(bits),
        }
    }

    /// The bits of a number, rounded once.
    pub fn encode(self, x: f64) -> u64 {
        self.encode_with_loss(x).0
    }

    /// The bits of a number, and what it lost beyond its rounding. Floating-point formats show what they lose themselves.
    pub fn encode_with_loss(self, x: f64) -> (u64, StorageLoss) {
        match self {
            StorageFormat::Float(f) => (f.encode(x), StorageLoss::None),
            StorageFormat::Scaled(s) => s.encode_with_loss(x),
        }
    }
}

impl From<Format> for StorageFormat {
    fn from(f: Format) -> StorageFormat {
        StorageFormat::Float(f)
    }
}

impl From<ScaledFormat> for StorageFormat {
    fn from(f: ScaledFormat) -> StorageFormat {
        StorageFormat::Scaled(f)
    }
}

impl fmt::Display for StorageFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StorageFormat::Float(x) => x.fmt(f),
            StorageFormat::Scaled(x) => x.fmt(f),
        }
    }
}

impl FromStr for StorageFormat {
    type Err = ParseStorageFormatError;

    fn from_str(text: &str) -> Result<StorageFormat, ParseStorageFormatError> {
        if let Ok(f) = text.parse() {
            return Ok(StorageFormat::Float(f));
        }
        if let Ok(f) = text.parse() {
            return Ok(StorageFormat::Scaled(f));
        }
        Err(match text.starts_with("dw") {
            true => ParseStorageFormatError::Pair(text.to_owned()),
            false => ParseStorageFormatError::Unknown(text.to_owned()),
        })
    }
}

impl Serialize for StorageFormat {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for StorageFormat {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<StorageFormat, D::Error> {
        let text = String::deserialize(d)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}
