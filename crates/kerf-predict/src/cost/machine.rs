//! Predictions from the machine code itself: what LLVM and NVIDIA's assembler make of a program under a plan, run by a few
//! simulated warps.
//!
//! The model on the prepared program (`launch.rs`) assumes what the compilers do: unrolling, conversions that vanish,
//! registers, how well operations overlap. Where an assembler is at hand nothing of that need be assumed. It takes tens of
//! milliseconds a plan instead of one, so searches use the other.
mod assembler;
mod binary;
mod blocks;
mod elf;
mod executions;
mod fitted;
mod flow;
mod lines;
mod program;
mod warps;

use super::census::{self, KernelWork};
use super::{
    CostError, CostModel, LaunchPrediction, PredictedSubject, Prediction, Resource, ResourceShare,
};
use super::{memory, traffic};
pub use assembler::{Compiler, ptxas, readable};
pub use fitted::FittedConstants;

use binary::{Code, Instruction, Kind};
use executions::{Executions, Operation, Program};
use flow::Flow;
use kerf_device::occupancy::{Demand, WARP};
use kerf_ir::finish::{self, Reflect};
use kerf_pass::Plan;
use kerf_pass::count::{CountedAccess, LaunchCounts, MemoryKind, Pattern};
use program::{SLOW_CLOCKS, Ways, operations, slow_path, slow_paths, sources, ways};
use std::collections::{BTreeMap, BTreeSet};
use warps::{Step, Unit};

/// From the end of a launch to the beginning of the next.
const GAP_S: f64 = 1.2e-6;
/// Slots that an operation in f64 takes of its scheduler, and a multiply-add where all operands are registers, which are more
/// than can be read at once (probes of mixes with f32 on the H200, less 0.38 clocks that the loop takes: 1.17 to 1.2, and 1.81).
const F64_SLOTS: f64 = 1.2;
const WIDE_SLOTS: f64 = 1.8;
/// Clocks in which threads that parted come together, where they did, and that a branch takes beside its stall.
const TOGETHER: f64 = 20.0;
const BRANCH: f64 = 4.0;
/// Clocks until a result that is waited for at a barrier is seen, beside the latency that a chain of operations shows.
const SEEN: f64 = 6.0;
/// What a load of 16 bytes from shared memory takes longer.
const WIDE: f64 = 10.0;
/// Part of L2's time that is not hidden behind its latency.
const L2: f64 = 0.5;
/// Instructions that are simulated at most for one loop and warp, about.
const SIMULATED: usize = 30000;

/// A load or store of the prepared program.
struct Loaded<'a> {
    access: &'a CountedAccess,
    seen: Option<&'a Pattern>,
    passes: f64,
    latency: f64,
}

/// What is known of a launch when its steps are made.
struct Around<'a> {
    loads: &'a BTreeMap<usize, Loaded<'a>>,
    rates: &'a super::rates::Rates<'a>,
    /// What loads from memory take longer behind others.
    behind: f64,
    block: [u32; 3],
    /// Instructions of slow paths that are entered, by line.
    slow: &'a BTreeMap<usize, f64>,
}

/// How an instruction runs.
struct Runs {
    /// Its block, and how likely that is to run.
    part: usize,
    likely: f64,
    /// Part of its executions in which its predicate holds for some thread, and in which threads come together.
    runs: f64,
    meet: f64,
}

