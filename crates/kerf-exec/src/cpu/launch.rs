//! One launch: what its workers share, and how blocks are handed out.
mod grid;

use super::block::{BlockFn, BlockWorker, ThreadFn};
use super::context::BlockContext;
use super::lower::ThreadMode;
use super::mapping::MemoryError;
use super::memory::{Arena, ArenaStack};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

pub use super::fault::{Fault, FaultKind, LeftObject, OutOfBounds};
pub use super::launch_state::{MemoryRange, Shared};

/// Blocks that were begun in this process, a few at a time; and launches.
static BEGUN: AtomicU64 = AtomicU64::new(0);

/// A number that grows while launches come on.
pub fn progress() -> u64 {
    BEGUN.load(Ordering::Relaxed)
}

/// Addresses of a compiled kernel.
pub struct KernelEntry {
    /// How it is run.
    pub mode: ThreadMode,
    /// Address of its entry.
    pub address: usize,
    /// Addresses of its regions: loop over all threads, and one thread.
    pub regions: Vec<(usize, usize)>,
    /// Bytes of the frame.
    pub frame_bytes: u64,
    /// Blocks in order on one core.
    pub ordered: bool,
    /// Which order, where it matters: 0 by number.
    pub order: u64,
}

/// Shape of a launch.
#[derive(Debug, Clone, Copy)]
pub struct LaunchShape {
    /// Blocks.
    pub grid: [u32; 3],
    /// Threads.
    pub block: [u32; 3],
    /// Dynamic shared memory in bytes.
    pub dynamic_shared: u32,
    /// Static shared memory in bytes.
    pub static_shared: u64,
    /// All blocks at once, so that they can wait for each other.
    pub cooperative: bool,
}

/// A kernel with what it is launched with.
pub struct KernelCall<'a> {
    /// The kernel.
    pub entry: &'a KernelEntry,
    /// Shape.
    pub shape: LaunchShape,
    /// Where each argument is.
    pub args: &'a [*const u8],
    /// Blocks that run, by number; none: all.
    pub only: Option<&'a [u64]>,
}

/// Memory that a worker keeps between launches.
#[derive(Default)]
pub struct Reserve {
    stacks: Vec<ArenaStack>,
    shared: Option<(usize, usize)>,
    frame: Option<(usize, usize)>,
    grid: Option<(usize, usize)>,
}

/// Room of at least `bytes`, kept from launch to launch.
fn room(
    slot: &mut Option<(usize, usize)>,
    bytes: usize,
    arena: &Arena,
) -> Result<usize, MemoryError> {
    match *slot {
        Some((at, size)) if size >= bytes => Ok(at),
        _ => {
            let at = arena.alloc(bytes)? as usize;
            *slot = Some((at, bytes));
            Ok(at)
        }
    }
}

/// The i-th of so many blocks in an order: by number, backwards, or by a stride that meets each once.
fn nth(i: u64, blocks: u64, order: u64) -> u64 {
    match order {
        0 => i,
        1 => blocks - 1 - i,
        _ => {
            let common = |mut a: u64, mut b: u64| {
                while b > 0 {
                    (a, b) = (b, a % b);
                }
                a
            };
            // Near the golden section, strides leave no two neighbours together.
            let mut stride = (blocks as f64 * 0.618_033_988_75) as u64 + order - 2;
            while stride == 0 || common(stride, blocks) != 1 {
                stride += 1;
            }
            let at = u128::from(i) * u128::from(stride) % u128::from(blocks);
            at as u64
        }
    }
}

fn place(ctx: &mut BlockContext, grid: [u32; 3], i: u64) {
    let (gx, gy) = (u64::from(grid[0]), u64::from(grid[1]));
    ctx.ctaid = [
        (i % gx) as u32,
        (i / gx % gy) as u32,
        (i / (gx * gy)) as u32,
    ];
}

/// The blocks of a launch that no worker has taken yet.
struct Blocks<'a> {
    /// Those that run, by number; none: all of the grid.
    only: Option<&'a [u64]>,
    all: u64,
    next: AtomicU64,
    /// How many are taken at a time: one shared counter a block would cost short blocks dear.
    chunk: u64,
}

impl Blocks<'_> {
    fn new(grid: [u32; 3], only: Option<&[u64]>, workers: usize) -> Blocks<'_> {
        let all = match only {
            Some(some) => some.len() as u64,
            None => grid.iter().map(|g| u64::from(*g)).product(),
        };
        Blocks {
            only,
            all,
            next: AtomicU64::new(0),
            chunk: (all / (32 * workers as u64)).clamp(1, 64),
        }
    }

    /// The next few; empty at the end.
    fn take(&self) -> std::ops::Range<u64> {
        BEGUN.fetch_add(1, Ordering::Relaxed);
        let start = self.next.fetch_add(self.chunk, Ordering::Relaxed);
        let start = start.min(self.all);
        start..(start + self.chunk).min(self.all)
    }
}

/// A launch, as its workers see it.
struct Work<'a> {
    shared: &'a Shared<'a>,
    entry: &'a KernelEntry,
    shape: LaunchShape,
    args: Args,
    blocks: Blocks<'a>,
}

/// Where the addresses of the arguments are.
struct Args(*const *const u8);
// SAFETY: the argument storage is only read while the launch runs.
unsafe impl Sync for Args {}

