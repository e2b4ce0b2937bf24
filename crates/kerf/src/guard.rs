//! Reading IR that clang did not write just now, in a process of its own.
//!
//! LLVM trusts bitcode: a damaged file may crash its reader or send a pass into an endless loop, which no error value tells of.
use crate::fail::Failure;
use kerf_clang::compile::Language;
use kerf_workload::Workload;
use std::ffi::OsString;
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The hidden option that says: this is that process.
pub const OPTION: &str = "unguarded";

/// Whether a file should be read in another process first.
pub fn is_needed(file: &Path) -> bool {
    Language::from_path(file).is_some_and(Language::is_compiled)
}

/// How a guarded process ended.
enum Ended {
    /// By itself: its exit code, and what it wrote to standard error.
    Itself(i32, Vec<u8>),
    /// By a signal: LLVM crashed.
    Signal(i32),
    /// Not within the limit: LLVM does not come to an end.
    Limit(Duration),
}

/// How long LLVM may take over a file: far more than clang's own output of that size needs.
fn limit(file: &Path) -> Duration {
    let bytes = std::fs::metadata(file).map_or(0, |m| m.len());
    Duration::from_secs(60) + Duration::from_micros(60 * bytes)
}

fn this_program(
    args: impl IntoIterator<Item = OsString>,
    stdout: Stdio,
    limit: Duration,
) -> Result<Ended, Failure> {
    let exe = std::env::current_exe()
        .map_err(|e| Failure::new(format!("this program cannot find itself: {e}")))?;
    let failed = |e| Failure::new(format!("could not run {}: {e}", exe.display()));
    let mut c = Command::new(&exe);
    c.arg(format!("--{OPTION}"))
        .args(args)
        .stdin(Stdio::null())
        .stdout(stdout)
        .stderr(Stdio::piped());
    let mut child = c.spawn().map_err(failed)?;
    let messages = child.stderr.take().map(|mut pipe| {
        std::thread::spawn(move || {
            let mut text = Vec::new();
            // What was read before an error is shown.
            let _ = pipe.read_to_end(&mut text);
            text
        })
    });
    let started = Instant::now();
    let status = loop {
        match child.try_wait().map_err(failed)? {
            Some(status) => break status,
            None if started.elapsed() > limit => {
                child.kill().map_err(failed)?;
                child.wait().map_err(failed)?;
                return Ok(Ended::Limit(limit));
            }
            None => std::thread::sleep(Duration::from_millis(2)),
        }
    };
    let text = messages.and_then(|m| m.join().ok()).unwrap_or_default();
    Ok(match status.signal() {
        Some(s) => Ended::Signal(s),
        None => Ended::Itself(status.code().unwrap_or(2), text),
    })
}

fn crashed(file: &Path, signal: i32) -> Failure {
    Failure::new(format!(
        "{} makes LLVM crash (signal {signal})",
        file.display()
    ))
    .help("the file is damaged: make it again with clang 22 (clang -emit-llvm)")
}

fn endless(file: &Path, limit: Duration) -> Failure {
    Failure::new(format!(
        "LLVM did not come to an end over {} within {} s",
        file.display(),
        limit.as_secs()
    ))
    .help("the file is damaged: make it again with clang 22 (clang -emit-llvm)")
}

/// Does what this process was asked to do, in another one; gives its exit code.
pub fn again(file: &Path) -> Result<i32, Failure> {
    match this_program(std::env::args_os().skip(1), Stdio::inherit(), limit(file))? {
        Ended::Signal(s) => Err(crashed(file, s)),
        Ended::Limit(l) => Err(endless(file, l)),
        Ended::Itself(code, text) => {
            // Nobody is left to tell if this cannot be written.
            let _ = std::io::Write::write_all(&mut std::io::stderr(), &text);
            Ok(code)
        }
    }
}

/// Fails if LLVM does not survive the source of a workload. Whatever else is wrong with it is left to be found.
pub fn survives(workload: &Path) -> Result<(), Failure> {
    match Workload::read(workload, &[]) {
        Ok(w) => survives_source(&w.source),
        Err(_) => Ok(()),
    }
}

/// Fails if LLVM does not survive a source.
pub fn survives_source(source: &Path) -> Result<(), Failure> {
    if !is_needed(source) {
        return Ok(());
    }
    let args = ["inspect".into(), source.to_owned().into()];
    match this_program(args, Stdio::null(), limit(source))? {
        Ended::Signal(s) => Err(crashed(source, s)),
        Ended::Limit(l) => Err(endless(source, l)),
        Ended::Itself(..) => Ok(()),
    }
}
