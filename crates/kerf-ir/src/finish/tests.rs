//! What the finished form and its PTX look like: structs as values, loops unrolled, memory accessed as nvcc would.
use super::{Ptx, Reflect, finish_with, ptx};
use kerf_llvm::Module;

const HEAD: &str = r#"
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
"#;

fn finished(body: &str, how: Ptx) -> Module {
    let m = Module::parse(format!("{HEAD}{body}").as_bytes(), "shape").expect("parses");
    finish_with(&m, &[], "sm_90", Reflect::default(), how).expect("finishes");
    m
}

/// The finished module, and PTX of it.
fn both(body: &str) -> (String, String) {
    let m = finished(body, Ptx::Lifted);
    (m.print(), ptx(&m, "sm_90").expect("emits"))
}

fn count(text: &str, what: &str) -> usize {
    text.matches(what).count()
}

/// `Body at = i < n ? bodies[i] : nobody`, summed, and the same copied to `to`.
const CHOSEN: &str = r#"
%Body = type { double, double, double, double }
define ptx_kernel void @k(ptr noalias %bodies, ptr %to, ptr %sum, i32 %n) {
  %nobody = alloca %Body, align 16
  call void @llvm.memset.p0.i64(ptr align 16 %nobody, i8 0, i64 32, i1 false)
  %i = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %c = icmp slt i32 %i, %n
  %wide = sext i32 %i to i64
  %p = getelementptr inbounds %Body, ptr %bodies, i64 %wide
  %s = select i1 %c, ptr %p, ptr %nobody
  %x = load double, ptr %s, align 16
  %py = getelementptr inbounds i8, ptr %s, i64 8
  %y = load double, ptr %py, align 8
  %d = fadd double %x, %y
  call void @llvm.memcpy.p0.p0.i64(ptr align 16 %to, ptr align 16 %s, i64 32, i1 false)
  store double %d, ptr %sum, align 8
  ret void
}
"#;

#[test]
fn structs_that_are_chosen_between_are_values() {
    let (ir, ptx) = both(CHOSEN);
    assert!(!ir.contains("alloca"), "{ir}");
    assert!(!ptx.contains(".local"), "{ptx}");
    // The two loads of the sum share a branch, and are one access.
    assert_eq!(count(&ptx, "ld.global.nc.v2.b64"), 3, "{ptx}");
    assert_eq!(count(&ptx, "ld.global"), 3, "{ptx}");
}

/// A sum over `n` elements, with a place for the loop's marks.
fn sum(body: &str, marks: &str) -> String {
    format!(
        r#"
define ptx_kernel void @k(ptr noalias readonly %x, ptr noalias %out, i32 %n) {{
entry:
  %any = icmp sgt i32 %n, 0
  br i1 %any, label %loop, label %done
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %s = phi double [ 0.0, %entry ], [ %t, %loop ]
  %at = zext nneg i32 %i to i64
  %p = getelementptr inbounds double, ptr %x, i64 %at
  %v = load double, ptr %p, align 8
{body}
  %t = fadd double %s, %w
  %next = add nuw nsw i32 %i, 1
  %more = icmp slt i32 %next, %n
  br i1 %more, label %loop, label %done, !llvm.loop !0
done:
  %r = phi double [ 0.0, %entry ], [ %t, %loop ]
  store double %r, ptr %out, align 8
  ret void
}}
!0 = distinct !{{!0, !1}}
!1 = !{{{marks}}}
"#
    )
}

/// Forty operations, which are more than LLVM itself repeats.
fn long_body() -> String {
    let mut body = "  %w0 = fmul double %v, %v\n".to_owned();
    for k in 1..40 {
        body += &format!("  %w{k} = fmul double %w{}, %v\n", k - 1);
    }
    body + "  %w = fmul double %w39, %v"
}

#[test]
fn innermost_loops_go_four_rounds_at_once() {
    let text = sum(&long_body(), "!\"llvm.loop.mustprogress\"");
    let (_, ptx) = both(&text);
    // Four rounds, and three of what is left over, which are no loop. The assembler may repeat the four.
    assert_eq!(count(&ptx, "ld.global"), 7, "{ptx}");
    assert_eq!(count(&ptx, "nounroll"), 0, "{ptx}");
    let kept = ptx_of(&finished(&text, Ptx::Kept));
    assert_eq!(count(&kept, "ld.global"), 1, "{kept}");
}

