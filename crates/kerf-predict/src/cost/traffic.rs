//! Bytes between the levels of memory, and the latency of each load.
use super::CostModel;
use super::census::KernelWork;
use super::executed::{unrolled_copies, warp_executions};
use super::memory::{self, FirstTouches};
use super::rates::Rates;
use kerf_device::occupancy::WARP;
use kerf_ir::address::AccessDirection;
use kerf_pass::count::{BlockCount, CountedAccess, LaunchCounts, MemoryKind, Pattern, Root};
use std::collections::BTreeMap;

/// One launch of a kernel under a plan, as both models take it.
#[derive(Clone, Copy)]
pub(super) struct KernelLaunch<'k> {
    pub rates: &'k Rates<'k>,
    /// Work of the kernel under the plan.
    pub work: &'k KernelWork,
    /// Work of the kernel as it was counted, without a plan.
    pub unplanned: &'k KernelWork,
    pub counts: &'k LaunchCounts,
    /// Fraction of first touches that L2 does not serve.
    pub l2_miss_fraction: f64,
}

/// Memory traffic of a launch.
pub(super) struct MemoryTraffic {
    /// Bytes between L2 and the multiprocessors.
    pub l2_bytes: f64,
    /// Bytes between device memory and L2.
    pub dram_bytes: f64,
    /// Mean latency of each access in clocks, by block and access.
    pub latency_clocks: Vec<Vec<f64>>,
}

/// How warps wait for loads.
#[derive(Clone, Copy)]
pub(super) struct LoadWaiting {
    /// The multiprocessor has one warp at a time.
    pub lone_warp: bool,
    /// A warp waits for the slowest of its n sectors, of which n to this power are independent. None: for the mean of them.
    pub sector_exponent: Option<f64>,
}

/// Traffic of one access of the program.
struct AccessTraffic {
    block: usize,
    access: usize,
    /// Bytes over the launch, in whole sectors.
    bytes: f64,
    l1_miss_fraction: f64,
    first_touches: Option<FirstTouches>,
    /// Time that L2 takes for it, over that for whole sectors.
    partial_sector_factor: f64,
    /// Sectors of a warp's access, where its addresses were recorded, else 1.
    sectors: f64,
    is_load: bool,
}

/// Bytes that the accesses of a launch name, by object.
fn accessed_bytes<'w>(work: &'w KernelWork, l: &LaunchCounts) -> BTreeMap<&'w Root, f64> {
    let mut out = BTreeMap::new();
    for b in &work.blocks {
        for a in b.accesses.iter().filter(|a| a.memory == MemoryKind::Global) {
            *out.entry(&a.root).or_insert(0.0) +=
                a.bytes as f64 * l.blocks[b.number].threads as f64;
        }
    }
    out
}

/// Bytes of a launch's buffers. A buffer that the plan stores in a narrower format shrinks as the accesses to it do.
fn buffer_bytes(work: &KernelWork, unplanned: &KernelWork, l: &LaunchCounts) -> Vec<f64> {
    let (now, before) = (accessed_bytes(work, l), accessed_bytes(unplanned, l));
    let one = |(p, bytes): (usize, &u64)| {
        let root = Root::Parameter(p);
        let ratio = match (now.get(&root), before.get(&root)) {
            (Some(n), Some(b)) if *b > 0.0 => (n / b).min(1.0),
            _ => 1.0,
        };
        *bytes as f64 * ratio
    };
    l.buffers.iter().enumerate().map(one).collect()
}

/// Bytes of all buffers of a launch.
pub(super) fn working_set_bytes(
    work: &KernelWork,
    unplanned: &KernelWork,
    l: &LaunchCounts,
) -> f64 {
    buffer_bytes(work, unplanned, l).iter().sum()
}

/// Time that L2 takes for a sector that a store or an atomic operation writes in part, over that for a whole sector: ncu on the
/// H200 has 18 ps a sector for a transposition with scattered stores, and 15 ps for scattered additions.
const PARTIAL_SECTOR: f64 = 5.0;
/// The same over the exposed part of L2's time, where lanes share a sector, have neighbouring sectors, or each have a line of
/// their own (probe on the H200, ps a sector: 6.2 for fields of 4 bytes, two of a warp in a sector; 9.2 for fields of 8 bytes, one
/// in a sector; 15 to 16 where each lane has a line of its own).
const SHARED_PARTIAL_SECTOR: f64 = 4.0;
const NEAR_PARTIAL_SECTOR: f64 = 6.0;
const FAR_PARTIAL_SECTOR: f64 = 10.0;
/// Bytes of a cache line.
const LINE: u64 = 128;

