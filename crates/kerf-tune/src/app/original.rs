//! The application as it is: its own run, its numbers, and whether it repeats.
use super::acceptance::{self, Incomparable};
use super::counting::AppCounts;
use super::error::AppError;
use super::event::AppEvent;
use super::replay::{self, NoReplay, RecordedRun};
use super::request::AppRequest;
use super::run::AppDevice;
use super::run::{AppRunner, Ran, RunFailure, UndefinedBehaviour, least};
use super::search::Searcher;
use super::shares;
use super::values::{self, NoValues, ValueSource, Values, values};
use crate::precheck::SanitizerCheck;
use crate::store;
use kerf_exec::replay::AppCriterion;
use kerf_num::metrics::{ComparedCounts, Rejection};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How long the check for undefined behaviour before a search may last.
const CHECKED: Duration = Duration::from_secs(20);

/// What is known of the application as it is.
pub(super) struct Original {
    /// Its first run, with its kernels timed one by one.
    pub ran: Ran,
    /// Its numbers, that those of plans are compared with.
    pub reference: Values,
    /// How many of them there are.
    pub counts: ComparedCounts,
    /// Recorded launches that were counted for predicted times.
    pub launches: Option<AppCounts>,
    /// What the kernels' parts of the time are of.
    pub kernels_by: String,
    /// What a reader must know.
    pub warnings: Vec<String>,
    /// Its first run as it was recorded, or why it was not.
    pub recorded: Result<RecordedRun, NoReplay>,
    /// The check for undefined behaviour, where it was begun.
    pub check: Option<AppCheck>,
    /// A second run, where it goes on beside what follows the first.
    second: Option<SecondRun>,
    /// When the run ended.
    ended: SystemTime,
}

impl Original {
    /// Runs and checks the application, and reads its numbers.
    pub fn run(
        request: &AppRequest,
        runner: &AppRunner,
        watch: &mut dyn FnMut(&AppEvent),
    ) -> Result<Original, AppError> {
        let mut check = (!request.resume).then(|| AppCheck::begin(request, runner));
        // With a GPU the check goes on beside the search. A search on the CPU needs the processor itself, and a file that
        // is compared is written by the check's run too.
        let beside =
            request.device != AppDevice::Cpu && !matches!(request.source, ValueSource::File(..));
        if let Some(c) = check.as_mut().filter(|_| !beside) {
            c.end(watch)?;
        }
        let (mut ran, recording) = recorded_run(request, runner)?;
        let ended = SystemTime::now();
        let reference = own_values(request, runner, &ran)?;
        let recorded = recording.and_then(|()| RecordedRun::new(&ran, runner));
        let counts = own_counts(&reference, &request.criterion())?;
        let mut warnings = comparison_warnings(request, &reference, &counts);
        let second = (beside && request.time.times_kernels())
            .then(|| SecondRun::begin(request, runner, ended));
        let (kernels_by, launches) =
            shares::profile(&mut ran.trace, request, runner, &mut warnings)?;
        Ok(Original {
            ran,
            reference,
            counts,
            launches,
            kernels_by,
            warnings,
            recorded,
            check,
            second,
            ended,
        })
    }

    /// Runs it again, to see whether it repeats, and as often as times ask for. Gives its time, where times are measured.
    pub fn repeat(
        &mut self,
        request: &AppRequest,
        runner: &AppRunner,
        runs: usize,
        recorded: Option<&Path>,
    ) -> Result<Option<f64>, AppError> {
        // The first run had its kernels timed one by one, so only their times are those of the program.
        let first = request.time.seconds(&self.ran)?;
        let mut times: Vec<f64> = first
            .filter(|_| request.time.times_kernels())
            .into_iter()
            .collect();
        let mut second = self.second.take();
        in_another_second(self.ended);
        for _ in 0..runs {
            let beside = second.take().and_then(SecondRun::end);
            let (again, its_runner) = match beside {
                Some(ran) => ran,
                None => {
                    let again = own_run(request, runner, request.time.times_kernels())?;
                    (again, runner.clone())
                }
            };
            times.extend(request.time.seconds(&again)?);
            if is_repeated(request, &its_runner, recorded) {
                continue;
            }
            let v = own_values(request, &its_runner, &again)?;
            let tolerance = request.tolerance;
            match acceptance::error(&v, &self.reference, &request.criterion()) {
                Ok(e) if e <= tolerance => {
                    if v != self.reference {
                        let text = format!("the output changes from run to run, by {e:e}");
                        self.warnings.push(text);
                    }
                }
                Ok(e) => return Err(AppError::Unsteady(format!("by {e:e}"), tolerance)),
                Err(e) => return Err(AppError::Unsteady(e.to_string(), tolerance)),
            }
        }
        Ok((!times.is_empty()).then(|| least(&times)))
    }
}

