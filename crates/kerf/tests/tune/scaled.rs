//! Memory in scaled formats: searched with scales from the values, and counted where it loses something.
use super::{Case, text};
use serde_json::Value;

/// Sums of neighbours, predicted at a size at which memory decides.
fn pairs(init: &str) -> Case {
    Case::new("pairs", init, 1 << 26, "f32", "[cpu_sizes]\nn = 4096\n")
}

/// Runs a plan and gives the report.
fn run(case: &Case, storage: &str) -> Value {
    let plan = format!(r#"{{"version":1,"kernels":{{"pairs":{{"storage":{{{storage}}}}}}}}}"#);
    std::fs::write(case.path("plan.json"), plan).expect("a plan");
    let args = [
        "run",
        "w.toml",
        "--plan",
        "plan.json",
        "--reference",
        "--device",
        "cpu",
    ];
    let mut all = args.to_vec();
    all.extend(["--format", "json"]);
    let o = case.command(&all).output().expect("it runs");
    serde_json::from_slice(&o.stdout).unwrap_or_else(|e| panic!("{e}: {}", text(&o.stderr)))
}

fn loss<'r>(report: &'r Value, kernel: Option<&str>, name: &str) -> &'r Value {
    let all = report["losses"].as_array().expect("losses");
    let mine = |l: &&Value| l["kernel"].as_str() == kernel && l["name"] == name;
    all.iter().find(mine).expect("the array is counted")
}

#[test]
fn integers_are_found_where_halves_lose_too_much() {
    let case = pairs("{ uniform = [1.0, 2.0] }");
    let args = [
        "--formats",
        "f16,bf16",
        "--scaled",
        "i16,i8,e4m3",
        "--tolerance",
        "2e-4",
        "--validate",
        "4",
    ];
    let r = case.result(&args, "tuned");
    let x = r["groups"].as_array().expect("groups").iter();
    let mut x = x.filter(|g| g["name"] == "buffer x");
    let x = x.next().expect("a group of x");
    // 2 and a quarter more: 2.5 <= 32767 * 2^-13. Neither i8 nor e4m3 can be within 8 times the tolerance.
    let levels = serde_json::json!(["f32", "i16*2^-13", "f16", "bf16"]);
    assert_eq!(x["formats"], levels);
    assert_eq!(
        (&x["format"], &r["verdict"]),
        (&"i16*2^-13".into(), &"tuned".into())
    );
    let error = r["error"].as_f64().expect("an error");
    assert!(error > 1e-6 && error < 2e-4, "{error}");
    let losses = r["losses"].as_array().expect("losses");
    assert!(
        losses
            .iter()
            .all(|l| l["saturated"] == 0 && l["not_held"] == 0)
    );
    let explained = case
        .command(&["explain", "tuned"])
        .output()
        .expect("it runs");
    let words = text(&explained.stdout);
    assert!(words.contains("buffer x: f32 -> i16*2^-13"), "{words}");
    assert!(
        words.contains("no value saturated in a scaled format"),
        "{words}"
    );
    let plan = std::fs::read_to_string(case.path("tuned/plan.json")).expect("a plan");
    assert!(plan.contains("\"x\": \"i16*2^-13\""), "{plan}");
}

#[test]
fn formats_that_are_asked_for_are_the_only_ones() {
    let case = pairs("{ uniform = [1.0, 2.0] }");
    for args in [
        &["--formats", "f16"][..],
        &["--formats", "f16", "--scaled", "none"],
    ] {
        let mut all = args.to_vec();
        all.extend(["--tolerance", "1e-3", "--validate", "0"]);
        let r = case.result(&all, &format!("tuned{}", args.len()));
        for g in r["groups"].as_array().expect("groups") {
            assert!(!g["formats"].to_string().contains("2^"), "{g}");
        }
    }
}

#[test]
fn what_saturates_is_counted_and_said() {
    // 4096 values from 0 to 8, of which those above 4 - 2^-13 are beyond the largest.
    let case = pairs("{ expr = \"8.0 * i / n\" }");
    let r = run(&case, r#""x":"i16*2^-13","out":"i16*2^-10""#);
    let (first, out) = (loss(&r, None, "x"), loss(&r, Some("pairs"), "out"));
    assert_eq!(first["saturated"], 2048, "{first}");
    assert_eq!(
        (&out["saturated"], &out["not_held"]),
        (&0.into(), &0.into())
    );
    let warnings = r["warnings"].to_string();
    assert!(
        warnings
            .contains("the first content of buffer `x` is held in i16*2^-13: 2048 values saturate"),
        "{warnings}"
    );
    let r = run(&case, r#""out":"i8*2^-3""#);
    let out = loss(&r, Some("pairs"), "out");
    let saturated = out["saturated"].as_u64().expect("a count");
    // Sums (4 m + 1) / 512 of the pairs m from 127.5 / 8 on: m >= 2040 of 2048.
    assert_eq!(saturated, 16, "{out}");
    assert!(
        r["warnings"]
            .to_string()
            .contains("`out` of kernel pairs is held in i8*2^-3")
    );
}

#[test]
fn nan_without_a_code_is_never_silent() {
    let case = pairs("{ expr = \"select(i < 10, log(0.0 - 1.0), 1.0)\" }");
    let r = run(&case, r#""out":"i16*2^-12""#);
    let out = loss(&r, Some("pairs"), "out");
    assert_eq!(
        (&out["not_held"], &out["saturated"]),
        (&10.into(), &0.into())
    );
    assert!(
        r["warnings"]
            .to_string()
            .contains("NaN or infinite, which it has no code for")
    );
    // e4m3 has a NaN.
    let r = run(&case, r#""out":"e4m3""#);
    assert_eq!(loss(&r, Some("pairs"), "out")["not_held"], 0);
}
