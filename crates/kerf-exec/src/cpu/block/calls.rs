//! What compiled code calls: barriers and warp operations, faults, printf.
use super::BlockWorker;
use super::lane::{Lane, Request, Wait};
use crate::cpu::collective_kinds::{ARRIVE, warp as warp_kind};
use crate::cpu::context::BlockContext;
use crate::cpu::fault::{Fault, FaultKind};
use crate::cpu::signals;

pub(in crate::cpu) fn linear(ctx: &BlockContext, x: u32, y: u32, z: u32) -> usize {
    (x + ctx.ntid[0] * (y + ctx.ntid[1] * z)) as usize
}

/// The worker behind a context. It is shared with the scheduler below on the same stack of calls, so what changes in it are
/// cells.
///
/// # Safety
/// `ctx` is the context that the running kernel was called with.
pub(in crate::cpu) unsafe fn worker<'w>(ctx: *const BlockContext) -> &'w BlockWorker<'w> {
    // SAFETY: `runtime` was set to the worker that runs this block, on this thread, which outlives it.
    unsafe { &*(*ctx).runtime.cast::<BlockWorker<'w>>() }
}

/// Lets the scheduler run until it has answered a thread's request; what `answer` takes of the lane.
///
/// # Safety
/// The thread `t` of the worker's block is the running one.
unsafe fn wait<R>(
    w: &BlockWorker,
    t: usize,
    why: Wait,
    request: Option<Request>,
    answer: impl FnOnce(&Lane) -> R,
) -> R {
    let yielder = w.with_lane(t, |l| {
        l.wait.set(why);
        if let Some(r) = request {
            l.request.set(r);
        }
        l.yielder.get()
    });
    // SAFETY: the yielder of the running coroutine, which lives until that ends. No borrow of the worker's is held.
    unsafe { (*yielder).suspend(()) };
    w.with_lane(t, answer)
}

pub(in crate::cpu) extern "C" fn barrier(
    ctx: *const BlockContext,
    x: u32,
    y: u32,
    z: u32,
    id: u32,
    count: u32,
    red: u32,
    pred: u32,
    site: u64,
) -> u32 {
    // SAFETY: called by compiled code with its own context.
    let (w, t) = unsafe { (worker(ctx), linear(&*ctx, x, y, z)) };
    if red == ARRIVE {
        w.arrive(id, t);
        return 0;
    }
    let request = Request {
        op: id,
        mask: count,
        red,
        value: u64::from(pred),
        site,
        ..Request::default()
    };
    // SAFETY: compiled code passes the numbers of its own thread.
    unsafe {
        wait(w, t, Wait::Barrier, Some(request), |l| {
            l.result.get() as u32
        })
    }
}

/// Before a load that may wait for another block: in a cooperative grid, that one gets its turn.
pub(in crate::cpu) extern "C" fn spin(ctx: *const BlockContext, x: u32, y: u32, z: u32) {
    // SAFETY: as in `barrier`.
    unsafe {
        if (*ctx).grid.is_null() {
            return;
        }
        let t = linear(&*ctx, x, y, z);
        wait(worker(ctx), t, Wait::Spin, None, |_| ());
    }
}

#[allow(clippy::too_many_arguments)]
pub(in crate::cpu) extern "C" fn warp(
    ctx: *const BlockContext,
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
    let request = Request {
        op,
        mask,
        value,
        x: arg,
        c,
        site,
        red: 0,
    };
    // SAFETY: as in `barrier`.
    unsafe {
        let t = linear(&*ctx, x, y, z);
        wait(worker(ctx), t, Wait::Warp, Some(request), |l| {
            l.result.get()
        })
    }
}

/// A product of matrices: `frame` has the thread's registers, and gets those of its result.
#[allow(clippy::too_many_arguments)]
pub(in crate::cpu) extern "C" fn multiply_matrices(
    ctx: *const BlockContext,
    x: u32,
    y: u32,
    z: u32,
    form: u64,
    frame: *mut u8,
    site: u64,
) {
    let request = Request {
        op: warp_kind::MULTIPLY,
        mask: u32::MAX,
        value: frame as u64,
        x: form as u32,
        c: (form >> 32) as u32,
        site,
        red: 0,
    };
    // SAFETY: as in `barrier`.
    unsafe {
        let t = linear(&*ctx, x, y, z);
        wait(worker(ctx), t, Wait::Warp, Some(request), |_| ());
    }
}

fn fault(ctx: *const BlockContext, at: [u32; 3], kind: FaultKind, message: String) -> ! {
    // SAFETY: as in `barrier`.
    unsafe {
        let w = worker(ctx);
        w.shared.fail(Fault {
            kind,
            message,
            kernel: w.shared.kernel.to_owned(),
            block: (*ctx).ctaid,
            thread: at,
            out_of_bounds: None,
        });
        w.abandon(linear(&*ctx, at[0], at[1], at[2]))
    }
}

/// Ends the thread where its stack does not suffice for a function that allocates.
pub(in crate::cpu) fn need_headroom(ctx: *const BlockContext, at: impl FnOnce() -> [u32; 3]) {
    if !signals::has_headroom() {
        // SAFETY: as in `barrier`.
        let stack_bytes = unsafe { worker(ctx) }.stack_bytes();
        fault(ctx, at(), FaultKind::Stack, signals::overflow(stack_bytes));
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

pub(in crate::cpu) extern "C" fn trap(
    ctx: *const BlockContext,
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

pub(in crate::cpu) extern "C" fn assert(
    ctx: *const BlockContext,
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

pub(in crate::cpu) extern "C" fn printf(
    ctx: *const BlockContext,
    x: u32,
    y: u32,
    z: u32,
    format: *const i8,
    args: *const u8,
) -> i32 {
    need_headroom(ctx, || [x, y, z]);
    // SAFETY: the compiler packed the arguments for this format.
    unsafe {
        let out = crate::cpu::printf::format(format, args);
        worker(ctx).shared.print(&out);
    }
    0
}
