//! `kerf predict --device cuda`: launches sampled on the GPU, in a worker process.
use super::limits::Limit;
use crate::fail::Failure;
use crate::output::{Format, Style, note, say};
use crate::run::seconds;
use crate::table::Table;
use kerf_exec::worker::WorkerProcess;
use kerf_ir::kernels::shortened;
use kerf_predict::sampled::counters::{self, CounterRatios, LaunchCounters};
use kerf_predict::sampled::{SampleCorrection, UNEVEN};
use kerf_run::job::{Job, JobError};
use kerf_tune::launch::sample::{self, Ask, LaunchSamples, SampledLaunch};
use std::fmt::Write;
use std::time::Duration;

/// The hidden worker command.
pub fn serve() -> i32 {
    kerf_exec::worker::serve(|ask: Ask| sample::sample(&ask));
    0
}

/// Seconds of one launch: the line corrected where there is a model, measured where it is too small.
fn launch_seconds(l: &SampledLaunch, model: Option<&SampleCorrection>) -> (f64, &'static str) {
    match (&l.samples, model) {
        (None, _) => (
            l.whole.unwrap_or(0.0),
            "measured whole: too few waves for samples to pay",
        ),
        (Some(s), Some(m)) if s.long_in_middle => (
            m.seconds(s),
            "line through two samples of the middle, corrected",
        ),
        (Some(s), Some(m)) => (m.seconds(s), "line through two samples, corrected"),
        (Some(s), None) if s.long_in_middle => (
            s.position_adjusted_s(),
            "line through two samples of the middle",
        ),
        (Some(s), None) => (s.position_adjusted_s(), "line through two samples"),
    }
}

/// What is known beside the samples.
pub struct With<'w> {
    /// The correction.
    pub model: Option<&'w SampleCorrection>,
    /// What limits launches.
    pub limits: &'w [Limit],
    /// Hardware counters.
    pub counted: &'w [LaunchCounters],
    /// Launches also run whole, to be compared.
    pub check: bool,
}

impl With<'_> {
    /// What limits a launch: by its counters, or by the model.
    fn limit(&self, l: &SampledLaunch) -> Option<String> {
        let counted = self.counters(l).map(|c| format!("{} (counted)", c.limit()));
        counted.or_else(|| {
            let alike = |x: &&Limit| (&x.symbol, x.grid, x.block) == (&l.symbol, l.grid, l.block);
            let known = self.limits.iter().find(alike)?;
            Some(known.resource.to_string())
        })
    }

    fn counters(&self, l: &SampledLaunch) -> Option<CounterRatios> {
        counters::find(self.counted, &[&l.kernel, &l.symbol], l.block, l.grid).copied()
    }
}

/// The whole launch as it was measured beside the prediction `s`, and how far that is off.
fn measured(l: &SampledLaunch, s: f64) -> String {
    let one = |m: f64| format!("{}, {:+.1} %", seconds(m), 100.0 * (s / m - 1.0));
    l.measured.map_or_else(String::new, one)
}

fn human(p: &LaunchSamples, name: &str, with: &With, style: Style) -> String {
    let model = with.model;
    let mut o = String::new();
    let total = total_seconds(p, model);
    let off = model.map_or_else(String::new, |m| format!(" +- {:.0} %", 100.0 * m.error_90));
    let _ = writeln!(
        o,
        "{} on {}: {}{off} predicted from samples that took {}, {:.1} % of it",
        style.bold(name),
        p.device,
        style.bold(&seconds(total)),
        seconds(p.sampled_s),
        100.0 * p.sampled_s / total.max(1e-12)
    );
    let mut columns = vec!["kernel", "launches", "each"];
    columns.extend(with.check.then_some("measured"));
    columns.extend(["waves", "sampled", "limited by", "how"]);
    let mut t = Table::new(2, columns);
    for l in &p.launches {
        let (s, how) = launch_seconds(l, model);
        let mut cells = vec![shortened(&l.kernel), l.repeats.to_string(), seconds(s)];
        cells.extend(with.check.then(|| measured(l, s)));
        cells.extend([
            format!("{:.1}", l.waves),
            l.samples.as_ref().map_or_else(
                || "whole".into(),
                |s| format!("{:.1} %", 100.0 * s.sampled_fraction()),
            ),
            with.limit(l).unwrap_or_default(),
            how.to_owned(),
        ]);
        t.row(cells);
    }
    o += &t.render(style);
    o
}

