//! Shapes on which the analysis once did not end, and arrays that say how large a block is.
use super::tests::extents_of;
use super::*;

fn at(p: usize) -> PointerSource {
    PointerSource::Parameter(p)
}

#[test]
fn loops_over_pointers_end() {
    // `while (p != in && *(p - 1) < *p) --p`: the step comes in first, and leads back to the pointer itself.
    let e = extents_of(
        "  %start = getelementptr float, ptr %p, i32 %x
  br label %head
head:
  %q = phi ptr [ %less, %body ], [ %start, %0 ]
  %there = icmp eq ptr %q, %p
  br i1 %there, label %end, label %body
body:
  %less = getelementptr float, ptr %q, i64 -1
  %a = load float, ptr %less
  %b = load float, ptr %q
  %go = fcmp olt float %a, %b
  br i1 %go, label %head, label %end
end:
  ret void",
        "ptr %p, i32 %n, i32 %m",
    );
    let r = &e.reach[&at(0)];
    assert!(r.read && !r.written && r.bytes.is_none(), "{r:?}");
    // Two that hand their pointers to each other, and know of no beginning.
    let e = extents_of(
        "  br label %head
head:
  %q = phi ptr [ %r, %body ], [ poison, %0 ]
  br label %body
body:
  %r = phi ptr [ %q, %head ]
  store float 0.0, ptr %r
  br label %head",
        "ptr %p, i32 %n, i32 %m",
    );
    assert!(e.reach.is_empty());
}

#[test]
fn long_chains_end() {
    // A walk without a limit has a call on the stack for each of these.
    let mut body = String::from("  %a0 = add i32 %x, 1\n  %b0 = mul i32 %x, %n\n");
    let last = 20_000;
    for k in 1..=last {
        let before = k - 1;
        body += &format!("  %a{k} = add i32 %b{before}, %x\n");
        body += &format!("  %b{k} = mul i32 %a{before}, %b{before}\n");
    }
    body += &format!(
        "  %q = getelementptr float, ptr %p, i32 %a{last}\n  store float 0.0, ptr %q\n  ret void"
    );
    let e = extents_of(&body, "ptr %p, i32 %n, i32 %m");
    assert!(e.reach[&at(0)].written);
    assert_eq!(e.reach[&at(0)].bytes, None);
    // The same for pointers.
    let mut body = String::from("  %q0 = getelementptr float, ptr %p, i32 %x\n");
    for k in 1..=last {
        body += &format!("  %q{k} = getelementptr float, ptr %q{}, i32 %x\n", k - 1);
    }
    body += &format!("  store float 0.0, ptr %q{last}\n  ret void");
    extents_of(&body, "ptr %p, i32 %n, i32 %m");
}

#[test]
fn large_numbers_do_not_overflow() {
    let mut body = String::new();
    let mut last = "%x".to_owned();
    for k in 0..6 {
        body += &format!("  %s{k} = shl i32 {last}, 31\n");
        body += &format!("  %t{k} = add i32 %s{k}, %s{k}\n");
        last = format!("%t{k}");
    }
    body += &format!("  %q = getelementptr float, ptr %p, i32 {last}\n  store float 0.0, ptr %q\n");
    body += &format!("  %c = icmp slt i32 {last}, %n\n  ret void");
    assert!(extents_of(&body, "ptr %p, i32 %n, i32 %m").reach[&at(0)].written);
}

#[test]
fn an_index_has_the_range_of_what_it_indexes() {
    // x[3 * list[i] + 1], and the list's next entry goes through a loop.
    let e = extents_of(
        "  %a = getelementptr i32, ptr %m, i32 %x
  %j = load i32, ptr %a
  %three = mul i32 %j, 3
  %one = add i32 %three, 1
  %q = getelementptr float, ptr %p, i32 %one
  %v = load float, ptr %q
  ret void",
        "ptr %p, i32 %n, ptr %m",
    );
    let list = &e.reach[&at(2)];
    assert!(list.index);
    assert_eq!(list.indexes, [(at(0), 12)]);
}

