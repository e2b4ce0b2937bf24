//! The kernels, on the CPU executor, give what the processor's own search gives.
use kerf_exec::cpu::{CpuExecutor, CpuOptions};
use kerf_hardround::format::BINARY64;
use kerf_hardround::function::Function;
use kerf_hardround::leaf::{self, Query};
use kerf_hardround::search::{Isa, Scratch};
use kerf_hardround::units::Units;
use std::ops::ControlFlow;

#[test]
fn kernels_find_the_same() {
    let module = kerf_hardround_gpu::program("sm_90").unwrap();
    for (f, from, to, bits) in [
        (Function::Exp, 1.0, 1.0 + 2f64.powi(-19), 26),
        (Function::Log, 0.75, 0.75 + 2f64.powi(-20), 26),
        (Function::Sin, -0.75 - 2f64.powi(-20), -0.75, 26),
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
            &q,
            &units,
            2,
            2,
            |_| true,
            |i, g, found| {
                there.push((i, g, found));
                ControlFlow::Continue(())
            },
        );
        assert!(all.unwrap());
        there.sort_by_key(|t| t.0);
        assert_eq!(there.len() as u64, units.len());
        let mut tested = 0;
        for (i, g, found) in there {
            assert_eq!(units.get(i), Some(g));
            let here = leaf::search(&q, &g, &mut Scratch::default());
            assert!(!here.cases.is_empty());
            assert_eq!(found.cases, here.cases, "{}", f.name());
            assert_eq!(found.exact, here.exact);
            assert_eq!(found.pieces, here.pieces);
            tested += found.counts.tested[0];
            // Quotients may differ by one, so counts of failures are near each other, not equal.
            let (a, b) = (found.counts.failed[0] as f64, here.counts.failed[0] as f64);
            assert!((a - b).abs() <= 0.01 * b + 2.0, "{a} {b}");
        }
        assert!(tested >= 16384, "the kernels were not used: {tested}");
    }
}
