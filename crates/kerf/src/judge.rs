//! `kerf judge`: is a kernel a correct and faster version of another one?
mod suite;

use crate::fail::Failure;
use crate::files;
use crate::output::{Format, Style, note, say};
use crate::parse::{
    ArgumentError, allowed, in_utf8, parse_arch, parse_limit, parse_size, parse_threads,
};
use crate::progress::Work;
use crate::{DeviceArg, compiler_flags, device, guard, init, tune};
use kerf_exec::cpu::SanitizeOptions;
use kerf_judge::cases::CaseOptions;
use kerf_judge::judge::{JudgeError, JudgeRequest, TimingRequest, judge};
use kerf_judge::verdict::{CandidateDecision, CandidateVerdict};
use kerf_judge::{page, text};
use kerf_num::Metric;
use kerf_run::job::{CandidateBench, CandidateJob, Job, JobError, Patched};
use kerf_run::other_launches::OtherLaunches;
use kerf_tune::evaluate::WorkerProgram;
use kerf_workload::Workload;
use kerf_workload::generate::special::SpecialValues;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Arguments of the command.
#[derive(clap::Args)]
pub struct Args {
    /// The candidate: CUDA (.cu), OpenCL (.cl), PTX (.ptx) or LLVM (.ll, .bc).
    #[arg(required_unless_present = "suite", conflicts_with = "suite")]
    candidate: Option<PathBuf>,
    /// The original, whose results in exact arithmetic are the truth; by default the workload's source.
    #[arg(long, value_name = "FILE", conflicts_with = "suite")]
    against: Option<PathBuf>,
    /// Workload of the original: buffers, sizes, launches. By default a first one as `kerf init` makes it.
    #[arg(long, value_name = "FILE", conflicts_with = "suite")]
    workload: Option<PathBuf>,
    /// Workload file with the candidate's own launches; buffers are those of the original, by name.
    #[arg(long, value_name = "FILE", conflicts_with = "suite")]
    candidate_workload: Option<PathBuf>,
    /// A kernel or parameter of the original, and what the candidate calls it: saxpy=axpy_v2.
    #[arg(long, value_name = "ORIGINAL=CANDIDATE", value_parser = parse_pair)]
    map: Vec<(String, String)>,
    /// Judge all candidates of a folder: each subfolder has original.*, candidate*.* and w.toml.
    #[arg(long, value_name = "DIR")]
    suite: Option<PathBuf>,
    /// Largest error that any output may have; by default that of the workload's [accept].
    #[arg(long, value_name = "T", allow_negative_numbers = true)]
    tolerance: Option<f64>,
    /// What the tolerance bounds: max_rel, max_abs, max_ulp, quantile, rms, rel_l2, rel_linf, mean_rel, digits, psnr,
    /// ssim or bp; by default the workload's, or max_rel.
    #[arg(long, value_name = "M")]
    metric: Option<Metric>,
    /// With cuda, times are measured in turn and the workload's full sizes are tried too; without a GPU times are
    /// predicted. All other inputs run on the CPU executor, which checks every access.
    #[arg(long, value_name = "auto|cpu|cuda", default_value = "auto", value_parser = crate::parse_device)]
    device: DeviceArg,
    /// Number of the GPU.
    #[arg(long, default_value_t = 0, allow_negative_numbers = true, value_parser = clap::value_parser!(i32).range(0..))]
    gpu: i32,
    /// Device profile that times are predicted for.
    #[arg(long, value_name = "NAME|FILE", default_value = "h200")]
    profile: String,
    /// No times: judge whether it is correct, and nothing else.
    #[arg(long, conflicts_with = "faster")]
    no_time: bool,
    /// Refuse what is not shown to be faster: measured with its whole interval above 1, or predicted to be.
    #[arg(long)]
    faster: bool,
    /// Values that are not tried: zeros, ones, constant, nan, infinite, subnormal, huge, mixed, cancelling, signs.
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parse_values)]
    skip: Vec<SpecialValues>,
    /// Inputs from other seeds.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 3,
        allow_negative_numbers = true
    )]
    seeds: usize,
    /// Replace a size or launch parameter: n=4096.
    #[arg(long = "size", value_parser = parse_size)]
    sizes: Vec<(String, i64)>,
    /// Kinds of undefined behaviour that are noted only: bounds, alignment, uninitialised, race, lane, barrier, overflow.
    #[arg(long, value_delimiter = ',', value_name = "KINDS")]
    allow: Vec<String>,
    /// Write a page here; with --suite a folder of pages.
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Inputs at a time; 0 for as many as there are cores.
    #[arg(long, default_value_t = 0, allow_negative_numbers = true, value_parser = parse_threads)]
    workers: usize,
    /// Seconds after which no further input is tried; those that were not are counted.
    #[arg(long, value_name = "S", default_value_t = 60.0, allow_negative_numbers = true, value_parser = parse_limit)]
    max_time: f64,
    /// Seconds after which a program counts as hanging on an input.
    #[arg(long, default_value_t = 60.0, allow_negative_numbers = true, value_parser = parse_limit)]
    timeout: f64,
    /// Target architecture.
    #[arg(long, value_parser = parse_arch)]
    arch: Option<String>,
    /// Include folder of the candidate, and of an original without a workload.
    #[arg(short = 'I')]
    include: Vec<String>,
    /// Macro of them.
    #[arg(short = 'D')]
    define: Vec<String>,
    /// Compiler flags of them: -I, -D, -std=...
    #[arg(last = true)]
    flags: Vec<String>,
}

