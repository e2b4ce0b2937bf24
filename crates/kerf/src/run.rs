//! `kerf run`: a workload on a device, in a worker process.
pub mod command;

use crate::fail::Failure;
use crate::guard;
use crate::output::{Format, Style, note, say};
use crate::progress::Work;
use crate::tune::worker_program;
use kerf_exec::cpu::SanitizeOptions;
use kerf_exec::worker::{WorkerError, WorkerProcess};
use kerf_exec::{DeviceKind, KernelStats};
use kerf_num::metrics::{ComparedElement, ErrorReport, Rejection};
use kerf_run::job::{
    Device, FormatErrors, Job, JobError, JobReport, NoReport, Output, OutputAnswer, OutputVerdict,
    StorageLosses,
};
use kerf_tune::precheck::PrecheckRequest;
use kerf_workload::Workload;
use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

/// What a job is, while it runs.
fn doing(job: &Job) -> &'static str {
    match job {
        j if j.count_only => "counting",
        j if j.reference => "running, with the reference,",
        j if j.memcheck.is_some() => "running, every access checked,",
        _ => "running",
    }
}

/// Worker processes for jobs, one at a time.
#[derive(Default)]
pub struct JobWorker {
    keeps: bool,
    process: Option<WorkerProcess>,
}

impl JobWorker {
    /// A worker process stays for the next job, with what it has on its device, unless the job has left it of no use. The system
    /// ends it with the thread that had its first job done.
    pub fn kept() -> JobWorker {
        JobWorker {
            keeps: true,
            process: None,
        }
    }

    /// Whether there are jobs after this one.
    pub fn keeps(&self) -> bool {
        self.keeps
    }

    /// Has a job done.
    pub fn job(&mut self, job: &Job, limit: Duration) -> Result<JobReport, JobError> {
        Ok(self.report(job, limit)?)
    }

    fn start() -> Result<WorkerProcess, NoReport> {
        let exe = std::env::current_exe().map_err(|e| JobError::Worker(e.to_string()))?;
        Ok(WorkerProcess::start(&exe, &["worker"])?)
    }

    /// Has a job done; what the worker does wrong is told apart from what the job does.
    fn report(&mut self, job: &Job, limit: Duration) -> Result<JobReport, NoReport> {
        let kept = self.process.take();
        let had_others = kept.is_some();
        let mut w = kept.map_or_else(Self::start, Ok)?;
        let name = job.workload.file_name().unwrap_or_default();
        let _shown = Work::begin(format!("{} {}", doing(job), name.to_string_lossy()));
        // What comes late is of the job before.
        let _ = w.printed();
        let mut answer: Result<Result<JobReport, JobError>, WorkerError> = w.ask(job, limit);
        if had_others && matches!(answer, Err(WorkerError::Died { .. })) {
            // Earlier jobs may be to blame.
            w = Self::start()?;
            answer = w.ask(job, limit);
        }
        let answer = answer?.map(|mut report| {
            let printed = w.printed();
            report.printed.push_str(&String::from_utf8_lossy(&printed));
            report
        });
        if self.keeps && !answer.as_ref().is_err_and(JobError::spoils_worker) {
            self.process = Some(w);
        }
        Ok(answer?)
    }
}

/// Runs a job in a fresh worker process.
pub fn in_worker(job: &Job, limit: Duration) -> Result<JobReport, JobError> {
    JobWorker::default().job(job, limit)
}

/// Runs a job in a fresh worker process; what the worker does wrong is told apart from what the job does.
pub fn report_of(job: &Job, limit: Duration) -> Result<JobReport, NoReport> {
    JobWorker::default().report(job, limit)
}

/// The hidden worker command.
pub fn serve() -> i32 {
    let mut kept = kerf_run::job::Workshop::default();
    kerf_exec::worker::serve(|job: Job| kerf_run::job::execute_with(&job, &mut kept));
    0
}

/// Seconds for a reader.
pub fn seconds(s: f64) -> String {
    match s {
        s if s >= 1.0 => format!("{s:.3} s"),
        s if s >= 1e-3 => format!("{:.3} ms", s * 1e3),
        s => format!("{:.3} us", s * 1e6),
    }
}

fn num(x: f64) -> String {
    match x {
        0.0 => "0".into(),
        x if x.is_finite() => format!("{x:.3e}"),
        _ => "inf".into(),
    }
}

