//! Scaled formats: every code, every point halfway between two, saturation, and what is lost.

use kerf_num::scaled::{ElementCode, ScaledFormat, StorageLoss};
use kerf_num::storage_format::{ParseStorageFormatError, StorageFormat};
use kerf_num::{Dd, Format};

fn scaled(code: ElementCode, exponent: i16) -> ScaledFormat {
    ScaledFormat { code, exponent }
}

fn codes(code: ElementCode) -> impl Iterator<Item = u64> {
    0..1 << (8 * code.bytes())
}

/// A number of the table in the OCP specification: sign, exponent and significand by its formula.
fn by_formula(code: ElementCode, bits: u64) -> f64 {
    let (fraction_bits, bias) = match code {
        ElementCode::E4m3 => (3, 7),
        _ => (2, 15),
    };
    let field = (bits & 0x7F) >> fraction_bits;
    let fraction = (bits & ((1 << fraction_bits) - 1)) as f64 / f64::from(1 << fraction_bits);
    let all_ones = field == (1 << (7 - fraction_bits)) - 1;
    let magnitude = match (code, all_ones) {
        (ElementCode::E4m3, true) if bits & 7 == 7 => f64::NAN,
        (ElementCode::E5m2, true) if bits & 3 == 0 => f64::INFINITY,
        (ElementCode::E5m2, true) => f64::NAN,
        _ if field == 0 => fraction * 2f64.powi(1 - bias),
        _ => (1.0 + fraction) * 2f64.powi(field as i32 - bias),
    };
    if bits & 0x80 == 0 {
        magnitude
    } else {
        -magnitude
    }
}

#[test]
fn every_code_is_the_number_of_the_specification() {
    for code in [ElementCode::E4m3, ElementCode::E5m2] {
        for bits in codes(code) {
            let (got, want) = (scaled(code, 0).decode(bits), by_formula(code, bits));
            let same = got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan();
            assert!(same, "{code:?} {bits:#x}: {got} {want}");
        }
    }
    // Table 1 of the specification.
    let value = |code, bits| scaled(code, 0).decode(bits);
    assert_eq!(value(ElementCode::E4m3, 0x7E), 448.0);
    assert_eq!(value(ElementCode::E4m3, 0x08), 2f64.powi(-6));
    assert_eq!(value(ElementCode::E4m3, 0x01), 2f64.powi(-9));
    assert_eq!(value(ElementCode::E5m2, 0x7B), 57344.0);
    assert_eq!(value(ElementCode::E5m2, 0x04), 2f64.powi(-14));
    assert_eq!(value(ElementCode::E5m2, 0x01), 2f64.powi(-16));
    for bits in codes(ElementCode::I16) {
        let k = f64::from(bits as u16 as i16);
        assert_eq!(scaled(ElementCode::I16, -12).decode(bits), k / 4096.0);
    }
    for bits in codes(ElementCode::I8) {
        let k = f64::from(bits as u8 as i8);
        assert_eq!(scaled(ElementCode::I8, 3).decode(bits), k * 8.0);
    }
}

#[test]
fn e5m2_is_the_upper_byte_of_f16() {
    for bits in codes(ElementCode::E5m2) {
        let (got, half) = (
            scaled(ElementCode::E5m2, 0).decode(bits),
            Format::F16.decode(bits << 8),
        );
        assert!(got.to_bits() == half.to_bits() || got.is_nan() && half.is_nan());
    }
}

#[test]
fn every_code_comes_back_but_for_nan() {
    for code in ElementCode::ALL {
        for exponent in [-700, -12, 0, 5, 700] {
            let f = scaled(code, exponent);
            for bits in codes(code) {
                let x = f.decode(bits);
                let want = if x.is_nan() { 0x7F } else { bits };
                assert_eq!(f.encode_with_loss(x), (want, StorageLoss::None), "{f} {x}");
            }
        }
    }
}

/// Finite numbers of a format in ascending order, one zero, with their codes.
fn ascending(f: ScaledFormat) -> Vec<(f64, u64)> {
    let all = codes(f.code).map(|bits| (f.decode(bits), bits));
    let negative_zero = |x: f64| x == 0.0 && x.is_sign_negative();
    let mut all: Vec<(f64, u64)> = all
        .filter(|(x, _)| x.is_finite() && !negative_zero(*x))
        .collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    all
}

#[test]
fn halfway_points_go_to_even_codes_and_their_neighbours_to_the_nearer() {
    for code in ElementCode::ALL {
        for exponent in [-300, -12, 0, 9] {
            let f = scaled(code, exponent);
            for pair in ascending(f).windows(2) {
                let [(a, code_a), (b, code_b)] = [pair[0], pair[1]];
                let middle = (a + b) / 2.0;
                assert!(a < middle && middle < b);
                let even = if code_a & 1 == 0 { a } else { b };
                assert_eq!(f.decode(f.encode(middle)), even, "{f}: {a} {b}");
                assert_eq!(f.decode(f.encode(middle.next_down())), a, "{f}: {a} {b}");
                assert_eq!(f.decode(f.encode(middle.next_up())), b, "{f}: {a} {b}");
                assert_ne!(code_a & 1, code_b & 1, "{f}: neighbours differ in parity");
            }
        }
    }
}

