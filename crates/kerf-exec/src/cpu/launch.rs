//! One launch: what its workers share, and how blocks are handed out.
mod grid;

use super::block::{BlockFn, ThreadFn, Worker};
use super::context::Context;
use super::lower::Mode;
use super::memory::{Arena, ArenaStack, MemoryError};
use super::sanitize::Sanitizer;
use serde::{Deserialize, Serialize};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// What went wrong inside a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultKind {
    /// trap or abort.
    Trap,
    /// A failed device assertion.
    Assert,
    /// An access out of bounds, found by the checks.
    Memory,
    /// A thread's stack is full.
    Stack,
    /// Threads that wait for each other for ever.
    Deadlock,
    /// An access whose address is not a multiple of its size.
    Alignment,
    /// A value that was never assigned decides something, or is a result.
    Uninitialised,
    /// Two accesses of one location that nothing orders.
    Race,
    /// A warp operation with lanes that take no part.
    Lane,
    /// A barrier that not all threads reach.
    Barrier,
    /// An address from a signed integer that overflowed.
    Overflow,
}

impl FaultKind {
    /// Kinds that only the checks find, with the names by which they can be allowed.
    pub const CHECKED: [(FaultKind, &str); 7] = [
        (FaultKind::Memory, "bounds"),
        (FaultKind::Alignment, "alignment"),
        (FaultKind::Uninitialised, "uninitialised"),
        (FaultKind::Race, "race"),
        (FaultKind::Lane, "lane"),
        (FaultKind::Barrier, "barrier"),
        (FaultKind::Overflow, "overflow"),
    ];

    /// A bit of its own, for sets of kinds.
    pub fn bit(self) -> u32 {
        1 << self as u32
    }

    /// The name of a kind that only the checks find.
    pub fn checked_name(self) -> Option<&'static str> {
        let mut all = Self::CHECKED.iter();
        all.find(|(k, _)| *k == self).map(|(_, n)| *n)
    }
}

/// A fault, with its place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{kernel}, block ({}, {}, {}){}: {message}", block[0], block[1], block[2], self.thread_words())]
pub struct Fault {
    /// What kind.
    pub kind: FaultKind,
    /// In words.
    pub message: String,
    /// Kernel.
    pub kernel: String,
    /// Block index.
    pub block: [u32; 3],
    /// Thread index, or [`Fault::ANY_THREAD`].
    pub thread: [u32; 3],
    /// The access, of a fault that is one which left its object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub out_of_bounds: Option<Box<OutOfBounds>>,
}

/// An access that left its object, found by the checks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("out-of-bounds {access}: {object}")]
pub struct OutOfBounds {
    /// What the access does, with its place.
    pub access: String,
    /// What it left, and where it went.
    pub object: LeftObject,
}

/// An object that an access left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum LeftObject {
    /// A buffer of a workload.
    #[error("buffer {name} has {elements} elements, the access is to index {index}")]
    Buffer {
        /// Its name.
        name: String,
        /// Its elements.
        elements: usize,
        /// The element that the access would be to.
        index: i64,
    },
    /// An allocation of an application or of a kernel.
    #[error(
        "the allocation{} has {bytes} bytes, the access is at byte {at}",
        name.as_ref().map_or_else(String::new, |n| format!(" {n}"))
    )]
    Allocation {
        /// Its name, where it has one.
        name: Option<String>,
        /// Its bytes.
        bytes: usize,
        /// The byte that the access begins at.
        at: i64,
    },
    /// A variable of the program.
    #[error("{name} has {bytes} bytes, the access is at byte {at}")]
    Variable {
        /// Its name.
        name: String,
        /// Its bytes.
        bytes: usize,
        /// The byte that the access begins at.
        at: i64,
    },
}

impl Fault {
    /// It was one of the block's threads: where these are iterations of a loop, the processor does not tell which.
    pub const ANY_THREAD: [u32; 3] = [u32::MAX; 3];

