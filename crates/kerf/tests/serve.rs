//! `kerf serve`: jobs one after the other in one process give what a process for each of them gives, and a job that fails
//! costs itself.
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

const SOURCE: &str = r#"
__global__ void scaled(const float *x, float *y, int n, int what) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  if (what == 1 && i == n - 1) __trap();
  while (what == 2) *(volatile float *)(y + i) += 1.0f;
  y[i] = FACTOR * x[i] + y[i];
}
"#;

/// A workload of the source; `what` its kernel is to do.
fn put(dir: &Path, name: &str, factor: &str, what: u32) -> String {
    let text = format!(
        r#"
source = "k.cu"
flags = ["-DFACTOR={factor}"]
[sizes]
n = 1000
[[buffer]]
name = "x"
type = "f32"
len = "n"
init = {{ file = "x.npy" }}
[[buffer]]
name = "y"
type = "f32"
len = "n"
init = {{ normal = [0, 1] }}
output = true
[[launch]]
kernel = "scaled"
grid = [8]
block = [128]
args = ["x", "y", "n", {what}]
"#
    );
    std::fs::write(dir.join("k.cu"), SOURCE).expect("a source");
    let path = dir.join(name);
    std::fs::write(&path, text).expect("a workload");
    path.display().to_string()
}

/// An array of a thousand equal numbers.
fn put_array(dir: &Path, value: f32) {
    let mut bytes = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    let head = "{'descr': '<f4', 'fortran_order': False, 'shape': (1000,), }";
    bytes.extend(format!("{head:<117}\n").bytes());
    bytes.extend(value.to_le_bytes().repeat(1000));
    std::fs::write(dir.join("x.npy"), bytes).expect("an array");
}

fn kerf() -> Command {
    let mut c = Command::new(env!("CARGO_BIN_EXE_kerf"));
    c.env("NO_COLOR", "1");
    c
}

/// `kerf serve`, asked one job at a time.
struct Served {
    child: Child,
    jobs: ChildStdin,
    answers: BufReader<ChildStdout>,
    asked: u64,
}

impl Served {
    fn start() -> Served {
        let mut child = kerf()
            .arg("serve")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("kerf runs");
        Served {
            jobs: child.stdin.take().expect("a pipe"),
            answers: BufReader::new(child.stdout.take().expect("a pipe")),
            child,
            asked: 0,
        }
    }

    fn line(&mut self, text: &str) -> Value {
        writeln!(self.jobs, "{text}").expect("written");
        let mut line = String::new();
        self.answers.read_line(&mut line).expect("an answer");
        serde_json::from_str(&line).expect("an answer is JSON")
    }

    fn ask(&mut self, words: &[&str]) -> Value {
        self.asked += 1;
        let answer = self.line(&json!({"id": self.asked, "arguments": words}).to_string());
        assert_eq!(answer["id"], self.asked);
        answer
    }

