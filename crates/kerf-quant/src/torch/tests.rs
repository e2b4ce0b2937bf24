//! libtorch against the quantizer and the CPU backend. Built and run with the feature `libtorch` only.
use super::*;
use crate::cpu::CpuBackend;
use crate::data::Dataset;
use crate::data::images::{Augment, Images, Pixels};
use crate::decision::{Decision, GridRange, Noise, Scheme};
use crate::graph::{GraphBuilder, GraphValue};
use crate::points::{Policy, QuantizedTensor};
use crate::quantizer;
use crate::seed;

fn values(n: usize, s: u64) -> Vec<f32> {
    // Uneven sizes, ties, zeros, both signs.
    let one = |i: usize| {
        let u = seed::unit(s, i as u64) - 0.4;
        match i % 7 {
            0 => 0.0,
            1 => (u * 16.0).round() / 16.0,
            2 => u * u * u * 30.0,
            _ => u,
        }
    };
    (0..n).map(one).collect()
}

fn decision(steps: f32, scheme: Scheme, range: GridRange) -> Decision {
    Decision {
        steps: Some(steps),
        scheme,
        range,
        blend: None,
        noise: Noise::None,
        seed: 5,
    }
}

fn devices() -> Vec<Device> {
    match device("cuda") {
        Ok(d) => vec![Device::Cpu, d],
        Err(_) => vec![Device::Cpu],
    }
}

/// Every scheme, range and number of bits, fused and written out, on whole tensors and channels: bit by bit.
#[test]
fn fake_quantization_has_the_quantizers_bits() {
    let graph = {
        let mut b = GraphBuilder::images("one", [3, 5, 5]);
        let x = b.conv("conv", GraphValue::Input, 4, 3, 1, 1);
        let x = b.add("flat", Op::Flatten, &[x]);
        b.linear("fc", x, 2);
        b.finish().unwrap()
    };
    let points = Policy::default().points(&graph).unwrap();
    let weight = points.iter().position(|p| p.is_weight()).unwrap();
    let input = points
        .iter()
        .position(|p| p.subject == QuantizedTensor::Activation(GraphValue::Input))
        .unwrap();
    let x = values(2 * 75, 1);
    let w = values(108, 2);
    for dev in devices() {
        let mut t = Torch::new(
            graph.clone(),
            points.clone(),
            sgd(),
            1,
            dev,
            Arithmetic::F32,
        )
        .unwrap();
        let host = Host::new([4, 3, 3, 3], w.clone()).unwrap();
        t.write("conv.weight", &host).unwrap();
        let tensor = |v: &[f32], s: &[i64]| Tensor::from_slice(v).view(s).to(dev);
        for bits in 2..=8 {
            let steps = quantizer::steps(f64::from(bits)).unwrap();
            for scheme in [Scheme::Affine, Scheme::Symmetric, Scheme::Printed] {
                let one = |a: f32, b: f32| GridRange::Fixed {
                    lo: vec![a],
                    hi: vec![b],
                };
                let ranges = [
                    GridRange::Observed { shrink: 0.0 },
                    GridRange::Observed { shrink: 0.137 },
                    one(-0.3, 0.41),
                    one(0.0, 0.7),
                    one(0.0, 0.0),
                ];
                for range in ranges {
                    for gradients in [false, true] {
                        let d = decision(steps, scheme, range.clone());
                        let mut all = vec![Decision::pass(scheme); points.len()];
                        all[input] = d.clone();
                        let want = quantize::Want {
                            gradients,
                            ..Default::default()
                        };
                        t.quantizer
                            .begin(&points, &all, want, &t.parameters)
                            .unwrap();
                        let y = t
                            .quantizer
                            .apply(input, &points[input], &d, &tensor(&x, &[2, 3, 5, 5]))
                            .unwrap();
                        let got = Vec::<f32>::try_from(y.contiguous().view(-1)).unwrap();
                        assert_eq!(
                            got,
                            quantizer::fake_quantize(&x, None, &d).0,
                            "{dev:?} {d:?} {gradients}"
                        );
                    }
                }
                for range in [
                    GridRange::Observed { shrink: 0.0 },
                    GridRange::Fixed {
                        lo: vec![-0.3, -0.1, 0.0, -1.0],
                        hi: vec![0.2, 0.5, 0.3, 0.0],
                    },
                ] {
                    let d = decision(steps, scheme, range);
                    let mut all = vec![Decision::pass(scheme); points.len()];
                    all[weight] = d.clone();
                    let want = quantize::Want::default();
                    t.quantizer
                        .begin(&points, &all, want, &t.parameters)
                        .unwrap();
                    let leaf = t.parameters.get("conv", "weight").unwrap().shallow_clone();
                    let y = t
                        .quantizer
                        .apply(weight, &points[weight], &d, &leaf)
                        .unwrap();
                    let got = Vec::<f32>::try_from(y.detach().contiguous().view(-1)).unwrap();
                    assert_eq!(
                        got,
                        quantizer::fake_quantize(&w, Some(4), &d).0,
                        "{dev:?} {d:?}"
                    );
                }
            }
        }
    }
}

