//! One evaluation, as a message: what a worker process is asked, and what it answers.
//!
//! A job names files, not contents: the worker reads the workload and makes the inputs itself, so
//! that parent and child share nothing but this text.
use crate::advice::advice;
use crate::digest::digest;
use crate::mistakes::Mistakes;
use crate::npy;
use crate::run::{RunError, Session};
use crate::scalar::Scalar;
use crate::workload::Workload;
use kerf_exec::cpu::{CpuExecutor, CpuOptions};
use kerf_exec::cuda::CudaExecutor;
use kerf_exec::cuda::watch::{Reading, Watch};
use kerf_exec::{DeviceInfo, ExecError, Executor, KernelStats};
use kerf_ir::compile::{CompileError, Toolchain};
use kerf_ir::finish::{self, Reflect};
use kerf_ir::kernels::KernelInfo;
use kerf_ir::llvm::Module;
use kerf_ir::obstacles::Scope;
use kerf_ir::{kernels, obstacles, program};
use kerf_num::{Dd, Format, Metric};
use kerf_pass::{Plan, PlanError, shadow};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Where to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Device {
    /// The CPU executor.
    Cpu,
    /// An NVIDIA GPU.
    Cuda,
}

/// What is to be done.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Job {
    /// Workload file.
    pub workload: PathBuf,
    /// Sizes and parameters that replace the file's.
    pub overrides: Vec<(String, i64)>,
    /// Seed of the inputs, where not the file's.
    pub seed: Option<u64>,
    /// Where to run.
    pub device: Device,
    /// GPU number.
    pub ordinal: i32,
    /// Plan to apply.
    pub plan: Plan,
    /// Also run the reference and compare.
    pub reference: bool,
    /// Check memory accesses (CPU).
    pub memcheck: bool,
    /// Threads of the CPU executor; 0: all cores.
    pub threads: usize,
    /// Run kernels with barriers as coroutines only (CPU).
    pub coroutines: bool,
    /// Untimed runs before the timed ones.
    pub warmup: u32,
    /// Timed runs.
    pub repeats: u32,
    /// Seconds over which to measure energy (CUDA); 0: not.
    pub energy_s: f64,
    /// Folder for outputs as .npy.
    pub save: Option<PathBuf>,
    /// clang.
    pub clang: Option<PathBuf>,
    /// CUDA folder.
    pub cuda: Option<PathBuf>,
    /// libdevice.
    pub libdevice: Option<PathBuf>,
    /// Architecture.
    pub arch: String,
    /// Module cache.
    pub cache: Option<PathBuf>,
}

/// Times of a run in seconds.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Times {
    /// Median.
    pub median_s: f64,
    /// Interval of the median, about 95 %, by order statistics; the extremes for few samples.
    pub low_s: f64,
    /// Upper end.
    pub high_s: f64,
    /// Every sample, in order.
    pub samples_s: Vec<f64>,
}

impl Times {
    /// Summary of samples; none without any.
    pub fn new(samples: Vec<f64>) -> Option<Times> {
        let mut s = samples.clone();
        s.sort_by(f64::total_cmp);
        let n = s.len();
        if n == 0 {
            return None;
        }
        let median = if n % 2 == 1 {
            s[n / 2]
        } else {
            0.5 * (s[n / 2 - 1] + s[n / 2])
        };
        // Normal approximation of the binomial ranks around the median.
        let half = 0.98 * (n as f64).sqrt();
        let low = ((n as f64 / 2.0 - half).floor().max(0.0)) as usize;
        let high = ((n as f64 / 2.0 + half).ceil() as usize).min(n - 1);
        Some(Times {
            median_s: median,
            low_s: s[low.min(n - 1)],
            high_s: s[high],
            samples_s: samples,
        })
    }
}

/// Energy of one run of the workload.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Energy {
    /// Joules for one run.
    pub per_run_j: f64,
    /// Mean power in watts.
    pub mean_w: f64,
    /// Length of the window in seconds.
    pub window_s: f64,
    /// Runs in the window.
    pub runs: u64,
}

