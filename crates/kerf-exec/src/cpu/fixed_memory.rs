//! Memory of the CPU device at addresses that are the same in every process.
use super::mapping::MemoryError;
use crate::fixed_range::{AddressRange, BASE, BYTES, is_large, taken};

/// The range, mapped. Pages come when they are touched.
#[derive(Debug)]
pub struct CpuFixedMemory {
    addresses: AddressRange,
}

impl Drop for CpuFixedMemory {
    fn drop(&mut self) {
        // SAFETY: the mapping made in `new`, which nobody uses after the device.
        unsafe { libc::munmap(BASE as *mut _, BYTES as usize) };
    }
}

impl CpuFixedMemory {
    /// Maps the range; gives out addresses from `first` on.
    pub fn new(first: u64) -> Result<CpuFixedMemory, MemoryError> {
        // SAFETY: a fresh anonymous mapping, which replaces none.
        let p = unsafe {
            libc::mmap(
                BASE as *mut _,
                BYTES as usize,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE
                    | libc::MAP_ANONYMOUS
                    | libc::MAP_NORESERVE
                    | libc::MAP_FIXED_NOREPLACE,
                -1,
                0,
            )
        };
        if p as u64 != BASE {
            let why = match p == libc::MAP_FAILED {
                true => std::io::Error::last_os_error().to_string(),
                false => {
                    // A system that does not know the flag chose another address.
                    // SAFETY: the mapping that was just made.
                    unsafe { libc::munmap(p, BYTES as usize) };
                    "the addresses are taken".into()
                }
            };
            return Err(MemoryError::Reserve {
                bytes: BYTES as usize,
                why,
            });
        }
        Ok(CpuFixedMemory {
            addresses: AddressRange::new(first),
        })
    }

    /// Zeroed memory.
    pub fn alloc(&mut self, bytes: usize) -> Result<u64, MemoryError> {
        let at = self
            .addresses
            .alloc(bytes as u64)
            .ok_or(MemoryError::TooLarge {
                bytes,
                available: (BASE + BYTES - self.addresses.end()) as usize,
            })?;
        self.clear(at, bytes);
        Ok(at)
    }

    /// Makes memory of the range zero, for an allocation at an address of its own.
    pub fn clear(&self, at: u64, bytes: usize) {
        let size = taken(bytes as u64) as usize;
        // SAFETY: inside the mapping; large blocks are whole pages.
        unsafe {
            match is_large(bytes as u64) {
                true => {
                    libc::madvise(at as *mut _, size, libc::MADV_DONTNEED);
                }
                false => std::ptr::write_bytes(at as *mut u8, 0, size),
            }
        }
    }

    /// Takes memory back.
    pub fn free(&mut self, at: u64, bytes: usize) {
        if is_large(bytes as u64) {
            self.clear(at, bytes);
        }
        self.addresses.free(at, bytes as u64);
    }

    /// Is an address of the range?
    pub fn holds(at: u64) -> bool {
        (BASE..BASE + BYTES).contains(&at)
    }

    /// The first address that was never given out.
    pub fn end(&self) -> u64 {
        self.addresses.end()
    }
}
