//! Ulps by hand: boundaries, subnormals, across zero, infinities, NaN.

use kerf_num::ulp::{ulp, ulp_at, ulp_from_real, ulp_from_rounded};
use kerf_num::{Dd, Format};
use proptest::prelude::*;

const EPS32: f64 = f32::EPSILON as f64;
const INF: f64 = f64::INFINITY;

fn dd(x: f64) -> Dd {
    Dd::from_f64(x)
}

#[test]
fn ulp_changes_at_powers_of_two() {
    assert_eq!(ulp(1.0, Format::F64), f64::EPSILON);
    assert_eq!(ulp(1.0f64.next_down(), Format::F64), f64::EPSILON / 2.0);
    assert_eq!(ulp(-1.0, Format::F32), EPS32);
    assert_eq!(ulp(1.0f64.next_down(), Format::F32), EPS32 / 2.0);
    assert_eq!(ulp(1.5, Format::F16), 2f64.powi(-10));
    assert_eq!(ulp(256.0, Format::Bf16), 2.0);
    // Just below 1 by less than an f64 shows: the lower binade.
    assert_eq!(
        ulp_at(
            Dd {
                hi: 1.0,
                lo: -1e-20
            },
            Format::F32
        ),
        EPS32 / 2.0
    );
    assert_eq!(
        ulp_at(
            Dd {
                hi: -1.0,
                lo: 1e-20
            },
            Format::F32
        ),
        EPS32 / 2.0
    );
    assert_eq!(ulp_at(Dd { hi: 1.0, lo: 1e-20 }, Format::F32), EPS32);
}

#[test]
fn ulp_at_the_ends_of_the_range() {
    for format in Format::ALL {
        let least = format.min_subnormal();
        assert_eq!(ulp(0.0, format), least);
        assert_eq!(ulp(least, format), least);
        assert_eq!(ulp(format.min_normal(), format), least);
        assert_eq!(ulp(2.0 * format.min_normal(), format), 2.0 * least);
        let max = format.max_finite();
        assert_eq!(ulp(max, format), max - format.next_down(max));
        assert!(ulp(INF, format).is_nan() && ulp(f64::NAN, format).is_nan());
    }
    // Past the range the spacing of the top binade goes on.
    assert_eq!(ulp(1e30, Format::F16), 32.0);
}

#[test]
fn steps_around_one() {
    for format in Format::ALL {
        let (below, above) = (format.next_down(1.0), format.next_up(1.0));
        assert_eq!(ulp_from_rounded(1.0, dd(1.0), format), 0.0);
        assert_eq!(ulp_from_rounded(above, dd(1.0), format), 1.0);
        assert_eq!(ulp_from_rounded(below, dd(1.0), format), 1.0);
        assert_eq!(ulp_from_rounded(above, dd(below), format), 2.0);
        // The ulp of 1 is that of the binade above, so below it is half a one.
        assert_eq!(ulp_from_real(above, dd(1.0), format), 1.0);
        assert_eq!(ulp_from_real(below, dd(1.0), format), 0.5);
        assert_eq!(ulp_from_real(1.0, dd(below), format), 1.0);
    }
}

#[test]
fn the_two_meanings_differ_between_values() {
    // The reference lies a quarter of an ulp above 1 in f32.
    let reference = Dd {
        hi: 1.0 + EPS32 / 4.0,
        lo: 1e-25,
    };
    assert_eq!(ulp_from_rounded(1.0, reference, Format::F32), 0.0);
    assert_eq!(ulp_from_real(1.0, reference, Format::F32), 0.25);
    assert_eq!(ulp_from_rounded(1.0 + EPS32, reference, Format::F32), 1.0);
    assert_eq!(ulp_from_real(1.0 + EPS32, reference, Format::F32), 0.75);
    // In f64 the low word alone is the error.
    let third = Dd::ONE / dd(3.0);
    let err = ulp_from_real(third.hi, third, Format::F64);
    assert_eq!(err, third.lo / 2f64.powi(-54));
    assert!((err - 1.0 / 3.0).abs() < 1e-15);
}

