//! Numbers to and from the little-endian bytes of a scalar type.
//!
//! Narrowing is written out here because it has to be correctly rounded from `f64`: conversions by
//! way of `f32`, or ones that drop low bits first, round some values near ties the wrong way.

use crate::number::Number;
use crate::scalar::Scalar;

/// Rounds `x` to the nearest value of a float type, ties to even, overflow to infinity.
/// For an integer type it returns `x` unchanged.
pub fn round_to(scalar: Scalar, x: f64) -> f64 {
    match scalar {
        Scalar::F32 => f64::from(x as f32),
        Scalar::F16 => widen16(narrow(x, F16), F16),
        Scalar::Bf16 => widen16(narrow(x, BF16), BF16),
        _ => x,
    }
}

impl Number {
    /// Whether `scalar` can hold the number: integer types hold integral values in their range,
    /// float types hold what does not round to infinity (rounding is no misfit; infinities and NaN
    /// are themselves).
    pub fn fits(self, scalar: Scalar) -> bool {
        match scalar.int_range() {
            Some((low, high)) => self
                .as_integral()
                .is_some_and(|v| (low..=high).contains(&v)),
            None => {
                let wide = self.as_f64();
                !wide.is_finite() || round_to(scalar, wide).is_finite()
            }
        }
    }
}

/// Smallest value of the float type that is at least `x`; infinity if there is none.
pub fn round_up(scalar: Scalar, x: f64) -> f64 {
    let near = round_to(scalar, x);
    if near < x {
        next_up(scalar, near)
    } else {
        near
    }
}

/// Largest value of the float type that is below `x`; minus infinity if there is none.
pub fn strictly_below(scalar: Scalar, x: f64) -> f64 {
    let near = round_to(scalar, x);
    if near < x {
        near
    } else {
        -next_up(scalar, -near)
    }
}

/// Writes `x` as `scalar` at the start of `to`: rounded for a float type, truncated toward zero and
/// saturated for an integer type. Does nothing if `to` is too short.
#[inline]
pub fn store_f64(scalar: Scalar, x: f64, to: &mut [u8]) {
    match scalar {
        Scalar::F64 => put(to, x.to_le_bytes()),
        Scalar::F32 => put(to, (x as f32).to_le_bytes()),
        Scalar::F16 => put(to, narrow(x, F16).to_le_bytes()),
        Scalar::Bf16 => put(to, narrow(x, BF16).to_le_bytes()),
        _ => store_int(scalar, x as i128, to),
    }
}

/// Writes `v` as `scalar` at the start of `to`: rounded once for a float type, saturated for an
/// integer type. Does nothing if `to` is too short.
#[inline]
pub fn store_int(scalar: Scalar, v: i128, to: &mut [u8]) {
    match scalar.int_range() {
        Some((low, high)) => {
            let bytes = v.clamp(low, high).to_le_bytes();
            let n = scalar.bytes();
            if let (Some(to), Some(from)) = (to.get_mut(..n), bytes.get(..n)) {
                to.copy_from_slice(from);
            }
        }
        None if scalar == Scalar::F32 => put(to, (v as f32).to_le_bytes()),
        None if scalar == Scalar::F64 => put(to, (v as f64).to_le_bytes()),
        None => store_f64(scalar, to_odd(v), to),
    }
}

/// Writes a number as `scalar`; see [`store_f64`] and [`store_int`].
pub fn store(scalar: Scalar, value: Number, to: &mut [u8]) {
    match value {
        Number::Int(v) => store_int(scalar, v, to),
        Number::Float(v) => store_f64(scalar, v, to),
    }
}

/// Reads the `scalar` at the start of `from`, exactly; `None` if `from` is too short.
pub fn load(scalar: Scalar, from: &[u8]) -> Option<Number> {
    Some(match scalar {
        Scalar::F64 => Number::Float(f64::from_le_bytes(*from.first_chunk()?)),
        Scalar::F32 => Number::Float(f32::from_le_bytes(*from.first_chunk()?).into()),
        Scalar::F16 => Number::Float(widen16(u16::from_le_bytes(*from.first_chunk()?), F16)),
        Scalar::Bf16 => Number::Float(widen16(u16::from_le_bytes(*from.first_chunk()?), BF16)),
        Scalar::I8 => Number::Int(i8::from_le_bytes(*from.first_chunk()?).into()),
        Scalar::U8 => Number::Int(u8::from_le_bytes(*from.first_chunk()?).into()),
        Scalar::I16 => Number::Int(i16::from_le_bytes(*from.first_chunk()?).into()),
        Scalar::U16 => Number::Int(u16::from_le_bytes(*from.first_chunk()?).into()),
        Scalar::I32 => Number::Int(i32::from_le_bytes(*from.first_chunk()?).into()),
        Scalar::U32 => Number::Int(u32::from_le_bytes(*from.first_chunk()?).into()),
        Scalar::I64 => Number::Int(i64::from_le_bytes(*from.first_chunk()?).into()),
        Scalar::U64 => Number::Int(u64::from_le_bytes(*from.first_chunk()?).into()),
    })
}

