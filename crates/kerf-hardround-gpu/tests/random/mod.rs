//! Random ranges on which the kernels are compared with the walk over every argument.
#![allow(dead_code)] // Tests and examples use some of it each.
#[path = "../../../kerf-hardround/tests/common/mod.rs"]
mod common;

pub use common::{Random, functions};

use kerf_exec::Executor;
use kerf_hardround::format::{BINARY64, BinadeGrid, hex};
use kerf_hardround::function::ElementaryFunction;
use kerf_hardround::leaf::{HardCase, Query, search};
use kerf_hardround::search::{Isa, Scratch};
use kerf_hardround::units::Units;
use kerf_hardround_gpu::{BatchSizes, SearchWork};
use std::ops::ControlFlow;

/// What was compared of one function.
#[derive(Debug, Default)]
pub struct Sum {
    /// Ranges.
    pub ranges: u64,
    /// Arguments in them.
    pub arguments: u64,
    /// Intervals that the kernels had.
    pub tested: u64,
    /// Of those, ones that the first kernel gave up.
    pub failed: u64,
    /// Hard cases.
    pub cases: u64,
}

/// Compares one range of 2^24 to 2^most arguments.
pub fn compare(
    exec: &mut dyn Executor,
    f: ElementaryFunction,
    most: u64,
    r: &mut Random,
    sum: &mut Sum,
) {
    let log = 24 + r.below(most - 23);
    let length = (1 << log) + r.below(1 << 20);
    let mut g = common::range(f, BINARY64, length, r);
    // The number before the first of a binade is not of its grid.
    g.first += u64::from(g.negative && g.first == 1 << 52);
    let bits = (log as u32).saturating_sub(r.below(10) as u32).max(14);
    let query = |isa| Query {
        function: f,
        format: BINARY64,
        bits,
        isa,
    };
    let q = query(Some(Isa::best()));
    let points = [0.1, 0.5, 4.0][r.below(3) as usize];
    let rounds = 1 + r.below(2) as u32;
    let place = format!(
        "{} {bits} {points} {rounds} from {}",
        f.name(),
        hex(g.value(g.first))
    );
    let (cases, exact) = there(exec, &q, &g, points, rounds, sum);
    let slow = search(&query(None), &g, &mut Scratch::default());
    assert_eq!(cases, slow.cases, "{place}");
    assert_eq!(exact, slow.exact, "{place}");
    sum.ranges += 1;
    sum.arguments += g.len();
    sum.cases += cases.len() as u64;
}

/// The cases of a grid by the kernels, and the exact ones.
fn there(
    exec: &mut dyn Executor,
    q: &Query,
    g: &BinadeGrid,
    points: f64,
    rounds: u32,
    sum: &mut Sum,
) -> (Vec<HardCase>, Vec<f64>) {
    let (from, to) = match g.negative {
        false => (g.value(g.first), g.value(g.end)),
        true => (g.value(g.end - 1), g.value(g.first - 1)),
    };
    let units = Units::new(q, from, to).expect("a range");
    assert_eq!(units.arguments(), u128::from(g.len()));
    let room = BatchSizes {
        points,
        rounds,
        ..BatchSizes::usual(64)
    };
    let work = SearchWork {
        query: q,
        units: &units,
        range: 0..units.len(),
        threads: 1,
        room,
    };
    let (mut cases, mut exact) = (Vec::new(), Vec::new());
    let all = kerf_hardround_gpu::search(
        exec,
        &work,
        |_| true,
        |_, _, found| {
            cases.extend(found.cases);
            exact.extend(found.exact);
            sum.tested += found.counts.tested[0];
            sum.failed += found.counts.failed[0];
            ControlFlow::Continue(())
        },
    );
    assert!(all.expect("a search"));
    cases.sort_by(|a, b| a.x.abs().total_cmp(&b.x.abs()));
    exact.sort_by(|a, b| a.abs().total_cmp(&b.abs()));
    (cases, exact)
}
