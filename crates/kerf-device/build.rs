//! Compiles every `device/*.cu` to bitcode, which the crate embeds.
//!
//! No CUDA headers are needed, and none of this runs on the machine with the GPU.
#[path = "../../scripts/device_clang.rs"]
mod device_clang;

use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=device");
    println!("cargo:rerun-if-changed=../kerf-pass/device");
    let out = std::env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    let clang = device_clang::device_clang();
    let mut sources: Vec<PathBuf> = std::fs::read_dir("device")
        .expect("the folder device should be there")
        .flatten()
        .map(|e| e.path())
        .filter(|p| p.extension().is_some_and(|e| e == "cu"))
        .collect();
    sources.sort();
    for source in sources {
        let name = source.file_stem().unwrap_or_default();
        let status = Command::new(&clang)
            .args(["-x", "cuda", "--cuda-device-only", "--cuda-gpu-arch=sm_80"])
            .args(["--cuda-feature=+ptx83", "-nocudainc", "-nocudalib"])
            // Nothing but the source decides about rounding.
            .args(["-O2", "-ffp-contract=off", "-fno-fast-math"])
            .args(["-fno-math-errno", "-std=c++17", "-I../kerf-pass/device"])
            .args(["-fno-exceptions", "-fno-rtti", "-Wno-pass-failed"])
            .args(["-Wall", "-Wextra", "-Werror"])
            .arg("-Wno-unused-command-line-argument")
            .args(["-emit-llvm", "-c"])
            .arg(&source)
            .arg("-o")
            .arg(Path::new(&out).join(name).with_extension("bc"))
            .status()
            .unwrap_or_else(|e| panic!("{} should run (install clang-22): {e}", clang.display()));
        assert!(
            status.success(),
            "{} should compile {}",
            clang.display(),
            source.display()
        );
    }
}
