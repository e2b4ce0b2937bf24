//! Worker processes: a candidate may crash, hang or corrupt memory, and the parent goes on.
//!
//! The parent starts its own program again with a hidden command, sends jobs as lines of JSON on
//! standard input, and reads answers from a pipe of their own (standard output belongs to device
//! printf). A worker that answers too late is killed; one that dies is named with its signal.
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::{FromRawFd, IntoRawFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Why a worker gave no answer.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum WorkerError {
    /// It could not be started.
    #[error("a worker process could not be started: {0}")]
    Start(String),
    /// It ran out of time and was killed.
    #[error("no result within {0} s: the kernel may loop for ever; --timeout allows more")]
    Timeout(f64),
    /// It died.
    #[error("the worker process died: {words}")]
    Died {
        /// Its exit code; none where a signal ended it, or nobody knows what did.
        code: Option<i32>,
        /// How it ended, and what it said last.
        words: String,
    },
    /// Its answer made no sense.
    #[error("the worker process answered nonsense: {0}")]
    Protocol(String),
}

/// The descriptor on which a worker answers.
const ANSWERS: i32 = 3;

/// A running worker.
pub struct WorkerProcess {
    child: Child,
    stdin: ChildStdin,
    answers: Receiver<String>,
    printed: Arc<Mutex<Vec<u8>>>,
    errors: Arc<Mutex<Vec<u8>>>,
}

impl Drop for WorkerProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn collect(mut from: impl Read + Send + 'static) -> Arc<Mutex<Vec<u8>>> {
    let buffer = Arc::new(Mutex::new(Vec::new()));
    let to = buffer.clone();
    std::thread::spawn(move || {
        let mut chunk = [0u8; 8192];
        while let Ok(n) = from.read(&mut chunk) {
            if n == 0 {
                break;
            }
            let mut b = to.lock().unwrap_or_else(|e| e.into_inner());
            if b.len() < 16 << 20 {
                b.extend_from_slice(&chunk[..n]);
            }
        }
    });
    buffer
}

/// The line that says most of why a process ended: that of a panic, or the last.
fn last_words(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    match lines.iter().rposition(|l| l.contains("panicked at ")) {
        Some(at) => {
            let place = lines[at].split("panicked at ").last().unwrap_or_default();
            let why = lines.get(at + 1).copied().unwrap_or_default();
            format!("a fault of Kerf, panic at {place} {why}")
        }
        None => lines.last().copied().unwrap_or_default().to_owned(),
    }
}

fn pipe() -> std::io::Result<(OwnedFd, OwnedFd)> {
    let mut fds = [0; 2];
    // SAFETY: the array has room for both descriptors, which are owned from here on.
    unsafe {
        if libc::pipe2(fds.as_mut_ptr(), libc::O_CLOEXEC) != 0 {
            return Err(std::io::Error::last_os_error());
        }
        Ok((OwnedFd::from_raw_fd(fds[0]), OwnedFd::from_raw_fd(fds[1])))
    }
}

impl WorkerProcess {
    /// Starts `program` with `args`.
    pub fn start(program: &Path, args: &[&str]) -> Result<WorkerProcess, WorkerError> {
        let fail = |e: std::io::Error| WorkerError::Start(e.to_string());
        let (read, write) = pipe().map_err(fail)?;
        let raw = write.into_raw_fd();
        let mut cmd = Command::new(program);
        cmd.args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        // SAFETY: only async-signal-safe calls between fork and exec.
        unsafe {
            cmd.pre_exec(move || {
                if libc::dup2(raw, ANSWERS) < 0 {
                    return Err(std::io::Error::last_os_error());
                }
                // A worker must not outlive its parent.
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                Ok(())
            });
        }
        let spawned = cmd.spawn();
        // SAFETY: the parent's copy of the write end, closed once.
        drop(unsafe { OwnedFd::from_raw_fd(raw) });
        let mut child = spawned.map_err(fail)?;
        let missing = || WorkerError::Start("no pipe".into());
        let stdin = child.stdin.take().ok_or_else(missing)?;
        let printed = collect(child.stdout.take().ok_or_else(missing)?);
        let errors = collect(child.stderr.take().ok_or_else(missing)?);
        let (send, answers) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(std::fs::File::from(read)).lines() {
                let Ok(line) = line else { break };
                if send.send(line).is_err() {
                    break;
                }
            }
        });
        Ok(WorkerProcess {
            child,
            stdin,
            answers,
            printed,
            errors,
        })
    }

    /// Sends a job and waits for its answer.
    pub fn ask<J: Serialize, R: DeserializeOwned>(
        &mut self,
        job: &J,
        limit: Duration,
    ) -> Result<R, WorkerError> {
        let mut text =
            serde_json::to_string(job).map_err(|e| WorkerError::Protocol(e.to_string()))?;
        text.push('\n');
        if self
            .stdin
            .write_all(text.as_bytes())
            .and_then(|()| self.stdin.flush())
            .is_err()
        {
            return Err(self.autopsy());
        }
        match self.answers.recv_timeout(limit) {
            Ok(line) => {
                serde_json::from_str(&line).map_err(|e| WorkerError::Protocol(e.to_string()))
            }
            Err(RecvTimeoutError::Timeout) => {
                let _ = self.child.kill();
                let _ = self.child.wait();
                Err(WorkerError::Timeout(limit.as_secs_f64()))
            }
            Err(RecvTimeoutError::Disconnected) => Err(self.autopsy()),
        }
    }

    fn autopsy(&mut self) -> WorkerError {
        let Ok(status) = self.child.wait() else {
            return WorkerError::Died {
                code: None,
                words: "its end is unknown".into(),
            };
        };
        let errors = self.errors.lock().unwrap_or_else(|e| e.into_inner());
        let text = String::from_utf8_lossy(&errors).trim().to_owned();
        let last = last_words(&text);
        let words = match status.signal() {
            Some(s) => {
                let name = match s {
                    // Those of kernels are faults with a place; what is left is Kerf's own memory, perhaps written by a kernel.
                    libc::SIGSEGV => "a bad memory access outside of the kernels (SIGSEGV)",
                    libc::SIGBUS => "a bad memory access outside of the kernels (SIGBUS)",
                    libc::SIGFPE => "an arithmetic trap (SIGFPE)",
                    libc::SIGILL => "an illegal instruction (SIGILL)",
                    libc::SIGABRT => "it aborted",
                    libc::SIGKILL => "it was killed, perhaps for want of memory",
                    _ => "a signal",
                };
                if last.is_empty() {
                    format!("{name} (signal {s})")
                } else {
                    format!("{name} (signal {s}): {last}")
                }
            }
            None => format!("exit code {}: {last}", status.code().unwrap_or(-1)),
        };
        WorkerError::Died {
            code: status.code(),
            words,
        }
    }

    /// What the device printed to the worker's standard output so far.
    pub fn printed(&self) -> Vec<u8> {
        std::mem::take(&mut *self.printed.lock().unwrap_or_else(|e| e.into_inner()))
    }
}

/// The worker's side: answers each line of standard input.
pub fn serve<J: DeserializeOwned, R: Serialize>(mut handle: impl FnMut(J) -> R) {
    // SAFETY: the parent passed the pipe as this descriptor.
    let mut out = unsafe { std::fs::File::from_raw_fd(ANSWERS) };
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { return };
        let Ok(job) = serde_json::from_str::<J>(&line) else {
            return;
        };
        let Ok(mut text) = serde_json::to_string(&handle(job)) else {
            return;
        };
        text.push('\n');
        if out.write_all(text.as_bytes()).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_told_apart_from_its_advice() {
        let text = "warming up\n\nthread 'main' (7) panicked at src/a.rs:3:9:\n\
                    attempt to add with overflow\n\
                    note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace";
        assert_eq!(
            last_words(text),
            "a fault of Kerf, panic at src/a.rs:3:9: attempt to add with overflow"
        );
        assert_eq!(last_words("one\ntwo"), "two");
        assert_eq!(last_words(""), "");
    }
}
