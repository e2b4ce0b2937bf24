//! Multiply-add fusion, decided once, in the IR.
//!
//! clang marks operations `contract` (CUDA's default) and leaves the choice to each backend, which
//! would make CPU and GPU differ in the last bit. Here `a*b + c` becomes `llvm.fma` where both
//! operations carry the flag and the product has no other use; `llvm.fmuladd` becomes `llvm.fma`.
use kerf_llvm::{Builder, Module, Opcode, Value};

/// Fuses all that may be fused; returns how many multiply-adds were formed.
pub fn fuse_multiply_adds(m: &Module) -> usize {
    let mut formed = 0;
    for f in m.functions().into_iter().filter(|f| !f.is_declaration()) {
        for block in f.blocks() {
            for i in block.instructions() {
                formed += usize::from(fuse(i));
            }
        }
    }
    formed
}

fn product(v: Value) -> Option<(Value, Value)> {
    let single = v.opcode() == Some(Opcode::LLVMFMul) && v.may_contract() && v.users().len() == 1;
    single.then(|| (v.operand(0), v.operand(1)))
}

fn fuse(i: Value) -> bool {
    if i.callee_name()
        .is_some_and(|n| n.starts_with("llvm.fmuladd."))
    {
        let b = Builder::before(i);
        let a = i.args();
        let r = b.intrinsic("llvm.fma", &[i.ty()], &[a[0], a[1], a[2]]);
        i.become_value(r);
        return true;
    }
    let op = i.opcode();
    let adds = op == Some(Opcode::LLVMFAdd);
    if !(adds || op == Some(Opcode::LLVMFSub)) || !i.may_contract() {
        return false;
    }
    let (x, y) = (i.operand(0), i.operand(1));
    let b = Builder::before(i);
    let (dead, r) = if let Some((p, q)) = product(x) {
        let c = if adds { y } else { b.fneg(y) };
        (x, b.intrinsic("llvm.fma", &[i.ty()], &[p, q, c]))
    } else if let Some((p, q)) = product(y) {
        let p = if adds { p } else { b.fneg(p) };
        (y, b.intrinsic("llvm.fma", &[i.ty()], &[p, q, x]))
    } else {
        return false;
    };
    i.become_value(r);
    dead.erase();
    true
}
