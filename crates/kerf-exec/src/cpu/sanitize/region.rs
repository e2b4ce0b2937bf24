//! The memory of programs that are checked, and what is kept beside it.
//!
//! One range of addresses holds every buffer, stack and block's shared memory of the process, so that shadow, origin
//! and the record of accesses are found by arithmetic: a byte of shadow for a byte, four bytes of origin and a cell
//! for every four. Pages come when they are touched.
use super::record::AccessHistory;
use crate::cpu::mapping::{MemoryError, map};
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, OnceLock};

/// Address space for programs; as much again, twice, and twelve times are reserved beside it.
const RESERVE: usize = 1 << 40;

/// The range and its companions.
pub struct Region {
    /// Lowest address.
    pub base: usize,
    /// Bytes.
    pub size: usize,
    /// First byte of the shadow.
    pub shadow: usize,
    origin: usize,
    cells: usize,
    /// Bytes given out, from the base.
    pub next: Arc<AtomicUsize>,
}

static REGION: OnceLock<Result<Region, MemoryError>> = OnceLock::new();

impl Region {
    /// The process's region.
    pub fn get() -> Result<&'static Region, MemoryError> {
        REGION
            .get_or_init(Region::reserve)
            .as_ref()
            .map_err(Clone::clone)
    }

    /// The region, if a program of this process is checked.
    pub fn active() -> Option<&'static Region> {
        REGION.get()?.as_ref().ok()
    }

    fn reserve() -> Result<Region, MemoryError> {
        let cell = size_of::<AccessHistory>() / 4;
        let mut size = RESERVE;
        loop {
            match map(size * (3 + cell)) {
                Ok(base) => {
                    return Ok(Region {
                        base,
                        size,
                        shadow: base + size,
                        origin: base + 2 * size,
                        cells: base + 3 * size,
                        next: Arc::default(),
                    });
                }
                Err(e) if size <= 1 << 30 => return Err(e),
                // A limit on address space: make do with less.
                Err(_) => size /= 2,
            }
        }
    }

    /// Does it hold an address?
    pub fn holds(&self, address: usize) -> bool {
        address.wrapping_sub(self.base) < self.size
    }

    /// The part of a range that is in the region: address and bytes.
    fn part(&self, address: usize, bytes: usize) -> Option<(usize, usize)> {
        self.holds(address)
            .then(|| (address, bytes.min(self.base + self.size - address)))
    }

    fn origin_at(&self, address: usize) -> *mut u32 {
        (self.origin + ((address - self.base) & !3)) as *mut u32
    }

    /// Sets the shadow of a range.
    pub fn fill(&self, address: usize, bytes: usize, undefined: bool, origin: u32) {
        let Some((at, n)) = self.part(address, bytes) else {
            return;
        };
        let value = if undefined { 0xff } else { 0 };
        // SAFETY: the shadow of a part of the region, which is mapped with it.
        unsafe { std::ptr::write_bytes((at - self.base + self.shadow) as *mut u8, value, n) };
        if undefined {
            self.set_origin(at, n, origin);
        }
    }

    /// Sets the origin of a range.
    pub fn set_origin(&self, address: usize, bytes: usize, origin: u32) {
        let Some((at, n)) = self.part(address, bytes) else {
            return;
        };
        for word in (at & !3..at + n).step_by(4) {
            // SAFETY: as in `fill`.
            unsafe { *self.origin_at(word) = origin };
        }
    }

    /// The origin of the first undefined byte of a few; 0 if nobody wrote it.
    pub fn origin_of(&self, address: usize) -> u32 {
        match self.holds(address) {
            // SAFETY: as in `fill`.
            true => unsafe { *self.origin_at(address) },
            false => 0,
        }
    }

    /// Copies shadow and origin with bytes.
    pub fn copy(&self, to: usize, from: usize, bytes: usize) {
        let (Some((to, n)), Some((from, _))) = (self.part(to, bytes), self.part(from, bytes))
        else {
            // What comes from elsewhere is defined.
            self.fill(to, bytes, false, 0);
            return;
        };
        let shadow = |a: usize| (a - self.base + self.shadow) as *mut u8;
        // SAFETY: as in `fill`.
        unsafe {
            std::ptr::copy(shadow(from), shadow(to), n);
            let first = *self.origin_at(from);
            match (to ^ from) & 3 {
                0 => std::ptr::copy(self.origin_at(from), self.origin_at(to), n.div_ceil(4)),
                _ => self.set_origin(to, n, first),
            }
        }
    }

    /// The first undefined byte of a range, with its origin.
    pub fn first_undefined(&self, address: usize, bytes: usize) -> Option<(usize, u32)> {
        let (at, n) = self.part(address, bytes)?;
        // SAFETY: as in `fill`; no kernel runs.
        let shadow =
            unsafe { std::slice::from_raw_parts((at - self.base + self.shadow) as *const u8, n) };
        let k = shadow.iter().position(|s| *s != 0)?;
        Some((k, self.origin_of(at + k)))
    }

    /// The record of accesses of a word.
    pub fn cell(&self, address: usize) -> Option<*mut AccessHistory> {
        self.holds(address).then(|| {
            (self.cells + (address - self.base) / 4 * size_of::<AccessHistory>())
                as *mut AccessHistory
        })
    }
}
