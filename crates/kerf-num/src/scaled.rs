//! Scaled formats: codes of 16 or 8 bits, each of which stands for a number times a power of two.
//!
//! Arrays are held in them, and nothing is computed in them: a load decodes, a store encodes. The codes are two's
//! complement integers, and the 8-bit floating-point numbers e4m3 (without infinities) and e5m2 of the Open Compute
//! Project ("OCP 8-bit Floating Point Specification", revision 1.0, 2023).
//!
//! What holds: scales are powers of two, so that scaling is exact and [`ScaledFormat::encode`] rounds once, to nearest,
//! ties to even. What rounds to a number beyond the largest becomes the largest of its sign, and is told as
//! [`StorageLoss::Saturated`]. A NaN is code 0 of an integer, and 0x7F of e4m3 and e5m2, which hold it. An infinity is the
//! largest number of its sign, but for e5m2, which has infinities. What a code does not hold is told as
//! [`StorageLoss::NotHeld`]. Integers have one zero.

use std::fmt;
use std::str::FromStr;

use crate::exponent::{exponent, pow2, scale};
use crate::format::Format;

/// How the bits of a scaled format stand for a number, before its scale.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ElementCode {
    /// A 16-bit integer.
    I16,
    /// An 8-bit integer.
    I8,
    /// 4 bits of exponent, 3 of the significand; no infinity.
    E4m3,
    /// 5 bits of exponent, 2 of the significand.
    E5m2,
}

/// The NaN that values become in 8-bit floating-point formats.
pub const SMALL_NAN: u64 = 0x7F;

impl ElementCode {
    /// All of them, the most significant bits first.
    pub const ALL: [ElementCode; 4] = [
        ElementCode::I16,
        ElementCode::I8,
        ElementCode::E4m3,
        ElementCode::E5m2,
    ];

    /// As plans name it.
    pub const fn name(self) -> &'static str {
        match self {
            ElementCode::I16 => "i16",
            ElementCode::I8 => "i8",
            ElementCode::E4m3 => "e4m3",
            ElementCode::E5m2 => "e5m2",
        }
    }

    /// Bytes of a code.
    pub const fn bytes(self) -> usize {
        match self {
            ElementCode::I16 => 2,
            _ => 1,
        }
    }

    /// Is it an integer?
    pub const fn is_integer(self) -> bool {
        matches!(self, ElementCode::I16 | ElementCode::I8)
    }

    /// The largest number, at scale 1.
    pub const fn largest(self) -> f64 {
        match self {
            ElementCode::I16 => 32767.0,
            ElementCode::I8 => 127.0,
            ElementCode::E4m3 => 448.0,
            ElementCode::E5m2 => 57344.0,
        }
    }

    /// The least positive number, at scale 1; of an integer also its spacing.
    pub const fn least(self) -> f64 {
        match self {
            ElementCode::I16 | ElementCode::I8 => 1.0,
            ElementCode::E4m3 | ElementCode::E5m2 => {
                pow2(self.min_exponent() - self.fraction_bits() as i32)
            }
        }
    }

    /// Bits that the largest numbers keep, the leading one included.
    pub const fn significant_bits(self) -> u32 {
        match self {
            ElementCode::I16 => 15,
            ElementCode::I8 => 7,
            ElementCode::E4m3 | ElementCode::E5m2 => self.fraction_bits() + 1,
        }
    }

    /// Stored bits of the significand of a floating-point code; 0 of an integer.
    pub const fn fraction_bits(self) -> u32 {
        match self {
            ElementCode::E4m3 => 3,
            ElementCode::E5m2 => 2,
            ElementCode::I16 | ElementCode::I8 => 0,
        }
    }

    /// Exponent of the smallest normal number of a floating-point code.
    pub const fn min_exponent(self) -> i32 {
        match self {
            ElementCode::E4m3 => -6,
            ElementCode::E5m2 => -14,
            ElementCode::I16 | ElementCode::I8 => 0,
        }
    }

    /// Code of the largest number.
    pub const fn largest_code(self) -> u64 {
        match self {
            ElementCode::I16 => 0x7FFF,
            ElementCode::I8 => 0x7F,
            ElementCode::E4m3 => 0x7E,
            ElementCode::E5m2 => 0x7B,
        }
    }
}

