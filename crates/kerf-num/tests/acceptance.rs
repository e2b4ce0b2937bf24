//! The decision on an output against an oracle that is written the plain way: value by value, rule by rule, without
//! reports.

use kerf_num::metrics::{
    Bound, ComparedCounts, ErrorReport, Integers, Judgement, NanPairs, Rejection, judge,
};
use kerf_num::{Dd, Format, Metric, compare};
use proptest::prelude::*;

/// A value of an output and of its reference.
#[derive(Clone, Copy, Debug)]
enum Pair {
    F64(f64, f64),
    F32(f32, f32),
    Integer(i64, i64),
}

/// What the oracle says of pairs.
#[derive(Debug, PartialEq)]
struct Expected {
    accepted: bool,
    counts: ComparedCounts,
}

/// The rules in their plainest form, for the largest absolute error.
fn oracle(pairs: &[Pair], tolerance: Option<f64>, allow_nan: bool) -> Expected {
    let mut c = ComparedCounts::default();
    let mut all_within = true;
    for p in pairs {
        c.values += 1;
        let (got, reference) = match *p {
            Pair::Integer(a, b) => {
                c.compared += 1;
                c.integer_mismatches += usize::from(a != b);
                continue;
            }
            Pair::F64(a, b) => (a, b),
            Pair::F32(a, b) => (f64::from(a), f64::from(b)),
        };
        if got.is_nan() && reference.is_nan() {
            c.nan_pairs += 1;
        } else if got.is_infinite() && got == reference {
            c.inf_pairs += 1;
        } else if got.is_finite() && reference.is_finite() {
            c.compared += 1;
            // Small integers over 8: differences are exact.
            all_within &= tolerance.is_none_or(|t| (got - reference).abs() <= t);
        } else {
            c.not_finite_mismatches += 1;
        }
    }
    let clean = c.not_finite_mismatches == 0 && c.integer_mismatches == 0;
    let nan_ok = c.nan_pairs == 0 || allow_nan;
    Expected {
        accepted: clean && nan_ok && all_within && c.compared > 0,
        counts: c,
    }
}

/// The same through reports, as jobs do it.
fn judged(pairs: &[Pair], tolerance: Option<f64>, allow_nan: bool) -> Judgement {
    let mut by_format: [(Format, Vec<f64>, Vec<Dd>); 2] = [
        (Format::F64, Vec::new(), Vec::new()),
        (Format::F32, Vec::new(), Vec::new()),
    ];
    let mut integers = Integers::default();
    for p in pairs {
        let (at, got, reference) = match *p {
            Pair::Integer(a, b) => {
                integers.count += 1;
                integers.mismatches += usize::from(a != b);
                continue;
            }
            Pair::F64(a, b) => (0, a, b),
            Pair::F32(a, b) => (1, f64::from(a), f64::from(b)),
        };
        by_format[at].1.push(got);
        by_format[at].2.push(Dd::from_f64(reference));
    }
    let reports: Vec<ErrorReport> = by_format
        .iter()
        .map(|(f, got, reference)| compare(got, reference, *f, None).expect("equal lengths"))
        .collect();
    let bound = tolerance.map(|tolerance| Bound {
        metric: Metric::MaxAbs,
        quantile: 0.999,
        tolerance,
    });
    let nan_pairs = match allow_nan {
        true => NanPairs::Allowed,
        false => NanPairs::Rejected,
    };
    judge(&reports, integers, bound.as_ref(), nan_pairs)
}

