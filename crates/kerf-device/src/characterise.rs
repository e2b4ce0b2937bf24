//! Characterising a GPU: every probe, the limits, pairs of streams and energy, into one profile.
//!
//! The profile is handed out after every step, so that an interrupted run can go on: what a given
//! profile already holds is not measured again.
mod compile;
mod energy;
mod speed;

use crate::accuracy::{self, ArgumentEffort};
use crate::contention;
use crate::limits;
use crate::occupancy::{Demand, Multiprocessor};
use crate::operation::{Operation, OperationClass, catalogue};
use crate::probe::Libraries;
use crate::probe::measure::Best;
use crate::profile::{
    DeviceProfile, Figure, FigureSource, Limits, OperationProfile, ProfileOrigin,
};
use crate::profile::{SCHEMA, VERSION};
use compile::{Compiled, Ready};
use kerf_exec::cuda::watch::Watch;
use kerf_exec::cuda::{self, Attributes, CudaExecutor};
use kerf_exec::{ExecError, Executor};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

/// How much to measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CampaignMode {
    /// Under a minute: fewer repeats, no energy.
    Quick,
    /// Everything.
    Full,
}

impl CampaignMode {
    /// As written in a profile.
    pub fn name(self) -> &'static str {
        match self {
            CampaignMode::Quick => "quick",
            CampaignMode::Full => "full",
        }
    }
}

/// What to do and with what.
pub struct CharacteriseOptions<'a> {
    /// How much.
    pub mode: CampaignMode,
    /// Number of the GPU.
    pub ordinal: i32,
    /// What probes are linked with.
    pub libraries: Libraries<'a>,
    /// `cuobjdump` or `nvdisasm`.
    pub disassembler: Option<PathBuf>,
    /// Name of the profile.
    pub name: String,
    /// Today, `YYYY-MM-DD`.
    pub date: String,
    /// Operations to measure; all when empty.
    pub only: Vec<String>,
    /// Hard-to-round arguments to look at besides, by operation.
    pub hard: Vec<(String, Vec<f64>)>,
}

/// Where a characterisation stands.
#[derive(Debug, Clone)]
pub struct Progress {
    /// What is being done.
    pub what: String,
    /// Done, from 0 to 1.
    pub done: f64,
    /// Estimated seconds left.
    pub left: f64,
}

/// What masked chains go through: a logical operation, or a multiply-add.
const FEEDS: [&str; 2] = ["logic.i32", "fma.i32"];

/// Pairs of operations whose streams are issued together.
pub const PAIRS: [(&str, &str); 8] = [
    ("add.f32", "add.f64"),
    ("fma.f32", "fma.f64"),
    ("fma.f32", "fma.f16x2"),
    ("fma.f64", "fma.f16x2"),
    ("fma.f32", "add.i32"),
    ("fma.f64", "add.i32"),
    ("fma.f32", "exp2.f32.sfu"),
    ("fma.f64", "exp2.f32.sfu"),
];

/// Operations whose energy is measured.
pub const ENERGY: [&str; 20] = [
    "add.f32",
    "mul.f32",
    "fma.f32",
    "add.f64",
    "fma.f64",
    "fma.f16x2",
    "add.i32",
    "add.dw32",
    "add.dw64",
    "div.f32",
    "div.f32.sfu",
    "exp.f32",
    "exp.f32.sfu",
    "exp.f64",
    "log.f32.sfu",
    "sin.f32",
    "sin.f32.sfu",
    "div.f64",
    "convert.f64.f32",
    "load.shared",
];

/// Seconds that a step is thought to take, for the estimate of the time left.
fn expected(mode: CampaignMode, step: &str) -> f64 {
    match (mode, step) {
        (_, "compile") => 12.0,
        (CampaignMode::Quick, "probe") => 0.08,
        (CampaignMode::Full, "probe") => 0.25,
        (_, "limits") => 3.0,
        (_, "pair") => 0.1,
        (CampaignMode::Quick, "accuracy") => 0.7,
        (CampaignMode::Full, "accuracy") => 1.0,
        (_, "energy") => 11.5,
        _ => 1.0,
    }
}

struct Clock<'a> {
    started: Instant,
    total: f64,
    done: f64,
    tell: &'a mut dyn FnMut(Progress),
}

impl Clock<'_> {
    fn step(&mut self, what: &str, expected: f64) {
        let elapsed = self.started.elapsed().as_secs_f64();
        // Trust the plan at first, the pace so far later.
        let pace = if self.done > 5.0 {
            elapsed / self.done
        } else {
            1.0
        };
        (self.tell)(Progress {
            what: what.into(),
            done: (self.done / self.total).min(1.0),
            left: (self.total - self.done).max(0.0) * pace,
        });
        self.done += expected;
    }
}

