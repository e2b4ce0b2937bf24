//! A range of addresses that is the same in every process: what an application's memory lies in while it is recorded, so
//! that a replay in another process gives each allocation the address that it had. Programs keep device pointers in memory,
//! where nobody can find and change them.
//!
//! This is the arithmetic alone; devices put memory behind the addresses.
use std::collections::BTreeMap;

/// First address of the range: far from what Linux gives to programs, libraries, heaps and stacks, and free on an H200 for
/// `cuMemAddressReserve` too.
pub const BASE: u64 = 0x2000_0000_0000;
/// Bytes of the range. Nothing but addresses is taken.
pub const BYTES: u64 = 1 << 40;
/// Memory of a GPU is mapped in units of this; allocations of at least as much have units of their own.
pub const GRANULE: u64 = 2 << 20;
/// The least block; all are aligned to it, as CUDA aligns to 256.
const LEAST: u64 = 512;
/// Bytes behind a large allocation that nobody has, for kernels that write a little too far.
const BEHIND: u64 = 64 << 10;

/// Does an allocation have granules of its own?
pub fn is_large(bytes: u64) -> bool {
    bytes >= GRANULE
}

/// Addresses that an allocation takes: some more than its bytes, for kernels that write a little too far.
pub fn taken(bytes: u64) -> u64 {
    match is_large(bytes) {
        true => (bytes + BEHIND).next_multiple_of(GRANULE),
        // Never as many as a large one takes, which are mapped by themselves.
        false => (bytes + bytes / 16 + 1)
            .next_power_of_two()
            .clamp(LEAST, GRANULE),
    }
}

/// Addresses of the range, given out and taken back.
#[derive(Debug)]
pub struct AddressRange {
    /// What lies before is not given out here.
    first: u64,
    next: u64,
    /// Addresses that came back, by what they take.
    free: BTreeMap<u64, Vec<u64>>,
}

impl AddressRange {
    /// The range from `first` on.
    pub fn new(first: u64) -> AddressRange {
        AddressRange {
            first: first.max(BASE),
            next: first.max(BASE),
            free: BTreeMap::new(),
        }
    }

    /// Addresses for so many bytes; none where the range is used up.
    pub fn alloc(&mut self, bytes: u64) -> Option<u64> {
        let size = taken(bytes);
        if let Some(at) = self.free.get_mut(&size).and_then(Vec::pop) {
            return Some(at);
        }
        let at = match is_large(bytes) {
            true => self.next.next_multiple_of(GRANULE),
            false => self.next,
        };
        let end = at.checked_add(size).filter(|e| *e <= BASE + BYTES)?;
        self.next = end;
        Some(at)
    }

    /// Takes addresses back that were given out for so many bytes. Those that others asked for by themselves are no part
    /// of what is given out.
    pub fn free(&mut self, at: u64, bytes: u64) {
        if at < self.first {
            return;
        }
        self.free.entry(taken(bytes)).or_default().push(at);
    }

    /// The first address that was never given out.
    pub fn end(&self) -> u64 {
        self.next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_allocations_share_no_granule_and_addresses_come_back() {
        let mut r = AddressRange::new(BASE);
        let small = r.alloc(100).expect("room");
        let large = r.alloc(GRANULE).expect("room");
        let next = r.alloc(600).expect("room");
        assert_eq!((small, large), (BASE, BASE + GRANULE));
        assert_eq!(next, BASE + 3 * GRANULE);
        assert_eq!(r.alloc(0), Some(next + 1024));
        r.free(large, GRANULE);
        assert_eq!(r.alloc(GRANULE + 1), Some(large));
        assert_eq!(r.end(), next + 1536);
        assert_eq!(r.alloc(BYTES), None);
    }
}
