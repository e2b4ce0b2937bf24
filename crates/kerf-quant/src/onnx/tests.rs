//! Files against an evaluation of their own parts, and what cannot be written.
use super::*;
use crate::backend::{Backend, Batch, BatchInput, Optimizer};
use crate::cpu::CpuBackend;
use crate::decision::{Noise, Scheme};
use crate::graph::GraphBuilder;
use crate::points::Policy;

/// A reader of protobuf, enough to take a file apart: field, wire type, value or bytes.
fn fields(mut b: &[u8]) -> Vec<(u64, Vec<u8>)> {
    fn varint(b: &mut &[u8]) -> u64 {
        let (mut v, mut shift) = (0, 0);
        loop {
            let byte = b[0];
            *b = &b[1..];
            v |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte & 0x80 == 0 {
                return v;
            }
        }
    }
    let mut all = Vec::new();
    while !b.is_empty() {
        let key = varint(&mut b);
        let value = match key & 7 {
            0 => varint(&mut b).to_le_bytes().to_vec(),
            n => {
                let length = if n == 5 { 4 } else { varint(&mut b) as usize };
                let (v, rest) = b.split_at(length);
                b = rest;
                v.to_vec()
            }
        };
        all.push((key >> 3, value));
    }
    all
}

fn of(all: &[(u64, Vec<u8>)], field: u64) -> Vec<Vec<u8>> {
    all.iter()
        .filter(|(f, _)| *f == field)
        .map(|(_, v)| v.clone())
        .collect()
}

fn text(all: &[(u64, Vec<u8>)], field: u64) -> String {
    String::from_utf8(of(all, field).first().cloned().unwrap_or_default()).unwrap()
}

fn ops(file: &[u8]) -> Vec<String> {
    let graph = fields(&of(&fields(file), 7)[0]);
    of(&graph, 1).iter().map(|n| text(&fields(n), 4)).collect()
}

fn network() -> Graph {
    let mut b = GraphBuilder::images("tiny", [2, 6, 6]);
    let x = b.conv("conv1", GraphValue::Input, 4, 3, 1, 1);
    let x = b.batch_norm("bn1", x);
    let r = b.relu("relu1", x);
    let x = b.conv("conv2", r, 4, 3, 1, 4);
    let x = b.batch_norm("bn2", x);
    let x = b.add("add", Op::Add, &[x, r]);
    let x = b.add("relu2", Op::Relu6, &[x]);
    let x = b.add("pool", Op::GlobalAvgPool, &[x]);
    let x = b.add("flat", Op::Flatten, &[x]);
    b.linear("fc", x, 3);
    b.finish().unwrap()
}

fn sgd() -> Optimizer {
    Optimizer::Sgd {
        momentum: 0.0,
        nesterov: false,
        weight_decay: 0.0,
    }
}

fn fixed(points: &[QuantizationPoint], steps: f32) -> Vec<Decision> {
    let one = |p: &QuantizationPoint| Decision {
        steps: Some(steps),
        scheme: p.scheme,
        range: match (p.is_weight(), p.name.as_str()) {
            (true, _) => GridRange::Observed { shrink: 0.0 },
            (false, "relu1") => GridRange::Fixed {
                lo: vec![0.0],
                hi: vec![2.5],
            },
            _ => GridRange::Fixed {
                lo: vec![-1.5],
                hi: vec![2.0],
            },
        },
        blend: None,
        noise: Noise::None,
        seed: 0,
    };
    points.iter().map(one).collect()
}

/// A backend whose normalisations are not trivial: some gains are negative, one is zero.
fn backend(graph: &Graph, points: &[QuantizationPoint]) -> CpuBackend {
    let mut b = CpuBackend::new(graph, points, sgd(), 3, 1).unwrap();
    for (name, data) in [
        ("bn1.weight", [1.0, -0.5, 0.0, 2.0]),
        ("bn1.bias", [0.1, 0.2, 0.7, -0.3]),
        ("bn1.running_mean", [0.05, -0.1, 0.2, 0.0]),
        ("bn1.running_var", [0.5, 2.0, 1.0, 0.1]),
        ("bn2.weight", [-1.0, 1.5, 1e-12, 1.0]),
    ] {
        let t = Tensor::new([4], data.to_vec()).unwrap();
        b.write(name, &t).unwrap();
    }
    b
}

