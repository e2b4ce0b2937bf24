//! The cost model: how long a program takes on a device, predicted from a profile and from counts.
//!
//! A launch takes as long as the resource that it needs most: the schedulers, the units of each format,
//! the load-store unit, L2, memory; or, where there are too few warps to fill the waiting, the
//! operations of one warp one after the other. Counts come from one counting run of the original
//! program (`kerf_pass::count`); a plan changes formats and puts in conversions, not how often blocks
//! run, so the same counts serve every plan.
//!
//! What it gives is a prediction and says so. There is no correction for single kernels.
mod baseline;
mod census;
mod combine;
mod executed;
mod launch;
mod machine;
mod memory;
mod operations;
mod rates;
mod registers;
mod traffic;

pub use baseline::{StaticCounts, static_score};
pub use machine::{Compiler, FittedConstants, ptxas, readable};

use kerf_device::bundled;
use kerf_device::occupancy::Multiprocessor;
use kerf_device::profile::{DeviceProfile, Figure};
use kerf_llvm::Module;
use kerf_pass::count::{self, LaunchCounts};
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

/// What a launch may have to wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Resource {
    /// Slots of the schedulers.
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
    /// Operations of a warp that wait for each other.
    Latency,
    /// Operations of a warp that wait for memory.
    MemoryLatency,
    /// Getting launches to the device.
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
    /// Seconds of one launch, if it alone mattered.
    pub seconds: f64,
}

/// Launches that are alike.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LaunchPrediction {
    /// Symbol of the kernel.
    pub symbol: String,
    /// How many.
    pub repeats: u64,
    /// Seconds of one.
    pub seconds: f64,
    /// Seconds that the device works on one, getting it there apart.
    pub device_seconds: f64,
    /// What decides them.
    pub limit: Resource,
    /// Every resource, the longest first.
    pub shares: Vec<ResourceShare>,
    /// Registers of a thread, estimated.
    pub registers: u32,
    /// Warps on a multiprocessor.
    pub warps: u32,
    /// Rounds of blocks.
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
    /// What decides the largest part of them.
    pub limit: Resource,
    /// Seconds by what decided each launch.
    pub by_limit: BTreeMap<Resource, f64>,
    /// Launches.
    pub launches: Vec<LaunchPrediction>,
    /// Operations whose cost is an assumption, since the profile does not have them.
    pub assumed: Vec<String>,
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
    /// The program does not compile, or what came out cannot be read.
    #[error("{0}")]
    Code(String),
    /// The counts are of another program.
    #[error("the counts are of kernel {0}, which the program does not have; help: count again")]
    Kernel(String),
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

/// A device as the model uses it.
pub struct CostModel {
    profile: DeviceProfile,
    machine: Multiprocessor,
    sms: f64,
    clock_hz: f64,
    l2_bytes: f64,
    l2_bandwidth: f64,
    bandwidth: f64,
    launch_s: f64,
}

/// What one run of a program does, as counted.
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

/// What Kerf itself takes to put one launch together (sizes, arguments), beside the driver: 1.5 to 2.9 us
/// for the examples on one machine. Runs of a workload are timed with it.
const HOST_S: f64 = 2.2e-6;

/// Limits that a profile leaves open, from the published profile of its architecture.
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

/// Of a device whose launches nobody timed.
const USUAL_LAUNCH_S: f64 = 4e-6;

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
            // Where nobody measured it: 64 bytes a clock and multiprocessor, as documented.
            l2_bandwidth: l.l2_bandwidth.value.unwrap_or(64.0 * sms * clock_hz),
            bandwidth,
            launch_s: l.launch_overhead.value.unwrap_or(USUAL_LAUNCH_S) + HOST_S,
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

    /// Makes ready what predictions of a program's plans share: its blocks named, its own work looked at,
    /// launches that are nearly alike put together.
    pub fn subject<'c>(
        &'c self,
        original: &Module,
        work: &ProgramWork,
    ) -> Result<PredictedSubject<'c>, CostError> {
        self.subject_of(original, work, None)
    }

    /// [`CostModel::subject`] of one kernel alone, by its symbol: the others are left away.
    pub fn kernel<'c>(
        &'c self,
        original: &Module,
        work: &ProgramWork,
        symbol: &str,
    ) -> Result<PredictedSubject<'c>, CostError> {
        self.subject_of(original, work, Some(symbol))
    }

    fn subject_of<'c>(
        &'c self,
        original: &Module,
        work: &ProgramWork,
        only: Option<&str>,
    ) -> Result<PredictedSubject<'c>, CostError> {
        let module = original.duplicate();
        // Every prediction copies it.
        module.lighten_debug();
        count::label(&module);
        let rates = rates::Rates::from_profile(&self.profile);
        let mut patterns = census::Patterns::new();
        for l in work.launches.iter().filter(|l| !l.patterns.is_empty()) {
            patterns
                .entry(l.symbol.clone())
                .or_insert_with(|| l.patterns.clone());
        }
        let limit = self.machine.registers_per_thread;
        // Launches that nobody looked at are like the first that somebody did.
        let mut work = work.clone();
        let mut first = BTreeMap::new();
        for l in work.launches.iter_mut() {
            let (together, spread) = first
                .entry(l.symbol.clone())
                .or_insert_with(|| (l.together.clone(), l.spread));
            if l.together.is_empty() {
                (l.together, l.spread) = (together.clone(), *spread);
            }
        }
        let own = census::kernels_of(&module, &rates, limit, &patterns);
        for l in &work.launches {
            // Counts of another program would be read at the wrong places.
            let fits = own
                .get(&l.symbol)
                .is_some_and(|k| k.blocks.iter().all(|b| b.number < l.blocks.len()));
            if !fits {
                return Err(CostError::Kernel(l.symbol.clone()));
            }
        }
        let set = |l: &LaunchCounts| own.get(&l.symbol).map(|k| traffic::working_set(k, k, l));
        let all = work.launches.iter();
        let whole = all.filter_map(set).fold(0.0, f64::max);
        let mut launches = launch::alike(&work.launches);
        if let Some(symbol) = only {
            launches.retain(|l| l.symbol == symbol);
            for f in module.kernel_functions() {
                if f.name() != symbol && f.users().is_empty() {
                    f.delete_function();
                }
            }
        }
        let largest = launches.iter().filter_map(set).fold(0.0, f64::max);
        Ok(PredictedSubject {
            model: self,
            module,
            rates,
            // What other kernels work on grows and shrinks with what these do.
            beside: whole / f64::max(largest, 1.0),
            own,
            patterns,
            launches,
            copies: (work.copies, work.copied_bytes),
        })
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

