//! `kerf serve`: jobs of other commands, one a line, done by a process that stays.
//!
//! Jobs come as lines of JSON on standard input, each with the words of a command line, and are answered on standard output, in the
//! order in which they end. Workloads run in worker processes that stay from one job to the next, with the context of their device,
//! inputs that are on a GPU already, and code. A job that fails, or whose kernel ends its worker, is an answer.
use crate::fail::Failure;
use crate::notes::captured;
use crate::output::{Color, Format, Style};
use crate::run::JobWorker;
use crate::{Cli, Command, guard, inspect, predict, progress, run};
use clap::Parser;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use std::io::{BufRead, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// Arguments of the command.
#[derive(clap::Args)]
pub struct Args {
    /// Runs and predictions at a time, each in a worker process of its own. Two on one GPU disturb each other's times.
    #[arg(long, default_value_t = 1, allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..=1024))]
    workers: u32,
}

/// A job.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ServedJob {
    /// Its number, which the answer has too.
    id: u64,
    /// Words of the command line: `run w.toml --device cuda`.
    arguments: Vec<String>,
    /// The words of runs that are likely to come next: their code is made on other cores while this one runs on a GPU.
    #[serde(default)]
    ahead: Vec<Vec<String>>,
}

/// Why a job failed.
#[derive(Serialize)]
struct ServedError {
    message: String,
    help: Option<String>,
}

impl From<Failure> for ServedError {
    fn from(f: Failure) -> ServedError {
        let (message, help) = f.message();
        ServedError { message, help }
    }
}

/// What came of a job, but for its document.
#[derive(Serialize)]
struct ServedAnswer {
    schema: &'static str,
    /// None for a line that is no job.
    id: Option<u64>,
    /// The exit code that the command would have had.
    code: i32,
    /// Lines for people: warnings, and which outputs are rejected.
    notes: Vec<String>,
    error: Option<ServedError>,
}

impl ServedAnswer {
    fn failed(id: Option<u64>, error: ServedError, notes: Vec<String>) -> ServedAnswer {
        ServedAnswer {
            schema: "kerf.serve/1",
            id,
            code: Failure::EXIT_CODE,
            notes,
            error: Some(error),
        }
    }

    /// Writes it as a line. The document is copied as the command wrote it, so that its numbers keep their digits.
    fn send(&self, document: &str) {
        let Ok(head) = serde_json::to_string(self) else {
            return;
        };
        // Line ends of a document are between its parts: those of texts are escaped.
        let document = match document.trim() {
            "" => "null".to_owned(),
            text => text.replace('\n', " "),
        };
        let head = head.strip_suffix('}').unwrap_or(&head);
        let mut out = std::io::stdout().lock();
        // Who does not read answers any more sends no jobs either.
        let _ = writeln!(out, "{head},\"document\":{document}}}").and_then(|()| out.flush());
    }
}

/// The command that words of a command line name.
fn parsed(words: &[String]) -> Result<Command, ServedError> {
    let all = ["kerf".to_owned()].into_iter().chain(words.iter().cloned());
    let cli = Cli::try_parse_from(all).map_err(|e| {
        let text = e.render().to_string();
        let text = text.trim_end();
        ServedError {
            message: text.strip_prefix("error: ").unwrap_or(text).to_owned(),
            help: None,
        }
    })?;
    Ok(cli.command)
}

/// Does a job; gives the exit code of its command.
fn carry_out(job: &ServedJob, worker: &mut JobWorker) -> Result<i32, ServedError> {
    let next = job.ahead.iter().filter_map(|words| match parsed(words) {
        Ok(Command::Run(a)) => Some(a),
        _ => None,
    });
    let (format, style) = (Format::Json, Style::new(Color::Never));
    Ok(match parsed(&job.arguments)? {
        Command::Run(a) => run::command::run(a, next.collect(), (format, style), worker)?,
        Command::Predict(a) => predict::run(&a, (format, style), worker)?,
        Command::Inspect(a) => {
            guard::survives_source(&a.file)?;
            inspect::command(a, format, style)?
        }
        _ => {
            let f = Failure::new("this command is not served");
            Err(f.help("kerf serve does run, predict and inspect"))?
        }
    })
}

/// Does a job and answers it.
fn answer(job: &ServedJob, worker: &mut JobWorker) {
    let attempt = || catch_unwind(AssertUnwindSafe(|| carry_out(job, worker)));
    let (ended, written) = captured(attempt);
    let ended = ended.unwrap_or_else(|_| {
        Err(ServedError {
            message: "a fault of Kerf; standard error says where".into(),
            help: None,
        })
    });
    let is_document = serde_json::from_str::<IgnoredAny>(&written.result).is_ok();
    let ended = match (ended, is_document) {
        (Ok(_), false) => Err(Failure::new("the result is no JSON document")
            .help("kerf inspect --emit writes a program by itself")
            .into()),
        (ended, _) => ended,
    };
    match ended {
        Err(e) => ServedAnswer::failed(Some(job.id), e, written.notes).send(""),
        Ok(code) => ServedAnswer {
            schema: "kerf.serve/1",
            id: Some(job.id),
            code,
            notes: written.notes,
            error: None,
        }
        .send(&written.result),
    }
}

/// Does jobs in one worker process after the other, as long as there are jobs.
fn work_off(jobs: &Mutex<Receiver<ServedJob>>) {
    let mut worker = JobWorker::kept();
    loop {
        let next = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(job) = next else {
            return;
        };
        answer(&job, &mut worker);
    }
}

/// Bytes of a thread's stack, as many as the first thread of a process has: LLVM's passes recurse.
const STACK_BYTES: usize = 8 << 20;

fn spawn(work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, Failure> {
    let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
    let started = thread.spawn(work);
    started.map_err(|e| Failure::new(format!("a thread could not be started: {e}")))
}

/// Runs the command: until standard input ends, and what was asked for is answered.
pub fn run(a: &Args) -> Result<i32, Failure> {
    // Answers are the progress.
    progress::set_quiet(true);
    let (send, jobs) = channel();
    let jobs = Arc::new(Mutex::new(jobs));
    let work = || {
        let jobs = jobs.clone();
        spawn(move || work_off(&jobs))
    };
    let mut threads = (0..a.workers)
        .map(|_| work())
        .collect::<Result<Vec<_>, _>>()?;
    for line in std::io::stdin().lock().lines() {
        let line = line.map_err(|e| Failure::new(format!("standard input: {e}")))?;
        if line.trim().is_empty() {
            continue;
        }
        match serde_json::from_str::<ServedJob>(&line) {
            Err(e) => {
                let f = Failure::new(format!("this line is no job: {e}"));
                let f = f.help(
                    r#"a job is a line such as {"id": 1, "arguments": ["run", "workload.toml"]}"#,
                );
                ServedAnswer::failed(None, f.into(), Vec::new()).send("");
            }
            // Compiling needs no worker, and need not wait for runs.
            Ok(job) if job.arguments.first().is_some_and(|w| w == "inspect") => {
                threads.push(spawn(move || answer(&job, &mut JobWorker::default()))?);
            }
            Ok(job) => {
                let _ = send.send(job);
            }
        }
        threads.retain(|t| !t.is_finished());
    }
    drop(send);
    for t in threads {
        let _ = t.join();
    }
    Ok(0)
}
