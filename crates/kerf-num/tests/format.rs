//! Formats: constants, rounding against MPFR, encodings, neighbours.

use crate::oracle;

use std::fmt;

use kerf_num::{Dd, Format};
use oracle::{exact_dd, real, round};
use proptest::prelude::*;
use serde::de::IntoDeserializer;
use serde::de::value::{Error as ValueError, StrDeserializer};
use serde::{Deserialize, Serialize};

const NARROW: [Format; 2] = [Format::F16, Format::Bf16];

fn same(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan()
}

#[track_caller]
fn assert_same(got: f64, want: f64, what: impl fmt::Debug) {
    assert!(same(got, want), "{what:?}: got {got:e}, want {want:e}");
}

#[test]
fn constants_by_hand() {
    use Format::*;
    let table = [
        (F64, 8, 53, -1022, 1023, f64::MIN_POSITIVE, 5e-324, f64::MAX),
        (
            F32,
            4,
            24,
            -126,
            127,
            1.1754943508222875e-38,
            1.401298464324817e-45,
            f32::MAX as f64,
        ),
        (
            F16,
            2,
            11,
            -14,
            15,
            6.103515625e-5,
            5.960464477539063e-8,
            65504.0,
        ),
        (
            Bf16,
            2,
            8,
            -126,
            127,
            1.1754943508222875e-38,
            9.183549615799121e-41,
            3.3895313892515355e38,
        ),
    ];
    for (format, bytes, p, emin, emax, min_normal, min_subnormal, max) in table {
        assert_eq!(format.bytes(), bytes);
        assert_eq!(format.mantissa_bits(), p);
        assert_eq!(format.min_exponent(), emin);
        assert_eq!(format.max_exponent(), emax);
        assert_eq!(format.min_normal(), min_normal);
        assert_eq!(format.min_subnormal(), min_subnormal);
        assert_eq!(format.max_finite(), max);
        assert_eq!(format.unit_roundoff(), 0.5f64.powi(p as i32));
    }
}

#[test]
fn names_go_both_ways() {
    struct Written(Format);
    impl fmt::Display for Written {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            self.0.serialize(f)
        }
    }
    for (format, name) in Format::ALL.into_iter().zip(["f64", "f32", "f16", "bf16"]) {
        assert_eq!(format.to_string(), name);
        assert_eq!(name.parse(), Ok(format));
        assert_eq!(Written(format).to_string(), name);
        let read: StrDeserializer<'_, ValueError> = name.into_deserializer();
        assert_eq!(Format::deserialize(read), Ok(format));
    }
    assert!("F32".parse::<Format>().is_err());
    assert!("fp8".parse::<Format>().is_err());
}

/// The value of an encoding, straight from its definition.
fn decode_by_definition(format: Format, bits: u64) -> f64 {
    let fraction_bits = format.mantissa_bits() - 1;
    let sign = if bits >> (8 * format.bytes() - 1) & 1 == 1 {
        -1.0
    } else {
        1.0
    };
    let fraction = bits & ((1 << fraction_bits) - 1);
    let field = (bits >> fraction_bits) & (2 * format.max_exponent() as u64 + 1);
    let spacing = |e: i32| 2f64.powi(e - fraction_bits as i32);
    if field == 2 * format.max_exponent() as u64 + 1 {
        return if fraction == 0 {
            sign * f64::INFINITY
        } else {
            f64::NAN
        };
    }
    if field == 0 {
        return sign * fraction as f64 * spacing(format.min_exponent());
    }
    let e = field as i32 - format.max_exponent();
    sign * (fraction + (1 << fraction_bits)) as f64 * spacing(e)
}

#[test]
fn every_narrow_encoding_decodes_and_comes_back() {
    for format in NARROW {
        for bits in 0..1 << 16 {
            let value = format.decode(bits);
            assert_same(value, decode_by_definition(format, bits), (format, bits));
            assert_same(format.round(value), value, (format, bits));
            assert_same(format.round_dd(Dd::from_f64(value)), value, (format, bits));
            if value.is_nan() {
                assert!(format.decode(format.encode(value)).is_nan());
            } else {
                assert_eq!(format.encode(value), bits);
            }
        }
    }
}

#[test]
fn nan_keeps_its_sign_when_encoded() {
    for format in Format::ALL {
        let top = 8 * format.bytes() - 1;
        assert_eq!(format.encode(f64::NAN.copysign(-1.0)) >> top, 1);
        assert_eq!(format.encode(f64::NAN.copysign(1.0)) >> top, 0);
    }
}

/// Checks `round` at `x` and at its `f64` neighbours, and `round_dd` a hair off
/// each, in both signs.
fn check_around(format: Format, x: f64) {
    for x in [x, x.next_up(), x.next_down()] {
        for x in [x, -x] {
            assert_same(format.round(x), round(&real(x), format), (format, x));
            for hair in [f64::from_bits(1), x.abs() * 2f64.powi(-60)] {
                for lo in [hair, -hair] {
                    let dd = Dd { hi: x, lo };
                    let want = round(&exact_dd(dd), format);
                    assert_same(format.round_dd(dd), want, (format, dd));
                }
            }
        }
    }
}

#[test]
fn every_narrow_midpoint_rounds_like_mpfr() {
    for format in NARROW {
        let infinity = format.encode(f64::INFINITY);
        for bits in 0..infinity {
            let low = format.decode(bits);
            // The threshold of overflow is the midpoint to the next power of two.
            let high = match bits + 1 {
                b if b == infinity => 2f64.powi(format.max_exponent() + 1),
                b => format.decode(b),
            };
            check_around(format, (low + high) / 2.0);
        }
    }
}