/// An access with its counts in a launch.
struct CountedExecution<'a> {
    access: &'a CountedAccess,
    pattern: Option<&'a Pattern>,
    count: &'a BlockCount,
    warp_executions: f64,
}

impl CountedExecution<'_> {
    fn active_lanes(&self) -> f64 {
        self.count.threads as f64 / self.warp_executions.max(1.0)
    }

    /// Bytes over the launch, in whole sectors: a warp with few active lanes touches few.
    fn sector_bytes(&self, block: [u32; 3]) -> f64 {
        let active = self.active_lanes().min(f64::from(WARP));
        let sectors = memory::sectors_by(self.access, self.pattern, active, block);
        self.warp_executions * sectors * memory::SECTOR as f64
    }

    /// Time that L2 takes over that for whole sectors. `exposed`: over the exposed part of L2's time only.
    fn partial_sector_factor(&self, exposed: bool) -> f64 {
        let (a, pattern) = (self.access, self.pattern);
        let active = self.active_lanes().clamp(1.0, f64::from(WARP));
        let sectors = pattern.map_or(0.0, |_| {
            memory::sectors_by(a, pattern, f64::from(WARP), [WARP, 1, 1])
        });
        let partial = sectors * memory::SECTOR as f64 > 2.0 * active * a.bytes as f64;
        match a.slope.x.map(i64::unsigned_abs) {
            _ if !partial || active <= 1.5 || a.direction == AccessDirection::Load => 1.0,
            _ if !exposed => PARTIAL_SECTOR,
            Some(x) if x < LINE && sectors <= 0.5 * f64::from(WARP) => SHARED_PARTIAL_SECTOR,
            Some(x) if x < LINE => NEAR_PARTIAL_SECTOR,
            _ => FAR_PARTIAL_SECTOR,
        }
    }
}

impl CostModel {
    /// Fraction of first touches that L2 does not serve: none while it holds the program's working set, all when that is
    /// twice as large. Half of L2 counts: the other half is far from each multiprocessor, and keeps copies.
    pub(super) fn l2_miss_fraction(&self, working_set_bytes: f64) -> f64 {
        let held = 0.5 * self.l2_bytes;
        ((working_set_bytes - held) / held.max(1.0)).clamp(0.0, 1.0)
    }

    /// Traffic of a launch. Each multiprocessor gets each byte from L2 once as long as nothing writes the buffer.
    pub(super) fn traffic(&self, k: &KernelLaunch, waiting: LoadWaiting) -> MemoryTraffic {
        let (work, l) = (k.work, k.counts);
        let buffers = buffer_bytes(work, k.unplanned, l);
        let all_buffers: f64 = buffers.iter().sum();
        let busy_sms = self.busy_sms(l.grid.iter().map(|x| f64::from(*x)).product());
        let l1 = k.rates.load_latency("l1");
        let (l2, dram) = (k.rates.load_latency("l2"), k.rates.load_latency("dram"));
        let each = work.blocks.iter().map(|b| vec![l1; b.accesses.len()]);
        let mut out = MemoryTraffic {
            l2_bytes: 0.0,
            dram_bytes: 0.0,
            latency_clocks: each.collect(),
        };
        for (root, mut accesses) in access_traffic(work, l, waiting) {
            let buffer = match root {
                Root::Parameter(p) => buffers.get(*p).copied(),
                _ => None,
            };
            let buffer = buffer.filter(|b| *b > 0.0).unwrap_or(all_buffers.max(1.0));
            let object = ObjectTraffic::new(&accesses, buffer, busy_sms, k.l2_miss_fraction);
            let stores = accesses.iter().filter(|t| !t.is_load);
            let written: f64 = stores.map(|t| t.bytes * t.partial_sector_factor).sum();
            out.l2_bytes += object.l2_load_bytes + written;
            out.dram_bytes +=
                object.dram_load_bytes + k.l2_miss_fraction * object.stored_bytes.min(buffer);
            // The access that requests most of L2 is taken to miss first; later ones find the data in L2.
            accesses.sort_by(|a, b| {
                let (a, b) = (object.requested_bytes(a), object.requested_bytes(b));
                b.total_cmp(&a)
            });
            let mut dram_bytes_left = object.dram_load_bytes;
            for t in accesses.iter().filter(|t| t.is_load) {
                let from_dram = dram_bytes_left.min(object.requested_bytes(t));
                dram_bytes_left -= from_dram;
                // A warp waits for the loads of all copies of an unrolled body at once: the slowest decides. A lone warp
                // waits for all loads of a block at once.
                let loads_of_block = match waiting.lone_warp {
                    true => accesses
                        .iter()
                        .filter(|o| o.is_load && o.block == t.block)
                        .count() as f64,
                    false => 1.0,
                };
                let overlapping = loads_of_block * unrolled_copies(&work.blocks[t.block], l);
                let exponent = waiting.sector_exponent;
                let misses = object.miss_probabilities(t, from_dram, overlapping, exponent);
                out.latency_clocks[t.block][t.access] =
                    l1 + misses.l1 * (l2 - l1) + misses.l2 * (dram - l2);
            }
        }
        out
    }
}

