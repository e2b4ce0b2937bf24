//! `atom` and `red`.
use super::address::take_space;
use super::lifter::Lifter;
use super::ordering::{Semantics, take_semantics};
use super::refusal::Lifted;
use super::syntax::{Instruction, Operand};
use super::types::Ty;
use kerf_llvm::{Ordering, RmwOp, Value};

fn operation(op: &str, ty: Ty) -> Option<RmwOp> {
    use RmwOp::*;
    let signed = ty.signed();
    Some(match (op, ty) {
        ("add", Ty::Float(_) | Ty::Float2(_)) => LLVMAtomicRMWBinOpFAdd,
        ("exch", Ty::Bits(32 | 64)) => LLVMAtomicRMWBinOpXchg,
        ("and", Ty::Bits(32 | 64)) => LLVMAtomicRMWBinOpAnd,
        ("or", Ty::Bits(32 | 64)) => LLVMAtomicRMWBinOpOr,
        ("xor", Ty::Bits(32 | 64)) => LLVMAtomicRMWBinOpXor,
        ("inc", Ty::Uint(32)) => LLVMAtomicRMWBinOpUIncWrap,
        ("dec", Ty::Uint(32)) => LLVMAtomicRMWBinOpUDecWrap,
        ("add", Ty::Uint(32 | 64) | Ty::Sint(32 | 64)) => LLVMAtomicRMWBinOpAdd,
        ("min", Ty::Uint(32 | 64) | Ty::Sint(32 | 64)) if signed => LLVMAtomicRMWBinOpMin,
        ("min", Ty::Uint(32 | 64)) => LLVMAtomicRMWBinOpUMin,
        ("max", Ty::Uint(32 | 64) | Ty::Sint(32 | 64)) if signed => LLVMAtomicRMWBinOpMax,
        ("max", Ty::Uint(32 | 64)) => LLVMAtomicRMWBinOpUMax,
        _ => return None,
    })
}

const OPERATIONS: [&str; 10] = [
    "add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec",
];

impl Lifter {
    /// `atom` and `red`
    pub fn atomic(&mut self, i: &mut Instruction, op: &str) -> Lifted<()> {
        let semantics = take_semantics(i);
        let space = take_space(i);
        let Some(operation_name) = i.pick(&OPERATIONS) else {
            return i.unsupported();
        };
        i.flag("noftz");
        let lanes = match i.pick(&["v2", "v4", "v8"]) {
            Some("v2") => 2,
            Some("v4") => 4,
            Some(_) => 8,
            None => 1,
        };
        let ty = i.ty()?;
        let returns = op == "atom";
        let first = usize::from(returns);
        i.arity(first + if operation_name == "cas" { 3 } else { 2 })?;
        let p = self.address(&i.operand(first)?, space)?;
        let source = i.operand(first + 1)?;
        let to = if returns {
            i.operand(0)?
        } else {
            Operand::Sink
        };

        self.ahead(&semantics);
        if operation_name == "cas" {
            if !matches!(ty, Ty::Bits(16 | 32 | 64)) || lanes > 1 {
                return i.unsupported();
            }
            let (old, new) = (
                self.read(&source, ty)?,
                self.read(&i.operand(first + 2)?, ty)?,
            );
            let both = self.b.cmpxchg(p, old, new);
            self.order(
                both,
                &Semantics {
                    ordering: None,
                    ..semantics
                },
            );
            let v = self.b.extract(both, 0);
            self.write(&to, v, false)?;
        } else {
            let Some(rmw) = operation(operation_name, ty) else {
                return i.unsupported();
            };
            self.modify(rmw, p, (&to, &source), ty, lanes, &semantics)?;
        }
        self.behind(&semantics);
        Ok(())
    }

    /// One atomic per element: PTX promises no more for packed and vector types.
    fn modify(
        &mut self,
        rmw: RmwOp,
        p: Value,
        (to, source): (&Operand, &Operand),
        ty: Ty,
        lanes: usize,
        s: &Semantics,
    ) -> Lifted<()> {
        let list = |o: &Operand| match o {
            Operand::Vector(parts) => parts.clone(),
            Operand::Sink => vec![Operand::Sink; lanes],
            o => vec![o.clone()],
        };
        let (targets, sources) = (list(to), list(source));
        if targets.len() != lanes || sources.len() != lanes {
            return super::refusal::refuse("an atomic has an odd number of elements");
        }
        let mut at = 0;
        for (to, source) in targets.iter().zip(&sources) {
            let v = self.read(source, ty)?;
            let old = self.lanewise_atomic(rmw, p, v, &mut at, s);
            self.write(to, old, ty.signed())?;
        }
        Ok(())
    }

    fn lanewise_atomic(
        &self,
        rmw: RmwOp,
        p: Value,
        v: Value,
        at: &mut u64,
        s: &Semantics,
    ) -> Value {
        let one = |x: Value, at: &mut u64| {
            let old = self.b.atomic_rmw(rmw, self.beyond(p, *at), x);
            self.order(
                old,
                &Semantics {
                    ordering: None,
                    ..*s
                },
            );
            *at += u64::from(super::registers::type_bits(x.ty()).unwrap_or(0) / 8);
            old
        };
        if !v.ty().is_vector() {
            return one(v, at);
        }
        (0..v.ty().lanes()).fold(v.ty().poison(), |all, k| {
            let old = one(self.b.lane(v, k), at);
            self.b.set_lane(all, old, k)
        })
    }

    /// LLVM's PTX for atomics is relaxed: what comes before a release is held back by a fence.
    fn ahead(&self, s: &Semantics) {
        use Ordering::*;
        if matches!(
            s.ordering,
            Some(LLVMAtomicOrderingRelease | LLVMAtomicOrderingAcquireRelease)
        ) {
            self.fence_of(LLVMAtomicOrderingAcquireRelease, s.scope);
        }
    }

    /// The same for what comes after an acquire.
    fn behind(&self, s: &Semantics) {
        use Ordering::*;
        if matches!(
            s.ordering,
            Some(LLVMAtomicOrderingAcquire | LLVMAtomicOrderingAcquireRelease)
        ) {
            self.fence_of(LLVMAtomicOrderingAcquireRelease, s.scope);
        }
    }
}