/// A number as JSON writes it, to be read back to the bit.
fn json(x: f64) -> serde_json::Value {
    x.into()
}

/// Pairs that say nothing of accuracy, where there are some.
fn pairs(r: &ErrorReport) -> String {
    let all = [(r.nan_pairs, "NaN"), (r.inf_pairs, "the same infinity")];
    let some = all.iter().filter(|(n, _)| *n > 0);
    some.map(|(n, what)| format!(", {n} are {what} in both"))
        .collect()
}

/// `1 integer differs`, `3 integers differ`.
fn integers_differ(n: usize) -> String {
    match n {
        1 => "1 integer differs".into(),
        n => format!("{n} integers differ"),
    }
}

/// The verdict on an output, in words.
fn verdict(out: &Output, v: &OutputVerdict) -> String {
    let error = match (v.metric, v.tolerance, v.value) {
        (Some(m), Some(t), Some(0.0)) => Some(format!("{m} 0, tolerance {t:e}")),
        (Some(m), Some(t), Some(x)) => Some(format!("{m} {x:.3e}, tolerance {t:e}")),
        (Some(m), Some(t), None) => Some(format!("{m} infinite, tolerance {t:e}")),
        _ => None,
    };
    let why = match v.rejection {
        Some(Rejection::IntegersDiffer) => integers_differ(v.counts.integer_mismatches),
        Some(Rejection::BeyondTolerance) | None if !out.errors.is_empty() => {
            error.unwrap_or_else(|| "within every tolerance".into())
        }
        Some(why) => why.to_string(),
        None => "all integers are equal".into(),
    };
    format!("{why} ({})", v.counts)
}

/// What to do about a rejection that is not the plan's fault.
fn remedy(why: Rejection) -> Option<&'static str> {
    match why {
        Rejection::NanPairs => {
            Some("correct the inputs, or where NaN are meant, write allow_nan = true in [accept]")
        }
        Rejection::NothingCompared => {
            Some("check the inputs: no value is finite in both the output and its reference")
        }
        _ => None,
    }
}

/// Says which outputs are rejected, and gives whether there are any.
fn rejections(r: &JobReport) -> bool {
    let mut any = false;
    for o in &r.outputs {
        if let Some(a) = o.answer.filter(|a| !a.accepted) {
            any = true;
            note(&format!("rejected: output {}: {}", o.name, closeness(&a)));
        }
        let Some(v) = o.verdict.as_ref().filter(|v| !v.accepted) else {
            continue;
        };
        any = true;
        note(&format!("rejected: output {}: {}", o.name, verdict(o, v)));
        if let Some(help) = v.rejection.and_then(remedy) {
            note(&format!("  help: {help}"));
        }
    }
    any
}

/// How close an output is to its answer, in words.
fn closeness(a: &OutputAnswer) -> String {
    let c = &a.closeness;
    let Some(first) = c.first_beyond else {
        return format!("all {} values are close to the answer", c.values);
    };
    let special = match c.not_finite {
        0 => String::new(),
        n => format!(", {n} of them NaN or infinite on a side"),
    };
    format!(
        "{} of {} values are not close to the answer, the first at [{first}]{special}; largest difference {}",
        c.beyond,
        c.values,
        num(c.largest_difference)
    )
}

fn errors(o: &mut String, e: &FormatErrors, style: Style) {
    let r = &e.report;
    let at = |p: Option<ComparedElement>| {
        p.map_or_else(String::new, |p| {
            let (got, reference) = (json(p.got), json(p.reference));
            format!(" at [{}]: got {got} for {reference}", p.index)
        })
    };
    let _ = writeln!(
        o,
        "    {} of {} values compared with the reference ({}){}",
        r.compared,
        r.count,
        e.format,
        pairs(r)
    );
    if let Some(first) = r.first_mismatch {
        let n = r.nan_mismatch + r.inf_mismatch;
        let text = format!("{n} NaN or infinity mismatches, first at [{first}]");
        let _ = writeln!(o, "    {}", style.bad(&text));
    }
    if r.compared == 0 {
        return; // no errors to speak of: zeros here would look like a perfect result
    }
    let _ = writeln!(o, "    max_rel  {}{}", num(r.max_rel), at(r.max_rel_at));
    let _ = writeln!(o, "    max_abs  {}{}", num(r.max_abs), at(r.max_abs_at));
    let _ = writeln!(
        o,
        "    max_ulp  {} from the real value, {} from the rounded",
        num(r.max_ulp),
        num(r.max_ulp_rounded)
    );
    let or_zero = |x: f64| if x.is_finite() { x } else { 0.0 };
    let all = r.quantiles.iter();
    let q: Vec<String> = all
        .map(|q| format!("{} {}", json(q.q), num(q.rel)))
        .collect();
    let _ = writeln!(o, "    quantile {}", q.join(", "));
    let _ = writeln!(
        o,
        "    rms      {}   rel_l2 {}   mean_rel {}   digits {:.1}   psnr {:.1} dB",
        num(r.rms),
        num(r.rel_l2),
        num(r.mean_rel),
        or_zero(r.digits),
        or_zero(r.psnr)
    );
    if let Some(s) = r.ssim.filter(|s| s.is_finite()) {
        let _ = writeln!(o, "    ssim     {s:.9}");
    }
}