/// A launch's accesses to device memory, by object.
fn access_traffic<'w>(
    work: &'w KernelWork,
    l: &LaunchCounts,
    waiting: LoadWaiting,
) -> BTreeMap<&'w Root, Vec<AccessTraffic>> {
    let mut by_object: BTreeMap<&Root, Vec<AccessTraffic>> = BTreeMap::new();
    let executions = warp_executions(work, l);
    let by_sector = waiting.sector_exponent.is_some();
    for (block, b) in work.blocks.iter().enumerate() {
        for (access, a) in b.accesses.iter().enumerate() {
            if a.memory != MemoryKind::Global {
                continue;
            }
            let pattern = b.patterns[access].as_ref();
            let counted = CountedExecution {
                access: a,
                pattern,
                count: &l.blocks[b.number],
                warp_executions: executions[block],
            };
            by_object.entry(&a.root).or_default().push(AccessTraffic {
                block,
                access,
                bytes: counted.sector_bytes(l.block),
                l1_miss_fraction: memory::l1_miss_fraction(a, pattern),
                first_touches: memory::first_touches(a, pattern).filter(|_| by_sector),
                partial_sector_factor: counted.partial_sector_factor(by_sector),
                sectors: pattern.map_or(1.0, |_| {
                    memory::sectors_by(a, pattern, f64::from(WARP), l.block)
                }),
                is_load: a.direction == AccessDirection::Load,
            });
        }
    }
    by_object
}

/// Bytes of one object between the levels.
struct ObjectTraffic {
    stored_bytes: f64,
    /// Bytes that loads get from L2, and those of them that come from device memory.
    l2_load_bytes: f64,
    dram_load_bytes: f64,
    /// Bytes that loads get from L2, over all that they load.
    l2_fraction: f64,
    /// Bytes that loads get from L2, over those of recorded first touches: less than 1 where other multiprocessors' first
    /// touches, or iterations that were not recorded, share them.
    first_touch_scale: f64,
    l2_miss_fraction: f64,
}

/// Probabilities that a load waits for L2, and for device memory.
struct MissProbabilities {
    l1: f64,
    l2: f64,
}

impl ObjectTraffic {
    fn new(
        accesses: &[AccessTraffic],
        buffer_bytes: f64,
        busy_sms: f64,
        l2_miss_fraction: f64,
    ) -> ObjectTraffic {
        let sum = |is_load: bool| -> f64 {
            let all = accesses.iter().filter(|t| t.is_load == is_load);
            all.map(|t| t.bytes).sum()
        };
        let (loaded, stored_bytes) = (sum(true), sum(false));
        let loads = accesses.iter().filter(|t| t.is_load);
        let l1_misses: f64 = loads.map(|t| t.bytes * t.l1_miss_fraction).sum();
        let l2_load_bytes = match stored_bytes > 0.0 {
            true => l1_misses,
            false => l1_misses.min(buffer_bytes * busy_sms),
        };
        ObjectTraffic {
            stored_bytes,
            l2_load_bytes,
            dram_load_bytes: l2_miss_fraction * l2_load_bytes.min(buffer_bytes),
            l2_fraction: (l2_load_bytes / loaded.max(1.0)).min(1.0),
            first_touch_scale: (l2_load_bytes / l1_misses.max(1.0)).min(1.0),
            l2_miss_fraction,
        }
    }