fn ptx_of(m: &Module) -> String {
    ptx(m, "sm_90").expect("emits")
}

#[test]
fn loops_that_the_source_marks_stay_as_it_says() {
    let short = "  %w = fmul double %v, %v";
    let (_, left) = both(&sum(short, "!\"llvm.loop.unroll.disable\""));
    assert_eq!(count(&left, "ld.global"), 1, "{left}");
    let (_, two) = both(&sum(short, "!\"llvm.loop.unroll.count\", i32 2"));
    assert_eq!(count(&two, "ld.global"), 3, "{two}");
}

/// `i = tid % 8; do { ... } while ((i += 8) < 24)`: three rounds at most.
const SHORT: &str = r#"
define ptx_kernel void @k(ptr %x, i32 %n) {
entry:
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %from = and i32 %tid, 7
  br label %loop
loop:
  %i = phi i32 [ %from, %entry ], [ %next, %loop ]
  %at = zext nneg i32 %i to i64
  %p = getelementptr inbounds double, ptr %x, i64 %at
  %v = load double, ptr %p, align 8
  %w = fmul double %v, %v
  store double %w, ptr %p, align 8
  %next = add nuw nsw i32 %i, 8
  %more = icmp samesign ult i32 %i, 16
  br i1 %more, label %loop, label %done
done:
  ret void
}
"#;

#[test]
fn short_loops_become_straight() {
    let (ir, ptx) = both(SHORT);
    assert!(!ir.contains("phi"), "{ir}");
    assert_eq!(count(&ptx, "ld.global"), 3, "{ptx}");
}

/// Twenty-four elements of a variable, written in one loop and read in another.
const TABLE: &str = r#"
define ptx_kernel void @k(ptr noalias readonly %x, ptr noalias %out, i64 %n) {
entry:
  %a = alloca [24 x double], align 8
  br label %first
first:
  %i = phi i64 [ 0, %entry ], [ %i1, %first ]
  %m = mul i64 %i, %n
  %p = getelementptr inbounds double, ptr %x, i64 %m
  %v = load double, ptr %p, align 8
  %v2 = fmul double %v, %v
  %v3 = fmul double %v2, %v
  %v4 = fmul double %v3, %v2
  %v5 = fadd double %v4, %v3
  %v6 = fadd double %v5, %v2
  %v7 = fmul double %v6, %v4
  %v8 = fmul double %v7, %v5
  %e = getelementptr inbounds double, ptr %a, i64 %i
  store double %v8, ptr %e, align 8
  %i1 = add nuw nsw i64 %i, 1
  %c = icmp ult i64 %i1, 24
  br i1 %c, label %first, label %second
second:
  %j = phi i64 [ 0, %first ], [ %j1, %second ]
  %f = getelementptr inbounds double, ptr %a, i64 %j
  %w = load double, ptr %f, align 8
  %w2 = fmul double %w, %w
  %w3 = fadd double %w, %w2
  %w4 = fmul double %w3, %w3
  %w5 = fadd double %w4, %w2
  %w6 = fadd double %w5, %w4
  %w7 = fmul double %w6, %w5
  %w8 = fmul double %w7, %w6
  %o = getelementptr inbounds double, ptr %out, i64 %j
  store double %w8, ptr %o, align 8
  %j1 = add nuw nsw i64 %j, 1
  %d = icmp ult i64 %j1, 24
  br i1 %d, label %second, label %done
done:
  ret void
}
"#;

#[test]
fn arrays_that_loops_step_through_are_registers() {
    let (_, ptx) = both(TABLE);
    assert!(!ptx.contains(".local"), "{ptx}");
    // All of them by the read-only cache, though each address comes from the one before.
    assert_eq!(count(&ptx, "ld.global.nc"), 24, "{ptx}");
}

#[test]
fn many_rounds_left_over_stay_a_loop() {
    let (_, ptx) = both(&sum(
        "  %w = fmul double %v, %v",
        "!\"llvm.loop.mustprogress\"",
    ));
    // Eight rounds by LLVM itself, and one, which the assembler may not repeat.
    assert_eq!(count(&ptx, "ld.global"), 9, "{ptx}");
    assert_eq!(count(&ptx, "nounroll"), 1, "{ptx}");
}

