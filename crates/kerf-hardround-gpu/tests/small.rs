//! Small formats: the kernel's counts are those of the processor.
use kerf_exec::cpu::{CpuExecutor, CpuOptions};
use kerf_hardround::exhaustive::{ArgumentTally, tally};
use kerf_hardround::format::{BFLOAT16, BINARY16, BINARY32, BinaryFormat};
use kerf_hardround::function::ElementaryFunction;
use kerf_hardround::leaf::{HardCase, Query};
use kerf_hardround::units::Units;
use kerf_hardround_gpu::small::{self, SmallBatchSizes};

fn here(q: &Query, units: &Units) -> (ArgumentTally, Vec<HardCase>) {
    let mut all = (ArgumentTally::default(), Vec::new());
    for g in (0..units.len()).map_while(|i| units.get(i)) {
        let (t, c) = tally(q, &g);
        all.0.add(&t);
        all.1.extend(c);
    }
    all.1.sort_by(|a, b| a.x.total_cmp(&b.x));
    all
}

fn query(function: ElementaryFunction, format: BinaryFormat, bits: u32) -> Query {
    Query {
        function,
        format,
        bits,
        isa: None,
    }
}

fn same(q: &Query, units: &Units, room: SmallBatchSizes) {
    let module = small::program("sm_90").unwrap();
    let mut exec = CpuExecutor::new(&module, CpuOptions::default()).unwrap();
    let there = small::count(&mut exec, q, units, 2, room).unwrap();
    let expected = here(q, units);
    let (mut a, mut b) = (there.0, expected.0);
    // Trailing zeros are no difference.
    let long = a.by_k.len().max(b.by_k.len());
    a.by_k.resize(long, 0);
    b.by_k.resize(long, 0);
    assert_eq!(a, b, "{}", q.function.name());
    assert_eq!(there.1, expected.1, "{}", q.function.name());
}

#[test]
fn whole_small_formats() {
    // Each kind of recurrence once; all functions go through the same kernel.
    for f in [
        ElementaryFunction::Exp,
        ElementaryFunction::Log1p,
        ElementaryFunction::Asin,
        ElementaryFunction::Tan,
    ] {
        let q = query(f, BINARY16, 11);
        same(&q, &Units::all(&q), SmallBatchSizes::default());
    }
    let q = query(ElementaryFunction::Power(-3), BFLOAT16, 9);
    same(&q, &Units::all(&q), SmallBatchSizes::default());
}

#[test]
fn parts_of_binary32_and_little_room() {
    for (f, from, to) in [
        (ElementaryFunction::Exp, 1.0, 1.25),
        (ElementaryFunction::Log, 0.96875, 1.0625),
        (ElementaryFunction::Sin, -3.25, -3.0),
    ] {
        let q = query(f, BINARY32, 18);
        let units = Units::new(&q, from, to).unwrap();
        same(&q, &units, SmallBatchSizes::default());
    }
    let q = query(ElementaryFunction::Exp, BINARY32, 14);
    let units = Units::new(&q, 1.0, 1.0 + 2f64.powi(-6)).unwrap();
    for (pieces, open) in [(1, 1 << 20), (3, 1), (2, 0)] {
        same(&q, &units, SmallBatchSizes { pieces, open });
    }
}
