//! Where shadows lie, as device code finds them.
use kerf_llvm::Module;
use kerf_pass::shadow::{ShadowRuntime, instrument};

/// A local array and a variable of floats that may begin at any multiple of 4, beside doubles in memory.
const KERNEL: &str = r#"
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

@table = internal addrspace(1) global [8 x float] zeroinitializer, align 4

define ptx_kernel void @k(ptr addrspace(1) %d, ptr addrspace(1) %f, i64 %i) {
  %array = alloca [8 x float], align 4
  %x = load double, ptr addrspace(1) %d, align 8
  %y = fadd double %x, 1.0
  store double %y, ptr addrspace(1) %d, align 8
  %v = load float, ptr addrspace(1) %f, align 4
  %first = getelementptr float, ptr %array, i64 %i
  store float %v, ptr %first, align 4
  %entry = getelementptr float, ptr addrspace(1) @table, i64 %i
  store float %v, ptr addrspace(1) %entry, align 4
  %w = load float, ptr %first, align 4
  %t = load float, ptr addrspace(1) %entry, align 4
  %s = fadd float %w, %t
  store float %s, ptr addrspace(1) %f, align 4
  ret void
}
"#;

/// Device code looks for a wider float that begins before an address by the address alone: an object that began within a
/// word would have its first element's shadow looked for before its entries, in the program's own memory.
#[test]
fn objects_with_shadows_beside_them_begin_at_words() {
    let m = Module::parse(KERNEL.as_bytes(), "k").expect("IR");
    let map = instrument(&m, ShadowRuntime::Device).expect("instrumented");
    assert!(map.needs_host.is_empty(), "{:?}", map.needs_host);
    let text = m.print();
    let aligned = |what: &str| {
        let line = text.lines().find(|l| l.contains(what));
        let line = line.unwrap_or_else(|| panic!("no {what} in {text}"));
        assert!(line.contains("align 8"), "{line}");
    };
    aligned("%array = alloca [8 x float]");
    aligned("@table = ");
}
