//! Random kernels whose buffers are stored as planes or padded: the bits of the kernels as they are.
use crate::common;

use common::libdevice;
use kerf_exec::cpu::{CpuExecutor, CpuOptions};
use kerf_fuzz::identity;
use kerf_fuzz::random_plan::with_random_records;
use kerf_llvm::Module;
use kerf_pass::Plan;

const KERNELS: usize = 4;

/// Holds kernels of some seeds with other layouts against the kernels as they are; gives how many buffers were stored otherwise.
fn compare(seeds: std::ops::Range<u64>) -> usize {
    let library = libdevice();
    let mut stored = 0;
    for seed in seeds {
        let own = identity::prepare(seed, KERNELS, &library, "sm_90", false).expect("prepares");
        let laid_out = identity::prepare_with(seed, KERNELS, &library, "sm_90", |m| {
            with_random_records(m, Plan::default(), seed)
        });
        let laid_out = laid_out.expect("prepares");
        let load = |m: &Module| CpuExecutor::new(m, CpuOptions::default()).expect("compiles");
        let (mut a, mut b) = (load(&own.module), load(&laid_out.module));
        for index in 0..KERNELS {
            stored += laid_out.records[index].len();
            let first = identity::run(&own, index, &mut a).expect("runs");
            let second = identity::run(&laid_out, index, &mut b).expect("runs");
            if let Some(what) = first.differences(&second) {
                let how = &laid_out.records[index];
                panic!("seed {seed}, kernel {index}, {how:?}: {what}");
            }
        }
    }
    stored
}

#[test]
fn random_kernels_keep_their_bits() {
    let stored = compare(0..4);
    assert!(stored >= 16, "{stored} buffers were stored otherwise");
}

/// `cargo test -p kerf-fuzz records:: -- --ignored`: minutes.
#[test]
#[ignore = "takes minutes; run by name"]
fn hundreds_of_random_kernels_keep_their_bits() {
    let stored = compare(4..200);
    assert!(stored >= 800, "{stored} buffers were stored otherwise");
}
