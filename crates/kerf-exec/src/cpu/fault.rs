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
    /// The access, of a fault that is one which left its object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub out_of_bounds: Option<Box<OutOfBounds>>,
}

/// An access that left its object, found by the checks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("out-of-bounds {access}: {object}")]
pub struct OutOfBounds {
    /// What the access does, with its place.
    pub access: String,
    /// Does it write? Atomic operations do.
    #[serde(default)]
    pub writes: bool,
    /// What it left, and where it went.
    pub object: LeftObject,
}

/// An object that an access left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum LeftObject {
    /// A buffer of a workload.
    #[error("buffer {name} has {elements} elements, the access is to index {index}")]
    Buffer {
        /// Its name.
        name: String,
        /// Its elements.
        elements: usize,
        /// The element that the access would be to.
        index: i64,
    },
    /// An allocation of an application or of a kernel.
    #[error(
        "the allocation{} has {bytes} bytes, the access is at byte {at}",
        name.as_ref().map_or_else(String::new, |n| format!(" {n}"))
    )]
    Allocation {
        /// Its name, where it has one.
        name: Option<String>,
        /// Its bytes.
        bytes: usize,
        /// The byte that the access begins at.
        at: i64,
    },
    /// A variable of the program.
    #[error("{name} has {bytes} bytes, the access is at byte {at}")]
    Variable {
        /// Its name.
        name: String,
        /// Its bytes.
        bytes: usize,
        /// The byte that the access begins at.
        at: i64,
    },
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