fn step(i: &Instruction, r: Runs, a: &Around) -> Step {
    let Runs {
        part,
        likely,
        runs,
        meet,
    } = r;
    // Four schedulers share the unit for loads and stores.
    const SHARED: f64 = 4.0;
    let shared = a.rates.load_latency("shared");
    let near = a.rates.load_latency("l1");
    let special = a.rates.cost("rcp.f32.sfu").latency + SEEN;
    // A warp's 32 results on the part of a unit that its scheduler has, in whole clocks.
    let each = |u: super::Unit| (128.0 / a.rates.unit(u)).round().max(1.0);
    let load = a.loads.get(&i.line);
    let of = |m: MemoryKind| load.filter(|l| l.access.memory == m || l.seen.is_some());
    let (unit, busy, latency) = match i.kind {
        Kind::F64 => (Unit::F64, each(super::Unit::F64), 0.0),
        Kind::F32 => (Unit::Multiply, 1.0, 0.0),
        Kind::Multiply => (Unit::Integer, 2.0, 0.0),
        Kind::Half => (Unit::Integer, 2.0, 0.0),
        Kind::Matrix => (Unit::Half, 2.0, 0.0),
        Kind::Special => (Unit::Special, each(super::Unit::Special), special),
        Kind::SpecialRegister => (Unit::Special, 2.0, shared),
        Kind::Load => {
            let found = of(MemoryKind::Global);
            // A library's tables are small, but all that threads get has to pass to their registers.
            let passes = found.map_or(0.0, |l| match l.seen {
                Some(p) => memory::global_passes(l.access, p, i.bytes as u64),
                None => l.passes,
            });
            let passes = passes.max(i.bytes / 4.0);
            let latency = found.map_or(near, |l| l.latency * a.behind);
            (Unit::LoadStore, SHARED * passes, latency)
        }
        Kind::SharedLoad | Kind::SharedStore => {
            let alone = i.bytes / 4.0;
            let passes = of(MemoryKind::Shared).map_or(alone, |l| {
                memory::shared_passes(l.access, l.seen, a.block, i.bytes as u64)
            });
            let wide = if i.bytes > 8.0 { WIDE } else { 0.0 };
            (Unit::LoadStore, SHARED * passes, shared + wide)
        }
        Kind::Store => {
            let seen = load.and_then(|l| Some((l.access, l.seen?)));
            let passes = seen.map_or(2.0, |(x, p)| memory::global_passes(x, p, i.bytes as u64));
            (Unit::LoadStore, SHARED * passes, 0.0)
        }
        // A warp's lie side by side.
        Kind::LocalLoad => (Unit::LoadStore, SHARED * i.bytes / 4.0, near),
        Kind::LocalStore => (Unit::LoadStore, SHARED * i.bytes / 4.0, 0.0),
        Kind::Shuffle => (Unit::LoadStore, 2.0 * SHARED, shared),
        Kind::Atomic => (Unit::LoadStore, 2.0 * SHARED, 100.0),
        Kind::ConstantLoad => (Unit::Constants, 4.0, 30.0),
        Kind::Branch | Kind::Meeting | Kind::Sync | Kind::Call | Kind::Exit => {
            (Unit::Branches, 1.0, 0.0)
        }
        Kind::Barrier | Kind::Nothing => (Unit::Free, 0.0, 0.0),
        Kind::Uniform => (Unit::Uniform, 2.0, 0.0),
        Kind::Other => (Unit::Logic, 2.0, 0.0),
    };
    let slow = match i.kind {
        Kind::Call => a.slow.get(&i.line).copied().unwrap_or(0.0),
        _ => 0.0,
    };
    let more = match i.kind {
        Kind::Call => SLOW_CLOCKS * slow,
        Kind::Sync => TOGETHER * meet,
        Kind::Branch => BRANCH,
        _ => 0.0,
    };
    Step {
        unit,
        // An access that no thread makes takes a pass all the same (ncu on the H200: 18 million of batched_lu's 40, where shared
        // accesses are predicated; the same program with branches round them has 22).
        busy: if unit == Unit::LoadStore {
            busy * runs + SHARED * (1.0 - runs)
        } else {
            busy
        },
        latency: latency * runs,
        stall: f64::from(i.stall) + more,
        sets: i.sets,
        frees: i.frees,
        waits: i.waits,
        barrier: i.kind == Kind::Barrier,
        part,
        likely,
        slots: slow
            + match i.kind {
                Kind::F64 if i.wide => WIDE_SLOTS,
                Kind::F64 => F64_SLOTS,
                _ => 1.0,
            },
    }
}

