//! `kerf search replay` as users run it.
#[allow(dead_code)]
#[path = "bad_input/harness.rs"]
mod harness;

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
    for name in ["guided", "naive_ga", "exhaustive"] {
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
    assert_eq!(at, [Some(10), Some(25), Some(32)]);
    assert_eq!(marks[2]["mean"], 1.0);
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
        (vec!["--budget", "0"], "1 to"),
        (vec!["--repeats", "-1"], "1 to"),
        (vec!["--seed", "x"], "integer"),
    ] {
        let said = replay(&file, &args);
        assert_eq!(said.code, Some(2), "{args:?}");
        assert!(said.err.contains(what), "{args:?}: {}", said.err);
    }
    for (content, what) in [
        (&b"\x1f\x8b\x08"[..], "gunzip"),
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
