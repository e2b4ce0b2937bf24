//! `kerf quantize` as users run it, on images that are drawn.
#[allow(dead_code)]
use crate::bad_input::harness;

use harness::{Folder, Said, call, with_progress};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;

fn quantize(args: &[&str]) -> Said {
    call(with_progress([&["quantize"], args].concat()))
}

fn json(said: &Said) -> Value {
    said.succeeds();
    serde_json::from_str(&said.out).expect("JSON")
}

/// ONNX Runtime, where `scripts/setup.sh --dev` puts it.
fn onnx_runtime() -> PathBuf {
    let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.kerf/python/lib");
    let folders = std::fs::read_dir(&python).into_iter().flatten().flatten();
    let libraries = folders
        .filter_map(|f| std::fs::read_dir(f.path().join("site-packages/onnxruntime/capi")).ok())
        .flat_map(|files| files.flatten().map(|f| f.path()));
    let named = |p: &PathBuf| p.to_string_lossy().contains("/libonnxruntime.so");
    let mut found = libraries.filter(named);
    found.next().unwrap_or_else(|| {
        panic!(
            "no ONNX Runtime in {}: run scripts/setup.sh --dev",
            python.display()
        )
    })
}

#[test]
fn onnx_runtime_executes_what_was_trained() {
    let f = Folder::new();
    let out = f.path("run");
    let out = out.to_str().expect("a name");
    let train = ["train", "--data", "stripes", "--epochs", "1", "--out", out];
    quantize(&[&train[..], &["--batch", "64", "--quiet"]].concat()).succeeds();
    let library = onnx_runtime();
    let library = library.to_str().expect("a name");
    let infer = ["infer", out, "--library", library, "--format", "json"];
    let v = json(&quantize(&infer));
    assert_eq!(v["schema"], "kerf.quantize-infer/1");
    let e = json(&quantize(&["eval", out, "--format", "json"]));
    let part = |of: &Value| of.as_f64().expect("a number");
    let count = part(&v["count"]);
    let fake = part(&v["fake_quantized"]["correct"]);
    assert_eq!(
        v["fake_quantized"]["correct"],
        e["quantized"]["score"]["correct"]
    );
    // The same network: integers differ from their simulation where a sum lies between two steps.
    let int8 = part(&v["int8"]["correct"]);
    assert!(count > 0.0 && fake > 0.5 * count, "{v}");
    assert!((int8 - fake).abs() <= 0.01 * count, "{v}");
    let fp32 = part(&v["fp32"]["correct"]);
    let own = part(&e["unquantized"]["score"]["correct"]);
    assert!((fp32 - own).abs() <= 0.002 * count, "{v} {e}");

    let none = quantize(&["infer", out, "--library", "/nowhere/libonnxruntime.so"]);
    assert_eq!(none.code, Some(2));
    assert!(none.err.contains("pip install onnxruntime"), "{}", none.err);
}

#[test]
fn train_evaluate_and_tune() {
    let f = Folder::new();
    let out = f.path("run");
    let out = out.to_str().expect("a name");
    let train = [
        "train",
        "--data",
        "stripes",
        "--epochs",
        "1",
        "--batch",
        "64",
        "--out",
        out,
        "--seeds",
        "2",
        "--held-out",
        "0.1",
    ];
    let said = quantize(&train);
    said.succeeds();
    assert!(
        said.out.contains("test accuracy") && said.out.contains("conv2.weight"),
        "{}",
        said.out
    );
    assert!(
        said.err.contains("seed 2 (2 of 2): epoch 1 of 1"),
        "{}",
        said.err
    );
    // Not over what is there; going on finds everything done.
    let again = quantize(&train);
    assert_eq!(again.code, Some(2));
    assert!(again.err.contains("--resume"), "{}", again.err);
    let resumed = [&train[..], &["--resume", "--quiet", "--format", "json"]].concat();
    let v = json(&quantize(&resumed));
    assert_eq!(v["schema"], "kerf.quantize/1");
    assert_eq!(v["seeds"].as_array().map(Vec::len), Some(2));
    let accuracy = v["accuracy"]["mean"].as_f64().expect("a number");
    assert!(accuracy > 0.5, "{accuracy}");
    let e = json(&quantize(&["eval", out, "--seed", "2", "--format", "json"]));
    assert_eq!(e["quantized"]["score"], v["seeds"][1]["test"]);
    let s = quantize(&["sensitivity", out, "--bits", "2"]);
    s.succeeds();
    assert!(
        s.out.contains("conv1") && s.out.contains("held-out part"),
        "{}",
        s.out
    );
    let t = quantize(&[
        "tune",
        out,
        "--max-drop",
        "20%",
        "--budget",
        "12",
        "--format",
        "json",
    ]);
    let t: Value = serde_json::from_str(&t.out).expect("JSON");
    assert!(t["found"]["ratio"].as_f64().is_some_and(|r| r < 1.0), "{t}");
    assert_eq!(t["held_out"], true);
    let bits = f.path("run/bits.json");
    let more = [
        "train",
        "--data",
        "stripes",
        "--epochs",
        "1",
        "--batch",
        "512",
        "--bits-of",
        bits.to_str().expect("a name"),
        "--weights",
        &format!("{out}/seed-1/weights.safetensors"),
        "--out",
        &format!("{out}/fine"),
        "--quiet",
    ];
    let said = quantize(&more);
    said.succeeds();
    assert_eq!(said.err, "");
}

