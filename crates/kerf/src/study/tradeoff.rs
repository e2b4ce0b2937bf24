//! `kerf study sfu-tradeoff`: time and error of workloads against the part of their warps that computes
//! approximately. It runs workloads in worker processes, so it is here and not in kerf-study, whose studies
//! have kernels of their own.
mod picture;

use crate::fail::Failure;
use crate::output::{Format, Style, note, say};
use crate::table::Table;
use crate::toolchain;
use kerf_exec::cuda::CudaExecutor;
use kerf_exec::worker::Worker;
use kerf_pass::Plan;
use kerf_tune::setting::PARTS;
use kerf_tune::subject::Subject;
use kerf_tune::tradeoff::{Tradeoff, time_at, versions};
use kerf_workload::job::{Device, Job, JobError, Sweep, Swept};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Name on the command line.
pub const NAME: &str = "sfu-tradeoff";

/// What it repeats.
pub const REPEATS: &str = "time and error against the part of the warps that is approximate, on workloads (Li et al. 2016, figures 4, 5 and 8 to 14)";

/// The hidden command of its workers.
pub const WORKER: &str = "sweep-worker";

/// The ratio of errors at which searches are compared.
const RATIO: f64 = 0.8;

/// Seconds of an energy window; the counter moves every 100 ms.
const ENERGY_S: f64 = 1.0;

/// Programs that are compiled at the same time; they take turns on the GPU.
const WORKERS: usize = 4;

/// Degrees on the CPU, where each takes seconds.
const CPU_DEGREES: u8 = 16;

/// What to do.
pub struct Options {
    /// Workload files; none: those of `examples`.
    pub workloads: Vec<PathBuf>,
    /// GPU number; none for the CPU.
    pub gpu: Option<i32>,
    /// The files' own sizes on a GPU too.
    pub quick: bool,
    /// Folder for files.
    pub out: Option<PathBuf>,
}

/// Serves sweeps until the parent is gone.
pub fn serve() -> i32 {
    kerf_exec::worker::serve(|s: Sweep| kerf_workload::job::sweep(&s));
    0
}

/// The twenty applications of the publication in single precision, and four in double.
const EXAMPLES: [&str; 24] = [
    "black_scholes/black_scholes_f32",
    "asian_paths/asian_paths",
    "monte_carlo/monte_carlo",
    "coulomb/coulomb",
    "cutoff_coulomb/cutoff_coulomb",
    "lavamd/lavamd_f32",
    "nbody/nbody_f32",
    "ocean/ocean",
    "backprop/backprop_f32",
    "nearest_neighbour/nearest_neighbour",
    "correlation/correlation_f32",
    "gaussian/gaussian_f32",
    "box_muller/box_muller",
    "cfd/cfd_f32",
    "reaction_rates/reaction_rates_f32",
    "mri_q/mri_q_f32",
    "bilateral_filter/bilateral_filter",
    "srad/srad",
    "gmm_data_term/gmm_data_term",
    "image_denoising/image_denoising",
    "cfd/cfd",
    "reaction_rates/reaction_rates",
    "correlation/correlation",
    "gaussian/gaussian",
];

fn found(o: &Options) -> Result<Vec<PathBuf>, Failure> {
    if !o.workloads.is_empty() {
        return Ok(o.workloads.clone());
    }
    let all: Vec<PathBuf> = EXAMPLES
        .iter()
        .map(|e| PathBuf::from(format!("examples/{e}.toml")))
        .filter(|p| p.exists())
        .collect();
    match all.is_empty() {
        false => Ok(all),
        true => Err(Failure::new("there is no folder `examples` here")
            .help("name workloads: kerf study sfu-tradeoff W.toml ...")),
    }
}

/// Sizes of the line `# GPU size: n=1024 m=8` on top of a workload.
fn gpu_sizes(path: &Path) -> Vec<(String, i64)> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let line = text.lines().find_map(|l| l.strip_prefix("# GPU size:"));
    let words = line.unwrap_or_default().split_whitespace();
    words.filter_map(|w| crate::parse_size(w).ok()).collect()
}

