//! Half-precision types.
use super::exact::{add, fma, mul, number, to_bf16, to_f16};
use super::harness::{run, same_under_other_options};
use half::{bf16, f16};
use rug::float::Round::{Down, Nearest, Up, Zero};

const F: [f64; 32] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.1,
    -0.3333333,
    1.0009766,
    2.5,
    -3.5,
    65504.0,
    -65504.0,
    65519.0,
    65520.0,
    1e-7,
    5.9604645e-8,
    2.9802322e-8,
    6.1e-5,
    1e-40,
    3e38,
    -3e38,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
    1000.5,
    0.99951171875,
    7.25,
    100.0,
    3.1415927,
    2049.0,
    -2051.0,
    0.0004,
    12345.678,
];

/// The f16 inputs: no finite value beyond the format's range.
fn h(i: usize) -> f64 {
    let v = match i % 32 {
        11 => 60000.0,
        12 => 700.0,
        18 => 30000.0,
        19 => -30000.0,
        k => F[k],
    };
    f64::from(to_f16(&number(v), Nearest))
}

fn b(i: usize) -> f64 {
    f64::from(to_bf16(&number(F[i % 32]), Nearest))
}

/// The f64 inputs: next to ties of f16 and bf16, where rounding by way of f32 goes wrong.
fn d(i: usize) -> f64 {
    match i {
        6 => 1.000488281251,
        17 => 1.00048828126,
        23 => 1.003906250001,
        k => F[k],
    }
}

fn extreme(x: f64, y: f64, least: bool) -> f64 {
    match (x.is_nan(), y.is_nan()) {
        (true, _) => y,
        (_, true) => x,
        _ => {
            if x.total_cmp(&y).is_lt() == least {
                x
            } else {
                y
            }
        }
    }
}

/// Sum, difference, product and multiply-add, each rounded once.
fn basic(row: usize, x: f64, y: f64, z: f64) -> rug::Float {
    match row {
        0 => add(x, y, Nearest),
        1 => add(x, -y, Nearest),
        2 => mul(x, y, Nearest),
        _ => fma(x, y, z, Nearest),
    }
}

fn h_row(row: usize, i: usize) -> f16 {
    let (x, y, z) = (h(i), h(i + 5), h(i + 11));
    let near = |e: rug::Float| to_f16(&e, Nearest);
    let same = |v: f64| f16::from_f64(v);
    match row {
        0..=3 => near(basic(row, x, y, z)),
        4 => near(basic(0, x, y, z)),
        5 => same(-x),
        6 => same(x.abs()),
        7 => same(extreme(x, y, false)),
        8 => same(extreme(x, y, true)),
        9 => same(x.floor()),
        10 => same(x.ceil()),
        11 => same(x.round_ties_even()),
        12 => same(x.trunc()),
        13 => {
            let s = near(add(x, y, Nearest));
            if s > f16::ZERO {
                s.min(f16::ONE)
            } else {
                f16::ZERO
            }
        }
        14 => near(mul(x, y, Nearest)),
        15 => near(mul(y, z, Nearest)),
        16 => near(fma(x, y, x, Nearest)),
        17 => near(fma(y, z, y, Nearest)),
        18 => same(y),
        _ => near(add(y, z, Nearest)),
    }
}

fn b_row(row: usize, i: usize) -> bf16 {
    let (x, y, z) = (b(i), b(i + 5), b(i + 11));
    let near = |e: rug::Float| to_bf16(&e, Nearest);
    let same = |v: f64| bf16::from_f64(v);
    match row {
        0..=3 => near(basic(row, x, y, z)),
        4 => near(mul(x, y, Nearest)),
        5 => same(extreme(x, y, false)),
        6 => same(extreme(x, y, true)),
        7 => near(fma(x, y, x, Nearest)),
        8 => near(fma(y, z, y, Nearest)),
        _ => same(-x),
    }
}

fn flags(all: &[bool]) -> i32 {
    all.iter()
        .enumerate()
        .fold(0, |m, (k, v)| m | i32::from(*v) << k)
}

#[test]
fn halves() {
    let o = run("half", &[]);
    o.expect("h_out", |k| h_row(k / 32, k % 32));
    o.expect("b_out", |k| b_row(k / 32, k % 32));
    let single = |i: usize| f64::from(F[i] as f32);
    o.expect("h_conv", |k| {
        let v = single(k % 32);
        let to = |x: f64, r| to_f16(&number(x), r);
        match k / 32 {
            0 => to(v, Nearest),
            1 => to(v, Zero),
            2 => to(v, Up),
            3 => to(v, Down),
            4 => to(d(k % 32), Nearest),
            5 => to(f64::from(v as i32), Nearest),
            6 => to(-v, Nearest),
            _ => to(f64::from(v as f32 * 0.5), Nearest),
        }
    });
    o.expect("b_conv", |k| match k / 32 {
        0 => to_bf16(&number(single(k % 32)), Nearest),
        1 => to_bf16(&number(d(k % 32)), Nearest),
        _ => to_bf16(&number(single(k % 32)), Zero),
    });
    o.expect("k_conv", |k| {
        let x = to_f16(&number(single(k % 32)), Nearest);
        let y = to_bf16(&number(single(k % 32)), Nearest);
        // Which bits a NaN has is not defined; the kernel writes -1.
        match k / 32 {
            0 => f64::from(x).trunc() as i32,
            1 => f64::from(x).round_ties_even() as i32,
            2 => f64::from(x) as u32 as i32,
            3..=6 if x.is_nan() => -1,
            3 => i32::from(x.to_bits()),
            4 => f32::from(x).to_bits() as i32,
            5 => f32::from(y).to_bits() as i32,
            _ => i32::from(y.to_bits()),
        }
    });
    o.expect("compared", |k| {
        let i = k % 32;
        if k < 32 {
            let (x, y) = (h(i), h(i + 1));
            let both = !x.is_nan() && !y.is_nan();
            let all = [x < y, x <= y, x > y, x >= y, x == y, both && x != y];
            flags(
                &[
                    &all[..],
                    &[
                        !(x >= y),
                        !(x < y),
                        x.is_nan(),
                        x.is_infinite(),
                        x < y,
                        both,
                    ],
                ]
                .concat(),
            )
        } else {
            let (x, y) = (b(i), b(i + 1));
            flags(&[x < y, x == y, !(x < y), x.is_nan(), x > y])
        }
    });
    let pair = |i: usize| f64::from(to_f16(&number((i * 37 % 23) as f64 * 0.17 - 1.5), Nearest));
    o.expect("wide", |_| {
        (0..20).fold(0.0f32, |s, k| {
            (pair(2 * k) as f32).mul_add(pair(2 * k + 1) as f32, s)
        })
    });
    o.expect("narrow", |t| {
        let half = |side: usize| {
            (0..20).fold(0.0, |s, k| {
                let (x, y) = (pair(2 * k + side), pair(2 * ((k + t) % 20) + side));
                f64::from(to_f16(&fma(x, y, s, Nearest), Nearest))
            })
        };
        to_f16(&add(half(0), half(1), Nearest), Nearest)
    });
    same_under_other_options("half", &o);
}
