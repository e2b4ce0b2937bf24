//! Shadows of values: which bits of an instruction's result are undefined, given those of its operands.
use super::{Pass, Shadow, SiteKind, is_aggregate, origin_of, runtime, shadow_type};
use kerf_ir::undefined_locals;
use kerf_llvm::{Builder, IntPred, Opcode, Type, Value};
use std::collections::BTreeSet;

/// Can the result of an instruction be undefined because an operand is?
pub(super) fn carries(i: Value) -> bool {
    use Opcode::*;
    match i.opcode() {
        Some(LLVMStore | LLVMFreeze | LLVMAlloca | LLVMFence) | None => false,
        Some(LLVMCall) => super::calls::carries(i),
        Some(_) => !i.ty().is_void(),
    }
}

/// Can a value reach an address, directly or through memory?
fn reaches_address(v: Value) -> bool {
    use Opcode::*;
    let (mut seen, mut work) = (BTreeSet::from([v]), vec![v]);
    while let Some(v) = work.pop() {
        for u in v.users() {
            match u.opcode() {
                Some(LLVMGetElementPtr | LLVMIntToPtr | LLVMStore | LLVMRet | LLVMCall) => {
                    return true;
                }
                Some(
                    LLVMAdd | LLVMSub | LLVMMul | LLVMSDiv | LLVMUDiv | LLVMSRem | LLVMURem
                    | LLVMAnd | LLVMOr | LLVMXor | LLVMShl | LLVMLShr | LLVMAShr | LLVMSExt
                    | LLVMZExt | LLVMTrunc | LLVMPHI | LLVMSelect,
                ) if seen.insert(u) => work.push(u),
                _ => {}
            }
        }
    }
    false
}

/// An aggregate with the member at a path replaced.
fn insert_at(b: &Builder, all: Value, member: Value, path: &[u32]) -> Value {
    match path {
        [] => member,
        [k, rest @ ..] => {
            let inner = match rest.is_empty() {
                true => member,
                false => insert_at(b, b.extract(all, *k), member, rest),
            };
            b.insert(all, inner, *k)
        }
    }
}

fn may_overflow(i: Value) -> bool {
    use Opcode::*;
    matches!(i.opcode(), Some(LLVMAdd | LLVMSub | LLVMMul))
        && i.ty().is_int()
        && i.ty().int_bits() >= 32
        && i.no_signed_wrap()
        && reaches_address(i)
}

