//! Infinities, NaN, zeros, overflow, comparisons and conversions.
use super::harness::{Word, call, mixed, pairs};
use kerf_num::doubleword::Dw;

fn equal_or_both_nan(a: f64, b: f64) -> bool {
    a == b || (a.is_nan() && b.is_nan())
}

fn word<T: Word>(v: f64) -> Dw<T> {
    Dw::from_word(T::from_f64(v))
}

/// Special words: zero, small ones, the largest power of two of the word, infinities, NaN.
fn special_words<T: Word>(huge: f64) -> Vec<Dw<T>> {
    [
        0.0,
        1.0,
        -1.0,
        2.0,
        huge,
        -huge,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
    ]
    .map(word)
    .to_vec()
}

/// Special words in all combinations give what the word alone gives, with a zero low word.
fn arithmetic_as_the_word<T: Word>(values: &[Dw<T>]) {
    let mut x: Vec<Dw<T>> = values.iter().flat_map(|a| vec![*a; values.len()]).collect();
    let mut y: Vec<Dw<T>> = values.iter().flat_map(|_| values.to_vec()).collect();
    for v in [&mut x, &mut y] {
        v.resize(128, Dw::from_word(T::ONE));
    }
    let check = |name: &str, got: Vec<Dw<T>>, want: &dyn Fn(usize) -> T| {
        for (i, g) in got.iter().enumerate() {
            let w = want(i).to_f64();
            let hi = g.hi.to_f64();
            assert!(
                equal_or_both_nan(hi, w),
                "{} {name}({:?}, {:?}) = {g:?}, expected {w}",
                T::PREFIX,
                x[i],
                y[i]
            );
            // A finite sum has its rounding error beside it.
            let low = if hi.is_finite() {
                g.lo.is_finite()
            } else {
                g.lo == T::ZERO
            };
            assert!(low, "{} {name}({:?}, {:?}) = {g:?}", T::PREFIX, x[i], y[i]);
        }
    };
    check("add", pairs("add", &[&x, &y]), &|i| x[i].hi + y[i].hi);
    check("sub", pairs("sub", &[&x, &y]), &|i| x[i].hi - y[i].hi);
    check("mul", pairs("mul", &[&x, &y]), &|i| x[i].hi * y[i].hi);
    check("sqrt", pairs("sqrt", &[&x]), &|i| {
        // The root of the huge number is a power of two.
        x[i].hi.sqrt()
    });
    check("fma", pairs("fma", &[&x, &y, &x]), &|i| {
        x[i].hi.mul_add(y[i].hi, x[i].hi)
    });
    for (form, is_word) in [("fp", [false, true]), ("words", [true, true])] {
        let name = |op: &str| format!("{op}_{form}");
        let got = |op: &str| mixed(&name(op), &[&x, &y], &is_word);
        check(&name("add"), got("add"), &|i| x[i].hi + y[i].hi);
        check(&name("mul"), got("mul"), &|i| x[i].hi * y[i].hi);
        check(&name("div"), got("div"), &|i| x[i].hi / y[i].hi);
    }
    let quotients = pairs("div", &[&x, &y]);
    for (i, g) in quotients.iter().enumerate() {
        let w = (x[i].hi / y[i].hi).to_f64();
        let hi = g.hi.to_f64();
        assert!(equal_or_both_nan(hi, w), "{:?} / {:?} = {g:?}", x[i], y[i]);
        assert!(g.lo.is_finite());
    }
    for name in ["min", "max"] {
        check(name, pairs(name, &[&x, &y]), &|i| {
            let (a, b) = (x[i].hi.to_f64(), y[i].hi.to_f64());
            T::from_f64(if name == "min" { a.min(b) } else { a.max(b) })
        });
    }
}

/// Functions of one special word.
fn functions_as_the_word<T: Word>(values: &[Dw<T>]) {
    let one = |name: &str, f: fn(f64) -> f64| {
        for (i, g) in pairs(name, &[values]).iter().enumerate() {
            let v = values[i].hi.to_f64();
            if v.is_finite() && v.abs() < 3.0 && v != 0.0 {
                continue; // measured elsewhere
            }
            let (hi, w) = (g.hi.to_f64(), T::from_f64(f(v)).to_f64());
            assert!(
                equal_or_both_nan(hi, w),
                "{name}({v}) = {g:?}, expected {w}"
            );
            assert_eq!(g.lo.to_f64(), 0.0);
        }
    };
    one("exp", |v| {
        if v.abs() > 3.0 && v.is_finite() {
            if v > 0.0 { f64::INFINITY } else { 0.0 }
        } else {
            v.exp()
        }
    });
    one("exp2", |v| {
        if v.abs() > 3.0 && v.is_finite() {
            if v > 0.0 { f64::INFINITY } else { 0.0 }
        } else {
            v.exp2()
        }
    });
    one("rsqrt", |v| 1.0 / v.sqrt());
    // Beyond their domain sine and cosine say so.
    one("sin", |v| if v == 0.0 { v } else { f64::NAN });
    one("cos", |v| if v == 0.0 { 1.0 } else { f64::NAN });
}

