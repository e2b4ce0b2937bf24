//! The part of the checks that is compiled into the program: shadows of memory by arithmetic, and tests whose rare outcome calls
//! the runtime.
use super::region::Region;
use kerf_llvm::{Linkage, LlvmError, Module};
use kerf_pass::sanitize::runtime;
use std::fmt::Write;
use std::sync::atomic::AtomicU64;

/// Shadow of memory outside of the region: all of it is defined.
static DEFINED: [u64; 64] = [0; 64];

/// Where shadows of memory outside of the region are written to; nobody reads it.
static SINK: [AtomicU64; 64] = [const { AtomicU64::new(0) }; 64];

/// Bits of the widest access that has a shadow of its own.
const WIDEST: u32 = 4096;

/// Calls that the executor answers, by the thread's own numbers ([`crate::cpu::intrinsics`]).
pub(in crate::cpu) const RUNTIME: [(&str, &str); 9] = [
    ("kerf.checks.use", "kerf_checks_use"),
    ("kerf.checks.load_origin", "kerf_checks_load_origin"),
    ("kerf.checks.store_origin", "kerf_checks_store_origin"),
    (runtime::COPY, "kerf_checks_copy"),
    (runtime::DEFINE, "kerf_checks_define"),
    (runtime::UNDEFINE, "kerf_checks_undefine"),
    (runtime::FENCE, "kerf_checks_fence"),
    (runtime::MEET, "kerf_checks_meet"),
    (runtime::ACCESS, "kerf_checks_access"),
];

fn widths(m: &Module, prefix: &str) -> Vec<u32> {
    m.functions()
        .iter()
        .filter(|f| f.is_declaration())
        .filter_map(|f| {
            f.name()
                .strip_prefix(prefix)?
                .strip_prefix('i')?
                .parse()
                .ok()
        })
        .collect()
}

/// The address of a shadow: of the region's, or of the stand-in.
fn place(out: &mut String, r: &Region, stand_in: usize) {
    let delta = r.shadow.wrapping_sub(r.base);
    let _ = write!(
        out,
        "  %a = ptrtoint ptr %p to i64
  %d = sub i64 %a, {}
  %in = icmp ult i64 %d, {}
  %s = add i64 %a, {}
  %q = select i1 %in, i64 %s, i64 {stand_in}
  %r = inttoptr i64 %q to ptr
",
        r.base, r.size, delta as i64
    );
}

fn text(m: &Module, r: &Region) -> Result<String, LlvmError> {
    let mut out = String::new();
    let (load, store) = (widths(m, runtime::LOAD), widths(m, runtime::STORE));
    if let Some(w) = load.iter().chain(&store).find(|w| **w > WIDEST) {
        return Err(LlvmError(format!(
            "an access of {} bytes is too wide to be checked",
            w / 8
        )));
    }
    for w in load {
        let _ = writeln!(
            out,
            "define i{w} @{}i{w}(ptr %p) alwaysinline nounwind {{",
            runtime::LOAD
        );
        place(&mut out, r, DEFINED.as_ptr() as usize);
        let _ = writeln!(out, "  %v = load i{w}, ptr %r, align 1\n  ret i{w} %v\n}}");
    }
    for w in store {
        let _ = writeln!(
            out,
            "define void @{}i{w}(ptr %p, i{w} %v) alwaysinline nounwind {{",
            runtime::STORE
        );
        place(&mut out, r, SINK.as_ptr() as usize);
        let _ = writeln!(out, "  store i{w} %v, ptr %r, align 1\n  ret void\n}}");
    }
    let _ = write!(
        out,
        "declare void @kerf.checks.use(i32, i32) cold
define void @{}(i1 %any, i32 %origin, i32 %site) alwaysinline nounwind {{
  br i1 %any, label %bad, label %good, !prof !0
bad:
  call void @kerf.checks.use(i32 %origin, i32 %site)
  br label %good
good:
  ret void
}}
declare i32 @kerf.checks.load_origin(ptr, i32) cold
define i32 @{}(i1 %any, ptr %p, i32 %site) alwaysinline nounwind {{
entry:
  br i1 %any, label %bad, label %good, !prof !0
bad:
  %o = call i32 @kerf.checks.load_origin(ptr %p, i32 %site)
  br label %good
good:
  %r = phi i32 [ %o, %bad ], [ 0, %entry ]
  ret i32 %r
}}
declare void @kerf.checks.store_origin(ptr, i64, i32) cold
define void @{}(i1 %any, ptr %p, i64 %n, i32 %origin) alwaysinline nounwind {{
  br i1 %any, label %bad, label %good, !prof !0
bad:
  call void @kerf.checks.store_origin(ptr %p, i64 %n, i32 %origin)
  br label %good
good:
  ret void
}}
!0 = !{{!\"branch_weights\", i32 1, i32 100000}}
",
        runtime::USE,
        runtime::LOAD_ORIGIN,
        runtime::STORE_ORIGIN
    );
    Ok(out)
}

/// Defines what an instrumented module calls.
pub(in crate::cpu) fn define(m: &Module, r: &Region) -> Result<(), LlvmError> {
    m.link(text(m, r)?.as_bytes(), "checks")?;
    // Only definitions that others can see are linked to declarations.
    for f in m.functions() {
        if !f.is_declaration() && f.name().starts_with("kerf.sanitize.") {
            f.set_linkage(Linkage::LLVMInternalLinkage);
        }
    }
    Ok(())
}