/// An output of the run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Output {
    /// Buffer name.
    pub name: String,
    /// Element type.
    pub element: String,
    /// Elements.
    pub len: usize,
    /// Digest of its bits, NaNs made equal.
    pub digest: String,
    /// File it was saved to.
    pub saved: Option<PathBuf>,
    /// Error reports against the reference, by format of the scalars.
    pub errors: Vec<serde_json::Value>,
    /// Integer scalars that differ from the reference's run.
    pub integer_mismatches: Option<usize>,
    /// Verdict of the workload's acceptance criterion.
    pub verdict: Option<Verdict>,
}

/// Whether an output is close enough.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Verdict {
    /// Metric.
    pub metric: Metric,
    /// Its value (null in JSON for infinite).
    pub value: Option<f64>,
    /// Bound.
    pub tolerance: f64,
    /// Within it?
    pub accepted: bool,
}

/// A comparison that goes the other way in exact arithmetic.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Flip {
    /// How often.
    pub count: u64,
    /// Where.
    pub place: String,
}

/// The reference's own story.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReferenceInfo {
    /// Comparisons that flipped.
    pub flips: Vec<Flip>,
    /// Operations without a shadow.
    pub untracked: Vec<String>,
    /// Seconds that it took.
    pub time_s: f64,
}

/// What a job gave.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Report {
    /// Device.
    pub device: DeviceInfo,
    /// Sizes and parameters in force.
    pub settings: BTreeMap<String, i64>,
    /// Seed of the inputs.
    pub seed: u64,
    /// Times.
    pub times: Option<Times>,
    /// Energy.
    pub energy: Option<Energy>,
    /// Sensors before and after (CUDA).
    pub sensors: Vec<Reading>,
    /// Kernels launched.
    pub kernels: Vec<KernelStats>,
    /// Outputs.
    pub outputs: Vec<Output>,
    /// Reference.
    pub reference: Option<ReferenceInfo>,
    /// What the kernels printed.
    pub printed: String,
    /// Launches of one run.
    pub launches: u64,
    /// Warnings.
    pub warnings: Vec<String>,
}

/// Why a job failed; a value, not a crash.
#[derive(Debug, Clone, Serialize, Deserialize, thiserror::Error)]
pub enum JobError {
    /// The workload file, its inputs or its arguments are wrong.
    #[error("{0}")]
    Input(String),
    /// The source does not compile.
    #[error("{message}")]
    Compile {
        /// What happened.
        message: String,
        /// What to do about it.
        help: Option<String>,
    },
    /// A kernel uses what the device cannot do.
    #[error("{0}")]
    Unsupported(String),
    /// The executor failed.
    #[error("{0}")]
    Exec(ExecError),
    /// The worker died or ran out of time.
    #[error("{0}")]
    Worker(String),
}

impl From<CompileError> for JobError {
    fn from(e: CompileError) -> Self {
        JobError::Compile {
            message: e.to_string(),
            help: Some(advice(&e).to_owned()),
        }
    }
}
impl From<RunError> for JobError {
    fn from(e: RunError) -> Self {
        match e {
            RunError::Exec(e) => JobError::Exec(e),
            other => JobError::Input(other.to_string()),
        }
    }
}
impl From<Mistakes> for JobError {
    fn from(e: Mistakes) -> Self {
        JobError::Input(e.to_string())
    }
}
impl From<PlanError> for JobError {
    fn from(e: PlanError) -> Self {
        let help = match &e {
            PlanError::Malformed(_) | PlanError::Version(_) | PlanError::Pass(_) => "",
            PlanError::UnknownKernel { .. } | PlanError::UnknownSite { .. } => {
                "; help: kerf inspect FILE --all lists kernels and sites"
            }
            PlanError::NoPass { .. } | PlanError::Refused { .. } | PlanError::Shared { .. } => {
                "; help: take the site out of the plan (--plan); kerf inspect FILE --emit plan --all-as dw64 names those that can be pairs"
            }
        };
        JobError::Input(format!("{e}{help}"))
    }
}
impl From<ExecError> for JobError {
    fn from(e: ExecError) -> Self {
        JobError::Exec(e)
    }
}

