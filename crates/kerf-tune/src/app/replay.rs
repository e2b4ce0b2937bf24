//! Replays of the recorded run: how candidates are evaluated without starting the program again.
//!
//! The first run of the program is recorded by its runtime. A worker process replays the record with a candidate's code, and
//! leaves a trace of the form that a run of the program leaves. A replay of the program as it is has to give the bits of
//! the recorded run; where it does not, or the run cannot be replayed, candidates restart the program, and the reason is said.
use super::request::{AppRequest, TimeBy};
use super::run::AppDevice;
use super::run::{AppRunner, Ran, RunFailure, least};
use super::values::{self, NoValues};
use kerf_exec::replay::{AppCriterion, JudgedReplay, ReplayAnswer, ReplayJob};
use kerf_exec::worker::{WorkerError, WorkerProcess};
use serde::{Deserialize, Serialize};
use std::cell::{Cell, RefCell};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Why candidates restart the program.
#[derive(Debug, Clone, thiserror::Error)]
pub enum NoReplay {
    /// Nobody wants replays.
    #[error("--no-replay")]
    Unwanted,
    /// The time that is asked for is of the program.
    #[error("{0} is of the program itself")]
    Time(String),
    /// The program does not run while it is recorded.
    #[error("it could not be recorded: {0}")]
    Program(RunFailure),
    /// There is no record.
    #[error("it could not be recorded: {0}")]
    Unrecorded(String),
    /// The record says why it is of no use.
    #[error("{}", .0.join("; "))]
    Refused(Vec<String>),
    /// There is nothing to compare.
    #[error("a replay shows nothing of it: {0}")]
    Values(NoValues),
    /// The replay does not run.
    #[error("{0}")]
    Failed(RunFailure),
    /// The replay does something else than the program.
    #[error("the replay of the unchanged program gives other bits than the program: {0}")]
    OtherBits(String),
}

/// What a result says of replays.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReplaySummary {
    /// Were candidates replayed?
    pub used: bool,
    /// Why not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why_not: Option<String>,
    /// Replays that were made.
    pub replays: usize,
    /// Calls of the record.
    pub calls: u64,
    /// Bytes of the record.
    pub bytes: u64,
}

/// What is read of a record's index.
#[derive(Debug, Clone, Deserialize)]
struct RecordIndex {
    runtime: PathBuf,
    refused: Vec<String>,
    calls: u64,
    bytes: u64,
}

/// Folder of the record, in the scratch folder.
fn record_folder(runner: &AppRunner) -> PathBuf {
    runner.scratch.join("record")
}

/// How the program is run to be recorded; why not, where it is known before.
pub(super) fn recording(request: &AppRequest, runner: &AppRunner) -> Result<AppRunner, NoReplay> {
    if !request.replay {
        return Err(NoReplay::Unwanted);
    }
    match &request.time {
        TimeBy::Wall => return Err(NoReplay::Time("--time wall".into())),
        TimeBy::Pattern(_) => return Err(NoReplay::Time("--time-pattern".into())),
        TimeBy::Kernels | TimeBy::Predicted => {}
    }
    Ok(AppRunner {
        copies: true,
        record: Some((record_folder(runner), request.record_limit)),
        ..runner.clone()
    })
}

/// A run that was recorded.
pub(super) struct RecordedRun {
    index: RecordIndex,
    folder: PathBuf,
    /// What it copied from the device.
    copies: PathBuf,
}

impl RecordedRun {
    /// From a run that has just ended.
    pub fn new(ran: &Ran, runner: &AppRunner) -> Result<RecordedRun, NoReplay> {
        let folder = record_folder(runner);
        let unrecorded = |e: String| NoReplay::Unrecorded(e);
        let path = folder.join("index.json");
        let text = std::fs::read_to_string(&path)
            .map_err(|e| unrecorded(format!("{}: {e}", path.display())))?;
        let index: RecordIndex = serde_json::from_str(&text)
            .map_err(|e| unrecorded(format!("{}: {e}", path.display())))?;
        if !index.refused.is_empty() {
            return Err(NoReplay::Refused(index.refused));
        }
        if !values::has_numbers(ran) {
            return Err(NoReplay::Values(NoValues::NoCopies));
        }
        // The next run of the program makes a new file.
        let copies = folder.join("copies.bin");
        std::fs::rename(runner.trace().join("copies.bin"), &copies)
            .map_err(|e| unrecorded(format!("{}: {e}", copies.display())))?;
        Ok(RecordedRun {
            index,
            folder,
            copies,
        })
    }
}

