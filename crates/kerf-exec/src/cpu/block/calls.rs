//! What compiled code calls: barriers and warp operations, faults, printf.
use super::BlockWorker;
use super::lane::Wait;
use crate::cpu::collective_kinds::ARRIVE;
use crate::cpu::context::BlockContext;
use crate::cpu::fault::{Fault, FaultKind};
use crate::cpu::signals;

pub(in crate::cpu) fn linear(ctx: &BlockContext, x: u32, y: u32, z: u32) -> usize {
    (x + ctx.ntid[0] * (y + ctx.ntid[1] * z)) as usize
}

/// The worker behind a context.
///
/// # Safety
/// `ctx` is the context that the running kernel was called with.
pub(in crate::cpu) unsafe fn worker<'w>(ctx: *const BlockContext) -> &'w mut BlockWorker<'w> {
    // SAFETY: `runtime` was set to the worker that runs this block, on this thread; while compiled
    // code runs, nobody else uses it.
    unsafe { &mut *(*ctx).runtime.cast::<BlockWorker<'w>>() }
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
    // SAFETY: called by compiled code with its own context; the lane's yielder is the running one's.
    unsafe {
        let w = worker(ctx);
        if red == ARRIVE {
            w.arrived[id as usize & 15] += 1;
            if w.checks.is_some() {
                w.arrivals[id as usize & 15].push(linear(&*ctx, x, y, z));
            }
            return 0;
        }
        let l = &mut w.lanes[linear(&*ctx, x, y, z)];
        l.wait = Wait::Barrier;
        (l.op, l.mask, l.red, l.value, l.site) = (id, count, red, u64::from(pred), site);
        (*l.yielder).suspend(());
        l.result as u32
    }
}

/// Before a load that may wait for another block: in a cooperative grid, that one gets its turn.
pub(in crate::cpu) extern "C" fn spin(ctx: *const BlockContext, x: u32, y: u32, z: u32) {
    // SAFETY: as in `barrier`.
    unsafe {
        if (*ctx).grid.is_null() {
            return;
        }
        let w = worker(ctx);
        let l = &mut w.lanes[linear(&*ctx, x, y, z)];
        l.wait = Wait::Spin;
        (*l.yielder).suspend(());
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