impl Job {
    /// The toolchain that the job names.
    pub fn toolchain(&self) -> Toolchain {
        Toolchain {
            clang: self.clang.clone(),
            cuda: self.cuda.clone(),
            libdevice: self.libdevice.clone(),
            arch: self.arch.clone(),
            cache: self.cache.clone(),
        }
    }
}

const LIBDEVICE_HELP: &str =
    "run scripts/setup.sh (make setup), or set KERF_LIBDEVICE to libdevice.10.bc";

fn needs_libdevice(m: &Module) -> bool {
    m.functions()
        .iter()
        .any(|f| f.is_declaration() && f.name().starts_with("__nv_"))
}

fn finished(m: &Module, job: &Job) -> Result<(), JobError> {
    let lib = match (&job.libdevice, needs_libdevice(m)) {
        (Some(p), true) => std::fs::read(p).map_err(|e| JobError::Compile {
            message: format!("cannot read {}: {e}", p.display()),
            help: Some(LIBDEVICE_HELP.into()),
        })?,
        (None, true) => {
            return Err(JobError::Compile {
                message: "libdevice.10.bc was not found, and the program calls math functions"
                    .into(),
                help: Some(LIBDEVICE_HELP.into()),
            });
        }
        (_, false) => Vec::new(),
    };
    finish::finish(m, &lib, &job.arch, Reflect::default()).map_err(|e| JobError::Compile {
        message: e.0,
        help: None,
    })
}

fn refuse(
    m: &Module,
    used: &[String],
    infos: &[KernelInfo],
    unlifted: &[kerf_ir::inline_ptx::Unlifted],
) -> Result<(), JobError> {
    let mut lines = Vec::new();
    for k in infos.iter().filter(|k| used.contains(&k.symbol)) {
        let Some(f) = m.function(&k.symbol) else {
            continue;
        };
        for o in obstacles::obstacles(m, f, unlifted) {
            if o.scope == Scope::CpuRun {
                let at = o
                    .location
                    .map_or_else(String::new, |l| format!(" at line {}", l.line));
                lines.push(format!("{}: {}{at}: {}", k.name, o.what, o.why));
            }
        }
    }
    if lines.is_empty() {
        Ok(())
    } else {
        Err(JobError::Unsupported(format!(
            "the CPU executor cannot run this:\n{}",
            lines.join("\n")
        )))
    }
}

/// Whether a folder is or can be made there, asked before a long run rather than after it.
fn check_folder(dir: &Path) -> Result<(), JobError> {
    match dir.ancestors().find(|a| a.exists()) {
        Some(a) if !a.is_dir() => Err(JobError::Input(format!(
            "cannot save into {}: {} is not a folder; help: choose another folder with --save",
            dir.display(),
            a.display()
        ))),
        _ => Ok(()),
    }
}

fn format_of(s: Scalar) -> Option<Format> {
    match s {
        Scalar::F64 => Some(Format::F64),
        Scalar::F32 => Some(Format::F32),
        Scalar::F16 => Some(Format::F16),
        Scalar::Bf16 => Some(Format::Bf16),
        _ => None,
    }
}

/// Scalars of all elements: byte position and kind.
fn scalars(w: &Workload, buffer: usize) -> Vec<(usize, Scalar)> {
    let b = &w.buffers[buffer];
    let one = b.elem.scalars();
    let size = b.elem.size();
    (0..b.len)
        .flat_map(|i| {
            one.iter()
                .map(move |(o, s)| (i * size + o, *s))
                .collect::<Vec<_>>()
        })
        .collect()
}

