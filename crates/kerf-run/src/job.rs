//! One evaluation, as a message: what a worker process is asked, and what it answers.
//!
//! A job names files, not contents: the worker reads the workload and makes the inputs itself, so
//! that parent and child share nothing but this text.
mod answers;
mod baseline;
mod candidate;
mod check;
mod count;
mod counting_executor;
mod error;
mod execute;
mod finished;
mod inputs_key;
mod kept;
mod launch_kinds;
mod launches;
mod loss_code;
mod losses;
mod measured;
mod planned;
mod reference;
mod report;
mod resident;
mod resident_inputs;
mod save;
mod shadowed;
mod sweep;
mod timed;
mod turn;
mod workshop;

pub use answers::ExpectedOutputs;
pub use candidate::{
    CandidateBench, CandidateFinding, CandidateJob, CandidateReport, Defect, LeftOut, OutputErrors,
};
pub use count::{KernelCounts, MadeArguments, NotCounted, ProgramCounts, SiteCounts, Traffic};
pub use error::{JobError, NoReport};
pub use execute::{counting_ptx, execute, execute_with};
pub use finished::finish_with_tools;
pub use launch_kinds::{LaunchKind, kinds};
pub use launches::{LaunchTime, LaunchTimer, Run, bench};
pub use losses::StorageLosses;
pub use report::{
    Energy, Flip, FormatErrors, JobReport, JobSeconds, Output, OutputAnswer, OutputVerdict,
    ReferenceInfo, Times,
};
pub use timed::TimedProgram;
pub use turn::MachineShare;
pub use workshop::Workshop;

pub use sweep::{
    CallComparison, Change, ComparedCalls, Deed, Degree, Deviation, NOT_YET, RepeatCheck, Start,
    Sweep, Swept, TimedVersion, sweep,
};

use crate::other_launches::OtherLaunches;
use kerf_clang::clang_program::ClangProgram;
use kerf_clang::compile::Purpose;
use kerf_clang::compile::Toolchain;
use kerf_exec::cpu::SanitizeOptions;
use kerf_pass::count::Detail;
use kerf_pass::{Plan, SiteFormat};
use kerf_workload::Workload;
use kerf_workload::accept::Accept;
use kerf_workload::generate::perturb::Perturb;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Where to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Device {
    /// The CPU executor.
    Cpu,
    /// An NVIDIA GPU.
    Cuda,
}

/// What computes references.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReferenceRoute {
    /// Device code on the job's GPU.
    Gpu,
    /// Device code on the CPU executor.
    #[default]
    Cpu,
    /// Functions of the CPU executor, with tables that find floats again which travel as integers. What device code has
    /// no shadow for comes here in any case.
    Tables,
}

/// What is to be done.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Job {
    /// Workload file.
    pub workload: PathBuf,
    /// Sizes and parameters that replace the file's. The file is read with the CPU's sizes everywhere; those of a GPU are
    /// overrides ([`Job::at_sizes_of_device`]), so that whatever belongs to one job has one size, also what it runs on the CPU.
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
    /// What computes it.
    #[serde(default)]
    pub reference_route: ReferenceRoute,
    /// Also count, in an instrumented run of the program on the job's device.
    #[serde(default)]
    pub count: Option<Detail>,
    /// Count on the CPU executor, whatever the device.
    #[serde(default)]
    pub count_on_cpu: bool,
    /// Count, and run nothing else.
    #[serde(default)]
    pub count_only: bool,
    /// Count in some blocks of each launch, which stand for all (CPU executor).
    #[serde(default)]
    pub count_sampled: bool,
    /// Check for undefined behaviour (CPU).
    #[serde(default)]
    pub memcheck: Option<SanitizeOptions>,
    /// Threads of the CPU executor; 0: all cores.
    pub threads: usize,
    /// Run kernels with barriers as coroutines only (CPU).
    pub coroutines: bool,
    /// Order of the blocks of kernels whose results depend on it: 0 by number, each other number another
    /// (CPU).
    #[serde(default)]
    pub order: u64,
    /// Untimed runs before the timed ones.
    pub warmup: u32,
    /// Timed runs.
    pub repeats: u32,
    /// Do not count what scaled formats lose: a search does that for the plans that it may choose.
    #[serde(default)]
    pub skip_losses: bool,
    /// Samples of a measurement beside the program's that are enough where they hardly differ.
    pub steady_repeats: Option<u32>,
    /// Seconds that a timed sample should last at least: launches are recorded, and replayed to fill them (CUDA). 0: a
    /// sample is one run by the host, whose time to launch is in it.
    #[serde(default)]
    pub sample_s: f64,
    /// File that is locked while times are measured, so that processes on one GPU take turns.
    #[serde(default)]
    pub lock: Option<PathBuf>,
    /// Seconds over which to measure energy (CUDA); 0: not.
    pub energy_s: f64,
    /// Folder for outputs as .npy.
    pub save: Option<PathBuf>,
    /// No digests of outputs. Those that nothing else needs are not read from the device then.
    #[serde(default)]
    pub skip_digests: bool,
    /// What outputs are expected to be, beside what the workload says of them.
    #[serde(default)]
    pub answers: Option<ExpectedOutputs>,
    /// Inputs, and expected outputs, stay for the next job of the same process, on the GPU or, as far as there is room, in
    /// memory.
    #[serde(default)]
    pub keep_inputs: bool,
    /// clang.
    pub clang: Option<ClangProgram>,
    /// CUDA folder.
    pub cuda: Option<PathBuf>,
    /// libdevice.
    pub libdevice: Option<PathBuf>,
    /// Architecture.
    pub arch: String,
    /// Module cache.
    pub cache: Option<PathBuf>,
    /// Changes to the inputs.
    #[serde(default)]
    pub perturb: Option<Perturb>,
    /// What counts as close enough, where not what the file says.
    #[serde(default)]
    pub accept: Option<Accept>,
    /// Folder that keeps references, each of which is then computed once.
    #[serde(default)]
    pub references: Option<PathBuf>,
    /// Time the program as it is as well, run by run in turn with the plan's (CUDA).
    #[serde(default)]
    pub baseline: bool,
    /// Also tell how the error is spread over each output.
    #[serde(default)]
    pub scatter: bool,
    /// No quantiles of errors beside those that the acceptance asks for, where outputs are compared on a GPU: each takes
    /// seven looks at all values.
    #[serde(default)]
    pub brief: bool,
    /// Run this program in place of the workload's.
    #[serde(default)]
    pub patched: Option<Patched>,
    /// Plans that are likely to be asked for next: their code is made on other cores while this one is measured (CUDA).
    #[serde(default)]
    pub ahead: Vec<Plan>,
    /// Jobs that are likely to be asked for next, of other programs too: the same for these.
    #[serde(default)]
    pub next: Vec<Job>,
}

