//! What a kernel needs of the executor: coroutines, order, stack.
use kerf_ir::kernels::reachable;
use kerf_llvm::{Builder, Module, Opcode, RmwOp, Value};

pub(super) fn is_collective(name: &str) -> bool {
    let Some(n) = name.strip_prefix("llvm.nvvm.") else {
        return false;
    };
    [
        "barrier",
        "bar.",
        "shfl.",
        "vote.",
        "match.",
        "activemask",
        "redux.",
        "elect.",
        "mma.",
        "wmma.",
    ]
    .iter()
    .any(|p| n.starts_with(p))
}

pub(super) fn needs_coroutines(kernel: Value) -> bool {
    reachable(kernel).iter().any(|f| {
        f.instructions()
            .iter()
            .any(|i| i.callee_name().is_some_and(|n| is_collective(&n)))
    })
}

/// Does an address come from shared memory, as far as casts and steps tell?
fn is_shared(address: Value) -> bool {
    let mut a = address;
    for _ in 0..32 {
        match a.ty().space() {
            0 => {}
            space => return space == 3,
        }
        let through = match a.opcode() {
            Some(o) => [
                Opcode::LLVMGetElementPtr,
                Opcode::LLVMAddrSpaceCast,
                Opcode::LLVMBitCast,
            ]
            .contains(&o),
            // A constant expression; anything else has no operands, or none that is a pointer.
            None => true,
        };
        match a.operands().first() {
            Some(o) if through && o.ty().is_ptr() => a = *o,
            _ => return false,
        }
    }
    false
}

/// Threads of a warp are brought together before each volatile access of shared memory. Programs of before Volta
/// count on warps in step there (the last steps of a reduction, without a barrier), and GPUs still run them as meant.
pub(super) fn keep_step(m: &Module) {
    for i in m.functions().into_iter().flat_map(|f| f.instructions()) {
        let address = match i.opcode() {
            Some(Opcode::LLVMLoad) => i.operand(0),
            Some(Opcode::LLVMStore) => i.operand(1),
            _ => continue,
        };
        if i.is_volatile() && is_shared(address) {
            Builder::before(i).intrinsic("llvm.nvvm.activemask", &[], &[]);
        }
    }
}

pub(super) fn order_matters(kernel: Value) -> bool {
    reachable(kernel)
        .iter()
        .flat_map(|f| f.instructions())
        .any(|i| match i.opcode() {
            Some(Opcode::LLVMAtomicRMW) => {
                // A ticket (the old value of a counter) tells who came first.
                let ticket = !i.users().is_empty();
                ticket || i.ty().element().is_float() || i.rmw_op() == RmwOp::LLVMAtomicRMWBinOpXchg
            }
            Some(Opcode::LLVMAtomicCmpXchg) => true,
            _ => i.callee_name().is_some_and(|n| {
                n.starts_with("llvm.nvvm.atomic")
                    || matches!(n.as_str(), "kerf_shadow_atomic" | "vprintf" | "printf")
            }),
        })
}

pub(super) fn stack_need(m: &Module, kernel: Value) -> usize {
    let fs = reachable(kernel);
    let recursive = fs.iter().any(|f| {
        reachable(*f)
            .iter()
            .skip(1)
            .any(|g| g.instructions().iter().any(|i| i.operands().contains(f)))
            || f.instructions().iter().any(|i| i.operands().contains(f))
    });
    let locals: u64 = fs
        .iter()
        .flat_map(|f| f.instructions())
        .filter(|i| i.opcode() == Some(Opcode::LLVMAlloca))
        .map(|i| m.size_of(i.allocated_type()) * i.operand(0).const_int().unwrap_or(1))
        .sum();
    let base = 48 * 1024 + 2 * locals as usize;
    if recursive { base + 1024 * 1024 } else { base }
}
