//! `kerf tune --what launch`, plans that change blocks, and predictions from records, as users call them.
#[path = "launch/parameters.rs"]
mod parameters;

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

struct Case(tempfile::TempDir);

impl Case {
    fn new(kernel: &str, launch: &str, space: &str) -> Case {
        let dir = tempfile::tempdir().expect("a folder");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/launch/kernels.cu");
        let text = format!(
            r#"
source = "{}"
[sizes]
n = 1000
[[buffer]]
name = "x"
type = "f64"
len = "n"
init = {{ uniform = [0.0, 2.0] }}
[[buffer]]
name = "out"
type = "f64"
len = "n"
output = true
[[launch]]
kernel = "{kernel}"
{launch}
{space}
[accept]
metric = "max_rel"
tolerance = 1e-12
"#,
            source.display()
        );
        std::fs::write(dir.path().join("w.toml"), text).expect("a workload");
        Case(dir)
    }

    fn plain(kernel: &str, values: &str) -> Case {
        let launch = r#"grid = ["ceil_div(n, bx)"]
block = ["bx"]
args = ["x", "out", "n"]"#;
        Case::new(
            kernel,
            launch,
            &format!("[launch_space]\nbx = {values}\ndefault = {{ bx = 64 }}"),
        )
    }

    fn kerf(&self, args: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_kerf"))
            .args(args)
            .current_dir(self.0.path())
            .env(
                "KERF_CACHE",
                Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"),
            )
            .output()
            .expect("kerf runs")
    }

    fn tune(&self, more: &[&str]) -> (Value, String) {
        let mut args = vec![
            "--format",
            "json",
            "tune",
            "w.toml",
            "--what",
            "launch",
            "--validate",
            "2",
            "--out",
            "out",
        ];
        args.extend(more);
        let o = self.kerf(&args);
        let err = String::from_utf8_lossy(&o.stderr).into_owned();
        let v = serde_json::from_slice(&o.stdout).unwrap_or(Value::Null);
        (v, err)
    }

    fn digest(&self, plan: &str) -> String {
        std::fs::write(self.0.path().join("p.json"), plan).expect("a plan");
        let o = self.kerf(&[
            "--format",
            "json",
            "run",
            "w.toml",
            "--plan",
            "p.json",
            "--memcheck",
        ]);
        let v: Value = serde_json::from_slice(&o.stdout)
            .unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&o.stderr)));
        v["outputs"][0]["digest"]
            .as_str()
            .expect("a digest")
            .to_owned()
    }
}

fn shapes(r: &Value, group: usize) -> Vec<String> {
    let all = r["groups"][group]["formats"].as_array().expect("levels");
    all.iter()
        .map(|f| f.as_str().unwrap_or_default().to_owned())
        .collect()
}

#[test]
fn shapes_are_searched_with_predicted_times_and_resumed() {
    let c = Case::plain("scale", "[32, 64, 128, 256, 1024]");
    let (r, err) = c.tune(&["--strategy", "exhaustive", "--budget", "20"]);
    assert_eq!(r["schema"], "kerf.tune/1", "{err}");
    assert_eq!(shapes(&r, 0).len(), 5);
    assert_eq!(shapes(&r, 1), ["dynamic", "fixed"]);
    assert_eq!(r["speedup"]["kind"], "predicted");
    assert_eq!(r["effort"]["failed"], 0, "{err}");
    // 5 shapes, both ways; the program as it is is known.
    assert_eq!(r["effort"]["search"], 9);
    let (again, err) = c.tune(&["--strategy", "exhaustive", "--budget", "20", "--resume"]);
    assert_eq!(again["assignment"], r["assignment"], "{err}");
}

#[test]
fn the_tuners_run_less_and_the_plan_runs() {
    let c = Case::plain("scale", "[32, 64, 96, 128, 160, 192, 224, 256, 512, 1024]");
    let (r, err) = c.tune(&[]);
    assert_eq!(r["strategy"], "launch", "{err}");
    let runs = r["effort"]["search"].as_u64().expect("a count");
    assert!(runs < 10, "{runs} runs: {err}");
    assert!(c.0.path().join("out/plan.json").exists());
    let o = c.kerf(&["run", "w.toml", "--plan", "out/plan.json"]);
    assert!(o.status.success(), "{}", String::from_utf8_lossy(&o.stderr));
    let (r, err) = Case::plain("scale", "[32, 64, 128, 256]").tune(&["--strategy", "ryoo"]);
    assert_eq!(r["strategy"], "ryoo", "{err}");
}