#[test]
fn double_rounding_does_not_happen() {
    // Just above the f16 midpoint 1 + 2^-11, by less than an f32 can tell.
    let x = 1.0 + 2f64.powi(-11) + 2f64.powi(-40);
    assert_eq!(Format::F16.round(f64::from(x as f32)), 1.0);
    assert_eq!(Format::F16.round(x), 1.0 + 2f64.powi(-10));
    // The same for a double-double and f32, by less than an f64 can tell.
    let x = Dd {
        hi: 1.0 + 2f64.powi(-24),
        lo: 2f64.powi(-90),
    };
    assert_eq!(Format::F32.round(x.hi), 1.0);
    assert_eq!(Format::F32.round_dd(x), 1.0 + 2f64.powi(-23));
    assert_eq!(Format::F32.round_dd(Dd { lo: -x.lo, ..x }), 1.0);
}

#[test]
fn unnormalised_pairs_round_by_their_sum() {
    let x = Dd { hi: 1.0, lo: 1.0 };
    let tie = Dd {
        hi: 2f64.powi(-24),
        lo: 1.0,
    };
    for format in Format::ALL {
        assert_eq!(format.round_dd(x), 2.0);
    }
    assert_eq!(Format::F32.round_dd(tie), 1.0);
    assert_eq!(Format::F64.round_dd(Dd { hi: 0.0, lo: 3.0 }), 3.0);
}

#[test]
fn special_values_round_to_themselves() {
    for format in Format::ALL {
        for x in [0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
            assert_same(format.round(x), x, format);
            assert_same(format.round_dd(Dd::from_f64(x)), x, format);
            assert_same(format.decode(format.encode(x)), x, format);
        }
        assert_same(
            format.round(-f64::from_bits(1)),
            round(&real(-f64::from_bits(1)), format),
            format,
        );
    }
}

#[test]
fn neighbours_of_every_narrow_value() {
    for format in NARROW {
        let infinity = format.encode(f64::INFINITY);
        for bits in 0..infinity {
            let (x, up) = (format.decode(bits), format.decode(bits + 1));
            assert_same(format.next_up(x), up, x);
            assert_same(format.next_down(-x), -up, x);
            let down = if bits == 0 { 0.0 } else { x };
            assert_same(format.next_down(up), down, up);
            // From between two values, to the nearest on that side.
            if up.is_finite() {
                let between = x + (up - x) * 0.75;
                assert_same(format.next_up(between), up, between);
                assert_same(format.next_down(between), x, between);
            }
        }
        assert_eq!(format.next_up(f64::INFINITY), f64::INFINITY);
        assert_eq!(format.next_down(f64::INFINITY), format.max_finite());
        assert_eq!(format.next_up(f64::NEG_INFINITY), -format.max_finite());
        assert_eq!(format.next_up(-1e300), -format.max_finite());
        assert_eq!(format.next_down(1e300), format.max_finite());
        assert!(format.next_up(f64::NAN).is_nan());
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 20_000, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn f32_midpoints_round_like_mpfr(bits in 0..f32::INFINITY.to_bits()) {
        let low = f64::from(f32::from_bits(bits));
        let high = f64::from(f32::from_bits(bits).next_up());
        let high = if high.is_infinite() { 2f64.powi(128) } else { high };
        check_around(Format::F32, (low + high) / 2.0);
    }

    #[test]
    fn any_pair_rounds_like_mpfr(hi in any::<f64>(), exponent in -1074..1023, lo in -1.0..1.0f64) {
        let lo = lo * 2f64.powi(exponent);
        let dd = Dd { hi, lo: if lo.abs() < hi.abs() { lo } else { 0.0 } };
        // A sum in MPFR would lose the sign of a zero.
        let exact = if dd.lo == 0.0 { real(hi) } else { exact_dd(dd) };
        for format in Format::ALL {
            let want = round(&exact, format);
            prop_assert!(same(format.round_dd(dd), want), "{format} {dd:?}");
        }
    }

    #[test]
    fn wide_neighbours_and_encodings_follow_the_hardware(bits in any::<u64>()) {
        let x = f64::from_bits(bits);
        let y = f64::from(f32::from_bits(bits as u32));
        prop_assert!(same(Format::F64.next_up(x), x.next_up()));
        prop_assert!(same(Format::F64.next_down(x), x.next_down()));
        prop_assert!(same(Format::F32.next_up(y), f64::from((y as f32).next_up())));
        prop_assert!(same(Format::F32.next_down(y), f64::from((y as f32).next_down())));
        prop_assert_eq!(Format::F64.encode(x), bits);
        if !y.is_nan() {
            prop_assert_eq!(Format::F32.encode(y), bits & 0xffff_ffff);
        }
        prop_assert!(same(Format::F32.decode(bits), y));
    }
}

#[test]
fn encoding_rounds_as_rounding_does() {
    for format in [Format::F16, Format::Bf16] {
        let infinity = format.encode(f64::INFINITY);
        for bits in 0..infinity {
            let (x, up) = (format.decode(bits), format.decode(bits + 1));
            // Halfway, and next to it; above the largest number, where infinity would follow.
            let half = match up.is_infinite() {
                true => x + (x - format.next_down(x)) / 2.0,
                false => x / 2.0 + up / 2.0,
            };
            for v in [half, half.next_up(), half.next_down(), x.next_up()] {
                let want = format.encode(format.round(v));
                assert_eq!(format.encode(v), want, "{format} {v:e}");
                let sign = 1 << 15;
                assert_eq!(format.encode(-v), want | sign, "{format} -{v:e}");
            }
        }
        for v in [0.0, f64::from_bits(1), f64::MIN_POSITIVE, f64::MAX] {
            assert_eq!(
                format.encode(v),
                format.encode(format.round(v)),
                "{format} {v:e}"
            );
        }
    }
}
