//! A digest of the crate's sources: code that `kerf cc` made for another version of the CPU executor is not run. And the
//! bitcode of device code, which the crate embeds: a machine with a GPU needs no compiler.
#[path = "../../scripts/kernel_bitcode.rs"]
mod kernel_bitcode;

/// Where the double-word arithmetic is.
const DOUBLE_WORDS: &str = "../kerf-pass/device";

fn main() {
    kernel_bitcode::compile_kernels("compare", &[DOUBLE_WORDS]);
    println!("cargo:rerun-if-changed=src");
    let digest = digest(std::path::Path::new("src"));
    println!("cargo:rustc-env=KERF_EXEC_DIGEST={digest:016x}");
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
            return (h ^ digest(p)).wrapping_mul(0x100_0000_01b3);
        }
        let bytes = std::fs::read(p).unwrap_or_default();
        bytes
            .iter()
            .fold(h, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x100_0000_01b3))
    })
}