/// A 16-bit float format: bits of stored fraction; the exponent takes the rest.
#[derive(Clone, Copy)]
struct Format16 {
    fraction: u32,
}

const F16: Format16 = Format16 { fraction: 10 };
const BF16: Format16 = Format16 { fraction: 7 };

impl Format16 {
    const fn bias(self) -> i32 {
        (1 << (14 - self.fraction)) - 1
    }

    const fn infinity(self) -> u16 {
        0x7fff & !((1 << self.fraction) - 1)
    }
}

fn put<const N: usize>(to: &mut [u8], bytes: [u8; N]) {
    if let Some(to) = to.first_chunk_mut() {
        *to = bytes;
    }
}

/// Rounds an `f64` once, to nearest with ties to even.
fn narrow(x: f64, format: Format16) -> u16 {
    let bits = x.to_bits();
    let sign = ((bits >> 48) & 0x8000) as u16;
    let exponent = ((bits >> 52) & 0x7ff) as i32 - 1023;
    let fraction = bits & ((1 << 52) - 1);
    if exponent == 1024 {
        let quiet = if fraction == 0 {
            0
        } else {
            1 << (format.fraction - 1)
        };
        return sign | format.infinity() | quiet;
    }
    let least = 1 - format.bias();
    // Bits of the 53-bit significand that fall off; subnormal results lose one more each binade.
    let shift = 52 - format.fraction as i32 + (least - exponent).max(0);
    if exponent == -1023 || shift >= 54 {
        return sign;
    }
    let significand = (1 << 52) | fraction;
    let kept = significand >> shift;
    let lost = significand & ((1 << shift) - 1);
    let half = 1u64 << (shift - 1);
    let rounded = kept + u64::from(lost > half || (lost == half && kept & 1 == 1));
    // The significand's leading one adds itself to the exponent field, and so does a carry.
    let above = (exponent - least).max(0) as u64;
    let packed = (above << format.fraction) + rounded;
    sign | packed.min(u64::from(format.infinity())) as u16
}

fn widen16(bits: u16, format: Format16) -> f64 {
    if format.fraction == F16.fraction {
        half::f16::from_bits(bits).to_f64()
    } else {
        half::bf16::from_bits(bits).to_f64()
    }
}

/// The next larger value of a float type.
fn next_up(scalar: Scalar, x: f64) -> f64 {
    match scalar {
        Scalar::F32 => f64::from((x as f32).next_up()),
        Scalar::F16 => widen16(next_up16(narrow(x, F16), F16), F16),
        Scalar::Bf16 => widen16(next_up16(narrow(x, BF16), BF16), BF16),
        _ => x.next_up(),
    }
}

fn next_up16(bits: u16, format: Format16) -> u16 {
    match bits {
        0 | 0x8000 => 1,
        b if b & 0x7fff > format.infinity() || b == format.infinity() => b,
        b if b & 0x8000 == 0 => b + 1,
        b => b - 1,
    }
}

