//! Special values: where the plain `f64` result is infinite, NaN or zero, the
//! double-double result is the same value with a zero low word.

use kerf_num::Dd;

const VALUES: [f64; 17] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -3.0,
    1e308,
    -1e308,
    f64::MAX,
    f64::MIN,
    f64::MIN_POSITIVE,
    -f64::MIN_POSITIVE,
    5e-324,
    -5e-324,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
];

fn same(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan()
}

/// Where the plain result is special, so is this, with a zero low word. Where it
/// is an ordinary number, the high word is it or its neighbour: next to a tie of
/// `f64`, or after a product that underflowed.
#[track_caller]
fn check(what: &str, got: Dd, plain: f64) {
    let report = || format!("{what}: got {got:?}, f64 gives {plain:e}");
    if !plain.is_finite() || plain == 0.0 {
        assert!(same(got.hi, plain), "{}", report());
        assert_eq!(got.lo, 0.0, "{}", report());
    } else {
        assert!(got.is_finite() && got.lo.is_finite(), "{}", report());
        let near = plain.next_down()..=plain.next_up();
        assert!(near.contains(&got.hi), "{}", report());
    }
}

#[test]
fn binary_operations() {
    for a in VALUES {
        for b in VALUES {
            let (x, y) = (Dd::from(a), Dd::from(b));
            check(&format!("{a} + {b}"), x + y, a + b);
            check(&format!("{a} - {b}"), x - y, a - b);
            check(&format!("{a} * {b}"), x * y, a * b);
            check(&format!("{a} / {b}"), x / y, a / b);
            check(&format!("{a} % {b}"), x % y, a % b);
            check(&format!("{a} + word {b}"), x.add_f64(b), a + b);
            check(&format!("{a} * word {b}"), x.mul_f64(b), a * b);
            check(&format!("{a} / word {b}"), x.div_f64(b), a / b);
            check(&format!("copysign {a} {b}"), x.copysign(y), a.copysign(b));
            check(&format!("sum of {a} and {b}"), Dd::from_sum(a, b), a + b);
            assert_eq!(x.partial_cmp(&y), a.partial_cmp(&b));
            assert_eq!(x == y, a == b);
        }
    }
}

#[test]
fn unary_operations() {
    for a in VALUES {
        let x = Dd::from(a);
        check(&format!("-{a}"), -x, -a);
        check(&format!("abs {a}"), x.abs(), a.abs());
        check(&format!("sqrt {a}"), x.sqrt(), a.sqrt());
        check(&format!("floor {a}"), x.floor(), a.floor());
        check(&format!("ceil {a}"), x.ceil(), a.ceil());
        check(&format!("trunc {a}"), x.trunc(), a.trunc());
        check(
            &format!("round_even {a}"),
            x.round_even(),
            a.round_ties_even(),
        );
        check(&format!("exp {a}"), x.exp(), a.exp());
        check(&format!("log {a}"), x.log(), a.ln());
        check(&format!("ldexp {a} 1"), x.ldexp(1), a * 2.0);
        check(&format!("ldexp {a} -1"), x.ldexp(-1), a / 2.0);
        check(
            &format!("ldexp {a} 5000"),
            x.ldexp(5000),
            a * f64::MAX * f64::MAX * f64::MAX,
        );
        assert!(same(x.to_f64(), a));
        assert_eq!((x.is_nan(), x.is_finite()), (a.is_nan(), a.is_finite()));
    }
}

#[test]
fn fused_operations() {
    for a in VALUES {
        for b in VALUES {
            for c in VALUES {
                let got = Dd::from(a).fma(b.into(), c.into());
                let plain = a.mul_add(b, c);
                check(&format!("fma {a} {b} {c}"), got, plain);
            }
        }
    }
}

#[test]
fn minimum_and_maximum_ignore_one_nan() {
    let (nan, one) = (Dd::NAN, Dd::ONE);
    assert_eq!(nan.min(one), one);
    assert_eq!(one.min(nan), one);
    assert_eq!(nan.max(one), one);
    assert_eq!(one.max(nan), one);
    assert!(nan.min(nan).is_nan() && nan.max(nan).is_nan());
    let (plus, minus) = (Dd::from(0.0), Dd::from(-0.0));
    for (a, b) in [(plus, minus), (minus, plus)] {
        assert!(a.min(b).hi.is_sign_negative());
        assert!(a.max(b).hi.is_sign_positive());
    }
    assert_eq!(Dd::INFINITY.min(one), one);
    assert_eq!(Dd::INFINITY.neg().max(one), one);
}

#[test]
fn overflow_with_low_words_does_not_turn_into_nan() {
    let max = Dd {
        hi: f64::MAX,
        lo: f64::MAX * 2f64.powi(-54),
    };
    for result in [
        max + max,
        max * max,
        max * Dd::from(2.0),
        max / Dd::from(0.5),
    ] {
        assert_eq!(result, Dd::INFINITY);
    }
    for result in [
        max / max,
        max - max,
        max.sqrt(),
        max.add_f64(1.0),
        max + Dd::ONE,
    ] {
        assert!(result.is_finite() && result.lo.is_finite(), "{result:?}");
    }
    assert_eq!((-max) + (-max), -Dd::INFINITY);
}

#[test]
fn signs_of_rounded_zeros() {
    let below_one = Dd {
        hi: 1.0,
        lo: -1e-20,
    };
    assert!(same(below_one.floor().hi, 0.0));
    assert!(same((-below_one).ceil().hi, -0.0));
    assert!(same((-below_one).trunc().hi, -0.0));
    assert!(same(
        Dd {
            hi: -0.5,
            lo: 1e-20
        }
        .round_even()
        .hi,
        -0.0
    ));
    assert_eq!(Dd { hi: 0.5, lo: 1e-20 }.round_even(), Dd::ONE);
    assert_eq!(
        Dd {
            hi: 0.5,
            lo: -1e-20
        }
        .round_even(),
        Dd::ZERO
    );
    assert_eq!(Dd { hi: 2.5, lo: 1e-20 }.round_even(), Dd::from(3.0));
    assert!(same(
        Dd {
            hi: -6.0,
            lo: -1e-20
        }
        .fmod(Dd {
            hi: 3.0,
            lo: 0.5e-20
        })
        .hi,
        -0.0
    ));
}
