//! Generated contents: distributions, rounding, layout, and that values depend on nothing else.

use proptest::prelude::*;

use super::*;
use crate::bits::load;
use crate::workload::Defined;

fn spec(elem: ElemType, len: usize, init: Init) -> BufferSpec {
    BufferSpec {
        name: "x".into(),
        elem,
        len,
        init,
        defined: Defined::Given,
        output: false,
        symbol: None,
        seed: None,
        shape: None,
        span: 0..0,
        line: 1,
    }
}

fn numbers(spec: &BufferSpec) -> Vec<f64> {
    let scalar = spec.elem.scalar().unwrap();
    let bytes = generate(spec, 1, &[("n".into(), 10)]).unwrap();
    let scalars = bytes.chunks_exact(scalar.bytes());
    scalars.map(|b| load(scalar, b).unwrap().as_f64()).collect()
}

fn generated(scalar: Scalar, len: usize, init: Init) -> Vec<f64> {
    numbers(&spec(ElemType::Scalar(scalar), len, init))
}

fn uniform(low: f64, high: f64) -> Init {
    Init::Uniform {
        low: Number::Float(low),
        high: Number::Float(high),
    }
}

fn expr(text: &str) -> Init {
    Init::Expr(Expr::parse(text).unwrap())
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[test]
fn values_depend_only_on_seed_name_and_index() {
    let elem = ElemType::Scalar(Scalar::F64);
    let long = spec(elem.clone(), 1000, uniform(0.0, 1.0));
    let short = spec(elem.clone(), 10, uniform(0.0, 1.0));
    let bytes = |s: &BufferSpec, seed| generate(s, seed, &[]).unwrap();
    assert_eq!(bytes(&long, 1)[..80], bytes(&short, 1)[..]);
    assert_ne!(bytes(&short, 1), bytes(&short, 2));
    let named = BufferSpec {
        name: "y".into(),
        ..short.clone()
    };
    assert_ne!(bytes(&short, 1), bytes(&named, 1));
    // A seed of its own makes the name and the workload's seed irrelevant.
    let own = BufferSpec {
        seed: Some(7),
        ..short
    };
    let other = BufferSpec {
        seed: Some(7),
        ..named
    };
    assert_eq!(bytes(&own, 1), bytes(&other, 2));
}

#[test]
fn large_buffers_are_made_in_pieces_of_the_same_bytes() {
    let fields = ElemType::Struct(vec![
        ElemType::Scalar(Scalar::F32),
        ElemType::Scalar(Scalar::I32),
    ]);
    let cases = [
        (
            ElemType::Scalar(Scalar::F64),
            Init::Normal { mean: 1.0, sd: 2.0 },
        ),
        (ElemType::Scalar(Scalar::F32), expr("rand + i % 7")),
        (
            fields,
            Init::Fields(vec![uniform(0.0, 1.0), Init::Constant(Number::Int(3))]),
        ),
    ];
    for (elem, init) in cases {
        let size = elem.size();
        // Of the long one every piece but the first begins somewhere within.
        let long = generate(&spec(elem.clone(), 3 * PART + 5, init.clone()), 1, &[]).unwrap();
        let short = generate(&spec(elem, PART + 1, init), 1, &[]).unwrap();
        assert_eq!(long.len(), (3 * PART + 5) * size);
        assert_eq!(long[..short.len()], short[..]);
        assert!(long[2 * PART * size..].iter().any(|b| *b != 0));
    }
}

#[test]
fn known_bytes() {
    // These are part of the format: digests kept from one release hold for the next.
    let hex = |bytes: Vec<u8>| {
        let elem = ElemType::Scalar(Scalar::U8);
        crate::digest::digest(&bytes, &elem)
    };
    let make = |scalar, init| {
        let s = spec(ElemType::Scalar(scalar), 1000, init);
        hex(generate(&s, 1, &[]).unwrap())
    };
    let normal = Init::Normal { mean: 0.0, sd: 1.0 };
    let log = Init::LogUniform {
        low: 1e-3,
        high: 1e3,
    };
    let got = [
        make(Scalar::F64, uniform(5.0, 30.0)),
        make(Scalar::F16, uniform(-1.0, 1.0)),
        make(Scalar::F64, normal),
        make(Scalar::F32, log),
        make(Scalar::I32, Init::Permutation),
    ];
    assert_eq!(
        got,
        [
            "a314635b78864ae7",
            "dec7e078a3c2c326",
            "6f8a40943950c54b",
            "aec7fa22f3ca71aa",
            "8c07575c13f75c6f",
        ]
    );
}

#[test]
fn uniform_floats() {
    for scalar in [Scalar::F64, Scalar::F32, Scalar::F16, Scalar::Bf16] {
        let values = generated(scalar, 100_000, uniform(5.0, 30.0));
        assert!(values.iter().all(|v| (5.0..30.0).contains(v)), "{scalar}");
        assert!((mean(&values) - 17.5).abs() < 0.1, "{scalar}");
        let low = values.iter().copied().fold(f64::MAX, f64::min);
        assert!(low < 5.2);
    }
    // Wider than the type's range of differences.
    let values = generated(Scalar::F64, 1000, uniform(-1.7e308, 1.7e308));
    assert!(values.iter().all(|v| v.is_finite()));
    assert!(values.iter().any(|v| *v < -1e308) && values.iter().any(|v| *v > 1e308));
}

#[test]
fn uniform_integers() {
    let int = |low, high| Init::Uniform {
        low: Number::Int(low),
        high: Number::Int(high),
    };
    let values = generated(Scalar::I32, 10_000, int(-3, 4));
    for v in -3..4 {
        let times = values.iter().filter(|x| **x == f64::from(v)).count();
        assert!((1200..1700).contains(&times), "{v}: {times}");
    }
    assert!(values.iter().all(|v| (-3.0..4.0).contains(v)));
    let all = generated(Scalar::U64, 1000, int(0, 1 << 64));
    assert!(all.iter().any(|v| *v > 1.8e19));
    assert!(
        generated(Scalar::I8, 10, int(127, 128))
            .iter()
            .all(|v| *v == 127.0)
    );
}

#[test]
fn normal_numbers() {
    let values = generated(Scalar::F64, 200_000, Init::Normal { mean: 3.0, sd: 2.0 });
    let m = mean(&values);
    let variance = mean(&values.iter().map(|v| (v - m) * (v - m)).collect::<Vec<_>>());
    let fourth = mean(
        &values
            .iter()
            .map(|v| ((v - m) / 2.0).powi(4))
            .collect::<Vec<_>>(),
    );
    assert!((m - 3.0).abs() < 0.02, "{m}");
    assert!((variance - 4.0).abs() < 0.06, "{variance}");
    assert!((fourth - 3.0).abs() < 0.1, "{fourth}");
    let small = generated(
        Scalar::U8,
        10_000,
        Init::Normal {
            mean: 250.0,
            sd: 10.0,
        },
    );
    assert!(small.contains(&255.0) && mean(&small) > 240.0);
}

#[test]
fn logarithmic_numbers() {
    let values = generated(
        Scalar::F32,
        100_000,
        Init::LogUniform {
            low: 1e-3,
            high: 1e3,
        },
    );
    assert!(values.iter().all(|v| (1e-3..1e3).contains(v)));
    let below = values.iter().filter(|v| **v < 1.0).count();
    assert!((49_000..51_000).contains(&below), "{below}");
    let whole = generated(
        Scalar::I32,
        10_000,
        Init::LogUniform {
            low: 1.0,
            high: 9.0,
        },
    );
    assert!((1..9).all(|v| whole.contains(&f64::from(v))));
    assert!(whole.iter().all(|v| (1.0..9.0).contains(v)));
}

#[test]
fn linear_numbers() {
    let line = |from, to| Init::Linear { from, to };
    let (zero, one) = (Number::Int(0), Number::Int(1));
    assert_eq!(
        generated(Scalar::F64, 5, line(zero, one)),
        [0.0, 0.25, 0.5, 0.75, 1.0]
    );
    assert_eq!(generated(Scalar::F64, 1, line(one, zero)), [1.0]);
    let last = generated(
        Scalar::F64,
        50,
        line(Number::Float(0.1), Number::Float(0.7)),
    );
    assert_eq!(last[49], 0.7);
    assert_eq!(
        generated(Scalar::I32, 5, line(Number::Int(10), Number::Int(0))),
        [10.0, 8.0, 5.0, 3.0, 0.0]
    );
    assert_eq!(generated(Scalar::I32, 1, line(Number::Int(7), zero)), [7.0]);
    let wide = generated(
        Scalar::F64,
        3,
        line(Number::Float(-1.7e308), Number::Float(1.7e308)),
    );
    assert_eq!(wide, [-1.7e308, 0.0, 1.7e308]);
    let long = generated(Scalar::F64, 5, line(Number::Float(-1e308), zero));
    assert_eq!(long[1..4], [-7.5e307, -5e307, -2.5e307]);
}

#[test]
fn listed_and_constant_numbers() {
    let listed = Init::Values(vec![
        Number::Int(1),
        Number::Float(0.1),
        Number::Float(f64::INFINITY),
    ]);
    assert_eq!(
        generated(Scalar::F32, 3, listed),
        [1.0, f64::from(0.1f32), f64::INFINITY]
    );
    assert_eq!(
        generated(Scalar::Bf16, 2, Init::Constant(Number::Float(1.5))),
        [1.5, 1.5]
    );
    assert_eq!(generated(Scalar::F64, 2, Init::Zero), [0.0, 0.0]);
    let big = spec(
        ElemType::Scalar(Scalar::U64),
        1,
        Init::Constant(Number::Int(u64::MAX.into())),
    );
    assert_eq!(generate(&big, 0, &[]).unwrap(), [255; 8]);
}

#[test]
fn expressions() {
    assert_eq!(
        generated(Scalar::F64, 4, expr("i * 0.5 + n")),
        [10.0, 10.5, 11.0, 11.5]
    );
    assert_eq!(
        generated(Scalar::I32, 4, expr("i * 0.6 - 1")),
        [-1.0, 0.0, 0.0, 0.0]
    );
    let values = generated(Scalar::F64, 10_000, expr("rand - rand"));
    assert!(values.iter().all(|v| v.abs() < 1.0));
    assert!(mean(&values).abs() < 0.03 && values.iter().any(|v| v.abs() > 0.5));
    assert_eq!(generated(Scalar::F16, 1, expr("1e9")), [f64::INFINITY]);
    let fails = |scalar, text: &str| {
        let s = spec(ElemType::Scalar(scalar), 4, expr(text));
        generate(&s, 0, &[]).unwrap_err().to_string()
    };
    assert_eq!(
        fails(Scalar::F64, "1 / (2 - i)"),
        "buffer `x`, scalar 2: division by zero; expected a divisor other than 0"
    );
    assert_eq!(
        fails(Scalar::U8, "i + 254"),
        "buffer `x`, scalar 2: 256 does not fit u8"
    );
    assert_eq!(
        fails(Scalar::I32, "0.0 / 0.0"),
        "buffer `x`, scalar 0: NaN does not fit i32"
    );
    assert!(fails(Scalar::F64, "i + q").contains("unknown name `q`"));
}

#[test]
fn vectors_count_scalars() {
    let s = spec(ElemType::Vector(Scalar::F32, 3), 2, expr("i"));
    assert_eq!(numbers(&s), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    assert_eq!(s.npy_shape(), [2, 3]);
}

#[test]
fn structs_fill_their_fields() {
    let scalar = ElemType::Scalar;
    let inner = ElemType::Struct(vec![scalar(Scalar::U8), scalar(Scalar::I16)]);
    let elem = ElemType::Struct(vec![
        scalar(Scalar::U8),
        ElemType::Vector(Scalar::F32, 2),
        inner,
    ]);
    let inits = Init::Fields(vec![
        Init::Constant(Number::Int(9)),
        expr("i"),
        Init::Fields(vec![expr("i + 1"), Init::Zero]),
    ]);
    let s = spec(elem.clone(), 2, inits);
    let bytes = generate(&s, 0, &[]).unwrap();
    let f = |v: f32| v.to_le_bytes();
    let element = |a: f32, b: f32, c: u8| {
        let mut e = vec![9, 0, 0, 0, 0, 0, 0, 0];
        e.extend(f(a).into_iter().chain(f(b)));
        e.extend([c, 0, 0, 0, 0, 0, 0, 0]);
        e
    };
    assert_eq!(bytes, [element(0.0, 1.0, 1), element(2.0, 3.0, 2)].concat());
    // Fields have streams of their own.
    let two = ElemType::Struct(vec![scalar(Scalar::F64); 2]);
    let s = spec(two, 1, Init::Fields(vec![uniform(0.0, 1.0); 2]));
    let bytes = generate(&s, 0, &[]).unwrap();
    assert_ne!(bytes[..8], bytes[8..]);
    assert_eq!(
        generate(&spec(elem, 3, Init::Zero), 0, &[]).unwrap(),
        [0; 72]
    );
}

#[test]
fn files_fill_buffers_and_fields() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.npy");
    let pair = ElemType::Vector(Scalar::F32, 2);
    let data: Vec<u8> = (0..4).flat_map(|v| (v as f32).to_le_bytes()).collect();
    npy::write(&path, &pair, &[2], &data).unwrap();
    let whole = spec(pair.clone(), 2, Init::File(path.clone()));
    assert_eq!(generate(&whole, 0, &[]).unwrap(), data);

    let elem = ElemType::Struct(vec![ElemType::Scalar(Scalar::I32), pair]);
    let fields = Init::Fields(vec![Init::Zero, Init::File(path.clone())]);
    let bytes = generate(&spec(elem, 2, fields), 0, &[]).unwrap();
    assert_eq!(bytes[8..16], data[..8]);
    assert_eq!(bytes[24..32], data[8..]);

    let wrong = spec(ElemType::Scalar(Scalar::F64), 4, Init::File(path));
    let error = generate(&wrong, 0, &[]).unwrap_err().to_string();
    assert!(error.ends_with("x.npy: type f32, not f64"), "{error}");
}

#[test]
fn unsuitable_inits_are_refused() {
    let table = [
        (
            Scalar::U8,
            Init::Constant(Number::Int(256)),
            "256 does not fit u8",
        ),
        (Scalar::F64, Init::Permutation, "permutation of f64"),
        (Scalar::F64, uniform(1.0, 1.0), "uniform from 1.0 to 1.0"),
        (Scalar::F64, uniform(0.0, f64::NAN), "NaN in `uniform`"),
        (Scalar::F16, uniform(0.0, 1e6), "1000000.0 does not fit f16"),
        (
            Scalar::F16,
            uniform(1.0001, 1.0002),
            "uniform from 1.0001 to 1.0002 as f16",
        ),
        (
            Scalar::F16,
            Init::Normal { mean: 0.0, sd: 1e4 },
            "normal with mean 0.0",
        ),
        (
            Scalar::F64,
            Init::Normal {
                mean: 0.0,
                sd: -1.0,
            },
            "standard deviation -1.0",
        ),
        (
            Scalar::F64,
            Init::LogUniform {
                low: 0.0,
                high: 1.0,
            },
            "log_uniform from 0.0",
        ),
        (
            Scalar::I32,
            Init::LogUniform {
                low: 1.2,
                high: 1.9,
            },
            "log_uniform from 1.2",
        ),
        (Scalar::F64, Init::Values(vec![]), "0 values; expected 300"),
        (
            Scalar::F64,
            Init::Fields(vec![]),
            "a list of inits for type f64",
        ),
        (
            Scalar::I8,
            Init::Permutation,
            "permutation of 300 numbers as i8; expected at most 128",
        ),
    ];
    for (scalar, init, message) in table {
        let s = spec(ElemType::Scalar(scalar), 300, init);
        let error = generate(&s, 0, &[]).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
    for elem in [
        ElemType::Scalar(Scalar::F64),
        ElemType::Vector(Scalar::F64, 4),
    ] {
        let huge = spec(elem, usize::MAX, Init::Zero);
        assert!(matches!(
            generate(&huge, 0, &[]),
            Err(GenerateError::Memory { .. })
        ));
    }
}

/// Run by hand: `cargo test --release speed -- --ignored --nocapture`.
#[test]
#[ignore = "measures time"]
fn speed() {
    let len = 16 << 20;
    let inits = [
        ("uniform", uniform(0.0, 1.0)),
        ("normal", Init::Normal { mean: 0.0, sd: 1.0 }),
        (
            "log_uniform",
            Init::LogUniform {
                low: 1.0,
                high: 2.0,
            },
        ),
        ("expr", expr("2.0 * i / n + rand")),
    ];
    for (name, init) in inits {
        let s = spec(ElemType::Scalar(Scalar::F64), len, init);
        let start = std::time::Instant::now();
        let bytes = generate(&s, 0, &[("n".into(), 10)]).unwrap();
        println!("{name}: {:?} for {} bytes", start.elapsed(), bytes.len());
    }
    let s = spec(ElemType::Scalar(Scalar::I32), len, Init::Permutation);
    let start = std::time::Instant::now();
    generate(&s, 0, &[]).unwrap();
    println!("permutation: {:?}", start.elapsed());
}

proptest! {
    #[test]
    fn uniform_never_leaves_its_range(
        low in -100.0..100.0f64,
        width in prop_oneof![Just(1e-12), 1e-6..1e-2f64, 0.1..1000.0f64],
        scalar in prop::sample::select(vec![Scalar::F64, Scalar::F32, Scalar::F16, Scalar::Bf16]),
    ) {
        let high = low + width;
        let s = spec(ElemType::Scalar(scalar), 200, uniform(low, high));
        if let Ok(bytes) = generate(&s, 3, &[]) {
            for b in bytes.chunks_exact(scalar.bytes()) {
                let v = load(scalar, b).unwrap().as_f64();
                prop_assert!(low <= v && v < high, "{v} outside [{low}, {high}) as {scalar}");
            }
        }
    }

    #[test]
    fn any_init_succeeds_or_is_refused(
        scalar in prop::sample::select(Scalar::ALL.to_vec()),
        kind in 0..5usize,
        a in prop_oneof![any::<f64>(), -300.0..300.0f64, Just(0.0), Just(1.0)],
        b in prop_oneof![any::<f64>(), -300.0..300.0f64, Just(2.0), Just(10.0)],
    ) {
        let init = match kind {
            0 => uniform(a, b),
            1 => Init::Normal { mean: a, sd: b },
            2 => Init::LogUniform { low: a, high: b },
            3 => Init::Linear { from: Number::Float(a), to: Number::Float(b) },
            _ => Init::Constant(Number::Float(a)),
        };
        let s = spec(ElemType::Scalar(scalar), 50, init);
        if let Ok(bytes) = generate(&s, 3, &[]) {
            for b in bytes.chunks_exact(scalar.bytes()) {
                let v = load(scalar, b).unwrap().as_f64();
                prop_assert!(v.is_finite() || kind == 4);
            }
        }
    }
}
