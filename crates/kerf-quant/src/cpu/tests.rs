use super::pass::Wanted;
use super::*;
use crate::decision::Scheme;
use crate::graph::{GraphBuilder, Op};
use crate::points::Policy;
use crate::quantizer;
use kerf_search::rng::Rng;

const SGD: Optimizer = Optimizer::Sgd {
    momentum: 0.9,
    nesterov: true,
    weight_decay: 1e-3,
};

fn reals(graph: &Graph, rows: usize, seed: u64) -> Batch {
    let mut r = Rng::new(seed);
    let n = rows * graph.shape(GraphValue::Input).iter().product::<usize>();
    let labels = rows * graph.predictions();
    let classes = graph.classes();
    let input = match graph.input {
        InputSpec::Reals(_) => BatchInput::Reals((0..n).map(|_| r.normal() as f32).collect()),
        InputSpec::Tokens { count, .. } => {
            BatchInput::Tokens((0..n).map(|_| r.below(count) as u32).collect())
        }
    };
    Batch {
        rows,
        input,
        labels: (0..labels).map(|_| r.below(classes) as u32).collect(),
    }
}

fn plan(decisions: &[Decision]) -> StepPlan<'_> {
    StepPlan {
        step: 1,
        decisions,
        rate: 0.05,
        label_smoothing: 0.1,
        clip_norm: None,
        seed: 9,
        report: true,
        histogram: None,
        gradients: true,
    }
}

impl CpuBackend {
    fn loss(&self, batch: &Batch, p: &StepPlan) -> f64 {
        let wanted = Wanted {
            train: Some(p.seed),
            ..Wanted::default()
        };
        let mut f = self.forward(batch, p.decisions, &wanted);
        let mut out = f.results.pop().unwrap();
        loss::cross_entropy(
            &mut out,
            &batch.labels,
            self.graph.classes(),
            p.label_smoothing,
            false,
        )
        .loss
    }
    fn gradients(&self, batch: &Batch, p: &StepPlan) -> Vec<Option<Vec<f32>>> {
        let wanted = Wanted {
            train: Some(p.seed),
            report: true,
            histogram: None,
        };
        let mut f = self.forward(batch, p.decisions, &wanted);
        let mut out = f.results.pop().unwrap();
        loss::cross_entropy(
            &mut out,
            &batch.labels,
            self.graph.classes(),
            p.label_smoothing,
            true,
        );
        self.backward(batch, p, &mut f, out).0
    }
}

/// Derivatives along random directions of each parameter against differences of the loss.
fn check(
    graph: &Graph,
    decisions: impl Fn(&[QuantizationPoint]) -> (Vec<QuantizationPoint>, Vec<Decision>),
    tolerance: f64,
) {
    let (points, decisions) = decisions(
        &Policy {
            classes: vec![],
            ..Policy::default()
        }
        .points(graph)
        .unwrap(),
    );
    let mut b = CpuBackend::new(graph, &points, SGD, 3, 2).unwrap();
    let batch = reals(graph, 5, 1);
    let p = plan(&decisions);
    let g = b.gradients(&batch, &p);
    let mut r = Rng::new(17);
    let mut checked = 0;
    for i in 0..b.specs.len() {
        if !b.specs[i].kind.trained() {
            assert!(g[i].is_none());
            continue;
        }
        let name = b.specs[i].name.clone();
        let grad = g[i]
            .as_ref()
            .unwrap_or_else(|| panic!("{name} has no gradient"));
        let old = b.values[i].clone();
        let direction: Vec<f32> = old.iter().map(|_| r.normal() as f32).collect();
        let norm = direction
            .iter()
            .map(|v| f64::from(*v).powi(2))
            .sum::<f64>()
            .sqrt();
        let h = 4e-3 / norm;
        let mut at = |sign: f64| {
            let moved = old.iter().zip(&direction);
            b.values[i] = moved
                .map(|(o, d)| (f64::from(*o) + sign * h * f64::from(*d)) as f32)
                .collect();
            b.loss(&batch, &p)
        };
        let slope = (at(1.0) - at(-1.0)) / (2.0 * h);
        b.values[i] = old;
        let own: f64 = grad
            .iter()
            .zip(&direction)
            .map(|(g, d)| f64::from(*g) * f64::from(*d))
            .sum();
        let size = grad
            .iter()
            .map(|g| f64::from(*g).powi(2))
            .sum::<f64>()
            .sqrt()
            * norm;
        // A slope much smaller than the gradient is a cancellation of both sides' rounding.
        let room = tolerance * slope.abs().max(0.1 * size) + 2e-4 * norm;
        assert!(
            (slope - own).abs() <= room,
            "{}: {name}: {slope} {own}",
            graph.name
        );
        checked += 1;
    }
    assert!(checked > 0);
}

