//! The kernels of `stress.cu` and `half.cu`, transcribed.
use super::mp::{R, r};
use super::{Run, Want};
use std::path::Path;
use std::sync::LazyLock;

fn workload(name: &str) -> Run {
    Run::new(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/reference/{name}.toml")),
        &[],
    )
}

static STRESS: LazyLock<Run> = LazyLock::new(|| workload("stress"));
static HALF: LazyLock<Run> = LazyLock::new(|| workload("half"));

static MOVES: LazyLock<Run> = LazyLock::new(|| workload("moves"));
static HIDDEN: LazyLock<Run> = LazyLock::new(|| workload("hidden"));

/// Precision of the formats, as powers of two.
const F32: f64 = -23.0;
const F16: f64 = -10.0;

fn warps(small: &[R]) -> Want {
    let sum = |w: &[R]| w.iter().fold(r(0.0), |a, s| a + (1.0 + s));
    Want::plain(small.chunks(32).map(sum).collect())
}

#[test]
fn doubles_through_shuffles() {
    STRESS.check("shuffled", &warps(&STRESS.reals("tiny")));
}

#[test]
fn floats_through_shuffles() {
    STRESS.check_of("shuffled_f32", &warps(&STRESS.reals("small")), F32);
}

#[test]
fn atomics_and_compare_and_swap() {
    let total = STRESS
        .reals("x")
        .into_iter()
        .fold(r(0.0), |a, x| a + x / 7.0);
    let want = Want::plain(vec![total.clone(), total]);
    STRESS.check("sums", &want);
    STRESS.check_of("sums_f32", &want, F32);
}

#[test]
fn shared_and_local_memory_and_structs() {
    let s: Vec<R> = STRESS
        .reals("x")
        .into_iter()
        .take(64)
        .map(|x| x / 3.0)
        .collect();
    let local = |i: usize| &s[(i + i % 8) % 64] / (i % 8 + 1) as f64;
    let want = (0..64)
        .flat_map(|i| [local(i) + &s[i] / 5.0, &s[i] + (&s[i] * 2.0) * 0.5])
        .collect();
    // Two of the fields are floats.
    STRESS.check_of("moved", &Want::plain(want), F32);
}

#[test]
fn arguments_and_results_of_functions() {
    let one = |x: &R| {
        let v = x / 3.0;
        let scaled = &v * (x / 9.0);
        // The second is a difference of the two; its scale is the larger.
        [
            (&scaled / &v, r(0.0)),
            (&scaled - x / 7.0, scaled.max(&(x / 7.0))),
        ]
    };
    let (value, scale) = STRESS.reals("x").iter().take(64).flat_map(one).unzip();
    STRESS.check_of("called", &Want::scaled(value, scale), F32);
}

#[test]
fn mathematical_functions() {
    let (x, y) = (STRESS.reals("x"), STRESS.reals("y"));
    let n = y.len();
    let (mut value, mut scale) = (vec![r(0.0); 11 * n], vec![r(0.0); 11 * n]);
    for i in 0..n {
        let (v, w) = (&x[i] / 3.0, &y[i] / 7.0);
        let all = [
            v.sin(),
            v.cos(),
            v.pow(&w),
            v.erfc(),
            v.tgamma(),
            (&v * 20.0).fmod(&w),
            &v * 2f64.powi((i % 9) as i32 - 4),
            v.cbrt(),
            v.atan2(&w),
            v.hypot(&w),
            v.tanh(),
        ];
        for (k, f) in all.into_iter().enumerate() {
            value[k * n + i] = f;
        }
        // A remainder is what is left of the dividend.
        scale[5 * n + i] = &v * 20.0;
    }
    STRESS.check("values", &Want::scaled(value, scale));
}

#[test]
fn single_precision() {
    let (x, y) = (STRESS.reals("x32"), STRESS.reals("y32"));
    let n = x.len();
    let mut want = vec![r(0.0); 4 * n];
    for (i, (a, b)) in x.iter().zip(&y).enumerate() {
        want[i] = (1..8).fold(r(0.1f32), |p, k| p * a + r(k) / b);
        want[n + i] = (a * a + b * b).sqrt() / (1.0 + (-a).exp());
        want[2 * n + i] = a / b + a.exp();
        // a < 2 < b.
        want[3 * n + i] = a + b * (a - 2.0 * b).abs();
    }
    STRESS.check_of("singles", &Want::plain(want), F32);
}

