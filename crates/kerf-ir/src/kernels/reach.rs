//! What a kernel can reach: functions and global variables.
use kerf_llvm::{Module, Opcode, Value};

/// Functions that `f` calls, transitively, itself first.
pub fn reachable(f: Value) -> Vec<Value> {
    let mut out = vec![f];
    let mut next = 0;
    let mut any_pointer = false;
    while next < out.len() {
        for i in out[next].instructions() {
            for op in i.operands() {
                if op.is_function() && !op.is_declaration() && !out.contains(&op) {
                    out.push(op);
                }
            }
            let indirect = i.opcode() == Some(Opcode::LLVMCall)
                && !i.callee().is_function()
                && !i.callee().is_inline_asm();
            if indirect && !any_pointer {
                any_pointer = true;
                // The pointer may come from a table, a virtual table or memory.
                out.extend(
                    address_taken(f)
                        .into_iter()
                        .filter(|g| !out.contains(g))
                        .collect::<Vec<_>>(),
                );
            }
        }
        next += 1;
    }
    out
}

/// Removes the kernels that `keep` does not want, so that nobody compiles them. What only they called
/// goes when the module is finished.
pub fn retain(m: &Module, keep: impl Fn(Value) -> bool) {
    for k in m.kernel_functions() {
        // A kernel that others refer to (a launch from the device) has to stay.
        if !keep(k) && k.users().is_empty() {
            k.delete_function();
        }
    }
}

/// Functions of the module whose address something other than a call of them uses.
pub(crate) fn address_taken(of: Value) -> Vec<Value> {
    let calls = |u: Value, f: Value| {
        u.opcode() == Some(Opcode::LLVMCall) && u.callee() == f && !u.args().contains(&f)
    };
    of.module_functions()
        .into_iter()
        .filter(|f| !f.is_declaration() && f.users().into_iter().any(|u| !calls(u, *f)))
        .collect()
}

fn globals_in(v: Value, depth: u32, out: &mut Vec<Value>) {
    if v.is_global_var() {
        if !out.contains(&v) {
            out.push(v);
        }
    } else if v.const_opcode().is_some() && depth < 8 {
        for o in v.operands() {
            globals_in(o, depth + 1, out);
        }
    }
}

/// Global variables that a kernel uses, directly or through calls.
pub fn used_globals(kernel: Value) -> Vec<Value> {
    let mut out = Vec::new();
    for f in reachable(kernel) {
        for i in f.instructions() {
            for op in i.operands() {
                globals_in(op, 0, &mut out);
            }
        }
    }
    out
}