    /// The worker processes that it has.
    fn workers(&self) -> Vec<String> {
        let tasks = format!("/proc/{}/task", self.child.id());
        let tasks = std::fs::read_dir(tasks).expect("threads");
        let all = tasks.flatten().map(|t| t.path().join("children"));
        let each = all.map(|f| std::fs::read_to_string(f).unwrap_or_default());
        let ids = each.flat_map(|t| t.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        ids.collect()
    }

    fn end(self) {
        let Served {
            mut child, jobs, ..
        } = self;
        drop(jobs);
        assert_eq!(child.wait().expect("it ends").code(), Some(0));
    }
}

/// What a command gives by itself: its code, document and first lines of standard error.
fn alone(words: &[&str]) -> (i32, Value, String) {
    let o = kerf().args(["--format", "json"]).args(words).output();
    let o = o.expect("kerf runs");
    let document = serde_json::from_slice(&o.stdout).unwrap_or(Value::Null);
    let errors = String::from_utf8_lossy(&o.stderr).trim_end().to_owned();
    (o.status.code().unwrap_or(-1), document, errors)
}

/// A document of a run without what clocks say.
fn timeless(mut document: Value) -> Value {
    let all = document.as_object_mut().expect("a document");
    assert!(all.contains_key("times") && all.contains_key("outputs"));
    all.remove("times");
    all.remove("spent");
    document
}

fn assert_same_run(served: &Value, words: &[&str]) {
    let (code, document, _) = alone(words);
    assert_eq!(served["code"], code, "{served}");
    assert_eq!(served["error"], Value::Null);
    assert_eq!(timeless(served["document"].clone()), timeless(document));
}

fn assert_same_failure(served: &Value, words: &[&str]) {
    let (code, document, errors) = alone(words);
    assert_eq!((code, document), (2, Value::Null));
    assert_eq!(
        (&served["code"], &served["document"]),
        (&json!(2), &Value::Null)
    );
    let e = &served["error"];
    let message = e["message"].as_str().expect("a message");
    let help = e["help"]
        .as_str()
        .map_or(String::new(), |h| format!("\nhelp: {h}"));
    assert_eq!(format!("error: {message}{help}"), errors);
}

#[test]
fn jobs_are_done_one_after_the_other_by_one_worker() {
    let dir = tempfile::tempdir().expect("a folder");
    let dir = dir.path();
    put_array(dir, 1.5);
    let twice = put(dir, "twice.toml", "2.0f", 0);
    let thrice = put(dir, "thrice.toml", "3.0f", 0);
    let traps = put(dir, "traps.toml", "2.0f", 1);
    let mut s = Served::start();
    let run = |path| ["run", path, "--device", "cpu"];

    let first = s.ask(&run(&twice));
    assert_same_run(&first, &run(&twice));
    let worker = s.workers();
    assert_eq!(worker.len(), 1);
    assert_same_run(&s.ask(&run(&thrice)), &run(&thrice));
    assert_same_failure(&s.ask(&run(&traps)), &run(&traps));
    assert_same_failure(&s.ask(&run("none.toml")), &run("none.toml"));
    // What comes next may be announced.
    let ahead = json!([run(&twice), ["run"], run("none.toml")]);
    let announcing =
        s.line(&json!({"id": 99, "arguments": run(&thrice), "ahead": ahead}).to_string());
    assert_same_run(&announcing, &run(&thrice));
    // Buffers begin with their first contents again, also the one that the kernel adds to.
    let again = s.ask(&run(&twice));
    assert_eq!(again["document"]["outputs"], first["document"]["outputs"]);
    assert_eq!(s.workers(), worker);
    // And with others where their file has others.
    put_array(dir, 2.5);
    let other = s.ask(&run(&twice));
    assert_ne!(other["document"]["outputs"], first["document"]["outputs"]);
    assert_same_run(&other, &run(&twice));

    let inspected = s.ask(&[
        "inspect",
        &format!("{}/k.cu", dir.display()),
        "-DFACTOR=2.0f",
    ]);
    assert_eq!(inspected["document"]["kernels"][0]["name"], "scaled");
    let predicted = s.ask(&["predict", &twice, "--no-assembler"]);
    assert_eq!(predicted["document"]["schema"], "kerf.predict/1");
    s.end();
}

#[test]
fn a_kernel_that_hangs_costs_its_job() {
    let dir = tempfile::tempdir().expect("a folder");
    let dir = dir.path();
    put_array(dir, 1.5);
    let fine = put(dir, "fine.toml", "2.0f", 0);
    let hangs = put(dir, "hangs.toml", "2.0f", 2);
    let mut s = Served::start();
    let first = s.ask(&["run", &fine, "--device", "cpu"]);
    let worker = s.workers();
    let words = ["run", &hangs, "--device", "cpu", "--timeout", "2"];
    assert_same_failure(&s.ask(&words), &words);
    assert_eq!(s.workers(), Vec::<String>::new());
    let next = s.ask(&["run", &fine, "--device", "cpu"]);
    assert_eq!(next["document"]["outputs"], first["document"]["outputs"]);
    assert_ne!(s.workers(), worker);
    s.end();
}

#[test]
fn what_is_no_job_is_refused_by_name() {
    let mut s = Served::start();
    let nonsense = s.line("run w.toml");
    assert_eq!(
        (&nonsense["id"], &nonsense["code"]),
        (&Value::Null, &json!(2))
    );
    let says = |a: &Value, text: &str| {
        let message = a["error"]["message"].as_str().expect("a message");
        assert!(message.contains(text), "{message}");
    };
    says(&nonsense, "is no job");
    says(&s.ask(&["doctor"]), "is not served");
    says(
        &s.ask(&["run", "--nonsense"]),
        "unexpected argument '--nonsense'",
    );
    s.end();
}

#[test]
fn outputs_that_nobody_asks_for_are_left_out() {
    let dir = tempfile::tempdir().expect("a folder");
    put_array(dir.path(), 1.5);
    let path = put(dir.path(), "w.toml", "2.0f", 0);
    let folder = dir.path().join("saved");
    let (_, plain, _) = alone(&["run", &path, "--device", "cpu"]);
    assert_eq!(
        plain["outputs"][0]["digest"].as_str().map(str::len),
        Some(16)
    );
    let words = ["run", &path, "--device", "cpu", "--no-digests"];
    let (code, without, _) = alone(&words);
    assert_eq!((code, &without["outputs"][0]["digest"]), (0, &json!("")));
    let saving = [&words[..], &["--save", folder.to_str().expect("a path")]].concat();
    let (code, _, _) = alone(&saving);
    let saved = std::fs::read(folder.join("y.npy")).expect("saved");
    assert_eq!((code, saved.len()), (0, 128 + 4000));
}

#[test]
fn outputs_are_compared_with_answers() {
    let dir = tempfile::tempdir().expect("a folder");
    put_array(dir.path(), 1.5);
    let path = put(dir.path(), "w.toml", "2.0f", 0);
    let folder = dir.path().join("saved");
    let saved = folder.to_str().expect("a path");
    let words = ["run", &path, "--device", "cpu", "--no-digests"];
    let mut s = Served::start();
    let made = s.ask(&[&words[..], &["--save", saved]].concat());
    assert_eq!(made["code"], 0);
    let right = format!("y={saved}/y.npy");
    let wrong = format!("y={}/x.npy", dir.path().display());
    // Twice: expected contents stay.
    for _ in 0..2 {
        let a = s.ask(&[&words[..], &["--answer", &right]].concat());
        assert_eq!(a["code"], 0);
        let found = &a["document"]["outputs"][0]["answer"];
        let want = json!({
            "accepted": true, "values": 1000, "beyond": 0, "not_finite": 0, "first_beyond": null, "largest_difference": 0.0,
        });
        assert_eq!(found, &want);
        let a = s.ask(&[&words[..], &["--answer", &wrong]].concat());
        assert_eq!(a["code"], 1);
        let found = &a["document"]["outputs"][0]["answer"];
        assert_eq!(found["accepted"], false);
        assert_eq!(found["first_beyond"], 0);
        let notes = a["notes"][0].as_str().expect("a note");
        assert!(notes.contains("not close to the answer"), "{notes}");
        let a = s.ask(&[&words[..], &["--answer", &wrong, "--atol", "100"]].concat());
        assert_eq!(a["code"], 0);
    }
    // What is there is not what is asked for.
    put_array(&folder, 7.0);
    std::fs::rename(folder.join("x.npy"), folder.join("y.npy")).expect("another answer");
    assert_eq!(
        s.ask(&[&words[..], &["--answer", &right]].concat())["code"],
        1
    );
    let says = |more: &[&str], text: &str| {
        let (code, _, errors) = alone(&[&words[..], more].concat());
        assert_eq!(code, 2);
        assert!(errors.contains(text), "{errors}");
    };
    says(&["--answer", "x=a.npy"], "no such output; there are y");
    says(&["--answer", "y=none.npy"], "none.npy");
    says(&["--answer", &right, "--answer", &wrong], "given twice");
    says(&["--atol", "1"], "--answer");
    says(&["--answer", &right, "--rtol=-1"], "0 or more");
    s.end();
}
