//! `kerf search replay` as users run it.
#[allow(dead_code)]
use crate::bad_input::harness;

use harness::{Folder, Said, call, kerf};
use serde_json::{Value, json};
use std::path::Path;

fn replay(file: &Path, args: &[&str]) -> Said {
    let file = file.to_str().expect("a name");
    let all = [&["search", "replay", file], args].concat();
    call(kerf(all))
}

/// A cache of Kernel Tuner: time grows with the distance from block 128, tile 2; one block fails.
fn cache() -> String {
    let blocks = [32, 64, 96, 128, 160, 192, 224, 256];
    let tiles = [1, 2, 3, 4];
    let mut entries = serde_json::Map::new();
    for b in blocks {
        for t in tiles {
            let far = f64::from((b - 128_i32).abs()) / 32.0 + f64::from((t - 2_i32).abs());
            let time = match b {
                256 => json!("RuntimeFailedConfig"),
                _ => json!(1.0 + 0.1 * far),
            };
            let entry = json!({ "block": b, "tile": t, "time": time });
            entries.insert(format!("{b},{t}"), entry);
        }
    }
    json!({
        "kernel_name": "k", "device_name": "GPU",
        "tune_params_keys": ["block", "tile"],
        "tune_params": { "block": blocks, "tile": tiles },
        "cache": entries
    })
    .to_string()
}

#[test]
fn strategies_are_compared() {
    let f = Folder::new();
    let file = f.file("space.json", cache());
    let args = ["--strategy", "guided,naive_ga,exhaustive", "--budget", "32"];
    let said = replay(&file, &args);
    said.succeeds();
    assert!(said.out.contains("k on GPU: 2 variables, 32 outcomes"));
    for name in ["guided", "naive-ga", "exhaustive"] {
        let line = said.out.lines().find(|l| l.contains(name)).expect("a line");
        assert!(line.contains("1.000"), "{line}");
    }
    let json_args = [&args[..], &["--format", "json"]].concat();
    let first = replay(&file, &json_args);
    assert_eq!(first.out, replay(&file, &json_args).out);
    let v: Value = serde_json::from_str(&first.out).expect("JSON");
    assert_eq!(v["schema"], "kerf.search-replay/1");
    assert_eq!(v["optimum"], 1.0);
    let marks = v["strategies"][0]["marks"].as_array().expect("marks");
    let at: Vec<_> = marks.iter().map(|m| m["executions"].as_u64()).collect();
    assert_eq!(at, [2, 5, 10, 25, 32].map(Some));
    assert_eq!(marks[4]["mean"], 1.0);
}

#[test]
fn what_the_file_lacks_is_told() {
    let f = Folder::new();
    let levels = json!([{ "name": "f64" }, { "name": "f32" }]);
    let space = json!({
        "schema": "kerf.search-space/1",
        "problem": {
            "tolerance": 0.5,
            "variables": [{ "name": "x", "levels": levels }, { "name": "y", "levels": levels }]
        },
        "outcomes": [
            { "assignment": [0, 0], "outcome": { "ran": { "error": 0.0, "time": 1.0 } } },
            { "assignment": [1, 0], "outcome": { "ran": { "error": 0.4, "time": 0.8 } } }
        ]
    });
    let file = f.file("space.json", space.to_string());
    let said = replay(&file, &["--strategy", "exhaustive", "--repeats", "1"]);
    said.succeeds();
    assert!(said.err.contains("2 times"), "{}", said.err);
    assert!(said.out.contains("all evaluated"), "{}", said.out);
}

#[test]
fn mistakes_are_told() {
    let f = Folder::new();
    let file = f.file("space.json", cache());
    for (args, what) in [
        (vec!["--strategy", "guidet"], "did you mean `guided`?"),
        (
            vec!["--strategy", "random,delta_debg"],
            "did you mean `delta-debug`?",
        ),
        (vec!["--strategy", "dataflow"], "no precisions"),
        (vec!["--strategy", "ryoo"], "static metrics"),
        (vec!["--objective", "zeal"], "measured are time"),
        (vec!["--budget", "0"], "1 to"),
        (vec!["--repeats", "-1"], "1 to"),
        (vec!["--seed", "x"], "integer"),
    ] {
        let said = replay(&file, &args);
        assert_eq!(said.code, Some(2), "{args:?}");
        assert!(said.err.contains(what), "{args:?}: {}", said.err);
    }
    for (content, what) in [
        (&b"\x1f\x8b\x08"[..], "gzip"),
        (b"", "not JSON"),
        (b"{}", "neither"),
        (b"{\"cache\": {}}", "tune_params"),
    ] {
        let said = replay(&f.file("bad.json", content), &[]);
        assert_eq!(said.code, Some(2));
        assert!(said.err.contains(what), "{}", said.err);
    }
    let said = replay(&f.path("nowhere.json"), &[]);
    assert_eq!(said.code, Some(2));
    assert!(said.err.contains("cannot read"), "{}", said.err);
}

