//! The arena: one reserved range of addresses that holds every buffer, shared memory and stack.
//!
//! Pages are committed on first touch. Keeping all device-visible memory in one range lets the
//! shadow execution find a value's shadow by arithmetic, and memcheck tell a stack from a stray
//! pointer.
use super::sanitize::region::Region;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes of address space to reserve.
const RESERVE: usize = 1 << 38;
/// Distance kept free after every allocation, so that a small overrun meets no other buffer.
const REDZONE: usize = 4096;

/// Memory could not be had.
#[derive(Debug, Clone, thiserror::Error)]
pub enum MemoryError {
    /// The system refused the reservation.
    #[error("could not reserve {bytes} bytes of address space: {why}")]
    Reserve {
        /// Bytes asked for.
        bytes: usize,
        /// The system's reason.
        why: String,
    },
    /// More than the machine has.
    #[error("a buffer of {bytes} bytes does not fit: {available} bytes of memory are free")]
    TooLarge {
        /// Bytes asked for.
        bytes: usize,
        /// Bytes free.
        available: usize,
    },
}

/// The arena.
pub struct Arena {
    base: usize,
    size: usize,
    next: Arc<AtomicUsize>,
    /// Is the range this arena's own, not the process's?
    owned: bool,
}

impl Drop for Arena {
    fn drop(&mut self) {
        if !self.owned {
            return;
        }
        // SAFETY: the mapping made in `new`; no user of the arena outlives it.
        unsafe { libc::munmap(self.base as *mut _, self.size) };
    }
}

/// A fresh reserved mapping.
pub(super) fn map(bytes: usize) -> Result<usize, MemoryError> {
    // SAFETY: a fresh anonymous mapping at an address of the system's choice.
    let p = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            bytes,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
            -1,
            0,
        )
    };
    if p == libc::MAP_FAILED {
        let why = std::io::Error::last_os_error().to_string();
        return Err(MemoryError::Reserve { bytes, why });
    }
    Ok(p as usize)
}

/// Free memory of the machine in bytes, or everything where the system does not say.
fn available() -> usize {
    std::fs::read_to_string("/proc/meminfo")
        .ok()
        .and_then(|t| {
            let line = t
                .lines()
                .find(|l| l.starts_with("MemAvailable:"))?
                .to_owned();
            line.split_whitespace().nth(1)?.parse::<usize>().ok()
        })
        .map_or(usize::MAX, |kb| kb.saturating_mul(1024))
}

impl Arena {
    /// Reserves the range.
    pub fn new() -> Result<Arena, MemoryError> {
        let mut size = RESERVE;
        loop {
            match map(size) {
                Ok(base) => {
                    return Ok(Arena {
                        base,
                        size,
                        next: Arc::default(),
                        owned: true,
                    });
                }
                Err(e) if size <= 1 << 30 => return Err(e),
                // A limit on address space: make do with less.
                Err(_) => size /= 2,
            }
        }
    }
    /// A part of the range in which checked programs live; it grows with those of others.
    pub fn within(region: &Region) -> Arena {
        Arena {
            base: region.base,
            size: region.size,
            next: region.next.clone(),
            owned: false,
        }
    }
    /// Zeroed memory aligned to 256 bytes.
    pub fn alloc(&self, bytes: usize) -> Result<*mut u8, MemoryError> {
        // Stacks are many and small: asking the system each time would take longer than they do.
        let free = match bytes < 1 << 20 {
            true => usize::MAX,
            false => available(),
        };
        let need = bytes.next_multiple_of(4096) + REDZONE;
        if bytes > free || need > self.size {
            return Err(MemoryError::TooLarge {
                bytes,
                available: free.min(self.size),
            });
        }
        let at = self.next.fetch_add(need, Ordering::Relaxed);
        if at + need > self.size {
            return Err(MemoryError::TooLarge {
                bytes,
                available: self.size.saturating_sub(at),
            });
        }
        Ok((self.base + at) as *mut u8)
    }
    /// Lowest address.
    pub fn base(&self) -> usize {
        self.base
    }
    /// Bytes reserved.
    pub fn size(&self) -> usize {
        self.size
    }
    /// Does the arena hold this address?
    pub fn holds(&self, address: usize) -> bool {
        address.wrapping_sub(self.base) < self.next.load(Ordering::Relaxed)
    }
}

/// A coroutine stack inside the arena, with a guard page at its low end.
pub struct ArenaStack {
    low: usize,
    high: usize,
}

impl ArenaStack {
    /// A stack of at least `bytes`.
    pub fn new(arena: &Arena, bytes: usize) -> Result<ArenaStack, MemoryError> {
        let bytes = bytes.next_multiple_of(4096) + 4096;
        let low = (arena.alloc(bytes)? as usize).next_multiple_of(4096);
        // SAFETY: the page belongs to this allocation and nothing else uses it.
        unsafe { libc::mprotect(low as *mut _, 4096, libc::PROT_NONE) };
        Ok(ArenaStack {
            low,
            high: low + bytes,
        })
    }
    /// Lowest and highest address.
    pub fn range(&self) -> (usize, usize) {
        (self.low, self.high)
    }
}

// SAFETY: the range is mapped for the arena's life, aligned to pages, larger than the minimum, and
// its lowest page is inaccessible.
unsafe impl corosensei::stack::Stack for ArenaStack {
    fn base(&self) -> corosensei::stack::StackPointer {
        corosensei::stack::StackPointer::new(self.high)
            .expect("a mapped address should not be null")
    }
    fn limit(&self) -> corosensei::stack::StackPointer {
        corosensei::stack::StackPointer::new(self.low).expect("a mapped address should not be null")
    }
}
