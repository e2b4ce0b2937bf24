//! Handles of the driver API: modules, which libraries are too, and linkers.
use std::collections::BTreeMap;

/// Handles lie outside the addresses that a process can have, so that none is mistaken for the stub of an application's
/// kernel, and are the same in every run.
const FIRST_HANDLE: u64 = 0x4b46_0000_0000_0000;

/// What is given to a linker (`CUlinkState`).
pub struct LinkInput {
    /// Its name in messages.
    pub name: String,
    /// Bytes of PTX, of a fat binary or of a linked image.
    pub image: Vec<u8>,
}

/// A linker, and its image once it is complete.
#[derive(Default)]
pub struct LinkState {
    /// What it was given so far.
    pub inputs: Vec<LinkInput>,
    /// What it gave; lives until the linker is destroyed.
    pub linked: Vec<u8>,
}

/// Objects that the program has made through the driver API.
pub struct DriverObjects {
    handles: u64,
    /// Number of the unit of each module.
    pub modules: BTreeMap<u64, usize>,
    /// Linkers.
    pub links: BTreeMap<u64, LinkState>,
    /// Handles of variables, by unit and symbol.
    pub variables: BTreeMap<(usize, String), u64>,
    /// Images loaded so far.
    pub loaded: usize,
}

impl DriverObjects {
    /// None.
    pub const fn new() -> DriverObjects {
        DriverObjects {
            handles: 0,
            modules: BTreeMap::new(),
            links: BTreeMap::new(),
            variables: BTreeMap::new(),
            loaded: 0,
        }
    }

    /// A handle that no other object has.
    pub fn handle(&mut self) -> u64 {
        self.handles += 1;
        FIRST_HANDLE + 16 * self.handles
    }
}
