//! Kernels whose threads do the work of several: their machine code is read beside the counts of the kernel as it is.
//!
//! Lines are numbered before a kernel is coarsened, so that each copy of an operation has the line of the operation that was
//! counted: copies look like those of an unrolled loop. The code that runs where addresses are not aligned, or where copies
//! diverge, has lines beyond [`FALLBACK_LINES`]; it is taken not to be executed. A kernel whose warps diverge there has no
//! prediction.
use super::elements::{Elements, FALLBACK_LINES};
use super::executions::SourceBlock;
use crate::cost::CostError;
use kerf_llvm::{Block, Module, Value};
use kerf_pass::coarsen::Coarsening;
use kerf_pass::count::LaunchCounts;
use kerf_pass::{Plan, PlanError};
use std::collections::{BTreeMap, BTreeSet};

/// Names of blocks that begin such code, as the pass gives them: accesses element by element, and copies one after the other.
const UNALIGNED: &str = "kerf.other";
const DIVERGED: &str = "kerf.alone";

/// A kernel that was laid out in another way.
pub(super) struct LaidOut {
    coarsening: Coarsening,
    /// Lines of operations that copies execute one after the other where a branch divides them.
    diverged: BTreeSet<usize>,
}

/// A plan without what it says of the layout of code: each thread has one element.
pub(super) fn without_layout(plan: &Plan) -> Plan {
    let mut plan = plan.clone();
    for k in plan.kernels.values_mut() {
        (k.coarsen, k.code) = (None, None);
    }
    plan
}

/// Lays out the kernels of a module with numbered lines, as a plan says. Gives those that were coarsened, by symbol.
pub(super) fn lay_out_numbered(
    m: &Module,
    plan: &Plan,
) -> Result<BTreeMap<String, LaidOut>, CostError> {
    let done = plan.lay_out(m)?.into_iter();
    let described = done.filter_map(|(symbol, coarsening)| {
        let f = m.function(&symbol)?;
        let lines = |b: Block| {
            let all = b.instructions().into_iter();
            all.filter_map(|i| i.debug_line()).collect::<Vec<u32>>()
        };
        let diverged = only_behind(f, &[DIVERGED]).into_iter().flat_map(lines);
        let diverged = diverged.map(|l| l as usize).collect();
        for b in only_behind(f, &[UNALIGNED, DIVERGED]) {
            for i in b.instructions() {
                i.add_to_debug_line(FALLBACK_LINES);
            }
        }
        let laid_out = LaidOut {
            coarsening,
            diverged,
        };
        Some((symbol, laid_out))
    });
    Ok(described.collect())
}

/// Blocks that are reached through blocks of some names alone, these among them.
fn only_behind(f: Value, names: &[&str]) -> Vec<Block> {
    let begins = |b: &Block| names.iter().any(|n| b.name().starts_with(n));
    let mut reached: BTreeSet<Block> = BTreeSet::new();
    let mut left: Vec<Block> = f.blocks().first().copied().into_iter().collect();
    while let Some(b) = left.pop() {
        if begins(&b) || !reached.insert(b) {
            continue;
        }
        left.extend(b.terminator().map(|t| t.successors()).unwrap_or_default());
    }
    let all = f.blocks().into_iter();
    all.filter(|b| !reached.contains(b)).collect()
}

impl LaidOut {
    /// Does a branch of the program that divides lanes of warps divide the threads that one thread replaces too? What runs then is
    /// no part of the counts.
    pub(super) fn diverges(&self, blocks: &[SourceBlock]) -> bool {
        let divergent = blocks.iter().filter(|b| b.is_divergent);
        let mut lines = divergent.map(|b| b.first_line..b.first_line + b.line_count);
        lines.any(|l| self.diverged.range(l).next().is_some())
    }
}

/// A launch as the device has it, and how its threads relate to those that were counted.
pub(super) fn launched(
    counts: &LaunchCounts,
    laid_out: Option<&LaidOut>,
) -> Result<(LaunchCounts, Elements), CostError> {
    let mut physical = counts.clone();
    let Some(LaidOut { coarsening: c, .. }) = laid_out else {
        return Ok((physical, Elements::ONE));
    };
    let kernel = counts.symbol.clone();
    let refused = |why| PlanError::Coarsen { kernel, why };
    physical.block = c.launch(counts.block).map_err(refused)?;
    let elements = Elements::new(c, counts.block, physical.block);
    Ok((physical, elements))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_that_diverge_are_told_by_the_lanes_of_the_program() {
        let block = |first_line, is_divergent| SourceBlock {
            first_line,
            line_count: 3,
            warp_executions: 1.0,
            in_loop: false,
            loop_entries: 0.0,
            loop_line: 0,
            is_divergent,
            active_lanes: 16.0,
        };
        let k = LaidOut {
            coarsening: Coarsening::blocked(2),
            diverged: BTreeSet::from([5, 6]),
        };
        assert!(k.diverges(&[block(1, false), block(4, true)]));
        assert!(!k.diverges(&[block(1, true), block(4, false), block(7, true)]));
    }

    const BRANCHES: &str = r#"target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(i1 %c) {
entry:
  br i1 %c, label %kerf.vector, label %kerf.other
kerf.vector:
  br label %kerf.tail
kerf.other:
  br i1 %c, label %kerf.alone7, label %kerf.tail
kerf.alone7:
  br label %piece
piece:
  br label %kerf.tail
kerf.tail:
  ret void
}
"#;

    #[test]
    fn fallbacks_are_what_only_they_lead_to() {
        let m = Module::parse(BRANCHES.as_bytes(), "k").expect("parses");
        let f = m.function("k").expect("a kernel");
        let names = |begin: &[&str]| {
            let all = only_behind(f, begin);
            all.into_iter().map(Block::name).collect::<Vec<String>>()
        };
        assert_eq!(
            names(&[UNALIGNED, DIVERGED]),
            ["kerf.other", "kerf.alone7", "piece"]
        );
        assert_eq!(names(&[DIVERGED]), ["kerf.alone7", "piece"]);
    }
}
