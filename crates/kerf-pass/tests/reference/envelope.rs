//! Functions that are differences of larger terms next to some of their zeros: errors beside those terms.
//! Largest seen, as negative powers of two: lgamma below -2 105.7, j0 100.7, j1 101.3, y0 100.1, y1 101.0.
use super::accuracy::Place::{In, Positive};
use super::accuracy::{BOUND, F1, N, Place, exact, lgamma};
use super::harness::{Column, Library, Random};
use kerf_num::Dd;
use rug::Float;

fn measure(name: &str, f: F1, size: impl Fn(f64, f64) -> f64, places: &[Place], n: usize) {
    let mut r = Random(23);
    let x: Vec<Dd> = places
        .iter()
        .flat_map(|p| (0..n).map(|_| p.draw(&mut r)).collect::<Vec<Dd>>())
        .collect();
    let got = Library::new(&[name]).call(name, &[Column::Pairs(&x)]);
    let mut worst = 0f64;
    for (x, got) in x.iter().zip(got) {
        let want = f(exact(*x));
        let (off, plain) = ((exact(got) - &want).abs().to_f64(), want.to_f64());
        if plain.is_infinite() {
            assert_eq!(got, Dd::from_f64(plain), "{name}({x:?})");
            continue;
        }
        if off > 1e-322 {
            worst = worst.max(off / size(x.hi.abs(), plain.abs()));
        }
        assert!(worst <= BOUND.exp2(), "{name}({x:?}) = {got:?}");
    }
    println!("{name}: 2^{:.2} of the terms", worst.log2());
}

/// Below -2, where lgamma has zeros.
#[test]
fn lgamma_of_negative_arguments() {
    let terms = |x: f64, _: f64| x * x.ln();
    measure("lgamma", lgamma, terms, &[In(-60.0, -2.0)], N);
}

#[test]
fn bessel_functions() {
    let functions: [(&str, F1); 4] = [
        ("j0", Float::j0),
        ("j1", Float::j1),
        ("y0", Float::y0),
        ("y1", Float::y1),
    ];
    for (name, f) in functions {
        let envelope = |x: f64, value: f64| value.max(if x > 1.0 { 1.0 / x.sqrt() } else { 0.0 });
        let places = [
            Positive(-1022, -18),
            Positive(-22, 1),
            In(1.0, 45.0),
            In(39.0, 300.0),
            Positive(8, 20),
        ];
        measure(name, f, envelope, &places, N / 6);
    }
}
