//! `kerf tune` and `kerf check`, as users call them.
#[path = "tune/constants.rs"]
mod constants;
#[path = "tune/limits.rs"]
mod limits;
#[path = "tune/raised.rs"]
mod raised;
#[path = "tune/refused.rs"]
mod refused;
#[path = "tune/scaled.rs"]
mod scaled;

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

/// A workload of one kernel of `tune/kernels.cu`, in a folder of its own.
struct Case {
    dir: tempfile::TempDir,
}

impl Case {
    fn new(kernel: &str, x: &str, n: usize, element: &str, more: &str) -> Case {
        let dir = tempfile::tempdir().expect("a folder");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tune/kernels.cu");
        let y = more.contains("\"y\"");
        let args = if y {
            r#""x", "y", "out", "n""#
        } else {
            r#""x", "out", "n""#
        };
        let text = format!(
            r#"
source = "{}"
[sizes]
n = {n}
[[buffer]]
name = "x"
type = "{element}"
len = "n"
init = {x}
[[buffer]]
name = "out"
type = "{element}"
len = "n"
output = true
{more}
[[launch]]
kernel = "{kernel}"
grid = ["ceil_div(n, 64)"]
block = [64]
args = [{args}]
"#,
            source.display()
        );
        std::fs::write(dir.path().join("w.toml"), text).expect("a workload");
        Case { dir }
    }

    fn mixed() -> Case {
        let y = r#"
[[buffer]]
name = "y"
type = "f64"
len = "n"
init = { uniform = [0.0, 2.0] }
"#;
        Case::new("mixed", "{ uniform = [1.0, 2.0] }", 192, "f64", y)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut c = Command::new(env!("CARGO_BIN_EXE_kerf"));
        c.current_dir(self.dir.path())
            .env(
                "KERF_CACHE",
                Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"),
            )
            .env("NO_COLOR", "1")
            .args(args);
        c
    }

    fn tune(&self, args: &[&str]) -> Output {
        let mut all = vec!["tune", "w.toml"];
        // These are tests of formats; what else is searched by default has tests of its own.
        if !args.contains(&"--what") {
            all.extend(["--what", "precision"]);
        }
        if !args.contains(&"--formats") {
            all.extend(["--formats", "f32"]);
        }
        all.extend(args);
        self.command(&all).output().expect("it runs")
    }

