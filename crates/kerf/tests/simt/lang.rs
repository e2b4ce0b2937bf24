//! The language: structs, calls, classes, templates, variables of the device, printf.
use super::harness::{run, same_under_other_options};

fn ramp(i: usize) -> i32 {
    ((i * 37 + 11) % 101) as i32 - 20
}

fn arrays(i: usize, n: usize) -> i32 {
    let mut a: Vec<i32> = (0..16).map(|k| ramp((i + k) % n)).collect();
    for k in 0..16 {
        let at = (a[k] & 15) as usize;
        a[at] += k as i32;
    }
    (0..16).fold(0i32, |s, k| {
        s.wrapping_mul(3).wrapping_add(a[(k * 5 + i) & 15])
    })
}

fn called(t: usize) -> [i32; 8] {
    fn ackermann(m: u32, n: u32) -> u32 {
        match (m, n) {
            (0, n) => n + 1,
            (m, 0) => ackermann(m - 1, 1),
            (m, n) => ackermann(m - 1, ackermann(m, n - 1)),
        }
    }
    let (v, i) = (ramp(t), t as i32);
    let fib = (0..t % 13).fold((0, 1), |(a, b), _| (b, a + b)).0;
    [
        2 * v + 2 * i,
        100 * (v / 7) + v % 7,
        ackermann(2, (t % 5) as u32) as i32,
        fib,
        2 * i32::from(t.is_multiple_of(2)) + (v.abs() & 1),
        if t % 2 == 1 { v + i } else { v * i },
        [v + 4, v * 4, v - 4 + i][t % 3],
        match v & 7 {
            0 => 11,
            1 | 2 => v,
            5 => -5,
            _ => v * v,
        },
    ]
}

#[test]
fn language() {
    let o = run("lang", &[]);
    o.expect("valued", |i| {
        let w = [0.5, 1.5, 2.5][i % 3] + i as f64;
        ramp(i) * 3 + w as i32 + 6 + 65
    });
    // Structs come as the bytes of C's layout.
    let moved = o.get::<u8>("moved");
    let expected: Vec<u8> = (0..50i32)
        .flat_map(|i| {
            let k = f64::from(49 - i);
            let (x, y, z) = (k * 0.5, k - 20.0, k * 0.25);
            let mut b = [x + y * z, y, z].map(f64::to_le_bytes).concat();
            b.extend((2 * (49 - i) * 3 + 1).to_le_bytes());
            b.extend((k as f32 * 0.125 * 0.5).to_le_bytes());
            b
        })
        .collect();
    assert_eq!(moved, expected, "moved");
    o.expect(
        "big_out",
        |i| if i / 24 == i % 24 { -1 } else { 5 * i as i32 },
    );
    o.expect("arrays", |i| arrays(i, 500));
    o.expect("picked", |i| {
        if ramp(i) & 7 == (i & 7) as i32 {
            100 + i as i32
        } else {
            (i & 7) as i32
        }
    });
    o.expect("medians", |i| {
        let mut a: Vec<i32> = (0..9).map(|k| ramp(i + k * 7)).collect();
        a.sort_unstable();
        a[4]
    });
    o.expect("called", |i| called(i / 8)[i % 8]);
    o.expect("areas", |t| {
        let v = t as f64;
        if t % 3 != 0 {
            v * v + 14000.0
        } else {
            3.0 * (v + 0.5) * (v + 0.5) + 20000.0
        }
    });
    o.expect("heap", |t| {
        let v = t as f64;
        (if t % 2 == 1 { v * v } else { 3.0 * v * v })
            + (0..=t).map(|k| (k * k) as f64).sum::<f64>()
    });
    o.expect("exchanged", |i| {
        3 * (if i < 64 { (i + 1) % 64 } else { (i - 1) % 64 }) as i32
    });
    o.expect("cubes", |i| ramp(i).pow(3));
    o.expect("squares", |i| (i as f64 * 0.25 - 3.0).powi(2));
    o.expect("mapped", |i| {
        if i < 100 {
            ramp(i) - ramp(0)
        } else {
            (i - 100..i - 90).map(ramp).sum()
        }
    });
    o.expect("polynomial", |t| {
        // Multiply-adds are fused, as nvcc does by default; `p + a * k` too.
        let x = t as f64 * 0.5;
        let p = [1.5, -2.0, 0.25, 3.0]
            .iter()
            .rev()
            .fold(0.0, |p: f64, c| p.mul_add(x, *c));
        let k = [10.0f32, -20.0, 30.0, 7.0][t % 4];
        p + f64::from(0.5 * k) + f64::from([2, 3, 5, 7, 11][t % 5]) + [0.5, 0.25, 0.125][t % 3]
    });
    let state = |i: usize| (0..3).fold((i * i) as i32, |s, _| 2 * s + i as i32);
    o.expect("state", state);
    o.expect("observed", |t| state(31 - t) + 40 + 96);
    o.equals("total", &[(1i64 << 40) + 9]);
    o.expect("mem", |k| {
        let t = k / 2;
        if k % 2 == 0 {
            ramp(4 * t) + 10 * ramp(4 * t + 3) + 100 * ramp(t) + ramp(4 * t + 1) - ramp(4 * t + 2)
        } else {
            let u = (1.0 + t as f32).to_bits();
            (u ^ (u >> 24)) as i32
        }
    });
    o.expect("bytes", |k| {
        let (t, at) = (k / 20, k % 20);
        let v: Vec<u8> = (0..4).flat_map(|j| ramp(4 * t + j).to_le_bytes()).collect();
        if (3..12).contains(&at) {
            v[at - 3]
        } else {
            0x11 * (t & 7) as u8
        }
    });
    let quad = |i: usize| i as f32 * 0.5 - 9.0;
    o.expect("f3", |k| {
        let t = k / 3;
        [quad(4 * t + 3), quad(4 * t + 2) + 1.0, quad(4 * t)][k % 3]
    });
    o.expect("d2", |k| {
        if k % 2 == 0 {
            f64::from(quad(4 * (k / 2))) * 2.0
        } else {
            -f64::from(quad(4 * (k / 2) + 1))
        }
    });
    o.expect("c4", |k| [k / 4, 255 - k / 4, 3 * (k / 4), 7][k % 4] as u8);
    o.expect("s2", |k| {
        if k % 2 == 0 {
            -((k / 2) as i16)
        } else {
            100 * (k / 2) as i16
        }
    });
    o.expect("sum", |t| quad(4 * t) + quad(4 * t + 1) * 16.0);
    let text = "hello from block 0 of 1\n\
        -7    42|42   |00042|+42 3\n\
        4000000000 ff FF 0xff 10 ok %\n\
        -5000000000 18446744073709551615 10000000000 -3 -2\n\
        1.500000 3.142       2.50|-0.2      |1.234568e+04 1.20E-04 0.0001 1e+20\n\
        [text] [   right] [left  ] [cu]     13\n\
        inf -inf 0.000000\n";
    let lines: String = (0..20).map(|b| format!("block {b} thread {b}\n")).collect();
    assert_eq!(o.printed, format!("{text}{lines}"));
    same_under_other_options("lang", &o);
}
