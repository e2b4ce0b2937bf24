//! `kerf search score`: the static score of AMPT-GA, added to a recorded space.
use super::{load, unusable};
use crate::fail::Failure;
use crate::output::{Format, say};
use crate::tune::job;
use kerf_tune::rescore::rescore;
use kerf_tune::subject::Subject;
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct ScoreArgs {
    /// A recorded space of Kerf (`space.json`) of formats.
    file: PathBuf,
    /// The workload that it was recorded of.
    workload: PathBuf,
    /// File to write.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

pub fn run(a: &ScoreArgs, format: Format) -> Result<i32, Failure> {
    let space = load(&a.file)?;
    crate::guard::survives(&a.workload)?;
    let job = job(a.workload.clone(), Vec::new(), false, 0, 1, None)?;
    let subject = Subject::load(&job.workload, &job.overrides, &job.toolchain())?;
    let n = space.len();
    let scored = rescore(&subject, space).map_err(|e| {
        Failure::new(format!("{}: {e}", a.file.display()))
            .help("name the workload and the version of its source that the space was recorded of")
    })?;
    let text = scored.json().map_err(|e| unusable(&a.file, &e))?;
    std::fs::write(&a.out, text + "\n").map_err(|e| {
        Failure::new(format!("cannot write {}: {e}", a.out.display())).help("choose another --out")
    })?;
    match format {
        Format::Json => {
            let v = serde_json::json!({ "schema": "kerf.search-score/1", "file": a.out, "outcomes": n });
            say(&format!("{v}\n"))?;
        }
        Format::Human | Format::Csv => {
            say(&format!(
                "{n} outcomes with their static score in {}\n",
                a.out.display()
            ))?;
        }
    }
    Ok(0)
}
