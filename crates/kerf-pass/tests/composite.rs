//! The composite pass on small modules: what it builds, where it converts, and what it refuses.
use kerf_ir::sites;
use kerf_llvm::Module;
use kerf_pass::{Plan, PlanError, SiteFormat};

/// A module with one kernel `k`; `%i` is the thread.
fn module(params: &str, body: &str) -> Module {
    let text = format!(
        r#"
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k({params}) {{
{body}
}}
declare double @__nv_exp(double)
declare double @__nv_erfc(double)
declare double @__nv_fmod(double, double)
declare double @llvm.fma.f64(double, double, double)
declare double @llvm.fabs.f64(double)
declare double @llvm.minnum.f64(double, double)
declare float @__nv_sqrtf(float)
"#
    );
    Module::parse(text.as_bytes(), "k.ll").expect("parses")
}

fn kernel(m: &Module) -> String {
    m.function("k").expect("the kernel is there").print()
}

fn count(text: &str, what: &str) -> usize {
    text.matches(what).count()
}

/// Applies a format to all sites that can have it.
#[track_caller]
fn all(m: &Module, f: SiteFormat) -> String {
    let plan = Plan::all_sites(m, f);
    assert!(!plan.is_identity());
    plan.apply(m).expect("applies");
    kernel(m)
}

const SUM: &str = r#"
entry:
  br label %loop
loop:
  %j = phi i64 [ 0, %entry ], [ %next, %loop ]
  %s = phi double [ 0.0, %entry ], [ %t, %loop ]
  %p = getelementptr double, ptr %x, i64 %j
  %v = load double, ptr %p
  %t = fadd double %s, %v
  %next = add i64 %j, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  store double %t, ptr %out
  ret void
"#;

#[test]
fn a_loop_carries_the_pair() {
    let m = module("ptr %x, ptr %out, i64 %n", SUM);
    let k = all(&m, SiteFormat::Dw64);
    assert_eq!(
        count(&k, "phi <2 x double> [ zeroinitializer, %entry ]"),
        1,
        "{k}"
    );
    // The load is a word, and added as one; the sum is rounded where it leaves.
    assert_eq!(
        count(
            &k,
            "call <2 x double> @kerf_dw64_add_fp(<2 x double> %0, double %v)"
        ),
        1,
        "{k}"
    );
    assert_eq!(count(&k, "insertelement"), 0, "{k}");
    assert_eq!(count(&k, "extractelement"), 1, "{k}");
    assert_eq!(count(&k, "fadd double"), 0, "{k}");
    let add = m.function("kerf_dw64_add_fp").expect("linked");
    assert!(!add.is_declaration());
    // Nothing of the library stays that is not called, nor what it would need of libdevice.
    assert!(m.function("kerf_dw64_mul").is_none());
    assert!(
        m.function("__nv_exp").is_none()
            || m.function("__nv_exp").is_some_and(|f| f.users().is_empty())
    );
}

#[test]
fn float_pairs_stand_in_for_f64() {
    let m = module("ptr %x, ptr %out, i64 %n", SUM);
    let k = all(&m, SiteFormat::Dw32);
    assert_eq!(count(&k, "phi <2 x float>"), 1, "{k}");
    assert_eq!(
        count(&k, "call <2 x float> @kerf_dw32_from_f64(double %v)"),
        1,
        "{k}"
    );
    assert_eq!(count(&k, "call double @kerf_dw32_to_f64("), 1, "{k}");
}

/// Three users of one value, two of another.
const SHARED: &str = r#"
  %x = load double, ptr %a
  %y = load double, ptr %b
  %p = fmul double %x, %x
  %q = fadd double %x, %y
  %r = fma double %p, %q
  ret void
"#;

