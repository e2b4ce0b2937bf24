//! The command line of Kerf.
mod bundle;
mod doctor;
mod fail;
mod inspect;
mod output;
mod run;
mod selftest;
mod toolchain;

use clap::{Parser, Subcommand};
use fail::Failure;
use kerf_workload::job::{Device, Job};
use output::{Color, Format, Style};
use std::path::PathBuf;

/// The fastest version of a GPU kernel that stays within an error tolerance.
#[derive(Parser)]
#[command(name = "kerf", version, propagate_version = true)]
struct Cli {
    /// Output format.
    #[arg(long, global = true, value_enum, default_value = "human")]
    format: Format,
    /// When to use colour.
    #[arg(long, global = true, value_enum, default_value = "auto")]
    color: Color,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Show the kernels of a file: parameters, floating-point sites, groups, what cannot be tuned.
    Inspect {
        /// CUDA (.cu), OpenCL (.cl) or LLVM (.ll, .bc) file.
        file: PathBuf,
        /// Only this kernel.
        #[arg(long)]
        kernel: Option<String>,
        /// List every site.
        #[arg(long)]
        all: bool,
        /// Print the prepared IR or the PTX instead.
        #[arg(long, value_enum)]
        emit: Option<inspect::Emit>,
        /// Target architecture.
        #[arg(long, default_value = "sm_90")]
        arch: String,
        /// Flags for the compiler: -I, -D, -std=...
        #[arg(last = true)]
        flags: Vec<String>,
        /// Include folder.
        #[arg(short = 'I')]
        include: Vec<String>,
        /// Macro.
        #[arg(short = 'D')]
        define: Vec<String>,
    },
    /// Run a workload on the CPU or a GPU; with --reference, measure its error.
    Run(RunArgs),
    /// Pack workloads into a folder that runs on a GPU machine without a compiler or a network.
    Bundle {
        /// Workload files.
        #[arg(required = true)]
        workloads: Vec<PathBuf>,
        /// Folder to make.
        #[arg(long, default_value = "kerf-bundle")]
        out: PathBuf,
        /// Target architecture.
        #[arg(long, default_value = "sm_90")]
        arch: String,
    },
    /// Compare the CPU executor with a GPU, or with a record, on random kernels, bit by bit.
    Selftest {
        /// Number of kernels.
        #[arg(long, default_value_t = 200)]
        count: usize,
        /// Seed of the first module.
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// Compare with this device.
        #[arg(long, value_enum, default_value = "cpu")]
        device: DeviceArg,
        /// Number of the GPU.
        #[arg(long, default_value_t = 0)]
        gpu: i32,
        /// Write the digests to this file.
        #[arg(long)]
        record: Option<PathBuf>,
        /// Compare with the digests of this file.
        #[arg(long)]
        against: Option<PathBuf>,
        /// Write the module of --seed to this folder, as workloads with their inputs, and stop.
        #[arg(long)]
        dump: Option<PathBuf>,
    },
    #[command(hide = true)]
    Worker,
    /// List the parts Kerf uses, found or missing, with the command that mends each.
    Doctor,
}

