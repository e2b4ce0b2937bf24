//! Applications whose candidates are replayed from one recorded run, or restart the program.
use super::*;

#[test]
fn candidates_are_replayed_from_one_recorded_run() {
    let dir = tempfile::tempdir().expect("a folder");
    build(dir.path(), "replayed");
    let formats = ["--kernels", "series", "--what", "precision"];
    let v = result(dir.path(), "./replayed", &formats);
    assert_eq!(v["verdict"], "tuned", "{v:#}");
    assert_eq!(v["replay"]["used"], true, "{v:#}");
    // Once for the bits, once to make room for outputs on the device, once for its time, and each candidate.
    let evaluations = v["evaluations"].as_u64().expect("evaluations");
    assert_eq!(v["replay"]["replays"], evaluations + 3, "{v:#}");
    assert!(
        v["evaluations_per_minute"]
            .as_f64()
            .is_some_and(|n| n > 0.0)
    );
    assert_eq!(v["confirmed"]["runs"], 2, "{v:#}");
    // A replay finds what restarts find, with the same error.
    let restarts = [&formats[..], &["--no-replay", "--out", "restarts"]].concat();
    let r = result(dir.path(), "./replayed", &restarts);
    assert_eq!(r["replay"]["used"], false, "{r:#}");
    for key in ["error", "groups", "evaluations", "arrays"] {
        assert_eq!(v[key], r[key], "{key}: {v:#}{r:#}");
    }
    // The program's output decides, and replays stand for it until a plan is chosen.
    let pattern = ["--stdout-pattern", r"sum (\S+)", "--out", "by-pattern"];
    let v = result(dir.path(), "./replayed", &pattern);
    assert_eq!(
        (&v["verdict"], &v["numbers"]),
        (&"tuned".into(), &1.into()),
        "{v:#}"
    );
    assert_eq!(v["replay"]["used"], true, "{v:#}");
}

#[test]
fn what_kernels_leave_is_compared_where_a_program_copies_no_numbers() {
    let dir = tempfile::tempdir().expect("a folder");
    build(dir.path(), "replayed");
    let only = ["--kernels", "series"];
    let v = result(dir.path(), "./replayed silent", &only);
    assert_eq!(v["verdict"], "tuned", "{v:#}");
    assert_eq!(v["replay"]["used"], true, "{v:#}");
    assert!(
        v["warnings"]
            .to_string()
            .contains("copies no floating-point numbers"),
        "{v:#}"
    );
    // The array that lasts to the end and the one that is freed before; those that kernels only read are no output.
    let arrays = v["arrays"].as_array().expect("arrays");
    let names: Vec<&str> = arrays.iter().filter_map(|a| a["name"].as_str()).collect();
    assert_eq!(names, ["allocation #4", "allocation #10"], "{v:#}");
    assert_eq!(v["numbers"], 1024, "{v:#}");
    let error = v["error"].as_f64().expect("an error");
    assert!(error > 0.0 && error <= 1e-5, "{v:#}");
    // Restarts of the program see the same.
    let restarts = ["--kernels", "series", "--no-replay", "--out", "restarts"];
    let r = result(dir.path(), "./replayed silent", &restarts);
    for key in ["error", "groups", "evaluations", "arrays"] {
        assert_eq!(v[key], r[key], "{key}: {v:#}{r:#}");
    }
}

#[test]
fn arrays_freed_before_the_first_copy_to_the_host_are_no_outputs() {
    let dir = tempfile::tempdir().expect("a folder");
    build(dir.path(), "replayed");
    for (folder, how) in [("replays", None), ("restarts", Some("--no-replay"))] {
        let only: Vec<&str> = ["--kernels", "series", "--out", folder]
            .into_iter()
            .chain(how)
            .collect();
        let v = result(dir.path(), "./replayed late", &only);
        assert_eq!(v["verdict"], "tuned", "{v:#}");
        assert_eq!(v["replay"]["used"], how.is_none(), "{v:#}");
        assert_eq!(v["numbers"], 512, "{v:#}");
        assert!(
            !v["warnings"]
                .to_string()
                .contains("copies no floating-point numbers"),
            "{v:#}"
        );
    }
}

