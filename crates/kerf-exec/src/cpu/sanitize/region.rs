//! The memory of programs that are checked, and what is kept beside it.
//!
//! One range of addresses holds every buffer, stack and block's shared memory of the process, so that shadow, origin
//! and the record of accesses are found by arithmetic: a byte of shadow for a byte, four bytes of origin and a cell
//! for every four. Pages come when they are touched.
//!
//! Blocks run in parallel, and a program may let several of them touch one location. So shadows and origins are read and
//! written here as relaxed atomics, or by string instructions, of which the compiler assumes as little; compiled code has
//! plain accesses, whose races LLVM gives a meaning: the value of the load is any. A record of accesses belongs to the one
//! worker of a launch whose races are watched.
use super::record::AccessHistory;
use crate::cpu::mapping::{MemoryError, map};
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicUsize, Ordering};
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

    /// The origin of an address that the region holds.
    fn origin_at(&self, address: usize) -> &AtomicU32 {
        let at = self.origin + ((address - self.base) & !3);
        // SAFETY: mapped with the region, for as long as the process runs; only this module names origins.
        unsafe { AtomicU32::from_ptr(at as *mut u32) }
    }

    /// Where the shadow of an address that the region holds lies.
    fn shadow_at(&self, address: usize) -> *mut u8 {
        (address - self.base + self.shadow) as *mut u8
    }

    /// Sets the shadow of a range.
    pub fn fill(&self, address: usize, bytes: usize, undefined: bool, origin: u32) {
        let Some((at, n)) = self.part(address, bytes) else {
            return;
        };
        let value = if undefined { 0xff } else { 0 };
        // SAFETY: the shadow of a part of the region, which is mapped with it.
        unsafe { bytes::fill(self.shadow_at(at), value, n) };
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
            self.origin_at(word).store(origin, Ordering::Relaxed);
        }
    }

    /// The origin of the first undefined byte of a few; 0 if nobody wrote it.
    pub fn origin_of(&self, address: usize) -> u32 {
        match self.holds(address) {
            true => self.origin_at(address).load(Ordering::Relaxed),
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
        // SAFETY: as in `fill`.
        unsafe { bytes::copy(self.shadow_at(from), self.shadow_at(to), n) };
        if (to ^ from) & 3 != 0 {
            return self.set_origin(to, n, self.origin_of(from));
        }
        let one = |k: usize| {
            let origin = self.origin_of(from + 4 * k);
            self.origin_at(to + 4 * k).store(origin, Ordering::Relaxed);
        };
        // The ranges may overlap: what is still to be read must not be written before.
        match to <= from {
            true => (0..n.div_ceil(4)).for_each(one),
            false => (0..n.div_ceil(4)).rev().for_each(one),
        }
    }

    /// The first undefined byte of a range, with its origin.
    pub fn first_undefined(&self, address: usize, bytes: usize) -> Option<(usize, u32)> {
        let (at, n) = self.part(address, bytes)?;
        let undefined = |k: &usize| {
            // SAFETY: as in `fill`; an atomic byte.
            let shadow = unsafe { AtomicU8::from_ptr(self.shadow_at(at + k)) };
            shadow.load(Ordering::Relaxed) != 0
        };
        let k = (0..n).find(undefined)?;
        Some((k, self.origin_of(at + k)))
    }

    /// The record of accesses of a word, for the one worker of a launch whose races are watched.
    pub fn cell(&self, address: usize) -> Option<*mut AccessHistory> {
        self.holds(address).then(|| {
            (self.cells + (address - self.base) / 4 * size_of::<AccessHistory>())
                as *mut AccessHistory
        })
    }
}

/// Bytes that other threads may touch meanwhile, by the processor's string instructions: the compiler knows of no plain
/// access that could race, and long ranges take as long as `memset` and `memcpy` do.
mod bytes {
    use std::arch::asm;

    /// Sets bytes to a value.
    ///
    /// # Safety
    /// They are mapped.
    pub unsafe fn fill(to: *mut u8, value: u8, bytes: usize) {
        // SAFETY: `rep stosb` writes these bytes, upwards: the direction flag is clear on entry.
        unsafe {
            asm!(
                "rep stosb",
                inout("rcx") bytes => _,
                inout("rdi") to => _,
                in("al") value,
                options(nostack, preserves_flags)
            );
        }
    }

    /// Copies bytes between ranges that may overlap.
    ///
    /// # Safety
    /// Both are mapped.
    pub unsafe fn copy(from: *const u8, to: *mut u8, bytes: usize) {
        const CHUNK: usize = 256;
        let mut chunk = [0u8; CHUNK];
        let upwards = to.cast_const() <= from;
        let mut done = 0;
        while done < bytes {
            let n = CHUNK.min(bytes - done);
            let at = if upwards { done } else { bytes - done - n };
            // SAFETY: a part of both ranges, and a buffer that holds it. What is still to be read is not written before.
            unsafe {
                moved(from.add(at), chunk.as_mut_ptr(), n);
                moved(chunk.as_ptr(), to.add(at), n);
            }
            done += n;
        }
    }

    /// Copies bytes upwards.
    ///
    /// # Safety
    /// Both ranges are mapped, and do not overlap.
    unsafe fn moved(from: *const u8, to: *mut u8, bytes: usize) {
        // SAFETY: `rep movsb` reads and writes these bytes.
        unsafe {
            asm!(
                "rep movsb",
                inout("rcx") bytes => _,
                inout("rsi") from => _,
                inout("rdi") to => _,
                options(nostack, preserves_flags)
            );
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn ranges_that_overlap_are_copied_whole() {
            let first: Vec<u8> = (0..2000u32).map(|k| (k * 7 % 251) as u8).collect();
            for (from, to, n) in [
                (0, 0, 9),
                (0, 1, 1500),
                (1, 0, 1999),
                (300, 0, 700),
                (3, 400, 1000),
            ] {
                let (mut ours, mut theirs) = (first.clone(), first.clone());
                let p = ours.as_mut_ptr();
                // SAFETY: within the vector.
                unsafe { copy(p.add(from), p.add(to), n) };
                theirs.copy_within(from..from + n, to);
                assert_eq!(ours, theirs, "{n} bytes from {from} to {to}");
            }
        }

        #[test]
        fn a_range_is_filled_and_nothing_else() {
            let mut all = [1u8; 64];
            // SAFETY: within the array.
            unsafe { fill(all[3..].as_mut_ptr(), 9, 40) };
            assert!(all[3..43].iter().all(|b| *b == 9));
            assert!(all[..3].iter().chain(&all[43..]).all(|b| *b == 1));
        }
    }
}