/// A second run of the program as it is, beside the counting of its launches and the first replays: programs with much host
/// code take long, and need the GPU for a part of it. Kernels are timed in turns.
struct SecondRun {
    running: JoinHandle<Option<Ran>>,
    runner: AppRunner,
}

impl SecondRun {
    fn begin(request: &AppRequest, runner: &AppRunner, first_ended: SystemTime) -> SecondRun {
        let runner = AppRunner {
            scratch: runner.scratch.join("second"),
            ..runner.clone()
        };
        let (mine, limit) = (runner.clone(), request.limit);
        let run = move || {
            in_another_second(first_ended);
            mine.run(None, limit, true).ok()
        };
        SecondRun {
            running: std::thread::spawn(run),
            runner,
        }
    }

    /// The run, and where its trace is; none where it failed, which may be for want of memory beside others.
    fn end(self) -> Option<(Ran, AppRunner)> {
        let ran = self.running.join().ok().flatten()?;
        Some((ran, self.runner))
    }
}

/// What the check for undefined behaviour came to: of this command, or of the one that it goes on from. It is kept in the
/// store.
pub(super) fn checked_program(
    check: Option<AppCheck>,
    runner: &AppRunner,
    searcher: &mut Searcher,
) -> Result<SanitizerCheck, AppError> {
    let known = match &check {
        Some(_) => None,
        None => searcher.db.kept(store::CHECKED)?,
    };
    let checked = match known {
        Some(c) => c,
        None => {
            let request = searcher.app.request;
            let mut check = check.unwrap_or_else(|| AppCheck::begin(request, runner));
            check.end(searcher.watch)?
        }
    };
    searcher.db.keep(store::CHECKED, &checked)?;
    Ok(checked)
}

/// Did the run that has just ended copy the bytes that the recorded one did?
fn is_repeated(request: &AppRequest, runner: &AppRunner, recorded: Option<&Path>) -> bool {
    let copies = runner.trace().join("copies.bin");
    let same = |recorded: &Path| matches!(replay::first_difference(recorded, &copies), Ok(None));
    matches!(request.source, ValueSource::Copies) && recorded.is_some_and(same)
}

/// The check for undefined behaviour: a run on the CPU, beside whatever else goes on.
pub(super) struct AppCheck {
    running: Option<JoinHandle<Result<SanitizerCheck, UndefinedBehaviour>>>,
    /// Set to end it early.
    cancelled: Arc<AtomicBool>,
    done: Option<SanitizerCheck>,
}

impl AppCheck {
    fn begin(request: &AppRequest, runner: &AppRunner) -> AppCheck {
        let cancelled = Arc::new(AtomicBool::new(false));
        let (runner, allow, flag) = (runner.clone(), request.allow.clone(), cancelled.clone());
        let check = move || runner.check(&allow, CHECKED, &flag);
        AppCheck {
            running: Some(std::thread::spawn(check)),
            cancelled,
            done: None,
        }
    }

    /// Waits for its end; says once what was not checked.
    fn end(&mut self, watch: &mut dyn FnMut(&AppEvent)) -> Result<SanitizerCheck, AppError> {
        if let Some(running) = self.running.take() {
            let lost = |_| SanitizerCheck::Not {
                why: "its thread failed".into(),
            };
            let found = running.join().unwrap_or_else(|e| Ok(lost(e)));
            let found = found.map_err(AppError::Undefined)?;
            if let Some(gap) = found.gap() {
                watch(&AppEvent::Warning(&gap));
            }
            self.done = Some(found);
        }
        let none = || SanitizerCheck::Not {
            why: "it was ended".into(),
        };
        Ok(self.done.clone().unwrap_or_else(none))
    }
}

impl Drop for AppCheck {
    fn drop(&mut self) {
        self.cancelled.store(true, Ordering::Relaxed);
        if let Some(running) = self.running.take() {
            let _ = running.join();
        }
    }
}

/// What of the original program's output can be compared: an output that is not accepted against itself can be compared
/// with nothing.
fn own_counts(reference: &Values, c: &AppCriterion) -> Result<ComparedCounts, AppError> {
    let j = acceptance::judged(reference, reference, c)
        .map_err(|e| AppError::Reference(e, "check what is compared"))?;
    match j.rejection {
        None => Ok(j.counts),
        Some(why) => Err(AppError::Reference(
            Incomparable::Rejected {
                why,
                counts: j.counts,
            },
            match why {
                Rejection::NanPairs => {
                    "correct the application's input, or where NaN are meant, --allow-nan"
                }
                _ => "compare numbers that are finite (--stdout-pattern, --output-file)",
            },
        )),
    }
}

