//! Cooperative groups, and the atomics of the standard library.
use super::harness::{run, same_under_other_options};

fn ramp(i: usize) -> i32 {
    ((i * 37 + 11) % 101) as i32 - 20
}

fn tiled(row: usize, t: usize) -> i32 {
    let tile = |w: usize| t / w * w..t / w * w + w;
    match row {
        0 => ramp(if t % 32 + 3 < 32 { t + 3 } else { t }),
        1 => ramp(if t % 8 >= 2 { t - 2 } else { t }),
        2 => ramp(t / 8 * 8 + 5),
        3 => ramp(t ^ 3),
        4 => tile(8).map(ramp).sum(),
        5 => tile(32).map(ramp).max().unwrap(),
        6 => (t % 4 * 100 + t / 4 + 80000) as i32,
        7 => {
            i32::from(tile(8).any(|u| ramp(u) > 70)) + 2 * i32::from(tile(8).all(|u| ramp(u) > -15))
        }
        8 => tile(8)
            .filter(|u| ramp(*u) & 1 == 1)
            .fold(0, |m, u| m | 1 << (u % 8)),
        9 => (tile(8).start..=t).map(ramp).sum(),
        _ => (tile(32).start..t).map(ramp).sum(),
    }
}

#[test]
fn cooperative_groups() {
    let o = run("groups", &[]);
    o.expect("tiled", |k| tiled(k / 64, k % 64));
    o.equals("block", &[(0..128).map(ramp).sum::<i32>(), 128]);
    let here = |t: usize| ramp(t) % 4 == 1;
    o.expect("coalesced", |t| {
        let warp = t / 32 * 32;
        let size = (warp..warp + 32).filter(|u| here(*u)).count();
        if here(t) {
            (size * 1000 + (warp..t).filter(|u| here(*u)).count()) as i32
        } else {
            0
        }
    });
    o.equals(
        "total",
        &[(0..64).filter(|t| here(*t)).map(ramp).sum::<i32>()],
    );
    // Multiples of 1/4: exact in any order.
    o.expect("sums", |g| {
        (16 * g..16 * g + 16)
            .map(|i| i as f64 * 0.25 - 3.0)
            .sum::<f64>()
    });
    same_under_other_options("groups", &o);
}

#[test]
fn standard_library() {
    let o = run("std", &[]);
    let sum: i32 = (0..64).sum();
    o.equals("out", &[128, 63 * 3, sum + 4 + 32767, 0, 0]);
    same_under_other_options("std", &o);
}
