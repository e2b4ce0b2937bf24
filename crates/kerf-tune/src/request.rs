//! What is asked of the tuner.
use crate::approx::Approx;
use crate::coded::Assembler;
use crate::evaluate::WorkerProgram;
use crate::group::Grouping;
use crate::launch::strategy::TuneStrategy;
use crate::launch::tuners::Factor;
use crate::prediction::CostKind;
use crate::validate::Trials;
use kerf_device::profile::DeviceProfile;
use kerf_exec::cpu::SanitizeOptions;
use kerf_num::Metric;
use kerf_num::scaled::ElementCode;
use kerf_pass::SiteFormat;
use kerf_run::job::Job;
use std::path::PathBuf;
use std::time::Duration;

/// A request to tune a workload.
pub struct TuneRequest {
    /// What evaluations have in common: workload, device, toolchain, repeats.
    pub job: Job,
    /// What the program is checked for before the search.
    pub checks: SanitizeOptions,
    /// Tolerance, where not the file's.
    pub tolerance: Option<f64>,
    /// Metric, where not the file's.
    pub metric: Option<Metric>,
    /// Strategy.
    pub strategy: TuneStrategy,
    /// Evaluations, at most.
    pub budget: usize,
    /// The tolerance is this part of the way from the program's own error to the one that it has with every
    /// math call at its cheapest.
    pub ratio: Option<f64>,
    /// Formats that sites may have; none: they keep theirs.
    pub formats: Vec<SiteFormat>,
    /// Math calls and parts of the warps, where they may change.
    pub approx: Option<Approx>,
    /// Shapes of launches may change.
    pub launch: bool,
    /// Elements that a thread computes may change.
    pub layout: bool,
    /// How the code of kernels is laid out may change.
    pub code: bool,
    /// Expressions may be written differently.
    pub algebra: bool,
    /// Tuners that leave shapes out, with the strategy `launch`.
    pub tuners: Vec<Factor>,
    /// What changes together.
    pub grouping: Grouping,
    /// Hold buffers and arrays in narrower formats too.
    pub storage: bool,
    /// Codes of the scaled formats that they may have; none: floating-point formats alone.
    pub scaled: Vec<ElementCode>,
    /// Seconds over which the energy of the plan and of the program is measured, on a GPU. 0: not.
    pub energy_s: f64,
    /// Device that times are predicted for, where they are not measured.
    pub profile: DeviceProfile,
    /// How they are predicted.
    pub cost: CostKind,
    /// With it, predictions from machine code guide searches that measure.
    pub assembler: Option<Assembler>,
    /// Result folder.
    pub out: PathBuf,
    /// Seed of the search.
    pub seed: u64,
    /// Run each group alone first, for its effect on every output.
    pub sensitivity: bool,
    /// Go on with what is in the folder.
    pub resume: bool,
    /// Start it even if it is estimated to take hours.
    pub confirmed: bool,
    /// How the plan is validated.
    pub trials: Trials,
    /// Time limit of the first evaluation.
    pub limit: Duration,
    /// Evaluations at a time.
    pub workers: usize,
    /// How workers are started.
    pub program: WorkerProgram,
    /// Programs that reach workers of other machines, one each.
    pub remote: Vec<WorkerProgram>,
}
