//! OpenCL C.
use super::harness::{run, same_under_other_options};

fn ramp(i: usize) -> i32 {
    ((i * 37 + 11) % 101) as i32 - 20
}

fn mixed(part: usize, i: usize) -> f32 {
    let f = |k: usize| (k % 11) as f32 * 0.5;
    let a = [0, 1, 2, 3].map(|k| f(4 * i + k));
    let b = [0, 1, 2].map(|k| f(3 * i + k));
    let m = a.map(|v| v > 2.0);
    match part {
        0 => a[0] + 2.0 * a[1] + 4.0 * a[2] + 8.0 * a[3] + b[2],
        1 => {
            let first = if m[0] { -1.0 } else { 0.0 };
            f32::from(u8::from(m.contains(&true)) * 2 + u8::from(!m.contains(&false))) + first
        }
        2 => {
            let chosen = if a[0] < a[1] { 2.0 } else { 1.0 };
            let s: f32 = chosen + a[0].clamp(0.0, 1.0);
            let big = if a[3] > 0.0 { i32::MAX } else { 1 };
            // The integer is added last, after the small sum.
            s + (3 * i + 1) as f32 + big as f32
        }
        _ => {
            a[1] + (i as u32).count_ones() as f32
                + (i as u32).rotate_left(4) as f32
                + a[2].max(b[1])
        }
    }
}

#[test]
fn opencl() {
    let o = run("opencl", &[]);
    o.expect("places", |k| {
        let (x, y) = (k % 12, k / 12);
        (x % 4 + 10 * (y % 4) + 100 * (x / 4) + 1000 * (y / 4) + 30000 + 400_000 + 2_000_000) as i32
    });
    o.expect("reversed", |i| {
        ramp(i / 32 * 32 + 31 - i % 32) + ramp(i / 32)
    });
    o.expect("scanned", |i| (i / 64 * 64..=i).map(ramp).sum::<i32>());
    let all = || (0..128).map(ramp);
    let best = |g: usize| (64 * g..64 * g + 64).map(ramp).max().unwrap();
    let swapped = if all().any(|v| v == 12) { 99 } else { 0 };
    o.equals(
        "counts",
        &[
            all().sum(),
            128,
            all().min().unwrap().min(0),
            swapped,
            best(0),
            best(1),
        ],
    );
    o.equals(
        "bits",
        &[
            all().fold(0u32, |m, v| m | 1 << (v & 31)),
            all().fold(0, |m, v| m ^ v as u32),
        ],
    );
    o.expect("swizzled", |k| {
        let (i, c) = (k / 4, k % 4);
        ((4 * i + 3 - c) as f64 * 0.5 - 9.0) * 2.0 + (c + 1) as f64
    });
    let f = |k: usize| (k % 11) as f32 * 0.5;
    o.expect("mixed", |k| {
        if k < 64 {
            let (i, c) = (k / 2, k % 2);
            f(4 * i + 2 + c) - f(4 * i + c)
        } else {
            mixed((k - 64) / 32, k % 32)
        }
    });
    assert_eq!(o.printed, "n = 7, half = 3.50, text\n    7|ff|z\n");
    same_under_other_options("opencl", &o);
}
