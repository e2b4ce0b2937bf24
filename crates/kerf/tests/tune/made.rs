//! Functions made for the arguments of a program, as a search finds them.
use super::{Case, number};
use serde_json::Value;

fn made(r: &Value) -> Vec<&str> {
    let all = r["sites"].as_array().expect("sites").iter();
    all.filter_map(|s| s["made"].as_str()).collect()
}

#[test]
fn an_exponential_is_made_for_its_range_and_the_tolerance() {
    let case = Case::of_kernel("made.cu", "sums", "[-7.0, 0.0]");
    let r = case.tune(&["--tolerance", "1e-9", "--budget", "20"], "made");
    assert_eq!(r["verdict"], "tuned");
    assert!(number(&r["error"]) <= 1e-9 && number(&r["error"]) > 1e-15);
    let [exp] = made(&r)[..] else {
        panic!("{:?}", made(&r));
    };
    assert!(
        exp.starts_with("exp in f64 for -7.9e0 to 0e0, relative error"),
        "{exp}"
    );
    assert!(number(&r["speedup"]["value"]) > 1.05, "{}", r["speedup"]);
    // The plan has the code, and gives the bits of the evaluation when it is run.
    let plan = std::fs::read_to_string(case.path("made/plan.json")).expect("a plan");
    let plan: Value = serde_json::from_str(&plan).expect("JSON");
    let function = &plan["kernels"]["sums"]["made"][0]["function"];
    assert_eq!(
        (&function["function"], &function["format"]),
        (&"exp".into(), &"f64".into())
    );
    assert!(function["steps"].as_array().expect("steps").len() > 5);
    // Inputs like those that it was made for have no other arguments; half of these have, for k = 1 alone.
    let used = &r["validation"]["made"][0];
    assert_eq!(
        (&used["inputs"], &used["outside"]),
        (&2.into(), &0.into()),
        "{used}"
    );
    let text = std::fs::read_to_string(case.path("w.toml")).expect("a workload");
    let wider = text.replace("[-7.0, 0.0]", "[-15.8, 0.0]");
    std::fs::write(case.path("wider.toml"), wider).expect("a workload");
    let plan = ["--plan", "made/plan.json", "--count", "--format", "json"];
    let counted = case.run(&[&["run", "wider.toml"], &plan[..]].concat());
    let counted: Value = serde_json::from_slice(&counted.stdout).expect("JSON");
    let used = &counted["counts"]["made"][0];
    let (calls, outside) = (number(&used["calls"]), number(&used["outside"]));
    assert!(calls >= 4096.0, "{used}");
    assert!((0.0146..0.0166).contains(&(outside / calls)), "{used}");
    let explained = case.run(&["explain", "made"]);
    let explained = String::from_utf8_lossy(&explained.stdout).into_owned();
    assert!(
        explained.contains("exp in f64 for -7.9e0 to 0e0")
            && explained.contains(" arguments outside, on 2 other inputs"),
        "{explained}"
    );
}

#[test]
fn a_search_that_ended_is_resumed_with_its_functions() {
    let case = Case::of_kernel("made.cu", "sums", "[-7.0, 0.0]");
    let args = ["--what", "approx", "--tolerance", "1e-9", "--budget", "4"];
    let first = case.tune(&args, "resumed");
    let again = case.tune(&[&args[..], &["--resume"]].concat(), "resumed");
    assert_eq!(made(&first), made(&again));
    assert_eq!(made(&first).len(), 1);
}

#[test]
fn functions_of_two_arguments_and_of_two_results_are_made_and_put_into_the_source() {
    let case = Case::of_kernel("made_two.cu", "spirals", "[0.5, 9.0]");
    let args = ["--what", "approx", "--tolerance", "1e-6", "--budget", "40"];
    let r = case.tune(&args, "two");
    assert_eq!(r["verdict"], "tuned");
    assert!(number(&r["error"]) <= 1e-6 && number(&r["error"]) > 1e-15);
    let groups = r["groups"].as_array().expect("groups");
    let offered = |function: &str| {
        let name = format!("spirals: {function} of ");
        let group = groups.iter().filter(|g| {
            let own = g["name"].as_str().unwrap_or_default();
            own.starts_with(&name) && own.ends_with("by a made function")
        });
        group.count()
    };
    for function in ["sincos", "pow", "atan2"] {
        assert!(offered(function) > 0, "{function}: {groups:#?}");
    }
    let chosen = made(&r);
    assert!(
        chosen.iter().any(|m| m.starts_with("sincos in f64 for ")),
        "{chosen:?}"
    );
    let general = |m: &&&str| m.starts_with("pow in f64 for ") && m.contains(", second argument ");
    assert!(chosen.iter().filter(general).count() == 2, "{chosen:?}");
    assert!(
        chosen
            .iter()
            .any(|m| m.contains("second argument 2.4e0 to 2.4e0")),
        "{chosen:?}"
    );
    // The patched source is compiled and run against the reference before it is shown.
    let patch = case.run(&["patch", "two"]);
    let text = String::from_utf8_lossy(&patch.stdout).into_owned();
    let told = String::from_utf8_lossy(&patch.stderr).into_owned();
    assert_eq!(patch.status.code(), Some(0), "{told}");
    for part in [
        "+static __device__ __forceinline__ void kerf_sincos_made_",
        "(angle, &sine, &cosine);",
        "+static __device__ __forceinline__ double kerf_pow_made_",
        "(2.0 + cosine, 2.4)",
    ] {
        assert!(text.contains(part), "{part}: {text}\n{told}");
    }
    assert!(!text.contains("+        sincos(angle"), "{text}");
}
