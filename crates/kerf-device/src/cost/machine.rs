//! Predictions from the machine code itself: what LLVM and NVIDIA's assembler make of a program under a plan, run by a few
//! simulated warps.
//!
//! The model on the prepared program (`launch.rs`) assumes what the compilers do: unrolling, conversions that vanish,
//! registers, how well operations overlap. Where an assembler is at hand nothing of that need be assumed. It takes tens of
//! milliseconds a plan instead of one, so searches use the other.
mod binary;
mod executions;
mod flow;
mod lines;
mod warps;

use super::census::{self, KernelWork};
use super::{CostError, CostModel, LaunchPrediction, Prediction, Resource, Share, Subject};
use super::{launch, memory, traffic};
use crate::occupancy::{Demand, WARP};
use binary::{Code, Instruction, Kind};
use executions::{Operation, Program, Source};
use flow::Flow;
use kerf_ir::finish::{self, Reflect};
use kerf_ir::llvm::{Module, Opcode};
use kerf_pass::Plan;
use kerf_pass::count::{Access, LaunchCounts, Memory, Pattern};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use warps::{Step, Unit};

/// What programs are compiled with.
pub struct Compiler<'c> {
    /// libdevice, whole.
    pub libdevice: &'c [u8],
    /// Architecture: sm_90.
    pub arch: &'c str,
    /// From PTX to a binary with a table of lines (`ptxas -lineinfo`).
    pub assemble: &'c dyn Fn(&str) -> Result<Vec<u8>, String>,
}

/// The architecture of a profile as the assembler names it, if its machine code can be read. Profiles call it 9.0 or sm_90.
pub fn readable(arch: &str) -> Option<String> {
    let digits: String = arch.chars().filter(char::is_ascii_digit).collect();
    matches!(digits.parse(), Ok(75..=90u32)).then(|| format!("sm_{digits}"))
}

/// Runs NVIDIA's assembler on PTX: a binary with a table of lines.
pub fn ptxas(program: &Path, arch: &str, ptx: &str) -> Result<Vec<u8>, String> {
    let run = || -> std::io::Result<Result<Vec<u8>, String>> {
        let folder = tempfile::tempdir()?;
        let (from, to) = (folder.path().join("k.ptx"), folder.path().join("k.cubin"));
        std::fs::write(&from, ptx)?;
        let done = std::process::Command::new(program)
            .arg(format!("-arch={arch}"))
            .args(["-lineinfo", "-o"])
            .args([&to, &from])
            .output()?;
        match done.status.success() {
            true => Ok(Ok(std::fs::read(&to)?)),
            false => Ok(Err(String::from_utf8_lossy(&done.stderr).trim().to_owned())),
        }
    };
    run().unwrap_or_else(|e| Err(format!("{}: {e}", program.display())))
}

/// Waking the device up and the first launch, once a run: 5 to 9 us for a kernel that does nothing, and what Kerf does before.
const START_S: f64 = 15e-6;
/// From the end of a launch to the beginning of the next.
const GAP_S: f64 = 2.5e-6;
/// Exponent with which the work of warps and the bytes that memory moves add up: between the longer and the sum. Warps that
/// begin together ask for memory at the same time, and compute at the same time.
const ACROSS: f64 = 1.5;
/// What loads take longer than a probe's, behind those of other warps.
const BEHIND: f64 = 1.7;
/// Slots that an f64 instruction takes of its scheduler: its operands are read in two halves.
const F64_SLOTS: f64 = 2.0;
/// Clocks in which threads that parted come together, and that a branch takes beside its stall.
const TOGETHER: f64 = 20.0;
const BRANCH: f64 = 4.0;
/// Cases in which threads that part by their numbers part together; in the others they are independent.
const PART_TOGETHER: f64 = 0.5;
/// Clocks until a result that is waited for at a barrier is seen, beside the latency that a chain of operations shows.
const SEEN: f64 = 6.0;
/// What a load of 16 bytes from shared memory takes longer.
const WIDE: f64 = 10.0;
/// Part of L2's time that is not hidden behind its latency.
const L2: f64 = 0.5;
/// Instructions that are simulated at most for one loop and warp, about.
const SIMULATED: usize = 6000;

/// Loops of the prepared program: first line of each block, and of those that it leads to.
type Ways = BTreeMap<usize, Vec<usize>>;

