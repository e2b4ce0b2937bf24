//! What each machine instruction asks of its scheduler: pipe, latency, stall and issue slots.
use super::binary::{Instruction, Kind};
use super::elements::Elements;
use super::program::SLOW_PATH_CLOCKS;
use super::simulation::{Pipe, ScheduledInstruction};
use crate::cost::census::KernelWork;
use crate::cost::fitted::MachineCodeConstants;
use crate::cost::rates::Rates;
use crate::cost::traffic::MemoryTraffic;
use crate::cost::{Unit, memory};
use kerf_device::occupancy::WARP;
use kerf_pass::count::{CountedAccess, MemoryKind, Pattern};
use std::collections::BTreeMap;

/// Issue slots of an operation in f64, and of a multiply-add whose operands are three registers, more than can be read at once
/// (probes of mixes with f32 on the H200, less 0.38 clocks of the loop: 1.17 to 1.2, and 1.81).
const F64_ISSUE_SLOTS: f64 = 1.2;
const THREE_REGISTER_F64_ISSUE_SLOTS: f64 = 1.8;
/// Schedulers that share a multiprocessor's load-store unit: on every architecture from sm_75 to sm_90.
const LOAD_STORE_SHARERS: f64 = 4.0;
/// Clocks of an atomic operation until its result is visible, and of a load from constant memory; passes of a shuffle and of an
/// atomic operation, or of a store whose addresses were not recorded. Assumed.
const ATOMIC_CLOCKS: f64 = 100.0;
const CONSTANT_LOAD_CLOCKS: f64 = 30.0;
const ASSUMED_PASSES: f64 = 2.0;

/// A load or store of the prepared program.
pub(super) struct LoadAccess<'a> {
    access: &'a CountedAccess,
    pattern: Option<&'a Pattern>,
    passes: f64,
    latency_clocks: f64,
}

/// Accesses of a launch, by line.
pub(super) fn accesses_by_line<'k>(
    work: &'k KernelWork,
    traffic: &MemoryTraffic,
    block: [u32; 3],
) -> BTreeMap<usize, LoadAccess<'k>> {
    let mut out = BTreeMap::new();
    for (b, latency) in work.blocks.iter().zip(&traffic.latency_clocks) {
        for (n, node) in b.nodes.iter().enumerate() {
            let Some(a) = node.access else { continue };
            let (access, pattern) = (&b.accesses[a], b.patterns[a].as_ref());
            let access = LoadAccess {
                access,
                pattern,
                passes: memory::passes(access, pattern, block),
                latency_clocks: latency[a],
            };
            out.insert(b.first_line + n, access);
        }
    }
    out
}

impl LoadAccess<'_> {
    /// Bytes that a thread moves.
    pub(super) fn bytes(&self) -> f64 {
        self.access.bytes as f64
    }
}

/// What the timing of an instruction depends on beside itself.
pub(super) struct LaunchContext<'a> {
    pub accesses: &'a BTreeMap<usize, LoadAccess<'a>>,
    pub rates: &'a Rates<'a>,
    pub constants: &'a MachineCodeConstants,
    /// Latency of the special-function unit, as a dependence barrier shows it.
    pub special_latency_clocks: f64,
    /// Latency of loads from device memory over their unloaded latency: 1 for a lone warp.
    pub queueing_factor: f64,
    /// Threads of a block.
    pub block: [u32; 3],
    /// Elements of threads.
    pub elements: Elements,
    /// Instructions of the slow paths of divisions that are executed, by line.
    pub slow_paths: &'a BTreeMap<usize, f64>,
}

/// How an instruction is executed.
pub(super) struct InstructionExecution {
    /// Its basic block, and the probability that an iteration executes it.
    pub basic_block: usize,
    pub probability: f64,
    /// Fraction of its executions in which its predicate is true for some lane, and in which lanes reconverge before it.
    pub predicate_fraction: f64,
    pub reconvergence_fraction: f64,
}

/// Use of a pipe by one instruction.
struct PipeUse {
    pipe: Pipe,
    pipe_clocks: f64,
    latency_clocks: f64,
}

