//! The counting run of a search: made once, kept in the result folder by what was counted.
pub use crate::counted::work;
use crate::evaluate::Input;
use crate::request::TuneRequest;
use crate::subject::Subject;
use kerf_clang::sha256;
use kerf_exec::worker::{WorkerError, WorkerProcess};
use kerf_pass::count::Detail;
use kerf_run::job::{Job, JobError, JobReport, ProgramCounts};
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// File in the result folder.
pub const FILE: &str = "counts.json";

#[derive(Serialize, Deserialize)]
struct Kept {
    /// Of program, sizes and inputs.
    key: String,
    counts: ProgramCounts,
}

fn key(subject: &Subject, input: &Input, launch: &BTreeMap<String, i64>) -> String {
    let what = serde_json::json!({
        "kerf": env!("CARGO_PKG_VERSION"),
        "program": subject.digest(),
        "sizes": subject.workload.sizes,
        "params": subject.workload.launch_space.default_params(),
        "input": input,
        "launch": launch,
    });
    sha256(what.to_string().as_bytes())
}

/// Counting runs of a subject on one input, in a worker that lasts: a process starts in the time of several runs.
pub struct Counting<'r> {
    request: &'r TuneRequest,
    subject: &'r Subject,
    input: Input,
    worker: RefCell<Option<WorkerProcess>>,
}

/// The counts of a subject on its tuning inputs: those of the folder, or else those of a run in a worker,
/// which are put there.
pub fn obtain(
    request: &TuneRequest,
    subject: &Subject,
    input: &Input,
) -> Result<ProgramCounts, JobError> {
    Counting::new(request, subject, input).at_launch(&BTreeMap::new())
}

impl<'r> Counting<'r> {
    /// Of a subject of a request.
    pub fn new(request: &'r TuneRequest, subject: &'r Subject, input: &Input) -> Counting<'r> {
        Counting {
            request,
            subject,
            input: *input,
            worker: RefCell::new(None),
        }
    }

    /// [`obtain`] at other launch parameters; then blocks are counted and no values.
    pub fn at_launch(&self, launch: &BTreeMap<String, i64>) -> Result<ProgramCounts, JobError> {
        let key = key(self.subject, &self.input, launch);
        let folder = &self.request.out;
        let path = match launch.is_empty() {
            true => folder.join(FILE),
            false => folder.join(format!("counts-{}.json", &key[..12])),
        };
        let kept = std::fs::read(&path).ok();
        let kept = kept.and_then(|b| serde_json::from_slice::<Kept>(&b).ok());
        if let Some(k) = kept.filter(|k| k.key == key) {
            return Ok(k.counts);
        }
        let counts = self.run(launch)?;
        // Renamed into place whole; a folder that cannot be written is told of by what is written next.
        let kept = Kept { key, counts };
        if let Ok(text) = serde_json::to_vec(&kept) {
            let _ = kerf_files::write_whole(&path, text);
        }
        Ok(kept.counts)
    }

    fn run(&self, launch: &BTreeMap<String, i64>) -> Result<ProgramCounts, JobError> {
        let job = Job {
            seed: Some(self.input.seed),
            perturb: self.input.perturb,
            plan: kerf_pass::Plan {
                launch: launch.clone(),
                ..kerf_pass::Plan::default()
            },
            count: Some(match launch.is_empty() {
                true => Detail::Values,
                false => Detail::Blocks,
            }),
            count_only: true,
            reference: false,
            baseline: false,
            threads: 0,
            ..self.request.job.clone()
        };
        let program = &self.request.program;
        let died = |e: WorkerError| JobError::Worker(e.to_string());
        let mut slot = self.worker.borrow_mut();
        let mut worker = match slot.take() {
            Some(w) => w,
            None => {
                let args: Vec<&str> = program.args.iter().map(String::as_str).collect();
                WorkerProcess::start(&program.path, &args).map_err(died)?
            }
        };
        // A worker that does not answer is not asked again.
        let answer: Result<JobReport, JobError> =
            worker.ask(&job, self.request.limit).map_err(died)?;
        if answer.is_ok() {
            *slot = Some(worker);
        }
        let counts = answer?.counts;
        counts.ok_or_else(|| JobError::Worker("the counts are missing".into()))
    }
}
