//! Small modules, plans for them, and counting in their text.
use kerf_llvm::Module;
use kerf_pass::{KernelPlan, Plan, SiteFormat};

const DECLARATIONS: &str = r#"
declare double @__nv_exp(double)
declare float @__nv_expf(float)
declare double @__nv_pow(double, double)
declare double @__nv_fma(double, double, double)
declare double @__nv_fabs(double)
declare double @__nv_ldexp(double, i32)
declare double @__nv_dadd_rz(double, double)
declare i32 @__nv_double2hiint(double)
declare void @__nv_sincos(double, ptr, ptr)
declare double @llvm.fma.f64(double, double, double)
declare float @llvm.fma.f32(float, float, float)
declare double @llvm.sqrt.f64(double)
declare double @llvm.floor.f64(double)
declare double @llvm.copysign.f64(double, double)
declare double @llvm.minnum.f64(double, double)
declare <2 x double> @llvm.fma.v2f64(<2 x double>, <2 x double>, <2 x double>)
declare i32 @llvm.nvvm.shfl.sync.down.i32(i32, i32, i32, i32)
declare float @llvm.nvvm.shfl.sync.bfly.f32(i32, float, i32, i32)
declare double @llvm.nvvm.add.rn.d(double, double)
declare double @llvm.nvvm.mul.rz.d(double, double)
declare double @llvm.nvvm.rcp.approx.ftz.d(double)
"#;

/// A module with one kernel `k`.
pub fn module(params: &str, body: &str) -> Module {
    whole(&format!(
        "define ptx_kernel void @k({params}) {{\n{body}\n}}"
    ))
}

/// A module of the given functions.
pub fn whole(text: &str) -> Module {
    let text = format!("target triple = \"nvptx64-nvidia-cuda\"\n{text}\n{DECLARATIONS}");
    Module::parse(text.as_bytes(), "k.ll").expect("parses")
}

pub fn kernel(m: &Module) -> String {
    m.function("k").expect("the kernel is there").print()
}

/// A plan for kernel `k`.
pub fn plan(sites: &[(usize, SiteFormat)]) -> Plan {
    let mut plan = Plan::default();
    let k = KernelPlan {
        sites: sites.iter().copied().collect(),
        ..KernelPlan::default()
    };
    plan.kernels.insert("k".into(), k);
    plan
}

/// Applies formats to sites by number.
#[track_caller]
pub fn some(m: &Module, sites: &[(usize, SiteFormat)]) -> String {
    plan(sites).apply(m).expect("applies");
    kernel(m)
}

/// Applies a format to all sites that can have it.
#[track_caller]
pub fn all(m: &Module, f: SiteFormat) -> String {
    let plan = Plan::all_sites(m, f);
    assert!(!plan.is_identity());
    plan.apply(m).expect("applies");
    kernel(m)
}

/// Asserts how often pieces of text occur.
#[track_caller]
pub fn counts(text: &str, expected: &[(&str, usize)]) {
    for (what, n) in expected {
        assert_eq!(text.matches(what).count(), *n, "`{what}` in\n{text}");
    }
}