/// Powers that are exact, or special.
fn powers<T: Word>() {
    for (x, y, want) in [
        (2.0, 10.0, 1024.0),
        (-2.0, 3.0, -8.0),
        (-2.0, 4.0, 16.0),
        (-2.0, 0.5, f64::NAN),
        (0.0, 2.0, 0.0),
        (0.0, -2.0, f64::INFINITY),
        (f64::NAN, 0.0, 1.0),
        (1.0, f64::NAN, 1.0),
        (2.0, f64::INFINITY, f64::INFINITY),
        (0.5, f64::INFINITY, 0.0),
        (f64::INFINITY, -1.0, 0.0),
        (f64::NEG_INFINITY, 3.0, f64::NEG_INFINITY),
    ] {
        let got = pairs::<T>("pow", &[&[word(x)], &[word(y)]])[0];
        let hi = got.hi.to_f64();
        assert!(equal_or_both_nan(hi, want), "{x}^{y} = {got:?}");
    }
}

/// Logarithms at the ends of their domain, and beyond.
fn logarithms<T: Word>() {
    for (v, want) in [
        (0.0, f64::NEG_INFINITY),
        (-1.0, f64::NAN),
        (f64::INFINITY, f64::INFINITY),
        (f64::NAN, f64::NAN),
    ] {
        for name in ["log", "log2", "log10"] {
            let got = pairs::<T>(name, &[&[word(v)]])[0];
            let hi = got.hi.to_f64();
            assert!(equal_or_both_nan(hi, want), "{name}({v}) = {got:?}");
            assert_eq!(got.lo.to_f64(), 0.0);
        }
    }
}

fn as_the_word<T: Word>(huge: f64) {
    let values = special_words::<T>(huge);
    arithmetic_as_the_word(&values);
    functions_as_the_word(&values);
    powers::<T>();
    logarithms::<T>();
}

#[test]
fn words_f32() {
    as_the_word::<f32>(2f64.powi(126));
}

#[test]
fn words_f64() {
    as_the_word::<f64>(2f64.powi(1022));
}

fn ints(function: &str, of: &str, to: (&str, usize), inputs: &[Vec<u8>]) -> Vec<i64> {
    let mut bytes = inputs.concat();
    let size = inputs[0].len();
    bytes.resize(size * 64, 0);
    call(function, &[of], to, &[bytes], 64)
        .chunks_exact(to.1)
        .take(inputs.len())
        .map(|c| {
            let mut b = if c[c.len() - 1] >= 0x80 {
                [0xff; 8]
            } else {
                [0; 8]
            };
            b[..c.len()].copy_from_slice(c);
            i64::from_le_bytes(b)
        })
        .collect()
}

