//! The kernels, on the CPU executor, against the walk over every argument; `examples/brute.rs` does it on a GPU.
use crate::random;

use kerf_exec::cpu::{CpuExecutor, CpuOptions};
use random::{Random, Sum, compare, functions};

#[test]
fn kernels_find_what_the_walk_finds() {
    let module = kerf_hardround_gpu::program("sm_90").unwrap();
    let mut exec = CpuExecutor::new(&module, CpuOptions::default()).unwrap();
    let mut r = Random(3);
    let mut sum = Sum::default();
    for f in functions() {
        compare(&mut exec, f, 24, &mut r, &mut sum);
    }
    assert!(sum.tested > 100_000, "{sum:?}");
    assert!(sum.failed < sum.tested / 20, "{sum:?}");
    assert!(sum.cases > 1000, "{sum:?}");
}
