//! One run of an application as a process of its own, with a time limit; how it failed is a value.
use crate::precheck::SanitizerCheck;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::io::Read;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A kernel of a trace.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TracedKernel {
    /// Name.
    pub name: String,
    /// Symbol.
    pub symbol: String,
    /// Unit it is in.
    pub unit: usize,
    /// Launches.
    pub launches: u64,
    /// Seconds of all launches together.
    pub seconds: f64,
    /// Threads of its blocks, as the application launches it, each once.
    #[serde(default)]
    pub blocks: Vec<[u32; 3]>,
}

/// Device code of a trace.
#[derive(Debug, Clone, Deserialize)]
pub struct TracedUnit {
    /// Number.
    pub number: usize,
    /// Source file.
    pub source: String,
    /// File with its prepared module.
    pub bitcode: String,
}

/// Bytes that came to the host.
#[derive(Debug, Clone, Deserialize)]
pub struct TracedCopy {
    /// Which allocation they came from, by order.
    pub allocation: usize,
    /// Where in it.
    pub at: u64,
    /// How many.
    pub bytes: usize,
    /// Scalars of an element, as offset and type, and bytes of an element; none if no kernel told.
    pub element: Option<TracedElement>,
    /// Where they are in `copies.bin`.
    pub offset: u64,
    /// Are they what kernels left in memory, of a program that copies no numbers to the host?
    #[serde(default)]
    pub last: bool,
}

/// A name without its template arguments and namespaces.
pub(super) fn bare(name: &str) -> &str {
    let head = name.split('<').next().unwrap_or(name);
    head.rsplit("::").next().unwrap_or(head)
}

/// Whatever else goes on on the machine only adds to a time: the least is the program's own.
pub(super) fn least(all: &[f64]) -> f64 {
    all.iter().copied().fold(f64::INFINITY, f64::min)
}

/// What Kerf's runtime wrote of a run.
#[derive(Debug, Clone, Deserialize)]
pub struct AppTrace {
    /// Device.
    pub device: String,
    /// Seconds from the first call to the end.
    pub wall_s: f64,
    /// Were there more copies than are kept?
    pub truncated: bool,
    /// Kernels, the longest first.
    pub kernels: Vec<TracedKernel>,
    /// Device code.
    pub units: Vec<TracedUnit>,
    /// Copies, in order.
    pub copies: Vec<TracedCopy>,
    /// Which allocation was given to which parameter: symbol, parameter, allocation.
    #[serde(default)]
    pub touches: Vec<(String, usize, usize)>,
    /// Allocations whose address was in a struct.
    #[serde(default)]
    pub in_structs: Vec<usize>,
    /// Allocations that were copied to others on the device.
    #[serde(default)]
    pub device_copies: Vec<(usize, usize)>,
    /// Allocations that have to keep their format, and why.
    #[serde(default)]
    pub fixed: BTreeMap<usize, String>,
    /// Bytes and elements of allocations.
    #[serde(default)]
    pub allocations: BTreeMap<usize, (usize, Option<TracedElement>)>,
}

/// Scalars of an element, as offset and type, and its bytes.
pub type TracedElement = (Vec<(u64, String)>, u64);

/// A run that ended well.
#[derive(Debug)]
pub struct Ran {
    /// Standard output.
    pub stdout: String,
    /// What the runtime noted.
    pub trace: AppTrace,
    /// Seconds.
    pub wall_s: f64,
}

/// Why a run gave nothing.
#[derive(Debug, Clone, thiserror::Error)]
pub enum RunFailure {
    /// It could not be started.
    #[error("the application cannot be started: {0}")]
    Start(String),
    /// It failed by itself.
    #[error("the application ended with {status}{said}")]
    Failed {
        /// Exit code or signal.
        status: String,
        /// What it said last.
        said: String,
    },
    /// It took too long.
    #[error("the application did not end within {0:.0} s")]
    Hangs(f64),
    /// It printed that it failed, or did not print that it did not.
    #[error("the application's output does not match `{0}`")]
    Unlike(String),
    /// What is to be compared is older than the run.
    #[error("the application did not write {0}")]
    Unwritten(String),
    /// A replay of the recorded run failed.
    #[error("the replay failed: {0}")]
    Replay(String),
    /// It is none of Kerf's.
    #[error("the application made no call of Kerf's runtime")]
    Untraced,
}

/// The sanitizer's first fault of an application, in its words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct UndefinedBehaviour(pub String);