/// Resources of the units, issue slots last.
const RESOURCES: [Resource; warps::UNITS + 1] = [
    Resource::F32,
    Resource::F32,
    Resource::F32,
    Resource::F64,
    Resource::Half,
    Resource::LoadStore,
    Resource::Special,
    Resource::LoadStore,
    Resource::F32,
    Resource::Issue,
    Resource::Issue,
    Resource::Issue,
];

/// A unit that is busy for this part of the time is what decides it.
const BUSY: f64 = 0.7;

/// A kernel under a plan, compiled.
struct Compiled<'k> {
    work: &'k KernelWork,
    own: &'k KernelWork,
    code: &'k Code,
    ways: &'k Ways,
    operations: &'k [Operation],
    slow: &'k BTreeMap<usize, f64>,
    missed: f64,
    fit: FittedConstants,
}

/// How a launch's blocks are on the device.
struct Placement {
    /// Blocks of the launch.
    blocks: f64,
    /// Warps of a block.
    in_block: u32,
    /// Blocks that a multiprocessor has room for.
    resident: f64,
    /// Blocks of the multiprocessor with the most, which decides, and those of them that are there at once.
    fullest: f64,
    here: f64,
    /// Warps that are there at once.
    on_here: f64,
    /// Schedulers of a multiprocessor, and those that have a warp.
    partitions: f64,
    active: f64,
}

/// A part of a launch that was simulated: a loop without those inside of it, or what is outside of all.
struct Region {
    /// First block of the loop.
    head: Option<usize>,
    /// Executions of its most frequent block.
    top: f64,
    steps: Vec<Step>,
}

impl Region {
    fn new(
        (head, mut some): (Option<usize>, Vec<usize>),
        code: &[Instruction],
        flow: &Flow,
        ran: &Executions,
        around: &Around,
    ) -> Region {
        some.sort_unstable();
        let executed = &ran.blocks;
        let most = some.iter().map(|b| executed[*b]).fold(0.0, f64::max);
        let top = head
            .map(|h| executed[h])
            .filter(|n| *n > 0.0)
            .unwrap_or(most);
        let mut steps = Vec::new();
        for b in some {
            let likely = (executed[b] / top).min(1.0);
            let all = flow.blocks[b].clone();
            let real = all.filter(|k| code[*k].kind != Kind::Nothing);
            steps.extend(real.map(|k| {
                let how = Runs {
                    part: b,
                    likely,
                    runs: ran.runs[k],
                    meet: ran.meet[b],
                };
                step(&code[k], how, around)
            }));
        }
        Region { head, top, steps }
    }

    /// Clocks of a scheduler of the fullest multiprocessor, and how often it goes through the region, all of its warps
    /// together. Where all blocks are there at once, that of the scheduler that has most warps. Where they are not, what is
    /// left in the end runs in less company.
    fn simulate(&self, on: &Placement) -> (Clocks, f64) {
        let rounds = match self.head {
            None => 4,
            Some(_) => (SIMULATED / self.steps.len().max(1)).clamp(8, 96),
        };
        let one =
            |blocks| blocks::together(&self.steps, on.partitions, blocks, on.in_block, rounds);
        let mean = self.top * on.fullest / on.blocks / on.active;
        let of_warp = self.top / on.blocks / f64::from(on.in_block);
        let at_once = |n: f64| {
            let warps = n * f64::from(on.in_block);
            of_warp
                * (warps / on.partitions)
                    .ceil()
                    .max(warps / warps.min(on.partitions))
        };
        if on.fullest <= on.resident {
            let all = one(on.here) * at_once(on.here);
            return (
                Clocks {
                    full: all,
                    left: None,
                },
                at_once(on.here),
            );
        }
        let left = on.fullest % on.resident;
        let clocks = Clocks {
            full: one(on.resident) * mean * (on.fullest - left) / on.fullest,
            left: (left > 0.0).then(|| one(left) * at_once(left)),
        };
        (clocks, mean)
    }
}

/// Clocks in which a multiprocessor is full, and in which it has the blocks that are left in the end.
struct Clocks {
    full: f64,
    left: Option<f64>,
}

