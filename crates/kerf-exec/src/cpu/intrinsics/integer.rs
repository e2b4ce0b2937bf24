//! Integer operations that the IR lacks, or defines for fewer operands than the GPU.
use kerf_llvm::{Builder, IntPred, Opcode, Value};

/// Division with the GPU's answers where LLVM has undefined behaviour.
pub(super) fn guard_division(b: &Builder, i: Value) -> Option<Value> {
    let (x, d) = (i.operand(0), i.operand(1));
    if d.is_constant() || i.ty().is_vector() {
        return None;
    }
    let ty = i.ty();
    let one = ty.int(1);
    let zero = b.icmp(IntPred::LLVMIntEQ, d, ty.zero());
    let op = i.opcode()?;
    let all = b.sub(ty.zero(), one);
    let mut bad = zero;
    if matches!(op, Opcode::LLVMSDiv | Opcode::LLVMSRem) {
        let min = ty.int(1u64 << (ty.int_bits().min(64) - 1));
        let minus = b.icmp(IntPred::LLVMIntEQ, d, all);
        let least = b.icmp(IntPred::LLVMIntEQ, x, min);
        bad = b.or(zero, b.and(minus, least));
    }
    let safe = b.select(bad, one, d);
    let r = b.bin(op, x, safe);
    // By zero: all ones. INT_MIN / -1: INT_MIN, which x / 1 gives; its remainder 0, which x % 1 gives.
    Some(b.select(zero, all, r))
}

/// Shifts by the width or more: all bits leave, as PTX has it. libdevice's `pow` depends on that.
pub(super) fn guard_shift(b: &Builder, i: Value) -> Option<Value> {
    let (x, by) = (i.operand(0), i.operand(1));
    let ty = i.ty();
    if by.is_constant() || ty.is_vector() {
        return None;
    }
    let last = ty.int(u64::from(ty.int_bits()) - 1);
    let long = b.icmp(IntPred::LLVMIntUGT, by, last);
    let op = i.opcode()?;
    let safe = b.bin(op, x, b.select(long, last, by));
    Some(match op {
        Opcode::LLVMAShr => safe,
        _ => b.select(long, ty.zero(), safe),
    })
}

/// `mulhi.i`, `mul24.i`, `sad.i` and `prmt`.
pub(super) fn lower(b: &Builder, i: Value, n: &str) -> Option<Value> {
    let a = i.args();
    let t = i.ty();
    let wide = |signed: bool| {
        let bits = t.int_bits();
        let w = b.int_ty(bits * 2);
        let ext = |v| {
            if signed {
                b.sext_or_trunc(v, w)
            } else {
                b.zext_or_trunc(v, w)
            }
        };
        let p = b.mul(ext(a[0]), ext(a[1]));
        b.zext_or_trunc(b.lshr(p, w.int(u64::from(bits))), t)
    };
    Some(match n {
        "mulhi.i" | "mulhi.ll" | "mulhi.s" => wide(true),
        "mulhi.ui" | "mulhi.ull" | "mulhi.us" => wide(false),
        "mul24.i" | "mul24.ui" => {
            let shift = b.i32(8);
            let op = if n == "mul24.i" {
                Opcode::LLVMAShr
            } else {
                Opcode::LLVMLShr
            };
            let cut = |v| b.bin(op, b.shl(v, shift), shift);
            b.mul(cut(a[0]), cut(a[1]))
        }
        "sad.i" | "sad.ui" => {
            let p = if n == "sad.i" {
                IntPred::LLVMIntSLT
            } else {
                IntPred::LLVMIntULT
            };
            let less = b.icmp(p, a[0], a[1]);
            let d = b.select(less, b.sub(a[1], a[0]), b.sub(a[0], a[1]));
            b.add(a[2], d)
        }
        "prmt" => {
            let w = b.int_ty(64);
            let lo = b.zext_or_trunc(a[0], w);
            let all = b.or(lo, b.shl(b.zext_or_trunc(a[1], w), b.i64(32)));
            let mut out = t.zero();
            for k in 0..4 {
                let sel = b.and(b.lshr(a[2], b.i32(4 * k)), b.i32(15));
                let pick = b.shl(b.and(sel, b.i32(7)), b.i32(3));
                let byte = b.and(
                    b.zext_or_trunc(b.lshr(all, b.zext_or_trunc(pick, w)), t),
                    b.i32(255),
                );
                let sign = b.and(b.sub(b.i32(0), b.lshr(byte, b.i32(7))), b.i32(255));
                let replicate = b.icmp(IntPred::LLVMIntNE, b.and(sel, b.i32(8)), b.i32(0));
                out = b.or(out, b.shl(b.select(replicate, sign, byte), b.i32(8 * k)));
            }
            out
        }
        _ => return None,
    })
}
