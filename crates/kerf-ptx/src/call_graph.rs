//! Which functions call which: all that do not call themselves are inlined, so that addresses are followed from the
//! parameters of a kernel to where they are used.
use kerf_llvm::{Module, Opcode, Value};
use std::collections::{HashMap, HashSet};

fn callees(f: Value) -> Vec<Value> {
    let calls = f.instructions().into_iter();
    let calls = calls.filter(|i| i.opcode() == Some(Opcode::LLVMCall));
    let mut out: Vec<Value> = calls
        .map(Value::callee)
        .filter(|c| c.is_function())
        .collect();
    out.dedup();
    out
}

/// Marks every function that is not recursive as one to be inlined, and lets none but kernels be seen from outside.
pub(super) fn inline_everywhere(m: &Module) {
    let own: Vec<Value> = m
        .functions()
        .into_iter()
        .filter(|f| !f.is_declaration() && f.call_conv() != kerf_llvm::CC_PTX_KERNEL)
        .collect();
    let edges: HashMap<Value, Vec<Value>> = own.iter().map(|f| (*f, callees(*f))).collect();
    for f in &own {
        f.set_linkage(kerf_llvm::Linkage::LLVMInternalLinkage);
        if !calls_itself(*f, &edges) {
            f.add_enum_attr("alwaysinline");
        }
    }
}

fn calls_itself(f: Value, edges: &HashMap<Value, Vec<Value>>) -> bool {
    let mut seen = HashSet::new();
    let mut queue = edges[&f].clone();
    while let Some(g) = queue.pop() {
        if g == f {
            return true;
        }
        if seen.insert(g) {
            queue.extend(edges.get(&g).into_iter().flatten());
        }
    }
    false
}
