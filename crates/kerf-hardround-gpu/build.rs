//! Compiles the device code to bitcode, which the crate embeds: a machine with a GPU needs no compiler.
use std::path::{Path, PathBuf};
use std::process::Command;

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
    println!("cargo:rerun-if-env-changed=LLVM_SYS_221_PREFIX");
    let out = PathBuf::from(std::env::var("OUT_DIR").expect("cargo sets OUT_DIR"));
    let clang = clang();
    for name in ["search", "small", "libm", "dilemma"] {
        let source = format!("device/{name}.cu");
        let status = Command::new(&clang)
            .args(["-x", "cuda", "--cuda-device-only", "--cuda-gpu-arch=sm_70"])
            .args(["-nocudainc", "-nocudalib", "-std=c++17", "-ffp-contract=off"])
            .args(["-O1", "-Xclang", "-disable-llvm-passes", "-Wall", "-Werror"])
            // Without CUDA's headers clang assumes a PTX version older than the architecture.
            .args(["-Xclang", "-target-feature", "-Xclang", "+ptx83"])
            .args(["-emit-llvm", "-c", &source, "-o"])
            .arg(out.join(name).with_extension("bc"))
            .status()
            .unwrap_or_else(|e| {
                panic!(
                    "{} should run (install clang-22, or set LLVM_SYS_221_PREFIX to LLVM 22's folder): {e}",
                    clang.display()
                )
            });
        assert!(status.success(), "{source} does not compile");
    }
}
