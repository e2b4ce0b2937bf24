//! A device as an application's host code sees it: addresses, streams, events, loaded programs.
//!
//! [`crate::Executor`] runs one program over numbered buffers; an application brings several programs and
//! passes plain addresses, inside structs and arrays too. Both kinds of device are behind one trait, which
//! Kerf's CUDA runtime is written against.
use crate::{DeviceKind, ExecError, KernelStats};
use kerf_ir::blob::CodeImage;
use kerf_llvm::Module;
use std::ffi::c_void;

/// Where memory lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryPlace {
    /// On the device.
    Device,
    /// On both.
    Managed,
    /// On the host, known to the device.
    Host,
}

/// A launch with the caller's own argument storage.
pub struct RawLaunch<'a> {
    /// Symbol of the kernel.
    pub symbol: &'a str,
    /// Its name in messages.
    pub name: &'a str,
    /// Blocks.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
    /// Dynamic shared memory in bytes.
    pub shared: u32,
    /// Addresses of the arguments.
    pub args: &'a mut [*mut c_void],
    /// Stream; 0 is the default one.
    pub stream: u64,
    /// Do all blocks have to be resident together?
    pub cooperative: bool,
}

/// A rectangle of bytes in memory with a pitch.
#[derive(Debug, Clone, Copy)]
pub struct Rectangle {
    /// First byte of the target.
    pub to: u64,
    /// Bytes from one row of the target to the next.
    pub to_pitch: usize,
    /// First byte of the source.
    pub from: u64,
    /// Bytes from one row of the source to the next.
    pub from_pitch: usize,
    /// Bytes of a row.
    pub width: usize,
    /// Rows.
    pub rows: usize,
}

/// A device.
pub trait RawDevice {
    /// What kind of device.
    fn kind(&self) -> DeviceKind;
    /// Model.
    fn name(&self) -> String;
    /// CUDA's code for the last failure that was the device's own.
    fn last_code(&self) -> i32;
    /// Called before anything else is, on whatever thread the application is on.
    fn enter(&mut self) -> Result<(), ExecError>;
    /// What the checks of programs noticed that stops nothing.
    fn notes(&mut self) -> Vec<String> {
        Vec::new()
    }
    /// Makes a finished module ready to be launched.
    fn load(&mut self, finished: &Module, arch: &str) -> Result<usize, ExecError>;
    /// Code of a finished module that [`RawDevice::load_kept`] takes, now or in another process; none if it can only be
    /// loaded.
    fn image(
        &mut self,
        finished: &Module,
        arch: &str,
    ) -> Result<Option<(CodeImage, Vec<u8>)>, ExecError>;
    /// Makes code that a program keeps ready to be launched; none if it is not for this device.
    fn load_kept(&mut self, image: &CodeImage, bytes: &[u8]) -> Result<Option<usize>, ExecError>;
    /// Address and size of a variable of a loaded program.
    fn variable(&mut self, program: usize, symbol: &str) -> Result<(u64, usize), ExecError>;
    /// Does what the first launch of a kernel would have to do, so that its time is not of that launch.
    fn prepare(&mut self, program: usize, symbol: &str) -> Result<(), ExecError> {
        self.stats(program, symbol).map(|_| ())
    }
    /// Launches a kernel; gives what it printed, where that is known already.
    fn launch(&mut self, program: usize, l: &mut RawLaunch) -> Result<Vec<u8>, ExecError>;
    /// Resources of a kernel.
    fn stats(&mut self, program: usize, symbol: &str) -> Result<KernelStats, ExecError>;
    /// Blocks that fit on one multiprocessor.
    fn blocks_per_sm(
        &mut self,
        program: usize,
        symbol: &str,
        threads: u32,
        shared: u32,
    ) -> Result<u32, ExecError>;
    /// Memory.
    fn alloc(&mut self, bytes: usize, place: MemoryPlace) -> Result<u64, ExecError>;
    /// Takes device memory from a range of addresses that is the same in every process
    /// ([`crate::fixed_range`]), from now on, and from `first` on.
    fn fix_addresses(&mut self, first: u64) -> Result<(), ExecError>;
    /// Zeroed device memory at an address that [`RawDevice::alloc`] gave in another process.
    fn alloc_at(&mut self, address: u64, bytes: usize) -> Result<(), ExecError>;
    /// The first address of the range that was never given out; 0 without a range.
    fn fixed_end(&self) -> u64;
    /// Forgets all loaded programs: their numbers begin again at 0.
    fn unload(&mut self) -> Result<(), ExecError>;
    /// Gives memory back.
    fn free(&mut self, address: u64, bytes: usize, place: MemoryPlace) -> Result<(), ExecError>;
    /// Tells the device of host memory that the application allocated itself.
    fn register(&mut self, address: u64, bytes: usize) -> Result<(), ExecError>;
    /// Takes that back.
    fn unregister(&mut self, address: u64) -> Result<(), ExecError>;
    /// Copies bytes between any two places; waits for the end if `wait`.
    fn copy(
        &mut self,
        to: u64,
        from: u64,
        bytes: usize,
        stream: u64,
        wait: bool,
    ) -> Result<(), ExecError>;
    /// Copies a rectangle.
    fn copy_rows(&mut self, r: Rectangle, stream: u64, wait: bool) -> Result<(), ExecError>;
    /// Brings managed memory to the device or to the host, before it is asked for there.
    fn prefetch(
        &mut self,
        _address: u64,
        _bytes: usize,
        _to_host: bool,
        _stream: u64,
    ) -> Result<(), ExecError> {
        Ok(())
    }
    /// Sets bytes.
    fn fill(&mut self, to: u64, value: u8, bytes: usize, stream: u64) -> Result<(), ExecError>;
    /// Sets 32-bit words.
    fn fill_words(&mut self, to: u64, value: u32, n: usize, stream: u64) -> Result<(), ExecError>;
    /// A new stream.
    fn stream(&mut self, flags: u32, priority: i32) -> Result<u64, ExecError>;
    /// Ends a stream.
    fn drop_stream(&mut self, stream: u64) -> Result<(), ExecError>;
    /// Waits for a stream.
    fn wait_stream(&mut self, stream: u64) -> Result<(), ExecError>;
    /// Is everything on a stream done?
    fn stream_done(&mut self, stream: u64) -> Result<bool, ExecError>;
    /// Makes a stream wait for an event.
    fn stream_after(&mut self, stream: u64, event: u64) -> Result<(), ExecError>;
    /// A new event.
    fn event(&mut self, flags: u32) -> Result<u64, ExecError>;
    /// Ends an event.
    fn drop_event(&mut self, event: u64) -> Result<(), ExecError>;
    /// Puts an event on a stream.
    fn record_event(&mut self, event: u64, stream: u64) -> Result<(), ExecError>;
    /// Waits for an event.
    fn wait_event(&mut self, event: u64) -> Result<(), ExecError>;
    /// Has an event happened?
    fn event_done(&mut self, event: u64) -> Result<bool, ExecError>;
    /// Milliseconds between two events.
    fn elapsed_ms(&mut self, from: u64, to: u64) -> Result<f32, ExecError>;
    /// Waits for everything.
    fn synchronize(&mut self) -> Result<(), ExecError>;
    /// Free bytes and all bytes.
    fn memory(&mut self) -> Result<(usize, usize), ExecError>;
    /// An attribute by CUDA's number.
    fn attribute(&mut self, number: i32) -> Result<i32, ExecError>;
}
