//! Whether an output is close to expected numbers, by the rule of `numpy.allclose`.
//!
//! A number `y` of an output is close to the expected `x` where `|x - y| <= atol + rtol * |y|` and `y` is finite, or where both
//! are equal. NaN is close to nothing. Each operation rounds to the type that numpy computes it in: the difference to the wider
//! of both types, the bound to the output's, which is f64 for integers. So a number at the very bound is decided as numpy does.

use serde::{Deserialize, Serialize};

use crate::format::Format;

/// The type of numbers as numpy has it. There are no bfloat16 among them.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum NumpyType {
    /// Floating-point numbers.
    Float(Format),
    /// Integers of 1, 2, 4 or 8 bytes.
    Integer {
        /// Bytes of one.
        bytes: usize,
        /// Whether it may be negative.
        signed: bool,
    },
}

impl NumpyType {
    /// Bytes of a number.
    pub const fn bytes(self) -> usize {
        match self {
            NumpyType::Float(f) => f.bytes(),
            NumpyType::Integer { bytes, .. } => bytes,
        }
    }

    /// A number from its bits, integers of 64 bits rounded to nearest.
    #[inline]
    pub fn decode(self, bits: u64) -> f64 {
        match self {
            NumpyType::Float(f) => f.decode(bits),
            NumpyType::Integer { bytes, signed } => {
                let unused = 64 - 8 * bytes as u32;
                match signed {
                    true => ((bits << unused) as i64 >> unused) as f64,
                    false => bits as f64,
                }
            }
        }
    }

    /// The format that numbers of this type and of a format are computed in together.
    fn with(self, other: Format) -> Format {
        let own = match self {
            NumpyType::Float(f) => f,
            NumpyType::Integer { bytes: 1, .. } => Format::F16,
            NumpyType::Integer { bytes: 2, .. } => Format::F32,
            NumpyType::Integer { .. } => Format::F64,
        };
        match own.bytes() > other.bytes() {
            true => own,
            false => other,
        }
    }
}

/// When numbers of an output are close to expected ones.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct CloseRule {
    /// The type of the expected numbers.
    pub expected: NumpyType,
    /// The type of the output's.
    pub got: NumpyType,
    /// What differences are rounded to.
    pub difference: Format,
    /// What bounds are rounded to.
    pub bound: Format,
    /// The relative tolerance in the bound's format.
    pub rtol: f64,
    /// The absolute tolerance in the bound's format.
    pub atol: f64,
}

impl CloseRule {
    /// The rule for types and tolerances; none for bfloat16, which numpy does not have.
    pub fn new(expected: NumpyType, got: NumpyType, (rtol, atol): (f64, f64)) -> Option<CloseRule> {
        let foreign = NumpyType::Float(Format::Bf16);
        if expected == foreign || got == foreign {
            return None;
        }
        let bound = match got {
            NumpyType::Float(f) => f,
            NumpyType::Integer { .. } => Format::F64,
        };
        Some(CloseRule {
            expected,
            got,
            difference: expected.with(bound),
            bound,
            rtol: bound.round(rtol),
            atol: bound.round(atol),
        })
    }

    /// The size of the difference of two numbers.
    #[inline]
    fn difference(&self, expected: f64, got: f64) -> f64 {
        match self.difference {
            Format::F32 => f64::from((expected as f32 - got as f32).abs()),
            // Exact in f64 for numbers of f16.
            f => f.round(expected - got).abs(),
        }
    }

    /// What a difference from a number of the output may be.
    #[inline]
    fn bound(&self, got: f64) -> f64 {
        let size = got.abs();
        match self.bound {
            Format::F32 => f64::from(self.atol as f32 + self.rtol as f32 * size as f32),
            f => f.round(self.atol + f.round(self.rtol * size)),
        }
    }

    /// Whether a number is close to the expected one.
    #[inline]
    pub fn is_close(&self, expected: f64, got: f64) -> bool {
        let within = self.difference(expected, got) <= self.bound(got);
        within && got.is_finite() || expected == got
    }

    /// Compares the bytes of numbers, as many as both have.
    pub fn compare(&self, expected: &[u8], got: &[u8]) -> Closeness {
        let (a, b) = (self.expected.bytes(), self.got.bytes());
        let mut found = Closeness::default();
        for (i, (x, y)) in expected
            .chunks_exact(a)
            .zip(got.chunks_exact(b))
            .enumerate()
        {
            let x = self.expected.decode(word(x));
            let y = self.got.decode(word(y));
            found.values += 1;
            if x.is_finite() && y.is_finite() {
                let difference = self.difference(x, y);
                if difference > found.largest_difference {
                    found.largest_difference = difference;
                }
            }
            if !self.is_close(x, y) {
                found.beyond += 1;
                found.not_finite += usize::from(!(x.is_finite() && y.is_finite()));
                found.first_beyond.get_or_insert(i);
            }
        }
        found
    }
}