/// Why an application was not checked for undefined behaviour.
#[derive(Debug, thiserror::Error)]
enum NotChecked {
    /// The system did not start it or lost it.
    #[error(transparent)]
    Process(#[from] std::io::Error),
    /// The system gave no pipe.
    #[error("no pipe")]
    NoPipe,
    /// It takes too long under the checks.
    #[error("it did not end within {0:.0} s")]
    TooLong(f64),
}

/// What the sanitizer said of a run.
struct Sanitized {
    /// The first fault.
    fault: Option<UndefinedBehaviour>,
    /// What is worth a word and no fault.
    notes: Vec<String>,
    /// Whether the run ended within its limit.
    ended: bool,
}

impl Sanitized {
    /// Reads what the runtime wrote to standard error.
    fn read(stderr: &str, ended: bool) -> Sanitized {
        let (mut fault, mut notes) = (None, Vec::new());
        for message in stderr.lines().filter_map(|l| l.strip_prefix(MESSAGE)) {
            match message.strip_prefix(NOTE) {
                Some(note) => notes.push(note.to_owned()),
                None => {
                    fault.get_or_insert_with(|| UndefinedBehaviour(message.to_owned()));
                }
            }
        }
        Sanitized {
            fault,
            notes,
            ended,
        }
    }
}

/// Where an application runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AppDevice {
    /// On the CPU executor.
    Cpu,
    /// On a GPU, by its number.
    Cuda(i32),
}

/// As `KERF_DEVICE` and results name it.
impl fmt::Display for AppDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AppDevice::Cpu => f.write_str("cpu"),
            AppDevice::Cuda(n) => write!(f, "cuda:{n}"),
        }
    }
}

/// How an application is run.
#[derive(Debug, Clone)]
pub struct AppRunner {
    /// Shell command.
    pub command: String,
    /// Where it runs.
    pub device: AppDevice,
    /// Folder for traces.
    pub scratch: PathBuf,
    /// A file that it writes.
    pub output: Option<PathBuf>,
    /// What standard output has to have.
    pub require: Option<regex_lite::Regex>,
    /// Keep what is copied from the device: much, where nobody compares it.
    pub copies: bool,
    /// Launches of each kernel that are kept with their inputs.
    pub records: usize,
    /// Folder for a record of the whole run that can be replayed, and its bytes at most.
    pub record: Option<(PathBuf, u64)>,
    /// What searches beside each other, and the runs of one search, take turns on the GPU by: a file.
    pub turn: PathBuf,
    /// Is the GPU its own from the first kernel to its end? Its time from start to end is measured then.
    pub keeps_turn: bool,
}

fn last_line(text: &str) -> String {
    let says = |l: &&str| l.chars().any(char::is_alphanumeric);
    let line = text.lines().rev().find(says);
    line.map_or_else(String::new, |l| format!(": {}", l.trim()))
}

/// What a program that failed said last, and what Kerf's runtime said before that: programs tell the code, the
/// runtime why.
fn said(stdout: &str, stderr: &str) -> String {
    let last = match stderr.trim().is_empty() {
        true => last_line(stdout),
        false => last_line(stderr),
    };
    let told = stderr.lines().rev().find(|l| l.starts_with("kerf: "));
    match told.map(str::trim).filter(|t| !last.contains(*t)) {
        Some(t) => format!("{last} ({t})"),
        None => last,
    }
}

fn reader(from: impl Read + Send + 'static) -> std::thread::JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut all = Vec::new();
        // A program that prints without end must not take the machine down.
        let _ = from.take(64 << 20).read_to_end(&mut all);
        all
    })
}

/// Ends a process and its group: a shell may have started the application.
fn kill_group(child: &mut std::process::Child) {
    let group = format!("-{}", child.id());
    let _ = Command::new("/bin/kill")
        .args(["-KILL", "--", &group])
        .status();
    let _ = child.kill();
    let _ = child.wait();
}

/// How the sanitizer's messages begin.
const MESSAGE: &str = "kerf: memcheck: ";

/// How those go on that are no faults.
const NOTE: &str = "note: ";

impl AppRunner {
    /// Folder of the trace.
    pub fn trace(&self) -> PathBuf {
        self.scratch.join("trace")
    }

    /// Runs it once on the CPU under the sanitizer, until it ends or is cancelled. The error is the first fault that `allow`
    /// does not name.
    pub fn check(
        &self,
        allow: &[String],
        limit: Duration,
        cancelled: &AtomicBool,
    ) -> Result<SanitizerCheck, UndefinedBehaviour> {
        let not = |why: NotChecked| SanitizerCheck::Not {
            why: why.to_string(),
        };
        match self.sanitized(allow, limit, cancelled) {
            Err(why) => Ok(not(why)),
            Ok(Sanitized { fault: Some(f), .. }) => Err(f),
            Ok(Sanitized {
                notes, ended: true, ..
            }) => Ok(SanitizerCheck::Whole { notes }),
            Ok(_) => Ok(not(NotChecked::TooLong(limit.as_secs_f64()))),
        }
    }

