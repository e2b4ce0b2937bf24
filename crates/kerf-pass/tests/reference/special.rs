//! Special values: high words as MPFR and IEEE 754 have them, low words zero.
use super::accuracy::{erfcx, normcdf};
use super::harness::{Column, Library, SPECIAL};
use kerf_num::Dd;
use rug::Float;
use rug::ops::Pow;

type F1 = fn(Float) -> Float;
type F2 = fn(Float, &Float) -> Float;

/// Where the result is zero, infinite or NaN, the word is that one, with its sign and a zero low word.
#[track_caller]
fn agrees(what: &str, got: Dd, want: &Float) {
    let plain = want.to_f64();
    // A pair close to the ends of the range may round to the other side.
    let edge = !want.is_zero() && !want.is_infinite() && (plain == 0.0 || plain.is_infinite());
    let fine = if plain.is_nan() {
        got.hi.is_nan() && got.lo == 0.0
    } else if edge {
        got.hi == plain || got.hi.abs() < 1e-322 || got.hi.abs() == f64::MAX
    } else if plain == 0.0 || plain.is_infinite() {
        got.hi.to_bits() == plain.to_bits() && got.lo == 0.0
    } else {
        got.hi.is_finite() && (got.hi - plain).abs() <= plain.abs() * 1e-15
    };
    assert!(fine, "{what} = {got:?}, not {plain}");
}

const FUNCTIONS: &[(&str, F1)] = &[
    ("exp", Float::exp),
    ("exp2", Float::exp2),
    ("exp10", Float::exp10),
    ("expm1", Float::exp_m1),
    ("log", Float::ln),
    ("log2", Float::log2),
    ("log10", Float::log10),
    ("log1p", Float::ln_1p),
    ("sinh", Float::sinh),
    ("cosh", Float::cosh),
    ("tanh", Float::tanh),
    ("asinh", Float::asinh),
    ("acosh", Float::acosh),
    ("atanh", Float::atanh),
    ("sin", Float::sin),
    ("cos", Float::cos),
    ("tan", Float::tan),
    ("sinpi", Float::sin_pi),
    ("cospi", Float::cos_pi),
    ("asin", Float::asin),
    ("acos", Float::acos),
    ("atan", Float::atan),
    // MPFR has no sign for the pole; IEEE 754 has that of the zero.
    ("rsqrt", |x| x.sqrt().recip()),
    ("cbrt", Float::cbrt),
    ("rcbrt", |x| x.cbrt().recip()),
    ("erf", Float::erf),
    ("erfc", Float::erfc),
    ("erfcx", erfcx),
    ("normcdf", normcdf),
    ("tgamma", Float::gamma),
    ("lgamma", |x| x.ln_abs_gamma().0),
    ("j0", Float::j0),
    ("j1", Float::j1),
    ("y0", Float::y0),
    ("y1", Float::y1),
];

#[test]
fn special_values_of_one_argument() {
    let names: Vec<&str> = FUNCTIONS.iter().map(|f| f.0).collect();
    let mut lib = Library::new(&names);
    let x: Vec<Dd> = SPECIAL.iter().map(|x| Dd::from_f64(*x)).collect();
    for (name, f) in FUNCTIONS {
        for (i, got) in lib.call(name, &[Column::Pairs(&x)]).into_iter().enumerate() {
            let want = f(Float::with_val(200, x[i].hi));
            agrees(&format!("{name}({})", x[i].hi), got, &want);
        }
    }
}

#[test]
fn special_values_of_inverses() {
    let infinity = f64::INFINITY;
    let ends: [(&str, &[(f64, f64)]); 3] = [
        (
            "erfinv",
            &[
                (0.0, 0.0),
                (-0.0, -0.0),
                (1.0, infinity),
                (-1.0, -infinity),
                (1.5, f64::NAN),
            ],
        ),
        (
            "erfcinv",
            &[
                (1.0, 0.0),
                (0.0, infinity),
                (2.0, -infinity),
                (-0.1, f64::NAN),
                (3.0, f64::NAN),
            ],
        ),
        (
            "normcdfinv",
            &[
                (0.5, 0.0),
                (0.0, -infinity),
                (1.0, infinity),
                (-0.1, f64::NAN),
                (2.0, f64::NAN),
            ],
        ),
    ];
    let mut lib = Library::new(&["erfinv", "erfcinv", "normcdfinv"]);
    for (name, values) in ends {
        let x: Vec<Dd> = values.iter().map(|v| Dd::from_f64(v.0)).collect();
        for (i, got) in lib.call(name, &[Column::Pairs(&x)]).into_iter().enumerate() {
            agrees(
                &format!("{name}({})", x[i].hi),
                got,
                &Float::with_val(53, values[i].1),
            );
        }
    }
}

#[test]
fn special_values_of_two_arguments() {
    let functions: &[(&str, F2)] = &[
        ("pow", |a, b| a.pow(b)),
        ("atan2", |a, b| a.atan2(b)),
        ("remainder", |a, b| a.remainder(b)),
        ("hypot", |a, b| a.hypot(b)),
        ("rhypot", |a, b| a.hypot(b).recip()),
    ];
    let names: Vec<&str> = functions.iter().map(|f| f.0).collect();
    let mut lib = Library::new(&names);
    let (mut a, mut b) = (Vec::new(), Vec::new());
    for x in SPECIAL {
        for y in SPECIAL {
            a.push(Dd::from_f64(x));
            b.push(Dd::from_f64(y));
        }
    }
    for (name, f) in functions {
        let got = lib.call(name, &[Column::Pairs(&a), Column::Pairs(&b)]);
        for (i, got) in got.into_iter().enumerate() {
            let (x, y) = (a[i].hi, b[i].hi);
            let want = f(Float::with_val(200, x), &Float::with_val(200, y));
            agrees(&format!("{name}({x}, {y})"), got, &want);
        }
    }
}