/// A program that takes the place of the workload's, on its inputs and against its reference: the same kernels
/// from another source.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Patched {
    /// Its source.
    pub source: PathBuf,
    /// Compiler flags.
    pub flags: Vec<String>,
    /// Buffers that its kernels take in narrower formats than the workload has, by name.
    pub held: Vec<(String, SiteFormat)>,
    /// How it is launched, where not exactly as the workload's program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub launches: Option<OtherLaunches>,
}

impl Job {
    /// The job at the sizes of its device: for a GPU with the workload's full sizes as overrides.
    pub fn at_sizes_of_device(self) -> Result<Job, JobError> {
        let overrides = match self.device {
            Device::Cpu => return Ok(self),
            Device::Cuda => Workload::gpu_overrides(&self.workload, &self.overrides)?,
        };
        Ok(Job { overrides, ..self })
    }

    /// One run of the program as it is on the CPU, and nothing else.
    pub fn plain(workload: PathBuf, tools: &Toolchain) -> Job {
        Job {
            workload,
            overrides: Vec::new(),
            seed: None,
            device: Device::Cpu,
            ordinal: 0,
            plan: Plan::default(),
            reference: false,
            reference_route: ReferenceRoute::default(),
            count: None,
            count_on_cpu: false,
            count_only: false,
            count_sampled: false,
            memcheck: None,
            threads: 0,
            coroutines: false,
            order: 0,
            warmup: 0,
            repeats: 1,
            skip_losses: false,
            steady_repeats: None,
            sample_s: 0.0,
            lock: None,
            energy_s: 0.0,
            save: None,
            skip_digests: false,
            answers: None,
            keep_inputs: false,
            clang: tools.clang.clone(),
            cuda: tools.cuda.clone(),
            libdevice: tools.libdevice.clone(),
            arch: tools.arch.clone(),
            cache: tools.cache.clone(),
            perturb: None,
            accept: None,
            references: None,
            scatter: false,
            brief: false,
            baseline: false,
            patched: None,
            ahead: Vec::new(),
            next: Vec::new(),
        }
    }

    /// The toolchain for a program that is checked: sanitized before optimisation, unless the plan's sites are those of
    /// the optimised program.
    pub(crate) fn checked_toolchain(&self) -> Toolchain {
        let as_written = self.plan.kernels.values().all(|k| {
            let formats = k.sites.is_empty() && k.math.is_empty() && k.storage.is_empty();
            let values = k.made.is_empty() && k.rewrites.is_empty() && k.partition.is_none();
            formats && values && k.records.is_empty()
        });
        Toolchain {
            purpose: match as_written {
                true => Purpose::Sanitizing,
                false => Purpose::Tuning,
            },
            ..self.toolchain()
        }
    }

    /// Are the bytes of outputs looked at by the host?
    pub(crate) fn reads_outputs(&self) -> bool {
        let compared = self.reference || self.memcheck.is_some();
        let expected = self.answers.is_some() && !answers::compares_on_device(self);
        compared || expected || self.save.is_some() || !self.skip_digests
    }

    /// Is the program counted by the CPU executor?
    pub(crate) fn counts_on_cpu(&self) -> bool {
        self.device == Device::Cpu || self.count_on_cpu
    }

    /// The toolchain that the job names.
    pub fn toolchain(&self) -> Toolchain {
        Toolchain {
            clang: self.clang.clone(),
            cuda: self.cuda.clone(),
            libdevice: self.libdevice.clone(),
            arch: self.arch.clone(),
            cache: self.cache.clone(),
            purpose: Purpose::Tuning,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gpu_has_full_sizes() {
        let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
        let path = PathBuf::from(examples).join("lavamd/lavamd.toml");
        let sizes = |device, overrides: &[(&str, i64)]| {
            let named = overrides.iter().map(|(n, v)| ((*n).to_owned(), *v));
            let job = Job {
                device,
                overrides: named.collect(),
                ..Job::plain(path.clone(), &Toolchain::default())
            };
            let job = job.at_sizes_of_device().expect("an example");
            let w = Workload::read(&job.workload, &job.overrides).expect("an example");
            (w.size("nb"), w.size("boxes"))
        };
        assert_eq!(sizes(Device::Cpu, &[]), (Some(3), Some(27)));
        assert_eq!(sizes(Device::Cuda, &[]), (Some(32), Some(32768)));
        for device in [Device::Cpu, Device::Cuda] {
            assert_eq!(sizes(device, &[("nb", 5)]), (Some(5), Some(125)));
        }
    }
}
