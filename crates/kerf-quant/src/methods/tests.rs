use super::*;
use crate::steering::{QuantizationSettings, Steering};

fn at(step: u64) -> At {
    At {
        step,
        steps: 1000,
        epoch: (step - 1) / 100,
        epochs: 10,
        rate: 0.1,
        seed: 1,
    }
}

fn place(bits: f64) -> ActivationPoint {
    ActivationPoint {
        index: 0,
        bits,
        relu: true,
        matrices: true,
    }
}

fn make(name: &str) -> Box<dyn RangeMethod> {
    by_name(name, &MethodNumbers::default(), 1).unwrap()
}

/// A half-normal density in 2048 parts.
fn decaying(scale: f64) -> Histogram {
    let counts = (0..2048).map(|i| 1e6 * (-(f64::from(i) / 2048.0 * 5.0 / scale).powi(2)).exp());
    Histogram {
        lo: 0.0,
        hi: 5.0,
        counts: counts.map(f64::round).collect(),
    }
}

fn window(h: Histogram) -> HistogramWindow {
    HistogramWindow {
        each: vec![h.clone(), h.clone()],
        mean: h,
    }
}

#[test]
fn names_are_unique_and_found() {
    let all = names();
    let mut once = all.clone();
    once.sort_unstable();
    once.dedup();
    assert_eq!(once.len(), all.len());
    for n in &all {
        assert!(by_name(n, &MethodNumbers::default(), 2).is_ok());
    }
    let e = by_name("maxx", &MethodNumbers::default(), 1)
        .err()
        .unwrap()
        .to_string();
    assert!(e.contains("`maxx`") && e.contains("rand+mix"));
}

#[test]
fn state_comes_back() {
    for n in names() {
        let mut m = make(n);
        let r = PointReport {
            min: vec![-0.5],
            max: vec![3.25],
            histogram: None,
            gradient: Some(crate::decision::PointGradient {
                above: 0.3,
                below: 0.1,
                step: -0.2,
                blend: 0.7,
            }),
        };
        for step in 1..20 {
            m.choose(&at(step), &place(4.0));
            m.learn(&at(step), &place(4.0), &r);
            m.window(
                &at(step),
                &place(4.0),
                &window(decaying(1.0 + 0.1 * step as f64)),
            );
        }
        let text = serde_json::to_string(&m.save()).unwrap();
        let mut other = make(n);
        assert!(other.load(&serde_json::from_str(&text).unwrap()), "{n}");
        for step in 20..25 {
            assert_eq!(
                m.choose(&at(step), &place(4.0)),
                other.choose(&at(step), &place(4.0)),
                "{n}"
            );
            m.learn(&at(step), &place(4.0), &r);
            other.learn(&at(step), &place(4.0), &r);
        }
    }
}

#[test]
fn rand_stays_within_the_threshold() {
    let h = decaying(1.0);
    let mut m = make("rand");
    assert_eq!(
        m.choose(&at(1), &place(8.0)).range,
        Some(GridRange::Observed { shrink: 0.0 })
    );
    m.window(&at(104), &place(8.0), &window(h.clone()));
    let mut largest = 0.0f32;
    for step in 105..400 {
        let Some(GridRange::Observed { shrink }) = m.choose(&at(step), &place(8.0)).range else {
            panic!("observed");
        };
        largest = largest.max(shrink);
        let above: f64 = (0..2048)
            .filter(|i| f64::from(*i) / 2048.0 > 1.0 - f64::from(shrink))
            .map(|i| h.counts[i as usize])
            .sum();
        assert!(above <= 1e-5 * h.total(), "{shrink}");
    }
    assert!(largest > 0.1, "{largest}");
}

#[test]
fn schedules_end_at_the_target() {
    let mut a = make("schedule-a");
    let bits = |m: &mut Box<dyn RangeMethod>, step| m.choose(&at(step), &place(8.0)).bits;
    assert_eq!([1, 340, 1000].map(|s| bits(&mut a, s)), [32.0, 16.0, 8.0]);
    assert_eq!(a.choose(&at(1000), &place(4.0)).bits, 4.0);
    let mut b = make("schedule-b");
    assert_eq!(bits(&mut b, 1), 32.0);
    assert!((bits(&mut b, 1000) - 8.0).abs() < 1e-9);
}

#[test]
fn mix_waits_while_the_tensor_moves() {
    let far = |step: u64| window(decaying(1.0 + 0.2 * step as f64));
    let noisy = |seed: u64| {
        let mut h = decaying(1.0);
        for (i, c) in h.counts.iter_mut().enumerate() {
            *c *= 1.0 + 0.2 * f64::from(crate::seed::unit(seed, i as u64));
        }
        h
    };
    let still = |step: u64| {
        let each = vec![noisy(2 * step), noisy(2 * step + 1)];
        let mean = Histogram::mean(&each).unwrap();
        HistogramWindow { each, mean }
    };
    let mut moving = make("mix");
    let mut resting = make("mix");
    for step in 1..12 {
        moving.window(&at(step), &place(8.0), &far(step));
        resting.window(&at(step), &place(8.0), &still(step));
    }
    let (a, b) = (
        moving.choose(&at(12), &place(8.0)).bits,
        resting.choose(&at(12), &place(8.0)).bits,
    );
    assert!(a > 31.0 && b < 15.0, "{a} {b}");
    // By the end every tensor is at the target.
    assert_eq!(moving.choose(&at(760), &place(8.0)).bits, 8.0);
}

