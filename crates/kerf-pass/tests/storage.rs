//! The storage pass on small modules: accesses, steps, arrays, and what it refuses.
#[path = "storage/structs.rs"]
mod structs;

use kerf_llvm::Module;
use kerf_pass::{KernelPlan, Plan, PlanError, SiteFormat, SiteFormat::*};

fn whole(text: &str) -> Module {
    let text = format!(
        "target datalayout = \"e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64\"
target triple = \"nvptx64-nvidia-cuda\"
{text}
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @f(ptr)
"
    );
    Module::parse(text.as_bytes(), "k.ll").expect("parses")
}

fn module(params: &str, body: &str) -> Module {
    whole(&format!(
        "define ptx_kernel void @k({params}) {{\n{body}\n}}"
    ))
}

fn plan(storage: &[(&str, SiteFormat)], sites: &[(usize, SiteFormat)]) -> Plan {
    let mut plan = Plan::default();
    let k = KernelPlan {
        sites: sites.iter().copied().collect(),
        storage: storage
            .iter()
            .map(|(n, f)| ((*n).into(), f.storage().expect("no pair")))
            .collect(),
        ..KernelPlan::default()
    };
    plan.kernels.insert("k".into(), k);
    plan
}

#[track_caller]
fn held(m: &Module, storage: &[(&str, SiteFormat)]) -> String {
    plan(storage, &[]).apply(m).expect("applies");
    m.function("k").expect("the kernel is there").print()
}

#[track_caller]
fn counts(text: &str, expected: &[(&str, usize)]) {
    for (what, n) in expected {
        assert_eq!(text.matches(what).count(), *n, "`{what}` in\n{text}");
    }
}

const AXPY: &str = "
  %p = getelementptr inbounds double, ptr %x, i64 %i
  %v = load double, ptr %p, align 8
  %q = getelementptr inbounds double, ptr %y, i64 %i
  %w = load double, ptr %q, align 8
  %s = fadd double %v, %w
  store double %s, ptr %q, align 8
  ret void";

#[test]
fn loads_widen_and_stores_round() {
    let m = module("ptr %x, ptr %y, i64 %i", AXPY);
    let k = held(&m, &[("x", F32), ("y", F16)]);
    counts(
        &k,
        &[
            ("getelementptr inbounds float, ptr %x, i64 %i", 1),
            ("load float, ptr %", 1),
            ("align 4", 1),
            ("getelementptr inbounds half, ptr %y, i64 %i", 1),
            ("load half", 1),
            ("fpext", 2),
            ("fadd double", 1),
            ("fptrunc double", 1),
            ("store half", 1),
            ("align 2", 2),
        ],
    );
    // By number, and a buffer of its own format stays as it is.
    let m = module("ptr %x, ptr %y, i64 %i", AXPY);
    let k = held(&m, &[("0", F32), ("1", F64)]);
    counts(
        &k,
        &[("load float", 1), ("load double", 1), ("store double", 1)],
    );
}

#[test]
fn with_sites_in_the_same_format_nothing_is_converted() {
    let m = module("ptr %x, ptr %y, i64 %i", AXPY);
    let sites: Vec<_> = (0..4).map(|s| (s, F32)).collect();
    plan(&[("x", F32), ("y", F32)], &sites)
        .apply(&m)
        .expect("applies");
    let k = m.function("k").expect("k").print();
    counts(
        &k,
        &[
            ("double", 0),
            ("fpext", 0),
            ("fptrunc", 0),
            ("fadd float", 1),
        ],
    );
}

#[test]
fn steps_of_every_kind() {
    let body = "
  %a = getelementptr i8, ptr %x, i64 -16
  %b = getelementptr [3 x double], ptr %a, i64 %i, i64 2
  %j = shl i64 %i, 4
  %c = getelementptr i8, ptr %b, i64 %j
  %d = getelementptr { double, double }, ptr %c, i64 1, i32 1
  %e = getelementptr i64, ptr %d, i64 %i
  %v = load <2 x double>, ptr %e, align 16
  store <2 x double> %v, ptr %c, align 16
  ret void";
    let m = module("ptr %x, i64 %i", body);
    let k = held(&m, &[("x", F32)]);
    counts(
        &k,
        &[
            ("getelementptr i8, ptr %x, i64 -8", 1),
            ("getelementptr [3 x float]", 1),
            ("ashr i64 %j, 3", 1),
            ("getelementptr { float, float }", 1),
            ("getelementptr float, ptr %", 2),
            ("load <2 x float>", 1),
            ("align 8", 2),
            // Read and written unchanged: the bits go through.
            ("double", 0),
        ],
    );
}

