//! Operations of a warp.
use super::harness::{Scalar, run, same_under_other_options};

fn ints(i: usize) -> i32 {
    ((i * 37 + 11) % 101) as i32 - 20
}

/// The nine shuffles of `all_shuffles`, as the programming guide defines them.
fn shuffled<T: Scalar>(value: impl Fn(usize) -> T) -> Vec<T> {
    let up = |lane: usize, d: usize, w: usize| if lane % w >= d { lane - d } else { lane };
    let down = |lane: usize, d: usize, w: usize| if lane % w + d < w { lane + d } else { lane };
    let index = |lane: usize, j: usize, w: usize| lane / w * w + j % w;
    let mut out = Vec::new();
    for kind in 0..9 {
        for t in 0..64 {
            let (warp, l) = (t / 32 * 32, t % 32);
            let from = match kind {
                0 => up(l, 3, 32),
                1 => down(l, 5, 32),
                2 => l ^ 9,
                3 => index(l, (t * 7 + 1) % 32, 32),
                4 => up(l, 2, 8),
                5 => down(l, 3, 16),
                6 => l ^ 1,
                7 => index(l, t + 1, 2),
                _ => index(l, 7, 8),
            };
            out.push(value(warp + from));
        }
    }
    out
}

/// Bits of the lanes of t's warp for which a predicate on thread numbers holds.
fn lanes(t: usize, holds: impl Fn(usize) -> bool) -> u32 {
    (0..32)
        .filter(|l| holds(t / 32 * 32 + l))
        .fold(0, |m, l| m | 1 << l)
}

fn votes(t: usize) -> [u32; 8] {
    let low = |t: usize| t % 32 < 20;
    let warp = t / 32 * 32..t / 32 * 32 + 32;
    let half: Vec<usize> = warp.clone().filter(|u| low(*u) == low(t)).collect();
    let v = ints(t);
    let top = ints(warp.start) >> 20;
    let equal = warp.clone().all(|u| ints(u) >> 20 == top);
    [
        lanes(t, |u| ints(u) > 0),
        u32::from(warp.clone().any(|u| ints(u) == 12)),
        u32::from(warp.clone().all(|u| ints(u) > -100)),
        lanes(t, |u| {
            low(u) == low(t) && ints(u) & if low(t) { 1 } else { 2 } != 0
        }),
        if low(t) {
            u32::from(half.iter().any(|u| ints(*u) > 60))
        } else {
            2 + u32::from(half.iter().all(|u| ints(*u) < 60))
        },
        lanes(t, |u| ints(u) & 3 == v & 3),
        if equal { u32::MAX ^ 16 } else { 0 },
        // The values of a warp are not all equal, so the first term is 0.
        lanes(t, |u| ints(u) & 1 == v & 1) << 8,
    ]
}

fn synced() -> Vec<i32> {
    let mut s: Vec<i32> = (100..164).collect();
    let mut out = vec![0; 128];
    let even: Vec<usize> = (0..64).filter(|t| t % 2 == 0).collect();
    let odd: Vec<usize> = (0..64).filter(|t| t % 2 == 1).collect();
    let old = s.clone();
    even.iter().for_each(|t| s[*t] = old[t ^ 2] + 1000);
    even.iter().for_each(|t| out[*t] = s[t ^ 4]);
    for _ in 0..3 {
        let old = s.clone();
        odd.iter().for_each(|t| s[*t] = old[t ^ 8] + 1);
    }
    odd.iter().for_each(|t| out[*t] = s[*t]);
    (0..64).for_each(|t| out[64 + t] = s[t ^ 1]);
    out
}

fn active(i: usize) -> u32 {
    let (part, lane) = (i / 32, i % 32);
    match part {
        0 => match lane % 3 {
            0 => lanes(0, |u| u % 3 == 0),
            1 => !lanes(0, |u| u % 3 == 1),
            _ if lane > 16 => lanes(0, |u| u % 3 == 2 && u > 16) ^ 0xf0f0_f0f0,
            _ => 0,
        },
        1 => (0..lane / 4).fold(0u32, |s, k| {
            s.wrapping_mul(31).wrapping_add(lanes(0, |u| k < u / 4))
        }),
        _ if lane >= 23 => 0,
        2 => lanes(0, |u| u < 23 && u % 2 == 1),
        _ => (22 - lane as u32) * 5,
    }
}