impl LaunchContext<'_> {
    /// An instruction as the simulated schedulers see it.
    pub(super) fn scheduled(
        &self,
        i: &Instruction,
        e: &InstructionExecution,
    ) -> ScheduledInstruction {
        let used = self.memory_use(i).unwrap_or_else(|| self.pipe_use(i.kind));
        let slow_path = match i.kind {
            Kind::Call => self.slow_paths.get(&i.line).copied().unwrap_or(0.0),
            _ => 0.0,
        };
        let delay_clocks = match i.kind {
            Kind::Call => SLOW_PATH_CLOCKS * slow_path,
            Kind::Reconverge => self.constants.reconvergence_clocks * e.reconvergence_fraction,
            Kind::Branch => self.constants.branch_clocks,
            _ => 0.0,
        };
        let issue_slots = match i.kind {
            Kind::F64 if i.is_three_register_f64 => THREE_REGISTER_F64_ISSUE_SLOTS,
            Kind::F64 => F64_ISSUE_SLOTS,
            _ => 1.0,
        };
        // An access whose predicate is false for all lanes takes a pass all the same (ncu on the H200: 18 million of
        // batched_lu's 40, where shared accesses are predicated; with branches instead, the program has 22).
        let predicate = e.predicate_fraction;
        let pipe_clocks = match used.pipe {
            Pipe::LoadStore => {
                used.pipe_clocks * predicate + LOAD_STORE_SHARERS * (1.0 - predicate)
            }
            _ => used.pipe_clocks,
        };
        ScheduledInstruction {
            pipe: used.pipe,
            pipe_clocks,
            latency_clocks: used.latency_clocks * predicate,
            stall_clocks: f64::from(i.stall_clocks) + delay_clocks,
            result_barrier: i.result_barrier,
            operand_barrier: i.operand_barrier,
            wait_mask: i.wait_mask,
            is_block_barrier: i.kind == Kind::BlockBarrier,
            basic_block: e.basic_block,
            probability: e.probability,
            issue_slots: slow_path + issue_slots,
        }
    }

    /// Use of the load-store unit, for instructions on it.
    fn memory_use(&self, i: &Instruction) -> Option<PipeUse> {
        let shared = self.rates.load_latency("shared");
        let l1 = self.rates.load_latency("l1");
        let access = self.accesses.get(&i.line);
        let in_memory =
            |m: MemoryKind| access.filter(|l| l.access.memory == m || l.pattern.is_some());
        // Passes of a warp whose lanes' words lie side by side.
        let coalesced = i.bytes / 4.0;
        let coarse = |a, p| self.coarse_passes(a, p, self.block);
        let (passes, latency_clocks) = match i.kind {
            Kind::Load => {
                let found = in_memory(MemoryKind::Global);
                // Without an access of the program it is a load from a table of libdevice, which L1 holds.
                let passes = found.map_or(0.0, |l| match l.pattern {
                    _ if self.elements.of_thread > 1.0 => coarse(l.access, l.pattern),
                    Some(p) => memory::global_passes(l.access, p, i.bytes as u64),
                    None => l.passes,
                });
                let latency = found.map_or(l1, |l| l.latency_clocks * self.queueing_factor);
                (passes.max(coalesced), latency)
            }
            Kind::SharedLoad | Kind::SharedStore => {
                let passes = in_memory(MemoryKind::Shared).map_or(coalesced, |l| {
                    match self.elements.of_thread > 1.0 {
                        true => coarse(l.access, l.pattern),
                        false => {
                            memory::shared_passes(l.access, l.pattern, self.block, i.bytes as u64)
                        }
                    }
                });
                let wide = match i.bytes > 8.0 {
                    true => self.constants.wide_shared_load_clocks,
                    false => 0.0,
                };
                (passes, shared + wide)
            }
            Kind::Store => {
                let recorded = access.and_then(|l| Some((l.access, l.pattern?)));
                let passes = recorded.map_or(ASSUMED_PASSES, |(a, p)| {
                    match self.elements.of_thread > 1.0 {
                        true => coarse(a, Some(p)),
                        false => memory::global_passes(a, p, i.bytes as u64),
                    }
                });
                (passes, 0.0)
            }
            Kind::LocalLoad => (coalesced, l1),
            Kind::LocalStore => (coalesced, 0.0),
            Kind::Shuffle => (ASSUMED_PASSES, shared),
            Kind::Atomic => (ASSUMED_PASSES, ATOMIC_CLOCKS),
            _ => return None,
        };
        Some(PipeUse {
            pipe: Pipe::LoadStore,
            pipe_clocks: LOAD_STORE_SHARERS * passes,
            latency_clocks,
        })
    }

    /// Passes of an access of a coarsened kernel: the lanes of a warp are as many elements apart as a thread has side by side,
    /// whether one instruction moves them all or several do.
    fn coarse_passes(&self, a: &CountedAccess, p: Option<&Pattern>, block: [u32; 3]) -> f64 {
        let of_one = memory::passes(a, p, block);
        match memory::differs_between_lanes(a, p) {
            true => (of_one * self.elements.run).min(f64::from(WARP)),
            false => of_one,
        }
    }

    /// Use of the other pipes. Clocks without a figure of the profile are a warp's 32 lanes over the width of the pipe (NVIDIA's
    /// whitepapers); which instructions share a pipe was probed on the H200.
    fn pipe_use(&self, kind: Kind) -> PipeUse {
        // Clocks of a warp on its scheduler's quarter of a unit.
        let of_unit = |u: Unit| (128.0 / self.rates.unit(u)).round().max(1.0);
        let (pipe, pipe_clocks, latency_clocks) = match kind {
            Kind::F64 => (Pipe::F64, of_unit(Unit::F64), 0.0),
            Kind::F32 => (Pipe::Fma, 1.0, 0.0),
            Kind::IntegerMultiply | Kind::Half => (Pipe::FmaHeavy, 2.0, 0.0),
            Kind::TensorHalf => (Pipe::Tensor, 2.0, 0.0),
            Kind::Special => (
                Pipe::Special,
                of_unit(Unit::Special),
                self.special_latency_clocks,
            ),
            Kind::SpecialRegister => (Pipe::Special, 2.0, self.rates.load_latency("shared")),
            Kind::ConstantLoad => (Pipe::Constant, 4.0, CONSTANT_LOAD_CLOCKS),
            Kind::Branch
            | Kind::ConvergenceBarrier
            | Kind::Reconverge
            | Kind::Call
            | Kind::Exit => (Pipe::Branch, 1.0, 0.0),
            Kind::BlockBarrier | Kind::Nop => (Pipe::Unlimited, 0.0, 0.0),
            Kind::Uniform => (Pipe::Uniform, 2.0, 0.0),
            _ => (Pipe::Alu, 2.0, 0.0),
        };
        PipeUse {
            pipe,
            pipe_clocks,
            latency_clocks,
        }
    }
}