fn ways(m: &Module) -> Ways {
    let first = census::lines(m);
    let next = |b: &kerf_ir::llvm::Block| -> Vec<usize> {
        let all = b.terminator().map(|t| t.successors()).unwrap_or_default();
        all.iter().filter_map(|s| first.get(s).copied()).collect()
    };
    first.iter().map(|(b, l)| (*l, next(b))).collect()
}

/// Is it a function of libdevice for rare arguments, as those of sine that are too large to be reduced at once?
fn slow_path(name: &str) -> bool {
    name.starts_with("__internal_")
}

/// What each line is, from 1 on.
fn operations(m: &Module) -> Vec<Operation> {
    use Opcode::*;
    let defined = m.functions().into_iter().filter(|f| !f.is_declaration());
    let all = defined.flat_map(|f| f.instructions());
    all.map(|i| match i.opcode() {
        Some(LLVMFAdd | LLVMFSub | LLVMFMul) => Operation::Arithmetic,
        Some(LLVMLoad | LLVMStore) => Operation::Access,
        Some(LLVMCall) => match i.callee_name().is_some_and(|n| n.starts_with("llvm.fma")) {
            true => Operation::Arithmetic,
            false => Operation::Call,
        },
        _ => Operation::Other,
    })
    .collect()
}

/// Blocks of a kernel by line, with how often they and their loops are run.
fn sources(work: &KernelWork, l: &LaunchCounts, ways: &Ways) -> Vec<Source> {
    let executed = launch::warps_of(work, l, PART_TOGETHER);
    let active = |n: usize| l.blocks[n].threads as f64 / l.blocks[n].warps.max(1) as f64;
    let full = work.blocks.first().map_or(0.0, |b| active(b.number));
    let mut out: Vec<Source> = work
        .blocks
        .iter()
        .zip(executed)
        .map(|(b, executed)| Source {
            uneven: active(b.number) < 0.9 * full,
            line: b.line,
            lines: b.nodes.len(),
            executed,
            cyclic: false,
            entered: 0.0,
        })
        .collect();
    out.sort_by_key(|s| s.line);
    let place: BTreeMap<usize, usize> = out.iter().enumerate().map(|(k, s)| (s.line, k)).collect();
    let mut before: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (b, next) in ways {
        for n in next {
            before.entry(*n).or_default().push(*b);
        }
    }
    // Blocks stand in the order in which they are first reached, so that ways back lead to lines that are not after.
    let mut loops: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    for (b, next) in ways {
        for head in next.iter().filter(|n| *n <= b) {
            let body = loops
                .entry(*head)
                .or_insert_with(|| BTreeSet::from([*head]));
            let mut left = vec![*b];
            while let Some(x) = left.pop() {
                if x >= *head && body.insert(x) {
                    left.extend(before.get(&x).into_iter().flatten());
                }
            }
        }
    }
    let mut loops: Vec<_> = loops.into_iter().collect();
    loops.sort_by_key(|l| l.1.len());
    for (head, body) in loops {
        let Some(h) = place.get(&head) else { continue };
        let rounds = out[*h].executed;
        let from = before.get(&head).into_iter().flatten();
        let outside = from
            .filter(|b| !body.contains(b))
            .filter_map(|b| place.get(b));
        let entered: f64 = outside.map(|b| out[*b].executed.min(rounds)).sum();
        for b in body.iter().filter_map(|b| place.get(b)) {
            let s = &mut out[*b];
            if !s.cyclic {
                s.cyclic = true;
                s.entered = entered.max(1.0) * s.executed / rounds.max(1.0);
            }
        }
    }
    out
}

/// A load or store of the prepared program.
struct Loaded<'a> {
    access: &'a Access,
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
}

