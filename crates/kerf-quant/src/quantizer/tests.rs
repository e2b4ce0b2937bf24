use super::*;
use proptest::prelude::*;

fn fixed(lo: f32, hi: f32, bits: f64, scheme: Scheme) -> Decision {
    Decision {
        steps: steps(bits),
        range: GridRange::Fixed {
            lo: vec![lo],
            hi: vec![hi],
        },
        ..Decision::pass(scheme)
    }
}

/// The definition in exact arithmetic (doubles hold every quotient of these small numbers well enough to tell
/// sides, and ties are made exact by the choice of steps that are powers of two).
fn by_definition(x: f64, step: f64, low: f64, high: f64) -> f64 {
    let q = x / step;
    let below = q.floor();
    let r = match q - below {
        f if f > 0.5 => below + 1.0,
        f if f < 0.5 => below,
        _ if below % 2.0 == 0.0 => below,
        _ => below + 1.0,
    };
    r.clamp(low, high) * step
}

#[test]
fn every_value_of_small_grids_is_the_nearest() {
    for bits in 2..=8 {
        let n = 1i32 << bits;
        for scheme in [Scheme::Affine, Scheme::Symmetric, Scheme::Printed] {
            for zero in [0, 1, n / 3, n - 1] {
                let (lo, hi) = match scheme {
                    // Step 2^-4 exactly.
                    Scheme::Affine => (-zero as f32 / 16.0, (n - 1 - zero) as f32 / 16.0),
                    Scheme::Symmetric => (-((n / 2 - 1) as f32) / 16.0, 0.0),
                    Scheme::Printed => (0.0, (n - 1) as f32 / 32.0),
                };
                let g = QuantizationGrid::new(lo, hi, steps(f64::from(bits)).unwrap(), scheme);
                assert_eq!(g.step, 1.0 / 16.0, "{bits} {scheme:?} {zero}");
                let (low, high) = match scheme {
                    Scheme::Affine => (-zero, n - 1 - zero),
                    Scheme::Symmetric => (1 - n / 2, n / 2 - 1),
                    Scheme::Printed => (-n / 2, n / 2 - 1),
                };
                assert_eq!((g.low, g.high), (low as f32, high as f32));
                assert_eq!(g.zero_point(), -low);
                // Eighths of steps from two steps below to two above: ties, ends and all between.
                for k in (low - 2) * 8..=(high + 2) * 8 {
                    let x = k as f32 / 128.0;
                    let y =
                        by_definition(f64::from(x), 1.0 / 16.0, f64::from(low), f64::from(high));
                    assert_eq!(f64::from(g.value(x)), y, "{bits} {scheme:?} {x}");
                    let mut fast = [0.0];
                    round_fast(&[x], &mut fast, g.step, g.inverse, g.low, g.high);
                    assert_eq!(fast[0], g.value(x));
                    let r = (x * g.inverse).round_ties_even();
                    assert_eq!(g.inside(x), r >= g.low && r <= g.high);
                }
            }
        }
    }
}

#[test]
fn odd_ranges() {
    let s = steps(8.0).unwrap();
    for scheme in [Scheme::Affine, Scheme::Symmetric, Scheme::Printed] {
        // Nothing but zeros, or one value.
        let g = QuantizationGrid::new(0.0, 0.0, s, scheme);
        assert_eq!((g.step, g.value(0.0)), (1.0, 0.0));
        let g = QuantizationGrid::new(3.0, 3.0, s, scheme);
        assert!((g.value(3.0) - 3.0).abs() <= g.step);
        // One side only: zero is on the grid all the same.
        for (lo, hi) in [(2.0, 5.0), (-5.0, -2.0)] {
            let g = QuantizationGrid::new(lo, hi, s, scheme);
            assert_eq!(g.value(0.0), 0.0);
            assert!((g.value(lo) - lo).abs() <= g.step && (g.value(hi) - hi).abs() <= g.step);
        }
        // So small that the step underflows.
        let g = QuantizationGrid::new(-1e-45, 1e-45, s, scheme);
        assert_eq!(g.step, f32::MIN_POSITIVE);
        assert_eq!(g.value(1e-45), 0.0);
        // Not numbers.
        assert!(
            QuantizationGrid::new(f32::NAN, f32::NAN, s, scheme)
                .value(1.0)
                .is_nan()
        );
        assert!(
            QuantizationGrid::new(-1.0, f32::INFINITY, s, scheme)
                .value(f32::INFINITY)
                .is_nan()
        );
        let g = QuantizationGrid::new(-1.0, 1.0, s, scheme);
        assert!(g.value(f32::NAN).is_nan() && !g.inside(f32::NAN));
        assert_eq!(g.value(f32::INFINITY), g.ends().1);
        assert_eq!(g.value(f32::NEG_INFINITY), g.ends().0);
        assert!(!g.inside(f32::INFINITY));
    }
    assert_eq!(steps(24.0), None);
    assert_eq!(steps(32.0), None);
    assert_eq!(steps(2.0), Some(3.0));
    assert_eq!(steps(7.5), Some(180.0));
}

