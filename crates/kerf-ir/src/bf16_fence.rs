//! Widened bf16 behind a fence, in modules that have f16 too.
//!
//! LLVM 22 computes `fptrunc (fop (fpext x), y)` in the narrow format where the digits allow that. It
//! compares only digits: of bf16, which has fewer than f16 but a larger range, it makes f16, and what was
//! large becomes infinite. Behind `llvm.arithmetic.fence` it does not see the widening. (A shift would
//! hide it as well, but LLVM's x86 backend then loses the sign that `copysign` takes from it.)
use kerf_llvm::{Builder, Module, Opcode, Value};
use kerf_num::Format;

const FENCE: &str = "llvm.arithmetic.fence";

fn has(v: Value, f: Format) -> bool {
    v.ty().element().format() == Some(f)
}

fn instructions(m: &Module) -> impl Iterator<Item = Value> {
    m.functions()
        .into_iter()
        .filter(|f| !f.is_declaration())
        .flat_map(|f| f.instructions())
}

/// Puts fences behind the widenings of a module in which bf16 and f16 meet.
pub(crate) fn raise(m: &Module) {
    let half = instructions(m)
        .any(|i| has(i, Format::F16) || i.operands().into_iter().any(|o| has(o, Format::F16)));
    if !half {
        return;
    }
    for i in instructions(m).collect::<Vec<_>>() {
        if i.opcode() != Some(Opcode::LLVMFPExt) || !has(i.operand(0), Format::Bf16) {
            continue;
        }
        let b = Builder::before(i);
        let wide = b.cast(Opcode::LLVMFPExt, i.operand(0), i.ty());
        i.become_value(b.intrinsic(FENCE, &[i.ty()], &[wide]));
    }
}

/// Takes the fences away, once nothing rewrites the module any more.
pub fn drop(m: &Module) {
    for i in instructions(m).collect::<Vec<_>>() {
        if i.callee_name().is_some_and(|n| n.starts_with(FENCE)) {
            i.become_value(i.operand(0));
        }
    }
}
