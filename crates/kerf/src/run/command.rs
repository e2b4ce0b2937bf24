//! `kerf run`: its arguments, and the job that they ask for.
use super::JobWorker;
use crate::fail::Failure;
use crate::output::{Format, Style};
use crate::parse::{
    ArgumentError, allowed, in_utf8, parse_arch, parse_closeness, parse_lambda, parse_limit,
    parse_seed, parse_size, parse_threads, parse_window,
};
use crate::{DeviceArg, read_plan, toolchain};
use kerf_exec::cpu::SanitizeOptions;
use kerf_pass::Plan;
use kerf_run::job::{Device, ExpectedOutputs, Job, ReferenceRoute};
use std::path::PathBuf;

/// Arguments of the command.
#[derive(clap::Args)]
pub struct Args {
    /// Workload file (.toml).
    pub workload: PathBuf,
    /// Where to run.
    #[arg(long, value_enum)]
    device: Option<DeviceArg>,
    /// Number of the GPU.
    #[arg(long, default_value_t = 0, allow_negative_numbers = true, value_parser = clap::value_parser!(i32).range(0..))]
    gpu: i32,
    /// Plan to apply (JSON).
    #[arg(long)]
    plan: Option<PathBuf>,
    /// Fraction of the warps that run the cheap version, in place of what the plan says.
    #[arg(long, requires = "plan", allow_negative_numbers = true, value_parser = parse_lambda)]
    lambda: Option<f64>,
    /// Run this source in place of the workload's, e.g. a patched one; the reference, the inputs and on a GPU the
    /// time to compare with are those of the workload's own.
    #[arg(long, value_name = "FILE", conflicts_with = "plan")]
    source: Option<PathBuf>,
    /// A buffer that this source takes in a narrower format: spot=f32.
    #[arg(long = "held", value_name = "BUFFER=FORMAT", requires = "source", value_parser = parse_held)]
    held: Vec<(String, kerf_pass::SiteFormat)>,
    /// Compare every output with a double-double reference execution.
    #[arg(long)]
    reference: bool,
    /// What computes the reference: device code on the GPU, device code on the CPU, or functions of the CPU executor
    /// that find floats by tables; by default device code where the program runs. What device code has no shadow for
    /// goes to the tables.
    #[arg(long, value_name = "WHERE", requires = "reference")]
    reference_on: Option<RouteArg>,
    /// Count, in an instrumented run of the program on the same device: executions, ranges,
    /// cancellation and local rounding error of each site, and bytes moved.
    #[arg(long)]
    count: bool,
    /// What counts: the device that runs the program, or the CPU executor.
    #[arg(
        long,
        value_name = "WHERE",
        requires = "count",
        default_value = "device"
    )]
    count_on: CountOnArg,
    /// Look for undefined behaviour: accesses out of bounds or misaligned, uninitialised memory, races, absent lanes,
    /// barriers that not all reach, indices that overflowed (CPU). `memory` leaves out races, and is faster
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "all", value_name = "WHAT")]
    memcheck: Option<MemcheckArg>,
    /// Kinds of faults that --memcheck notes only: bounds, alignment, uninitialised, race, lane, barrier, overflow
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "KINDS",
        requires = "memcheck"
    )]
    allow: Vec<String>,
    /// Replace a size or launch parameter, on a GPU (`[sizes]`) and on the CPU (`[cpu_sizes]`): n=4096.
    #[arg(long = "size", value_parser = parse_size)]
    sizes: Vec<(String, i64)>,
    /// The CPU's sizes on a GPU too, where the workload has `[cpu_sizes]`: to compare devices.
    #[arg(long)]
    cpu_sizes: bool,
    /// Seed of the inputs.
    #[arg(long, allow_negative_numbers = true, value_parser = parse_seed)]
    seed: Option<u64>,
    /// Timed runs; by default 5, and 1 with --memcheck.
    #[arg(long, allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..))]
    repeats: Option<u32>,
    /// Untimed runs before them; by default 1, and none with --memcheck.
    #[arg(long, allow_negative_numbers = true)]
    warmup: Option<u32>,
    /// Measure energy over this many seconds (GPU; at least 5 for a steady figure).
    #[arg(long, default_value_t = 0.0, allow_negative_numbers = true, value_parser = parse_window)]
    energy: f64,
    /// Save outputs as .npy files in this folder.
    #[arg(long)]
    save: Option<PathBuf>,
    /// What an output is expected to be: out=answer.npy. Compared on the device as `numpy.allclose` does: a number y is close
    /// to the expected x where |x - y| <= atol + rtol |y|, or where both are equal. For each output of its own.
    #[arg(long = "answer", value_name = "OUTPUT=FILE", value_parser = parse_answer)]
    answers: Vec<(String, PathBuf)>,
    /// Relative tolerance of --answer.
    #[arg(long, requires = "answers", default_value_t = 1e-5, allow_negative_numbers = true, value_parser = parse_closeness)]
    rtol: f64,
    /// Absolute tolerance of --answer.
    #[arg(long, requires = "answers", default_value_t = 1e-8, allow_negative_numbers = true, value_parser = parse_closeness)]
    atol: f64,
    /// No digests of the outputs, which take long for large ones; what is neither saved nor compared is not read from the
    /// device then.
    #[arg(long)]
    no_digests: bool,
    /// Threads of the CPU executor; 0 for all cores.
    #[arg(long, default_value_t = 0, allow_negative_numbers = true, value_parser = parse_threads)]
    threads: usize,
    /// Run kernels with barriers as coroutines only: a second opinion on their fast form (CPU).
    #[arg(long)]
    coroutines: bool,
    /// Seconds after which a run counts as hanging.
    #[arg(long, default_value_t = 600.0, allow_negative_numbers = true, value_parser = parse_limit)]
    timeout: f64,
    /// Target architecture.
    #[arg(long, value_parser = parse_arch)]
    arch: Option<String>,
}

