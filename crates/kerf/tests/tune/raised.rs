//! Programs whose own error is above the tolerance: what is raised, and what else becomes of them. Pairs of f32 as a format of
//! the search.
use super::{Case, text};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Output;

/// A workload of `raised/`, tuned into a folder of its own.
struct Raised {
    case: Case,
    file: PathBuf,
}

impl Raised {
    fn new(name: &str) -> Raised {
        let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tune/raised");
        Raised {
            case: Case::mixed(),
            file: here.join(format!("{name}.toml")),
        }
    }

    fn tune(&self, args: &[&str]) -> Output {
        let file = self.file.to_str().expect("UTF-8");
        let mut all = vec!["tune", file, "--what", "precision", "--validate", "2"];
        all.extend(["--no-assembler", "--out", "r"]);
        if !args.contains(&"--budget") {
            all.extend(["--budget", "8"]);
        }
        all.extend(args);
        self.case.command(&all).output().expect("it runs")
    }

    fn result(&self, args: &[&str]) -> (Value, String) {
        let o = self.tune(args);
        assert_eq!(o.status.code(), Some(0), "{}", text(&o.stderr));
        let file = std::fs::read(self.case.path("r/result.json")).expect("a result");
        let r = serde_json::from_slice(&file).expect("JSON");
        (r, text(&o.stdout))
    }
}

/// Kernel's variables that are in a format.
fn groups<'r>(r: &'r Value, format: &str) -> Vec<&'r str> {
    let all = r["groups"].as_array().expect("groups").iter();
    let some = all.filter(|g| g["format"] == format && g["formats"][0] != format);
    some.filter_map(|g| g["name"].as_str()).collect()
}

fn error(r: &Value, what: &str) -> f64 {
    r[what]["error"]
        .as_f64()
        .or(r["error"].as_f64())
        .expect("a number")
}

/// The sum has to be carried in double words, and its products need not be: fused, they are exact.
#[test]
fn a_dot_product_that_cancels_is_mended_by_its_accumulator() {
    let case = Raised::new("dot");
    let (r, said) = case.result(&["--tolerance", "2ulp", "--formats", "f32"]);
    assert_eq!(r["verdict"], "raised", "{said}");
    assert_eq!(r["criteria"]["metric"], "max_ulp");
    assert!(error(&r, "floor") > 2.0, "{}", r["floor"]);
    assert!(r["error"].as_f64().expect("a number") <= 2.0);
    assert_eq!(groups(&r, "dw64"), ["dot: sum"], "{said}");
    // The phi and the multiply-add.
    assert_eq!(r["raised"]["operations"], 2, "{}", r["raised"]);
    assert_eq!(r["raised"]["groups"], 1);
    assert_eq!(r["raised"]["of"], 4, "{}", r["raised"]);
    let sum = r["groups"].as_array().expect("groups").iter();
    let sum = sum.clone().find(|g| g["name"] == "dot: sum");
    let kept = &sum.expect("the sum")["kept"];
    assert_eq!(kept["kind"], "needed", "{kept}");
    assert!(kept["error"].as_f64() > Some(2.0), "{kept}");
    // It costs time, and is said to.
    assert!(r["speedup"]["value"].as_f64() <= Some(1.0));
    assert_eq!(r["speedup"]["kind"], "predicted");
    assert!(said.contains("f64 -> dw64 (dot: sum)"), "{said}");
    assert!(said.contains("2 operations of "), "{said}");
    let explained = case.case.command(&["explain", "r"]).output().expect("runs");
    let explained = text(&explained.stdout);
    assert!(explained.contains("raised:"), "{explained}");
    assert!(explained.contains("dot: sum: f64 -> dw64"), "{explained}");
    // What no source can say is refused by name.
    let patch = case.case.command(&["patch", "r"]).output().expect("runs");
    let refused = text(&patch.stderr);
    assert_ne!(patch.status.code(), Some(0));
    assert!(
        refused.contains("dot: sum as dw64") && refused.contains("double words"),
        "{refused}"
    );
    // The plan has the bits of its evaluation when it is run, and a search that ended is not made again.
    let again = case.tune(&["--tolerance", "2ulp", "--formats", "f32", "--resume"]);
    assert_eq!(again.status.code(), Some(0), "{}", text(&again.stderr));
    let file = std::fs::read(case.case.path("r/result.json")).expect("a result");
    let second: Value = serde_json::from_slice(&file).expect("JSON");
    for same in ["assignment", "error", "speedup", "raised", "validation"] {
        assert_eq!(r[same], second[same], "{same}");
    }
}

