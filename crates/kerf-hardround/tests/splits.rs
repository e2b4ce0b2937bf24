//! Ranges with poles, zeros, ends of domains, limits and changes of the result's binade: how they are divided, and that
//! nothing is missed there.
use crate::common;

use common::{Random, functions, listed};
use kerf_hardround::confirm::value;
use kerf_hardround::format::{BINARY64, BinadeGrid, hex, parse};
use kerf_hardround::function::ElementaryFunction::{self, *};
use kerf_hardround::leaf::{PieceMethod, Query, search};
use kerf_hardround::search::{Isa, Scratch};
use kerf_hardround::units::Units;

fn query(function: ElementaryFunction, bits: u32) -> Query {
    Query {
        function,
        format: BINARY64,
        bits,
        isa: Some(Isa::best()),
    }
}

/// Seconds of a core that a range takes.
fn cost(f: ElementaryFunction, from: f64, to: f64) -> f64 {
    let units = Units::new(&query(f, 44), from, to).unwrap();
    units.cost().total()
}

/// 2^3 is a power of two in the middle of [2, 4): only next to it are results of two binades.
#[test]
fn binades_of_results_are_no_obstacle() {
    let exp = cost(Exp, 2.0, 4.0);
    for (f, from) in [
        (Exp2, 2.0),
        (Exp2, 4.0),
        (Exp2, -4.0),
        (Exp2, 64.0),
        (Exp10, 16.0),
        (Exp, 512.0),
        (Power(64), 1.0),
        (Power(-3), 1.0),
    ] {
        let took = cost(f, from, if from < 0.0 { from / 2.0 } else { from * 2.0 });
        assert!(
            took < 20.0 * exp * f64::abs(from).sqrt(),
            "{} {from}: {took} {exp}",
            f.name()
        );
    }
}

/// The pole costs as much as some of the rest: intervals become short, but there are fewer arguments too.
#[test]
fn poles_zeros_and_ends_are_divided() {
    let exp = cost(Exp, 1.0, 2.0);
    for (f, from, to) in [
        (Tan, 1.0, 2.0),
        (Tan, 4.0, 8.0),
        (Sin, 2.0, 4.0),
        (Cos, 1.0, 2.0),
        (Log, 0.5, 1.0),
        (Log1p, -1.0 + 2f64.powi(-53), -0.5),
        (Acos, 0.5, 1.0),
        (Asin, 0.5, 1.0),
        (Tanh, 16.0, 32.0),
        (Expm1, -64.0, -32.0),
        (Exp, -1024.0, -512.0),
        (Atan, 1.0, 2.0),
        (Log, f64::from_bits(1), 2f64.powi(-1021)),
    ] {
        let took = cost(f, from, to);
        assert!(took < 40.0 * exp, "{} {from}: {took} {exp}", f.name());
    }
}

/// Units are the arguments of the range, each once, in order.
#[test]
fn units_leave_nothing_out() {
    for (f, from, to) in [
        (Tan, 1.5, 1.7),
        (Tan, -8.0, -4.0),
        (Exp2, 2.0, 8.0),
        (Exp, -746.0, -700.0),
        (Exp, 700.0, 720.0),
        (Tanh, 16.0, 128.0),
        (Acos, 0.75, 1.0),
        (Log, 0.5, 2.0),
        (Sin, -2f64.powi(-20), -2f64.powi(-30)),
        (Cos, 2f64.powi(-1074), 2f64.powi(-1010)),
    ] {
        let q = query(f, 44);
        let units = Units::new(&q, from, to).unwrap();
        let (grids, _) = kerf_hardround::format::grids(BINARY64, from, to).unwrap();
        let mut grids = grids.into_iter();
        let mut left: Option<BinadeGrid> = None;
        // Of parts with many units, the first and the last.
        let mut cost = 0.0;
        let mut before = 0;
        for (grid, unit, total) in units.parts() {
            let g = left.take().or_else(|| grids.next()).expect("a binade");
            assert_eq!(
                (grid.negative, grid.exponent, grid.first),
                (g.negative, g.exponent, g.first)
            );
            let count = (grid.end - 1) / unit - grid.first / unit + 1;
            assert_eq!(units.get(before).unwrap().first, grid.first);
            assert_eq!(units.get(before + count - 1).unwrap().end, grid.end);
            cost += total.total();
            before += count;
            left = (grid.end < g.end).then(|| g.part(grid.end, g.end));
        }
        assert_eq!(before, units.len());
        assert!(
            left.is_none() && grids.next().is_none(),
            "{} {from}",
            f.name()
        );
        let sum = units.cost().total();
        assert!((cost - sum).abs() < 1e-9 * sum, "{cost} {sum}");
    }
}

