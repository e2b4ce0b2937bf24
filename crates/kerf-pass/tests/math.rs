//! Math variants on small modules: what is built, how it goes with formats, and what is refused.
use kerf_llvm::Module;
use kerf_pass::math::{self, MathVariant, MathVariant::*};
use kerf_pass::{KernelPlan, Plan, SiteFormat};

const DECLARATIONS: &str = r#"
declare float @__nv_sinf(float)
declare float @__nv_cosf(float)
declare float @__nv_tanf(float)
declare float @__nv_tanhf(float)
declare float @__nv_expf(float)
declare float @__nv_exp2f(float)
declare float @__nv_exp10f(float)
declare float @__nv_logf(float)
declare float @__nv_log2f(float)
declare float @__nv_log10f(float)
declare float @__nv_rsqrtf(float)
declare float @__nv_powf(float, float)
declare float @__nv_hypotf(float, float)
declare float @__nv_erff(float)
declare void @__nv_sincosf(float, ptr, ptr)
declare double @__nv_exp(double)
declare void @__nv_sincos(double, ptr, ptr)
declare float @llvm.sqrt.f32(float)
declare double @llvm.sqrt.f64(double)
declare <2 x float> @llvm.sqrt.v2f32(<2 x float>)
"#;

fn module(params: &str, body: &str) -> Module {
    let text = format!(
        "target triple = \"nvptx64-nvidia-cuda\"\ndefine ptx_kernel void @k({params}) {{\n{body}\n}}\n{DECLARATIONS}"
    );
    Module::parse(text.as_bytes(), "k.ll").expect("parses")
}

fn plan(sites: &[(usize, SiteFormat)], math: &[(usize, MathVariant)]) -> Plan {
    let k = KernelPlan {
        sites: sites.iter().copied().collect(),
        math: math.iter().copied().collect(),
        ..KernelPlan::default()
    };
    let mut plan = Plan::default();
    plan.kernels.insert("k".into(), k);
    plan
}

#[track_caller]
fn applied(m: &Module, sites: &[(usize, SiteFormat)], math: &[(usize, MathVariant)]) -> String {
    plan(sites, math).apply(m).expect("applies");
    assert!(!m.print().contains("__nv_kerf"), "{}", m.print());
    m.function("k").expect("the kernel is there").print()
}

/// Lines of the kernel without names of values.
fn lines(text: &str) -> Vec<String> {
    text.lines()
        .filter_map(|l| l.trim().split_once(" = "))
        .map(|(_, r)| r.to_owned())
        .collect()
}

/// `r = f(x)` or `r = f(x, y)` in f32, stored.
fn one(call: &str) -> Module {
    let body = format!("  %r = {call}\n  store float %r, ptr %o\n  ret void");
    module("ptr %o, float %x, float %y", &body)
}

#[test]
fn golden_sequences_in_f32() {
    let cases: &[(&str, &[&str])] = &[
        ("sin", &["call float @llvm.nvvm.sin.approx.f(float %x)"]),
        ("cos", &["call float @llvm.nvvm.cos.approx.f(float %x)"]),
        (
            "tan",
            &[
                "call float @llvm.nvvm.sin.approx.f(float %x)",
                "call float @llvm.nvvm.cos.approx.f(float %x)",
                "call float @llvm.nvvm.div.approx.f(float %1, float %2)",
            ],
        ),
        ("tanh", &["call float @llvm.tanh.f32(float %x)"]),
        (
            "exp",
            &[
                "fmul float %x, 0x3FF7154760000000",
                "call float @llvm.nvvm.ex2.approx.f32(float %1)",
            ],
        ),
        ("exp2", &["call float @llvm.nvvm.ex2.approx.f32(float %x)"]),
        (
            "exp10",
            &[
                "fmul float %x, 0x400A934F00000000",
                "call float @llvm.nvvm.ex2.approx.f32(float %1)",
            ],
        ),
        (
            "log",
            &[
                "call float @llvm.nvvm.lg2.approx.f(float %x)",
                "fmul float %1, 0x3FE62E4300000000",
            ],
        ),
        ("log2", &["call float @llvm.nvvm.lg2.approx.f(float %x)"]),
        (
            "log10",
            &[
                "call float @llvm.nvvm.lg2.approx.f(float %x)",
                "fmul float %1, 0x3FD3441360000000",
            ],
        ),
        ("rsqrt", &["call float @llvm.nvvm.rsqrt.approx.f(float %x)"]),
        (
            "pow",
            &[
                "call float @llvm.nvvm.lg2.approx.f(float %x)",
                "fmul float %y, %1",
                "call float @llvm.nvvm.ex2.approx.f32(float %2)",
            ],
        ),
        (
            "hypot",
            &[
                "fmul float %y, %y",
                "call float @llvm.fma.f32(float %x, float %x, float %1)",
                "call float @llvm.nvvm.sqrt.approx.f(float %2)",
            ],
        ),
    ];
    for (name, expected) in cases {
        let args = match *name {
            "pow" | "hypot" => "float %x, float %y",
            _ => "float %x",
        };
        let m = one(&format!("call float @__nv_{name}f({args})"));
        assert_eq!(
            lines(&applied(&m, &[], &[(0, Approx)])),
            *expected,
            "{name}"
        );
        if *name == "tanh" {
            continue;
        }
        let m = one(&format!("call float @__nv_{name}f({args})"));
        let k = applied(&m, &[], &[(0, ApproxFtz)]);
        let flush = |l: &&str| l.replace(".approx.", ".approx.ftz.");
        let expected: Vec<String> = expected.iter().map(flush).collect();
        assert_eq!(lines(&k), expected, "{name}");
    }
}

