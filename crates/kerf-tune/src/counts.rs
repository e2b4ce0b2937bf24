//! The counting run of a search: made once, kept in the result folder by what was counted.
pub use crate::counted::work;
use crate::evaluate::Input;
use crate::request::TuneRequest;
use crate::subject::Subject;
use kerf_clang::sha256;
use kerf_exec::worker::WorkerProcess;
use kerf_pass::count::Detail;
use kerf_run::job::{Job, JobError, JobReport, ProgramCounts};
use serde::{Deserialize, Serialize};
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

/// The counts of a subject on its tuning inputs: those of the folder, or else those of a run in a worker,
/// which are put there.
pub fn obtain(
    request: &TuneRequest,
    subject: &Subject,
    input: &Input,
) -> Result<ProgramCounts, JobError> {
    at_launch(request, subject, input, &BTreeMap::new())
}

/// [`obtain`] at other launch parameters; then blocks are counted and no values.
pub fn at_launch(
    request: &TuneRequest,
    subject: &Subject,
    input: &Input,
    launch: &BTreeMap<String, i64>,
) -> Result<ProgramCounts, JobError> {
    let key = key(subject, input, launch);
    let path = match launch.is_empty() {
        true => request.out.join(FILE),
        false => request.out.join(format!("counts-{}.json", &key[..12])),
    };
    let plan = kerf_pass::Plan {
        launch: launch.clone(),
        ..kerf_pass::Plan::default()
    };
    let kept = std::fs::read(&path).ok();
    let kept = kept.and_then(|b| serde_json::from_slice::<Kept>(&b).ok());
    if let Some(k) = kept.filter(|k| k.key == key) {
        return Ok(k.counts);
    }
    let job = Job {
        seed: Some(input.seed),
        perturb: input.perturb,
        plan,
        count: Some(match launch.is_empty() {
            true => Detail::Values,
            false => Detail::Blocks,
        }),
        count_only: true,
        reference: false,
        baseline: false,
        threads: 0,
        ..request.job.clone()
    };
    let args: Vec<&str> = request.program.args.iter().map(String::as_str).collect();
    let died = |e: kerf_exec::worker::WorkerError| JobError::Worker(e.to_string());
    let mut w = WorkerProcess::start(&request.program.path, &args).map_err(died)?;
    let answer: Result<JobReport, JobError> = w.ask(&job, request.limit).map_err(died)?;
    let counts = answer?
        .counts
        .ok_or_else(|| JobError::Worker("the counts are missing".into()))?;
    // Renamed into place whole; a folder that cannot be written is told of by what is written next.
    let kept = Kept { key, counts };
    if let Ok(text) = serde_json::to_vec(&kept) {
        let _ = kerf_files::write_whole(&path, text);
    }
    Ok(kept.counts)
}
