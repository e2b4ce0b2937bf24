//! Each NVPTX operation as ordinary IR, or as a call into the runtime.
//!
//! IEEE operations become the IR operation. Operations that the PTX manual defines where LLVM has
//! undefined behaviour (conversion out of range, integer division by zero, long shifts) get the GPU's
//! answer, as read off an H200. Directed roundings, half-precision fma and warp operations are runtime calls.
//! This file says which family an operation belongs to; each family has a file.
mod calls;
mod collective;
mod convert;
mod directed;
mod external;
mod float;
mod integer;
mod memory;
mod registers;
mod tensor_core;

use super::lead::Lead;
use kerf_ir::kernels::reachable;
use kerf_llvm::{Builder, LlvmError, Module, Opcode, Ordering, Value};

/// Operations of a kernel that the CPU models instead of reproducing: the special-function unit in f16 and
/// bf16.
pub fn modelled(kernel: Value) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for f in reachable(kernel) {
        for i in f.instructions() {
            let Some(n) = i.callee_name() else { continue };
            let op = n.trim_start_matches("llvm.nvvm.");
            let op = &op
                .strip_suffix(".f")
                .map_or_else(|| op.to_owned(), |o| format!("{o}.f32"));
            let unit = n.contains(".approx") || n.starts_with("llvm.tanh");
            let hit = unit && n.contains("f16");
            if hit && !out.contains(op) {
                out.push(op.clone());
            }
        }
    }
    out.sort();
    out
}

fn nvvm(m: &Module, b: &Builder, lead: &Lead, i: Value, n: &str) -> Option<Value> {
    if let Some(s) = n.strip_prefix("read.ptx.sreg.") {
        return registers::special_register(b, lead, s, i.ty());
    }
    if n.starts_with("membar") || n.starts_with("fence") {
        return Some(b.fence());
    }
    if n.starts_with("isspacep.") {
        return Some(memory::is_space(b, lead, i.args()[0], n));
    }
    if n.starts_with("ptr.") || n.starts_with("mapa") {
        let a = *i.args().first()?;
        return Some(if a.ty() == i.ty() {
            a
        } else {
            b.cast(Opcode::LLVMAddrSpaceCast, a, i.ty())
        });
    }
    if n == "nanosleep" || n.starts_with("prefetch") || n == "exit" {
        return (n != "exit").then(|| b.i32(0));
    }
    if n.starts_with("atomic.") {
        return memory::scoped_atomic(b, i, n);
    }
    tensor_core::lower(m, b, lead, i)
        .or_else(|| convert::halves(b, i, n))
        .or_else(|| collective::lower(m, b, lead, i, n))
        .or_else(|| float::arithmetic(m, b, i, n))
        .or_else(|| convert::conversion(m, b, i, n))
        .or_else(|| integer::lower(b, i, n))
        .or_else(|| float::simple_float(b, i, n))
}

/// Other blocks of a cooperative grid get their turn before a load that may be waiting for them: one that
/// is volatile or atomic.
pub(super) fn yield_before(m: &Module, lead: &Lead, i: Value) {
    let polls = i.opcode() == Some(Opcode::LLVMLoad)
        && (i.is_volatile() || i.ordering() != Ordering::LLVMAtomicOrderingNotAtomic);
    if polls {
        let b = Builder::before(i);
        calls::runtime(m, "kerf_spin", m.void_ty(), &lead.all(), &b);
    }
}

/// Lowers one instruction in place.
pub(super) fn lower(m: &Module, lead: &Lead, i: Value) -> Result<(), LlvmError> {
    let b = Builder::before(i);
    let new = match i.opcode() {
        Some(Opcode::LLVMFPToSI) => Some(convert::to_int(&b, i.operand(0), i.ty(), true)),
        Some(Opcode::LLVMFPToUI) => Some(convert::to_int(&b, i.operand(0), i.ty(), false)),
        Some(Opcode::LLVMSDiv | Opcode::LLVMUDiv | Opcode::LLVMSRem | Opcode::LLVMURem) => {
            integer::guard_division(&b, i)
        }
        Some(Opcode::LLVMShl | Opcode::LLVMLShr | Opcode::LLVMAShr) => integer::guard_shift(&b, i),
        Some(Opcode::LLVMSIToFP) => convert::to_bf16(&b, i, true),
        Some(Opcode::LLVMUIToFP) => convert::to_bf16(&b, i, false),
        Some(Opcode::LLVMCall) => {
            let Some(n) = i.callee_name() else {
                if i.callee().is_inline_asm() {
                    return Err(LlvmError(format!(
                        "inline PTX `{}` has no CPU form",
                        i.callee().asm_text().0.trim()
                    )));
                }
                return Ok(());
            };
            if let Some(rest) = n.strip_prefix("llvm.nvvm.") {
                match nvvm(m, &b, lead, i, rest) {
                    Some(v) => Some(v),
                    None => return Err(LlvmError(format!("{n} has no CPU form"))),
                }
            } else {
                external::lower(m, &b, lead, i, &n).or_else(|| float::generic(&b, i, &n))
            }
        }
        _ => None,
    };
    if let Some(v) = new {
        if i.ty().is_void() || i.users().is_empty() {
            i.erase();
        } else {
            i.become_value(v);
        }
    }
    Ok(())
}
