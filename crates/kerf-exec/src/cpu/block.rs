//! Running one block: threads as coroutines, barriers, warp operations, faults.
//!
//! A thread runs until it meets a barrier or a warp operation, where it leaves its request in its
//! lane and switches back. A warp's lanes run first among themselves, so that shuffles resolve
//! without involving the rest of the block; then barriers are resolved. Threads that returned count
//! as arrived everywhere, as on hardware since Volta. When nothing can go on, the block is
//! deadlocked, and the fault says who waits where.
//!
//! Compiled code calls back into the worker that runs it, whose own methods are below on the same stack. So there is no
//! `&mut BlockWorker` while code runs: all methods take `&self`, and what changes is a cell or a `RefCell` that is borrowed for
//! less than a call. No borrow is held where a coroutine is switched or left: one that never runs again would keep it.
mod calls;
mod collective;
mod grid;
pub(super) mod lane;

pub(super) use calls::{
    assert, barrier, linear, multiply_matrices, need_headroom, printf, spin, trap, warp, worker,
};

use super::context::BlockContext;
use super::fault::{Fault, FaultKind};
use super::launch_state::Shared;
use super::mapping::MemoryError;
use super::memory::ArenaStack;
use super::sanitize::Checks;
use super::sanitize::races::Races;
use super::signals::{self, Thread, Trapped};
use corosensei::{Coroutine, CoroutineResult, Yielder};
use lane::{Lane, Wait};
use std::cell::{Cell, RefCell};
use std::ffi::c_void;

/// Entry of a kernel in loop mode.
pub type BlockFn = extern "C" fn(*mut BlockContext, *const *const u8);

/// Entry of a kernel in coroutine mode.
pub type ThreadFn = extern "C" fn(*mut BlockContext, *const *const u8, u32, u32, u32);

/// Least stack of a coroutine that runs whole blocks, in bytes.
const LOOP_STACK: usize = 1 << 20;

/// State of one worker thread of the executor.
pub struct BlockWorker<'a> {
    /// What all workers of the launch share.
    pub shared: &'a Shared<'a>,
    pub(super) lanes: RefCell<Vec<Lane>>,
    /// Threads that arrived at each barrier without waiting there (bar.arrive).
    arrived: [Cell<usize>; 16],
    /// Which ones these are, where that is checked.
    pub(super) arrivals: RefCell<[Vec<usize>; 16]>,
    /// What is checked, in an instrumented program.
    pub(super) checks: Option<RefCell<Checks>>,
    /// The block that is running, in coroutine mode.
    context: Cell<*const BlockContext>,
    stacks: RefCell<Vec<ArenaStack>>,
    /// Where all stacks of this worker lie, in use or not, where that is checked.
    stack_ranges: RefCell<Vec<(usize, usize)>>,
    /// Coroutine that runs whole blocks in loop mode.
    block_yielder: Cell<*const Yielder<(), ()>>,
    in_threads: Cell<bool>,
}

