//! What the tuner of applications searches beside formats, and launches under plans that change them.
use super::*;
use serde_json::Value;

/// A run of the application under a plan's text.
fn planned(app: &Path, args: &[&str], plan: &str) -> Output {
    let path = app.with_file_name("given-plan.json");
    std::fs::write(&path, plan).expect("written");
    Command::new(app)
        .args(args)
        .env("KERF_DEVICE", "cpu")
        .env("KERF_PLAN", &path)
        .output()
        .expect("runs")
}

/// A plan that says the same of two kernels.
fn of_both(says: &str) -> String {
    format!(r#"{{"version":1,"kernels":{{"decay":{{{says}}},"mix":{{{says}}}}}}}"#)
}

#[test]
fn launches_of_any_grid_follow_a_plan_and_keep_their_bits() {
    let dir = tempfile::tempdir().expect("a folder");
    let app = build(dir.path(), "rows");
    for (threads, plans) in [
        (
            "128",
            &[
                r#""coarsen":{"factor":2}"#,
                r#""coarsen":{"factor":8,"run":2}"#,
                r#""reblock":256"#,
                r#""reblock":32,"coarsen":{"factor":4}"#,
                r#""code":{"registers":32}"#,
            ][..],
        ),
        ("32", &[r#""regroup":4"#, r#""block":[32,1,1]"#][..]),
    ] {
        let plain = run(&app, &[threads]);
        assert!(plain.status.success(), "{}", text(&plain));
        for says in plans {
            let o = planned(&app, &[threads], &of_both(says));
            assert_eq!(text(&o), text(&plain), "{says}");
        }
    }
}

#[test]
fn launches_that_cannot_follow_a_plan_fail_by_name() {
    let dir = tempfile::tempdir().expect("a folder");
    let app = build(dir.path(), "rows");
    let of_total = r#"{"version":1,"kernels":{"total":{"reblock":64}}}"#;
    for (threads, plan, said) in [
        (
            "33",
            of_both(r#""coarsen":{"factor":2}"#),
            "decay cannot be launched as the plan says",
        ),
        (
            "64",
            of_both(r#""block":[128,1,1]"#),
            "compiled for blocks of [128, 1, 1]",
        ),
        (
            "64",
            of_both(r#""regroup":4"#),
            "regrouping takes blocks of 32",
        ),
        (
            "64",
            of_both(r#""reblock":64,"regroup":2"#),
            "neither `block` nor `regroup`",
        ),
        (
            "64",
            of_total.to_owned(),
            "its threads are more than places in a row",
        ),
        (
            "64",
            r#"{"version":1,"launch":{"bx":64}}"#.to_owned(),
            "parameters of a workload",
        ),
    ] {
        let o = planned(&app, &[threads], &plan);
        assert!(!o.status.success(), "{plan}");
        let t = text(&o);
        assert!(t.contains(said), "{plan}: {t}");
    }
}

/// The names of what a plan changes, by what it is in the plan.
fn changed(v: &Value, is: impl Fn(&str) -> bool) -> Vec<&str> {
    let pairs = v["changed"].as_array().expect("what changes").iter();
    let mine = pairs.filter(|p| p[1].as_str().is_some_and(&is));
    mine.filter_map(|p| p[0].as_str()).collect()
}

#[test]
fn math_calls_of_an_application_have_variants_and_made_functions() {
    let dir = tempfile::tempdir().expect("a folder");
    let app = build(dir.path(), "rows");
    let only = ["--kernels", "decay", "--what", "approx", "--budget", "20"];
    let v = result(dir.path(), "./rows", &only);
    assert_eq!(v["verdict"], "tuned", "{v:#}");
    assert_eq!(v["what"], serde_json::json!(["approx"]), "{v:#}");
    let error = v["error"].as_f64().expect("an error");
    assert!(error > 0.0 && error <= 1e-5, "{v:#}");
    let names: Vec<&str> = v["groups"]
        .as_array()
        .expect("groups")
        .iter()
        .filter_map(|g| g[0].as_str())
        .collect();
    assert!(
        names
            .iter()
            .any(|n| n.contains("exp of") && n.contains("by a made function")),
        "{names:?}"
    );
    assert!(names.iter().all(|n| n.starts_with("decay")), "{names:?}");
    let other = changed(&v, |level| level != "accurate" && level != "library");
    assert!(!other.is_empty(), "{v:#}");
    let plan = std::fs::read_to_string(dir.path().join("out/plan.json")).expect("a plan");
    assert!(
        plan.contains("\"math\"") || plan.contains("\"made\""),
        "{plan}"
    );
    let o = Command::new(&app)
        .env("KERF_DEVICE", "cpu")
        .env("KERF_PLAN", dir.path().join("out/plan.json"))
        .output()
        .expect("runs");
    assert!(o.status.success(), "{}", text(&o));
    assert_ne!(text(&o), text(&run(&app, &[])), "the plan does something");
}

#[test]
fn expressions_of_an_application_are_written_differently() {
    let dir = tempfile::tempdir().expect("a folder");
    build(dir.path(), "rows");
    let only = ["--kernels", "decay", "--what", "algebra"];
    let v = result(dir.path(), "./rows", &only);
    assert_eq!(v["verdict"], "tuned", "{v:#}");
    let written = changed(&v, |level| level.starts_with("rewrite-"));
    assert!(!written.is_empty(), "{v:#}");
    let plan = std::fs::read_to_string(dir.path().join("out/plan.json")).expect("a plan");
    assert!(plan.contains("\"rewrites\""), "{plan}");
}

#[test]
fn what_rounds_nothing_is_searched_at_a_tolerance_of_zero() {
    let dir = tempfile::tempdir().expect("a folder");
    let app = build(dir.path(), "rows");
    let exact = [
        "--kernels",
        "decay,mix,total",
        "--tolerance",
        "0",
        "--time",
        "kernels",
        "--repeats",
        "2",
    ];
    let v = result(dir.path(), "./rows", &exact);
    assert_eq!(
        v["what"],
        serde_json::json!(["launch", "layout", "code"]),
        "{v:#}"
    );
    assert!(v["layouts"].as_u64().is_some_and(|n| n > 0), "{v:#}");
    assert_eq!(v["error"], 0.0, "{v:#}");
    let names: Vec<&str> = v["groups"]
        .as_array()
        .expect("groups")
        .iter()
        .filter_map(|g| g[0].as_str())
        .collect();
    for wanted in [
        "decay: elements a thread",
        "mix: elements a thread",
        "mix: threads of a block",
        "total: registers",
    ] {
        assert!(names.contains(&wanted), "{wanted}: {names:?}");
    }
    let left_out = v["left_out"].as_array().expect("what is left out");
    for what in ["layout", "launch"] {
        let hit = |l: &&Value| l["what"] == what && l["kernel"] == "total";
        let why = left_out.iter().find(hit).map(|l| l["why"].to_string());
        assert!(
            why.is_some_and(|w| w.contains("lanes") || w.contains("warp") || w.contains("shfl")),
            "{v:#}"
        );
    }
    let o = Command::new(&app)
        .env("KERF_DEVICE", "cpu")
        .env("KERF_PLAN", dir.path().join("out/plan.json"))
        .output()
        .expect("runs");
    assert_eq!(text(&o), text(&run(&app, &[])));
}