/// Clocks of a launch, and those in which each unit is busy, issue slots last.
struct Simulated {
    clocks: f64,
    busy: [f64; warps::UNITS + 1],
}

/// Accesses of a launch by line, with what they take.
fn loads<'k>(
    work: &'k KernelWork,
    levels: &traffic::Levels,
    block: [u32; 3],
) -> BTreeMap<usize, Loaded<'k>> {
    let mut loads = BTreeMap::new();
    for (b, latency) in work.blocks.iter().zip(&levels.latency) {
        for (n, node) in b.nodes.iter().enumerate() {
            let Some(a) = node.access else { continue };
            let (access, seen) = (&b.accesses[a], b.seen[a].as_ref());
            loads.insert(
                b.line + n,
                Loaded {
                    access,
                    seen,
                    passes: memory::passes(access, seen, block),
                    latency: latency[a],
                },
            );
        }
    }
    loads
}

/// Runs the regions of a launch one after the other.
fn simulate(
    code: &[Instruction],
    flow: &Flow,
    ran: &Executions,
    around: &Around,
    on: &Placement,
) -> Simulated {
    let inner = flow.innermost();
    let mut regions: BTreeMap<Option<usize>, Vec<usize>> = BTreeMap::new();
    for b in flow.order.iter().filter(|b| ran.blocks[**b] > 0.0) {
        regions.entry(inner.get(b).copied()).or_default().push(*b);
    }
    let (mut clocks, mut busy) = (0.0, [0.0; warps::UNITS + 1]);
    for region in regions {
        let region = Region::new(region, code, flow, ran, around);
        let (c, times) = region.simulate(on);
        clocks += c.full;
        if let Some(left) = c.left {
            clocks += left;
        }
        for s in &region.steps {
            busy[s.unit as usize] += times * s.likely * s.busy;
            busy[warps::UNITS] += times * s.likely * s.slots;
        }
    }
    Simulated { clocks, busy }
}

/// Seconds of one resource.
fn seconds_of(shares: &[ResourceShare], r: Resource) -> f64 {
    shares
        .iter()
        .find(|x| x.resource == r)
        .map_or(0.0, |x| x.seconds)
}

/// What decides the time of a launch.
fn limit(shares: &[ResourceShare], device_seconds: f64, work: f64, moved: f64) -> Resource {
    let of = |r: Resource| seconds_of(shares, r);
    let unit = shares
        .iter()
        .filter(|x| {
            !matches!(
                x.resource,
                Resource::Latency | Resource::L2 | Resource::Dram
            )
        })
        .max_by(|a, b| a.seconds.total_cmp(&b.seconds));
    match unit {
        _ if GAP_S > device_seconds => Resource::Launch,
        _ if moved > work && of(Resource::Dram) >= of(Resource::L2) => Resource::Dram,
        _ if moved > work => Resource::L2,
        Some(u) if u.seconds > BUSY * work => u.resource,
        _ => Resource::Latency,
    }
}

impl CostModel {
    fn placement(&self, k: &Compiled, l: &LaunchCounts) -> Placement {
        let size = |d: [u32; 3]| d.iter().map(|x| f64::from(*x)).product::<f64>();
        let threads = size(l.block).max(1.0) as u32;
        let in_block = threads.div_ceil(WARP).max(1);
        let demand = Demand {
            registers: k.code.registers.max(16),
            shared: k.work.static_shared + u64::from(l.dynamic_shared),
            carveout: None,
        };
        let most = self.machine.threads_per_block;
        let resident = self.machine.occupancy(demand, threads.clamp(1, most));
        let resident = f64::from(resident.map_or(1, |o| o.blocks).max(1));
        let blocks = size(l.grid).max(1.0);
        let fullest = (blocks / self.sms).ceil();
        let here = fullest.min(resident);
        let on_here = here * f64::from(in_block);
        let partitions = f64::from(self.machine.partitions);
        Placement {
            blocks,
            in_block,
            resident,
            fullest,
            here,
            on_here,
            partitions,
            active: on_here.min(partitions),
        }
    }

