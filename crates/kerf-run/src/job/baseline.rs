//! What the programs of a measurement are before they run.
use super::timed::TimedProgram;
use super::turn::MachineShare;
use crate::run::FirstContents;
use kerf_exec::cuda;

/// First contents of the buffers of a job's programs, where they can be kept.
#[derive(Default)]
pub(super) struct JobContents {
    /// In their own formats.
    pub own: Option<FirstContents>,
    /// As the plan holds them.
    pub held: Option<FirstContents>,
    /// What the numbers of each buffer lost on the way to a scaled format, where the device counted that: how many saturate,
    /// and how many are not held.
    pub lost: Vec<[u64; 2]>,
    /// The GPU is this process's since they were made there: what comes next goes on, and does not wait once more.
    pub turn: Option<MachineShare>,
}

/// The program as it is, where it is measured beside the plan's.
pub(super) enum Baseline {
    /// On the device, left by an evaluation before.
    Loaded(Box<TimedProgram>),
    /// Ready to be loaded.
    Code(cuda::Code),
}
