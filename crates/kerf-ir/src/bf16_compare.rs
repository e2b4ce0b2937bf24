//! Comparisons of bf16 in programs that flush subnormals.
//!
//! LLVM 22 writes `setp.lt.ftz.bf16`, which PTX does not have: only f32 and f16 are flushed. A bf16 has the exponents of an
//! f32, so that comparing it as one flushes the same numbers.
use kerf_llvm::{Builder, Module, Opcode};
use kerf_num::Format;

/// Compares bf16 as f32. Nothing rewrites the module afterwards: LLVM would take the widening back.
pub(crate) fn widen(m: &Module) {
    let all = m.functions().into_iter().filter(|f| !f.is_declaration());
    for i in all.flat_map(|f| f.instructions()) {
        let t = i.operands().first().map(|o| o.ty());
        let Some(t) = t.filter(|t| t.element().format() == Some(Format::Bf16)) else {
            continue;
        };
        if i.opcode() != Some(Opcode::LLVMFCmp) {
            continue;
        }
        let b = Builder::before(i);
        let float = b.float_ty(Format::F32);
        let wide = match t.is_vector() {
            true => float.vector(t.lanes()),
            false => float,
        };
        for k in 0..2 {
            i.set_operand(k, b.cast(Opcode::LLVMFPExt, i.operand(k), wide));
        }
    }
}
