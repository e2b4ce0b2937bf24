//! `kerf predict`: how long a workload would take on a device that need not be here, or on this GPU from
//! samples.
mod accesses;
mod counters;
mod limits;
pub mod sampled;
mod train;

use crate::fail::Failure;
use crate::output::{Format, Style, note, say};
use crate::run::{JobWorker, in_worker, seconds};
use crate::table::Table;
use crate::{DeviceArg, device, toolchain};
use kerf_clang::compile::Toolchain;
use kerf_device::occupancy::Multiprocessor;
use kerf_device::profile::DeviceProfile;
use kerf_ir::program::Program;
use kerf_llvm::Module;
use kerf_predict::cost::{
    Compiler, CostError, CostModel, PredictedSubject, Prediction, ProgramWork, ptxas,
};
use kerf_predict::sampled::SampleCorrection;

use kerf_pass::Plan;
use kerf_pass::count::Detail;
use kerf_run::job::{Job, JobError};
use kerf_tune::launch::space::{self, KernelDemand};
use kerf_workload::Workload;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What predicts where nothing is sampled.
const ANALYTIC: &str = "analytic model";

/// The value of --counters that has them counted.
const NOW: &str = "ncu";

/// Arguments of the command.
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    /// Workload file (.toml).
    #[arg(required = true)]
    workload: Option<PathBuf>,
    /// From what: the analytic model, with a counting run here and a profile (cpu), or samples of the launches on
    /// this GPU (cuda).
    #[arg(long, value_enum, default_value = "cpu")]
    device: DeviceArg,
    /// Number of the GPU.
    #[arg(long, default_value_t = 0, allow_negative_numbers = true, value_parser = clap::value_parser!(i32).range(0..))]
    gpu: i32,
    /// Show what each global access of the kernels moves, by shape, and run nothing.
    #[arg(long, conflicts_with_all = ["device", "plan"])]
    accesses: bool,
    /// Correction of sampled predictions (JSON, from `kerf predict train`); by default the profile's.
    #[arg(long, value_name = "FILE")]
    model: Option<PathBuf>,
    /// Hardware counters of the launches, with --device cuda: a table of `ncu --csv`, or `ncu` (also without a
    /// value) to have ncu make one now. They say what limits a launch, and a model that was trained on them takes
    /// them.
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = NOW)]
    counters: Option<PathBuf>,
    /// With --device cuda: run launches whole as well, and say how far the prediction is off.
    #[arg(long)]
    check: bool,
    /// The device: a profile's name or file.
    #[arg(long, value_name = "NAME|FILE", default_value = "h200")]
    profile: String,
    /// Plan to apply (JSON).
    #[arg(long)]
    plan: Option<PathBuf>,
    /// Replace a size or launch parameter: n=4096. Others are the workload's `[sizes]` with --device cuda, else its `[cpu_sizes]`.
    #[arg(long = "size", value_parser = crate::parse_size)]
    sizes: Vec<(String, i64)>,
    /// Predict from the program alone, as searches do, also where NVIDIA's assembler is at hand.
    #[arg(long)]
    no_assembler: bool,
    /// Write the prepared program and the counts to PREFIX.bc and PREFIX.json, for replays.
    #[arg(long, value_name = "PREFIX", hide = true)]
    record: Option<PathBuf>,
    /// Seconds after which the counting run counts as hanging.
    #[arg(long, default_value_t = 600.0, allow_negative_numbers = true, value_parser = crate::parse_limit)]
    timeout: f64,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Train the correction of sampled predictions on a record of bench/launch.sh, and judge it.
    Train(train::Args),
}

impl From<CostError> for Failure {
    fn from(e: CostError) -> Failure {
        Failure::new(e.to_string())
    }
}

