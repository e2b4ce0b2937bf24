//! Double-doubles against MPFR.

use crate::oracle;

use std::cmp::Ordering;

use kerf_num::Dd;
use oracle::{Raw, cancelling, err_u2_dd, exact_dd, raw, real};
use proptest::prelude::*;
use rug::Float;
use rug::float::Round;
use rug::ops::CompleteRound;

fn dd(raw: Raw) -> Dd {
    raw.build::<f64>().into()
}

/// A double-double whose exponent lies where the integer part ends.
fn near_integers() -> impl Strategy<Value = Dd> {
    let any_size = (raw::<f64>(), -3..110i32).prop_map(|(r, exponent)| Raw { exponent, ..r });
    let halves =
        (-(1i64 << 54)..1 << 54, -4i64..=4, -110..-40i32).prop_map(|(n, hairs, exponent)| {
            Dd::from_sum(n as f64 / 2.0, hairs as f64 * 2f64.powi(exponent))
        });
    let ties = (1i64 << 52..1 << 60, -3i64..=3)
        .prop_map(|(n, half)| Dd::from_i64(n).add_f64(half as f64 / 2.0));
    prop_oneof![any_size.prop_map(dd), halves, ties]
}

/// `got` equals the real number `want`.
fn equals(got: Dd, want: &Float) -> bool {
    exact_dd(got) == *want
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 10_000, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn sums_under_cancellation(pair in cancelling::<f64>()) {
        let (x, y) = (dd(pair.0), dd(pair.1));
        let (sum, difference) = (exact_dd(x) + exact_dd(y), exact_dd(x) - exact_dd(y));
        prop_assert!(err_u2_dd(x + y, &sum) <= 3.01);
        prop_assert!(err_u2_dd(x - y, &difference) <= 3.01);
    }

    #[test]
    fn arithmetic_within_its_bounds(x in raw::<f64>(), y in raw::<f64>()) {
        let (x, y) = (dd(x), dd(y));
        let (rx, ry) = (exact_dd(x), exact_dd(y));
        let sum = (&rx + &ry).complete(oracle::PRECISION);
        let product = (&rx * &ry).complete(oracle::PRECISION);
        let quotient = (&rx / &ry).complete(oracle::PRECISION);
        prop_assert!(err_u2_dd(x + y, &sum) <= 3.01);
        prop_assert!(err_u2_dd(x * y, &product) <= 5.0);
        prop_assert!(err_u2_dd(x / y, &quotient) <= 15.01);
        prop_assert!(err_u2_dd(x.abs().sqrt(), &rx.clone().abs().sqrt()) <= 3.125);
        prop_assert!(err_u2_dd(x.add_f64(y.hi), &(rx.clone() + y.hi)) <= 2.0);
        prop_assert!(err_u2_dd(x.mul_f64(y.hi), &(rx.clone() * y.hi)) <= 2.0);
        prop_assert!(err_u2_dd(x.div_f64(y.hi), &(rx.clone() / y.hi)) <= 3.0);
        let mut assigned = x;
        assigned += y;
        assigned -= y;
        assigned *= y;
        assigned /= y;
        prop_assert_eq!(assigned, ((x + y) - y) * y / y);
    }

    #[test]
    fn fma_error_is_that_of_product_and_sum(x in raw::<f64>(), y in raw::<f64>(), z in raw::<f64>()) {
        let exponent = x.exponent + y.exponent + z.exponent % 60;
        let (x, y, z) = (dd(x), dd(y), dd(Raw { exponent, ..z }));
        let product = exact_dd(x) * exact_dd(y);
        let want = &product + exact_dd(z);
        let error = (exact_dd(x.fma(y, z)) - &want).abs();
        let allowed = (product.abs() * 5.0f64 + want.abs() * 4.0f64) >> 106;
        prop_assert!(error <= allowed);
    }

    #[test]
    fn fma_of_words_has_the_error_of_one_sum(x in raw::<f64>(), y in raw::<f64>(), z in raw::<f64>()) {
        let (x, y): (f64, f64) = (x.word(), y.word());
        let exponent = (x * y).log2_floor() + z.exponent % 60;
        let z: f64 = Raw { exponent, ..z }.word();
        let got = Dd::from(x).fma(y.into(), z.into());
        prop_assert!(err_u2_dd(got, &(real(x) * y + z)) <= 3.01);
    }

    #[test]
    fn rounding_to_integers_is_exact(x in near_integers()) {
        let real = exact_dd(x);
        for x in [x, -x] {
            let real = if x.hi.is_sign_negative() == real.is_sign_negative() {
                real.clone()
            } else {
                -real.clone()
            };
            prop_assert!(equals(x.floor(), &real.clone().floor()), "floor {:?}", x);
            prop_assert!(equals(x.ceil(), &real.clone().ceil()), "ceil {:?}", x);
            prop_assert!(equals(x.trunc(), &real.clone().trunc()), "trunc {:?}", x);
            prop_assert!(equals(x.round_even(), &real.clone().round_even()), "round_even {:?}", x);
        }
    }

    #[test]
    fn order_is_that_of_the_reals(x in raw::<f64>(), y in raw::<f64>(), low in any::<i64>()) {
        for other in [y, Raw { low, ..x }, Raw { negative: !x.negative, ..x }, x] {
            let (x, y) = (dd(x), dd(other));
            let want = exact_dd(x).partial_cmp(&exact_dd(y));
            prop_assert_eq!(x.partial_cmp(&y), want);
            let (low, high) = if want == Some(Ordering::Less) { (x, y) } else { (y, x) };
            prop_assert_eq!((x.min(y), x.max(y)), (low, high));
        }
    }

    #[test]
    fn remainder_is_exact_until_rounded(x in raw::<f64>(), y in raw::<f64>(), apart in -5..300i32) {
        let x = Raw { exponent: (y.exponent + apart).min(900), ..x };
        let (x, y) = (dd(x), dd(y));
        let want = exact_dd(x) % exact_dd(y);
        let got = x.fmod(y);
        prop_assert!(err_u2_dd(got, &want) <= 0.51, "{x:?} % {y:?}");
        prop_assert_eq!(got.hi.is_sign_negative(), x.hi.is_sign_negative());
        prop_assert_eq!(x % y, got);
    }

    #[test]
    fn scaling_by_powers_of_two_is_exact(x in raw::<f64>(), n in -600..600i32) {
        let x = dd(x);
        prop_assert!(equals(x.ldexp(n), &(exact_dd(x) << n)));
    }

    #[test]
    fn integers_convert_exactly(n in any::<i64>(), shift in 0..64u32) {
        for n in [n, n >> shift, i64::MAX.wrapping_sub(n >> shift), i64::MIN, i64::MAX] {
            let dd = Dd::from_i64(n);
            prop_assert_eq!(dd, Dd::from(n));
            prop_assert!(equals(dd, &Float::with_val(oracle::PRECISION, n)));
            prop_assert_eq!(dd.hi + dd.lo, dd.hi);
            let n = n as u64;
            prop_assert!(equals(Dd::from_u64(n), &Float::with_val(oracle::PRECISION, n)));
        }
    }

    #[test]
    fn sums_of_any_two_words_are_exact(a in -1e300..1e300f64, b in any::<i64>(), e in -400..400i32) {
        let b = b as f64 * 2f64.powi(e);
        let sum = Dd::from_sum(a, b);
        prop_assert!(equals(sum, &(real(a) + b)));
        prop_assert_eq!(sum.to_f64(), a + b);
    }
}

