//! Faults: what goes wrong inside a kernel, and where.
use serde::{Deserialize, Serialize};

/// What went wrong inside a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultKind {
    /// trap or abort.
    Trap,
    /// A failed device assertion.
    Assert,
    /// An access out of bounds, found by the checks.
    Memory,
    /// A thread's stack is full.
    Stack,
    /// Threads that wait for each other for ever.
    Deadlock,
    /// An access whose address is not a multiple of its size.
    Alignment,
    /// A value that was never assigned decides something, or is a result.
    Uninitialised,
    /// Two accesses of one location that nothing orders.
    Race,
    /// A warp operation with lanes that take no part.
    Lane,
    /// A barrier that not all threads reach.
    Barrier,
    /// An address from a signed integer that overflowed.
    Overflow,
}

impl FaultKind {
    /// Kinds that only the checks find, with the names by which they can be allowed.
    pub const CHECKED: [(FaultKind, &str); 7] = [
        (FaultKind::Memory, "bounds"),
        (FaultKind::Alignment, "alignment"),
        (FaultKind::Uninitialised, "uninitialised"),
        (FaultKind::Race, "race"),
        (FaultKind::Lane, "lane"),
        (FaultKind::Barrier, "barrier"),
        (FaultKind::Overflow, "overflow"),
    ];

    /// A bit of its own, for sets of kinds.
    pub fn bit(self) -> u32 {
        1 << self as u32
    }

    /// The name of a kind that only the checks find.
    pub fn checked_name(self) -> Option<&'static str> {
        let mut all = Self::CHECKED.iter();
        all.find(|(k, _)| *k == self).map(|(_, n)| *n)
    }
}

/// A fault, with its place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{kernel}, block ({}, {}, {}){}: {message}", block[0], block[1], block[2], self.thread_words())]
pub struct Fault {
    /// What kind.
    pub kind: FaultKind,
    /// In words.
    pub message: String,
    /// Kernel.
    pub kernel: String,
    /// Block index.
    pub block: [u32; 3],
    /// Thread index, or [`Fault::ANY_THREAD`].
    pub thread: [u32; 3],
}

impl Fault {
    /// It was one of the block's threads: where these are iterations of a loop, the processor does not tell which.
    pub const ANY_THREAD: [u32; 3] = [u32::MAX; 3];

    fn thread_words(&self) -> String {
        match self.thread {
            Fault::ANY_THREAD => String::new(),
            [x, y, z] => format!(", thread ({x}, {y}, {z})"),
        }
    }
}