fn human(p: &Prediction, name: &str, style: Style) -> String {
    let mut o = String::new();
    let _ = writeln!(
        o,
        "{} on {}: {} {} by the {ANALYTIC}, limited by {}",
        style.bold(name),
        p.profile,
        style.bold(&seconds(p.seconds)),
        p.basis,
        p.limit
    );
    let mut t = Table::new(
        2,
        [
            "kernel",
            "limited by",
            "launches",
            "each",
            "registers",
            "warps",
            "waves",
            "next",
        ],
    );
    const SHOWN: usize = 20;
    for l in p.launches.iter().take(SHOWN) {
        let next = l.shares.get(1).map_or(String::new(), |s| {
            format!("{} {}", s.resource, seconds(s.seconds))
        });
        t.row([
            kerf_ir::kernels::source_name(&kerf_llvm::demangle(&l.symbol)),
            l.limit.to_string(),
            l.repeats.to_string(),
            seconds(l.seconds),
            l.registers.to_string(),
            l.warps.to_string(),
            format!("{:.2}", l.waves),
            next,
        ]);
    }
    o += &t.render(style);
    if p.launches.len() > SHOWN {
        let _ = writeln!(o, "  and {} more (--format json)", p.launches.len() - SHOWN);
    }
    let kernels: f64 = p
        .launches
        .iter()
        .map(|l| l.seconds * l.repeats as f64)
        .sum();
    let rest = p.seconds - kernels;
    if rest > 0.05 * p.seconds {
        let _ = writeln!(
            o,
            "  kernels {}; the host's start of a run, and copies between launches, {}",
            seconds(kernels),
            seconds(rest)
        );
    }
    if !p.assumed.is_empty() {
        let _ = writeln!(o, "  assumed, not in the profile: {}", p.assumed.join(", "));
    }
    o
}

/// What a prediction is made from, in two files.
fn record(prefix: &Path, program: &Program, work: &ProgramWork) -> Result<(), Failure> {
    let m = program.module().map_err(JobError::from)?;
    m.strip_debug();
    let text = serde_json::to_vec(work).map_err(|e| Failure::new(e.to_string()))?;
    for (extension, bytes) in [("bc", m.bitcode()), ("json", text)] {
        let path = prefix.with_extension(extension);
        kerf_files::write_whole(&path, bytes)
            .map_err(|e| Failure::new(format!("cannot write {}: {e}", path.display())))?;
    }
    Ok(())
}

/// A prediction from machine code, where there is an assembler whose code can be read for the device.
fn from_code(
    s: &PredictedSubject,
    plan: &Plan,
    arch: &str,
    tools: &Toolchain,
) -> Result<Option<Prediction>, CostError> {
    let Some(by) = toolchain::assembler(arch, tools) else {
        return Ok(None);
    };
    let with = Compiler {
        libdevice: &by.libdevice,
        arch: &by.arch,
        assemble: &|text| ptxas(&by.ptxas, &by.arch, text),
    };
    s.predict_compiled(plan, &with).map(Some)
}

/// Runs the command.
pub fn run(
    a: &Args,
    (format, style): (Format, Style),
    worker: &mut JobWorker,
) -> Result<i32, Failure> {
    let Some(workload) = &a.workload else {
        return match &a.command {
            Some(Command::Train(t)) => train::run(t, format, style),
            None => Err(Failure::new("there is no workload")),
        };
    };
    crate::in_utf8(workload)?;
    if a.accesses {
        return accesses::run(workload, &a.sizes, format, style);
    }
    if a.device == DeviceArg::Cuda {
        return on_gpu(a, workload, format, style);
    }
    if a.counters.is_some() {
        return Err(Failure::new("--counters is about launches on a GPU").help("add --device cuda"));
    }
    if a.check {
        return Err(Failure::new("--check is about launches on a GPU").help("add --device cuda"));
    }
    let profile = device::load(&a.profile)?;
    let model = CostModel::new(&profile)?;
    let plan = crate::read_plan(a.plan.as_deref())?;
    if let Some(k) = plan.kernels.iter().find(|(_, k)| k.partition.is_some()) {
        return Err(
            Failure::new(format!("the plan has {} in two versions", k.0))
                .help("predict each version by itself: a plan without `partition`"),
        );
    }
    let tools = toolchain::discover("sm_90");
    let records = plan.of_records();
    let job = Job {
        plan: records.clone(),
        overrides: a.sizes.clone(),
        count: Some(Detail::Blocks),
        count_only: true,
        keep_inputs: worker.keeps(),
        ..Job::plain(workload.clone(), &tools)
    };
    let report = worker.job(&job, Duration::from_secs_f64(a.timeout))?;
    let counts = report
        .counts
        .ok_or_else(|| Failure::from(JobError::Worker("the counts are missing".into())))?;
    // The worker has survived this source, so this process will.
    let w = Workload::read(workload, &a.sizes).map_err(JobError::from)?;
    let program = kerf_run::compile::own_program(&w, &tools).map_err(JobError::from)?;
    let m = program.module().map_err(JobError::from)?;
    launchable(&w, &m, &profile)?;
    let work = kerf_tune::counts::work(&counts);
    if let Some(prefix) = &a.record {
        record(prefix, &program, &work)?;
    }
    let shown = crate::progress::Work::begin("predicting");
    let subject = model.subject_counted_as(&m, &work, &records)?;
    let coded = match a.no_assembler {
        true => Ok(None),
        false => from_code(&subject, &plan, &profile.arch, &tools),
    };
    let failed = coded.as_ref().err().map(ToString::to_string);
    let (p, from) = match coded.ok().flatten() {
        Some(p) => (p, "machine code"),
        None => (subject.predict(&plan)?, "program"),
    };
    drop(shown);
    if let Some(e) = failed {
        note(&format!(
            "warning: predicted from the program, since it was not assembled: {e}"
        ));
    }
    for w in &report.warnings {
        note(&format!("warning: {w}"));
    }
    show(&p, from, workload, format, style)
}