#[test]
fn the_printed_gradient_raises_bits() {
    let h = decaying(1.0);
    for bits in [32.0, 20.0, 13.0] {
        assert!(mix_printed::gradient(&h, bits, 8.0) < 0.0, "{bits}");
    }
    // The divergence is the same from 32 down to 12 bits in 2048 parts: nothing to follow.
    let d = |b: f64| {
        let (p, q) = (
            mix_printed::quantized(&h, 8.0),
            mix_printed::quantized(&h, b),
        );
        crate::histogram::divergence(&p, &q, 1e-9)
    };
    assert!((d(32.0) - d(12.0)).abs() < 1e-4);
    let mut m = make("mix-printed");
    for step in 1..10 {
        m.window(&at(step), &place(8.0), &window(h.clone()));
    }
    assert_eq!(m.choose(&at(10), &place(8.0)).bits, 32.0);
}

#[test]
fn learned_ranges_follow_their_gradients() {
    let report = |above: f64| PointReport {
        min: vec![0.0],
        max: vec![4.0],
        histogram: None,
        gradient: Some(crate::decision::PointGradient {
            above,
            ..Default::default()
        }),
    };
    let hi = |c: RangeChoice| match c.range {
        Some(GridRange::Fixed { hi, .. }) => hi[0],
        other => panic!("{other:?}"),
    };
    for name in ["pact", "dq"] {
        let mut m = make(name);
        m.choose(&at(1), &place(8.0));
        m.learn(&at(1), &place(8.0), &report(0.0));
        assert_eq!(hi(m.choose(&at(2), &place(8.0))), 4.0, "{name}");
        // The loss grows with the upper end: it comes down.
        m.learn(&at(2), &place(8.0), &report(1.0));
        assert!(hi(m.choose(&at(3), &place(8.0))) < 4.0, "{name}");
    }
    let mut m = make("moving-average");
    m.learn(&at(1), &place(8.0), &report(0.0));
    let other = PointReport {
        max: vec![14.0],
        ..report(0.0)
    };
    m.learn(&at(2), &place(8.0), &other);
    assert!((hi(m.choose(&at(3), &place(8.0))) - 4.1).abs() < 1e-6);
    let mut m = make("fracbits");
    assert_eq!(m.choose(&at(1), &place(4.0)).bits, 6.0);
    let pulled = PointReport {
        gradient: Some(crate::decision::PointGradient {
            blend: 0.5,
            ..Default::default()
        }),
        ..report(0.0)
    };
    m.learn(&at(1), &place(4.0), &pulled);
    let c = m.choose(&at(2), &place(4.0));
    assert!(c.bits == 5.0 && c.blend.is_some_and(|b| b > 0.8), "{c:?}");
}

#[test]
fn settings_are_checked() {
    let input = crate::graph::InputSpec::Reals(vec![1, 8, 8]);
    let g = crate::networks::by_name("small-cnn", &input, 4).unwrap();
    let points = crate::points::Policy::default().points(&g).unwrap();
    let with = |f: &dyn Fn(&mut QuantizationSettings)| {
        let mut s = QuantizationSettings::default();
        f(&mut s);
        Steering::new(&g, &points, &s)
    };
    assert!(with(&|_| {}).is_ok());
    for bad in [1.0, 9.0, f64::NAN] {
        assert!(with(&|s| s.weight_bits = bad).is_err());
    }
    let e = with(&|s| {
        s.bits.insert("conv9.weight".into(), 4.0);
    });
    assert!(e.err().unwrap().to_string().contains("conv2.weight"));
    assert!(with(&|s| s.tau = 0).is_err());
    // What a pooling of a ReLU gives is a ReLU's, for PACT; the input is not.
    let mut s = with(&|s| s.method = "pact".into()).unwrap();
    let reports: Vec<PointReport> = points
        .iter()
        .map(|_| PointReport {
            min: vec![0.0],
            max: vec![2.0],
            ..Default::default()
        })
        .collect();
    s.decide(&at(1));
    s.learn(&at(1), &reports);
    let learned = s.decide(&at(2));
    let fixed = |name: &str| {
        let p = points.iter().position(|p| p.name == name).unwrap();
        matches!(learned[p].range, GridRange::Fixed { .. })
    };
    assert!(fixed("pool1") && fixed("pool2") && !fixed("input"));
    // Evaluation before any training works with ranges of its own.
    let s = with(&|s| s.activation_bits = 32.0).unwrap();
    assert!(s.inference().iter().any(|d| d.steps.is_none()));
}
