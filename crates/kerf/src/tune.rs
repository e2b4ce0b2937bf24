//! `kerf tune`: the fastest plan within a tolerance.
mod app;
mod args;
pub mod check;
mod count_launches;
mod progress;
pub mod relay;
mod summary;

pub use args::Args;
pub(crate) use args::{By, parse_format};
use args::{Switch, What};

use crate::fail::Failure;
use crate::guard;
use crate::output::{Format, Style, note, say};
use crate::parse::allowed;
use crate::{DeviceArg, device, in_utf8, toolchain};
use kerf_device::breakeven;
use kerf_exec::ExecError;
use kerf_exec::cpu::SanitizeOptions;
use kerf_num::Metric;
use kerf_run::job::{Device, Job, ReferenceRoute};
use kerf_search::StrategyError;
use kerf_tune::approx::Approx;
use kerf_tune::evaluate::WorkerProgram;
use kerf_tune::formats::LOWER;
use kerf_tune::launch::auto;
use kerf_tune::launch::strategy::TuneStrategy;
use kerf_tune::launch::tuners::Factor;
use kerf_tune::result::SearchVerdict;
use kerf_tune::subject::SubjectError;
use kerf_tune::tune::{self, TuneError, TuneEvent, TuneRequest};
use kerf_tune::validate::Trials;
use kerf_workload::Workload;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Seconds that a timed sample lasts at least, on a GPU.
pub const SAMPLE_S: f64 = 1e-3;

/// Samples of a time, on a GPU, where nobody says how many.
pub const REPEATS: u32 = 15;

