//! The command line of Kerf.
mod bundle;
mod cc;
mod cluster;
mod counts;
mod device;
mod doctor;
mod fail;
mod function;
mod guard;
mod hardround;
mod init;
mod inspect;
mod installation;
mod judge;
mod keep;
mod launch_table;
mod measure;
mod notes;
mod nvidia_wheels;
mod output;
mod parse;
mod patch;
mod predict;
mod progress;
mod quantize;
mod rank;
mod record;
mod report;
mod run;
mod search;
mod selftest;
mod serve;
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
    in_utf8, parse_arch, parse_count, parse_gib, parse_limit, parse_seed, parse_size,
    parse_threads, parse_window,
};
use run::JobWorker;
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
    Inspect(inspect::Args),
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
    Selftest(selftest::Args),
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
    /// Judge a kernel that somebody else wrote: is it a correct and faster version of another one?
    Judge(Box<judge::Args>),
    /// Make a page about a result of `kerf tune`: one HTML file that needs nothing else.
    Report(report::Args),
    /// List every argument of a range whose function value is hard to round.
    Hardround(hardround::Args),
    /// Make a math function for a range and an error, with a proven bound: CUDA C++, C or JSON.
    Function(function::Args),
    /// Train networks at few bits; evaluate, tune and list methods.
    Quantize(Box<quantize::Args>),
    /// Search strategies on recorded search spaces, without a device.
    Search(search::Args),
    /// Repeat a published experiment on this device: table, plot, and which findings hold.
    Study(study::Args),
    /// Do jobs of `run`, `predict` and `inspect`, one a line of JSON on standard input, and keep between them what they have in
    /// common.
    Serve(serve::Args),
    #[command(hide = true)]
    Worker,
    #[command(hide = true)]
    JudgeWorker,
    #[command(hide = true)]
    SweepWorker,
    #[command(hide = true)]
    SampleWorker,
    #[command(hide = true)]
    ReplayWorker {
        /// The runtime that recorded.
        library: PathBuf,
    },
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

impl DeviceArg {
    /// The GPU of this machine where there is one.
    fn here() -> DeviceArg {
        match kerf_exec::cuda::CudaExecutor::capability(0) {
            Ok(_) => DeviceArg::Cuda,
            Err(_) => DeviceArg::Cpu,
        }
    }
}

/// A device by its name; `auto` is the GPU of this machine where there is one.
fn parse_device(text: &str) -> Result<DeviceArg, parse::ArgumentError> {
    match text {
        "auto" => Ok(DeviceArg::here()),
        "cpu" => Ok(DeviceArg::Cpu),
        "cuda" => Ok(DeviceArg::Cuda),
        _ => Err(parse::ArgumentError::expected("auto, cpu or cuda")),
    }
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

/// What the compiler gets, where this is called as one.
fn as_compiler(words: &[String]) -> Option<&[String]> {
    // By that name (a link to this program) it is the compiler that build systems look for.
    let called = words.first().map(|w| w.rsplit('/').next().unwrap_or(w));
    if called == Some("nvcc") {
        return Some(&words[1..]);
    }
    // A compiler's options are not Kerf's: -o, -x, --version and @files mean something else there.
    let cc = words.get(1).is_some_and(|w| w == "cc")
        && !words.get(2).is_none_or(|w| w == "--help" || w == "-h");
    cc.then(|| &words[2..])
}

fn main() {
    if let Some(code) = installation::as_clang() {
        std::process::exit(code);
    }
    let words: Vec<String> = std::env::args_os()
        .map(|a| a.to_string_lossy().into_owned())
        .collect();
    if let Some(rest) = as_compiler(&words) {
        std::process::exit(cc::run(rest).unwrap_or_else(|f| f.report()));
    }
    let cli = Cli::parse_from(function::number_format_words(std::env::args_os().collect()));
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
    let result = dispatch(cli.command, cli.unguarded, cli.format, style);
    std::process::exit(result.unwrap_or_else(|f| f.report()));
}

/// Runs a command; what it gives is the exit code.
fn dispatch(
    command: Command,
    unguarded: bool,
    format: Format,
    style: Style,
) -> Result<i32, Failure> {
    match command {
        Command::Inspect(ref a) if !unguarded && guard::is_needed(&a.file) => guard::again(&a.file),
        Command::Inspect(a) => inspect::command(a, format, style),
        Command::Init(ref a) if !unguarded && guard::is_needed(&a.file) => guard::again(&a.file),
        Command::Init(a) => init::run(&a, format),
        Command::Run(a) => {
            run::command::run(a, Vec::new(), (format, style), &mut JobWorker::default())
        }
        Command::Cc { args } => {
            match args.iter().any(|a| a == "--help" || a == "-h") || args.is_empty() {
                true => help_of("cc"),
                false => cc::run(&args),
            }
        }
        Command::Record(a) => record::run(&a),
        Command::Predict(a) => predict::run(&a, (format, style), &mut JobWorker::default()),
        Command::Serve(a) => serve::run(&a),
        Command::Measure(a) => measure::run(&a),
        Command::LaunchTable(a) => launch_table::run(a),
        Command::Bundle {
            workloads,
            out,
            arch,
        } => bundle::run(&toolchain::discover(&arch), &workloads, &out),
        Command::Selftest(a) => selftest::command(a, format, style),
        Command::Device(a) => device::run(a, format, style),
        Command::Tune(a) => tune::run(*a, format, style),
        Command::Check(a) => tune::check::run(a, format, style),
        Command::Explain(a) => report::explained(&a, format),
        Command::Report(a) => report::report(&a, format),
        Command::Patch(a) => patch::run(&a, format, style),
        Command::Hardround(a) => hardround::run(&a, format, style),
        Command::Function(a) => function::run(&a, format),
        Command::Quantize(a) => quantize::run(&a, format, style),
        Command::Search(a) => search::run(&a, format, style),
        Command::Study(a) => study::command(a, format, style),
        Command::Judge(a) => judge::run(&a, format, style),
        Command::JudgeWorker => Ok(judge::serve()),
        Command::Worker => Ok(run::serve()),
        Command::SampleWorker => Ok(predict::sampled::serve()),
        Command::ReplayWorker { library } => {
            kerf_exec::replay::serve(&library);
            Ok(0)
        }
        Command::LaunchCompare(a) => launch_table::compare(&a, format, style),
        Command::LaunchWork(a) => launch_table::work(a),
        Command::Relay { address, secret } => Ok(tune::relay::relay(&address, &secret)),
        Command::SweepWorker => {
            kerf_study::tradeoff::serve();
            Ok(0)
        }
        Command::Completions { shell } => shell::completions(shell),
        Command::Man { out } => shell::man(out.as_deref()),
        Command::Doctor => doctor::run(&toolchain::discover("sm_90"), format, style),
    }
}