fn value_at(bytes: &[u8], at: usize, f: Format) -> f64 {
    let mut b = [0u8; 8];
    b[..f.bytes()].copy_from_slice(&bytes[at..at + f.bytes()]);
    f.decode(u64::from_le_bytes(b))
}

/// Original bytes of an output, and the shadow values of its float scalars by format.
type ReferenceOutput = (Vec<u8>, BTreeMap<Format, Vec<Dd>>);

struct Reference {
    info: ReferenceInfo,
    /// For each output: original bytes and shadow values of its float scalars, by format.
    outputs: Vec<ReferenceOutput>,
}

fn reference(
    job: &Job,
    session: &Session,
    program: &program::Program,
) -> Result<Reference, JobError> {
    let m = program.module()?;
    let map = shadow::instrument(&m).map_err(|e| JobError::Compile {
        message: format!("the reference could not be made: {e}"),
        help: None,
    })?;
    finished(&m, job)?;
    let mut exec = CpuExecutor::with_shadow(
        &m,
        CpuOptions {
            threads: job.threads,
            ..CpuOptions::default()
        },
        map,
    )?;
    let mut l = session.load(&mut exec)?;
    let time_s = session.run(&mut exec, &mut l)?;
    let mut outputs = Vec::new();
    for o in session.outputs() {
        let bytes = session.output(&mut exec, &l, o)?;
        let mut by: BTreeMap<Format, Vec<Dd>> = BTreeMap::new();
        let all = scalars(session.workload, o);
        for f in Format::ALL {
            let some = all
                .iter()
                .filter(|(_, s)| format_of(*s) == Some(f))
                .map(|(at, _)| (*at, f));
            let v = exec.shadow_values(l.ids[l.binding[o]], some)?;
            if !v.is_empty() {
                by.insert(f, v);
            }
        }
        outputs.push((bytes, by));
    }
    let s = exec
        .shadow()
        .ok_or_else(|| JobError::Worker("the shadow is gone".into()))?;
    let flips = s
        .flips()
        .into_iter()
        .map(|(count, l)| Flip {
            count,
            place: l.map_or_else(
                || "unknown place".into(),
                |l| format!("{}:{}:{}", l.file, l.line, l.column),
            ),
        })
        .collect();
    Ok(Reference {
        info: ReferenceInfo {
            flips,
            untracked: s.untracked().to_vec(),
            time_s,
        },
        outputs,
    })
}

fn compare_output(
    w: &Workload,
    buffer: usize,
    got: &[u8],
    reference: &ReferenceOutput,
    out: &mut Output,
) -> Result<(), JobError> {
    let all = scalars(w, buffer);
    let criterion = w.accept.criterion(&w.buffers[buffer].name);
    for (f, shadow) in &reference.1 {
        let values: Vec<f64> = all
            .iter()
            .filter(|(_, s)| format_of(*s) == Some(*f))
            .map(|(at, _)| value_at(got, *at, *f))
            .collect();
        let quantiles: Vec<f64> = [0.5, 0.9, 0.99, 0.999]
            .into_iter()
            .chain(criterion.and_then(|c| c.quantile))
            .collect();
        let r = kerf_num::metrics::compare_with_quantiles(
            &values,
            shadow,
            *f,
            criterion.and_then(|c| c.floor),
            &quantiles,
        )
        .map_err(|e| JobError::Input(e.to_string()))?;
        if let Some(c) = criterion {
            let q = c.quantile.unwrap_or(0.999);
            let accepted = r.accepts(c.metric, q, c.tolerance);
            let value = r.value(c.metric, q);
            let worse = out
                .verdict
                .as_ref()
                .is_none_or(|v| v.accepted && !accepted || v.value.is_some_and(|x| x < value));
            if worse {
                let both = accepted && out.verdict.as_ref().is_none_or(|v| v.accepted);
                out.verdict = Some(Verdict {
                    metric: c.metric,
                    value: value.is_finite().then_some(value),
                    tolerance: c.tolerance,
                    accepted: both,
                });
            }
        }
        let mut v = serde_json::to_value(&r).map_err(|e| JobError::Worker(e.to_string()))?;
        v["format"] = serde_json::json!(f);
        out.errors.push(v);
    }
    let ints = all.iter().filter(|(_, s)| format_of(*s).is_none());
    let mut any = false;
    let mut different = 0;
    for (at, s) in ints {
        any = true;
        different += usize::from(got[*at..at + s.bytes()] != reference.0[*at..at + s.bytes()]);
    }
    out.integer_mismatches = any.then_some(different);
    Ok(())
}