fn parse_held(s: &str) -> Result<(String, kerf_pass::SiteFormat), ArgumentError> {
    let parts = s
        .split_once('=')
        .and_then(|(n, f)| Some((n.to_owned(), f.parse().ok()?)));
    parts.ok_or_else(|| ArgumentError::expected("a buffer and a format, e.g. spot=f32"))
}

fn parse_answer(s: &str) -> Result<(String, PathBuf), ArgumentError> {
    let parts = s
        .split_once('=')
        .filter(|(n, f)| !n.is_empty() && !f.is_empty());
    let parts = parts.map(|(n, f)| (n.to_owned(), f.into()));
    parts.ok_or_else(|| ArgumentError::expected("an output and a file, e.g. out=answer.npy"))
}

/// What `--memcheck` looks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum MemcheckArg {
    /// Everything.
    All,
    /// Everything but races.
    Memory,
}

/// What computes references.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum RouteArg {
    /// Device code on the CPU.
    Cpu,
    /// Device code on the GPU.
    Gpu,
    /// Functions of the CPU executor.
    Tables,
}

impl RouteArg {
    /// As a job has it.
    pub fn route(self) -> ReferenceRoute {
        match self {
            RouteArg::Cpu => ReferenceRoute::Cpu,
            RouteArg::Gpu => ReferenceRoute::Gpu,
            RouteArg::Tables => ReferenceRoute::Tables,
        }
    }
}

/// What counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum CountOnArg {
    /// The device that runs the program.
    Device,
    /// The CPU executor.
    Cpu,
}

/// The plan to carry out, with another fraction of approximate warps where one is given.
fn plan_of(a: &Args) -> Result<Plan, Failure> {
    let mut plan = read_plan(a.plan.as_deref())?;
    if let Some(lambda) = a.lambda {
        let kernels = plan.kernels.values_mut();
        let mut all = kernels.filter_map(|k| k.partition.as_mut());
        if all.by_ref().map(|p| p.lambda = lambda).count() == 0 {
            return Err(
                Failure::new("--lambda: the plan has no kernel in two versions")
                    .help("kerf inspect FILE --math-as approx.ftz --lambda 0.5 makes such a plan"),
            );
        }
    }
    Ok(plan)
}

/// What the sanitizer looks for.
fn checks_of(a: &Args) -> Result<Option<SanitizeOptions>, Failure> {
    let Some(what) = a.memcheck else {
        return Ok(None);
    };
    let checks = SanitizeOptions {
        races: what == MemcheckArg::All,
        allow: 0,
    };
    Ok(Some(allowed(checks, &a.allow)?))
}

