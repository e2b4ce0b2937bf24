//! Time and error of workloads against the part of their warps that computes approximately (Li et al. 2016). Its workloads
//! are run in worker processes; the other studies have kernels of their own.
mod kept;
mod picture;
pub mod tables;

use kerf_clang::compile::Toolchain;
use kerf_exec::worker::{WorkerError, WorkerProcess};
use kerf_run::job::{Device, Job, JobError, MachineShare, Sweep, Swept};
use kerf_tune::setting::PARTS;
use kerf_tune::subject::Subject;
use kerf_tune::tradeoff::{Tradeoff, versions};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Name on the command line.
pub const NAME: &str = "sfu-tradeoff";

/// What it repeats.
pub const REPEATS: &str = "time and error against the part of the warps that is approximate, on workloads (Li et al. 2016, figures 4, 5 and 8 to 14)";

/// The ratio of errors at which searches are compared.
pub const RATIO: f64 = 0.8;

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
pub struct TradeoffOptions<'a> {
    /// Workload files.
    pub workloads: Vec<PathBuf>,
    /// GPU number; none for the CPU.
    pub gpu: Option<i32>,
    /// Few degrees, and no energy.
    pub quick: bool,
    /// The CPU's sizes, on a GPU too.
    pub own_sizes: bool,
    /// Two degrees, and calls one by one against fast-math.
    pub calls: bool,
    /// Go on in a folder that has results: workloads that it has are not run again.
    pub resume: bool,
    /// Folder for files.
    pub out: Option<PathBuf>,
    /// Compilers and libraries, for the architecture of the device.
    pub tools: Toolchain,
    /// Held by the worker that measures on the GPU.
    pub lock: Option<PathBuf>,
    /// The program and its argument that call [`serve`].
    pub worker: (PathBuf, &'a str),
}

/// What happens while the study runs.
pub enum TradeoffEvent<'a> {
    /// So many workloads have results of an earlier run.
    Resumed(usize),
    /// A kernel keeps one version.
    OneVersion {
        /// The workload.
        workload: &'a Path,
        /// The kernel.
        kernel: &'a str,
        /// Why.
        why: &'a str,
    },
    /// Calls were not compared with fast-math.
    NotCompared {
        /// The workload.
        workload: &'a Path,
        /// Why.
        why: &'a str,
    },
    /// A workload has ended.
    Ended {
        /// Its result.
        tradeoff: &'a Tradeoff,
        /// Seconds since the study began.
        total_s: f64,
    },
    /// A workload could not be run; the others go on.
    Failed {
        /// The workload.
        workload: &'a Path,
        /// Why.
        error: TradeoffError,
    },
}