/// A counted program, whose plans are predicted one after the other.
pub struct PredictedSubject<'c> {
    model: &'c CostModel,
    module: Module,
    rates: rates::Rates<'c>,
    own: BTreeMap<String, census::KernelWork>,
    patterns: census::Patterns,
    launches: Vec<LaunchCounts>,
    copies: (u64, u64),
    beside: f64,
}

impl PredictedSubject<'_> {
    /// Seconds that the device works in one run under a plan, launches and copies apart: what is left when
    /// a program is large enough, or runs often enough, that those do not matter.
    pub fn device_seconds(&self, plan: &Plan) -> Result<f64, CostError> {
        let all = self.launched(plan)?;
        let one = |l: &LaunchPrediction| l.device_seconds * l.repeats as f64;
        Ok(all.iter().map(one).sum())
    }

    fn launched(&self, plan: &Plan) -> Result<Vec<LaunchPrediction>, CostError> {
        let m = self.module.duplicate();
        plan.apply(&m)?;
        let c = self.model;
        let limit = c.machine.registers_per_thread;
        let kernels = census::kernels_of(&m, &self.rates, limit, &self.patterns);
        let mut all = Vec::new();
        for l in &self.launches {
            let (Some(work), Some(own)) = (kernels.get(&l.symbol), self.own.get(&l.symbol)) else {
                return Err(CostError::Kernel(l.symbol.clone()));
            };
            all.push((work.of_launch(&self.patterns, l), work, own, l));
        }
        let all = all
            .iter()
            .map(|(here, w, o, l)| (here.as_ref().unwrap_or(w), *o, *l));
        let all: Vec<_> = all.collect();
        // What one launch leaves in L2 the next one finds there, if all fits.
        let sets = all.iter().map(|(w, o, l)| traffic::working_set(w, o, l));
        let missed = c.missed(sets.fold(0.0, f64::max) * self.beside);
        let out: Vec<LaunchPrediction> = all
            .into_iter()
            .map(|(w, o, l)| c.launch(&self.rates, w, o, l, missed))
            .collect();
        Ok(out)
    }

    /// Predicts one run under a plan.
    pub fn predict(&self, plan: &Plan) -> Result<Prediction, CostError> {
        Ok(self.run_of(combine::START_S, self.launched(plan)?))
    }

    /// A run of these launches, which begins with so many seconds.
    fn run_of(&self, start: f64, out: Vec<LaunchPrediction>) -> Prediction {
        let c = self.model;
        let mut by_limit: BTreeMap<Resource, f64> = BTreeMap::new();
        // The device is woken and the first launch gets to it; later ones do while others run.
        let (copies, bytes) = self.copies;
        let copied = copies as f64 * c.launch_s + 2.0 * bytes as f64 / c.bandwidth;
        let mut seconds = start + copied;
        by_limit.insert(Resource::Launch, seconds);
        for p in &out {
            let all = p.seconds * p.repeats as f64;
            seconds += all;
            *by_limit.entry(p.limit).or_insert(0.0) += all;
        }
        let limit = by_limit
            .iter()
            .max_by(|a, b| a.1.total_cmp(b.1))
            .map_or(Resource::Launch, |l| *l.0);
        Prediction {
            basis: "predicted",
            profile: c.profile.name.clone(),
            seconds,
            limit,
            by_limit,
            launches: out,
            assumed: self.rates.assumed(),
        }
    }
}
