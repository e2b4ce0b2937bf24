//! Files of a record.
use crate::error::{CallFailure, code};
use std::path::Path;

/// A file that cannot be read.
pub(super) fn bad(path: &Path, why: impl std::fmt::Display) -> CallFailure {
    CallFailure::new(code::UNKNOWN, format!("{}: {why}", path.display()))
}

/// A file as memory that stays.
pub(super) fn mapped(path: &Path) -> Result<&'static [u8], CallFailure> {
    use std::os::fd::AsRawFd;
    let file = std::fs::File::open(path).map_err(|e| bad(path, e))?;
    let bytes = file.metadata().map_err(|e| bad(path, e))?.len() as usize;
    if bytes == 0 {
        return Ok(&[]);
    }
    let (access, kind) = (libc::PROT_READ, libc::MAP_PRIVATE);
    // SAFETY: a fresh mapping of a whole file, which is never unmapped.
    let p = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            bytes,
            access,
            kind,
            file.as_raw_fd(),
            0,
        )
    };
    match p == libc::MAP_FAILED {
        true => Err(bad(path, std::io::Error::last_os_error())),
        // SAFETY: as many bytes as were mapped.
        false => Ok(unsafe { std::slice::from_raw_parts(p.cast::<u8>(), bytes) }),
    }
}