    fn thread_words(&self) -> String {
        match self.thread {
            Fault::ANY_THREAD => String::new(),
            [x, y, z] => format!(", thread ({x}, {y}, {z})"),
        }
    }
}

/// A named range of device memory.
#[derive(Debug, Clone)]
pub struct Range {
    /// First address.
    pub start: usize,
    /// One past the last.
    pub end: usize,
    /// Buffer or variable.
    pub name: String,
    /// Bytes of one element, for indices in messages.
    pub element: usize,
}

/// What the workers of a launch share.
pub struct Shared<'a> {
    /// Kernel name for messages.
    pub kernel: &'a str,
    /// Device memory.
    pub arena: &'a Arena,
    /// Stack of one thread, in bytes.
    pub stack_bytes: usize,
    /// Buffers and variables, for memcheck.
    pub ranges: &'a [Range],
    /// What is checked, in an instrumented program.
    pub(super) sanitizer: Option<&'a Sanitizer>,
    stop: AtomicBool,
    fault: Mutex<Option<Fault>>,
    printed: Mutex<Vec<u8>>,
}

impl<'a> Shared<'a> {
    /// Nothing has happened yet.
    pub(super) fn new(
        kernel: &'a str,
        arena: &'a Arena,
        stack_bytes: usize,
        ranges: &'a [Range],
        sanitizer: Option<&'a Sanitizer>,
    ) -> Self {
        Shared {
            kernel,
            arena,
            stack_bytes,
            ranges,
            sanitizer,
            stop: AtomicBool::new(false),
            fault: Mutex::new(None),
            printed: Mutex::new(Vec::new()),
        }
    }
    /// Has a fault stopped the launch?
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
    /// Do blocks run one after the other, because their accesses are compared?
    fn in_turn(&self) -> bool {
        self.sanitizer.is_some_and(|s| s.options.races)
    }
    /// Records the first fault and stops all workers.
    pub fn fail(&self, f: Fault) {
        let mut slot = self.fault.lock().unwrap_or_else(|e| e.into_inner());
        slot.get_or_insert(f);
        self.stop.store(true, Ordering::Relaxed);
    }
    /// Appends to what the kernel printed.
    pub fn print(&self, text: &[u8]) {
        let mut p = self.printed.lock().unwrap_or_else(|e| e.into_inner());
        // A kernel that prints without end must not take the machine down.
        if p.len() < 16 << 20 {
            p.extend_from_slice(text);
        }
    }
}

/// Blocks that were begun in this process, a few at a time; and launches.
static BEGUN: AtomicU64 = AtomicU64::new(0);

/// A number that grows while launches come on.
pub fn progress() -> u64 {
    BEGUN.load(Ordering::Relaxed)
}