/// What outputs are expected to be.
fn answers_of(
    files: Vec<(String, PathBuf)>,
    (rtol, atol): (f64, f64),
) -> Result<Option<ExpectedOutputs>, Failure> {
    for (i, (name, path)) in files.iter().enumerate() {
        in_utf8(path)?;
        if files[..i].iter().any(|(other, _)| other == name) {
            return Err(Failure::new(format!("--answer {name} is given twice"))
                .help("an output has one answer"));
        }
    }
    Ok((!files.is_empty()).then_some(ExpectedOutputs { files, rtol, atol }))
}

/// Runs the command, with those that are likely to come next in the same worker.
pub fn run(
    a: Args,
    next: Vec<Args>,
    (format, style): (Format, Style),
    worker: &mut JobWorker,
) -> Result<i32, Failure> {
    let limit_s = a.timeout;
    let asked = |a| job(a, worker.keeps());
    let job = Job {
        // What is wrong with one of them is told when it is asked for.
        next: next.into_iter().filter_map(|a| asked(a).ok()).collect(),
        ..asked(a)?
    };
    super::run(&job, limit_s, (format, style), worker)
}

/// The job that arguments ask for.
fn job(a: Args, keep_inputs: bool) -> Result<Job, Failure> {
    for path in [Some(&a.workload), a.save.as_ref()].into_iter().flatten() {
        in_utf8(path)?;
    }
    // The checks are the CPU executor's.
    let device = a.device.unwrap_or_else(|| match a.memcheck {
        Some(_) => DeviceArg::Cpu,
        None => DeviceArg::here(),
    });
    if device == DeviceArg::Cuda && a.memcheck.is_some() {
        return Err(Failure::new("--memcheck works on the CPU executor")
            .help("leave --device away, or use NVIDIA's compute-sanitizer on the GPU"));
    }
    if device == DeviceArg::Cpu && a.energy > 0.0 {
        return Err(Failure::new("--energy reads a GPU's sensors")
            .help("add --device cuda, or leave --energy away"));
    }
    let plan = plan_of(&a)?;
    let arch = match (&a.arch, device) {
        (Some(arch), _) => arch.clone(),
        (None, DeviceArg::Cuda) => match kerf_exec::cuda::CudaExecutor::capability(a.gpu)? {
            90 => "sm_90".to_owned(),
            c => format!("sm_{c}"),
        },
        _ => "sm_90".to_owned(),
    };
    let tools = toolchain::discover(&arch);
    let checks = checks_of(&a)?;
    let job = Job {
        overrides: a.sizes,
        seed: a.seed,
        device: if device == DeviceArg::Cuda {
            Device::Cuda
        } else {
            Device::Cpu
        },
        ordinal: a.gpu,
        plan,
        reference: a.reference,
        reference_route: match (a.reference_on, device) {
            (Some(route), _) => route.route(),
            (None, DeviceArg::Cuda) => ReferenceRoute::Gpu,
            (None, DeviceArg::Cpu) => ReferenceRoute::Cpu,
        },
        count: a.count.then_some(kerf_pass::count::Detail::Values),
        count_on_cpu: a.count_on == CountOnArg::Cpu,
        memcheck: checks,
        threads: a.threads,
        coroutines: a.coroutines,
        order: 0,
        warmup: a.warmup.unwrap_or(u32::from(checks.is_none())),
        repeats: a.repeats.unwrap_or(if checks.is_some() { 1 } else { 5 }),
        sample_s: match device {
            DeviceArg::Cuda => crate::tune::SAMPLE_S,
            DeviceArg::Cpu => 0.0,
        },
        energy_s: a.energy,
        save: a.save,
        skip_digests: a.no_digests,
        answers: answers_of(a.answers, (a.rtol, a.atol))?,
        keep_inputs,
        baseline: a.source.is_some() && device == DeviceArg::Cuda,
        patched: match a.source {
            Some(source) => Some(kerf_run::job::Patched {
                flags: super::flags_of(&a.workload)?,
                source,
                held: a.held,
                launches: None,
            }),
            None => None,
        },
        ..Job::plain(a.workload, &tools)
    };
    Ok(match a.cpu_sizes {
        true => job,
        false => job.at_sizes_of_device()?,
    })
}
