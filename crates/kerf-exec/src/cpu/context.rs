//! What compiled kernels see of the runtime: the context block and its layout.
//!
//! Every function of a lowered module takes four leading parameters: a pointer to [`BlockContext`] and
//! the thread's three indices. Thread indices are values, not memory, so that the loop over threads
//! can be vectorised.
use std::ffi::c_void;

/// The context of one running block. The offsets below are part of the code generator.
#[repr(C)]
#[derive(Debug)]
pub struct BlockContext {
    /// Block shape.
    pub ntid: [u32; 3],
    /// Block index.
    pub ctaid: [u32; 3],
    /// Grid shape.
    pub nctaid: [u32; 3],
    /// Dynamic shared memory in bytes.
    pub dynamic_shared: u32,
    /// Shared memory of the block.
    pub shared: *mut u8,
    /// All of it, in bytes.
    pub shared_bytes: u64,
    /// The runtime's own state for this worker.
    pub runtime: *mut c_void,
    /// State and values of threads between regions.
    pub frame: *mut u8,
    /// Workspace of a cooperative grid: its size, and the barrier's counter; null otherwise.
    pub grid: *mut u8,
}

/// Byte offsets of [`BlockContext`]'s fields.
pub mod offset {
    /// `ntid[0]`.
    pub const NTID: u64 = 0;
    /// `ctaid[0]`.
    pub const CTAID: u64 = 12;
    /// `nctaid[0]`.
    pub const NCTAID: u64 = 24;
    /// `dynamic_shared`.
    pub const DYNAMIC_SHARED: u64 = 36;
    /// `shared`.
    pub const SHARED: u64 = 40;
    /// `shared_bytes`.
    pub const SHARED_BYTES: u64 = 48;
    /// `frame`.
    pub const FRAME: u64 = 64;
    /// `grid`.
    pub const GRID: u64 = 72;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_are_those_of_the_struct() {
        assert_eq!(
            std::mem::offset_of!(BlockContext, ntid) as u64,
            offset::NTID
        );
        assert_eq!(
            std::mem::offset_of!(BlockContext, ctaid) as u64,
            offset::CTAID
        );
        assert_eq!(
            std::mem::offset_of!(BlockContext, nctaid) as u64,
            offset::NCTAID
        );
        assert_eq!(
            std::mem::offset_of!(BlockContext, dynamic_shared) as u64,
            offset::DYNAMIC_SHARED
        );
        assert_eq!(
            std::mem::offset_of!(BlockContext, shared) as u64,
            offset::SHARED
        );
        assert_eq!(
            std::mem::offset_of!(BlockContext, shared_bytes) as u64,
            offset::SHARED_BYTES
        );
        assert_eq!(
            std::mem::offset_of!(BlockContext, frame) as u64,
            offset::FRAME
        );
        assert_eq!(
            std::mem::offset_of!(BlockContext, grid) as u64,
            offset::GRID
        );
    }
}
