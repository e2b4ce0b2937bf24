//! `kerf patch`: a result as a change of the user's source, or where source cannot say it, as PTX with its loader.
use crate::fail::Failure;
use crate::files;
use crate::output::{Format, Style, note, say};
use crate::{DeviceArg, device, parse_arch, parse_limit};
use kerf_patch::PatchError;
use kerf_patch::patch::{self, FilePatch, Patch, PatchOutcome, PatchRequest, Which};
use kerf_patch::tries::{Elsewhere, PatchTrial};
use kerf_tune::evaluate::WorkerProgram;
use kerf_tune::result::TuneResult;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Arguments of the command.
#[derive(clap::Args)]
pub struct Args {
    /// Result folder of `kerf tune`.
    dir: PathBuf,
    /// Plan to carry into source: the result's (best), or one of its front by number, 0 for the fastest.
    #[arg(long, value_name = "N|best", default_value = "best", value_parser = parse_which)]
    plan: Which,
    /// Write the diff here; by default it is printed.
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Change the files too. They have to be as they were when they were tuned.
    #[arg(long)]
    apply: bool,
    /// Where the patched source is tried; with cuda its time is measured.
    #[arg(long, value_name = "auto|cpu|cuda", default_value = "auto", value_parser = crate::parse_device)]
    device: DeviceArg,
    /// Number of the GPU.
    #[arg(long, default_value_t = 0, allow_negative_numbers = true, value_parser = clap::value_parser!(i32).range(0..))]
    gpu: i32,
    /// Files in this folder may change; by default those in the source's folder.
    #[arg(long = "root", value_name = "DIR")]
    roots: Vec<PathBuf>,
    /// Sources that are tried, at most.
    #[arg(long, value_name = "N", default_value_t = 16, allow_negative_numbers = true, value_parser = crate::parse_count)]
    tries: usize,
    /// Inputs from other seeds that the patched source has to hold on too.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 4,
        allow_negative_numbers = true
    )]
    inputs: usize,
    /// Predict times from the program alone, as `kerf tune --no-assembler` does, also where NVIDIA's assembler is at hand.
    #[arg(long)]
    no_assembler: bool,
    /// Seconds after which a run counts as hanging.
    #[arg(long, default_value_t = 600.0, allow_negative_numbers = true, value_parser = parse_limit)]
    timeout: f64,
    /// Target architecture.
    #[arg(long, value_parser = parse_arch)]
    arch: Option<String>,
}

#[derive(Debug, thiserror::Error)]
#[error("expected best, or the number of a plan of the front from 0")]
struct UnknownPlan;

fn parse_which(s: &str) -> Result<Which, UnknownPlan> {
    match s {
        "best" => Ok(Which::Best),
        _ => {
            let n = s.parse().map(Which::Front);
            n.map_err(|_| UnknownPlan)
        }
    }
}

impl From<PatchError> for Failure {
    fn from(e: PatchError) -> Failure {
        match e {
            PatchError::Subject(e) => e.into(),
            other => Failure::new(other.to_string()),
        }
    }
}

fn figure(t: &PatchTrial, kind: &str) -> String {
    let error = t
        .error
        .map_or_else(|| "an infinite error".into(), |e| format!("error {e:.3e}"));
    match (t.time, &t.timing) {
        (Some(_), Some(m)) => format!(
            "{error}, {:.2}x {kind} ({:.2} to {:.2})",
            1.0 / m.ratio,
            1.0 / m.ratio_high,
            1.0 / m.ratio_low
        ),
        (Some(time), None) => format!("{error}, {:.2}x {kind}", 1.0 / time),
        _ => error,
    }
}

/// The patched source on other inputs; where there were none, that.
fn elsewhere(e: Option<&Elsewhere>) -> String {
    match e {
        None => "no other inputs were tried".into(),
        Some(e) if e.inputs == 0 => {
            "no other inputs were tried: the inputs are the same for every seed".into()
        }
        Some(e) => {
            let worst = e.worst.map_or_else(
                || "infinite, or a run failed".into(),
                |w| format!("{w:.3e}"),
            );
            format!(
                "on {} of {} other inputs within the tolerance, worst {worst}",
                e.passed, e.inputs
            )
        }
    }
}

