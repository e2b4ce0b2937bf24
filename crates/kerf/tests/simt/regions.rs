//! What has to survive a barrier.
use super::harness::{run, same_under_other_options};

fn ramp(i: usize) -> i32 {
    ((i * 37 + 11) % 101) as i32 - 20
}

/// The kernel `held`, all threads in step.
fn held(n: usize) -> Vec<i32> {
    let mut mine: Vec<[i32; 5]> = (0..n)
        .map(|t| [0, 1, 2, 3, 4].map(|k| ramp(t + k)))
        .collect();
    let s: Vec<i32> = (0..n).map(|t| mine[t][t % 5]).collect();
    for (t, m) in mine.iter_mut().enumerate() {
        let v = s[(t + 1) % n];
        m[(v & 3) as usize] += v;
    }
    let s: Vec<i32> = (0..n).map(|t| mine[t][(t + 1) % 5]).collect();
    (0..n)
        .map(|t| {
            let sum = mine[t].iter().fold(0, |a, m| a * 3 + m);
            let b = f64::from(ramp(t)) * 0.5 + f64::from(s[t]);
            sum + ramp(t) + b as i32 + ramp(t + if t % 2 == 1 { 7 } else { 3 }) + s[(t + n - 1) % n]
        })
        .collect()
}

fn until_done() -> i32 {
    let (mut rounds, mut total) = (0, 0);
    while total <= 100 {
        total += (0..64)
            .filter(|t| ramp((t + rounds) % 64) == 17)
            .map(|t| t as i32 + 1)
            .sum::<i32>();
        rounds += 1;
    }
    rounds as i32 * 1000 + total
}

fn nested(mode: usize, n: usize) -> Vec<i32> {
    let mut s: Vec<i32> = (0..n as i32).collect();
    match mode {
        0 => s.iter_mut().for_each(|v| *v += 1),
        1 => {
            for i in 0..3 {
                for j in 0..=i {
                    s = (0..n).map(|t| s[(t + j + 1) % n] + i as i32).collect();
                }
                (0..n).filter(|t| t % 3 == i).for_each(|t| s[t] *= 2);
            }
        }
        _ => (0..mode).for_each(|_| s = (0..n).map(|t| s[n - 1 - t] - 1).collect()),
    }
    (0..n).map(|t| s[(t + 1) % n]).collect()
}

fn mixed(b: usize, t: usize) -> i32 {
    let v = |t: usize| ramp(b * 60 + t % 60);
    let most = (0..60).filter(|t| v(t + 1) > v(*t)).count() as i32;
    let vote = (0..16).filter(|l| v(*l) > 30).fold(0, |m, l| m | 1 << l);
    let s = |t: usize| most + if t < 32 { vote } else { 0 };
    s(59 - t) + i32::from((0..60).any(|t| s(t) == most + 1))
}

#[test]
fn regions() {
    let o = run("regions", &[]);
    o.equals("held", &held(96));
    o.expect("rounds", |_| until_done());
    o.expect("nested", |k| nested(k / 50, 50)[k % 50]);
    o.expect("left", |t| if t < 39 { 39 - t as i32 } else { 1001 });
    o.expect("mixed", |k| mixed(k / 60, k % 60));
    o.expect("handed", |t| 3 * (63 - t as i32) + 1);
    same_under_other_options("regions", &o);
}
