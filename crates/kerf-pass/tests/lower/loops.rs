//! Loops: phis, and where conversions stand.
use super::harness::{all, counts, module, some};
use kerf_pass::SiteFormat::*;

const SUM: &str = "
entry:
  br label %loop
loop:
  %j = phi i64 [ 0, %entry ], [ %next, %loop ]
  %s = phi double [ 0.0, %entry ], [ %t, %loop ]
  %p = getelementptr double, ptr %x, i64 %j
  %v = load double, ptr %p
  %w = fmul double %v, %scale
  %t = fadd double %s, %w
  %next = add i64 %j, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  store double %t, ptr %out
  ret void";

fn block<'t>(text: &'t str, name: &str) -> &'t str {
    let start = text.find(&format!("{name}:")).expect("the block is there");
    let rest = &text[start..];
    &rest[..rest.find("\n\n").unwrap_or(rest.len())]
}

#[test]
fn a_reduction_stays_in_its_format() {
    let m = module("ptr %x, ptr %out, i64 %n, double %scale", SUM);
    let k = all(&m, F32);
    counts(
        block(&k, "loop"),
        &[
            ("phi float [ 0.000000e+00, %entry ]", 1),
            ("fptrunc double %v", 1),
            ("fptrunc", 1),
            ("fmul float", 1),
            ("fadd float", 1),
            ("fpext", 0),
        ],
    );
    // What the loop does not change is converted before it, what leaves it behind it.
    counts(block(&k, "entry"), &[("fptrunc double %scale to float", 1)]);
    counts(
        block(&k, "done"),
        &[("fpext float", 1), ("store double", 1)],
    );
}

#[test]
fn a_phi_in_another_format_than_its_sum() {
    // Sum in f32, carried in f64: one conversion each way in the loop.
    let m = module("ptr %x, ptr %out, i64 %n, double %scale", SUM);
    let k = some(&m, &[(3, F32)]);
    counts(
        block(&k, "loop"),
        &[
            ("phi double", 1),
            ("fptrunc double %s to float", 1),
            ("fptrunc double %w to float", 1),
            ("fadd float", 1),
            ("fpext float", 1),
        ],
    );
}

const NESTED: &str = "
entry:
  %first = load double, ptr %x
  br label %outer
outer:
  %i = phi i64 [ 0, %entry ], [ %inext, %latch ]
  %s = phi double [ %first, %entry ], [ %u, %latch ]
  %pi = getelementptr double, ptr %x, i64 %i
  %f = load double, ptr %pi
  br label %inner
inner:
  %j = phi i64 [ 0, %outer ], [ %jnext, %inner ]
  %t = phi double [ %s, %outer ], [ %u, %inner ]
  %pj = getelementptr double, ptr %y, i64 %j
  %g = load double, ptr %pj
  %u = call double @llvm.fma.f64(double %f, double %g, double %t)
  %jnext = add i64 %j, 1
  %jmore = icmp ult i64 %jnext, %n
  br i1 %jmore, label %inner, label %latch
latch:
  %inext = add i64 %i, 1
  %imore = icmp ult i64 %inext, %n
  br i1 %imore, label %outer, label %done
done:
  store double %u, ptr %x
  ret void";

#[test]
fn nested_loops() {
    let m = module("ptr %x, ptr %y, i64 %n", NESTED);
    let k = all(&m, F32);
    counts(block(&k, "entry"), &[("fptrunc double %first", 1)]);
    counts(
        block(&k, "outer"),
        &[("phi float", 1), ("fptrunc double %f", 1), ("fptrunc", 1)],
    );
    counts(
        block(&k, "inner"),
        &[
            ("phi float", 1),
            ("fptrunc double %g", 1),
            ("fptrunc", 1),
            ("call float @llvm.fma.f32", 1),
            ("fpext", 0),
        ],
    );
    counts(block(&k, "done"), &[("fpext float", 1)]);

    // Inner loop in f16, outer in f32: formats meet between the loops, not inside.
    let m = module("ptr %x, ptr %y, i64 %n", NESTED);
    let k = some(&m, &[(1, F32), (3, F16), (5, F16)]);
    counts(
        block(&k, "inner"),
        &[
            ("phi half", 1),
            ("fptrunc double %g to half", 1),
            ("fpext", 0),
        ],
    );
    counts(
        block(&k, "outer"),
        &[
            ("fptrunc double %f to half", 1),
            ("fptrunc float %1 to half", 1),
        ],
    );
    counts(block(&k, "latch"), &[("fpext half", 1)]);
}

#[test]
fn two_exits_and_a_branch() {
    // The loop leaves in two places; only one needs the value in f64.
    let body = "
entry:
  br label %head
head:
  %s = phi double [ 1.0, %entry ], [ %t, %body ]
  %c = fcmp olt double %s, 100.0
  br i1 %c, label %body, label %far
body:
  %t = fmul double %s, 1.5
  %d = fcmp ogt double %t, 50.0
  br i1 %d, label %near, label %head
far:
  store double %s, ptr %a
  ret void
near:
  ret void";
    let m = module("ptr %a", body);
    let k = all(&m, F32);
    counts(&k, &[("fpext", 1), ("fptrunc", 0), ("phi float", 1)]);
    counts(block(&k, "far"), &[("fpext float", 1)]);
}

#[test]
fn a_switch_reaches_a_phi_twice() {
    let body = "
entry:
  %x = load double, ptr %a
  switch i32 %i, label %other [ i32 0, label %join i32 1, label %join ]
other:
  %y = fmul double %x, %x
  br label %join
join:
  %r = phi double [ %x, %entry ], [ %x, %entry ], [ %y, %other ]
  store double %r, ptr %a
  ret void";
    let m = module("ptr %a, i32 %i", body);
    let k = all(&m, F16);
    counts(&k, &[("phi half", 1), ("fptrunc double %x", 1)]);
}