/// Why a worker could not sweep a workload.
#[derive(Debug, thiserror::Error, Serialize, Deserialize)]
pub enum SweepError {
    /// The machine could not be shared with other workers.
    #[error("{0}")]
    Share(String),
    /// The workload cannot be read or compiled.
    #[error("{0}")]
    Subject(String),
    /// Its versions cannot be made.
    #[error("{0}")]
    Versions(String),
    /// A run failed.
    #[error("{0}")]
    Run(String),
}

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
pub enum TradeoffError {
    /// The worker process.
    #[error(transparent)]
    Worker(#[from] WorkerError),
    /// The sweep.
    #[error(transparent)]
    Sweep(#[from] SweepError),
    /// The job: the workload file.
    #[error(transparent)]
    Job(#[from] JobError),
    /// A result cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The tables cannot be written.
    #[error("cannot write into {}: {source}", folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A result cannot be written as JSON.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// The folder has results of an earlier run.
    #[error("{} has results", .0.display())]
    HasResults(PathBuf),
    /// A file of an earlier run is damaged.
    #[error("{} is no result: {source}", path.display())]
    NoResult {
        /// The file.
        path: PathBuf,
        /// Why.
        source: serde_json::Error,
    },
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

fn answer(a: Ask) -> Result<Answer, SweepError> {
    // While this makes ready, others may, and nobody measures.
    let turn = MachineShare::shared(a.lock.as_deref());
    let turn = turn.map_err(|e| SweepError::Share(e.to_string()))?;
    let tools = a.job.toolchain();
    let subject = Subject::load(&a.job.workload, &a.job.overrides, &tools);
    let subject = subject.map_err(|e| SweepError::Subject(e.to_string()))?;
    let v = versions(&subject).map_err(|e| SweepError::Versions(e.to_string()))?;
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
    let swept = kerf_run::job::sweep(&sweep, turn, &mut so_far)
        .map_err(|e| SweepError::Run(e.to_string()))?;
    Ok(Answer {
        swept,
        calls: v.calls,
        single: v.single,
    })
}

/// Answers sweeps until the parent is gone; a worker's side.
pub fn serve() {
    kerf_exec::worker::serve(answer);
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

/// The workloads of the publication that the folder has.
pub fn examples(folder: &Path) -> Vec<PathBuf> {
    let all = EXAMPLES.iter().map(|e| folder.join(format!("{e}.toml")));
    all.filter(|p| p.exists()).collect()
}

fn job(path: &Path, o: &TradeoffOptions) -> Result<Job, TradeoffError> {
    let job = Job {
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
        ..Job::plain(path.to_path_buf(), &o.tools)
    };
    match o.own_sizes {
        true => Ok(job),
        false => Ok(job.at_sizes_of_device()?),
    }
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

/// Sweeps one workload in a worker.
fn one(
    path: &Path,
    o: &TradeoffOptions,
    workers: usize,
    tell: &(dyn Fn(TradeoffEvent) + Sync),
) -> Result<Tradeoff, TradeoffError> {
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
        lock: o.lock.clone(),
        builders: builders(workers),
        kept: o.out.clone(),
    };
    let mut w = WorkerProcess::start(&o.worker.0, &[o.worker.1])?;
    let answer: Result<Answer, SweepError> = w.ask(&ask, Duration::from_secs(3600))?;
    let answer = answer?;
    for (kernel, why) in &answer.single {
        tell(TradeoffEvent::OneVersion {
            workload: path,
            kernel,
            why,
        });
    }
    if let Some(why) = &answer.swept.not_chosen {
        tell(TradeoffEvent::NotCompared {
            workload: path,
            why,
        });
    }
    Ok(Tradeoff::new(
        name_of(path),
        answer.calls,
        answer.swept,
        RATIO,
    ))
}

/// The results as a document.
pub fn json(all: &[Tradeoff]) -> String {
    let v = serde_json::json!({ "schema": "kerf.tradeoff/1", "ratio": RATIO, "workloads": all });
    format!("{v}\n")
}

/// Writes the files. They are whole after each workload, so that a run that is stopped leaves what it had.
fn save(dir: &Path, all: &[Tradeoff]) -> Result<(), TradeoffError> {
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
    for (name, text) in files {
        kerf_files::write_whole(dir.join(name), &text).map_err(|source| {
            let folder = dir.to_owned();
            TradeoffError::Folder { folder, source }
        })?;
    }
    Ok(())
}

/// What has ended so far, in the order of the workloads.
struct EndedSweeps<'o> {
    out: Option<&'o Path>,
    all: Mutex<Vec<(usize, Tradeoff)>>,
}

impl EndedSweeps<'_> {
    fn put(&self, i: usize, t: Tradeoff) -> Result<(), TradeoffError> {
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

/// Runs the study; workloads that could not be run are told of and left out.
pub fn run(
    o: &TradeoffOptions,
    tell: &(dyn Fn(TradeoffEvent) + Sync),
) -> Result<Vec<Tradeoff>, TradeoffError> {
    let before = match &o.out {
        Some(dir) => kept::read(dir, &o.workloads, o.resume)?,
        None => Vec::new(),
    };
    let ran_before: Vec<usize> = before.iter().map(|t| t.0).collect();
    if !ran_before.is_empty() {
        tell(TradeoffEvent::Resumed(ran_before.len()));
    }
    let next = AtomicUsize::new(0);
    let ended = EndedSweeps {
        out: o.out.as_deref(),
        all: Mutex::new(before),
    };
    // On a GPU, all make ready at once and then take turns.
    let workers = match o.gpu {
        Some(_) => MOST_WORKERS.min(o.workloads.len()),
        None => 1,
    };
    let began = Instant::now();
    let sweep_next = || {
        loop {
            let i = next.fetch_add(1, Ordering::Relaxed);
            let Some(path) = o.workloads.get(i) else {
                break;
            };
            if ran_before.contains(&i) {
                continue;
            }
            let swept = one(path, o, workers, tell).and_then(|t| {
                tell(TradeoffEvent::Ended {
                    tradeoff: &t,
                    total_s: began.elapsed().as_secs_f64(),
                });
                ended.put(i, t)
            });
            if let Err(error) = swept {
                tell(TradeoffEvent::Failed {
                    workload: path,
                    error,
                });
            }
        }
    };
    std::thread::scope(|s| {
        for _ in 0..workers {
            s.spawn(sweep_next);
        }
    });
    let all = ended.all.into_inner().unwrap_or_else(|e| e.into_inner());
    let all: Vec<Tradeoff> = all.into_iter().map(|t| t.1).collect();
    if let Some(dir) = o.out.as_ref().filter(|_| !all.is_empty()) {
        save(dir, &all)?;
    }
    Ok(all)
}
