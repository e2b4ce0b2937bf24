//! The examples, and NVIDIA's assembler.
#![allow(dead_code)]
use kerf_clang::compile::{Purpose, Toolchain};
use std::path::{Path, PathBuf};
use std::process::Command;

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

pub fn tools() -> Toolchain {
    let llvm = std::env::var("LLVM_SYS_221_PREFIX").unwrap_or_else(|_| "/usr/lib/llvm-22".into());
    let cuda = root().join(".kerf/cuda");
    Toolchain {
        clang: Some(Path::new(&llvm).join("bin/clang").into()),
        libdevice: Some(cuda.join("nvvm/libdevice/libdevice.10.bc")),
        cuda: Some(cuda),
        arch: "sm_90".into(),
        cache: Some(Path::new(env!("CARGO_TARGET_TMPDIR")).join("kerf-run-cache")),
        purpose: Purpose::Tuning,
    }
}

/// Workload files of all examples, in order.
pub fn examples() -> Vec<PathBuf> {
    let files = |dir: PathBuf| -> Vec<PathBuf> {
        let all = std::fs::read_dir(dir).into_iter().flatten();
        all.map(|e| e.expect("an entry").path()).collect()
    };
    let all = files(root().join("examples")).into_iter().flat_map(files);
    let mut all: Vec<PathBuf> = all
        .filter(|p| p.extension().is_some_and(|e| e == "toml"))
        .collect();
    all.sort();
    all
}

/// Has the assembler take PTX for sm_90. At its lowest level it checks as much, in half the time.
pub fn assembles(name: &str, ptx: &str) {
    let dir = tempfile::tempdir().expect("a folder");
    let dir = dir.path();
    let file = dir.join("k.ptx");
    std::fs::write(&file, ptx).expect("written");
    let r = Command::new(root().join(".kerf/cuda/bin/ptxas"))
        .args(["-arch", "sm_90", "-O1", "-o"])
        .arg(dir.join("k.cubin"))
        .arg(&file)
        .output()
        .expect("ptxas (make setup)");
    let said = String::from_utf8_lossy(&r.stderr);
    assert!(r.status.success(), "{name}: {said}");
}
