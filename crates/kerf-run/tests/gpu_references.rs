//! References of examples as code for GPUs, which cannot run here: the code is complete, and NVIDIA's assembler takes it.
use kerf_clang::compile::{Purpose, Toolchain};
use kerf_ir::finish;
use kerf_pass::shadow::{self, ShadowDevice, ShadowRuntime};
use kerf_run::compile::own_program;
use kerf_run::job::finish_with_tools;
use kerf_workload::Workload;
use std::path::{Path, PathBuf};
use std::process::Command;

/// With shared memory and barriers, constants that are copied from buffers, local arrays, structs, and functions.
const EXAMPLES: [&str; 6] = [
    "lud",
    "mri_q",
    "gmm_data_term",
    "bilateral_filter",
    "black_scholes",
    "naive_scan",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn tools() -> Toolchain {
    let llvm = std::env::var("LLVM_SYS_221_PREFIX").unwrap_or_else(|_| "/usr/lib/llvm-22".into());
    let cuda = root().join(".kerf/cuda");
    Toolchain {
        clang: Some(Path::new(&llvm).join("bin/clang")),
        libdevice: Some(cuda.join("nvvm/libdevice/libdevice.10.bc")),
        cuda: Some(cuda),
        arch: "sm_90".into(),
        cache: None,
        purpose: Purpose::Tuning,
    }
}

#[test]
fn references_assemble_for_gpus() {
    let tools = tools();
    let dir = tempfile::tempdir().expect("a folder");
    for name in EXAMPLES {
        let path = root().join(format!("examples/{name}/{name}.toml"));
        let workload = Workload::read(&path, &[]).expect("a workload");
        let m = own_program(&workload, &tools).expect("compiles");
        let m = m.module().expect("a module");
        let map = shadow::instrument(&m, ShadowRuntime::Device).expect("instrumented");
        assert_eq!(map.needs_host, Vec::<String>::new(), "{name}");
        shadow::link(&m, ShadowDevice::Gpu).expect("linked");
        finish_with_tools(&m, &tools).expect("finished");
        let ptx = finish::ptx(&m, "sm_90").expect("PTX");
        assert!(!ptx.contains(".extern .func"), "{name}");
        let file = dir.path().join("k.ptx");
        std::fs::write(&file, &ptx).expect("written");
        let r = Command::new(root().join(".kerf/cuda/bin/ptxas"))
            .args(["-arch", "sm_90", "-v", "-o"])
            .arg(dir.path().join("k.cubin"))
            .arg(&file)
            .output()
            .expect("ptxas (make setup)");
        let said = String::from_utf8_lossy(&r.stderr);
        assert!(r.status.success(), "{name}: {said}");
        // Blocks with shared memory take a slot for its shadows, and give it back.
        let shared = ["lud", "naive_scan"].contains(&name);
        assert!(!shared || ptx.contains("block_slot"), "{name}");
    }
}
