//! The search against MPFR on every argument, and against the walk on longer ranges.
mod common;

use common::{Random, functions, range};
use kerf_hardround::confirm::value;
use kerf_hardround::format::{BFLOAT16, BINARY16, BINARY32, BINARY64, Format, Grid, hex};
use kerf_hardround::function::Function;
use kerf_hardround::leaf::{Found, Method, Query, search};
use kerf_hardround::search::{Isa, Scratch};

/// Arguments that are hard, the exact ones apart.
fn brute(f: Function, format: Format, bits: u32, g: &Grid) -> (Vec<f64>, Vec<f64>) {
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

fn listed(found: &Found, g: &Grid) -> Vec<f64> {
    let mut all: Vec<f64> = found.cases.iter().map(|c| c.x).collect();
    // Pieces where all are hard are not listed one by one.
    for p in found.pieces.iter().filter(|p| p.method == Method::AllHard) {
        all.extend((p.first..p.first + p.length).map(|m| g.value(m)));
    }
    all.sort_by(|a, b| a.abs().total_cmp(&b.abs()));
    all
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
