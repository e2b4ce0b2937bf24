//! Other blocks along x, of kernels to which the grid is one row of threads: `blockIdx.x * blockDim.x + threadIdx.x` is all
//! that they read of it along x, and the extents of the whole row.
//!
//! The launch alone changes: as many threads in other blocks. So results keep their bits. A row that is no multiple of the
//! new block is launched as it was asked for; the kernel is the same for all blocks.
use crate::block_refusal::BlockRefusal;
use crate::block_role::{plain, uses};
use crate::coarsen::{self, Coarsening};
use crate::registers::{read, reads};
use kerf_ir::kernels::{block_bounds, reachable, used_globals};
use kerf_llvm::{Module, Opcode, Value, space};

/// Most threads of a block.
const MOST: u32 = 1024;

/// Threads of a row whose indices are all numbers of 32 bits with a sign.
const LONGEST_ROW: u64 = i32::MAX as u64;

/// Blocks of `x` threads along x in place of a launch's: grid and block. As they are where the row of threads is no multiple
/// of that, or the block would have too many threads.
pub fn launch(x: u32, grid: [u32; 3], block: [u32; 3]) -> ([u32; 3], [u32; 3]) {
    let row = u64::from(grid[0]) * u64::from(block[0]);
    let threads = [x, block[1], block[2]].map(u64::from);
    let fits = x > 0 && threads.iter().product::<u64>() <= u64::from(MOST) && row <= LONGEST_ROW;
    if !fits || !row.is_multiple_of(u64::from(x)) {
        return (grid, block);
    }
    let blocks = (row / u64::from(x)) as u32;
    ([blocks, grid[1], grid[2]], [x, block[1], block[2]])
}

/// Is a value, but for casts, a read of a register?
fn is_read(v: Value, register: &str) -> bool {
    read(plain(v)).is_some_and(|r| r == register)
}

/// Is an instruction this operation on two registers, in either order?
fn joins(i: Value, operation: Opcode, a: &str, b: &str) -> bool {
    if i.opcode() != Some(operation) {
        return false;
    }
    let (x, y) = (i.operand(0), i.operand(1));
    is_read(x, a) && is_read(y, b) || is_read(x, b) && is_read(y, a)
}

/// Is a value, but for casts, the index of the block's first thread?
fn is_first_thread(v: Value) -> bool {
    joins(plain(v), Opcode::LLVMMul, "ctaid.x", "ntid.x")
}

/// Is an instruction the index of a thread in the row?
fn is_index(i: Value) -> bool {
    if i.opcode() != Some(Opcode::LLVMAdd) {
        return false;
    }
    let (x, y) = (i.operand(0), i.operand(1));
    is_first_thread(x) && is_read(y, "tid.x") || is_first_thread(y) && is_read(x, "tid.x")
}

/// Does a kernel use a read of a register along x for the index of its thread, or the length of the row, alone?
fn counts_threads(i: Value, register: &str) -> bool {
    use Opcode::LLVMMul;
    uses(i).into_iter().all(|(user, _)| match register {
        "tid.x" => is_index(user),
        "ctaid.x" | "ntid.x" if joins(user, LLVMMul, "ctaid.x", "ntid.x") => {
            uses(user).into_iter().all(|(next, _)| is_index(next))
        }
        "ntid.x" | "nctaid.x" => joins(user, LLVMMul, "ntid.x", "nctaid.x"),
        _ => false,
    })
}

/// Why the blocks of a kernel cannot have `x` threads along x; none if they can.
pub fn obstacle(m: &Module, kernel: Value, x: u32) -> Option<BlockRefusal> {
    if !(1..=MOST).contains(&x) {
        return Some(BlockRefusal::Threads { x, most: MOST });
    }
    let bounds = block_bounds(m, kernel);
    if bounds.required.is_some() {
        return Some(BlockRefusal::RequiresOne);
    }
    if let Some(most) = bounds.most.filter(|most| x > *most) {
        return Some(BlockRefusal::Bounds { most });
    }
    // What depends on which threads are in a warp, or on their order, stands against both.
    if let Some(why) = coarsen::obstacle(m, kernel, &Coarsening::blocked(2)) {
        return Some(BlockRefusal::NoRow(why));
    }
    let is_shared = |g: &Value| g.ty().space() == space::SHARED;
    if used_globals(kernel).iter().any(is_shared) {
        return Some(BlockRefusal::SharedMemory);
    }
    let mut called = reachable(kernel).into_iter().flat_map(|f| f.instructions());
    if called.any(|i| i.callee_name().is_some_and(|n| is_barrier(&n))) {
        return Some(BlockRefusal::Barrier);
    }
    let along_x = reads(kernel).into_iter().filter(|(_, r)| r.ends_with(".x"));
    let mut other = along_x.filter(|(i, r)| !counts_threads(*i, r));
    other
        .next()
        .map(|(_, register)| BlockRefusal::Index(register))
}

fn is_barrier(name: &str) -> bool {
    let name = name.strip_prefix("llvm.nvvm.").unwrap_or("");
    name.starts_with("barrier") || name.starts_with("bar.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_that_is_no_multiple_keeps_its_blocks() {
        assert_eq!(launch(64, [3, 2, 1], [128, 1, 1]), ([6, 2, 1], [64, 1, 1]));
        assert_eq!(launch(256, [4, 1, 1], [64, 2, 1]), ([1, 1, 1], [256, 2, 1]));
        for kept in [
            ([3, 1, 1], [100, 1, 1]),
            ([8, 1, 1], [64, 16, 1]),
            ([1 << 28, 1, 1], [64, 1, 1]),
        ] {
            assert_eq!(launch(256, kept.0, kept.1), kept);
        }
    }

    fn refusal(body: &str) -> Option<String> {
        let text = format!(
            r#"
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()
define ptx_kernel void @k(ptr addrspace(1) %p) {{
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %n = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %b = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %g = call i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()
  {body}
  %q = getelementptr i32, ptr addrspace(1) %p, i32 %i
  store i32 1, ptr addrspace(1) %q
  ret void
}}
"#
        );
        let m = Module::parse(text.as_bytes(), "row").expect("a module");
        let k = m.function("k").expect("a kernel");
        obstacle(&m, k, 256).map(|why| why.to_string())
    }

    #[test]
    fn kernels_that_know_a_row_of_threads_alone_take_any_block() {
        let index = "%m = mul i32 %b, %n\n%i = add i32 %t, %m";
        assert_eq!(refusal(index), None);
        let stride = format!("{index}\n%s = mul i32 %n, %g\n%j = add i32 %i, %s");
        assert_eq!(refusal(&stride), None);
        let start = format!("{index}\n%j = add i32 %m, 1");
        assert!(refusal(&start).is_some_and(|w| w.contains("ntid.x") || w.contains("ctaid.x")));
        let within = format!("{index}\n%j = mul i32 %t, 2");
        assert!(refusal(&within).is_some_and(|w| w.contains("tid.x")));
        let blocks = format!("{index}\n%j = add i32 %g, 2");
        assert!(refusal(&blocks).is_some_and(|w| w.contains("nctaid.x")));
    }
}