    /// What the sanitizer says of a run on the CPU.
    fn sanitized(
        &self,
        allow: &[String],
        limit: Duration,
        cancelled: &AtomicBool,
    ) -> Result<Sanitized, NotChecked> {
        // It takes all cores, and others wait for the runs that it is beside of.
        let mut c = Command::new("nice");
        c.args(["-n", "10", "/bin/sh", "-c"])
            .arg(&self.command)
            .env("KERF_DEVICE", "cpu")
            .env("KERF_MEMCHECK", "1")
            .env("KERF_ALLOW", allow.join(","))
            .env_remove("KERF_PLAN")
            .env_remove("KERF_RECORD")
            .env_remove("KERF_TRACE")
            .env_remove("KERF_REPLAY_RECORD")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .process_group(0);
        let clock = Instant::now();
        let mut child = c.spawn()?;
        let err = reader(child.stderr.take().ok_or(NotChecked::NoPipe)?);
        let ended = loop {
            match child.try_wait()? {
                Some(_) => break true,
                None if clock.elapsed() > limit || cancelled.load(Ordering::Relaxed) => {
                    kill_group(&mut child);
                    break false;
                }
                None => std::thread::sleep(Duration::from_millis(5)),
            }
        };
        let text = String::from_utf8_lossy(&err.join().unwrap_or_default()).into_owned();
        Ok(Sanitized::read(&text, ended))
    }

    /// The process of one run.
    fn command(&self, plan: Option<&Path>, kernels: bool) -> Command {
        let mut c = Command::new("/bin/sh");
        c.arg("-c")
            .arg(&self.command)
            .env("KERF_DEVICE", self.device.to_string())
            .env("KERF_TRACE", self.trace())
            .env("KERF_TRACE_COPIES", if self.copies { "1" } else { "0" })
            .env("KERF_TRACE_KERNELS", if kernels { "1" } else { "0" })
            .env("KERF_TURN", &self.turn)
            .env("KERF_TURN_KEPT", if self.keeps_turn { "1" } else { "0" })
            .env_remove("KERF_PLAN")
            .env_remove("KERF_RECORD")
            .env_remove("KERF_REPLAY_RECORD")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        if let Some(p) = plan {
            c.env("KERF_PLAN", p);
        }
        if let Some((folder, bytes)) = &self.record {
            c.env("KERF_REPLAY_RECORD", folder);
            c.env("KERF_REPLAY_LIMIT", bytes.to_string());
        }
        if self.records > 0 {
            c.env("KERF_RECORD", self.records.to_string());
        }
        c
    }

    /// Runs it once, with a plan's file or as it is. Without `kernels` they are not timed, which would slow it down.
    pub fn run(
        &self,
        plan: Option<&Path>,
        limit: Duration,
        kernels: bool,
    ) -> Result<Ran, RunFailure> {
        let start = |e: std::io::Error| RunFailure::Start(e.to_string());
        let trace = self.trace();
        let _ = std::fs::remove_dir_all(&trace);
        // Not removed: the name may be wrong.
        let written = |o: &PathBuf| std::fs::metadata(o).and_then(|m| m.modified()).ok();
        let before = self.output.as_ref().map(written);
        let mut command = self.command(plan, kernels);
        let clock = Instant::now();
        let mut child = command.spawn().map_err(start)?;
        let missing = || RunFailure::Start("no pipe".into());
        let out = reader(child.stdout.take().ok_or_else(missing)?);
        let err = reader(child.stderr.take().ok_or_else(missing)?);
        let status = loop {
            match child.try_wait().map_err(start)? {
                Some(s) => break s,
                None if clock.elapsed() > limit => {
                    kill_group(&mut child);
                    return Err(RunFailure::Hangs(limit.as_secs_f64()));
                }
                None => std::thread::sleep(Duration::from_millis(5)),
            }
        };
        let wall_s = clock.elapsed().as_secs_f64();
        let text = |t: std::thread::JoinHandle<Vec<u8>>| {
            String::from_utf8_lossy(&t.join().unwrap_or_default()).into_owned()
        };
        let (stdout, stderr) = (text(out), text(err));
        if !status.success() {
            let said = said(&stdout, &stderr);
            let status = match (status.signal(), status.code()) {
                (Some(s), _) => format!("signal {s}"),
                (_, Some(c)) => format!("exit code {c}"),
                _ => "no status".into(),
            };
            return Err(RunFailure::Failed { status, said });
        }
        if let Some(r) = self.require.as_ref().filter(|r| !r.is_match(&stdout)) {
            return Err(RunFailure::Unlike(r.as_str().to_owned()));
        }
        if let (Some(o), Some(Some(then))) = (&self.output, before)
            && written(o) == Some(then)
        {
            return Err(RunFailure::Unwritten(o.display().to_string()));
        }
        let file = trace.join("trace.json");
        let Ok(text) = std::fs::read_to_string(&file) else {
            return Err(RunFailure::Untraced);
        };
        let trace = serde_json::from_str(&text)
            .map_err(|e| RunFailure::Start(format!("{}: {e}", file.display())))?;
        Ok(Ran {
            stdout,
            trace,
            wall_s,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_told_with_its_cause() {
        assert_eq!(said("a\nFAIL\n====\n", ""), ": FAIL");
        assert_eq!(said("a", "b\nno such file\n"), ": no such file");
        let stderr = "kerf: cudaMallocArray is not supported by Kerf's runtime\nno array\n";
        let want = ": no array (kerf: cudaMallocArray is not supported by Kerf's runtime)";
        assert_eq!(said("", stderr), want);
        assert_eq!(said("", "kerf: x\n"), ": kerf: x");
    }
}
