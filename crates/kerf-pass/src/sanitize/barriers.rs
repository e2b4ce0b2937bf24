//! Barriers that threads can pass by.
//!
//! A thread that has returned counts as arrived (CUDA C++ Programming Guide, compute capability 7.0 and later), so `if (i >= n) return;` before
//! a barrier is no error. A thread that bypasses a barrier and then does what all others do behind it is one: the
//! barrier did not keep it in step, and only its return let the others go on.
use kerf_llvm::{Block, Opcode, Value};
use std::collections::BTreeSet;

fn successors(b: Block) -> Vec<Block> {
    b.terminator().map(|t| t.successors()).unwrap_or_default()
}

fn is_barrier(i: Value) -> bool {
    i.callee_name()
        .is_some_and(|n| n.starts_with("llvm.nvvm.barrier"))
}

/// Blocks that can be reached from one, itself included.
fn reachable(from: Block) -> BTreeSet<Block> {
    reachable_around(from, None)
}

/// Blocks that can be reached from one without passing another.
fn reachable_around(from: Block, closed: Option<Block>) -> BTreeSet<Block> {
    let (mut seen, mut work) = (BTreeSet::from([from]), vec![from]);
    while let Some(b) = work.pop() {
        for s in successors(b) {
            if Some(s) != closed && seen.insert(s) {
                work.push(s);
            }
        }
    }
    seen
}

/// Blocks that every thread passes on its way from a block to a return: its postdominators.
fn passed_by_all(from: Block) -> BTreeSet<Block> {
    let returns = |b: &Block| b.terminator().and_then(|t| t.opcode()) == Some(Opcode::LLVMRet);
    let around = |b: &Block| reachable_around(from, Some(*b)).iter().any(returns);
    reachable(from)
        .into_iter()
        .filter(|b| *b == from || !around(b))
        .collect()
}

/// Does something that others can notice happen in these blocks?
fn has_effects(blocks: &BTreeSet<Block>) -> bool {
    blocks.iter().flat_map(|b| b.instructions()).any(|i| {
        let call = || {
            i.callee_name().is_none_or(|n| {
                !n.starts_with("llvm.dbg") && !n.starts_with("llvm.lifetime") && !i.ty().is_void()
            })
        };
        match i.opcode() {
            Some(Opcode::LLVMStore | Opcode::LLVMAtomicRMW | Opcode::LLVMAtomicCmpXchg) => true,
            Some(Opcode::LLVMCall) => call(),
            _ => false,
        }
    })
}

/// Blocks whose barrier a thread can miss, and still have effects in code that all others run behind that barrier.
pub(super) fn skippable(f: Value) -> BTreeSet<Block> {
    let blocks = f.blocks();
    let with_barrier: Vec<Block> = blocks
        .iter()
        .copied()
        .filter(|b| b.instructions().into_iter().any(is_barrier))
        .collect();
    if with_barrier.is_empty() {
        return BTreeSet::new();
    }
    let behind: Vec<BTreeSet<Block>> = with_barrier.iter().map(|b| passed_by_all(*b)).collect();
    let mut out = BTreeSet::new();
    for b in blocks {
        let next = successors(b);
        if next.len() < 2 {
            continue;
        }
        let reach: Vec<BTreeSet<Block>> = next.iter().map(|s| reachable(*s)).collect();
        for (barrier, behind) in with_barrier.iter().zip(&behind) {
            let met = reach.iter().any(|r| r.contains(barrier));
            let missed = reach.iter().any(|r| {
                !r.contains(barrier) && has_effects(&r.intersection(behind).copied().collect())
            });
            if met && missed {
                out.insert(*barrier);
            }
        }
    }
    out
}
