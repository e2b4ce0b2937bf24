//! Many random kernels, each by two routes, in worker processes: one that traps, hangs or kills its worker is named, and
//! the others go on.
use super::{DeviceShadows, RandomShadows, shadowed};
use kerf_exec::cpu::CpuOptions;
use kerf_exec::cuda;
use kerf_exec::shadow_space::LostShadows;
use kerf_exec::worker::{WorkerProcess, serve};
use kerf_exec::{ExecError, cuda::KeptContext};
use kerf_pass::shadow::ShadowDevice;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The two routes whose references are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Routes {
    /// Device code on a GPU, and device code on the CPU executor.
    GpuAndCpu {
        /// Number of the GPU.
        ordinal: i32,
    },
    /// Device code on the CPU executor, and its functions with tables.
    CpuAndTables,
}

/// What is the same for all kernels of a campaign.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CampaignSetup {
    /// What is compared.
    pub routes: Routes,
    /// libdevice.10.bc.
    pub libdevice: PathBuf,
    /// Architecture that kernels are prepared for.
    pub arch: String,
    /// Seed of a kernel of which one shadow is changed, to see the comparison fail.
    pub change_shadow_of: Option<u64>,
}

/// What came of one kernel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum KernelVerdict {
    /// Both routes computed its reference.
    Compared(ComparedRoutes),
    /// Device code has no shadow for something, so that the tables compute the reference on both routes: nothing was
    /// compared.
    NeedsHost(Vec<String>),
    /// It could not be made or run.
    Failed {
        /// Why.
        why: String,
        /// A device that failed once fails from then on.
        spoils_worker: bool,
    },
}

/// What a comparison found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ComparedRoutes {
    /// Shadow values.
    pub values: usize,
    /// Those of them that are not a single f64.
    pub with_low_word: usize,
    /// Comparisons that went the other way, on the first route.
    pub flips: u64,
    /// Differences of shadows.
    pub shadows_differ: Vec<String>,
    /// Differences of flips.
    pub flips_differ: Vec<String>,
    /// Differences of what the kernel itself wrote.
    pub outputs_differ: Option<String>,
}

impl ComparedRoutes {
    fn new(first: &RandomShadows, second: &RandomShadows) -> ComparedRoutes {
        let values = || first.values.iter().flatten();
        ComparedRoutes {
            values: values().count(),
            // Of either sign, a zero adds nothing.
            with_low_word: values().filter(|(_, lo)| lo << 1 != 0).count(),
            flips: first.flips.iter().sum(),
            shadows_differ: first.shadow_differences(second),
            flips_differ: first.flip_differences(second),
            outputs_differ: first.outputs.differences(&second.outputs),
        }
    }

    /// All differences, in words.
    pub fn differences(&self) -> Vec<&str> {
        let found = self.shadows_differ.iter().chain(&self.flips_differ);
        let found = found.map(String::as_str).collect::<Vec<_>>();
        let program = self.outputs_differ.as_deref();
        found.into_iter().chain(program).collect()
    }
}

impl KernelVerdict {
    fn from_routes(first: DeviceShadows, second: DeviceShadows) -> KernelVerdict {
        let ways = |l: &LostShadows| -> Vec<String> {
            let ways = l.by_reason().into_iter();
            ways.map(|(_, way)| format!("{way} (found when it ran)"))
                .collect()
        };
        match (&first, &second) {
            (Ok(a), Ok(b)) => KernelVerdict::Compared(ComparedRoutes::new(a, b)),
            (Err(a), Err(b)) if ways(a) == ways(b) => KernelVerdict::NeedsHost(ways(a)),
            _ => {
                let words = |r: &DeviceShadows| match r {
                    Ok(_) => "none".to_owned(),
                    Err(lost) => lost.to_string(),
                };
                let lost = format!("shadows lost: {} and {}", words(&first), words(&second));
                KernelVerdict::Compared(ComparedRoutes {
                    shadows_differ: vec![lost],
                    ..ComparedRoutes::default()
                })
            }
        }
    }
}