#[test]
fn what_cannot_be_replayed_restarts_the_program_by_name() {
    let dir = tempfile::tempdir().expect("a folder");
    build(dir.path(), "replayed");
    for (how, more, why) in [
        ("managed", &[][..], "cudaMallocManaged"),
        ("mapped", &[], "series is given pinned host memory"),
        ("symbol", &[], "cudaGetSymbolAddress"),
        (
            "",
            &["--record-limit", "1e-6"],
            "--record-limit allows more",
        ),
        (
            "",
            &["--time", "wall"],
            "--time wall is of the program itself",
        ),
        ("; ./replayed", &[], "more than one program"),
    ] {
        let out = dir.path().join(why.replace(' ', "-")).display().to_string();
        let more: Vec<&str> = more.iter().copied().chain(["--out", &out]).collect();
        let v = result(dir.path(), &format!("./replayed {how}"), &more);
        assert_eq!(v["replay"]["used"], false, "{how}: {v:#}");
        let said = v["replay"]["why_not"].as_str().expect("a reason");
        assert!(said.contains(why), "{how}: {said}");
        let warned = v["warnings"].to_string();
        assert!(
            warned.contains("every candidate restarts the program"),
            "{warned}"
        );
    }
}

#[test]
fn a_replay_that_fails_or_gives_other_bits_restarts_the_program() {
    let dir = tempfile::tempdir().expect("a folder");
    let pattern = ["--stdout-pattern", r"^(\S+)"];
    for (app, more, why) in [
        ("pointers", &[][..], "the replay failed: "),
        (
            "lost",
            &pattern,
            "gives other bits than the program: copy 2 of 2 to the host",
        ),
    ] {
        build(dir.path(), app);
        let out = format!("{app}-tuned");
        let more: Vec<&str> = more.iter().copied().chain(["--out", &out]).collect();
        let v = result(dir.path(), &format!("./{app}"), &more);
        assert_eq!(v["verdict"], "tuned", "{v:#}");
        assert_eq!(v["replay"]["used"], false, "{v:#}");
        let said = v["replay"]["why_not"].as_str().expect("a reason");
        assert!(said.contains(why), "{said}");
    }
}

#[test]
fn a_plan_is_good_only_where_the_program_confirms_it() {
    let dir = tempfile::tempdir().expect("a folder");
    build(dir.path(), "replayed");
    // Host code that decides by device results: no replay shows it.
    let formats = ["--kernels", "series", "--what", "precision"];
    let v = result(dir.path(), "./replayed decide", &formats);
    assert_eq!(v["replay"]["used"], true, "{v:#}");
    let rejected = v["confirmed"]["rejected"].as_array().expect("plans");
    let why = rejected[0]["why"].as_str().expect("a reason");
    assert!(why.contains("the device is wrong"), "{v:#}");
    assert_eq!(v["verdict"], "unchanged", "{v:#}");
    assert!(
        v["warnings"]
            .to_string()
            .contains("the program confirmed none of them")
    );
    // Numbers of another size: 1e300 is no float.
    let validated = |size: &str, out: &str| {
        let other = format!("./replayed x {size}");
        let more = ["--validate-with", &other, "--out", out];
        result(dir.path(), "./replayed", &[&formats[..], &more].concat())
    };
    let v = validated("3.0", "near");
    assert_eq!(v["verdict"], "tuned", "{v:#}");
    let other = &v["confirmed"]["validated"][0];
    assert_eq!(other["command"], "./replayed x 3.0", "{v:#}");
    assert!(other["error"].as_f64().is_some_and(|e| e <= 1e-5), "{v:#}");
    let v = validated("1e300", "far");
    let rejected = v["confirmed"]["rejected"].as_array().expect("plans");
    let why = rejected[0]["why"].as_str().expect("a reason");
    assert!(why.starts_with("./replayed x 1e300: "), "{v:#}");
}
