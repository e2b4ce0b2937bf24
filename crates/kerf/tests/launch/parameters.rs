//! Launch parameters that are macros or constants of the source.
use super::{Case, shapes};
use serde_json::Value;

/// A source with tile and unroll factors; some combinations cannot run.
const TILED: &str = r#"
#ifndef TILE
#define TILE 64
#endif
#ifndef PER
#define PER 1
#endif
static_assert(PER != 3, "three is too many");
__global__ void __launch_bounds__(TILE) tiled(const double *x, double *out, int n) {
  __shared__ double all[TILE * PER * ROOM];
  for (int k = 0; k < PER; k++) {
    int i = (blockIdx.x * PER + k) * TILE + threadIdx.x;
    if (i < n) all[threadIdx.x] = x[i] * x[i];
    __syncthreads();
    if (i < n) out[i] = all[threadIdx.x] + TILE * 0.0;
    __syncthreads();
  }
}
"#;

fn tiled(source: &str, space: &str) -> Case {
    let launch = r#"grid = ["ceil_div(n, TILE * PER)"]
block = ["TILE"]
args = ["x", "out", "n"]"#;
    let c = Case::new("tiled", launch, &format!("[launch_space]\n{space}"));
    std::fs::write(c.0.path().join("t.cu"), source).expect("a source");
    let path = c.0.path().join("w.toml");
    let text = std::fs::read_to_string(&path).expect("the workload");
    let line = text
        .lines()
        .find(|l| l.starts_with("source"))
        .expect("a line");
    std::fs::write(&path, text.replace(line, "source = \"t.cu\"")).expect("a workload");
    c
}

#[test]
fn macros_of_the_source_are_compiled_for_each_value() {
    let space = "TILE = [32, 64]\nPER = [1, 2, 3, 4]\nROOM = [1, 64]\nmacros = [\"ROOM\"]\ndefault = { TILE = 64, PER = 1, ROOM = 1 }";
    let c = tiled(TILED, space);
    let (r, err) = c.tune(&["--strategy", "exhaustive"]);
    let names: Vec<&str> = (0..3)
        .filter_map(|g| r["groups"][g]["name"].as_str())
        .collect();
    assert_eq!(names, ["TILE", "PER", "ROOM"], "{err}");
    // The static assertion leaves no 3; arrays of 128 * 64 numbers are more than can be assembled.
    assert_eq!(shapes(&r, 1), ["PER=1", "PER=2", "PER=4"]);
    assert!(err.contains("three is too many"), "{err}");
    assert!(
        err.contains("bytes of shared arrays of fixed size"),
        "{err}"
    );
    let ran = r["effort"]["search"].as_u64().expect("a number");
    assert!((5..10).contains(&ran), "{ran} of 12 points ran");
    let o = c.kerf(&["patch", "out"]);
    let diff = String::from_utf8_lossy(&o.stdout).into_owned();
    assert!(
        diff.contains("\n+#define ") || diff.contains("compile with -DROOM="),
        "{diff}"
    );
    // Other values are other programs with the same results.
    let own = c.digest("{\"version\": 1}");
    let plan = "{\"version\": 1, \"launch\": {\"TILE\": 32, \"PER\": 4}}";
    assert_eq!(c.digest(plan), own);
    let bundled = c.kerf(&["bundle", "w.toml", "--out", "b"]);
    let why = String::from_utf8_lossy(&bundled.stderr).into_owned();
    assert!(!bundled.status.success(), "one of them does not compile");
    assert!(why.contains("three is too many"), "{why}");
}

#[test]
fn bundles_have_a_program_for_each_macro_and_plans_are_patched_into_defines() {
    let source = TILED.replace("ROOM", "1");
    let c = tiled(
        &source,
        "TILE = [32, 64]\nPER = [1, 4]\ndefault = { TILE = 64, PER = 1 }",
    );
    let plan = "{\"version\": 1, \"launch\": {\"TILE\": 32, \"PER\": 4}}";
    let digest = c.digest(plan);
    let o = c.kerf(&["bundle", "w.toml", "--out", "b"]);
    assert!(o.status.success(), "{}", String::from_utf8_lossy(&o.stderr));
    let o = c.kerf(&["--format", "json", "run", "b/w.toml", "--plan", "p.json"]);
    let v: Value = serde_json::from_slice(&o.stdout).expect("a report");
    assert_eq!(v["outputs"][0]["digest"], digest.as_str());
    assert_eq!(v["settings"]["TILE"], 32);
    // A name that is only used has to be listed.
    let bare = tiled(
        &TILED.replace("ROOM", "WIDE"),
        "WIDE = [1, 2]\nTILE = [64]\nPER = [1]",
    );
    let o = bare.kerf(&["run", "w.toml"]);
    let err = String::from_utf8_lossy(&o.stderr).into_owned();
    assert!(
        err.contains("`macros = [\"WIDE\"]` in [launch_space]"),
        "{err}"
    );
    // A source that defines it itself is read with another number.
    let written = source.replace("#ifndef PER", "#if 1");
    let c = tiled(
        &written,
        "TILE = [32, 64]\nPER = [1, 4]\ndefault = { TILE = 64, PER = 1 }",
    );
    assert_eq!(c.digest(plan), digest);
    // One that defines it as something else keeps it.
    let fixed = written.replace("#define PER 1", "#define PER (2 - 1)");
    let c = tiled(
        &fixed,
        "TILE = [32, 64]\nPER = [1, 4]\ndefault = { TILE = 64, PER = 1 }",
    );
    let (r, err) = c.tune(&["--strategy", "exhaustive"]);
    assert!(err.contains("`PER` keeps its value"), "{err}");
    assert_eq!(shapes(&r, 0), ["TILE=64", "TILE=32"], "{err}");
}

#[test]
fn a_define_that_grows_is_patched_where_it_stands() {
    let source = r#"
#define TILE 64
#define PER 1
__global__ void tiled(const double *x, double *out, int n) {
  int i = blockIdx.x * TILE + threadIdx.x;
  double s = 0.0;
  if (i >= n) return;
  for (int k = 0; k < 3200 / PER; k++) s = s * 0.5 + x[i];
  out[i] = x[i] + s * 0.0;
}
"#;
    let c = tiled(source, "TILE = [64]\nPER = [1, 16, 100]\nIDLE = [1, 2]");
    let text = std::fs::read_to_string(c.0.path().join("w.toml")).expect("the workload");
    std::fs::write(
        c.0.path().join("w.toml"),
        text.replace("TILE * PER", "TILE"),
    )
    .expect("a file");
    // What the source says is where the search begins.
    let (r, err) = c.tune(&["--strategy", "exhaustive"]);
    assert_eq!(shapes(&r, 0)[0], "PER=1", "{err}");
    assert!(
        err.contains("`IDLE` keeps its value: no launch mentions it"),
        "{err}"
    );
    assert_eq!(r["groups"].as_array().map(Vec::len), Some(1), "{err}");
    let o = c.kerf(&["patch", "out"]);
    let diff = String::from_utf8_lossy(&o.stdout).into_owned();
    let why = String::from_utf8_lossy(&o.stderr).into_owned();
    assert!(
        diff.contains("\n-#define PER 1\n") && diff.contains("\n+#define PER 100\n"),
        "{diff}{why}"
    );
    assert!(diff.contains("__launch_bounds__(64) tiled("), "{diff}{why}");
}
