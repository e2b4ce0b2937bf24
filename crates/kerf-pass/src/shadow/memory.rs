//! Shadows in memory: loads, stores, atomics, and whole ranges at once.
use super::{Dd, Pass};
use kerf_llvm::{Builder, Opcode, RmwOp, Type, Value};

impl Pass<'_> {
    pub(super) fn address(&self, b: &Builder, p: Value, t: Type, lane: u32) -> Value {
        let flat = if p.ty().space() == 0 {
            p
        } else {
            b.cast(Opcode::LLVMAddrSpaceCast, p, b.ptr_ty(0))
        };
        let size = t.element().format().map_or(8, |f| f.bytes() as u64);
        if lane == 0 {
            flat
        } else {
            b.offset(flat, b.i64(size * u64::from(lane)))
        }
    }

    pub(super) fn load(&self, b: &Builder, p: Value, v: Value) -> Vec<Dd> {
        let t = v.ty();
        (0..t.lanes())
            .map(|l| {
                let x = self.lane(b, v, l);
                let a = self.address(b, p, t, l);
                self.call_dd(b, "kerf_shadow_load", &[a, self.bits(b, x), self.fmt(b, t)])
            })
            .collect()
    }

    /// Floats that are moved as integers: tell the table what these bits stand for.
    pub(super) fn note_word(&self, b: &Builder, i: Value) {
        use Opcode::*;
        let goes_on = i.users().iter().any(|u| {
            matches!(
                u.opcode(),
                Some(LLVMBitCast | LLVMStore | LLVMTrunc | LLVMLShr | LLVMPHI)
            ) || u.callee_name().is_some()
        });
        if goes_on {
            let a = self.address(b, i.operand(0), self.f64t, 0);
            let v = b.zext_or_trunc(i, b.int_ty(64));
            self.call_void(b, "kerf_shadow_note", &[a, v, b.i32(i.ty().int_bits())]);
        }
    }

    pub(super) fn store(&self, b: &Builder, p: Value, v: Value) {
        let t = v.ty();
        for (l, s) in self.get(b, v).into_iter().enumerate() {
            let x = self.lane(b, v, l as u32);
            let a = self.address(b, p, t, l as u32);
            self.call_void(
                b,
                "kerf_shadow_store",
                &[a, self.bits(b, x), self.fmt(b, t), s.hi, s.lo],
            );
        }
    }

    pub(super) fn atomic(&self, b: &Builder, i: Value) -> Vec<Dd> {
        let (p, v) = (i.operand(0), i.operand(1));
        let op = i.rmw_op();
        let add = |o| b.bin(o, i, v);
        let (number, new) = match op {
            RmwOp::LLVMAtomicRMWBinOpFAdd => (0, add(Opcode::LLVMFAdd)),
            RmwOp::LLVMAtomicRMWBinOpFSub => (1, add(Opcode::LLVMFSub)),
            RmwOp::LLVMAtomicRMWBinOpFMax => (2, b.intrinsic("llvm.maxnum", &[i.ty()], &[i, v])),
            RmwOp::LLVMAtomicRMWBinOpFMin => (3, b.intrinsic("llvm.minnum", &[i.ty()], &[i, v])),
            _ => (4, v),
        };
        let s = self.get(b, v);
        let a = self.address(b, p, i.ty(), 0);
        let args = [
            b.i32(number),
            a,
            self.bits(b, i),
            self.bits(b, new),
            self.fmt(b, i.ty()),
            s[0].hi,
            s[0].lo,
        ];
        vec![self.call_dd(b, "kerf_shadow_atomic", &args)]
    }

    /// Clears or copies the shadows of a range, where a call does that to its bytes.
    pub(super) fn range(&self, name: &str, args: &[Value], after: &Builder) -> bool {
        if name.starts_with("llvm.memset") {
            let d = self.address(after, args[0], self.f64t, 0);
            let n = after.zext_or_trunc(args[2], after.int_ty(64));
            self.call_void(after, "kerf_shadow_clear", &[d, n]);
            return true;
        }
        if name.starts_with("llvm.memcpy") || name.starts_with("llvm.memmove") {
            let d = self.address(after, args[0], self.f64t, 0);
            let s = self.address(after, args[1], self.f64t, 0);
            let n = after.zext_or_trunc(args[2], after.int_ty(64));
            self.call_void(after, "kerf_shadow_copy", &[d, s, n]);
            return true;
        }
        false
    }
}