fn energy(
    job: &Job,
    session: &Session,
    exec: &mut dyn Executor,
    l: &mut crate::run::Loaded,
    watch: &Watch,
    per_run_s: f64,
) -> Result<Option<Energy>, JobError> {
    let Some(start) = watch.read().energy_j else {
        return Ok(None);
    };
    let clock = std::time::Instant::now();
    let mut runs = 0;
    while clock.elapsed().as_secs_f64() < job.energy_s {
        // Enough runs between looks at the clock that the device does not idle.
        let batch = (0.05 / per_run_s.max(1e-6)).clamp(1.0, 10_000.0) as u64;
        for _ in 0..batch {
            session.run(exec, l)?;
        }
        runs += batch;
    }
    let window_s = clock.elapsed().as_secs_f64();
    let Some(end) = watch.read().energy_j else {
        return Ok(None);
    };
    Ok(Some(Energy {
        per_run_j: (end - start) / runs as f64,
        mean_w: (end - start) / window_s,
        window_s,
        runs,
    }))
}

/// Carries a job out in this process.
pub fn execute(job: &Job) -> Result<Report, JobError> {
    let workload = Workload::read(&job.workload, &job.overrides)?;
    let program = program::load(&job.toolchain(), &workload.source, &workload.flags)?;
    let m = program.module()?;
    let infos = kernels::kernels(&m);
    let globals = kernels::globals(&m);
    let session = Session {
        workload: &workload,
        kernels: &infos,
        globals: &globals,
        params: workload.launch_space.default_params(),
        seed: job.seed.unwrap_or(workload.seed),
    };
    let used = session.check()?;
    if let Some(dir) = &job.save {
        check_folder(dir)?;
    }
    if job.device == Device::Cpu || job.reference {
        refuse(&m, &used, &infos, &program.unlifted)?;
    }
    job.plan.apply(&m)?;
    finished(&m, job)?;
    let mut sensors = Vec::new();
    let watch = (job.device == Device::Cuda)
        .then(|| Watch::new(job.ordinal as u32).ok())
        .flatten();
    let mut exec: Box<dyn Executor> = match job.device {
        Device::Cpu => Box::new(CpuExecutor::new(
            &m,
            CpuOptions {
                memcheck: job.memcheck,
                threads: job.threads,
                no_regions: job.coroutines,
            },
        )?),
        Device::Cuda => {
            let ptx = finish::ptx(&m, &job.arch).map_err(|e| JobError::Compile {
                message: e.0,
                help: None,
            })?;
            Box::new(CudaExecutor::new(&ptx, &used, job.ordinal)?)
        }
    };
    let mut l = session.load(exec.as_mut())?;
    for _ in 0..job.warmup {
        session.run(exec.as_mut(), &mut l)?;
        session.reset(exec.as_mut(), &mut l)?;
    }
    let _ = exec.printed();
    sensors.extend(watch.as_ref().map(Watch::read));
    let mut samples = Vec::new();
    for i in 0..job.repeats.max(1) {
        if i > 0 {
            session.reset(exec.as_mut(), &mut l)?;
            let _ = exec.printed();
        }
        samples.push(session.run(exec.as_mut(), &mut l)?);
    }
    sensors.extend(watch.as_ref().map(Watch::read));
    let printed = String::from_utf8_lossy(&exec.printed()).into_owned();
    let times = Times::new(samples);
    let reference = if job.reference {
        Some(reference(job, &session, &program)?)
    } else {
        None
    };
    let mut outputs = Vec::new();
    for (k, o) in session.outputs().into_iter().enumerate() {
        let b = &workload.buffers[o];
        let bytes = session.output(exec.as_mut(), &l, o)?;
        let mut out = Output {
            name: b.name.clone(),
            element: b.elem.to_string(),
            len: b.len,
            digest: digest(&bytes, &b.elem),
            saved: None,
            errors: Vec::new(),
            integer_mismatches: None,
            verdict: None,
        };
        if let Some(dir) = &job.save {
            let fail = |e: String| {
                JobError::Input(format!(
                    "cannot save {} into {}: {e}; help: choose another folder with --save",
                    b.name,
                    dir.display()
                ))
            };
            std::fs::create_dir_all(dir).map_err(|e| fail(e.to_string()))?;
            let path = dir.join(format!("{}.npy", b.name));
            let shape = b.shape.clone().unwrap_or_else(|| vec![b.len]);
            npy::write(&path, &b.elem, &shape, &bytes).map_err(|e| fail(e.to_string()))?;
            out.saved = Some(path);
            if let Some(r) = &reference {
                // The double-double reference, as two files of its float scalars.
                for (f, v) in &r.outputs[k].1 {
                    for (part, pick) in [("hi", (|d| d.hi) as fn(&Dd) -> f64), ("lo", |d| d.lo)] {
                        let raw: Vec<u8> = v.iter().flat_map(|d| pick(d).to_le_bytes()).collect();
                        let path = dir.join(format!("{}.reference_{f}_{part}.npy", b.name));
                        npy::write(
                            &path,
                            &crate::elem::ElemType::Scalar(Scalar::F64),
                            &[v.len()],
                            &raw,
                        )
                        .map_err(|e| fail(e.to_string()))?;
                    }
                }
            }
        }
        if let Some(r) = &reference {
            compare_output(&workload, o, &bytes, &r.outputs[k], &mut out)?;
        }
        outputs.push(out);
    }
    let energy = match (&watch, job.energy_s > 0.0) {
        (Some(w), true) => energy(
            job,
            &session,
            exec.as_mut(),
            &mut l,
            w,
            times.as_ref().map_or(1e-3, |t| t.median_s),
        )?,
        _ => None,
    };
    let mut warnings: Vec<String> = workload.warnings.iter().map(ToString::to_string).collect();
    let stats: Vec<KernelStats> = exec
        .kernel_stats()
        .into_iter()
        .filter(|k| used.contains(&k.symbol))
        .collect();
    for k in &stats {
        if !k.modelled.is_empty() {
            let name = infos
                .iter()
                .find(|i| i.symbol == k.symbol)
                .map_or(&k.symbol, |i| &i.name);
            warnings.push(format!(
                "{name}: modelled, not the GPU's own bits: {}",
                k.modelled.join(", ")
            ));
        }
    }
    if let Some(r) = &reference {
        for f in &r.info.flips {
            warnings.push(format!(
                "{} comparisons at {} go the other way in exact arithmetic",
                f.count, f.place
            ));
        }
        for u in &r.info.untracked {
            warnings.push(format!(
                "{u} has no high-precision version: the reference takes its result as exact"
            ));
        }
    }
    let mut settings: BTreeMap<String, i64> = workload.sizes.iter().cloned().collect();
    settings.extend(session.params.clone());
    let launches = crate::expand::expand(&workload, &session.params)?
        .filter(|s| matches!(s, Ok(crate::expand::ConcreteStep::Launch(_))))
        .count() as u64;
    Ok(Report {
        device: exec.device(),
        settings,
        seed: session.seed,
        times,
        energy,
        sensors,
        kernels: stats,
        outputs,
        reference: reference.map(|r| r.info),
        printed,
        launches,
        warnings,
    })
}