fn plain(points: &[QuantizationPoint]) -> (Vec<QuantizationPoint>, Vec<Decision>) {
    let pass = points.iter().map(|p| Decision::pass(p.scheme)).collect();
    (points.to_vec(), pass)
}

/// A convolution, the operation, and a matrix.
fn around(name: &str, op: Op) -> Graph {
    let mut b = GraphBuilder::images(name, [4, 6, 6]);
    let x = b.conv("first", GraphValue::Input, 4, 3, 1, 2);
    let y = b.add("it", op, &[x]);
    let y = b.add("flat", Op::Flatten, &[y]);
    b.linear("fc", y, 5);
    b.finish().unwrap()
}

#[test]
fn gradients_of_every_operation() {
    let conv = |kernel, stride, padding, groups| Op::Conv2d {
        outputs: 8,
        kernel,
        stride,
        padding,
        groups,
        bias: true,
    };
    let pool = |kernel, stride, padding| Op::MaxPool {
        kernel,
        stride,
        padding,
    };
    for (name, op) in [
        ("conv", conv([3, 3], [1, 1], [1, 1], 1)),
        ("strided", conv([3, 2], [2, 1], [0, 1], 2)),
        ("wide", conv([5, 5], [2, 3], [2, 2], 1)),
        ("pointwise", conv([1, 1], [1, 1], [0, 0], 1)),
        (
            "norm",
            Op::BatchNorm {
                eps: 1e-5,
                momentum: 0.1,
            },
        ),
        ("relu", Op::Relu),
        ("relu6", Op::Relu6),
        ("silu", Op::Silu),
        ("sigmoid", Op::Sigmoid),
        ("gelu", Op::Gelu),
        ("max", pool(2, 2, 0)),
        ("max padded", pool(3, 2, 1)),
        (
            "avg",
            Op::AvgPool {
                kernel: 3,
                stride: 2,
            },
        ),
        ("global", Op::GlobalAvgPool),
        ("dropout", Op::Dropout { p: 0.3 }),
        ("drop sample", Op::DropSample { p: 0.3 }),
    ] {
        check(&around(name, op), plain, 0.02);
    }
    let mut b = GraphBuilder::images("depthwise", [4, 6, 6]);
    let x = b.conv("first", GraphValue::Input, 4, 3, 1, 4);
    let x = b.add("flat", Op::Flatten, &[x]);
    b.linear("fc", x, 5);
    check(&b.finish().unwrap(), plain, 0.02);
}

/// Values that are read twice, squeeze and excitation, a residual sum.
fn branches() -> Graph {
    let mut b = GraphBuilder::images("branches", [3, 6, 6]);
    let x = b.conv("stem", GraphValue::Input, 4, 3, 1, 1);
    let x = b.batch_norm("bn", x);
    let x = b.add("act", Op::Silu, &[x]);
    let s = b.add("squeeze", Op::GlobalAvgPool, &[x]);
    let s = b.conv("excite", s, 4, 1, 1, 1);
    let s = b.add("gate", Op::Sigmoid, &[s]);
    let y = b.add("scale", Op::Mul, &[x, s]);
    let z = b.add("scale2", Op::Mul, &[s, y]);
    let y = b.conv("body", z, 4, 3, 1, 1);
    let x = b.add("sum", Op::Add, &[x, y]);
    let x = b.add("pool", Op::GlobalAvgPool, &[x]);
    let x = b.add("flat", Op::Flatten, &[x]);
    b.linear("fc", x, 3);
    b.finish().unwrap()
}