fn job(path: &Path, gpu: Option<i32>, quick: bool) -> Result<Job, Failure> {
    let arch = match gpu {
        Some(n) => format!("sm_{}", CudaExecutor::capability(n)?),
        None => "sm_90".to_owned(),
    };
    let tools = toolchain::discover(&arch);
    Ok(Job {
        overrides: match gpu.is_some() && !quick {
            true => gpu_sizes(path),
            false => Vec::new(),
        },
        device: if gpu.is_some() {
            Device::Cuda
        } else {
            Device::Cpu
        },
        ordinal: gpu.unwrap_or(0),
        energy_s: ENERGY_S,
        warmup: 1,
        repeats: 7,
        sample_s: 1e-3,
        ..crate::tune::plain_job(path.to_path_buf(), tools, arch, Plan::default())
    })
}

fn one(path: &Path, o: &Options, lock: &Path, compiling: &Mutex<()>) -> Result<Tradeoff, Failure> {
    let job = job(path, o.gpu, o.quick)?;
    let held = compiling.lock().unwrap_or_else(|e| e.into_inner());
    crate::guard::survives(path)?;
    let subject = Subject::load(&job.workload, &job.overrides, &job.toolchain())?;
    let v = versions(&subject).map_err(|e| Failure::new(e.to_string()))?;
    drop(subject);
    drop(held);
    for (kernel, why) in &v.single {
        note(&format!(
            "warning: {}: {kernel} keeps one version: {why}",
            path.display()
        ));
    }
    let parts = if o.gpu.is_some() { PARTS } else { CPU_DEGREES };
    let sweep = Sweep {
        cheap: v.cheap,
        parts: v.parts,
        slots: o.gpu.map(|_| v.slots),
        degrees: (0..=parts)
            .map(|n| f64::from(n) / f64::from(parts))
            .collect(),
        ratio: RATIO,
        lock: o.gpu.map(|_| lock.to_path_buf()),
        job,
    };
    let exe = std::env::current_exe().map_err(|e| Failure::new(e.to_string()))?;
    let fail = |e: kerf_exec::worker::WorkerError| Failure::new(e.to_string());
    let mut w = Worker::start(&exe, &[WORKER]).map_err(fail)?;
    let answer: Result<Swept, JobError> = w.ask(&sweep, Duration::from_secs(600)).map_err(fail)?;
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    Ok(Tradeoff::new(name.into_owned(), v.calls, answer?, RATIO))
}

fn percent(x: Option<f64>) -> String {
    x.map_or_else(|| "-".into(), |x| format!("{:.1}", 100.0 * x))
}

fn number(x: Option<f64>, digits: usize) -> String {
    x.map_or_else(|| "-".into(), |x| format!("{x:.digits$}"))
}

const HEAD: [&str; 15] = [
    "workload",
    "ms",
    "speed-up",
    "two versions",
    "mean error",
    "worst error",
    "R2 time",
    "R2 error",
    "bend error",
    "smp",
    "heu",
    "omg",
    "smp runs",
    "heu runs",
    "omg runs",
];

/// A row of the table; speed-ups of the searches are over the program as it is.
fn row(t: &Tradeoff) -> [String; 15] {
    let s = &t.swept;
    let own = s.own.as_ref().map(|t| t.median_s);
    let over = |m: Option<f64>| Some(own? / m?);
    let first = s.degrees.first().and_then(|d| d.times.as_ref());
    let found = |name: &str| t.searches.iter().find(|x| x.strategy == name);
    let speed = |name: &str| match found(name) {
        Some(x) => match x.time {
            Some(time) => format!("{:.3} at {:.3}", 1.0 / time, x.lambda),
            None => format!("at {:.3}", x.lambda),
        },
        None => "-".into(),
    };
    let runs = |name: &str| found(name).map_or_else(|| "-".into(), |x| x.runs.to_string());
    [
        t.name.clone(),
        number(own.map(|s| 1e3 * s), 3),
        number(over(s.cheap.as_ref().map(|t| t.median_s)), 3),
        number(over(first.map(|t| t.median_s)), 3),
        format!("{:.2e}", s.cheap_error.mean_rel),
        format!("{:.2e}", s.cheap_error.max_rel),
        number(t.time_fit.map(|f| f.r2), 3),
        number(t.error_fit.map(|f| f.r2), 3),
        percent(t.error_fit.map(|f| f.bend)),
        speed("smp"),
        speed("heu"),
        speed("omg"),
        runs("smp"),
        runs("heu"),
        runs("omg"),
    ]
}

