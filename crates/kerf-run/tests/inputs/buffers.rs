//! Buffers of all kinds, as workload files could have them.
use kerf_num::random::SplitMix64;
use kerf_workload::expr::Expr;
use kerf_workload::{BufferSpec, Defined, ElemType, Init, Number, Scalar};

pub fn buffer(elem: ElemType, len: usize, init: Init) -> BufferSpec {
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
        line: 0,
    }
}

pub fn expression(text: &str) -> Init {
    Init::Expr(Expr::parse(text).expect("an expression"))
}

fn uniform(low: Number, high: Number) -> Init {
    Init::Uniform { low, high }
}

/// Inits that suit a type and so many scalars.
pub fn inits(scalar: Scalar, count: usize) -> Vec<Init> {
    let mut all = vec![
        Init::Zero,
        Init::Values(listed(scalar, count)),
        expression("i % 7 + select(i % 3 == 0, 1, 2.5)"),
        expression("floor(100 * rand) + ceil(rand * rand)"),
        expression("50 + 30 * sin(0.1 * (i % n)) * cos(0.07 * (i / n)) + pow(rand, 3)"),
        Init::LogUniform {
            low: 1.0,
            high: 100.0,
        },
        Init::Normal {
            mean: 20.0,
            sd: 3.75,
        },
    ];
    match scalar.int_range() {
        Some((least, most)) => {
            let (least_number, most_number) = (Number::Int(least), Number::Int(most));
            all.extend([
                Init::Constant(most_number),
                uniform(least_number, Number::Int(most + 1)),
                uniform(Number::Int(3), Number::Int(17)),
                Init::Linear {
                    from: least_number,
                    to: most_number,
                },
                Init::Linear {
                    from: Number::Int(99),
                    to: Number::Int(7),
                },
                Init::Normal { mean: 0.0, sd: 1e3 },
                Init::Normal {
                    mean: 1.0,
                    sd: 1e300,
                },
                Init::LogUniform {
                    low: 0.01,
                    high: most as f64 + 1.0,
                },
            ]);
            if count.saturating_sub(1) as i128 <= most {
                all.push(Init::Permutation);
            }
        }
        None => all.extend(float_inits(scalar)),
    }
    all
}

fn float_inits(scalar: Scalar) -> Vec<Init> {
    let most = scalar.max_finite().expect("a float type");
    let float = Number::Float;
    vec![
        Init::Constant(float(-0.1)),
        Init::Constant(float(f64::NAN)),
        Init::Constant(float(f64::NEG_INFINITY)),
        uniform(float(-1.0), float(1.0)),
        uniform(float(0.1), float(0.2)),
        uniform(float(-most), float(most)),
        uniform(float(0.0), float(3e-8)),
        Init::Linear {
            from: float(-most),
            to: float(most),
        },
        Init::Linear {
            from: float(0.1),
            to: float(-0.7),
        },
        Init::Normal {
            mean: 1.0,
            sd: most / 16.0,
        },
        Init::Normal {
            mean: 0.0,
            sd: 1e-7,
        },
        Init::LogUniform {
            low: 1e-7,
            high: most,
        },
        expression("1.0 / (i % 3) - 1.0 / ((i + 1) % 5)"),
        expression("0.0 / (i - 1.0) + 1e200 * rand * 1e180"),
    ]
}

fn listed(scalar: Scalar, count: usize) -> Vec<Number> {
    let value = |i: usize| match scalar.is_float() {
        true => Number::Float(i as f64 / 3.0 % 1000.0),
        false => Number::Int((i % 127) as i128),
    };
    (0..count).map(value).collect()
}

/// Types of elements with fields, paddings and vectors, each with its inits.
pub fn structs(len: usize) -> Vec<BufferSpec> {
    let scalar = ElemType::Scalar;
    let pick = |s: Scalar, width: usize, n: usize| inits(s, len * width)[n].clone();
    let inner = ElemType::Struct(vec![scalar(Scalar::U8), scalar(Scalar::I16)]);
    let mixed = ElemType::Struct(vec![
        scalar(Scalar::U8),
        ElemType::Vector(Scalar::F32, 2),
        inner.clone(),
        scalar(Scalar::F64),
    ]);
    let fields = Init::Fields(vec![
        pick(Scalar::U8, 1, 3),
        pick(Scalar::F32, 2, 9),
        Init::Fields(vec![Init::Zero, pick(Scalar::I16, 1, 2)]),
        pick(Scalar::F64, 1, 5),
    ]);
    let halves = ElemType::Struct(vec![
        ElemType::Vector(Scalar::F16, 3),
        ElemType::Vector(Scalar::Bf16, 4),
        scalar(Scalar::U64),
    ]);
    let half_fields = Init::Fields(vec![
        pick(Scalar::F16, 3, 5),
        pick(Scalar::Bf16, 4, 4),
        pick(Scalar::U64, 1, 7),
    ]);
    vec![
        buffer(mixed.clone(), len, fields),
        buffer(mixed, len, Init::Zero),
        buffer(halves, len, half_fields),
        buffer(
            ElemType::Struct(vec![inner, scalar(Scalar::F32)]),
            len,
            Init::Fields(vec![Init::Zero, pick(Scalar::F32, 1, 1)]),
        ),
    ]
}

/// A random expression of a depth.
pub fn random_expression(r: &mut SplitMix64, depth: u32) -> String {
    let mut pick = |n: u64| (r.bits() % n) as usize;
    if depth == 0 {
        let leaves = [
            "i",
            "n",
            "rand",
            "0",
            "1",
            "3",
            "-7",
            "2.5",
            "0.0",
            "-0.0",
            "1e300",
            "1e-310",
            "huge",
            "0.1",
            "9007199254740993",
            "1e30",
        ];
        return leaves[pick(leaves.len() as u64)].into();
    }
    let kind = pick(14);
    let sign = [
        "+", "-", "*", "/", "%", "<", "<=", ">", ">=", "==", "!=", "&&", "||",
    ][pick(13)];
    let functions = [
        "abs", "sqrt", "floor", "ceil", "exp", "log", "log2", "sin", "cos",
    ];
    let function = functions[pick(functions.len() as u64)];
    let pair = ["min", "max", "ceil_div", "pow"][pick(4)];
    let mut part = || random_expression(r, depth - 1);
    match kind {
        0 => format!("(-{})", part()),
        1 => format!("(!{})", part()),
        2..=4 => format!("{function}({})", part()),
        5 | 6 => format!("{pair}({}, {})", part(), part()),
        7 => format!("select({}, {}, {})", part(), part(), part()),
        _ => format!("({} {sign} {})", part(), part()),
    }
}
