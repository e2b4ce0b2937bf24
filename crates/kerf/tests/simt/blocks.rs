//! Grids, blocks, shared memory and barriers.
use super::harness::{run, same_under_other_options};

fn ramp(i: usize) -> i32 {
    ((i * 37 + 11) % 101) as i32 - 20
}

/// Values of `uneven`: what thread r has summed when its turn comes.
fn uneven(block: usize, rounds: usize) -> i32 {
    let mut total = 0;
    for turn in (0..rounds).filter(|r| r % 2 == block % 2) {
        for r in 0..=turn {
            total += (0..(turn * 7 + r) % 13)
                .map(|k| (k * r) as i32)
                .sum::<i32>();
        }
    }
    total
}

#[test]
fn blocks() {
    let o = run("blocks", &[]);
    // The 16 blocks of the grid leave the lowest four bits empty.
    o.expect("where_1d", |i| ((i / 64) << 16 | (i % 64) << 4) as u32);
    o.expect("where_2d", |i| (i / 37 * 1000 + i % 37) as i32);
    o.expect("where_3d", |k| {
        let (i, field) = (k / 4, k % 4);
        let (t, b) = (i % 60, i / 60);
        let xyz =
            |v: usize, x: usize, y: usize| (v % x | (v / x % y) << 8 | (v / (x * y)) << 16) as u32;
        [
            xyz(t, 5, 4),
            xyz(b, 3, 2),
            5 | 4 << 8 | 3 << 16,
            3 | 2 << 8 | 2 << 16,
        ][field]
    });
    o.expect("stride", |i| 3 * ramp(i) - i as i32);
    o.expect("transposed", |i| ramp(i % 64 * 64 + i / 64));
    o.expect("carved", |i| {
        let (b, r) = (i / 40, 39 - i % 40);
        0.5 * f64::from(ramp(40 * b + r))
            + 7.0 * r as f64
            + (3 * r % 256) as f64
            + 4096.0 * f64::from(ramp(40 * b))
    });
    o.expect("scanned", |i| (i / 256 * 256..=i).map(ramp).sum::<i32>());
    // All summands are multiples of 1/8 below 2^10, so that no order rounds.
    o.expect("sums", |b| {
        (128 * b..128 * b + 128)
            .map(|i| i as f64 * 0.125 - 3.0)
            .sum::<f64>()
    });
    let n = 77;
    o.expect("early", |t| {
        let next = |t: usize| ramp((t + 1) % n);
        match t {
            t if t >= n => 0,
            t if t % 3 == 0 => -next(t),
            t if t % 3 == 1 => 2 * next(if t + 1 < n { t + 1 } else { t }),
            t => 2 * next(t - 1),
        }
    });
    let v: Vec<i32> = (7..107).map(ramp).collect();
    let count = v.iter().filter(|v| **v > 10).count() as i32;
    let flag = |b: bool, weight: i32| i32::from(b) * weight;
    let word = count * 16
        + flag(v.iter().all(|v| *v > 0), 1)
        + flag(v.iter().all(|v| *v > 1), 2)
        + flag(v.iter().any(|v| *v > 1000), 4)
        + flag(v.contains(&5), 8);
    o.expect("counted", |_| word);
    o.expect("named_out", |i| {
        let after = |i: usize| (i % 64 + if i / 64 == 0 { 4 } else { 9 }) % 64 + 1;
        after(if i < 128 { i } else { 255 - i }) as i32
    });
    o.expect("uneven_out", |i| uneven(i / 50, 11) + (i % 50) as i32);
    o.expect("bins", |b| {
        (0..4096).filter(|i| ramp(*i) & 31 == b as i32).count() as u32
    });
    o.expect("called", |t| {
        let at = |k: usize| ((t + 5 * k) % 64).pow(2) as i32;
        100 * at(1) + 10 * at(2) + at(3)
    });
    o.expect("full", |i| {
        (0..32)
            .map(|k| ((i % 32 * 32 + k) * (i / 32 + 1)) as u64)
            .sum::<u64>()
    });
    o.expect("last", |t| {
        (0..10)
            .flat_map(|b| (0..4).map(move |k| ramp((b * 64 + t) * 4 + k)))
            .sum::<i32>()
    });
    same_under_other_options("blocks", &o);
}