/// A code and its scale: the text `i16*2^-12` names one, and `e4m3` is one with scale 1.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ScaledFormat {
    /// What a code stands for, before the scale.
    pub code: ElementCode,
    /// The scale is 2 to this power.
    pub exponent: i16,
}

/// What an encoded value lost beyond its rounding.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum StorageLoss {
    /// Nothing.
    None,
    /// It was finite, and too large.
    Saturated,
    /// It was a NaN or an infinity, which the format has no code for.
    NotHeld,
}

/// The text names no scaled format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown format `{0}`: expected i16, i8, e4m3 or e5m2, and a power of two as its scale, e.g. i16*2^-12"
)]
pub struct ParseScaledFormatError(pub String);

/// A scale with which a format of the program could not hold all numbers exactly.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{format} has numbers that {own} does not hold, or only below its normal range")]
pub struct ScaleOutOfRange {
    /// The scaled format.
    pub format: ScaledFormat,
    /// Format of the program's numbers.
    pub own: Format,
}

/// Headroom of a scale that is chosen from a range: values of other inputs may be larger by a quarter.
const HEADROOM: f64 = 1.25;

impl ScaledFormat {
    /// Largest magnitude of a scale's exponent.
    const MOST_EXPONENT: i16 = 960;

    /// The format whose scale is the least that holds magnitudes up to a quarter more than `largest`; none where that is 0
    /// or not finite, or the scale would leave the range of exponents.
    pub fn for_range(code: ElementCode, largest: f64) -> Option<ScaledFormat> {
        if !(largest.is_finite() && largest > 0.0) {
            return None;
        }
        let most = exponent(largest) - exponent(code.largest());
        // One more power of two at most: the quotient of the significands lies below 2, with the headroom below 2.5.
        let fits = |k: &i32| scale(largest, -k) * HEADROOM <= code.largest();
        let k = (most - 1..=most + 2).find(fits)?;
        let found = ScaledFormat {
            code,
            exponent: i16::try_from(k).ok()?,
        };
        found.is_in_range().then_some(found)
    }

    fn is_in_range(self) -> bool {
        self.exponent.unsigned_abs() <= Self::MOST_EXPONENT.unsigned_abs()
    }

    /// The scale.
    pub fn scale(self) -> f64 {
        pow2(self.exponent.into())
    }

    /// Bytes of an element.
    pub const fn bytes(self) -> usize {
        self.code.bytes()
    }

    /// The largest number.
    pub fn largest(self) -> f64 {
        self.code.largest() * self.scale()
    }

    /// The least positive number.
    pub fn least(self) -> f64 {
        self.code.least() * self.scale()
    }

    /// Whether the numbers of a format of the program can be held in it: all its own numbers are normal numbers of that
    /// format, with a factor of 2 to spare at both ends. Device code then scales exactly wherever that matters, also where
    /// subnormal numbers are flushed.
    pub fn check_for(self, own: Format) -> Result<(), ScaleOutOfRange> {
        let fits = self.least() >= 2.0 * own.min_normal()
            && 2.0 * self.largest() <= own.max_finite()
            && self.code.significant_bits() <= own.mantissa_bits();
        match fits && self.is_in_range() {
            true => Ok(()),
            false => Err(ScaleOutOfRange { format: self, own }),
        }
    }

    /// The number that a code stands for. Bits above the code's width are ignored.
    pub fn decode(self, bits: u64) -> f64 {
        self.decode_unscaled(bits) * self.scale()
    }