#[test]
fn shared_and_local_arrays_shrink() {
    let text = "
@s = internal addrspace(3) global [256 x double] undef, align 8
define ptx_kernel void @k(ptr %x, i64 %i) {
  %l = alloca [4 x double], align 8
  call void @llvm.memset.p0.i64(ptr align 8 %l, i8 0, i64 32, i1 false)
  %p = getelementptr [4 x double], ptr %l, i64 0, i64 %i
  %v = load double, ptr %p, align 8
  %q = getelementptr double, ptr addrspacecast (ptr addrspace(3) @s to ptr), i64 %i
  store double %v, ptr %q, align 8
  %w = load double, ptr addrspacecast (ptr addrspace(3) @s to ptr), align 8
  store double %w, ptr %x, align 8
  ret void
}";
    let m = whole(text);
    let k = held(&m, &[("s", F32), ("l", F16)]);
    counts(
        &k,
        &[
            ("alloca [4 x half], align 2", 1),
            ("i8 0, i64 8, i1 false", 1),
            ("load half", 1),
            ("store float", 1),
            ("load float", 1),
            ("store double", 1),
        ],
    );
    counts(
        &m.print(),
        &[("@s = internal addrspace(3) global [256 x float] undef", 1)],
    );
}

#[test]
fn pointers_that_go_together() {
    let body = "
  %c = icmp eq i64 %i, 0
  %p = select i1 %c, ptr %x, ptr %y
  %v = load double, ptr %p, align 8
  store double %v, ptr %z, align 8
  call void @llvm.memcpy.p0.p0.i64(ptr %x, ptr %y, i64 64, i1 false)
  ret void";
    let m = module("ptr %x, ptr %y, ptr %z, i64 %i", body);
    let k = held(&m, &[("x", F32), ("y", F32)]);
    counts(
        &k,
        &[
            ("load float", 1),
            ("store double", 1),
            ("i64 32, i1 false", 1),
        ],
    );
    // One without the other cannot be.
    let m = module("ptr %x, ptr %y, ptr %z, i64 %i", body);
    let e = plan(&[("x", F32)], &[]).apply(&m).expect_err("is refused");
    assert!(e.to_string().contains("not held in the same format"), "{e}");
    let e = plan(&[("x", F32), ("y", F16)], &[])
        .apply(&m)
        .expect_err("is refused");
    assert!(e.to_string().contains("not held in the same format"), "{e}");
}

#[test]
fn atomics_where_they_exist() {
    let body = "
  %o = atomicrmw fadd ptr %x, double 1.0 seq_cst
  store double %o, ptr %y
  ret void";
    let m = module("ptr %x, ptr %y", body);
    let k = held(&m, &[("x", F32)]);
    counts(
        &k,
        &[
            ("atomicrmw fadd ptr %x, float 1.000000e+00", 1),
            ("fpext float", 1),
        ],
    );
    let m = module("ptr %x, ptr %y", body);
    let e = plan(&[("x", F16)], &[]).apply(&m).expect_err("is refused");
    assert!(e.to_string().contains("not available in f16"), "{e}");
}

#[track_caller]
fn refused(body: &str, words: &[&str]) {
    let m = module("ptr %x, ptr %y, i64 %i", body);
    let before = m.print();
    let e = plan(&[("x", F32)], &[]).apply(&m).expect_err("is refused");
    assert!(matches!(e, PlanError::Storage { .. }), "{e}");
    let e = e.to_string();
    for w in words.iter().chain(&["`x` of kernel k", "f32"]) {
        assert!(e.contains(w), "`{w}` is not in: {e}");
    }
    assert_eq!(m.print(), before, "a refused plan changes nothing");
}

