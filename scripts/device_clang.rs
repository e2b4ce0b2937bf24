// Part of the build scripts that compile device code: the clang of the LLVM that the project is built with.
use std::path::{Path, PathBuf};

pub fn device_clang() -> PathBuf {
    println!("cargo:rerun-if-changed=../../scripts/device_clang.rs");
    println!("cargo:rerun-if-env-changed=LLVM_SYS_221_PREFIX");
    let prefix =
        std::env::var("LLVM_SYS_221_PREFIX").unwrap_or_else(|_| "/usr/lib/llvm-22".to_owned());
    let beside = Path::new(&prefix).join("bin/clang++");
    if beside.is_file() {
        beside
    } else {
        "clang++-22".into()
    }
}
