//! Compiles the C++ shim: the few LLVM calls that the C API does not offer.
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=shim");
    println!("cargo:rerun-if-changed=src");
    // Cached modules are valid only for the code that made them.
    println!(
        "cargo:rustc-env=KERF_IR_DIGEST={:016x}",
        digest(std::path::Path::new("src")) ^ digest(std::path::Path::new("shim")).rotate_left(1)
    );
    println!("cargo:rerun-if-env-changed=LLVM_SYS_221_PREFIX");
    let prefix =
        std::env::var("LLVM_SYS_221_PREFIX").unwrap_or_else(|_| "/usr/lib/llvm-22".to_owned());
    let config = format!("{prefix}/bin/llvm-config");
    let flags = Command::new(&config)
        .arg("--cxxflags")
        .output()
        .unwrap_or_else(|e| panic!("{config} should run (install llvm-22-dev): {e}"));
    let flags = String::from_utf8_lossy(&flags.stdout).into_owned();
    let mut build = cc::Build::new();
    build
        .cpp(true)
        .files(["shim/shim.cpp", "shim/code.cpp"])
        .warnings(false);
    for flag in flags.split_whitespace() {
        build.flag(flag);
    }
    build.flag("-std=c++17").opt_level(1).compile("kerf_shim");
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
            return h ^ digest(p).rotate_left(7);
        }
        let bytes = std::fs::read(p).unwrap_or_default();
        bytes
            .iter()
            .fold(h, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x100_0000_01b3))
    })
}
