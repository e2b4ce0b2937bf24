//! What is refused or told: a full disk, bad input, used folders.
use super::*;

#[test]
fn a_full_disk_is_told_and_the_search_goes_on_later() {
    let case = Case::mixed();
    let mut args = vec!["tune", "w.toml", "--out", "r", "--resume"];
    args.extend(QUICK);
    args.extend(["--storage", "off"]);
    let quoted: Vec<String> = args.iter().map(|a| format!("'{a}'")).collect();
    // Files of at most 60 kB: the database has no room for all evaluations.
    let script = format!(
        "trap '' XFSZ; ulimit -f 60; exec '{}' {}",
        env!("CARGO_BIN_EXE_kerf"),
        quoted.join(" ")
    );
    // What is compiled is in the cache already.
    let mut warm = args.clone();
    warm[3] = "warm";
    assert!(
        case.command(&warm)
            .output()
            .expect("it runs")
            .status
            .success()
    );
    let mut c = Command::new("bash");
    let o = c
        .current_dir(case.dir.path())
        .env(
            "KERF_CACHE",
            Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"),
        )
        .env("NO_COLOR", "1")
        .args(["-c", &script])
        .output()
        .expect("it runs");
    let err = text(&o.stderr);
    assert_eq!(o.status.code(), Some(2), "{err}");
    assert!(
        err.contains("/r/") || err.contains("r/evaluations"),
        "{err}"
    );
    assert!(err.contains("help:"), "{err}");
    assert!(!case.path("r/result.json").exists());
    let before = evaluations(&case.path("r")).len();
    let o = case.command(&args).output().expect("it runs");
    assert_eq!(o.status.code(), Some(0), "{}", text(&o.stderr));
    assert!(evaluations(&case.path("r")).len() >= before);
}

#[test]
fn bad_input_is_refused_by_name() {
    let case = Case::mixed();
    let refused = |case: &Case, args: &[&str], what: &[&str]| {
        let o = case.tune(args);
        let err = text(&o.stderr);
        assert_eq!(o.status.code(), Some(2), "{args:?}: {err}");
        assert!(o.stdout.is_empty(), "{args:?}");
        for w in what {
            assert!(err.contains(w), "{args:?}: {w} in {err}");
        }
    };
    refused(&case, &[], &["no tolerance", "--tolerance"]);
    refused(&case, &["--tolerance", "-1"], &["cannot be met"]);
    refused(&case, &["--tolerance", "nan"], &["cannot be met"]);
    refused(&case, &["--tolerance", "x"], &["invalid value"]);
    refused(
        &case,
        &["--tolerance", "1e-6", "--metric", "max"],
        &["unknown metric"],
    );
    refused(
        &case,
        &["--tolerance", "1e-6", "--strategy", "guide"],
        &["no strategy `guide`", "did you mean `guided`?"],
    );
    refused(
        &case,
        &["--tolerance", "1e-6", "--formats", "f64"],
        &["f32, f16 or bf16"],
    );
    refused(
        &case,
        &["--tolerance", "1e-6", "--budget", "0"],
        &["1 or more"],
    );
    refused(
        &case,
        &["--tolerance", "1e-6", "--profile", "h20x"],
        &["h20x"],
    );
    refused(
        &case,
        &["--tolerance", "1e-6", "--out", "w.toml"],
        &["w.toml"],
    );
    assert!(!case.path("w-tuned").exists());

    let count = Case::new("count", "{ constant = 2 }", 8, "i32", "");
    refused(
        &count,
        &["--tolerance", "1"],
        &["nothing to tune in count", "no floating-point"],
    );
    let single = Case::new("single", "{ uniform = [0.0, 1.0] }", 8, "f32", "");
    refused(
        &single,
        &["--tolerance", "1"],
        &["nothing to tune in single", "--formats f16,bf16"],
    );
    let nowhere = Case::new("nowhere", "{ uniform = [0.0, 1.0] }", 8, "f64", "");
    refused(
        &nowhere,
        &["--tolerance", "1"],
        &["NaN or infinite", "nothing to compare"],
    );
    let o = case
        .command(&["check", "nothing"])
        .output()
        .expect("it runs");
    assert_eq!(o.status.code(), Some(2));
    assert!(text(&o.stderr).contains("result.json"));
}

#[test]
fn a_used_folder_and_another_search_are_refused() {
    let case = Case::new("single", "{ uniform = [0.0, 1.0] }", 8, "f32", "");
    let args = |t: &'static str| {
        [
            "--tolerance",
            t,
            "--formats",
            "f16",
            "--validate",
            "0",
            "--out",
            "r",
        ]
        .to_vec()
    };
    let o = case.tune(&args("0.01"));
    assert_eq!(o.status.code(), Some(0), "{}", text(&o.stderr));
    let o = case.tune(&args("0.01"));
    assert_eq!(o.status.code(), Some(2));
    assert!(text(&o.stderr).contains("--resume"), "{}", text(&o.stderr));
    let mut other = args("0.02");
    other.push("--resume");
    let o = case.tune(&other);
    assert_eq!(o.status.code(), Some(2));
    assert!(
        text(&o.stderr).contains("another search: --tolerance, --metric or [accept]"),
        "{}",
        text(&o.stderr)
    );
}

#[test]
fn accesses_outside_of_buffers_are_told() {
    let case = Case::new("beyond", "{ uniform = [1.0, 2.0] }", 192, "f64", "");
    let o = case.tune(&["--tolerance", "1e-6", "--validate", "0"]);
    let err = text(&o.stderr);
    assert_eq!(o.status.code(), Some(2), "{err}");
    assert!(err.contains("buffer x has 192 elements"), "{err}");
}
