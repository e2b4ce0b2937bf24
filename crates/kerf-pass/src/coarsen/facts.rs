//! What is known of the copies' values: which are the same for all, which differ by a constant from copy to copy.
//!
//! For neighbouring copies of a run, whose first is the leader: `step` is the difference from one to the next, modulo
//! the type's range; it is exact if no copy's value wraps on the way from the leader's. An index that is a multiple of
//! the run's length for the leader cannot wrap within the run, since ranges end at multiples of powers of two.
//! An extension of an index of which that is not known keeps the step as an assumption. It holds if and only if it holds
//! for the last copy of a run, since a step that is short wraps at most once; a value has one assumption at most, or two
//! could cancel out. Facts are a greatest fixed point: a slot has what all values have that are stored to it.
use super::choice::Coarsening;
use super::flow::{Flow, condition};
use super::slots::Slots;
use crate::registers::read;
use kerf_llvm::{Module, Opcode, Type, TypeKind, Value};
use std::collections::{BTreeMap, BTreeSet};

/// What is known of the copies of a value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Fact {
    /// Copies may differ.
    pub varies: bool,
    /// Difference between neighbours in a run, if it is a constant.
    pub step: Option<i64>,
    /// It is exact for signed numbers.
    pub signed: bool,
    /// It is exact for unsigned numbers.
    pub unsigned: bool,
    /// The leader's value is a multiple of two to this power.
    pub zeros: u32,
    /// The step is right if it is for the last copy of a run.
    pub assumed: bool,
}

/// Steps that are assumed are at most so long: a run of them is shorter than half of any range.
const LONGEST_STEP: u64 = 1 << 10;

/// Powers of two above this are not told apart.
const MOST_ZEROS: u32 = 32;

impl Fact {
    const UNIFORM: Fact = Fact {
        varies: false,
        step: Some(0),
        signed: true,
        unsigned: true,
        zeros: 0,
        assumed: false,
    };
    const VARYING: Fact = Fact {
        varies: true,
        step: None,
        signed: false,
        unsigned: false,
        zeros: 0,
        assumed: false,
    };

    fn uniform(zeros: u32) -> Fact {
        Fact {
            zeros: zeros.min(MOST_ZEROS),
            ..Fact::UNIFORM
        }
    }

    fn meet(self, other: Fact) -> Fact {
        Fact {
            varies: self.varies || other.varies,
            step: self.step.filter(|s| other.step == Some(*s)),
            signed: self.signed && other.signed,
            unsigned: self.unsigned && other.unsigned,
            zeros: self.zeros.min(other.zeros),
            assumed: self.assumed || other.assumed,
        }
    }

    /// The constant by which copies differ, where they do.
    pub(super) fn stride(&self) -> Option<i64> {
        self.assumed_stride().filter(|_| !self.assumed)
    }

    /// [`Fact::stride`], if need be on the assumption that the fact has.
    pub(super) fn assumed_stride(&self) -> Option<i64> {
        self.step.filter(|s| self.varies && *s != 0)
    }
}

/// What is known of all values of a kernel in slot form.
pub(super) struct Facts {
    values: BTreeMap<Value, Fact>,
    slots: BTreeMap<Value, Fact>,
    /// Slots of which copies may have different values after a branch divided them.
    joined: BTreeSet<Value>,
    run: u32,
    factor: u32,
    axis: &'static str,
}

fn zeros_of(v: u64) -> u32 {
    v.trailing_zeros().min(MOST_ZEROS)
}

impl Facts {
    pub(super) fn new(m: &Module, slots: &Slots, flow: &Flow, c: &Coarsening) -> Facts {
        let mut facts = Facts {
            values: slots.arrays.iter().map(|a| (*a, Fact::VARYING)).collect(),
            slots: BTreeMap::new(),
            joined: BTreeSet::new(),
            run: c.run_length(),
            factor: c.factor,
            axis: c.axis.name(),
        };
        loop {
            while facts.round(m, slots, flow) {}
            if !facts.divide(slots, flow) {
                return facts;
            }
        }
    }

    /// What is known of a value.
    pub(super) fn get(&self, v: Value) -> Fact {
        if let Some(f) = self.values.get(&v) {
            return *f;
        }
        Fact::uniform(v.const_int().map_or(0, zeros_of))
    }

    /// Is a value one of an instruction of which nothing is known so far?
    fn is_open(&self, v: Value) -> bool {
        v.is_instruction() && !self.values.contains_key(&v)
    }

    /// Does each copy have a slot of its own?
    pub(super) fn slot_varies(&self, slot: Value) -> bool {
        self.slots.get(&slot).is_some_and(|f| f.varies)
    }

    /// Does a block's branch divide the copies?
    pub(super) fn divides(&self, flow: &Flow, k: usize) -> bool {
        let by = flow.blocks[k].terminator().and_then(condition);
        by.is_some_and(|c| self.get(c).varies)
    }

