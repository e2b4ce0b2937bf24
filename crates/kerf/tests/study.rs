//! `kerf study` as users call it.
use std::path::Path;
use std::process::{Command, Output};

fn kerf(args: &[&str]) -> Output {
    let out = Command::new(env!("CARGO_BIN_EXE_kerf"))
        .arg("study")
        .args(args)
        // Studies run on the CPU here, also where there is a GPU.
        .env("CUDA_VISIBLE_DEVICES", "")
        .output();
    out.expect("kerf runs")
}

/// Exit code 2, nothing on stdout, and these words on stderr.
fn refuses(args: &[&str], words: &[&str]) {
    let o = kerf(args);
    let said = String::from_utf8_lossy(&o.stderr).into_owned();
    assert_eq!(o.status.code(), Some(2), "{said}");
    assert!(o.stdout.is_empty());
    for w in words {
        assert!(said.contains(w), "no `{w}` in\n{said}");
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    refuses(&["sumation"], &["sumation", "'summation'"]);
    refuses(&[], &["NAME"]);
    refuses(&["products", "--seed", "x"], &["--seed", "integer"]);
    refuses(&["products", "--quick", "--large"], &["--quick", "--large"]);
    refuses(&["latency"], &["latency", "device profile", "kerf device"]);
    refuses(
        &["latency", "--profile", "/nowhere.json"],
        &["/nowhere.json", "kerf device"],
    );
    refuses(
        &["products", "--profile", "x"],
        &["reads no profile", "--profile"],
    );
    refuses(
        &["products", "--out", "/dev/null/x"],
        &["/dev/null", "--out"],
    );
}

#[test]
fn a_profile_that_is_none_is_refused() {
    let dir = tempfile::tempdir().expect("a folder");
    let file = dir.path().join("p.json");
    let path = file.display().to_string();
    for (text, words) in [
        ("{", "not a device profile"),
        ("{\"schema\": \"other\"}", "other"),
        (
            "{\"schema\": \"kerf-device-profile\", \"version\": 0}",
            "version 0",
        ),
    ] {
        std::fs::write(&file, text).expect("a file");
        refuses(&["latency", "--profile", &path], &["p.json", words]);
    }
}

#[test]
fn without_a_gpu_cuda_is_refused() {
    refuses(
        &["products", "--device", "cuda"],
        &["no cuda device", "--device cpu"],
    );
}

#[test]
fn the_list_names_every_study() {
    let o = kerf(&["list"]);
    assert!(o.status.success());
    let text = String::from_utf8_lossy(&o.stdout).into_owned();
    for name in kerf_study::names() {
        assert!(text.lines().any(|l| l.starts_with(name)), "{name}");
    }
    let o = kerf(&["list", "--format", "json"]);
    let v: serde_json::Value = serde_json::from_slice(&o.stdout).expect("JSON");
    assert_eq!(v["studies"].as_array().map(Vec::len), Some(12));
}

#[test]
fn a_study_gives_a_table_and_files() {
    let dir = tempfile::tempdir().expect("a folder");
    let out = dir.path().join("new/folder");
    let o = kerf(&["products", "--quick", "--out", &out.display().to_string()]);
    let said = String::from_utf8_lossy(&o.stderr).into_owned();
    assert!(o.status.success(), "{said}");
    let text = String::from_utf8_lossy(&o.stdout).into_owned();
    assert!(
        text.contains("double2_cmp") && text.contains("does not hold") | text.contains("holds")
    );
    let read = |name: &str| {
        let path: &Path = &out.join(name);
        std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{name}: {e}"))
    };
    assert!(read("products-chains.csv").starts_with("intervals,n,number,"));
    assert!(read("products-error.svg").contains("</svg>"));
    let summary = read("products.txt");
    assert!(summary.contains("No time was measured") && summary.trim().lines().count() == 1);
    // The same again as JSON: same seed, same numbers.
    let o = kerf(&["products", "--quick", "--format", "json"]);
    let v: serde_json::Value = serde_json::from_slice(&o.stdout).expect("one JSON document");
    assert_eq!(v["schema"], "kerf.study/1");
    assert_eq!(v["summary"].as_str(), Some(summary.trim()));
    // A time that was not measured is null, not zero.
    let columns = v["tables"][0]["columns"].as_array().expect("columns");
    let time = columns.iter().position(|c| c == "time_s").expect("time_s");
    assert!(v["tables"][0]["rows"][0][time].is_null());
}