    /// Tunes and gives the result, which must be there.
    fn result(&self, args: &[&str], out: &str) -> Value {
        let mut all = args.to_vec();
        all.extend(["--out", out, "--format", "json"]);
        let o = self.tune(&all);
        assert_eq!(o.status.code(), Some(0), "{}", text(&o.stderr));
        let printed: Value = serde_json::from_slice(&o.stdout).expect("JSON");
        let file = std::fs::read(self.path(out).join("result.json")).expect("a result");
        let written: Value = serde_json::from_slice(&file).expect("JSON");
        assert_eq!(printed, written);
        written
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Format that each group got, by the part of its name after the kernel's.
fn formats(r: &Value) -> Vec<(String, String)> {
    let all = r["groups"].as_array().expect("groups");
    all.iter()
        .map(|g| {
            let name = g["name"].as_str().expect("a name");
            let name = name.split_once(": ").map_or(name, |n| n.1);
            (
                name.to_owned(),
                g["format"].as_str().expect("one").to_owned(),
            )
        })
        .collect()
}

const QUICK: [&str; 4] = ["--tolerance", "1e-6", "--validate", "4"];

#[test]
fn guided_finds_the_plan_that_exhaustive_search_finds() {
    let case = Case::mixed();
    let mut quick = QUICK.to_vec();
    quick.extend(["--storage", "off"]);
    let guided = case.result(&quick, "guided");
    let names: Vec<String> = formats(&guided).into_iter().map(|(n, _)| n).collect();
    assert_eq!(names, ["diff", "out[]", "wave", "scale"]);
    for (name, format) in formats(&guided) {
        let expected = if name == "diff" { "f64" } else { "f32" };
        assert_eq!(format, expected, "{name}");
    }
    assert_eq!(guided["verdict"], "tuned");
    assert_eq!(guided["speedup"]["kind"], "predicted");
    assert!(guided["speedup"]["value"].as_f64() > Some(1.0));
    assert!(guided["error"].as_f64() <= Some(1e-6));
    assert_eq!(guided["validation"]["passed"], 4);
    let diff = guided["groups"].as_array().expect("groups").iter();
    let diff = diff.filter(|g| g["name"] == "mixed: diff");
    for g in diff {
        assert_eq!(g["kept"]["kind"], "error", "{g}");
        assert!(g["kept"]["error"].as_f64() > Some(1e-6), "{g}");
    }
    let mut all = quick.clone();
    all.extend(["--strategy", "exhaustive", "--budget", "64"]);
    let exhaustive = case.result(&all, "exhaustive");
    assert_eq!(guided["assignment"], exhaustive["assignment"]);
    assert_eq!(exhaustive["ended"], "exhausted");
    let runs = |r: &Value| r["effort"]["search"].as_u64().expect("a count");
    assert_eq!(runs(&exhaustive), (1 << formats(&guided).len()) - 1);
    assert!(runs(&guided) < runs(&exhaustive) / 2);

    // What is in the folder is what was found.
    let dir = case.path("guided");
    for name in [
        "plan.json",
        "tuned.ptx",
        "tuned.bc",
        "front.csv",
        "evaluations.sqlite",
    ] {
        let n = std::fs::metadata(dir.join(name)).expect(name).len();
        assert!(n > 0, "{name}");
    }
    let ptx = std::fs::read_to_string(dir.join("tuned.ptx")).expect("PTX");
    assert!(ptx.contains("add.rn.f64") && ptx.contains("cvt.rn.f32.f64"));
    let plan = dir.join("plan.json");
    let plan = plan.to_str().expect("UTF-8");
    let o = case.command(&[
        "run",
        "w.toml",
        "--plan",
        plan,
        "--reference",
        "--format",
        "json",
    ]);
    let o = { o }.output().expect("it runs");
    assert_eq!(o.status.code(), Some(0), "{}", text(&o.stderr));
    let run: Value = serde_json::from_slice(&o.stdout).expect("JSON");
    assert_eq!(run["outputs"][0]["errors"][0]["max_rel"], guided["error"]);

    // It holds on inputs that it has not seen, and a tighter claim would not.
    let check = |inputs| {
        let c = case.command(&["check", "guided", "--inputs", inputs, "--format", "json"]);
        let o = { c }.output().expect("it runs");
        let v: Value = serde_json::from_slice(&o.stdout).expect("JSON");
        (o.status.code(), v)
    };
    let (code, v) = check("3");
    assert_eq!(code, Some(0), "{v}");
    assert_eq!(v["validation"]["passed"], 3);
    let file = dir.join("result.json");
    let mut r = guided;
    let error = r["error"].as_f64().expect("a number");
    r["criteria"]["tolerance"] = (error / 8.0).into();
    r["criteria"]["accept"]["outputs"]["out"]["tolerance"] = (error / 8.0).into();
    std::fs::write(&file, r.to_string()).expect("written");
    let (code, v) = check("2");
    assert_eq!((code, &v["holds"]), (Some(1), &Value::Bool(false)), "{v}");
    r["program"] = "another".into();
    std::fs::write(&file, r.to_string()).expect("written");
    let o = case
        .command(&["check", "guided"])
        .output()
        .expect("it runs");
    assert_eq!(o.status.code(), Some(2));
    assert!(
        text(&o.stderr).contains("has changed"),
        "{}",
        text(&o.stderr)
    );
}

#[test]
fn buffers_are_held_in_f32_by_all_who_touch_them() {
    let case = Case::mixed();
    let mut args = QUICK.to_vec();
    args.extend(["--budget", "2"]);
    let r = case.result(&args, "r");
    let groups = r["groups"].as_array().expect("groups");
    let named = |name: &str| {
        let found = groups.iter().find(|g| g["name"] == name);
        found.unwrap_or_else(|| panic!("{name} in {groups:?}"))
    };
    for (buffer, parameter) in [("buffer x", "x"), ("buffer y", "y"), ("buffer out", "out")] {
        let g = named(buffer);
        assert_eq!(g["holds"][0]["kernel"], "mixed", "{g}");
        assert_eq!(g["holds"][0]["name"], parameter, "{g}");
        assert_eq!(g["holds"][0]["sites"], g["sites"], "{g}");
        assert!(!g["sites"].as_array().expect("sites").is_empty(), "{g}");
    }
    // Everything lowered was tried first: too far off, since the difference is lowered too.
    let db = rusqlite::Connection::open(case.path("r/evaluations.sqlite")).expect("opens");
    let all_low = vec!["1"; groups.len()].join(" ");
    let error: Option<f64> = db
        .query_row(
            "SELECT error FROM evaluation WHERE phase = 'search' AND assignment = ?1",
            [all_low],
            |r| r.get(0),
        )
        .expect("it was tried");
    assert!(error > Some(1e-6), "{error:?}");
    // An input that is held in f32 is rounded, and that is an error against the reference.
    let plan = r#"{"version":1,"kernels":{"mixed":{"storage":{"y":"f32"}}}}"#;
    std::fs::write(case.path("p.json"), plan).expect("written");
    let mut c = case.command(&["run", "w.toml", "--plan", "p.json", "--reference"]);
    let o = c.args(["--format", "json"]).output().expect("it runs");
    assert_eq!(o.status.code(), Some(0), "{}", text(&o.stderr));
    let run: Value = serde_json::from_slice(&o.stdout).expect("JSON");
    let error = run["outputs"][0]["errors"][0]["max_rel"].as_f64();
    assert!(error > Some(1e-10) && error < Some(1e-6), "{error:?}");

    // What cannot be narrower is told.
    let case = Case::new("sum", "{ uniform = [0.0, 1.0] }", 64, "f64", "");
    let args = ["--tolerance", "0.1", "--validate", "0", "--formats", "f16"];
    let r = case.result(&args, "r");
    let fixed = r["fixed_storage"].as_array().expect("a list");
    let why = |f: &Value| f["why"].as_str().expect("words").to_owned();
    let out = fixed.iter().find(|f| f["name"] == "buffer out");
    assert!(why(out.expect("it")).contains("atomic"), "{fixed:?}");
}

fn evaluations(dir: &Path) -> Vec<(String, String, String)> {
    let Ok(db) = rusqlite::Connection::open(dir.join("evaluations.sqlite")) else {
        return Vec::new();
    };
    let Ok(mut s) = db.prepare("SELECT phase, assignment, input FROM evaluation") else {
        return Vec::new();
    };
    let rows = s.query_map([], |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?)));
    let mut all: Vec<_> = rows.expect("rows").map(|r| r.expect("a row")).collect();
    all.sort();
    all
}

