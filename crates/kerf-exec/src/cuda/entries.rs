//! Shadow memory of a program that computes its own shadows (`kerf-pass/device/shadow.cu`), on a GPU.
//!
//! Buffers whose values get shadows lie in one allocation, and their entries in another. Shadows of shared memory have a
//! slot for each block that can be resident.
use super::device_memory::DeviceMemory;
use super::{CudaExecutor, driver};
use crate::shadow_space::{ENTRY, LostShadows, SPACE, ShadowExecutor, ShadowSpace, words};
use crate::{BufferId, ExecError, Launch};
use kerf_pass::shadow::ShadowMap;

/// Where buffers begin: what the driver's allocations are aligned to.
const ALIGNMENT: usize = 256;

/// Blocks that a multiprocessor holds at most, on all architectures.
const BLOCKS_OF_SM: usize = 32;

/// The shadows of a program's memory.
pub(super) struct DeviceEntries {
    map: ShadowMap,
    arena: DeviceMemory,
    used: usize,
    entries: DeviceMemory,
    flips: DeviceMemory,
    lost: DeviceMemory,
    /// Entries of shared memory and the locks of their slots; slots, bytes of one, and shared memory of an SM.
    shared: Option<(DeviceMemory, DeviceMemory)>,
    slots: usize,
    slot_bytes: usize,
    /// Variables of the program: where they lie, their bytes, and where their entries lie.
    variables: Vec<(u64, usize, u64)>,
    /// Copies of shadows to memory without entries.
    lost_copies: u64,
}

impl DeviceEntries {
    /// Bytes on the device for buffers of `bytes` in all, shared memory aside.
    pub(super) fn need(bytes: usize, granule: usize) -> usize {
        bytes.saturating_add((bytes / granule).saturating_mul(ENTRY))
    }

    fn new(map: ShadowMap, arena_bytes: usize) -> Result<DeviceEntries, ExecError> {
        let granule = map.granule as usize;
        Ok(DeviceEntries {
            arena: DeviceMemory::zeroed(arena_bytes, "buffers of the reference")?,
            entries: DeviceMemory::zeroed(arena_bytes / granule * ENTRY, "shadows of buffers")?,
            flips: DeviceMemory::zeroed(8 * map.comparisons.len(), "counters")?,
            lost: DeviceMemory::zeroed(8 * LostShadows::WORDS, "counters")?,
            used: 0,
            map,
            shared: None,
            slots: 0,
            slot_bytes: 0,
            variables: Vec::new(),
            lost_copies: 0,
        })
    }

    fn space(&self) -> ShadowSpace {
        let shared = self.shared.as_ref();
        ShadowSpace {
            arena: self.arena.address,
            arena_bytes: self.arena.bytes as u64,
            entries: self.entries.address,
            shared_entries: shared.map_or(0, |s| s.0.address),
            slot_bytes: self.slot_bytes as u64,
            locks: shared.map_or(0, |s| s.1.address),
            slots: self.slots as u64,
            flips: self.flips.address,
            lost: self.lost.address,
        }
    }

    /// A part of the arena; none where it is used up.
    pub(super) fn carve(&mut self, bytes: usize) -> Option<u64> {
        let at = self.used;
        let end = at.checked_add(bytes.max(1).next_multiple_of(ALIGNMENT))?;
        (end <= self.arena.bytes).then(|| {
            self.used = end;
            self.arena.address + at as u64
        })
    }

    /// A variable of the program has entries.
    pub(super) fn add_variable(&mut self, address: u64, bytes: usize, entries: u64) {
        self.variables.push((address, bytes, entries));
    }

    /// Entries of a range; none for memory that has none.
    fn range(&self, address: u64, bytes: usize) -> Option<(u64, usize)> {
        let granule = self.map.granule as usize;
        let arena = (self.arena.address, self.arena.bytes, self.entries.address);
        let all = std::iter::once(&arena).chain(&self.variables);
        let holds = |(start, n, _): &&(u64, usize, u64)| address.wrapping_sub(*start) < *n as u64;
        let (start, _, entries) = all.clone().find(holds)?;
        let at = (address - start) as usize;
        let n = bytes.div_ceil(granule) * ENTRY;
        Some((entries + (at / granule * ENTRY) as u64, n))
    }

    /// Bytes that were written from outside are exact.
    pub(super) fn written(&self, address: u64, bytes: usize) -> Result<(), ExecError> {
        match self.range(address, bytes) {
            Some((p, n)) if n > 0 => driver::fill(p, 0, n),
            _ => Ok(()),
        }
    }

