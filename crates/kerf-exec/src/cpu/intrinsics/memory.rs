//! Atomics with a scope, and the questions which memory an address lies in.
use crate::cpu::context::offset;
use crate::cpu::lead::{Lead, field};
use kerf_llvm::{Builder, IntPred, Opcode, RmwOp, Value};

pub(super) fn scoped_atomic(b: &Builder, i: Value, n: &str) -> Option<Value> {
    let op = n.strip_prefix("atomic.")?.split('.').next()?;
    let a = i.args();
    let float = i.ty().is_float();
    let rmw = match op {
        "add" if float => RmwOp::LLVMAtomicRMWBinOpFAdd,
        "add" => RmwOp::LLVMAtomicRMWBinOpAdd,
        "exch" => RmwOp::LLVMAtomicRMWBinOpXchg,
        "max" => RmwOp::LLVMAtomicRMWBinOpMax,
        "min" => RmwOp::LLVMAtomicRMWBinOpMin,
        "inc" => RmwOp::LLVMAtomicRMWBinOpUIncWrap,
        "dec" => RmwOp::LLVMAtomicRMWBinOpUDecWrap,
        "and" => RmwOp::LLVMAtomicRMWBinOpAnd,
        "or" => RmwOp::LLVMAtomicRMWBinOpOr,
        "xor" => RmwOp::LLVMAtomicRMWBinOpXor,
        "cas" => return Some(b.extract(b.cmpxchg(a[0], a[1], a[2]), 0)),
        _ => return None,
    };
    Some(b.atomic_rmw(rmw, a[0], a[1]))
}

pub(super) fn is_space(b: &Builder, lead: &Lead, p: Value, n: &str) -> Value {
    let i64t = b.int_ty(64);
    let base = field(b, lead.ctx, offset::SHARED, i64t);
    let bytes = field(b, lead.ctx, offset::SHARED_BYTES, i64t);
    let at = b.sub(b.cast(Opcode::LLVMPtrToInt, p, i64t), base);
    let shared = b.icmp(IntPred::LLVMIntULT, at, bytes);
    match n {
        "isspacep.shared" => shared,
        "isspacep.global" => b.xor(shared, b.int_ty(1).int(1)),
        _ => b.int_ty(1).zero(),
    }
}