fn text() -> Graph {
    let input = InputSpec::Tokens {
        length: 6,
        count: 7,
    };
    let mut b = GraphBuilder::new("text", input);
    let x = b.add("wte", Op::Embedding { features: 8 }, &[GraphValue::Input]);
    let x = b.add("wpe", Op::Position, &[x]);
    let n = b.add("ln", Op::LayerNorm { eps: 1e-5 }, &[x]);
    let y = b.linear("qkv", n, 24);
    let causal = b.add(
        "attn",
        Op::Attention {
            heads: 2,
            causal: true,
        },
        &[y],
    );
    let full = b.add(
        "attn2",
        Op::Attention {
            heads: 4,
            causal: false,
        },
        &[y],
    );
    let y = b.add("both", Op::Add, &[causal, full]);
    let y = b.linear("proj", y, 8);
    let x = b.add("sum", Op::Add, &[x, y]);
    b.linear("head", x, 7);
    b.finish().unwrap()
}

#[test]
fn gradients_of_branches_and_text() {
    check(&branches(), plain, 0.02);
    check(&text(), plain, 0.02);
}

#[test]
fn gradients_go_straight_through_fine_grids() {
    // At 20 bits nothing is clipped and differences hardly see the steps.
    for graph in [branches(), text()] {
        let all = |_: &[QuantizationPoint]| {
            let classes = [
                "conv",
                "linear",
                "add",
                "mul",
                "attention",
                "embedding",
                "silu",
            ];
            let policy = Policy {
                classes: classes.map(String::from).to_vec(),
                keep_last: false,
                ..Policy::default()
            };
            let points = policy.points(&graph).unwrap();
            let fine = |p: &QuantizationPoint| Decision {
                steps: quantizer::steps(20.0),
                ..Decision::pass(p.scheme)
            };
            let decisions = points.iter().map(fine).collect();
            (points, decisions)
        };
        check(&graph, all, 0.05);
    }
}

fn quantized(graph: &Graph, bits: f64) -> (Vec<QuantizationPoint>, Vec<Decision>) {
    let points = Policy::default().points(graph).unwrap();
    let of = |p: &QuantizationPoint| Decision {
        steps: quantizer::steps(bits),
        ..Decision::pass(p.scheme)
    };
    let decisions = points.iter().map(of).collect();
    (points, decisions)
}

#[test]
fn threads_do_not_change_bits() {
    for graph in [branches(), text()] {
        let (points, decisions) = quantized(&graph, 4.0);
        let run = |threads: usize| {
            let mut b = CpuBackend::new(&graph, &points, SGD, 5, threads).unwrap();
            let mut seen = Vec::new();
            for step in 1..=4 {
                let p = StepPlan {
                    step,
                    clip_norm: Some(1.0),
                    histogram: Some(16),
                    ..plan(&decisions)
                };
                let r = b.train_step(&reals(&graph, 19, step), &p).unwrap();
                seen.push((r.scores[0].loss.to_bits(), format!("{:?}", r.points)));
            }
            let all = b.specs.iter().map(|s| b.read(&s.name).unwrap().data);
            let bits: Vec<u32> = all.flatten().map(f32::to_bits).collect();
            (seen, bits)
        };
        let one = run(1);
        assert!(one == run(2) && one == run(3), "{}", graph.name);
    }
}