/// A measure of finite values, by its definition.
fn by_formula(metric: Metric, got: &[f64], reference: &[f64]) -> f64 {
    let pairs = || got.iter().zip(reference);
    let largest =
        |of: &dyn Fn(f64, f64) -> f64| pairs().map(|(g, r)| of(*g, *r)).fold(0.0, f64::max);
    let sum = |of: &dyn Fn(f64, f64) -> f64| pairs().map(|(g, r)| of(*g, *r)).sum::<f64>();
    let max_rel = largest(&|g, r| (g - r).abs() / r.abs());
    // A unit in the last place of a double in [2^e, 2^(e+1)) is 2^(e-52).
    let ulp = |r: f64| 2f64.powi(r.abs().log2().floor() as i32 - 52);
    let n = got.len() as f64;
    match metric {
        Metric::MaxRel => max_rel,
        Metric::Bp => 1e4 * max_rel,
        Metric::Digits if max_rel == 0.0 => kerf_num::metrics::MAX_DIGITS,
        Metric::Digits => -max_rel.log10(),
        Metric::MaxAbs => largest(&|g, r| (g - r).abs()),
        Metric::MaxUlp => largest(&|g, r| (g - r).abs() / ulp(r)),
        Metric::Rms => (sum(&|g, r| (g - r) * (g - r)) / n).sqrt(),
        Metric::RelL2 => (sum(&|g, r| (g - r) * (g - r)) / sum(&|_, r| r * r)).sqrt(),
        Metric::RelLinf => largest(&|g, r| (g - r).abs()) / largest(&|_, r| r.abs()),
        Metric::MeanRel => sum(&|g, r| (g - r).abs() / r.abs()) / n,
        other => unreachable!("{other} is no formula over elements"),
    }
}

fn value() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => (-16i32..16).prop_map(|n| f64::from(n) / 8.0),
        1 => Just(f64::NAN),
        1 => Just(f64::INFINITY),
        1 => Just(f64::NEG_INFINITY),
        1 => Just(-0.0),
    ]
}

/// Pairs that are equal more often than chance has them: few mixes would be accepted otherwise.
fn pair() -> impl Strategy<Value = Pair> {
    let equal = |v: (f64, f64, bool)| if v.2 { (v.0, v.0) } else { (v.0, v.1) };
    let floats = (value(), value(), prop::bool::weighted(0.8)).prop_map(equal);
    let narrow = (value(), value(), prop::bool::weighted(0.8)).prop_map(equal);
    let integers = (0i64..3, prop::bool::weighted(0.9));
    prop_oneof![
        3 => floats.prop_map(|(a, b)| Pair::F64(a, b)),
        3 => narrow.prop_map(|(a, b)| Pair::F32(a as f32, b as f32)),
        2 => integers.prop_map(|(a, same)| Pair::Integer(a, a + i64::from(!same))),
    ]
}