#[test]
fn a_grid_that_does_not_divide_is_rejected_where_no_guard_is() {
    // 1000 = 8 * 125: blocks of 8 and 40 divide it, others write beyond the end or leave zeros.
    let launch = r#"grid = ["n / bx"]
block = ["bx"]
args = ["x", "out", "n"]"#;
    let space = "[launch_space]\nbx = [8, 40, 64, 96]\ndefault = { bx = 40 }";
    let c = Case::new("unguarded", launch, space);
    let (r, err) = c.tune(&["--strategy", "exhaustive", "--budget", "20"]);
    let best = &r["groups"][0]["format"];
    assert!(best == "bx=40" || best == "bx=8", "{best} {err}");
    let bad = r["front"].as_array().expect("points").iter().filter(|p| {
        let level = p["assignment"][0].as_u64().unwrap_or(0) as usize;
        let name = &shapes(&r, 0)[level];
        (name == "bx=64" || name == "bx=96") && p["error"].as_f64().is_some_and(|e| e <= 1e-12)
    });
    assert_eq!(bad.count(), 0, "{r:#}");
}

#[test]
fn what_the_source_fixes_is_pruned_by_name() {
    let (r, err) = Case::plain("bounded", "[32, 64, 128]").tune(&[]);
    assert_eq!(shapes(&r, 0), ["bx=64", "bx=32"], "{err}");
    assert!(
        r["warnings"].to_string().contains("__launch_bounds__"),
        "{r:#}"
    );
    let (r, err) = Case::plain("sized", "[32, 64, 128]").tune(&[]);
    assert_eq!(shapes(&r, 0), ["bx=64", "bx=32"], "{err}");
    assert!(
        r["warnings"]
            .to_string()
            .contains("shared array `sized::here`"),
        "{r:#}"
    );
    let launch = r#"grid = ["ceil_div(n, bx)"]
block = ["bx"]
shared = "bx * 1024"
args = ["x", "out", "n"]"#;
    let space = "[launch_space]\nbx = [64, 128, 256]\ndefault = { bx = 64 }";
    let (r, err) = Case::new("scale", launch, space).tune(&[]);
    assert_eq!(shapes(&r, 0), ["bx=64", "bx=128"], "{err}");
    assert!(
        r["warnings"]
            .to_string()
            .contains("shared memory per block"),
        "{r:#}"
    );
}

#[test]
fn files_without_shapes_get_some() {
    let launch = "grid = [16]\nblock = [64]\nargs = [\"x\", \"out\", \"n\"]";
    let c = Case::new("scale", launch, "");
    let (r, err) = c.tune(&["--strategy", "exhaustive"]);
    let all = shapes(&r, 0);
    assert_eq!((all.len(), all[0].as_str()), (6, "scale_x=64"), "{err}");
    assert_eq!(r["effort"]["failed"], 0, "{err}");
    assert!(err.contains("lists no shapes"), "{err}");
    // The plan is one of the file that was written.
    let o = c.kerf(&["run", "out/workload.toml", "--plan", "out/plan.json"]);
    assert!(o.status.success(), "{}", String::from_utf8_lossy(&o.stderr));
    // Each block has a piece of its own: their number stays.
    let launch = "grid = [20]\nblock = [64]\nargs = [\"x\", \"out\", \"n\"]";
    let c = Case::new("pieces", launch, "");
    let (r, err) = c.tune(&["--strategy", "exhaustive"]);
    assert_eq!(
        (shapes(&r, 0).len(), &r["effort"]["failed"]),
        (6, &0.into()),
        "{err}"
    );
    let text = std::fs::read_to_string(c.0.path().join("out/workload.toml")).expect("a file");
    assert!(text.contains("grid = [\"20\"]"), "{text}");
    let launch = "grid = [16]\nblock = [64]\nargs = [\"x\", \"out\", \"n\"]";
    let (_, err) = Case::new("baked", launch, "").tune(&[]);
    assert!(
        err.contains("never reads blockDim") && err.contains("[launch_space]"),
        "{err}"
    );
}