impl CampaignSetup {
    /// Computes the reference of a kernel by both routes.
    fn compare(&self, seed: u64, libdevice: &[u8]) -> Result<KernelVerdict, ExecError> {
        // Workers share the cores.
        let options = CpuOptions {
            threads: 1,
            ..CpuOptions::default()
        };
        let made = |device| shadowed(seed, libdevice, &self.arch, device);
        let on_cpu = made(Some(ShadowDevice::Cpu))?;
        if !on_cpu.map.needs_host.is_empty() {
            return Ok(KernelVerdict::NeedsHost(on_cpu.map.needs_host));
        }
        let cpu = on_cpu.run_on_cpu(options)?;
        let (first, mut second) = match (self.routes, cpu) {
            (Routes::GpuAndCpu { ordinal }, cpu) => {
                let on_gpu = made(Some(ShadowDevice::Gpu))?;
                (on_gpu.run_on_gpu(&self.arch, ordinal)?, cpu)
            }
            // The tables would stand in for it.
            (Routes::CpuAndTables, Err(lost)) => (Err(lost), Err(lost)),
            (Routes::CpuAndTables, cpu) => (cpu, Ok(made(None)?.run_with_tables(options)?)),
        };
        if let (Some(s), Ok(shadows)) = (self.change_shadow_of, &mut second)
            && let (true, Some(v)) = (s == seed, shadows.values[0].first_mut())
        {
            v.0 ^= 1;
        }
        Ok(KernelVerdict::from_routes(first, second))
    }
}

/// Answers seeds on standard input, as a worker of [`run`].
pub fn work(setup: &CampaignSetup, libdevice: &[u8]) -> Result<(), ExecError> {
    // Kept from one kernel to the next: a context takes longer than most kernels.
    let _context: Option<KeptContext> = match setup.routes {
        Routes::GpuAndCpu { ordinal } => Some(cuda::keep(ordinal)?),
        Routes::CpuAndTables => None,
    };
    serve(|seed: u64| {
        let compared = setup.compare(seed, libdevice);
        compared.unwrap_or_else(|e| KernelVerdict::Failed {
            why: e.to_string(),
            spoils_worker: matches!(e, ExecError::Device { .. } | ExecError::Launch { .. }),
        })
    });
    Ok(())
}

/// How workers are started, and how long they may take.
pub struct Workers<'a> {
    /// Program that calls [`work`] when it is given `arguments`.
    pub program: &'a Path,
    /// Its arguments.
    pub arguments: &'a [&'a str],
    /// Processes at a time.
    pub jobs: usize,
    /// Time that one kernel may take.
    pub limit: Duration,
}

/// Compares the kernels of a range of seeds; `each` is told of every one as it is done.
pub fn run(
    workers: &Workers,
    seeds: std::ops::Range<u64>,
    each: impl Fn(u64, &KernelVerdict) + Sync,
) -> BTreeMap<u64, KernelVerdict> {
    let next = AtomicU64::new(seeds.start);
    let done = Mutex::new(BTreeMap::new());
    let one_by_one = || {
        let mut worker = None;
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if !seeds.contains(&seed) {
                return;
            }
            let verdict = ask(workers, &mut worker, seed);
            each(seed, &verdict);
            done.lock()
                .unwrap_or_else(|e| e.into_inner())
                .insert(seed, verdict);
        }
    };
    std::thread::scope(|s| {
        for _ in 0..workers.jobs {
            s.spawn(one_by_one);
        }
    });
    done.into_inner().unwrap_or_else(|e| e.into_inner())
}

/// Asks a worker, a new one where the last kernel ended or spoiled it.
fn ask(workers: &Workers, worker: &mut Option<WorkerProcess>, seed: u64) -> KernelVerdict {
    let started = match worker.take() {
        Some(w) => Ok(w),
        None => WorkerProcess::start(workers.program, workers.arguments),
    };
    let answer = started.and_then(|mut w| {
        let verdict = w.ask(&seed, workers.limit)?;
        *worker = Some(w);
        Ok(verdict)
    });
    let verdict = answer.unwrap_or_else(|e| KernelVerdict::Failed {
        why: e.to_string(),
        spoils_worker: true,
    });
    if let KernelVerdict::Failed {
        spoils_worker: true,
        ..
    } = verdict
    {
        *worker = None;
    }
    verdict
}
