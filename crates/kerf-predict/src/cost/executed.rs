//! How often warps execute the blocks of a program in a launch, and how many copies an unrolled loop has.
use super::census::{BlockWork, KernelWork};
use kerf_device::occupancy::WARP;
use kerf_pass::count::LaunchCounts;
use std::collections::BTreeMap;

/// Executions of each block by warps, lanes of a warp taken to diverge independently where it was not counted.
pub(super) fn warp_executions(work: &KernelWork, l: &LaunchCounts) -> Vec<f64> {
    correlated_executions(work, l, 0.0)
}

/// Executions of each block by warps.
///
/// The counting run says it where it followed warps. Elsewhere it is the executions of the busiest lane; and behind a branch
/// on floating-point values, a warp executes the block when any of its lanes does: lanes decide as a group with the
/// probability `divergence_correlation`, and else independently.
pub(super) fn correlated_executions(
    work: &KernelWork,
    l: &LaunchCounts,
    divergence_correlation: f64,
) -> Vec<f64> {
    let index_by_number: BTreeMap<usize, usize> = work
        .blocks
        .iter()
        .enumerate()
        .rev()
        .map(|(k, b)| (b.number, k))
        .collect();
    let counted = |k: usize| l.blocks[work.blocks[k].number];
    let followed = |k: usize| {
        let lanes = l
            .together
            .get(work.blocks[k].number)
            .copied()
            .filter(|t| *t > 0.0)?;
        let c = counted(k);
        Some((c.threads as f64 / f64::from(lanes)).max(c.warps as f64))
    };
    let mut executions: Vec<f64> = (0..work.blocks.len())
        .map(|k| followed(k).unwrap_or(counted(k).warps as f64))
        .collect();
    // Blocks stand after their predecessors, back edges apart.
    for k in 0..work.blocks.len() {
        let b = &work.blocks[k];
        let predecessor = b.sole_predecessor.and_then(|n| index_by_number.get(&n));
        let Some(p) = predecessor.copied() else {
            continue;
        };
        let (here, before) = (counted(k), counted(p));
        if p >= k || here.warps == 0 || before.warps == 0 || followed(k).is_some() {
            continue;
        }
        let taken = here.threads as f64 / before.threads.max(1) as f64;
        executions[k] = match b.behind_float_branch && taken < 1.0 {
            true => {
                let independent = 1.0 - (1.0 - taken).powi(WARP as i32);
                let grouped = divergence_correlation * taken;
                executions[p] * (grouped + (1.0 - divergence_correlation) * independent)
            }
            false => executions[k] * executions[p] / before.warps as f64,
        };
    }
    executions
}

/// Copies of a loop's body that the compiler lays out one after the other: no more than the loop has iterations.
pub(super) fn unrolled_copies(b: &BlockWork, l: &LaunchCounts) -> f64 {
    let entries = b.predecessor.map_or(1, |n| l.blocks[n].threads).max(1);
    let iterations = (l.blocks[b.number].threads as f64 / entries as f64).max(1.0);
    b.unroll_factor.min(iterations)
}