/// Evaluates the folded convolution from its integers, in whole numbers, as an engine does.
fn conv(
    q: &weights::Integers,
    x: &[i32],
    groups: usize,
    inputs: usize,
    out: usize,
    step: f32,
) -> Vec<f64> {
    let (h, each) = (6i32, inputs / groups);
    let mut y = Vec::new();
    for o in 0..out {
        let first = o / (out / groups) * each;
        for p in 0..h * h {
            let mut sum = i64::from(q.bias.as_ref().unwrap()[o]);
            for c in 0..each {
                for k in 0..9 {
                    let (v, u) = (p / h + k / 3 - 1, p % h + k % 3 - 1);
                    if (0..h).contains(&v) && (0..h).contains(&u) {
                        let w = q.weight[(o * each + c) * 9 + k as usize];
                        sum += i64::from(w) * i64::from(x[(first + c) * 36 + (v * h + u) as usize]);
                    }
                }
            }
            y.push(sum as f64 * f64::from(q.scale[o]) * f64::from(step));
        }
    }
    y
}

#[test]
fn folding_gives_what_evaluation_gives() {
    // conv1 and bn1 alone, quantized: integers of the export against the backend's result.
    let mut b = GraphBuilder::images("one", [2, 6, 6]);
    let x = b.conv("conv1", GraphValue::Input, 4, 3, 1, 1);
    let x = b.batch_norm("bn1", x);
    b.add("flat", Op::Flatten, &[x]);
    let g = b.finish().unwrap();
    let policy = Policy {
        keep_last: false,
        ..Policy::default()
    };
    let points = policy.points(&g).unwrap();
    let decisions = fixed(&points, 255.0);
    let mut back = CpuBackend::new(&g, &points, sgd(), 3, 1).unwrap();
    let put = |b: &mut CpuBackend, n: &str, d: [f32; 4]| {
        b.write(n, &Tensor::new([4], d.to_vec()).unwrap()).unwrap()
    };
    put(&mut back, "bn1.weight", [1.0, -0.5, 1e-13, 2.0]);
    put(&mut back, "bn1.bias", [0.1, 0.2, 0.7, -0.3]);
    put(&mut back, "bn1.running_mean", [0.05, -0.1, 0.2, 0.0]);
    put(&mut back, "bn1.running_var", [0.5, 2.0, 1.0, 0.1]);
    let image: Vec<f32> = (0..72)
        .map(|i| ((i * 37) % 71) as f32 / 20.0 - 1.5)
        .collect();
    let batch = Batch {
        rows: 1,
        input: BatchInput::Reals(image.clone()),
        labels: vec![0],
    };
    let want = back
        .evaluate(&batch, &decisions, true)
        .unwrap()
        .logits
        .unwrap()
        .data;

    let grid = QuantizationGrid::new(-1.5, 2.0, 255.0, Scheme::Affine);
    let x: Vec<i32> = image
        .iter()
        .map(|v| grid.place(*v).clamp(grid.low, grid.high) as i32)
        .collect();
    let weight = back.read("conv1.weight").unwrap();
    let mut f = Folded::new(&weight, None);
    let at = points.iter().position(|p| p.is_weight()).unwrap();
    f.quantize(&weight, &points[at], &decisions[at]).unwrap();
    let get = |n: &str| back.read(&format!("bn1.{n}")).unwrap().data;
    f.normalise(
        &get("weight"),
        &get("bias"),
        &get("running_mean"),
        &get("running_var"),
        1e-5,
    );
    let q = f.integers(Some(grid.step)).unwrap();
    assert!(q.scale.iter().all(|s| *s > 0.0));
    let got = conv(&q, &x, 1, 2, 4, grid.step);
    for (a, b) in got.iter().zip(&want) {
        assert!((a - f64::from(*b)).abs() < 2e-5, "{a} {b}");
    }
}

