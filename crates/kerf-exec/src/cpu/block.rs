//! Running one block: threads as coroutines, barriers, warp operations, faults.
//!
//! A thread runs until it meets a barrier or a warp operation, where it leaves its request in its
//! lane and switches back. A warp's lanes run first among themselves, so that shuffles resolve
//! without involving the rest of the block; then barriers are resolved. Threads that returned count
//! as arrived everywhere, as on hardware since Volta. When nothing can go on, the block is
//! deadlocked, and the fault says who waits where.
use super::context::Context;
use super::intrinsics::warp_kind as kind;
use super::launch::{Fault, FaultKind, Shared};
use super::memory::{ArenaStack, MemoryError};
use corosensei::{Coroutine, CoroutineResult, Yielder};
use std::ffi::c_void;

/// Entry of a kernel in loop mode.
pub type BlockFn = extern "C" fn(*mut Context, *const *const u8);
/// Entry of a kernel in coroutine mode.
pub type ThreadFn = extern "C" fn(*mut Context, *const *const u8, u32, u32, u32);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wait {
    Ready,
    Barrier,
    Warp,
    Done,
}

/// A thread's request and its answer.
struct Lane {
    wait: Wait,
    yielder: *const Yielder<(), ()>,
    /// Barrier number, or kind of warp operation.
    op: u32,
    /// Threads that the barrier waits for (0: all), or lanes of the warp operation.
    mask: u32,
    value: u64,
    x: u32,
    c: u32,
    /// Reduction of a barrier.
    red: u32,
    site: u64,
    result: u64,
}

impl Lane {
    fn new() -> Lane {
        Lane {
            wait: Wait::Ready,
            yielder: std::ptr::null(),
            op: 0,
            mask: 0,
            value: 0,
            x: 0,
            c: 0,
            red: 0,
            site: 0,
            result: 0,
        }
    }
}

/// State of one worker thread of the executor.
pub struct Worker<'a> {
    /// What all workers of the launch share.
    pub shared: &'a Shared<'a>,
    lanes: Vec<Lane>,
    /// Threads that arrived at each barrier without waiting there (bar.arrive).
    arrived: [usize; 16],
    stacks: Vec<ArenaStack>,
    /// Coroutine that runs whole blocks in loop mode.
    block_yielder: *const Yielder<(), ()>,
    in_threads: bool,
}