impl<'a> BlockWorker<'a> {
    /// A worker of a launch.
    pub fn new(shared: &'a Shared<'a>) -> BlockWorker<'a> {
        signals::prepare_thread();
        BlockWorker {
            shared,
            lanes: RefCell::default(),
            arrived: Default::default(),
            arrivals: RefCell::default(),
            checks: shared.sanitizer.map(|s| RefCell::new(Checks::new(s))),
            context: Cell::new(std::ptr::null()),
            stacks: RefCell::default(),
            stack_ranges: RefCell::default(),
            block_yielder: Cell::new(std::ptr::null()),
            in_threads: Cell::new(false),
        }
    }

    /// A block begins, in an instrumented program.
    pub(super) fn begin_block(&self, ctx: &BlockContext) {
        if let (Some(c), Some(s)) = (&self.checks, self.shared.sanitizer) {
            c.borrow_mut().begin_block(s, ctx);
        }
    }

    /// The launch is over, in an instrumented program.
    pub(super) fn end_launch(&self) {
        if let Some(c) = &self.checks {
            c.borrow().end_launch();
        }
    }

    /// Looks at, or changes, a thread's lane.
    fn with_lane<R>(&self, thread: usize, work: impl FnOnce(&Lane) -> R) -> R {
        work(&self.lanes.borrow()[thread])
    }

    /// What is known of accesses, where races are looked for.
    pub(super) fn with_races<R>(&self, work: impl FnOnce(&mut Races) -> R) -> Option<R> {
        self.checks.as_ref()?.borrow_mut().races.as_mut().map(work)
    }

    /// A thread arrives at a barrier without waiting there.
    fn arrive(&self, id: u32, thread: usize) {
        let id = id as usize & 15;
        self.arrived[id].set(self.arrived[id].get() + 1);
        if self.checks.is_some() {
            self.arrivals.borrow_mut()[id].push(thread);
        }
    }

    /// Does a stack of this worker's threads hold an address?
    pub(super) fn on_stack(&self, address: usize) -> bool {
        let all = self.stack_ranges.borrow();
        all.iter()
            .any(|(low, high)| (*low..*high).contains(&address))
    }

    /// Gives the stacks back for the next launch.
    pub fn into_stacks(self) -> Vec<ArenaStack> {
        self.stacks.into_inner()
    }

    /// Takes stacks over from an earlier launch.
    pub fn with_stacks(self, stacks: Vec<ArenaStack>) -> BlockWorker<'a> {
        if self.checks.is_some() {
            let ranges = stacks.iter().map(ArenaStack::range);
            self.stack_ranges.replace(ranges.collect());
        }
        self.stacks.replace(stacks);
        self
    }

    fn stack(&self, bytes: usize) -> Result<ArenaStack, MemoryError> {
        let spare = self.stacks.borrow_mut().pop();
        if let Some(s) = spare
            && s.range().1 - s.range().0 >= bytes + 4096
        {
            return Ok(s);
        }
        let s = ArenaStack::new(self.shared.arena, bytes)?;
        if self.checks.is_some() {
            self.stack_ranges.borrow_mut().push(s.range());
        }
        Ok(s)
    }

    /// Runs `work` in a coroutine, which a fault leaves for good.
    fn in_coroutine(
        &self,
        ctx: &mut BlockContext,
        work: &mut dyn FnMut(*mut BlockContext),
    ) -> Result<(), MemoryError> {
        ctx.runtime = self.as_runtime();
        let stack = self.stack(self.shared.stack_bytes.max(LOOP_STACK))?;
        let me: *const BlockWorker<'static> = std::ptr::from_ref(self).cast();
        let ctx: *mut BlockContext = ctx;
        let work: *mut dyn FnMut(*mut BlockContext) = work;
        // SAFETY: the coroutine runs and ends (or is reset) inside this call, so the pointers to
        // locals stay valid; lifetimes are erased only because corosensei asks for 'static.
        let work: *mut (dyn FnMut(*mut BlockContext) + 'static) =
            unsafe { std::mem::transmute(work) };
        let mut co: Thread = Coroutine::with_stack(stack, move |y: &Yielder<(), ()>, ()| {
            // SAFETY: as above.
            unsafe {
                (*me).block_yielder.set(y);
                (*work)(ctx);
            }
        });
        self.in_threads.set(false);
        match signals::resume(&mut co) {
            // SAFETY: compiled code holds nothing that needs dropping.
            Ok(CoroutineResult::Yield(())) => unsafe { co.force_reset() },
            Ok(CoroutineResult::Return(())) => {}
            // SAFETY: the context of this call. Which thread of the block it was, the loop over them does not tell.
            Err(t) => self.trapped(unsafe { &*ctx }, t, Fault::ANY_THREAD),
        }
        self.stacks.borrow_mut().push(co.into_stack());
        Ok(())
    }

    /// This worker, as its context names it ([`worker`]).
    fn as_runtime(&self) -> *mut c_void {
        std::ptr::from_ref(self).cast_mut().cast()
    }

    /// Runs blocks in loop mode: `next` sets the context to the next block, or says that there is
    /// none.
    pub fn run_loops(
        &self,
        ctx: &mut BlockContext,
        entry: BlockFn,
        args: *const *const u8,
        mut next: impl FnMut(&mut BlockContext) -> bool,
    ) -> Result<(), MemoryError> {
        self.in_coroutine(ctx, &mut |c| {
            // SAFETY: the context of this call.
            while next(unsafe { &mut *c }) {
                // SAFETY: as above.
                self.begin_block(unsafe { &*c });
                entry(c, args);
            }
        })
    }

    /// Runs blocks in region mode: all threads through one region, then the next.
    pub fn run_regions(
        &self,
        ctx: &mut BlockContext,
        regions: &[(usize, usize)],
        args: *const *const u8,
        mut next: impl FnMut(&mut BlockContext) -> bool,
    ) -> Result<(), MemoryError> {
        // SAFETY: the addresses are those of the regions' loop and thread entries.
        let entries: Vec<(BlockFn, ThreadFn)> = regions
            .iter()
            .map(|(l, t)| unsafe {
                (
                    std::mem::transmute::<usize, BlockFn>(*l),
                    std::mem::transmute::<usize, ThreadFn>(*t),
                )
            })
            .collect();
        let [nx, ny, nz] = ctx.ntid;
        let n = (nx * ny * nz) as usize;
        self.in_coroutine(ctx, &mut |c| {
            // SAFETY: the context of this call; its frame begins with one state a thread.
            while next(unsafe { &mut *c }) {
                entries[0].0(c, args);
                loop {
                    // SAFETY: as above; the code that has just run wrote them.
                    let states = unsafe { std::slice::from_raw_parts((*c).frame.cast::<i32>(), n) };
                    let first = states[0];
                    if states.iter().all(|s| *s == first) {
                        if first < 0 {
                            break;
                        }
                        entries[first as usize].0(c, args);
                        continue;
                    }
                    // Some threads have returned or wait elsewhere: each goes its own way.
                    let snapshot = states.to_vec();
                    for (t, s) in snapshot.into_iter().enumerate().filter(|(_, s)| *s >= 0) {
                        let t = t as u32;
                        entries[s as usize].1(c, args, t % nx, t / nx % ny, t / (nx * ny));
                    }
                }
            }
        })
    }

    /// Runs one block in coroutine mode.
    pub fn run_threads(
        &self,
        ctx: &mut BlockContext,
        entry: ThreadFn,
        args: *const *const u8,
    ) -> Result<(), MemoryError> {
        ctx.runtime = self.as_runtime();
        // From here on the context is only read, by compiled code too.
        let ctx: &BlockContext = ctx;
        let mut threads = self.start(ctx, entry, args)?;
        let n = threads.len();
        let warps: Vec<(usize, usize)> = (0..n).step_by(32).map(|w| (w, (w + 32).min(n))).collect();
        let mut running = true;
        while running && !self.shared.stopped() {
            for &(from, to) in &warps {
                self.run_warp(ctx, &mut threads, from, to);
                if self.shared.stopped() {
                    break;
                }
            }
            running = !self.shared.stopped() && !self.all_done();
            if running && !self.resolve_barriers() {
                self.deadlock(ctx);
                running = false;
            }
        }
        self.end(threads);
        Ok(())
    }

    fn all_done(&self) -> bool {
        let lanes = self.lanes.borrow();
        lanes.iter().all(|l| l.wait.get() == Wait::Done)
    }

    /// The threads of a block, none of which has begun; their lanes are the worker's. The context names this worker.
    fn start(
        &self,
        ctx: &BlockContext,
        entry: ThreadFn,
        args: *const *const u8,
    ) -> Result<Vec<Thread>, MemoryError> {
        let [nx, ny, nz] = ctx.ntid;
        let n = (nx * ny * nz) as usize;
        let mut lanes = self.lanes.borrow_mut();
        lanes.clear();
        lanes.resize_with(n, Lane::new);
        drop(lanes);
        self.arrived.iter().for_each(|a| a.set(0));
        self.arrivals.take();
        self.in_threads.set(true);
        self.context.set(ctx);
        // Compiled code takes a pointer to what may change between blocks, and only reads it.
        let context = std::ptr::from_ref(ctx).cast_mut();
        let me: *const BlockWorker<'static> = std::ptr::from_ref(self).cast();
        let mut threads = Vec::with_capacity(n);
        for t in 0..n as u32 {
            let stack = self.stack(self.shared.stack_bytes)?;
            let (x, y, z) = (t % nx, t / nx % ny, t / (nx * ny));
            threads.push(Coroutine::with_stack(
                stack,
                move |yielder: &Yielder<(), ()>, ()| {
                    // SAFETY: worker and context outlive the coroutine, which ends or is reset in `end`.
                    unsafe { (*me).with_lane(t as usize, |l| l.yielder.set(yielder)) };
                    entry(context, args, x, y, z);
                },
            ));
        }
        Ok(threads)
    }

    /// Takes the stacks of threads back, wherever these are.
    fn end(&self, threads: Vec<Thread>) {
        for mut co in threads {
            if !co.done() {
                // SAFETY: compiled code holds nothing that needs dropping.
                unsafe { co.force_reset() };
            }
            self.stacks.borrow_mut().push(co.into_stack());
        }
    }

    fn run_warp(&self, ctx: &BlockContext, threads: &mut [Thread], from: usize, to: usize) {
        loop {
            for (t, thread) in threads.iter_mut().enumerate().take(to).skip(from) {
                if self.with_lane(t, |l| l.wait.get()) != Wait::Ready {
                    continue;
                }
                let done = || self.with_lane(t, |l| l.wait.set(Wait::Done));
                match signals::resume(thread) {
                    Ok(CoroutineResult::Yield(())) => {}
                    Ok(CoroutineResult::Return(())) => done(),
                    Err(trapped) => {
                        done();
                        let [nx, ny, _] = ctx.ntid;
                        let t = t as u32;
                        self.trapped(ctx, trapped, [t % nx, t / nx % ny, t / (nx * ny)]);
                    }
                }
                if self.shared.stopped() {
                    return;
                }
            }
            if !self.resolve_warp(from, to) {
                return;
            }
        }
    }

    fn deadlock(&self, ctx: &BlockContext) {
        let lanes = self.lanes.borrow();
        let place = |l: &Lane| match l.request.get().site >> 32 {
            0 => String::new(),
            line => format!(" at line {line}"),
        };
        let first = |w: Wait| lanes.iter().position(|l| l.wait.get() == w);
        let mut text = String::from("the block is deadlocked:");
        for (wait, name) in [
            (Wait::Barrier, "a barrier"),
            (Wait::Warp, "a warp operation"),
            (Wait::Spin, "other blocks"),
        ] {
            if let Some(t) = first(wait) {
                let n = lanes.iter().filter(|l| l.wait.get() == wait).count();
                text += &format!(" {n} threads wait for {name}{},", place(&lanes[t]));
            }
        }
        let done = lanes.iter().filter(|l| l.wait.get() == Wait::Done);
        let done = done.count();
        text += &format!(" {done} have returned");
        let t = first(Wait::Barrier).or(first(Wait::Warp)).unwrap_or(0) as u32;
        let [nx, ny, _] = ctx.ntid;
        self.shared.fail(Fault {
            kind: FaultKind::Deadlock,
            message: text,
            kernel: self.shared.kernel.to_owned(),
            block: ctx.ctaid,
            thread: [t % nx, t / nx % ny, t / (nx * ny)],
            out_of_bounds: None,
        });
    }

    /// Stack of the running coroutine.
    fn stack_bytes(&self) -> usize {
        match self.in_threads.get() {
            true => self.shared.stack_bytes,
            false => self.shared.stack_bytes.max(LOOP_STACK),
        }
    }

    /// The processor ended a thread.
    fn trapped(&self, ctx: &BlockContext, t: Trapped, thread: [u32; 3]) {
        let checked = self.shared.sanitizer.is_some();
        self.shared.fail(Fault {
            kind: match t.is_overflow {
                true => FaultKind::Stack,
                false => FaultKind::Memory,
            },
            message: t.describe(self.stack_bytes(), checked),
            kernel: self.shared.kernel.to_owned(),
            block: ctx.ctaid,
            thread,
            out_of_bounds: None,
        });
    }

    /// Leaves the running thread, never to return.
    pub(super) fn abandon(&self, linear: usize) -> ! {
        let y = match self.in_threads.get() {
            true => self.with_lane(linear, |l| l.yielder.get()),
            false => self.block_yielder.get(),
        };
        loop {
            // SAFETY: the yielder of the coroutine that is running right now.
            unsafe { (*y).suspend(()) };
        }
    }
}