#[test]
fn quantization_is_that_of_the_reference() {
    let mut r = Rng::new(2);
    let x: Vec<f32> = (0..60_000).map(|_| r.normal() as f32).collect();
    let graph = branches();
    let point = Policy::default().points(&graph).unwrap().remove(0);
    for (channels, bits, scheme) in [
        (None, 8.0, Scheme::Affine),
        (Some(6), 3.0, Scheme::Symmetric),
        (Some(600), 2.5, Scheme::Printed),
        (None, 22.5, Scheme::Affine),
    ] {
        let p = QuantizationPoint {
            channels,
            ..point.clone()
        };
        for noise in [
            crate::decision::Noise::None,
            crate::decision::Noise::Rounding,
            crate::decision::Noise::Portion(0.5),
        ] {
            let d = Decision {
                steps: quantizer::steps(bits),
                noise,
                seed: 4,
                range: crate::decision::GridRange::Observed { shrink: 0.1 },
                ..Decision::pass(scheme)
            };
            let (y, seen) = quantizer::fake_quantize(&x, channels, &d);
            let own = super::quantize::look(&x, &p, &d, true, None);
            assert_eq!(own.spans, seen);
            assert!(own.quantized.unwrap().0 == y, "{bits} {noise:?}");
        }
    }
}

#[test]
fn optimizers_are_those_of_pytorch() {
    // torch.optim on one parameter 1.0 with gradients 0.5, -0.2, 0.1 (computed by hand from its documented formulas).
    let run = |o: Optimizer| {
        let (mut w, mut m) = (vec![1.0f32], OptimizerState::default());
        for (i, g) in [0.5f32, -0.2, 0.1].into_iter().enumerate() {
            optimize::follow(&o, i as u64 + 1, 0.1, &mut w, &[g], &mut m);
        }
        f64::from(w[0])
    };
    let sgd = |nesterov| Optimizer::Sgd {
        momentum: 0.9,
        nesterov,
        weight_decay: 0.0,
    };
    // b = 0.5, 0.25, 0.325.
    assert!((run(sgd(false)) - (1.0 - 0.1 * (0.5 + 0.25 + 0.325))).abs() < 1e-6);
    let steps = (0.5 + 0.45) + (-0.2 + 0.225) + (0.1 + 0.2925);
    assert!((run(sgd(true)) - (1.0 - 0.1 * steps)).abs() < 1e-6);
    let adam = |decoupled, weight_decay| Optimizer::Adam {
        beta1: 0.9,
        beta2: 0.999,
        eps: 1e-8,
        weight_decay,
        decoupled,
    };
    let (mut w, mut m, mut v) = (1.0f64, 0.0, 0.0);
    for (i, g) in [0.5, -0.2, 0.1].into_iter().enumerate() {
        w *= 1.0 - 0.1 * 0.01;
        m = 0.9 * m + 0.1 * g;
        v = 0.999 * v + 0.001 * g * g;
        let n = i as i32 + 1;
        let (a, b) = (m / (1.0 - 0.9f64.powi(n)), v / (1.0 - 0.999f64.powi(n)));
        w -= 0.1 * a / (b.sqrt() + 1e-8);
    }
    assert!((run(adam(true, 0.01)) - w).abs() < 1e-5);
    assert!(run(adam(false, 0.01)) != run(adam(false, 0.0)));
}

#[test]
fn what_does_not_fit_is_refused() {
    let graph = branches();
    let (points, decisions) = quantized(&graph, 8.0);
    let mut b = CpuBackend::new(&graph, &points, SGD, 1, 1).unwrap();
    let good = reals(&graph, 2, 1);
    let mut bad = good.clone();
    bad.labels[0] = 3;
    let e = b.evaluate(&bad, &decisions, false).unwrap_err().to_string();
    assert!(e.contains("class 3, and there are 3"), "{e}");
    bad.rows = 3;
    assert!(b.evaluate(&bad, &decisions, false).is_err());
    assert!(matches!(
        b.evaluate(&good, &decisions[1..], false),
        Err(BackendError::Decisions { .. })
    ));
    let t = Tensor::filled([1, 2], 0.0);
    assert!(matches!(
        b.write("fc.weight", &t),
        Err(BackendError::Shape { .. })
    ));
    assert!(matches!(
        b.read("fc.wieght"),
        Err(BackendError::NoParameter { .. })
    ));
    let out = b.evaluate(&good, &decisions, true).unwrap();
    assert_eq!(out.logits.unwrap().shape, [2, 3]);
}
