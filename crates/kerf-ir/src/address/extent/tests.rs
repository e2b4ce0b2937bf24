use super::*;

pub(super) fn extents_of(body: &str, params: &str) -> Extents {
    let text = format!(
        r#"target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.tid.y()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.y()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.y()
declare i32 @llvm.umax.i32(i32, i32)
define ptx_kernel void @k({params}) {{
  %tx = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %cx = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %nx = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %bx = mul i32 %cx, %nx
  %x = add i32 %bx, %tx
  %ty = call i32 @llvm.nvvm.read.ptx.sreg.tid.y()
  %cy = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.y()
  %ny = call i32 @llvm.nvvm.read.ptx.sreg.ntid.y()
  %by = mul i32 %cy, %ny
  %y = add i32 %by, %ty
{body}
}}
"#
    );
    let m = Module::parse(text.as_bytes(), "k").expect("IR");
    extents(&m, m.function("k").expect("a kernel"))
}

fn name(s: Symbol) -> String {
    match s {
        Symbol::Parameter(p) => ["p", "n", "m"][p].into(),
        s => format!("{s:?}"),
    }
}

#[test]
fn rows_and_columns() {
    let e = extents_of(
        "  %in = icmp slt i32 %x, %n
  %in2 = icmp slt i32 %y, %m
  %ok = and i1 %in, %in2
  br i1 %ok, label %do, label %end
do:
  %row = mul i32 %y, %n
  %at = add i32 %row, %x
  %wide = sext i32 %at to i64
  %q = getelementptr double, ptr %p, i64 %wide
  store double 0.0, ptr %q
  br label %end
end:
  ret void",
        "ptr %p, i32 %n, i32 %m",
    );
    let r = &e.reach[&PointerSource::Parameter(0)];
    assert_eq!((r.read, r.written), (false, true));
    let len = r.bytes.as_ref().expect("known").divided(8);
    assert_eq!(len.text(name), "n * m");
    let ends = e.threads.map(|t| t.map(|t| t.text(name)));
    assert_eq!(ends, [Some("n".into()), Some("m".into()), None]);
    assert_eq!(
        e.axes,
        [
            IndexMeaning::Threads,
            IndexMeaning::Threads,
            IndexMeaning::Nothing
        ]
    );
}

#[test]
fn one_comparison_of_both_indices() {
    let e = extents_of(
        "  %more = call i32 @llvm.umax.i32(i32 %x, i32 %y)
  %in = icmp slt i32 %more, %n
  br i1 %in, label %do, label %end
do:
  %row = mul i32 %y, %n
  %at = add i32 %row, %x
  %wide = sext i32 %at to i64
  %q = getelementptr double, ptr %p, i64 %wide
  store double 0.0, ptr %q
  br label %end
end:
  ret void",
        "ptr %p, i32 %n, i32 %m",
    );
    let r = &e.reach[&PointerSource::Parameter(0)];
    let len = r.bytes.as_ref().expect("known").divided(8);
    assert_eq!(len.text(name), "n * n");
    let ends = e.threads.map(|t| t.map(|t| t.text(name)));
    assert_eq!(ends, [Some("n".into()), Some("n".into()), None]);
}

#[test]
fn neighbours_of_the_inside_and_loops() {
    let e = extents_of(
        "  %less = add i32 %n, -1
  %in = icmp slt i32 %x, %less
  br i1 %in, label %loop, label %end
loop:
  %j = phi i32 [ 0, %0 ], [ %next, %loop ]
  %row = mul i32 %j, %n
  %at = add i32 %row, %x
  %right = add i32 %at, 1
  %wide = sext i32 %right to i64
  %q = getelementptr float, ptr %p, i64 %wide
  %v = load float, ptr %q
  %next = add i32 %j, 1
  %more = icmp eq i32 %next, %m
  br i1 %more, label %end, label %loop
end:
  ret void",
        "ptr %p, i32 %n, i32 %m",
    );
    let len = e.reach[&PointerSource::Parameter(0)]
        .bytes
        .as_ref()
        .expect("known")
        .divided(4);
    assert_eq!(len.rounded().text(name), "n * m");
    assert!(
        e.reach[&PointerSource::Parameter(0)].read
            && !e.reach[&PointerSource::Parameter(0)].written
    );
}

#[test]
fn what_comes_from_memory_is_not_known() {
    let e = extents_of(
        "  %wide = sext i32 %x to i64
  %q = getelementptr i32, ptr %p, i64 %wide
  %at = load i32, ptr %q
  %far = sext i32 %at to i64
  %r = getelementptr i32, ptr %p, i64 %far
  store i32 0, ptr %r
  ret void",
        "ptr %p, i32 %n, i32 %m",
    );
    assert_eq!(e.reach[&PointerSource::Parameter(0)].bytes, None);
    assert!(e.reach[&PointerSource::Parameter(0)].index);
}

