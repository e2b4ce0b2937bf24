//! Error reports by hand, and what a tolerance must not let through.

use std::fmt;

use kerf_num::metrics::{
    Bound, CompareError, ErrorReport, ImageExtents, Integers, NanPairs, compare_with_quantiles,
    judge, ssim,
};
use kerf_num::{Dd, Format, Metric, compare};
use serde::de::IntoDeserializer;
use serde::de::value::{Error as ValueError, StrDeserializer};
use serde::{Deserialize, Serialize};

const NAN: f64 = f64::NAN;
const INF: f64 = f64::INFINITY;

fn dds(values: &[f64]) -> Vec<Dd> {
    values.iter().map(|&x| Dd::from_f64(x)).collect()
}

/// The decision on one report, pairs of NaN allowed.
fn accepts(report: &ErrorReport, metric: Metric, quantile: f64, tolerance: f64) -> bool {
    let bound = Bound {
        metric,
        quantile,
        tolerance,
    };
    let reports = std::slice::from_ref(report);
    judge(
        reports,
        Integers::default(),
        Some(&bound),
        NanPairs::Allowed,
    )
    .accepted()
}

#[test]
fn every_measure_by_hand() {
    let reference = dds(&[1.0, -2.0, 4.0, 0.0]);
    let got = [1.5, -2.0, 3.0, 0.0];
    let report = compare(&got, &reference, Format::F16, None).unwrap();
    assert_eq!((report.count, report.compared), (4, 4));
    assert_eq!((report.nan_mismatch, report.inf_mismatch), (0, 0));
    assert_eq!(report.first_mismatch, None);
    assert_eq!(report.bit_mismatches, 2);
    assert_eq!(report.max_abs, 1.0);
    assert_eq!(report.max_abs_at.unwrap().index, 2);
    assert_eq!(report.max_rel, 0.5);
    let at = report.max_rel_at.unwrap();
    assert_eq!(
        (at.index, at.got, at.reference, at.reference_lo),
        (0, 1.5, 1.0, 0.0)
    );
    // f16 has 2^10 values in a binade: 1.5 is 512 from 1; 3 is 512 below 4, but
    // 256 of the ulps of 4.
    assert_eq!(report.max_ulp, 512.0);
    assert_eq!(report.max_ulp_at.unwrap().index, 0);
    assert_eq!(report.max_ulp_rounded, 512.0);
    assert_eq!(report.rms, (1.25f64 / 4.0).sqrt());
    assert_eq!(report.rel_l2, (1.25f64 / 21.0).sqrt());
    assert_eq!(report.mean_rel, 0.75 / 4.0);
    let quantiles: Vec<_> = report.quantiles.iter().map(|x| (x.q, x.rel)).collect();
    assert_eq!(
        quantiles,
        [(0.5, 0.0), (0.9, 0.5), (0.99, 0.5), (0.999, 0.5)]
    );
    assert_eq!(report.digits, -(0.5f64.log10()));
    assert_eq!(report.floor, Format::F16.min_normal());
}

#[test]
fn an_exact_output_has_no_error() {
    let reference = dds(&[1.0, 0.0, -0.0]);
    let report = compare(&[1.0, -0.0, 0.0], &reference, Format::F32, None).unwrap();
    assert_eq!(
        (report.bit_mismatches, report.max_rel, report.max_ulp),
        (0, 0.0, 0.0)
    );
    assert_eq!(
        (report.max_abs_at, report.max_rel_at, report.max_ulp_at),
        (None, None, None)
    );
    assert_eq!(
        (report.rms, report.rel_l2, report.mean_rel),
        (0.0, 0.0, 0.0)
    );
    assert_eq!(report.digits, 32.0);
    assert!(accepts(&report, Metric::MaxRel, 1.0, 0.0));
    assert!(accepts(&report, Metric::Digits, 1.0, 32.0));
}

#[test]
fn the_low_word_of_the_reference_counts() {
    let reference = [Dd {
        hi: 1.0,
        lo: 2f64.powi(-60),
    }];
    let report = compare(&[1.0], &reference, Format::F64, None).unwrap();
    assert_eq!(report.bit_mismatches, 0);
    assert_eq!(report.max_abs, 2f64.powi(-60));
    assert_eq!(report.max_ulp, 2f64.powi(-8));
    assert_eq!(report.max_ulp_rounded, 0.0);
    assert_eq!(report.max_abs_at.unwrap().reference_lo, 2f64.powi(-60));
    assert!((report.digits - 60.0 * 2f64.log10()).abs() < 1e-12);
}

