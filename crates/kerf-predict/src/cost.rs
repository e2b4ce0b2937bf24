//! The cost model: how long a program takes on a device, predicted from a profile and from counts.
//!
//! A launch takes as long as its most used resource: issue slots, the units of each format, the load-store unit, L2, device
//! memory; or, where there are too few warps to hide latency, the dependent operations of one warp. Counts come from one
//! counting run of the original program (`kerf_pass::count`); a plan changes formats and inserts conversions, not how often
//! blocks are executed, so the same counts serve every plan.
//!
//! Results are labelled as predictions. There is no correction for single kernels; constants that are fitted to recorded times
//! are the device's and stand in one file ([`FittedConstants`]).
mod baseline;
mod census;
mod combine;
mod executed;
mod fitted;
mod launch;
mod machine;
mod memory;
mod operations;
mod rates;
mod registers;
mod subject;
mod traffic;

pub use baseline::{StaticCounts, static_score};
pub use fitted::{FittedConstants, MachineCodeConstants, ProgramConstants, RunConstants};
pub use machine::{AssemblerError, Compiler, ptxas, readable};
pub use rates::OperationClocks;
pub use subject::PredictedSubject;

use kerf_device::bundled;
use kerf_device::occupancy::Multiprocessor;
use kerf_device::profile::{DeviceProfile, Figure};
use kerf_llvm::{LlvmError, Module};
use kerf_pass::count::LaunchCounts;
use kerf_pass::{Plan, PlanError};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A unit of a multiprocessor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(usize)]
pub(crate) enum Unit {
    Issue = 0,
    F64 = 1,
    F32 = 2,
    Half = 3,
    Special = 4,
    LoadStore = 5,
}

/// A resource that may limit a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Resource {
    /// Issue slots of the schedulers.
    Issue,
    /// Double-precision units.
    F64,
    /// Single-precision and integer units.
    F32,
    /// Half-precision units.
    Half,
    /// Special functions and conversions.
    Special,
    /// Load-store unit, with L1 and shared memory.
    LoadStore,
    /// L2.
    L2,
    /// Device memory.
    Dram,
    /// Latency of dependent operations of a warp.
    Latency,
    /// Latency of memory.
    MemoryLatency,
    /// Overhead of launches.
    Launch,
}

impl std::fmt::Display for Resource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Resource::Issue => "issue slots",
            Resource::F64 => "f64 units",
            Resource::F32 => "f32 and integer units",
            Resource::Half => "half-precision units",
            Resource::Special => "special functions and conversions",
            Resource::LoadStore => "load-store unit",
            Resource::L2 => "L2",
            Resource::Dram => "device memory",
            Resource::Latency => "latency",
            Resource::MemoryLatency => "latency of memory",
            Resource::Launch => "launches",
        })
    }
}

/// Time on one resource.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ResourceShare {
    /// The resource.
    pub resource: Resource,
    /// Seconds of one launch, if the other resources took no time.
    pub seconds: f64,
}

/// Similar launches of a kernel.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LaunchPrediction {
    /// Symbol of the kernel.
    pub symbol: String,
    /// How many.
    pub repeats: u64,
    /// Seconds of one.
    pub seconds: f64,
    /// Seconds that the device works on one, without the overhead of the launch.
    pub device_seconds: f64,
    /// The resource that decides them.
    pub limit: Resource,
    /// Every resource, the longest first.
    pub shares: Vec<ResourceShare>,
    /// Registers of a thread: the assembler's, or estimated.
    pub registers: u32,
    /// Warps resident on a multiprocessor.
    pub warps: u32,
    /// Waves of blocks: how often the device is filled.
    pub waves: f64,
}