    /// One pass over all instructions; true if something changed.
    fn round(&mut self, m: &Module, slots: &Slots, flow: &Flow) -> bool {
        let mut changed = false;
        for b in &flow.blocks {
            for i in b.instructions() {
                if let Some((slot, v)) = slots.stored(i) {
                    let new = self.get(v);
                    let new = match self.slots.get(&slot) {
                        Some(old) => old.meet(new),
                        None => new,
                    };
                    let new = match self.joined.contains(&slot) {
                        true => Fact::VARYING,
                        false => new,
                    };
                    changed |= self.slots.insert(slot, new) != Some(new);
                    continue;
                }
                let new = match slots.loaded(i) {
                    Some(s) => self.slots.get(&s).copied(),
                    None if i.operands().iter().any(|o| self.is_open(*o)) => None,
                    None => Some(self.instruction(m, i)),
                };
                // Nothing was stored to a slot so far: nothing contradicts anything.
                let Some(new) = new else { continue };
                let new = match self.values.get(&i) {
                    Some(old) => old.meet(new),
                    None => new,
                };
                changed |= self.values.insert(i, new) != Some(new);
            }
        }
        changed
    }

    /// Slots that copies leave differently where a branch divided them; true if there are new ones.
    fn divide(&mut self, slots: &Slots, flow: &Flow) -> bool {
        let mut new = false;
        for k in 0..flow.blocks.len() {
            let (true, Some(end)) = (self.divides(flow, k), flow.postdominator[k]) else {
                continue;
            };
            for b in flow.decided(k) {
                for i in flow.blocks[b].instructions() {
                    let Some((slot, _)) = slots.stored(i) else {
                        continue;
                    };
                    if flow.live[end].contains(&slot) && self.joined.insert(slot) {
                        self.slots.insert(slot, Fact::VARYING);
                        new = true;
                    }
                }
            }
        }
        new
    }

    /// Marks a step as exact where the leader's multiple proves it.
    fn aligned(&self, mut f: Fact) -> Fact {
        if let Some(s) = f.stride()
            && s > 0
            && (s as u64).is_power_of_two()
            && f.zeros >= (s as u64).trailing_zeros() + self.run.trailing_zeros()
        {
            (f.signed, f.unsigned) = (true, true);
        }
        f
    }

    fn sum(&self, i: Value, [a, b]: [Fact; 2], sign: i64) -> Fact {
        let step = a.step.zip(b.step).filter(|_| !(a.assumed && b.assumed));
        let step = step.and_then(|(x, y)| x.checked_add(y.checked_mul(sign)?));
        let disjoint = i.is_disjoint();
        let wraps = |no: bool| disjoint || no;
        self.aligned(Fact {
            varies: a.varies || b.varies,
            step,
            signed: a.signed && b.signed && wraps(!disjoint && i.no_signed_wrap()),
            unsigned: sign > 0
                && a.unsigned
                && b.unsigned
                && wraps(!disjoint && i.no_unsigned_wrap()),
            zeros: a.zeros.min(b.zeros),
            assumed: a.assumed || b.assumed,
        })
    }

    /// A multiple of a value by a constant.
    fn multiple(&self, i: Value, a: Fact, by: i64) -> Fact {
        self.aligned(Fact {
            varies: a.varies,
            step: a.step.and_then(|s| s.checked_mul(by)),
            signed: a.signed && i.no_signed_wrap(),
            unsigned: a.unsigned && by > 0 && i.no_unsigned_wrap(),
            zeros: (a.zeros + zeros_of(by as u64)).min(MOST_ZEROS),
            assumed: a.assumed,
        })
    }

    /// Whatever an operation makes of its operands.
    fn any(&self, i: Value) -> Fact {
        match i.operands().iter().any(|o| self.get(*o).varies) {
            true => Fact::VARYING,
            false => Fact::UNIFORM,
        }
    }

    fn instruction(&self, m: &Module, i: Value) -> Fact {
        use Opcode::*;
        let op = |n: u32| self.get(i.operand(n));
        let scalar = i.ty().is_int() || i.ty().is_ptr();
        let plain = self.any(i);
        match i.opcode() {
            Some(LLVMAlloca) => Fact::VARYING,
            Some(LLVMCall) => self.call(i),
            Some(LLVMAtomicRMW | LLVMAtomicCmpXchg) => Fact::VARYING,
            _ if !scalar => plain,
            Some(LLVMAdd) => self.sum(i, [op(0), op(1)], 1),
            Some(LLVMSub) => self.sum(i, [op(0), op(1)], -1),
            Some(LLVMOr) if i.is_disjoint() => self.sum(i, [op(0), op(1)], 1),
            Some(LLVMMul | LLVMShl) => self.product(i, plain),
            Some(LLVMSExt) => self.extended(i, true),
            Some(LLVMZExt) => self.extended(i, i.is_non_negative() && op(0).signed),
            Some(LLVMTrunc) if i.ty().int_bits() < 32 => plain,
            Some(LLVMTrunc) => self.aligned(Fact {
                signed: !op(0).varies,
                unsigned: !op(0).varies,
                ..op(0)
            }),
            Some(LLVMGetElementPtr) => self.pointer(m, i),
            Some(LLVMAddrSpaceCast | LLVMFreeze) => op(0),
            Some(LLVMSelect) if !op(0).varies => op(1).meet(op(2)),
            _ => plain,
        }
    }