#[test]
fn all_that_suit_are_compared_on_compressed_files() {
    let f = Folder::new();
    let packed = kerf_search::exchange::pack(cache().as_bytes()).expect("packed");
    let file = f.file("space.json.gz", packed);
    let said = replay(
        &file,
        &["--strategy", "all", "--budget", "100", "--repeats", "3"],
    );
    said.succeeds();
    assert!(said.err.contains("32 points, fewer than"), "{}", said.err);
    for name in [
        "guided",
        "random",
        "naive-ga",
        "annealing",
        "differential",
        "local",
    ] {
        let line = said.out.lines().find(|l| l.trim_start().starts_with(name));
        let line = line.unwrap_or_else(|| panic!("no {name}: {}", said.out));
        assert!(line.contains("1.000"), "{line}");
    }
    for absent in ["dataflow", "ryoo", "exhaustive"] {
        assert!(!said.out.contains(absent), "{}", said.out);
    }
    assert!(said.out.contains("90 %"), "{}", said.out);
}

fn search(args: &[&str]) -> Said {
    call(kerf([&["search"], args].concat()))
}

#[test]
fn files_go_from_one_format_to_another() {
    let f = Folder::new();
    let from = f.file("space.json", cache());
    let name = |p: &Path| p.to_str().expect("a name").to_owned();
    let (t4, back) = (name(&f.path("t4.json.gz")), name(&f.path("cache.json")));
    let export = |from: &str, to: &str, out: &str| {
        search(&["export", from, "--to", to, "--out", out]).succeeds();
    };
    export(&name(&from), "t4", &t4);
    export(&t4, "kerneltuner", &back);
    let shown = |file: &str| {
        let said = search(&["show", file, "--format", "json"]);
        said.succeeds();
        serde_json::from_str::<Value>(&said.out).expect("JSON")
    };
    let first = shown(&name(&from));
    assert_eq!(
        (&first["entries"], &first["failed"]),
        (&json!(32), &json!(4))
    );
    assert_eq!(first["fastest"][0]["configuration"], "block=128 tile=2");
    assert_eq!(shown(&t4), first);
    assert_eq!(shown(&back), first);
    let t1 = name(&f.path("t1.json"));
    export(&back, "t1", &t1);
    let described = shown(&t1);
    assert_eq!(described["points"], 32);
    let human = search(&["show", &t1]);
    assert!(
        human.out.contains("2 parameters, 32 combinations"),
        "{}",
        human.out
    );
    // A race needs repeats, and replay needs outcomes.
    let said = search(&["race", &back]);
    assert_eq!(said.code, Some(2));
    assert!(said.err.contains("no times of single runs"), "{}", said.err);
    let said = search(&["replay", &t1]);
    assert!(said.err.contains("T1"), "{}", said.err);
    let empty = f.path("empty");
    std::fs::create_dir(&empty).expect("a folder");
    let said = search(&["export", &name(&empty), "--to", "t4"]);
    assert!(said.err.contains("no space.json"), "{}", said.err);
}

#[test]
fn a_result_folder_is_exported() {
    let f = Folder::new();
    let levels = json!([{ "name": "f64" }, { "name": "f32" }]);
    f.file(
        "space.json",
        json!({
            "schema": "kerf.search-space/1",
            "problem": {
                "tolerance": 0.5,
                "variables": [{ "name": "x", "levels": levels }]
            },
            "outcomes": [
                { "assignment": [0], "outcome": { "ran": { "error": 0.0, "time": 1.0 } } },
                { "assignment": [1], "outcome": { "ran": { "error": 0.25, "time": 0.5 } } }
            ]
        })
        .to_string(),
    );
    let result = |kind: &str| {
        json!({
            "workload": "w.toml", "device": "a GPU",
            "speedup": { "kind": kind, "by": "a model", "timing": { "baseline_s": 0.004 } }
        })
        .to_string()
    };
    let t4 = || {
        let dir = f.path("");
        let said = search(&["export", dir.to_str().expect("a name"), "--to", "t4"]);
        said.succeeds();
        serde_json::from_str::<Value>(&said.out).expect("JSON")
    };
    f.file("result.json", result("measured"));
    let v = t4();
    assert_eq!(v["metadata"]["device"], "a GPU");
    let lowered = &v["results"][1];
    assert_eq!(lowered["configuration"], json!({ "x": "f32" }));
    let value = |name: &str| {
        let all = lowered["measurements"].as_array().expect("a list");
        all.iter()
            .find(|m| m["name"] == name)
            .map(|m| m["value"].clone())
    };
    assert_eq!(
        (value("time"), value("error")),
        (Some(json!(2.0)), Some(json!(0.25)))
    );
    f.file("result.json", result("predicted"));
    let v = t4();
    let remark = v["metadata"]["remark"].as_str().expect("a remark");
    assert!(remark.contains("predicted by a model"), "{remark}");
}

#[test]
fn ties_are_told_as_ties() {
    let f = Folder::new();
    let times = |t: f64| -> Vec<f64> {
        (0..12)
            .map(|i| t * (1.0 + 0.01 * f64::from(i % 3)))
            .collect()
    };
    let space = json!({
        "kernel_name": "k", "device_name": "GPU", "tune_params": { "b": [1, 2, 3] },
        "cache": {
            "1": { "b": 1, "time": 1.01, "times": times(1.0) },
            "2": { "b": 2, "time": 1.0101, "times": times(1.0) },
            "3": { "b": 3, "time": 2.02, "times": times(2.0) }
        }
    });
    let file = f.file("space.json", space.to_string());
    let said = search(&["race", file.to_str().expect("a name")]);
    said.succeeds();
    assert!(said.out.contains("2 cannot be told apart"), "{}", said.out);
    assert!(said.out.contains("slower"), "{}", said.out);
}