/// The place of the first byte in which two files differ; one that ends before the other differs there.
pub(super) fn first_difference(a: &Path, b: &Path) -> std::io::Result<Option<u64>> {
    let mut files = [std::fs::File::open(a)?, std::fs::File::open(b)?];
    let mut chunks = [vec![0u8; 1 << 20], vec![0u8; 1 << 20]];
    let mut at = 0;
    loop {
        let mut lengths = [0; 2];
        for ((file, chunk), length) in files.iter_mut().zip(&mut chunks).zip(&mut lengths) {
            while let n @ 1.. = file.read(&mut chunk[*length..])? {
                *length += n;
            }
        }
        let [x, y] = [&chunks[0][..lengths[0]], &chunks[1][..lengths[1]]];
        if x != y {
            let same = x.iter().zip(y).take_while(|(p, q)| p == q).count();
            return Ok(Some(at + same as u64));
        }
        if x.is_empty() {
            return Ok(None);
        }
        at += x.len() as u64;
    }
}

/// Replays of a record, in a worker that lasts.
pub(super) struct Replayer {
    program: PathBuf,
    device: AppDevice,
    trace: PathBuf,
    turn: PathBuf,
    recorded: RecordedRun,
    worker: RefCell<Option<WorkerProcess>>,
    replays: Cell<usize>,
    /// Seconds of the program as it is: its kernels, and the whole replay.
    pub base: (Option<f64>, f64),
}

impl Replayer {
    /// Replays the program as it is, which has to give the recorded bits.
    pub fn open(
        request: &AppRequest,
        runner: &AppRunner,
        recorded: RecordedRun,
        limit: Duration,
    ) -> Result<Replayer, NoReplay> {
        let mut replayer = Replayer {
            program: request.program.clone(),
            device: request.device,
            trace: runner.scratch.join("replayed"),
            turn: runner.turn.clone(),
            recorded,
            worker: RefCell::new(None),
            replays: Cell::new(0),
            base: (None, 0.0),
        };
        let (mut kernels_s, mut replays_s) = (Vec::new(), Vec::new());
        let ran = replayer.replay(None, limit, false, None);
        replayer.has_recorded_bits(&ran.map_err(NoReplay::Failed)?.0)?;
        // From here on outputs stay on the device. The first of these replays makes room for them there.
        for i in 0..=request.runs() {
            let times_kernels = request.time.times_kernels();
            let ran = replayer.run(None, limit, times_kernels, &request.criterion());
            let (ran, judged) = ran.map_err(NoReplay::Failed)?;
            // A number that is off is named, whatever the measure.
            if !judged.worst.words.is_empty() || judged.judgement.counts.integer_mismatches > 0 {
                return Err(NoReplay::OtherBits(judged.worst.words));
            }
            if i > 0 {
                kernels_s.extend(request.time.seconds(&ran).ok().flatten());
                replays_s.push(ran.wall_s);
            }
        }
        let kernels_s = (!kernels_s.is_empty()).then(|| least(&kernels_s));
        replayer.base = (kernels_s, least(&replays_s));
        Ok(replayer)
    }

    fn has_recorded_bits(&self, ran: &Ran) -> Result<(), NoReplay> {
        let copies = self.trace.join("copies.bin");
        let differ = first_difference(&self.recorded.copies, &copies)
            .map_err(|e| NoReplay::Unrecorded(e.to_string()))?;
        let Some(at) = differ else {
            return Ok(());
        };
        let holds =
            |c: &&super::run::TracedCopy| (c.offset..c.offset + c.bytes as u64).contains(&at);
        let place = match ran.trace.copies.iter().enumerate().find(|(_, c)| holds(c)) {
            Some((i, c)) => format!(
                "copy {} of {} to the host, from allocation #{}",
                i + 1,
                ran.trace.copies.len(),
                c.allocation
            ),
            None => "there are fewer copies to the host".into(),
        };
        Err(NoReplay::OtherBits(place))
    }

