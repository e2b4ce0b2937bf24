//! Which of its parameters a kernel may write through.
use kerf_llvm::{Opcode, Value, space};
use std::collections::BTreeSet;

/// Memory that a pointer of a kernel is in.
enum PointerRoot {
    /// Local, shared or constant memory, or a variable of the program.
    NoBuffer,
    /// What this parameter points to.
    Parameter(usize),
    /// Unknown.
    Unknown,
}

/// Numbers of the parameters through which a kernel may write; none where it writes through pointers of unknown origin, or
/// calls what may.
pub(crate) fn written_parameters(kernel: Value) -> Option<BTreeSet<usize>> {
    let mut written = BTreeSet::new();
    for i in kernel.instructions() {
        for pointer in written_through(i)? {
            match root(kernel, pointer) {
                PointerRoot::NoBuffer => {}
                PointerRoot::Parameter(p) => {
                    written.insert(p);
                }
                PointerRoot::Unknown => return None,
            }
        }
    }
    Some(written)
}

/// Pointers that an instruction may write through; none where that cannot be told.
fn written_through(i: Value) -> Option<Vec<Value>> {
    match i.opcode() {
        Some(Opcode::LLVMStore) => Some(vec![i.operand(1)]),
        Some(Opcode::LLVMAtomicRMW | Opcode::LLVMAtomicCmpXchg) => Some(vec![i.operand(0)]),
        Some(Opcode::LLVMCall) => written_by_call(i),
        Some(Opcode::LLVMInvoke | Opcode::LLVMCallBr | Opcode::LLVMVAArg) | None => None,
        Some(_) => Some(Vec::new()),
    }
}

/// Intrinsics and functions of libdevice write through their own arguments at most.
fn written_by_call(call: Value) -> Option<Vec<Value>> {
    let name = call.callee_name()?;
    let known = ["llvm.", "__nv_", "vprintf"];
    if !known.iter().any(|k| name.starts_with(k)) {
        return None;
    }
    let moves = ["llvm.memcpy", "llvm.memmove", "llvm.memset"];
    let mut pointers = call.args();
    if moves.iter().any(|m| name.starts_with(m)) {
        pointers.truncate(1);
    }
    pointers.retain(|a| a.ty().is_ptr());
    Some(pointers)
}

fn root(kernel: Value, pointer: Value) -> PointerRoot {
    let root = pointer.underlying();
    let own_space = |v: Value| {
        v.ty().is_ptr()
            && matches!(
                v.ty().space(),
                space::LOCAL | space::SHARED | space::CONSTANT
            )
    };
    let own = root.opcode() == Some(Opcode::LLVMAlloca)
        || root.is_byval_argument()
        || root.is_global_var();
    if own || own_space(root) || own_space(pointer) {
        return PointerRoot::NoBuffer;
    }
    let number = kernel.params().iter().position(|p| *p == root);
    number.map_or(PointerRoot::Unknown, PointerRoot::Parameter)
}

#[cfg(test)]
mod tests {
    use super::*;
    use kerf_llvm::Module;

    fn written(body: &str) -> Option<Vec<usize>> {
        let text = format!(
            "target triple = \"nvptx64-nvidia-cuda\"
             @shared = internal addrspace(3) global [32 x float] undef
             declare void @other(ptr)
             declare float @__nv_sinf(float)
             declare void @__nv_sincosf(float, ptr, ptr)
             declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
             define ptx_kernel void @k(ptr %a, ptr %b, ptr byval([2 x ptr]) %s, i32 %n) {{
               {body}
               ret void
             }}"
        );
        let m = Module::parse(text.as_bytes(), "k.ll").expect("parses");
        let kernel = m.function("k").expect("the kernel");
        written_parameters(kernel).map(|w| w.into_iter().collect())
    }

    #[test]
    fn stores_atomics_and_copies_are_found() {
        let store = "%x = load float, ptr %a
                     %y = call float @__nv_sinf(float %x)
                     %p = getelementptr float, ptr %b, i32 %n
                     store float %y, ptr %p";
        assert_eq!(written(store), Some(vec![1]));
        let atomic = "%x = atomicrmw add ptr %a, i32 %n monotonic";
        assert_eq!(written(atomic), Some(vec![0]));
        let copy = "call void @llvm.memcpy.p0.p0.i64(ptr %b, ptr %a, i64 8, i1 false)";
        assert_eq!(written(copy), Some(vec![1]));
        let by_library = "call void @__nv_sincosf(float 1.0, ptr %a, ptr %b)";
        assert_eq!(written(by_library), Some(vec![0, 1]));
    }

    #[test]
    fn memory_of_the_kernel_is_no_buffer() {
        let own = "%l = alloca float
                   store float 1.0, ptr %l
                   store float 1.0, ptr addrspace(3) @shared
                   store i32 %n, ptr %s
                   %x = load float, ptr %a";
        assert_eq!(written(own), Some(vec![]));
    }

    #[test]
    fn what_cannot_be_told_is_not() {
        // A pointer out of memory, one of two, another function.
        let loaded = "%p = load ptr, ptr %s
                      store i32 %n, ptr %p";
        assert_eq!(written(loaded), None);
        let chosen = "%c = icmp eq i32 %n, 0
                      %p = select i1 %c, ptr %a, ptr %b
                      store i32 %n, ptr %p";
        assert_eq!(written(chosen), None);
        assert_eq!(written("call void @other(ptr %a)"), None);
    }
}
