//! Compiles the device libraries to bitcode, which the crate embeds.
use std::path::{Path, PathBuf};
use std::process::Command;

fn clang() -> PathBuf {
    let prefix =
        std::env::var("LLVM_SYS_221_PREFIX").unwrap_or_else(|_| "/usr/lib/llvm-22".to_owned());
    let beside = Path::new(&prefix).join("bin/clang++");
    if beside.is_file() {
        beside
    } else {
        "clang++-22".into()
    }
}

fn main() {
    println!("cargo:rerun-if-changed=device");
    println!("cargo:rerun-if-env-changed=LLVM_SYS_221_PREFIX");
    let out = std::env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    for library in ["doubleword", "reference"] {
        compile(library, Path::new(&out));
    }
}

/// Compiles `device/LIBRARY.cu` to `LIBRARY.bc`.
fn compile(library: &str, out: &Path) {
    let clang = clang();
    let source = format!("device/{library}.cu");
    let status = Command::new(&clang)
        .args(["-x", "cuda", "--cuda-device-only", "--cuda-gpu-arch=sm_70"])
        .args(["--cuda-feature=+ptx83", "-nocudainc", "-nocudalib"])
        // Nothing but the source decides about rounding.
        .args(["-O2", "-ffp-contract=off", "-fno-fast-math"])
        .args(["-fno-math-errno", "-std=c++17"])
        .args([
            "-Wall",
            "-Wextra",
            "-Werror",
            "-Wno-unused-command-line-argument",
        ])
        .args(["-emit-llvm", "-c", &source, "-o"])
        .arg(out.join(format!("{library}.bc")))
        .status()
        .unwrap_or_else(|e| panic!("{} should run (install clang-22): {e}", clang.display()));
    assert!(
        status.success(),
        "{} should compile {source}",
        clang.display()
    );
}