/// Against MPFR on every argument, in units as the search is divided into, around places of every kind.
#[test]
fn as_mpfr_in_difficult_places() {
    let pi = std::f64::consts::PI;
    let mut hard_cases = 0;
    for (f, x, bits) in [
        (Exp2, 3.0, 6),
        (Exp2, -3.0, 6),
        (Exp2, -1022.0, 6),
        (Exp2, -1074.0, 6),
        (Exp2, -1075.0, 6),
        (Exp10, 308.25471555991674, 6),
        (Tan, 1.5 * pi, 6),
        (Tan, 2.5 * pi, 6),
        (Tan, 2.0 * pi, 6),
        (Cos, 2.5 * pi, 6),
        (Log2, 1.0, 6),
        (Acos, 1.0, 6),
        (Log1p, -1.0, 6),
        (Expm1, -36.75, 6),
        (Tanh, 19.0625, 6),
        (Cbrt, f64::from_bits(40), 6),
        (Rsqrt, f64::from_bits(40), 6),
        (Log, f64::from_bits(40), 6),
        (Power(-1), 2f64.powi(1023), 6),
        (Power(2), 2f64.powi(-511), 6),
        (Power(2), 2f64.powi(512), 6),
    ] {
        // 600 numbers to each side, as far as the domain goes.
        let step = |n: i64| {
            let magnitude = f64::from_bits((x.abs().to_bits() as i64 + n).max(1) as u64);
            magnitude.copysign(x)
        };
        let mut ends = [step(-600), step(600)];
        for (i, side) in [(0, -1), (1, 1)] {
            if !f.has(ends[i]) {
                ends[i] = step(-side);
            }
        }
        let (from, to) = (ends[0].min(ends[1]), ends[0].max(ends[1]));
        let q = query(f, bits);
        let units = Units::new(&q, from, to).unwrap();
        let mut count = 0;
        for g in (0..units.len()).map_while(|i| units.get(i)) {
            let found = search(&q, &g, &mut Scratch::default());
            let (mut hard, mut exact) = (Vec::new(), Vec::new());
            for m in g.first..g.end {
                match value(f, BINARY64, &g.float(m, 64)).map(|v| v.k) {
                    Ok(Some(k)) if k >= bits => hard.push(g.value(m)),
                    Ok(None) => exact.push(g.value(m)),
                    _ => {}
                }
            }
            let all = listed(&found, &g).into_iter();
            let all: Vec<f64> = all.filter(|x| !exact.contains(x)).collect();
            assert_eq!(all, hard, "{} at {}", f.name(), hex(x));
            count += g.len();
            hard_cases += hard.len();
        }
        assert!(count > 30, "{} at {}: {count}", f.name(), hex(x));
    }
    assert!(hard_cases > 300, "{hard_cases}");
}

/// Next to a pole arguments are visited by runs of vectors; the same as one by one, for each kind of vectors.
#[test]
fn runs_of_vectors_as_one_by_one() {
    let mut r = Random(7);
    let mut walked = 0;
    for isa in Isa::all() {
        for (f, x) in [
            (Tan, std::f64::consts::FRAC_PI_2),
            (Tan, 2.5 * std::f64::consts::PI),
            (Acos, 1.0 - f64::EPSILON),
            (Sin, 3.3e6),
        ] {
            for distance in [34, 36, 38] {
                let (m, e) = BINARY64.split(x).unwrap();
                let first = m - (1 << distance) - r.below(1 << (distance - 2));
                let first = first.max(1 << 52);
                let g = BinadeGrid {
                    negative: false,
                    exponent: e,
                    first,
                    end: first + 70_000 + r.below(3000),
                };
                let with = |isa| Query {
                    isa,
                    ..query(f, 12)
                };
                let fast = search(&with(Some(isa)), &g, &mut Scratch::default());
                let slow = search(&with(None), &g, &mut Scratch::default());
                let place = format!("{} {} {}", f.name(), isa.name(), hex(g.value(first)));
                assert_eq!(fast.cases, slow.cases, "{place}");
                assert!(fast.cases.len() > 10, "{place}");
                walked += fast.counts.walked;
            }
        }
    }
    assert!(walked > 500_000, "{walked}");
}