fn parse_pair(s: &str) -> Result<(String, String), ArgumentError> {
    let pair = s
        .split_once('=')
        .filter(|(a, b)| !a.is_empty() && !b.is_empty());
    let pair = pair.map(|(a, b)| (a.trim().to_owned(), b.trim().to_owned()));
    pair.ok_or_else(|| ArgumentError::expected("two names, e.g. saxpy=axpy_v2"))
}

fn parse_values(s: &str) -> Result<SpecialValues, ArgumentError> {
    let mut all = SpecialValues::ALL.into_iter();
    all.find(|v| v.name() == s.trim()).ok_or_else(|| {
        let names = SpecialValues::ALL.map(SpecialValues::name).join(", ");
        ArgumentError::expected(format!("some of {names}"))
    })
}

impl From<JudgeError> for Failure {
    fn from(e: JudgeError) -> Failure {
        match e {
            JudgeError::Job(e) => e.into(),
            JudgeError::Criteria(_) => Failure::new(e.to_string()),
        }
    }
}

/// The hidden worker command: tries of a candidate, one input after another.
pub fn serve() -> i32 {
    let mut bench = CandidateBench::default();
    kerf_exec::worker::serve(|c: CandidateJob| bench.try_candidate(&c));
    0
}

/// A candidate and what it is judged against.
struct Subjects {
    candidate: PathBuf,
    candidate_workload: Option<PathBuf>,
    against: Option<PathBuf>,
    workload: Option<PathBuf>,
}

fn same_file(a: &Path, b: &Path) -> bool {
    let whole = |p: &Path| std::fs::canonicalize(p).unwrap_or_else(|_| p.to_owned());
    whole(a) == whole(b)
}

/// The workload of the original: the one that is given, or a first one in a folder of its own.
fn original_workload(a: &Args, s: &Subjects, folder: &Path) -> Result<PathBuf, Failure> {
    let Some(path) = &s.workload else {
        let original = s.against.as_ref().ok_or_else(|| {
            Failure::new("nothing to judge the candidate against")
                .help("--against original.cu, or --workload w.toml whose source it is")
        })?;
        guard::survives_source(original)?;
        let path = folder.join("first.toml");
        let flags = compiler_flags(a.include.clone(), a.define.clone(), a.flags.clone());
        let (guesses, outcome) = init::first_workload(original, &flags, &[], &path)?;
        if let Some(why) = &outcome.problem {
            return Err(Failure::new(format!(
                "{}: a first workload for it does not run: {why}",
                original.display()
            ))
            .help("kerf init writes it to a file that you can correct; then --workload"));
        }
        note(&format!(
            "warning: no --workload, so one was made from the original's code with {guesses} guesses; kerf init {} shows it",
            original.display()
        ));
        return Ok(path);
    };
    let w = Workload::read(path, &[]).map_err(JobError::from)?;
    if let Some(original) = s.against.as_ref().filter(|o| !same_file(o, &w.source)) {
        return Err(Failure::new(format!(
            "{} is a workload of {}, not of {}",
            path.display(),
            w.source.display(),
            original.display()
        ))
        .help("name the original as `source` there, or leave --against away"));
    }
    guard::survives_source(&w.source)?;
    Ok(path.clone())
}

/// The candidate as it takes the original's place.
fn candidate(a: &Args, s: &Subjects, workload: &Path) -> Result<Patched, Failure> {
    if !s.candidate.is_file() {
        return Err(
            Failure::new(format!("there is no file {}", s.candidate.display()))
                .help("the first argument is the candidate's source"),
        );
    }
    guard::survives_source(&s.candidate)?;
    let own = s.candidate_workload.as_deref().unwrap_or(workload);
    let mut flags = crate::run::flags_of(own)?;
    flags.extend(compiler_flags(
        a.include.clone(),
        a.define.clone(),
        a.flags.clone(),
    ));
    Ok(Patched {
        source: s.candidate.clone(),
        flags,
        held: Vec::new(),
        launches: Some(OtherLaunches {
            workload: s.candidate_workload.clone(),
            map: a.map.clone(),
        }),
    })
}