#[test]
fn members_of_structs_are_pointers_and_sizes() {
    let text = r#"target triple = "nvptx64-nvidia-cuda"
%s = type { ptr, ptr, i32, double }
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
define ptx_kernel void @k(ptr byval(%s) %g) {
  %tx = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %cx = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %nx = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %bx = mul i32 %cx, %nx
  %x = add i32 %bx, %tx
  %np = getelementptr i8, ptr %g, i64 16
  %n = load i32, ptr %np
  %in = icmp slt i32 %x, %n
  br i1 %in, label %do, label %end
do:
  %a = load ptr, ptr %g
  %bp = getelementptr %s, ptr %g, i64 0, i32 1
  %b = load ptr, ptr %bp
  %i = zext i32 %x to i64
  %ai = getelementptr double, ptr %a, i64 %i
  %bi = getelementptr double, ptr %b, i64 %i
  %v = load double, ptr %ai
  store double %v, ptr %bi
  br label %end
end:
  ret void
}
"#;
    let m = Module::parse(text.as_bytes(), "k").expect("IR");
    let e = extents(&m, m.function("k").expect("a kernel"));
    let end = Polynomial::symbol(Symbol::Member(0, 16));
    assert_eq!(e.threads[0], Some(end.clone()));
    let (a, b) = (
        &e.reach[&PointerSource::Member(0, 0)],
        &e.reach[&PointerSource::Member(0, 8)],
    );
    assert_eq!(
        (a.read, a.written, b.read, b.written),
        (true, false, false, true)
    );
    assert_eq!(a.bytes.as_ref().map(|p| p.divided(8)), Some(end));
    assert_eq!(e.reach.len(), 2, "the struct itself is no buffer");
}

/// A kernel with a shared array.
fn with_array(array: &str, body: &str) -> Extents {
    extents_of(
        &format!(
            "{body}\n  ret void\n}}\n@s = internal addrspace(3) global {array} undef\ndefine void @unused() {{\n  ret void"
        ),
        "ptr %p, i32 %n, i32 %m",
    )
}

fn threads(e: &Extents) -> [Option<(i128, bool)>; 3] {
    [0, 1, 2].map(|a| e.filled[a].as_ref().map(|f| (f.threads, f.exact)))
}

#[test]
fn arrays_that_threads_fill_say_how_many_there_are() {
    let own = "  %q = getelementptr float, ptr addrspace(3) @s, i32 %tx
  store float 0.0, ptr addrspace(3) %q\n";
    let first = "  %v = load float, ptr addrspace(3) @s";
    let e = with_array("[64 x float]", &format!("{own}{first}"));
    assert_eq!(threads(&e), [Some((64, true)), None, None]);
    // Each thread reads what it wrote itself: any smaller block does.
    let e = with_array(
        "[64 x float]",
        &format!("{own}  %v = load float, ptr addrspace(3) %q"),
    );
    assert_eq!(threads(&e)[0], Some((64, false)));
    // The kernel asks for the block's size.
    let e = with_array(
        "[64 x float]",
        &format!("{own}{first}\n  %half = lshr i32 %nx, 1"),
    );
    assert_eq!(threads(&e)[0], Some((64, false)));
    // Under a condition on the thread's index the array says nothing.
    let e = with_array(
        "[12 x float]",
        &format!(
            "  %c = icmp ult i32 %tx, 12\n  br i1 %c, label %do, label %end\ndo:\n{own}  br label %end\nend:\n{first}"
        ),
    );
    assert_eq!(threads(&e), [None, None, None]);
    // A border of two on both sides.
    let e = with_array(
        "[36 x float]",
        &format!(
            "  %t2 = add i32 %tx, 2\n  %q = getelementptr float, ptr addrspace(3) @s, i32 %t2\n  store float 0.0, ptr addrspace(3) %q\n{first}"
        ),
    );
    assert_eq!(threads(&e)[0], Some((32, true)));
    // Two elements a thread, a block's size apart.
    let e = with_array(
        "[256 x float]",
        &format!(
            "{own}  %t2 = add i32 %tx, %nx\n  %r = getelementptr float, ptr addrspace(3) @s, i32 %t2\n  store float 0.0, ptr addrspace(3) %r\n{first}"
        ),
    );
    assert_eq!(threads(&e)[0], Some((128, false)));
}

#[test]
fn tiles_say_both_sides() {
    let tile = "  %q = getelementptr [17 x float], ptr addrspace(3) @s, i32 %ty, i32 %tx
  store float 0.0, ptr addrspace(3) %q
  %r = getelementptr [17 x float], ptr addrspace(3) @s, i32 %tx, i32 %ty
  %v = load float, ptr addrspace(3) %r";
    let e = with_array("[16 x [17 x float]]", tile);
    assert_eq!(threads(&e), [Some((16, true)), Some((16, true)), None]);
    let square = tile.replace("17", "32");
    let e = with_array("[32 x [32 x float]]", &square);
    assert_eq!(threads(&e), [Some((32, true)), Some((32, true)), None]);
    // threadIdx.y * blockDim.x + threadIdx.x
    let e = with_array(
        "[128 x float]",
        "  %row = mul i32 %ty, %nx
  %at = add i32 %row, %tx
  %q = getelementptr float, ptr addrspace(3) @s, i32 %at
  store float 0.0, ptr addrspace(3) %q
  %v = load float, ptr addrspace(3) @s",
    );
    let all = e.filled_by_all.expect("an array");
    assert_eq!(
        (all.threads, all.exact, all.array.as_str()),
        (128, true, "s")
    );
}