#[test]
fn a_killed_run_goes_on_with_the_same_bits() {
    let f = Folder::new();
    let (a, b) = (f.path("a"), f.path("b"));
    let train = |out: &Path, more: &[&str]| {
        let out = out.to_str().expect("a name");
        let all = [
            "quantize", "train", "--data", "stripes", "--method", "rand+mix", "--epochs", "3",
            "--tau", "10",
        ];
        with_progress([&all[..], &["--out", out], more].concat())
    };
    call(train(&a, &["--threads", "1"])).succeeds();
    let mut child = train(&b, &[])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program should start");
    let lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
    let first = lines
        .map_while(Result::ok)
        .find(|l| l.contains("epoch 1 of 3"));
    // SIGKILL: nothing can be tidied up.
    child.kill().expect("a child that can be killed");
    child.wait().expect("a child");
    assert!(first.is_some() && !b.join("result.json").exists());
    let said = call(train(&b, &["--resume"]));
    said.succeeds();
    assert!(said.err.contains("goes on from step"), "{}", said.err);
    let weights =
        |at: &Path| std::fs::read(at.join("seed-1/weights.safetensors")).expect("weights");
    assert!(weights(&a) == weights(&b));
}

#[test]
fn mistakes_are_named() {
    let f = Folder::new();
    let out = f.path("run");
    let out = out.to_str().expect("a name");
    let base = ["train", "--data", "stripes", "--epochs", "1", "--out", out];
    for (args, part) in [
        (&["--bits", "9"][..], "2 to 8"),
        (&["--method", "maxx"], "maxx"),
        (&["--cutout", "4"], "--cutout 4: stripes"),
        (&["--keep", "conv9"], "no node `conv9`"),
        (&["--keep", "conv1", "--quantize", "conv1"], "both"),
        (&["--bits-of", "conv9.weight=4"], "conv2.weight"),
        (
            &["--weights", "/nowhere.safetensors"],
            "/nowhere.safetensors",
        ),
        (&["--rate", "-1"], "not positive"),
        (&["--network", "text-transformer"], "takes tokens"),
        (&["--rate", "1e30"], "the loss is"),
    ] {
        let said = quantize(&[&base[..], args].concat());
        assert_eq!(said.code, Some(2), "{args:?}: {}", said.err);
        assert!(said.err.contains(part), "{args:?}: {}", said.err);
        let _ = std::fs::remove_dir_all(out);
    }
    let said = quantize(&["train", "--data", "imagenet", "--out", out]);
    assert!(
        said.code == Some(2) && said.err.contains("imagenet"),
        "{}",
        said.err
    );
    let said = quantize(&["eval", out]);
    assert!(
        said.code == Some(2) && said.err.contains("result.json"),
        "{}",
        said.err
    );
    let said = quantize(&["methods"]);
    said.succeeds();
    for name in ["rand+mix", "mix-printed", "pact", "small-cnn"] {
        assert!(said.out.contains(name));
    }
}
