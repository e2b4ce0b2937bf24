//! Numbers that instructions take and give.
use kerf_ir::sites::float_shape;
use kerf_llvm::{Builder, IntPred, Opcode, Value};

/// Does the operation add, so that leading bits may cancel?
pub(super) fn is_sum(op: &str) -> bool {
    let rounded = ["dadd_", "fadd_", "dsub_", "fsub_", "add.", "fma_", "fma."];
    matches!(op, "fadd" | "fsub" | "fma" | "fmuladd") || rounded.iter().any(|p| op.starts_with(p))
}

/// Values of a site: its result, or what it takes where the result is no number.
pub(super) fn values(i: Value) -> Vec<Value> {
    let numbers = |all: Vec<Value>| {
        let all = all.into_iter();
        all.filter(|v| float_shape(v.ty()).is_some()).collect()
    };
    match i.opcode() {
        Some(Opcode::LLVMAtomicRMW) => vec![i, i.operand(1)],
        _ if float_shape(i.ty()).is_some() => vec![i],
        Some(Opcode::LLVMCall) => numbers(i.args()),
        _ => numbers(i.operands()),
    }
}

/// The numbers that a call of a math function takes which can be made: one or two.
pub(super) fn arguments(i: Value) -> Vec<Value> {
    crate::math::library_call(i).map_or(Vec::new(), |c| c.arguments)
}

/// What an instruction takes.
pub(super) fn operands(i: Value) -> Vec<Value> {
    match i.opcode() {
        Some(Opcode::LLVMCall) => i.args(),
        _ => i.operands(),
    }
}

/// Numbers of a vector, or the one that it is.
pub(super) fn lanes(b: &Builder, v: Value) -> Vec<Value> {
    match v.ty().is_vector() {
        true => (0..v.ty().lanes()).map(|l| b.lane(v, l)).collect(),
        false => vec![v],
    }
}

/// The larger of two integers without sign.
pub(super) fn larger(b: &Builder, x: Value, y: Value) -> Value {
    b.select(b.icmp(IntPred::LLVMIntUGT, x, y), x, y)
}

/// Where a field of a record is.
pub(super) fn field_of(b: &Builder, record: Value, field: usize) -> Value {
    b.offset(record, b.i64(8 * field as u64))
}