#[test]
fn a_nan_hidden_in_the_last_element_rejects() {
    let mut got = vec![1.0; 10_000];
    *got.last_mut().unwrap() = NAN;
    let report = compare(&got, &dds(&vec![1.0; 10_000]), Format::F32, None).unwrap();
    assert_eq!(
        (report.nan_mismatch, report.first_mismatch),
        (1, Some(9_999))
    );
    assert_eq!((report.compared, report.bit_mismatches), (9_999, 1));
    assert_eq!(report.max_rel, 0.0);
    for metric in Metric::ALL {
        let tolerance = if metric.more_is_better() { -INF } else { INF };
        assert!(!accepts(&report, metric, 0.5, tolerance), "{metric}");
    }
    assert_eq!(report.value(Metric::MeanRel, 0.5), INF);
    assert_eq!(report.value(Metric::Digits, 0.5), -INF);
}

#[test]
fn one_destroyed_element_in_a_million_rejects() {
    const COUNT: usize = 1_000_000;
    let reference: Vec<Dd> = (0..COUNT)
        .map(|i| Dd::from_f64(1.0 + i as f64 / 1e6))
        .collect();
    let mut got: Vec<f64> = reference.iter().map(|x| Format::F32.round_dd(*x)).collect();
    got[777_777] = 0.0;
    let report = compare(&got, &reference, Format::F32, None).unwrap();
    assert_eq!(report.max_rel, 1.0);
    assert_eq!(report.max_rel_at.unwrap().index, 777_777);
    assert_eq!(report.bit_mismatches, 1);
    assert!(!accepts(&report, Metric::default(), 0.999, 1e-3));
    assert!(!accepts(&report, Metric::MaxUlp, 0.999, 1e3));
    assert!(!accepts(&report, Metric::Digits, 0.999, 3.0));
    // What the averages and quantiles would have let through.
    assert!(accepts(&report, Metric::MeanRel, 0.999, 1e-5));
    assert!(accepts(&report, Metric::Quantile, 0.999, 1e-7));
}

#[test]
fn matching_specials_do_not_contribute() {
    let reference = dds(&[NAN, INF, -INF, 2.0]);
    let report = compare(&[NAN, INF, -INF, 1.0], &reference, Format::F32, None).unwrap();
    assert_eq!((report.count, report.compared), (4, 1));
    assert_eq!((report.nan_pairs, report.inf_pairs), (1, 2));
    assert!(!report.has_mismatch());
    assert_eq!(
        (report.bit_mismatches, report.max_rel, report.mean_rel),
        (1, 0.5, 0.5)
    );
    assert_eq!(report.rms, 1.0);
    assert!(accepts(&report, Metric::MaxRel, 1.0, 0.5));
}

#[test]
fn every_other_special_is_a_mismatch() {
    let cases = [
        (NAN, 1.0, 1, 0),
        (1.0, NAN, 1, 0),
        (INF, NAN, 1, 0),
        (NAN, INF, 1, 0),
        (INF, 1.0, 0, 1),
        (1.0, INF, 0, 1),
        (-INF, INF, 0, 1),
        // Past the range of f16, but the reference is finite.
        (INF, 1e6, 0, 1),
    ];
    for (got, reference, nan, inf) in cases {
        let report = compare(&[0.0, got], &dds(&[0.0, reference]), Format::F16, None).unwrap();
        assert_eq!(
            (report.nan_mismatch, report.inf_mismatch),
            (nan, inf),
            "{got} {reference}"
        );
        assert_eq!((report.first_mismatch, report.compared), (Some(1), 1));
        assert!(!accepts(&report, Metric::MaxAbs, 1.0, INF));
    }
}

#[test]
fn the_floor_bounds_the_divisor() {
    let reference = dds(&[0.0, 1e-6]);
    let got = [1e-9, 2e-6];
    let default = compare(&got, &reference, Format::F32, None).unwrap();
    assert_eq!(default.max_rel_at.unwrap().index, 0);
    assert_eq!(default.max_rel, 1e-9 / Format::F32.min_normal());
    let with_floor = compare(&got, &reference, Format::F32, Some(1e-3)).unwrap();
    assert_eq!(with_floor.max_rel_at.unwrap().index, 1);
    assert_eq!(with_floor.max_rel, (2e-6 - 1e-6) / 1e-3);
    let no_floor = compare(&got, &reference, Format::F32, Some(0.0)).unwrap();
    assert_eq!(no_floor.max_rel, INF);
    assert!(!accepts(&no_floor, Metric::MaxRel, 1.0, 1e300));
}

