//! Results that are exactly defined.
use super::exact::{add, div, fma, mul, number, sqrt};
use super::harness::{run, same_under_other_options};
use rug::float::Round::{self, Down, Nearest, Up, Zero};

const DOUBLES: [f64; 32] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    1.5,
    2.5,
    -2.5,
    0.1,
    3.7,
    -3.7,
    1e300,
    -1e300,
    1e-300,
    5e-324,
    2147483647.5,
    4294967295.5,
    -2147483649.0,
    9.3e18,
    1.9e19,
    -1e19,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
    8388607.5,
    4503599627370495.5,
    0.3333333333333333,
    7.0,
    1e10,
    123456.789,
    -0.7,
];
const FLOATS: [f64; 32] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    1.5,
    2.5,
    -2.5,
    0.1,
    3.7,
    -3.7,
    1e38,
    -1e38,
    1e-38,
    1e-45,
    2147483520.0,
    4294967040.0,
    16777217.0,
    9.3e18,
    1.9e19,
    -1e19,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
    8388607.5,
    0.33333334,
    7.0,
    1e10,
    123456.789,
    -0.7,
    3e-39,
];
const LONGS: [i64; 12] = [
    0,
    1,
    -1,
    i64::MAX,
    i64::MIN,
    9007199254740993,
    -9007199254740993,
    16777217,
    -16777219,
    4294967295,
    123456789012345678,
    2147483647,
];
const WORDS: [u64; 16] = [
    0,
    1,
    u64::MAX,
    4294967296,
    9223372036854775808,
    81985529216486895,
    18364758544493064720,
    255,
    4278190080,
    1311768467463790320,
    2147483648,
    281474976710655,
    6148914691236517205,
    12297829382473034410,
    4607182418800017408,
    13835058055282163712,
];

/// The smaller or larger number: a NaN loses, and -0 is less than +0.
fn extreme(x: f64, y: f64, least: bool) -> f64 {
    match (x.is_nan(), y.is_nan()) {
        (true, _) => y,
        (_, true) => x,
        _ => {
            let first = x.total_cmp(&y).is_lt() == least;
            if first { x } else { y }
        }
    }
}

fn f64_row(row: usize, i: usize) -> f64 {
    let at = |k: usize| DOUBLES[(i + k) % 32];
    let (x, y, z) = (at(0), at(7), at(3));
    let to = |e: rug::Float, r: Round| e.to_f64_round(r);
    match row {
        0 => x.sqrt(),
        1 => x.mul_add(y, z),
        2 => x.floor(),
        3 => x.ceil(),
        4 => x.trunc(),
        5 => x.round(),
        6 | 7 => x.round_ties_even(),
        8 => extreme(x, y, true),
        9 => extreme(x, y, false),
        10 => x.abs(),
        11 => x.copysign(y),
        12 => x / y,
        13 => 1.0 / x,
        14 => (-y).mul_add(z, x),
        15 => x % y,
        16 => to(number(x) * number(2f64.powi(i as i32 % 40 - 20)), Nearest),
        17 if x.is_nan() || y.is_nan() => f64::NAN,
        17 => {
            if x > y {
                x - y
            } else {
                0.0
            }
        }
        18 => to(add(x, y, Zero), Zero),
        19 => to(add(x, y, Up), Up),
        20 => to(add(x, y, Down), Down),
        21 => x + y,
        22 => to(mul(x, y, Zero), Zero),
        23 => to(mul(x, y, Up), Up),
        24 => to(mul(x, y, Down), Down),
        25 => to(div(x, y, Zero), Zero),
        26 => to(div(x, y, Up), Up),
        27 => to(div(x, y, Down), Down),
        28 => to(sqrt(x, Up), Up),
        29 => to(sqrt(x, Down), Down),
        30 => to(fma(x, y, z, Up), Up),
        31 => to(fma(x, y, z, Down), Down),
        _ => to(fma(x, y, z, Zero), Zero),
    }
}

