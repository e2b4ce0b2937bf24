//! Conditions that an access stands under: threads for which they do not hold do not reach it.
use kerf_llvm::{Block, Opcode, Value};

/// Condition that has to be true, or false, on the way to a block.
pub type Guard = (Value, bool);

/// The conditions of every block of a kernel, in the kernel's order.
///
/// A branch decides about a block where one of its two ways leads to it alone: that way's first block is entered from
/// nowhere else, and lies on every path to the block.
pub fn guards(kernel: Value) -> Vec<Vec<Guard>> {
    let blocks = kernel.blocks();
    let number = |b: &Block| blocks.iter().position(|o| o == b);
    let next: Vec<Vec<usize>> = blocks
        .iter()
        .map(|b| {
            let to = b.terminator().map_or(Vec::new(), |t| t.successors());
            to.iter().filter_map(number).collect()
        })
        .collect();
    let entered = |b: usize| next.iter().flatten().filter(|t| **t == b).count();
    let mut out = vec![Vec::new(); blocks.len()];
    for (from, b) in blocks.iter().enumerate() {
        let Some(t) = b
            .terminator()
            .filter(|t| t.opcode() == Some(Opcode::LLVMBr))
        else {
            continue;
        };
        let [yes, no] = next[from][..] else { continue };
        for (first, holds) in [(yes, true), (no, false)] {
            if yes == no || entered(first) != 1 {
                continue;
            }
            let without = reached(&next, first);
            for (b, all) in out.iter_mut().enumerate() {
                if !without[b] {
                    all.push((t.operand(0), holds));
                }
            }
        }
    }
    out
}

/// Blocks that the kernel's start reaches without one of them.
fn reached(next: &[Vec<usize>], without: usize) -> Vec<bool> {
    let mut seen = vec![false; next.len()];
    let mut open = vec![0];
    while let Some(b) = open.pop() {
        if b == without || std::mem::replace(&mut seen[b], true) {
            continue;
        }
        open.extend(&next[b]);
    }
    seen
}