fn sgd() -> Optimizer {
    Optimizer::Sgd {
        momentum: 0.9,
        nesterov: true,
        weight_decay: 5e-4,
    }
}

fn images(n: usize) -> Images {
    let bytes: Vec<u8> = (0..n * 3 * 64)
        .map(|i| (seed::unit(7, i as u64) * 256.0) as u8)
        .collect();
    let labels = (0..n as u32).map(|i| i % 10).collect();
    let i = Images::new(
        "made up",
        "memory",
        [3, 8, 8],
        Pixels::Bytes(bytes),
        labels,
        10,
    )
    .unwrap();
    i.augmented(Augment {
        pad: 2,
        flip: true,
        cutout: 0,
    })
}

#[test]
fn images_on_the_device_have_the_hosts_bits() {
    let data = images(20);
    for dev in devices() {
        let mut r = images::Resident::default();
        for (augment, side) in [(None, 0), (Some(3), 0), (Some(3), 3), (Some(4), 8)] {
            let data = data.clone().cutout(side);
            let b = data.batch(&[3, 0, 19, 7], augment).unwrap();
            let BatchInput::Images(i) = &b.input else {
                panic!()
            };
            let x = r.batch(i, dev).unwrap();
            assert_eq!(x.size(), [4, 3, 8, 8]);
            assert_eq!(
                Vec::<f32>::try_from(x.contiguous().view(-1)).unwrap(),
                i.reals()
            );
        }
    }
}

/// A few steps of training on both backends, with every kind of layer for images: the same losses and weights, but for
/// the order of sums.
#[test]
fn training_agrees_with_the_cpu_backend() {
    let data = images(64);
    for name in ["small-cnn", "resnet18-w16"] {
        for optimizer in [
            sgd(),
            Optimizer::Adam {
                beta1: 0.9,
                beta2: 0.999,
                eps: 1e-3,
                weight_decay: 1e-2,
                decoupled: true,
            },
        ] {
            let mut graph = crate::networks::by_name(name, &data.input(), 10).unwrap();
            // What drops out is drawn differently.
            for n in &mut graph.nodes {
                if let Op::Dropout { p } = &mut n.op {
                    *p = 0.0;
                }
            }
            let points = Policy::default().points(&graph).unwrap();
            for steps in [None, Some(255.0)] {
                // Adam's first steps are nearly signs of gradients: what grids change is felt too much.
                if steps.is_some() && optimizer != sgd() {
                    continue;
                }
                let decisions: Vec<Decision> = points
                    .iter()
                    .map(|p| Decision {
                        steps,
                        ..decision(255.0, p.scheme, GridRange::Observed { shrink: 0.0 })
                    })
                    .collect();
                // With grids, a value on the edge of two of their points may go either way, since sums differ in order;
                // the networks are so deep for images so small that it is felt.
                let (near_loss, near_weight) = match (steps, name) {
                    (None, _) => (1e-4, 1e-3),
                    (_, "small-cnn") => (5e-3, 0.03),
                    _ => (0.03, 0.03),
                };
                let mut a = CpuBackend::new(&graph, &points, optimizer, 4, 1).unwrap();
                let mut b = Torch::new(
                    graph.clone(),
                    points.clone(),
                    optimizer,
                    4,
                    Device::Cpu,
                    Arithmetic::F32,
                )
                .unwrap();
                for step in 1..=2 {
                    let indices: Vec<usize> =
                        (0..16).map(|i| (i * 3 + step as usize) % 64).collect();
                    let batch = data.batch(&indices, Some(step)).unwrap();
                    let plan = StepPlan {
                        step,
                        decisions: &decisions,
                        rate: 0.01,
                        label_smoothing: 0.1,
                        clip_norm: Some(1.0),
                        seed: 1,
                        report: true,
                        histogram: Some(64),
                        gradients: false,
                    };
                    let x = a.train_step(&batch, &plan).unwrap();
                    let y = b.train_step(&batch, &plan).unwrap();
                    let (l, m) = (x.scores[0].loss, y.scores[0].loss);
                    assert!(
                        (l - m).abs() < near_loss * l.abs(),
                        "{name} {steps:?} step {step}: {l} {m}"
                    );
                    for ((p, q), at) in x.points.iter().zip(&y.points).zip(&points) {
                        let near = |u: &[f32], v: &[f32]| {
                            u.iter()
                                .zip(v)
                                .all(|(u, v)| (u - v).abs() < 0.1 * (1.0 + u.abs()))
                        };
                        assert!(
                            near(&p.min, &q.min) && near(&p.max, &q.max),
                            "{name} {}",
                            at.name
                        );
                        if let (Some(h), Some(k)) = (&p.histogram, &q.histogram) {
                            assert_eq!(h.total(), k.total(), "{name} {}", at.name);
                        }
                    }
                }
                let names = graph.params().into_iter().map(|p| p.name);
                for n in names.filter(|n| n.ends_with("running_mean") || n.ends_with("weight")) {
                    let (u, v) = (a.read(&n).unwrap(), b.read(&n).unwrap());
                    let far = u
                        .data
                        .iter()
                        .zip(&v.data)
                        .map(|(u, v)| (u - v).abs())
                        .fold(0.0, f32::max);
                    assert!(far < near_weight, "{name} {steps:?} {n}: {far}");
                }
                let memory = b.memory().unwrap();
                b.restore(&memory).unwrap();
                assert_eq!(b.memory().unwrap(), memory);
            }
        }
    }
}

