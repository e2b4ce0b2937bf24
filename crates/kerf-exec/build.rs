//! A digest of the crate's sources: code that `kerf cc` made for another version of the CPU executor is not run. And the
//! bitcode of device code, which the crate embeds: a machine with a GPU needs no compiler.
#[path = "../../scripts/device_clang.rs"]
mod device_clang;

use std::path::Path;
use std::process::Command;

/// Where the double-word arithmetic is.
const DOUBLE_WORDS: &str = "../kerf-pass/device";

fn main() {
    compile_device_code();
    println!("cargo:rerun-if-changed=src");
    let digest = digest(std::path::Path::new("src"));
    println!("cargo:rustc-env=KERF_EXEC_DIGEST={digest:016x}");
}

/// FNV-1a over the crate's sources, in name order.
fn digest(dir: &std::path::Path) -> u64 {
    let mut files: Vec<_> = std::fs::read_dir(dir)
        .into_iter()
        .flatten()
        .flatten()
        .map(|e| e.path())
        .collect();
    files.sort();
    files.iter().fold(0xcbf2_9ce4_8422_2325, |h, p| {
        if p.is_dir() {
            return (h ^ digest(p)).wrapping_mul(0x100_0000_01b3);
        }
        let bytes = std::fs::read(p).unwrap_or_default();
        bytes
            .iter()
            .fold(h, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x100_0000_01b3))
    })
}

fn compile_device_code() {
    println!("cargo:rerun-if-changed=device");
    println!("cargo:rerun-if-changed={DOUBLE_WORDS}");
    let out = std::env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    let clang = device_clang::device_clang();
    let status = Command::new(&clang)
        .args(["-x", "cuda", "--cuda-device-only", "--cuda-gpu-arch=sm_70"])
        .args(["--cuda-feature=+ptx83", "-nocudainc", "-nocudalib"])
        // Nothing but the source decides about rounding, and nothing is optimised before Kerf's own passes.
        .args(["-O2", "-Xclang", "-disable-llvm-passes"])
        .args(["-ffp-contract=off", "-fno-fast-math", "-fno-math-errno"])
        .args(["-std=c++17", "-Wall", "-Wextra", "-Werror"])
        .args(["-Wno-unused-command-line-argument", "-I", DOUBLE_WORDS])
        .args(["-emit-llvm", "-c", "device/compare.cu", "-o"])
        .arg(Path::new(&out).join("compare.bc"))
        .status()
        .unwrap_or_else(|e| panic!("{} should run (install clang-22): {e}", clang.display()));
    assert!(
        status.success(),
        "{} should compile device/compare.cu",
        clang.display()
    );
}