impl<'a> Worker<'a> {
    /// A worker of a launch.
    pub fn new(shared: &'a Shared<'a>) -> Worker<'a> {
        Worker {
            shared,
            lanes: Vec::new(),
            arrived: [0; 16],
            stacks: Vec::new(),
            block_yielder: std::ptr::null(),
            in_threads: false,
        }
    }

    /// Gives the stacks back for the next launch.
    pub fn into_stacks(self) -> Vec<ArenaStack> {
        self.stacks
    }

    /// Takes stacks over from an earlier launch.
    pub fn with_stacks(mut self, stacks: Vec<ArenaStack>) -> Worker<'a> {
        self.stacks = stacks;
        self
    }

    fn stack(&mut self, bytes: usize) -> Result<ArenaStack, MemoryError> {
        match self.stacks.pop() {
            Some(s) if s.range().1 - s.range().0 >= bytes + 4096 => Ok(s),
            _ => ArenaStack::new(self.shared.arena, bytes),
        }
    }

    /// Runs `work` in a coroutine, which a fault leaves for good.
    fn in_coroutine(
        &mut self,
        ctx: &mut Context,
        work: &mut dyn FnMut(*mut Context),
    ) -> Result<(), MemoryError> {
        ctx.runtime = std::ptr::from_mut(self).cast::<c_void>();
        let stack = self.stack(self.shared.stack_bytes.max(1 << 20))?;
        let me = std::ptr::from_mut(self).cast::<Worker<'static>>();
        let ctx: *mut Context = ctx;
        let work: *mut dyn FnMut(*mut Context) = work;
        // SAFETY: the coroutine runs and ends (or is reset) inside this call, so the pointers to
        // locals stay valid; lifetimes are erased only because corosensei asks for 'static.
        let work: *mut (dyn FnMut(*mut Context) + 'static) = unsafe { std::mem::transmute(work) };
        let mut co = Coroutine::with_stack(stack, move |y: &Yielder<(), ()>, ()| {
            // SAFETY: as above.
            unsafe {
                (*me).block_yielder = y;
                (*work)(ctx);
            }
        });
        self.in_threads = false;
        if let CoroutineResult::Yield(()) = co.resume(()) {
            // SAFETY: compiled code holds nothing that needs dropping.
            unsafe { co.force_reset() };
        }
        self.stacks.push(co.into_stack());
        Ok(())
    }

    /// Runs blocks in loop mode: `next` sets the context to the next block, or says that there is
    /// none.
    pub fn run_loops(
        &mut self,
        ctx: &mut Context,
        entry: BlockFn,
        args: *const *const u8,
        mut next: impl FnMut(&mut Context) -> bool,
    ) -> Result<(), MemoryError> {
        self.in_coroutine(ctx, &mut |c| {
            // SAFETY: the context of this call.
            while next(unsafe { &mut *c }) {
                entry(c, args);
            }
        })
    }

    /// Runs blocks in region mode: all threads through one region, then the next.
    pub fn run_regions(
        &mut self,
        ctx: &mut Context,
        regions: &[(usize, usize)],
        args: *const *const u8,
        mut next: impl FnMut(&mut Context) -> bool,
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
        &mut self,
        ctx: &mut Context,
        entry: ThreadFn,
        args: *const *const u8,
    ) -> Result<(), MemoryError> {
        let [nx, ny, nz] = ctx.ntid;
        let n = (nx * ny * nz) as usize;
        self.lanes.clear();
        self.lanes.resize_with(n, Lane::new);
        self.arrived = [0; 16];
        self.in_threads = true;
        ctx.runtime = std::ptr::from_mut(self).cast::<c_void>();
        let context: *mut Context = ctx;
        let mut threads = Vec::with_capacity(n);
        for t in 0..n as u32 {
            let stack = self.stack(self.shared.stack_bytes)?;
            let lane: *mut Lane = &mut self.lanes[t as usize];
            let (x, y, z) = (t % nx, t / nx % ny, t / (nx * ny));
            threads.push(Coroutine::with_stack(
                stack,
                move |yielder: &Yielder<(), ()>, ()| {
                    // SAFETY: lane and context outlive the coroutine, which ends or is reset below.
                    unsafe { (*lane).yielder = yielder };
                    entry(context, args, x, y, z);
                },
            ));
        }
        let warps: Vec<(usize, usize)> = (0..n).step_by(32).map(|w| (w, (w + 32).min(n))).collect();
        let mut running = true;
        while running && !self.shared.stopped() {
            for &(from, to) in &warps {
                self.run_warp(&mut threads, from, to);
                if self.shared.stopped() {
                    break;
                }
            }
            running = !self.shared.stopped() && self.lanes.iter().any(|l| l.wait != Wait::Done);
            if running && !self.resolve_barriers() {
                self.deadlock(ctx);
                running = false;
            }
        }
        for mut co in threads {
            if !co.done() {
                // SAFETY: compiled code holds nothing that needs dropping.
                unsafe { co.force_reset() };
            }
            self.stacks.push(co.into_stack());
        }
        Ok(())
    }

    fn run_warp(
        &mut self,
        threads: &mut [Coroutine<(), (), (), ArenaStack>],
        from: usize,
        to: usize,
    ) {
        loop {
            for (t, thread) in threads.iter_mut().enumerate().take(to).skip(from) {
                if self.lanes[t].wait != Wait::Ready {
                    continue;
                }
                if let CoroutineResult::Return(()) = thread.resume(()) {
                    self.lanes[t].wait = Wait::Done;
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

    /// Answers the warp operations that are complete; says whether any thread may go on.
    fn resolve_warp(&mut self, from: usize, to: usize) -> bool {
        let lanes = &mut self.lanes[from..to];
        let waiting = |l: &Lane| l.wait == Wait::Warp;
        let mut progress = false;
        for first in 0..lanes.len() {
            if !waiting(&lanes[first]) {
                continue;
            }
            let (op, mask, site) = (lanes[first].op, lanes[first].mask, lanes[first].site);
            let same = |l: &Lane| {
                waiting(l)
                    && l.op == op
                    && if op == kind::ACTIVE {
                        l.site == site
                    } else {
                        l.mask == mask
                    }
            };
            let members: Vec<usize> = (0..lanes.len()).filter(|i| same(&lanes[*i])).collect();
            // All lanes of the mask that still run must be here. activemask takes those that are:
            // every other lane of the warp waits for something else or is done.
            let complete = op == kind::ACTIVE
                || (0..lanes.len())
                    .all(|i| mask >> i & 1 == 0 || lanes[i].wait == Wait::Done || same(&lanes[i]));
            if !complete {
                continue;
            }
            answer(lanes, &members, op);
            for i in members {
                lanes[i].wait = Wait::Ready;
            }
            progress = true;
        }
        progress
    }

    /// Releases the barriers that everybody reached; says whether there was one.
    fn resolve_barriers(&mut self) -> bool {
        let mut ids: Vec<u32> = self
            .lanes
            .iter()
            .filter(|l| l.wait == Wait::Barrier)
            .map(|l| l.op)
            .collect();
        ids.sort_unstable();
        ids.dedup();
        let mut progress = false;
        for id in ids {
            let at = |l: &Lane| l.wait == Wait::Barrier && l.op == id;
            let here = self.lanes.iter().filter(|l| at(l)).count();
            let count = self.lanes.iter().find(|l| at(l)).map_or(0, |l| l.mask) as usize;
            let alive = self.lanes.iter().filter(|l| l.wait != Wait::Done).count();
            let arrived = self.arrived[id as usize & 15];
            let needed = if count == 0 {
                alive
            } else {
                count.min(alive + arrived)
            };
            if here + arrived < needed {
                continue;
            }
            self.arrived[id as usize & 15] = 0;
            let set = self.lanes.iter().filter(|l| at(l) && l.value != 0).count() as u64;
            for l in self.lanes.iter_mut().filter(|l| at(l)) {
                l.result = match l.red {
                    1 => set,
                    2 => u64::from(set == here as u64),
                    3 => u64::from(set > 0),
                    _ => 0,
                };
                l.wait = Wait::Ready;
            }
            progress = true;
        }
        progress
    }

    fn deadlock(&self, ctx: &Context) {
        let place = |l: &Lane| match l.site >> 32 {
            0 => String::new(),
            line => format!(" at line {line}"),
        };
        let first = |w: Wait| self.lanes.iter().position(|l| l.wait == w);
        let mut text = String::from("the block is deadlocked:");
        for (wait, name) in [
            (Wait::Barrier, "a barrier"),
            (Wait::Warp, "a warp operation"),
        ] {
            if let Some(t) = first(wait) {
                let n = self.lanes.iter().filter(|l| l.wait == wait).count();
                text += &format!(" {n} threads wait for {name}{},", place(&self.lanes[t]));
            }
        }
        let done = self.lanes.iter().filter(|l| l.wait == Wait::Done).count();
        text += &format!(" {done} have returned");
        let t = first(Wait::Barrier).or(first(Wait::Warp)).unwrap_or(0) as u32;
        let [nx, ny, _] = ctx.ntid;
        self.shared.fail(Fault {
            kind: FaultKind::Deadlock,
            message: text,
            kernel: self.shared.kernel.to_owned(),
            block: ctx.ctaid,
            thread: [t % nx, t / nx % ny, t / (nx * ny)],
        });
    }

    /// Leaves the running thread, never to return.
    fn abandon(&mut self, linear: usize) -> ! {
        let y = if self.in_threads {
            self.lanes[linear].yielder
        } else {
            self.block_yielder
        };
        loop {
            // SAFETY: the yielder of the coroutine that is running right now.
            unsafe { (*y).suspend(()) };
        }
    }
}

/// Results of a complete warp operation.
fn answer(lanes: &mut [Lane], members: &[usize], op: u32) {
    let bit = |i: usize| 1u32 << i;
    let active = members.iter().fold(0u32, |m, i| m | bit(*i));
    let values: Vec<u64> = lanes.iter().map(|l| l.value).collect();
    let set = members
        .iter()
        .filter(|i| values[**i] != 0)
        .fold(0u32, |m, i| m | bit(*i));
    for &i in members {
        let v = values[i];
        let (x, c) = (lanes[i].x, lanes[i].c);
        lanes[i].result = match op {
            kind::SHFL_UP | kind::SHFL_DOWN | kind::SHFL_BFLY | kind::SHFL_IDX => {
                let lane = i as u32;
                let (b, clamp, seg) = (x & 31, c & 31, (c >> 8) & 31);
                let max = (lane & seg) | (clamp & !seg);
                let min = lane & seg;
                let (j, ok) = match op {
                    kind::SHFL_UP => (lane.wrapping_sub(b), (lane as i32 - b as i32) >= max as i32),
                    kind::SHFL_DOWN => (lane + b, lane + b <= max),
                    kind::SHFL_BFLY => (lane ^ b, lane ^ b <= max),
                    _ => {
                        let j = min | (b & !seg);
                        (j, j <= max)
                    }
                };
                let j = if ok { j } else { lane } as usize;
                // A lane that takes no part has no value; the hardware's is undefined.
                let from = if j < values.len() && active >> j & 1 == 1 {
                    values[j]
                } else {
                    v
                };
                (from & 0xffff_ffff) | (u64::from(ok) << 32)
            }
            kind::ALL => u64::from(set == active),
            kind::ANY => u64::from(set != 0),
            kind::UNI => u64::from(set == active || set == 0),
            kind::BALLOT => u64::from(set),
            kind::MATCH_ANY => members
                .iter()
                .filter(|k| values[**k] == v)
                .fold(0u64, |m, k| m | u64::from(bit(*k))),
            kind::MATCH_ALL => {
                let all = members.iter().all(|k| values[*k] == v);
                if all { u64::from(active) | 1 << 32 } else { 0 }
            }
            kind::ACTIVE => u64::from(active),
            kind::ELECT => {
                let leader = active.trailing_zeros();
                u64::from(leader) | (u64::from(leader == i as u32) << 32)
            }
            kind::SYNC => 0,
            _ => {
                let it = members.iter().map(|k| values[*k] as u32);
                let r = match kind::REDUX_OPS.get((op - kind::REDUX) as usize).copied() {
                    Some("add") => it.fold(0u32, u32::wrapping_add),
                    Some("min") => it.map(|v| v as i32).min().unwrap_or(0) as u32,
                    Some("max") => it.map(|v| v as i32).max().unwrap_or(0) as u32,
                    Some("umin") => it.min().unwrap_or(0),
                    Some("umax") => it.max().unwrap_or(0),
                    Some("and") => it.fold(u32::MAX, |a, b| a & b),
                    Some("or") => it.fold(0, |a, b| a | b),
                    _ => it.fold(0, |a, b| a ^ b),
                };
                u64::from(r)
            }
        };
    }
}

fn linear(ctx: &Context, x: u32, y: u32, z: u32) -> usize {
    (x + ctx.ntid[0] * (y + ctx.ntid[1] * z)) as usize
}

/// The worker behind a context.
///
/// # Safety
/// `ctx` is the context that the running kernel was called with.
unsafe fn worker<'w>(ctx: *const Context) -> &'w mut Worker<'w> {
    // SAFETY: `runtime` was set to the worker that runs this block, on this thread; while compiled
    // code runs, nobody else uses it.
    unsafe { &mut *(*ctx).runtime.cast::<Worker<'w>>() }
}

/// In place of a barrier's reduction: the thread goes on without waiting.
pub(super) const ARRIVE: u32 = 4;

pub(super) extern "C" fn barrier(
    ctx: *const Context,
    x: u32,
    y: u32,
    z: u32,
    id: u32,
    count: u32,
    red: u32,
    pred: u32,
    site: u64,
) -> u32 {
    // SAFETY: called by compiled code with its own context; the lane's yielder is the running one's.
    unsafe {
        let w = worker(ctx);
        if red == ARRIVE {
            w.arrived[id as usize & 15] += 1;
            return 0;
        }
        let l = &mut w.lanes[linear(&*ctx, x, y, z)];
        l.wait = Wait::Barrier;
        (l.op, l.mask, l.red, l.value, l.site) = (id, count, red, u64::from(pred), site);
        (*l.yielder).suspend(());
        l.result as u32
    }
}

#[allow(clippy::too_many_arguments)]
pub(super) extern "C" fn warp(
    ctx: *const Context,
    x: u32,
    y: u32,
    z: u32,
    op: u32,
    mask: u32,
    value: u64,
    arg: u32,
    c: u32,
    site: u64,
) -> u64 {
    // SAFETY: as in `barrier`.
    unsafe {
        let w = worker(ctx);
        let l = &mut w.lanes[linear(&*ctx, x, y, z)];
        l.wait = Wait::Warp;
        (l.op, l.mask, l.value, l.x, l.c, l.site) = (op, mask, value, arg, c, site);
        (*l.yielder).suspend(());
        l.result
    }
}

fn fault(ctx: *const Context, at: [u32; 3], kind: FaultKind, message: String) -> ! {
    // SAFETY: as in `barrier`.
    unsafe {
        let w = worker(ctx);
        w.shared.fail(Fault {
            kind,
            message,
            kernel: w.shared.kernel.to_owned(),
            block: (*ctx).ctaid,
            thread: at,
        });
        w.abandon(linear(&*ctx, at[0], at[1], at[2]))
    }
}

fn text(p: *const i8) -> String {
    if p.is_null() {
        return String::new();
    }
    // SAFETY: a C string constant of the module.
    unsafe { std::ffi::CStr::from_ptr(p.cast()) }
        .to_string_lossy()
        .into_owned()
}

pub(super) extern "C" fn trap(
    ctx: *const Context,
    x: u32,
    y: u32,
    z: u32,
    what: *const i8,
    site: u64,
) {
    let line = site >> 32;
    let place = if line > 0 {
        format!(" at line {line}")
    } else {
        String::new()
    };
    fault(
        ctx,
        [x, y, z],
        FaultKind::Trap,
        format!("{}{place}", text(what)),
    );
}

pub(super) extern "C" fn assert(
    ctx: *const Context,
    x: u32,
    y: u32,
    z: u32,
    what: *const i8,
    file: *const i8,
    line: u32,
    function: *const i8,
) {
    let message = format!(
        "assertion `{}` failed at {}:{line}, in {}",
        text(what),
        text(file),
        text(function)
    );
    fault(ctx, [x, y, z], FaultKind::Assert, message);
}

pub(super) extern "C" fn printf(
    ctx: *const Context,
    _x: u32,
    _y: u32,
    _z: u32,
    format: *const i8,
    args: *const u8,
) -> i32 {
    // SAFETY: the compiler packed the arguments for this format.
    unsafe {
        let out = super::printf::format(format, args);
        worker(ctx).shared.print(&out);
    }
    0
}

#[allow(clippy::too_many_arguments)]
pub(super) extern "C" fn check(
    ctx: *const Context,
    x: u32,
    y: u32,
    z: u32,
    address: usize,
    bytes: u64,
    base: usize,
    extent: u64,
    site: u32,
) {
    // SAFETY: as in `barrier`.
    unsafe {
        let w = worker(ctx);
        // A copy of nothing may name any address.
        if bytes == 0 {
            return;
        }
        if let Some(message) = w
            .shared
            .memory_fault(&*ctx, address, bytes, base, extent, site, &w.stacks)
        {
            fault(ctx, [x, y, z], FaultKind::Memory, message);
        }
    }
}
