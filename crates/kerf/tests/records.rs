//! Buffers whose records a plan stores as planes or padded: the bits of the program as it is.
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/layouts")
}

fn kerf(args: &[&str]) -> Output {
    let mut c = Command::new(env!("CARGO_BIN_EXE_kerf"));
    c.current_dir(folder()).args(args);
    c.output().expect("it runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The plan of `kerf inspect` for a source, with the records of further parameters.
fn plan(source: &str, layout: &str, more: &[(&str, &str, usize)]) -> Value {
    let o = kerf(&["inspect", source, "--records-as", layout]);
    let mut plan: Value = serde_json::from_slice(&o.stdout).expect("a plan");
    for (kernel, parameter, fields) in more {
        let fields = vec!["f32"; *fields];
        plan["kernels"][kernel]["records"][parameter] = json!({"fields": fields, "layout": layout});
    }
    plan
}

/// The report of a run under a plan.
fn run(workload: &str, plan: Option<&Value>, more: &[&str]) -> Output {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("plan.json");
    let path = path.to_str().expect("a path");
    let mut args = vec!["run", workload, "--device", "cpu", "--format", "json"];
    if let Some(p) = plan {
        std::fs::write(path, p.to_string()).expect("a plan");
        args.extend(["--plan", path]);
    }
    args.extend(more);
    kerf(&args)
}

/// Digests of the outputs of a run.
fn digests(o: &Output) -> Vec<Value> {
    let r: Value =
        serde_json::from_slice(&o.stdout).unwrap_or_else(|e| panic!("{e}: {}", text(&o.stderr)));
    let outputs = r["outputs"].as_array().expect("outputs").iter();
    let all: Vec<Value> = outputs.map(|o| o["digest"].clone()).collect();
    assert!(all.iter().all(|d| d.is_string()), "{r}");
    all
}

/// Parameters that no inspection of one kernel tells: `power` goes through the parts by a loop.
const POWER: [(&str, &str, usize); 1] = [("power", "c", 2)];

#[test]
fn planes_and_padding_keep_the_bits() {
    let all: [(&str, &[_]); 4] = [
        ("bodies", &[]),
        ("points", &[]),
        ("complex", &POWER),
        ("one_of_eight", &[]),
    ];
    for (name, more) in all {
        let workload = format!("{name}.toml");
        let own = digests(&run(&workload, None, &[]));
        for layout in ["planes", "padded"] {
            let plan = plan(&format!("{name}.cu"), layout, more);
            assert_ne!(plan["kernels"], Value::Null, "{name}");
            // Sizes that end in the middle of a run of records.
            let laid_out = digests(&run(&workload, Some(&plan), &[]));
            assert_eq!(laid_out, own, "{name} {layout}");
        }
    }
}

#[test]
fn records_are_laid_out_in_the_format_that_memory_is_held_in() {
    let narrow = json!({"version": 1, "kernels": {
        "move": {"storage": {"points": "f32"}}, "gather": {"storage": {"points": "f32"}}}});
    let own = digests(&run("points.toml", Some(&narrow), &[]));
    assert_ne!(own, digests(&run("points.toml", None, &[])));
    for layout in ["planes", "padded"] {
        let mut both = plan("points.cu", layout, &[]);
        for k in ["move", "gather"] {
            both["kernels"][k]["storage"] = json!({"points": "f32"});
            both["kernels"][k]["coarsen"] = json!({"factor": 2});
        }
        assert_eq!(
            digests(&run("points.toml", Some(&both), &[])),
            own,
            "{layout}"
        );
    }
}

#[test]
fn every_access_is_inside() {
    let plan = plan("complex.cu", "planes", &POWER);
    let o = run("complex.toml", Some(&plan), &["--memcheck"]);
    assert_eq!(
        o.status.code(),
        Some(0),
        "{}{}",
        text(&o.stdout),
        text(&o.stderr)
    );
}

#[test]
fn predictions_count_the_accesses_of_the_plan() {
    let plan = plan("one_of_eight.cu", "planes", &[]);
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("plan.json");
    std::fs::write(&path, plan.to_string()).expect("a plan");
    let path = path.to_str().expect("a path");
    let seconds = |more: &[&str]| {
        // More than L2 holds.
        let size = ["--size", "n=4194304", "--profile", "h200"];
        let all = ["predict", "one_of_eight.toml", "--format", "json"];
        let o = kerf(&[&all[..], &size, more].concat());
        let r: Value = serde_json::from_slice(&o.stdout)
            .unwrap_or_else(|e| panic!("{e}: {}", text(&o.stderr)));
        let launches = r["launches"].as_array().expect("launches").iter();
        let mut one = launches.filter(|l| l["symbol"] == "potential");
        one.next()
            .and_then(|l| l["seconds"].as_f64())
            .expect("a time")
    };
    let (own, planes) = (seconds(&[]), seconds(&["--plan", path]));
    // 32 bytes a thread for the field and 4 for the result, or 4 and 4.
    assert!(planes < 0.4 * own, "{own} {planes}");
}

#[test]
fn what_does_not_fit_is_refused_by_name() {
    let refused = |workload: &str, plan: &Value, words: &str| {
        let o = run(workload, Some(plan), &[]);
        assert_eq!(o.status.code(), Some(2), "{}", text(&o.stdout));
        let said = text(&o.stderr);
        assert!(said.contains(words), "{said}");
    };
    let one = plan("complex.cu", "planes", &[]);
    refused(
        "complex.toml",
        &one,
        "the records of buffer `c` as planes of [f32, f32] for kernel multiply (parameter c) and as they are for kernel power",
    );
    let other = |fields: Value| {
        let r = json!({"records": {"all": {"fields": fields, "layout": "planes"}}});
        json!({"version": 1, "kernels": {"potential": r, "drift": r}})
    };
    let doubles = vec!["f64"; 4];
    let words = "its elements are f32x8, and the plan's records [f64, f64, f64, f64]";
    refused(
        "one_of_eight.toml",
        &other(json!(doubles)),
        "touches a part of a field",
    );
    let unsigned = ["f32", "f32", "f32", "f32", "f32", "f32", "u32", "f32"];
    refused(
        "one_of_eight.toml",
        &other(json!(unsigned)),
        &words.replace("f64, f64, f64, f64", &unsigned.join(", ")),
    );
}

#[test]
fn searches_without_measured_times_say_what_they_leave() {
    let dir = tempfile::tempdir().expect("a folder");
    let out = dir.path().join("tuned");
    let out = out.to_str().expect("a path");
    let args = [
        "tune",
        "points.toml",
        "--device",
        "cpu",
        "--out",
        out,
        "--tolerance",
        "1e-3",
        "--what",
        "layout",
        "--budget",
        "2",
    ];
    let o = kerf(&args);
    let all = text(&o.stdout) + &text(&o.stderr);
    assert!(
        all.contains(
            "records of buffer points stay as they are: counts are of the program's own layout"
        ),
        "{all}"
    );
}
