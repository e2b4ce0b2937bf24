//! Data races: two accesses of one location, at least one of them a write, that nothing orders.
//!
//! For every four bytes the last write is kept, and up to two reads since. Reads that happen before a later one are replaced by it, which
//! loses nothing: what comes after the later comes after both. Of three or more concurrent readers two stay, so a
//! write that is ordered after those two and not after a third goes unseen. Accesses of less than four bytes are kept byte by
//! byte, in a table of their own.
use super::clocks::{AccessOrder, BlockClocks, SyncLocations};
use super::record::{AccessHistory, OF_BLOCK, SILENT, STRONG, Slot};
use super::region::Region;
use kerf_pass::sanitize::MemoryScope;
use std::collections::BTreeMap;

/// An access, as it happens.
#[derive(Debug, Clone, Copy)]
pub struct RaceAccess {
    /// Thread in its block.
    pub thread: u32,
    /// Address.
    pub address: usize,
    /// Bytes.
    pub bytes: usize,
    /// Does it write?
    pub writes: bool,
    /// Does it read? Atomics do both.
    pub reads: bool,
    /// How far it is seen, unless it is plain.
    pub strong: Option<MemoryScope>,
    /// A write of what is there already.
    pub silent: bool,
    /// Is it of the block's shared memory, which other blocks had before?
    pub shared: bool,
    /// Place in the program.
    pub site: u32,
}

/// How bad two accesses are together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// The result depends on which comes first.
    Race,
    /// The write changes nothing.
    SameValue,
    /// Ordered, but for a fence behind the atomic or volatile read that they are ordered by.
    Unfenced,
}

/// Two accesses that nothing orders.
#[derive(Debug, Clone, Copy)]
pub struct Conflict {
    /// How bad.
    pub severity: Severity,
    /// The earlier one.
    pub other: Slot,
    /// Is the earlier one a write?
    pub other_writes: bool,
}

/// The state of a launch.
pub struct Races {
    region: &'static Region,
    /// Epochs of this launch begin here; what is older happened before it.
    first: u32,
    /// Clocks of the running block.
    pub clocks: BlockClocks,
    /// Locations that synchronise.
    pub sync: SyncLocations,
    /// Words outside of the region: variables of the program.
    outside: BTreeMap<usize, AccessHistory>,
    bytes: BTreeMap<usize, AccessHistory>,
    highest: u32,
}

impl Races {
    /// Nothing has happened in a launch whose epochs begin at `first`.
    pub fn new(region: &'static Region, first: u32) -> Races {
        Races {
            region,
            first,
            clocks: BlockClocks::new(0, 0, first),
            sync: SyncLocations::default(),
            outside: BTreeMap::new(),
            bytes: BTreeMap::new(),
            highest: first,
        }
    }

    /// Clocks of a block that begins.
    pub fn new_block(&mut self, block: u32, threads: usize) -> BlockClocks {
        BlockClocks::new(block, threads, self.first)
    }

    /// A block's clocks are done with.
    pub fn retire(&mut self, clocks: &BlockClocks) {
        self.highest = self.highest.max(clocks.last_epoch());
    }

    /// The first epoch of the next launch.
    pub fn next_launch(&self) -> u32 {
        self.highest.max(self.clocks.last_epoch()) + 1
    }

    /// Is a slot empty, or of an earlier launch or another block's shared memory?
    fn is_past(&self, a: &RaceAccess, old: &Slot) -> bool {
        old.epoch < self.first || a.shared && old.block != self.clocks.block()
    }

    fn conflict(&self, a: &RaceAccess, old: &Slot, old_writes: bool) -> Option<Conflict> {
        if self.is_past(a, old) || !(a.writes || old_writes) {
            return None;
        }
        let c = &self.clocks;
        let same_block = old.block == c.block();
        if same_block && u32::from(old.thread) == a.thread {
            return None;
        }
        let reaches = |of_block: bool| same_block || !of_block;
        let both_strong = old.flags & STRONG != 0
            && reaches(old.flags & OF_BLOCK != 0)
            && a.strong.is_some_and(|s| reaches(s == MemoryScope::Block));
        if both_strong {
            return None;
        }
        let order = c.order(
            a.thread as usize,
            old.block,
            u32::from(old.thread),
            old.epoch,
        );
        let silent = a.writes && a.silent && (!old_writes || !a.reads)
            || old_writes && old.flags & SILENT != 0 && !a.writes;
        let severity = match order {
            AccessOrder::Before => return None,
            _ if silent => Severity::SameValue,
            AccessOrder::Unfenced => Severity::Unfenced,
            AccessOrder::None => Severity::Race,
        };
        Some(Conflict {
            severity,
            other: *old,
            other_writes: old_writes,
        })
    }

