//! The host's side of a reference execution that runs as device code (`kerf-pass/device/shadow.cu`).
use crate::{Arg, BufferId, ExecError, Executor, Launch};
use kerf_ir::sites::Location;
use kerf_num::{Dd, Format};
use kerf_pass::shadow::{ShadowMap, format_number};

/// The variable that tells device code where everything lies.
pub const SPACE: &str = "kerf_shadow_space";

/// The kernel that reads the shadows of a buffer.
pub const VALUES: &str = "kerf_shadow_values";

/// Threads of its blocks, and blocks at most: threads take several elements.
const THREADS: usize = 256;
const MOST_BLOCKS: usize = 1 << 14;

/// Bytes of an entry.
pub const ENTRY: usize = 16;

/// `struct ShadowSpace` of the device code.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct ShadowSpace {
    /// Memory that has entries.
    pub arena: u64,
    /// Its size.
    pub arena_bytes: u64,
    /// The first entry.
    pub entries: u64,
    /// The first slot for the shared memory of a block.
    pub shared_entries: u64,
    /// Bytes of a slot.
    pub slot_bytes: u64,
    /// A word for each slot.
    pub locks: u64,
    /// Slots.
    pub slots: u64,
    /// A counter for each comparison.
    pub flips: u64,
    /// Counters of lost shadows.
    pub lost: u64,
}

impl ShadowSpace {
    /// As the device has it.
    pub fn bytes(&self) -> Vec<u8> {
        [
            self.arena,
            self.arena_bytes,
            self.entries,
            self.shared_entries,
            self.slot_bytes,
            self.locks,
            self.slots,
            self.flips,
            self.lost,
        ]
        .iter()
        .flat_map(|w| w.to_le_bytes())
        .collect()
    }
}

/// Values that had no shadow where one was expected: their bits were taken as exact.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LostShadows {
    /// Read from memory that something else than a float of this format was written to.
    pub loads: u64,
    /// Written to memory that has no shadows.
    pub stores: u64,
    /// In local memory behind a pointer that was not followed.
    pub local: u64,
}

impl LostShadows {
    /// Words of [`LostShadows`] on the device.
    pub const WORDS: usize = 3;

    /// Is none lost?
    pub fn is_empty(&self) -> bool {
        *self == LostShadows::default()
    }

    /// How many were lost in each way that occurred, and which way that is.
    pub fn by_reason(&self) -> Vec<(u64, &'static str)> {
        let all = [
            (
                self.loads,
                "values read as a float that were written as something else",
            ),
            (self.stores, "values written to variables of the program"),
            (self.local, "accesses to local memory through pointers"),
        ];
        all.into_iter().filter(|(n, _)| *n > 0).collect()
    }

    pub(crate) fn from_words(w: &[u64]) -> LostShadows {
        let at = |i: usize| w.get(i).copied().unwrap_or(0);
        LostShadows {
            loads: at(0),
            stores: at(1),
            local: at(2),
        }
    }
}

impl std::fmt::Display for LostShadows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let some = self.by_reason();
        let words: Vec<String> = some.iter().map(|(n, what)| format!("{n} {what}")).collect();
        write!(f, "{}", words.join(", "))
    }
}

/// One scalar of every element of a buffer.
#[derive(Debug, Clone, Copy)]
pub struct BufferScalars {
    /// Bytes from the start of an element.
    pub offset: usize,
    /// Format of the scalar.
    pub format: Format,
    /// Elements.
    pub elements: usize,
    /// Bytes of an element.
    pub element_bytes: usize,
    /// Scalars of this format in an element, and which of them this is.
    pub values_of_element: usize,
    /// Its number among them.
    pub number: usize,
}

impl BufferScalars {
    /// `struct Scalars` of the device code.
    pub(crate) fn argument(&self, buffer: u64, layout: u32) -> Vec<u8> {
        let mut bytes = buffer.to_le_bytes().to_vec();
        bytes.extend((self.elements as u64).to_le_bytes());
        for w in [
            self.element_bytes as u32,
            self.offset as u32,
            format_number(self.format),
            layout,
            self.values_of_element as u32,
            self.number as u32,
        ] {
            bytes.extend(w.to_le_bytes());
        }
        bytes
    }
}

/// An executor of a program that computes its own shadows.
pub trait ShadowExecutor: Executor {
    /// What the pass put in.
    fn shadow_map(&self) -> &ShadowMap;
    /// Where a buffer lies.
    fn buffer_address(&self, id: BufferId) -> Result<u64, ExecError>;
    /// How often each comparison went the other way.
    fn flip_counts(&mut self) -> Result<Vec<u64>, ExecError>;
    /// Shadows that were lost since the program was loaded.
    fn lost_shadows(&mut self) -> Result<LostShadows, ExecError>;

    /// Writes the shadows of a buffer's scalars of one format to another buffer, as pairs of high and low words.
    fn write_shadows(
        &mut self,
        id: BufferId,
        scalars: &[BufferScalars],
        out: BufferId,
    ) -> Result<(), ExecError> {
        let layout = self.shadow_map().layout;
        let buffer = self.buffer_address(id)?;
        for s in scalars {
            let args = [
                Arg::Buffer { id: out, offset: 0 },
                Arg::Bytes(s.argument(buffer, layout)),
            ];
            let blocks = s.elements.div_ceil(THREADS).clamp(1, MOST_BLOCKS);
            self.launch(&Launch {
                symbol: VALUES,
                name: VALUES,
                grid: [blocks as u32, 1, 1],
                block: [THREADS as u32, 1, 1],
                dynamic_shared: 0,
                args: &args,
            })?;
        }
        Ok(())
    }

    /// Comparisons that went the other way in the shadow: number of times and place.
    fn flips(&mut self) -> Result<Vec<(u64, Option<Location>)>, ExecError> {
        let counts = self.flip_counts()?;
        let places = self.shadow_map().comparisons.iter().cloned();
        Ok(counts
            .into_iter()
            .zip(places)
            .filter(|(n, _)| *n > 0)
            .collect())
    }
}

/// Pairs as the device writes them.
pub fn pairs(bytes: &[u8]) -> Vec<Dd> {
    let word = |b: &[u8]| {
        let mut w = [0u8; 8];
        w.copy_from_slice(b);
        f64::from_le_bytes(w)
    };
    let pair = |c: &[u8]| Dd {
        hi: word(&c[..8]),
        lo: word(&c[8..]),
    };
    bytes.chunks_exact(ENTRY).map(pair).collect()
}

pub(crate) fn words(bytes: &[u8]) -> Vec<u64> {
    let word = |c: &[u8]| {
        let mut w = [0u8; 8];
        w.copy_from_slice(c);
        u64::from_le_bytes(w)
    };
    bytes.chunks_exact(8).map(word).collect()
}
