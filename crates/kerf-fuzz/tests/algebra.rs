//! Expressions of random kernels: written again as they are they have the same bits, and what rules make of them is code.
use crate::common;

use common::libdevice;
use kerf_algebra::{CostTable, candidates, clusters};
use kerf_exec::cpu::{CpuExecutor, CpuOptions};
use kerf_fuzz::{identity, random_kernel};
use kerf_llvm::Module;
use kerf_pass::Plan;

const KERNELS: usize = 4;

/// The plan that writes every cluster of a seed's kernels again as it is, and how many operations that are.
fn again(m: &Module, seed: u64) -> (Plan, usize) {
    let mut plan = Plan::default();
    let mut operations = 0;
    for k in &random_kernel::module(seed, KERNELS).kernels {
        let f = m.function(&k.name).expect("a kernel");
        for c in clusters(m, f) {
            operations += c.nodes.len();
            let mine = plan.kernels.entry(k.name.clone()).or_default();
            mine.rewrites.push(c.as_written());
        }
    }
    (plan, operations)
}

/// The plan with the last candidate of every cluster that has one, and how many there are.
fn cheapest(m: &Module, seed: u64) -> (Plan, usize) {
    let costs = CostTable::new(|name| match name {
        "add" | "mul" | "fma" => 1.0,
        "rcp" | "rsqrt" => 6.0,
        "div" | "sqrt" => 9.0,
        _ => 30.0,
    });
    let mut plan = Plan::default();
    let mut found = 0;
    for k in &random_kernel::module(seed, KERNELS).kernels {
        let f = m.function(&k.name).expect("a kernel");
        for c in clusters(m, f) {
            if let Some(last) = candidates(&c, &costs).pop() {
                found += 1;
                assert!(last.cost < 1.0 && last.error.is_finite(), "{last:?}");
                let mine = plan.kernels.entry(k.name.clone()).or_default();
                mine.rewrites.push(last.rewriting);
            }
        }
    }
    (plan, found)
}

#[test]
fn clusters_written_again_keep_the_bits() {
    let library = libdevice();
    let mut operations = 0;
    for seed in 0..3 {
        let own = identity::prepare(seed, KERNELS, &library, "sm_90", false).expect("prepares");
        let same = identity::prepare_with(seed, KERNELS, &library, "sm_90", |m| {
            let (plan, n) = again(m, seed);
            operations += n;
            plan
        })
        .expect("prepares");
        let load = |m: &Module| CpuExecutor::new(m, CpuOptions::default()).expect("compiles");
        let (mut a, mut b) = (load(&own.module), load(&same.module));
        for index in 0..KERNELS {
            let first = identity::run(&own, index, &mut a).expect("runs");
            let second = identity::run(&same, index, &mut b).expect("runs");
            if let Some(what) = first.differences(&second) {
                panic!("seed {seed}, kernel {index}: {what}");
            }
        }
    }
    assert!(
        operations > 100,
        "{operations} operations were written again"
    );
}

#[test]
fn candidates_are_valid_code_and_run() {
    let library = libdevice();
    let mut found = 0;
    for seed in 0..4 {
        // `prepare_with` applies the plan, which verifies the module after it.
        let changed = identity::prepare_with(seed, KERNELS, &library, "sm_90", |m| {
            let (plan, n) = cheapest(m, seed);
            found += n;
            plan
        })
        .expect("prepares");
        let mut exec = CpuExecutor::new(&changed.module, CpuOptions::default()).expect("compiles");
        for index in 0..KERNELS {
            identity::run(&changed, index, &mut exec).expect("runs");
        }
    }
    assert!(found > 5, "{found} clusters were rewritten");
}