    fn slot(&self, a: &RaceAccess) -> Slot {
        let flag = |yes: bool, f: u8| if yes { f } else { 0 };
        Slot {
            epoch: self.clocks.epoch(a.thread as usize),
            block: self.clocks.block(),
            thread: a.thread as u16,
            flags: flag(a.strong.is_some(), STRONG)
                | flag(a.strong == Some(MemoryScope::Block), OF_BLOCK)
                | flag(a.silent && !a.reads, SILENT),
            split: 0,
            site: a.site,
        }
    }

    fn check(&self, a: &RaceAccess, cell: &AccessHistory) -> Option<Conflict> {
        let mut worst = self.conflict(a, &cell.write, true);
        if a.writes {
            for r in &cell.reads {
                if worst.is_some_and(|w| w.severity == Severity::Race) {
                    break;
                }
                let found = self.conflict(a, r, false);
                worst = found
                    .filter(|f| f.severity == Severity::Race)
                    .or(worst)
                    .or(found);
            }
        }
        worst
    }

    fn update(&self, a: &RaceAccess, cell: &mut AccessHistory) {
        let s = self.slot(a);
        if a.writes {
            let split = cell.write.split;
            *cell = AccessHistory {
                write: Slot { split, ..s },
                ..AccessHistory::default()
            };
            return;
        }
        let t = a.thread as usize;
        let replaces = |r: &Slot| {
            self.is_past(a, r)
                || self.clocks.order(t, r.block, u32::from(r.thread), r.epoch)
                    == AccessOrder::Before
        };
        let [first, second] = &mut cell.reads;
        match replaces(first) {
            true => *first = s,
            false => *second = s,
        }
    }

    /// Is this access, by the same thread at the same epoch, what the cell holds already?
    fn repeats(&self, a: &RaceAccess, cell: &AccessHistory) -> bool {
        let me = |s: &Slot| {
            s.epoch == self.clocks.epoch(a.thread as usize)
                && s.block == self.clocks.block()
                && u32::from(s.thread) == a.thread
                && (s.flags & STRONG != 0) == a.strong.is_some()
        };
        match a.writes {
            true => me(&cell.write) && self.is_past(a, &cell.reads[0]) && !a.reads,
            false => me(&cell.reads[0]) || me(&cell.reads[1]),
        }
    }

    fn word(&mut self, a: &RaceAccess, at: usize) -> Option<Conflict> {
        let mut found;
        if let Some(cell) = self.region.cell(at) {
            // SAFETY: the region's cell of this address. The worker that owns these records is the only one of its launch, and
            // launches of other executors have other memory.
            let mut known = unsafe { cell.read() };
            if self.repeats(a, &known) {
                return None;
            }
            found = self.check(a, &known);
            if known.write.split != 0 {
                found = self.split(a, at).or(found);
            }
            self.update(a, &mut known);
            // SAFETY: as above.
            unsafe { cell.write(known) };
        } else {
            let mut cell = self.outside.get(&at).copied().unwrap_or_default();
            found = self.check(a, &cell);
            if cell.write.split != 0 {
                found = self.split(a, at).or(found);
            }
            self.update(a, &mut cell);
            self.outside.insert(at, cell);
        }
        found
    }

    /// The bytes of a word that is accessed as a whole.
    fn split(&self, a: &RaceAccess, at: usize) -> Option<Conflict> {
        let all = self.bytes.range(at..at + 4);
        all.filter_map(|(_, cell)| self.check(a, cell)).next()
    }

    fn byte(&mut self, a: &RaceAccess, at: usize) -> Option<Conflict> {
        let word = at & !3;
        let mut whole = match self.region.cell(word) {
            // SAFETY: as in `word`.
            Some(cell) => unsafe { cell.read() },
            None => self.outside.get(&word).copied().unwrap_or_default(),
        };
        let mut cell = self.bytes.get(&at).copied().unwrap_or_default();
        let found = self.check(a, &whole).or_else(|| self.check(a, &cell));
        self.update(a, &mut cell);
        self.bytes.insert(at, cell);
        if whole.write.split == 0 {
            whole.write.split = 1;
            match self.region.cell(word) {
                // SAFETY: as in `word`.
                Some(c) => unsafe { c.write(whole) },
                None => {
                    self.outside.insert(word, whole);
                }
            }
        }
        found
    }

    /// Compares an access with those before it, and remembers it.
    pub fn access(&mut self, a: &RaceAccess) -> Option<Conflict> {
        let (from, end) = (a.address, a.address + a.bytes);
        let mut found = None;
        if a.bytes.is_multiple_of(4) && from.is_multiple_of(4) {
            for at in (from..end).step_by(4) {
                found = found.or(self.word(a, at));
            }
        } else {
            for at in from..end {
                found = found.or(self.byte(a, at));
            }
        }
        if a.strong.is_some() {
            if a.reads {
                self.sync.read(from, &mut self.clocks, a.thread as usize);
            }
            if a.writes {
                self.sync
                    .write(from, &self.clocks, a.thread as usize, a.reads);
            }
        }
        found
    }
}
