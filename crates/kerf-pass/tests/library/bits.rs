//! Finite results have the bits that kerf-num computes.
use super::harness::{Random, Word, mixed, pairs};
use kerf_num::doubleword::{Dw, two_prod, two_sum};

const N: usize = 20_032;

#[track_caller]
fn same<T: Word>(name: &str, got: &[Dw<T>], want: impl Fn(usize) -> Dw<T>) {
    for (i, g) in got.iter().enumerate() {
        let w = want(i);
        assert!(
            g.hi.bits() == w.hi.bits() && g.lo.bits() == w.lo.bits(),
            "{} {name} [{i}]: {g:?}, but kerf-num has {w:?}",
            T::PREFIX
        );
    }
}

/// Operands of any magnitude, some of which nearly cancel.
fn operands<T: Word>(range: f64) -> (Vec<Dw<T>>, Vec<Dw<T>>) {
    let mut r = Random(7);
    let x: Vec<Dw<T>> = (0..N).map(|_| r.wide(range)).collect();
    let y = x
        .iter()
        .map(|x| match r.next() % 3 {
            0 => {
                let near = -x.hi.to_f64() * (1.0 + r.between(-1.0, 1.0) * 2f64.powi(-20));
                r.pair(near)
            }
            1 => r.pair(-x.hi.to_f64()),
            _ => r.wide(range),
        })
        .collect();
    (x, y)
}

fn arithmetic<T: Word>(range: f64) {
    let (x, y) = operands::<T>(range);
    let both = |name: &str, f: fn(Dw<T>, Dw<T>) -> Dw<T>| {
        same(name, &pairs(name, &[&x, &y]), |i| f(x[i], y[i]));
    };
    both("add", Dw::accurate_dw_plus_dw);
    both("sub", |x, y| x.accurate_dw_plus_dw(-y));
    both("mul", Dw::dw_times_dw3);
    both("div", Dw::dw_div_dw2);
    let z: Vec<Dw<T>> = y.iter().rev().copied().collect();
    same("fma", &pairs("fma", &[&x, &y, &z]), |i| {
        x[i].dw_times_dw3(y[i]).accurate_dw_plus_dw(z[i])
    });
    // The same where an operand is a word.
    let one = |name: &str, f: fn(Dw<T>, T) -> Dw<T>| {
        let got = mixed(name, &[&x, &y], &[false, true]);
        same(name, &got, |i| f(x[i], y[i].hi));
    };
    one("add_fp", Dw::dw_plus_fp);
    one("mul_fp", Dw::dw_times_fp3);
    one("div_fp", Dw::dw_div_fp3);
    let words = |name: &str, f: fn(T, T) -> Dw<T>| {
        let got = mixed(name, &[&x, &y], &[true, true]);
        same(name, &got, |i| f(x[i].hi, y[i].hi));
    };
    words("add_words", two_sum);
    words("mul_words", two_prod);
    words("div_words", |a, b| Dw::from_word(a).dw_div_fp3(b));
    let got = mixed("fma_words", &[&x, &y, &z], &[true, true, false]);
    same("fma_words", &got, |i| {
        two_prod(x[i].hi, y[i].hi).accurate_dw_plus_dw(z[i])
    });
    let a = pairs("abs", &[&x]);
    same("abs", &a, |i| if x[i].hi < T::ZERO { -x[i] } else { x[i] });
    same("sqrt", &pairs("sqrt", &[&a]), |i| a[i].sqrt_dw_to_dw());
    same("neg", &pairs("neg", &[&x]), |i| -x[i]);
}

#[test]
fn arithmetic_f32() {
    arithmetic::<f32>(25.0);
}

#[test]
fn arithmetic_f64() {
    arithmetic::<f64>(200.0);
}

fn functions<T: Word>(exp_limit: f64, log_range: f64) {
    let mut r = Random(11);
    let x: Vec<Dw<T>> = (0..N)
        .map(|i| {
            let limit = if i % 2 == 0 { exp_limit } else { 1.0 };
            let x = r.between(-limit, limit);
            r.pair(x)
        })
        .collect();
    same("exp", &pairs("exp", &[&x]), |i| x[i].exp());
    let y: Vec<Dw<T>> = (0..N)
        .map(|i| {
            let x = match i % 3 {
                0 => r.between(0.5, 2.0),
                1 => 1.0 + r.between(-1.0, 1.0) * 2f64.powi(-((r.next() % 50) as i32)),
                _ => r.between(-log_range, log_range).exp2(),
            };
            r.pair(x)
        })
        .collect();
    same("log", &pairs("log", &[&y]), |i| y[i].log());
}

#[test]
fn functions_f32() {
    functions::<f32>(104.0, 149.0);
}

#[test]
fn functions_f64() {
    functions::<f64>(746.0, 1070.0);
}
