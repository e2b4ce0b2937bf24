//! Compiles the device code to bitcode, which the crate embeds: a machine with a GPU needs no compiler.
use std::path::{Path, PathBuf};
use std::process::Command;

const SOURCES: [&str; 7] = [
    "summation",
    "products",
    "do_undo",
    "exponential",
    "gaussian",
    "lud",
    "lavamd",
];

/// Where the shared double-word headers are; headers of the same name in `device` come first.
const SHARED: &str = "../kerf-pass/device";

fn clang() -> PathBuf {
    let prefix =
        std::env::var("LLVM_SYS_221_PREFIX").unwrap_or_else(|_| "/usr/lib/llvm-22".to_owned());
    let path = Path::new(&prefix).join("bin/clang++");
    if path.is_file() {
        path
    } else {
        "clang++-22".into()
    }
}

fn main() {
    println!("cargo:rerun-if-changed=device");
    if Path::new(SHARED).is_dir() {
        println!("cargo:rerun-if-changed={SHARED}");
    }
    println!("cargo:rerun-if-env-changed=LLVM_SYS_221_PREFIX");
    let out = PathBuf::from(std::env::var("OUT_DIR").expect("cargo sets OUT_DIR"));
    let clang = clang();
    for name in SOURCES {
        // No contraction: error-free transforms and the formulas under study are to be run as written.
        // No optimisation either: the passes of kerf-ir do that, as for user programs.
        let status = Command::new(&clang)
            .args(["-x", "cuda", "--cuda-device-only", "--cuda-gpu-arch=sm_70"])
            .args(["-nocudainc", "-nocudalib", "-std=c++17", "-ffp-contract=off"])
            .args(["-O1", "-Xclang", "-disable-llvm-passes", "-Wall", "-Werror"])
            // Without CUDA's headers clang assumes a PTX version older than the architecture.
            .args(["-Xclang", "-target-feature", "-Xclang", "+ptx83"])
            .args(["-emit-llvm", "-c", "-I", SHARED])
            .arg(format!("device/{name}.cu"))
            .arg("-o")
            .arg(out.join(format!("{name}.bc")))
            .status()
            .unwrap_or_else(|e| {
                panic!(
                    "{} should run (install clang-22, or set LLVM_SYS_221_PREFIX to LLVM 22's folder): {e}",
                    clang.display()
                )
            });
        assert!(status.success(), "device/{name}.cu does not compile");
    }
}
