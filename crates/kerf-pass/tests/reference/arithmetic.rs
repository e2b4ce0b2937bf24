//! Arithmetic of the library against `kerf_num::Dd`, bit for bit.
use super::harness::{Column, Library, Random, SPECIAL};
use kerf_num::Dd;
use std::cmp::Ordering;

/// Ordinary pairs, pairs next to integers and halves, and special words; all combinations of the latter.
fn operands() -> [Vec<Dd>; 3] {
    let mut r = Random(17);
    let mut columns = [const { Vec::new() }; 3];
    for i in 0..6000 {
        let near = r.between(-40.0, 40.0);
        for c in &mut columns {
            let x = match i % 6 {
                0 => r.wide(-1074, 1024),
                1 => r.wide(-20, 20),
                2 => {
                    let x = near * (1.0 + r.between(-1e-10, 1e-10));
                    r.pair(x)
                }
                3 => {
                    let n = (r.between(-99.0, 99.0)).floor() / 2.0;
                    let tail = r.between(-1.0, 1.0) * 2f64.powi(-((r.next() % 110) as i32) - 8);
                    Dd::from_sum(n, tail)
                }
                4 => r.wide(45, 115),
                _ => Dd::from_f64(SPECIAL[(r.next() % SPECIAL.len() as u64) as usize]),
            };
            c.push(r.signed(x));
        }
    }
    for a in SPECIAL {
        for b in SPECIAL {
            columns[0].push(Dd::from_f64(a));
            columns[1].push(Dd::from_f64(b));
            columns[2].push(Dd::from_f64(SPECIAL[(r.next() % 28) as usize]));
        }
    }
    columns
}

fn same(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}

#[track_caller]
fn equal(name: &str, got: &[Dd], want: impl Fn(usize) -> Dd, columns: &[&[Dd]]) {
    for (i, g) in got.iter().enumerate() {
        let w = want(i);
        let of: Vec<Dd> = columns.iter().map(|c| c[i]).collect();
        assert!(
            same(g.hi, w.hi) && same(g.lo, w.lo),
            "{name}{of:?} = {g:?}, not {w:?}"
        );
    }
}

fn round_away(v: Dd) -> Dd {
    v.abs().add(Dd::from_f64(0.5)).floor().copysign(v)
}

fn norm(a: Dd, b: Dd, c: Dd) -> Dd {
    a.mul(a).add(b.mul(b)).add(c.mul(c)).sqrt()
}

type F1 = fn(Dd) -> Dd;
type F2 = fn(Dd, Dd) -> Dd;
type F3 = fn(Dd, Dd, Dd) -> Dd;

const ONE: [(&str, F1); 10] = [
    ("neg", Dd::neg),
    ("fabs", Dd::abs),
    ("sqrt", Dd::sqrt),
    ("rcp", |a| Dd::ONE.div(a)),
    ("floor", Dd::floor),
    ("ceil", Dd::ceil),
    ("trunc", Dd::trunc),
    ("rint", Dd::round_even),
    ("round", round_away),
    ("saturate", |a| a.max(Dd::ZERO).min(Dd::ONE)),
];
const TWO: [(&str, F2); 9] = [
    ("add", Dd::add),
    ("sub", Dd::sub),
    ("mul", Dd::mul),
    ("div", Dd::div),
    ("fmin", Dd::min),
    ("fmax", Dd::max),
    ("copysign", Dd::copysign),
    ("fmod", Dd::fmod),
    ("fdim", |a, b| a.sub(b).max(Dd::ZERO)),
];
const THREE: [(&str, F3); 3] = [
    ("fma", |a, b, c| a.mul(b).add(c)),
    ("norm3d", norm),
    ("rnorm3d", |a, b, c| Dd::ONE.div(norm(a, b, c))),
];

#[test]
fn arithmetic_has_the_bits_of_dd() {
    let [a, b, c] = operands();
    let mut names: Vec<&str> = ONE.iter().map(|f| f.0).collect();
    names.extend(TWO.iter().map(|f| f.0));
    names.extend(THREE.iter().map(|f| f.0));
    names.extend(["ldexp", "from_i64", "from_u64", "compare"]);
    let mut lib = Library::new(&names);
    let (ca, cb, cc) = (
        || Column::Pairs(&a),
        || Column::Pairs(&b),
        || Column::Pairs(&c),
    );
    for (name, f) in ONE {
        equal(name, &lib.call(name, &[ca()]), |i| f(a[i]), &[&a]);
    }
    for (name, f) in TWO {
        let got = lib.call(name, &[ca(), cb()]);
        equal(name, &got, |i| f(a[i], b[i]), &[&a, &b]);
    }
    for (name, f) in THREE {
        let got = lib.call(name, &[ca(), cb(), cc()]);
        equal(name, &got, |i| f(a[i], b[i], c[i]), &[&a, &b, &c]);
    }
    let mut r = Random(3);
    let n: Vec<i32> = (0..a.len())
        .map(|i| match i % 5 {
            0 => r.next() as i32,
            1 => [i32::MIN, i32::MAX, -1022, 1023, -1074, 0][i % 6],
            _ => (r.next() % 4400) as i32 - 2200,
        })
        .collect();
    let got = lib.call("ldexp", &[ca(), Column::I32(&n)]);
    equal("ldexp", &got, |i| a[i].ldexp(n[i]), &[&a]);

    let mut words: Vec<u64> = (0..2000).map(|i| r.next() >> (i % 64)).collect();
    words.extend((0..2000u64).map(|i| (r.next() >> (i % 64)).wrapping_neg()));
    words.extend([
        0,
        1,
        u64::MAX,
        1 << 63,
        (1 << 63) - 1,
        (1 << 63) + 1,
        1 << 53,
    ]);
    let got = lib.call("from_i64", &[Column::I64(&words)]);
    equal("from_i64", &got, |i| Dd::from_i64(words[i] as i64), &[]);
    let got = lib.call("from_u64", &[Column::I64(&words)]);
    equal("from_u64", &got, |i| Dd::from_u64(words[i]), &[]);

    for (b, what) in [(&b, "b"), (&a, "itself")] {
        for (i, got) in lib.compare(&a, b).into_iter().enumerate() {
            let want = match a[i].partial_cmp(&b[i]) {
                Some(Ordering::Equal) => 1,
                Some(Ordering::Greater) => 2,
                Some(Ordering::Less) => 4,
                None => 8,
            };
            assert_eq!(got, want, "{what}: {:?} {:?}", a[i], b[i]);
        }
    }
}
