//! Random kernels whose threads do the work of several, and whose loops are unrolled otherwise: the bits of the kernels as they are.
use crate::common;

use common::libdevice;
use kerf_exec::cpu::{CpuExecutor, CpuOptions};
use kerf_fuzz::identity;
use kerf_fuzz::random_kernel;
use kerf_llvm::Module;
use kerf_pass::coarsen::{CoarseAxis, FACTORS, coarsen};
use kerf_pass::code_shape::unmarked_latches;
use kerf_pass::{Coarsening, CodeShape, Plan};

const KERNELS: usize = 4;

/// The way in which a seed coarsens its kernels.
fn choice(seed: u64, index: usize) -> Coarsening {
    let n = seed as usize * KERNELS + index;
    let factor = FACTORS[n % 3];
    Coarsening {
        factor,
        axis: match n % 5 {
            4 => CoarseAxis::Y,
            _ => CoarseAxis::X,
        },
        run: [None, Some(1), Some(2)][n / 3 % 3],
    }
}

/// Copies of loops' bodies, by kernel.
fn shape(seed: u64, index: usize) -> CodeShape {
    CodeShape {
        registers: None,
        unroll: Some([1, 2, 3, 8][(seed as usize + index) % 4]),
    }
}

/// The plan that lays out every kernel of a seed in another way, as far as it can be, and how many it coarsens.
fn plan(m: &Module, seed: u64) -> (Plan, usize) {
    let (mut plan, mut coarsened) = (Plan::default(), 0);
    let random = random_kernel::module(seed, KERNELS);
    for (index, k) in random.kernels.iter().enumerate() {
        let c = choice(seed, index);
        let copy = m.duplicate();
        let f = copy.function(&k.name).expect("a kernel");
        if c.launch(k.block).is_ok() && coarsen(&copy, f, &c).is_ok() {
            plan.kernels.entry(k.name.clone()).or_default().coarsen = Some(c);
            coarsened += 1;
        }
        let f = m.function(&k.name).expect("a kernel");
        if !unmarked_latches(f).is_empty() {
            let shape = shape(seed, index);
            plan.kernels.entry(k.name.clone()).or_default().code = Some(shape);
        }
    }
    (plan, coarsened)
}

/// Holds the coarsened kernels of some seeds against the kernels as they are; gives how many there were.
fn compare(seeds: std::ops::Range<u64>) -> usize {
    let library = libdevice();
    let mut compared = 0;
    for seed in seeds {
        let own = identity::prepare(seed, KERNELS, &library, "sm_90", false).expect("prepares");
        let (mut coarsened, mut changed) = (0, Vec::new());
        let coarse = identity::prepare_with(seed, KERNELS, &library, "sm_90", |m| {
            let (plan, n) = plan(m, seed);
            coarsened = n;
            changed = plan.kernels.keys().cloned().collect();
            plan
        })
        .expect("prepares");
        compared += coarsened;
        if changed.is_empty() {
            continue;
        }
        let load = |m: &Module| CpuExecutor::new(m, CpuOptions::default()).expect("compiles");
        let (mut a, mut b) = (load(&own.module), load(&coarse.module));
        for index in 0..KERNELS {
            if !changed.contains(&own.random.kernels[index].name) {
                continue;
            }
            let first = identity::run(&own, index, &mut a).expect("runs");
            let second = identity::run(&coarse, index, &mut b).expect("runs");
            if let Some(what) = first.differences(&second) {
                let how = coarse.coarsen[index];
                panic!("seed {seed}, kernel {index}, {how:?}: {what}");
            }
        }
    }
    compared
}

#[test]
fn random_kernels_keep_their_bits() {
    let compared = compare(0..3);
    assert!(compared >= 4, "{compared} kernels were coarsened");
}

/// `cargo test -p kerf-fuzz coarsen:: -- --ignored`: minutes.
#[test]
#[ignore = "takes minutes; run by name"]
fn hundreds_of_random_kernels_keep_their_bits() {
    let compared = compare(3..400);
    assert!(compared >= 300, "{compared} kernels were coarsened");
}
