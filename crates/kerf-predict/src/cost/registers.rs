//! Registers of a kernel, estimated from the values that live at the same time.
use kerf_ir::sites::float_shape;
use kerf_llvm::{Block, Module, Opcode, Value};
use std::collections::{BTreeMap, BTreeSet};

/// Registers that every kernel has beside its values: stack, constants on the way, predicates.
const OTHERS: u64 = 10;

fn registers(m: &Module, v: Value) -> u64 {
    let t = v.ty();
    if t.is_void() {
        return 0;
    }
    // Numbers below 32 bits have a register each; what is compared is a predicate.
    match t.is_int() && t.int_bits() == 1 {
        true => 0,
        false => match float_shape(t) {
            Some((f, n)) => u64::from(n) * f.bytes().div_ceil(4) as u64,
            None => m.size_of(t).div_ceil(4),
        },
    }
}

/// Does a value need a register? Kernel parameters are read from constant memory.
fn holds(v: Value) -> bool {
    v.is_instruction() && v.opcode() != Some(Opcode::LLVMAlloca)
}

/// Registers of a kernel's largest function.
pub(super) fn estimate(m: &Module, functions: &[Value], limit: u32) -> u32 {
    let peak = functions.iter().map(|f| of_function(m, *f)).max();
    // The assembler orders operations so that fewer live at the same time.
    (peak.unwrap_or(0) * 17 / 20 + OTHERS).clamp(16, u64::from(limit)) as u32
}

/// Registers that an operation needs for itself: what it is made of has coefficients and intermediate
/// results.
fn inside(i: Value) -> u64 {
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

fn of_function(m: &Module, f: Value) -> u64 {
    let blocks = f.blocks();
    let mut live_in: BTreeMap<Block, BTreeSet<Value>> = BTreeMap::new();
    // Backwards until nothing changes; phis take their values at the end of the block before.
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
                    live.extend(from.map(|p| p.0).filter(|v| holds(*v)));
                }
            }
            let mut now: u64 = live.iter().map(|v| registers(m, *v)).sum();
            peak = peak.max(now);
            for i in b.instructions().into_iter().rev() {
                peak = peak.max(now + inside(i));
                if live.remove(&i) {
                    now -= registers(m, i);
                }
                if i.opcode() == Some(Opcode::LLVMPHI) {
                    continue;
                }
                for o in i.operands() {
                    if holds(o) && live.insert(o) {
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
