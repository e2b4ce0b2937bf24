//! Narrower formats from end to end: plans made by `kerf inspect`, run on the CPU executor, errors
//! against the shadow reference.
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn kerf(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_kerf"))
        .args(args)
        .env(
            "KERF_CACHE",
            Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"),
        )
        .output()
        .expect("the program should start")
}

fn text(o: &Output) -> String {
    // 1: an output outside the tolerance that the workload has for its own format.
    assert!(
        matches!(o.status.code(), Some(0 | 1)),
        "{}{}",
        String::from_utf8_lossy(&o.stdout),
        String::from_utf8_lossy(&o.stderr)
    );
    String::from_utf8_lossy(&o.stdout).into_owned()
}

/// An example in f64 or f32.
struct Case {
    source: PathBuf,
    workload: PathBuf,
    define: String,
    dir: tempfile::TempDir,
}

impl Case {
    fn new(name: &str, real: &str) -> Case {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
        let folder = root.canonicalize().expect("examples").join(name);
        let dir = tempfile::tempdir().expect("a folder");
        let source = folder.join(format!("{name}.cu"));
        let toml = std::fs::read_to_string(folder.join(format!("{name}.toml"))).expect("reads");
        let mut toml = toml.replace(
            &format!("source = \"{name}.cu\""),
            &format!("source = {:?}", source.display().to_string()),
        );
        if real == "float" {
            toml = toml
                .replace("-DREAL=double", "-DREAL=float")
                .replace("<double>", "<float>")
                .replace("f64", "f32");
        }
        let workload = dir.path().join("w.toml");
        std::fs::write(&workload, toml).expect("writes");
        Case {
            source,
            workload,
            define: format!("REAL={real}"),
            dir,
        }
    }
    fn plan(&self, options: &[&str]) -> Value {
        let source = self.source.to_str().expect("UTF-8");
        let mut args = vec!["inspect", source, "-D", &self.define, "--emit", "plan"];
        args.extend(options);
        serde_json::from_str(&text(&kerf(&args))).expect("JSON")
    }
    fn run(&self, plan: &Value) -> Output {
        let path = self.dir.path().join("plan.json");
        std::fs::write(&path, plan.to_string()).expect("writes");
        kerf(&[
            "run",
            self.workload.to_str().expect("UTF-8"),
            "--plan",
            path.to_str().expect("UTF-8"),
            "--reference",
            "--repeats",
            "1",
            "--warmup",
            "0",
            "--format",
            "json",
        ])
    }
    /// The largest error of an output, relative to its size, both as Euclidean norms.
    fn error(&self, plan: &Value) -> f64 {
        let o = self.run(plan);
        let r: Value = serde_json::from_str(&text(&o)).expect("JSON");
        let outputs = r["outputs"].as_array().expect("outputs");
        let mut worst: f64 = 0.0;
        for e in outputs
            .iter()
            .flat_map(|o| o["errors"].as_array().expect("errors"))
        {
            worst = worst.max(e["rel_l2"].as_f64().unwrap_or(f64::INFINITY));
        }
        worst
    }
}

const EXAMPLES: [&str; 10] = [
    "backprop",
    "black_scholes",
    "cfd",
    "gaussian",
    "global_sum",
    "lavamd",
    "lud",
    "mri_q",
    "nbody",
    "stencil",
];

#[test]
fn all_examples_in_f32() {
    for name in EXAMPLES {
        let c = Case::new(name, "double");
        let e = c.error(&c.plan(&["--all-as", "f32"]));
        assert!(e > 1e-10 && e < 1e-5, "{name}: {e:e}");
    }
}

#[test]
fn examples_of_f32_in_small_formats() {
    for (name, f16, bf16) in [
        ("black_scholes", 3e-2, 1e-1),
        ("backprop", 1e-2, 1e-1),
        ("stencil", 2e-3, 2e-2),
        ("cfd", 1e-2, 1e-1),
        ("nbody", 1e-2, 1e-1),
    ] {
        let c = Case::new(name, "float");
        for (format, bound) in [("f16", f16), ("bf16", bf16)] {
            let e = c.error(&c.plan(&["--all-as", format]));
            assert!(e > 1e-6 && e < bound, "{name} in {format}: {e:e}");
        }
    }
}

#[test]
fn storage_is_rounded_and_read_back() {
    // With all sites in f32, what is stored is f32 already: only inputs that f32 does not hold differ.
    for name in ["stencil", "lud", "gaussian", "nbody", "lavamd"] {
        let c = Case::new(name, "double");
        let e = c.error(&c.plan(&["--all-as", "f32", "--store-as", "f32"]));
        assert!(e > 1e-10 && e < 1e-5, "{name}: {e:e}");
    }
    // Held in f16 and computed in f64: the rounding of what is stored is all there is.
    let c = Case::new("stencil", "double");
    let e = c.error(&c.plan(&["--store-as", "f16"]));
    assert!(e > 1e-5 && e < 1e-2, "stencil held in f16: {e:e}");
}

#[test]
fn a_buffer_is_held_alike_everywhere() {
    let c = Case::new("lud", "double");
    let mut plan = c.plan(&["--store-as", "f32"]);
    let kernels = plan["kernels"].as_object_mut().expect("kernels");
    kernels["lud_internal"]["storage"]
        .as_object_mut()
        .expect("storage")
        .remove("a");
    let o = c.run(&plan);
    let said = String::from_utf8_lossy(&o.stderr).into_owned();
    assert_eq!(o.status.code(), Some(2), "{said}");
    for w in [
        "buffer `a`",
        "lud_internal",
        "lud_diagonal",
        "f32",
        "its own format",
    ] {
        assert!(said.contains(w), "`{w}` is not in: {said}");
    }
}

#[test]
fn an_identity_plan_changes_no_bits() {
    let c = Case::new("backprop", "double");
    let own = c.plan(&["--all-as", "f64"]);
    let digests = |o: &Output| {
        let r: Value = serde_json::from_str(&text(o)).expect("JSON");
        let all = r["outputs"].as_array().expect("outputs").iter();
        all.map(|o| o["digest"].to_string()).collect::<Vec<_>>()
    };
    let plain = c.run(&serde_json::json!({ "version": 1 }));
    assert_eq!(digests(&c.run(&own)), digests(&plain));
}
