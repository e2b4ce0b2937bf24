//! Addresses over the threads of a block: strides, and transactions as formulas give them.
use kerf_ir::address::block::{BlockShape, KernelAccess, references, touched_params};
use kerf_ir::kernels;
use kerf_llvm::Module;

/// A kernel whose load is of type `ty` at element `index`, computed by `body` from %x, %y, %z (thread),
/// %w (an integer argument) and %bx (threads along x).
fn module(ty: &str, body: &str) -> Module {
    let text = format!(
        r#"
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
@fixed = internal addrspace(3) global [64 x float] undef, align 4
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.tid.y()
declare i32 @llvm.nvvm.read.ptx.sreg.tid.z()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
define ptx_kernel void @k(ptr addrspace(1) %a, i32 %w) {{
entry:
  %x = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %y = call i32 @llvm.nvvm.read.ptx.sreg.tid.y()
  %z = call i32 @llvm.nvvm.read.ptx.sreg.tid.z()
  %bx = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  {body}
  %wide = sext i32 %index to i64
  %p = getelementptr {ty}, ptr addrspace(1) %a, i64 %wide
  %v = load {ty}, ptr addrspace(1) %p
  ret void
}}
"#
    );
    Module::parse(text.as_bytes(), "k").expect("a module")
}

fn one(m: &Module, block: [u32; 3], w: Option<i64>) -> (KernelAccess, BlockShape) {
    let shape = BlockShape {
        block,
        grid: [8, 8, 8],
        args: vec![None, w],
    };
    let infos = kernels::kernels(m);
    let f = m.function("k").expect("the kernel");
    let all = references(m, f, &infos[0], &shape);
    (all.into_iter().last().expect("an access"), shape)
}

/// Shapes of W threads, as columns by rows.
fn shapes(threads: u32) -> Vec<[u32; 3]> {
    let columns = [1, 2, 4, 8, 16, 32, 64, 128];
    let all = columns.iter().filter(|n| threads.is_multiple_of(**n));
    all.map(|n| [*n, threads / n, 1]).collect()
}

#[test]
fn consecutive_along_x_costs_rows_times_segments() {
    // A = 1: each of the m rows of n threads touches ceil(n D / 128) segments, rows apart by more.
    let m = module("float", "%r = mul i32 %y, %w\n  %index = add i32 %r, %x");
    for block in shapes(256) {
        let (r, shape) = one(&m, block, Some(4096));
        assert_eq!(
            r.strides(&shape).expect("linear")[..2],
            [
                if block[0] > 1 { 4 } else { 0 },
                if block[1] > 1 { 4 * 4096 } else { 0 }
            ]
        );
        let [n, rows, _] = block.map(u64::from);
        // Of a warp: a row of 32, or 32 / n rows.
        let expected = match n {
            0..32 => rows * (n * 4).div_ceil(128),
            _ => rows * (n * 4) / 128,
        };
        assert_eq!(r.transactions(128), Some(expected), "{block:?}");
    }
}

#[test]
fn consecutive_along_y_prefers_tall_blocks() {
    // B = 1 and A large: each column of the r rows of a warp touches ceil(r D / 128) segments.
    let m = module("double", "%c = mul i32 %x, %w\n  %index = add i32 %c, %y");
    for block in shapes(256) {
        let (r, _) = one(&m, block, Some(4096));
        let n = u64::from(block[0]).min(32);
        let rows = 32 / n;
        let warps = 256 / 32;
        // A column's 8 r bytes begin at a multiple of 8 r, so that they lie in as few segments as possible.
        assert_eq!(
            r.transactions(128),
            Some(warps * n * (rows * 8).div_ceil(128)),
            "{block:?}"
        );
    }
}

#[test]
fn vectors_strides_and_three_dimensions() {
    let m = module("<4 x float>", "%index = add i32 %x, 0");
    assert_eq!(one(&m, [32, 1, 1], None).0.transactions(128), Some(4));
    let m = module("float", "%index = mul i32 %x, 8");
    assert_eq!(one(&m, [32, 1, 1], None).0.transactions(128), Some(8));
    assert_eq!(one(&m, [32, 1, 1], None).0.transactions(32), Some(32));
    let m = module(
        "float",
        "%s = mul i32 %z, 1024\n  %r = mul i32 %y, 64\n  %t = add i32 %s, %r\n  %index = add i32 %t, %x",
    );
    let (r, shape) = one(&m, [8, 2, 2], None);
    assert_eq!(r.strides(&shape), Some([4, 256, 4096]));
    assert_eq!(r.transactions(128), Some(4));
}

