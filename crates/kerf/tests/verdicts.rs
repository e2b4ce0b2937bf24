//! Verdicts as users see them: what is accepted, what is not, with which exit code, and what is said of inputs that
//! nobody tried.
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const SOURCE: &str = r#"
__global__ void roots(const double *x, double *y, int *c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  y[i] = sqrt(x[i]);
  c[i] = (int)(1000.0 * x[i]);
}
"#;

struct Case {
    dir: tempfile::TempDir,
}

impl Case {
    fn new(init: &str, accept: &str) -> Case {
        let dir = tempfile::tempdir().expect("a folder");
        let text = format!(
            r#"
source = "roots.cu"
[sizes]
n = 1000
[[buffer]]
name = "x"
type = "f64"
len = "n"
init = {init}
[[buffer]]
name = "y"
type = "f64"
len = "n"
output = true
[[buffer]]
name = "c"
type = "i32"
len = "n"
output = true
[[launch]]
kernel = "roots"
grid = ["ceil_div(n, 128)"]
block = [128]
args = ["x", "y", "c", "n"]
{accept}
"#
        );
        std::fs::write(dir.path().join("w.toml"), text).expect("a workload");
        std::fs::write(dir.path().join("roots.cu"), SOURCE).expect("a source");
        Case { dir }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn kerf(&self, args: &[&str]) -> Output {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let root = std::fs::canonicalize(root).expect("the repository");
        let mut c = Command::new(env!("CARGO_BIN_EXE_kerf"));
        if std::env::var_os("KERF_CUDA").is_none() && root.join(".kerf/cuda").exists() {
            c.env("KERF_CUDA", root.join(".kerf/cuda"));
        }
        c.args(args)
            .current_dir(self.dir.path())
            .output()
            .expect("kerf runs")
    }

    /// `kerf run --reference`: exit code, standard output, standard error.
    fn run(&self, more: &[&str]) -> (Option<i32>, String, String) {
        let mut args = vec!["run", "w.toml", "--reference"];
        args.extend(more);
        let o = self.kerf(&args);
        (o.status.code(), text(&o.stdout), text(&o.stderr))
    }

    /// A plan with every operation in f32: one of the integers is another then.
    fn narrow_plan(&self) {
        let o = self.kerf(&["inspect", "roots.cu", "--all-as", "f32"]);
        assert!(o.status.success(), "{}", text(&o.stderr));
        std::fs::write(self.path("plan.json"), &o.stdout).expect("a plan");
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

const ACCEPT: &str = "[accept]\ntolerance = 1e-6";

#[test]
fn a_comparison_of_nothing_is_rejected() {
    let c = Case::new("{ uniform = [-2.0, -1.0] }", ACCEPT);
    let (code, out, err) = c.run(&[]);
    assert_eq!(code, Some(1), "{out}");
    let said = "nothing could be compared (0 of 1000 values compared, 1000 pairs of NaN)";
    assert!(out.contains(&format!("rejected: {said}")), "{out}");
    assert!(
        err.contains(&format!("rejected: output y: {said}")),
        "{err}"
    );
    let c = Case::new(
        "{ uniform = [-2.0, -1.0] }",
        "[accept]\ntolerance = 1e-6\nallow_nan = true",
    );
    assert_eq!(c.run(&[]).0, Some(1), "nothing is not mended by leave");
    let c = Case::new("{ uniform = [-2.0, -1.0] }", "");
    assert_eq!(c.run(&[]).0, Some(1), "nor by having no criterion");
}

#[test]
fn nan_of_finite_inputs_needs_leave() {
    let some = "{ uniform = [-1.0, 1.0] }";
    let c = Case::new(some, ACCEPT);
    let (code, out, err) = c.run(&[]);
    assert_eq!(code, Some(1), "{out}");
    assert!(
        err.contains("the program makes NaN of finite inputs"),
        "{err}"
    );
    assert!(err.contains("allow_nan = true"), "{err}");
    let o = c.kerf(&["tune", "w.toml", "--out", "result"]);
    assert_eq!(o.status.code(), Some(2), "{}", text(&o.stdout));
    let err = text(&o.stderr);
    assert!(
        err.contains("makes NaN of finite inputs: output y"),
        "{err}"
    );
    // For all outputs, or for the one that has them.
    for leave in [
        "[accept]\ntolerance = 1e-6\nallow_nan = true",
        "[accept]\ntolerance = 1e-6\n[accept.outputs.y]\nallow_nan = true",
    ] {
        let c = Case::new(some, leave);
        let (code, out, _) = c.run(&["--format", "json"]);
        assert_eq!(code, Some(0), "{out}");
        let v: Value = serde_json::from_str(&out).expect("JSON");
        let verdict = &v["outputs"][0]["verdict"];
        let counts = &verdict["counts"];
        assert_eq!(verdict["accepted"], true, "{verdict}");
        let sum = counts["compared"]
            .as_u64()
            .zip(counts["nan_pairs"].as_u64());
        assert_eq!(sum.map(|(c, n)| c + n), Some(1000), "{counts}");
    }
    let other = "[accept]\ntolerance = 1e-6\n[accept.outputs.c]\nallow_nan = true";
    assert_eq!(Case::new(some, other).run(&[]).0, Some(1));
}

#[test]
fn nan_of_the_inputs_are_none_of_the_programs() {
    let c = Case::new("{ file = \"x.npy\" }", ACCEPT);
    let head = "{'descr': '<f8', 'fortran_order': False, 'shape': (1000,), }";
    let mut bytes = b"\x93NUMPY\x01\x00v\x00".to_vec();
    bytes.extend(format!("{head:<117}\n").as_bytes());
    for i in 0..1000 {
        let x = if i == 7 { f64::NAN } else { 1.0 + i as f64 };
        bytes.extend(x.to_le_bytes());
    }
    std::fs::write(c.path("x.npy"), bytes).expect("an array");
    let (code, out, err) = c.run(&[]);
    assert_eq!(code, Some(0), "{out}{err}");
    assert!(
        out.contains("999 of 1000 values compared, 1 pair of NaN"),
        "{out}"
    );
}

#[test]
fn integers_that_differ_are_rejected_with_and_without_a_criterion() {
    for accept in [ACCEPT, ""] {
        let c = Case::new("{ uniform = [1.0, 2.0] }", accept);
        assert_eq!(c.run(&[]).0, Some(0), "{accept}");
        c.narrow_plan();
        let (code, out, err) = c.run(&["--plan", "plan.json"]);
        assert_eq!(code, Some(1), "{accept}: {out}");
        assert!(err.contains("rejected: output c: "), "{err}");
        assert!(err.contains("differ"), "{err}");
    }
}

#[test]
fn inputs_that_do_not_vary_are_no_other_inputs() {
    let c = Case::new(
        "{ constant = 1.5 }",
        "[accept]\ntolerance = 1e-6\n[accept.outputs.c]\ntolerance = 1",
    );
    // Without the integers, which any rounding changes.
    let source = SOURCE.replace("c[i] = (int)(1000.0 * x[i]);", "c[i] = i;");
    std::fs::write(c.path("roots.cu"), source).expect("a source");
    let o = c.kerf(&["tune", "w.toml", "--out", "result", "--size", "n=65536"]);
    assert!(o.status.success(), "{}", text(&o.stderr));
    let o = c.kerf(&["explain", "result"]);
    let explained = text(&o.stdout);
    assert!(
        explained.contains("no other inputs were tried"),
        "{explained}"
    );
    let o = c.kerf(&["patch", "result", "--format", "json"]);
    let (said, err) = (text(&o.stdout), text(&o.stderr));
    assert!(o.status.success(), "{err}");
    assert!(err.contains("no other inputs were tried"), "{err}");
    assert!(!err.contains("other inputs within"), "{err}");
    let v: Value = serde_json::from_str(&said).expect("JSON");
    let elsewhere = &v["patched"]["elsewhere"];
    assert_eq!(elsewhere["inputs"], 0, "{elsewhere}");
    assert_eq!(elsewhere["same"], 4, "{elsewhere}");
    // The same folder without any record of a validation.
    let path = c.path("result/result.json");
    let mut r: Value =
        serde_json::from_slice(&std::fs::read(&path).expect("a file")).expect("JSON");
    r["validation"] = Value::Null;
    std::fs::write(&path, r.to_string()).expect("written");
    for args in [
        &["explain", "result"][..],
        &["report", "result", "--markdown"],
    ] {
        let o = c.kerf(args);
        let said = text(&o.stdout);
        assert!(o.status.success(), "{}", text(&o.stderr));
        assert!(said.contains("no other inputs were tried"), "{said}");
        assert!(!said.contains("confidence"), "{said}");
    }
}