/// f32 goes to f64 or to pairs of f32, whichever costs less on the device; the function beside it stays, or goes lower.
#[test]
fn a_variance_in_f32_takes_the_cheaper_wide_format() {
    for (profile, format) in [("h200", "f64"), ("rtx4090", "dw32")] {
        let case = Raised::new("variance");
        let (r, said) = case.result(&["--tolerance", "1e-5", "--profile", profile]);
        assert_eq!(r["verdict"], "raised", "{said}");
        assert!(error(&r, "floor") > 1e-3, "{}", r["floor"]);
        let raised = groups(&r, format);
        assert!(raised.contains(&"variance: squares"), "{profile}: {said}");
        assert!(!raised.contains(&"variance: weight"), "{profile}: {said}");
        let operations = r["raised"]["operations"].as_u64().expect("a number");
        let of = r["raised"]["of"].as_u64().expect("a number");
        assert!(operations < of, "{}", r["raised"]);
    }
}

/// Nothing of it can be lowered to the format asked for, and it is raised all the same.
#[test]
fn what_cannot_be_lowered_is_raised() {
    let case = Raised::new("variance");
    let (r, said) = case.result(&["--tolerance", "1e-5", "--formats", "f32"]);
    assert_eq!(r["verdict"], "raised", "{said}");
    // Where the program is within the tolerance, there is nothing to do.
    let case = Raised::new("variance");
    let o = case.tune(&["--tolerance", "100", "--formats", "f32"]);
    assert_eq!(o.status.code(), Some(2));
    let err = text(&o.stderr);
    assert!(err.contains("nothing to tune in variance"), "{err}");
}

#[test]
fn a_polynomial_near_its_root_is_raised_and_the_rest_lowered() {
    let case = Raised::new("horner");
    let (r, said) = case.result(&["--tolerance", "1e-6"]);
    assert_eq!(r["verdict"], "raised", "{said}");
    assert!(error(&r, "floor") > 1e-6, "{}", r["floor"]);
    assert_eq!(groups(&r, "dw64"), ["horner: p"], "{said}");
    assert_eq!(groups(&r, "f32"), ["horner: damped"], "{said}");
}

/// The rounding of the output to f64 remains.
#[test]
fn an_error_that_remains_with_everything_raised_is_told() {
    let case = Raised::new("horner");
    let o = case.tune(&["--tolerance", "1e-19"]);
    assert_eq!(o.status.code(), Some(1), "{}", text(&o.stderr));
    let said = text(&o.stdout);
    assert!(said.contains("cannot be met"), "{said}");
    assert!(said.contains("operations that can be raised"), "{said}");
    let file = std::fs::read(case.case.path("r/result.json")).expect("a result");
    let r: Value = serde_json::from_slice(&file).expect("JSON");
    assert_eq!(r["verdict"], "unmet");
    let everything = r["raised"]["everything"].as_f64().expect("a number");
    assert!(everything > 1e-19 && everything < 1e-15, "{everything}");
    assert_eq!(r["effort"]["raising"], 1);
}

/// On a device with few units for f64 the search tries pairs of f32 by itself, elsewhere where they are named.
#[test]
fn pairs_of_f32_are_a_format_where_the_profile_speaks_for_them() {
    let tried = |profile: &str| {
        let case = Raised::new("horner");
        let args = ["--tolerance", "1", "--budget", "1", "--profile", profile];
        let (r, _) = case.result(&args);
        let formats = r["formats"].as_array().expect("formats").clone();
        formats.contains(&Value::from("dw32"))
    };
    assert!(tried("rtx4090"));
    assert!(!tried("h200"));
}

#[test]
fn a_tolerance_in_ulp_names_its_metric() {
    let case = Raised::new("horner");
    let o = case.tune(&["--tolerance", "2ulp", "--metric", "rms"]);
    assert_eq!(o.status.code(), Some(2));
    let err = text(&o.stderr);
    assert!(err.contains("max_ulp") && err.contains("rms"), "{err}");
    let o = case.tune(&["--tolerance", "2ulps"]);
    assert_eq!(o.status.code(), Some(2));
    assert!(text(&o.stderr).contains("2ulp"), "{}", text(&o.stderr));
}