/// Times, energy and clocks.
fn measurements(o: &mut String, r: &JobReport, checked: bool, style: Style) {
    if let Some(t) = &r.times {
        let what = match (r.device.kind, checked) {
            (DeviceKind::Cuda, _) => "time",
            (_, true) => "CPU time with every access checked",
            _ => "CPU time",
        };
        let _ = writeln!(
            o,
            "  {what} {} (median of {}; {} to {})",
            style.bold(&seconds(t.median_s)),
            t.samples_s.len(),
            seconds(t.low_s),
            seconds(t.high_s)
        );
    }
    if let (Some(t), Some(b)) = (&r.times, &r.baseline) {
        let _ = writeln!(
            o,
            "  the workload's own source {} (median of {}), in turn with it: {:.3}x",
            seconds(b.median_s),
            b.samples_s.len(),
            b.median_s / t.median_s
        );
    }
    if let Some(e) = &r.energy {
        let _ = writeln!(
            o,
            "  energy {:.4e} J a run, mean power {:.1} W, over {:.1} s and {} runs",
            e.per_run_j, e.mean_w, e.window_s, e.runs
        );
    }
    for s in &r.sensors {
        let mhz = |v: Option<u32>| v.map_or("?".into(), |v| v.to_string());
        let held = if s.throttle.is_empty() {
            String::new()
        } else {
            format!(", clock held back by {}", s.throttle.join(", "))
        };
        let _ = writeln!(
            o,
            "  clocks: SM {} MHz, memory {} MHz, {} C{held}",
            mhz(s.sm_clock_mhz),
            mhz(s.memory_clock_mhz),
            mhz(s.temperature_c)
        );
    }
}

/// What a kernel needs of the device.
fn kernel(o: &mut String, k: &KernelStats) {
    let n = kerf_ir::kernels::source_name(&kerf_llvm::demangle(&k.symbol));
    let n = kerf_ir::kernels::shortened(&n);
    match (k.registers, k.shared_bytes, k.local_bytes) {
        (Some(regs), Some(sh), Some(loc)) => {
            let _ = writeln!(
                o,
                "  kernel {n}: {regs} registers, {sh} bytes shared, {loc} bytes local (spills and arrays)"
            );
        }
        _ => {
            let _ = writeln!(o, "  kernel {n}: {}", k.note.as_deref().unwrap_or(""));
        }
    }
}

/// An output, and its errors against the reference.
fn output(o: &mut String, out: &Output, style: Style) {
    let _ = writeln!(
        o,
        "  output {}  {}[{}]  {}",
        style.bold(&out.name),
        out.element,
        out.len,
        out.digest
    );
    if let Some(p) = &out.saved {
        let _ = writeln!(o, "    saved to {}", p.display());
    }
    for e in &out.errors {
        errors(o, e, style);
    }
    if let Some(n) = out.integer_mismatches {
        let differ = integers_differ(n);
        let _ = writeln!(o, "    {differ} from the original program's");
    }
    let word = |accepted| match accepted {
        true => style.good("accepted"),
        false => style.bad("rejected"),
    };
    if let Some(a) = &out.answer {
        let _ = writeln!(o, "    {}: {}", word(a.accepted), closeness(a));
    }
    if let Some(v) = &out.verdict {
        let _ = writeln!(o, "    {}: {}", word(v.accepted), verdict(out, v));
    }
}

