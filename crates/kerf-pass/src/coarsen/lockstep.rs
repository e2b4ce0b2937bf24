//! All copies in lockstep: blocks of a kernel in slot form, each instruction for all copies before the next.
use super::choice::Coarsening;
use super::facts::{Facts, is_pure_call};
use super::flow::Flow;
use super::lanes::{LaneMap, Lanes};
use super::obstacle::is_barrier;
use super::slots::Slots;
use crate::registers::read;
use kerf_llvm::{Block, Builder, LlvmError, Module, Opcode, Value};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// A kernel that is being coarsened.
pub(super) struct Lockstep<'a> {
    pub m: &'a Module,
    pub kernel: Value,
    pub coarsening: &'a Coarsening,
    pub slots: &'a Slots,
    pub flow: &'a Flow,
    pub facts: &'a Facts,
    /// Slots and arrays that each copy has for itself.
    pub own: BTreeMap<Value, Vec<Value>>,
    /// Slots that were added.
    pub added: RefCell<Vec<Value>>,
    /// Index of each copy's thread along the axis.
    index: Vec<Value>,
    /// Extent of the block that the kernel sees.
    extent: Value,
    /// Where the lockstep version of each block begins.
    pub heads: Vec<Block>,
}

/// Instructions that each copy has to carry out, whatever their operands are.
fn counts(i: Value) -> bool {
    use Opcode::*;
    match i.opcode() {
        Some(LLVMAtomicRMW | LLVMAtomicCmpXchg) => true,
        Some(LLVMCall) => {
            let name = i.callee_name().unwrap_or_default();
            let hint = ["llvm.assume", "llvm.lifetime"];
            let hint = hint.iter().any(|n| name.starts_with(n));
            !(hint || is_fence(i) || is_pure_call(i) || read(i).is_some())
        }
        _ => false,
    }
}

/// Instructions that one copy carries out for all.
fn is_fence(i: Value) -> bool {
    let name = i.callee_name().unwrap_or_default();
    let fence = ["llvm.nvvm.membar", "llvm.nvvm.fence"];
    i.opcode() == Some(Opcode::LLVMFence)
        || is_barrier(i)
        || fence.iter().any(|f| name.starts_with(f))
}

type Analyses<'a> = (&'a Coarsening, &'a Slots, &'a Flow, &'a Facts);

impl<'a> Lockstep<'a> {
    pub(super) fn new(
        m: &'a Module,
        kernel: Value,
        (coarsening, slots, flow, facts): Analyses<'a>,
    ) -> Result<Lockstep<'a>, LlvmError> {
        let end = slots.prologue.terminator();
        let end = end.ok_or_else(|| LlvmError("a block has no end".into()))?;
        let b = Builder::before(end);
        let k = coarsening.factor;
        let axis = coarsening.axis.name();
        let register =
            |what: &str| b.intrinsic(&format!("llvm.nvvm.read.ptx.sreg.{what}.{axis}"), &[], &[]);
        let (thread, threads) = (register("tid"), register("ntid"));
        let no_wrap = |v: Value| {
            v.set_wraps(true, true);
            v
        };
        let extent = no_wrap(b.mul(threads, b.i32(k)));
        let run = coarsening.run_length();
        let first = no_wrap(b.mul(thread, b.i32(run)));
        let mut index = Vec::new();
        for g in 0..k / run {
            let apart = no_wrap(b.mul(threads, b.i32(g * run)));
            let leader = match g {
                0 => first,
                _ => no_wrap(b.add(first, apart)),
            };
            index.push(leader);
            index.extend((1..run).map(|i| no_wrap(b.add(leader, b.i32(i)))));
        }
        let mut own = BTreeMap::new();
        let varying = slots.all.iter().filter(|s| facts.slot_varies(**s));
        for slot in varying.chain(&slots.arrays) {
            let more = (1..k).map(|_| b.insert_copy(*slot));
            own.insert(*slot, std::iter::once(*slot).chain(more).collect());
        }
        let heads = flow.blocks.iter().map(|o| b.new_block(kernel, &o.name()));
        Ok(Lockstep {
            m,
            kernel,
            coarsening,
            slots,
            flow,
            facts,
            heads: heads.collect(),
            own,
            added: RefCell::default(),
            index,
            extent,
        })
    }

    /// Copies.
    pub(super) fn copies(&self) -> usize {
        self.coarsening.factor as usize
    }

    /// A new slot.
    pub(super) fn slot(&self, ty: kerf_llvm::Type) -> Result<Value, LlvmError> {
        let end = self.slots.prologue.terminator();
        let end = end.ok_or_else(|| LlvmError("a block has no end".into()))?;
        let s = Builder::before(end).alloca(ty);
        self.added.borrow_mut().push(s);
        Ok(s)
    }

    /// What a copy has in place of a value of the kernel.
    pub(super) fn copy_of(&self, map: &LaneMap, v: Value, copy: usize) -> Value {
        if let Some(all) = self.own.get(&v) {
            return all[copy];
        }
        map.get(&v).map_or(v, |l| l.get(copy))
    }

    /// A copy of an instruction.
    pub(super) fn clone_for(&self, b: &Builder, map: &LaneMap, i: Value, copy: usize) -> Value {
        let new = b.insert_copy(i);
        for (n, o) in (0u32..).zip(i.operands()) {
            let mine = self.copy_of(map, o, copy);
            if mine != o {
                new.set_operand(n, mine);
            }
        }
        new
    }

    /// The lockstep version of an instruction that is no terminator.
    pub(super) fn instruction(&self, b: &Builder, map: &mut LaneMap, i: Value) {
        let axis = self.coarsening.axis.name();
        if let Some((what, a)) = read(i).as_deref().and_then(|r| r.split_once('.'))
            && a == axis
            && ["tid", "ntid"].contains(&what)
        {
            let lanes = match what {
                "tid" => Lanes::Each(self.index.clone()),
                _ => Lanes::One(self.extent),
            };
            map.insert(i, lanes);
            return;
        }
        let fact = self.facts.get(i);
        let differs = |o: &Value| self.own.contains_key(o) || self.facts.get(*o).varies;
        let same = !counts(i) && !fact.varies && !i.operands().iter().any(differs);
        if same || is_fence(i) {
            let one = self.clone_for(b, map, i, 0);
            map.insert(i, Lanes::One(one));
            return;
        }
        let run = self.coarsening.run_length() as usize;
        let stride = fact.stride();
        let mut all: Vec<Value> = Vec::new();
        for copy in 0..self.copies() {
            let behind = copy % run;
            all.push(match stride.filter(|_| behind > 0) {
                Some(s) => {
                    let by = s.wrapping_mul(behind as i64) as u64;
                    beyond(b, all[copy - behind], by, (fact.signed, fact.unsigned))
                }
                None => self.clone_for(b, map, i, copy),
            });
        }
        map.insert(i, Lanes::Each(all));
    }
}

/// A value a constant beyond another one.
fn beyond(b: &Builder, leader: Value, by: u64, (signed, unsigned): (bool, bool)) -> Value {
    if leader.ty().is_ptr() {
        return b.offset(leader, b.i64(by));
    }
    let sum = b.add(leader, leader.ty().int(by));
    sum.set_wraps(signed, unsigned);
    sum
}