/// What may change of math calls and warps.
fn approx(a: &Args, strategy: TuneStrategy) -> Result<Option<Approx>, Failure> {
    let degree = strategy.is_one_degree();
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

pub(crate) fn worker_program() -> Result<WorkerProgram, Failure> {
    let path = std::env::current_exe()
        .map_err(|e| Failure::new(format!("this program cannot find itself: {e}")))?;
    Ok(WorkerProgram {
        path,
        args: vec!["worker".into()],
    })
}

pub(crate) fn cores(asked: usize) -> usize {
    match asked {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        n => n,
    }
}

/// The file that commands lock while they use a GPU, so that none is measured beside another.
pub(crate) fn gpu_lock(gpu: i32) -> PathBuf {
    std::env::temp_dir().join(format!("kerf-gpu-{gpu}.lock"))
}

/// What all evaluations have in common, at the sizes given and else the CPU's ([`Job::at_sizes_of_device`]).
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
        reference_route: match cuda {
            true => ReferenceRoute::Gpu,
            false => ReferenceRoute::Cpu,
        },
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
                StrategyError::Unknown(name) => crate::search::did_you_mean(name),
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
struct AskedStrategy {
    strategy: TuneStrategy,
    /// Launch shapes are all that is tuned.
    shapes: bool,
}

impl AskedStrategy {
    /// The strategy by its name, where there is one of that name.
    fn from_args(a: &Args) -> Result<AskedStrategy, Failure> {
        let shapes = a.what.iter().all(|w| *w == What::Launch);
        let strategy = match (&a.strategy, shapes) {
            (Some(name), _) => name.parse().map_err(|e| refused(TuneError::from(e)))?,
            (None, true) => TuneStrategy::Launch,
            (None, false) => TuneStrategy::GUIDED,
        };
        Ok(AskedStrategy { strategy, shapes })
    }

    /// Refuses what the strategy is not for.
    fn check(&self, a: &Args) -> Result<(), Failure> {
        let name = self.strategy;
        if name.is_staged() && (self.shapes || !a.what.contains(&What::Launch)) {
            return Err(Failure::new(format!(
                "{name} searches launches and something else one after the other"
            ))
            .help("add --what precision,launch, or approx"));
        }
        if name.is_of_shapes() && !self.shapes {
            return Err(Failure::new(format!(
                "{name} searches shapes of launches, and nothing else"
            ))
            .help("use guided, or --what launch alone"));
        }
        if a.tuners.is_some() && name != TuneStrategy::Launch {
            return Err(Failure::new(format!(
                "--tuners are those of strategy launch, and {name} runs what it likes"
            ))
            .help("use --what launch without another --strategy"));
        }
        let layout = a.what.contains(&What::Layout) || a.what.contains(&What::Code);
        if layout && (name.is_of_shapes() || name.is_staged() || name.is_one_degree()) {
            return Err(
                Failure::new(format!("{name} does not search layouts of kernels"))
                    .help("use guided with --what layout or --what code"),
            );
        }
        if a.what.contains(&What::Algebra) && (name.is_of_shapes() || name.is_one_degree()) {
            return Err(
                Failure::new(format!("{name} does not search forms of expressions"))
                    .help("use guided with --what algebra"),
            );
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
    // A plan with shapes of its own runs with the file that lists them only: such a file is made for those who ask for it.
    let listed = Workload::read(&common.workload, &common.overrides)
        .is_ok_and(|w| !w.launch_space.default_params().is_empty());
    if a.by_default && !listed {
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

/// The metric that is asked for, by its name or by the unit of the tolerance.
fn metric_of(a: &Args) -> Result<Option<Metric>, Failure> {
    let unit = a.tolerance.and_then(|t| t.metric);
    match (unit, a.metric) {
        (Some(unit), Some(named)) if unit != named => Err(Failure::new(format!(
            "a tolerance in ulp is one of {unit}, and --metric says {named}"
        ))
        .help("leave --metric out, or the unit")),
        (unit, named) => Ok(named.or(unit)),
    }
}

/// Whether elements a thread and the code of kernels are searched: where times tell what they gain.
fn layouts(a: &Args, times_know_layouts: bool) -> Result<(bool, bool), Failure> {
    let (layout, code) = (a.what.contains(&What::Layout), a.what.contains(&What::Code));
    if (layout || code) && !a.by_default && !times_know_layouts {
        return Err(Failure::new(
            "--what layout and code need measured times, or times predicted from machine code: there is neither a GPU nor an assembler",
        )
        .help("run scripts/setup.sh, which installs NVIDIA's assembler; leave out --no-assembler; or leave them out"));
    }
    Ok((layout && times_know_layouts, code && times_know_layouts))
}

/// What is asked of the tuner.
fn request(
    a: Args,
    given: PathBuf,
    strategy: AskedStrategy,
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
    if !a.cpu_sizes {
        common = common.at_sizes_of_device()?;
    }
    let launch = give_shapes(&a, &mut common, &out, strategy.shapes)?;
    if ranks.is_some() {
        // Each rank has a GPU of its own, and one evaluation at a time on it.
        common.lock = None;
    }
    let assembler = match a.no_assembler {
        true => None,
        false => toolchain::assembler(&profile.arch, &common.toolchain()),
    };
    // Only machine code tells what a kernel gains by another layout.
    let (layout, code) = layouts(&a, cuda || assembler.is_some())?;
    Ok(TuneRequest {
        checks: allowed(SanitizeOptions::everything(), &a.allow)?,
        job: common,
        tolerance: a.tolerance.map(|t| t.value).or(a.qos.map(|q| 1.0 - q)),
        metric: metric_of(&a)?.or(quality.then_some(Metric::MeanRel)),
        budget: match strategy.strategy.is_one_degree() {
            true => a.budget.max(usize::from(kerf_tune::setting::PARTS) + 1),
            false => a.budget,
        },
        strategy: strategy.strategy,
        ratio: a.qos_ratio,
        formats: match a.what.contains(&What::Precision) {
            true if a.pairs && breakeven::pairs_of_f32_pay(&profile) => LOWER.to_vec(),
            true => a.formats,
            false => Vec::new(),
        },
        approx,
        launch,
        layout,
        code,
        algebra: a.what.contains(&What::Algebra),
        tuners: match a.tuners {
            Some(some) => some.into_iter().flatten().collect(),
            None => Factor::ALL.to_vec(),
        },
        grouping: a.by.into(),
        storage: a.storage == Switch::On,
        scaled: a.scaled.iter().copied().flatten().collect(),
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
    a.complete();
    let strategy = AskedStrategy::from_args(&a)?;
    if let Some(command) = a.app.clone() {
        let approx = approx(&a, strategy.strategy)?;
        return app::run(a, command, approx, format, style);
    }
    strategy.check(&a)?;
    let approx = approx(&a, strategy.strategy)?;
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
