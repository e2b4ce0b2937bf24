//! What an address belongs to, and whether an access stays within it.
use super::super::block::BlockWorker;
use super::super::context::BlockContext;
use super::super::fault::{FaultKind, LeftObject, OutOfBounds};
use super::super::heap;
use super::super::launch_state::MemoryRange;
use super::Sanitizer;
use super::races::RaceAccess;
use kerf_pass::sanitize::SiteKind;

/// The object of an access: its addresses, found for a base.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Object {
    base: usize,
    start: usize,
    end: usize,
    /// Bits of an address that have to be zero.
    low: usize,
    /// Other threads see it.
    watched: bool,
}

/// Bytes of the widest access of one thread: what a type promises beyond that no access needs.
const WIDEST_ACCESS: usize = 16;

/// What the checks found.
pub(in crate::cpu) struct Wrong {
    pub(super) kind: FaultKind,
    /// In words.
    pub(super) message: String,
    /// The access, where it left its object.
    pub(super) out_of_bounds: Option<Box<OutOfBounds>>,
}

impl Wrong {
    /// Anything but an access that left its object.
    pub(super) fn new(kind: FaultKind, message: String) -> Wrong {
        Wrong {
            kind,
            message,
            out_of_bounds: None,
        }
    }
}

/// An access that left an object.
fn outside(access: Described, object: LeftObject) -> Wrong {
    let o = OutOfBounds {
        access: access.words,
        writes: access.writes,
        object,
    };
    Wrong {
        kind: FaultKind::Memory,
        message: o.to_string(),
        out_of_bounds: Some(Box::new(o)),
    }
}

fn out_of(r: &MemoryRange, address: usize, access: Described) -> Wrong {
    let at = address as i64 - r.start as i64;
    let (name, bytes) = (r.name.clone(), r.end - r.start);
    let object = match r.element {
        0 => LeftObject::Allocation {
            name: Some(name),
            bytes,
            at,
        },
        e => LeftObject::Buffer {
            name,
            elements: bytes / e,
            index: at.div_euclid(e as i64),
        },
    };
    outside(access, object)
}

/// The access of a place.
struct Described {
    /// What it does, and where it is in the source.
    words: String,
    writes: bool,
}

fn described(s: &Sanitizer, site: u32, bytes: u64) -> Described {
    let a = s.site(site);
    let kind = match a.kind {
        SiteKind::Load => "load",
        SiteKind::Store => "store",
        _ => "atomic",
    };
    Described {
        words: format!("{kind} of {bytes} bytes{} in {}", s.place(site), a.function),
        writes: a.kind != SiteKind::Load,
    }
}

/// The location of an access in words: `x[3]`, `byte 12 of shared s`.
pub(super) fn location(
    w: &BlockWorker,
    ctx: &BlockContext,
    s: &Sanitizer,
    a: &RaceAccess,
    base: usize,
) -> String {
    let mut ranges = w.shared.ranges.iter();
    if let Some(r) = ranges.find(|r| (r.start..r.end).contains(&a.address)) {
        let at = a.address - r.start;
        return match r.element {
            0 => format!("byte {at} of the allocation {}", r.name),
            e => format!("{}[{}]", r.name, at / e),
        };
    }
    if !a.shared {
        return format!("the memory at {:#x}", a.address);
    }
    match (&s.site(a.site).object, base) {
        (Some(o), base) if base != 0 => format!("byte {} of shared {o}", a.address - base),
        _ => {
            let at = a.address - ctx.shared as usize;
            format!("byte {at} of the block's shared memory")
        }
    }
}