fn human(r: &JobReport, name: &str, checked: bool, style: Style) -> String {
    let mut o = String::new();
    let _ = writeln!(
        o,
        "{} on {} ({})",
        style.bold(name),
        r.device.name,
        r.device.detail
    );
    let s: Vec<String> = r.settings.iter().map(|(k, v)| format!("{k}={v}")).collect();
    let _ = writeln!(
        o,
        "  {}seed {}, {} launch{}",
        s.iter().map(|x| format!("{x} ")).collect::<String>(),
        r.seed,
        r.launches,
        if r.launches == 1 { "" } else { "es" }
    );
    measurements(&mut o, r, checked, style);
    for k in &r.kernels {
        kernel(&mut o, k);
    }
    for out in &r.outputs {
        output(&mut o, out, style);
    }
    if let Some(i) = &r.reference {
        let _ = writeln!(
            o,
            "  reference: double-double shadow execution on the {}, {}",
            match i.device {
                Device::Cpu => "CPU",
                Device::Cuda => "GPU",
            },
            seconds(i.time_s)
        );
    }
    if !r.losses.is_empty() && r.losses.iter().all(StorageLosses::is_empty) {
        let _ = writeln!(o, "  scaled formats: no value saturated, and none was lost");
    }
    if let Some(c) = &r.counts {
        o += &crate::counts::human(c, style);
    }
    if !r.printed.is_empty() {
        let _ = writeln!(o, "  printed by the kernels:");
        for l in r.printed.lines().take(200) {
            let _ = writeln!(o, "  | {l}");
        }
    }
    o
}

/// An output that depends on undefined behaviour cannot be accepted: the program is checked first. Gives what could not be
/// checked, or not in time.
fn checked_first(job: &Job) -> Result<Option<String>, Failure> {
    // What else is wrong the run itself says.
    let Ok(workload) = Workload::read(&job.workload, &job.overrides) else {
        return Ok(None);
    };
    let request = PrecheckRequest {
        job: job.clone(),
        checks: SanitizeOptions::everything(),
        program: worker_program()?,
    };
    let seed = job.seed.unwrap_or(workload.seed);
    let checked = request.start(workload, seed).result();
    let checked = checked.map_err(JobError::Exec)?;
    Ok(checked.gap())
}

/// Runs the command: 0 if all outputs are accepted, 1 if the reference rejects one.
pub fn run(
    job: &Job,
    limit_s: f64,
    (format, style): (Format, Style),
    worker: &mut JobWorker,
) -> Result<i32, Failure> {
    let gap = match job.reference && job.memcheck.is_none() {
        true => checked_first(job)?,
        false => None,
    };
    let r = match worker.job(job, Duration::from_secs_f64(limit_s)) {
        Err(e @ JobError::Worker(_)) => {
            // A damaged source kills the worker as well, and then no kernel is to blame.
            guard::survives(&job.workload)?;
            return Err(e.into());
        }
        r => r?,
    };
    for w in gap.iter().chain(&r.warnings) {
        note(&format!("warning: {w}"));
    }
    match format {
        Format::Json => {
            let mut v = serde_json::to_value(&r).map_err(|e| Failure::new(e.to_string()))?;
            v["schema"] = serde_json::json!("kerf.run/1");
            v["workload"] = serde_json::json!(job.workload);
            say(&format!("{v:#}\n"))?;
        }
        Format::Human | Format::Csv => {
            let name = job.workload.display().to_string();
            say(&human(&r, &name, job.memcheck.is_some(), style))?;
        }
    }
    Ok(i32::from(rejections(&r)))
}

/// Compiler flags of a workload.
pub fn flags_of(workload: &Path) -> Result<Vec<String>, Failure> {
    let w = kerf_workload::Workload::read(workload, &[]).map_err(JobError::from)?;
    Ok(w.flags_at(&std::collections::BTreeMap::new()))
}

/// Reads a plan.
pub fn read_plan(path: &Path) -> Result<kerf_pass::Plan, Failure> {
    let text = std::fs::read_to_string(path).map_err(|e| {
        Failure::new(format!("cannot read {}: {e}", path.display()))
            .help("check the path and its permissions")
    })?;
    kerf_pass::Plan::parse(&text).map_err(|e| {
        Failure::new(format!("{}: {e}", path.display()))
            .help("a plan is JSON; {\"version\": 1} changes nothing")
    })
}
