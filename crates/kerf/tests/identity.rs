//! A slice of the identity campaign: random kernels on the CPU executor against the bits that an H200
//! gave (`bench/runs/2026-11-15-h200-identity/selftest.jsonl`). The whole campaign is `bench/identity.sh`.
use std::path::PathBuf;
use std::process::Command;

/// libdevice 12.9.86, with which the record was made: other versions compute some functions
/// differently, on the GPU as well.
const RECORDED_WITH: &str = "9e84b504f25d26ec775ef91f7122e68dac77fa1f776f1044128f5028356265d8";

fn root() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// The libdevice that Kerf would use here.
fn libdevice() -> PathBuf {
    let name = "nvvm/libdevice/libdevice.10.bc";
    let ours = root().join(".kerf/cuda").join(name);
    let places = [
        Some(ours),
        std::env::var_os("CUDA_HOME").map(|h| PathBuf::from(h).join(name)),
        Some(PathBuf::from("/usr/local/cuda").join(name)),
    ];
    places
        .into_iter()
        .flatten()
        .find(|p| p.is_file())
        .expect("libdevice should be there after `make setup`")
}

#[test]
fn random_kernels_give_the_bits_of_the_h200() {
    let lib = libdevice();
    let digest = kerf_clang::sha256(&std::fs::read(&lib).expect("libdevice should be readable"));
    // Seeds 100 to 111: none of the five kernels on which the GPU's assembler changes the result.
    let mut cmd = Command::new(env!("CARGO_BIN_EXE_kerf"));
    cmd.env("KERF_LIBDEVICE", &lib).args([
        "selftest", "--seed", "100", "--count", "48", "--format", "json",
    ]);
    assert_eq!(
        digest,
        RECORDED_WITH,
        "{} is not the libdevice of the record; `make setup` installs that, and KERF_LIBDEVICE must not name another",
        lib.display()
    );
    cmd.arg("--against")
        .arg(root().join("bench/runs/2026-11-15-h200-identity/selftest.jsonl"));
    let out = cmd.output().expect("kerf should run");
    let text = String::from_utf8_lossy(&out.stdout);
    assert_eq!(
        out.status.code(),
        Some(0),
        "{text}\n{}",
        String::from_utf8_lossy(&out.stderr)
    );
    let report: serde_json::Value = serde_json::from_str(&text).expect("one JSON document");
    let tally = &report["tally"];
    assert_eq!(tally["kernels"], 48);
    assert_eq!(tally["different"], 0);
    assert!(tally["equal"].as_u64().is_some_and(|n| n >= 15), "{tally}");
}