impl Pass<'_> {
    pub(super) fn makes_undefined(&self, i: Value) -> bool {
        match i.opcode() {
            Some(Opcode::LLVMLoad) => !self.is_constant_memory(i.operand(0)),
            Some(Opcode::LLVMAtomicRMW | Opcode::LLVMAtomicCmpXchg) => true,
            Some(Opcode::LLVMCall) => i.callee_name().is_some_and(|n| {
                n.starts_with(undefined_locals::VALUE)
                    || n.starts_with("llvm.nvvm.shfl.sync.")
                    || n.starts_with("llvm.nvvm.atomic.")
            }),
            _ => may_overflow(i),
        }
    }

    /// Shadow of an operand; none where it is defined for certain.
    pub(super) fn get(&self, v: Value) -> Option<Shadow> {
        self.shadows.get(&v).copied()
    }

    /// Is any bit undefined?
    pub(super) fn any(&self, b: &Builder, s: Value) -> Value {
        let t = s.ty();
        if is_aggregate(t) {
            let n = super::members(t).len() as u32;
            let parts = (0..n).map(|k| self.any(b, b.extract(s, k)));
            return parts
                .reduce(|x, y| b.or(x, y))
                .unwrap_or_else(|| b.int_ty(1).zero());
        }
        let whole = match t.is_vector() {
            true => {
                let bits = t.lanes() * t.element().int_bits();
                b.bitcast(s, b.int_ty(bits))
            }
            false => s,
        };
        if whole.ty().int_bits() == 1 {
            return whole;
        }
        b.icmp(IntPred::LLVMIntNE, whole, whole.ty().zero())
    }

    /// A shadow of a type with every bit as `any` says.
    pub(super) fn fill(&self, b: &Builder, any: Value, t: Type) -> Value {
        if is_aggregate(t) {
            return (0u32..)
                .zip(super::members(t))
                .fold(t.zero(), |all, (k, p)| {
                    b.insert(all, self.fill(b, any, p), k)
                });
        }
        if t.is_vector() {
            let bits = b.int_ty(t.lanes() * t.element().int_bits());
            return b.bitcast(b.sext_or_trunc(any, bits), t);
        }
        b.sext_or_trunc(any, t)
    }

    /// The origin of what several shadows make together: that of the last undefined one.
    pub(super) fn origin(&self, b: &Builder, all: &[Shadow]) -> Value {
        let first = all.first().map_or_else(|| b.i32(0), |s| s.origin);
        all.iter().skip(1).fold(first, |o, s| {
            let any = self.any(b, s.bits);
            b.select(any, s.origin, o)
        })
    }

    fn operands(&self, i: Value) -> Vec<Shadow> {
        i.operands()
            .into_iter()
            .filter_map(|o| self.get(o))
            .collect()
    }

    /// The result is undefined as a whole if any operand has an undefined bit.
    pub(super) fn whole(&self, b: &Builder, i: Value, all: &[Shadow]) -> Option<Shadow> {
        let any = all
            .iter()
            .map(|s| self.any(b, s.bits))
            .reduce(|x, y| b.or(x, y))?;
        Some(Shadow {
            bits: self.fill(b, any, shadow_type(self.m, i.ty())),
            origin: self.origin(b, all),
        })
    }

    /// Lane by lane, for results of another width than the operands.
    fn lane_by_lane(&self, b: &Builder, i: Value, s: Shadow) -> Shadow {
        let any = b.icmp(IntPred::LLVMIntNE, s.bits, s.bits.ty().zero());
        let t = shadow_type(self.m, i.ty());
        let bits = match t.element().int_bits() {
            1 => any,
            _ => b.cast(Opcode::LLVMSExt, any, t),
        };
        Shadow { bits, ..s }
    }

    fn either(&self, b: &Builder, all: &[Shadow]) -> Option<Shadow> {
        let bits = all.iter().map(|s| s.bits).reduce(|x, y| b.or(x, y))?;
        Some(Shadow {
            bits,
            origin: self.origin(b, all),
        })
    }

    /// `and` and `or`: a defined 0, or 1, decides whatever the other bit is.
    fn masked(&self, b: &Builder, i: Value, is_and: bool) -> Option<Shadow> {
        let (x, y) = (i.operand(0), i.operand(1));
        let open = |v: Value| match is_and {
            true => v,
            false => b.xor(v, self.ones(b, v.ty())),
        };
        let parts: Vec<Value> = match (self.get(x), self.get(y)) {
            (Some(s), None) => vec![b.and(s.bits, open(y))],
            (None, Some(s)) => vec![b.and(s.bits, open(x))],
            (Some(s), Some(t)) => vec![
                b.and(s.bits, t.bits),
                b.and(s.bits, open(y)),
                b.and(open(x), t.bits),
            ],
            (None, None) => return None,
        };
        let bits = parts.into_iter().reduce(|p, q| b.or(p, q))?;
        Some(Shadow {
            bits,
            origin: self.origin(b, &self.operands(i)),
        })
    }

    fn ones(&self, b: &Builder, t: Type) -> Value {
        let one = b.int_ty(1).int(1);
        self.fill(b, one, t)
    }

    fn shift(&self, b: &Builder, i: Value, op: Opcode) -> Option<Shadow> {
        let (value, amount) = (self.get(i.operand(0)), self.get(i.operand(1)));
        let moved = value.map(|s| Shadow {
            bits: b.bin(op, s.bits, i.operand(1)),
            ..s
        });
        let Some(a) = amount else { return moved };
        let unknown = self.lane_by_lane(b, i, a);
        match moved {
            Some(m) => self.either(b, &[m, unknown]),
            None => Some(unknown),
        }
    }

    fn compare(&self, b: &Builder, i: Value) -> Option<Shadow> {
        let all = self.operands(i);
        let either = self.either(b, &all)?;
        let mut s = self.lane_by_lane(b, i, either);
        let equality = i.opcode() == Some(Opcode::LLVMICmp)
            && matches!(i.int_pred(), IntPred::LLVMIntEQ | IntPred::LLVMIntNE);
        let (x, y) = (i.operand(0), i.operand(1));
        if equality && x.ty().element().is_int() {
            // Defined bits that differ decide.
            let known = b.xor(either.bits, self.ones(b, either.bits.ty()));
            let differ = b.and(b.xor(x, y), known);
            let open = b.icmp(IntPred::LLVMIntEQ, differ, differ.ty().zero());
            s.bits = b.and(s.bits, open);
        }
        Some(s)
    }

    fn select(&self, b: &Builder, i: Value) -> Option<Shadow> {
        let (c, x, y) = (i.operand(0), i.operand(1), i.operand(2));
        if is_aggregate(i.ty()) {
            return self.whole(b, i, &self.operands(i));
        }
        let zero = shadow_type(self.m, i.ty()).zero();
        let none = Shadow {
            bits: zero,
            origin: b.i32(0),
        };
        let chosen = match (self.get(x), self.get(y)) {
            (None, None) => None,
            (s, t) => {
                let (s, t) = (s.unwrap_or(none), t.unwrap_or(none));
                let which = match c.ty().is_vector() {
                    true => self.origin(b, &[s, t]),
                    false => b.select(c, s.origin, t.origin),
                };
                Some(Shadow {
                    bits: b.select(c, s.bits, t.bits),
                    origin: which,
                })
            }
        };
        let Some(condition) = self.get(c) else {
            return chosen;
        };
        let any = self.any(b, condition.bits);
        let unknown = Shadow {
            bits: self.fill(b, any, zero.ty()),
            origin: condition.origin,
        };
        match chosen {
            Some(s) => self.either(b, &[s, unknown]),
            None => Some(unknown),
        }
    }

    /// Parts of vectors and structs.
    fn part(&self, b: &Builder, i: Value) -> Option<Shadow> {
        use Opcode::*;
        let all = self.operands(i);
        let bits_of = |v: Value| {
            self.get(v)
                .map_or_else(|| shadow_type(self.m, v.ty()).zero(), |s| s.bits)
        };
        let (v, w) = (i.operand(0), i.operands().get(1).copied());
        let bits = match (i.opcode()?, w) {
            (LLVMExtractValue, _) => i
                .indices()
                .into_iter()
                .fold(bits_of(v), |part, k| b.extract(part, k)),
            (LLVMInsertValue, Some(w)) => insert_at(b, bits_of(v), bits_of(w), &i.indices()),
            (LLVMExtractElement, Some(k)) if self.get(k).is_none() => b.lane_at(bits_of(v), k),
            (LLVMInsertElement, Some(x)) if self.get(i.operand(2)).is_none() => {
                b.set_lane_at(bits_of(v), bits_of(x), i.operand(2))
            }
            (LLVMShuffleVector, Some(w)) => b.shuffle(bits_of(v), bits_of(w), &i.shuffle_mask()),
            _ => return self.whole(b, i, &all),
        };
        Some(Shadow {
            bits,
            origin: self.origin(b, &all),
        })
    }

    /// A result's bits that a signed overflow leaves undefined.
    fn overflow(&mut self, b: &Builder, i: Value) -> Option<Shadow> {
        if !may_overflow(i) {
            return None;
        }
        let site = self.site(i, SiteKind::Integer);
        let site = self.add(site);
        let name = match i.opcode()? {
            Opcode::LLVMAdd => "llvm.sadd.with.overflow",
            Opcode::LLVMSub => "llvm.ssub.with.overflow",
            _ => "llvm.smul.with.overflow",
        };
        let r = b.intrinsic(name, &[i.ty()], &[i.operand(0), i.operand(1)]);
        let over = b.extract(r, 1);
        Some(Shadow {
            bits: self.fill(b, over, i.ty()),
            origin: b.select(over, b.i32(origin_of(site)), b.i32(0)),
        })
    }

    /// The shadow of an instruction that neither accesses memory nor calls.
    pub(super) fn pure(&mut self, b: &Builder, i: Value) -> Option<Shadow> {
        use Opcode::*;
        let all = self.operands(i);
        let op = i.opcode()?;
        match op {
            LLVMAdd | LLVMSub | LLVMMul => {
                let mut all = all;
                all.extend(self.overflow(b, i));
                self.either(b, &all)
            }
            LLVMXor | LLVMFAdd | LLVMFSub | LLVMFMul | LLVMFDiv | LLVMFRem | LLVMFNeg => {
                self.either(b, &all)
            }
            LLVMAnd => self.masked(b, i, true),
            LLVMOr => self.masked(b, i, false),
            LLVMShl | LLVMLShr | LLVMAShr => self.shift(b, i, op),
            LLVMICmp | LLVMFCmp => self.compare(b, i),
            LLVMSelect => self.select(b, i),
            LLVMZExt | LLVMSExt | LLVMTrunc => {
                let s = *all.first()?;
                let bits = b.cast(op, s.bits, shadow_type(self.m, i.ty()));
                Some(Shadow { bits, ..s })
            }
            LLVMBitCast => {
                let s = *all.first()?;
                let bits = b.bitcast(s.bits, shadow_type(self.m, i.ty()));
                Some(Shadow { bits, ..s })
            }
            LLVMPtrToInt | LLVMIntToPtr | LLVMAddrSpaceCast if !i.ty().is_vector() => {
                let s = *all.first()?;
                let bits = b.zext_or_trunc(s.bits, shadow_type(self.m, i.ty()));
                Some(Shadow { bits, ..s })
            }
            LLVMFPTrunc | LLVMFPExt | LLVMFPToSI | LLVMFPToUI | LLVMSIToFP | LLVMUIToFP => {
                Some(self.lane_by_lane(b, i, *all.first()?))
            }
            LLVMExtractValue | LLVMInsertValue | LLVMExtractElement | LLVMInsertElement
            | LLVMShuffleVector => self.part(b, i),
            _ => self.whole(b, i, &all),
        }
    }

    /// An undefined value must not decide anything.
    pub(super) fn must_be_defined(&mut self, b: &Builder, i: Value, v: Value, kind: SiteKind) {
        if self.get(v).is_some() {
            let site = self.site(i, kind);
            let site = self.add(site);
            self.used(b, v, site);
        }
    }

    pub(super) fn used(&self, b: &Builder, v: Value, site: u32) {
        if let Some(s) = self.get(v) {
            let any = self.any(b, s.bits);
            let args = [any, s.origin, b.i32(site)];
            self.call(b, runtime::USE, self.m.void_ty(), &args);
        }
    }
}
