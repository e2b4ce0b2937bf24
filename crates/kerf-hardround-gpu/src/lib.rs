//! The hard-to-round search as kernels, for a GPU or for Kerf's CPU executor.
//!
//! The processor divides the range and describes each sub-block by differences ([`SubBlock`]); the kernels of
//! `device/search.cu` make the lines from them, test, divide and walk; MPFR decides what they find. Pieces that
//! do not fill a sub-block are searched on the processor.
//!
//! [`campaign`] is a whole search, resumed from its certificate: by the cores or a GPU of this process ([`engine`]), or by
//! several processes ([`spread`]).
#![warn(missing_docs)]

mod batch;
pub mod campaign;
pub mod dilemma;
pub mod engine;
pub mod libm;
pub mod library;
pub mod small;
pub mod spread;
mod stage;

pub use batch::{BatchSizes, Batches, Done, GpuError, KERNELS, Pending, program};
pub use stage::{POINTS, Stage, Staged, SubBlock};

use kerf_exec::Executor;
use kerf_hardround::format::BinadeGrid;
use kerf_hardround::leaf::{FoundCases, Query};
use kerf_hardround::units::Units;
use std::ops::{ControlFlow, Range};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::sync_channel;

/// What is searched.
#[derive(Debug, Clone)]
pub struct SearchWork<'a> {
    /// The query.
    pub query: &'a Query,
    /// Its units.
    pub units: &'a Units,
    /// Numbers of those to search.
    pub range: Range<u64>,
    /// Threads that describe sub-blocks.
    pub threads: usize,
    /// Sizes of batches.
    pub room: BatchSizes,
}

/// Searches units, those for which `wanted` says so, on an executor that has [`program`] loaded. Results go to
/// `sink`, which may break off; gives whether it did not.
pub fn search(
    exec: &mut dyn Executor,
    work: &SearchWork,
    wanted: impl Fn(u64) -> bool + Sync,
    sink: impl FnMut(u64, BinadeGrid, FoundCases) -> ControlFlow<()>,
) -> Result<bool, GpuError> {
    search_opening(|| Ok(exec), work, wanted, sink)
}

/// Units that wait for the device, at most: what the processor prepares while a GPU is being opened, some dozens of
/// megabytes.
const WAITING: usize = 4096;

/// As [`search`], with an executor that `open` gives: units are prepared meanwhile.
pub fn search_opening<'e, E: From<GpuError>>(
    open: impl FnOnce() -> Result<&'e mut dyn Executor, E>,
    work: &SearchWork,
    wanted: impl Fn(u64) -> bool + Sync,
    mut sink: impl FnMut(u64, BinadeGrid, FoundCases) -> ControlFlow<()>,
) -> Result<bool, E> {
    let next = AtomicU64::new(work.range.start);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (send, receive) = sync_channel::<Pending>(WAITING);
        for _ in 0..work.threads.max(1) {
            let send = send.clone();
            let (next, stop, wanted) = (&next, &stop, &wanted);
            scope.spawn(move || {
                let mut stage = Stage::new(work.room.points);
                while !stop.load(Ordering::Relaxed) {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    let Some(grid) = work.units.get(i).filter(|_| i < work.range.end) else {
                        return;
                    };
                    if wanted(i) && send.send((i, grid, stage.unit(work.query, &grid))).is_err() {
                        return;
                    }
                }
            });
        }
        drop(send);
        let result = open()
            .and_then(|exec| Ok(run(exec, work.query, work.room, receive.iter(), &mut sink)?));
        stop.store(true, Ordering::Relaxed);
        drop(receive);
        result
    })
}

/// Batches from staged units: while the device works on one, the next is gathered, written and queued, and the
/// results of the one before are handed on.
fn run(
    exec: &mut dyn Executor,
    q: &Query,
    room: BatchSizes,
    staged: impl Iterator<Item = Pending>,
    sink: &mut impl FnMut(u64, BinadeGrid, FoundCases) -> ControlFlow<()>,
) -> Result<bool, GpuError> {
    let mut batches = Batches::new(exec, room)?;
    let most = room.sub_blocks.min(batches.most);
    let mut staged = staged.peekable();
    let mut flying: Vec<Pending> = Vec::new();
    let mut slot = 0;
    loop {
        let mut gathered: Vec<Pending> = Vec::new();
        let mut count = 0;
        let mut done = Vec::new();
        while let Some(s) =
            staged.next_if(|s| gathered.is_empty() || count + s.2.sub_blocks.len() <= most)
        {
            if s.2.sub_blocks.len() > batches.most {
                done.push(batch::here(q, s.0, s.1));
                continue;
            }
            count += s.2.sub_blocks.len();
            gathered.push(s);
            if count >= most || gathered.len() >= 4 * most.max(64) {
                break;
            }
        }
        let last = gathered.is_empty();
        batches.send(slot, &gathered)?;
        batches.start(slot)?;
        slot = 1 - slot;
        done.extend(batches.finish(q, slot, std::mem::replace(&mut flying, gathered))?);
        for (i, grid, found) in done {
            if sink(i, grid, found).is_break() {
                return Ok(false);
            }
        }
        if last {
            return Ok(true);
        }
    }
}
