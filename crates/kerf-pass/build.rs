//! Compiles the device library to bitcode, which the crate embeds.
#[path = "../../scripts/device_clang.rs"]
mod device_clang;

use std::path::Path;
use std::process::Command;

/// Device libraries: source, bitcode, and a macro that is defined for it.
const LIBRARIES: [(&str, &str, Option<&str>); 4] = [
    ("doubleword.cu", "doubleword.bc", None),
    ("reference.cu", "reference.bc", None),
    ("shadow.cu", "shadow.bc", None),
    ("shadow.cu", "shadow_flat.bc", Some("-DKERF_FLAT")),
];

fn main() {
    println!("cargo:rerun-if-changed=device");
    let out = std::env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    let clang = device_clang::device_clang();
    for (source, bitcode, define) in LIBRARIES {
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
            .args(define)
            .args(["-emit-llvm", "-c"])
            .arg(Path::new("device").join(source))
            .arg("-o")
            .arg(Path::new(&out).join(bitcode))
            .status()
            .unwrap_or_else(|e| panic!("{} should run (install clang-22): {e}", clang.display()));
        assert!(
            status.success(),
            "{} should compile device/{source}",
            clang.display()
        );
    }
}
