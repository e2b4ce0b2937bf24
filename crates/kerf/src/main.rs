//! The command line of Kerf.
mod bundle;
mod cluster;
mod counts;
mod device;
mod doctor;
mod fail;
mod files;
mod guard;
mod hardround;
mod init;
mod inspect;
mod measure;
mod output;
mod predict;
mod report;
mod run;
mod search;
mod selftest;
mod study;
mod table;
mod toolchain;
mod tune;

use clap::{Parser, Subcommand};
use fail::Failure;
use kerf_workload::job::{Device, Job};
use output::{Color, Format, Style};
use std::path::{Path, PathBuf};

/// The fastest version of a GPU kernel within an error tolerance; runs kernels on the CPU or a GPU, bit for
/// bit alike, and measures their error.
#[derive(Parser)]
#[command(name = "kerf", version, propagate_version = true)]
struct Cli {
    /// Output format.
    #[arg(long, global = true, value_enum, default_value = "human")]
    format: Format,
    /// When to use colour.
    #[arg(long, global = true, value_enum, default_value = "auto")]
    color: Color,
    #[arg(long = guard::OPTION, hide = true)]
    unguarded: bool,
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
        /// Print the prepared IR, the PTX or a plan instead.
        #[arg(long, value_enum)]
        emit: Option<inspect::Emit>,
        /// Give every site that can have it this format, in what --emit prints (by default the plan):
        /// f32, f16, bf16; dw32, dw64 are pairs of f32, f64; dw32.cmp, dw64.cmp the same by the
        /// published formulas of composite precision.
        #[arg(long, value_name = "FORMAT")]
        all_as: Option<kerf_pass::SiteFormat>,
        /// Hold every buffer and array that can be in this format, in what --emit prints.
        #[arg(long, value_name = "FORMAT")]
        store_as: Option<kerf_pass::SiteFormat>,
        /// Compute every math site that can be by this variant, in what --emit prints: approx and
        /// approx.ftz (special-function unit, f32), full and full.ftz (divisions), newton0 to newton2
        /// (f64), reciprocal (division by what does not change in the loop).
        #[arg(long, value_name = "VARIANT")]
        math_as: Option<kerf_pass::MathVariant>,
        /// Do all that to this fraction of the warps only, in what --emit prints.
        #[arg(long, allow_negative_numbers = true, value_parser = parse_lambda)]
        lambda: Option<f64>,
        /// How those warps are chosen: hash (reproducible), slot (%warpid) or warp (index in the block).
        #[arg(long, default_value = "hash", requires = "lambda")]
        select: kerf_pass::Select,
        /// Apply this plan (JSON) to what --emit prints.
        #[arg(long, requires = "emit", conflicts_with_all = ["all_as", "store_as", "math_as", "lambda"])]
        plan: Option<PathBuf>,
        /// Target architecture.
        #[arg(long, default_value = "sm_90", value_parser = parse_arch)]
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
    /// Write a first workload file for a file's kernels: buffers, sizes and grids as the code tells them.
    Init(init::Args),
    /// Run a workload on the CPU or a GPU; with --reference, measure its error.
    Run(RunArgs),
    /// Predict the time of a workload on a device that need not be here, from a profile.
    Predict(predict::Args),
    /// Measure sampled plans of a workload on a GPU, for comparison with predictions.
    #[command(hide = true)]
    Measure(measure::Args),
    /// Pack workloads into a folder that runs on a GPU machine without a compiler or a network.
    Bundle {
        /// Workload files.
        #[arg(required = true)]
        workloads: Vec<PathBuf>,
        /// Folder to make.
        #[arg(long, default_value = "kerf-bundle")]
        out: PathBuf,
        /// Target architecture.
        #[arg(long, default_value = "sm_90", value_parser = parse_arch)]
        arch: String,
    },
    /// Compare the CPU executor with a GPU, or with a record, on random kernels, bit by bit.
    Selftest {
        /// Number of kernels.
        #[arg(long, default_value_t = 200, allow_negative_numbers = true, value_parser = parse_count)]
        count: usize,
        /// Seed of the first module.
        #[arg(long, default_value_t = 1, allow_negative_numbers = true, value_parser = parse_seed)]
        seed: u64,
        /// Compare with this device.
        #[arg(long, value_enum, default_value = "cpu")]
        device: DeviceArg,
        /// Number of the GPU.
        #[arg(long, default_value_t = 0, allow_negative_numbers = true, value_parser = clap::value_parser!(i32).range(0..))]
        gpu: i32,
        /// Give each kernel's sites and arrays narrower formats and other variants at random, some to a
        /// part of the warps only, before comparing.
        #[arg(long)]
        plans: bool,
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
    /// Measure this GPU's floating point into a profile; show, compare and use profiles.
    Device(device::Args),
    /// Find the fastest version of a workload's kernels within an error tolerance.
    Tune(tune::Args),
    /// Validate a result of `kerf tune` on fresh inputs.
    Check(tune::CheckArgs),
    /// Say what a result of `kerf tune` cut, what it did not, and why.
    Explain(report::ExplainArgs),
    /// Make a page about a result of `kerf tune`: one HTML file that needs nothing else.
    Report(report::Args),
    /// List every argument of a range whose function value is hard to round.
    Hardround(hardround::Args),
    /// Search strategies on recorded search spaces, without a device.
    Search(search::Args),
    /// Repeat a published experiment on this device: table, plot, and which findings hold.
    Study {
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
        /// Write tables (CSV), plots (SVG) and a summary (text) into this folder.
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
    },
    #[command(hide = true)]
    Worker,
    #[command(hide = true)]
    SweepWorker,
    #[command(hide = true)]
    Relay {
        /// Where the rank listens.
        address: String,
        /// File with the secret.
        secret: PathBuf,
    },
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
    #[arg(long, default_value_t = 0, allow_negative_numbers = true, value_parser = clap::value_parser!(i32).range(0..))]
    gpu: i32,
    /// Plan to apply (JSON).
    #[arg(long)]
    plan: Option<PathBuf>,
    /// Fraction of the warps that run the cheap version, in place of what the plan says.
    #[arg(long, requires = "plan", allow_negative_numbers = true, value_parser = parse_lambda)]
    lambda: Option<f64>,
    /// Compare every output with a double-double reference execution.
    #[arg(long)]
    reference: bool,
    /// Count, in an instrumented run of the original program on the CPU: executions, ranges and
    /// cancellation of each site, and bytes moved.
    #[arg(long)]
    count: bool,
    /// Check every global and shared memory access (CPU).
    #[arg(long)]
    memcheck: bool,
    /// Replace a size or launch parameter: n=4096.
    #[arg(long = "size", value_parser = parse_size)]
    sizes: Vec<(String, i64)>,
    /// Seed of the inputs.
    #[arg(long, allow_negative_numbers = true, value_parser = parse_seed)]
    seed: Option<u64>,
    /// Timed runs.
    #[arg(long, default_value_t = 5, allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..))]
    repeats: u32,
    /// Untimed runs before them.
    #[arg(long, default_value_t = 1, allow_negative_numbers = true)]
    warmup: u32,
    /// Measure energy over this many seconds (GPU; at least 5 for a steady figure).
    #[arg(long, default_value_t = 0.0, allow_negative_numbers = true, value_parser = parse_window)]
    energy: f64,
    /// Save outputs as .npy files in this folder.
    #[arg(long)]
    save: Option<PathBuf>,
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

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum DeviceArg {
    Cpu,
    Cuda,
}

fn study_names() -> clap::builder::PossibleValuesParser {
    let names = kerf_study::names().into_iter();
    names
        .chain([study::tradeoff::NAME, study::LIST])
        .collect::<Vec<_>>()
        .into()
}

fn parse_size(s: &str) -> Result<(String, i64), String> {
    const EXPECTED: &str = "expected NAME=NUMBER, e.g. n=4096";
    let (n, v) = s.split_once('=').ok_or(EXPECTED)?;
    if n.trim().is_empty() {
        return Err(format!("there is no name; {EXPECTED}"));
    }
    let v = v
        .trim()
        .parse()
        .map_err(|_| format!("`{v}` is not a 64-bit integer; {EXPECTED}"))?;
    Ok((n.trim().to_owned(), v))
}

/// Architectures that both clang 22 and LLVM's PTX backend know; an unknown one LLVM ignores with a
/// note, and compiles for another.
const ARCHITECTURES: &str = "sm_50 sm_52 sm_53 sm_60 sm_61 sm_62 sm_70 sm_72 sm_75 sm_80 sm_86 sm_87 sm_88 sm_89 sm_90 sm_90a sm_100 sm_100a sm_101 sm_101a sm_103 sm_103a sm_110 sm_110a sm_120 sm_120a sm_121 sm_121a";

fn parse_arch(s: &str) -> Result<String, String> {
    match ARCHITECTURES.split(' ').any(|a| a == s) {
        true => Ok(s.to_owned()),
        false => Err(format!("expected one of {ARCHITECTURES}")),
    }
}

/// Beyond this, starting the threads takes longer than any launch.
const MOST_THREADS: usize = 1024;

fn parse_threads(s: &str) -> Result<usize, String> {
    s.parse()
        .ok()
        .filter(|n| *n <= MOST_THREADS)
        .ok_or_else(|| format!("expected a number from 0 (all cores) to {MOST_THREADS}"))
}

fn parse_seed(s: &str) -> Result<u64, String> {
    s.parse()
        .map_err(|_| format!("expected an integer from 0 to {}", u64::MAX))
}

fn parse_count(s: &str) -> Result<usize, String> {
    s.parse()
        .ok()
        .filter(|n| *n > 0)
        .ok_or_else(|| "expected a number of 1 or more".into())
}

fn parse_limit(s: &str) -> Result<f64, String> {
    s.parse()
        .ok()
        .filter(|t| (1e-3..1e9).contains(t))
        .ok_or_else(|| "expected seconds, from 0.001 to a billion, e.g. 60".into())
}

fn parse_window(s: &str) -> Result<f64, String> {
    s.parse()
        .ok()
        .filter(|t| (0.0..1e6).contains(t))
        .ok_or_else(|| "expected seconds, 0 or more, e.g. 5".into())
}

/// Workers are told of files as text.
fn in_utf8(path: &Path) -> Result<(), Failure> {
    match path.to_str() {
        Some(_) => Ok(()),
        None => Err(
            Failure::new(format!("the name {} is not UTF-8", path.display()))
                .help("rename the file or folder"),
        ),
    }
}

fn parse_lambda(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(l) if (0.0..=1.0).contains(&l) => Ok(l),
        _ => Err("expected a fraction from 0 to 1".into()),
    }
}

/// The plan of a file; the identity without one.
fn read_plan(path: Option<&Path>) -> Result<kerf_pass::Plan, Failure> {
    path.map_or_else(|| Ok(kerf_pass::Plan::default()), run::read_plan)
}

fn run_command(a: RunArgs, format: Format, style: Style) -> Result<i32, Failure> {
    for path in [Some(&a.workload), a.save.as_ref()].into_iter().flatten() {
        in_utf8(path)?;
    }
    if a.device == DeviceArg::Cuda && a.memcheck {
        return Err(Failure::new("--memcheck works on the CPU executor")
            .help("leave --device away, or use NVIDIA's compute-sanitizer on the GPU"));
    }
    if a.device == DeviceArg::Cpu && a.energy > 0.0 {
        return Err(Failure::new("--energy reads a GPU's sensors")
            .help("add --device cuda, or leave --energy away"));
    }
    let mut plan = read_plan(a.plan.as_deref())?;
    if let Some(lambda) = a.lambda {
        let mut all = plan
            .kernels
            .values_mut()
            .filter_map(|k| k.partition.as_mut());
        if all.by_ref().map(|p| p.lambda = lambda).count() == 0 {
            return Err(
                Failure::new("--lambda: the plan has no kernel in two versions")
                    .help("kerf inspect FILE --math-as approx.ftz --lambda 0.5 makes such a plan"),
            );
        }
    }
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
        overrides: a.sizes,
        seed: a.seed,
        device: if a.device == DeviceArg::Cuda {
            Device::Cuda
        } else {
            Device::Cpu
        },
        ordinal: a.gpu,
        plan,
        reference: a.reference,
        count: a.count.then_some(kerf_pass::count::Detail::Values),
        memcheck: a.memcheck,
        threads: a.threads,
        coroutines: a.coroutines,
        warmup: a.warmup,
        repeats: a.repeats,
        energy_s: a.energy,
        save: a.save,
        ..Job::plain(a.workload, &tools)
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
    if cli.format == Format::Csv && !matches!(cli.command, Command::Hardround(_)) {
        let f = Failure::new("--format csv is for kerf hardround");
        std::process::exit(
            f.help("--format json has every value of the others")
                .report(),
        );
    }
    let result = match cli.command {
        Command::Inspect { ref file, .. } if !cli.unguarded && guard::is_needed(file) => {
            guard::again(file)
        }
        Command::Inspect {
            file,
            kernel,
            all,
            emit,
            all_as,
            store_as,
            math_as,
            lambda,
            select,
            plan,
            arch,
            flags,
            include,
            define,
        } => {
            let tools = toolchain::discover(&arch);
            let flags = compiler_flags(include, define, flags);
            let changed = all_as.is_some() || store_as.is_some() || math_as.is_some();
            let changed = changed || lambda.is_some();
            let emit = emit.or(changed.then_some(inspect::Emit::Plan));
            if let Some(e) = emit {
                let wish = inspect::Wish {
                    plan: plan.as_deref().map(run::read_plan).transpose(),
                    all_as,
                    store_as,
                    math_as,
                    warps: lambda.map(|l| (l, select)),
                };
                inspect::emit(&tools, &file, &flags, e, wish)
            } else {
                inspect::run(
                    &tools,
                    &file,
                    &flags,
                    kernel.as_deref(),
                    cli.format,
                    style,
                    all,
                )
            }
        }
        Command::Init(ref a) if !cli.unguarded && guard::is_needed(&a.file) => {
            guard::again(&a.file)
        }
        Command::Init(a) => init::run(&a, cli.format),
        Command::Run(a) => run_command(a, cli.format, style),
        Command::Predict(a) => predict::run(&a, cli.format, style),
        Command::Measure(a) => measure::run(&a),
        Command::Bundle {
            workloads,
            out,
            arch,
        } => bundle::run(&toolchain::discover(&arch), &workloads, &out),
        Command::Selftest {
            seed,
            plans,
            dump: Some(dir),
            ..
        } => selftest::dump(seed, plans, &dir),
        Command::Selftest {
            count,
            seed,
            device,
            gpu,
            plans,
            record,
            against,
            dump: None,
        } => {
            let o = selftest::Options {
                count,
                seed,
                plans,
                cuda: device == DeviceArg::Cuda,
                ordinal: gpu,
                record,
                against,
            };
            selftest::run(&toolchain::discover("sm_90"), &o, cli.format, style)
        }
        Command::Device(a) => device::run(a, cli.format, style),
        Command::Tune(a) => tune::run(a, cli.format, style),
        Command::Check(a) => tune::check(a, cli.format, style),
        Command::Explain(a) => report::explained(&a, cli.format),
        Command::Report(a) => report::report(&a, cli.format),
        Command::Hardround(a) => hardround::run(&a, cli.format, style),
        Command::Search(a) => search::run(&a, cli.format, style),
        Command::Study {
            name,
            workloads,
            device,
            gpu,
            quick,
            out,
            ..
        } if name == study::tradeoff::NAME => {
            let o = study::tradeoff::Options {
                workloads,
                gpu: (device == DeviceArg::Cuda).then_some(gpu),
                quick,
                out,
            };
            study::tradeoff::run(&o, cli.format, style)
        }
        Command::Study {
            name, workloads, ..
        } if !workloads.is_empty() => Err(Failure::new(format!(
            "the study {name} has kernels of its own and takes no workloads"
        ))),
        Command::Study {
            name,
            workloads: _,
            device,
            gpu,
            profile,
            quick,
            large,
            seed,
            out,
        } => {
            let o = study::Options {
                name,
                device: match device {
                    DeviceArg::Cpu => kerf_study::Device::Cpu,
                    DeviceArg::Cuda => kerf_study::Device::Cuda(gpu),
                },
                profile,
                scale: match (quick, large) {
                    (true, _) => kerf_study::Scale::Quick,
                    (_, true) => kerf_study::Scale::Large,
                    _ => kerf_study::Scale::Full,
                },
                seed,
                out,
            };
            study::run(&o, cli.format, style)
        }
        Command::Worker => Ok(run::serve()),
        Command::Relay { address, secret } => Ok(tune::relay::relay(&address, &secret)),
        Command::SweepWorker => Ok(study::tradeoff::serve()),
        Command::Doctor => doctor::run(&toolchain::discover("sm_90"), cli.format, style),
    };
    std::process::exit(result.unwrap_or_else(|f| f.report()));
}