#[test]
fn a_killed_search_goes_on_and_repeats_nothing() {
    let case = Case::mixed();
    let mut args = QUICK.to_vec();
    args.extend(["--strategy", "random", "--budget", "14", "--seed", "5"]);
    args.extend(["--storage", "off"]);
    let mut whole = case.result(&args, "whole");
    let expected = evaluations(&case.path("whole"));

    let mut resumed = vec!["tune", "w.toml", "--out", "broken", "--resume"];
    resumed.extend(["--what", "precision", "--formats", "f32"]);
    resumed.extend(&args);
    // Moments spread over the whole of a search, by a generator of no quality.
    let mut state = 88172645463325252u64;
    let mut before = 0;
    for attempt in 0..12 {
        let mut child = case
            .command(&resumed)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        std::thread::sleep(Duration::from_millis(200 + state % 1800));
        let ended = child.try_wait().expect("its state").is_some();
        let _ = child.kill();
        let _ = child.wait();
        let now = evaluations(&case.path("broken")).len();
        assert!(now >= before, "attempt {attempt}: {now} after {before}");
        before = now;
        if ended {
            break;
        }
    }
    let mut args = args.clone();
    args.push("--resume");
    let mut mended = case.result(&args, "broken");
    assert_eq!(evaluations(&case.path("broken")), expected);
    for r in [&mut whole, &mut mended] {
        for time in ["wall_s", "evaluation_s", "spent", "phases"] {
            r["effort"][time] = Value::Null;
        }
    }
    assert_eq!(whole, mended);
}