/// The first run, recorded where that is possible; a program that fails while it is recorded runs again without.
fn recorded_run(
    request: &AppRequest,
    runner: &AppRunner,
) -> Result<(Ran, Result<(), NoReplay>), AppError> {
    let recorder = match replay::recording(request, runner) {
        Ok(r) => r,
        Err(why) => return Ok((own_run(request, runner, true)?, Err(why))),
    };
    match recorder.run(None, request.limit, true) {
        Ok(ran) => Ok((ran, Ok(()))),
        Err(why) => {
            let ran = own_run(request, runner, true)?;
            Ok((ran, Err(NoReplay::Program(why))))
        }
    }
}

/// The numbers of the application on other arguments.
pub(super) fn other_run(request: &AppRequest, runner: &AppRunner) -> Result<Values, AppError> {
    let ran = own_run(request, runner, false)?;
    let v = own_values(request, runner, &ran)?;
    own_counts(&v, &request.criterion())?;
    Ok(v)
}

/// A run of the application as it is.
fn own_run(request: &AppRequest, runner: &AppRunner, time_kernels: bool) -> Result<Ran, AppError> {
    let ran = runner.run(None, request.limit, time_kernels);
    ran.map_err(|e| {
        let help = run_help(&e);
        AppError::Program(e, help)
    })
}

fn run_help(e: &RunFailure) -> &'static str {
    match e {
        RunFailure::Hangs(_) => "run it by hand with KERF_DEVICE set; --timeout allows more",
        RunFailure::Untraced => {
            "build it with kerf cc, and let it end by itself (not by _exit or abort)"
        }
        RunFailure::Failed { .. } => {
            "run it by hand with KERF_DEVICE set, and mend that first; if it always ends so, put `|| true` behind the command"
        }
        RunFailure::Unlike(_) => "run it by hand and try the pattern of --require with grep -E",
        RunFailure::Unwritten(_) => "check --output-file; its path is relative to where kerf runs",
        RunFailure::Start(_) | RunFailure::Replay(_) => "check the command",
    }
}

/// The numbers of such a run.
fn own_values(request: &AppRequest, runner: &AppRunner, ran: &Ran) -> Result<Values, AppError> {
    values(&request.source, ran, &runner.trace()).map_err(|e| {
        let help = values_help(&e);
        AppError::Values(e, help)
    })
}

fn values_help(e: &NoValues) -> &'static str {
    match e {
        NoValues::NoMatch(_) => {
            "run the application and try the pattern on its output with grep -E"
        }
        NoValues::NoNumber(_) => {
            "put brackets around the number, e.g. 'error +(\\S+)'; --require says what has to be printed"
        }
        NoValues::File(..) => "check --output-file; its path is relative to where kerf runs",
        NoValues::NoCopies => "say what to compare with --stdout-pattern or --output-file",
        NoValues::TooMuch => "say what to compare with --stdout-pattern or --output-file",
    }
}

/// What the comparison with the application's own numbers leaves out.
fn comparison_warnings(
    request: &AppRequest,
    reference: &Values,
    counts: &ComparedCounts,
) -> Vec<String> {
    let mut warnings = Vec::new();
    if counts.special() > 0 {
        warnings.push(format!(
            "{} of {} values of the original program's output are NaN or infinite; they have to stay so, and say nothing of accuracy",
            counts.special(),
            counts.values
        ));
    }
    if reference.last {
        warnings.push(
            "the application copies no floating-point numbers to the host: what its kernels leave in arrays of them is \
             compared, when these are freed or at its end"
                .into(),
        );
    }
    if reference.unknown > 0 {
        warnings.push(format!(
            "{} bytes that come from the device are of a type that no kernel tells, and are not compared",
            reference.unknown
        ));
    }
    let unseen = values::unseen(reference, request.metric, request.floor, request.tolerance);
    if let Some((n, e)) = unseen {
        warnings.push(format!(
            "{n} of {} numbers are printed with so few digits that errors up to {e:.1e} are not seen, and the tolerance is {:e}; \
             let the application print more digits, or compare what it copies from the device (no pattern, no file)",
            reference.floats.len(),
            request.tolerance
        ));
    }
    warnings
}

/// Waits until a program that starts now sees another second than one that ended at `last` did: programs that take random
/// numbers by `time(0)` would give the same output twice, and only the search would see that they do not repeat.
fn in_another_second(last: SystemTime) {
    /// `time()` reads a clock that is set forward at ticks of the scheduler, so it is late by up to 10 ms.
    const LATE: Duration = Duration::from_millis(20);
    let ended = last.duration_since(UNIX_EPOCH).unwrap_or_default();
    let next = UNIX_EPOCH + Duration::from_secs(ended.as_secs() + 1) + LATE;
    if let Ok(rest) = next.duration_since(SystemTime::now()) {
        std::thread::sleep(rest.min(Duration::from_secs(2)));
    }
}