    fn decode_unscaled(self, bits: u64) -> f64 {
        let code = self.code;
        match code {
            ElementCode::I16 => f64::from(bits as u16 as i16),
            ElementCode::I8 => f64::from(bits as u8 as i8),
            ElementCode::E4m3 | ElementCode::E5m2 => {
                let magnitude = bits & 0x7F;
                let sign = if bits & 0x80 == 0 { 1.0 } else { -1.0 };
                if magnitude > code.largest_code() {
                    return match (code, magnitude) {
                        (ElementCode::E5m2, 0x7C) => sign * f64::INFINITY,
                        _ => f64::NAN,
                    };
                }
                let fraction = magnitude & ((1 << code.fraction_bits()) - 1);
                let field = (magnitude >> code.fraction_bits()) as i32;
                let (hidden, at) = match field {
                    0 => (0, 0),
                    _ => (1 << code.fraction_bits(), field - 1),
                };
                sign * (hidden + fraction) as f64 * code.least() * pow2(at)
            }
        }
    }

    /// The code of a number, rounded once.
    pub fn encode(self, x: f64) -> u64 {
        self.encode_with_loss(x).0
    }

    /// The code of a number, and what the number lost beyond its rounding.
    pub fn encode_with_loss(self, x: f64) -> (u64, StorageLoss) {
        let code = self.code;
        if x.is_nan() {
            return match code.is_integer() {
                true => (0, StorageLoss::NotHeld),
                false => (SMALL_NAN, StorageLoss::None),
            };
        }
        let negative = x.is_sign_negative();
        let y = scale(x.abs(), -i32::from(self.exponent));
        if code.is_integer() {
            // Two's complement reaches one further down.
            let most = code.largest() + f64::from(u8::from(negative));
            let steps = y.round_ties_even();
            let loss = loss(x, steps > most);
            let magnitude = steps.min(most) as i64;
            let signed = if negative { -magnitude } else { magnitude };
            let mask = (1u64 << (8 * code.bytes())) - 1;
            return (signed as u64 & mask, loss);
        }
        let sign = u64::from(negative) << 7;
        if x.is_infinite() && code == ElementCode::E5m2 {
            return (sign | 0x7C, StorageLoss::None);
        }
        let magnitude = small_magnitude(code, y);
        let largest = code.largest_code();
        (sign | magnitude.min(largest), loss(x, magnitude > largest))
    }
}

fn loss(x: f64, too_large: bool) -> StorageLoss {
    match too_large {
        false => StorageLoss::None,
        true if x.is_infinite() => StorageLoss::NotHeld,
        true => StorageLoss::Saturated,
    }
}

/// Position of a number that is not negative among those of an 8-bit floating-point code, as if its exponents had no end.
fn small_magnitude(code: ElementCode, y: f64) -> u64 {
    if y >= 4.0 * code.largest() {
        return u64::from(u8::MAX);
    }
    if y == 0.0 {
        return 0;
    }
    let at = (exponent(y) - code.min_exponent()).max(0);
    let spacing = code.least() * pow2(at);
    let steps = (y / spacing).round_ties_even() as u64;
    // The hidden bit is the 1 by which the exponent field is short here.
    ((at as u64) << code.fraction_bits()) + steps
}

impl fmt::Display for ScaledFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.exponent {
            0 => f.pad(self.code.name()),
            k => f.pad(&format!("{}*2^{k}", self.code.name())),
        }
    }
}

impl FromStr for ElementCode {
    type Err = ParseScaledFormatError;

    fn from_str(text: &str) -> Result<ElementCode, ParseScaledFormatError> {
        let mut codes = ElementCode::ALL.into_iter();
        let code = codes.find(|c| c.name() == text);
        code.ok_or_else(|| ParseScaledFormatError(text.to_owned()))
    }
}

impl FromStr for ScaledFormat {
    type Err = ParseScaledFormatError;

    fn from_str(text: &str) -> Result<ScaledFormat, ParseScaledFormatError> {
        let unknown = || ParseScaledFormatError(text.to_owned());
        let (name, exponent) = match text.split_once("*2^") {
            Some((name, k)) => (name, k.parse().map_err(|_| unknown())?),
            None => (text, 0),
        };
        let code = name.parse().map_err(|_| unknown())?;
        let f = ScaledFormat { code, exponent };
        f.is_in_range().then_some(f).ok_or_else(unknown)
    }
}
