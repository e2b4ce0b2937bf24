//! Memory that applications allocate on the CPU device, apart from the host's heap.
//!
//! On a GPU a kernel that writes a little past the end of an allocation mostly harms nobody: pages are large, and the
//! host's data are elsewhere. Programs with such a slip pass their own checks there, and should here.
use super::mapping::{MemoryError, map};
use std::collections::BTreeMap;

/// From here on, memory is mapped by itself, and its pages come when they are touched.
const LARGE: usize = 1 << 20;
/// What is mapped at once for smaller ones.
const CHUNK: usize = 16 << 20;
/// The least block; all are aligned to it.
const LEAST: usize = 512;

/// Bytes that are taken for an allocation: some more, for those who write too far.
fn taken(bytes: usize) -> usize {
    if bytes >= LARGE {
        return (bytes + (64 << 10)).next_multiple_of(4096);
    }
    (bytes + bytes / 16 + 1).next_power_of_two().max(LEAST)
}

/// Blocks of powers of two, given out again when they are free.
#[derive(Debug, Default)]
pub struct BlockPool {
    /// Free blocks by their size.
    free: BTreeMap<usize, Vec<usize>>,
    /// What is left of the chunk: from, to.
    rest: (usize, usize),
}

impl BlockPool {
    /// Zeroed memory.
    pub fn alloc(&mut self, bytes: usize) -> Result<usize, MemoryError> {
        let size = taken(bytes);
        if bytes >= LARGE {
            return map(size);
        }
        if let Some(at) = self.free.get_mut(&size).and_then(Vec::pop) {
            // SAFETY: a block of this size, which nobody has.
            unsafe { std::ptr::write_bytes(at as *mut u8, 0, size) };
            return Ok(at);
        }
        if self.rest.1 - self.rest.0 < size {
            let at = map(CHUNK)?;
            self.rest = (at, at + CHUNK);
        }
        let at = self.rest.0;
        self.rest.0 += size;
        Ok(at)
    }

    /// Takes it back.
    ///
    /// # Safety
    /// `at` came from `alloc` with the same `bytes`, and is not used any more.
    pub unsafe fn free(&mut self, at: usize, bytes: usize) {
        let size = taken(bytes);
        if bytes >= LARGE {
            // SAFETY: the mapping made in `alloc`.
            unsafe { libc::munmap(at as *mut _, size) };
        } else {
            self.free.entry(size).or_default().push(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_little_too_far_is_nobodys_memory() {
        let mut p = BlockPool::default();
        for bytes in [1, 384, 512, 65_536, 240_000, LARGE - 1, LARGE, 3 * LARGE] {
            let more = bytes / 16;
            let (a, b) = (p.alloc(bytes).expect("fits"), p.alloc(bytes).expect("fits"));
            assert_eq!(a % LEAST, 0);
            // SAFETY: both are ours.
            unsafe {
                std::ptr::write_bytes(a as *mut u8, 7, bytes + more.min(64 << 10));
                let other = std::slice::from_raw_parts(b as *const u8, bytes);
                assert!(other.iter().all(|v| *v == 0), "{bytes}");
                p.free(a, bytes);
                p.free(b, bytes);
            }
        }
    }

    #[test]
    fn what_is_given_out_again_is_zero() {
        let mut p = BlockPool::default();
        let a = p.alloc(1000).expect("fits");
        // SAFETY: it is ours.
        unsafe {
            std::ptr::write_bytes(a as *mut u8, 7, 1000);
            p.free(a, 1000);
        }
        let b = p.alloc(990).expect("fits");
        assert_eq!(a, b);
        // SAFETY: it is ours.
        let now = unsafe { std::slice::from_raw_parts(b as *const u8, 1000) };
        assert!(now.iter().all(|v| *v == 0));
    }
}
