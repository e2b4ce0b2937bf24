//! `kerf tune --what approx`, as users call it.
#[path = "tune/made.rs"]
mod made;

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

struct Case {
    dir: tempfile::TempDir,
}

impl Case {
    fn new() -> Case {
        Case::of_kernel("approx.cu", "roots", "[1.0, 2.0]")
    }

    fn of_kernel(source: &str, kernel: &str, x: &str) -> Case {
        let dir = tempfile::tempdir().expect("a folder");
        let source = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/tune")
            .join(source);
        let text = format!(
            r#"
source = "{}"
[sizes]
n = 4096
[[buffer]]
name = "x"
type = "f64"
len = "n"
init = {{ uniform = {x} }}
[[buffer]]
name = "out"
type = "f64"
len = "n"
output = true
[[launch]]
kernel = "{kernel}"
grid = ["ceil_div(n, 64)"]
block = [64]
args = ["x", "out", "n"]
"#,
            source.display()
        );
        std::fs::write(dir.path().join("w.toml"), text).expect("a workload");
        Case { dir }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn run(&self, args: &[&str]) -> Output {
        let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache");
        let mut kerf = Command::new(env!("CARGO_BIN_EXE_kerf"));
        // The program runs in another folder, and a build folder elsewhere has no headers beside it.
        let cuda = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.kerf/cuda");
        if std::env::var_os("KERF_CUDA").is_none() && cuda.exists() {
            kerf.env("KERF_CUDA", cuda);
        }
        kerf.current_dir(self.dir.path())
            .env("KERF_CACHE", cache)
            .env("NO_COLOR", "1")
            .args(args)
            .output()
            .expect("it runs")
    }

    fn tune(&self, args: &[&str], out: &str) -> Value {
        let mut all = vec!["tune", "w.toml", "--out", out, "--format", "json"];
        all.extend(["--validate", "2"]);
        all.extend(args);
        let o = self.run(&all);
        let told = String::from_utf8_lossy(&o.stderr).into_owned();
        assert_eq!(o.status.code(), Some(0), "{told}");
        serde_json::from_slice(&o.stdout).expect("JSON")
    }
}

fn number(v: &Value) -> f64 {
    v.as_f64().unwrap_or_else(|| panic!("{v} is no number"))
}

fn lambda(r: &Value) -> u32 {
    let all = r["groups"].as_array().expect("groups");
    let g = all.iter().find(|g| g["name"] == "warps: lambda");
    let word = g.expect("a group")["format"].as_str().expect("a word");
    let (part, of) = word.split_once('/').expect("a fraction");
    assert_eq!(of, "64");
    part.parse().expect("a number")
}

#[test]
fn the_published_searches_agree_on_a_straight_curve() {
    let case = Case::new();
    let ask = |strategy: &str| {
        let args = [
            "--what",
            "approx",
            "--strategy",
            strategy,
            "--qos-ratio",
            "0.5",
        ];
        case.tune(&args, strategy)
    };
    let heu = ask("heu");
    let smp = ask("smp");
    for r in [&heu, &smp] {
        assert_eq!(r["verdict"], "tuned", "{}", r["verdict"]);
        assert_eq!(r["criteria"]["metric"], "mean_rel");
        // Half of the way to the error with every call approximate, and within it.
        let all = number(&r["cheapest"]["error"]);
        let bound = number(&r["criteria"]["tolerance"]);
        let own = number(&r["floor"]["error"]);
        assert!((bound - (own + 0.5 * (all - own))).abs() < 1e-12 * all);
        assert!(number(&r["error"]) <= bound);
        let part = lambda(r);
        assert!((20..=36).contains(&part), "{part}");
        // The mean is met, and the worst element pays what it pays in an approximate warp.
        let worst = number(&r["outputs"][0]["worst"]["max_rel"]);
        assert!(
            worst > 2.0 * number(&r["outputs"][0]["mean_rel"]),
            "{worst}"
        );
    }
    let runs = |r: &Value| number(&r["effort"]["search"]);
    assert!(runs(&heu) < runs(&smp), "{} {}", runs(&heu), runs(&smp));
    // The plan says all of it, and gives the same bits when it is run again.
    let plan = std::fs::read_to_string(case.path("heu/plan.json")).expect("a plan");
    let plan: Value = serde_json::from_str(&plan).expect("JSON");
    let p = &plan["kernels"]["roots"]["partition"];
    assert_eq!(number(&p["lambda"]), f64::from(lambda(&heu)) / 64.0);
    assert!(!p["math"].as_object().expect("variants").is_empty());
    let seconds = heu["sites"].as_array().expect("sites").iter();
    let lines: Vec<&Value> = seconds
        .filter(|s| !s["second"].is_null())
        .map(|s| &s["line"])
        .collect();
    assert_eq!(lines, [10, 11].map(Value::from).iter().collect::<Vec<_>>());
    let again = |_| {
        let o = case.run(&[
            "run",
            "w.toml",
            "--plan",
            "heu/plan.json",
            "--format",
            "json",
        ]);
        let r: Value = serde_json::from_slice(&o.stdout).expect("JSON");
        r["outputs"][0]["digest"].clone()
    };
    let digests: Vec<Value> = (0..2).map(again).collect();
    assert_eq!(digests[0], digests[1]);
}

#[test]
fn calls_warps_and_formats_are_one_space() {
    let case = Case::new();
    let args = [
        "--what",
        "precision,approx",
        "--lambda",
        "on",
        "--qos",
        "0.9999999",
        "--budget",
        "16",
    ];
    let r = case.tune(&args, "joint");
    assert_eq!(r["verdict"], "tuned");
    assert!((number(&r["criteria"]["tolerance"]) - 1e-7).abs() < 1e-12);
    assert!(number(&r["error"]) <= 1e-7);
    let kinds: Vec<&str> = r["groups"]
        .as_array()
        .expect("groups")
        .iter()
        .map(|g| g["formats"][0].as_str().expect("a word"))
        .collect();
    for kind in ["f64", "accurate", "0/64"] {
        assert!(kinds.contains(&kind), "{kinds:?}");
    }
    assert!(number(&r["speedup"]["value"]) > 1.0);
    // Calls alone, to a bound on the worst element: one Newton step is enough, none is not.
    let r = case.tune(&["--what", "approx", "--tolerance", "1e-9"], "calls");
    assert_eq!(r["verdict"], "tuned");
    let all = r["sites"].as_array().expect("sites").iter();
    let variants: Vec<&Value> = all
        .map(|s| &s["variant"])
        .filter(|v| !v.is_null())
        .collect();
    assert!(
        !variants.is_empty() && variants.iter().all(|v| **v == "newton1"),
        "{variants:?}"
    );
    let human = case.run(&[
        "tune",
        "w.toml",
        "--what",
        "approx",
        "--tolerance",
        "1e-9",
        "--validate",
        "2",
    ]);
    let human = String::from_utf8_lossy(&human.stdout).into_owned();
    assert!(
        human.contains("approximate: fdiv line 10 newton1"),
        "{human}"
    );
}

#[test]
fn what_does_not_go_together_is_refused() {
    let case = Case::new();
    let refused = |args: &[&str], words: &str| {
        let mut all = vec!["tune", "w.toml"];
        all.extend(args);
        let o = case.run(&all);
        let told = String::from_utf8_lossy(&o.stderr).into_owned();
        assert_eq!(o.status.code(), Some(2), "{told}");
        assert!(told.contains(words), "{told}");
    };
    let precision = ["--what", "precision"];
    let with = |more: &[&'static str]| [&precision[..], more].concat();
    refused(
        &with(&["--strategy", "heu", "--qos", "0.9"]),
        "--what approx",
    );
    refused(&with(&["--qos-ratio", "0.8"]), "--what approx");
    refused(&with(&["--lambda", "on", "--qos", "0.9"]), "--what approx");
    refused(&["--qos", "1.5"], "between 0 and 1");
    refused(
        &["--what", "approx", "--qos-ratio", "0.5", "--metric", "psnr"],
        "less is better",
    );
    refused(&["--what", "speed"], "possible values");
}

#[test]
fn the_trade_off_of_a_workload() {
    let case = Case::new();
    let o = case.run(&["study", "sfu-tradeoff", "w.toml", "--out", "t"]);
    let told = String::from_utf8_lossy(&o.stderr).into_owned();
    assert_eq!(o.status.code(), Some(0), "{told}");
    let read = |name: &str| std::fs::read_to_string(case.path("t").join(name)).expect("a file");
    let t: Value = serde_json::from_str(&read("tradeoff.json")).expect("JSON");
    let t = &t["workloads"][0];
    let error = |i: usize| number(&t["swept"]["degrees"][i]["error"]["mean_rel"]);
    assert_eq!(error(0), 0.0);
    assert!(error(8) > 0.0 && error(16) > error(8));
    assert_eq!(error(16), number(&t["swept"]["cheap_error"]["mean_rel"]));
    assert!(number(&t["error_fit"]["r2"]) > 0.95);
    assert!(t["swept"]["own"].is_null(), "times on the CPU");
    assert_eq!(t["swept"]["hash"]["different"], 1);
    let ends: Vec<f64> = t["searches"]
        .as_array()
        .expect("three")
        .iter()
        .map(|s| number(&s["lambda"]))
        .collect();
    assert!(
        ends.len() == 3 && ends.iter().all(|l| (0.6..=0.95).contains(l)),
        "{ends:?}"
    );
    assert!(read("curves.csv").lines().count() == 18 && read("tradeoff.svg").starts_with("<svg"));
    // A folder with results is not mixed with others; --resume takes what is there.
    let again = ["study", "sfu-tradeoff", "w.toml", "--out", "t"];
    let o = case.run(&again);
    assert_eq!(o.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&o.stderr).contains("--resume"));
    let before = read("curves.csv");
    std::fs::remove_file(case.path("t").join("curves.csv")).expect("removed");
    let o = case.run(&[&again[..], &["--resume"]].concat());
    assert_eq!(o.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&o.stderr).contains("1 workloads are there already"));
    assert_eq!(read("curves.csv"), before);
    let o = case.run(&["study", "products", "w.toml"]);
    assert_eq!(o.status.code(), Some(2));
    let o = case.run(&["study", "products", "--own-sizes"]);
    assert_eq!(o.status.code(), Some(2));
}
