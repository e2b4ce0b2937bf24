//! The hard-to-round search as kernels, for a GPU or for Kerf's CPU executor.
//!
//! The processor divides the range and describes each sub-block by differences ([`SubBlock`]); the kernels of
//! `device/search.cu` make the lines from them, test, divide and walk; MPFR decides what they find. Pieces that
//! do not fill a sub-block are searched on the processor.
#![warn(missing_docs)]

mod batch;
mod stage;

pub use batch::{Batches, GpuError, KERNELS, Pending, Raw, program};
pub use stage::{Stage, Staged, SubBlock};

use kerf_exec::Executor;
use kerf_hardround::format::Grid;
use kerf_hardround::leaf::{Found, Query};
use kerf_hardround::units::Units;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::sync_channel;

/// Searches units, those for which `wanted` says so, in batches of about `sub_blocks` on an executor that has
/// [`program`] loaded; `threads` describe sub-blocks meanwhile. Results go to `sink`, which may break off.
pub fn search(
    exec: &mut dyn Executor,
    q: &Query,
    units: &Units,
    threads: usize,
    sub_blocks: usize,
    wanted: impl Fn(u64) -> bool + Sync,
    mut sink: impl FnMut(u64, Grid, Found) -> ControlFlow<()>,
) -> Result<bool, GpuError> {
    let next = AtomicU64::new(0);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (send, receive) = sync_channel::<Pending>(threads * 8 + 64);
        for _ in 0..threads.max(1) {
            let send = send.clone();
            let (next, stop, wanted) = (&next, &stop, &wanted);
            scope.spawn(move || {
                let mut stage = Stage::default();
                while !stop.load(Ordering::Relaxed) {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    let Some(grid) = units.get(i) else { return };
                    if wanted(i) && send.send((i, grid, stage.unit(q, &grid))).is_err() {
                        return;
                    }
                }
            });
        }
        drop(send);
        let result = run(exec, q, sub_blocks, receive.iter(), &mut sink);
        stop.store(true, Ordering::Relaxed);
        drop(receive);
        result
    })
}

/// Batches from staged units: while the device works on one, the next is gathered and the results of the one
/// before are handed on.
fn run(
    exec: &mut dyn Executor,
    q: &Query,
    sub_blocks: usize,
    staged: impl Iterator<Item = Pending>,
    sink: &mut impl FnMut(u64, Grid, Found) -> ControlFlow<()>,
) -> Result<bool, GpuError> {
    let mut batches = Batches::new(exec, sub_blocks)?;
    let mut staged = staged.peekable();
    let mut flying: Vec<Pending> = Vec::new();
    loop {
        let mut gathered = Vec::new();
        let mut count = 0;
        while let Some(s) =
            staged.next_if(|s| count == 0 || count + s.2.sub_blocks.len() <= sub_blocks)
        {
            count += s.2.sub_blocks.len();
            gathered.push(s);
            if count >= sub_blocks || gathered.len() >= 4 * sub_blocks.max(64) {
                break;
            }
        }
        batches.pack(&gathered);
        let raw = batches.wait(&flying)?;
        batches.start()?;
        let last = gathered.is_empty();
        for (i, grid, found) in raw.complete(q, std::mem::replace(&mut flying, gathered)) {
            if sink(i, grid, found).is_break() {
                return Ok(false);
            }
        }
        if last {
            return Ok(true);
        }
    }
}
