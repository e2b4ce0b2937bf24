//! `kerf study sfu-tradeoff`: time and error of workloads against the part of their warps that computes approximately.
use super::Args;
use crate::DeviceArg;
use crate::fail::Failure;
use crate::output::{Format, Style, note, say};
use crate::progress;
use crate::table::Table;
use crate::toolchain;
use kerf_exec::cuda::CudaExecutor;
use kerf_study::tradeoff::{
    NAME, RATIO, TradeoffError, TradeoffEvent, TradeoffOptions, examples, json, run as run_study,
    tables,
};
use std::path::{Path, PathBuf};

/// The hidden command of its workers.
const WORKER: &str = "sweep-worker";

impl From<TradeoffError> for Failure {
    fn from(e: TradeoffError) -> Failure {
        let f = Failure::new(e.to_string());
        match e {
            TradeoffError::HasResults(_) => {
                f.help("--resume goes on there; or choose another folder with --out")
            }
            TradeoffError::NoResult { .. } => f.help("delete it, and the workload is run again"),
            _ => f,
        }
    }
}

fn workloads(given: Vec<PathBuf>) -> Result<Vec<PathBuf>, Failure> {
    if !given.is_empty() {
        return Ok(given);
    }
    let all = examples(Path::new("examples"));
    match all.is_empty() {
        false => Ok(all),
        true => Err(Failure::new("there is no folder `examples` here")
            .help("name workloads: kerf study sfu-tradeoff W.toml ...")),
    }
}

fn tell(event: TradeoffEvent) {
    match event {
        TradeoffEvent::Resumed(n) => note(&format!("{n} workloads are there already")),
        TradeoffEvent::OneVersion {
            workload,
            kernel,
            why,
        } => note(&format!(
            "warning: {}: {kernel} keeps one version: {why}",
            workload.display()
        )),
        TradeoffEvent::NotCompared { workload, why } => note(&format!(
            "warning: {}: calls were not compared with fast-math: {why}",
            workload.display()
        )),
        TradeoffEvent::Ended { tradeoff, total_s } => progress::line(&format!(
            "{}: {:.1} s of the device, {total_s:.0} s in all",
            tradeoff.name, tradeoff.swept.turn_s
        )),
        TradeoffEvent::Failed { workload, error } => {
            note(&format!("{}: {error}", workload.display()));
        }
    }
}

/// Runs the study.
pub fn run(a: Args, format: Format, style: Style) -> Result<i32, Failure> {
    let gpu = (a.device == DeviceArg::Cuda).then_some(a.gpu);
    if a.calls && (gpu.is_none() || a.own_sizes) {
        return Err(
            Failure::new("--calls compares times, at sizes that a GPU is for")
                .help("use --device cuda, without --own-sizes"),
        );
    }
    if let Some(dir) = &a.out {
        super::check_folder(dir)?;
    }
    let arch = match gpu {
        Some(n) => format!("sm_{}", CudaExecutor::capability(n)?),
        None => "sm_90".to_owned(),
    };
    let exe = std::env::current_exe().map_err(|e| Failure::new(e.to_string()))?;
    let options = TradeoffOptions {
        workloads: workloads(a.workloads)?,
        gpu,
        quick: a.quick,
        own_sizes: a.own_sizes,
        calls: a.calls,
        resume: a.resume,
        out: a.out,
        tools: toolchain::discover(&arch),
        lock: gpu.map(crate::tune::gpu_lock),
        worker: (exe, WORKER),
    };
    let all = run_study(&options, &tell)?;
    if all.is_empty() {
        return Err(Failure::new("no workload could be run").help("the reasons are above"));
    }
    if let Some(dir) = &options.out {
        note(&format!("files in {}", dir.display()));
    }
    if format == Format::Json {
        say(&json(&all))?;
        return Ok(0);
    }
    let mut table = Table::new(1, tables::HEAD);
    for t in &all {
        table.row(tables::row(t));
    }
    let d = &all[0].swept.device;
    say(&format!(
        "{} on {} ({}); errors against the program as it is, searches at {RATIO} of the largest\n\n{}\n{}",
        style.bold(NAME),
        d.name,
        d.detail,
        table.render(style),
        tables::summary(&all)
    ))?;
    Ok(i32::from(all.len() < options.workloads.len()))
}
