//! Composite precision from end to end: plans made by `kerf inspect`, run on the CPU executor, errors
//! against the shadow reference.
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

fn kerf(args: &[&str]) -> String {
    let o = Command::new(env!("CARGO_BIN_EXE_kerf"))
        .args(args)
        .env(
            "KERF_CACHE",
            Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"),
        )
        .output()
        .expect("the program should start");
    // 1: an output in f32 outside the tolerance of the f64 workload.
    assert!(
        matches!(o.status.code(), Some(0 | 1)),
        "{args:?}\n{}{}",
        String::from_utf8_lossy(&o.stdout),
        String::from_utf8_lossy(&o.stderr)
    );
    String::from_utf8_lossy(&o.stdout).into_owned()
}

/// A workload in f64 or f32, with plans for it.
struct Case {
    source: PathBuf,
    workload: PathBuf,
    real: &'static str,
    dir: tempfile::TempDir,
}

impl Case {
    fn new(folder: &Path, name: &str, real: &'static str) -> Case {
        let dir = tempfile::tempdir().expect("a folder");
        let source = folder.join(format!("{name}.cu"));
        let text = std::fs::read_to_string(folder.join(format!("{name}.toml"))).expect("reads");
        let mut text = text.replace(
            &format!("source = \"{name}.cu\""),
            &format!("source = {:?}", source.display().to_string()),
        );
        if real == "float" {
            text = text
                .replace("-DREAL=double", "-DREAL=float")
                .replace("f64", "f32");
        }
        let workload = dir.path().join("w.toml");
        std::fs::write(&workload, text).expect("writes");
        Case {
            source,
            workload,
            real,
            dir,
        }
    }
    fn example(name: &str, real: &'static str) -> Case {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
        Case::new(
            &root.canonicalize().expect("examples").join(name),
            name,
            real,
        )
    }
    fn plan(&self, format: &str) -> Value {
        let define = format!("REAL={}", self.real);
        let source = self.source.to_str().expect("UTF-8");
        let text = kerf(&[
            "inspect", source, "-D", &define, "--emit", "plan", "--all-as", format,
        ]);
        serde_json::from_str(&text).expect("JSON")
    }
    /// Outputs of a run with the reference: the error report of each, with its name.
    fn run(&self, plan: Option<&Value>) -> Vec<(String, Value)> {
        let mut args = vec!["run", self.workload.to_str().expect("UTF-8")];
        args.extend([
            "--reference",
            "--repeats",
            "1",
            "--warmup",
            "0",
            "--format",
            "json",
        ]);
        let path = self.dir.path().join("plan.json");
        if let Some(p) = plan {
            std::fs::write(&path, p.to_string()).expect("writes");
            args.extend(["--plan", path.to_str().expect("UTF-8")]);
        }
        let report: Value = serde_json::from_str(&kerf(&args)).expect("JSON");
        let outputs = report["outputs"].as_array().expect("outputs");
        outputs
            .iter()
            .map(|o| {
                let e = o["errors"][0].clone();
                assert_eq!(e["nan_mismatch"], 0, "{o}");
                assert_eq!(e["inf_mismatch"], 0, "{o}");
                assert!(o["integer_mismatches"].as_u64().unwrap_or(0) == 0, "{o}");
                (o["name"].as_str().expect("a name").to_owned(), e)
            })
            .collect()
    }
}

fn number(e: &Value, key: &str) -> f64 {
    e[key].as_f64().unwrap_or_else(|| panic!("no {key} in {e}"))
}

/// Error of each output, plain and by a plan, in a metric.
fn compare(case: &Case, format: &str, metric: &str) -> Vec<(String, f64, f64)> {
    let plain = case.run(None);
    let pairs = case.run(Some(&case.plan(format)));
    plain
        .into_iter()
        .zip(pairs)
        .map(|((name, a), (_, b))| (name, number(&a, metric), number(&b, metric)))
        .collect()
}

fn here() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/composite")
}

/// Nothing is rounded between a load and a store, so that only the store's rounding is left.
#[test]
fn registers_are_correctly_rounded() {
    let wider = [
        ("double", "dw64"),
        ("float", "dw32"),
        ("float", "dw64"),
        ("float", "f64"),
    ];
    for (real, format) in wider {
        let case = Case::new(&here(), "registers", real);
        for (name, plain, pairs) in compare(&case, format, "max_ulp") {
            assert!(plain > 1.0, "{real} {name}: {plain} ulp without pairs");
            assert!(pairs <= 0.5001, "{real} as {format}, {name}: {pairs} ulp");
        }
    }
}

/// Pairs of floats in place of doubles keep about 2^-45.
#[test]
fn float_pairs_in_place_of_double() {
    let case = Case::new(&here(), "registers", "double");
    for (name, _, pairs) in compare(&case, "dw32", "max_rel") {
        assert!(pairs < 2f64.powi(-38), "{name}: {pairs}");
        assert!(
            pairs > 2f64.powi(-52),
            "{name}: {pairs} is too good for pairs of floats"
        );
    }
}

/// The published formulas gain in sums and lose in products and quotients.
#[test]
fn cmp_formulas_are_no_better_than_the_word() {
    let case = Case::new(&here(), "registers", "float");
    for (name, plain, pairs) in compare(&case, "dw32.cmp", "rel_l2") {
        assert!(
            pairs > plain / 1e3,
            "{name}: {plain} plain, {pairs} with cmp"
        );
        assert!(pairs < 1e-4, "{name}: {pairs}");
    }
}

/// What is stored between launches is rounded, so errors fall, but not to nothing. `total_atomic` is a
/// sum that memory makes, and gaussian keeps its matrix in memory after every step: both may only not
/// get worse.
#[test]
fn examples_gain() {
    for name in ["nbody", "black_scholes", "gaussian", "global_sum"] {
        for (real, format) in [("double", "dw64"), ("float", "dw32")] {
            let case = Case::example(name, real);
            let mut gains = 0;
            for (output, plain, pairs) in compare(&case, format, "rel_l2") {
                assert!(
                    pairs <= plain * 1.02,
                    "{name} {real}, {output}: {plain} plain, {pairs} as {format}"
                );
                gains += usize::from(pairs < plain);
            }
            assert!(
                gains > 0 || name == "gaussian",
                "{name} in {real} gains nothing"
            );
        }
    }
}

/// Any mixture of formats runs, and is about as good as its worst part.
#[test]
fn mixtures() {
    let formats = ["dw32", "dw64", "f64", "dw32.cmp", "dw64.cmp"];
    let mut state = 1u64;
    let mut next = || {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 33) as usize
    };
    for name in ["nbody", "black_scholes", "lavamd"] {
        let case = Case::example(name, "double");
        let all = case.plan("dw64");
        let published = case.plan("dw64.cmp");
        let mut plan = all.clone();
        for (k, p) in plan["kernels"].as_object_mut().expect("kernels") {
            let sites = p["sites"].as_object_mut().expect("sites");
            for (id, f) in sites.iter_mut() {
                let new = formats[next() % formats.len()];
                let cmp = published["kernels"][k]["sites"].get(id).is_some();
                if cmp || !new.ends_with("cmp") {
                    *f = Value::from(new);
                }
            }
        }
        for (output, e) in case.run(Some(&plan)) {
            let error = number(&e, "rel_l2");
            assert!(error < 1e-6, "{name}, {output}: {error}");
        }
    }
}