/// A variable that is indexed by what is not known, so that it stays in memory; `body` comes before that.
fn indexed(body: &str) -> String {
    format!(
        r#"
define ptx_kernel void @k(ptr noalias readonly %x, ptr noalias %out, i64 %n) {{
entry:
  %a = alloca [512 x double], align 8
{body}
done:
  %e = getelementptr inbounds double, ptr %a, i64 %n
  %r = load double, ptr %e, align 8
  store double %r, ptr %out, align 8
  ret void
}}
"#
    )
}

#[test]
fn neighbours_in_arrays_of_a_thread_move_together() {
    let mut body = String::new();
    for k in 0..8 {
        body += &format!(
            "  %p{k} = getelementptr inbounds double, ptr %x, i64 {}\n",
            3 * k
        );
        body += &format!("  %v{k} = load double, ptr %p{k}, align 8\n");
        body += &format!("  %q{k} = getelementptr inbounds double, ptr %a, i64 {k}\n");
        body += &format!("  store double %v{k}, ptr %q{k}, align 8\n");
    }
    let (ir, ptx) = both(&indexed(&(body + "  br label %done")));
    assert_eq!(count(&ptx, "st.local.v2.b64"), 4, "{ptx}");
    assert_eq!(count(&ptx, "st.local"), 4, "{ptx}");
    // The CPU's code starts from the module, which says what the source says.
    assert!(ir.contains("alloca [512 x double], align 8"), "{ir}");
}

#[test]
fn loops_with_many_accesses_keep_arrays_in_registers() {
    let mut body =
        "  br label %loop\nloop:\n  %i = phi i64 [ 0, %entry ], [ %i1, %loop ]\n".to_owned();
    // Three times the same 70 loads, since others may have written in between: more than LLVM's own limit.
    let mut sum = "0.0".to_owned();
    for round in 0..3 {
        for k in 0..70 {
            let n = 70 * round + k;
            body += &format!("  %p{n} = getelementptr double, ptr %x, i64 {k}\n");
            body += &format!("  %v{n} = load double, ptr %p{n}, align 8\n");
            body += &format!("  %t{n} = fmul double %v{n}, {sum}\n");
            sum = format!("%t{n}");
        }
        body += "  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)\n";
    }
    for k in 0..50 {
        body += &format!("  %q{k} = getelementptr inbounds double, ptr %a, i64 {k}\n");
        body += &format!("  %o{k} = load double, ptr %q{k}, align 8\n");
        body += &format!("  %s{k} = fadd double %o{k}, {sum}\n");
        body += &format!("  store double %s{k}, ptr %q{k}, align 8\n");
    }
    body += "  %i1 = add nuw nsw i64 %i, 1\n  %c = icmp ult i64 %i1, %n\n  br i1 %c, label %loop, label %done";
    let text = indexed(&body).replace("ptr noalias readonly %x", "ptr %x")
        + "declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)\n";
    let (ir, _) = both(&text);
    let label = |l: &&str| l.ends_with(':') || l.contains(":  ");
    let first = ir.lines().position(|l| l.contains("fadd")).expect("adds");
    let body: Vec<&str> = ir.lines().skip(first).take_while(|l| !label(l)).collect();
    assert_eq!(count(&body.join("\n"), "fadd"), 50, "{ir}");
    assert_eq!(count(&body.join("\n"), "store double"), 0, "{ir}");
}

