//! Arguments of `kerf tune`.
use crate::parse::{ArgumentError, parse_if};
use crate::{DeviceArg, parse_arch, parse_count, parse_gib, parse_limit, parse_seed, parse_size};
use kerf_num::Metric;
use kerf_num::scaled::ElementCode;
use kerf_pass::SiteFormat;
use kerf_tune::check::{DEFAULT_CONFIDENCE, DEFAULT_PERTURB};
use kerf_tune::formats::{LOWER, NARROW};
use kerf_tune::launch::strategy::TuneStrategy;
use kerf_tune::launch::tuners::Factor;
use kerf_tune::models::CostKind;
use kerf_tune::problem::Grouping;
use std::path::PathBuf;

/// Arguments of `kerf tune`.
#[derive(clap::Args)]
pub struct Args {
    /// Workload file (.toml).
    #[arg(required_unless_present = "app")]
    pub(super) workload: Option<PathBuf>,
    /// Tune a whole application instead, built by kerf cc: the shell command that runs it.
    #[arg(long, value_name = "COMMAND", conflicts_with = "workload")]
    pub(super) app: Option<String>,
    /// Kinds of faults that the check before the search notes only: bounds, alignment, uninitialised, race, lane,
    /// barrier, overflow.
    #[arg(long, value_delimiter = ',', value_name = "KINDS")]
    pub(super) allow: Vec<String>,
    /// Compare the numbers of the application's standard output that match: the groups of the pattern, or
    /// the first number of each match.
    #[arg(long, value_name = "REGEX", requires = "app")]
    pub(super) stdout_pattern: Option<String>,
    /// Compare the numbers of a file that the application writes: .npy, text, or raw scalars with the type
    /// behind a colon (out.bin:f64). Without either, all that it copies from the device is compared.
    #[arg(
        long,
        value_name = "FILE[:TYPE]",
        requires = "app",
        conflicts_with = "stdout_pattern"
    )]
    pub(super) output_file: Option<String>,
    /// Time by the application's own figure: the first number that matches in its standard output.
    #[arg(long, value_name = "REGEX", requires = "app", conflicts_with = "time")]
    pub(super) time_pattern: Option<String>,
    /// Time of an application: predicted, of its kernels, or from start to end; by default the kernels' on a
    /// GPU, predicted elsewhere.
    #[arg(long, value_enum, requires = "app")]
    pub(super) time: Option<AppTime>,
    /// Kernels of the application to tune; by default the longest, until they have 75 % of the run time.
    #[arg(long, value_name = "LIST", value_delimiter = ',', requires = "app")]
    pub(super) kernels: Vec<String>,
    /// Tune each kernel of the application alone too, and compare: what is lost by not seeing the whole.
    #[arg(long, requires = "app")]
    pub(super) local: bool,
    /// A run of the application counts as failed unless its standard output matches: for programs that print FAIL and
    /// end with 0.
    #[arg(long, value_name = "REGEX", requires = "app")]
    pub(super) require: Option<String>,
    /// Another command of the application, e.g. with other arguments: a plan has to be accepted there too before it is
    /// chosen. May be given several times.
    #[arg(long, value_name = "COMMAND", requires = "app")]
    pub(super) validate_with: Vec<String>,
    /// Restart the application for every candidate. Without this its first run is recorded, and candidates are replayed
    /// from the record where that gives the bits of the program.
    #[arg(long, requires = "app")]
    pub(super) no_replay: bool,
    /// GiB that the record of an application's run may have, in the folder for temporary files.
    #[arg(long, value_name = "GIB", requires = "app", default_value_t = 16.0, allow_negative_numbers = true, value_parser = parse_gib)]
    pub(super) record_limit: f64,
    /// Seconds after which the search of an application ends with what it has, from its first evaluation on: runs of
    /// the program before and after come on top.
    #[arg(long, value_name = "S", requires = "app", allow_negative_numbers = true, value_parser = parse_limit)]
    pub(super) max_time: Option<f64>,
    /// References smaller than this count as this in relative errors of an application.
    #[arg(
        long,
        value_name = "F",
        requires = "app",
        allow_negative_numbers = true
    )]
    pub(super) floor: Option<f64>,
    /// Numbers of an application may be NaN where those of the original program are; a workload says so by
    /// `allow_nan` in its [accept].
    #[arg(long, requires = "app")]
    pub(super) allow_nan: bool,
    /// Largest error that any output may have; by default that of the workload's [accept]. 2ulp is short for 2 with
    /// --metric max_ulp. Where the program itself misses it, the few operations that need them get wider formats (double words,
    /// or f64 for f32), and the others may still be lowered.
    #[arg(long, value_name = "T", allow_negative_numbers = true, value_parser = parse_tolerance)]
    pub(super) tolerance: Option<Tolerance>,
    /// Quality of service: 1 minus the mean relative error is at least this.
    #[arg(long, value_name = "Q", conflicts_with = "tolerance", allow_negative_numbers = true, value_parser = parse_part)]
    pub(super) qos: Option<f64>,
    /// The error (by default the mean relative one) is at most this part of the way from the program's own to
    /// that with every math call approximate.
    #[arg(long, value_name = "R", conflicts_with_all = ["tolerance", "qos"], allow_negative_numbers = true, value_parser = parse_part)]
    pub(super) qos_ratio: Option<f64>,
    /// What the tolerance bounds: max_rel, max_abs, max_ulp, quantile, rms, rel_l2, rel_linf, mean_rel, digits,
    /// psnr, ssim or bp; by default the workload's, or max_rel, and with --app rel_linf (the largest error over the
    /// largest value of its array).
    #[arg(long, value_name = "M")]
    pub(super) metric: Option<Metric>,
    /// What to tune: precision (formats of operations and memory), approx (math calls by the
    /// special-function unit), launch (block shapes and parameters of [launch_space]), layout (how many elements a
    /// thread computes; needs a GPU or an assembler; with a GPU how records of buffers are stored, too), code (registers of a thread and copies of loops; needs the same), algebra (expressions written differently: reciprocals, roots, powers,
    /// multiply-adds), or several as one search. By default all but algebra, as far as the
    /// strategy can; of an application launch is the threads of its blocks, where times are measured.
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(super) what: Vec<What>,
    /// Nobody said what to tune.
    #[arg(skip)]
    pub(super) by_default: bool,
    /// Nobody said which formats, so that pairs of f32 are among them where the profile speaks for them.
    #[arg(skip)]
    pub(super) pairs: bool,
    /// Run the fully approximate version in a part of the warps only, and search that part too (with approx).
    #[arg(long, value_enum, default_value = "off")]
    pub(super) lambda: Switch,
    /// How those warps are chosen: hash (reproducible), slot (%warpid) or warp (index in the block).
    #[arg(long, default_value = "hash")]
    pub(super) select: kerf_pass::Select,
    /// guided, exhaustive, random, delta-debug, dataflow, naive-ga, ampt-ga (its published static score),
    /// ampt-ga-model (the predicted time in its place), annealing, differential or local;
    /// heu, smp or omg search the part of the warps alone (with --what approx); launch (its default) and
    /// ryoo search shapes alone (with --what launch); launch-first and launch-last search shapes before or after
    /// everything else, each with half of the budget, for comparison with guided.
    #[arg(long, value_name = "NAME")]
    pub(super) strategy: Option<String>,
    /// Tuners that leave shapes out before strategy launch runs the rest: some of workload, coalescing, concurrency and
    /// spread (default: all), or none.
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parse_tuner)]
    pub(super) tuners: Option<Vec<Option<Factor>>>,
    /// Evaluations of the search, at most.
    #[arg(long, value_name = "N", default_value_t = 60, allow_negative_numbers = true, value_parser = parse_count)]
    pub(super) budget: usize,
    /// Formats that operations may be lowered to: dw32 (a pair of f32, from f64), f32, f16, bf16. By default f32, f16 and bf16 where
    /// the strategy is guided, f32 elsewhere; and with guided dw32, where the profile says that its sums and products take
    /// less time than those of f64.
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parse_format)]
    pub(super) formats: Vec<SiteFormat>,
    /// What changes its format as one: source variables, chains of operations (the def-use rule), lines
    /// or single sites.
    #[arg(long, value_enum, default_value = "variable")]
    pub(super) by: By,
    /// Hold buffers, shared and local arrays in narrower formats too.
    #[arg(long, value_enum, default_value = "on")]
    pub(super) storage: Switch,
    /// Scaled formats that memory may be held in beside --formats: i16 and i8 (integers), e4m3 and e5m2 (8-bit floating point), each
    /// with a power of two for a buffer, from the range of its values; or none. By default all where the strategy is guided and
    /// --formats is not given, as far as the tolerance is likely to allow them. Applications have none.
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parse_code)]
    pub(super) scaled: Vec<Option<ElementCode>>,
    /// Where errors are measured, and with cuda times too.
    #[arg(long, value_name = "auto|cpu|cuda", default_value = "auto", value_parser = crate::parse_device)]
    pub(super) device: DeviceArg,
    /// Number of the GPU.
    #[arg(long, default_value_t = 0, allow_negative_numbers = true, value_parser = clap::value_parser!(i32).range(0..))]
    pub(super) gpu: i32,
    /// Device profile that times are predicted for, where they are not measured.
    #[arg(long, value_name = "NAME|FILE", default_value = "h200")]
    pub(super) profile: String,
    /// How times are predicted: from a counting run on the CPU and the profile, or by the static score of
    /// AMPT-GA. Measured times replace predicted ones.
    #[arg(long, value_enum, default_value = "counts")]
    pub(super) cost: Cost,
    /// Do not use machine code, where NVIDIA's assembler is at hand. With a GPU it guides the search as well: `guided` has up to 64
    /// plans of single kernels for each core compiled, all of them first where they are no more. Without one it
    /// predicts the times of all plans that run.
    #[arg(long)]
    pub(super) no_assembler: bool,
    /// Result folder; by default the workload's name with `-tuned`, here.
    #[arg(long, value_name = "DIR")]
    pub(super) out: Option<PathBuf>,
    /// Run each group alone first, an evaluation each beside the budget: its effect on every output, which
    /// guided then knows.
    #[arg(long)]
    pub(super) sensitivity: bool,
    /// Seed of the search. The inputs have the workload's own.
    #[arg(long, default_value_t = 1, allow_negative_numbers = true, value_parser = parse_seed)]
    pub(super) seed: u64,
    /// Go on with an interrupted search: no evaluation in the folder is made again.
    #[arg(long)]
    pub(super) resume: bool,
    /// Start a search that is estimated to take more than two hours. The estimate is made from the program's own
    /// evaluation; without this option such a search is refused with it.
    #[arg(long)]
    pub(super) yes: bool,
    /// Inputs to validate the plan on: half from other seeds, half perturbed.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 20,
        allow_negative_numbers = true
    )]
    pub(super) validate: usize,
    /// How far inputs are perturbed, over the spread of their values.
    #[arg(long, value_name = "V", default_value_t = DEFAULT_PERTURB, allow_negative_numbers = true, value_parser = parse_perturb)]
    pub(super) perturb: f64,
    /// Confidence of the validation's bound.
    #[arg(long, value_name = "C", default_value_t = DEFAULT_CONFIDENCE, allow_negative_numbers = true, value_parser = parse_confidence)]
    pub(super) confidence: f64,
    /// Replace a size or launch parameter, on a GPU (`[sizes]`) and on the CPU (`[cpu_sizes]`): n=4096.
    #[arg(long = "size", value_parser = parse_size)]
    pub(super) sizes: Vec<(String, i64)>,
    /// The CPU's sizes on a GPU too, where the workload has `[cpu_sizes]`: to compare devices.
    #[arg(long)]
    pub(super) cpu_sizes: bool,
    /// Timed runs of an evaluation, and no more than 5 in the search where they hardly differ (GPU).
    #[arg(long, default_value_t = 15, allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) repeats: u32,
    /// Seconds over which the energy of the plan and of the program is measured (GPU; at least 5 for a
    /// steady figure).
    #[arg(long, default_value_t = 0.0, allow_negative_numbers = true, value_parser = crate::parse_window)]
    pub(super) energy: f64,
    /// Evaluations at a time; 0: one on a GPU, elsewhere as many as there are cores. On a GPU they take turns
    /// to measure times.
    #[arg(long, default_value_t = 0, allow_negative_numbers = true, value_parser = crate::parse_threads)]
    pub(super) workers: usize,
    /// Seconds after which an evaluation counts as hanging.
    #[arg(long, default_value_t = 600.0, allow_negative_numbers = true, value_parser = parse_limit)]
    pub(super) timeout: f64,
    /// Target architecture.
    #[arg(long, value_parser = parse_arch)]
    pub(super) arch: Option<String>,
}