#[test]
fn the_sign_of_a_rounded_zero_is_kept_where_there_are_two() {
    for code in ElementCode::ALL {
        let f = scaled(code, 0);
        let zero = f.encode(-code.least() / 4.0);
        let want = if code.is_integer() { 0 } else { 0x80 };
        assert_eq!((zero, f.encode(-0.0)), (want, want));
        assert_eq!(f.encode(f64::from_bits(1)), 0);
    }
}

#[test]
fn what_is_too_large_saturates_and_is_told() {
    // The largest number that still rounds to the largest code, and the next one.
    let ends = [
        (ElementCode::I16, 32767.5f64.next_down(), -32768.5),
        (ElementCode::I8, 127.5f64.next_down(), -128.5),
        (ElementCode::E4m3, 464.0, -464.0),
        (
            ElementCode::E5m2,
            61440f64.next_down(),
            -61440f64.next_down(),
        ),
    ];
    for (code, up, down) in ends {
        for exponent in [-30, 0, 11] {
            let f = scaled(code, exponent);
            let s = f.scale();
            let least = if code.is_integer() {
                -(code.largest() + 1.0)
            } else {
                -code.largest()
            };
            for (x, end) in [(up, code.largest()), (down, least)] {
                let (bits, loss) = f.encode_with_loss(x * s);
                assert_eq!(
                    (f.decode(bits), loss),
                    (end * s, StorageLoss::None),
                    "{f} {x}"
                );
                let beyond = if x > 0.0 { x.next_up() } else { x.next_down() };
                for y in [beyond * s, x * s * 4.0, f64::MAX.copysign(x)] {
                    let (bits, loss) = f.encode_with_loss(y);
                    let want = (end * s, StorageLoss::Saturated);
                    assert_eq!((f.decode(bits), loss), want, "{f} {y}");
                }
            }
        }
    }
}

#[test]
fn what_is_not_finite() {
    for code in ElementCode::ALL {
        let f = scaled(code, -4);
        let nan = f.encode_with_loss(f64::NAN);
        assert_eq!(f.encode_with_loss(-f64::NAN), nan);
        match code.is_integer() {
            true => assert_eq!(nan, (0, StorageLoss::NotHeld)),
            false => assert_eq!(nan, (0x7F, StorageLoss::None)),
        }
        let (up, loss) = f.encode_with_loss(f64::INFINITY);
        let (down, _) = f.encode_with_loss(f64::NEG_INFINITY);
        match code {
            ElementCode::E5m2 => {
                assert_eq!((up, down, loss), (0x7C, 0xFC, StorageLoss::None));
            }
            _ => {
                assert_eq!((up, loss), (code.largest_code(), StorageLoss::NotHeld));
                assert!(f.decode(down) <= -f.largest());
            }
        }
    }
}

#[test]
fn scales_are_the_least_that_hold_a_range() {
    for code in ElementCode::ALL {
        for n in 1..2000 {
            let largest = Dd::from_f64(f64::from(n)).hi * 1.37e-3;
            let f = ScaledFormat::for_range(code, largest).expect("a scale");
            assert!(1.25 * largest <= f.largest(), "{f} {largest}");
            let smaller = scaled(code, f.exponent - 1);
            assert!(1.25 * largest > smaller.largest(), "{f} {largest}");
        }
        for none in [0.0, -1.0, f64::NAN, f64::INFINITY, f64::MAX, 5e-324] {
            assert_eq!(ScaledFormat::for_range(code, none), None);
        }
    }
    let f = scaled(ElementCode::I16, -15);
    assert!(f.check_for(Format::F64).is_ok() && f.check_for(Format::F32).is_ok());
    // An f16 has 11 bits, and ends at 65504.
    assert!(f.check_for(Format::F16).is_err());
    assert!(scaled(ElementCode::I8, 0).check_for(Format::F16).is_ok());
    assert!(scaled(ElementCode::I8, 9).check_for(Format::F16).is_err());
    assert!(
        scaled(ElementCode::I16, -126)
            .check_for(Format::F32)
            .is_err()
    );
    assert!(
        scaled(ElementCode::I16, -125)
            .check_for(Format::F32)
            .is_ok()
    );
    assert!(
        scaled(ElementCode::I16, 113)
            .check_for(Format::F32)
            .is_err()
    );
}

#[test]
fn names() {
    for text in ["i16*2^-12", "i8*2^3", "e4m3", "e5m2*2^-960", "f16", "f64"] {
        let f: StorageFormat = text.parse().expect("a format");
        assert_eq!(f.to_string(), text);
    }
    let bad = |text: &str| text.parse::<StorageFormat>().expect_err("no format");
    assert_eq!(bad("dw32"), ParseStorageFormatError::Pair("dw32".into()));
    for text in [
        "i16*3",
        "i16*2^",
        "i16*2^x",
        "i16*2^0.5",
        "i32",
        "",
        "e4m3*2^961",
        "I16",
        "f16*2^1",
    ] {
        assert_eq!(bad(text), ParseStorageFormatError::Unknown(text.into()));
    }
}