/// `for j < 8: for i in j + 1 .. 8: a[i] -= a[j]`, over a variable.
const TRIANGLE: &str = r#"
define ptx_kernel void @k(ptr noalias readonly %x, ptr noalias %out) {
entry:
  %a = alloca [8 x double], align 8
  br label %first
first:
  %l = phi i64 [ 0, %entry ], [ %l1, %first ]
  %p = getelementptr inbounds double, ptr %x, i64 %l
  %v = load double, ptr %p, align 8
  %q = getelementptr inbounds double, ptr %a, i64 %l
  store double %v, ptr %q, align 8
  %l1 = add nuw nsw i64 %l, 1
  %more = icmp ult i64 %l1, 8
  br i1 %more, label %first, label %rows
rows:
  %j = phi i64 [ 0, %first ], [ %j1, %end ]
  %j1 = add nuw nsw i64 %j, 1
  %pivot = getelementptr inbounds double, ptr %a, i64 %j
  %d = load double, ptr %pivot, align 8
  %any = icmp ult i64 %j, 7
  br i1 %any, label %row, label %end
row:
  %i = phi i64 [ %j1, %rows ], [ %i1, %row ]
  %e = getelementptr inbounds double, ptr %a, i64 %i
  %w = load double, ptr %e, align 8
  %z0 = fmul double %d, %d
  %z1 = fmul double %z0, %w
  %z2 = fmul double %z1, %z0
  %z3 = fmul double %z2, %z1
  %z4 = fmul double %z3, %z2
  %z5 = fmul double %z4, %z3
  %z6 = fmul double %z5, %z4
  %z7 = fmul double %z6, %z5
  %z8 = fmul double %z7, %z6
  %s = fsub double %w, %z8
  store double %s, ptr %e, align 8
  %i1 = add nuw nsw i64 %i, 1
  %again = icmp ult i64 %i1, 8
  br i1 %again, label %row, label %end
end:
  %next = icmp ult i64 %j1, 8
  br i1 %next, label %rows, label %last
last:
  %k = phi i64 [ 0, %end ], [ %k1, %last ]
  %g = getelementptr inbounds double, ptr %a, i64 %k
  %r = load double, ptr %g, align 8
  %o = getelementptr inbounds double, ptr %out, i64 %k
  store double %r, ptr %o, align 8
  %k1 = add nuw nsw i64 %k, 1
  %c = icmp ult i64 %k1, 8
  br i1 %c, label %last, label %done
done:
  ret void
}
"#;

#[test]
fn triangles_over_arrays_are_registers() {
    let (_, ptx) = both(TRIANGLE);
    assert!(!ptx.contains(".local"), "{ptx}");
}

/// An outer loop that asks `n & 3 == 0` after an inner one, which may not be unrolled.
const ASKS_AFTER: &str = r#"
define ptx_kernel void @k(ptr noalias %x, i32 %n, i32 %m) {
entry:
  %rest = and i32 %n, 3
  br label %outer
outer:
  %i = phi i32 [ 0, %entry ], [ %i2, %latch ]
  br label %inner
inner:
  %j = phi i32 [ 0, %outer ], [ %j2, %inner ]
  %s = phi float [ 0.0, %outer ], [ %t, %inner ]
  %at = zext i32 %j to i64
  %p = getelementptr inbounds float, ptr %x, i64 %at
  %v = load volatile float, ptr %p, align 4
  %t = fadd float %s, %v
  %j2 = add nuw nsw i32 %j, 1
  %more = icmp slt i32 %j2, %m
  br i1 %more, label %inner, label %after, !llvm.loop !0
after:
  %none = icmp eq i32 %rest, 0
  br i1 %none, label %latch, label %write
write:
  store volatile float %t, ptr %x, align 4
  br label %latch
latch:
  %i2 = add nuw nsw i32 %i, 1
  %again = icmp slt i32 %i2, %n
  br i1 %again, label %outer, label %done, !llvm.loop !1
done:
  ret void
}
!0 = distinct !{!0, !2}
!1 = distinct !{!1, !2}
!2 = !{!"llvm.loop.unroll.disable"}
"#;

#[test]
fn comparisons_stay_behind_inner_loops() {
    let ptx =
        ptx_of(&Module::parse(format!("{HEAD}{ASKS_AFTER}").as_bytes(), "asks").expect("parses"));
    let inner = ptx.find("ld.volatile").expect("the inner loop");
    let asks = ptx
        .find("setp.eq")
        .or(ptx.find("setp.ne"))
        .expect("the comparison");
    assert!(asks > inner, "{ptx}");
}

#[test]
fn bf16_is_compared_as_f32_where_subnormals_are_flushed() {
    let body = "define ptx_kernel void @k(ptr addrspace(1) %p, bfloat %a, bfloat %b) {
        %x = fcmp olt bfloat %a, %b
        %s = zext i1 %x to i32
        store i32 %s, ptr addrspace(1) %p
        ret void
      }";
    let text = |ftz: bool| {
        let m = Module::parse(format!("{HEAD}{body}").as_bytes(), "compare").expect("parses");
        let reflect = Reflect {
            ftz,
            ..Reflect::default()
        };
        finish_with(&m, &[], "sm_90", reflect, Ptx::Lifted).expect("finishes");
        ptx(&m, "sm_90").expect("emits")
    };
    let flushed = text(true);
    assert_eq!(count(&flushed, "setp.lt.ftz.f32"), 1, "{flushed}");
    assert_eq!(count(&flushed, ".ftz.bf16"), 0, "{flushed}");
    assert_eq!(count(&text(false), "setp.lt.bf16"), 1);
}
