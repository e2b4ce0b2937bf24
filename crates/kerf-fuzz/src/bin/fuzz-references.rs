//! Computes references of random kernels by two routes and compares them bit by bit.
use clap::{Parser, ValueEnum};
use kerf_exec::cuda::CudaExecutor;
use kerf_fuzz::references::campaign::{self, CampaignSetup, KernelVerdict, Routes, Workers};
use kerf_fuzz::references::tally::ReferenceTally;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Computes the double-double references of random kernels by two routes and compares them: high and low word of every
/// shadow, and how often every comparison goes the other way in exact arithmetic.
///
/// With --device cuda the routes are device code on the GPU and device code on the CPU executor; with --device cpu, device
/// code on the CPU executor and its functions with tables. All three promise the same bits, so that nothing is rounded or
/// left out before they are compared; only NaNs count as one value. A kernel for which device code has no shadow is
/// computed by the tables whatever the route: it is counted apart, with the reason, and never as equal.
///
/// Exit code 0 where some kernels were compared and all are equal, 1 where one differs or could not be run, 2 where nothing
/// could be begun.
#[derive(Parser)]
struct Options {
    /// Seed of the first kernel; each further one has the next.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many kernels.
    #[arg(long, default_value_t = 100)]
    count: u64,
    /// Where the first of the two routes runs.
    #[arg(long, value_enum, default_value = "cpu")]
    device: RouteDevice,
    /// Number of the GPU.
    #[arg(long, default_value_t = 0)]
    gpu: i32,
    /// Worker processes, which take one kernel after another; 0: as many as there are cores.
    #[arg(long, default_value_t = 0)]
    jobs: usize,
    /// Seconds that one kernel may take.
    #[arg(long, default_value_t = 120.0)]
    timeout: f64,
    /// libdevice, which kernels with math functions are linked with.
    #[arg(long, default_value = ".kerf/cuda/nvvm/libdevice/libdevice.10.bc")]
    libdevice: PathBuf,
    /// Architecture that kernels are compiled for.
    #[arg(long, default_value = "sm_90")]
    arch: String,
    /// Write what came of each kernel to this file, one line of JSON for each.
    #[arg(long)]
    record: Option<PathBuf>,
    /// Change one bit of a shadow of the kernel of this seed on the second route, to see the comparison fail.
    #[arg(long, value_name = "SEED")]
    change_shadow_of: Option<u64>,
    /// This is a process that computes references; its settings.
    #[arg(long, hide = true)]
    worker: Option<String>,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum RouteDevice {
    Cpu,
    Cuda,
}

type Failure = Box<dyn std::error::Error>;

impl Options {
    fn setup(&self) -> Result<CampaignSetup, Failure> {
        let at = |e| format!("{}: {e} (--libdevice)", self.libdevice.display());
        Ok(CampaignSetup {
            routes: match self.device {
                RouteDevice::Cuda => Routes::GpuAndCpu { ordinal: self.gpu },
                RouteDevice::Cpu => Routes::CpuAndTables,
            },
            libdevice: std::fs::canonicalize(&self.libdevice).map_err(at)?,
            arch: self.arch.clone(),
            change_shadow_of: self.change_shadow_of,
        })
    }

    fn jobs(&self) -> usize {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let most = usize::try_from(self.count.max(1)).unwrap_or(usize::MAX);
        match self.jobs {
            0 => cores.min(most),
            n => n.min(most),
        }
    }
}

/// Tells how far the campaign is, and of what went wrong at once: a run that is stopped from outside leaves these lines.
fn tell(number: usize, of: u64, seed: u64, verdict: &KernelVerdict) {
    let wrong = match verdict {
        KernelVerdict::Compared(c) => c.differences().join("; "),
        KernelVerdict::Failed { why, .. } => why.clone(),
        KernelVerdict::NeedsHost(_) => String::new(),
    };
    if !wrong.is_empty() {
        eprintln!("seed {seed}: {wrong}");
    }
    if number.is_multiple_of(50) {
        eprintln!("{number} of {of} kernels");
    }
}

fn write_record(
    path: &Path,
    verdicts: &std::collections::BTreeMap<u64, KernelVerdict>,
) -> Result<(), Failure> {
    let mut text = String::new();
    for (seed, verdict) in verdicts {
        let line = serde_json::json!({ "seed": seed, "verdict": verdict });
        text += &format!("{line}\n");
    }
    Ok(std::fs::write(path, text)?)
}

fn compare(o: &Options) -> Result<bool, Failure> {
    let setup = o.setup()?;
    let routes = match setup.routes {
        Routes::GpuAndCpu { .. } => {
            let name = CudaExecutor::probe()?;
            format!("device code on {name} against device code on the CPU")
        }
        Routes::CpuAndTables => "device code on the CPU against tables".to_owned(),
    };
    let seeds = o.seed..o.seed.checked_add(o.count).ok_or("no such seeds")?;
    let settings = serde_json::to_string(&setup)?;
    let workers = Workers {
        program: &std::env::current_exe()?,
        arguments: &["--worker", &settings],
        jobs: o.jobs(),
        limit: Duration::try_from_secs_f64(o.timeout)?,
    };
    let clock = Instant::now();
    let done = AtomicUsize::new(0);
    let verdicts = campaign::run(&workers, seeds, |seed, verdict| {
        let number = done.fetch_add(1, Ordering::Relaxed) + 1;
        tell(number, o.count, seed, verdict);
    });
    if let Some(path) = &o.record {
        write_record(path, &verdicts)?;
    }
    let tally = ReferenceTally::new(&verdicts);
    print!("references, {routes}: {tally}");
    println!(
        "  {:.1} s, {} at a time",
        clock.elapsed().as_secs_f64(),
        workers.jobs
    );
    Ok(tally.passed())
}

fn work(settings: &str) -> Result<bool, Failure> {
    let setup: CampaignSetup = serde_json::from_str(settings)?;
    campaign::work(&setup, &std::fs::read(&setup.libdevice)?)?;
    Ok(true)
}

fn main() -> ExitCode {
    let o = Options::parse();
    let done = match &o.worker {
        Some(settings) => work(settings),
        None => compare(&o),
    };
    kerf_fuzz::exit_code(done)
}