fn tolerance() -> impl Strategy<Value = Option<f64>> {
    prop_oneof![
        Just(None),
        Just(Some(0.0)),
        Just(Some(0.5)),
        Just(Some(f64::INFINITY)),
        Just(Some(f64::NAN)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn every_mix_is_decided_as_the_rules_say(
        pairs in prop::collection::vec(pair(), 0..12),
        tolerance in tolerance(),
        allow_nan in any::<bool>(),
    ) {
        let j = judged(&pairs, tolerance, allow_nan);
        // A NaN tolerance accepts nothing; integers alone are held to it as well.
        let expected = oracle(&pairs, tolerance, allow_nan);
        let accepted = expected.accepted && !tolerance.is_some_and(f64::is_nan);
        prop_assert_eq!(j.accepted(), accepted, "{:?}", j);
        prop_assert_eq!(j.counts, expected.counts);
        prop_assert!(!j.accepted() || j.counts.compared > 0, "{:?}", j);
        // Every value is somewhere, and nowhere twice.
        let c = j.counts;
        prop_assert_eq!(c.values, c.compared + c.special() + c.not_finite_mismatches);
    }

    #[test]
    fn no_order_and_no_further_good_value_changes_a_rejection(
        pairs in prop::collection::vec(pair(), 1..12),
        extra in 1usize..5,
    ) {
        let before = judged(&pairs, Some(0.0), false);
        let mut more = pairs.clone();
        more.reverse();
        prop_assert_eq!(judged(&more, Some(0.0), false).rejection, before.rejection);
        more.extend(std::iter::repeat_n(Pair::F64(1.0, 1.0), extra));
        let after = judged(&more, Some(0.0), false);
        // Only a comparison of nothing is mended by something to compare.
        let nothing = before.rejection == Some(Rejection::NothingCompared);
        prop_assert!(nothing || after.accepted() == before.accepted());
    }

    /// Every measure that is a formula over elements, written out; references away from zero, so that no floor matters.
    #[test]
    fn every_measure_decides_as_its_formula(
        pairs in prop::collection::vec((8i32..64, -4i32..5), 1..10),
        metric in prop::sample::select(vec![
            Metric::MaxRel, Metric::MaxAbs, Metric::MaxUlp, Metric::Rms, Metric::RelL2, Metric::RelLinf, Metric::MeanRel,
            Metric::Digits, Metric::Bp,
        ]),
        tolerance in 0.0f64..2.0,
    ) {
        let reference: Vec<f64> = pairs.iter().map(|(r, _)| f64::from(*r) / 8.0).collect();
        let got: Vec<f64> = pairs.iter().map(|(r, d)| f64::from(r + d) / 8.0).collect();
        let value = by_formula(metric, &got, &reference);
        // Tolerances of each measure's own size, so that both sides of the decision are met.
        let tolerance = tolerance * value;
        prop_assume!((value - tolerance).abs() > 1e-9 * value.abs());
        let exact: Vec<Dd> = reference.iter().map(|v| Dd::from_f64(*v)).collect();
        let r = compare(&got, &exact, Format::F64, None).expect("equal lengths");
        let bound = Bound { metric, quantile: 0.5, tolerance };
        let j = judge(&[r], Integers::default(), Some(&bound), NanPairs::Rejected);
        let within = match metric {
            Metric::Digits => value >= tolerance,
            _ => value <= tolerance,
        };
        prop_assert_eq!(j.accepted(), within, "{:?} {} {:?}", metric, value, j);
        prop_assert_eq!(j.rejection, (!within).then_some(Rejection::BeyondTolerance));
    }

    #[test]
    fn no_metric_accepts_what_is_only_special(
        pairs in prop::collection::vec(prop_oneof![
            Just(f64::NAN), Just(f64::INFINITY), Just(f64::NEG_INFINITY),
        ], 0..6),
        metric in prop::sample::select(Metric::ALL.to_vec()),
        allow_nan in any::<bool>(),
    ) {
        let reference: Vec<Dd> = pairs.iter().map(|v| Dd::from_f64(*v)).collect();
        let r = compare(&pairs, &reference, Format::F64, None).expect("equal lengths");
        let tolerance = if metric.more_is_better() { f64::NEG_INFINITY } else { f64::INFINITY };
        let bound = Bound { metric, quantile: 0.5, tolerance };
        let nan_pairs = if allow_nan { NanPairs::Allowed } else { NanPairs::Rejected };
        let j = judge(&[r], Integers::default(), Some(&bound), nan_pairs);
        prop_assert_eq!(j.rejection, Some(Rejection::NothingCompared));
        prop_assert_eq!(j.value, None);
    }
}

#[test]
fn a_reference_of_nan_alone_is_never_met() {
    let pairs = vec![Pair::F64(f64::NAN, f64::NAN); 1000];
    for allow_nan in [false, true] {
        let j = judged(&pairs, Some(f64::INFINITY), allow_nan);
        assert_eq!(j.rejection, Some(Rejection::NothingCompared));
        assert_eq!((j.counts.compared, j.counts.nan_pairs), (0, 1000));
    }
}

#[test]
fn one_pair_of_nan_needs_leave() {
    let pairs = [Pair::F64(f64::NAN, f64::NAN), Pair::F64(1.0, 1.0)];
    let j = judged(&pairs, Some(1.0), false);
    assert_eq!(j.rejection, Some(Rejection::NanPairs));
    let j = judged(&pairs, Some(1.0), true);
    assert!(j.accepted());
    assert_eq!(j.value, Some(0.0));
    assert_eq!(
        j.counts.to_string(),
        "1 of 2 values compared, 1 pair of NaN"
    );
}

#[test]
fn integers_are_compared_exactly_and_need_no_bound() {
    let same = [Pair::Integer(3, 3), Pair::Integer(4, 4)];
    assert!(judged(&same, None, false).accepted());
    let other = [Pair::Integer(3, 3), Pair::Integer(4, 5)];
    for tolerance in [None, Some(f64::INFINITY)] {
        let j = judged(&other, tolerance, false);
        assert_eq!(j.rejection, Some(Rejection::IntegersDiffer));
        assert_eq!((j.counts.compared, j.counts.integer_mismatches), (2, 1));
    }
}

#[test]
fn the_worst_format_decides() {
    let pairs = [Pair::F32(1.0, 1.0), Pair::F64(1.0, 3.0)];
    let j = judged(&pairs, Some(1.0), false);
    assert_eq!(j.rejection, Some(Rejection::BeyondTolerance));
    assert_eq!(j.value, Some(2.0));
}