#[test]
fn devices_that_are_not_there_are_named() {
    let e = device("gpu").unwrap_err().to_string();
    assert!(e.contains("cuda:N"), "{e}");
}

/// Noise is on the fused path too: rounding goes to one of two neighbours and is right on average, a portion is on the
/// grid and the rest untouched; gradients pass inside the range.
#[test]
fn noise_is_what_it_says() {
    let mut b = GraphBuilder::images("one", [1, 64, 64]);
    let x = b.conv("conv", GraphValue::Input, 2, 3, 1, 1);
    let x = b.add("flat", Op::Flatten, &[x]);
    b.linear("fc", x, 2);
    let graph = b.finish().unwrap();
    let points = Policy::default().points(&graph).unwrap();
    let input = points.iter().position(|p| !p.is_weight()).unwrap();
    let x = values(64 * 64, 3);
    for dev in devices() {
        let new = Torch::new(
            graph.clone(),
            points.clone(),
            sgd(),
            1,
            dev,
            Arithmetic::F32,
        );
        let mut t = new.unwrap();
        for range in [
            GridRange::Observed { shrink: 0.0 },
            GridRange::Fixed {
                lo: vec![-1.0],
                hi: vec![1.5],
            },
        ] {
            let plain = decision(15.0, Scheme::Affine, range);
            let rounded = quantizer::fake_quantize(&x, None, &plain).0;
            for noise in [Noise::Rounding, Noise::Portion(0.25)] {
                let d = Decision {
                    noise,
                    ..plain.clone()
                };
                let mut all = vec![Decision::pass(Scheme::Affine); points.len()];
                all[input] = d.clone();
                let want = quantize::Want::default();
                t.quantizer
                    .begin(&points, &all, want, &t.parameters)
                    .unwrap();
                let leaf = Tensor::from_slice(&x).view([1, 1, 64, 64]).to(dev);
                let leaf = leaf.set_requires_grad(true);
                let y = t.quantizer.apply(input, &points[input], &d, &leaf).unwrap();
                let g = Tensor::run_backward(&[y.sum(Kind::Float)], &[&leaf], false, false);
                let got = Vec::<f32>::try_from(y.detach().contiguous().view(-1)).unwrap();
                let g = Vec::<f32>::try_from(g[0].contiguous().view(-1)).unwrap();
                assert!(g.iter().all(|v| *v == 0.0 || *v == 1.0));
                assert!(g.iter().sum::<f32>() > 0.8 * x.len() as f32);
                let mut levels = rounded.clone();
                levels.sort_by(f32::total_cmp);
                levels.dedup();
                let step = levels[1] - levels[0];
                let inside = |v: f32| v > levels[0] && v < levels[levels.len() - 1];
                let (mut moved, mut error) = (0, 0.0);
                for ((v, r), y) in x
                    .iter()
                    .zip(&rounded)
                    .zip(&got)
                    .filter(|((v, _), _)| inside(**v))
                {
                    assert!((v - y).abs() < step * 1.001, "{v} {y} {step}");
                    moved += usize::from(y != r);
                    error += f64::from(y - v);
                }
                let part = moved as f64 / x.len() as f64;
                match noise {
                    // Many values are zero or on the grid; the others go the other way at times.
                    Noise::Rounding => assert!((0.05..0.5).contains(&part), "{dev:?} {part}"),
                    _ => assert!((0.3..0.9).contains(&part), "{dev:?} {part}"),
                }
                assert!(
                    (error / x.len() as f64).abs() < 0.02 * f64::from(step),
                    "{error}"
                );
            }
        }
    }
}

/// Both ways to convolve single channels give the same but for the order of sums.
#[test]
fn planes_and_channels_last_agree() {
    let data = images(16);
    let graph = crate::networks::by_name("mobilenet-v2", &data.input(), 10).unwrap();
    let batch = data.batch(&[1, 2, 3, 4], None).unwrap();
    for dev in devices() {
        let new = Torch::new(graph.clone(), Vec::new(), sgd(), 1, dev, Arithmetic::F32);
        let mut t = new.unwrap();
        let one = t.evaluate(&batch, &[], true).unwrap().logits.unwrap();
        t.planar_depthwise(true);
        let two = t.evaluate(&batch, &[], true).unwrap().logits.unwrap();
        let most = one.data.iter().fold(0f32, |m, v| m.max(v.abs()));
        for (a, b) in one.data.iter().zip(&two.data) {
            assert!((a - b).abs() < 0.02 * most.max(1e-3), "{dev:?}: {a} {b}");
        }
    }
}
