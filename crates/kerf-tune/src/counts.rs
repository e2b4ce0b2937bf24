//! The counting run of a search: made once, kept in the result folder by what was counted.
pub use crate::counted::work;
use crate::evaluate::Input;
use crate::request::TuneRequest;
use crate::subject::Subject;
use kerf_clang::sha256;
use kerf_exec::worker::{WorkerError, WorkerProcess};
use kerf_llvm::Module;
use kerf_pass::Plan;
use kerf_pass::count::Detail;
use kerf_predict::cost::{CostError, CostModel};
use kerf_run::job::{Device, Job, JobError, JobReport, KernelCounts, ProgramCounts};
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::Duration;

/// Time limit where some blocks stand for all: it takes seconds, and blocks that wait for others would wait for ever.
const SAMPLED: Duration = Duration::from_secs(60);

/// File in the result folder.
pub const FILE: &str = "counts.json";

#[derive(Serialize, Deserialize)]
struct Kept {
    /// Of program, sizes and inputs.
    key: String,
    counts: ProgramCounts,
}

/// Seconds of one run of a program on a model's device, from its counts: the sum over its kernels. `prepared` is its module as
/// it was counted.
pub fn program_seconds(
    model: &CostModel,
    prepared: &Module,
    counts: &ProgramCounts,
) -> Result<f64, CostError> {
    let work = work(counts);
    let seconds = |k: &KernelCounts| {
        let kernel = model.kernel(prepared, &work, &k.symbol)?;
        kernel.device_seconds(&Plan::default())
    };
    counts.kernels.iter().map(seconds).sum()
}

/// Counting runs of a subject on one input, in a worker that lasts: a process starts in the time of several runs.
pub struct Counting<'r> {
    request: &'r TuneRequest,
    subject: &'r Subject,
    input: Input,
    /// Sizes in place of the request's, at which some blocks stand for all.
    full: Option<Vec<(String, i64)>>,
    worker: RefCell<Option<WorkerProcess>>,
}

/// The counts of a subject on its tuning inputs: those of the folder, or else those of a run in a worker,
/// which are put there.
pub fn obtain(
    request: &TuneRequest,
    subject: &Subject,
    input: &Input,
) -> Result<ProgramCounts, JobError> {
    // What a GPU runs has many executions, and recording all of their values takes it a thousand times as long.
    let detail = match request.job.device {
        Device::Cuda => Detail::SampledValues,
        Device::Cpu => Detail::Values,
    };
    Counting::new(request, subject, input).at_launch(&BTreeMap::new(), detail)
}

impl<'r> Counting<'r> {
    /// Of a subject of a request.
    pub fn new(request: &'r TuneRequest, subject: &'r Subject, input: &Input) -> Counting<'r> {
        Counting {
            request,
            subject,
            input: *input,
            full: None,
            worker: RefCell::new(None),
        }
    }

    /// At other sizes, at which some blocks of each launch stand for all.
    pub fn sampled_at(mut self, overrides: Vec<(String, i64)>) -> Counting<'r> {
        self.full = Some(overrides);
        self
    }

    /// [`obtain`] at other launch parameters, or in another detail.
    pub fn at_launch(
        &self,
        launch: &BTreeMap<String, i64>,
        detail: Detail,
    ) -> Result<ProgramCounts, JobError> {
        let key = self.key(launch, detail);
        let folder = &self.request.out;
        let path = match detail.has_values() {
            true => folder.join(FILE),
            false => folder.join(format!("counts-{}.json", &key[..12])),
        };
        let kept = std::fs::read(&path).ok();
        let kept = kept.and_then(|b| serde_json::from_slice::<Kept>(&b).ok());
        if let Some(k) = kept.filter(|k| k.key == key) {
            return Ok(k.counts);
        }
        let counts = self.run(launch, detail)?;
        // Renamed into place whole; a folder that cannot be written is told of by what is written next.
        let kept = Kept { key, counts };
        if let Ok(text) = serde_json::to_vec(&kept) {
            let _ = kerf_files::write_whole(&path, text);
        }
        Ok(kept.counts)
    }

    fn key(&self, launch: &BTreeMap<String, i64>, detail: Detail) -> String {
        let w = &self.subject.workload;
        let what = serde_json::json!({
            "kerf": env!("CARGO_PKG_VERSION"),
            "program": self.subject.digest(),
            "sizes": w.sizes,
            "params": w.launch_space.default_params(),
            "input": self.input,
            "launch": launch,
            "detail": detail,
            "sampled": self.full,
        });
        sha256(what.to_string().as_bytes())
    }

    fn run(
        &self,
        launch: &BTreeMap<String, i64>,
        detail: Detail,
    ) -> Result<ProgramCounts, JobError> {
        let job = Job {
            seed: Some(self.input.seed),
            perturb: self.input.perturb,
            plan: kerf_pass::Plan {
                launch: launch.clone(),
                ..kerf_pass::Plan::default()
            },
            count: Some(detail),
            count_only: true,
            reference: false,
            baseline: false,
            threads: 0,
            count_sampled: self.full.is_some(),
            ..self.request.job.clone()
        };
        let job = match &self.full {
            Some(overrides) => Job {
                overrides: overrides.clone(),
                ..job
            },
            None => job,
        };
        let limit = match self.full {
            Some(_) => self.request.limit.min(SAMPLED),
            None => self.request.limit,
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
        let answer: Result<JobReport, JobError> = worker.ask(&job, limit).map_err(died)?;
        if answer.is_ok() {
            *slot = Some(worker);
        }
        let counts = answer?.counts;
        counts.ok_or_else(|| JobError::Worker("the counts are missing".into()))
    }
}