#[test]
fn spans_see_what_is_no_number() {
    let mut x = vec![1.0f32; 37];
    x[3] = -2.0;
    x[36] = 5.0;
    assert_eq!(min_max(&x), (-2.0, 5.0));
    assert_eq!(min_max(&[]), (0.0, 0.0));
    for at in [0, 17, 36] {
        let mut y = x.clone();
        y[at] = f32::INFINITY;
        assert_eq!(min_max(&y).1, f32::INFINITY);
        y[at] = f32::NAN;
        assert!(min_max(&y).0.is_nan() && min_max(&y).1.is_nan());
    }
    let d = Decision {
        steps: steps(8.0),
        ..Decision::pass(Scheme::Affine)
    };
    let (y, _) = fake_quantize(&[1.0, f32::NAN], None, &d);
    assert!(y.iter().all(|v| v.is_nan()));
}

#[test]
fn channels_have_grids_of_their_own() {
    let x = [1.0, -0.3, 100.0, -30.0];
    let d = Decision {
        steps: steps(4.0),
        ..Decision::pass(Scheme::Symmetric)
    };
    let (y, seen) = fake_quantize(&x, Some(2), &d);
    assert_eq!(seen, [(-0.3, 1.0), (-30.0, 100.0)]);
    assert_eq!(y[2], 100.0 * y[0]);
    let (whole, _) = fake_quantize(&x, None, &d);
    assert_eq!(whole[0], 0.0);
}

#[test]
fn shrinking_lowers_the_highest_only() {
    let d = Decision {
        range: GridRange::Observed { shrink: 0.25 },
        ..fixed(0.0, 0.0, 8.0, Scheme::Affine)
    };
    assert_eq!(ranges(&d, &[(-1.0, 2.0)]), [(-1.0, 1.5)]);
}

#[test]
fn noise_is_right_on_average_and_the_same_for_a_seed() {
    let x = vec![0.3f32; 20_000];
    let mut d = fixed(0.0, 3.0, 2.0, Scheme::Affine);
    d.noise = Noise::Rounding;
    d.seed = 5;
    let (y, _) = fake_quantize(&x, None, &d);
    let mean = y.iter().map(|v| f64::from(*v)).sum::<f64>() / 20_000.0;
    // Standard error 0.0032.
    assert!((mean - 0.3).abs() < 0.016, "{mean}");
    assert!(y.iter().all(|v| *v == 0.0 || *v == 1.0));
    assert_eq!(fake_quantize(&x, None, &d).0, y);
    d.noise = Noise::Portion(0.2);
    let (y, _) = fake_quantize(&x, None, &d);
    let part = y.iter().filter(|v| **v == 0.0).count() as f64 / 20_000.0;
    assert!((part - 0.2).abs() < 0.015, "{part}");
}

/// What straight-through gradients stand for: the quantizer without rounding, a clamp, whose derivatives are real.
fn surrogate(x: f64, lo: f64, hi: f64) -> f64 {
    x.clamp(lo, hi)
}

