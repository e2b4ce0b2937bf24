//! `kerf tune`: the fastest plan within a tolerance.
mod app;
pub mod check;
mod estimate;
mod progress;
pub mod relay;
mod summary;

use crate::fail::Failure;
use crate::guard;
use crate::output::{Format, Style, note, say};
use crate::parse::allowed;
use crate::{
    DeviceArg, device, in_utf8, parse_arch, parse_count, parse_limit, parse_seed, parse_size,
    toolchain,
};
use kerf_exec::ExecError;
use kerf_exec::cpu::SanitizeOptions;
use kerf_num::Metric;
use kerf_pass::SiteFormat;
use kerf_run::job::{Device, Job};
use kerf_search::NAMES;
use kerf_search::strategy::{DEGREE_NAMES, STAGED_NAMES, StrategyError};
use kerf_tune::approx::Approx;
use kerf_tune::check::{DEFAULT_CONFIDENCE, DEFAULT_PERTURB};
use kerf_tune::evaluate::WorkerProgram;
use kerf_tune::launch::auto;
use kerf_tune::launch::strategy::NAMES as LAUNCH_NAMES;
use kerf_tune::launch::tuners::{Factor, UnknownFactor};
use kerf_tune::models::CostKind;
use kerf_tune::problem::Grouping;
use kerf_tune::result::SearchVerdict;
use kerf_tune::subject::SubjectError;
use kerf_tune::tune::{self, TuneError, TuneEvent, TuneRequest};
use kerf_tune::validate::Trials;
use kerf_workload::suggest;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Seconds that a timed sample lasts at least, on a GPU.
pub const SAMPLE_S: f64 = 1e-3;

