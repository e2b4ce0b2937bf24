//! Atomic operations.
use super::harness::{Outputs, run, same_under_other_options};
use half::{bf16, f16};

fn ramp(i: usize) -> i32 {
    ((i * 37 + 11) % 101) as i32 - 20
}

/// What `integer_updates` leaves of seven words, by sequential updates.
macro_rules! updates {
    ($t:ty, $start:expr, $n:expr, $scale:expr) => {{
        let mut o: Vec<$t> = $start.to_vec();
        for k in 0..$n {
            let t = (k as $t).wrapping_mul($scale);
            o[0] = o[0].wrapping_add(t);
            o[2] = o[2].min(t.wrapping_mul(3).wrapping_sub(50));
            o[3] = o[3].max(t.wrapping_mul(5).wrapping_sub(50));
            o[4] &= !((1 as $t) << (t % 29));
            o[5] |= (1 as $t) << (t % 31);
            o[6] ^= t.wrapping_mul(17);
        }
        o
    }};
}

/// The sequence of `returns`, written with ordinary operations.
fn returned() -> Vec<i32> {
    let mut out = Vec::new();
    let mut v = 10i32;
    let mut step = |f: &dyn Fn(i32) -> i32, v: &mut i32| {
        out.push(*v);
        *v = f(*v);
    };
    step(&|v| v + 5, &mut v);
    step(&|v| v - 3, &mut v);
    step(&|_| 50, &mut v);
    step(&|v| v.min(40), &mut v);
    step(&|v| v.max(45), &mut v);
    step(&|v| v & 0x2c, &mut v);
    step(&|v| v | 3, &mut v);
    step(&|v| v ^ 0xff, &mut v);
    step(&|v| if v == 0 { 1 } else { v }, &mut v);
    step(&|_| 9, &mut v);
    let inc = |v: i32| if v as u32 >= 9 { 0 } else { v + 1 };
    let dec = |v: i32| if v == 0 || v as u32 > 3 { 3 } else { v - 1 };
    step(&inc, &mut v);
    step(&inc, &mut v);
    step(&dec, &mut v);
    step(&dec, &mut v);
    out.push(v);
    out.push(0);
    out.push(1.5f32.to_bits() as i32);
    out.push(3.75f32.to_bits() as i32);
    // The 64-bit word began as (-1, 0), then holds 0x123456789abc, then 3.
    out.extend([-1, 0x1234, 3, 3, 0x1234]);
    out
}

/// What the functions of nvcc's names leave behind.
fn nvcc_names(o: &Outputs, total: i32) {
    let mut named = updates!(i32, [0, 0, 0, 0, 0, 0, 0, 0], 160, 1);
    named[1] = -total;
    (named[2], named[3], named[7]) = (159, -159, 5);
    (named[4], named[5]) = (i32::MAX, !((1 << 29) - 1));
    named[6] = (0..160).fold(0, |x, t| x ^ (17 * t));
    named.extend(0..160);
    o.equals("nvcc_ints", &named);
    o.equals("nvcc_sum", &[80f32]);
    o.equals("nvcc_total", &[total as u64]);
}

/// What updates of one block leave, with scopes.
fn scoped(o: &Outputs) {
    let sum: i32 = (0..64).sum();
    // 64 = 3 * 20 + 4: the bits below 4 flip four times, the others three times.
    o.equals(
        "scoped",
        &[sum, 63 * 9, 200 - sum, 300 ^ 0xffff0, sum, -63, 0x3ff, 42],
    );
    let mut down = 7u32;
    (0..64).for_each(|_| down = if down == 0 || down > 9 { 9 } else { down - 1 });
    o.equals(
        "scoped_unsigned",
        &[7, 71, down, 77, 0xffff_ff00, 0x8000_003f, 3],
    );
    o.equals("scoped_long", &[64u64 << 33, (1 << 63) + 63]);
}

/// Sums of three numbers in 16 bits, one by one and in pairs.
fn halves(o: &Outputs) {
    let h = |x: f32| f16::from_f32(x);
    let b = |x: f32| bf16::from_f32(x);
    o.expect("h", |t| h(t as f32 * 0.5) + h(0.1 * t as f32) + h(0.3));
    o.expect("b", |t| b(t as f32 * 0.5) + b(0.1 * t as f32) + b(0.3));
    o.expect("h2", |i| {
        if i % 2 == 0 {
            h((i / 2) as f32)
        } else {
            h(0.1)
        }
    });
    o.expect("b2", |i| {
        if i % 2 == 0 {
            b((i / 2) as f32)
        } else {
            b(0.1)
        }
    });
}

#[test]
fn atomics() {
    let o = run("atomics", &[]);
    let total: i32 = (0..160).sum();
    let mut ints = updates!(i32, [5, 5, 1000, -1000, -1, 0, 0], 160, 1);
    ints[1] = 5 - total;
    o.equals("ints", &ints);
    let mut unsigneds = updates!(u32, [5, 5, u32::MAX, 7, u32::MAX, 0, 0, 4, 20], 160, 1);
    unsigneds[1] = 5u32.wrapping_sub(total as u32);
    for _ in 0..160 {
        unsigneds[7] = if unsigneds[7] >= 20 {
            0
        } else {
            unsigneds[7] + 1
        };
        unsigneds[8] = if unsigneds[8] == 0 || unsigneds[8] > 13 {
            13
        } else {
            unsigneds[8] - 1
        };
    }
    o.equals("unsigneds", &unsigneds);
    let top = i64::MAX as u64;
    let mut longs = updates!(u64, [5, 0, top, 7, top, 0, 0, 0], 160, 1 << 20);
    longs[7] = u64::MAX;
    o.equals("longs", &longs);
    o.equals("signed_longs", &[-1_590_000_000_000i64, 1_589_999_999_993]);
    let part = |b: i32| (96 * b..96 * b + 96).sum::<i32>();
    o.equals(
        "floats",
        &[
            0.5 * (part(0) + part(1)) as f32,
            part(0) as f32,
            part(1) as f32,
        ],
    );
    o.equals(
        "doubles",
        &[
            0.25 * f64::from(part(0) + part(1)),
            f64::from(-part(0)),
            f64::from(-part(1)),
        ],
    );

    scoped(&o);
    o.equals("returned", &returned());
    o.equals("value", &[3, 3.75f32.to_bits() as i32, 0x1234, 0]);

    nvcc_names(&o, total);

    halves(&o);

    let reals = || (0..256).map(|i| f64::from((i * 37 + 11) % 101) * 0.7 - 20.0);
    o.equals(
        "extremes",
        &[
            reals().fold(f64::MIN, f64::max),
            reals().fold(f64::MAX, f64::min),
        ],
    );
    // Four blocks of twenty factors, half of them 2 and half 1/4.
    o.equals("product", &[3.0 * 0.5f32.powi(40)]);
    o.equals("lock_sum", &[36]);
    let mut multiples: Vec<i32> = (0..640).map(ramp).filter(|v| v % 5 == 0).collect();
    o.equals("count", &[multiples.len() as i32]);
    let mut taken = o.get::<i32>("taken");
    let rest = taken.split_off(multiples.len());
    multiples.sort_unstable();
    taken.sort_unstable();
    assert_eq!(taken, multiples);
    assert!(rest.iter().all(|v| *v == 0));
    same_under_other_options("atomics", &o);
}
