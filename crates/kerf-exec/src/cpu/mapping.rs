//! Address space from the system, and the error where it refuses.

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