#[test]
fn gradients_are_those_of_the_smooth_surrogate() {
    let d = fixed(-1.0, 2.0, 5.0, Scheme::Affine);
    let g = grids(&d, &[]).unwrap()[0];
    // Ends half a step outside: where rounding begins to clip.
    let (lo, hi) = g.first.ends();
    let half = f64::from(g.first.step) / 2.0;
    let (lo, hi) = (f64::from(lo) - half, f64::from(hi) + half);
    let h = 1e-6;
    let x: Vec<f32> = (-40..=40).map(|k| k as f32 * 0.0777).collect();
    let mut grad = vec![1.0; x.len()];
    let mut sums = PointGradient::default();
    backward(&x, &mut grad, &g, &d, 0, Some(&mut sums));
    let (mut above, mut below) = (0.0, 0.0);
    for (x, g) in x.iter().zip(&grad) {
        let x = f64::from(*x);
        let slope = (surrogate(x + h, lo, hi) - surrogate(x - h, lo, hi)) / (2.0 * h);
        assert!((slope - f64::from(*g)).abs() < 1e-6, "{x}");
        above += (surrogate(x, lo, hi + h) - surrogate(x, lo, hi - h)) / (2.0 * h);
        below += (surrogate(x, lo + h, hi) - surrogate(x, lo - h, hi)) / (2.0 * h);
    }
    assert!((above - sums.above).abs() < 1e-6 && (below - sums.below).abs() < 1e-6);
    assert!(sums.above > 0.0 && sums.below > 0.0);
}

#[test]
fn gradient_with_the_step_is_that_with_places_held() {
    // With the place r held, y = r * step has the derivative r; the straight-through part of x takes x / step off
    // (Esser et al.): d/dstep [step * (r + straight(x / step) - x / step)].
    let d = fixed(0.0, 3.0, 3.0, Scheme::Affine);
    let g = grids(&d, &[]).unwrap()[0];
    let x = [0.1f32, 0.7, 1.3, 2.9];
    let mut sums = PointGradient::default();
    backward(&x, &mut [1.0; 4], &g, &d, 0, Some(&mut sums));
    let step = f64::from(g.first.step);
    let h = 1e-6;
    let expected: f64 = x
        .iter()
        .map(|x| {
            let (x, r) = (f64::from(*x), f64::from(g.first.place(*x)));
            let held = r - x / step;
            // y(s) = s * (x / s + held), with x / s differentiated and held fixed: y = x + held * s.
            ((x + held * (step + h)) - (x + held * (step - h))) / (2.0 * h)
        })
        .sum();
    assert!(
        (sums.step - expected).abs() < 1e-5,
        "{} {expected}",
        sums.step
    );
}

#[test]
fn blends_lie_between_and_know_their_gradient() {
    let mut d = fixed(0.0, 1.0, 2.0, Scheme::Affine);
    d.blend = steps(3.0).map(|s| (s, 0.25));
    let x: Vec<f32> = (0..50).map(|k| k as f32 / 49.0).collect();
    let (y, _) = fake_quantize(&x, None, &d);
    let (low, _) = fake_quantize(&x, None, &fixed(0.0, 1.0, 2.0, Scheme::Affine));
    let (high, _) = fake_quantize(&x, None, &fixed(0.0, 1.0, 3.0, Scheme::Affine));
    let mut slope = 0.0;
    for (y, (low, high)) in y.iter().zip(low.iter().zip(&high)) {
        assert!((y - (0.75 * low + 0.25 * high)).abs() < 1e-6);
        slope += f64::from(high - low);
    }
    let g = grids(&d, &[]).unwrap()[0];
    let mut sums = PointGradient::default();
    backward(&x, &mut [1.0; 50], &g, &d, 0, Some(&mut sums));
    assert!((sums.blend - slope).abs() < 1e-4);
}

proptest! {
    #[test]
    fn results_are_on_the_grid_and_near(
        lo in -1e3f32..1e3, width in 0f32..1e3, bits in 2u32..=8, x in -2e3f32..2e3,
    ) {
        for scheme in [Scheme::Affine, Scheme::Symmetric] {
            let g = QuantizationGrid::new(lo, lo + width, steps(f64::from(bits)).unwrap(), scheme);
            let y = g.value(x);
            let (a, b) = g.ends();
            prop_assert!(y >= a && y <= b);
            prop_assert_eq!(g.value(y), y);
            if g.inside(x) {
                prop_assert!((y - x).abs() <= g.step * 0.5001);
            }
            prop_assert_eq!(y.to_bits() & 0x7fff_ffff, (g.place(x).clamp(g.low, g.high) * g.step).abs().to_bits());
        }
    }
}