fn f32_row(row: usize, i: usize) -> f32 {
    let at = |k: usize| FLOATS[(i + k) % 32] as f32;
    let (x, y, z) = (at(0), at(7), at(3));
    let (u, v, w) = (f64::from(x), f64::from(y), f64::from(z));
    let to = |e: rug::Float, r: Round| e.to_f32_round(r);
    match row {
        0 | 18 => x.sqrt(),
        1 | 22 => x.mul_add(y, z),
        2 => x.floor(),
        3 => x.ceil(),
        4 => x.trunc(),
        5 => x.round(),
        6 => x.round_ties_even(),
        7 => extreme(u, v, true) as f32,
        8 => extreme(u, v, false) as f32,
        9 => x.copysign(y),
        10 => x / y,
        11 => to(add(u, v, Zero), Zero),
        12 => to(add(u, v, Up), Up),
        13 => to(add(u, v, Down), Down),
        14 => to(mul(u, v, Zero), Zero),
        15 => to(mul(u, v, Up), Up),
        16 => to(mul(u, v, Down), Down),
        17 => to(div(u, v, Up), Up),
        19 => to(fma(u, v, w, Zero), Zero),
        20 => {
            if x > 0.0 {
                x.min(1.0)
            } else {
                0.0
            }
        }
        21 => x % y,
        23 => x * y + z,
        _ => 1.0 / x,
    }
}

fn integer_row(row: usize, i: usize) -> i64 {
    let d = DOUBLES[i];
    let f = d as f32;
    // `as` saturates and turns NaN into 0; an H200 gives 100..0 for f64 and for 64-bit results.
    let i32_of = |x: f64| {
        if x.is_nan() {
            i64::from(i32::MIN)
        } else {
            i64::from(x as i32)
        }
    };
    let u32_of = |x: f64| {
        if x.is_nan() {
            1 << 31
        } else {
            i64::from(x as u32)
        }
    };
    let i64_of = |x: f64| if x.is_nan() { i64::MIN } else { x as i64 };
    let u64_of = |x: f64| {
        if x.is_nan() {
            i64::MIN
        } else {
            x as u64 as i64
        }
    };
    let w = f64::from(f);
    match row {
        0 => i32_of(d),
        1 => u32_of(d),
        2 => i64_of(d),
        3 => u64_of(d),
        4 => i64::from(f as i32),
        5 => i64::from(f as u32),
        6 => i64_of(w),
        7 => u64_of(w),
        8 => i64::from(f.round_ties_even() as i32),
        9 => i64::from(f.ceil() as i32),
        10 => i64::from(f.floor() as i32),
        11 => i32_of(d.round_ties_even()),
        12 => i32_of(d.ceil()),
        13 => i64_of(d.floor()),
        14 => u32_of(d.round_ties_even()),
        15 => i64::from(f.ceil() as u32),
        16 => i64_of(w.round_ties_even()),
        17 => u64_of(d.ceil()),
        18 => i64_of(d.round_ties_even()),
        _ => i64_of(d.round()),
    }
}

fn perm(a: u32, b: u32, s: u32) -> u32 {
    let all = u64::from(a) | u64::from(b) << 32;
    (0..4).fold(0, |o, k| {
        o | ((all >> (8 * ((s >> (4 * k)) & 7))) as u32 & 255) << (8 * k)
    })
}

fn bytes(x: u32, y: u32, f: impl Fn(u8, u8) -> u8) -> u32 {
    let (x, y) = (x.to_le_bytes(), y.to_le_bytes());
    u32::from_le_bytes([0, 1, 2, 3].map(|k| f(x[k], y[k])))
}