fn verdict(p: &Patch, style: Style) -> String {
    let mut o = String::new();
    let lines: usize = p.files.iter().map(|f| changed(&f.diff)).sum();
    let limit = match p.metric.as_str() {
        "psnr" | "ssim" | "digits" => p.metric.clone(),
        m => format!("{m} at most {:e}", p.tolerance),
    };
    let _ = writeln!(
        o,
        "{}: {} ({limit})",
        style.bold("patched source"),
        figure(&p.patched, &p.kind)
    );
    let _ = writeln!(o, "{}", elsewhere(p.patched.elsewhere.as_ref()));
    let error = p
        .plan
        .error
        .map_or_else(|| patch::NOT_RECORDED.into(), |e| format!("{e:.3e}"));
    let _ = writeln!(
        o,
        "the plan: error {error}, {:.2}x {}",
        1.0 / p.plan.time,
        p.plan.kind
    );
    let s = if lines == 1 { "" } else { "s" };
    let _ = writeln!(o, "{lines} line{s} of {} changed", names(&p.files));
    for g in &p.dropped {
        let _ = writeln!(o, "taken back: {g}");
    }
    for u in p.unsaid.iter().take(10) {
        let _ = writeln!(o, "not as in the plan: {u}");
    }
    if p.unsaid.len() > 10 {
        let _ = writeln!(o, "and {} more (--format json)", p.unsaid.len() - 10);
    }
    for n in &p.notes {
        let _ = writeln!(o, "note: {n}");
    }
    o
}

fn changed(diff: &str) -> usize {
    diff.lines()
        .filter(|l| l.starts_with('+') && !l.starts_with("+++"))
        .count()
}

fn names(files: &[FilePatch]) -> String {
    let all: Vec<String> = files
        .iter()
        .filter_map(|f| Some(f.path.file_name()?.to_string_lossy().into_owned()))
        .collect();
    all.join(", ")
}

/// Writes all files or none: each is checked to be as it was, written beside itself, and only then put in place.
fn apply(files: &[FilePatch]) -> Result<(), Failure> {
    let failed = |path: &Path, why: String| Failure::new(format!("{}: {why}", path.display()));
    let mut ready = Vec::new();
    for f in files {
        let now = std::fs::read(&f.path).map_err(|e| failed(&f.path, e.to_string()))?;
        if kerf_clang::sha256(&now) != f.before {
            return Err(
                failed(&f.path, "it has changed meanwhile".into()).help("run kerf patch again")
            );
        }
        // A link stays one: what it points to changes.
        let real = std::fs::canonicalize(&f.path).map_err(|e| failed(&f.path, e.to_string()))?;
        let mode = std::fs::metadata(&real)
            .map_err(|e| failed(&real, e.to_string()))?
            .permissions();
        let mut part = tempfile::Builder::new()
            .tempfile_in(files::folder(&real))
            .map_err(|e| failed(&real, std::io::Error::from(e.kind()).to_string()))?;
        // To the file itself: errors of the temporary one quote its name.
        std::io::Write::write_all(part.as_file_mut(), f.text.as_bytes())
            .map_err(|e| failed(&real, e.to_string()))?;
        part.as_file()
            .set_permissions(mode)
            .map_err(|e| failed(&real, e.to_string()))?;
        ready.push((real, part));
    }
    for (real, part) in ready {
        part.persist(&real)
            .map_err(|e| failed(&real, e.error.to_string()))?;
    }
    Ok(())
}