/// How times are found.
fn timing(a: &Args, workload: &Path) -> Result<TimingRequest, Failure> {
    if a.no_time {
        return Ok(TimingRequest::None);
    }
    if a.device == DeviceArg::Cpu {
        let profile = device::load(&a.profile)?;
        return Ok(TimingRequest::Predicted(Box::new(profile)));
    }
    let job = tune::job(
        workload.to_owned(),
        a.sizes.clone(),
        true,
        a.gpu,
        tune::REPEATS,
        a.arch.clone(),
    )?;
    let job = Job {
        baseline: true,
        ..job
    };
    Ok(TimingRequest::Measured(Box::new(job.at_sizes_of_device()?)))
}

fn worker(command: &str) -> Result<WorkerProgram, Failure> {
    Ok(WorkerProgram {
        args: vec![command.into()],
        ..tune::worker_program()?
    })
}

/// Judges one candidate.
fn judged(a: &Args, s: &Subjects) -> Result<CandidateVerdict, Failure> {
    for path in [&s.against, &s.workload, &s.candidate_workload]
        .into_iter()
        .flatten()
        .chain([&s.candidate])
    {
        in_utf8(path)?;
    }
    let folder = tempfile::tempdir()
        .map_err(|e| Failure::new(format!("there is no folder for temporary files: {e}")))?;
    let workload = original_workload(a, s, folder.path())?;
    let job = tune::job(workload.clone(), Vec::new(), false, 0, 1, a.arch.clone())?;
    let request = JudgeRequest {
        candidate: candidate(a, s, &workload)?,
        job: Job {
            // Several workers share the cores.
            threads: 1,
            ..job
        },
        tolerance: a.tolerance,
        metric: a.metric,
        options: CaseOptions {
            skipped: a.skip.clone(),
            seeds: a.seeds,
            overrides: a.sizes.clone(),
        },
        checks: allowed(SanitizeOptions::everything(), &a.allow)?,
        trial_program: worker("judge-worker")?,
        program: worker("worker")?,
        limit: Duration::from_secs_f64(a.timeout),
        max_time: Duration::from_secs_f64(a.max_time),
        workers: tune::cores(a.workers),
        timing: timing(a, &workload)?,
        must_be_faster: a.faster,
    };
    let work = Work::begin("judging");
    let seen = |n: usize, all: usize| work.now(format!("judging: input {n} of {all},"));
    Ok(judge(&request, &seen)?)
}

/// Writes the page of a judgement.
fn write_page(path: &Path, v: &CandidateVerdict) -> Result<(), Failure> {
    files::write_whole(path, page::page(v)).map_err(|e| {
        Failure::new(format!("cannot write {}: {e}", path.display()))
            .help("choose another place with --out")
    })
}

/// The text of a judgement, its first line in colour.
fn coloured(v: &CandidateVerdict, style: Style) -> String {
    let all = text::text(v);
    let (first, rest) = all.split_once('\n').unwrap_or((&all, ""));
    let first = match v.decision {
        CandidateDecision::Accepted => style.good(first),
        CandidateDecision::Refused => style.bad(first),
        CandidateDecision::Undecided => style.bold(first),
    };
    format!("{first}\n{rest}")
}

/// Runs the command: 0 accepted, 1 refused, 2 undecided.
pub fn run(a: &Args, format: Format, style: Style) -> Result<i32, Failure> {
    if let Some(folder) = &a.suite {
        return suite::run(a, folder, format, style);
    }
    let candidate = a.candidate.clone().ok_or_else(|| {
        Failure::new("no candidate").help("kerf judge candidate.cu --against original.cu")
    })?;
    let v = judged(
        a,
        &Subjects {
            candidate,
            candidate_workload: a.candidate_workload.clone(),
            against: a.against.clone(),
            workload: a.workload.clone(),
        },
    )?;
    if let Some(path) = &a.out {
        write_page(path, &v)?;
    }
    match format {
        Format::Json => {
            let json = serde_json::to_string_pretty(&v).map_err(|e| Failure::new(e.to_string()))?;
            say(&(json + "\n"))?;
        }
        Format::Human | Format::Csv => say(&coloured(&v, style))?,
    }
    if let Some(path) = &a.out {
        note(&format!("page: {}", path.display()));
    }
    Ok(v.decision.exit_code())
}