#[test]
fn refusals_say_why() {
    let load = "%v = load double, ptr %x\n store double %v, ptr %y";
    let with = |other: &str| format!("{load}\n{other}\nret void");
    refused(&with("store ptr %x, ptr %y"), &["address is stored"]);
    refused(&with("call void @f(ptr %x)"), &["given to f"]);
    refused(
        &with("%a = ptrtoint ptr %x to i64\nstore i64 %a, ptr %y"),
        &["computed with"],
    );
    refused(
        &with("%a = load i64, ptr %x\n%b = add i64 %a, 1\nstore i64 %b, ptr %y"),
        &["read as i64"],
    );
    refused(
        &with("%a = load float, ptr %x\nstore float %a, ptr %y"),
        &["it holds both"],
    );
    refused(
        &with("%a = load i32, ptr %x\nstore i32 %a, ptr %y"),
        &["copied as i32"],
    );
    refused(
        &with("%a = load atomic i64, ptr %x monotonic, align 8\nstore i64 %a, ptr %y"),
        &["atomically"],
    );
    refused(
        &with("%a = cmpxchg ptr %x, i64 0, i64 1 seq_cst seq_cst"),
        &["compared and exchanged"],
    );
    refused(
        &with(
            "%p = getelementptr { double, i32 }, ptr %x, i64 %i, i32 0\n%a = load double, ptr %p\nstore double %a, ptr %y",
        ),
        &["{ double, i32 }"],
    );
    refused(
        &with(
            "%p = getelementptr i8, ptr %x, i64 %i\n%a = load double, ptr %p\nstore double %a, ptr %y",
        ),
        &["into an element"],
    );
    refused(
        &with("call void @llvm.memcpy.p0.p0.i64(ptr %x, ptr %y, i64 %i, i1 false)"),
        &["byte by byte"],
    );
}

#[test]
fn volatile_stays_volatile() {
    let m = module(
        "ptr %x, ptr %y, i64 %i",
        "  %a = load volatile double, ptr %x
  %s = fadd double %a, 1.0
  store volatile double %s, ptr %x
  ret void",
    );
    let k = held(&m, &[("x", F32)]);
    counts(
        &k,
        &[
            ("load volatile float", 1),
            ("store volatile float", 1),
            ("fpext", 1),
            ("fptrunc", 1),
        ],
    );
}

#[test]
fn dynamic_shared_memory_is_what_it_is_used_as() {
    let m = whole(
        "@d = external addrspace(3) global [0 x i32]
define ptx_kernel void @k(ptr %x, i64 %i) {
  %p = getelementptr double, ptr addrspace(3) @d, i64 %i
  %v = load double, ptr addrspace(3) %p
  store double %v, ptr %x
  ret void
}",
    );
    let k = held(&m, &[("d", F32)]);
    counts(&k, &[("getelementptr float", 1), ("load float", 1)]);
}

#[test]
fn names() {
    let m = module("ptr %x, ptr %y, i64 %i", AXPY);
    for (name, words) in [
        ("z", "it has x, y"),
        ("2", "parameter 2 is no pointer"),
        ("9", "parameter 9 is no pointer"),
    ] {
        let e = plan(&[(name, F32)], &[]).apply(&m).expect_err("is refused");
        assert!(e.to_string().contains(words), "{e}");
    }
    let text = r#"{"version":1,"kernels":{"k":{"storage":{"x":"dw32"}}}}"#;
    let e = Plan::parse(text).expect_err("is refused");
    assert!(e.to_string().contains("pairs"), "{e}");
}

