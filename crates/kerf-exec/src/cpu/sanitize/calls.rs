//! What compiled code calls of the checks.
use super::super::block::{BlockWorker, linear, need_headroom, worker};
use super::super::context::BlockContext;
use super::super::fault::FaultKind;
use super::bounds::Wrong;
use super::clocks::FenceReach;
use super::races::{Conflict, RaceAccess, Severity};
use super::{ASSUMED, Sanitizer, bounds};
use kerf_pass::sanitize::{SiteKind, origin_of};

/// The thread of a linear number.
fn thread_of(ctx: &BlockContext, t: u32) -> [u32; 3] {
    let [nx, ny, _] = ctx.ntid;
    [t % nx, t / nx % ny, t / (nx * ny)]
}

fn triple(p: [u32; 3]) -> String {
    format!("({}, {}, {})", p[0], p[1], p[2])
}

/// The running worker, its checks, and the context itself.
///
/// # Safety
/// `ctx` is the context that the running kernel was called with.
unsafe fn checked<'w>(
    ctx: *const BlockContext,
) -> Option<(&'w BlockWorker<'w>, &'w Sanitizer, &'w BlockContext)> {
    // SAFETY: as the caller promises.
    let (w, ctx) = unsafe { (worker(ctx), &*ctx) };
    let s = w.shared.sanitizer?;
    Some((w, s, ctx))
}

/// Compiled code is about to access memory.
pub(in crate::cpu) extern "C" fn access(
    ctx: *const BlockContext,
    thread: u32,
    address: usize,
    base: usize,
    bytes: u64,
    value: u64,
    site: u32,
) {
    // SAFETY: called by compiled code with its own context.
    let Some((w, s, ctx)) = (unsafe { checked(ctx) }) else {
        return;
    };
    // A copy of nothing may name any address.
    if bytes == 0 {
        return;
    }
    need_headroom(ctx, || thread_of(ctx, thread));
    let watched = match bounds::check(w, ctx, s, address, base, bytes, site) {
        Ok(watched) => watched,
        Err(wrong) => {
            w.found(ctx, thread, wrong);
            false
        }
    };
    if !watched || !s.options.races {
        return;
    }
    let info = s.site(site);
    let stores = info.kind == SiteKind::Store;
    let mut there = [0u8; 8];
    let silent = stores && bytes <= 8 && {
        // SAFETY: the access was found to be within an object.
        unsafe {
            std::ptr::copy_nonoverlapping(address as *const u8, there.as_mut_ptr(), bytes as usize);
        }
        u64::from_le_bytes(there) == value
    };
    let shared = address.wrapping_sub(ctx.shared as usize) < ctx.shared_bytes as usize;
    let a = RaceAccess {
        thread,
        address,
        bytes: bytes as usize,
        writes: info.kind != SiteKind::Load,
        reads: !stores,
        strong: info.strong,
        silent,
        shared,
        site,
    };
    // The records are given back before a conflict ends the thread.
    let conflict = w.with_races(|r| r.access(&a)).flatten();
    if let Some(c) = conflict {
        race(w, ctx, s, &a, &c, base);
    }
}

fn race(
    w: &BlockWorker,
    ctx: &BlockContext,
    s: &Sanitizer,
    a: &RaceAccess,
    c: &Conflict,
    base: usize,
) {
    let verb = |writes: bool, site: u32| match (writes, s.site(site).kind) {
        (_, SiteKind::Atomic) => "updates it atomically",
        (true, _) => "writes it",
        (false, _) => "reads it",
    };
    let [gx, gy, _] = ctx.nctaid;
    let b = c.other.block;
    let block = [b % gx, b / gx % gy, b / (gx * gy)];
    let other = format!(
        "thread {} of block {} {}{}",
        triple(thread_of(ctx, u32::from(c.other.thread))),
        triple(block),
        verb(c.other_writes, c.other.site),
        s.place(c.other.site)
    );
    let mine = format!("this one {}{}", verb(a.writes, a.site), s.place(a.site));
    let what = bounds::location(w, ctx, s, a, base);
    match c.severity {
        Severity::Race => {
            let text = format!(
                "race on {what}: {other}, {mine}, and neither a barrier nor an atomic with fences orders the two"
            );
            w.found(ctx, a.thread, Wrong::new(FaultKind::Race, text));
        }
        Severity::SameValue if a.writes && c.other_writes => s.note(format!(
            "threads write the same value to one place without order{} and{}",
            s.place(c.other.site),
            s.place(a.site)
        )),
        Severity::SameValue => {
            let (writer, reader) = match a.writes {
                true => (a.site, c.other.site),
                false => (c.other.site, a.site),
            };
            s.note(format!(
                "a thread writes what is there already{}, and another reads it without order{}",
                s.place(writer),
                s.place(reader)
            ));
        }
        Severity::Unfenced => s.note(format!(
            "accesses{} and{} are ordered by an atomic or volatile read without a fence behind it",
            s.place(c.other.site),
            s.place(a.site)
        )),
    }
}

