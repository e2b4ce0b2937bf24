//! Variants of a math function or division: how a site gets its result.
use serde::{Deserialize, Serialize};

/// How a math site is computed.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum MathVariant {
    /// As it is in its format.
    #[serde(rename = "accurate")]
    Accurate,
    /// f32 by the special-function unit; subnormal arguments and results are kept.
    #[serde(rename = "approx")]
    Approx,
    /// f32 by the special-function unit; subnormal arguments and results of its steps become zero.
    #[serde(rename = "approx.ftz")]
    ApproxFtz,
    /// f32 division by `div.full`: over the whole range of divisors.
    #[serde(rename = "full")]
    Full,
    /// The same, subnormal arguments and results become zero.
    #[serde(rename = "full.ftz")]
    FullFtz,
    /// f64 from the special-function unit's seed alone: about 20 bits.
    #[serde(rename = "newton0")]
    Newton0,
    /// f64 from the seed and one Newton step: about 40 bits.
    #[serde(rename = "newton1")]
    Newton1,
    /// f64 from the seed and two Newton steps: within a few units in the last place.
    #[serde(rename = "newton2")]
    Newton2,
    /// Division by a value that does not change in the loop, as a product with its reciprocal.
    #[serde(rename = "reciprocal")]
    Reciprocal,
}

/// The text names no [`MathVariant`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown variant `{0}`: expected accurate, approx, approx.ftz, full, full.ftz, newton0, newton1, newton2 or reciprocal"
)]
pub struct ParseMathVariantError(pub String);

impl MathVariant {
    /// All of them.
    pub const ALL: [MathVariant; 9] = [
        MathVariant::Accurate,
        MathVariant::Approx,
        MathVariant::ApproxFtz,
        MathVariant::Full,
        MathVariant::FullFtz,
        MathVariant::Newton0,
        MathVariant::Newton1,
        MathVariant::Newton2,
        MathVariant::Reciprocal,
    ];
    /// As serde and [`Display`](std::fmt::Display) write it.
    pub const fn name(self) -> &'static str {
        match self {
            MathVariant::Accurate => "accurate",
            MathVariant::Approx => "approx",
            MathVariant::ApproxFtz => "approx.ftz",
            MathVariant::Full => "full",
            MathVariant::FullFtz => "full.ftz",
            MathVariant::Newton0 => "newton0",
            MathVariant::Newton1 => "newton1",
            MathVariant::Newton2 => "newton2",
            MathVariant::Reciprocal => "reciprocal",
        }
    }
    /// Do its steps flush subnormal numbers to zero?
    pub const fn ftz(self) -> bool {
        matches!(self, MathVariant::ApproxFtz | MathVariant::FullFtz)
    }
    /// Newton steps after the f64 seed; none for variants that have no such seed.
    pub const fn steps(self) -> Option<u32> {
        match self {
            MathVariant::Newton0 => Some(0),
            MathVariant::Newton1 => Some(1),
            MathVariant::Newton2 => Some(2),
            _ => None,
        }
    }
}

impl std::fmt::Display for MathVariant {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

impl std::str::FromStr for MathVariant {
    type Err = ParseMathVariantError;

    fn from_str(text: &str) -> Result<MathVariant, ParseMathVariantError> {
        MathVariant::ALL
            .into_iter()
            .find(|v| v.name() == text)
            .ok_or_else(|| ParseMathVariantError(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_name_everywhere() {
        for v in MathVariant::ALL {
            assert_eq!(
                serde_json::to_string(&v).expect("serialises"),
                format!("\"{v}\"")
            );
            assert_eq!(v.name().parse(), Ok(v));
        }
        assert!("fast".parse::<MathVariant>().is_err());
    }
}
