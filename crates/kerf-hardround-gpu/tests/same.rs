//! The kernels, on the CPU executor, give what the processor's own search gives.
use kerf_exec::cpu::{CpuExecutor, CpuOptions};
use kerf_hardround::format::BINARY64;
use kerf_hardround::function::ElementaryFunction;
use kerf_hardround::leaf::{self, Query};
use kerf_hardround::search::{Isa, Scratch};
use kerf_hardround::units::Units;
use kerf_hardround_gpu::{BatchSizes, GpuError, SearchWork, search_opening};
use std::ops::ControlFlow;

#[test]
fn kernels_find_the_same() {
    let module = kerf_hardround_gpu::program("sm_90").unwrap();
    for (f, from, to, bits) in [
        (ElementaryFunction::Exp, 1.0, 1.0 + 2f64.powi(-19), 26),
        (ElementaryFunction::Log, 0.75, 0.75 + 2f64.powi(-20), 26),
        (ElementaryFunction::Sin, -0.75 - 2f64.powi(-20), -0.75, 26),
    ] {
        let q = Query {
            function: f,
            format: BINARY64,
            bits,
            isa: Some(Isa::best()),
        };
        let units = Units::new(&q, from, to).unwrap();
        let mut exec = CpuExecutor::new(&module, CpuOptions::default()).unwrap();
        let mut there = Vec::new();
        let all = kerf_hardround_gpu::search(
            &mut exec,
            &SearchWork {
                query: &q,
                units: &units,
                range: 0..units.len(),
                threads: 2,
                room: BatchSizes::usual(2),
            },
            |_| true,
            |i, g, found| {
                there.push((i, g, found));
                ControlFlow::Continue(())
            },
        );
        assert!(all.unwrap());
        there.sort_by_key(|t| t.0);
        assert_eq!(there.len() as u64, units.len());
        let (mut tested, mut failed) = (0, 0);
        for (i, g, found) in there {
            assert_eq!(units.get(i), Some(g));
            let here = leaf::search(&q, &g, &mut Scratch::default());
            assert!(!here.cases.is_empty());
            assert_eq!(found.cases, here.cases, "{}", f.name());
            assert_eq!(found.exact, here.exact);
            let places = |f: &leaf::FoundCases| -> Vec<_> {
                f.pieces.iter().map(|p| (p.first, p.length)).collect()
            };
            assert_eq!(places(&found), places(&here));
            tested += found.counts.tested[0];
            // Nearly all intervals are settled at once.
            failed += found.counts.failed[0];
        }
        assert!(tested >= 16384, "the kernels were not used: {tested}");
        assert!(100 * failed < tested, "{}: {failed} of {tested}", f.name());
    }
}

/// With hardly any room for lines or candidates, batches are done again in halves and then here: nothing is lost.
#[test]
fn too_little_room_loses_nothing() {
    let module = kerf_hardround_gpu::program("sm_90").unwrap();
    let q = Query {
        function: ElementaryFunction::Exp,
        format: BINARY64,
        bits: 24,
        isa: Some(Isa::best()),
    };
    let units = Units::new(&q, 1.0, 1.0 + 2f64.powi(-20)).unwrap();
    let here: Vec<_> = (0..units.len())
        .flat_map(|i| {
            let g = units.get(i).unwrap();
            leaf::search(&q, &g, &mut Scratch::default()).cases
        })
        .collect();
    for (lines, candidates) in [(1.0, 1 << 16), (1e-9, 1 << 16), (1.0, 3), (1e-9, 0)] {
        let mut exec = CpuExecutor::new(&module, CpuOptions::default()).unwrap();
        let mut there = Vec::new();
        let work = SearchWork {
            query: &q,
            units: &units,
            range: 0..units.len(),
            threads: 2,
            room: BatchSizes {
                lines,
                candidates,
                ..BatchSizes::usual(64)
            },
        };
        let all = kerf_hardround_gpu::search(
            &mut exec,
            &work,
            |_| true,
            |i, _, found| {
                there.push((i, found.cases));
                ControlFlow::Continue(())
            },
        );
        assert!(all.unwrap());
        there.sort_by_key(|t| t.0);
        let there: Vec<_> = there.into_iter().flat_map(|t| t.1).collect();
        assert_eq!(there, here, "{lines} {candidates}");
    }
}

/// A device that cannot be opened ends a search whose units wait for it.
#[test]
fn no_device() {
    let q = Query {
        function: ElementaryFunction::Exp,
        format: BINARY64,
        bits: 60,
        isa: Some(Isa::best()),
    };
    let units = Units::new(&q, 2f64.powi(-1000), 0.5).expect("a range");
    let work = SearchWork {
        query: &q,
        units: &units,
        range: 0..units.len(),
        threads: 2,
        room: BatchSizes::usual(64),
    };
    let open = || Err(GpuError::Full);
    let result = search_opening(open, &work, |_| true, |_, _, _| ControlFlow::Continue(()));
    assert!(matches!(result, Err(GpuError::Full)));
}
