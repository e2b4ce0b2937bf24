//! `kerf patch`, as users call it: tune, patch, apply, run again.
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A source of `patch/` with its workload in a folder of its own.
struct Case {
    dir: tempfile::TempDir,
}

const HELPER: &str =
    "#pragma once\n__device__ inline double helper(double v) { return v * 0.25; }\n";

impl Case {
    fn new(source: &str, kernel: &str, element: &str, more: &str) -> Case {
        let dir = tempfile::tempdir().expect("a folder");
        let from = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/patch")
            .join(source);
        std::fs::create_dir(dir.path().join("code")).expect("a folder");
        std::fs::copy(from, dir.path().join("code").join(source)).expect("the source");
        let text = format!(
            r#"
source = "{source}"
[sizes]
n = 256
[[buffer]]
name = "x"
type = "{element}"
len = "n"
init = {{ uniform = [0.1, 2.0] }}
[[buffer]]
name = "out"
type = "{element}"
len = "n"
output = true
[[launch]]
kernel = "{kernel}"
grid = ["ceil_div(n, bx)"]
block = ["bx"]
args = ["x", "out", "n"]
[launch_space]
bx = [32, 64]
default = {{ bx = 64 }}
{more}
"#
        );
        std::fs::write(dir.path().join("code/w.toml"), text).expect("a workload");
        Case { dir }
    }

    fn constructs() -> Case {
        let c = Case::new("constructs.cu", "many", "f64", "");
        std::fs::write(c.path("code/patch_helper.cuh"), HELPER).expect("a header");
        c
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).expect(name)
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

    fn tune(&self, more: &[&str]) {
        let mut args = vec![
            "tune",
            "code/w.toml",
            "--out",
            "result",
            "--budget",
            "5",
            "--validate",
            "2",
            // Predicted from the program alone, so that it is the same with or without an assembler.
            "--no-assembler",
        ];
        // What is patched is chosen by the test, not by the default.
        if !more.contains(&"--what") {
            args.extend(["--what", "precision"]);
        }
        if !more.contains(&"--formats") {
            args.extend(["--formats", "f32"]);
        }
        args.extend(more);
        let o = self.kerf(&args);
        assert!(o.status.success(), "{}", String::from_utf8_lossy(&o.stderr));
    }

    /// The patch as JSON.
    fn patch(&self, more: &[&str]) -> Value {
        let mut args = vec![
            "patch",
            "result",
            "--format",
            "json",
            "--out",
            "change.diff",
            "--inputs",
            "1",
            "--no-assembler",
        ];
        args.extend(more);
        let o = self.kerf(&args);
        assert!(o.status.success(), "{}", String::from_utf8_lossy(&o.stderr));
        serde_json::from_slice(&o.stdout).expect("JSON")
    }

    /// Applies the diff as a user would.
    fn apply(&self) {
        let o = Command::new("patch")
            .args(["-p1", "-i", "change.diff"])
            .current_dir(self.dir.path())
            .output()
            .expect("patch runs");
        assert!(o.status.success(), "{}", String::from_utf8_lossy(&o.stdout));
    }

    fn error(&self) -> f64 {
        let o = self.kerf(&["run", "code/w.toml", "--reference", "--format", "json"]);
        let v: Value = serde_json::from_slice(&o.stdout).expect("JSON");
        v["outputs"][0]["errors"][0]["max_rel"]
            .as_f64()
            .expect("an error")
    }
}

#[test]
fn declarations_literals_calls_and_host_copies() {
    let c = Case::constructs();
    c.tune(&["--tolerance", "1e-4"]);
    let p = c.patch(&[]);
    let error = p["patched"]["error"].as_f64().expect("an error");
    assert!(error <= 1e-4 && error > 1e-12, "{error}");
    assert!(p["patched"]["time"].as_f64().expect("a time") < 1.0);
    let before = c.text("code/constructs.cu");
    c.apply();
    let now = c.text("code/constructs.cu");
    for (file, at) in [("code/constructs.cu", 0), ("code/patch_helper.cuh", 1)] {
        let files = p["files"].as_array().expect("files");
        let same = files.iter().any(|f| f["text"] == c.text(file));
        assert!(
            same,
            "file {at}: the diff gives what was tried\n{}",
            c.text(file)
        );
    }
    for part in [
        "float a = x[i] * 2.0f, b = 0.0f, *p = out + i; // three in one",
        "b += (float)s * (float)t * a;",
        "const float c = SQ(a) + (float)HALF * b;",
        "sqrtf(c + 1.0f)",
        "__device__ float damp(float x, float k);",
        "return x * expf(-k * x);",
        "many(const float *__restrict__ x, float *out, int n)",
        "kerf_upload(d_x, x.data(), n * sizeof(double))",
        "kerf_download(out.data(), d_out, n * sizeof(double))",
        "float *d_x, *d_out;",
    ] {
        assert!(now.contains(part), "{part} in\n{now}");
    }
    // Only what has to change does.
    let untouched = |l: &&str| before.lines().any(|b| b == *l);
    assert!(now.lines().filter(untouched).count() > before.lines().count() / 2);
    assert!(c.text("code/w.toml").contains("type = \"f32\""));
    assert!(c.error() < 1e-4);
}

