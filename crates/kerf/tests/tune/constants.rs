//! `__constant__` and `__device__` variables in narrower formats.
use super::*;

/// A run of `waves` whose variables are declared in `real`.
fn waves(real: &str, element: &str, more: &str) -> Case {
    let dir = tempfile::tempdir().expect("a folder");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tune/constants.cu");
    let text = format!(
        r#"
source = "{}"
flags = ["-DREAL={real}"]
[sizes]
n = 96
k = 6
[[buffer]]
name = "points"
symbol = "points"
type = ["{element}", "{element}"]
len = "k"
init = [{{ expr = "0.3 + 0.1 * i" }}, {{ expr = "0.7 * i" }}]
[[buffer]]
name = "w"
symbol = "weight"
type = "{element}"
len = "k"
init = {{ expr = "1 / (1.5 + i)" }}
[[buffer]]
name = "s"
symbol = "scale"
type = "{element}"
len = "1"
init = {{ constant = 1.3 }}
[[buffer]]
name = "x"
type = "f64"
len = "n"
init = {{ uniform = [1.0, 2.0] }}
[[buffer]]
name = "out"
type = "f64"
len = "n"
output = true
{more}
[[launch]]
kernel = "waves"
grid = ["ceil_div(n, 64)"]
block = [64]
args = ["x", "out", "n"]
"#,
        source.display()
    );
    std::fs::write(dir.path().join("w.toml"), text).expect("a workload");
    Case { dir }
}

fn digest(case: &Case, plan: &str) -> Result<String, String> {
    std::fs::write(case.path("p.json"), plan).expect("written");
    let mut c = case.command(&["run", "w.toml", "--plan", "p.json", "--format", "json"]);
    let o = c.output().expect("it runs");
    if o.status.code() != Some(0) {
        return Err(text(&o.stderr));
    }
    let run: Value = serde_json::from_slice(&o.stdout).expect("JSON");
    Ok(run["outputs"][0]["digest"].to_string())
}

fn plan(storage: &str) -> String {
    format!(r#"{{"version":1,"kernels":{{"waves":{{"storage":{{{storage}}}}}}}}}"#)
}

const ALL: &str = r#""constant points":"f32","constant weight":"f32","constant table":"f32","device scale":"f32""#;

#[test]
fn variables_held_narrower_have_the_bits_of_variables_declared_so() {
    let wide = waves("double", "f64", "");
    let own = digest(&wide, r#"{"version":1}"#).expect("runs");
    assert_eq!(
        digest(&wide, &plan(&ALL.replace("f32", "f64"))),
        Ok(own.clone())
    );
    let held = digest(&wide, &plan(ALL)).expect("runs");
    assert_ne!(held, own, "what they hold is rounded");
    // Contents of the workload, first contents of the source, arrays, structs and scalars.
    let narrow = waves("float", "f32", "");
    let declared = digest(&narrow, r#"{"version":1}"#).expect("runs");
    assert_eq!(held, declared);
    // Half of each: from f64 and from f32 are the same where f32 is exact, and rounding goes once.
    let half = digest(&wide, &plan(&ALL.replace("f32", "f16"))).expect("runs");
    assert!(half != held && half != own);
}

#[test]
fn what_cannot_be_is_told() {
    let wide = waves("double", "f64", "");
    let said = digest(&wide, &plan(r#""constant weights":"f32""#)).expect_err("refused");
    for w in ["constant weights", "constant weight", "device scale"] {
        assert!(said.contains(w), "`{w}` is not in: {said}");
    }
    let said = digest(&wide, &plan(r#""constant scale":"f32""#)).expect_err("refused");
    assert!(said.contains("device scale"), "{said}");
    // What is copied to a variable has to be held as it is.
    let more = r#"
[[buffer]]
name = "in"
type = "f64"
len = "k"
init = { uniform = [0.5, 1.0] }
[[buffer]]
name = "computed"
type = "f64"
len = "k"
[[launch]]
kernel = "weights"
grid = [1]
block = [32]
args = ["in", "computed", "k"]
[[launch]]
copy = { from = "computed", to = "w" }
"#;
    let copied = waves("double", "f64", more);
    let said = digest(&copied, &plan(ALL)).expect_err("refused");
    assert!(
        said.contains("`computed`") && said.contains("`w`"),
        "{said}"
    );
    let both = plan(ALL).replace(
        r#""waves""#,
        r#""weights":{"storage":{"out":"f32"}},"waves""#,
    );
    digest(&copied, &both).expect("runs");
}

#[test]
fn a_search_holds_constants() {
    let dir = tempfile::tempdir().expect("a folder");
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/mri_q");
    for f in ["mri_q.cu", "mri_q.toml"] {
        std::fs::copy(example.join(f), dir.path().join(f)).expect("copied");
    }
    std::fs::rename(dir.path().join("mri_q.toml"), dir.path().join("w.toml")).expect("renamed");
    let case = Case { dir };
    let args = [
        "--tolerance",
        "1e-4",
        "--formats",
        "f32",
        "--validate",
        "2",
        "--size",
        "voxels=128",
        "--size",
        "samples=24",
    ];
    let r = case.result(&args, "r");
    assert_eq!(r["verdict"], "tuned", "{r}");
    let got = formats(&r);
    for name in [
        "constant k_points",
        "constant k_magnitude, buffer magnitude",
    ] {
        let format = got.iter().find(|g| g.0 == name).map(|g| g.1.as_str());
        assert_eq!(format, Some("f32"), "{name} in {got:?}");
    }
    let plan = std::fs::read_to_string(case.path("r/plan.json")).expect("a plan");
    assert!(plan.contains("constant k_points"), "{plan}");
    let o = case.command(&["explain", "r"]).output().expect("it runs");
    assert!(
        text(&o.stdout).contains("constant k_points"),
        "{}",
        text(&o.stdout)
    );
    // What is predicted is with them: they are loaded as f32, and half as large.
    let ptx = std::fs::read_to_string(case.path("r/tuned.ptx")).expect("PTX");
    assert!(
        ptx.contains("k_points[3072]"),
        "256 points of 12 bytes: {ptx}"
    );
}