impl Args {
    /// What is tuned, and to which formats, where the command line does not say: all that the strategy can search.
    pub(super) fn complete(&mut self) {
        // What nobody knows is refused later, with the names that there are.
        let named = self.strategy.as_deref().map(str::parse::<TuneStrategy>);
        let strategy = named.map_or(Some(TuneStrategy::GUIDED), Result::ok);
        let guided = strategy == Some(TuneStrategy::GUIDED);
        if self.what.is_empty() {
            self.by_default = true;
            self.what = match strategy {
                Some(s) if s.is_one_degree() => vec![What::Approx],
                Some(s) if s.is_of_shapes() => vec![What::Launch],
                Some(s) if s.is_staged() => vec![What::Precision, What::Launch],
                _ if guided => {
                    // Other expressions gained nothing that variants of math calls did not on the examples.
                    let all = [
                        What::Precision,
                        What::Approx,
                        What::Launch,
                        What::Layout,
                        What::Code,
                    ];
                    // The program's own bits are kept by what rounds nothing.
                    let exact = self.tolerance.is_some_and(|t| t.value == 0.0);
                    let tuned = |w: &What| match w {
                        What::Layout | What::Code | What::Launch => true,
                        What::Precision | What::Approx | What::Algebra => !exact,
                    };
                    all.into_iter().filter(tuned).collect()
                }
                _ => vec![What::Precision],
            };
        }
        if self.scaled.is_empty() && guided && self.app.is_none() && self.formats.is_empty() {
            self.scaled = ElementCode::ALL.map(Some).to_vec();
        }
        if self.formats.is_empty() {
            self.pairs = guided && self.app.is_none();
            self.formats = match guided {
                true => NARROW.to_vec(),
                false => vec![NARROW[0]],
            };
        }
    }
}

