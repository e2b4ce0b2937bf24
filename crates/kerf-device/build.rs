//! Compiles every CUDA file of `device/` to LLVM bitcode, which the crate embeds.
//!
//! No CUDA headers are needed, and none of this runs on the machine with the GPU.
use std::path::{Path, PathBuf};
use std::process::Command;

fn clang() -> PathBuf {
    let prefix = std::env::var("LLVM_SYS_221_PREFIX").unwrap_or_default();
    let named = Path::new(&prefix).join("bin/clang++");
    if named.is_file() {
        named
    } else {
        PathBuf::from("clang++-22")
    }
}

fn main() {
    println!("cargo:rerun-if-changed=device");
    println!("cargo:rerun-if-env-changed=LLVM_SYS_221_PREFIX");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let clang = clang();
    let mut sources: Vec<PathBuf> = std::fs::read_dir("device")
        .expect("the folder device/ should be there")
        .flatten()
        .map(|e| e.path())
        .filter(|p| p.extension().is_some_and(|e| e == "cu"))
        .collect();
    sources.sort();
    for source in sources {
        let name = source.file_stem().expect("a file has a name");
        let status = Command::new(&clang)
            .args(["-x", "cuda", "--cuda-device-only", "--cuda-gpu-arch=sm_90"])
            .args([
                "--cuda-feature=+ptx83",
                "-nocudainc",
                "-nocudalib",
                "-std=c++17",
                "-O2",
            ])
            .args(["-ffp-contract=off", "-fno-exceptions", "-fno-rtti"])
            .args(["-Wall", "-Werror", "-Wno-unknown-cuda-version"])
            .args(["-Wno-pass-failed", "-emit-llvm", "-c"])
            .arg(&source)
            .arg("-o")
            .arg(out.join(name).with_extension("bc"))
            .status();
        match status {
            Ok(s) if s.success() => {}
            Ok(s) => panic!(
                "{} could not compile {}: {s}",
                clang.display(),
                source.display()
            ),
            Err(e) => panic!(
                "{} should run (install clang-22 or set LLVM_SYS_221_PREFIX): {e}",
                clang.display()
            ),
        }
    }
}