fn bit_row(row: usize, i: usize) -> u64 {
    let (v, w) = (WORDS[i], WORDS[(i + 1) % 16]);
    let (a, b) = (v as u32, (v >> 32) as u32);
    let (sa, sb) = (a as i32, b as i32);
    let s = i as u32;
    let both = u64::from(a) | u64::from(b) << 32;
    let cut = |x: i32| i64::from(x << 8 >> 8);
    let narrow = match row {
        0 => a.count_ones(),
        1 => v.count_ones(),
        2 => a.leading_zeros(),
        3 => v.leading_zeros(),
        4 => {
            if a == 0 {
                0
            } else {
                a.trailing_zeros() + 1
            }
        }
        5 => {
            if v == 0 {
                0
            } else {
                v.trailing_zeros() + 1
            }
        }
        6 => a.reverse_bits(),
        7 => return v.reverse_bits(),
        8 => perm(a, b, 0x3175),
        9 => perm(a, b, (s * 0x1111) & 0x7777),
        10 => ((i64::from(sa) * i64::from(sb)) >> 32) as u32,
        11 => ((u64::from(a) * u64::from(b)) >> 32) as u32,
        12 => return ((u128::from(v) * u128::from(w)) >> 64) as u64,
        13 => return ((i128::from(v as i64) * i128::from(w as i64)) >> 64) as u64,
        14 => ((both << (s & 31)) >> 32) as u32,
        15 => (both >> (s & 31)) as u32,
        16 => ((both << (s + 20).min(32)) >> 32) as u32,
        17 => (both >> (s + 20).min(32)) as u32,
        18 => (cut(sa) * cut(sb)) as u32,
        19 => (u64::from(a & 0xff_ffff) * u64::from(b & 0xff_ffff)) as u32,
        20 => a.abs_diff(b).wrapping_add(5),
        21 => sa.abs_diff(sb).wrapping_add(5),
        22 => ((i64::from(sa) + i64::from(sb)) >> 1) as u32,
        23 => ((u64::from(a) + u64::from(b)) >> 1) as u32,
        24 => ((i64::from(sa) + i64::from(sb) + 1) >> 1) as u32,
        25 => b,
        26 => a,
        27 => return u64::from(a) << 32 | u64::from(b),
        28 => a,
        29 => (sa >> (s & 31)) as u32 ^ (a << (s & 31)) ^ (b >> (31 - (s & 31))),
        30 => {
            let d = sb | 1;
            (sa.wrapping_div(d) as u32).wrapping_add(3u32.wrapping_mul(sa.wrapping_rem(d) as u32))
        }
        31 => return (v / (w | 1)).wrapping_add(3u64.wrapping_mul(v % (w | 1))),
        32 => sa.min(sb) as u32 ^ a.max(b) ^ (sa >> 1).unsigned_abs(),
        33 => {
            let low = bytes(a, b, u8::wrapping_add) ^ bytes(a, b, u8::abs_diff);
            let half = |k: u32| {
                if (a >> k) as u16 > (b >> k) as u16 {
                    0xffffu32 << k
                } else {
                    0
                }
            };
            return u64::from(low) ^ u64::from(half(0) | half(16)) << 32;
        }
        _ => {
            let (x, y) = (a.to_le_bytes(), b.to_le_bytes());
            let signed: i32 = 7
                + (0..4)
                    .map(|k| i32::from(x[k] as i8) * i32::from(y[k] as i8))
                    .sum::<i32>();
            let unsigned: u32 = 7
                + (0..4)
                    .map(|k| u32::from(x[k]) * u32::from(y[k]))
                    .sum::<u32>();
            return i64::from(signed) as u64 ^ u64::from(unsigned) << 32;
        }
    };
    u64::from(narrow)
}

#[test]
fn exact_results() {
    let o = run("math", &[]);
    o.expect("f64_out", |k| f64_row(k / 32, k % 32));
    o.expect("f32_out", |k| f32_row(k / 32, k % 32));
    o.expect("classes", |i| {
        let (x, y) = (DOUBLES[i], DOUBLES[(i + 7) % 32]);
        let negative = x.is_sign_negative() && !x.is_nan();
        let all = [
            x.is_nan(),
            x.is_infinite(),
            x.is_finite(),
            negative,
            x < y,
            x <= y,
            x == y,
            x != y,
            !(x < y),
            x > y,
            x >= y,
        ];
        all.iter()
            .enumerate()
            .fold(0, |m, (k, b)| m | i32::from(*b) << k)
    });
    o.expect("integers", |k| integer_row(k / 32, k % 32));
    o.expect("as_doubles", |k| {
        let v = LONGS[k % 12];
        match k / 12 {
            0 => v as f64,
            1 => v as u64 as f64,
            2 => rug::Float::with_val(64, v).to_f64_round(Up),
            3 => rug::Float::with_val(64, v as u64).to_f64_round(Zero),
            _ => f64::from(v as i32) + f64::from(v as u32),
        }
    });
    o.expect("as_floats", |k| {
        let v = LONGS[k % 12];
        let exact = |r: Round| rug::Float::with_val(64, v).to_f32_round(r);
        match k / 12 {
            0 => v as f32,
            1 => v as u64 as f32,
            2 => number(f64::from(v as i32)).to_f32_round(Down),
            3 => number(f64::from(v as u32)).to_f32_round(Zero),
            4 => exact(Up),
            5 => number(v as f64).to_f32_round(Zero),
            _ => number(v as f64 * 1e-30).to_f32_round(Up),
        }
    });
    o.expect("bits", |k| bit_row(k / 16, k % 16));
    o.expect("clocks", |_| 7);
    same_under_other_options("math", &o);
}