#[test]
fn a_shared_variable_of_two_kernels() {
    let body = "  store double 1.0, ptr addrspace(3) @s\n  ret void\n}";
    let m = whole(&format!(
        "@s = internal addrspace(3) global [2 x double] undef
define ptx_kernel void @k(ptr %x) {{\n{body}
define ptx_kernel void @l(ptr %x) {{\n{body}"
    ));
    let e = plan(&[("s", F32)], &[])
        .apply(&m)
        .expect_err("is refused")
        .to_string();
    assert!(e.contains("k and l") && e.contains("`s`"), "{e}");
    let mut both = plan(&[("s", F32)], &[]);
    let k = both.kernels["k"].clone();
    both.kernels.insert("l".into(), k);
    both.apply(&m).expect("applies");
    counts(&m.print(), &[("[2 x float]", 1), ("store float 1.0", 2)]);
}

#[test]
fn steps_in_bytes_that_never_lead_into_an_element() {
    let body = "
  %c = icmp sgt i64 %i, 0
  %left = select i1 %c, i64 -8, i64 0
  br i1 %c, label %a, label %b
a:
  br label %b
b:
  %far = phi i64 [ 16, %0 ], [ %left, %a ], [ %more, %b ]
  %more = add i64 %far, 8
  %p = getelementptr i8, ptr %x, i64 %far
  %v = load double, ptr %p, align 8
  store double %v, ptr %y, align 8
  br i1 %c, label %b, label %end
end:
  ret void";
    let m = module("ptr %x, ptr %y, i64 %i", body);
    let k = held(&m, &[("x", F32)]);
    counts(&k, &[("ashr", 1), ("load float", 1), ("store double", 1)]);
    // One way in that is not a whole number of elements is enough to refuse.
    let m = module("ptr %x, ptr %y, i64 %i", &body.replace("16, %0", "%i, %0"));
    let e = plan(&[("x", F32)], &[]).apply(&m).expect_err("refused");
    assert!(e.to_string().contains("lead into an element"), "{e}");
}

/// A kernel that reads two constants and updates a variable, and one that has nothing to do with them.
const VARIABLES: &str = "
@_ZN2ns1cE = dso_local addrspace(4) externally_initialized constant [4 x { double, double }] zeroinitializer, align 8
@t = internal addrspace(4) constant [3 x double] [double 1.0, double -2.5, double 1.0e-1], align 8
@d = dso_local addrspace(1) externally_initialized global double 0.1, align 8
@other = dso_local addrspace(4) externally_initialized constant [4 x double] zeroinitializer, align 8
define ptx_kernel void @k(ptr %x, i64 %i) {
  %p = getelementptr { double, double }, ptr addrspacecast (ptr addrspace(4) @_ZN2ns1cE to ptr), i64 %i
  %q = getelementptr i8, ptr %p, i64 8
  %v = load double, ptr %q, align 8
  %r = getelementptr [3 x double], ptr addrspace(4) @t, i64 0, i64 %i
  %w = load double, ptr addrspace(4) %r, align 8
  %s = fadd double %v, %w
  store double %s, ptr addrspacecast (ptr addrspace(1) @d to ptr), align 8
  store double %s, ptr %x, align 8
  ret void
}
define ptx_kernel void @l(ptr %x) {
  %v = load double, ptr addrspacecast (ptr addrspace(4) @other to ptr), align 8
  store double %v, ptr %x, align 8
  ret void
}";

#[test]
fn variables_of_the_program_shrink_and_stay_the_hosts() {
    let m = whole(VARIABLES);
    let k = held(
        &m,
        &[("constant c", F32), ("constant t", F16), ("device d", F32)],
    );
    counts(
        &k,
        &[
            ("getelementptr { float, float }", 1),
            ("getelementptr i8, ptr %", 1),
            ("i64 4", 1),
            ("load float", 1),
            ("getelementptr [3 x half]", 1),
            ("load half", 1),
            ("fadd double", 1),
            ("store float", 1),
            ("store double", 1),
        ],
    );
    counts(
        &m.print(),
        &[
            (
                "@_ZN2ns1cE = dso_local addrspace(4) externally_initialized constant [4 x { float, float }] zeroinitializer, align 8",
                1,
            ),
            (
                "@t = internal addrspace(4) constant [3 x half] [half 0xH3C00, half 0xHC100, half 0xH2E66], align 8",
                1,
            ),
            (
                "@d = dso_local addrspace(1) externally_initialized global float 0x3FB99999A0000000, align 8",
                1,
            ),
            ("constant [4 x double] zeroinitializer", 1),
        ],
    );
}

#[test]
fn variables_by_name() {
    // By symbol too, and in the format that it has nothing is done.
    let m = whole(VARIABLES);
    let k = held(&m, &[("constant _ZN2ns1cE", F32), ("device d", F64)]);
    counts(&k, &[("load float", 1), ("store double", 2)]);
    for (name, words) in [
        ("c", "constant c, constant t, device d"),
        ("device c", "constant c"),
        ("constant other", "no such"),
    ] {
        let m = whole(VARIABLES);
        let e = plan(&[(name, F32)], &[]).apply(&m).expect_err("is refused");
        assert!(e.to_string().contains(words), "{name}: {e}");
    }
    // Where several have a name, the symbol is it.
    let twins = VARIABLES.replace(
        "@t =",
        "@_ZN2ns1tE = addrspace(4) constant double 1.0\n@t =",
    );
    let m = whole(&twins.replace("@other to ptr", "@_ZN2ns1tE to ptr"));
    let e = plan(&[("c", F32)], &[]).apply(&m).expect_err("is refused");
    assert!(
        e.to_string().contains("constant c, constant t, device d"),
        "{e}"
    );
    let mut p = Plan::default();
    let l = p.kernels.entry("l".into()).or_default();
    l.storage
        .insert("constant _ZN2ns1tE".into(), kerf_num::Format::F32.into());
    p.apply(&m).expect("applies");
    counts(
        &m.print(),
        &[("@_ZN2ns1tE = addrspace(4) constant float 1.0", 1)],
    );
}

#[test]
fn variables_that_stay_as_they_are() {
    let refused = |text: &str, name: &str, words: &str| {
        let m = whole(text);
        let e = plan(&[(name, F32)], &[]).apply(&m).expect_err("is refused");
        assert!(e.to_string().contains(words), "{e}");
    };
    // Another kernel reads it too.
    let both = VARIABLES.replace("@other to ptr", "@_ZN2ns1cE to ptr");
    refused(&both, "constant c", "kernels k and l use the variable `c`");
    // Its address is in a table.
    let table = VARIABLES.replace(
        "@other =",
        "@table = addrspace(4) constant [1 x ptr addrspace(4)] [ptr addrspace(4) @t]\n@other =",
    );
    refused(&table, "constant t", "part of a constant");
    // It is not numbers alone.
    let mixed = VARIABLES.replace("{ double, double }", "{ double, i64 }");
    refused(&mixed, "constant c", "{ double, i64 }");
}

#[test]
fn tables_of_functions_shrink_too() {
    // What `const double t[] = ..` in a function becomes; a copy of it in a local array goes with it.
    let text = "
@__const._Z1kPdl.t = private unnamed_addr constant [3 x double] [double 1.0, double -2.5, double 1.0e-1], align 8
@__const._Z1kPdl.u.1 = private unnamed_addr constant [20 x double] zeroinitializer, align 8
define ptx_kernel void @k(ptr %x, i64 %i) {
  %a = alloca [20 x double], align 8
  call void @llvm.memcpy.p0.p0.i64(ptr %a, ptr @__const._Z1kPdl.u.1, i64 160, i1 false)
  %p = getelementptr double, ptr @__const._Z1kPdl.t, i64 %i
  %v = load double, ptr %p, align 8
  %q = getelementptr double, ptr %a, i64 %i
  %w = load double, ptr %q, align 8
  %s = fadd double %v, %w
  store double %s, ptr %q, align 8
  store double %s, ptr %x, align 8
  ret void
}";
    let m = whole(text);
    let k = held(&m, &[("constant t", F32), ("constant u", F32), ("a", F32)]);
    counts(&k, &[("load float", 2), ("i64 80", 1), ("store float", 1)]);
    let table = "[3 x float] [float 1.000000e+00, float -2.500000e+00, float 0x3FB99999A0000000]";
    counts(
        &m.print(),
        &[(table, 1), ("[20 x float] zeroinitializer", 1)],
    );
    let e = plan(&[("a", F32)], &[]).apply(&whole(text));
    let e = e.expect_err("its copy is not held so").to_string();
    assert!(e.contains("shares a pointer or a copy"), "{e}");
}
