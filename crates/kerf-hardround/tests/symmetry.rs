//! Exact symmetries, against MPFR.
use crate::common;

use common::{Random, functions};
use kerf_hardround::confirm::value;
use kerf_hardround::format::{BINARY64, BinadeGrid, hex};
use kerf_hardround::function::ElementaryFunction::{self, *};
use kerf_hardround::leaf::Query;
use kerf_hardround::symmetry::{domain, left_to_search, representative};
use kerf_hardround::units::Units;
use rug::Float;

fn k(f: ElementaryFunction, x: f64) -> Option<u32> {
    let v = value(f, BINARY64, &Float::with_val(64, x));
    v.ok().and_then(|v| v.k)
}

/// A random number of a random binade, subnormal ones among them; often with many trailing zeros.
fn number(r: &mut Random) -> f64 {
    let mut bits = r.next() & (i64::MAX as u64);
    bits &= u64::MAX << r.below(50);
    match r.below(6) {
        0 => bits &= (1 << 52) - 1,
        // Around 1, where most functions have their representatives.
        1..=3 => bits = bits % (30 << 52) + (1010 << 52),
        _ => {}
    }
    let x = f64::from_bits(bits);
    if r.below(2) == 0 { -x } else { x }
}

/// An argument that is left out has the number of identical bits of its representative, which is searched.
#[test]
fn what_is_left_out_follows() {
    let mut r = Random(11);
    for f in functions()
        .into_iter()
        .chain([Power(64), Power(-7), Rootn(64)])
    {
        let mut left_out = 0;
        for _ in 0..1500 {
            let x = number(&mut r);
            if x == 0.0 || !x.is_finite() || !f.has(x) || f.beyond(x).is_some() {
                continue;
            }
            let y = representative(f, BINARY64, x);
            if y == x {
                continue;
            }
            left_out += 1;
            let place = format!("{} {} {}", f.name(), hex(x), hex(y));
            assert_eq!(k(f, x), k(f, y), "{place}");
            assert_eq!(representative(f, BINARY64, y), y, "{place}");
        }
        let expected = f.odd().is_some() || matches!(f, Sqrt | Rsqrt | Exp2 | Log2 | Rootn(_));
        assert_eq!(left_out > 50, expected, "{}: {left_out}", f.name());
    }
}

/// Nothing is lost: every number of the domain is searched or left out for a reason.
#[test]
fn domains_are_whole() {
    for f in functions() {
        let all = domain(f, BINARY64);
        let searched: u128 = all.searched.iter().map(|g| u128::from(g.len())).sum();
        let left: u128 = all.left_out.iter().map(|w| w.1).sum();
        let mut whole = 0;
        for negative in [false, true] {
            for exponent in -1074..=971 {
                let first = if exponent == -1074 { 1 } else { 1 << 52 };
                let g = BinadeGrid {
                    negative,
                    exponent,
                    first,
                    end: 1 << 53,
                };
                whole += match (f.has(g.value(first)), f.has(g.value((1 << 53) - 1))) {
                    (true, true) => u128::from(g.len()),
                    (true, false) => 1,
                    _ => 0,
                };
            }
        }
        assert_eq!(searched + left, whole, "{}", f.name());
    }
    let binades = |f| domain(f, BINARY64).searched.len();
    assert_eq!(binades(Sqrt), 2);
    assert_eq!(binades(Cbrt), 3);
    assert_eq!(binades(Rsqrt), 2);
    // Those of which results overflow or underflow have nothing to search, but are not left out.
    let q = Query {
        function: Power(3),
        format: BINARY64,
        bits: 44,
        isa: None,
    };
    let power = Units::domain(&q).searched() >> 52;
    assert!((1..40).contains(&power), "{power}");
    assert!(binades(Log2) < 15, "{}", binades(Log2));
    // Where results become subnormal, nothing follows.
    let grid = |x: f64| {
        let (m, e) = BINARY64.split(x).unwrap();
        let first = m & !((1 << 52) - 1);
        BinadeGrid {
            negative: x < 0.0,
            exponent: e,
            first,
            end: first << 1,
        }
    };
    let left = left_to_search(Exp2, BINARY64, &grid(-700.0)).0.unwrap();
    assert_eq!(left.value(left.first), -1022.0 - 2f64.powi(-43));
    assert!(
        left_to_search(Power(3), BINARY64, &grid(2f64.powi(-342)))
            .0
            .is_some()
    );
    assert!(
        left_to_search(Power(3), BINARY64, &grid(2f64.powi(-340)))
            .0
            .is_none()
    );
}