#[inline]
fn word(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(word)
}

/// How close an output is to expected numbers.
#[derive(Copy, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Closeness {
    /// Numbers that were compared.
    pub values: usize,
    /// How many are not close.
    pub beyond: usize,
    /// How many of these are not finite, or are expected not to be.
    pub not_finite: usize,
    /// The first that is not close.
    pub first_beyond: Option<usize>,
    /// The largest difference of two finite numbers, rounded as it was compared.
    #[serde(with = "finite_or_null")]
    pub largest_difference: f64,
}

impl Closeness {
    /// Whether all are close.
    pub fn is_close(&self) -> bool {
        self.beyond == 0
    }
}

/// Infinite differences as null: JSON has no infinities.
mod finite_or_null {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(x: &f64, s: S) -> Result<S::Ok, S::Error> {
        x.is_finite().then_some(*x).serialize(s)
    }

    pub(super) fn deserialize<'d, D: Deserializer<'d>>(d: D) -> Result<f64, D::Error> {
        Ok(Option::deserialize(d)?.unwrap_or(f64::INFINITY))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const F32: NumpyType = NumpyType::Float(Format::F32);
    const F16: NumpyType = NumpyType::Float(Format::F16);
    const F64: NumpyType = NumpyType::Float(Format::F64);
    const I32: NumpyType = NumpyType::Integer {
        bytes: 4,
        signed: true,
    };
    const U8: NumpyType = NumpyType::Integer {
        bytes: 1,
        signed: false,
    };

    fn rule(expected: NumpyType, got: NumpyType) -> CloseRule {
        CloseRule::new(expected, got, (1e-5, 1e-6)).expect("a rule")
    }

    #[test]
    fn types_are_those_of_numpy() {
        // As `numpy.result_type` of numpy 2 has them.
        for (expected, got, difference, bound) in [
            (F32, F32, Format::F32, Format::F32),
            (F64, F32, Format::F64, Format::F32),
            (F32, F64, Format::F64, Format::F64),
            (F16, F16, Format::F16, Format::F16),
            (U8, F16, Format::F16, Format::F16),
            (I32, F32, Format::F64, Format::F32),
            (I32, I32, Format::F64, Format::F64),
            (F16, U8, Format::F64, Format::F64),
        ] {
            let r = rule(expected, got);
            assert_eq!((r.difference, r.bound), (difference, bound), "{r:?}");
        }
        let foreign = NumpyType::Float(Format::Bf16);
        assert_eq!(CloseRule::new(foreign, F32, (1e-5, 0.0)), None);
    }

    #[test]
    fn what_is_not_finite() {
        let (inf, nan) = (f64::INFINITY, f64::NAN);
        for types in [(F32, F32), (F64, F64), (F16, F16)] {
            let r = rule(types.0, types.1);
            for (x, y, close) in [
                (inf, inf, true),
                (-inf, inf, false),
                (1.0, inf, false),
                (inf, 1.0, false),
                (nan, nan, false),
                (nan, 1.0, false),
                (1.0, nan, false),
                (0.0, -0.0, true),
            ] {
                assert_eq!(r.is_close(x, y), close, "{x} {y} {types:?}");
            }
        }
    }

    #[test]
    fn counts_places_and_the_largest() {
        let bytes = |all: &[f32]| {
            all.iter()
                .flat_map(|x| x.to_le_bytes())
                .collect::<Vec<u8>>()
        };
        let (inf, nan) = (f32::INFINITY, f32::NAN);
        let expected = bytes(&[1.0, 2.0, 3.0, inf, nan, inf]);
        let got = bytes(&[1.0, 2.5, 3.0 + 1e-5, inf, 4.0, 7.0]);
        let found = rule(F32, F32).compare(&expected, &got);
        let want = Closeness {
            values: 6,
            beyond: 3,
            not_finite: 2,
            first_beyond: Some(1),
            largest_difference: 0.5,
        };
        assert_eq!(found, want);
        assert!(!found.is_close());
    }

    #[test]
    fn integers_keep_their_signs() {
        assert_eq!(I32.decode(0xffff_fffe), -2.0);
        assert_eq!(U8.decode(0xfe), 254.0);
        let wide = NumpyType::Integer {
            bytes: 8,
            signed: false,
        };
        assert_eq!(wide.decode(u64::MAX), 18_446_744_073_709_551_616.0);
    }
}
