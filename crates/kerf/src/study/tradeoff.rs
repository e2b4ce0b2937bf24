//! `kerf study sfu-tradeoff`: time and error of workloads against the part of their warps that computes
//! approximately. It runs workloads in worker processes, so it is here and not in kerf-study, whose studies
//! have kernels of their own.
mod kept;
mod picture;
mod tables;

use crate::fail::Failure;
use crate::output::{Format, Style, note, say};
use crate::progress;
use crate::table::Table;
use crate::toolchain;
use kerf_exec::cuda::CudaExecutor;
use kerf_exec::worker::WorkerProcess;
use kerf_run::job::{Device, Job, MachineShare, Sweep, Swept};
use kerf_tune::setting::PARTS;
use kerf_tune::subject::Subject;
use kerf_tune::tradeoff::{Tradeoff, versions};
use serde::{Deserialize, Serialize};
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
const ENERGY_S: f64 = 3.0;

/// Samples of a time at the ends of a curve, and between them.
const REPEATS_AT_ENDS: u32 = 9;
const REPEATS_BETWEEN: u32 = 5;

/// Workers at most: each holds its inputs in memory and a context of the GPU.
const MOST_WORKERS: usize = 24;

/// Degrees on the CPU, where each takes seconds, and with --quick.
const FEW_DEGREES: u8 = 16;

/// What to do.
pub struct Options {
    /// Workload files; none: those of `examples`.
    pub workloads: Vec<PathBuf>,
    /// GPU number; none for the CPU.
    pub gpu: Option<i32>,
    /// Few degrees, and no energy.
    pub quick: bool,
    /// Sizes of the workload files, on a GPU too.
    pub own_sizes: bool,
    /// Two degrees, and calls one by one against fast-math.
    pub calls: bool,
    /// Go on in a folder that has results: workloads that it has are not run again.
    pub resume: bool,
    /// Folder for files.
    pub out: Option<PathBuf>,
}

/// What a worker is asked. It makes the versions itself: LLVM's work is done beside that of others.
#[derive(Serialize, Deserialize)]
struct Ask {
    job: Job,
    degrees: Vec<f64>,
    inner_repeats: u32,
    slots: bool,
    choice: bool,
    lock: Option<PathBuf>,
    builders: usize,
    /// Folder for what is known before calls are compared one by one.
    kept: Option<PathBuf>,
}

/// What it answers.
#[derive(Serialize, Deserialize)]
struct Answer {
    swept: Swept,
    calls: Vec<String>,
    single: Vec<(String, String)>,
}

fn answer(a: Ask) -> Result<Answer, String> {
    // While this makes ready, others may, and nobody measures.
    let turn = MachineShare::shared(a.lock.as_deref()).map_err(|e| e.to_string())?;
    let tools = a.job.toolchain();
    let subject = Subject::load(&a.job.workload, &a.job.overrides, &tools);
    let subject = subject.map_err(|e| e.to_string())?;
    let v = versions(&subject).map_err(|e| e.to_string())?;
    drop(subject);
    let sweep = Sweep {
        cheap: v.cheap,
        parts: v.parts,
        slots: a.slots.then_some(v.slots),
        choice: a.choice.then_some(v.choice),
        inner_repeats: a.inner_repeats,
        degrees: a.degrees,
        ratio: RATIO,
        lock: a.lock,
        builders: a.builders,
        job: a.job,
    };
    let name = name_of(&sweep.job.workload);
    let mut so_far = |s: &Swept| {
        if let Some(dir) = &a.kept {
            let t = Tradeoff::new(name.clone(), v.calls.clone(), s.clone(), RATIO);
            // Whoever asked writes it again, and tells what fails.
            let _ = kept::write(dir, &t);
        }
    };
    let swept = kerf_run::job::sweep(&sweep, turn, &mut so_far).map_err(|e| e.to_string())?;
    Ok(Answer {
        swept,
        calls: v.calls,
        single: v.single,
    })
}

/// Serves sweeps until the parent is gone.
pub fn serve() -> i32 {
    kerf_exec::worker::serve(answer);
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

fn job(path: &Path, o: &Options) -> Result<Job, Failure> {
    let arch = match o.gpu {
        Some(n) => format!("sm_{}", CudaExecutor::capability(n)?),
        None => "sm_90".to_owned(),
    };
    let tools = toolchain::discover(&arch);
    Ok(Job {
        overrides: match o.gpu.is_some() && !o.own_sizes {
            true => gpu_sizes(path),
            false => Vec::new(),
        },
        device: if o.gpu.is_some() {
            Device::Cuda
        } else {
            Device::Cpu
        },
        ordinal: o.gpu.unwrap_or(0),
        energy_s: if o.quick || o.calls { 0.0 } else { ENERGY_S },
        repeats: if o.quick {
            REPEATS_BETWEEN
        } else {
            REPEATS_AT_ENDS
        },
        sample_s: 1e-3,
        ..Job::plain(path.to_path_buf(), &tools)
    })
}

fn name_of(path: &Path) -> String {
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    name.into_owned()
}

/// Threads of a worker that makes ready, where so many do so at a time: more than there are cores, since some wait.
fn builders(workers: usize) -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    (4 * cores / workers.max(1)).clamp(1, cores)
}