/// An undefined value decides something.
pub(in crate::cpu) extern "C" fn used(
    ctx: *const BlockContext,
    x: u32,
    y: u32,
    z: u32,
    origin: u32,
    site: u32,
) {
    // SAFETY: as in `access`.
    let Some((w, s, ctx)) = (unsafe { checked(ctx) }) else {
        return;
    };
    let site_kind = s.site(site).kind;
    let is_access = matches!(
        site_kind,
        SiteKind::Load | SiteKind::Store | SiteKind::Atomic
    );
    let what = match site_kind {
        _ if is_access => "the address of the access",
        SiteKind::Branch => "the branch",
        SiteKind::Barrier => "the barrier",
        _ => "the warp operation",
    };
    if origin == ASSUMED {
        return;
    }
    let (kind, cause) = s.cause(origin);
    if kind == FaultKind::Overflow && !is_access {
        return;
    }
    let text = format!(
        "{what}{} depends on an undefined value: {cause}",
        s.place(site)
    );
    w.found(ctx, linear(ctx, x, y, z) as u32, Wrong::new(kind, text));
}

/// Where an undefined value in memory comes from; if nobody wrote it, from its load.
pub(in crate::cpu) extern "C" fn load_origin(
    ctx: *const BlockContext,
    _x: u32,
    _y: u32,
    _z: u32,
    address: usize,
    site: u32,
) -> u32 {
    // SAFETY: as in `access`.
    let Some((w, s, _)) = (unsafe { checked(ctx) }) else {
        return 0;
    };
    let first = s.region.first_undefined(address, 16).map_or(0, |f| f.0);
    match s.region.origin_of(address + first) {
        0 => origin_of(site),
        ASSUMED => {
            let mut all = w.shared.ranges.iter();
            if let Some(r) = all.find(|r| (r.start..r.end).contains(&address)) {
                s.note(format!(
                    "{} has no `init`, and the load{} reads it before a kernel writes it: zeros are assumed",
                    r.name,
                    s.place(site)
                ));
                s.region.fill(r.start, r.end - r.start, false, 0);
            }
            ASSUMED
        }
        o => o,
    }
}

pub(in crate::cpu) extern "C" fn store_origin(
    ctx: *const BlockContext,
    x: u32,
    y: u32,
    z: u32,
    address: usize,
    bytes: u64,
    origin: u32,
) {
    // SAFETY: as in `access`.
    let Some((w, s, ctx)) = (unsafe { checked(ctx) }) else {
        return;
    };
    if origin == ASSUMED {
        return s.region.fill(address, bytes as usize, false, 0);
    }
    s.region.set_origin(address, bytes as usize, origin);
    s.stored(origin, || {
        let (block, thread) = (triple(ctx.ctaid), triple([x, y, z]));
        format!("{}, block {block}, thread {thread}", w.shared.kernel)
    });
}

pub(in crate::cpu) extern "C" fn copy(
    ctx: *const BlockContext,
    _x: u32,
    _y: u32,
    _z: u32,
    to: usize,
    from: usize,
    bytes: u64,
) {
    // SAFETY: as in `access`.
    if let Some((_, s, _)) = unsafe { checked(ctx) } {
        s.region.copy(to, from, bytes as usize);
    }
}

pub(in crate::cpu) extern "C" fn define(
    ctx: *const BlockContext,
    _x: u32,
    _y: u32,
    _z: u32,
    address: usize,
    bytes: u64,
) {
    // SAFETY: as in `access`.
    if let Some((_, s, _)) = unsafe { checked(ctx) } {
        s.region.fill(address, bytes as usize, false, 0);
    }
}

pub(in crate::cpu) extern "C" fn undefine(
    ctx: *const BlockContext,
    _x: u32,
    _y: u32,
    _z: u32,
    address: usize,
    bytes: u64,
    origin: u32,
) {
    // SAFETY: as in `access`.
    if let Some((_, s, _)) = unsafe { checked(ctx) } {
        s.region.fill(address, bytes as usize, true, origin);
    }
}

pub(in crate::cpu) extern "C" fn fence(
    ctx: *const BlockContext,
    x: u32,
    y: u32,
    z: u32,
    device: u32,
) {
    // SAFETY: as in `access`.
    let Some((w, _, ctx)) = (unsafe { checked(ctx) }) else {
        return;
    };
    let reach = match device {
        0 => FenceReach::Block,
        _ => FenceReach::Device,
    };
    w.with_races(|r| r.clocks.fence(linear(ctx, x, y, z), reach));
}

/// The thread is about to wait for others.
pub(in crate::cpu) extern "C" fn meet(ctx: *const BlockContext, x: u32, y: u32, z: u32, site: u32) {
    // SAFETY: as in `access`.
    let Some((w, _, ctx)) = (unsafe { checked(ctx) }) else {
        return;
    };
    w.will_meet(linear(ctx, x, y, z), site);
}