/// `floor(log2 |x|)`, for choosing comparable operands.
trait Log2Floor {
    fn log2_floor(self) -> i32;
}

impl Log2Floor for f64 {
    fn log2_floor(self) -> i32 {
        self.abs().log2().floor() as i32
    }
}

#[test]
fn exact_results_are_exact() {
    let of = Dd::from_f64;
    assert_eq!(of(6.0) / of(3.0), of(2.0));
    assert_eq!(of(0.1) * of(10.0) - of(0.1) * of(10.0), Dd::ZERO);
    assert_eq!((of(1.0) + of(1e-30)) - of(1.0), of(1e-30));
    assert_eq!(of(2.0).sqrt().mul(of(2.0).sqrt()).hi, 2.0);
    assert_eq!(Dd::from_u64(u64::MAX) + Dd::ONE, of(2f64.powi(64)));
    assert_eq!(
        Dd::from_sum(7.5, 1e-40).fmod(of(2.0)),
        Dd::from_sum(1.5, 1e-40)
    );
    assert_eq!(of(1.0).exp().hi, std::f64::consts::E);
    assert_eq!(of(2.0).log().hi, std::f64::consts::LN_2);
    assert_eq!(Dd::from(1.5f32).to_string(), "1.5");
    assert_eq!(
        Dd {
            hi: 1.0,
            lo: -0.5e-20
        }
        .to_string(),
        "1-5e-21"
    );
}

#[test]
fn remainder_with_a_huge_quotient() {
    // 2^900 + 2^800 modulo 1/3 in double-double, by MPFR.
    let x = Dd {
        hi: 2f64.powi(900),
        lo: 2f64.powi(800),
    };
    let y = Dd::ONE / Dd::from_f64(3.0);
    let (want, direction) =
        Float::with_val_round(oracle::PRECISION, exact_dd(x) % exact_dd(y), Round::Nearest);
    assert_eq!(direction, Ordering::Equal);
    assert!(err_u2_dd(x.fmod(y), &want) <= 0.51);
    assert!(x.fmod(y) < y);
}
