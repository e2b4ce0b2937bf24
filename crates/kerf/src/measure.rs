//! `kerf measure`, hidden: sampled plans of a workload timed on a GPU, one line of JSON each.
//!
//! The kernels run in this process: it is a tool for benchmarks, and a plan that kills it is a finding.
use crate::fail::Failure;
use crate::output::{note, say};
use crate::tune::{By, parse_format};
use kerf_pass::SiteFormat;
use kerf_run::job::{Job, JobError};
use kerf_tune::measure::{self, MeasuredPlan};
use kerf_tune::problem::tunable;
use kerf_tune::subject::Subject;
use std::path::PathBuf;

/// Arguments of the command.
#[derive(clap::Args)]
pub struct Args {
    /// Workload file (.toml).
    workload: PathBuf,
    /// Plans.
    #[arg(long, default_value_t = 24)]
    plans: usize,
    /// Formats that operations may be lowered to.
    #[arg(long, value_delimiter = ',', default_value = "f32", value_parser = parse_format)]
    formats: Vec<SiteFormat>,
    /// What changes its format as one.
    #[arg(long, value_enum, default_value = "variable")]
    by: By,
    /// Seed of the sample.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Replace a size or launch parameter, on a GPU (`[sizes]`) and on the CPU (`[cpu_sizes]`): n=4096.
    #[arg(long = "size", value_parser = crate::parse_size)]
    sizes: Vec<(String, i64)>,
    /// Timed runs of a plan.
    #[arg(long, default_value_t = 11)]
    repeats: u32,
    /// Only these of the plans, by number.
    #[arg(long, value_delimiter = ',')]
    only: Vec<usize>,
    /// Keep their PTX in this folder.
    #[arg(long)]
    keep: Option<PathBuf>,
    /// Instead of plans, time what other compilers made of the source (PTX or binaries) in turn with Kerf's program.
    #[arg(long, value_delimiter = ',')]
    beside: Vec<PathBuf>,
    /// Only list the plans.
    #[arg(long)]
    list: bool,
}

/// Runs the command.
pub fn run(a: &Args) -> Result<i32, Failure> {
    crate::in_utf8(&a.workload)?;
    let mut job = crate::tune::job(
        a.workload.clone(),
        a.sizes.clone(),
        !a.list,
        0,
        a.repeats,
        None,
    )?
    .at_sizes_of_device()?;
    job.warmup = 3;
    let subject = Subject::load(&a.workload, &job.overrides, &job.toolchain())?;
    if !a.beside.is_empty() {
        return beside(&job, &subject, &a.beside);
    }
    let refused = |e: kerf_tune::problem::ProblemError| Failure::new(e.to_string());
    let t = tunable(&subject, &a.formats, a.by.into()).map_err(refused)?;
    let mut plans = measure::plans(&subject, &t, a.plans, a.seed)?;
    if !a.only.is_empty() {
        let mut number = 0;
        plans.retain(|_| {
            number += 1;
            a.only.contains(&(number - 1))
        });
    }
    if a.list {
        for p in &plans {
            let line = serde_json::json!({ "assignment": p.0, "held": p.1 });
            say(&format!("{line}\n"))?;
        }
        return Ok(0);
    }
    let mut failed = 0;
    let keep = a.keep.as_deref();
    measure::measure(
        &job,
        &subject,
        &plans,
        keep,
        |i, m: Result<MeasuredPlan, JobError>| {
            let line = match &m {
                Ok(m) => serde_json::to_string(m).unwrap_or_default(),
                Err(e) => {
                    failed += 1;
                    note(&format!("warning: plan {i}: {e}"));
                    return;
                }
            };
            let _ = say(&(line + "\n"));
        },
    )?;
    Ok(i32::from(failed > 0))
}

/// Programs of other compilers, one line of JSON each.
fn beside(job: &Job, subject: &Subject, files: &[PathBuf]) -> Result<i32, Failure> {
    let mut others = Vec::new();
    for f in files {
        let bytes = std::fs::read(f).map_err(|e| Failure::new(format!("{}: {e}", f.display())))?;
        others.push((f.display().to_string(), bytes));
    }
    let mut failed = false;
    for one in measure::beside(job, subject, &others)? {
        match one {
            Ok(b) => say(&format!(
                "{}\n",
                serde_json::to_string(&b).unwrap_or_default()
            ))?,
            Err(e) => {
                failed = true;
                note(&format!("warning: {e}"));
            }
        }
    }
    Ok(i32::from(failed))
}