    fn ask(&self, job: &ReplayJob, limit: Duration) -> Result<ReplayAnswer, WorkerError> {
        let mut slot = self.worker.borrow_mut();
        let mut worker = match slot.take() {
            Some(w) => w,
            None => {
                let library = self.recorded.index.runtime.display().to_string();
                WorkerProcess::start(&self.program, &["replay-worker", &library])?
            }
        };
        let answer: ReplayAnswer = worker.ask(job, limit)?;
        // What kernels print is the program's to show.
        worker.printed();
        if !answer.is_fatal {
            *slot = Some(worker);
        }
        Ok(answer)
    }

    /// Replays once, with a plan's file or the program as it is, and compares what it leaves with what the recorded run
    /// left.
    pub fn run(
        &self,
        plan: Option<&Path>,
        limit: Duration,
        times_kernels: bool,
        criterion: &AppCriterion,
    ) -> Result<(Ran, JudgedReplay), RunFailure> {
        let (ran, judged) = self.replay(plan, limit, times_kernels, Some(*criterion))?;
        let judged = judged.ok_or_else(|| RunFailure::Replay("it compared nothing".into()))?;
        Ok((ran, judged))
    }

    /// What the recorded run copied from the device.
    pub fn recorded_copies(&self) -> &Path {
        &self.recorded.copies
    }

    /// Replays once; without a criterion it keeps what is copied from the device.
    fn replay(
        &self,
        plan: Option<&Path>,
        limit: Duration,
        times_kernels: bool,
        criterion: Option<AppCriterion>,
    ) -> Result<(Ran, Option<JudgedReplay>), RunFailure> {
        let _ = std::fs::remove_dir_all(&self.trace);
        let job = ReplayJob {
            record: self.recorded.folder.clone(),
            device: self.device.to_string(),
            plan: plan.map(Path::to_owned),
            trace: self.trace.clone(),
            times_kernels,
            turn: (self.device != AppDevice::Cpu).then(|| self.turn.clone()),
            criterion,
        };
        let failed = |why: String| RunFailure::Replay(why);
        let answer = self.ask(&job, limit).map_err(|e| failed(e.to_string()))?;
        self.replays.set(self.replays.get() + 1);
        if let Some(why) = answer.failure {
            return Err(failed(why));
        }
        let path = self.trace.join("trace.json");
        let text = std::fs::read_to_string(&path);
        let text = text.map_err(|e| failed(format!("{}: {e}", path.display())))?;
        let trace =
            serde_json::from_str(&text).map_err(|e| failed(format!("{}: {e}", path.display())))?;
        let ran = Ran {
            stdout: String::new(),
            trace,
            wall_s: answer.wall_s,
        };
        Ok((ran, answer.judged))
    }

    /// What a result says of it.
    pub fn summary(&self) -> ReplaySummary {
        ReplaySummary {
            used: true,
            why_not: None,
            replays: self.replays.get(),
            calls: self.recorded.index.calls,
            bytes: self.recorded.index.bytes,
        }
    }
}

impl ReplaySummary {
    /// Without replays, for a reason.
    pub(super) fn none(why: &NoReplay) -> ReplaySummary {
        ReplaySummary {
            used: false,
            why_not: Some(why.to_string()),
            replays: 0,
            calls: 0,
            bytes: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_differ_at_a_byte_or_at_their_end() {
        let dir = tempfile::tempdir().expect("a folder");
        let file = |name: &str, bytes: &[u8]| {
            let path = dir.path().join(name);
            std::fs::write(&path, bytes).expect("written");
            path
        };
        let long = vec![7u8; (1 << 20) + 10];
        let mut other = long.clone();
        other[(1 << 20) + 3] = 8;
        let (a, b) = (file("a", &long), file("b", &other));
        let differ = |x: &Path, y: &Path| first_difference(x, y).expect("files");
        assert_eq!(differ(&a, &a), None);
        assert_eq!(differ(&a, &b), Some((1 << 20) + 3));
        assert_eq!(differ(&a, &file("c", &long[..5])), Some(5));
        assert_eq!(differ(&file("d", &[]), &file("e", &[])), None);
    }
}