#[test]
fn what_is_not_linear_is_still_counted() {
    // x / 4 and x % 4: four lines of four neighbours.
    let m = module(
        "float",
        "%q = udiv i32 %x, 4\n  %m = urem i32 %x, 4\n  %s = mul i32 %q, 1000\n  %index = add i32 %s, %m",
    );
    let (r, shape) = one(&m, [16, 1, 1], None);
    assert_eq!(r.strides(&shape), None);
    assert_eq!(r.transactions(128), Some(4));
}

#[test]
fn a_factor_that_nobody_knows_leaves_the_address_unknown() {
    let m = module("float", "%r = mul i32 %y, %w\n  %index = add i32 %r, %x");
    assert!(one(&m, [32, 1, 1], None).0.offsets.is_some());
    assert!(one(&m, [16, 2, 1], None).0.offsets.is_none());
}

#[test]
fn a_loop_stands_at_its_first_turn() {
    let text = r#"
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
define ptx_kernel void @k(ptr addrspace(1) %a, i32 %w) {
entry:
  %x = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  br label %loop
loop:
  %i = phi i32 [ %x, %entry ], [ %next, %loop ]
  %wide = sext i32 %i to i64
  %p = getelementptr double, ptr addrspace(1) %a, i64 %wide
  %v = load double, ptr addrspace(1) %p
  %next = add i32 %i, 32
  %go = icmp slt i32 %next, %w
  br i1 %go, label %loop, label %out
out:
  ret void
}
"#;
    let m = Module::parse(text.as_bytes(), "k").expect("a module");
    let (r, shape) = one(&m, [32, 1, 1], Some(1000));
    assert_eq!(r.depth, 1);
    assert_eq!(r.strides(&shape), Some([8, 0, 0]));
    assert_eq!(r.transactions(128), Some(2));
}

/// A kernel that adds the upper half of a shared array of 64 floats to its lower half, then stores a float of `%a`'s to
/// `%b`.
fn halves(condition: &str) -> Module {
    let text = format!(
        r#"
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
@fixed = internal addrspace(3) global [64 x float] undef, align 4
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
define ptx_kernel void @k(ptr addrspace(1) %a, ptr addrspace(1) %b, i32 %w) {{
entry:
  %x = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %n = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %half = lshr i32 %n, 1
  %c = icmp {condition}
  br i1 %c, label %then, label %done
then:
  %far = add i32 %x, %half
  %p = getelementptr [64 x float], ptr addrspace(3) @fixed, i32 0, i32 %far
  %v = load float, ptr addrspace(3) %p
  br label %done
done:
  %u = load float, ptr addrspace(1) %a
  store float %u, ptr addrspace(1) %b
  ret void
}}
"#
    );
    Module::parse(text.as_bytes(), "k").expect("a module")
}

#[test]
fn threads_that_a_condition_keeps_away_reach_nothing() {
    let reach = |condition: &str, threads: u32| {
        let m = halves(condition);
        let shape = BlockShape {
            block: [threads, 1, 1],
            grid: [8, 1, 1],
            args: vec![None, None, None],
        };
        let f = m.function("k").expect("the kernel");
        let all = references(&m, f, &kernels::kernels(&m)[0], &shape);
        let shared = all.into_iter().find(|r| r.shared);
        shared.expect("the shared access").reach
    };
    assert_eq!(reach("ult i32 %x, %half", 64), Some(256));
    assert_eq!(reach("ult i32 %x, %half", 128), Some(512));
    assert_eq!(reach("uge i32 %x, %half", 64), Some(384));
    // No thread gets there; what a condition is can be unknown.
    assert_eq!(reach("ugt i32 %x, %n", 64), None);
    assert_eq!(reach("ult i32 %x, %w", 64), None);
}

#[test]
fn parameters_say_what_is_written() {
    let m = halves("ult i32 %x, %half");
    let f = m.function("k").expect("the kernel");
    let all = touched_params(&m, f).expect("all are parameters");
    assert_eq!(all.into_iter().collect::<Vec<_>>(), [(0, false), (1, true)]);
}

#[test]
fn long_chains_of_operations_end() {
    // Each was a call on the stack.
    let mut body = String::from("%a0 = add i32 %x, 1\n");
    for k in 1..20_000 {
        body += &format!("  %a{k} = xor i32 %a{}, %y\n", k - 1);
    }
    body += "  %index = add i32 %a19999, 1";
    let (r, _) = one(&module("float", &body), [32, 1, 1], None);
    assert_eq!(r.transactions(128), None);
}