/// Prints a prediction and what it was made from.
fn show(
    p: &Prediction,
    from: &str,
    workload: &Path,
    format: Format,
    style: Style,
) -> Result<i32, Failure> {
    match format {
        Format::Json => {
            let mut v = serde_json::to_value(p).map_err(|e| Failure::new(e.to_string()))?;
            v["schema"] = serde_json::json!("kerf.predict/1");
            v["model"] = serde_json::json!(ANALYTIC);
            v["from"] = serde_json::json!(from);
            v["workload"] = serde_json::json!(workload);
            say(&format!("{v:#}\n"))?;
        }
        Format::Human | Format::Csv => {
            let text = human(p, &workload.display().to_string(), style);
            say(&format!("{text}  from the {from}\n"))?
        }
    }
    Ok(0)
}

/// Refuses launches that no GPU of the profile would take: the CPU runs blocks that launch bounds forbid, and their time
/// means nothing.
fn launchable(w: &Workload, m: &Module, profile: &DeviceProfile) -> Result<(), Failure> {
    let Ok(machine) = Multiprocessor::from_profile(profile) else {
        return Ok(());
    };
    let infos = kerf_ir::kernels::kernels(m);
    let all: Vec<String> = infos.iter().map(|k| k.symbol.clone()).collect();
    let params = w.launch_space.default_params();
    let look = space::look(
        w,
        m,
        &infos,
        &all,
        &params,
        &|_| KernelDemand::default(),
        &machine,
    );
    look.map(|_| ()).map_err(|e| {
        Failure::new(format!("{}: {e}", w.path.display()))
            .help("change `block` of the launch, or `default` of [launch_space]")
    })
}

/// Samples on this GPU.
fn on_gpu(a: &Args, workload: &Path, format: Format, style: Style) -> Result<i32, Failure> {
    if a.plan.is_some() {
        return Err(Failure::new("--device cuda samples the program as it is")
            .help("kerf run --device cuda --plan measures a plan"));
    }
    let job = crate::tune::job(workload.to_owned(), a.sizes.clone(), true, a.gpu, 5, None)?
        .at_sizes_of_device()?;
    let profile = device::load(&a.profile)?;
    let model = match &a.model {
        None => SampleCorrection::bundled(&profile.name),
        Some(path) => {
            let bad = |e: String| {
                Failure::new(format!("{}: {e}", path.display()))
                    .help("kerf predict train --out FILE writes such a file")
            };
            let text = std::fs::read_to_string(path).map_err(|e| bad(e.to_string()))?;
            let m: SampleCorrection =
                serde_json::from_str(&text).map_err(|e| bad(e.to_string()))?;
            match m.fits() {
                true => Some(m),
                false => return Err(bad("a model of another version".into())),
            }
        }
    };
    let limit = Duration::from_secs_f64(a.timeout);
    let w = Workload::read(workload, &job.overrides).map_err(JobError::from)?;
    crate::guard::survives(workload)?;
    let program = kerf_run::compile::own_program(&w, &job.toolchain()).map_err(JobError::from)?;
    launchable(&w, &program.module().map_err(JobError::from)?, &profile)?;
    let limits = limits::limits(a, workload, &w);
    let counted = match &a.counters {
        None => Vec::new(),
        Some(file) if file.as_os_str() == NOW => counters::count(workload, &job.overrides, a.gpu)?,
        Some(file) => counters::read(file)?,
    };
    if model.as_ref().is_some_and(SampleCorrection::counted) && counted.is_empty() {
        note(
            "warning: the model wants hardware counters: without --counters the line is not corrected",
        );
    }
    let with = sampled::With {
        model: model.as_ref(),
        limits: &limits,
        counted: &counted,
        check: a.check,
    };
    sampled::run(&job, limit, &with, format, style)
}