#[test]
fn divisions_and_roots() {
    for (text, variant, expected) in [
        (
            "fdiv float %x, %y",
            Approx,
            "llvm.nvvm.div.approx.f(float %x, float %y)",
        ),
        (
            "fdiv float %x, %y",
            FullFtz,
            "llvm.nvvm.div.full.ftz(float %x, float %y)",
        ),
        (
            "fdiv float 1.0, %y",
            ApproxFtz,
            "llvm.nvvm.rcp.approx.ftz.f(float %y)",
        ),
        (
            "fdiv float 1.0, %y",
            Approx,
            "llvm.nvvm.div.approx.f(float 1.000000e+00, float %y)",
        ),
        (
            "call float @llvm.sqrt.f32(float %x)",
            ApproxFtz,
            "llvm.nvvm.sqrt.approx.ftz.f(float %x)",
        ),
    ] {
        let k = applied(&one(text), &[], &[(0, variant)]);
        assert_eq!(lines(&k), [format!("call float @{expected}")], "{text}");
    }
    let m = one("fdiv float %x, 3.0");
    assert_eq!(
        lines(&applied(&m, &[], &[(0, Reciprocal)])),
        ["fmul float %x, 0x3FD5555560000000"]
    );
}

#[test]
fn a_division_by_a_root_is_one_operation() {
    let body = "  %s = call float @llvm.sqrt.f32(float %x)
  %r = fdiv float %y, %s
  store float %r, ptr %o
  ret void";
    let m = module("ptr %o, float %x, float %y", body);
    let k = applied(&m, &[], &[(0, ApproxFtz), (1, ApproxFtz)]);
    assert_eq!(
        lines(&k),
        [
            "call float @llvm.nvvm.rsqrt.approx.ftz.f(float %x)",
            "fmul float %y, %1"
        ]
    );
    // A root that is to stay accurate stays.
    let m = module("ptr %o, float %x, float %y", body);
    let k = applied(&m, &[], &[(1, ApproxFtz)]);
    assert!(k.contains("@llvm.sqrt.f32"), "{k}");
    assert!(k.contains("@llvm.nvvm.div.approx.ftz.f"), "{k}");
}

#[test]
fn newton_steps_in_f64() {
    let text = |call: &str| {
        let body = format!("  %r = {call}\n  store double %r, ptr %o\n  ret void");
        module("ptr %o, double %x, double %y", &body)
    };
    for (variant, steps) in [(Newton0, 0), (Newton1, 1), (Newton2, 2)] {
        for (call, own, seeds) in [
            ("fdiv double %x, %y", 2, "rcp"),
            ("fdiv double 1.0, %y", 2, "rcp"),
            ("call double @llvm.sqrt.f64(double %x)", 2, "rsqrt"),
        ] {
            let k = applied(&text(call), &[], &[(0, variant)]);
            assert_eq!(k.matches("llvm.fma.f64").count(), own * steps, "{k}");
            assert_eq!(k.matches(&format!("nvvm.{seeds}.approx.ftz.d")).count(), 1);
        }
    }
}

