//! `kerf tune --what algebra`, as users call it: expressions written differently, and judged by their results.
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

struct Case {
    dir: tempfile::TempDir,
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

impl Case {
    fn new(workload: &str) -> Case {
        let dir = tempfile::tempdir().expect("a folder");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/algebra/kernels.cu");
        let workload = format!("source = \"{}\"\n{workload}", source.display());
        std::fs::write(dir.path().join("w.toml"), workload).expect("a workload");
        Case { dir }
    }

    /// One of the kernels that take an array of twice the length of their output.
    fn halved(kernel: &str, init: &str) -> Case {
        Case::new(&format!(
            r#"
[sizes]
n = 96
[[buffer]]
name = "x"
type = "f64"
len = "2 * n"
init = {init}
[[buffer]]
name = "out"
type = "f64"
len = "n"
output = true
[[launch]]
kernel = "{kernel}"
grid = ["ceil_div(n, 32)"]
block = [32]
args = ["x", "out", "n"]
"#
        ))
    }

    fn force() -> Case {
        Case::new(
            r#"
[sizes]
n = 96
[[buffer]]
name = "bodies"
type = "f64x4"
len = "n"
init = { expr = "select(i % 4 == 3, (0.5 + rand) / n, 2.0 * rand - 1.0)" }
[[buffer]]
name = "pull"
type = "f64x4"
len = "n"
output = true
[[launch]]
kernel = "force"
grid = ["ceil_div(n, 32)"]
block = [32]
args = ["bodies", "pull", 0.01, "n"]
[accept]
metric = "rel_l2"
tolerance = 1e-12
"#,
        )
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn kerf(&self, args: &[&str]) -> Output {
        let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache");
        Command::new(env!("CARGO_BIN_EXE_kerf"))
            .current_dir(self.dir.path())
            .env("KERF_CACHE", cache)
            .env("NO_COLOR", "1")
            .args(args)
            .output()
            .expect("it runs")
    }

    fn tune(&self, out: &str, tolerance: &str) -> Value {
        let mut all = vec!["tune", "w.toml", "--device", "cpu", "--out", out];
        all.extend(["--what", "algebra", "--tolerance", tolerance]);
        all.extend(["--validate", "4", "--format", "json", "--no-assembler"]);
        let o = self.kerf(&all);
        assert_eq!(o.status.code(), Some(0), "{}", text(&o.stderr));
        serde_json::from_slice(&o.stdout).expect("JSON")
    }
}

#[test]
fn a_force_is_computed_by_rsqrt_at_the_accuracy_of_the_program() {
    let case = Case::force();
    let r = case.tune("t", "1e-12");
    assert_eq!(r["verdict"], "tuned");
    assert!(
        r["speedup"]["value"].as_f64() > Some(1.3),
        "{}",
        r["speedup"]
    );
    assert!(r["error"].as_f64() < Some(1e-15), "{}", r["error"]);
    assert_eq!(r["validation"]["passed"], 4);
    let group = &r["groups"][0];
    assert_eq!(group["formats"][0], "source");
    let level = group["format"].as_str().expect("a level");
    assert!(level.starts_with("rewrite-"), "{level}");
    let plan = std::fs::read_to_string(case.path("t/plan.json")).expect("a plan");
    let plan: Value = serde_json::from_str(&plan).expect("JSON");
    let steps = &plan["kernels"]["force"]["rewrites"][0]["steps"];
    let steps: Vec<&str> = steps
        .as_array()
        .expect("steps")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    assert_eq!(
        steps.iter().filter(|s| s.starts_with("rsqrt ")).count(),
        1,
        "{steps:?}"
    );
    assert!(
        !steps
            .iter()
            .any(|s| s.starts_with("div ") || s.starts_with("sqrt ")),
        "{steps:?}"
    );

    // What is said of it, by line.
    let said = text(&case.kerf(&["explain", "t"]).stdout);
    let line = said
        .lines()
        .find(|l| l.contains("line 15") && l.contains("rsqrt(d2)"));
    assert!(
        line.is_some_and(|l| l.contains("sqrt(d2)") && l.contains(" as ")),
        "{said}"
    );
    // The plan alone gives the same result, and another run the same plan.
    let run = |plan: &str| {
        let o = case.kerf(&["run", "w.toml", "--plan", plan, "--format", "json"]);
        assert_eq!(o.status.code(), Some(0), "{}", text(&o.stderr));
        let r: Value = serde_json::from_slice(&o.stdout).expect("JSON");
        r["outputs"][0]["digest"].clone()
    };
    let digest = run("t/plan.json");
    assert!(digest.is_string(), "{digest}");
    let again = case.tune("again", "1e-12");
    assert_eq!(again["groups"], r["groups"]);
    assert_eq!(run("again/plan.json"), digest);
    // A patch cannot say it, and says so.
    let o = case.kerf(&["patch", "t"]);
    let said = text(&o.stdout) + &text(&o.stderr);
    assert!(said.contains("cannot carry"), "{said}");
}

#[test]
fn a_form_that_overflows_where_the_program_does_not_is_rejected() {
    let usual = Case::halved("lengths", "{ uniform = [1.0, 2.0] }");
    let r = usual.tune("t", "1e-12");
    assert_eq!(r["verdict"], "tuned", "{r}");
    let large = Case::halved("lengths", "{ uniform = [1e200, 2e200] }");
    let r = large.tune("t", "1e-12");
    assert_eq!(r["verdict"], "unchanged", "{r}");
    assert_eq!(r["groups"][0]["format"], "source");
}

#[test]
fn what_decides_trips_and_addresses_is_not_rewritten() {
    let case = Case::halved("steps", "{ uniform = [1.0, 2.0] }");
    let o = case.kerf(&[
        "tune",
        "w.toml",
        "--device",
        "cpu",
        "--what",
        "algebra",
        "--tolerance",
        "1e-9",
    ]);
    assert_eq!(o.status.code(), Some(2), "{}", text(&o.stderr));
    assert!(
        text(&o.stderr).contains("cheaper form"),
        "{}",
        text(&o.stderr)
    );
}
