//! Clusters of small kernels, and what becomes of them.
use kerf_algebra::{CostTable, ExpressionCluster, RewriteCandidate, candidates, clusters};
use kerf_llvm::Module;

const DECLARATIONS: &str = r#"
declare double @__nv_sqrt(double)
declare double @__nv_rsqrt(double)
declare double @__nv_exp(double)
declare double @__nv_pow(double, double)
declare double @__nv_powi(double, i32)
declare float @__nv_sqrtf(float)
declare double @llvm.fma.f64(double, double, double)
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
"#;

fn module(params: &str, body: &str) -> Module {
    let text = format!(
        "target triple = \"nvptx64-nvidia-cuda\"\ndefine ptx_kernel void @k({params}) {{\n{body}\n}}\n{DECLARATIONS}"
    );
    Module::parse(text.as_bytes(), "k.ll").expect("parses")
}

fn all(m: &Module) -> Vec<ExpressionCluster> {
    clusters(m, m.function("k").expect("the kernel is there"))
}

/// Clocks as on a device whose divisions, roots and functions are slow.
fn costs() -> CostTable {
    CostTable::new(|name| match name {
        "add" | "mul" | "fma" => 1.0,
        "rcp" => 7.0,
        "rsqrt" => 6.0,
        "div" => 9.0,
        "sqrt" => 10.0,
        "pow" => 60.0,
        _ => 20.0,
    })
}

fn names(c: &RewriteCandidate) -> Vec<&'static str> {
    let all = c.rewriting.steps.iter();
    all.map(|s| s.operation.name()).collect()
}

#[track_caller]
fn first(m: &Module) -> RewriteCandidate {
    let found = all(m);
    assert_eq!(found.len(), 1, "{found:?}");
    let c = candidates(&found[0], &costs());
    c.into_iter().next().expect("a candidate")
}

const FORCE: &str = r"
entry:
  br label %loop
loop:
  %a = phi double [ 0.0, %entry ], [ %n, %loop ]
  %b = phi double [ 0.0, %entry ], [ %o, %loop ]
  %i = phi i32 [ 0, %entry ], [ %j, %loop ]
  %at = getelementptr double, ptr %p, i32 %i
  %x = load double, ptr %at
  %dx = fsub double %x, %y
  %xx = fmul double %dx, %dx
  %d2 = fadd double %xx, %eps
  %r = call double @__nv_sqrt(double %d2)
  %r3 = fmul double %r, %d2
  %s = fdiv double %m, %r3
  %n = call double @llvm.fma.f64(double %s, double %dx, double %a)
  %o = call double @llvm.fma.f64(double %s, double %x, double %b)
  %j = add i32 %i, 1
  %c = icmp slt i32 %j, 100
  br i1 %c, label %loop, label %end
end:
  store double %n, ptr %p
  store double %o, ptr %p
  ret void
";

#[test]
fn a_force_becomes_a_cube_of_rsqrt() {
    let m = module("ptr %p, double %y, double %eps, double %m", FORCE);
    let c = first(&m);
    let steps = names(&c);
    assert_eq!(
        steps.iter().filter(|n| **n == "rsqrt").count(),
        1,
        "{steps:?}"
    );
    assert!(
        !steps.contains(&"sqrt") && !steps.contains(&"div"),
        "{steps:?}"
    );
    assert!(c.cost < 0.75, "{}", c.cost);
    assert!(c.error < 1e-14, "{:e}", c.error);
    // The difference, and both multiply-adds, stay what they are.
    let stay = ["sub", "fma"];
    let kept = |n: &&kerf_algebra::clusters::ClusterNode| stay.contains(&n.operation.name());
    for n in all(&m)[0].nodes.iter().filter(kept) {
        assert!(!c.rewriting.sites.contains(&n.site), "{:?}", c.rewriting);
    }
    let changed: Vec<String> = c
        .changes
        .iter()
        .map(|k| format!("{} -> {}", k.before, k.after))
        .collect();
    assert!(
        changed
            .iter()
            .any(|t| t.contains("sqrt(") && t.contains("-> ") && t.contains("rsqrt(")),
        "{changed:?}"
    );
}

#[test]
fn the_same_cluster_gives_the_same_candidates() {
    let m = module("ptr %p, double %y, double %eps, double %m", FORCE);
    let one = candidates(&all(&m)[0], &costs());
    for _ in 0..3 {
        assert_eq!(candidates(&all(&m)[0], &costs()), one);
    }
    assert!(!one.is_empty());
}