/// How long a program takes on a device.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Prediction {
    /// `predicted`: never to be shown as anything else.
    pub basis: &'static str,
    /// Name of the profile.
    pub profile: String,
    /// Seconds of one run.
    pub seconds: f64,
    /// The resource that limits launches with most of them.
    pub limit: Resource,
    /// Seconds of launches by the resource that limits them.
    pub by_limit: BTreeMap<Resource, f64>,
    /// Launches.
    pub launches: Vec<LaunchPrediction>,
    /// Operations whose cost is an assumption, since the profile does not have them.
    pub assumed: Vec<String>,
}

impl Prediction {
    /// Seconds of a run whose launches the host sends one by one while the device waits, instead of replaying recorded
    /// launches: what runs took in records before launches were recorded.
    pub fn host_launched_seconds(&self) -> f64 {
        self.seconds + FittedConstants::shipped().run.host_start_s
    }
}

/// Why nothing can be predicted.
#[derive(Debug, thiserror::Error)]
pub enum CostError {
    /// The plan cannot be carried out.
    #[error("{0}")]
    Plan(#[from] PlanError),
    /// The profile does not give a limit.
    #[error(
        "profile {profile} does not say limits.{field}, so no time can be predicted for it; help: choose another with --profile"
    )]
    Unknown {
        /// The profile's name.
        profile: String,
        /// Which limit.
        field: &'static str,
    },
    /// LLVM does not compile the program.
    #[error("{0}")]
    Compile(#[from] LlvmError),
    /// NVIDIA's assembler does not assemble it.
    #[error("{0}")]
    Assemble(#[from] AssemblerError),
    /// The machine code is of an unknown form, or kernels are missing in it.
    #[error("the assembler's binary cannot be read")]
    Binary,
    /// The counts are of another program.
    #[error("the counts are of kernel {0}, which the program does not have; help: count again")]
    Kernel(String),
    /// What a coarsened kernel does where branches divide its warps is no part of the counts.
    #[error(
        "warps of kernel {0} diverge where one thread does the work of several; help: take `coarsen` out of the plan, or measure"
    )]
    Diverging(String),
    /// Accesses to records that are stored otherwise are no part of the counts.
    #[error(
        "the plan stores records otherwise than the program that was counted; help: take `records` out of the plan, or measure"
    )]
    Records,
}

impl From<kerf_device::occupancy::OccupancyError> for CostError {
    fn from(e: kerf_device::occupancy::OccupancyError) -> CostError {
        match e {
            kerf_device::occupancy::OccupancyError::Unknown { profile, field } => {
                CostError::Unknown { profile, field }
            }
            // Only unknown limits come from a profile.
            _ => CostError::Unknown {
                profile: String::new(),
                field: "limits",
            },
        }
    }
}

/// A device as the models use it.
#[derive(Clone)]
pub struct CostModel {
    profile: DeviceProfile,
    machine: Multiprocessor,
    sms: f64,
    clock_hz: f64,
    l2_bytes: f64,
    /// Bytes a second, of all multiprocessors together.
    l2_bandwidth: f64,
    /// Bytes a second of device memory.
    bandwidth: f64,
    launch_s: f64,
}

/// Counts of one run of a program.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ProgramWork {
    /// Launches.
    pub launches: Vec<LaunchCounts>,
    /// Copies between buffers on the device.
    #[serde(default)]
    pub copies: u64,
    /// Bytes that they copy.
    #[serde(default)]
    pub copied_bytes: u64,
}

/// Seconds in which Kerf assembles one launch (sizes, arguments), beside the driver: measured, 1.5 to 2.9 us for the examples on
/// one machine. Runs of a workload are timed with it.
const LAUNCH_ASSEMBLY_S: f64 = 2.2e-6;
/// Seconds in which the driver launches, where the profile does not say: assumed (the H200 takes 5.1 us).
const ASSUMED_LAUNCH_S: f64 = 4e-6;
/// Bytes a clock from L2 to a multiprocessor, where the profile does not say,
/// as NVIDIA documents for Volta and later.
const ASSUMED_L2_BYTES_PER_CLOCK: f64 = 64.0;

