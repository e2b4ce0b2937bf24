//! A launch as the application asks for it.
use std::ffi::c_void;

/// A launch that the application asks for.
pub struct LaunchRequest {
    /// Address of the function's stub.
    pub function: usize,
    /// Blocks.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
    /// One address for each parameter.
    pub args: *mut *mut c_void,
    /// Bytes of dynamic shared memory.
    pub shared: usize,
    /// Stream; 0 is the default one.
    pub stream: u64,
    /// Do all blocks have to be resident together?
    pub cooperative: bool,
}
