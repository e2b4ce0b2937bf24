//! Counting does not change what a program computes: random kernels keep their bits.
use kerf_exec::cpu::{CpuExecutor, CpuOptions};
use kerf_fuzz::identity::{self, PreparedRandom};
use kerf_fuzz::random_kernel;
use kerf_ir::finish::{Reflect, finish};
use kerf_ir::prepare;
use kerf_llvm::Module;
use kerf_pass::count::{self, Detail};

fn libdevice() -> Vec<u8> {
    let path = std::env::var_os("KERF_LIBDEVICE").map_or_else(
        || {
            std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("../../.kerf/cuda/nvvm/libdevice/libdevice.10.bc")
        },
        Into::into,
    );
    std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e} (make setup)", path.display()))
}

/// Outputs of the kernels of a seed, instrumented or not.
fn random(seed: u64, instrumented: bool) -> Vec<identity::Outputs> {
    let random = random_kernel::module(seed, 2);
    let module = Module::parse(random.ir.as_bytes(), "random").expect("parses");
    prepare::prepare(&module, "sm_90").expect("prepares");
    if instrumented {
        count::instrument(&module, Detail::Values).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
    }
    finish(&module, &libdevice(), "sm_90", Reflect::default()).expect("finishes");
    let p = PreparedRandom {
        random,
        seed,
        module,
        lambda: Vec::new(),
    };
    let mut exec = CpuExecutor::new(&p.module, CpuOptions::default()).expect("compiles");
    (0..p.random.kernels.len())
        .map(|k| identity::run(&p, k, &mut exec).unwrap_or_else(|e| panic!("seed {seed}: {e}")))
        .collect()
}

#[test]
fn random_kernels_keep_their_bits() {
    for seed in 1..=4 {
        assert!(random(seed, true) == random(seed, false), "seed {seed}");
    }
}
