//! Every double-word algorithm against MPFR, with its proven bound, for both
//! words.

use crate::oracle;

use std::cell::Cell;

use kerf_num::doubleword::{Base, Dw, fast_two_sum, two_prod, two_sum};
use oracle::{Raw, Word, cancelling, err_u2, exact, raw, real};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use rug::Float;

const CASES: u32 = 20_000;

/// Runs `op` on pairs from `pairs` and checks its error and form.
fn check<T: Word>(
    name: &str,
    bound_u2: f64,
    pairs: impl Strategy<Value = (Raw, Raw)>,
    op: impl Fn(Raw, Raw) -> (Dw<T>, Float),
) {
    let worst = Cell::new(0.0f64);
    let config = Config {
        cases: CASES,
        failure_persistence: None,
        ..Config::default()
    };
    let outcome = TestRunner::new(config).run(&pairs, |(x, y)| {
        let (got, want) = op(x, y);
        let err = err_u2(got, &want);
        prop_assert!(err <= bound_u2, "{name}: {err} u^2 above {bound_u2} u^2");
        prop_assert!(
            got.hi + got.lo == got.hi,
            "{name}: {got:?} is not normalised"
        );
        worst.set(worst.get().max(err));
        Ok(())
    });
    if let Err(failure) = outcome {
        panic!("{} {name}: {failure}", T::NAME);
    }
    println!(
        "{} {name}: {:.3} u^2 of {bound_u2:.3} u^2",
        T::NAME,
        worst.get()
    );
}

fn pairs<T: Word>() -> impl Strategy<Value = (Raw, Raw)> {
    (raw::<T>(), raw::<T>())
}

/// Pairs of any kind, half of them cancelling.
fn sums<T: Word>() -> impl Strategy<Value = (Raw, Raw)> {
    let close = (raw::<T>(), raw::<T>(), -60..60i32).prop_map(|(x, y, apart)| {
        (
            x,
            Raw {
                exponent: x.exponent + apart,
                ..y
            },
        )
    });
    let close = close.prop_filter("in range", |(_, y)| T::EXPONENTS.contains(&y.exponent));
    prop_oneof![2 => cancelling::<T>(), 1 => close, 1 => pairs::<T>()]
}

fn addition<T: Word>() {
    let u = T::UNIT_ROUNDOFF.to_f64();
    check::<T>("AccurateDWPlusDW", 3.0 + 13.0 * u, sums::<T>(), |x, y| {
        let (x, y) = (x.build(), y.build());
        (x.accurate_dw_plus_dw(y), exact(x) + exact(y))
    });
    check::<T>("DWPlusFP", 2.0, sums::<T>(), |x, y| {
        let (x, y) = (x.build(), y.word::<T>());
        (x.dw_plus_fp(y), exact(x) + y.to_f64())
    });
    check::<T>("SloppyDWPlusDW, one sign", 3.0, sums::<T>(), |x, y| {
        let (x, y) = (
            x.build(),
            Raw {
                negative: x.negative,
                ..y
            }
            .build(),
        );
        (x.sloppy_dw_plus_dw(y), exact(x) + exact(y))
    });
}

fn multiplication<T: Word>() {
    let u = T::UNIT_ROUNDOFF.to_f64();
    check::<T>("DWTimesDW2", 6.0, pairs::<T>(), |x, y| {
        let (x, y) = (x.build(), y.build());
        (x.dw_times_dw2(y), exact(x) * exact(y))
    });
    check::<T>("DWTimesDW3", 5.0, pairs::<T>(), |x, y| {
        let (x, y) = (x.build(), y.build());
        (x.dw_times_dw3(y), exact(x) * exact(y))
    });
    check::<T>("DWTimesFP1", 1.5 + 4.0 * u, pairs::<T>(), |x, y| {
        let (x, y) = (x.build(), y.word::<T>());
        (x.dw_times_fp1(y), exact(x) * y.to_f64())
    });
    check::<T>("DWTimesFP3", 2.0, pairs::<T>(), |x, y| {
        let (x, y) = (x.build(), y.word::<T>());
        (x.dw_times_fp3(y), exact(x) * y.to_f64())
    });
}

