//! Structs that are copied as a whole.
use super::{counts, held, refused, whole};
use kerf_llvm::Module;
use kerf_pass::SiteFormat::{F16, F32};

/// Pairs of f32 that are copied as i64, which is what becomes of a small struct.
fn pairs() -> Module {
    whole(
        "@a = internal addrspace(3) global [64 x { float, float }] undef
@b = internal addrspace(3) global [64 x { float, float }] undef
define ptx_kernel void @k(i64 %i) {
  %p = getelementptr { float, float }, ptr addrspace(3) @a, i64 %i
  %v = load i64, ptr addrspace(3) %p, align 8
  %q = getelementptr { float, float }, ptr addrspace(3) @b, i64 %i
  store i64 %v, ptr addrspace(3) %q, align 8
  %f = load float, ptr addrspace(3) @a
  %g = fadd float %f, 1.0
  store float %g, ptr addrspace(3) @b
  ret void
}",
    )
}

#[test]
fn small_structs_are_copied_as_numbers() {
    // One end alone: its numbers are widened or rounded on the way.
    let k = held(&pairs(), &[("a", F16)]);
    counts(
        &k,
        &[
            ("load <2 x half>", 1),
            ("fpext <2 x half>", 1),
            ("store <2 x float>", 1),
            ("load i64", 0),
        ],
    );
    let k = held(&pairs(), &[("b", F16)]);
    counts(
        &k,
        &[
            ("load <2 x float>", 1),
            ("fptrunc <2 x float>", 1),
            ("store <2 x half>", 1),
        ],
    );
    // Both: nothing is converted.
    let k = held(&pairs(), &[("a", F16), ("b", F16)]);
    counts(
        &k,
        &[
            ("load <2 x half>", 1),
            ("store <2 x half>", 1),
            ("fpext <2 x half>", 0),
            ("fptrunc <2 x float>", 0),
        ],
    );
    // What a parameter points to may be integers, unless the source says otherwise.
    refused(
        "%v = load double, ptr %x
         %p = getelementptr double, ptr %x, i64 %i
         %a = load i64, ptr %p
         store i64 %a, ptr %y
         store double %v, ptr %y
         ret void",
        &["nothing says"],
    );
}

/// Structs of three f64 that are copied from an array of which nothing else is done.
fn structs() -> Module {
    whole(
        "@a = internal addrspace(3) global [64 x { double, double, double }] undef
@b = internal addrspace(3) global [64 x { double, double, double }] undef
define ptx_kernel void @k(i64 %i, ptr %y) {
  %p = getelementptr { double, double, double }, ptr addrspace(3) @a, i64 %i
  %q = getelementptr { double, double, double }, ptr addrspace(3) @b, i64 %i
  call void @llvm.memcpy.p3.p3.i64(ptr addrspace(3) align 8 %q, ptr addrspace(3) align 8 %p, i64 24, i1 false)
  %f = load double, ptr addrspace(3) @b
  store double %f, ptr %y
  ret void
}
declare void @llvm.memcpy.p3.p3.i64(ptr addrspace(3), ptr addrspace(3), i64, i1)",
    )
}

#[test]
fn structs_are_copied_number_by_number_where_an_end_is_narrower() {
    let k = held(&structs(), &[("b", F32)]);
    counts(
        &k,
        &[
            ("load double", 3),
            ("fptrunc double", 3),
            ("store float", 3),
            ("llvm.memcpy", 0),
        ],
    );
    // Its type says what an array holds that is only copied.
    let k = held(&structs(), &[("a", F32), ("b", F32)]);
    counts(
        &k,
        &[
            ("load float", 4),
            ("store float", 3),
            ("fptrunc double", 0),
            ("llvm.memcpy", 0),
        ],
    );
    // Nothing narrower: the copy stays one.
    counts(&held(&structs(), &[]), &[("llvm.memcpy", 1)]);
}
