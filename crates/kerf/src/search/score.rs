//! `kerf search score`: the static score of AMPT-GA, added to a recorded space.
use super::{load, unusable};
use crate::fail::Failure;
use crate::output::{Format, passing, say};
use crate::progress::live;
use crate::run::in_worker;
use crate::tune::job;
use crate::{device, toolchain};
use kerf_pass::count::Detail;
use kerf_predict::cost::CostModel;
use kerf_run::job::{Job, JobError};
use kerf_search::recorded::RecordedSpace;
use kerf_tune::coded::{Coded, plans};
use kerf_tune::models::TimePredictor as _;
use kerf_tune::rescore::{MatchedSpace, RescoreError, find, rescore};
use kerf_tune::subject::Subject;
use std::path::PathBuf;
use std::time::Duration;

/// Plans that are compiled at most.
const MOST: usize = 65536;

#[derive(clap::Args)]
pub struct ScoreArgs {
    /// A recorded space of Kerf (`space.json`) of formats.
    file: PathBuf,
    /// The workload that it was recorded of.
    workload: PathBuf,
    /// File to write.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Add times predicted from machine code too: a counting run on the CPU, and every plan compiled.
    #[arg(long)]
    code: bool,
    /// With --code, the device: a profile's name or file.
    #[arg(long, value_name = "NAME|FILE", default_value = "h200")]
    profile: String,
    /// Replace a size, as when it was recorded: n=4096.
    #[arg(long = "size", value_name = "SIZES", value_parser = crate::parse_size)]
    sizes: Vec<(String, i64)>,
}

pub fn run(a: &ScoreArgs, format: Format) -> Result<i32, Failure> {
    let space = load(&a.file)?;
    crate::guard::survives(&a.workload)?;
    let job = job(a.workload.clone(), a.sizes.clone(), false, 0, 1, None)?;
    let subject = Subject::load(&job.workload, &job.overrides, &job.toolchain())?;
    let n = space.len();
    let another = |e: RescoreError| {
        Failure::new(format!("{}: {e}", a.file.display()))
            .help("name the workload and the version of its source that the space was recorded of")
    };
    let mut scored = rescore(&subject, space).map_err(another)?;
    if a.code {
        let found = find(&subject, &scored.problem).map_err(another)?;
        scored = times(a, &job, &subject, &found, scored)?;
    }
    let text = scored.json().map_err(|e| unusable(&a.file, &e))?;
    kerf_files::write_whole(&a.out, text + "\n").map_err(|e| {
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

/// The space with times predicted from machine code.
fn times(
    a: &ScoreArgs,
    job: &Job,
    subject: &Subject,
    found: &MatchedSpace,
    space: RecordedSpace,
) -> Result<RecordedSpace, Failure> {
    let profile = device::load(&a.profile)?;
    let model = CostModel::new(&profile)?;
    let counting = Job {
        count: Some(Detail::Blocks),
        count_only: true,
        reference: false,
        ..job.clone()
    };
    let counts = in_worker(&counting, Duration::from_secs(600))?.counts;
    let counts =
        counts.ok_or_else(|| Failure::from(JobError::Worker("the counts are missing".into())))?;
    let assembler = toolchain::assembler(&profile.arch, &job.toolchain()).ok_or_else(|| {
        Failure::new(format!(
            "there is no assembler whose code can be read for {}",
            profile.name
        ))
        .help("`make setup` fetches ptxas; sm_75 to sm_90 can be read")
    })?;
    let work = kerf_tune::counts::work(&counts);
    let too_many = || {
        Failure::new(format!("{} has too many plans", a.workload.display()))
            .help(format!("up to {MOST} plans of single kernels are compiled"))
    };
    plans(subject, &found.tunable, MOST).ok_or_else(too_many)?;
    let mut shown = |done: usize, of: usize| {
        if live() {
            passing(&format!("compiling {done} of {of} plans"));
        }
    };
    let cost = Coded::new(
        subject,
        &found.tunable,
        &model,
        &work,
        &assembler,
        MOST,
        &mut shown,
    )?;
    passing("");
    let cost = cost.ok_or_else(too_many)?;
    Ok(space.coded_by(|a| cost.predict(&found.whole(a))))
}