/// Completes limits that a profile does not say from the published profile of its architecture.
fn completed(p: &DeviceProfile) -> DeviceProfile {
    let mut p = p.clone();
    let Some(other) = bundled::find(&p.arch).and_then(|f| f.bundled.load().ok()) else {
        return p;
    };
    let fill = |to: &mut Figure, from: &Figure| {
        if to.is_unknown() {
            *to = from.clone();
        }
    };
    let (l, o) = (&mut p.limits, &other.limits);
    fill(&mut l.registers_per_thread, &o.registers_per_thread);
    fill(&mut l.register_unit, &o.register_unit);
    fill(&mut l.schedulers_per_sm, &o.schedulers_per_sm);
    fill(&mut l.warps_per_sm, &o.warps_per_sm);
    fill(&mut l.blocks_per_sm, &o.blocks_per_sm);
    fill(&mut l.l2_bytes, &o.l2_bytes);
    p
}

impl CostModel {
    /// The model of a device.
    pub fn new(profile: &DeviceProfile) -> Result<CostModel, CostError> {
        let profile = completed(profile);
        let l = &profile.limits;
        let need = |field, f: &Figure| {
            let known = f.value.filter(|v| *v > 0.0);
            known.ok_or(CostError::Unknown {
                profile: profile.name.clone(),
                field,
            })
        };
        let (sms, clock_hz) = (need("sms", &l.sms)?, need("clock_mhz", &l.clock_mhz)? * 1e6);
        let bandwidth = need("copy_bandwidth", &l.copy_bandwidth)?;
        Ok(CostModel {
            machine: Multiprocessor::from_profile(&profile)?,
            sms,
            clock_hz,
            l2_bytes: l.l2_bytes.value.unwrap_or(0.0),
            l2_bandwidth: l
                .l2_bandwidth
                .value
                .unwrap_or(ASSUMED_L2_BYTES_PER_CLOCK * sms * clock_hz),
            bandwidth,
            launch_s: l.launch_overhead.value.unwrap_or(ASSUMED_LAUNCH_S) + LAUNCH_ASSEMBLY_S,
            profile,
        })
    }

    /// Registers of a thread of each kernel of a prepared module, by symbol, estimated.
    pub fn registers(&self, m: &Module) -> BTreeMap<String, u32> {
        let rates = rates::Rates::from_profile(&self.profile);
        let all = census::kernels_of(
            m,
            &rates,
            self.machine.registers_per_thread,
            &BTreeMap::new(),
        );
        all.into_iter().map(|(s, k)| (s, k.registers)).collect()
    }

    /// Name of the profile.
    pub fn profile_name(&self) -> &str {
        &self.profile.name
    }

    /// Prepares a program for predictions of its plans: `original` is its prepared module as counted.
    pub fn subject<'c>(
        &'c self,
        original: &Module,
        work: &ProgramWork,
    ) -> Result<PredictedSubject<'c>, CostError> {
        PredictedSubject::new(self, original, (work, &Plan::default()), None)
    }

    /// The same of a program that was counted under a plan, which stores records otherwise and changes nothing else. All plans
    /// that are predicted have to store them so.
    pub fn subject_counted_as<'c>(
        &'c self,
        original: &Module,
        work: &ProgramWork,
        counted_as: &Plan,
    ) -> Result<PredictedSubject<'c>, CostError> {
        PredictedSubject::new(self, original, (work, counted_as), None)
    }

    /// [`CostModel::subject`] of one kernel alone, by its symbol.
    pub fn kernel<'c>(
        &'c self,
        original: &Module,
        work: &ProgramWork,
        symbol: &str,
    ) -> Result<PredictedSubject<'c>, CostError> {
        PredictedSubject::new(self, original, (work, &Plan::default()), Some(symbol))
    }

    /// Predicts one run of a program under a plan. `original` is its prepared module as counted.
    pub fn predict(
        &self,
        original: &Module,
        plan: &Plan,
        work: &ProgramWork,
    ) -> Result<Prediction, CostError> {
        self.subject(original, work)?.predict(plan)
    }
}
