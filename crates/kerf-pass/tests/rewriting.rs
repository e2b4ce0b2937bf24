//! Clusters of expressions written differently, on small modules: what is built, where, in which format, and what is
//! refused.
use kerf_ir::rewriting::Rewriting;
use kerf_llvm::Module;
use kerf_pass::{KernelPlan, MathVariant, Plan, PlanError, SiteFormat};

const DECLARATIONS: &str = r#"
declare double @__nv_sqrt(double)
declare double @llvm.fma.f64(double, double, double)
"#;

fn module(params: &str, body: &str) -> Module {
    let text = format!(
        "target triple = \"nvptx64-nvidia-cuda\"\ndefine ptx_kernel void @k({params}) {{\n{body}\n}}\n{DECLARATIONS}"
    );
    Module::parse(text.as_bytes(), "k.ll").expect("parses")
}

fn rewriting(text: &str) -> Rewriting {
    serde_json::from_str(text).expect("a rewriting")
}

fn plan(rewrites: &[&str]) -> (Plan, KernelPlan) {
    let k = KernelPlan {
        rewrites: rewrites.iter().map(|t| rewriting(t)).collect(),
        ..KernelPlan::default()
    };
    (Plan::default(), k)
}

fn with((mut plan, k): (Plan, KernelPlan)) -> Plan {
    plan.kernels.insert("k".into(), k);
    plan
}

#[track_caller]
fn applied(m: &Module, plan: Plan) -> String {
    plan.apply(m).expect("applies");
    m.function("k").expect("the kernel is there").print()
}

/// Sites: 0 sqrt, 1 fmul, 2 fdiv, 3 store.
const FORCE: &str = "%r = call double @__nv_sqrt(double %d)\n%p3 = fmul double %r, %d\n%s = fdiv double %m, %p3\nstore double %s, ptr %p\nret void";
const RSQRT: &str = r#"{"sites":[0,1,2],"steps":["rsqrt @0.0","mul $0 $0","mul $0 $1","mul @2.0 $2"],"outputs":{"2":"$3"}}"#;

fn force() -> Module {
    module("ptr %p, double %m, double %d", FORCE)
}

#[test]
fn new_operations_stand_in_the_place_of_the_old() {
    let text = applied(&force(), with(plan(&[RSQRT])));
    assert!(
        !text.contains("fdiv") && !text.contains("__nv_sqrt"),
        "{text}"
    );
    assert_eq!(text.matches("@__nv_rsqrt(").count(), 1, "{text}");
    assert_eq!(text.matches("fmul double").count(), 3, "{text}");
}