/// Takes the profile after each step.
pub type StoreProfile<'a> = dyn FnMut(&DeviceProfile) -> Result<(), ExecError> + 'a;

/// A characterisation under way.
struct Campaign<'a> {
    o: &'a CharacteriseOptions<'a>,
    arch: String,
    attributes: Attributes,
    watch: Option<Watch>,
    p: DeviceProfile,
    operations: Vec<Operation>,
    compiled: Compiled,
    bests: BTreeMap<String, Best>,
    /// Registers, static shared memory, threads of a block, and the blocks that the driver says fit.
    launches: Vec<(u32, u32, u32, u32)>,
    clock: Clock<'a>,
    store: &'a mut StoreProfile<'a>,
}

/// Everything, in order. `store` gets the profile after each step.
pub fn characterise<'a>(
    o: &'a CharacteriseOptions<'a>,
    begun: Option<DeviceProfile>,
    store: &'a mut StoreProfile<'a>,
    tell: &'a mut dyn FnMut(Progress),
) -> Result<DeviceProfile, ExecError> {
    let started = Instant::now();
    let capability = CudaExecutor::capability(o.ordinal)?;
    let watch = Watch::new(o.ordinal as u32).ok();
    let mut p = begun.unwrap_or_else(|| blank(o, capability));
    let before = p.origin.seconds.unwrap_or(0.0);
    p.origin.kerf = env!("CARGO_PKG_VERSION").into();
    p.origin.date = o.date.clone();
    p.origin.driver = match &watch {
        Some(w) => format!("{} (CUDA {})", w.driver(), cuda::driver_version()),
        None => format!("CUDA {}", cuda::driver_version()),
    };
    p.origin.disassembler = o
        .disassembler
        .as_ref()
        .map(|d| d.file_name().unwrap_or_default().to_string_lossy().into());
    let operations = catalogue()
        .into_iter()
        .filter(|op| o.wants(&op.key) || FEEDS.contains(&op.key.as_str()))
        .collect();
    let mut c = Campaign {
        o,
        arch: format!("sm_{capability}"),
        attributes: cuda::attributes(o.ordinal)?,
        watch,
        p,
        operations,
        compiled: Compiled::new(),
        bests: BTreeMap::new(),
        launches: Vec::new(),
        clock: Clock {
            started,
            total: 0.0,
            done: 0.0,
            tell,
        },
        store,
    };
    c.clock.total = c.expected_total();
    c.clock
        .step("compiling probes", expected(o.mode, "compile"));
    c.compiled = compile::compile(&c.operations, &c.pairs(), &c.arch, o);
    let mut device = limits::LimitsBench::new(&c.arch, o.ordinal, c.attributes.sms)?;
    c.limits(&mut device)?;
    c.speeds()?;
    c.round_trips()?;
    c.co_issues()?;
    c.accuracies()?;
    c.energies(&mut device)?;
    c.p.origin.seconds = Some(before + started.elapsed().as_secs_f64());
    c.clock.step("done", 0.0);
    (c.store)(&c.p)?;
    Ok(c.p)
}

/// A profile in which nothing is known yet.
fn blank(o: &CharacteriseOptions, capability: i32) -> DeviceProfile {
    DeviceProfile {
        schema: SCHEMA.into(),
        version: VERSION,
        name: o.name.clone(),
        gpu: String::new(),
        arch: format!("{}.{}", capability / 10, capability % 10),
        origin: ProfileOrigin {
            mode: o.mode.name().into(),
            ..ProfileOrigin::default()
        },
        sources: BTreeMap::new(),
        limits: Limits::default(),
        operations: BTreeMap::new(),
        co_issue: Vec::new(),
    }
}

impl CharacteriseOptions<'_> {
    fn wants(&self, key: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|k| k == key)
    }
}