/// Hard cases from V. Lefevre's tables and CORE-MATH's lists, each found again among the 2^26 arguments around it.
#[test]
fn published_cases_are_found() {
    for (f, x, k) in PUBLISHED {
        let x = parse(x).unwrap();
        let (m, e) = BINARY64.split(x).unwrap();
        let first = (m - (1 << 25)).max(1 << 52);
        let g = BinadeGrid {
            negative: x < 0.0,
            exponent: e,
            first,
            end: (m + (1 << 25)).min(1 << 53),
        };
        let found = search(&query(f, 40), &g, &mut Scratch::default());
        let there = found.cases.iter().find(|c| c.x == x);
        let there = there.and_then(|c| c.value.k);
        assert_eq!(there, Some(k), "{} {}", f.name(), hex(x));
    }
}

/// Argument, and identical bits after the round bit. Those of exp2 beyond 2 have the same fractions as CORE-MATH's of
/// [2^9, 2^10).
const PUBLISHED: [(ElementaryFunction, &str, u32); 20] = [
    (Exp2, "0x1.e4596526bf94dp-10", 59),
    (Exp2, "0x1.02ff1388649p+1", 45),
    (Exp2, "0x1.3b81681e9bap+1", 46),
    (Exp2, "0x1.017f89c43248p+2", 45),
    (Exp2, "0x1.0002ff1388649p+9", 45),
    (Exp2, "0x1.003b81681e9bap+9", 46),
    (Exp, "-0x1.12d31a20fb38bp+5", 58),
    (Exp, "0x1.d6336a88077aap+0", 53),
    (Log, "0x1.ac50b409c8aeep+8", 60),
    (Sin, "0x1.fe767739d0f6dp-2", 65),
    (Sin, "0x1.e0000000001c2p-20", 72),
    (Cos, "0x1.34ec2f9fc9c00p+1", 58),
    (Cos, "0x1.06b505550e6b2p-9", 58),
    (Tan, "0x1.50486b2f87014p-5", 57),
    (Tan, "0x1.dffffffffff1fp-22", 78),
    (Tan, "0x1.005c4ae44e6cp+0", 44),
    (Tan, "0x1.1afd1ba827015p+0", 47),
    (Acos, "0x1.fd737be914578p-11", 62),
    (Sinh, "0x1.897374d74de2ap-13", 56),
    (Cosh, "0x1.ea5f2f2e4b0c5p+1", 57),
];

/// No function's whole domain has a part that nothing describes.
#[test]
fn every_function_has_a_plan() {
    for f in functions() {
        let q = query(f, 48);
        let (from, to) = match f {
            Asin | Acos | Asinpi | Acospi | Atanh => (0.5, 1.0),
            Acosh => (1.0, 4.0),
            _ => (0.25, 2.0),
        };
        let units = Units::new(&q, from, to).unwrap();
        let hours = units.cost().total() / 3600.0;
        assert!(hours < 500.0, "{}: {hours}", f.name());
    }
}

/// Next to zero all values are hard, then none is: the place in between is found in one binade of 2^52 arguments, and the
/// hard ones before it are not listed one by one.
#[test]
fn the_end_of_a_uniform_region_is_found() {
    for (f, from) in [(Asin, -47), (Tanh, -47), (Atan, -47)] {
        let q = query(f, 42);
        let grid = BinadeGrid {
            negative: false,
            exponent: from - 52,
            first: 1 << 52,
            end: 1 << 53,
        };
        let found = search(&q, &grid, &mut Scratch::default());
        let is = |m: &PieceMethod| found.pieces.iter().any(|p| &p.method == m);
        assert!(is(&PieceMethod::AllHard) && is(&PieceMethod::NoneHard));
        // Bounds have a slack of 1e-11, which is 3e4 arguments here.
        assert!(found.counts.evaluated < 50_000, "{:?}", found.counts);
        // Every argument up to the last of the list is hard, none after it.
        let last = found.cases.last().map(|c| c.x).unwrap();
        let k = |x: f64| value(f, BINARY64, &rug::Float::with_val(64, x)).unwrap().k;
        assert!(
            k(last) >= Some(42) && k(last.next_up()) < Some(42),
            "{} {last:e}",
            f.name()
        );
    }
}