/// An `f64` that rounds to any narrower type as the integer itself would: where the conversion is
/// inexact the last bit is made odd, so no later tie can be mistaken.
fn to_odd(v: i128) -> f64 {
    let near = v as f64;
    let back = near as i128;
    if back == v || near.to_bits() & 1 == 1 {
        near
    } else if (back < v) == (v > 0) {
        f64::from_bits(near.to_bits() + 1)
    } else {
        f64::from_bits(near.to_bits() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Every finite value of a 16-bit format, ascending, found by widening all bit patterns.
    fn all_values(scalar: Scalar) -> Vec<f64> {
        let mut all: Vec<f64> = (0..=u16::MAX)
            .filter_map(|b| load(scalar, &b.to_le_bytes()))
            .map(Number::as_f64)
            .filter(|v| v.is_finite())
            .collect();
        all.sort_by(f64::total_cmp);
        all
    }

    #[test]
    fn every_pattern_survives_a_round_trip() {
        for scalar in [Scalar::F16, Scalar::Bf16] {
            for pattern in 0..=u16::MAX {
                let value = load(scalar, &pattern.to_le_bytes()).unwrap();
                let mut back = [0; 2];
                store(scalar, value, &mut back);
                if value.as_f64().is_nan() {
                    assert!(load(scalar, &back).unwrap().as_f64().is_nan());
                } else {
                    assert_eq!(u16::from_le_bytes(back), pattern);
                }
            }
        }
    }

    #[test]
    fn midpoints_and_their_neighbours_round_correctly() {
        for scalar in [Scalar::F16, Scalar::Bf16] {
            for pair in all_values(scalar).windows(2) {
                let (low, high) = (pair[0], pair[1]);
                if low == high {
                    continue; // the two zeros
                }
                let middle = low / 2.0 + high / 2.0;
                assert_eq!(round_to(scalar, middle.next_down()), low);
                assert_eq!(round_to(scalar, middle.next_up()), high);
                let mut bytes = [0; 2];
                store_f64(scalar, middle, &mut bytes);
                assert_eq!(bytes[0] & 1, 0, "tie at {middle:e} did not go to even");
            }
        }
    }

    #[test]
    fn overflow_and_underflow() {
        assert_eq!(round_to(Scalar::F16, 65519.999), 65504.0);
        assert_eq!(round_to(Scalar::F16, 65520.0), f64::INFINITY);
        assert_eq!(round_to(Scalar::F16, -1e300), f64::NEG_INFINITY);
        assert_eq!(round_to(Scalar::F16, 2f64.powi(-25)), 0.0);
        assert_eq!(
            round_to(Scalar::F16, 2f64.powi(-25).next_up()),
            2f64.powi(-24)
        );
        assert_eq!(
            round_to(Scalar::Bf16, f64::MIN_POSITIVE / 4.0).to_bits(),
            0f64.to_bits()
        );
        assert!(round_to(Scalar::F16, f64::NAN).is_nan());
    }

    #[test]
    fn neighbours() {
        for scalar in [Scalar::F64, Scalar::F32, Scalar::F16, Scalar::Bf16] {
            assert!(strictly_below(scalar, 1.0) < 1.0);
            assert!(strictly_below(scalar, 0.0) < 0.0);
            assert_eq!(round_up(scalar, 1.0), 1.0);
            assert_eq!(round_up(scalar, strictly_below(scalar, 1.0)), {
                strictly_below(scalar, 1.0)
            });
        }
        assert_eq!(strictly_below(Scalar::F16, 1.0), 1.0 - 2f64.powi(-11));
        assert_eq!(
            strictly_below(Scalar::F16, 1.0 - 1e-9),
            1.0 - 2f64.powi(-11)
        );
        assert_eq!(round_up(Scalar::F16, 1.0 + 1e-9), 1.0 + 2f64.powi(-10));
        assert_eq!(round_up(Scalar::F16, 65504.1), f64::INFINITY);
    }

    #[test]
    fn big_integers_round_once() {
        // Just above a bf16 tie, by less than an f64 can show at that size.
        let tie = (1i128 << 63) + (1 << 55);
        let mut bytes = [0; 2];
        store_int(Scalar::Bf16, tie + 1, &mut bytes);
        let up = load(Scalar::Bf16, &bytes).unwrap().as_f64();
        assert_eq!(up, 2f64.powi(63) + 2f64.powi(56));
        store_int(Scalar::Bf16, tie, &mut bytes);
        let even = load(Scalar::Bf16, &bytes).unwrap().as_f64();
        assert_eq!(even, 2f64.powi(63));
    }

    #[test]
    fn short_slices_are_left_alone() {
        let mut short = [7u8; 3];
        store_f64(Scalar::F64, 1.0, &mut short);
        store_int(Scalar::I32, 1, &mut short);
        assert_eq!(short, [7; 3]);
        assert_eq!(load(Scalar::F32, &short), None);
    }

    proptest! {
        #[test]
        fn f32_agrees_with_the_hardware(x in any::<f64>()) {
            let r = round_to(Scalar::F32, x);
            prop_assert!(r == f64::from(x as f32) || r.is_nan());
        }

        #[test]
        fn integers_store_and_load(v in any::<i64>()) {
            for scalar in Scalar::ALL.into_iter().filter(|s| !s.is_float()) {
                let (low, high) = scalar.int_range().unwrap();
                let mut bytes = [0u8; 8];
                store_int(scalar, v.into(), &mut bytes);
                prop_assert_eq!(load(scalar, &bytes), Some(Number::Int(i128::from(v).clamp(low, high))));
            }
        }

        #[test]
        fn to_odd_is_exact_or_odd(v in any::<i128>()) {
            let v = v >> 8;
            let x = to_odd(v);
            prop_assert!(x as i128 == v || x.to_bits() & 1 == 1);
            prop_assert!((x as i128 - v).abs() <= 1 << 72);
        }
    }
}