#[test]
fn what_cannot_be_compared_is_an_error() {
    let one = dds(&[1.0]);
    assert_eq!(
        compare(&[], &one, Format::F32, None),
        Err(CompareError::LengthMismatch {
            got: 0,
            reference: 1
        })
    );
    for floor in [-1.0, INF, NAN] {
        let result = compare(&[1.0], &one, Format::F32, Some(floor));
        assert!(matches!(result, Err(CompareError::InvalidFloor(_))));
    }
    let result = compare_with_quantiles(&[1.0], &one, Format::F32, None, &[1.5]);
    assert_eq!(result, Err(CompareError::InvalidQuantile(1.5)));
}

#[test]
fn quantiles_asked_for_and_not() {
    let reference = dds(&vec![1.0; 1000]);
    let got: Vec<f64> = (1..=1000).map(|i| 1.0 + f64::from(i) / 1024.0).collect();
    let rel = |i: u32| f64::from(i) / 1024.0;
    let report = compare(&got, &reference, Format::F64, None).unwrap();
    assert_eq!(report.value(Metric::Quantile, 0.5), rel(500));
    assert_eq!(report.value(Metric::Quantile, 0.9), rel(900));
    assert_eq!(report.value(Metric::Quantile, 0.999), rel(999));
    // Not in the report: the next larger one, or the worst.
    assert_eq!(report.value(Metric::Quantile, 0.95), rel(990));
    assert_eq!(report.value(Metric::Quantile, 0.9999), rel(1000));
    let asked = compare_with_quantiles(&got, &reference, Format::F64, None, &[0.95]).unwrap();
    assert_eq!(asked.value(Metric::Quantile, 0.95), rel(950));
    assert!(accepts(&asked, Metric::Quantile, 0.95, rel(950)));
    assert!(!accepts(&asked, Metric::Quantile, 0.95, rel(949)));
}

#[test]
fn sums_keep_small_terms_and_do_not_overflow() {
    // One error of 1 and a million of 2^-60: a plain sum would drop them all.
    let mut got = vec![2f64.powi(-60); 1 << 20];
    got[0] = 1.0;
    let report = compare(&got, &dds(&vec![0.0; 1 << 20]), Format::F64, Some(1.0)).unwrap();
    let rest = ((1 << 20) - 1) as f64 * 2f64.powi(-60);
    assert_eq!(report.mean_rel, (1.0 + rest) / 2f64.powi(20));
    for size in [1e300, 1e-300] {
        let got = [4.0 * size, size];
        let report = compare(&got, &dds(&[size, 5.0 * size]), Format::F64, Some(0.0)).unwrap();
        let close = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-15;
        assert!(close(report.rms, 12.5f64.sqrt() * size), "{}", report.rms);
        assert!(
            close(report.rel_l2, (25.0f64 / 26.0).sqrt()),
            "{}",
            report.rel_l2
        );
    }
}

#[test]
fn nothing_to_compare() {
    let report = compare(&[], &[], Format::F32, None).unwrap();
    assert_eq!((report.count, report.compared, report.digits), (0, 0, 32.0));
    assert!(!accepts(&report, Metric::MaxRel, 1.0, NAN));
    assert!(!accepts(&report, Metric::MaxRel, 1.0, INF));
}

#[test]
fn metric_names_go_both_ways() {
    struct Written(Metric);
    impl fmt::Display for Written {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            self.0.serialize(f)
        }
    }
    let names = [
        "max_rel", "max_abs", "max_ulp", "quantile", "rms", "rel_l2", "rel_linf", "mean_rel",
        "digits", "psnr", "ssim", "bp",
    ];
    for (metric, name) in Metric::ALL.into_iter().zip(names) {
        assert_eq!(metric.to_string(), name);
        assert_eq!(name.parse(), Ok(metric));
        assert_eq!(Written(metric).to_string(), name);
        let read: StrDeserializer<'_, ValueError> = name.into_deserializer();
        assert_eq!(Metric::deserialize(read), Ok(metric));
    }
    assert!("worst".parse::<Metric>().is_err());
}