#[test]
fn spaces_that_leave_nothing_are_told_so() {
    let c = Case::plain("scale", "[64, 128]");
    let text = std::fs::read_to_string(c.0.path().join("w.toml")).expect("the file");
    let text = text.replace("default = { bx = 64 }", "constraints = [\"bx > 1024\"]");
    std::fs::write(c.0.path().join("w.toml"), text).expect("written");
    let (_, err) = c.tune(&[]);
    assert!(
        err.contains("constraint") || err.contains("bx > 1024"),
        "{err}"
    );
    let (r, err) = Case::plain("scale", "[64]").tune(&[]);
    // One shape: only compiled for its block or not.
    assert_eq!(shapes(&r, 0), ["bx=64"], "{err}");
}

#[test]
fn blocks_put_together_give_the_same_bits() {
    let launch = r#"grid = ["ceil_div(n, bx)"]
block = ["bx"]
shared = "bx * 8"
args = ["x", "out", "n"]"#;
    let space = "[launch_space]\nbx = [32, 64]\ndefault = { bx = 32 }";
    let c = Case::new("growing", launch, space);
    let own = c.digest(r#"{"version":1}"#);
    for groups in [2, 8, 32] {
        let plan = format!(r#"{{"version":1,"kernels":{{"growing":{{"regroup":{groups}}}}}}}"#);
        assert_eq!(c.digest(&plan), own, "C = {groups}");
    }
    let fixed = r#"{"version":1,"launch":{"bx":64},"kernels":{"growing":{"block":[64,1,1]}}}"#;
    assert_eq!(c.digest(fixed), own);
    std::fs::write(
        c.0.path().join("p.json"),
        r#"{"version":1,"kernels":{"growing":{"block":[64,1,1]}}}"#,
    )
    .expect("a plan");
    let o = c.kerf(&["run", "w.toml", "--plan", "p.json"]);
    let err = String::from_utf8_lossy(&o.stderr);
    assert!(
        !o.status.success() && err.contains("compiled for blocks"),
        "{err}"
    );
}

#[test]
fn elements_of_a_thread_keep_the_bits() {
    let c = Case::plain("scale", "[20, 64, 256]");
    let own = c.digest(r#"{"version":1}"#);
    for coarsen in [
        r#"{"factor":2}"#,
        r#"{"factor":8}"#,
        r#"{"factor":8,"run":2}"#,
        r#"{"factor":4,"run":1}"#,
    ] {
        let plan = format!(r#"{{"version":1,"kernels":{{"scale":{{"coarsen":{coarsen}}}}}}}"#);
        assert_eq!(c.digest(&plan), own, "{coarsen}");
    }
    // Compiled for its block, and in another shape.
    let fixed = r#"{"version":1,"launch":{"bx":256},"kernels":{"scale":{"block":[256,1,1],"coarsen":{"factor":4}}}}"#;
    assert_eq!(c.digest(fixed), own);
    for (plan, why) in [
        (
            r#"{"version":1,"launch":{"bx":20},"kernels":{"scale":{"coarsen":{"factor":8}}}}"#,
            "20 threads along x of a block of 20 x 1 x 1 cannot be divided",
        ),
        (
            r#"{"version":1,"kernels":{"scale":{"coarsen":{"factor":5}}}}"#,
            "the factor is 5, and not 2, 4 or 8",
        ),
        (
            r#"{"version":1,"kernels":{"scale":{"coarsen":{"factor":2,"axis":"z"}}}}"#,
            "unknown variant `z`",
        ),
    ] {
        std::fs::write(c.0.path().join("p.json"), plan).expect("a plan");
        let o = c.kerf(&["run", "w.toml", "--plan", "p.json"]);
        let err = String::from_utf8_lossy(&o.stderr);
        assert!(!o.status.success() && err.contains(why), "{why}: {err}");
    }
    let o = c.kerf(&[
        "tune",
        "w.toml",
        "--what",
        "layout",
        "--device",
        "cpu",
        "--no-assembler",
    ]);
    let err = String::from_utf8_lossy(&o.stderr);
    assert!(
        !o.status.success() && err.contains("--what layout and code need measured times"),
        "{err}"
    );
}

#[test]
fn precision_and_launch_are_one_search() {
    let c = Case::plain("scale", "[32, 64, 256]");
    let o = c.kerf(&[
        "--format",
        "json",
        "tune",
        "w.toml",
        "--what",
        "precision,launch",
        "--tolerance",
        "1e-6",
        "--budget",
        "6",
        "--validate",
        "2",
        "--out",
        "joint",
    ]);
    let err = String::from_utf8_lossy(&o.stderr);
    let r: Value = serde_json::from_slice(&o.stdout).unwrap_or_else(|e| panic!("{e}: {err}"));
    let names: Vec<&str> = r["groups"]
        .as_array()
        .expect("groups")
        .iter()
        .filter_map(|g| g["name"].as_str())
        .collect();
    assert!(
        names.iter().any(|n| n.starts_with("launch: bx")),
        "{names:?}"
    );
    assert!(names.len() > 2, "{names:?}");
    let o = c.kerf(&[
        "tune",
        "w.toml",
        "--what",
        "precision,launch",
        "--strategy",
        "launch",
    ]);
    assert_eq!(o.status.code(), Some(2));
}

#[test]
fn clipped_launches_do_what_whole_ones_do() {
    // Every run of blocks of a two-dimensional grid, on the CPU: samples are taken, outputs compared whole.
    let launch = r#"grid = ["ceil_div(25, bx)", "ceil_div(40, by)"]
block = ["bx", "by"]
args = ["x", "out", 40, 25]"#;
    let space = "[launch_space]\nbx = [4, 8, 16]\nby = [4, 8]\ndefault = { bx = 8, by = 4 }";
    let c = Case::new("transpose", launch, space);
    let o = c.kerf(&[
        "launch-table",
        "w.toml",
        "--device",
        "cpu",
        "--samples",
        "2,3",
        "--more",
        "1",
        "--check",
    ]);
    let text = String::from_utf8_lossy(&o.stdout);
    let rows: Vec<Value> = text
        .lines()
        .filter_map(|l| serde_json::from_str(l).ok())
        .collect();
    assert!(
        o.status.success() && rows.len() > 12,
        "{}",
        String::from_utf8_lossy(&o.stderr)
    );
    assert!(
        rows.iter()
            .all(|r| r["differ"].is_null() || r["differ"][0] == 0),
        "{text}"
    );
    let first = rows
        .iter()
        .filter(|r| r["run"] == "part" && r["first"] != 0)
        .count();
    assert!(first >= 2, "{text}");
}

#[test]
fn tables_of_files_without_shapes_have_rows() {
    let launch = "grid = [16]\nblock = [64]\nargs = [\"x\", \"out\", \"n\"]";
    let table = |kernel: &str, more: &[&str]| {
        let c = Case::new(kernel, launch, "");
        let mut args = vec!["launch-table", "w.toml", "--device", "cpu"];
        args.extend(more);
        let o = c.kerf(&args);
        let err = String::from_utf8_lossy(&o.stderr).into_owned();
        assert!(o.status.success(), "{err}");
        let text = String::from_utf8_lossy(&o.stdout);
        let rows = text.lines().map(|l| serde_json::from_str(l).expect("JSON"));
        let rows: Vec<Value> = rows.filter(|r: &Value| r["run"] == "whole").collect();
        assert!(rows.iter().all(|r| r["workload"] == "w"), "{text}");
        (rows.len(), err)
    };
    let (rows, err) = table("scale", &[]);
    assert_eq!(rows, 6, "{err}");
    assert!(err.contains("no [launch_space]"), "{err}");
    assert_eq!(table("scale", &["--own"]).0, 1);
    let (rows, err) = table("baked", &[]);
    assert!(rows == 1 && err.contains("never reads blockDim"), "{err}");
}

#[test]
fn predictions_say_what_they_are_and_refuse_what_no_gpu_takes() {
    let c = Case::plain("bounded", "[64, 128]");
    let o = c.kerf(&["predict", "w.toml"]);
    let text = String::from_utf8_lossy(&o.stdout);
    assert!(text.contains("by the analytic model"), "{text}");
    let o = c.kerf(&["predict", "w.toml", "--size", "bx=128"]);
    let err = String::from_utf8_lossy(&o.stderr);
    assert!(!o.status.success(), "{err}");
    for part in ["bounded: 128 x 1 x 1 threads", "__launch_bounds__", "help:"] {
        assert!(err.contains(part), "{err}");
    }
}

#[test]
fn sums_by_halves_fit_their_array() {
    let c = Case::plain("halved", "[64, 256, 512]");
    let o = c.kerf(&["predict", "w.toml", "--size", "bx=256"]);
    let err = String::from_utf8_lossy(&o.stderr);
    assert!(o.status.success(), "{err}");
    // Twice as many threads as it has elements are still found out.
    let o = c.kerf(&["predict", "w.toml", "--size", "bx=512"]);
    let err = String::from_utf8_lossy(&o.stderr);
    assert!(
        err.contains("of 2048 bytes is used up to byte 4096"),
        "{err}"
    );
    let o = c.kerf(&["predict", "w.toml", "--check"]);
    let err = String::from_utf8_lossy(&o.stderr);
    assert!(err.contains("add --device cuda"), "{err}");
}

#[test]
fn a_tolerance_of_0_asks_for_the_same_bits() {
    let more = [
        "--tolerance",
        "0",
        "--strategy",
        "exhaustive",
        "--budget",
        "9",
    ];
    let (r, err) = Case::plain("scale", "[32, 64, 128, 1024]").tune(&more);
    assert_ne!(r["verdict"], "unmet", "{err}");
    assert_eq!(r["effort"]["failed"], 0, "{err}");
    // Sums of other blocks have other bits, whatever the error may be.
    let (r, err) = Case::plain("halved", "[32, 64, 128]").tune(&more);
    assert_eq!(r["verdict"], "unchanged", "{err}");
    assert!(r["effort"]["failed"].as_u64() > Some(0), "{r}");
    // Formats round, so that plans with other ones have other bits.
    let (r, err) =
        Case::plain("scale", "[32, 64]").tune(&["--tolerance", "0", "--what", "precision"]);
    assert_ne!(r["verdict"], "unmet", "{err}");
    assert!(r["effort"]["failed"].as_u64() > Some(0), "{r}");
}

#[test]
fn documents_of_checked_predictions_are_a_record() {
    let c = Case::plain("scale", "[64]");
    let sample = |waves: u64, begin: f64| serde_json::json!({ "blocks": 100 * waves, "seconds": begin + 1e-5 * waves as f64 });
    let launch = |n: u64| {
        serde_json::json!({
            "kernel": format!("k{n}"), "grid": [20_000, 1, 1], "block": [128, 1, 1], "measured_s": 2.1e-3,
            "samples": {
                "blocks": 20_000, "wave": 100, "short": sample(2, 5e-6), "long": sample(6, 5e-6),
                "middle": sample(2, 5e-6), "threads": 128, "registers": 30 + n, "shared": 0, "resident": 1,
                "sectors": 1.0, "segments": 0.5,
            },
        })
    };
    let all: Vec<Value> = (0..12).map(launch).collect();
    let text = serde_json::json!({ "workload": "w.toml", "launches": all }).to_string();
    std::fs::write(c.0.path().join("d.json"), text).expect("a document");
    let o = c.kerf(&["predict", "train", "d.json", "--out", "m.json"]);
    let said = String::from_utf8_lossy(&o.stdout);
    assert!(
        said.starts_with("12 launches of 12 kernels"),
        "{said}{}",
        String::from_utf8_lossy(&o.stderr)
    );
    assert!(c.0.path().join("m.json").exists());
    std::fs::write(c.0.path().join("d.json"), "{}").expect("a document");
    let o = c.kerf(&["predict", "train", "d.json"]);
    let err = String::from_utf8_lossy(&o.stderr);
    assert!(err.contains("d.json") && err.contains("--check"), "{err}");
}

#[test]
fn tuners_can_be_used_alone() {
    let sizes = "[16, 32, 64, 96, 128, 192, 256, 384, 512, 768, 1024]";
    let tune = |more: &[&str]| Case::plain("scale", sizes).tune(more);
    let (_, all) = tune(&[]);
    assert!(all.contains("left by spread"), "{all}");
    let (r, none) = tune(&["--tuners", "none"]);
    assert!(!none.contains("are left by"), "{none}");
    assert_eq!(shapes(&r, 0).len(), 11, "{none}");
    let (_, one) = tune(&["--tuners", "concurrency"]);
    assert!(one.contains("left by concurrency"), "{one}");
    assert!(!one.contains("left by spread"), "{one}");
    let (_, bad) = tune(&["--tuners", "speed"]);
    assert!(bad.contains("no tuner `speed`"), "{bad}");
}