/// Arguments of `kerf tune`.
#[derive(clap::Args)]
pub struct Args {
    /// Workload file (.toml).
    #[arg(required_unless_present = "app")]
    workload: Option<PathBuf>,
    /// Tune a whole application instead, built by kerf cc: the shell command that runs it.
    #[arg(long, value_name = "COMMAND", conflicts_with = "workload")]
    app: Option<String>,
    /// Kinds of faults that the check before the search notes only: bounds, alignment, uninitialised, race, lane,
    /// barrier, overflow.
    #[arg(long, value_delimiter = ',', value_name = "KINDS")]
    allow: Vec<String>,
    /// Compare the numbers of the application's standard output that match: the groups of the pattern, or
    /// the first number of each match.
    #[arg(long, value_name = "REGEX", requires = "app")]
    stdout_pattern: Option<String>,
    /// Compare the numbers of a file that the application writes: .npy, text, or raw scalars with the type
    /// behind a colon (out.bin:f64). Without either, all that it copies from the device is compared.
    #[arg(
        long,
        value_name = "FILE[:TYPE]",
        requires = "app",
        conflicts_with = "stdout_pattern"
    )]
    output_file: Option<String>,
    /// Time by the application's own figure: the first number that matches in its standard output.
    #[arg(long, value_name = "REGEX", requires = "app", conflicts_with = "time")]
    time_pattern: Option<String>,
    /// Time of an application: predicted, of its kernels, or from start to end; by default the kernels' on a
    /// GPU, predicted elsewhere.
    #[arg(long, value_enum, requires = "app")]
    time: Option<AppTime>,
    /// Kernels of the application to tune; by default the longest, until they have 75 % of the run time.
    #[arg(long, value_name = "LIST", value_delimiter = ',', requires = "app")]
    kernels: Vec<String>,
    /// Tune each kernel of the application alone too, and compare: what is lost by not seeing the whole.
    #[arg(long, requires = "app")]
    local: bool,
    /// A run of the application counts as failed unless its standard output matches: for programs that print FAIL and
    /// end with 0.
    #[arg(long, value_name = "REGEX", requires = "app")]
    require: Option<String>,
    /// Seconds after which the search of an application ends with what it has.
    #[arg(long, value_name = "S", requires = "app", allow_negative_numbers = true, value_parser = parse_limit)]
    max_time: Option<f64>,
    /// References smaller than this count as this in relative errors of an application.
    #[arg(
        long,
        value_name = "F",
        requires = "app",
        allow_negative_numbers = true
    )]
    floor: Option<f64>,
    /// Numbers of an application may be NaN where those of the original program are; a workload says so by
    /// `allow_nan` in its [accept].
    #[arg(long, requires = "app")]
    allow_nan: bool,
    /// Largest error that any output may have; by default that of the workload's [accept].
    #[arg(long, value_name = "T", allow_negative_numbers = true)]
    tolerance: Option<f64>,
    /// Quality of service: 1 minus the mean relative error is at least this.
    #[arg(long, value_name = "Q", conflicts_with = "tolerance", allow_negative_numbers = true, value_parser = parse_part)]
    qos: Option<f64>,
    /// The error (by default the mean relative one) is at most this part of the way from the program's own to
    /// that with every math call approximate.
    #[arg(long, value_name = "R", conflicts_with_all = ["tolerance", "qos"], allow_negative_numbers = true, value_parser = parse_part)]
    qos_ratio: Option<f64>,
    /// What the tolerance bounds: max_rel, max_abs, max_ulp, quantile, rms, rel_l2, mean_rel, digits, psnr,
    /// ssim or bp; by default the workload's, or max_rel.
    #[arg(long, value_name = "M")]
    metric: Option<Metric>,
    /// What to tune: precision (formats of operations and memory), approx (math calls by the
    /// special-function unit), launch (block shapes and parameters of [launch_space]), or several as one
    /// search.
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "precision"
    )]
    what: Vec<What>,
    /// Run the fully approximate version in a part of the warps only, and search that part too (with approx).
    #[arg(long, value_enum, default_value = "off")]
    lambda: Switch,
    /// How those warps are chosen: hash (reproducible), slot (%warpid) or warp (index in the block).
    #[arg(long, default_value = "hash")]
    select: kerf_pass::Select,
    /// guided, exhaustive, random, delta-debug, dataflow, naive-ga, ampt-ga (its published static score),
    /// ampt-ga-model (the predicted time in its place), annealing, differential or local;
    /// heu, smp or omg search the part of the warps alone (with --what approx); launch (its default) and
    /// ryoo search shapes alone (with --what launch); launch-first and launch-last search shapes before or after
    /// everything else, each with half of the budget, for comparison with guided.
    #[arg(long, value_name = "NAME")]
    strategy: Option<String>,
    /// Tuners that leave shapes out before strategy launch runs the rest: some of workload, coalescing, concurrency and
    /// spread (default: all), or none.
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parse_tuner)]
    tuners: Option<Vec<Option<Factor>>>,
    /// Evaluations of the search, at most.
    #[arg(long, value_name = "N", default_value_t = 60, allow_negative_numbers = true, value_parser = parse_count)]
    budget: usize,
    /// Formats that operations may be lowered to: f32, f16, bf16.
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "f32",
        value_parser = parse_format
    )]
    formats: Vec<SiteFormat>,
    /// What changes its format as one: source variables, chains of operations (the def-use rule), lines
    /// or single sites.
    #[arg(long, value_enum, default_value = "variable")]
    by: By,
    /// Hold buffers, shared and local arrays in narrower formats too.
    #[arg(long, value_enum, default_value = "on")]
    storage: Switch,
    /// Where errors are measured, and with cuda times too.
    #[arg(long, value_enum, default_value = "cpu")]
    device: DeviceArg,
    /// Number of the GPU.
    #[arg(long, default_value_t = 0, allow_negative_numbers = true, value_parser = clap::value_parser!(i32).range(0..))]
    gpu: i32,
    /// Device profile that times are predicted for, where they are not measured.
    #[arg(long, value_name = "NAME|FILE", default_value = "h200")]
    profile: String,
    /// How times are predicted: from a counting run on the CPU and the profile, or by the static score of
    /// AMPT-GA. Measured times replace predicted ones.
    #[arg(long, value_enum, default_value = "counts")]
    cost: Cost,
    /// Do not guide the search by machine code as well: where times are measured and NVIDIA's assembler is at hand, `guided` has
    /// up to 64 plans of single kernels for each core compiled, all of them first where they are no more.
    #[arg(long)]
    no_assembler: bool,
    /// Result folder; by default the workload's name with `-tuned`, here.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Run each group alone first, an evaluation each beside the budget: its effect on every output, which
    /// guided then knows.
    #[arg(long)]
    sensitivity: bool,
    /// Seed of the search. The inputs have the workload's own.
    #[arg(long, default_value_t = 1, allow_negative_numbers = true, value_parser = parse_seed)]
    seed: u64,
    /// Go on with an interrupted search: no evaluation in the folder is made again.
    #[arg(long)]
    resume: bool,
    /// Start a search that is estimated to take more than two hours. The estimate is made from the program's own
    /// evaluation; without this option such a search is refused with it.
    #[arg(long)]
    yes: bool,
    /// Inputs to validate the plan on: half from other seeds, half perturbed.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 20,
        allow_negative_numbers = true
    )]
    validate: usize,
    /// How far inputs are perturbed, over the spread of their values.
    #[arg(long, value_name = "V", default_value_t = DEFAULT_PERTURB, allow_negative_numbers = true, value_parser = parse_perturb)]
    perturb: f64,
    /// Confidence of the validation's bound.
    #[arg(long, value_name = "C", default_value_t = DEFAULT_CONFIDENCE, allow_negative_numbers = true, value_parser = parse_confidence)]
    confidence: f64,
    /// Replace a size or launch parameter: n=4096.
    #[arg(long = "size", value_parser = parse_size)]
    sizes: Vec<(String, i64)>,
    /// Timed runs of an evaluation (GPU).
    #[arg(long, default_value_t = 15, allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..))]
    repeats: u32,
    /// Seconds over which the energy of the plan and of the program is measured (GPU; at least 5 for a
    /// steady figure).
    #[arg(long, default_value_t = 0.0, allow_negative_numbers = true, value_parser = crate::parse_window)]
    energy: f64,
    /// Evaluations at a time; 0: one on a GPU, elsewhere as many as there are cores. On a GPU they take turns
    /// to measure times.
    #[arg(long, default_value_t = 0, allow_negative_numbers = true, value_parser = crate::parse_threads)]
    workers: usize,
    /// Seconds after which an evaluation counts as hanging.
    #[arg(long, default_value_t = 600.0, allow_negative_numbers = true, value_parser = parse_limit)]
    timeout: f64,
    /// Target architecture.
    #[arg(long, value_parser = parse_arch)]
    arch: Option<String>,
}