#[test]
fn a_quantized_network_has_the_nodes_that_engines_look_for() {
    let g = network();
    let points = Policy::default().points(&g).unwrap();
    let back = backend(&g, &points);
    let read = |n: &str| back.read(n).ok();
    let decisions = fixed(&points, 255.0);
    let source = OnnxSource {
        graph: &g,
        points: &points,
        decisions: &decisions,
        parameters: &read,
        notes: &[("bits", "8".into())],
    };
    let file = export(&source).unwrap();
    let ops = ops(&file);
    let count = |o: &str| ops.iter().filter(|x| *x == o).count();
    // input, relu1 and bn2 are points; each convolution has integers for weight and bias.
    assert_eq!(
        (count("QuantizeLinear"), count("DequantizeLinear")),
        (3, 3 + 4)
    );
    assert_eq!(
        (count("Conv"), count("BatchNormalization"), count("Gemm")),
        (2, 0, 1)
    );
    // relu1 is what its grid does; relu2 is read as it is.
    assert_eq!((count("Relu"), count("Clip"), count("Add")), (0, 1, 1));
    let model = fields(&file);
    let opset = fields(&of(&model, 8)[0]);
    assert_eq!(of(&opset, 2)[0][0], OPSET as u8);
    assert_eq!(text(&fields(&of(&model, 14)[0]), 1), "bits");

    // Fewer bits: bytes would go further than the grid.
    let decisions = fixed(&points, 15.0);
    let file = export(&OnnxSource {
        decisions: &decisions,
        ..source
    })
    .unwrap();
    assert_eq!(
        super::tests::ops(&file)
            .iter()
            .filter(|x| *x == "Clip")
            .count(),
        4
    );
    let source = OnnxSource {
        points: &[],
        decisions: &[],
        ..source
    };
    let ops = super::tests::ops(&export(&source).unwrap());
    assert_eq!(ops.iter().filter(|x| *x == "Relu").count(), 1);
    assert!(ops.iter().all(|x| !x.contains("Linear")));
}

#[test]
fn what_cannot_be_written_is_named() {
    let g = network();
    let points = Policy::default().points(&g).unwrap();
    let back = backend(&g, &points);
    let read = |n: &str| back.read(n).ok();
    let mut decisions = fixed(&points, 255.0);
    decisions[0].range = GridRange::Observed { shrink: 0.0 };
    let source = OnnxSource {
        graph: &g,
        points: &points,
        decisions: &decisions,
        parameters: &read,
        notes: &[],
    };
    assert_eq!(
        export(&source).unwrap_err(),
        ExportError::Range("input".into())
    );
    let finer = fixed(&points, 1023.0);
    let e = export(&OnnxSource {
        decisions: &finer,
        ..source
    })
    .unwrap_err()
    .to_string();
    assert!(e.contains("1023 steps"), "{e}");
    let none = |_: &str| None;
    let e = export(&OnnxSource {
        points: &[],
        decisions: &[],
        parameters: &none,
        ..source
    });
    assert!(matches!(e, Err(ExportError::NoParameter(n)) if n == "conv1.weight"));
    let e = export(&OnnxSource {
        decisions: &[],
        ..source
    });
    assert!(matches!(e, Err(ExportError::Decisions { .. })));
    let tokens = InputSpec::Tokens {
        length: 8,
        count: 20,
    };
    let g = crate::networks::by_name("text-transformer", &tokens, 20).unwrap();
    let e = export(&OnnxSource {
        graph: &g,
        points: &[],
        decisions: &[],
        ..source
    });
    assert!(matches!(
        e,
        Err(ExportError::Operation {
            class: "embedding",
            ..
        })
    ));
}