#[test]
fn to_integers_and_back() {
    let dw = |hi: f64, lo: f64| [hi.to_le_bytes(), lo.to_le_bytes()].concat();
    let cases = [
        (dw(2.5, 0.0), 2),
        (dw(-2.5, 0.0), -2),
        (dw(3.0, -1e-20), 2),
        (dw(-3.0, 1e-20), -2),
        (dw(-3.0, -1e-20), -3),
        (dw(0.0, 0.0), 0),
        (dw(9007199254740994.0, 1.0), 9007199254740995),
        (dw(2f64.powi(63), -1.0), i64::MAX),
        (dw(2f64.powi(63), -5.0), i64::MAX - 4),
        (dw(-2f64.powi(63), 0.0), i64::MIN),
        (dw(-2f64.powi(63), 3.0), i64::MIN + 3),
        (dw(2f64.powi(62), 12.0), (1 << 62) + 12),
        (dw(1e30, 0.0), i64::MAX),
    ];
    let inputs: Vec<Vec<u8>> = cases.iter().map(|c| c.0.clone()).collect();
    let got = ints("kerf_dw64_to_i64", "<2 x double>", ("i64", 8), &inputs);
    assert_eq!(got, cases.iter().map(|c| c.1).collect::<Vec<_>>());
    let got = ints(
        "kerf_dw64_to_u64",
        "<2 x double>",
        ("i64", 8),
        &[
            dw(2f64.powi(64), -1.0),
            dw(2f64.powi(63), 7.0),
            dw(3.0, -1e-18),
            dw(2f64.powi(63), -2.0),
        ],
    );
    assert_eq!(got, [-1, i64::MIN + 7, 2, i64::MAX - 1]);
    let got = ints(
        "kerf_dw64_to_i32",
        "<2 x double>",
        ("i32", 4),
        &[dw(1e10, 0.0), dw(-1e10, 0.0), dw(-7.9, 0.0)],
    );
    assert_eq!(got, [i64::from(i32::MAX), i64::from(i32::MIN), -7]);
    // From 64 bits to a pair of double and back loses nothing.
    for n in [i64::MIN, i64::MAX, -1, 0, 123456789012345678] {
        let pair = call(
            "kerf_dw64_from_i64",
            &["i64"],
            ("<2 x double>", 16),
            &[n.to_le_bytes().repeat(64)],
            64,
        );
        let back = ints(
            "kerf_dw64_to_i64",
            "<2 x double>",
            ("i64", 8),
            &[pair[..16].to_vec()],
        );
        assert_eq!(back, [n]);
    }
    let pair = call(
        "kerf_dw32_from_i32",
        &["i32"],
        ("<2 x float>", 8),
        &[2147483647i32.to_le_bytes().repeat(64)],
        64,
    );
    assert_eq!(
        ints(
            "kerf_dw32_to_i32",
            "<2 x float>",
            ("i32", 4),
            &[pair[..8].to_vec()]
        ),
        [2147483647]
    );
}

#[test]
fn between_formats() {
    let f64s = |f: &str, of: &str, x: Vec<u8>| {
        let b = call(f, &[of], ("double", 8), &[x.repeat(64)], 64);
        f64::from_le_bytes(b[..8].try_into().expect("eight bytes"))
    };
    // 48 bits pass through a pair of floats unchanged.
    for x in [
        1.0 + 2f64.powi(-47),
        0.1f64.floor() + 1e-3f32 as f64,
        -12345.678f32 as f64,
        f64::INFINITY,
    ] {
        let p = call(
            "kerf_dw32_from_f64",
            &["double"],
            ("<2 x float>", 8),
            &[x.to_le_bytes().repeat(64)],
            64,
        );
        assert_eq!(f64s("kerf_dw32_to_f64", "<2 x float>", p[..8].to_vec()), x);
        let wide = call(
            "kerf_dw64_from_dw32",
            &["<2 x float>"],
            ("<2 x double>", 16),
            &[p],
            64,
        );
        assert_eq!(
            f64s("kerf_dw64_to_f64", "<2 x double>", wide[..16].to_vec()),
            x
        );
    }
    // A tie of f32 that the low word decides.
    let tie = 1.0 + 2f64.powi(-24);
    for (lo, want) in [(1e-20, 1.0 + f32::EPSILON), (-1e-20, 1.0), (0.0, 1.0)] {
        let x = [tie.to_le_bytes(), f64::to_le_bytes(lo)].concat();
        let b = call(
            "kerf_dw64_to_f32",
            &["<2 x double>"],
            ("float", 4),
            &[x.repeat(64)],
            64,
        );
        assert_eq!(
            f32::from_le_bytes(b[..4].try_into().expect("four bytes")),
            want
        );
    }
}

#[test]
fn order() {
    let dw = |hi: f64, lo: f64| [hi.to_le_bytes(), lo.to_le_bytes()].concat();
    let nan = dw(f64::NAN, 0.0);
    let cases = [
        (dw(1.0, 0.0), dw(1.0, 1e-20), [1, 1, 0]),
        (dw(1.0, 1e-20), dw(1.0, 0.0), [0, 0, 0]),
        (dw(1.0, 1e-20), dw(1.0, 1e-20), [0, 1, 1]),
        (dw(-2.0, 0.0), dw(1.0, 0.0), [1, 1, 0]),
        (nan.clone(), dw(1.0, 0.0), [0, 0, 0]),
        (dw(1.0, 0.0), nan.clone(), [0, 0, 0]),
        (nan.clone(), nan, [0, 0, 0]),
    ];
    for (k, name) in ["less", "less_equal", "equal"].into_iter().enumerate() {
        for suffix in ["", "_cmp"] {
            for (a, b, want) in &cases {
                let out = call(
                    &format!("kerf_dw64_{name}{suffix}"),
                    &["<2 x double>"; 2],
                    ("i32", 4),
                    &[a.repeat(64), b.repeat(64)],
                    64,
                );
                assert_eq!(out[0], want[k], "{name}{suffix}");
            }
        }
    }
}