#[derive(Clone, Copy, PartialEq, clap::ValueEnum)]
enum Switch {
    On,
    Off,
}

#[derive(Clone, Copy, PartialEq, clap::ValueEnum)]
enum AppTime {
    Predicted,
    Kernels,
    Wall,
}

#[derive(Clone, Copy, PartialEq, clap::ValueEnum)]
enum What {
    Precision,
    Approx,
    Launch,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Cost {
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

pub(crate) fn parse_format(s: &str) -> Result<SiteFormat, String> {
    let known = s.parse().ok();
    let narrow = known.filter(|f| kerf_tune::formats::NARROW.contains(f));
    narrow.ok_or_else(|| "expected f32, f16 or bf16".into())
}

fn parse_part(s: &str) -> Result<f64, String> {
    let v = s.parse().ok().filter(|v| *v > 0.0 && *v < 1.0);
    v.ok_or_else(|| "expected a number between 0 and 1, e.g. 0.8".into())
}

/// What may change of math calls and warps.
/// A tuner, or `none` of them.
fn parse_tuner(text: &str) -> Result<Option<Factor>, String> {
    match text {
        "none" => Ok(None),
        t => t
            .parse()
            .map(Some)
            .map_err(|e: UnknownFactor| e.to_string()),
    }
}

fn approx(a: &Args, strategy: &str) -> Result<Option<Approx>, Failure> {
    let degree = DEGREE_NAMES.contains(&strategy);
    let only = a.what.iter().all(|w| *w == What::Approx);
    if degree && !only {
        return Err(Failure::new(format!(
            "{} searches the part of the warps that runs approximate math, and nothing else",
            strategy
        ))
        .help("add --what approx, or use guided"));
    }
    if !a.what.contains(&What::Approx) {
        if a.lambda == Switch::On || a.qos_ratio.is_some() {
            let option = if a.lambda == Switch::On {
                "--lambda"
            } else {
                "--qos-ratio"
            };
            return Err(
                Failure::new(format!("{option} is about approximate math calls"))
                    .help("add --what approx, or --what precision,approx"),
            );
        }
        return Ok(None);
    }
    Ok(Some(Approx {
        calls: !degree,
        warps: (degree || a.lambda == Switch::On).then_some(a.select),
    }))
}

fn parse_perturb(s: &str) -> Result<f64, String> {
    let v = s.parse().ok().filter(|v| (0.0..=10.0).contains(v));
    v.ok_or_else(|| "expected a number from 0 to 10, e.g. 0.001".into())
}

fn parse_confidence(s: &str) -> Result<f64, String> {
    let v = s.parse().ok().filter(|v| *v > 0.0 && *v < 1.0);
    v.ok_or_else(|| "expected a number between 0 and 1, e.g. 0.95".into())
}

fn worker_program() -> Result<WorkerProgram, Failure> {
    let path = std::env::current_exe()
        .map_err(|e| Failure::new(format!("this program cannot find itself: {e}")))?;
    Ok(WorkerProgram {
        path,
        args: vec!["worker".into()],
    })
}

fn cores(asked: usize) -> usize {
    match asked {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        n => n,
    }
}

/// The file that commands lock while they use a GPU, so that none is measured beside another.
pub(crate) fn gpu_lock(gpu: i32) -> PathBuf {
    std::env::temp_dir().join(format!("kerf-gpu-{gpu}.lock"))
}

/// What all evaluations have in common.
pub(crate) fn job(
    workload: PathBuf,
    sizes: Vec<(String, i64)>,
    cuda: bool,
    gpu: i32,
    repeats: u32,
    arch: Option<String>,
) -> Result<Job, Failure> {
    let arch = match (arch, cuda) {
        (Some(a), _) => a,
        (None, true) => format!("sm_{}", kerf_exec::cuda::CudaExecutor::capability(gpu)?),
        (None, false) => "sm_90".to_owned(),
    };
    let tools = toolchain::discover(&arch);
    Ok(Job {
        overrides: sizes,
        device: if cuda { Device::Cuda } else { Device::Cpu },
        ordinal: gpu,
        reference: true,
        warmup: 2,
        repeats,
        sample_s: SAMPLE_S,
        lock: cuda.then(|| gpu_lock(gpu)),
        ..Job::plain(workload, &tools)
    })
}

impl From<SubjectError> for Failure {
    fn from(e: SubjectError) -> Failure {
        match e {
            SubjectError::Compile(e) => e.into(),
            other => Failure::new(other.to_string()),
        }
    }
}

fn refused(e: TuneError) -> Failure {
    match e {
        TuneError::Subject(e) => e.into(),
        TuneError::Baseline(e) => e.into(),
        TuneError::Undefined(ref fault) => {
            let kind = match fault {
                ExecError::Fault(f) => f.kind.checked_name(),
                ExecError::Undefined { kind, .. } => kind.checked_name(),
                _ => None,
            };
            let text = e.to_string();
            Failure::new(text).help(match kind {
                Some(kind) => format!(
                    "mend the kernel, or the sizes and buffers of the workload; kerf run --memcheck shows the same; --allow {kind} searches all the same"
                ),
                None => "mend the kernel, or the sizes and buffers of the workload".into(),
            })
        }
        TuneError::Strategy(e) => {
            let help = match &e {
                StrategyError::Unknown(name) => {
                    suggest::did_you_mean(&name.replace('_', "-"), NAMES)
                }
                StrategyError::TooLarge(..) => Some("use guided, or --by chain".into()),
                StrategyError::NotOrdered(_) => None,
                StrategyError::NotOneDegree(_)
                | StrategyError::NotBoth(_)
                | StrategyError::NoMetrics(_) => Some("use guided, or another strategy".into()),
            };
            let f = Failure::new(e.to_string());
            match help {
                Some(h) => f.help(h),
                None => f,
            }
        }
        other => Failure::new(other.to_string()),
    }
}

/// A strategy that was asked for, and what it is for.
struct Strategy {
    name: String,
    /// Launch shapes are all that is tuned.
    shapes: bool,
    /// It searches the part of the warps that is approximate.
    degree: bool,
}

impl Strategy {
    /// The strategy by its name, where there is one of that name.
    fn named(a: &Args) -> Result<Strategy, Failure> {
        let shapes = a.what.iter().all(|w| *w == What::Launch);
        let default = if shapes { LAUNCH_NAMES[0] } else { NAMES[0] };
        let name = a.strategy.as_deref().unwrap_or(default).replace('_', "-");
        let degree = DEGREE_NAMES.contains(&name.as_str());
        let s = Strategy {
            name,
            shapes,
            degree,
        };
        // AMPT-GA without one of its parts, for comparison.
        let parts = ["no-groups", "no-filter", "no-first", "no-score"];
        let part = s.name.strip_prefix("ampt-ga-");
        let part = part.is_some_and(|p| parts.contains(&p));
        let known = NAMES.contains(&s.name.as_str()) || degree || s.own() || s.stages() || part;
        match known {
            true => Ok(s),
            false => Err(refused(StrategyError::Unknown(s.name).into())),
        }
    }

    /// It searches launch shapes alone.
    fn own(&self) -> bool {
        LAUNCH_NAMES.contains(&self.name.as_str())
    }

    /// It searches launches and something else one after the other.
    fn stages(&self) -> bool {
        STAGED_NAMES.contains(&self.name.as_str())
    }

    /// Refuses what the strategy is not for.
    fn check(&self, a: &Args) -> Result<(), Failure> {
        let name = &self.name;
        if self.stages() && (self.shapes || !a.what.contains(&What::Launch)) {
            return Err(Failure::new(format!(
                "{name} searches launches and something else one after the other"
            ))
            .help("add --what precision,launch, or approx"));
        }
        if self.own() && !self.shapes {
            return Err(Failure::new(format!(
                "{name} searches shapes of launches, and nothing else"
            ))
            .help("use guided, or --what launch alone"));
        }
        if a.tuners.is_some() && name != "launch" {
            return Err(Failure::new(format!(
                "--tuners are those of strategy launch, and {name} runs what it likes"
            ))
            .help("use --what launch without another --strategy"));
        }
        Ok(())
    }
}

/// Gives a workload's launches shapes to choose from, where it has none and some are asked for; says whether launches are
/// tuned.
fn give_shapes(a: &Args, common: &mut Job, out: &Path, shapes: bool) -> Result<bool, Failure> {
    if !a.what.contains(&What::Launch) {
        return Ok(false);
    }
    match auto::give_shapes(common, out) {
        Ok(None) => Ok(true),
        Ok(Some((path, notes))) => {
            notes.iter().for_each(|n| note(&format!("note: {n}")));
            common.workload = path;
            Ok(true)
        }
        // What else is asked for can still be tuned.
        Err(TuneError::Problem(e)) if !shapes => {
            note(&format!("warning: launches stay as they are: {e}"));
            Ok(false)
        }
        Err(e) => Err(refused(e)),
    }
}

/// What is asked of the tuner.
fn request(
    a: Args,
    given: PathBuf,
    strategy: Strategy,
    approx: Option<Approx>,
    ranks: Option<&relay::Others>,
) -> Result<TuneRequest, Failure> {
    let quality = a.qos.is_some() || a.qos_ratio.is_some();
    let profile = device::load(&a.profile)?;
    let out = a.out.clone().unwrap_or_else(|| {
        let stem = given.file_stem().unwrap_or_default();
        PathBuf::from(format!("{}-tuned", stem.to_string_lossy()))
    });
    // `kerf check` may be called from elsewhere.
    let workload = std::path::absolute(&given).unwrap_or(given);
    let cuda = a.device == DeviceArg::Cuda;
    let (sizes, arch) = (a.sizes.clone(), a.arch.clone());
    let mut common = job(workload, sizes, cuda, a.gpu, a.repeats, arch)?;
    let launch = give_shapes(&a, &mut common, &out, strategy.shapes)?;
    if ranks.is_some() {
        // Each rank has a GPU of its own, and one evaluation at a time on it.
        common.lock = None;
    }
    let assembler = match a.no_assembler {
        true => None,
        false => toolchain::assembler(&profile.arch, &common.toolchain()),
    };
    Ok(TuneRequest {
        checks: allowed(SanitizeOptions::everything(), &a.allow)?,
        job: common,
        tolerance: a.tolerance.or(a.qos.map(|q| 1.0 - q)),
        metric: a.metric.or(quality.then_some(Metric::MeanRel)),
        budget: match strategy.degree {
            true => a.budget.max(usize::from(kerf_tune::setting::PARTS) + 1),
            false => a.budget,
        },
        strategy: strategy.name,
        ratio: a.qos_ratio,
        formats: match a.what.contains(&What::Precision) {
            true => a.formats,
            false => Vec::new(),
        },
        approx,
        launch,
        tuners: match a.tuners {
            Some(some) => some.into_iter().flatten().collect(),
            None => Factor::ALL.to_vec(),
        },
        grouping: a.by.into(),
        storage: a.storage == Switch::On,
        energy_s: a.energy,
        profile,
        cost: a.cost.into(),
        assembler,
        out,
        seed: a.seed,
        sensitivity: a.sensitivity,
        resume: a.resume,
        confirmed: a.yes,
        trials: Trials {
            inputs: a.validate,
            perturb: a.perturb,
            confidence: a.confidence,
            skip: 0,
        },
        limit: Duration::from_secs_f64(a.timeout),
        workers: match (a.device, a.workers) {
            (DeviceArg::Cuda, n) => n.max(1),
            (_, n) => cores(n),
        },
        program: worker_program()?,
        remote: ranks.map_or(Vec::new(), |r| r.programs.clone()),
    })
}

/// Runs `kerf tune`: 0 with a plan, 1 if the tolerance cannot be met.
pub fn run(mut a: Args, format: Format, style: Style) -> Result<i32, Failure> {
    let each = match a.device {
        DeviceArg::Cuda => 1,
        DeviceArg::Cpu => cores(a.workers),
    };
    let ranks = match relay::ranks(each)? {
        relay::Place::Served => return Ok(0),
        relay::Place::Here(ranks) => ranks,
    };
    for path in [a.workload.as_ref(), a.out.as_ref()].into_iter().flatten() {
        in_utf8(path)?;
    }
    let strategy = Strategy::named(&a)?;
    if let Some(command) = a.app.clone() {
        return app::run(a, command, format, style);
    }
    strategy.check(&a)?;
    let approx = approx(&a, &strategy.name)?;
    if a.qos_ratio.is_some() && a.metric.is_some_and(Metric::more_is_better) {
        return Err(Failure::new("--qos-ratio is a part of an error")
            .help("use a metric of which less is better, e.g. rms"));
    }
    let given = a.workload.take().unwrap_or_default();
    guard::survives(&given)?;
    let name = given.display().to_string();
    let request = request(a, given, strategy, approx, ranks.as_ref())?;
    let mut progress = progress::Progress::new();
    let mut watch = |e: &TuneEvent| progress.show(e);
    let result = tune::tune(&request, &mut watch).map_err(refused);
    progress.end();
    let r = result?;
    match format {
        Format::Json => {
            let text = serde_json::to_string_pretty(&r).map_err(|e| Failure::new(e.to_string()))?;
            say(&(text + "\n"))?;
        }
        Format::Human | Format::Csv => say(&summary::human(&r, &name, &request.out, style))?,
    }
    Ok(i32::from(r.verdict == SearchVerdict::Unmet))
}