/// Every point, as CSV.
fn curves(all: &[Tradeoff]) -> String {
    let mut out =
        String::from("workload,lambda,seconds,time_ratio,mean_rel,max_rel,not_finite,integers\n");
    for t in all {
        for (i, d) in t.swept.degrees.iter().enumerate() {
            let seconds = d
                .times
                .as_ref()
                .map_or_else(String::new, |t| format!("{:e}", t.median_s));
            let ratio = time_at(&t.swept, i).map_or_else(String::new, |r| format!("{r}"));
            out += &format!(
                "{},{},{seconds},{ratio},{:e},{:e},{},{}\n",
                t.name,
                d.lambda,
                d.error.mean_rel,
                d.error.max_rel,
                d.error.not_finite,
                d.error.integers
            );
        }
    }
    out
}

fn csv_of(all: &[Tradeoff]) -> String {
    let mut out = HEAD.map(|h| h.replace(' ', "_")).join(",") + "\n";
    for t in all {
        out += &(row(t).join(",") + "\n");
    }
    out
}

/// Energy of a run and mean power, at each degree where they were measured.
fn energy(all: &[Tradeoff]) -> String {
    let mut out = String::from("workload,lambda,joules,watts,window_s,runs\n");
    for t in all {
        for (lambda, e) in &t.swept.energy {
            out += &format!(
                "{},{lambda},{:e},{:.1},{:.2},{}\n",
                t.name, e.per_run_j, e.mean_w, e.window_s, e.runs
            );
        }
    }
    out
}

/// Different outputs among runs at the middle degree.
fn repeats(all: &[Tradeoff]) -> String {
    let mut out = String::from("workload,select,runs,different_outputs,mean_rel\n");
    for t in all {
        let hash = Some(("hash", &t.swept.hash));
        let slot = t.swept.slots.as_ref().map(|s| ("slot", s));
        for (name, r) in [hash, slot].into_iter().flatten() {
            let errors: Vec<String> = r.errors.iter().map(|e| format!("{e:e}")).collect();
            out += &format!(
                "{},{name},{},{},{}\n",
                t.name,
                r.runs,
                r.different,
                errors.join(" ")
            );
        }
    }
    out
}

fn geometric(all: impl Iterator<Item = f64>) -> Option<f64> {
    let logs: Vec<f64> = all.map(f64::ln).collect();
    (!logs.is_empty()).then(|| (logs.iter().sum::<f64>() / logs.len() as f64).exp())
}

