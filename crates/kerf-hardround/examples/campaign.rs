//! The search against MPFR on every argument of short ranges, and against the walk on longer ones, in random
//! binades of every function, for some time: `campaign SEED SECONDS`. Says what was compared; stops at a
//! difference.
#[path = "../tests/common/mod.rs"]
mod common;

use common::{Random, functions, listed, range};
use kerf_hardround::confirm::value;
use kerf_hardround::format::{
    BFLOAT16, BINARY16, BINARY32, BINARY64, BinadeGrid, BinaryFormat, hex,
};
use kerf_hardround::function::ElementaryFunction;
use kerf_hardround::leaf::{Query, search};
use kerf_hardround::search::{Isa, Scratch};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// What was compared of one function.
#[derive(Default)]
struct Sum {
    ranges: u64,
    evaluated: u64,
    hard: u64,
    walked: u64,
    tested: u64,
    found: u64,
    binades: std::collections::BTreeSet<(bool, i32)>,
}

fn brute(
    f: ElementaryFunction,
    format: BinaryFormat,
    bits: u32,
    g: &BinadeGrid,
) -> (Vec<f64>, Vec<f64>) {
    let (mut hard, mut exact) = (Vec::new(), Vec::new());
    for m in g.first..g.end {
        match value(f, format, &g.float(m, 64)).map(|v| v.k) {
            Ok(Some(k)) if k >= bits => hard.push(g.value(m)),
            Ok(None) => exact.push(g.value(m)),
            _ => {}
        }
    }
    (hard, exact)
}

/// A range as the tests have them, or at places that they seldom meet: results that are subnormal or overflow,
/// subnormal arguments, large arguments of sine, cosine and tangent, and the last numbers before 1.
fn anywhere(
    f: ElementaryFunction,
    format: BinaryFormat,
    length: u64,
    r: &mut Random,
) -> BinadeGrid {
    let mut g = range(f, format, length, r);
    g.exponent = g.exponent.max(format.lowest);
    if format.name != "binary64" || r.below(4) > 0 {
        return g;
    }
    let inside = |x: f64| f.has(x);
    // Many of these are evaluated one by one.
    let length = length.min(1 << 12);
    let at = |x: f64, r: &mut Random| {
        let (m, e) = format
            .split(x + x * (r.below(1 << 20) as f64 * 2f64.powi(-20)))
            .expect("a number");
        let m = m.min((1 << 53) - length);
        BinadeGrid {
            negative: x < 0.0,
            exponent: e,
            first: m,
            end: m + length,
        }
    };
    use ElementaryFunction::*;
    let edge = match f {
        Exp => [-700.0, -744.0, 709.0, -745.0],
        Exp2 => [-1022.0, -1074.0, 1023.0, -1060.0],
        Exp10 => [-308.0, -323.0, 308.0, -320.0],
        Expm1 | Sinh | Cosh => [709.0, -36.0, 37.0, 0.6],
        Sin | Cos | Tan => [1e4, 1e6, -1e5, 3e8],
        Log1p => [-0.5, -0.75, 1e15, 1e200],
        Atan => [1e5, -1e10, 1e16, 0.4],
        Tanh => [9.0, 18.0, -12.0, 19.0],
        Asin | Acos => [0.5, -0.5, 0.25, 0.9],
        _ => [
            2f64.powi(-1060),
            2f64.powi(-1070),
            2f64.powi(-1025),
            2f64.powi(1022),
        ],
    };
    let x = edge[r.below(4) as usize];
    if matches!(f, Asin | Acos) && r.below(2) == 0 {
        return BinadeGrid {
            first: (1 << 53) - length,
            end: 1 << 53,
            exponent: -53,
            ..g
        };
    }
    let other = at(x, r);
    if other.first > 0 && inside(other.value(other.first)) && inside(other.value(other.end - 1)) {
        g = other;
    }
    g
}

fn main() {
    let a: Vec<String> = std::env::args().collect();
    let [_, seed, seconds] = a.as_slice() else {
        panic!("usage: campaign SEED SECONDS");
    };
    let mut r = Random(seed.parse().expect("a seed"));
    let limit = Duration::from_secs(seconds.parse().expect("seconds"));
    let clock = Instant::now();
    let mut sums: BTreeMap<String, Sum> = BTreeMap::new();
    while clock.elapsed() < limit {
        for f in functions() {
            let sum = sums.entry(f.name()).or_default();
            let format =
                [BINARY64, BINARY64, BINARY64, BINARY32, BFLOAT16, BINARY16][r.below(6) as usize];
            let length = 100 + r.below(900);
            let g = anywhere(f, format, length, &mut r);
            let query = |bits, isa| Query {
                function: f,
                format,
                bits,
                isa,
            };
            let bits = 3 + r.below(8) as u32;
            let place = format!(
                "{} {} {bits} {}",
                f.name(),
                format.name,
                hex(g.value(g.first))
            );
            for isa in Isa::all() {
                let found = search(&query(bits, Some(isa)), &g, &mut Scratch::default());
                let (hard, exact) = brute(f, format, bits, &g);
                let all: Vec<f64> = listed(&found, &g)
                    .into_iter()
                    .filter(|x| !exact.contains(x))
                    .collect();
                assert_eq!(all, hard, "{place}");
                sum.hard += hard.len() as u64;
            }
            sum.evaluated += g.len();
            sum.binades.insert((g.negative, g.exponent));
            sum.ranges += 1;
            // The test against the walk.
            let g = anywhere(f, BINARY64, (1 << 18) + r.below(1 << 20), &mut r);
            let isa = Isa::all()[r.below(Isa::all().len() as u64) as usize];
            let bits = 14 + r.below(14) as u32;
            let query = |isa| Query {
                function: f,
                format: BINARY64,
                bits,
                isa,
            };
            let fast = search(&query(Some(isa)), &g, &mut Scratch::default());
            let slow = search(&query(None), &g, &mut Scratch::default());
            let place = format!("{} {} {}", f.name(), isa.name(), hex(g.value(g.first)));
            assert_eq!(fast.cases, slow.cases, "{place}");
            assert_eq!(fast.exact, slow.exact, "{place}");
            sum.walked += g.len();
            sum.tested += fast.counts.tested[0];
            sum.found += fast.cases.len() as u64;
            sum.binades.insert((g.negative, g.exponent));
        }
    }
    println!("function,ranges,binades,by_mpfr,hard,by_walk,intervals_tested,cases");
    for (f, s) in sums {
        println!(
            "{f},{},{},{},{},{},{},{}",
            s.ranges,
            s.binades.len(),
            s.evaluated,
            s.hard,
            s.walked,
            s.tested,
            s.found
        );
    }
}
