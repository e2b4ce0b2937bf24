//! `kerf check`: does a tuned plan still hold?
use super::progress::Progress;
use super::{cores, job, summary, worker_program};
use crate::fail::Failure;
use crate::output::{Format, Style, note, say};
use crate::{DeviceArg, in_utf8, parse_arch, parse_count, parse_limit};
use kerf_tune::check::{CheckError, CheckRequest, check};
use std::path::PathBuf;
use std::time::Duration;

/// Arguments of `kerf check`.
#[derive(clap::Args)]
pub struct Args {
    /// Result folder of `kerf tune`.
    dir: PathBuf,
    /// Fresh inputs.
    #[arg(long, value_name = "N", default_value_t = 20, allow_negative_numbers = true, value_parser = parse_count)]
    inputs: usize,
    /// Where to run.
    #[arg(long, value_name = "auto|cpu|cuda", default_value = "auto", value_parser = crate::parse_device)]
    device: DeviceArg,
    /// Number of the GPU.
    #[arg(long, default_value_t = 0, allow_negative_numbers = true, value_parser = clap::value_parser!(i32).range(0..))]
    gpu: i32,
    /// Evaluations at a time (CPU); 0 for as many as there are cores.
    #[arg(long, default_value_t = 0, allow_negative_numbers = true, value_parser = crate::parse_threads)]
    workers: usize,
    /// Seconds after which an evaluation counts as hanging.
    #[arg(long, default_value_t = 600.0, allow_negative_numbers = true, value_parser = parse_limit)]
    timeout: f64,
    /// Target architecture.
    #[arg(long, value_parser = parse_arch)]
    arch: Option<String>,
}

/// Runs `kerf check`: 0 if the plan stays within the tolerance on every fresh input.
pub fn run(a: Args, format: Format, style: Style) -> Result<i32, Failure> {
    in_utf8(&a.dir)?;
    let request = CheckRequest {
        job: job(
            PathBuf::new(),
            Vec::new(),
            a.device == DeviceArg::Cuda,
            a.gpu,
            1,
            a.arch,
        )?,
        dir: a.dir,
        inputs: a.inputs,
        program: worker_program()?,
        limit: Duration::from_secs_f64(a.timeout),
        workers: cores(a.workers),
    };
    let mut progress = Progress::new();
    let checked = check(&request, |done, e| progress.trial(done, a.inputs, e.error));
    progress.end();
    let c = checked.map_err(|e| match e {
        CheckError::Subject(e) => e.into(),
        other => Failure::new(other.to_string()),
    })?;
    let holds = c.validation.holds() && c.validation.counted() > 0;
    match format {
        Format::Json => {
            let v = serde_json::json!({
                "schema": "kerf.check/1",
                "result": request.dir,
                "holds": holds,
                "tolerance": c.result.criteria.tolerance,
                "metric": c.result.criteria.metric,
                "validation": c.validation,
            });
            say(&format!("{v:#}\n"))?;
        }
        Format::Human | Format::Csv => say(&summary::checked(&c, holds, style))?,
    }
    if c.validation.counted() == 0 {
        note("warning: no input counted, so nothing was shown");
    }
    Ok(i32::from(!holds))
}