/// Seconds of all launches.
fn total_seconds(p: &LaunchSamples, model: Option<&SampleCorrection>) -> f64 {
    p.launches
        .iter()
        .map(|l| launch_seconds(l, model).0 * l.weight)
        .sum()
}

/// What makes the prediction less sure, one note each.
fn notes(p: &LaunchSamples, with: &With) {
    let uncounted = |l: &&SampledLaunch| !with.counted.is_empty() && with.counters(l).is_none();
    for l in p.launches.iter().filter(uncounted) {
        note(&format!(
            "warning: no counters of {} with this grid and block are in the table",
            shortened(&l.kernel)
        ));
    }
    for l in &p.launches {
        if let Some(u) = l.samples.as_ref().and_then(|s| s.unevenness())
            && u.abs() > UNEVEN
        {
            note(&format!(
                "warning: {}: blocks in the middle of the grid take {:.0} % {} time than those at its start: the work is uneven, and the prediction less sure",
                shortened(&l.kernel),
                100.0 * u.abs(),
                if u > 0.0 { "more" } else { "less" }
            ));
        }
        if l.grids > 1 {
            note(&format!(
                "note: {}: {} launches of {} grids; one of {} x {} x {} was taken for all of them, by their blocks",
                shortened(&l.kernel),
                l.repeats,
                l.grids,
                l.grid[0],
                l.grid[1],
                l.grid[2]
            ));
        } else if l.varies {
            note(&format!(
                "warning: {}: its launches have other arguments each time; the first was sampled",
                shortened(&l.kernel)
            ));
        }
    }
    if with.model.is_none() {
        note("warning: no correction was trained for this device; help: kerf predict train");
    }
}

fn json(p: &LaunchSamples, job: &Job, with: &With) -> serde_json::Value {
    let each = p.launches.iter().map(|l| {
        let (s, how) = launch_seconds(l, with.model);
        let limit = with.limit(l);
        serde_json::json!({
            "kernel": l.kernel, "launches": l.repeats, "grids": l.grids, "seconds": s, "basis": how,
            "linear_s": l.samples.as_ref().map(|s| s.linear_s()),
            "unevenness": l.samples.as_ref().and_then(|s| s.unevenness()),
            "samples": l.samples, "limit": limit, "grid": l.grid, "block": l.block,
            "waves": l.waves, "measured_s": l.measured,
            "error": l.measured.map(|m| s / m - 1.0),
        })
    });
    let total = total_seconds(p, with.model);
    serde_json::json!({
        "schema": "kerf.predict-sampled/1", "workload": job.workload, "device": p.device,
        "basis": "predicted", "seconds": total, "sampled_s": p.sampled_s,
        "sampled_part": p.sampled_s / total.max(1e-12),
        "error_90": with.model.map(|m| m.error_90), "launches": each.collect::<Vec<_>>(),
    })
}

/// Runs the command on a GPU.
pub fn run(
    job: &Job,
    limit: Duration,
    with: &With,
    format: Format,
    style: Style,
) -> Result<i32, Failure> {
    let exe = std::env::current_exe().map_err(|e| JobError::Worker(e.to_string()))?;
    let fail = |e: kerf_exec::worker::WorkerError| JobError::Worker(e.to_string());
    let mut w = WorkerProcess::start(&exe, &["sample-worker"]).map_err(fail)?;
    let ask = Ask {
        job: job.clone(),
        points: Vec::new(),
        check: with.check,
    };
    let shown = crate::progress::Work::begin("sampling launches");
    let answer: Result<Vec<LaunchSamples>, JobError> = w.ask(&ask, limit).map_err(fail)?;
    drop(shown);
    let none = || JobError::Worker("the samples are missing".into());
    let mut p = answer?.into_iter().next().ok_or_else(none)?;
    for l in &mut p.launches {
        let counters = with.counters(l);
        if let Some(s) = &mut l.samples {
            s.counters = counters;
        }
    }
    notes(&p, with);
    match format {
        Format::Json => say(&format!("{:#}\n", json(&p, job, with)))?,
        Format::Human | Format::Csv => {
            let name = job.workload.display().to_string();
            say(&human(&p, &name, with, style))?;
        }
    }
    Ok(0)
}
