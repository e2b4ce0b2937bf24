//! The command line of Kerf.
mod bundle;
mod cc;
mod cluster;
mod counts;
mod device;
mod doctor;
mod fail;
mod guard;
mod hardround;
mod init;
mod inspect;
mod keep;
mod launch_table;
mod measure;
mod output;
mod parse;
mod patch;
mod predict;
mod progress;
mod quantize;
mod record;
mod report;
mod run;
mod search;
mod selftest;
mod shell;
mod study;
mod table;
mod toolchain;
mod tune;

use clap::{Parser, Subcommand};
use fail::Failure;
use kerf_files as files;
use output::{Color, Format, Style};
use parse::{
    in_utf8, parse_arch, parse_count, parse_lambda, parse_limit, parse_seed, parse_size,
    parse_threads, parse_window,
};
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
    /// Show no progress; warnings and errors are shown.
    #[arg(long, short, global = true)]
    quiet: bool,
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
    Run(run::command::Args),
    /// Predict the time of a workload: on a device that need not be here, from a profile; on this GPU, from
    /// short samples.
    Predict(predict::Args),
    /// Measure sampled plans of a workload on a GPU, for comparison with predictions.
    #[command(hide = true)]
    Measure(measure::Args),
    /// Time every shape of a workload's launches on a GPU, for comparison with strategies and predictions.
    #[command(hide = true)]
    LaunchTable(launch_table::Args),
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
    /// Compile a CUDA application as nvcc would, for Kerf's own runtime: kerf cc -O3 main.cu -o app.
    ///
    /// Takes nvcc's options and clang's. KERF_DEVICE=cpu|cuda chooses where the program runs then.
    #[command(disable_help_flag = true)]
    Cc {
        /// Options and files.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Run an application built by kerf cc, and keep launches of its kernels as workloads.
    Record(record::Args),
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
        /// Stop after this many seconds, with what was compared by then.
        #[arg(long, value_name = "S")]
        seconds: Option<u64>,
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
    Tune(Box<tune::Args>),
    /// Validate a result of `kerf tune` on fresh inputs.
    Check(tune::check::Args),
    /// Say what a result of `kerf tune` cut, what it did not, and why.
    Explain(report::ExplainArgs),
    /// Carry a result of `kerf tune` into the source: a unified diff, tried before it is given.
    Patch(patch::Args),
    /// Make a page about a result of `kerf tune`: one HTML file that needs nothing else.
    Report(report::Args),
    /// List every argument of a range whose function value is hard to round.
    Hardround(hardround::Args),
    /// Train networks at few bits; evaluate, tune and list methods.
    Quantize(Box<quantize::Args>),
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
        /// Sizes of the workload files on a GPU too, for sfu-tradeoff: errors beside those of the CPU.
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
    },
    #[command(hide = true)]
    Worker,
    #[command(hide = true)]
    SweepWorker,
    #[command(hide = true)]
    SampleWorker,
    /// Set strategies for launch shapes side by side on a record of bench/launch.sh.
    #[command(hide = true)]
    LaunchCompare(launch_table::CompareArgs),
    /// Count the work of launch shapes.
    #[command(hide = true)]
    LaunchWork(launch_table::WorkArgs),
    #[command(hide = true)]
    Relay {
        /// Where the rank listens.
        address: String,
        /// File with the secret.
        secret: PathBuf,
    },
    /// Print a shell's completions: kerf completions bash > ~/.local/share/bash-completion/completions/kerf.
    Completions {
        /// The shell.
        shell: shell::Shell,
    },
    /// Print the manual page, or write those of all commands: kerf man --out ~/.local/share/man/man1.
    Man {
        /// Folder to write kerf.1, kerf-tune.1 and so on into.
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
    },
    /// List the parts Kerf uses, found or missing, with the command that mends each.
    Doctor,
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

/// The plan of a file; the identity without one.
fn read_plan(path: Option<&Path>) -> Result<kerf_pass::Plan, Failure> {
    path.map_or_else(|| Ok(kerf_pass::Plan::default()), run::read_plan)
}

fn compiler_flags(include: Vec<String>, define: Vec<String>, rest: Vec<String>) -> Vec<String> {
    let i = include.into_iter().map(|i| format!("-I{i}"));
    let d = define.into_iter().map(|d| format!("-D{d}"));
    i.chain(d).chain(rest).collect()
}