#[test]
fn subnormals_count_single_steps() {
    for format in Format::ALL {
        let least = format.min_subnormal();
        assert_eq!(ulp_from_rounded(3.0 * least, dd(least), format), 2.0);
        assert_eq!(ulp_from_real(3.0 * least, dd(least), format), 2.0);
        assert_eq!(ulp_from_rounded(0.0, dd(least), format), 1.0);
        let steps = 2f64.powi(format.mantissa_bits() as i32 - 1);
        assert_eq!(
            ulp_from_rounded(0.0, dd(format.min_normal()), format),
            steps
        );
    }
    // Below half of the smallest subnormal the rounded reference is zero.
    assert_eq!(ulp_from_rounded(0.0, dd(2f64.powi(-26)), Format::F16), 0.0);
    assert_eq!(ulp_from_real(0.0, dd(2f64.powi(-26)), Format::F16), 0.25);
}

#[test]
fn across_zero() {
    for format in Format::ALL {
        let least = format.min_subnormal();
        assert_eq!(ulp_from_rounded(-least, dd(least), format), 2.0);
        assert_eq!(ulp_from_real(-least, dd(least), format), 2.0);
        assert_eq!(ulp_from_rounded(-0.0, dd(0.0), format), 0.0);
        assert_eq!(ulp_from_real(-0.0, dd(0.0), format), 0.0);
        assert_eq!(ulp_from_rounded(-least, dd(0.0), format), 1.0);
    }
    // All of f16 lies between its infinities: 31 exponents of 1024 on each side.
    assert_eq!(
        ulp_from_rounded(-INF, dd(INF), Format::F16),
        2.0 * 31.0 * 1024.0
    );
    assert_eq!(
        ulp_from_rounded(-INF, dd(INF), Format::F64),
        2f64.powi(53) * 2047.0
    );
}

#[test]
fn infinities_and_nan() {
    for format in Format::ALL {
        let max = format.max_finite();
        assert_eq!(ulp_from_rounded(INF, dd(max), format), 1.0);
        assert_eq!(ulp_from_rounded(max, dd(INF), format), 1.0);
        assert_eq!(ulp_from_rounded(INF, dd(INF), format), 0.0);
        assert_eq!(ulp_from_real(INF, dd(INF), format), 0.0);
        assert_eq!(ulp_from_real(-INF, dd(INF), format), INF);
        assert_eq!(ulp_from_real(INF, dd(max), format), INF);
        assert_eq!(ulp_from_real(max, dd(INF), format), INF);
        for of in [ulp_from_rounded, ulp_from_real] {
            assert_eq!(of(f64::NAN, Dd::NAN, format), 0.0);
            assert_eq!(of(f64::NAN, dd(1.0), format), INF);
            assert_eq!(of(1.0, Dd::NAN, format), INF);
            assert_eq!(of(INF, Dd::NAN, format), INF);
        }
    }
    // A reference that overflows the format rounds to its infinity.
    assert_eq!(ulp_from_rounded(INF, dd(1e30), Format::F16), 0.0);
    assert_eq!(ulp_from_real(INF, dd(1e30), Format::F16), INF);
}

proptest! {
    #[test]
    fn a_correctly_rounded_result_is_within_half_an_ulp(
        hi in -1e4..1e4f64, low in -1.0..1.0f64, scale in -60..1i32,
    ) {
        let reference = Dd::from_sum(hi * 2f64.powi(scale), low * 1e-18);
        for format in Format::ALL {
            let got = format.round_dd(reference);
            prop_assert_eq!(ulp_from_rounded(got, reference, format), 0.0);
            prop_assert!(ulp_from_real(got, reference, format) <= 0.5);
            let off = format.next_up(format.next_up(got));
            prop_assert_eq!(ulp_from_rounded(off, reference, format), 2.0);
        }
    }
}
