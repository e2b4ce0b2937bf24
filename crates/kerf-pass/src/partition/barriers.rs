//! Would two versions of a kernel reach the same barriers?
//!
//! They do if no barrier depends on a value that they compute differently: neither on a branch over such a
//! value, nor on one over a value that was chosen by such a branch. What is read from memory is the same for
//! both, as every thread reads what was written there, by whichever version.
use super::refusal::PartitionRefusal;
use crate::at_line::AtLine;
use kerf_ir::kernels::reachable;
use kerf_llvm::{Block, Opcode, Value};
use std::collections::{BTreeMap, BTreeSet};

fn is_barrier(i: Value) -> bool {
    let name = i.callee_name().unwrap_or_default();
    let n = name.strip_prefix("llvm.nvvm.").unwrap_or_default();
    let warp = n.starts_with("bar.warp");
    !warp && (n.starts_with("barrier") || n.starts_with("bar."))
}

/// Branches that decide whether a block is reached: Ferrante, Ottenstein and Warren (1987), by sets of
/// postdominators.
struct Control {
    blocks: Vec<Block>,
    number: BTreeMap<Block, usize>,
    /// Blocks whose terminator a block depends on.
    on: Vec<BTreeSet<usize>>,
}

impl Control {
    fn from_function(f: Value) -> Control {
        let blocks = f.blocks();
        let number: BTreeMap<Block, usize> = blocks.iter().copied().zip(0..).collect();
        let next: Vec<Vec<usize>> = blocks
            .iter()
            .map(|b| b.terminator().map(Value::successors).unwrap_or_default())
            .map(|s| s.iter().map(|b| number[b]).collect())
            .collect();
        // What is on every way from a block to the end, itself included.
        let all: BTreeSet<usize> = (0..blocks.len()).collect();
        let mut after = vec![all; blocks.len()];
        let mut changed = true;
        while changed {
            changed = false;
            for k in (0..blocks.len()).rev() {
                let mut new = next[k]
                    .iter()
                    .map(|s| after[*s].clone())
                    .reduce(|a, b| a.intersection(&b).copied().collect())
                    .unwrap_or_default();
                new.insert(k);
                changed |= new != after[k];
                after[k] = new;
            }
        }
        let mut on = vec![BTreeSet::new(); blocks.len()];
        for k in 0..blocks.len() {
            for s in next[k].iter().filter(|_| next[k].len() > 1) {
                for b in &after[*s] {
                    // Reached by this way out, but not by every one.
                    if *b == k || !after[k].contains(b) {
                        on[*b].insert(k);
                    }
                }
            }
        }
        Control { blocks, number, on }
    }

    /// Conditions that a block, or a choice between ways into it, depends on.
    fn conditions(&self, k: usize) -> impl Iterator<Item = Value> {
        self.on[k]
            .iter()
            .filter_map(|c| self.blocks[*c].terminator())
            .filter_map(|t| t.operands().first().copied())
    }
}

/// The reason why a barrier may be reached by one version and not by the other, if there is one.
pub(super) fn check(kernel: Value, differ: &[Value]) -> Result<(), PartitionRefusal> {
    if differ.is_empty() {
        return Ok(());
    }
    for g in reachable(kernel).into_iter().filter(|g| *g != kernel) {
        if let Some(i) = g.instructions().into_iter().find(|i| is_barrier(*i)) {
            return Err(PartitionRefusal::BarrierInFunction {
                function: kerf_llvm::demangle(&g.name()),
                at: AtLine::new(i),
            });
        }
    }
    let all = kernel.instructions();
    let barriers: Vec<Value> = all.into_iter().filter(|i| is_barrier(*i)).collect();
    if barriers.is_empty() {
        return Ok(());
    }
    let control = Control::from_function(kernel);
    let differ: BTreeSet<Value> = differ.iter().copied().collect();
    let inside = |g: Value| {
        let body: BTreeSet<Value> = reachable(g).into_iter().collect();
        differ.iter().any(|i| body.contains(&i.block().function()))
    };
    for barrier in barriers {
        let mut seen: BTreeSet<Value> = BTreeSet::new();
        let mut next: Vec<Value> = control
            .conditions(control.number[&barrier.block()])
            .collect();
        while let Some(v) = next.pop() {
            if !v.is_instruction() || !seen.insert(v) {
                continue;
            }
            let callee = (v.opcode() == Some(Opcode::LLVMCall)).then(|| v.callee());
            let called =
                callee.is_some_and(|c| c.is_function() && !c.is_declaration() && inside(c));
            if differ.contains(&v) || called {
                return Err(PartitionRefusal::BarrierDepends {
                    barrier: AtLine::new(barrier),
                    value: AtLine::new(v),
                });
            }
            next.extend(v.operands());
            if v.opcode() == Some(Opcode::LLVMPHI) {
                for (_, from) in v.incoming() {
                    let k = control.number[&from];
                    next.extend(control.conditions(k));
                    next.extend(
                        from.terminator()
                            .and_then(|t| t.operands().first().copied()),
                    );
                }
            }
        }
    }
    Ok(())
}