fn reductions(t: usize) -> [i32; 10] {
    let warp: Vec<usize> = (t / 32 * 32..t / 32 * 32 + 32).collect();
    let v: Vec<i32> = warp.iter().map(|u| ints(*u)).collect();
    let u: Vec<u32> = v
        .iter()
        .map(|v| (*v as u32).wrapping_mul(2_654_435_761))
        .collect();
    let side: i32 = warp
        .iter()
        .filter(|u| (**u % 32 < 8) == (t % 32 < 8))
        .map(|u| ints(*u))
        .sum();
    [
        v.iter().sum(),
        *v.iter().min().unwrap(),
        *v.iter().max().unwrap(),
        u.iter().fold(0u32, |a, b| a.wrapping_add(*b)) as i32,
        *u.iter().min().unwrap() as i32,
        *u.iter().max().unwrap() as i32,
        u.iter().fold(u32::MAX, |a, b| a & (b | 0x1010)) as i32,
        u.iter().fold(0, |a, b| a | (b & 0xffff)) as i32,
        u.iter().fold(0, |a, b| a ^ b) as i32,
        side,
    ]
}

fn shrinking(lane: usize) -> u32 {
    let left = |l: usize| l * 11 % 7;
    (0..=left(lane)).fold(0u32, |h, round| {
        let on = (0..32).filter(|l| left(*l) > round).count() as u32;
        h.wrapping_mul(33).wrapping_add(on)
    })
}

#[test]
fn warps() {
    let o = run("warp", &[]);
    o.equals("shuffled_int", &shuffled(ints));
    o.equals(
        "shuffled_unsigned",
        &shuffled(|i| i as u32 * 2_654_435 + 4_000_000_000),
    );
    o.equals("shuffled_float", &shuffled(|i| i as f32 * 0.375 - 7.0));
    o.equals("shuffled_double", &shuffled(|i| i as f64 / 3.0 - 7.0));
    let longs = shuffled(|i| (i as i64 - 20) * 1_234_567_890_123);
    o.equals("shuffled_long", &longs);
    o.equals("shuffled_template", &longs);
    o.expect("block_sums", |b| {
        (128 * b..128 * b + 128).map(ints).sum::<i32>()
    });
    o.expect("voted", |i| votes(i / 8)[i % 8]);
    o.equals("synced", &synced());
    o.expect("active_out", active);
    o.expect("reduced", |i| reductions(i / 10)[i % 10]);
    o.expect("short_out", |t| {
        (if t < 32 { 0x5555_5555 } else { 0x5555 }) + (t as u32 ^ 1)
    });
    // Which warp appends first is open; within a warp the order is that of the lanes.
    let mut multiples: Vec<i32> = (0..128).map(ints).filter(|v| v % 3 == 0).collect();
    o.expect("count", |_| multiples.len() as i32);
    let mut appended = o.get::<i32>("appended");
    let rest = appended.split_off(multiples.len());
    appended.sort_unstable();
    multiples.sort_unstable();
    assert_eq!(appended, multiples);
    assert!(rest.iter().all(|v| *v == 0));
    o.expect("shrunk", shrinking);
    o.expect("lanes", |i| {
        let lane = (i / 6 % 32) as u32;
        let lt = (1u32 << lane) - 1;
        [lane, lt, lt | 1 << lane, 1 << lane, !lt, !(lt | 1 << lane)][i % 6]
    });
    o.expect("ptx", |i| {
        let (t, ok) = (i / 2, i / 2 % 8 == 0);
        if i % 2 == 0 {
            3 * (if ok { t + 7 } else { t }) as i32
        } else {
            i32::from(ok)
        }
    });
    let mut sorted: Vec<i32> = (0..64).map(ints).collect();
    sorted[..32].sort_unstable();
    sorted[32..].sort_unstable();
    o.equals("sorted", &sorted);
    same_under_other_options("warp", &o);
}