    fn product(&self, i: Value, plain: Fact) -> Fact {
        let bits = i.ty().int_bits();
        let shift = i.opcode() == Some(Opcode::LLVMShl);
        let (a, by) = match (i.operand(0).const_int(), i.operand(1).const_int()) {
            (_, Some(c)) => (i.operand(0), c),
            (Some(c), None) if !shift => (i.operand(1), c),
            _ if !plain.varies && !shift => {
                let zeros = self.get(i.operand(0)).zeros + self.get(i.operand(1)).zeros;
                return Fact::uniform(zeros);
            }
            _ => return plain,
        };
        let by = match shift {
            true if by < 62 => 1i64 << by,
            true => return plain,
            false if bits < 64 => ((by << (64 - bits)) as i64) >> (64 - bits),
            false => by as i64,
        };
        self.multiple(i, self.get(a), by)
    }

    fn extended(&self, i: Value, signed: bool) -> Fact {
        let a = self.get(i.operand(0));
        if !a.varies {
            return a;
        }
        let exact = if signed { a.signed } else { a.unsigned };
        if !exact {
            return self.assume(a);
        }
        self.aligned(Fact {
            signed: true,
            unsigned: !signed,
            ..a
        })
    }

    /// A value of more bits whose copies are taken to differ as those of the narrower one do.
    fn assume(&self, a: Fact) -> Fact {
        let short = |s: &i64| s.unsigned_abs() <= LONGEST_STEP;
        Fact {
            step: a.step.filter(short).filter(|_| !a.assumed),
            signed: false,
            unsigned: false,
            assumed: true,
            ..a
        }
    }

    /// An address: the sum of its indices, each times the size of what it counts.
    fn pointer(&self, m: &Module, i: Value) -> Fact {
        let mut all = self.get(i.operand(0));
        let mut step = all.step;
        let mut assumptions = u32::from(all.assumed);
        let mut ty = i.gep_type();
        for (n, index) in i.operands().into_iter().skip(1).enumerate() {
            let f = self.get(index);
            all.varies |= f.varies;
            let size = match n {
                0 => Some(m.size_of(ty)),
                _ => inner(m, &mut ty, index),
            };
            let wide = index.ty().is_int() && index.ty().int_bits() >= 64;
            let f = match !f.varies || wide || f.signed {
                true => f,
                false => self.assume(f),
            };
            assumptions += u32::from(f.assumed);
            let s = f.step;
            let s = s
                .zip(size)
                .and_then(|(s, size)| s.checked_mul(size as i64))
                .filter(|_| index.ty().is_int());
            step = step.zip(s).and_then(|(a, b)| a.checked_add(b));
        }
        if !i.ty().is_ptr() {
            return self.any(i);
        }
        Fact {
            varies: all.varies,
            step: match all.varies {
                true => step.filter(|_| assumptions < 2),
                false => Some(0),
            },
            signed: false,
            unsigned: false,
            zeros: 0,
            assumed: assumptions > 0,
        }
    }

    fn call(&self, i: Value) -> Fact {
        if let Some(r) = read(i) {
            let Some((what, axis)) = r.split_once('.') else {
                return Fact::UNIFORM;
            };
            return match what {
                "tid" if axis == self.axis => Fact {
                    varies: true,
                    step: Some(1),
                    signed: true,
                    unsigned: true,
                    zeros: zeros_of(self.run.into()),
                    assumed: false,
                },
                "ntid" if axis == self.axis => Fact::uniform(zeros_of(self.factor.into())),
                _ => Fact::UNIFORM,
            };
        }
        match is_pure_call(i) {
            true => self.any(i),
            false => Fact::VARYING,
        }
    }
}

/// Steps into an array or struct; gives the size of what the index counts, none for a field.
fn inner(m: &Module, ty: &mut Type, index: Value) -> Option<u64> {
    match ty.kind() {
        TypeKind::LLVMStructTypeKind => {
            let n = index.const_int()? as usize;
            *ty = *ty.fields().get(n)?;
            // A field's number is a constant, whose step is nothing.
            Some(1)
        }
        _ => {
            *ty = ty.element();
            Some(m.size_of(*ty))
        }
    }
}

/// A call whose result depends on its arguments alone, and which has no other effect.
pub(super) fn is_pure_call(i: Value) -> bool {
    let Some(name) = i.callee_name() else {
        return false;
    };
    let f = i.callee();
    kerf_ir::prepare::is_pure_math(f)
        || (f.is_declaration() && name.starts_with("llvm.") && f.accesses_no_memory())
}
