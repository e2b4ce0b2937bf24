//! The search against MPFR on every argument, and against the walk on longer ranges.
use crate::common;

use common::{Random, functions, listed, range};
use kerf_hardround::confirm::value;
use kerf_hardround::format::{
    BFLOAT16, BINARY16, BINARY32, BINARY64, BinadeGrid, BinaryFormat, hex,
};
use kerf_hardround::function::ElementaryFunction;
use kerf_hardround::leaf::{Query, search};
use kerf_hardround::search::{Isa, Scratch};

/// Arguments that are hard, the exact ones apart.
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

#[test]
fn as_mpfr_on_every_argument() {
    let mut r = Random(1);
    for f in functions() {
        for format in [BINARY64, BINARY64, BINARY32, BFLOAT16, BINARY16] {
            let length = 400 + r.below(600);
            let mut g = range(f, format, length, &mut r);
            g.exponent = g.exponent.max(format.lowest);
            let bits = 3 + r.below(6) as u32;
            let query = Query {
                function: f,
                format,
                bits,
                isa: Some(Isa::best()),
            };
            let found = search(&query, &g, &mut Scratch::default());
            let (hard, exact) = brute(f, format, bits, &g);
            let all = listed(&found, &g);
            // Exact cases inside uniform pieces count as hard there.
            let all: Vec<f64> = all.into_iter().filter(|x| !exact.contains(x)).collect();
            let place = format!(
                "{} {} {bits} from {}",
                f.name(),
                format.name,
                hex(g.value(g.first))
            );
            assert_eq!(all, hard, "{place}");
            let covered: u64 = found.pieces.iter().map(|p| p.length).sum();
            assert_eq!(covered, g.len(), "{place}");
        }
    }
}

#[test]
fn as_the_walk_on_longer_ranges() {
    let mut r = Random(2);
    let mut tested = 0;
    for f in functions() {
        for isa in Isa::all() {
            let length = (1 << 21) + r.below(1 << 20);
            let g = range(f, BINARY64, length, &mut r);
            let query = |isa| Query {
                function: f,
                format: BINARY64,
                bits: 16,
                isa,
            };
            let fast = search(&query(Some(isa)), &g, &mut Scratch::default());
            let slow = search(&query(None), &g, &mut Scratch::default());
            let place = format!("{} {} from {}", f.name(), isa.name(), hex(g.value(g.first)));
            assert_eq!(fast.cases, slow.cases, "{place}");
            assert_eq!(fast.exact, slow.exact, "{place}");
            tested += fast.counts.tested[0];
        }
    }
    assert!(
        tested > 10_000,
        "the test on intervals was used on {tested} only"
    );
}

/// Slopes next to simple fractions: intervals are long, and what fails to the end is found without visiting.
#[test]
fn as_the_walk_where_lines_are_long() {
    let query = |isa| Query {
        function: ElementaryFunction::Acos,
        format: BINARY64,
        bits: 24,
        isa,
    };
    let x = 1.0 / 512.0f64;
    let to = f64::from_bits(x.to_bits() + (1 << 30));
    let (parts, _) = kerf_hardround::format::grids(BINARY64, x, to).unwrap();
    let best = Some(Isa::best());
    let fast = search(&query(best), &parts[0], &mut Scratch::default());
    let slow = search(&query(None), &parts[0], &mut Scratch::default());
    assert_eq!(fast.cases, slow.cases);
    let walked = fast.counts.walked / fast.counts.failed[3].max(1);
    assert!(walked > 8192 && fast.cases.len() > 60, "{walked}");
}

/// Where the unit of the result changes within the range, F'' changes its sign, or the value is near zero.
#[test]
fn at_zeros_and_edges_of_binades() {
    use ElementaryFunction::*;
    let places = [
        (Sin, std::f64::consts::PI),
        (Sin, -2.0 * std::f64::consts::PI),
        (Cos, std::f64::consts::FRAC_PI_2),
        (Tan, std::f64::consts::PI),
        (Tan, std::f64::consts::FRAC_PI_2),
        (Log, 1.0),
        (Log2, 1.0),
        (Log10, 1.0),
        (Exp, std::f64::consts::LN_2),
        (Exp2, -1.0),
        (Exp10, 22.0),
        (Acos, 1.0),
        (Asin, -1.0),
        (Cosh, 1.0),
        (Cbrt, 8.0),
        (Rsqrt, 4.0),
        (Power(2), std::f64::consts::SQRT_2),
        (Exp, -745.1),
        (Exp, -708.4),
        (Exp, 709.78),
        (Expm1, -0.7),
        (Atan, 1.0),
        (Tanh, 0.55),
        (Log1p, -0.5),
        // Next to a limit, where all are hard.
        (Tanh, 19.5),
        (Tanh, 40.0),
        (Tanh, 64.0),
        (Tanh, 89.9),
        (Expm1, -37.0),
        (Expm1, -100.0),
        (Expm1, -179.0),
    ];
    for (f, x) in places {
        // From 300 arguments before to 300 after, as far as the function goes.
        let step = |n: i64| f64::from_bits((x.to_bits() as i64 + n) as u64);
        let ends = [step(-300), step(300)];
        let (from, to) = (ends[0].min(ends[1]), ends[0].max(ends[1]));
        let (parts, _) = kerf_hardround::format::grids(BINARY64, from, to).unwrap();
        for g in parts
            .iter()
            .filter(|g| f.has(g.value(g.first)) && f.has(g.value(g.end - 1)))
        {
            let query = |isa| Query {
                function: f,
                format: BINARY64,
                bits: 5,
                isa,
            };
            let found = search(&query(Some(Isa::best())), g, &mut Scratch::default());
            let (hard, exact) = brute(f, BINARY64, 5, g);
            let all: Vec<f64> = listed(&found, g)
                .into_iter()
                .filter(|x| !exact.contains(x))
                .collect();
            assert_eq!(all, hard, "{} at {}", f.name(), hex(x));
            // A longer range up to the place, by the test and by the walk; next to a pole most is evaluated.
            let length = match f {
                Tan | Acos | Asin => 1 << 12,
                _ => 1 << 20,
            };
            let long = g.part(g.first.saturating_sub(length).max(1 << 52), g.end);
            let query = |isa| Query {
                bits: 14,
                ..query(isa)
            };
            let fast = search(&query(Some(Isa::best())), &long, &mut Scratch::default());
            let slow = search(&query(None), &long, &mut Scratch::default());
            assert_eq!(fast.cases, slow.cases, "{} before {}", f.name(), hex(x));
        }
    }
}
