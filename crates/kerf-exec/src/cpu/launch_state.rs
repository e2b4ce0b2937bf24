//! What the workers of a launch share: memory, what is checked, the first fault, what was printed.
use super::fault::Fault;
use super::memory::Arena;
use super::sanitize::Sanitizer;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// A named range of device memory.
#[derive(Debug, Clone)]
pub struct MemoryRange {
    /// First address.
    pub start: usize,
    /// One past the last.
    pub end: usize,
    /// Buffer or variable.
    pub name: String,
    /// Bytes of one element, for indices in messages.
    pub element: usize,
}

/// What the workers of a launch share.
pub struct Shared<'a> {
    /// Kernel name for messages.
    pub kernel: &'a str,
    /// Device memory.
    pub arena: &'a Arena,
    /// Stack of one thread, in bytes.
    pub stack_bytes: usize,
    /// Buffers and variables, for memcheck.
    pub ranges: &'a [MemoryRange],
    /// What is checked, in an instrumented program.
    pub(super) sanitizer: Option<&'a Sanitizer>,
    stop: AtomicBool,
    fault: Mutex<Option<Fault>>,
    printed: Mutex<Vec<u8>>,
}

impl<'a> Shared<'a> {
    /// Nothing has happened yet.
    pub(super) fn new(
        kernel: &'a str,
        arena: &'a Arena,
        stack_bytes: usize,
        ranges: &'a [MemoryRange],
        sanitizer: Option<&'a Sanitizer>,
    ) -> Self {
        Shared {
            kernel,
            arena,
            stack_bytes,
            ranges,
            sanitizer,
            stop: AtomicBool::new(false),
            fault: Mutex::new(None),
            printed: Mutex::new(Vec::new()),
        }
    }
    /// Has a fault stopped the launch?
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
    /// Do blocks run one after the other, because their accesses are compared?
    pub(super) fn in_turn(&self) -> bool {
        self.sanitizer.is_some_and(|s| s.options.races)
    }
    /// Records the first fault and stops all workers.
    pub fn fail(&self, f: Fault) {
        let mut slot = self.fault.lock().unwrap_or_else(|e| e.into_inner());
        slot.get_or_insert(f);
        self.stop.store(true, Ordering::Relaxed);
    }
    /// Appends to what the kernel printed.
    pub fn print(&self, text: &[u8]) {
        let mut p = self.printed.lock().unwrap_or_else(|e| e.into_inner());
        // A kernel that prints without end must not take the machine down.
        if p.len() < 16 << 20 {
            p.extend_from_slice(text);
        }
    }
    /// The fault, if there was one, and what the kernel printed: once, when all workers are done.
    pub(super) fn take_outcome(&self) -> (Option<Fault>, Vec<u8>) {
        let mut fault = self.fault.lock().unwrap_or_else(|e| e.into_inner());
        let mut printed = self.printed.lock().unwrap_or_else(|e| e.into_inner());
        (fault.take(), std::mem::take(&mut *printed))
    }
}
