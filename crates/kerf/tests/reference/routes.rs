//! References by device code against those by the functions of the CPU executor, on examples.
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Examples with constants, shared memory, structs and atomics among them. All others were compared once:
/// bench/runs/2026-11-17-reference-routes.
const EXAMPLES: [&str; 10] = [
    "bilateral_filter",
    "black_scholes",
    "gaussian",
    "global_sum",
    "image_denoising",
    "lavamd",
    "monte_carlo",
    "mri_q",
    "naive_scan",
    "nearest_neighbour",
];

fn workload(example: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    dir.join(example).join(format!("{example}.toml"))
}

/// The files of a reference, and why device code did not compute it.
fn reference(workload: &Path, route: &str) -> (BTreeMap<String, Vec<u8>>, Vec<String>) {
    let dir = tempfile::tempdir().expect("a folder");
    let r = Command::new(env!("CARGO_BIN_EXE_kerf"))
        .arg("run")
        .arg(workload)
        .args(["--reference", "--reference-on", route, "--format", "json"])
        .args(["--warmup", "0", "--repeats", "1", "--save"])
        .arg(dir.path())
        .output()
        .expect("kerf runs");
    let text = String::from_utf8_lossy(&r.stderr);
    assert!(
        r.status.code().is_some_and(|c| c < 2),
        "{}: {text}",
        workload.display()
    );
    let report: serde_json::Value = serde_json::from_slice(&r.stdout).expect("JSON");
    let why = report["reference"]["needs_host"].as_array().cloned();
    let why = why.unwrap_or_default().into_iter();
    let files = std::fs::read_dir(dir.path()).expect("saved").flatten();
    let named = files.filter_map(|f| {
        let name = f.file_name().to_string_lossy().into_owned();
        let bytes = std::fs::read(f.path()).ok()?;
        name.contains(".reference_").then_some((name, bytes))
    });
    (
        named.collect(),
        why.filter_map(|w| w.as_str().map(str::to_owned)).collect(),
    )
}

#[test]
fn both_routes_give_the_same_bits() {
    let mut refused = Vec::new();
    for name in EXAMPLES {
        let workload = workload(name);
        let (by_device, why) = reference(&workload, "cpu");
        assert!(!by_device.is_empty(), "{name}");
        if !why.is_empty() {
            refused.push((name, why));
            continue;
        }
        let (by_tables, _) = reference(&workload, "tables");
        assert!(by_device == by_tables, "{name}");
    }
    let atomics = vec!["floating-point atomics".to_owned()];
    assert_eq!(refused, [("global_sum", atomics)]);
}