#[test]
fn comparisons_that_flip_are_counted() {
    let x = STRESS.input("near_root");
    let mut flips = 0;
    let mut want = Vec::new();
    for x in x {
        // The program's branch, on its own numbers; the product is exact in f64.
        let f = f64::from(x as f32);
        let below = f * f - 2.0 < 0.0;
        flips += u64::from(below != (r(x) * r(x) - 2.0 < 0.0));
        want.push(if below { r(x) / 3.0 } else { r(x) / -5.0 });
    }
    assert!(flips > 0);
    STRESS.check_of("branches", &Want::plain(want), F32);
    let source = include_str!("stress.cu");
    let line = 1 + source
        .lines()
        .position(|l| l.contains("LINE OF THE FLIPS"))
        .expect("the line");
    let counted = STRESS.flips();
    assert_eq!(counted.len(), 1, "{counted:?}");
    assert_eq!(counted[0].0, flips);
    assert!(
        counted[0].1.contains(&format!("stress.cu:{line}:")),
        "{counted:?}"
    );
}

#[test]
fn half_precision() {
    let (x, y) = (HALF.reals("x"), HALF.reals("y"));
    let n = HALF.size("n");
    let mut want = vec![r(0.0); 3 * n];
    for i in 0..n {
        want[i] = (0..16).fold(r(0.0), |s, k| s + &x[(i + k) % n] * &y[(i + 3 * k) % n]);
        want[n + i] = &x[i] * &y[i] + &x[i] / &y[i];
        want[2 * n + i] = &x[i] / 3.0 + 1.0;
    }
    HALF.check_of("out", &Want::plain(want), F16);
}

#[test]
fn pairs_of_halves() {
    let (x, y) = (HALF.reals("x"), HALF.reals("y"));
    let n = HALF.size("n");
    let mut want = vec![r(0.0); 2 * n];
    for i in 0..n {
        let v: Vec<R> = (0..2)
            .map(|c| {
                (0..4).fold(&x[2 * i + c] * &y[2 * i + c], |v, k| {
                    v * &y[2 * i + c] + &x[2 * ((i + k) % n) + c]
                })
            })
            .collect();
        want[2 * i] = &v[0] + &v[1];
        want[2 * i + 1] = &v[1] + &v[0];
    }
    HALF.check_of("out2", &Want::plain(want), F16);
}

#[test]
fn halves_through_shuffles() {
    HALF.check_of("shuffled", &warps(&HALF.reals("small")), F16);
}

/// Why device code did not compute a reference.
fn needs_host(run: &Run) -> Vec<String> {
    let why = run.report["reference"]["needs_host"].as_array();
    let words = why.into_iter().flatten().filter_map(|w| w.as_str());
    words.map(str::to_owned).collect()
}

#[test]
fn device_code_follows_values_through_memory() {
    assert_eq!(needs_host(&MOVES), Vec::<String>::new());
    let third: Vec<R> = MOVES.reals("x").iter().map(|x| x / 3.0).collect();
    let mut exchanged = third.clone();
    exchanged.chunks_mut(2).for_each(|pair| pair.swap(0, 1));
    MOVES.check("third", &Want::plain(exchanged.clone()));
    MOVES.check("by_int4", &Want::plain(exchanged));
    for output in ["by_struct", "by_variable", "by_shuffle"] {
        MOVES.check(output, &Want::plain(third.clone()));
    }
    MOVES.check_of("narrow", &Want::plain(third.clone()), F32);
    // Thread i has x[(i + k) % n] / 3 at (k + i) % 8, and reads at i % 8: k is 0.
    MOVES.check("by_local", &Want::plain(third));
}

#[test]
fn what_device_code_loses_is_counted_and_found_by_tables() {
    let why = needs_host(&HIDDEN);
    assert_eq!(why.len(), 1, "{why:?}");
    assert!(why[0].starts_with("64 values read as a float"), "{why:?}");
    let twice = HIDDEN.reals("x").iter().map(|x| x / 3.0 * 2.0).collect();
    HIDDEN.check("out", &Want::plain(twice));
}
