//! Counting does not change what a program computes: random kernels keep their bits.
use crate::common;

use common::{libdevice, outputs};
use kerf_fuzz::identity::Outputs;
use kerf_fuzz::random_kernel;
use kerf_ir::finish::{Reflect, finish};
use kerf_ir::prepare;
use kerf_llvm::Module;
use kerf_pass::count::{self, CountDevice, Detail};

/// Outputs of the kernels of a seed, instrumented or not.
fn random(seed: u64, instrumented: bool) -> Vec<Outputs> {
    let random = random_kernel::module(seed, 2);
    let module = Module::parse(random.ir.as_bytes(), "random").expect("parses");
    prepare::prepare(&module, "sm_90").expect("prepares");
    if instrumented {
        count::instrument(&module, Detail::Values, CountDevice::Cpu)
            .unwrap_or_else(|e| panic!("seed {seed}: {e}"));
    }
    finish(&module, &libdevice(), "sm_90", Reflect::default()).expect("finishes");
    outputs(random, seed, module)
}

#[test]
fn random_kernels_keep_their_bits() {
    for seed in 1..=4 {
        assert!(random(seed, true) == random(seed, false), "seed {seed}");
    }
}