#[test]
fn a_plan_that_fails_on_other_inputs_is_demoted() {
    let case = Case::new("lucky", "{ values = [1.0, 2.0] }", 2, "f64", "");
    let args = [
        "--tolerance",
        "1e-6",
        "--validate",
        "4",
        "--perturb",
        "1e-6",
    ];
    let r = case.result(&args, "r");
    let demoted = r["demoted"].as_array().expect("a list");
    assert!(!demoted.is_empty(), "{r}");
    assert_eq!(demoted[0]["validation"]["held_out"], 0, "{r}");
    assert!(demoted[0]["validation"]["worst"].as_f64() > Some(1e-6));
    // Whatever was chosen instead passed, or is the program as it is.
    match r["verdict"].as_str() {
        Some("unchanged") => assert!(r["validation"].is_null()),
        _ => assert_eq!(r["validation"]["passed"], r["validation"]["perturbed"]),
    }
}

#[test]
fn a_candidate_that_hangs_is_a_failure_and_not_the_end() {
    let case = Case::new("endless", "{ uniform = [0.1, 1.0] }", 4, "f64", "");
    let mut args = QUICK.to_vec();
    args.extend([
        "--timeout",
        "5",
        "--strategy",
        "exhaustive",
        "--storage",
        "off",
        // What is faster is the program's matter here, not the assembler's.
        "--no-assembler",
    ]);
    let r = case.result(&args, "r");
    assert_eq!(r["verdict"], "tuned", "{r}");
    assert!(r["effort"]["failed"].as_u64() > Some(0), "{r}");
    let groups = r["groups"].as_array().expect("groups");
    let step = groups.iter().find(|g| g["name"] == "endless: step");
    let step = step.expect("a group");
    assert_eq!(step["format"], "f64");
    assert_eq!(step["kept"]["kind"], "failed", "{step}");
    let why = step["kept"]["why"].as_str().expect("words");
    assert!(why.contains("no result within"), "{why}");
}

#[test]
fn a_tolerance_that_nobody_can_meet() {
    let case = Case::mixed();
    let o = case.tune(&["--tolerance", "1e-19", "--out", "r"]);
    assert_eq!(o.status.code(), Some(1), "{}", text(&o.stderr));
    let out = text(&o.stdout);
    assert!(out.contains("cannot be met"), "{out}");
    assert!(out.contains("best achieved: output out"), "{out}");
    let file = std::fs::read(case.path("r/result.json")).expect("a result");
    let r: Value = serde_json::from_slice(&file).expect("JSON");
    assert_eq!(r["verdict"], "unmet");
    assert_eq!(r["effort"]["search"], 0);
    assert!(r["floor"]["error"].as_f64() > Some(1e-19));
}

#[test]
fn order_of_threads_is_told() {
    let case = Case::new("sum", "{ uniform = [0.0, 1.0] }", 64, "f64", "");
    let o = case.tune(&["--tolerance", "1e-3", "--validate", "0", "--out", "r"]);
    assert_eq!(o.status.code(), Some(0), "{}", text(&o.stderr));
    let err = text(&o.stderr);
    assert!(
        err.contains("depends on the order of threads (floating-point atomic)"),
        "{err}"
    );
}

