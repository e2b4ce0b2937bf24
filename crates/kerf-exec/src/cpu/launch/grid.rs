//! A cooperative launch: memory and contexts for all blocks at once.
use super::{KernelEntry, LaunchShape, Reserve, Shared, place, room};
use crate::cpu::block::{BlockWorker, ThreadFn};
use crate::cpu::context::BlockContext;
use crate::cpu::mapping::MemoryError;

/// Runs the blocks of a cooperative grid, in turn.
pub(super) fn run(
    shared: &Shared,
    reserve: &mut Reserve,
    entry: &KernelEntry,
    shape: LaunchShape,
    args: *const *const u8,
) -> Result<(), MemoryError> {
    const WORKSPACE: usize = 256;
    let blocks: u64 = shape.grid.iter().map(|g| u64::from(*g)).product();
    let bytes = shape.static_shared + u64::from(shape.dynamic_shared);
    let each = (bytes as usize).max(1).next_multiple_of(256);
    let all = WORKSPACE + each * blocks as usize;
    let at = room(&mut reserve.grid, all, shared.arena)? as *mut u8;
    // SAFETY: the room has so many bytes; the counter of the barrier begins at 0.
    unsafe { std::ptr::write_bytes(at, 0, WORKSPACE) };
    let contexts = (0..blocks).map(|i| {
        let mut c = BlockContext {
            ntid: shape.block,
            ctaid: [0; 3],
            nctaid: shape.grid,
            dynamic_shared: shape.dynamic_shared,
            // SAFETY: as above.
            shared: unsafe { at.add(WORKSPACE + each * i as usize) },
            shared_bytes: bytes,
            runtime: std::ptr::null_mut(),
            frame: std::ptr::null_mut(),
            grid: at,
        };
        place(&mut c, shape.grid, i);
        c
    });
    let worker = BlockWorker::new(shared).with_stacks(std::mem::take(&mut reserve.stacks));
    // SAFETY: the address is that of a coroutine-mode entry: kernels that wait for their grid have no other.
    let f: ThreadFn = unsafe { std::mem::transmute(entry.address) };
    let done = worker.run_grid(contexts.collect(), f, args);
    worker.end_launch();
    reserve.stacks = worker.into_stacks();
    done
}