#[test]
fn the_plan_round_trips_and_is_no_identity() {
    let p = with(plan(&[RSQRT]));
    assert!(!p.is_identity());
    let text = serde_json::to_string(&p).expect("serialises");
    assert!(text.contains(r#""steps":["rsqrt @0.0","#), "{text}");
    assert_eq!(Plan::parse(&text).expect("parses"), p);
}

#[test]
fn new_operations_have_the_widest_format_of_their_sites() {
    let (p, mut k) = plan(&[RSQRT]);
    for site in 0..3 {
        k.sites.insert(site, SiteFormat::F32);
    }
    let text = applied(&force(), with((p.clone(), k.clone())));
    assert!(text.contains("@__nv_rsqrtf("), "{text}");
    assert_eq!(text.matches("fmul float").count(), 3, "{text}");
    k.sites.remove(&1);
    let text = applied(&force(), with((p, k)));
    assert!(text.contains("@__nv_rsqrt("), "{text}");
    assert!(!text.contains("float"), "{text}");
}

#[test]
fn a_part_that_does_not_change_in_a_loop_stands_before_it() {
    let m = module(
        "ptr %p, double %x, double %c",
        "entry:\n  br label %loop\nloop:\n  %a = phi double [ %x, %entry ], [ %b, %loop ]\n  %i = phi i32 [ 0, %entry ], [ %j, %loop ]\n  %b = fdiv double %a, %c\n  %j = add i32 %i, 1\n  %k = icmp slt i32 %j, 9\n  br i1 %k, label %loop, label %end\nend:\n  store double %b, ptr %p\n  ret void",
    );
    // Sites: 0 phi, 1 fdiv, 2 store.
    let r = r#"{"sites":[1],"steps":["div 1.0 @1.1","mul @1.0 $0"],"outputs":{"1":"$1"}}"#;
    let text = applied(&m, with(plan(&[r])));
    let (entry, rest) = text.split_once("loop:").expect("a loop");
    assert!(entry.contains("fdiv double 1.000000e+00, %c"), "{text}");
    assert!(rest.contains("fmul double %a"), "{text}");
    assert!(!rest.contains("fdiv"), "{text}");
}

#[test]
fn an_output_may_become_a_value_that_is_there() {
    let m = module(
        "ptr %p, double %x",
        "%a = fneg double %x\n%b = fneg double %a\n%c = fadd double %b, 1.0\nstore double %c, ptr %p\nret void",
    );
    // One cluster gives what another starts from.
    let one = r#"{"sites":[0,1],"steps":[],"outputs":{"1":"@0.0"}}"#;
    let other = r#"{"sites":[2],"steps":["fma @2.0 2.0 1.0"],"outputs":{"2":"$0"}}"#;
    for order in [[one, other], [other, one]] {
        let text = applied(&m.duplicate(), with(plan(&order)));
        assert!(
            text.contains("@llvm.fma.f64(double %x, double 2.0"),
            "{text}"
        );
        assert!(!text.contains("fneg"), "{text}");
    }
}

#[test]
fn branches_share_what_is_computed_before_them() {
    let m = module(
        "ptr %p, double %x, double %y, i1 %c",
        "entry:\n  %q = fdiv double %x, %y\n  store double %q, ptr %p\n  br i1 %c, label %a, label %b\na:\n  %r = fdiv double 2.0, %y\n  store double %r, ptr %p\n  br label %b\nb:\n  %t = fdiv double 3.0, %y\n  store double %t, ptr %p\n  ret void",
    );
    // Sites: 0 fdiv, 1 store, 2 fdiv, 3 store, 4 fdiv, 5 store.
    let r = r#"{"sites":[0,2,4],"steps":["div 1.0 @0.1","mul @0.0 $0","mul 2.0 $0","mul 3.0 $0"],"outputs":{"0":"$1","2":"$2","4":"$3"}}"#;
    let text = applied(&m, with(plan(&[r])));
    assert_eq!(text.matches("fdiv").count(), 1, "{text}");
    assert_eq!(text.matches("fmul").count(), 3, "{text}");
}

#[test]
fn what_does_not_fit_is_refused_by_name() {
    let (p, mut k) = plan(&[RSQRT]);
    k.math.insert(0, MathVariant::Newton1);
    let e = with((p, k)).apply(&force()).expect_err("refused");
    assert!(matches!(e, PlanError::RewrittenVariant { .. }), "{e}");
    assert!(e.to_string().contains("site 0 of kernel k"), "{e}");
    for (text, part) in [
        (
            r#"{"sites":[0,9],"steps":[],"outputs":{}}"#,
            "site 9 is none of the kernel's 4",
        ),
        (
            r#"{"sites":[1,0],"steps":[],"outputs":{}}"#,
            "site 0 is named twice",
        ),
        (
            r#"{"sites":[2,3],"steps":[],"outputs":{"2":"@2.0"}}"#,
            "site 3 is no arithmetic",
        ),
        (
            r#"{"sites":[0,1],"steps":[],"outputs":{}}"#,
            "the value of site 1 is used outside",
        ),
        (
            r#"{"sites":[2],"steps":[],"outputs":{"2":"@2.1","1":"@2.0"}}"#,
            "output 1 is no site",
        ),
        (
            r#"{"sites":[2],"steps":[],"outputs":{"2":"$0"}}"#,
            "`$0` names no value",
        ),
        (
            r#"{"sites":[2],"steps":["neg $0"],"outputs":{"2":"$0"}}"#,
            "`$0` names no value",
        ),
        (
            r#"{"sites":[2],"steps":[],"outputs":{"2":"@2.7"}}"#,
            "`@2.7` names no value",
        ),
        (
            r#"{"sites":[2],"steps":[],"outputs":{"2":"@0.0"}}"#,
            "`@0.0` names no value",
        ),
        (
            r#"{"sites":[1,2],"steps":[],"outputs":{"2":"@2.1"}}"#,
            "`@2.1` names no value",
        ),
        (
            r#"{"sites":[],"steps":[],"outputs":{}}"#,
            "replaces no site",
        ),
    ] {
        let e = with(plan(&[text])).apply(&force()).expect_err("refused");
        assert!(e.to_string().contains(part), "{text}: {e}");
    }
    let e = with(plan(&[RSQRT, RSQRT]))
        .apply(&force())
        .expect_err("refused");
    assert!(e.to_string().contains("site 0 is named twice"), "{e}");
    // A value that only one branch computes is not there in the other.
    let m = module(
        "ptr %p, double %x, i1 %c",
        "entry:\n  br i1 %c, label %a, label %b\na:\n  %r = fadd double %x, 1.0\n  %v = load double, ptr %p\n  %w = fmul double %v, %r\n  store double %w, ptr %p\n  br label %b\nb:\n  %t = fadd double %x, 2.0\n  store double %t, ptr %p\n  ret void",
    );
    // Sites: 0 fadd, 1 load, 2 fmul, 3 store, 4 fadd, 5 store.
    let r = r#"{"sites":[2,4],"steps":["mul @2.0 @2.1"],"outputs":{"2":"$0","4":"$0"}}"#;
    let e = with(plan(&[r])).apply(&m).expect_err("refused");
    assert!(
        e.to_string()
            .contains("is not computed on every way to site 4"),
        "{e}"
    );
}