#[test]
fn a_value_is_converted_once_for_each_format() {
    let body = SHARED.replace(
        "%r = fma double %p, %q",
        "%r = call double @llvm.fma.f64(double %p, double %q, double %x)\n  store double %r, ptr %b\n  store double %r, ptr %a",
    );
    let m = module("ptr %a, ptr %b", &body);
    let k = all(&m, SiteFormat::Dw32);
    assert_eq!(count(&k, "@kerf_dw32_from_f64("), 2, "{k}");
    assert_eq!(count(&k, "@kerf_dw32_to_f64("), 1, "{k}");

    // Sites in three formats: x is needed in two of them, p goes from one pair to the other.
    let m = module("ptr %a, ptr %b", &body);
    let plan =
        Plan::parse(r#"{"version":1,"kernels":{"k":{"sites":{"2":"dw32","3":"f64","4":"dw64"}}}}"#)
            .expect("parses");
    plan.apply(&m).expect("applies");
    let k = kernel(&m);
    assert_eq!(count(&k, "@kerf_dw32_from_f64("), 1, "{k}");
    assert_eq!(count(&k, "@kerf_dw64_from_dw32("), 1, "{k}");
    assert_eq!(count(&k, "fadd double %x, %y"), 1, "{k}");
    assert_eq!(count(&k, "@kerf_dw64_fma("), 1, "{k}");
    assert_eq!(count(&k, "to_f64("), 0, "{k}");
}

#[test]
fn cmp_pairs_use_the_published_formulas() {
    let body = "
  %x = load double, ptr %a
  %s = fadd double %x, 3.0
  %t = fdiv double %s, %x
  %e = call double @__nv_exp(double %t)
  %m = call double @llvm.minnum.f64(double %e, double %x)
  %c = fcmp olt double %m, %e
  %r = select i1 %c, double %m, double %e
  store double %r, ptr %a
  ret void";
    let m = module("ptr %a", body);
    let k = all(&m, SiteFormat::Dw64Cmp);
    for f in ["add_cmp", "div_cmp", "exp_cmp_bf", "less_cmp", "min"] {
        assert_eq!(count(&k, &format!("@kerf_dw64_{f}(")), 1, "{f}: {k}");
    }
    // The minimum and its operands are normal pairs; what is stored is the sum of the words.
    assert_eq!(count(&k, "@kerf_dw64_normal_cmp("), 1, "{k}");
    assert_eq!(count(&k, "fadd double"), 1, "{k}");
    assert!(k.contains("select i1 %"), "{k}");
}

#[test]
fn conversions_and_comparisons() {
    let body = "
  %x = load float, ptr %a
  %w = fpext float %x to double
  %n = sitofp i32 %i to double
  %s = fadd double %w, %n
  %c = fcmp ugt double %s, 1.0
  %d = fcmp uno double %s, %w
  %e = or i1 %c, %d
  %g = fneg double %s
  %h = call double @llvm.fabs.f64(double %g)
  %t = fptrunc double %h to float
  %q = call float @__nv_sqrtf(float %t)
  %z = fptosi float %q to i64
  store i64 %z, ptr %a
  store i1 %e, ptr %a
  ret void";
    let m = module("ptr %a, i32 %i", body);
    let plan = Plan::all_sites(&m, SiteFormat::Dw64);
    // All but the load, which is of the buffer's format.
    assert_eq!(plan.kernels["k"].sites.len(), 10);
    plan.apply(&m).expect("applies");
    let k = kernel(&m);
    for (what, n) in [
        ("@kerf_dw64_from_i32(i32 %i)", 1),
        ("@kerf_dw64_less_equal(", 1),
        ("fcmp uno double", 1),
        ("fneg <2 x double>", 1),
        ("@kerf_dw64_abs(", 1),
        ("@kerf_dw64_sqrt(", 1),
        ("@kerf_dw64_to_i64(", 1),
        ("fptrunc", 0),
        ("fpext", 1),
        ("@__nv_sqrtf", 0),
    ] {
        assert_eq!(count(&k, what), n, "{what}: {k}");
    }
}

#[test]
fn values_leave_for_users_that_stay() {
    let body = "
  %x = load double, ptr %a
  %s = fadd double %x, 1.0
  %e = call double @__nv_erfc(double %s)
  %r = fmul double %e, %s
  store double %r, ptr %a
  ret void";
    let m = module("ptr %a", body);
    let k = all(&m, SiteFormat::Dw64);
    assert!(k.contains("call double @__nv_erfc(double %"), "{k}");
    assert_eq!(count(&k, "extractelement <2 x double>"), 2, "{k}");
}

#[track_caller]
fn refusal(body: &str, site: usize, format: &str) -> String {
    let m = module("ptr %a, i32 %i", body);
    let plan = format!(r#"{{"version":1,"kernels":{{"k":{{"sites":{{"{site}":"{format}"}}}}}}}}"#);
    let before = m.print();
    let e = Plan::parse(&plan)
        .expect("parses")
        .apply(&m)
        .expect_err("is refused");
    assert_eq!(m.print(), before, "a refused plan changes nothing");
    e.to_string()
}

#[test]
fn refusals_name_site_and_reason() {
    let body = "
  %x = load double, ptr %a
  %r = frem double %x, 3.0
  %f = call double @__nv_fmod(double %r, double %x)
  %v = load <2 x double>, ptr %a
  %w = fadd <2 x double> %v, %v
  %h = fptrunc double %f to half
  %q = fadd half %h, %h
  %e = call double @__nv_erfc(double %f)
  store double %e, ptr %a
  store <2 x double> %w, ptr %a
  store half %q, ptr %a
  ret void";
    let says = |site, format, words: &[&str]| {
        let text = refusal(body, site, format);
        for w in words {
            assert!(text.contains(w), "`{w}` is not in: {text}");
        }
    };
    says(0, "dw64", &["site 0 of kernel k (load)", "memory"]);
    says(1, "dw64", &["site 1", "frem", "no double-word algorithm"]);
    says(2, "dw32", &["site 2", "__nv_fmod", "dw32"]);
    says(4, "dw64", &["site 4", "<2 x double>"]);
    says(6, "dw32", &["site 6", "f16"]);
    says(7, "dw64.cmp", &["site 7", "__nv_erfc"]);
    says(8, "dw64", &["site 8 of kernel k (store)", "memory"]);
    says(99, "dw64", &["site 99", "11 sites"]);
    let m = module("ptr %a", "ret void");
    let p = Plan::parse(r#"{"version":1,"kernels":{"kk":{}}}"#).expect("parses");
    assert!(matches!(p.apply(&m), Err(PlanError::UnknownKernel { .. })));
}

#[test]
fn the_format_a_site_has_changes_nothing() {
    let m = module("ptr %x, ptr %out, i64 %n", SUM);
    let before = m.print();
    let plan = Plan::all_sites(&m, SiteFormat::F64);
    assert_eq!(
        plan.kernels["k"].sites.len(),
        sites::sites(&m, m.function("k").expect("k")).sites.len()
    );
    plan.apply(&m).expect("applies");
    assert_eq!(m.print(), before);
}

#[test]
fn a_shared_function_is_changed_for_the_kernel_that_wants_it() {
    let text = r#"
target triple = "nvptx64-nvidia-cuda"
define internal double @f(double %x) noinline {
  %y = fmul double %x, 3.0
  ret double %y
}
define ptx_kernel void @a(ptr %p) {
  %x = load double, ptr %p
  %y = call double @f(double %x)
  store double %y, ptr %p
  ret void
}
define ptx_kernel void @b(ptr %p) {
  %y = call double @f(double 2.0)
  store double %y, ptr %p
  ret void
}
"#;
    let parsed = || Module::parse(text.as_bytes(), "shared.ll").expect("parses");
    let m = parsed();
    let all = Plan::all_sites(&m, SiteFormat::Dw64);
    let mut one = all.clone();
    one.kernels.remove("b");
    one.apply(&m).expect("kernel a gets a version of its own");
    let called = |kernel: &str| {
        let f = m.function(kernel).expect("kernel");
        let calls = f.instructions().into_iter();
        calls.filter_map(|i| i.callee_name()).next().expect("calls")
    };
    let body = |name: &str| m.function(name).expect("function").print();
    assert_ne!(called("a"), called("b"));
    assert!(body(&called("a")).contains("@kerf_dw64_mul_words(double %x, double 3.0"));
    assert!(body(&called("b")).contains("fmul double %x, 3.0"));
    let m = parsed();
    all.apply(&m).expect("both want the same");
    let f = m.function("f").expect("f").print();
    assert!(
        f.contains("@kerf_dw64_mul_words(double %x, double 3.0"),
        "{f}"
    );
}
