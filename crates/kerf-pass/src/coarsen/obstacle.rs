//! What stands against coarsening a kernel, by name and line.
use super::choice::Coarsening;
use super::error::CoarsenObstacle;
use crate::at_line::AtLine;
use crate::registers::{read, read_elsewhere};
use kerf_ir::kernels::{block_bounds, reachable};
use kerf_llvm::{Module, Opcode, Ordering, RmwOp, Value};

/// A barrier of the whole block that every thread passes.
pub(super) fn is_barrier(i: Value) -> bool {
    let Some(name) = i.callee_name() else {
        return false;
    };
    matches!(
        name.as_str(),
        "llvm.nvvm.barrier0"
            | "llvm.nvvm.barrier.cta.sync.all"
            | "llvm.nvvm.barrier.cta.sync.aligned.all"
    ) && i.args().first().is_none_or(|a| a.const_int().is_some())
}

/// Registers whose value depends on how threads are put into warps, or on when they are read.
fn warp_register(name: &str) -> bool {
    ["laneid", "lanemask", "warpid", "nwarpid", "clock", "pm"]
        .iter()
        .any(|r| name.starts_with(r))
}

/// Functions outside the module that each copy may call in its own turn.
fn harmless_function(name: &str) -> bool {
    name.starts_with("__nv_")
        || name == "__nvvm_reflect"
        || ["malloc", "free", "__assertfail", "__assert_fail"].contains(&name)
}

fn call_obstacle(i: Value) -> Option<CoarsenObstacle> {
    let callee = i.callee();
    if callee.is_inline_asm() {
        return Some(CoarsenObstacle::InlinePtx(AtLine::new(i)));
    }
    if !callee.is_function() {
        return Some(CoarsenObstacle::IndirectCall(AtLine::new(i)));
    }
    let name = callee.name();
    let at = AtLine::new(i);
    if let Some(register) = read(i).filter(|r| warp_register(r)) {
        return Some(CoarsenObstacle::WarpRegister { register, at });
    }
    if !callee.is_declaration() || is_barrier(i) {
        return None;
    }
    if !name.starts_with("llvm.") {
        return match name.as_str() {
            n if harmless_function(n) => None,
            "vprintf" | "printf" => Some(CoarsenObstacle::Prints(at)),
            _ => Some(CoarsenObstacle::Calls { function: name, at }),
        };
    }
    let operation = name.strip_prefix("llvm.nvvm.").unwrap_or(&name).to_owned();
    let of_matrices = ["mma.", "wmma.", "ldmatrix.", "stmatrix."];
    let joint = of_matrices.iter().any(|o| operation.starts_with(o));
    if joint || callee.has_enum_attr("convergent") {
        return Some(CoarsenObstacle::WarpOperation { operation, at });
    }
    let order = ["atomic.", "mbarrier", "cp.async", "tcgen05", "wgmma"];
    order
        .iter()
        .any(|o| operation.starts_with(o))
        .then_some(CoarsenObstacle::Ordered { operation, at })
}

fn rmw_obstacle(i: Value) -> Option<CoarsenObstacle> {
    use RmwOp::*;
    let sums = matches!(
        i.rmw_op(),
        LLVMAtomicRMWBinOpAdd
            | LLVMAtomicRMWBinOpSub
            | LLVMAtomicRMWBinOpAnd
            | LLVMAtomicRMWBinOpOr
            | LLVMAtomicRMWBinOpXor
            | LLVMAtomicRMWBinOpMax
            | LLVMAtomicRMWBinOpMin
            | LLVMAtomicRMWBinOpUMax
            | LLVMAtomicRMWBinOpUMin
    );
    if !sums {
        return Some(CoarsenObstacle::AtomicOrder(AtLine::new(i)));
    }
    (!i.users().is_empty()).then(|| CoarsenObstacle::AtomicUsed(AtLine::new(i)))
}

fn instruction_obstacle(i: Value) -> Option<CoarsenObstacle> {
    use Opcode::*;
    let at = || AtLine::new(i);
    match i.opcode()? {
        LLVMCall => call_obstacle(i),
        LLVMAtomicRMW => rmw_obstacle(i),
        LLVMAtomicCmpXchg => Some(CoarsenObstacle::AtomicOrder(at())),
        LLVMLoad | LLVMStore if i.is_volatile() => Some(CoarsenObstacle::Volatile(at())),
        LLVMLoad | LLVMStore if i.ordering() != Ordering::LLVMAtomicOrderingNotAtomic => {
            Some(CoarsenObstacle::AtomicAccess(at()))
        }
        LLVMStore if i.operand(1).underlying().is_byval_argument() => {
            Some(CoarsenObstacle::ParameterWritten(at()))
        }
        LLVMIndirectBr | LLVMCallBr | LLVMInvoke => Some(CoarsenObstacle::UnknownControl(at())),
        _ => None,
    }
}

/// Why a kernel cannot be coarsened so, as far as its instructions tell; none if it can. Whether a barrier is reached by
/// all threads together is found out when it is done.
pub fn obstacle(m: &Module, kernel: Value, c: &Coarsening) -> Option<CoarsenObstacle> {
    if let Some(why) = c.malformed() {
        return Some(why);
    }
    if !kernel.users().is_empty() {
        return Some(CoarsenObstacle::Referenced);
    }
    if let Some(why) = block_bounds(m, kernel)
        .required
        .and_then(|b| c.launch(b).err())
    {
        return Some(why);
    }
    let axis = c.axis.name();
    let indices = |r: &str| r.ends_with(axis) && (r.starts_with("tid") || r.starts_with("ntid"));
    if let Some(function) = read_elsewhere(kernel, indices) {
        return Some(CoarsenObstacle::IndexInFunction { function });
    }
    let entry = kernel.blocks()[0];
    for (n, f) in reachable(kernel).into_iter().enumerate() {
        for i in f.instructions() {
            let variable = i.opcode() == Some(Opcode::LLVMAlloca)
                && (i.block() != entry || !i.operand(0).is_constant());
            if n == 0 && variable {
                return Some(CoarsenObstacle::VariableArray);
            }
            let elsewhere = (n > 0 && is_barrier(i)).then(|| CoarsenObstacle::BarrierInFunction {
                function: kerf_llvm::demangle(&f.name()),
                at: AtLine::new(i),
            });
            if let Some(why) = instruction_obstacle(i).or(elsewhere) {
                return Some(why);
            }
        }
    }
    None
}
