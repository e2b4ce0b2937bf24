//! Shadow memory of a program that computes its own shadows (`kerf-pass/device/shadow.cu`), on the CPU executor: an entry
//! for every granule of the arena, committed on first touch.
use super::mapping::{self, MemoryError};
use super::memory::Arena;
use super::{CpuCode, CpuExecutor, CpuOptions};
use crate::shadow_space::{ENTRY, LostShadows, SPACE, ShadowExecutor, ShadowSpace, words};
use crate::{BufferId, ExecError, Executor};
use kerf_pass::shadow::ShadowMap;

/// Entries beside an arena.
pub(super) struct ArenaEntries {
    arena: usize,
    base: usize,
    bytes: usize,
    granule: usize,
    map: ShadowMap,
    flips: BufferId,
    lost: BufferId,
    /// Variables of the program: where they lie, their bytes, and where their entries lie.
    variables: Vec<(usize, usize, usize)>,
    /// Copies of shadows to memory without entries.
    lost_copies: u64,
    /// Has a kernel run?
    used: bool,
}

impl Drop for ArenaEntries {
    fn drop(&mut self) {
        // SAFETY: mapped in `new`, used by nobody any more.
        unsafe { libc::munmap(self.base as *mut _, self.bytes) };
    }
}

impl ArenaEntries {
    fn new(arena: &Arena, map: ShadowMap, counters: [BufferId; 2]) -> Result<Self, MemoryError> {
        let granule = map.granule as usize;
        let bytes = arena.size() / granule * ENTRY;
        Ok(ArenaEntries {
            arena: arena.base(),
            base: mapping::map(bytes)?,
            bytes,
            granule,
            map,
            flips: counters[0],
            lost: counters[1],
            variables: Vec::new(),
            lost_copies: 0,
            used: false,
        })
    }

    /// A variable of the program has entries.
    pub(super) fn add_variable(&mut self, address: usize, bytes: usize, entries: usize) {
        self.variables.push((address, bytes, entries));
    }

    /// Where the entries of a range lie; none for memory that has none.
    fn range(&self, address: usize, bytes: usize) -> Option<(usize, usize)> {
        let arena = (self.arena, self.bytes / ENTRY * self.granule, self.base);
        let all = std::iter::once(&arena).chain(&self.variables);
        let holds = |(start, n, _): &&(usize, usize, usize)| address.wrapping_sub(*start) < *n;
        let (start, _, entries) = all.clone().find(holds)?;
        let at = (address - start) / self.granule * ENTRY;
        Some((entries + at, bytes.div_ceil(self.granule) * ENTRY))
    }

    /// A kernel is about to run.
    pub(super) fn use_it(&mut self) {
        self.used = true;
    }

    /// Bytes that were written from outside are exact.
    pub(super) fn written(&self, address: usize, bytes: usize) {
        if let (true, Some((p, n))) = (self.used, self.range(address, bytes)) {
            // SAFETY: within the mapping; no kernel is running.
            unsafe { std::ptr::write_bytes(p as *mut u8, 0, n) };
        }
    }

    /// Bytes that were copied between launches: their shadows go along.
    pub(super) fn copied(&mut self, to: usize, from: usize, bytes: usize) {
        match (self.range(to, bytes), self.range(from, bytes)) {
            _ if !self.used => {}
            (Some((to, n)), Some((from, _))) => {
                // SAFETY: as in `written`; the ranges may overlap.
                unsafe { std::ptr::copy(from as *const u8, to as *mut u8, n) };
            }
            (Some(_), None) => self.written(to, bytes),
            // Whatever was computed there is lost.
            (None, Some(_)) => self.lost_copies += 1,
            (None, None) => {}
        }
    }
}

impl CpuExecutor {
    /// An executor of a module that `kerf_pass::shadow` instrumented and linked for the CPU executor as a device, before
    /// it was finished.
    pub fn with_entries(
        code: &CpuCode,
        options: CpuOptions,
        map: ShadowMap,
    ) -> Result<CpuExecutor, ExecError> {
        let mut e = Self::from_lowered(code.0.clone(), options)?;
        let flips = e.alloc("flips", 8 * map.comparisons.len(), 8)?;
        let lost = e.alloc("lost shadows", 8 * LostShadows::WORDS, 8)?;
        let memory = |e: MemoryError| ExecError::Memory(e.to_string());
        let entries = ArenaEntries::new(&e.arena, map, [flips, lost]).map_err(memory)?;
        let space = ShadowSpace {
            arena: e.arena.base() as u64,
            arena_bytes: e.arena.size() as u64,
            entries: entries.base as u64,
            flips: e.slot(flips)?.address as u64,
            lost: e.slot(lost)?.address as u64,
            ..ShadowSpace::default()
        }
        .bytes();
        let variable = e.symbol(SPACE, space.len(), 8)?;
        e.write(variable, &space)?;
        e.entries = Some(entries);
        Ok(e)
    }

    fn own_entries(&self) -> &ArenaEntries {
        self.entries
            .as_ref()
            .expect("an executor that was made with entries has them")
    }
}

impl ShadowExecutor for CpuExecutor {
    fn shadow_map(&self) -> &ShadowMap {
        &self.own_entries().map
    }

    fn buffer_address(&self, id: BufferId) -> Result<u64, ExecError> {
        Ok(self.slot(id)?.address as u64)
    }

    fn flip_counts(&mut self) -> Result<Vec<u64>, ExecError> {
        let flips = self.own_entries().flips;
        Ok(words(&self.read(flips)?))
    }

    fn lost_shadows(&mut self) -> Result<LostShadows, ExecError> {
        let lost = self.own_entries().lost;
        let mut found = LostShadows::from_words(&words(&self.read(lost)?));
        found.stores += self.own_entries().lost_copies;
        Ok(found)
    }
}
