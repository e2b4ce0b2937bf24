//! How often warps run a program's blocks in a launch, and how many copies of a loop's body lie together.
use super::census::{BlockWork, KernelWork};
use kerf_device::occupancy::WARP;
use kerf_pass::count::LaunchCounts;
use std::collections::BTreeMap;

/// Executions of each block by warps. Where no warp was looked at, counts tell how often one lane runs a block. Where threads
/// part by the numbers that they have, a warp runs it when any of its threads does: taken to be independent.
pub(super) fn warps(work: &KernelWork, l: &LaunchCounts) -> Vec<f64> {
    warps_of(work, l, 0.0)
}

/// [`warps`] with threads that part together in this part of the cases.
pub(super) fn warps_of(work: &KernelWork, l: &LaunchCounts, together: f64) -> Vec<f64> {
    let place: BTreeMap<usize, usize> = work
        .blocks
        .iter()
        .enumerate()
        .rev()
        .map(|(k, b)| (b.number, k))
        .collect();
    let counted = |k: usize| l.blocks[work.blocks[k].number];
    // Where warps were looked at, they tell.
    let known = |k: usize| {
        let threads = l
            .together
            .get(work.blocks[k].number)
            .copied()
            .filter(|t| *t > 0.0)?;
        let c = counted(k);
        Some((c.threads as f64 / f64::from(threads)).max(c.warps as f64))
    };
    let mut out: Vec<f64> = (0..work.blocks.len())
        .map(|k| known(k).unwrap_or(counted(k).warps as f64))
        .collect();
    // A block stands after the one before it, back edges apart.
    for k in 0..work.blocks.len() {
        let b = &work.blocks[k];
        let Some(p) = b.only_before.and_then(|n| place.get(&n).copied()) else {
            continue;
        };
        let (here, before) = (counted(k), counted(p));
        if p >= k || here.warps == 0 || before.warps == 0 || known(k).is_some() {
            continue;
        }
        let part = here.threads as f64 / before.threads.max(1) as f64;
        out[k] = match b.parts && part < 1.0 {
            true => {
                let independent = 1.0 - (1.0 - part).powi(WARP as i32);
                out[p] * (together * part + (1.0 - together) * independent)
            }
            false => out[k] * out[p] / before.warps as f64,
        };
    }
    out
}

/// Copies of a loop's body that lie together. A loop is unrolled no further than it goes round.
pub(super) fn copies(b: &BlockWork, l: &LaunchCounts) -> f64 {
    let entered = b.before.map_or(1, |n| l.blocks[n].threads).max(1);
    let rounds = (l.blocks[b.number].threads as f64 / entered as f64).max(1.0);
    b.unrolled.min(rounds)
}