/// What is asked of the patcher.
fn request(a: &Args, result: &TuneResult) -> Result<PatchRequest, Failure> {
    let cuda = a.device == DeviceArg::Cuda;
    let job = crate::tune::job(
        result.workload.clone(),
        Vec::new(),
        cuda,
        a.gpu,
        crate::tune::REPEATS,
        a.arch.clone(),
    )?;
    let folder =
        std::env::current_dir().map_err(|e| Failure::new(format!("no working folder: {e}")))?;
    let exe = std::env::current_exe()
        .map_err(|e| Failure::new(format!("this program cannot find itself: {e}")))?;
    let profile = device::load(&result.profile).ok();
    if profile.is_none() && !cuda {
        note(&format!(
            "warning: there is no profile {}, so no time is predicted",
            result.profile
        ));
    }
    let of_device = |p: &kerf_device::profile::DeviceProfile| {
        crate::toolchain::assembler(&p.arch, &job.toolchain())
    };
    let assembler = profile
        .as_ref()
        .filter(|_| !(cuda || a.no_assembler))
        .and_then(of_device);
    Ok(PatchRequest {
        dir: a.dir.clone(),
        folder,
        roots: a.roots.clone(),
        job,
        program: WorkerProgram {
            path: exe,
            args: vec!["worker".into()],
        },
        limit: Duration::from_secs_f64(a.timeout),
        profile,
        assembler,
        which: a.plan,
        tries: a.tries,
        inputs: a.inputs,
    })
}

/// Gives a patch: applied, written and shown as was asked.
fn give(a: &Args, p: &Patch, format: Format, style: Style) -> Result<i32, Failure> {
    if a.apply {
        apply(&p.files)?;
    }
    let text: String = p.files.iter().map(|f| f.diff.as_str()).collect();
    if let Some(path) = &a.out {
        files::write_whole(path, &text).map_err(|e| {
            Failure::new(format!("cannot write {}: {e}", path.display()))
                .help("choose another place with --out")
        })?;
    }
    match format {
        Format::Json => {
            let v = serde_json::to_string_pretty(p).map_err(|e| Failure::new(e.to_string()))?;
            say(&(v + "\n"))?;
        }
        Format::Human | Format::Csv if a.out.is_none() => say(&text)?,
        Format::Human | Format::Csv => {}
    }
    note(verdict(p, style).trim_end());
    if a.apply {
        note(&format!("changed: {}", names(&p.files)));
    }
    Ok(0)
}

/// What there is to say of the last source that was tried.
fn last_tried(t: &PatchTrial) -> String {
    match &t.failure {
        Some(f) => format!("fails: {f}"),
        None => {
            let measured = t.timing.is_some();
            figure(t, if measured { "measured" } else { "predicted" })
        }
    }
}

/// Runs the command: 0 with a patch, 1 where no source holds.
pub fn run(a: &Args, format: Format, style: Style) -> Result<i32, Failure> {
    let (result, _) = kerf_tune::result::read(&a.dir).map_err(|e| Failure::new(e.to_string()))?;
    let request = request(a, &result)?;
    let outcome = match patch::patch(&request, |t| note(&format!("tried {t}"))) {
        Err(PatchError::NoPlan(why)) => {
            note(&format!(
                "no patch: the result has no plan to carry into source: {why}"
            ));
            return Ok(1);
        }
        other => other?,
    };
    let (why, last, unsaid, plan) = match outcome {
        PatchOutcome::Patch(p) => return give(a, &p, format, style),
        PatchOutcome::None {
            why,
            last,
            unsaid,
            plan,
        } => (why, last, unsaid, plan),
    };
    let written = kerf_patch::loader::write(&a.dir, &result);
    let written = written.map_err(|e| Failure::new(e.to_string()))?;
    note(&format!("no patch: {why}"));
    let error = plan
        .error
        .map_or_else(|| patch::NOT_RECORDED.into(), |e| format!("{e:.3e}"));
    note(&format!(
        "the plan: error {error}, {:.2}x {}",
        1.0 / plan.time,
        plan.kind
    ));
    if let Some(t) = last {
        note(&format!(
            "the last source that was tried: {}",
            last_tried(&t)
        ));
    }
    for u in unsaid.iter().take(10) {
        note(&format!("not as in the plan: {u}"));
    }
    for w in &written {
        note(&format!("written instead: {}", w.display()));
    }
    if format == Format::Json {
        say(&format!(
            "{:#}\n",
            serde_json::json!({"schema": patch::SCHEMA, "patch": null, "why": why, "instead": written})
        ))?;
    }
    Ok(1)
}