#[test]
fn a_step_is_a_position() {
    let e = extents_of(
        "  %a = sub i32 %n, %m
  %in = icmp slt i32 %x, %a
  br i1 %in, label %do, label %end
do:
  %at = add i32 %m, %x
  %wide = sext i32 %at to i64
  %q = getelementptr double, ptr %p, i64 %wide
  store double 0.0, ptr %q
  br label %end
end:
  ret void",
        "ptr %p, i32 %n, i32 %m",
    );
    assert_eq!(e.positions, [2]);
    let len = e.reach[&PointerSource::Parameter(0)]
        .bytes
        .as_ref()
        .expect("known")
        .divided(8);
    assert_eq!(len.text(name), "n");
}

#[test]
fn a_block_size_in_the_code_is_seen_and_copies_count() {
    let e = extents_of(
        "  %tile = shl i32 %cx, 5
  %i = or disjoint i32 %tile, %tx
  %in = icmp slt i32 %i, %n
  br i1 %in, label %do, label %end
do:
  %wide = sext i32 %i to i64
  %q = getelementptr { double, double }, ptr %p, i64 %wide
  call void @llvm.memcpy.p0.p0.i64(ptr %q, ptr %r, i64 16, i1 false)
  br label %end
end:
  ret void
}
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
define void @unused() {
  ret void",
        "ptr %p, i32 %n, ptr %r",
    );
    assert_eq!(e.made_for, [Some(32), None, None]);
    assert_eq!(
        e.threads[0].as_ref().map(|t| t.text(name)).as_deref(),
        Some("n")
    );
    assert_eq!(
        (
            e.reach[&PointerSource::Parameter(0)].read,
            e.reach[&PointerSource::Parameter(0)].written
        ),
        (false, true)
    );
    assert_eq!(
        (
            e.reach[&PointerSource::Parameter(2)].read,
            e.reach[&PointerSource::Parameter(2)].written
        ),
        (true, false)
    );
    let len = e.reach[&PointerSource::Parameter(0)]
        .bytes
        .as_ref()
        .expect("known")
        .divided(16);
    assert_eq!(len.text(name), "n");
}

#[test]
fn a_warp_for_each_row() {
    let e = extents_of(
        "  %row = lshr i32 %x, 5
  %in = icmp slt i32 %row, %n
  br i1 %in, label %do, label %end
do:
  %wide = sext i32 %row to i64
  %q = getelementptr double, ptr %p, i64 %wide
  store double 0.0, ptr %q
  br label %end
end:
  ret void",
        "ptr %p, i32 %n, i32 %m",
    );
    let threads = e.threads[0].as_ref().map(|t| t.text(name));
    assert_eq!(threads.as_deref(), Some("32 * n"));
    let len = e.reach[&PointerSource::Parameter(0)]
        .bytes
        .as_ref()
        .expect("known")
        .divided(8);
    assert_eq!(len.text(name), "n");
}

#[test]
fn what_indices_stand_for() {
    let e = extents_of(
        "  %row = mul i32 %cx, %n
  %at = add i32 %row, %tx
  %wide = sext i32 %at to i64
  %q = getelementptr double, ptr %p, i64 %wide
  store double 0.0, ptr %q
  ret void",
        "ptr %p, i32 %n, i32 %m",
    );
    // The thread's index among all is computed, if not used.
    assert_eq!(e.axes[0], IndexMeaning::Threads);
    assert_eq!(e.unused, [2]);
    let text = r#"target triple = "nvptx64-nvidia-cuda"
@table = addrspace(4) global [6 x [7 x double]] zeroinitializer
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.y()
declare i32 @llvm.nvvm.read.ptx.sreg.tid.z()
define ptx_kernel void @k(ptr %p, i32 %n, i32 %m) {
  %tx = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %cx = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %cy = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.y()
  %tz = call i32 @llvm.nvvm.read.ptx.sreg.tid.z()
  %row = mul i32 %cx, %n
  %at = add i32 %row, %tx
  %more = add i32 %at, %tz
  %wide = sext i32 %more to i64
  %q = getelementptr double, ptr %p, i64 %wide
  %y = zext i32 %cy to i64
  %t = getelementptr [7 x double], ptr addrspace(4) @table, i64 %y
  %v = load double, ptr addrspace(4) %t
  store double %v, ptr %q
  ret void
}
"#;
    let m = Module::parse(text.as_bytes(), "k").expect("IR");
    let e = extents(&m, m.function("k").expect("a kernel"));
    assert_eq!(
        e.axes,
        [
            IndexMeaning::Shared,
            IndexMeaning::Blocks,
            IndexMeaning::Within
        ]
    );
    let ends = e.threads.map(|t| t.map(|t| t.text(name)));
    assert_eq!(ends, [None, Some("6".into()), None]);
    assert!(!e.warps);
}