#[test]
fn files_elsewhere_and_changed_ones_stay() {
    let c = Case::constructs();
    let source = c
        .text("code/constructs.cu")
        .replace("patch_helper.cuh", "../patch_helper.cuh");
    std::fs::write(c.path("code/constructs.cu"), source).expect("the source");
    std::fs::rename(c.path("code/patch_helper.cuh"), c.path("patch_helper.cuh")).expect("moved");
    c.tune(&["--tolerance", "1e-4"]);
    let p = c.patch(&[]);
    let named = |n: &Value| n.as_str().is_some_and(|n| n.contains("patch_helper.cuh"));
    assert!(
        p["notes"].as_array().expect("notes").iter().any(named),
        "{p:#}"
    );
    assert!(!c.text("change.diff").contains("helper.cuh\n"));
    // The plan numbers operations of the program as it was.
    let other = c.text("code/constructs.cu").replace("+ 1.0)", "+ 1.5)");
    std::fs::write(c.path("code/constructs.cu"), &other).expect("the source");
    let o = c.kerf(&["patch", "result", "--apply"]);
    assert_eq!(o.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&o.stderr).contains("has changed since it was tuned"));
    assert_eq!(c.text("code/constructs.cu"), other);
}

#[test]
fn approximations_and_no_plan() {
    let c = Case::new("waves.cu", "waves", "f32", "");
    c.tune(&["--tolerance", "1e-3", "--what", "approx"]);
    let o = c.kerf(&["patch", "result", "--apply", "--inputs", "1"]);
    assert!(o.status.success(), "{}", String::from_utf8_lossy(&o.stderr));
    let now = c.text("code/waves.cu");
    assert!(now.contains("* __sinf(x[i])"), "{now}");
    assert!(now.contains("s = __fdividef(s, 1.0f + x[i]);"), "{now}");
    let o = c.kerf(&["patch", "result", "--plan", "99"]);
    assert_eq!(o.status.code(), Some(1), "there is no such plan");
    let o = c.kerf(&["patch", "result"]);
    assert_eq!(o.status.code(), Some(2), "the program is another one now");
    let o = c.kerf(&["patch", "nowhere"]);
    assert_eq!(o.status.code(), Some(2));
}

#[test]
fn opencl() {
    let c = Case::new("soften.cl", "soften", "f64", "");
    c.tune(&["--tolerance", "1e-4", "--storage", "off"]);
    c.patch(&[]);
    c.apply();
    let now = c.text("code/soften.cl");
    assert!(now.contains("float e = exp((float)-x[i] * 0.5f);"), "{now}");
    assert!(now.contains("out[i] = e / (1.0f + e);"), "{now}");
    assert!(now.contains("__global const double *x"), "{now}");
    assert!(c.error() < 1e-4);
}

#[test]
fn vectors_and_functions_in_two_formats() {
    let c = Case::new("vectors.cu", "turn", "f64", "");
    c.tune(&["--tolerance", "1e-10"]);
    let p = c.patch(&[]);
    assert!(p["patched"]["time"].as_f64().expect("a time") < 1.0);
    c.apply();
    let now = c.text("code/vectors.cu");
    for part in [
        "__device__ double bend(double v)",
        "__device__ float bend_f32(float v)",
        "* expf(-v)",
        "double fine = bend(x[i]);",
        "bend_f32((float)x[n - 1 - i] * 3.0f)",
    ] {
        assert!(now.contains(part), "{part} in\n{now}");
    }
    assert!(c.error() < 1e-10);
}

#[test]
fn vectors_and_buffers_of_sixteen_bits() {
    let c = Case::new("vectors.cu", "turn", "f64", "");
    c.tune(&["--tolerance", "1e-2", "--formats", "f16"]);
    let p = c.patch(&[]);
    c.apply();
    let now = c.text("code/vectors.cu");
    for part in [
        "#include <cuda_fp16.h>",
        "const __half *x",
        "__half2float(x[i])",
        "float2 operator*(float2 a, float2 b) { return make_float2(",
        "__half *d_x",
    ] {
        assert!(now.contains(part), "{part} in\n{now}");
    }
    assert!(c.text("code/w.toml").contains("type = \"f16\""));
    let promised = p["patched"]["error"].as_f64().expect("an error");
    assert!(promised <= 1e-2, "{promised}");
    // Inputs that are rounded before the reference sees them count no longer.
    assert!(c.error() <= 1e-2);
}