/// Addresses of a compiled kernel.
pub struct Entry {
    /// How it is run.
    pub mode: Mode,
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
pub struct Shape {
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

fn place(ctx: &mut Context, grid: [u32; 3], i: u64) {
    let (gx, gy) = (u64::from(grid[0]), u64::from(grid[1]));
    ctx.ctaid = [
        (i % gx) as u32,
        (i / gx % gy) as u32,
        (i / (gx * gy)) as u32,
    ];
}

/// Runs all blocks on the pool's threads. `args[i]` points at argument i.
pub fn run(
    shared: &Shared,
    pool: &rayon::ThreadPool,
    reserves: &[Mutex<Reserve>],
    entry: &Entry,
    shape: Shape,
    args: &[*const u8],
) -> Result<(Option<Fault>, Vec<u8>), MemoryError> {
    super::signals::install_handlers();
    struct Args(*const *const u8);
    // SAFETY: the argument storage is only read while the launch runs.
    unsafe impl Sync for Args {}
    let blocks: u64 = shape.grid.iter().map(|g| u64::from(*g)).product();
    let next = AtomicU64::new(0);
    let chunk = (blocks / (32 * pool.current_num_threads() as u64)).clamp(1, 64);
    let args = Args(args.as_ptr());
    let args = &args;
    let error: Mutex<Option<MemoryError>> = Mutex::new(None);
    let work = |index: usize| -> Result<(), MemoryError> {
        let mut reserve = reserves[index].lock().unwrap_or_else(|e| e.into_inner());
        let bytes = shape.static_shared + u64::from(shape.dynamic_shared);
        let shared_room = room(
            &mut reserve.shared,
            (bytes as usize).max(48 * 1024),
            shared.arena,
        )?;
        let frame_room = match entry.frame_bytes {
            0 => 0,
            n => room(&mut reserve.frame, n as usize, shared.arena)?,
        };
        let mut ctx = Context {
            ntid: shape.block,
            ctaid: [0; 3],
            nctaid: shape.grid,
            dynamic_shared: shape.dynamic_shared,
            shared: shared_room as *mut u8,
            shared_bytes: bytes,
            runtime: std::ptr::null_mut(),
            frame: frame_room as *mut u8,
            grid: std::ptr::null_mut(),
        };
        let mut worker = Worker::new(shared).with_stacks(std::mem::take(&mut reserve.stacks));
        // Blocks are taken a few at a time: one shared counter a block would cost short blocks dear.
        let mut mine = 0..0u64;
        let mut take = || {
            if mine.is_empty() {
                BEGUN.fetch_add(1, Ordering::Relaxed);
                let start = next.fetch_add(chunk, Ordering::Relaxed).min(blocks);
                mine = start..(start + chunk).min(blocks);
            }
            let i = mine.next().filter(|_| !shared.stopped())?;
            Some(match entry.ordered {
                true => nth(i, blocks, entry.order),
                false => i,
            })
        };
        let done = match entry.mode {
            Mode::Loop => {
                // SAFETY: the address is that of a loop-mode entry.
                let f: BlockFn = unsafe { std::mem::transmute(entry.address) };
                worker.run_loops(&mut ctx, f, args.0, |c| match take() {
                    Some(i) => {
                        place(c, shape.grid, i);
                        true
                    }
                    None => false,
                })
            }
            Mode::Regions => {
                worker.run_regions(&mut ctx, &entry.regions, args.0, |c| match take() {
                    Some(i) => {
                        place(c, shape.grid, i);
                        true
                    }
                    None => false,
                })
            }
            Mode::Coroutine => {
                // SAFETY: the address is that of a coroutine-mode entry.
                let f: ThreadFn = unsafe { std::mem::transmute(entry.address) };
                let mut r = Ok(());
                while let (Some(i), true) = (take(), r.is_ok()) {
                    place(&mut ctx, shape.grid, i);
                    worker.begin_block(&ctx);
                    r = worker.run_threads(&mut ctx, f, args.0);
                }
                r
            }
        };
        worker.end_launch();
        reserve.stacks = worker.into_stacks();
        done
    };
    let record = |r: Result<(), MemoryError>| {
        if let Err(e) = r {
            error
                .lock()
                .unwrap_or_else(|e| e.into_inner())
                .get_or_insert(e);
        }
    };
    if shape.cooperative {
        let mut reserve = reserves[0].lock().unwrap_or_else(|e| e.into_inner());
        record(grid::run(shared, &mut reserve, entry, shape, args.0));
    } else if entry.ordered || blocks == 1 || pool.current_num_threads() == 1 || shared.in_turn() {
        record(work(0));
    } else {
        pool.broadcast(|c| record(work(c.index())));
    }
    if let Some(e) = error.into_inner().unwrap_or_else(|e| e.into_inner()) {
        return Err(e);
    }
    let fault = shared
        .fault
        .lock()
        .unwrap_or_else(|e| e.into_inner())
        .take();
    let printed = std::mem::take(&mut *shared.printed.lock().unwrap_or_else(|e| e.into_inner()));
    Ok((fault, printed))
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