    /// Bytes that were copied between launches: their shadows go along.
    pub(super) fn copied(&mut self, to: u64, from: u64, bytes: usize) -> Result<(), ExecError> {
        match (self.range(to, bytes), self.range(from, bytes)) {
            (Some((t, n)), Some((f, _))) if n > 0 => driver::on_device(t, f, n),
            (Some((t, n)), None) if n > 0 => driver::fill(t, 0, n),
            // Whatever was computed there is lost.
            (None, Some((_, n))) if n > 0 => {
                self.lost_copies += 1;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn slot_bytes(&self, bytes: usize) -> usize {
        (bytes / self.map.granule as usize + 1) * ENTRY
    }

    /// Is there room for the shared memory of a launch?
    fn holds_shared(&self, bytes: usize) -> bool {
        bytes == 0 || self.slot_bytes(bytes) <= self.slot_bytes
    }

    /// Makes room for the shared memory of a launch.
    fn hold_shared(
        &mut self,
        bytes: usize,
        (sms, sm_bytes): (usize, usize),
    ) -> Result<(), ExecError> {
        let slot_bytes = self.slot_bytes(bytes);
        let resident = (sm_bytes / bytes).clamp(1, BLOCKS_OF_SM);
        self.shared = None;
        self.slots = sms * resident;
        self.slot_bytes = slot_bytes;
        self.shared = Some((
            DeviceMemory::zeroed(self.slots * slot_bytes, "shadows of shared memory")?,
            DeviceMemory::zeroed(4 * self.slots, "locks")?,
        ));
        Ok(())
    }
}

impl CudaExecutor {
    /// Gives a program that `kerf_pass::shadow` instrumented for a GPU its shadow memory. Buffers that are made from now
    /// on, up to `arena_bytes` in all, have shadows.
    pub fn start_shadow(&mut self, map: ShadowMap, arena_bytes: usize) -> Result<(), ExecError> {
        self.entries = Some(DeviceEntries::new(map, arena_bytes)?);
        self.tell_space()
    }

    /// Bytes of device memory that a reference of buffers of `bytes` in all takes.
    pub fn shadow_need(bytes: usize, granule: usize) -> usize {
        DeviceEntries::need(bytes, granule)
    }

    /// Makes room for the shadows of a launch's shared memory, where there are shadows.
    pub(super) fn make_room_for_shared(&mut self, l: &Launch) -> Result<(), ExecError> {
        let Some(entries) = &mut self.entries else {
            return Ok(());
        };
        let known = self.kernels.iter().find(|(symbol, _)| symbol == l.symbol);
        let own = known.and_then(|(_, stats)| stats.shared_bytes);
        let bytes = (own.unwrap_or(0) + l.dynamic_shared) as usize;
        if entries.holds_shared(bytes) {
            return Ok(());
        }
        // Not asked for at every launch: the driver takes most of a millisecond to answer.
        let a = self.context.attributes()?;
        entries.hold_shared(bytes, (a.sms as usize, a.shared_per_sm as usize))?;
        self.tell_space()
    }

    fn tell_space(&mut self) -> Result<(), ExecError> {
        let Some(e) = &self.entries else {
            return Ok(());
        };
        let space = e.space().bytes();
        let (address, _) = self.loaded.global(SPACE)?;
        driver::to_device(address, &space)
    }

    fn own_entries(&self) -> Result<&DeviceEntries, ExecError> {
        let missing = || ExecError::Compile("there is no shadow execution".into());
        self.entries.as_ref().ok_or_else(missing)
    }
}

impl ShadowExecutor for CudaExecutor {
    fn shadow_map(&self) -> &ShadowMap {
        static NONE: std::sync::LazyLock<ShadowMap> = std::sync::LazyLock::new(ShadowMap::default);
        self.entries.as_ref().map_or(&NONE, |e| &e.map)
    }

    fn buffer_address(&self, id: BufferId) -> Result<u64, ExecError> {
        self.address(id)
    }

    fn flip_counts(&mut self) -> Result<Vec<u64>, ExecError> {
        let e = self.own_entries()?;
        let n = 8 * e.map.comparisons.len();
        Ok(words(&driver::to_host(e.flips.address, n)?))
    }

    fn lost_shadows(&mut self) -> Result<LostShadows, ExecError> {
        let e = self.own_entries()?;
        let w = driver::to_host(e.lost.address, 8 * LostShadows::WORDS)?;
        let mut lost = LostShadows::from_words(&words(&w));
        lost.stores += e.lost_copies;
        Ok(lost)
    }
}