#[test]
fn a_site_in_f32_and_approximate() {
    let body = "  %r = call double @__nv_exp(double %x)
  %q = fdiv double %r, %x
  store double %q, ptr %o
  ret void";
    for (format, steps) in [(SiteFormat::F32, 1), (SiteFormat::F16, 3)] {
        let m = module("ptr %o, double %x", body);
        let k = applied(
            &m,
            &[(0, format), (1, format)],
            &[(0, ApproxFtz), (1, Approx)],
        );
        assert!(k.contains("llvm.nvvm.ex2.approx.ftz.f32"), "{k}");
        assert!(k.contains("llvm.nvvm.div.approx.f("), "{k}");
        assert!(k.matches("fptrunc").count() >= steps, "{k}");
        assert!(!k.contains("@__nv_exp"), "{k}");
    }
    let m = module(
        "ptr %o, double %x",
        "  %s = alloca double\n  %c = alloca double
  call void @__nv_sincos(double %x, ptr %s, ptr %c)
  %r = load double, ptr %s\n  store double %r, ptr %o\n  ret void",
    );
    let k = applied(&m, &[(0, SiteFormat::F32)], &[(0, Approx)]);
    assert!(k.contains("llvm.nvvm.sin.approx.f"), "{k}");
    assert!(k.contains("llvm.nvvm.cos.approx.f"), "{k}");
}

const LOOP: &str = "
  br label %l
l:
  %i = phi i32 [ 0, %0 ], [ %n, %l ]
  %x = load float, ptr %o
  %d = fdiv float %x, %y
  store float %d, ptr %o
  %n = add i32 %i, 1
  %c = icmp ult i32 %n, 10
  br i1 %c, label %l, label %e
e:
  ret void";

#[test]
fn reciprocals_leave_loops() {
    let m = module(
        "ptr %o, float %z",
        &LOOP.replacen("br", "%y = fadd float %z, %z\n  br", 1),
    );
    let k = applied(&m, &[], &[(2, Reciprocal)]);
    let (before, inside) = k.split_once("l:").expect("a loop");
    assert!(before.contains("fdiv float 1.0"), "{k}");
    assert!(inside.contains("fmul float %x, %"), "{k}");
    let m = module("ptr %o", &LOOP.replace("%x, %y", "%x, %x"));
    let e = plan(&[], &[(1, Reciprocal)])
        .apply(&m)
        .expect_err("changes");
    assert!(
        e.to_string().contains("its divisor changes in the loop"),
        "{e}"
    );
}

#[test]
fn vectors_by_lanes() {
    let body = "  %r = call <2 x float> @llvm.sqrt.v2f32(<2 x float> %v)
  store <2 x float> %r, ptr %o
  ret void";
    let k = applied(&module("ptr %o, <2 x float> %v", body), &[], &[(0, Approx)]);
    assert_eq!(k.matches("llvm.nvvm.sqrt.approx.f").count(), 2, "{k}");
}

#[test]
fn refusals_say_why() {
    for (call, format, variant, why) in [
        (
            "call float @__nv_erff(float %x)",
            None,
            Approx,
            "have variants",
        ),
        ("fadd float %x, %y", None, Approx, "have variants"),
        (
            "call float @__nv_tanhf(float %x)",
            None,
            ApproxFtz,
            "no form that flushes",
        ),
        (
            "call float @__nv_expf(float %x)",
            None,
            Newton1,
            "Newton steps are for f64",
        ),
        (
            "call float @__nv_expf(float %x)",
            None,
            Full,
            "div.full is a division",
        ),
        (
            "call float @__nv_expf(float %x)",
            None,
            Reciprocal,
            "only a division",
        ),
        (
            "fdiv float %x, %y",
            Some(SiteFormat::Dw32),
            Approx,
            "double words",
        ),
    ] {
        let formats: Vec<(usize, SiteFormat)> = format.into_iter().map(|f| (0, f)).collect();
        let e = plan(&formats, &[(0, variant)])
            .apply(&one(call))
            .expect_err(call);
        assert!(e.to_string().contains(why), "{call}: {e}");
        assert!(e.to_string().contains("site 0 of kernel k"), "{e}");
    }
    let m = module(
        "ptr %o, double %x",
        "  %r = call double @__nv_exp(double %x)\n  store double %r, ptr %o\n  ret void",
    );
    let e = plan(&[], &[(0, ApproxFtz)]).apply(&m).expect_err("f64");
    assert!(e.to_string().contains("no exp in f64"), "{e}");
}

#[test]
fn all_that_can() {
    let m = one("call float @__nv_expf(float %x)");
    let mut p = Plan::default();
    p.compute_all(&m, ApproxFtz);
    assert_eq!(p.kernels["k"].math.len(), 1);
    let i = m.function("k").expect("k").instructions()[0];
    assert_eq!(math::variants(i, SiteFormat::F32), [Approx, ApproxFtz]);
}