    /// Seconds of each resource.
    fn shares(&self, s: &Simulated, levels: &traffic::Levels, blocks: f64) -> Vec<ResourceShare> {
        let seconds = |c: f64| c / self.clock_hz;
        let mut by: BTreeMap<Resource, f64> = BTreeMap::new();
        for (resource, c) in RESOURCES.into_iter().zip(s.busy) {
            let one = by.entry(resource).or_insert(0.0);
            *one = one.max(seconds(c));
        }
        by.insert(Resource::Latency, seconds(s.clocks));
        let l2 = L2 * levels.l2_bytes / (self.l2_bandwidth * self.busy(blocks) / self.sms);
        by.insert(Resource::L2, l2);
        by.insert(Resource::Dram, levels.dram_bytes / self.bandwidth);
        by.into_iter()
            .map(|(resource, seconds)| ResourceShare { resource, seconds })
            .collect()
    }

    fn compiled_launch(
        &self,
        r: &super::rates::Rates,
        k: &Compiled,
        l: &LaunchCounts,
    ) -> LaunchPrediction {
        let on = self.placement(k, l);
        let waits = traffic::Waits {
            lone: on.on_here <= 1.0,
            last: Some(k.fit.sectors),
        };
        let mut levels = self.levels(r, k.work, k.own, l, k.missed, waits);
        let loads = loads(k.work, &levels, l.block);
        let around = Around {
            loads: &loads,
            rates: r,
            block: l.block,
            slow: k.slow,
            behind: if on.on_here > 1.0 { k.fit.behind } else { 1.0 },
        };
        let code = &k.code.instructions;
        let flow = Flow::from_code(code);
        let bytes = loads.iter().map(|(l, x)| (*l, x.access.bytes as f64));
        let bytes: BTreeMap<usize, f64> = bytes.collect();
        let program = Program {
            bytes: &bytes,
            sources: &sources(k.work, l, k.ways, k.fit.together),
            operations: k.operations,
            warps: on.blocks * f64::from(on.in_block),
        };
        let ran = executions::executions(code, &flow, &program);
        // L1 writes through (ncu on the H200: hex_element's sectors written to L2 are those of its local stores).
        for b in &flow.order {
            let local = flow.blocks[*b].clone().map(|n| (&code[n], ran.runs[n]));
            let local = local.filter(|(i, _)| i.kind == Kind::LocalStore);
            let bytes: f64 = local.map(|(i, runs)| runs * i.bytes).sum();
            levels.l2_bytes += ran.blocks[*b] * f64::from(WARP) * bytes;
        }
        let mut simulated = simulate(code, &flow, &ran, &around, &on);
        simulated.clocks *= blocks::uneven(l.spread, on.fullest, on.resident);
        simulated.busy[Unit::Multiply as usize] += 0.5 * simulated.busy[Unit::Integer as usize];
        let mut shares = self.shares(&simulated, &levels, on.blocks);
        let moved = seconds_of(&shares, Resource::L2).max(seconds_of(&shares, Resource::Dram));
        // One block a clock gets to the multiprocessors (ncu on the H200: 59 us for 93,750 small ones).
        let work = simulated.clocks.max(on.blocks) / self.clock_hz;
        let device_seconds =
            (work.powf(k.fit.across) + moved.powf(k.fit.across)).powf(1.0 / k.fit.across);
        let limit = limit(&shares, device_seconds, work, moved);
        shares.sort_by(|a, b| {
            let first = (b.resource == limit).cmp(&(a.resource == limit));
            first
                .then(b.seconds.total_cmp(&a.seconds))
                .then(a.resource.cmp(&b.resource))
        });
        LaunchPrediction {
            symbol: l.symbol.clone(),
            repeats: l.repeats,
            seconds: device_seconds + GAP_S,
            device_seconds,
            limit,
            shares,
            registers: k.code.registers,
            warps: on.on_here as u32,
            waves: (on.blocks / (self.sms * on.resident)).max(1.0),
        }
    }
}

