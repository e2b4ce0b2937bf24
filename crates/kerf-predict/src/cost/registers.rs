//! Registers of a kernel, estimated from the values that live at the same time.
use kerf_ir::sites::float_shape;
use kerf_llvm::{Block, Module, Opcode, Value};
use std::collections::{BTreeMap, BTreeSet};

/// Registers of every kernel beside its values: stack pointer, constants in flight, predicates. This and [`ORDERED_PERCENT`] were
/// chosen by hand to match ptxas's counts of the examples; they are not part of the fit to times.
const OVERHEAD_REGISTERS: u64 = 10;
/// Registers that remain of the peak of live values once the assembler has reordered operations, in percent.
const ORDERED_PERCENT: u64 = 85;

fn registers(m: &Module, v: Value) -> u64 {
    let t = v.ty();
    if t.is_void() {
        return 0;
    }
    // Values below 32 bits take a whole register; results of comparisons are predicates.
    match t.is_int() && t.int_bits() == 1 {
        true => 0,
        false => match float_shape(t) {
            Some((f, n)) => u64::from(n) * f.bytes().div_ceil(4) as u64,
            None => m.size_of(t).div_ceil(4),
        },
    }
}

/// Does a value need a register? Kernel parameters are read from constant memory.
fn needs_register(v: Value) -> bool {
    v.is_instruction() && v.opcode() != Some(Opcode::LLVMAlloca)
}

/// Registers of a kernel's largest function.
pub(super) fn estimate(m: &Module, functions: &[Value], limit: u32) -> u32 {
    let peak = functions.iter().map(|f| peak_of_function(m, *f)).max();
    (peak.unwrap_or(0) * ORDERED_PERCENT / 100 + OVERHEAD_REGISTERS).clamp(16, u64::from(limit))
        as u32
}

/// Registers for coefficients and intermediate results of an operation that becomes several instructions.
fn temporaries(i: Value) -> u64 {
    let double = |v: Value| float_shape(v.ty()).is_some_and(|(f, _)| f == kerf_num::Format::F64);
    match i.opcode() {
        Some(Opcode::LLVMFDiv | Opcode::LLVMFRem) => 4 + 4 * u64::from(double(i)),
        Some(Opcode::LLVMCall) => {
            let name = i.callee_name().unwrap_or_default();
            match name.strip_prefix("__nv_") {
                Some(n) if n.starts_with("fabs") || n.starts_with("fm") => 0,
                Some(n) if n.starts_with("rsqrt") || n.starts_with("sqrt") => 6,
                Some(_) if double(i) || i.args().iter().any(|a| double(*a)) => 26,
                Some(_) => 8,
                None => 0,
            }
        }
        _ => 0,
    }
}

fn peak_of_function(m: &Module, f: Value) -> u64 {
    let blocks = f.blocks();
    let mut live_in: BTreeMap<Block, BTreeSet<Value>> = BTreeMap::new();
    // Backward data flow to a fixed point; a phi uses its operands at the end of the predecessors.
    let mut changed = true;
    let mut peak = 0;
    while changed {
        changed = false;
        peak = 0;
        for b in blocks.iter().rev() {
            let mut live: BTreeSet<Value> = BTreeSet::new();
            for s in b.terminator().map(|t| t.successors()).unwrap_or_default() {
                live.extend(live_in.get(&s).into_iter().flatten());
                for phi in s.instructions() {
                    if phi.opcode() != Some(Opcode::LLVMPHI) {
                        break;
                    }
                    let from = phi.incoming().into_iter().filter(|p| p.1 == *b);
                    live.extend(from.map(|p| p.0).filter(|v| needs_register(*v)));
                }
            }
            let mut now: u64 = live.iter().map(|v| registers(m, *v)).sum();
            peak = peak.max(now);
            for i in b.instructions().into_iter().rev() {
                peak = peak.max(now + temporaries(i));
                if live.remove(&i) {
                    now -= registers(m, i);
                }
                if i.opcode() == Some(Opcode::LLVMPHI) {
                    continue;
                }
                for o in i.operands() {
                    if needs_register(o) && live.insert(o) {
                        now += registers(m, o);
                    }
                }
                peak = peak.max(now);
            }
            let old = live_in.insert(*b, live.clone());
            changed |= old.as_ref() != Some(&live);
        }
    }
    peak
}
