//! What stands against coarsening a kernel, by name and line.
use super::choice::Coarsening;
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

pub(super) fn line(i: Value) -> String {
    let place = kerf_ir::sites::location(i, "");
    place.map_or_else(String::new, |l| format!(" at line {}", l.line))
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

fn call_obstacle(i: Value) -> Option<String> {
    let callee = i.callee();
    if callee.is_inline_asm() {
        return Some(format!("inline PTX{} stayed as it is written", line(i)));
    }
    if !callee.is_function() {
        return Some(format!("a function is called through a pointer{}", line(i)));
    }
    let name = callee.name();
    if let Some(r) = read(i).filter(|r| warp_register(r)) {
        return Some(format!("%{r}, which is read{}, is a warp's", line(i)));
    }
    if !callee.is_declaration() || is_barrier(i) {
        return None;
    }
    if !name.starts_with("llvm.") {
        return (!harmless_function(&name)).then(|| match name.as_str() {
            "vprintf" | "printf" => format!("it prints{}, in the order of its threads", line(i)),
            _ => format!("{name} is called{}", line(i)),
        });
    }
    let short = name.strip_prefix("llvm.nvvm.").unwrap_or(&name);
    if callee.has_enum_attr("convergent") {
        return Some(format!("{short}{} is an operation of a warp", line(i)));
    }
    let order = ["atomic.", "mbarrier", "cp.async", "tcgen05", "wgmma"];
    order
        .iter()
        .any(|o| short.starts_with(o))
        .then(|| format!("{short}{} is ordered among threads", line(i)))
}

fn rmw_obstacle(i: Value) -> Option<String> {
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
        return Some(format!(
            "the result of the atomic operation{} depends on the order of threads",
            line(i)
        ));
    }
    (!i.users().is_empty()).then(|| {
        format!(
            "what the atomic operation{} finds, which is used, depends on the order of threads",
            line(i)
        )
    })
}

fn instruction_obstacle(i: Value) -> Option<String> {
    use Opcode::*;
    match i.opcode()? {
        LLVMCall => call_obstacle(i),
        LLVMAtomicRMW => rmw_obstacle(i),
        LLVMAtomicCmpXchg => Some(format!(
            "the result of the atomic operation{} depends on the order of threads",
            line(i)
        )),
        LLVMLoad | LLVMStore if i.is_volatile() => {
            Some(format!("an access{} is volatile", line(i)))
        }
        LLVMLoad | LLVMStore if i.ordering() != Ordering::LLVMAtomicOrderingNotAtomic => {
            Some(format!("an access{} is atomic", line(i)))
        }
        LLVMStore if i.operand(1).underlying().is_byval_argument() => Some(format!(
            "a parameter that was passed by value is written{}",
            line(i)
        )),
        LLVMIndirectBr | LLVMCallBr | LLVMInvoke => Some(format!(
            "control{} goes on in a way that is not known",
            line(i)
        )),
        _ => None,
    }
}

/// Why a kernel cannot be coarsened so, as far as its instructions tell; none if it can. Whether a barrier is reached by
/// all threads together is found out when it is done.
pub fn obstacle(m: &Module, kernel: Value, c: &Coarsening) -> Option<String> {
    if let Some(why) = c.malformed() {
        return Some(why);
    }
    if !kernel.users().is_empty() {
        return Some("something refers to it, which would not know of its new block".into());
    }
    if let Some(why) = block_bounds(m, kernel)
        .required
        .and_then(|b| c.launch(b).err())
    {
        return Some(why);
    }
    let axis = c.axis.name();
    let indices = |r: &str| r.ends_with(axis) && (r.starts_with("tid") || r.starts_with("ntid"));
    if let Some(f) = read_elsewhere(kernel, indices) {
        return Some(format!("{f} was not inlined and reads the thread's index"));
    }
    let entry = kernel.blocks()[0];
    for (n, f) in reachable(kernel).into_iter().enumerate() {
        for i in f.instructions() {
            let variable = i.opcode() == Some(Opcode::LLVMAlloca)
                && (i.block() != entry || !i.operand(0).is_constant());
            if n == 0 && variable {
                return Some("it has an array whose length is not known".into());
            }
            let elsewhere = (n > 0 && is_barrier(i)).then(|| {
                let name = kerf_llvm::demangle(&f.name());
                format!("{name} was not inlined and has a barrier{}", line(i))
            });
            if let Some(why) = instruction_obstacle(i).or(elsewhere) {
                return Some(why);
            }
        }
    }
    None
}