impl PredictedSubject<'_> {
    /// Predicts one run under a plan from its machine code. Where functions stay functions, whose machine code is not read,
    /// it is [`Subject::predict`]'s.
    pub fn predict_compiled(&self, plan: &Plan, with: &Compiler) -> Result<Prediction, CostError> {
        let mut all = self.predict_fitted(plan, with, &[FittedConstants::default()])?;
        all.pop()
            .ok_or_else(|| CostError::Code("nothing was predicted".into()))
    }

    /// [`Subject::device_seconds`] from machine code.
    pub fn compiled_seconds(&self, plan: &Plan, with: &Compiler) -> Result<f64, CostError> {
        let p = self.predict_compiled(plan, with)?;
        let one = |l: &LaunchPrediction| l.device_seconds * l.repeats as f64;
        Ok(p.launches.iter().map(one).sum())
    }

    /// [`Subject::predict_compiled`] with other constants, one prediction for each.
    pub fn predict_fitted(
        &self,
        plan: &Plan,
        with: &Compiler,
        fits: &[FittedConstants],
    ) -> Result<Vec<Prediction>, CostError> {
        let m = self.module.duplicate();
        plan.apply(&m)?;
        let c = self.model;
        let limit = c.machine.registers_per_thread;
        let kernels = census::kernels_of(&m, &self.rates, limit, &self.patterns);
        let (ways, operations) = (ways(&m), operations(&m));
        let slow = slow_paths(&m);
        let compile = |e: String| CostError::Code(e);
        let symbols: BTreeSet<&String> = self.launches.iter().map(|l| &l.symbol).collect();
        let roots: BTreeSet<String> = finish::needed(&m).into_iter().collect();
        let part = match roots.is_empty() {
            true => Vec::new(),
            false => finish::trim(with.libdevice, &roots, with.arch).map_err(|e| compile(e.0))?,
        };
        m.number_lines();
        finish::finish(&m, &part, with.arch, Reflect::default()).map_err(|e| compile(e.0))?;
        let whole = m.functions();
        let mut defined = whole.iter().filter(|f| !f.is_declaration());
        if !defined.all(|f| kernels.contains_key(&f.name()) || slow_path(&f.name())) {
            let one = self.predict(plan)?;
            return Ok(vec![one; fits.len()]);
        }
        let ptx = finish::ptx_with_lines(&m, with.arch).map_err(|e| compile(e.0))?;
        let binary = (with.assemble)(&ptx).map_err(compile)?;
        let codes = binary::read(&binary);
        let Some(codes) = codes.filter(|k| symbols.iter().all(|s| k.contains_key(*s))) else {
            return Err(compile("the assembler's binary cannot be read".into()));
        };
        let mut all = Vec::new();
        for l in &self.launches {
            let (Some(work), Some(own)) = (kernels.get(&l.symbol), self.own.get(&l.symbol)) else {
                return Err(CostError::Kernel(l.symbol.clone()));
            };
            let here = work.of_launch(&self.patterns, l);
            all.push((here, work, own, &codes[&l.symbol], l));
        }
        let all = all
            .iter()
            .map(|(here, w, o, code, l)| (here.as_ref().unwrap_or(w), *o, *code, *l));
        let all: Vec<_> = all.collect();
        let sets = all.iter().map(|(w, o, _, l)| traffic::working_set(w, o, l));
        let missed = c.missed(sets.fold(0.0, f64::max) * self.beside);
        let run = |fit: &FittedConstants| {
            let out = all.iter().map(|(work, own, code, l)| {
                let k = Compiled {
                    work,
                    own,
                    code,
                    ways: &ways,
                    operations: &operations,
                    slow: &slow,
                    missed,
                    fit: *fit,
                };
                c.compiled_launch(&self.rates, &k, l)
            });
            self.run_of(super::combine::START_S, out.collect())
        };
        Ok(fits.iter().map(run).collect())
    }
}