impl Work<'_> {
    /// The context of a worker's blocks, with the memory that they share.
    fn context(&self, reserve: &mut Reserve) -> Result<BlockContext, MemoryError> {
        let (shape, arena) = (self.shape, self.shared.arena);
        let bytes = shape.static_shared + u64::from(shape.dynamic_shared);
        let shared_room = room(&mut reserve.shared, (bytes as usize).max(48 * 1024), arena)?;
        let frame_room = match self.entry.frame_bytes {
            0 => 0,
            n => room(&mut reserve.frame, n as usize, arena)?,
        };
        Ok(BlockContext {
            ntid: shape.block,
            ctaid: [0; 3],
            nctaid: shape.grid,
            dynamic_shared: shape.dynamic_shared,
            shared: shared_room as *mut u8,
            shared_bytes: bytes,
            runtime: std::ptr::null_mut(),
            frame: frame_room as *mut u8,
            grid: std::ptr::null_mut(),
        })
    }

    /// Runs blocks until none is left, or a fault stops the launch.
    fn run(&self, reserve: &Mutex<Reserve>) -> Result<(), MemoryError> {
        let mut reserve = reserve.lock().unwrap_or_else(|e| e.into_inner());
        let mut ctx = self.context(&mut reserve)?;
        let worker = BlockWorker::new(self.shared).with_stacks(std::mem::take(&mut reserve.stacks));
        let done = self.run_blocks(&worker, &mut ctx);
        worker.end_launch();
        reserve.stacks = worker.into_stacks();
        done
    }

    fn run_blocks(&self, worker: &BlockWorker, ctx: &mut BlockContext) -> Result<(), MemoryError> {
        let (entry, grid, args) = (self.entry, self.shape.grid, self.args.0);
        let mut mine = 0..0u64;
        let mut place_next = |c: &mut BlockContext| {
            if mine.is_empty() {
                mine = self.blocks.take();
            }
            let Some(i) = mine.next().filter(|_| !self.shared.stopped()) else {
                return false;
            };
            let i = match entry.ordered {
                true => nth(i, self.blocks.all, entry.order),
                false => i,
            };
            let number = match self.blocks.only {
                Some(some) => some.get(i as usize).copied().unwrap_or(0),
                None => i,
            };
            place(c, grid, number);
            true
        };
        match entry.mode {
            ThreadMode::Loop => {
                // SAFETY: the address is that of a loop-mode entry.
                let f: BlockFn = unsafe { std::mem::transmute(entry.address) };
                worker.run_loops(ctx, f, args, place_next)
            }
            ThreadMode::Regions => worker.run_regions(ctx, &entry.regions, args, place_next),
            ThreadMode::Coroutine => {
                // SAFETY: the address is that of a coroutine-mode entry.
                let f: ThreadFn = unsafe { std::mem::transmute(entry.address) };
                let mut r = Ok(());
                while r.is_ok() && place_next(ctx) {
                    worker.begin_block(ctx);
                    r = worker.run_threads(ctx, f, args);
                }
                r
            }
        }
    }
}

/// Runs the blocks of a call on the pool's threads.
pub fn run(
    shared: &Shared,
    pool: &rayon::ThreadPool,
    reserves: &[Mutex<Reserve>],
    call: &KernelCall,
) -> Result<(Option<Fault>, Vec<u8>), MemoryError> {
    super::signals::install_handlers();
    let KernelCall {
        entry, shape, args, ..
    } = *call;
    let work = Work {
        shared,
        entry,
        shape,
        args: Args(args.as_ptr()),
        blocks: Blocks::new(shape.grid, call.only, pool.current_num_threads()),
    };
    let error: Mutex<Option<MemoryError>> = Mutex::new(None);
    let record = |r: Result<(), MemoryError>| {
        if let Err(e) = r {
            error
                .lock()
                .unwrap_or_else(|e| e.into_inner())
                .get_or_insert(e);
        }
    };
    let one_worker = entry.ordered
        || work.blocks.all == 1
        || pool.current_num_threads() == 1
        || shared.in_turn();
    if shape.cooperative {
        let mut reserve = reserves[0].lock().unwrap_or_else(|e| e.into_inner());
        record(grid::run(shared, &mut reserve, entry, shape, work.args.0));
    } else if one_worker {
        record(work.run(&reserves[0]));
    } else {
        pool.broadcast(|c| record(work.run(&reserves[c.index()])));
    }
    if let Some(e) = error.into_inner().unwrap_or_else(|e| e.into_inner()) {
        return Err(e);
    }
    Ok(shared.take_outcome())
}

#[cfg(test)]
mod tests {
    use super::nth;

    #[test]
    fn every_order_has_every_block_once() {
        for blocks in [1, 2, 3, 7, 64, 1000, 4096] {
            let mut orders = Vec::new();
            for order in 0..6 {
                let all: Vec<u64> = (0..blocks).map(|i| nth(i, blocks, order)).collect();
                let mut sorted = all.clone();
                sorted.sort_unstable();
                assert!(
                    sorted.into_iter().eq(0..blocks),
                    "{blocks} blocks, order {order}"
                );
                orders.push(all);
            }
            if blocks > 7 {
                orders.sort();
                orders.dedup();
                assert!(
                    orders.len() >= 4,
                    "{blocks} blocks: {} orders",
                    orders.len()
                );
            }
        }
    }
}
