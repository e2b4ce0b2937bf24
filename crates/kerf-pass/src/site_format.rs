//! The format that a site computes in: one of the machine's, or a double word.
use kerf_num::{Format, StorageFormat};
use serde::{Deserialize, Serialize};

/// What a site computes in.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum SiteFormat {
    /// IEEE 754 binary64.
    #[serde(rename = "f64")]
    F64,
    /// IEEE 754 binary32.
    #[serde(rename = "f32")]
    F32,
    /// IEEE 754 binary16.
    #[serde(rename = "f16")]
    F16,
    /// bfloat16.
    #[serde(rename = "bf16")]
    Bf16,
    /// A pair of f32, by algorithms with proven bounds: about 49 bits.
    #[serde(rename = "dw32")]
    Dw32,
    /// A pair of f64, by algorithms with proven bounds: about 107 bits.
    #[serde(rename = "dw64")]
    Dw64,
    /// A pair of f32, by the formulas of composite precision as published, for comparison.
    #[serde(rename = "dw32.cmp")]
    Dw32Cmp,
    /// A pair of f64, by the same formulas.
    #[serde(rename = "dw64.cmp")]
    Dw64Cmp,
}

/// The text names no [`SiteFormat`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown format `{0}`: expected f64, f32, f16, bf16, dw32, dw64, dw32.cmp or dw64.cmp")]
pub struct ParseSiteFormatError(pub String);

impl SiteFormat {
    /// All of them.
    pub const ALL: [SiteFormat; 8] = [
        SiteFormat::F64,
        SiteFormat::F32,
        SiteFormat::F16,
        SiteFormat::Bf16,
        SiteFormat::Dw32,
        SiteFormat::Dw64,
        SiteFormat::Dw32Cmp,
        SiteFormat::Dw64Cmp,
    ];
    /// As serde and [`Display`](std::fmt::Display) write it.
    pub const fn name(self) -> &'static str {
        match self {
            SiteFormat::F64 => "f64",
            SiteFormat::F32 => "f32",
            SiteFormat::F16 => "f16",
            SiteFormat::Bf16 => "bf16",
            SiteFormat::Dw32 => "dw32",
            SiteFormat::Dw64 => "dw64",
            SiteFormat::Dw32Cmp => "dw32.cmp",
            SiteFormat::Dw64Cmp => "dw64.cmp",
        }
    }
    /// The word that it is made of: itself for a machine format.
    pub const fn word(self) -> Format {
        match self {
            SiteFormat::F64 | SiteFormat::Dw64 | SiteFormat::Dw64Cmp => Format::F64,
            SiteFormat::F32 | SiteFormat::Dw32 | SiteFormat::Dw32Cmp => Format::F32,
            SiteFormat::F16 => Format::F16,
            SiteFormat::Bf16 => Format::Bf16,
        }
    }
    /// Is it a pair of words?
    pub const fn is_pair(self) -> bool {
        matches!(
            self,
            SiteFormat::Dw32 | SiteFormat::Dw64 | SiteFormat::Dw32Cmp | SiteFormat::Dw64Cmp
        )
    }
    /// Is it a pair by the published formulas, whose words may overlap?
    pub const fn is_cmp(self) -> bool {
        matches!(self, SiteFormat::Dw32Cmp | SiteFormat::Dw64Cmp)
    }
    /// The pair with the proven algorithms that has the same words; other formats as they are.
    pub const fn normal(self) -> SiteFormat {
        match self {
            SiteFormat::Dw32Cmp => SiteFormat::Dw32,
            SiteFormat::Dw64Cmp => SiteFormat::Dw64,
            other => other,
        }
    }
}

impl SiteFormat {
    /// The same as a format of elements in memory; none of a pair.
    pub fn storage(self) -> Option<StorageFormat> {
        (!self.is_pair()).then(|| self.word().into())
    }
}

impl From<Format> for SiteFormat {
    fn from(f: Format) -> SiteFormat {
        match f {
            Format::F64 => SiteFormat::F64,
            Format::F32 => SiteFormat::F32,
            Format::F16 => SiteFormat::F16,
            Format::Bf16 => SiteFormat::Bf16,
        }
    }
}

impl std::fmt::Display for SiteFormat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

impl std::str::FromStr for SiteFormat {
    type Err = ParseSiteFormatError;

    fn from_str(text: &str) -> Result<SiteFormat, ParseSiteFormatError> {
        SiteFormat::ALL
            .into_iter()
            .find(|f| f.name() == text)
            .ok_or_else(|| ParseSiteFormatError(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_name_everywhere() {
        for f in SiteFormat::ALL {
            assert_eq!(
                serde_json::to_string(&f).expect("serialises"),
                format!("\"{f}\"")
            );
            assert_eq!(f.name().parse(), Ok(f));
        }
        assert!("dw16".parse::<SiteFormat>().is_err());
    }
}