#[test]
fn values_near_zero_do_not_decide_the_error_by_the_largest() {
    let exact: Vec<Dd> = [1e-308, 2.0, 0.0].map(Dd::from).to_vec();
    let report = compare(&[0.0, 2.0, 1e-9], &exact, Format::F64, None).unwrap();
    assert!(report.value(Metric::MaxRel, 1.0) > 0.4);
    assert_eq!(report.value(Metric::RelLinf, 1.0), 5e-10);
    // Nothing but zeros: the floor stands for the scale, and no error is no error.
    let zeros = [Dd::from(0.0)];
    let same = compare(&[0.0], &zeros, Format::F64, None).unwrap();
    assert_eq!(same.value(Metric::RelLinf, 1.0), 0.0);
    let off = compare(&[1e-9], &zeros, Format::F64, Some(1.0)).unwrap();
    assert_eq!(off.value(Metric::RelLinf, 1.0), 1e-9);
}

#[test]
fn decibels_of_a_peak_and_basis_points() {
    let reference = [100.0, -200.0, 50.0, 150.0].map(Dd::from_f64);
    let got = [101.0, -201.0, 51.0, 149.0];
    let mut report = compare_with_quantiles(&got, &reference, Format::F32, None, &[]).unwrap();
    // Every error is 1, so the ratio is that of the peak, 200 as found.
    assert_eq!(report.peak, 200.0);
    assert!((report.value(Metric::Psnr, 0.0) - 20.0 * 200f64.log10()).abs() < 1e-9);
    assert!(
        accepts(&report, Metric::Psnr, 0.0, 46.0) && !accepts(&report, Metric::Psnr, 0.0, 46.1)
    );
    report.set_peak(255.0);
    assert!((report.psnr - 20.0 * 255f64.log10()).abs() < 1e-9);
    // The worst is 1 in 50: two per cent, 200 basis points.
    assert_eq!(report.value(Metric::Bp, 0.0), 200.0);
    let exact = compare_with_quantiles(&[100.0], &reference[..1], Format::F32, None, &[]).unwrap();
    assert_eq!(exact.psnr, kerf_num::metrics::MAX_PSNR);
    let lost =
        compare_with_quantiles(&[f64::NAN], &reference[..1], Format::F32, None, &[]).unwrap();
    assert_eq!(lost.value(Metric::Psnr, 0.0), -INF);
    assert!(!accepts(&lost, Metric::Psnr, 0.0, 0.0));
}

/// Expected values were computed apart, in Python, by the definition: two-dimensional weights, weighted
/// moments about the window's mean, exact sums.
#[test]
fn structural_similarity_as_published() {
    let (height, width) = (17usize, 23usize);
    let image = |channels| ImageExtents {
        height,
        width,
        channels,
    };
    let pixel = |i: usize| {
        let (y, x) = (i / width, i % width);
        ((y * 37 + x * 91 + (x * y) % 13 * 7) % 256) as f64
    };
    let noise = |i: usize| (((i % width) * 7 + (i / width) * 3) % 11) as f64 - 5.0;
    let reference: Vec<f64> = (0..height * width).map(pixel).collect();
    let got: Vec<f64> = (0..height * width)
        .map(|i| pixel(i) + 1.5 * noise(i))
        .collect();
    let flat = vec![128.0; height * width];
    let near = |a: Option<f64>, b: f64| assert!((a.unwrap() - b).abs() < 1e-12, "{a:?} {b}");
    near(ssim(&got, &reference, image(1), 255.0), 0.9977180636780664);
    near(
        ssim(&flat, &reference, image(1), 255.0),
        0.011757913195500467,
    );
    near(ssim(&reference, &reference, image(1), 255.0), 1.0);
    // Channels of a pixel are neighbours, and count alike.
    let pairs = |a: &[f64], b: &[f64]| -> Vec<f64> {
        a.iter().zip(b).flat_map(|(a, b)| [*a, *b]).collect()
    };
    let two = ssim(
        &pairs(&got, &flat),
        &pairs(&reference, &reference),
        image(2),
        255.0,
    );
    near(two, 0.5 * (0.9977180636780664 + 0.011757913195500467));
    // Too small, of another size, or not finite: no similarity.
    let small = ImageExtents {
        height: 10,
        width: 11,
        channels: 1,
    };
    assert_eq!(ssim(&flat[..110], &flat[..110], small, 1.0), None);
    assert_eq!(ssim(&flat[1..], &reference[1..], image(1), 255.0), None);
    let mut broken = flat.clone();
    broken[7] = NAN;
    assert_eq!(ssim(&broken, &reference, image(1), 255.0), None);
}
