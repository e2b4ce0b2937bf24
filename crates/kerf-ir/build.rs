//! A digest of the sources from clang's output to a finished module: cached modules are valid only for the code that
//! made them.
use std::path::Path;

/// Folders of the crates that decide what a module looks like.
const SOURCES: [&str; 5] = [
    "../kerf-llvm/shim",
    "../kerf-llvm/src",
    "../kerf-ptx/src",
    "../kerf-clang/src",
    "src",
];

fn main() {
    let mut all = 0u64;
    for folder in SOURCES {
        println!("cargo:rerun-if-changed={folder}");
        all = all.rotate_left(1) ^ digest(Path::new(folder));
    }
    println!("cargo:rustc-env=KERF_IR_DIGEST={all:016x}");
}

/// FNV-1a over the crate's sources, in name order.
fn digest(dir: &Path) -> u64 {
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