fn division<T: Word>() {
    let u = T::UNIT_ROUNDOFF.to_f64();
    check::<T>("DWDivDW2", 15.0 + 56.0 * u, pairs::<T>(), |x, y| {
        let (x, y) = (x.build(), y.build());
        (x.dw_div_dw2(y), exact(x) / exact(y))
    });
    check::<T>("DWDivDW3", 9.8, pairs::<T>(), |x, y| {
        let (x, y) = (x.build(), y.build());
        (x.dw_div_dw3(y), exact(x) / exact(y))
    });
    check::<T>("DWDivFP3", 3.0, pairs::<T>(), |x, y| {
        let (x, y) = (x.build(), y.word::<T>());
        (x.dw_div_fp3(y), exact(x) / y.to_f64())
    });
}

fn square_root<T: Word>() {
    check::<T>("SQRTDWtoDW", 25.0 / 8.0, pairs::<T>(), |x, _| {
        let x = Raw {
            negative: false,
            ..x
        }
        .build::<T>();
        (x.sqrt_dw_to_dw(), exact(x).sqrt())
    });
}

fn transforms<T: Word>() {
    check::<T>("TwoSum", 0.0, sums::<T>(), |x, y| {
        let (x, y) = (x.word::<T>(), y.word::<T>());
        (two_sum(x, y), real(x.to_f64()) + y.to_f64())
    });
    check::<T>("Fast2Sum", 0.0, sums::<T>(), |x, y| {
        let (x, y) = (x.word::<T>(), y.word::<T>());
        let ordered = x.to_f64().abs() >= y.to_f64().abs();
        let (x, y) = if ordered { (x, y) } else { (y, x) };
        (fast_two_sum(x, y), real(x.to_f64()) + y.to_f64())
    });
    check::<T>("TwoProd", 0.0, pairs::<T>(), |x, y| {
        let (x, y) = (x.word::<T>(), y.word::<T>());
        (two_prod(x, y), real(x.to_f64()) * y.to_f64())
    });
}

#[test]
fn addition_within_its_bounds() {
    addition::<f32>();
    addition::<f64>();
}

#[test]
fn multiplication_within_its_bounds() {
    multiplication::<f32>();
    multiplication::<f64>();
}

#[test]
fn division_within_its_bounds() {
    division::<f32>();
    division::<f64>();
}

#[test]
fn square_root_within_its_bound() {
    square_root::<f32>();
    square_root::<f64>();
}

#[test]
fn transforms_are_error_free() {
    transforms::<f32>();
    transforms::<f64>();
}

#[test]
fn sloppy_sum_loses_the_low_words_under_cancellation() {
    let half_ulp = f64::UNIT_ROUNDOFF / 2.0;
    let x = Dw {
        hi: 1.0,
        lo: half_ulp * (1.0 + f64::EPSILON),
    };
    let y = Dw {
        hi: -1.0,
        lo: half_ulp / 2.0 * (1.0 + f64::EPSILON),
    };
    let want = exact(x) + exact(y);
    assert!(err_u2(x.sloppy_dw_plus_dw(y), &want) > 1e12);
    assert!(err_u2(x.accurate_dw_plus_dw(y), &want) <= 3.0);
}

#[test]
fn exact_quotients_are_exact() {
    let six = Dw::from_word(6.0f64);
    let three = Dw::from_word(3.0f64);
    assert_eq!(six.dw_div_dw2(three), Dw::from_word(2.0));
    assert_eq!(six.dw_div_fp3(3.0), Dw::from_word(2.0));
    assert_eq!(Dw::from_word(49.0f32).sqrt_dw_to_dw(), Dw::from_word(7.0));
    assert_eq!(Dw::from_word(0.0f32).sqrt_dw_to_dw(), Dw::from_word(0.0));
}
