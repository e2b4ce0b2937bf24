//! Values that must keep their bits: those that addresses, trip counts, and branches around barriers are computed from.
//!
//! What reaches them through memory is not followed: such a program is judged by its outputs, like every other.
use kerf_llvm::{Block, Opcode, Value};
use std::collections::{BTreeMap, BTreeSet};

/// The control-flow graph of a function.
struct Flow {
    blocks: Vec<Block>,
    successors: Vec<Vec<usize>>,
}

impl Flow {
    fn new(f: Value) -> Flow {
        let blocks = f.blocks();
        let number: BTreeMap<Block, usize> =
            blocks.iter().enumerate().map(|(k, b)| (*b, k)).collect();
        let next = |b: &Block| {
            let all = b.terminator().map(|t| t.successors()).unwrap_or_default();
            all.iter().map(|s| number[s]).collect()
        };
        Flow {
            successors: blocks.iter().map(next).collect(),
            blocks,
        }
    }

    /// Blocks that can be reached from the successors of a block without passing `but`.
    fn reached(&self, from: usize, but: Option<usize>) -> BTreeSet<usize> {
        let mut seen = BTreeSet::new();
        let mut left = self.successors[from].clone();
        while let Some(b) = left.pop() {
            if Some(b) != but && seen.insert(b) {
                left.extend(&self.successors[b]);
            }
        }
        seen
    }

    /// Does the branch at the end of a block decide how often a loop runs? One of its ways leads back, another does not.
    fn leaves_loop(&self, b: usize) -> bool {
        let back = |s: &usize| *s == b || self.reached(*s, None).contains(&b);
        let all = &self.successors[b];
        all.iter().any(back) && !all.iter().all(back)
    }

    /// Does the branch at the end of a block decide whether a block with a barrier is reached? It does if one can be
    /// reached, and missed.
    fn guards(&self, b: usize, barriers: &[usize]) -> bool {
        let ends = |k: &usize| self.successors[*k].is_empty();
        let reached = self.reached(b, None);
        barriers.iter().any(|x| {
            *x != b && reached.contains(x) && {
                let around = self.reached(b, Some(*x));
                around.iter().any(ends) || around.contains(&b)
            }
        })
    }
}

/// Does an instruction make the threads of a warp or block meet? Functions that were not inlined, and assembly, may.
fn meets(i: Value) -> bool {
    if i.opcode() != Some(Opcode::LLVMCall) {
        return false;
    }
    let Some(name) = i.callee_name() else {
        return true;
    };
    if name.starts_with("__nv_") {
        return false;
    }
    let Some(n) = name.strip_prefix("llvm.") else {
        return true;
    };
    let meetings = [
        "bar", "shfl", "vote", "match", "redux", "wmma", "mma", "elect",
    ];
    n.strip_prefix("nvvm.")
        .is_some_and(|n| meetings.iter().any(|m| n.starts_with(m)))
}

/// Values that decide where memory is accessed, or which way threads go where that matters.
fn deciding(f: Value) -> Vec<Value> {
    use Opcode::*;
    let flow = Flow::new(f);
    let mut out = Vec::new();
    let mut barriers = Vec::new();
    for (k, b) in flow.blocks.iter().enumerate() {
        for i in b.instructions() {
            match i.opcode() {
                Some(LLVMGetElementPtr | LLVMIntToPtr | LLVMAlloca) => out.extend(i.operands()),
                _ if meets(i) && !barriers.contains(&k) => barriers.push(k),
                _ => {}
            }
        }
    }
    for (k, b) in flow.blocks.iter().enumerate() {
        let Some(t) = b.terminator().filter(|t| t.successors().len() > 1) else {
            continue;
        };
        if flow.leaves_loop(k) || flow.guards(k, &barriers) {
            out.push(t.operand(0));
        }
    }
    out
}

/// Everything that the deciding values of a kernel are computed from, memory apart.
pub(crate) fn barred(kernel: Value) -> BTreeSet<Value> {
    let mut seen: BTreeSet<Value> = BTreeSet::new();
    let mut left = deciding(kernel);
    while let Some(v) = left.pop() {
        if !v.is_instruction() || !seen.insert(v) {
            continue;
        }
        match v.opcode() {
            Some(Opcode::LLVMLoad) => {}
            // Which value a phi has is decided by branches before it.
            Some(Opcode::LLVMPHI) => {
                for (value, from) in v.incoming() {
                    left.push(value);
                    let branch = from.terminator().filter(|t| t.successors().len() > 1);
                    left.extend(branch.map(|t| t.operand(0)));
                }
            }
            _ => left.extend(v.operands()),
        }
    }
    seen
}