#[test]
fn bits_that_change_from_run_to_run_are_a_floor() {
    // Terms of very different sizes: their sum depends on the order of the blocks that add them.
    let case = Case::new("sum", "{ normal = [0.0, 1e3] }", 4096, "f64", "");
    let quick = ["--validate", "0", "--budget", "4", "--storage", "off"];
    let with = |tolerance: &str, out: &str| {
        let mut args = vec!["--tolerance", tolerance, "--out", out];
        args.extend(quick);
        case.tune(&args)
    };
    let o = with("1e-3", "r");
    let err = text(&o.stderr);
    assert_eq!(o.status.code(), Some(0), "{err}");
    assert!(err.contains("gives other bits every time"), "{err}");
    let file = std::fs::read(case.path("r/result.json")).expect("a result");
    let r: Value = serde_json::from_slice(&file).expect("JSON");
    assert_eq!(r["floor"]["repeats"], false, "{r}");
    assert_eq!(r["floor"]["runs"], 3, "{r}");
    let worst = r["floor"]["error"].as_f64().expect("a number");
    let least = r["floor"]["least"].as_f64().expect("a number");
    assert!(least < worst, "{least} {worst}");
    // The best run is within this tolerance, the worst is not: nobody can promise it.
    let between = format!("{:e}", (least + worst) / 2.0);
    let o = with(&between, "s");
    assert_eq!(o.status.code(), Some(1), "{}", text(&o.stderr));
    let said = text(&o.stderr);
    assert!(said.contains("wider formats are not tried"), "{said}");
    assert!(
        text(&o.stdout).contains("cannot be met"),
        "{}",
        text(&o.stdout)
    );

    // The clock is another every time, too.
    let case = Case::new("timed", "{ uniform = [1.0, 2.0] }", 64, "f64", "");
    let o = case.tune(&["--tolerance", "1e-3", "--validate", "0", "--out", "r"]);
    let err = text(&o.stderr);
    assert_eq!(o.status.code(), Some(0), "{err}");
    assert!(err.contains("(clock)"), "{err}");
    assert!(err.contains("gives other bits every time"), "{err}");
}

#[test]
fn groups_alone_show_their_effect_on_every_output() {
    let case = Case::mixed();
    let mut args = QUICK.to_vec();
    args.extend(["--sensitivity", "--storage", "off", "--budget", "6"]);
    let r = case.result(&args, "r");
    let groups = r["groups"].as_array().expect("groups");
    assert_eq!(r["effort"]["alone"], groups.len(), "{r}");
    let mut worst = (0.0, String::new());
    for g in groups {
        let outputs = g["alone"][0]["outputs"].as_array().expect("outputs");
        assert_eq!(outputs[0]["name"], "out", "{g}");
        let error = outputs[0]["error"].as_f64().expect("a number");
        assert!(
            error > r["floor"]["error"].as_f64().expect("a number"),
            "{g}"
        );
        if error > worst.0 {
            worst = (error, g["name"].to_string());
        }
    }
    // What cancels is what must not be lowered.
    assert!(worst.1.contains("diff"), "{worst:?}");
    assert_eq!(r["verdict"], "tuned");
}

#[test]
fn plans_with_the_same_outputs_are_demoted_together() {
    let case = Case::new("lucky_twice", "{ values = [1.0, 2.0] }", 2, "f64", "");
    let args = [
        "--tolerance",
        "1e-6",
        "--validate",
        "4",
        "--perturb",
        "1e-6",
        "--strategy",
        "exhaustive",
        "--storage",
        "off",
    ];
    let r = case.result(&args, "r");
    let demoted = r["demoted"].as_array().expect("a list");
    let alike: u64 = demoted.iter().filter_map(|d| d["alike"].as_u64()).sum();
    assert!(alike > 0, "{r}");
    // After the first failure, one run is enough for each other plan that fails.
    let runs = r["effort"]["validation"].as_u64().expect("a number");
    assert!(runs <= demoted.len() as u64 + 8, "{r}");
    // What fails is `near`, which is exact where the search looked; `off` is not to blame, and stays lowered.
    let chosen = formats(&r);
    let format = |name: &str| chosen.iter().find(|f| f.0 == name).map(|f| f.1.clone());
    assert_eq!(format("near").as_deref(), Some("f64"), "{r}");
    assert_eq!(format("off").as_deref(), Some("f32"), "{r}");
    // A file has other kernels, too: times are predicted from counts nonetheless.
    let warnings = r["warnings"].to_string();
    assert!(!warnings.contains("static score"), "{warnings}");
}
