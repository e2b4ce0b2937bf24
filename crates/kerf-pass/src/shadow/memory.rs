//! Shadows in memory: loads, stores, atomics, and whole ranges at once.
use super::runtime::Place;
use super::{Dd, Pass, ShadowRuntime};
use kerf_llvm::{Builder, Opcode, RmwOp, Type, Value};

/// Bytes of one lane.
fn scalar_bytes(t: Type) -> u64 {
    t.element().format().map_or(8, |f| f.bytes() as u64)
}

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

    pub(super) fn load(&self, b: &Builder, load: Value) -> Vec<Dd> {
        let place = Place::accessed_by(load, load.operand(0));
        (0..load.ty().lanes())
            .map(|l| {
                let at = place.plus(u64::from(l) * scalar_bytes(load.ty()));
                self.read_shadow(b, at, self.lane(b, load, l))
            })
            .collect()
    }

    /// Floats that are moved as integers: tell the table what these bits stand for.
    pub(super) fn note_word(&self, b: &Builder, i: Value) {
        use Opcode::*;
        if self.runtime == ShadowRuntime::Device {
            return;
        }
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

    pub(super) fn store(&self, b: &Builder, store: Value) {
        let v = store.operand(0);
        let place = Place::accessed_by(store, store.operand(1));
        for (l, s) in self.get(b, v).into_iter().enumerate() {
            let x = self.lane(b, v, l as u32);
            let at = place.plus(l as u64 * scalar_bytes(v.ty()));
            self.write_shadow(b, at, x, s);
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
        if self.runtime == ShadowRuntime::Device {
            self.needs_host("floating-point atomics");
            return self.get(b, i);
        }
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
            let n = after.zext_or_trunc(args[2], after.int_ty(64));
            self.forget_shadows(after, Place::plain(args[0]), n);
            return true;
        }
        if name.starts_with("llvm.memcpy") || name.starts_with("llvm.memmove") {
            let n = after.zext_or_trunc(args[2], after.int_ty(64));
            let (to, from) = (Place::plain(args[0]), Place::plain(args[1]));
            self.copy_shadows(after, to, from, n);
            return true;
        }
        false
    }
}
