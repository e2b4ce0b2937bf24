//! Errors of the elementary functions against MPFR, in units of u^2.
use super::harness::{Random, Word, pairs};
use kerf_num::doubleword::Dw;
use rug::Float;

const N: usize = 6_000;
const BITS: u32 = 400;

fn exact<T: Word>(x: Dw<T>) -> Float {
    Float::with_val(BITS, x.hi.to_f64()) + x.lo.to_f64()
}

fn err_u2<T: Word>(got: Dw<T>, want: &Float) -> f64 {
    let e = (exact(got) - want) / want;
    (e.abs() << (2 * T::P)).to_f64()
}

/// The largest error of a function over arguments; it has to stay below the bound.
#[track_caller]
fn measure<T: Word>(name: &str, what: &str, x: &[Dw<T>], f: impl Fn(Float) -> Float, bound: f64) {
    let got = pairs(name, &[x]);
    let mut worst = (0.0, 0);
    for (i, g) in got.iter().enumerate() {
        let want = f(exact(x[i]));
        let e = err_u2(*g, &want);
        let e = if e.is_nan() { f64::INFINITY } else { e };
        if e > worst.0 {
            worst = (e, i);
        }
    }
    println!(
        "{} {name}, {what}: {:.2} u^2 at {:?}",
        T::PREFIX,
        worst.0,
        x[worst.1]
    );
    assert!(
        worst.0 <= bound,
        "{} {name}, {what}: {} u^2 at {:?}",
        T::PREFIX,
        worst.0,
        x[worst.1]
    );
}

fn draw<T: Word>(mut f: impl FnMut(&mut Random) -> f64) -> Vec<Dw<T>> {
    let mut r = Random(3);
    (0..N)
        .map(|_| {
            let x = f(&mut r);
            r.pair(x)
        })
        .collect()
}

/// The double words nearest to multiples of pi/2, where the result is as small as it can be.
fn near_multiples<T: Word>(limit: f64) -> Vec<Dw<T>> {
    let half_pi = Float::with_val(BITS, rug::float::Constant::Pi) / 2;
    let mut r = Random(5);
    (0..1000)
        .map(|i| {
            let n = if i < 200 {
                f64::from(i + 1)
            } else {
                r.between(1.0, limit * 0.63).floor()
            };
            let x = Float::with_val(BITS, &half_pi * n);
            let hi = T::from_f64(x.to_f64());
            let lo = T::from_f64((x - hi.to_f64()).to_f64());
            kerf_num::doubleword::fast_two_sum(hi, lo)
        })
        .collect()
}

fn waves<T: Word>(limit: f64) {
    type F = fn(Float) -> Float;
    for (name, f) in [("sin", Float::sin as F), ("cos", Float::cos as F)] {
        measure::<T>(
            name,
            "up to pi/4",
            &draw(|r| r.between(-0.785, 0.785)),
            f,
            8.0,
        );
        measure::<T>(name, "up to 10", &draw(|r| r.between(-10.0, 10.0)), f, 8.0);
        measure::<T>(
            name,
            "whole domain",
            &draw(|r| r.between(-limit, limit)),
            f,
            8.0,
        );
        measure::<T>(
            name,
            "near multiples of pi/2",
            &near_multiples(limit),
            f,
            8.0,
        );
        measure::<T>(
            name,
            "tiny",
            &draw(|r| r.between(-20.0, -3.0).exp2()),
            f,
            8.0,
        );
    }
    measure::<T>(
        "tan",
        "up to 10",
        &draw(|r| r.between(-10.0, 10.0)),
        Float::tan,
        32.0,
    );
}

#[test]
fn waves_f32() {
    waves::<f32>(2f64.powi(20));
}

#[test]
fn waves_f64() {
    waves::<f64>(2f64.powi(30));
}

fn powers<T: Word>(exponent: f64) {
    let e = exponent;
    measure::<T>(
        "exp2",
        "whole range",
        &draw(|r| r.between(-e, e)),
        Float::exp2,
        8.0,
    );
    measure::<T>(
        "exp10",
        "whole range",
        &draw(|r| r.between(-e, e) * 0.301),
        Float::exp10,
        16.0,
    );
    let positive = draw::<T>(|r| r.between(-e, e).exp2());
    measure::<T>("log2", "whole range", &positive, Float::log2, 16.0);
    measure::<T>("log10", "whole range", &positive, Float::log10, 24.0);
    measure::<T>("rsqrt", "whole range", &positive, Float::recip_sqrt, 19.0);
    let near_one = draw::<T>(|r| r.between(0.9, 1.1));
    measure::<T>("log2", "near 1", &near_one, Float::log2, 24.0);
    measure::<T>("log10", "near 1", &near_one, Float::log10, 24.0);
}

#[test]
fn powers_f32() {
    powers::<f32>(70.0);
}

#[test]
fn powers_f64() {
    powers::<f64>(900.0);
}

/// The error of a power grows with the logarithm of the result.
fn pow<T: Word>(limit: f64) {
    let x = draw::<T>(|r| r.between(0.1, 10.0));
    let y = draw::<T>(|r| r.between(-limit, limit));
    let got = pairs("pow", &[&x, &y]);
    let mut worst = 0.0f64;
    for i in 0..x.len() {
        let (a, b) = (exact(x[i]), exact(y[i]));
        let size = (Float::with_val(BITS, a.ln_ref()) * &b).abs().to_f64();
        let want = rug::ops::Pow::pow(a, &b);
        worst = worst.max(err_u2(got[i], &want) / (1.0 + size));
    }
    println!("{} pow: {worst:.2} u^2 for each 1 + |y ln x|", T::PREFIX);
    assert!(worst <= 14.0, "{worst}");
}

#[test]
fn pow_f32() {
    pow::<f32>(20.0);
}

#[test]
fn pow_f64() {
    pow::<f64>(250.0);
}

/// The published formulas of composite precision lose what they are said to lose.
#[test]
fn cmp_formulas() {
    let mut r = Random(9);
    let x: Vec<Dw<f32>> = (0..N).map(|_| r.wide(10.0)).collect();
    let y: Vec<Dw<f32>> = (0..N).map(|_| r.wide(10.0)).collect();
    let worst = |name: &str, f: fn(Float, Float) -> Float| {
        let got = pairs(name, &[&x, &y]);
        (0..N)
            .map(|i| err_u2(got[i], &f(exact(x[i]), exact(y[i]))))
            .fold(0.0, f64::max)
    };
    let [sum, product, quotient] = [
        worst("add_cmp", |a, b| a + b),
        worst("mul_cmp", |a, b| a * b),
        worst("div_cmp", |a, b| a / b),
    ];
    println!("cmp: add {sum:.3e}, mul {product:.3e}, div {quotient:.3e} u^2");
    // In units of u^2, a plain float has up to 2^24.
    assert!(sum > 3.0 && sum < 2f64.powi(22));
    assert!(product > 2f64.powi(22) && quotient > 2f64.powi(22));
    let e: Vec<Dw<f64>> = draw(|r| r.between(0.1, 1.0));
    for name in ["exp_cmp_bf", "exp_cmp_ts"] {
        let got = pairs(name, &[&e]);
        let worst = (0..N)
            .map(|i| err_u2(got[i], &exact(e[i]).exp()))
            .fold(0.0, f64::max);
        println!("{name}: {worst:.3e} u^2");
        // Neither is much better than a plain double, and neither is wrong.
        assert!(
            worst > 2f64.powi(45) && worst < 2f64.powi(58),
            "{name}: {worst}"
        );
    }
}
