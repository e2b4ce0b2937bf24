// Part of the build scripts of crates that embed kernels of their own, to be run by either executor.
#[path = "device_clang.rs"]
mod device_clang;

use std::path::Path;
use std::process::Command;

/// Compiles `device/NAME.cu` to `NAME.bc` for the CPU executor and `NAME.ptx` for GPUs in the output folder. `includes` are
/// folders of headers.
pub fn compile_kernels(name: &str, includes: &[&str]) {
    println!("cargo:rerun-if-changed=device");
    println!("cargo:rerun-if-changed=../../scripts/kernel_bitcode.rs");
    for folder in includes {
        println!("cargo:rerun-if-changed={folder}");
    }
    // Nothing is optimised before Kerf's own passes.
    let unoptimised = ["-O2", "-Xclang", "-disable-llvm-passes", "-emit-llvm", "-c"];
    compile(name, "bc", includes, &unoptimised);
    compile(name, "ptx", includes, &["-O3", "-S"]);
}

fn compile(name: &str, extension: &str, includes: &[&str], output: &[&str]) {
    let out = std::env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    let clang = device_clang::device_clang();
    let status = Command::new(&clang)
        .args(["-x", "cuda", "--cuda-device-only", "--cuda-gpu-arch=sm_70"])
        .args(["--cuda-feature=+ptx83", "-nocudainc", "-nocudalib"])
        // Nothing but the source decides about rounding.
        .args(["-ffp-contract=off", "-fno-fast-math", "-fno-math-errno"])
        .args(["-std=c++17", "-Wall", "-Wextra", "-Werror"])
        .arg("-Wno-unused-command-line-argument")
        .args(includes.iter().flat_map(|folder| ["-I", folder]))
        .args(output)
        .args([&format!("device/{name}.cu"), "-o"])
        .arg(Path::new(&out).join(format!("{name}.{extension}")))
        .status()
        .unwrap_or_else(|e| panic!("{} should run (install clang-22): {e}", clang.display()));
    assert!(
        status.success(),
        "{} should compile device/{name}.cu",
        clang.display()
    );
}
