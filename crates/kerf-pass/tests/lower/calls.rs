//! Math functions, intrinsics and functions that were not inlined.
use super::harness::{all, counts, module, whole};
use kerf_pass::{KernelPlan, Plan, SiteFormat::*};

#[test]
fn math_functions_in_f32() {
    let body = "
  %x = load double, ptr %a
  %e = call double @__nv_exp(double %x)
  %p = call double @__nv_pow(double %e, double 2.5)
  %l = call double @__nv_ldexp(double %p, i32 3)
  %z = call double @__nv_dadd_rz(double %l, double %x)
  %r = call double @llvm.sqrt.f64(double %z)
  %f = call double @llvm.floor.f64(double %r)
  %g = call double @llvm.fma.f64(double %f, double %x, double %r)
  %h = call double @llvm.nvvm.add.rn.d(double %g, double %x)
  %i = call double @llvm.nvvm.mul.rz.d(double %h, double %x)
  store double %i, ptr %a
  ret void";
    let m = module("ptr %a", body);
    let k = all(&m, F32);
    counts(
        &k,
        &[
            ("@__nv_expf(float", 1),
            ("@__nv_powf(float %", 1),
            ("@__nv_ldexpf(float %", 1),
            ("@__nv_fadd_rz(float %", 1),
            ("@llvm.sqrt.f32", 1),
            ("@llvm.floor.f32", 1),
            ("@llvm.fma.f32", 1),
            ("fadd float", 1),
            ("@llvm.nvvm.mul.rz.f(", 1),
            ("fptrunc", 1),
            ("fpext", 1),
        ],
    );
}

#[test]
fn small_formats_compute_functions_in_f32() {
    let body = "
  %x = load double, ptr %a
  %e = call double @__nv_exp(double %x)
  %f = call double @__nv_fma(double %e, double %x, double %e)
  %g = call double @__nv_fabs(double %f)
  %p = call double @__nv_pow(double %g, double %x)
  store double %p, ptr %a
  ret void";
    let m = module("ptr %a", body);
    let k = all(&m, F16);
    counts(
        &k,
        &[
            // x is widened once for both functions; fma and the absolute value are f16's own.
            ("fptrunc double %x to half", 1),
            ("@__nv_expf(float", 1),
            ("@__nv_powf(float", 1),
            ("fpext half", 3),
            ("fptrunc float", 2),
            ("@llvm.fma.f16", 1),
            ("@llvm.fabs.f16", 1),
        ],
    );
}

#[test]
fn results_that_go_to_memory() {
    let body = "
  %s = alloca double
  %c = alloca double
  %x = load double, ptr %a
  call void @__nv_sincos(double %x, ptr %s, ptr %c)
  %v = load double, ptr %s
  %w = load double, ptr %c
  %r = fadd double %v, %w
  store double %r, ptr %a
  ret void";
    let m = module("ptr %a", body);
    let k = all(&m, F32);
    counts(
        &k,
        &[
            ("alloca float", 2),
            ("@__nv_sincosf(float", 1),
            ("store double %", 3),
            ("fadd float", 1),
        ],
    );
}

const SHARED: &str = "
define internal double @g(double %x) noinline {
  %y = fmul double %x, %x
  ret double %y
}
define ptx_kernel void @k(ptr %a) {
  %x = load double, ptr %a
  %y = call double @g(double %x)
  store double %y, ptr %a
  ret void
}
define ptx_kernel void @l(ptr %a) {
  %x = load double, ptr %a
  %y = call double @g(double %x)
  store double %y, ptr %a
  ret void
}";

fn product(k: &str) -> Plan {
    // Sites: load, call and store of the kernel, then the product of the function.
    let mut plan = Plan::default();
    let sites = [(3, F32)].into_iter().collect();
    plan.kernels.insert(
        k.into(),
        KernelPlan {
            sites,
            ..KernelPlan::default()
        },
    );
    plan
}

#[test]
fn a_function_of_two_kernels_is_specialised() {
    let m = whole(SHARED);
    product("k").apply(&m).expect("applies");
    let text = m.print();
    counts(&text, &[("fmul float", 1), ("fmul double", 1)]);
    let f = |name: &str| m.function(name).expect("is there").print();
    let callee = |text: &str| {
        let at = text.find("call double @").expect("a call") + 13;
        text[at..at + text[at..].find('(').expect("arguments")].to_owned()
    };
    assert_eq!(callee(&f("l")), "g");
    assert!(f(&callee(&f("k"))).contains("fmul float"));

    // Both want the same: one function.
    let m = whole(SHARED);
    let mut both = product("k");
    both.kernels.extend(product("l").kernels);
    both.apply(&m).expect("applies");
    counts(&m.print(), &[("fmul float", 1), ("fmul double", 0)]);

    // Each its own.
    let m = whole(SHARED);
    let mut plan = product("k");
    let mut other = product("l");
    let l = other.kernels.get_mut("l").expect("l");
    l.sites = [(3, F16)].into_iter().collect();
    plan.kernels.extend(other.kernels);
    plan.apply(&m).expect("applies");
    counts(
        &m.print(),
        &[("fmul float", 1), ("fmul half", 1), ("fmul double", 0)],
    );
}

#[test]
fn a_call_keeps_the_formats_that_its_function_declares() {
    let m = whole(SHARED);
    let k = all(&m, F32);
    counts(
        &k,
        &[
            ("call double @", 1),
            // What was loaded, for the call; what came back, for the store.
            ("fptrunc double %x to float", 1),
            ("fptrunc double %y to float", 1),
            ("fpext float", 2),
        ],
    );
}
