//! A few hundred damaged files of each kind that the repository has; `bench/fuzz.sh` gives a million.
use std::path::{Path, PathBuf};
use std::process::Command;

const FILES: &str = "300";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn fuzz(kind: &str, seeds: &[PathBuf]) {
    let folder = tempfile::tempdir().expect("a folder");
    let o = Command::new(env!("CARGO_BIN_EXE_fuzz-files"))
        .arg(kind)
        .args(seeds)
        .args(["--count", FILES, "--seed", "7", "--limit", "120", "--keep"])
        .arg(folder.path())
        .output()
        .expect("fuzz-files runs");
    let said = String::from_utf8_lossy(&o.stdout);
    assert!(
        o.status.success(),
        "{said}{}",
        String::from_utf8_lossy(&o.stderr)
    );
    assert!(said.contains(&format!(": {FILES} files, ")), "{said}");
}

#[test]
fn workloads() {
    let of = |name: &str| root().join(format!("examples/{name}/{name}.toml"));
    fuzz(
        "workload",
        &["black_scholes", "nbody", "srad", "cfd"].map(of),
    );
}

#[test]
fn profiles() {
    let of = |name: &str| root().join(format!("crates/kerf-device/profiles/{name}.json"));
    fuzz("profile", &["h200", "fermi"].map(of));
}

#[test]
fn ir_as_text() {
    // IR cut and changed must not end the reader; a seed that is no file is an error.
    let folder = tempfile::tempdir().expect("a folder");
    let ll = folder.path().join("a.ll");
    let text = "define void @f(ptr %p) {\n  %v = load i32, ptr %p\n  store i32 %v, ptr %p\n  ret void\n}\n";
    std::fs::write(&ll, text).expect("a file");
    fuzz("ll", &[ll]);
    let o = Command::new(env!("CARGO_BIN_EXE_fuzz-files"))
        .args(["ll", "/nonexistent/file.ll"])
        .output()
        .expect("fuzz-files runs");
    assert_eq!(o.status.code(), Some(2));
}
