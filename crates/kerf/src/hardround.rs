//! `kerf hardround`: arguments whose function value is hard to round.
mod libm;
mod libraries;
mod search;
mod show;
mod small;
mod vectors;
mod verify;

pub use libm::read as read_list;

use crate::DeviceArg;
use crate::fail::Failure;
use crate::output::{Format, Style};
use crate::parse::ArgumentError;
use kerf_hardround::format::{BinaryFormat as Number, FORMATS, parse};
use kerf_hardround::function::{ElementaryFunction, FUNCTIONS, LARGEST_POWER};
use kerf_hardround::search::Isa;
use kerf_workload::suggest;
use std::path::PathBuf;

/// Arguments.
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    search: Option<SearchArgs>,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Check a certificate by an independent method: MPFR, and Lefevre's test on samples or on everything.
    Verify(verify::Args),
    /// Check f64 functions of libdevice or of shared libraries on hard cases, against MPFR: misroundings, and how far off.
    CheckLibm(libm::Args),
    /// Write a list as test vectors of CORE-MATH or of LLVM's libc.
    Vectors(vectors::Args),
}

#[derive(clap::Args)]
struct SearchArgs {
    /// exp, exp2, exp10, expm1, log, log2, log10, log1p, sin, cos, tan, asin, acos, atan, sinh, cosh,
    /// tanh, cbrt, sqrt, rsqrt, asinh, acosh, atanh, erf, erfc, exp2m1, exp10m1, log2p1, log10p1, sinpi, cospi, tanpi,
    /// asinpi, acospi, atanpi; x^3 and other integer powers as x^N, roots as rootn:N.
    function: String,
    /// Start of the range, such as 1, 0.75 or 0x1.8p-3.
    #[arg(long, allow_hyphen_values = true, value_parser = parse_number)]
    from: Option<f64>,
    /// End of the range, not in it.
    #[arg(long, allow_hyphen_values = true, value_parser = parse_number)]
    to: Option<f64>,
    /// The whole domain; binades whose cases follow exactly from those of others are left out, and named.
    #[arg(long, conflicts_with_all = ["from", "to"])]
    all: bool,
    /// Stop after this time, such as 9m, 2h or 30s; --resume goes on.
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    max_time: Option<f64>,
    /// Identical bits after the round bit, at least. With --all by default as many as give no more than 10^5 cases.
    #[arg(long, value_name = "K", allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..=200))]
    bits: Option<u32>,
    /// Format of arguments and results: binary64; binary32, bfloat16 and binary16 visit every argument,
    /// by default of the whole domain, and count them by their number of identical bits.
    #[arg(long = "type", value_name = "FORMAT", default_value = "binary64", value_parser = parse_format)]
    number: Number,
    /// Where to search.
    #[arg(long, value_enum, default_value = "cpu")]
    device: DeviceArg,
    /// Number of the GPU.
    #[arg(long, default_value_t = 0, allow_negative_numbers = true, value_parser = clap::value_parser!(i32).range(0..))]
    gpu: i32,
    /// Write the list to this file: .wc (as CORE-MATH has them), .csv, .json, otherwise text.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Write the certificate here while searching (by default beside --out, with .cert added).
    #[arg(long, value_name = "FILE")]
    certificate: Option<PathBuf>,
    /// Go on with the search that the certificate has begun.
    #[arg(long)]
    resume: bool,
    /// Threads; 0 for all cores.
    #[arg(long, default_value_t = 0, allow_negative_numbers = true, value_parser = crate::parse_threads)]
    threads: usize,
    /// Processes of this machine that share the work; a lost one's part is done by the others. Ranks of
    /// mpirun share it too, one GPU each, where kerf was built for it.
    #[arg(long, default_value_t = 0, allow_negative_numbers = true, value_parser = crate::parse_threads)]
    processes: usize,
    /// Instructions: scalar, avx2 or avx512; by default the fastest that the processor has.
    #[arg(long, value_name = "ISA", value_parser = parse_isa)]
    vectors: Option<Isa>,
    /// Search even where the list will be long or the search slow.
    #[arg(long)]
    yes: bool,
}

fn parse_number(s: &str) -> Result<f64, ArgumentError> {
    let expected = "a number that f64 has, such as 1.5 or 0x1.8p+0";
    parse(s).ok_or_else(|| ArgumentError::expected(expected))
}

/// Seconds of a time such as 9m, 2h, 30s or 30.
fn parse_time(s: &str) -> Result<f64, ArgumentError> {
    let (number, unit) = match s.char_indices().next_back() {
        Some((i, 's')) => (&s[..i], 1.0),
        Some((i, 'm')) => (&s[..i], 60.0),
        Some((i, 'h')) => (&s[..i], 3600.0),
        _ => (s, 1.0),
    };
    let seconds = number.parse::<f64>().ok().map(|n| n * unit);
    seconds
        .filter(|t| (1e-3..1e9).contains(t))
        .ok_or_else(|| ArgumentError::expected("a time such as 9m, 2h or 30s"))
}

fn parse_format(s: &str) -> Result<Number, ArgumentError> {
    let names = FORMATS.map(|f| f.name).join(", ");
    Number::find(s).ok_or_else(|| ArgumentError::expected(format!("one of {names}")))
}

fn parse_isa(s: &str) -> Result<Isa, ArgumentError> {
    let all = Isa::all();
    let found = all.iter().find(|i| i.name() == s);
    found.copied().ok_or_else(|| {
        let names: Vec<&str> = all.iter().map(|i| i.name()).collect();
        ArgumentError::OtherIsa(names.join(", "))
    })
}

fn find(name: &str) -> Result<ElementaryFunction, Failure> {
    let lower = name.to_lowercase();
    if let Some(f) = ElementaryFunction::find(&lower) {
        return Ok(f);
    }
    let mut names: Vec<&str> = FUNCTIONS.iter().map(|f| f.0).collect();
    names.extend(["verify", "check-libm", "vectors"]);
    let f = Failure::new(format!("there is no function {name}"));
    Err(match suggest::did_you_mean(&lower, names) {
        Some(help) => f.help(help),
        None => f.help(format!(
            "known are {}, and x^N and rootn:N for integers N from -{LARGEST_POWER} to {LARGEST_POWER} except 0 and 1",
            FUNCTIONS.map(|f| f.0).join(", ")
        )),
    })
}

/// Runs the command.
pub fn run(a: &Args, format: Format, style: Style) -> Result<i32, Failure> {
    match (&a.command, &a.search) {
        (Some(Command::Verify(v)), _) => verify::run(v, format, style),
        (Some(Command::CheckLibm(c)), _) if !c.library.is_empty() => {
            libraries::run(c, format, style)
        }
        (Some(Command::CheckLibm(c)), _) => libm::run(c, format, style),
        (Some(Command::Vectors(v)), _) => vectors::run(v),
        (None, Some(s)) if s.number.name == "binary64" => search::run(s, format, style),
        (None, Some(s)) => small::run(s, format, style),
        (None, None) => Err(Failure::new("no function is given").help("kerf hardround --help")),
    }
}

/// Threads to use.
fn threads(wanted: usize) -> usize {
    match wanted {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        n => n,
    }
}