    /// Bytes that an access requests of L2.
    fn requested_bytes(&self, t: &AccessTraffic) -> f64 {
        match t.first_touches {
            Some(first) => t.bytes * first.sectors * self.first_touch_scale,
            None => t.bytes,
        }
    }

    /// How likely a load is to wait for L2 and for device memory, where `from_dram` of its bytes come from there and a warp
    /// waits for `overlapping` loads at once.
    fn miss_probabilities(
        &self,
        t: &AccessTraffic,
        from_dram: f64,
        overlapping: f64,
        sector_exponent: Option<f64>,
    ) -> MissProbabilities {
        // Sectors of an access miss together or independently: something in between.
        let any_sector = |fraction: f64| {
            let independent = sector_exponent.map_or(1.0, |e| t.sectors.powf(e));
            1.0 - (1.0 - fraction).max(0.0).powf(independent)
        };
        let dram_fraction = from_dram / self.requested_bytes(t).max(1.0);
        match t.first_touches {
            Some(first) => {
                // Of overlapping iterations, those that miss with whole accesses do so in turn. Where only some sectors
                // miss, at the edge of what a block has loaded, iterations are between dependent and independent too.
                let whole = (first.sectors / first.accesses.max(1e-9)).min(1.0);
                let independent = sector_exponent.map_or(overlapping, |e| overlapping.powf(e));
                let any_iteration = |fraction: f64| {
                    let edge = 1.0 - (1.0 - fraction).max(0.0).powf(independent);
                    whole * (fraction * overlapping).min(1.0) + (1.0 - whole) * edge
                };
                let own = first.accesses * self.first_touch_scale;
                MissProbabilities {
                    l1: any_iteration(own),
                    l2: any_iteration(own * any_sector(dram_fraction)),
                }
            }
            None => {
                let l1 = (any_sector(self.l2_fraction) * overlapping).min(1.0);
                let own = any_sector(dram_fraction);
                // No more than L2 misses of what it is requested.
                let l2 = (overlapping * own).min(own.max(self.l2_miss_fraction * l1));
                MissProbabilities { l1, l2 }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kerf_ir::address::slope::Slope;

    #[test]
    fn partial_sectors_take_longer_the_farther_apart_they_are() {
        let factor = |bytes, x: Option<i64>, sectors: f32, direction| {
            let access = CountedAccess {
                block: 0,
                direction,
                bytes,
                memory: MemoryKind::Global,
                root: Root::Parameter(0),
                slope: Slope { x, y: Some(0) },
            };
            let pattern = Pattern {
                block: 0,
                index: 0,
                bytes,
                sectors: [sectors; 3],
                fresh: [1.0; 3],
                first: None,
                passes: [[1.0; 3]; 3],
            };
            let count = BlockCount {
                threads: 3200,
                ..BlockCount::default()
            };
            let counted = CountedExecution {
                access: &access,
                pattern: Some(&pattern),
                count: &count,
                warp_executions: 100.0,
            };
            counted.partial_sector_factor(true)
        };
        let store = |bytes, x, sectors| factor(bytes, x, sectors, AccessDirection::Store);
        assert_eq!(store(4, Some(4), 4.0), 1.0);
        assert_eq!(store(4, Some(16), 16.0), SHARED_PARTIAL_SECTOR);
        assert_eq!(store(8, Some(32), 32.0), NEAR_PARTIAL_SECTOR);
        assert_eq!(store(8, Some(8192), 32.0), FAR_PARTIAL_SECTOR);
        assert_eq!(store(8, None, 32.0), FAR_PARTIAL_SECTOR);
        assert_eq!(factor(8, Some(8192), 32.0, AccessDirection::Load), 1.0);
    }
}
