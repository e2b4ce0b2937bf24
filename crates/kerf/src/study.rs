//! `kerf study`: published experiments, repeated on this device.
mod scaling;
mod tradeoff;

use crate::DeviceArg;
use crate::fail::Failure;
use crate::output::{Format, Style, note, say};
use crate::parse::parse_seed;
use crate::progress;
use crate::toolchain;
use kerf_exec::cuda::CudaExecutor;
use kerf_study::finding::FindingVerdict;
use kerf_study::report::StudyReport;
use kerf_study::tradeoff as sfu_tradeoff;
use kerf_study::{STUDIES, Scale, Setup, StudyDevice, StudyError};
use std::path::{Path, PathBuf};

/// The word that lists the studies instead of running one.
const LIST: &str = "list";

/// Arguments of the command.
#[derive(clap::Args)]
pub struct Args {
    /// The study; `list` tells what each one repeats.
    #[arg(value_parser = study_names())]
    name: String,
    /// Workload files, for sfu-tradeoff; by default those of the folder `examples`.
    workloads: Vec<PathBuf>,
    /// Where to run. On the CPU no time is measured.
    #[arg(long, value_enum, default_value = "cpu")]
    device: DeviceArg,
    /// Number of the GPU.
    #[arg(long, default_value_t = 0, allow_negative_numbers = true, value_parser = clap::value_parser!(i32).range(0..))]
    gpu: i32,
    /// Device profile, for latency, sfu-functions and mixed-throughput.
    #[arg(long, value_name = "NAME|FILE")]
    profile: Option<String>,
    /// Small sizes.
    #[arg(long)]
    quick: bool,
    /// The largest sizes too; their references take minutes on few cores.
    #[arg(long, conflicts_with = "quick")]
    large: bool,
    /// Seed of the inputs.
    #[arg(long, default_value_t = 1, allow_negative_numbers = true, value_parser = parse_seed)]
    seed: u64,
    /// The CPU's sizes of the workload files on a GPU too, for sfu-tradeoff: errors beside those of the CPU.
    #[arg(long)]
    own_sizes: bool,
    /// Only compare calls one by one with whole-kernel fast-math, for sfu-tradeoff on a GPU: two degrees, no
    /// energy.
    #[arg(long)]
    calls: bool,
    /// Go on in a folder that has results, for sfu-tradeoff: workloads that it has are not run again.
    #[arg(long, requires = "out")]
    resume: bool,
    /// Write tables (CSV), plots (SVG) and a summary (text) into this folder.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

fn study_names() -> clap::builder::PossibleValuesParser {
    let names = kerf_study::names().into_iter();
    names
        .chain([sfu_tradeoff::NAME, LIST])
        .collect::<Vec<_>>()
        .into()
}

/// Runs the command.
pub fn command(a: Args, format: Format, style: Style) -> Result<i32, Failure> {
    if a.name == sfu_tradeoff::NAME {
        return tradeoff::run(a, format, style);
    }
    let name = &a.name;
    if a.own_sizes || a.calls || a.resume {
        return Err(Failure::new(format!(
            "--own-sizes, --calls and --resume are for {}, not for {name}",
            sfu_tradeoff::NAME
        )));
    }
    if !a.workloads.is_empty() {
        return Err(Failure::new(format!(
            "the study {name} has kernels of its own and takes no workloads"
        )));
    }
    run(&a, format, style)
}

impl From<StudyError> for Failure {
    fn from(e: StudyError) -> Failure {
        match e {
            StudyError::Exec(e) => e.into(),
            StudyError::Unknown(_) => {
                Failure::new(e.to_string()).help("kerf study list has their names")
            }
            StudyError::NoProfile(_) => Failure::new(e.to_string()).help(
                "measure one with kerf device --out FILE on a GPU machine, and give --profile FILE",
            ),
        }
    }
}

fn list(format: Format, style: Style) -> Result<i32, Failure> {
    if format == Format::Json {
        let all: Vec<_> = STUDIES
            .iter()
            .map(|s| {
                serde_json::json!({
                    "name": s.name, "repeats": s.repeats, "needs_profile": s.needs_profile
                })
            })
            .collect();
        let mut all = all;
        all.push(serde_json::json!({
            "name": sfu_tradeoff::NAME, "repeats": sfu_tradeoff::REPEATS, "needs_profile": false
        }));
        let document = serde_json::json!({ "schema": "kerf.study-list/1", "studies": all });
        say(&format!("{document}\n"))?;
        return Ok(0);
    }
    for s in &STUDIES {
        let how = if s.needs_profile {
            "; reads --profile"
        } else {
            ""
        };
        let name = style.bold(&format!("{:<16}", s.name));
        say(&format!("{name}  {}{how}\n", s.repeats))?;
    }
    let name = style.bold(&format!("{:<16}", sfu_tradeoff::NAME));
    say(&format!("{name}  {}\n", sfu_tradeoff::REPEATS))?;
    Ok(0)
}

/// Whether a folder is or can be made there, asked before the work.
fn check_folder(dir: &Path) -> Result<(), Failure> {
    match dir.ancestors().find(|a| a.exists()) {
        Some(a) if !a.is_dir() => Err(Failure::new(format!(
            "cannot write into {}: {} is not a folder",
            dir.display(),
            a.display()
        ))
        .help("choose another folder with --out")),
        _ => Ok(()),
    }
}

fn write_files(dir: &Path, report: &StudyReport) -> Result<(), Failure> {
    let fail = |e: std::io::Error| {
        Failure::new(format!("cannot write into {}: {e}", dir.display()))
            .help("choose another folder with --out")
    };
    std::fs::create_dir_all(dir).map_err(fail)?;
    for (name, text) in report.files() {
        kerf_files::write_whole(dir.join(name), text).map_err(fail)?;
    }
    Ok(())
}

fn show(report: &StudyReport, style: Style) -> String {
    let d = &report.device;
    let mut out = format!(
        "{} on {} ({}), seed {}\n",
        style.bold(report.study),
        d.name,
        d.detail,
        report.seed
    );
    for t in &report.tables {
        out += &format!("\n{}", t.text());
    }
    let own = match report.has_own() {
        true => "; [Kerf] marks Kerf's own",
        false => "",
    };
    out += &format!("\nFindings of {}{own}\n", report.publication);
    for f in &report.findings {
        let words = format!("{:<13}", f.verdict.words());
        let words = match f.verdict {
            FindingVerdict::Holds => style.good(&words),
            FindingVerdict::Fails => style.bad(&words),
            FindingVerdict::InPart => words,
            FindingVerdict::NotJudged => style.dim(&words),
        };
        out += &format!(
            "  {words}  {} [{}]\n                 {}\n",
            f.claim, f.place, f.evidence
        );
    }
    for n in &report.notes {
        out += &format!("note: {n}\n");
    }
    out
}

/// Runs the command.
fn run(a: &Args, format: Format, style: Style) -> Result<i32, Failure> {
    if a.name == LIST {
        return list(format, style);
    }
    let device = match a.device {
        DeviceArg::Cpu => StudyDevice::Cpu,
        DeviceArg::Cuda => StudyDevice::Cuda(a.gpu),
    };
    let scale = match (a.quick, a.large) {
        (true, _) => Scale::Quick,
        (_, true) => Scale::Large,
        _ => Scale::Full,
    };
    if let Some(dir) = &a.out {
        check_folder(dir)?;
    }
    let needs_profile = STUDIES.iter().any(|s| s.name == a.name && s.needs_profile);
    let profile = match (&a.profile, needs_profile) {
        (Some(name), true) => Some(crate::device::load(name)?),
        (Some(_), false) => {
            return Err(Failure::new(format!(
                "the study {} runs kernels and reads no profile",
                a.name
            ))
            .help("leave --profile away"));
        }
        (None, _) => None,
    };
    let arch = match (device, needs_profile) {
        (StudyDevice::Cuda(ordinal), false) => format!("sm_{}", CudaExecutor::capability(ordinal)?),
        _ => "sm_90".to_owned(),
    };
    let tools = toolchain::discover(&arch);
    let libdevice = match (&tools.libdevice, needs_profile) {
        (_, true) => Vec::new(),
        (Some(path), false) => std::fs::read(path)
            .map_err(|e| Failure::new(format!("cannot read {}: {e}", path.display())))?,
        (None, false) => return Err(toolchain::no_libdevice("set KERF_LIBDEVICE to it")),
    };
    let setup = Setup {
        device,
        arch,
        libdevice,
        profile,
        seed: a.seed,
        scale,
        progress: &|what| progress::status(&format!("{}: {what}", a.name)),
    };
    let ran = kerf_study::run(&a.name, &setup);
    progress::clear();
    let mut report = ran?;
    if a.name == kerf_study::studies::dilemma::NAME {
        let study = report.study;
        kerf_study::studies::scaling::add(&mut report, scale, |processes, bits| {
            progress::line(&format!("{study}: {processes} processes"));
            scaling::search(processes, bits)
        })?;
    }
    if let Some(dir) = &a.out {
        write_files(dir, &report)?;
        note(&format!("files in {}", dir.display()));
    }
    match format {
        Format::Json => say(&format!("{}\n", report.json()))?,
        Format::Human | Format::Csv => say(&show(&report, style))?,
    }
    Ok(0)
}