impl Campaign<'_> {
    fn pairs(&self) -> Vec<(&'static str, &'static str)> {
        PAIRS
            .into_iter()
            .filter(|(a, b)| self.o.wants(a) && self.o.wants(b))
            .collect()
    }

    /// Operations whose accuracy is measured.
    fn judged(&self) -> Vec<Operation> {
        self.operations
            .iter()
            .filter(|op| self.o.wants(&op.key) && accuracy::measurable(op))
            .filter(|op| match self.o.mode {
                CampaignMode::Full => true,
                CampaignMode::Quick => {
                    op.class == OperationClass::Function && !op.format.starts_with("dw")
                }
            })
            .cloned()
            .collect()
    }

    /// Operations whose energy is measured.
    fn powered(&self) -> Vec<&'static str> {
        match self.o.mode {
            CampaignMode::Quick => vec![],
            CampaignMode::Full => ENERGY.into_iter().filter(|k| self.o.wants(k)).collect(),
        }
    }

    fn expected_total(&self) -> f64 {
        let of = |step| expected(self.o.mode, step);
        of("compile")
            + of("limits")
            + self.operations.len() as f64 * of("probe")
            + self.pairs().len() as f64 * of("pair")
            + self.judged().len() as f64 * of("accuracy")
            + self.powered().len() as f64 * of("energy")
    }

    fn step(&mut self, what: &str, kind: &str) {
        self.clock.step(what, expected(self.o.mode, kind));
    }

    fn keep(&mut self) -> Result<(), ExecError> {
        (self.store)(&self.p)
    }

    fn limits(&mut self, device: &mut limits::LimitsBench) -> Result<(), ExecError> {
        self.step("limits", "limits");
        self.p.gpu = device.executor().device().name;
        if !self.p.limits.copy_bandwidth.is_unknown() {
            return self.contention();
        }
        let l = &mut self.p.limits;
        *l = limits::stated(&self.attributes, self.watch.as_ref());
        l.launch_overhead = device.launch_overhead()?;
        (l.copy_bandwidth, l.l2_bandwidth) =
            device.bandwidths(u64::from(self.attributes.l2_bytes))?;
        if let Some(unit) = device.shared_unit(&self.attributes)? {
            l.shared_unit = Figure::measured(f64::from(unit))
                .with_note("from where the driver's occupancy changes");
        }
        self.published_limits();
        self.keep()?;
        self.contention()
    }

    /// What many warps do to each other's cache lines. A device that cannot be asked has no such figures.
    fn contention(&mut self) -> Result<(), ExecError> {
        let l = &mut self.p.limits;
        if !l.contention_lambda.is_unknown() {
            return Ok(());
        }
        let warps = l.warps_per_sm.value.unwrap_or(32.0) as u32;
        let (ordinal, sms) = (self.o.ordinal, self.attributes.sms);
        let found = contention::ContentionBench::new(&self.arch, ordinal, sms)?.measure(warps)?;
        l.memory_overlap = found.overlap;
        l.contention_lambda = found.lambda;
        let remarks = &mut self.p.origin.remarks;
        remarks.retain(|r| !r.starts_with(contention::REMARK));
        remarks.push(found.remark);
        self.keep()
    }

    /// What neither the driver nor a probe tells, from the architecture's published profile.
    fn published_limits(&mut self) {
        let known = crate::bundled::find(&self.p.arch).and_then(|f| f.bundled.load().ok());
        let Some(known) = known else { return };
        let l = &mut self.p.limits;
        for (mine, theirs) in [
            (
                &mut l.registers_per_thread,
                &known.limits.registers_per_thread,
            ),
            (&mut l.register_unit, &known.limits.register_unit),
            (&mut l.schedulers_per_sm, &known.limits.schedulers_per_sm),
        ] {
            if let (true, FigureSource::Published(key)) = (mine.is_unknown(), &theirs.source) {
                *mine = theirs.clone();
                if let Some(publication) = known.sources.get(key) {
                    self.p.sources.insert(key.clone(), publication.clone());
                }
            }
        }
    }

    /// Whether the occupancy formula gives the driver's answer for every kernel that was loaded.
    fn judge_occupancy(&mut self) {
        let Ok(machine) = Multiprocessor::from_profile(&self.p) else {
            return;
        };
        let agree = |(registers, shared, threads, blocks): &(u32, u32, u32, u32)| {
            let demand = Demand {
                registers: *registers,
                shared: u64::from(*shared),
                carveout: None,
            };
            let ours = machine.occupancy(demand, *threads).map_or(0, |o| o.blocks);
            ours == *blocks
        };
        let all = self.launches.len();
        if all > 0 {
            let equal = self.launches.iter().filter(|l| agree(l)).count();
            self.p
                .origin
                .remarks
                .retain(|r| !r.starts_with("occupancy"));
            self.p.origin.remarks.push(format!(
                "occupancy by formula equals the driver's answer for {equal} of {all} pairs of kernel and block size"
            ));
        }
    }

    /// Latency and throughput of every operation.
    fn speeds(&mut self) -> Result<(), ExecError> {
        // Masked chains need the latency of the mask first.
        let mut ordered = self.operations.clone();
        ordered.sort_by_key(|op| !FEEDS.contains(&op.key.as_str()));
        let powered = self.powered();
        for op in &ordered {
            self.step(&op.key, "probe");
            let have = self.p.operations.get(&op.key);
            let have = have.is_some_and(speed::measured_already);
            // Energy needs the best shape, which a profile does not hold.
            if !have || powered.contains(&op.key.as_str()) {
                self.speed(op, have)?;
                self.keep()?;
            }
        }
        speed::bandwidth_as_operations(&mut self.p, self.attributes.sms);
        self.judge_occupancy();
        Ok(())
    }

    fn speed(&mut self, op: &Operation, have: bool) -> Result<(), ExecError> {
        let Some(result) = self.compiled.get(&op.key) else {
            return Ok(());
        };
        let feed = |r: &Ready| {
            let key = FEEDS[usize::from(r.probe.recipe().multiplied)];
            self.p.operations.get(key).and_then(|l| l.latency.value)
        };
        let measured = match result {
            Err(why) => Err(why.to_string()),
            Ok(r) => {
                speed::measure(r, self.o, self.attributes.sms, feed(r)).map_err(|e| e.to_string())
            }
        };
        let slot = self.p.operations.entry(op.key.clone()).or_default();
        let (new, best, mut bench) = match measured {
            Ok(m) => m,
            Err(why) => {
                let why = why.lines().next().unwrap_or_default().to_owned();
                if !slot.remarks.contains(&why) {
                    slot.remarks.push(why);
                }
                return Ok(());
            }
        };
        if !have {
            *slot = OperationProfile {
                accuracy: slot.accuracy.take(),
                energy_pj: slot.energy_pj.clone(),
                ..new
            };
        }
        self.launches.extend(bench.occupancy()?);
        if let Some(b) = best {
            if op.key == "fma.f32" {
                self.p.limits.clock_mhz = Figure::measured(bench.clock(b, 0.05)?)
                    .with_note("cycles over event time while fma.f32 runs");
            }
            self.bests.insert(op.key.clone(), b);
        }
        Ok(())
    }

    fn round_trips(&mut self) -> Result<(), ExecError> {
        for op in &self.operations {
            if let Some(Ok(r)) = self.compiled.get(&format!("{}+back", op.key)) {
                let trip = speed::pair_rate(r, self.o, self.attributes.sms)?;
                speed::from_round_trip(&mut self.p, op, &trip);
            }
        }
        Ok(())
    }

    fn co_issues(&mut self) -> Result<(), ExecError> {
        for (a, b) in self.pairs() {
            let key = format!("{a}+{b}");
            self.step(&key, "pair");
            let is = |c: &crate::profile::CoIssue| c.first == a && c.second == b;
            if self.p.co_issue.iter().any(is) {
                continue;
            }
            let Some(Ok(r)) = self.compiled.get(&key) else {
                continue;
            };
            let together = speed::pair_rate(r, self.o, self.attributes.sms)?;
            if let Some(c) = speed::co_issue(a, b, &together, &self.p) {
                self.p.co_issue.push(c);
                self.keep()?;
            }
        }
        Ok(())
    }

    fn accuracies(&mut self) -> Result<(), ExecError> {
        for (key, publication) in accuracy::bounds::publications() {
            self.p.sources.insert(key.into(), publication);
        }
        for op in self.judged() {
            self.step(&format!("accuracy of {}", op.key), "accuracy");
            let have = self.p.operations.get(&op.key);
            if have.is_some_and(|s| s.accuracy.is_some()) {
                continue;
            }
            let judged = measure_accuracy(&op, self.o, &self.arch);
            let slot = self.p.operations.entry(op.key).or_default();
            match judged {
                Ok(a) => slot.accuracy = a,
                Err(e) => slot.remarks.push(format!("accuracy: {e}")),
            }
            self.keep()?;
        }
        Ok(())
    }
}

/// Accuracy of one operation on the GPU.
fn measure_accuracy(
    op: &Operation,
    o: &CharacteriseOptions,
    arch: &str,
) -> Result<Option<crate::profile::Accuracy>, accuracy::AccuracyError> {
    let effort = match o.mode {
        CampaignMode::Quick => ArgumentEffort::QUICK,
        CampaignMode::Full => ArgumentEffort::FULL,
    };
    let mut load = |m: &kerf_llvm::Module, kernel: &str| {
        let ptx = kerf_ir::finish::ptx(m, arch).map_err(|e| ExecError::Compile(e.0))?;
        let exec = CudaExecutor::new(&ptx, &[kernel.to_owned()], o.ordinal)?;
        Ok(Box::new(exec) as Box<dyn Executor>)
    };
    let mut bench = accuracy::AccuracyBench {
        libdevice: o.libraries.libdevice,
        arch,
        load: &mut load,
        hard: &o.hard,
    };
    accuracy::measure(&op.key, &mut bench, &effort, &mut |_| {})
}