/// Whether an access is right; says whether other threads see what it accesses.
#[inline]
pub(super) fn check(
    w: &BlockWorker,
    ctx: &BlockContext,
    s: &Sanitizer,
    address: usize,
    base: usize,
    bytes: u64,
    site: u32,
) -> Result<bool, Wrong> {
    let end = address.saturating_add(bytes as usize);
    if let Some(c) = &w.checks {
        let o = c.borrow().objects[s.index(site)];
        let same = o.base == base && address & o.low == 0;
        if same && address >= o.start && end <= o.end {
            return Ok(o.watched);
        }
    }
    let low = aligned(s, address, bytes, site)?;
    let found = match base {
        0 => find(w, ctx, s, address, base, bytes, site)?,
        _ => match &s.site(site).object {
            Some(name) => variable(ctx, s, (address, base, bytes), site, name)?,
            None => find(w, ctx, s, address, base, bytes, site)?,
        },
    };
    if let Some(c) = &w.checks {
        c.borrow_mut().objects[s.index(site)] = Object { base, low, ..found };
    }
    Ok(found.watched)
}

/// Whether an address has the alignment of its access; gives the bits that have to be zero.
fn aligned(s: &Sanitizer, address: usize, bytes: u64, site: u32) -> Result<usize, Wrong> {
    let align = (s.site(site).align.max(1) as usize).min(WIDEST_ACCESS);
    match address % align {
        0 => Ok(align - 1),
        past => {
            let what = described(s, site, bytes).words;
            Err(Wrong::new(
                FaultKind::Alignment,
                format!("misaligned {what}: address is {past} past a multiple of {align}"),
            ))
        }
    }
}

/// The variable that an access is to, where its place names one.
fn variable(
    ctx: &BlockContext,
    s: &Sanitizer,
    (address, base, bytes): (usize, usize, u64),
    site: u32,
    name: &str,
) -> Result<Object, Wrong> {
    let a = s.site(site);
    let end = match a.extent {
        0 => ctx.shared as usize + ctx.shared_bytes as usize,
        n => base + n as usize,
    };
    if address >= base && address.saturating_add(bytes as usize) <= end {
        return Ok(Object {
            base,
            start: base,
            end,
            low: 0,
            watched: !a.private,
        });
    }
    let at = address as i64 - base as i64;
    let object = LeftObject::Variable {
        name: name.to_owned(),
        bytes: end - base,
        at,
    };
    Err(outside(described(s, site, bytes), object))
}

fn find(
    w: &BlockWorker,
    ctx: &BlockContext,
    s: &Sanitizer,
    address: usize,
    base: usize,
    bytes: u64,
    site: u32,
) -> Result<Object, Wrong> {
    let end = address.saturating_add(bytes as usize);
    let ranges = w.shared.ranges;
    let object = |start: usize, end: usize, watched: bool| Object {
        base,
        start,
        end,
        low: 0,
        watched,
    };
    let of_base = (base != 0)
        .then(|| ranges.iter().find(|r| r.start <= base && base < r.end))
        .flatten();
    if let Some(r) = of_base {
        return match address >= r.start && end <= r.end {
            true => Ok(object(r.start, r.end, true)),
            false => Err(out_of(r, address, described(s, site, bytes))),
        };
    }
    let (shared, shared_end) = (
        ctx.shared as usize,
        ctx.shared as usize + ctx.shared_bytes as usize,
    );
    if address >= shared && end <= shared_end {
        return Ok(object(shared, shared_end, true));
    }
    if let Some(r) = ranges.iter().find(|r| address >= r.start && end <= r.end) {
        return Ok(object(r.start, r.end, true));
    }
    if heap::holds(address, end) {
        // It may be freed: nothing to remember.
        return Ok(object(0, 0, true));
    }
    if w.on_stack(address) {
        return Ok(object(address, end, false));
    }
    let what = described(s, site, bytes);
    if let Some((bytes, at)) = heap::near(address) {
        let object = LeftObject::Allocation {
            name: None,
            bytes,
            at: at as i64,
        };
        return Err(outside(what, object));
    }
    let near = ranges.iter().min_by_key(|r| match address < r.start {
        true => r.start - address,
        false => address.saturating_sub(r.end),
    });
    Err(match near {
        Some(r) if address.abs_diff(r.start) < 1 << 40 => out_of(r, address, what),
        _ => Wrong::new(
            FaultKind::Memory,
            format!(
                "invalid {}: address {address:#x} belongs to no buffer",
                what.words
            ),
        ),
    })
}
