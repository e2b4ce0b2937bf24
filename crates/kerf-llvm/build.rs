//! Compiles the C++ shim: the few LLVM calls that the C API does not offer.
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=shim");
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
        .files(["shim/shim.cpp", "shim/code.cpp", "shim/part.cpp"])
        .warnings(false);
    for flag in flags.split_whitespace() {
        build.flag(flag);
    }
    build.flag("-std=c++17").opt_level(1).compile("kerf_shim");
}
