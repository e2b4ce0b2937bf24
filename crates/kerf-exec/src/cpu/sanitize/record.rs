//! What is remembered of the accesses of a location. Cells lie beside the memory that they are of ([`super::region`]).

/// One access, as it is remembered.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub struct Slot {
    /// When, by the clock of its thread.
    pub(super) epoch: u32,
    /// Block of the thread.
    pub block: u32,
    /// Thread in its block.
    pub thread: u16,
    /// [`STRONG`], [`OF_BLOCK`], [`SILENT`].
    pub(super) flags: u8,
    /// In the slot of a cell's write: bytes of the cell are in the other table.
    pub(super) split: u8,
    /// Place in the program.
    pub site: u32,
}

/// It is atomic or volatile.
pub(super) const STRONG: u8 = 1;
/// Only threads of its block see it in order.
pub(super) const OF_BLOCK: u8 = 2;
/// A write that changed nothing.
pub(super) const SILENT: u8 = 4;

/// What is remembered of a location.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub struct AccessHistory {
    /// The last write.
    pub(super) write: Slot,
    /// Up to two reads since.
    pub(super) reads: [Slot; 2],
}
