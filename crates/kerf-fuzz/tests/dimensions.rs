//! Random plans with all that plans have: they can be carried out, each dimension occurs, and what changes no operation leaves
//! the bits.
use crate::common;

use common::libdevice;
use kerf_exec::cpu::{CpuExecutor, CpuOptions};
use kerf_fuzz::identity;
use kerf_fuzz::random_dimensions::whole_plan;
use kerf_llvm::Module;
use kerf_pass::{KernelPlan, Plan};

const KERNELS: usize = 4;

/// A prepared module of random kernels.
fn prepared(seed: u64) -> Module {
    let random = kerf_fuzz::random_kernel::module(seed, KERNELS);
    let m = Module::parse(random.ir.as_bytes(), "random").expect("parses");
    kerf_ir::prepare::prepare(&m, "sm_90").expect("prepares");
    m
}

#[test]
fn whole_plans_can_be_carried_out_and_have_every_dimension() {
    let mut have = [0; 5];
    for seed in 1..=24 {
        let m = prepared(seed);
        let plan = whole_plan(&m, seed);
        for k in plan.kernels.values() {
            let has = [
                !k.rewrites.is_empty(),
                !k.made.is_empty(),
                k.coarsen.is_some(),
                k.code.is_some(),
                !k.records.is_empty(),
            ];
            for (count, has) in have.iter_mut().zip(has) {
                *count += usize::from(has);
            }
        }
        plan.apply(&m)
            .unwrap_or_else(|e| panic!("seed {seed}: {e}"));
    }
    assert!(have.iter().all(|n| *n > 0), "{have:?}");
}

/// Elements a thread, code shapes and layouts of records alone.
fn layouts(plan: Plan) -> Plan {
    let mut plan = plan;
    for k in plan.kernels.values_mut() {
        *k = KernelPlan {
            coarsen: k.coarsen,
            code: k.code,
            records: std::mem::take(&mut k.records),
            ..KernelPlan::default()
        };
    }
    plan
}

#[test]
fn layouts_of_whole_plans_keep_the_bits() {
    let library = libdevice();
    let mut changed = 0;
    for seed in 20..23 {
        let own = identity::prepare(seed, KERNELS, &library, "sm_90", false).expect("prepares");
        let other = identity::prepare_with(seed, KERNELS, &library, "sm_90", |m| {
            layouts(whole_plan(m, seed))
        })
        .expect("prepares");
        changed += other.coarsen.iter().flatten().count();
        let load = |m: &Module| CpuExecutor::new(m, CpuOptions::default()).expect("compiles");
        let (mut a, mut b) = (load(&own.module), load(&other.module));
        for index in 0..KERNELS {
            let first = identity::run(&own, index, &mut a).expect("runs");
            let second = identity::run(&other, index, &mut b).expect("runs");
            if let Some(what) = first.differences(&second) {
                panic!("seed {seed}, kernel {index}: {what}");
            }
        }
    }
    assert!(changed > 0, "no kernel was coarsened");
}