fn step(i: &Instruction, part: usize, likely: f64, a: &Around) -> Step {
    // Four schedulers share the unit for loads and stores.
    const SHARED: f64 = 4.0;
    let shared = a.rates.load_latency("shared");
    let near = a.rates.load_latency("l1");
    let special = a.rates.cost("rcp.f32.sfu").latency + SEEN;
    // A warp's 32 results on the part of a unit that its scheduler has, in whole clocks.
    let each = |u: super::Unit| (128.0 / a.rates.unit(u)).round().max(1.0);
    let load = a.loads.get(&i.line);
    let of = |m: Memory| load.filter(|l| l.access.memory == m || l.seen.is_some());
    let (unit, busy, latency) = match i.kind {
        Kind::F64 => (Unit::F64, each(super::Unit::F64), 0.0),
        Kind::F32 => (Unit::Multiply, 1.0, 0.0),
        Kind::Multiply => (Unit::Integer, 2.0, 0.0),
        Kind::Half => (Unit::Integer, 2.0, 0.0),
        Kind::Matrix => (Unit::Half, 2.0, 0.0),
        Kind::Special => (Unit::Special, each(super::Unit::Special), special),
        Kind::SpecialRegister => (Unit::Special, 2.0, shared),
        Kind::Load => {
            let found = of(Memory::Global);
            let passes = found.map_or(1.0, |l| match l.seen {
                Some(p) => memory::global_passes(l.access, p, i.bytes as u64),
                None => l.passes.max(1.0),
            });
            let latency = found.map_or(near, |l| l.latency * a.behind);
            (Unit::LoadStore, SHARED * passes, latency)
        }
        Kind::SharedLoad | Kind::SharedStore => {
            let alone = i.bytes / 4.0;
            let passes = of(Memory::Shared).map_or(alone, |l| {
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
        Kind::LocalMemory => (Unit::LoadStore, SHARED, near),
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
    let more = match i.kind {
        Kind::Sync => TOGETHER,
        Kind::Branch => BRANCH,
        _ => 0.0,
    };
    Step {
        unit,
        busy,
        latency,
        stall: f64::from(i.stall) + more,
        sets: i.sets,
        frees: i.frees,
        waits: i.waits,
        barrier: i.kind == Kind::Barrier,
        part,
        likely,
        slots: if i.kind == Kind::F64 { F64_SLOTS } else { 1.0 },
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
    missed: f64,
}

impl CostModel {
    fn compiled_launch(
        &self,
        r: &super::rates::Rates,
        k: &Compiled,
        l: &LaunchCounts,
    ) -> LaunchPrediction {
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
        // The multiprocessor with the most blocks decides.
        let fullest = (blocks / self.sms).ceil();
        let here = fullest.min(resident);
        let on_here = here * f64::from(in_block);
        let partitions = f64::from(self.machine.partitions);
        let active = on_here.min(partitions);
        let side_by_side = (on_here / partitions).ceil().clamp(1.0, 16.0);
        let group = (f64::from(in_block) / partitions).ceil().max(1.0);
        let waits = traffic::Waits {
            lone: on_here <= 1.0,
            last: true,
        };
        let levels = self.levels(r, k.work, k.own, l, k.missed, waits);
        let mut loads = BTreeMap::new();
        for (b, latency) in k.work.blocks.iter().zip(&levels.latency) {
            for (n, node) in b.nodes.iter().enumerate() {
                let Some(a) = node.access else { continue };
                let (access, seen) = (&b.accesses[a], b.seen[a].as_ref());
                loads.insert(
                    b.line + n,
                    Loaded {
                        access,
                        seen,
                        passes: memory::passes(access, seen, l.block),
                        latency: latency[a],
                    },
                );
            }
        }
        let around = Around {
            loads: &loads,
            rates: r,
            block: l.block,
            behind: if on_here > 1.0 { BEHIND } else { 1.0 },
        };
        let code = &k.code.instructions;
        let flow = Flow::of(code);
        let sources = sources(k.work, l, k.ways);
        let program = Program {
            sources: &sources,
            operations: k.operations,
            warps: blocks * f64::from(in_block),
        };
        let executed = executions::executions(code, &flow, &program);
        let inner = flow.innermost();
        let mut regions: BTreeMap<Option<usize>, Vec<usize>> = BTreeMap::new();
        for b in flow.order.iter().filter(|b| executed[**b] > 0.0) {
            regions.entry(inner.get(b).copied()).or_default().push(*b);
        }
        let (mut clocks, mut busy) = (0.0, [0.0; warps::UNITS + 1]);
        for (head, mut some) in regions {
            some.sort_unstable();
            let most = some.iter().map(|b| executed[*b]).fold(0.0, f64::max);
            let top = head
                .map(|h| executed[h])
                .filter(|n| *n > 0.0)
                .unwrap_or(most);
            let mut steps = Vec::new();
            for b in some {
                let likely = (executed[b] / top).min(1.0);
                let all = &code[flow.blocks[b].clone()];
                let real = all.iter().filter(|i| i.kind != Kind::Nothing);
                steps.extend(real.map(|i| step(i, b, likely, &around)));
            }
            let rounds = match head {
                None => 2,
                Some(_) => (SIMULATED / steps.len().max(1)).clamp(4, 24),
            };
            let one = warps::clocks(&steps, side_by_side as usize, group as usize, rounds);
            // Rounds of a scheduler of the fullest multiprocessor, all of its warps together.
            let times = top * fullest / blocks / active;
            clocks += one * times / side_by_side;
            for s in &steps {
                busy[s.unit as usize] += times * s.likely * s.busy;
                busy[warps::UNITS] += times * s.likely * s.slots;
            }
        }
        busy[Unit::Multiply as usize] += 0.5 * busy[Unit::Integer as usize];
        let s = |c: f64| c / self.clock_hz;
        let mut by: BTreeMap<Resource, f64> = BTreeMap::new();
        for (resource, c) in RESOURCES.into_iter().zip(busy) {
            let one = by.entry(resource).or_insert(0.0);
            *one = one.max(s(c));
        }
        by.insert(Resource::Latency, s(clocks));
        let l2 = L2 * levels.l2_bytes / (self.l2_bandwidth * self.busy(blocks) / self.sms);
        by.insert(Resource::L2, l2);
        by.insert(Resource::Dram, levels.dram_bytes / self.bandwidth);
        let mut shares: Vec<Share> = by
            .into_iter()
            .map(|(resource, seconds)| Share { resource, seconds })
            .collect();
        let of = |r: Resource| {
            shares
                .iter()
                .find(|x| x.resource == r)
                .map_or(0.0, |x| x.seconds)
        };
        let moved = of(Resource::L2).max(of(Resource::Dram));
        let work = s(clocks);
        let device_seconds = (work.powf(ACROSS) + moved.powf(ACROSS)).powf(1.0 / ACROSS);
        let unit = shares
            .iter()
            .filter(|x| {
                !matches!(
                    x.resource,
                    Resource::Latency | Resource::L2 | Resource::Dram
                )
            })
            .max_by(|a, b| a.seconds.total_cmp(&b.seconds));
        let limit = match unit {
            _ if self.launch_s > device_seconds + GAP_S => Resource::Launch,
            _ if moved > work && of(Resource::Dram) >= of(Resource::L2) => Resource::Dram,
            _ if moved > work => Resource::L2,
            Some(u) if u.seconds > BUSY * work => u.resource,
            _ => Resource::Latency,
        };
        shares.sort_by(|a, b| {
            let first = (b.resource == limit).cmp(&(a.resource == limit));
            first
                .then(b.seconds.total_cmp(&a.seconds))
                .then(a.resource.cmp(&b.resource))
        });
        LaunchPrediction {
            symbol: l.symbol.clone(),
            repeats: l.repeats,
            seconds: (device_seconds + GAP_S).max(self.launch_s),
            device_seconds,
            limit,
            shares,
            registers: k.code.registers,
            warps: on_here as u32,
            waves: (blocks / (self.sms * resident)).max(1.0),
        }
    }
}

impl Subject<'_> {
    /// Predicts one run under a plan from its machine code. Where functions stay functions, whose machine code is not read,
    /// it is [`Subject::predict`]'s.
    pub fn predict_compiled(&self, plan: &Plan, with: &Compiler) -> Result<Prediction, CostError> {
        let m = self.module.duplicate();
        plan.apply(&m)?;
        let c = self.model;
        let limit = c.machine.registers_per_thread;
        let kernels = census::kernels_of(&m, &self.rates, limit, &self.patterns);
        let (ways, operations) = (ways(&m), operations(&m));
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
            return self.predict(plan);
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
            all.push((work, own, &codes[&l.symbol], l));
        }
        let sets = all.iter().map(|(w, o, _, l)| traffic::working_set(w, o, l));
        let missed = c.missed(sets.fold(0.0, f64::max) * self.beside);
        let out = all.into_iter().map(|(work, own, code, l)| {
            let k = Compiled {
                work,
                own,
                code,
                ways: &ways,
                operations: &operations,
                missed,
            };
            c.compiled_launch(&self.rates, &k, l)
        });
        Ok(self.run_of(START_S, out.collect()))
    }
}