#[derive(Clone, Copy, PartialEq, clap::ValueEnum)]
pub(super) enum Switch {
    On,
    Off,
}

#[derive(Clone, Copy, PartialEq, clap::ValueEnum)]
pub(super) enum AppTime {
    Predicted,
    Kernels,
    Wall,
}

#[derive(Clone, Copy, PartialEq, clap::ValueEnum)]
pub(super) enum What {
    Precision,
    Approx,
    Launch,
    Layout,
    Code,
    Algebra,
}

#[derive(Clone, Copy, clap::ValueEnum)]
pub(super) enum Cost {
    Counts,
    Static,
}

impl From<Cost> for CostKind {
    fn from(c: Cost) -> CostKind {
        match c {
            Cost::Counts => CostKind::Counts,
            Cost::Static => CostKind::Static,
        }
    }
}

#[derive(Clone, Copy, clap::ValueEnum)]
pub(crate) enum By {
    Variable,
    Chain,
    Line,
    Site,
}

impl From<By> for Grouping {
    fn from(b: By) -> Grouping {
        match b {
            By::Variable => Grouping::Variable,
            By::Chain => Grouping::Chain,
            By::Line => Grouping::Line,
            By::Site => Grouping::Site,
        }
    }
}

pub(crate) fn parse_format(s: &str) -> Result<SiteFormat, ArgumentError> {
    let lower = |f: &SiteFormat| LOWER.contains(f);
    parse_if(s, lower, "dw32, f32, f16 or bf16")
}