fn one(path: &Path, o: &Options, workers: usize) -> Result<Tradeoff, Failure> {
    let parts = match (o.gpu, o.quick) {
        _ if o.calls => 1,
        (Some(_), false) => PARTS,
        _ => FEW_DEGREES,
    };
    let ask = Ask {
        job: job(path, o)?,
        inner_repeats: REPEATS_BETWEEN,
        degrees: (0..=parts)
            .map(|n| f64::from(n) / f64::from(parts))
            .collect(),
        slots: o.gpu.is_some() && !o.calls,
        choice: o.gpu.is_some() && !o.own_sizes,
        lock: o.gpu.map(crate::tune::gpu_lock),
        builders: builders(workers),
        kept: o.out.clone(),
    };
    let exe = std::env::current_exe().map_err(|e| Failure::new(e.to_string()))?;
    let fail = |e: kerf_exec::worker::WorkerError| Failure::new(e.to_string());
    let mut w = WorkerProcess::start(&exe, &[WORKER]).map_err(fail)?;
    let told: Result<Answer, String> = w.ask(&ask, Duration::from_secs(3600)).map_err(fail)?;
    let told = told.map_err(Failure::new)?;
    for (kernel, why) in &told.single {
        let file = path.display();
        note(&format!(
            "warning: {file}: {kernel} keeps one version: {why}"
        ));
    }
    if let Some(why) = &told.swept.not_chosen {
        let file = path.display();
        note(&format!(
            "warning: {file}: calls were not compared with fast-math: {why}"
        ));
    }
    Ok(Tradeoff::new(name_of(path), told.calls, told.swept, RATIO))
}

fn json(all: &[Tradeoff]) -> String {
    let v = serde_json::json!({ "schema": "kerf.tradeoff/1", "ratio": RATIO, "workloads": all });
    format!("{v}\n")
}

/// Writes the files. They are whole after each workload, so that a run that is stopped leaves what it had.
fn save(dir: &Path, all: &[Tradeoff]) -> Result<(), Failure> {
    let files = [
        ("tradeoff.csv", tables::csv_of(all)),
        ("curves.csv", tables::curves(all)),
        ("energy.csv", tables::energy(all)),
        ("repeats.csv", tables::repeats(all)),
        ("sites.csv", tables::sites(all)),
        ("digests.csv", tables::digests(all)),
        ("tradeoff.svg", picture::svg(all)),
        ("tradeoff.json", json(all)),
        ("summary.txt", tables::summary(all)),
    ];
    let fail =
        |e: std::io::Error| Failure::new(format!("cannot write into {}: {e}", dir.display()));
    for (name, text) in files {
        crate::files::write_whole(dir.join(name), &text).map_err(fail)?;
    }
    Ok(())
}

/// What has ended so far, in the order of the workloads.
struct Done<'o> {
    out: Option<&'o Path>,
    all: Mutex<Vec<(usize, Tradeoff)>>,
}

impl Done<'_> {
    fn put(&self, i: usize, t: Tradeoff) -> Result<(), Failure> {
        let mut all = self.all.lock().unwrap_or_else(|e| e.into_inner());
        if let Some(dir) = self.out {
            kept::write(dir, &t)?;
        }
        all.push((i, t));
        all.sort_by_key(|t| t.0);
        let so_far: Vec<Tradeoff> = all.iter().map(|t| t.1.clone()).collect();
        self.out.map_or(Ok(()), |dir| save(dir, &so_far))
    }
}

/// Runs the study.
pub fn run(o: &Options, format: Format, style: Style) -> Result<i32, Failure> {
    if o.calls && (o.gpu.is_none() || o.own_sizes) {
        return Err(
            Failure::new("--calls compares times, at sizes that a GPU is for")
                .help("use --device cuda, without --own-sizes"),
        );
    }
    let paths = found(o)?;
    let mut before = Vec::new();
    if let Some(dir) = &o.out {
        super::check_folder(dir)?;
        before = kept::read(dir, &paths, o.resume)?;
    }
    let ran_before: Vec<usize> = before.iter().map(|t: &(usize, Tradeoff)| t.0).collect();
    if !ran_before.is_empty() {
        note(&format!("{} workloads are there already", ran_before.len()));
    }
    let next = AtomicUsize::new(0);
    let done = Done {
        out: o.out.as_deref(),
        all: Mutex::new(before),
    };
    // On a GPU, all make ready at once and then take turns.
    let workers = match o.gpu {
        Some(_) => MOST_WORKERS.min(paths.len()),
        None => 1,
    };
    let clock = std::time::Instant::now();
    std::thread::scope(|s| {
        for _ in 0..workers {
            s.spawn(|| {
                loop {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    let Some(path) = paths.get(i) else { break };
                    if ran_before.contains(&i) {
                        continue;
                    }
                    let ended = one(path, o, workers).and_then(|t| {
                        progress::line(&format!(
                            "{}: {:.1} s of the device, {:.0} s in all",
                            t.name,
                            t.swept.turn_s,
                            clock.elapsed().as_secs_f64()
                        ));
                        done.put(i, t)
                    });
                    // One that does not work is named, and the others go on.
                    if let Err(f) = ended {
                        note(&format!("{}: {f}", path.display()));
                    }
                }
            });
        }
    });
    let all = done.all.into_inner().unwrap_or_else(|e| e.into_inner());
    let all: Vec<Tradeoff> = all.into_iter().map(|t| t.1).collect();
    if all.is_empty() {
        return Err(Failure::new("no workload could be run").help("the reasons are above"));
    }
    if let Some(dir) = &o.out {
        save(dir, &all)?;
        note(&format!("files in {}", dir.display()));
    }
    if format == Format::Json {
        say(&json(&all))?;
        return Ok(0);
    }
    let mut table = Table::new(1, tables::HEAD);
    for t in &all {
        table.row(tables::row(t));
    }
    let d = &all[0].swept.device;
    say(&format!(
        "{} on {} ({}); errors against the program as it is, searches at {RATIO} of the largest\n\n{}\n{}",
        style.bold(NAME),
        d.name,
        d.detail,
        table.render(style),
        tables::summary(&all)
    ))?;
    Ok(i32::from(all.len() < paths.len()))
}