#[derive(clap::Args)]
struct RunArgs {
    /// Workload file (.toml).
    workload: PathBuf,
    /// Where to run.
    #[arg(long, value_enum, default_value = "cpu")]
    device: DeviceArg,
    /// Number of the GPU.
    #[arg(long, default_value_t = 0)]
    gpu: i32,
    /// Plan to apply (JSON).
    #[arg(long)]
    plan: Option<PathBuf>,
    /// Compare every output with a double-double reference execution.
    #[arg(long)]
    reference: bool,
    /// Check every global and shared memory access (CPU).
    #[arg(long)]
    memcheck: bool,
    /// Replace a size or launch parameter: n=4096.
    #[arg(long = "size", value_parser = parse_size)]
    sizes: Vec<(String, i64)>,
    /// Seed of the inputs.
    #[arg(long)]
    seed: Option<u64>,
    /// Timed runs.
    #[arg(long, default_value_t = 5)]
    repeats: u32,
    /// Untimed runs before them.
    #[arg(long, default_value_t = 1)]
    warmup: u32,
    /// Measure energy over this many seconds (GPU; at least 5 for a steady figure).
    #[arg(long, default_value_t = 0.0)]
    energy: f64,
    /// Save outputs as .npy files in this folder.
    #[arg(long)]
    save: Option<PathBuf>,
    /// Threads of the CPU executor; 0 for all cores.
    #[arg(long, default_value_t = 0)]
    threads: usize,
    /// Seconds after which a run counts as hanging.
    #[arg(long, default_value_t = 600.0)]
    timeout: f64,
    /// Target architecture.
    #[arg(long)]
    arch: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum DeviceArg {
    Cpu,
    Cuda,
}

fn parse_size(s: &str) -> Result<(String, i64), String> {
    let (n, v) = s.split_once('=').ok_or("expected NAME=NUMBER")?;
    let v = v.trim().parse().map_err(|e| format!("{v}: {e}"))?;
    Ok((n.trim().to_owned(), v))
}

fn run_command(a: RunArgs, format: Format, style: Style) -> Result<i32, Failure> {
    if !(a.timeout.is_finite() && a.timeout > 0.0 && a.timeout < 1e9) {
        return Err(Failure::new("--timeout must be a positive number of seconds"));
    }
    let plan = match &a.plan {
        None => kerf_pass::Plan::default(),
        Some(p) => {
            let text = std::fs::read_to_string(p).map_err(|e| Failure::new(format!("cannot read {}: {e}", p.display())))?;
            kerf_pass::Plan::parse(&text).map_err(|e| Failure::new(format!("{}: {e}", p.display())))?
        }
    };
    let arch = match (a.arch, a.device) {
        (Some(a), _) => a,
        (None, DeviceArg::Cuda) => match kerf_exec::cuda::CudaExecutor::capability(a.gpu)? {
            90 => "sm_90".to_owned(),
            c => format!("sm_{c}"),
        },
        _ => "sm_90".to_owned(),
    };
    let tools = toolchain::discover(&arch);
    let job = Job {
        workload: a.workload,
        overrides: a.sizes,
        seed: a.seed,
        device: if a.device == DeviceArg::Cuda { Device::Cuda } else { Device::Cpu },
        ordinal: a.gpu,
        plan,
        reference: a.reference,
        memcheck: a.memcheck,
        threads: a.threads,
        warmup: a.warmup,
        repeats: a.repeats,
        energy_s: a.energy,
        save: a.save,
        clang: tools.clang,
        cuda: tools.cuda,
        libdevice: tools.libdevice,
        arch,
        cache: tools.cache,
    };
    run::run(&job, a.timeout, format, style)
}

fn compiler_flags(include: Vec<String>, define: Vec<String>, rest: Vec<String>) -> Vec<String> {
    let i = include.into_iter().map(|i| format!("-I{i}"));
    let d = define.into_iter().map(|d| format!("-D{d}"));
    i.chain(d).chain(rest).collect()
}

fn main() {
    let cli = Cli::parse();
    let style = Style::new(cli.color);
    let result = match cli.command {
        Command::Inspect { file, kernel, all, emit, arch, flags, include, define } => {
            let tools = toolchain::discover(&arch);
            let flags = compiler_flags(include, define, flags);
            if let Some(e) = emit {
                inspect::emit(&tools, &file, &flags, e)
            } else {
                inspect::run(&tools, &file, &flags, kernel.as_deref(), cli.format, style, all)
            }
        }
        Command::Run(a) => run_command(a, cli.format, style),
        Command::Bundle { workloads, out, arch } => bundle::run(&toolchain::discover(&arch), &workloads, &out),
        Command::Selftest { seed, dump: Some(dir), .. } => selftest::dump(seed, &dir),
        Command::Selftest { count, seed, device, gpu, record, against, dump: None } => {
            let o = selftest::Options { count, seed, cuda: device == DeviceArg::Cuda, ordinal: gpu, record, against };
            selftest::run(&toolchain::discover("sm_90"), &o, cli.format, style)
        }
        Command::Worker => Ok(run::serve()),
        Command::Doctor => Ok(doctor::run(&toolchain::discover("sm_90"), cli.format, style)),
    };
    std::process::exit(result.unwrap_or_else(|f| f.report()));
}