/// A tolerance: a number, or a number of units in the last place, which names its metric.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Tolerance {
    pub value: f64,
    pub metric: Option<Metric>,
}

fn parse_tolerance(s: &str) -> Result<Tolerance, ArgumentError> {
    let (number, metric) = match s.strip_suffix("ulp") {
        Some(n) => (n.trim_end(), Some(Metric::MaxUlp)),
        None => (s, None),
    };
    let value = parse_if(number, |_: &f64| true, "a number, e.g. 1e-6, or 2ulp")?;
    Ok(Tolerance { value, metric })
}

fn parse_part(s: &str) -> Result<f64, ArgumentError> {
    let expected = "a number between 0 and 1, e.g. 0.8";
    parse_if(s, |v| *v > 0.0 && *v < 1.0, expected)
}

/// A code, or `none` of them.
fn parse_code(text: &str) -> Result<Option<ElementCode>, ArgumentError> {
    if text == "none" {
        return Ok(None);
    }
    parse_if(text, |_| true, "i16, i8, e4m3, e5m2 or none").map(Some)
}

/// A tuner, or `none` of them.
fn parse_tuner(text: &str) -> Result<Option<Factor>, ArgumentError> {
    match text {
        "none" => Ok(None),
        t => Ok(Some(t.parse()?)),
    }
}

fn parse_perturb(s: &str) -> Result<f64, ArgumentError> {
    let expected = "a number from 0 to 10, e.g. 0.001";
    parse_if(s, |v| (0.0..=10.0).contains(v), expected)
}

fn parse_confidence(s: &str) -> Result<f64, ArgumentError> {
    let expected = "a number between 0 and 1, e.g. 0.95";
    parse_if(s, |v| *v > 0.0 && *v < 1.0, expected)
}