fn help_of(command: &str) -> Result<i32, Failure> {
    use clap::CommandFactory;
    let mut all = Cli::command();
    let text = all
        .find_subcommand_mut(command)
        .map(|c| c.render_long_help().to_string());
    output::say(&text.unwrap_or_default())?;
    Ok(0)
}

fn main() {
    let words: Vec<String> = std::env::args_os()
        .map(|a| a.to_string_lossy().into_owned())
        .collect();
    // By that name (a link to this program) it is the compiler that build systems look for.
    let called = words.first().map(|w| w.rsplit('/').next().unwrap_or(w));
    if called == Some("nvcc") {
        std::process::exit(cc::run(&words[1..]).unwrap_or_else(|f| f.report()));
    }
    // A compiler's options are not Kerf's: -o, -x, --version and @files mean something else there.
    if words.get(1).is_some_and(|w| w == "cc")
        && !words.get(2).is_none_or(|w| w == "--help" || w == "-h")
    {
        std::process::exit(cc::run(&words[2..]).unwrap_or_else(|f| f.report()));
    }
    let cli = Cli::parse();
    let style = Style::new(cli.color);
    progress::set_quiet(cli.quiet);
    let lines = matches!(cli.command, Command::Hardround(_) | Command::Report(_));
    if cli.format == Format::Csv && !lines {
        let f = Failure::new("--format csv is for kerf hardround and kerf report --evaluations");
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
                inspect::emit(&tools, &file, &flags, kernel.as_deref(), e, wish)
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
        Command::Run(a) => run::command::run(a, cli.format, style),
        Command::Cc { args } => {
            match args.iter().any(|a| a == "--help" || a == "-h") || args.is_empty() {
                true => help_of("cc"),
                false => cc::run(&args),
            }
        }
        Command::Record(a) => record::run(&a),
        Command::Predict(a) => predict::run(&a, cli.format, style),
        Command::Measure(a) => measure::run(&a),
        Command::LaunchTable(a) => launch_table::run(a),
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
            seconds,
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
                seconds,
                record,
                against,
            };
            selftest::run(&toolchain::discover("sm_90"), &o, cli.format, style)
        }
        Command::Device(a) => device::run(a, cli.format, style),
        Command::Tune(a) => tune::run(*a, cli.format, style),
        Command::Check(a) => tune::check::run(a, cli.format, style),
        Command::Explain(a) => report::explained(&a, cli.format),
        Command::Report(a) => report::report(&a, cli.format),
        Command::Patch(a) => patch::run(&a, cli.format, style),
        Command::Hardround(a) => hardround::run(&a, cli.format, style),
        Command::Quantize(a) => quantize::run(&a, cli.format, style),
        Command::Search(a) => search::run(&a, cli.format, style),
        Command::Study {
            name,
            workloads,
            device,
            gpu,
            quick,
            own_sizes,
            calls,
            resume,
            out,
            ..
        } if name == study::tradeoff::NAME => {
            let o = study::tradeoff::Options {
                workloads,
                gpu: (device == DeviceArg::Cuda).then_some(gpu),
                quick,
                own_sizes,
                calls,
                resume,
                out,
            };
            study::tradeoff::run(&o, cli.format, style)
        }
        Command::Study {
            name,
            own_sizes,
            calls,
            resume,
            ..
        } if own_sizes || calls || resume => Err(Failure::new(format!(
            "--own-sizes, --calls and --resume are for {}, not for {name}",
            study::tradeoff::NAME
        ))),
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
            ..
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
        Command::SampleWorker => Ok(predict::sampled::serve()),
        Command::LaunchCompare(a) => launch_table::compare(&a, cli.format, style),
        Command::LaunchWork(a) => launch_table::work(a),
        Command::Relay { address, secret } => Ok(tune::relay::relay(&address, &secret)),
        Command::SweepWorker => Ok(study::tradeoff::serve()),
        Command::Completions { shell } => shell::completions(shell),
        Command::Man { out } => shell::man(out.as_deref()),
        Command::Doctor => doctor::run(&toolchain::discover("sm_90"), cli.format, style),
    };
    std::process::exit(result.unwrap_or_else(|f| f.report()));
}