#[test]
fn divisions_by_one_value_share_its_reciprocal() {
    let m = module(
        "ptr %p, double %x, double %y, double %z, double %d",
        "%a = fdiv double %x, %d\n%b = fdiv double %y, %d\n%c = fdiv double %z, %d\n%s = fmul double %a, %b\n%t = fsub double %s, %c\nstore double %t, ptr %p\nret void",
    );
    let c = first(&m);
    let steps = names(&c);
    assert_eq!(
        steps.iter().filter(|n| **n == "div").count(),
        1,
        "{steps:?}"
    );
}

#[test]
fn powers_become_products_and_roots() {
    let m = module(
        "ptr %p, double %x, double %y",
        "%a = call double @__nv_powi(double %x, i32 3)\n%b = call double @__nv_pow(double %y, double -1.5)\n%s = fmul double %a, %b\nstore double %s, ptr %p\nret void",
    );
    let c = first(&m);
    let steps = names(&c);
    assert!(!steps.contains(&"pow"), "{steps:?}");
    assert!(steps.contains(&"rsqrt"), "{steps:?}");
}

#[test]
fn division_by_an_invariant_leaves_its_loop() {
    let body = FORCE.replace(
        "  %r = call double @__nv_sqrt(double %d2)\n  %r3 = fmul double %r, %d2\n  %s = fdiv double %m, %r3\n",
        "  %s = fdiv double %d2, %m\n",
    );
    let m = module("ptr %p, double %y, double %eps, double %m", &body);
    let c = first(&m);
    assert!(c.cost < 0.5, "{}", c.cost);
    let reciprocal = c
        .rewriting
        .steps
        .iter()
        .find(|s| s.operation.name() == "div");
    let text = reciprocal.map(|s| s.to_string()).expect("a reciprocal");
    assert!(text.starts_with("div 1.0 @"), "{text}");
}

#[test]
fn what_decides_addresses_and_loops_is_in_no_cluster() {
    // The index and the condition of the loop are computed from the quotient; the other product is not.
    let m = module(
        "ptr %p, double %x, double %y",
        r"
entry:
  br label %loop
loop:
  %v = phi double [ %x, %entry ], [ %q, %loop ]
  %q = fdiv double %v, %y
  %k = fptosi double %q to i32
  %at = getelementptr double, ptr %p, i32 %k
  %z = load double, ptr %at
  %w = fdiv double %z, %y
  store double %w, ptr %p
  %c = fcmp ogt double %q, 1.0
  br i1 %c, label %loop, label %end
end:
  ret void",
    );
    let found = all(&m);
    let sites: Vec<usize> = found.iter().flat_map(ExpressionCluster::sites).collect();
    assert_eq!(sites.len(), 1, "{found:?}");
    assert_eq!(found[0].nodes[0].operation.name(), "div");
    assert_eq!(found[0].leaves.len(), 2);
    // A branch around a barrier, and one that is not.
    let barrier = |inside: &str| {
        module(
            "ptr %p, double %x, double %y",
            &format!(
                "entry:\n  %q = fdiv double %x, %y\n  %c = fcmp ogt double %q, 1.0\n  br i1 %c, label %a, label %b\na:\n  {inside}\n  store double %q, ptr %p\n  br label %b\nb:\n  ret void"
            ),
        )
    };
    let call = "call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)";
    assert_eq!(all(&barrier("")).len(), 1);
    assert!(all(&barrier(call)).is_empty());
}

#[test]
fn large_expressions_are_cut() {
    let mut body = String::new();
    let mut last = "%x".to_owned();
    for k in 0..150 {
        body.push_str(&format!("  %v{k} = fdiv double {last}, %y\n"));
        last = format!("%v{k}");
    }
    body.push_str(&format!("  store double {last}, ptr %p\n  ret void"));
    let m = module("ptr %p, double %x, double %y", &body);
    let found = all(&m);
    assert!(found.len() > 2);
    for c in &found {
        assert!(c.nodes.len() <= kerf_algebra::clusters::MOST_OPERATIONS);
        assert!(!c.outputs.is_empty());
    }
    let sum: usize = found.iter().map(|c| c.nodes.len()).sum();
    assert_eq!(sum, 150);
}