/// What the table comes to.
fn summary(all: &[Tradeoff]) -> String {
    let mut out = String::new();
    let of = |t: &Tradeoff, name: &str| t.searches.iter().find(|s| s.strategy == name).cloned();
    for name in ["smp", "heu", "omg"] {
        let speed = geometric(all.iter().filter_map(|t| Some(1.0 / of(t, name)?.time?)));
        let mut runs: Vec<usize> = all.iter().filter_map(|t| Some(of(t, name)?.runs)).collect();
        runs.sort_unstable();
        let median = runs.get(runs.len() / 2).copied().unwrap_or(0);
        out += &format!(
            "{name}: speed-up {} (geometric mean), median of {median} runs\n",
            number(speed, 3)
        );
    }
    let near = |t: &&Tradeoff| {
        let times = (
            of(t, "heu").and_then(|s| s.time),
            of(t, "omg").and_then(|s| s.time),
        );
        matches!(times, (Some(h), Some(o)) if h <= 1.01 * o)
    };
    let timed = all.iter().filter(|t| t.swept.own.is_some()).count();
    if timed > 0 {
        let n = all.iter().filter(near).count();
        out += &format!("heu within 1 % of omg: {n} of {timed}\n");
    }
    let straight = |t: &&Tradeoff| t.error_fit.is_some_and(|f| f.r2 >= 0.95);
    out += &format!(
        "errors on a line (R2 of 0.95 or more): {} of {}\n",
        all.iter().filter(straight).count(),
        all.len()
    );
    let same = all.iter().filter(|t| t.swept.hash.different == 1).count();
    out += &format!(
        "same bits on repetition, by hash: {same} of {}\n",
        all.len()
    );
    let slots = || all.iter().filter_map(|t| t.swept.slots.as_ref());
    if slots().next().is_some() {
        let same = slots().filter(|s| s.different == 1).count();
        out += &format!(
            "same bits on repetition, by slot: {same} of {}\n",
            slots().count()
        );
    }
    out
}

/// Runs the study.
pub fn run(o: &Options, format: Format, style: Style) -> Result<i32, Failure> {
    let paths = found(o)?;
    if let Some(dir) = &o.out {
        super::check_folder(dir)?;
    }
    let lock = tempfile::NamedTempFile::new().map_err(|e| Failure::new(e.to_string()))?;
    let next = AtomicUsize::new(0);
    // LLVM in this process is used by one thread at a time; workers compile beside each other.
    let compiling = Mutex::new(());
    let done: Mutex<Vec<(usize, Tradeoff)>> = Mutex::new(Vec::new());
    let workers = if o.gpu.is_some() { WORKERS } else { 1 };
    std::thread::scope(|s| {
        for _ in 0..workers {
            s.spawn(|| {
                loop {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    let Some(path) = paths.get(i) else { break };
                    match one(path, o, lock.path(), &compiling) {
                        Ok(t) => {
                            note(&format!("{}: done", t.name));
                            let mut all = done.lock().unwrap_or_else(|e| e.into_inner());
                            all.push((i, t));
                        }
                        // One that does not work is named, and the others go on.
                        Err(f) => note(&format!("{}: {f}", path.display())),
                    }
                }
            });
        }
    });
    let mut all = done.into_inner().unwrap_or_else(|e| e.into_inner());
    all.sort_by_key(|t| t.0);
    let all: Vec<Tradeoff> = all.into_iter().map(|t| t.1).collect();
    if all.is_empty() {
        return Err(Failure::new("no workload could be run").help("the reasons are above"));
    }
    let json = || {
        let v =
            serde_json::json!({ "schema": "kerf.tradeoff/1", "ratio": RATIO, "workloads": all });
        format!("{v}\n")
    };
    if let Some(dir) = &o.out {
        let files = [
            ("tradeoff.csv", csv_of(&all)),
            ("curves.csv", curves(&all)),
            ("energy.csv", energy(&all)),
            ("repeats.csv", repeats(&all)),
            ("tradeoff.svg", picture::svg(&all)),
            ("tradeoff.json", json()),
            ("summary.txt", summary(&all)),
        ];
        let fail =
            |e: std::io::Error| Failure::new(format!("cannot write into {}: {e}", dir.display()));
        std::fs::create_dir_all(dir).map_err(fail)?;
        for (name, text) in files {
            std::fs::write(dir.join(name), text).map_err(fail)?;
        }
        note(&format!("files in {}", dir.display()));
    }
    if format == Format::Json {
        say(&json())?;
        return Ok(0);
    }
    let mut table = Table::new(1, HEAD);
    for t in &all {
        table.row(row(t));
    }
    let d = &all[0].swept.device;
    say(&format!(
        "{} on {} ({}); errors against the program as it is, searches at {RATIO} of the largest\n\n{}\n{}",
        style.bold(NAME),
        d.name,
        d.detail,
        table.render(style),
        summary(&all)
    ))?;
    Ok(i32::from(all.len() < paths.len()))
}
