//! What tests of random kernels share.
#![allow(dead_code)] // each test uses a part of it
use kerf_exec::cpu::{CpuExecutor, CpuOptions};
use kerf_fuzz::identity::{self, Outputs, PreparedRandom};
use kerf_fuzz::random_kernel::RandomModule;
use kerf_llvm::Module;

/// libdevice of the set-up.
pub fn libdevice() -> Vec<u8> {
    let path = std::env::var_os("KERF_LIBDEVICE").map_or_else(
        || {
            std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("../../.kerf/cuda/nvvm/libdevice/libdevice.10.bc")
        },
        Into::into,
    );
    std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e} (make setup)", path.display()))
}

/// Outputs of all kernels of a finished module on the CPU executor.
pub fn outputs(random: RandomModule, seed: u64, module: Module) -> Vec<Outputs> {
    let p = PreparedRandom {
        random,
        seed,
        module,
        lambda: Vec::new(),
        coarsen: Vec::new(),
        records: Vec::new(),
    };
    let mut exec = CpuExecutor::new(&p.module, CpuOptions::default()).expect("compiles");
    (0..p.random.kernels.len())
        .map(|k| identity::run(&p, k, &mut exec).unwrap_or_else(|e| panic!("seed {seed}: {e}")))
        .collect()
}
