//! Bytes between the levels of memory, and how long each load waits for its own.
use super::census::KernelWork;
use super::executed::{copies, warps};
use super::rates::Rates;
use super::{CostModel, memory};
use kerf_device::occupancy::WARP;
use kerf_pass::count::{
    BlockCount, CountedAccess, Direction, LaunchCounts, MemoryKind, Pattern, Root,
};
use std::collections::BTreeMap;

/// What a launch moves.
pub(super) struct Levels {
    /// Bytes that L2 gives and takes.
    pub l2_bytes: f64,
    /// Bytes that device memory gives and takes.
    pub dram_bytes: f64,
    /// Clocks that an access takes in the mean, by block and access.
    pub latency: Vec<Vec<f64>>,
}

/// How warps wait for loads.
#[derive(Clone, Copy)]
pub(super) struct Waits {
    /// One at a time on a multiprocessor.
    pub lone: bool,
    /// For the last of an access's sectors: exponent in how many of them. None waits for the mean.
    pub last: Option<f64>,
}

/// One access of a launch.
struct Touch {
    block: usize,
    access: usize,
    bytes: f64,
    /// Part of them that L1 does not have.
    fresh: f64,
    /// Part of its own sectors that the block's loads before it had not touched, and of warps' accesses that have such.
    first: Option<(f64, f64)>,
    /// What L2 takes longer for it than for whole sectors.
    slower: f64,
    /// Sectors of a warp's access, where its addresses were seen: it waits for the one that comes last.
    sectors: f64,
    load: bool,
}

/// Bytes that a launch moves, by object.
fn moved<'w>(work: &'w KernelWork, l: &LaunchCounts) -> BTreeMap<&'w Root, f64> {
    let mut out = BTreeMap::new();
    for b in &work.blocks {
        for a in b.accesses.iter().filter(|a| a.memory == MemoryKind::Global) {
            *out.entry(&a.root).or_insert(0.0) +=
                a.bytes as f64 * l.blocks[b.number].threads as f64;
        }
    }
    out
}

/// Sizes of a launch's buffers. One that a plan holds in a narrower format is as much smaller as the
/// accesses to it.
fn sizes(work: &KernelWork, own: &KernelWork, l: &LaunchCounts) -> Vec<f64> {
    let (now, before) = (moved(work, l), moved(own, l));
    let one = |(p, bytes): (usize, &u64)| {
        let root = Root::Parameter(p);
        let part = match (now.get(&root), before.get(&root)) {
            (Some(n), Some(b)) if *b > 0.0 => (n / b).min(1.0),
            _ => 1.0,
        };
        *bytes as f64 * part
    };
    l.buffers.iter().enumerate().map(one).collect()
}

/// Bytes that a launch works on.
pub(super) fn working_set(work: &KernelWork, own: &KernelWork, l: &LaunchCounts) -> f64 {
    sizes(work, own, l).iter().sum()
}

/// Bytes of an access over a launch, in whole sectors. Of a warp with few threads at work, few are touched.
fn touched(
    a: &CountedAccess,
    seen: Option<&Pattern>,
    c: &BlockCount,
    warps: f64,
    block: [u32; 3],
) -> f64 {
    let active = (c.threads as f64 / warps.max(1.0)).min(f64::from(WARP));
    warps * memory::sectors_by(a, seen, active, block) * memory::SECTOR as f64
}

/// What L2 takes longer where stores, or atomic operations, leave most of their sectors as they were: ncu on the H200 has 18 ps a
/// sector for a transposition with scattered stores, and 15 for scattered additions.
const PARTS: f64 = 5.0;
/// The same over the part of L2's time that is not hidden (probe on the H200, ps a sector: 6.2 for fields of 4 bytes, two of which
/// a warp has in a sector, 9.2 for fields of 8 bytes, one in a sector, 15 to 16 where each thread's is in a line of its own).
const SHARED_PARTS: f64 = 4.0;
const NEAR_PARTS: f64 = 6.0;
const FAR_PARTS: f64 = 10.0;
/// Bytes of a line.
const LINE: u64 = 128;

fn slower(
    a: &CountedAccess,
    seen: Option<&Pattern>,
    c: &BlockCount,
    warps: f64,
    hidden: bool,
) -> f64 {
    let active = (c.threads as f64 / warps.max(1.0)).clamp(1.0, f64::from(WARP));
    let sectors = seen.map_or(0.0, |_| memory::sectors_by(a, seen, 32.0, [32, 1, 1]));
    let parts = sectors * memory::SECTOR as f64 > 2.0 * active * a.bytes as f64;
    match a.slope.x.map(i64::unsigned_abs) {
        _ if !parts || active <= 1.5 || a.direction == Direction::Load => 1.0,
        _ if !hidden => PARTS,
        Some(x) if x < LINE && sectors <= 0.5 * f64::from(WARP) => SHARED_PARTS,
        Some(x) if x < LINE => NEAR_PARTS,
        _ => FAR_PARTS,
    }
}

impl CostModel {
    /// Part of first touches that L2 does not serve: none while it holds all that a program works on,
    /// all when that is larger. For each multiprocessor half of L2 is far away, and keeps copies.
    pub(super) fn missed(&self, working_set: f64) -> f64 {
        let held = 0.5 * self.l2_bytes;
        ((working_set - held) / held.max(1.0)).clamp(0.0, 1.0)
    }

    /// Bytes between the levels. Each multiprocessor gets each byte from L2 once as long as nobody
    /// writes the buffer.
    pub(super) fn levels(
        &self,
        r: &Rates,
        work: &KernelWork,
        own: &KernelWork,
        l: &LaunchCounts,
        missed: f64,
        waits: Waits,
    ) -> Levels {
        let buffers = sizes(work, own, l);
        let whole: f64 = buffers.iter().sum();
        let busy = self.busy(l.grid.iter().map(|x| f64::from(*x)).product());
        let near = r.load_latency("l1");
        let (middle, far) = (r.load_latency("l2"), r.load_latency("dram"));
        let each = work.blocks.iter().map(|b| vec![near; b.accesses.len()]);
        let mut out = Levels {
            l2_bytes: 0.0,
            dram_bytes: 0.0,
            latency: each.collect(),
        };
        for (root, mut touches) in touches(work, l, waits) {
            let buffer = match root {
                Root::Parameter(p) => buffers.get(*p).copied(),
                _ => None,
            };
            let buffer = buffer.filter(|b| *b > 0.0).unwrap_or(whole.max(1.0));
            let flow = ObjectFlow::new(&touches, buffer, busy, missed);
            let stores = touches.iter().filter(|t| !t.load);
            out.l2_bytes += flow.first + stores.map(|t| t.bytes * t.slower).sum::<f64>();
            out.dram_bytes += flow.once + missed * flow.stored.min(buffer);
            // The access that asks L2 for most is the one that fetches; others then find the data in L2.
            touches.sort_by(|a, b| flow.asked(b).total_cmp(&flow.asked(a)));
            let mut left = flow.once;
            for t in touches.iter().filter(|t| t.load) {
                let fetched = left.min(flow.asked(t));
                left -= fetched;
                // Loads of an unrolled loop's rounds are waited for together: the slowest of them decides.
                // So are those of one round by a warp without others to hide behind.
                let beside = touches.iter().filter(|o| o.load && o.block == t.block);
                let beside = if waits.lone {
                    beside.count() as f64
                } else {
                    1.0
                };
                let together = beside * copies(&work.blocks[t.block], l);
                let (from_l2, from_memory) = flow.waited(t, fetched, together, waits.last);
                out.latency[t.block][t.access] =
                    near + from_l2 * (middle - near) + from_memory * (far - middle);
            }
        }
        out
    }
}

/// A launch's accesses to device memory, by object.
fn touches<'w>(
    work: &'w KernelWork,
    l: &LaunchCounts,
    Waits { last, .. }: Waits,
) -> BTreeMap<&'w Root, Vec<Touch>> {
    let mut by: BTreeMap<&Root, Vec<Touch>> = BTreeMap::new();
    let warps = warps(work, l);
    for (block, b) in work.blocks.iter().enumerate() {
        for (access, a) in b.accesses.iter().enumerate() {
            if a.memory == MemoryKind::Global {
                let seen = b.seen[access].as_ref();
                by.entry(&a.root).or_default().push(Touch {
                    block,
                    access,
                    bytes: touched(a, seen, &l.blocks[b.number], warps[block], l.block),
                    fresh: memory::fresh(a, seen),
                    first: memory::first(a, seen).filter(|_| last.is_some()),
                    slower: slower(a, seen, &l.blocks[b.number], warps[block], last.is_some()),
                    sectors: seen.map_or(1.0, |_| memory::sectors_by(a, seen, 32.0, l.block)),
                    load: a.direction == Direction::Load,
                });
            }
        }
    }
    by
}

/// Bytes of one object between the levels.
struct ObjectFlow {
    /// Bytes that stores write.
    stored: f64,
    /// Bytes that L2 gives to loads, and those of them that device memory gives.
    first: f64,
    once: f64,
    /// Part of what is loaded that L2 gives.
    mean: f64,
    /// Of what was seen to be touched first, L1 may have some all the same: rounds that were not looked at.
    still: f64,
    /// Part of first touches that L2 does not serve.
    missed: f64,
}

impl ObjectFlow {
    fn new(touches: &[Touch], buffer: f64, busy: f64, missed: f64) -> ObjectFlow {
        let sum = |load: bool| -> f64 {
            let all = touches.iter().filter(|t| t.load == load);
            all.map(|t| t.bytes).sum()
        };
        let (loaded, stored) = (sum(true), sum(false));
        let all = touches.iter().filter(|t| t.load);
        let fresh: f64 = all.map(|t| t.bytes * t.fresh).sum();
        let first = match stored > 0.0 {
            true => fresh,
            false => fresh.min(buffer * busy),
        };
        ObjectFlow {
            stored,
            first,
            once: missed * first.min(buffer),
            mean: (first / loaded.max(1.0)).min(1.0),
            still: (first / fresh.max(1.0)).min(1.0),
            missed,
        }
    }

    /// Bytes that an access asks L2 for.
    fn asked(&self, t: &Touch) -> f64 {
        match t.first {
            Some((sectors, _)) => t.bytes * sectors * self.still,
            None => t.bytes,
        }
    }

    /// How often a load waits for L2, and for device memory, where it fetches so many bytes from there and so many loads are
    /// waited for together.
    fn waited(&self, t: &Touch, fetched: f64, together: f64, last: Option<f64>) -> (f64, f64) {
        // Sectors that L1 does not have come together: they are taken to be in between alone and independent.
        let any = |part: f64| {
            let sectors = last.map_or(1.0, |e| t.sectors.powf(e));
            1.0 - (1.0 - part).max(0.0).powf(sectors)
        };
        let part = fetched / self.asked(t).max(1.0);
        match t.first {
            Some((sectors, accesses)) => {
                // Of rounds that are waited for together, those that fetch whole accesses take turns; where a few
                // sectors are new, at the edge of what a block has, rounds are in between as well.
                let whole = (sectors / accesses.max(1e-9)).min(1.0);
                let rounds = last.map_or(together, |e| together.powf(e));
                let some = |part: f64| {
                    let edge = 1.0 - (1.0 - part).max(0.0).powf(rounds);
                    whole * (part * together).min(1.0) + (1.0 - whole) * edge
                };
                let own = accesses * self.still;
                (some(own), some(own * any(part)))
            }
            None => {
                let from_l2 = (any(self.mean) * together).min(1.0);
                let own = any(part);
                // Of what L2 is asked for, no more than it misses.
                (
                    from_l2,
                    (together * own).min(own.max(self.missed * from_l2)),
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kerf_pass::count::Slope;

    #[test]
    fn parts_of_sectors_take_longer_the_farther_apart_they_are() {
        let of = |bytes, x: Option<i64>, sectors: f32, direction| {
            let a = CountedAccess {
                block: 0,
                direction,
                bytes,
                memory: MemoryKind::Global,
                root: Root::Parameter(0),
                slope: Slope { x, y: Some(0) },
            };
            let p = Pattern {
                block: 0,
                index: 0,
                bytes,
                sectors: [sectors; 3],
                fresh: [1.0; 3],
                first: None,
                passes: [[1.0; 3]; 3],
            };
            let c = BlockCount {
                threads: 3200,
                ..BlockCount::default()
            };
            slower(&a, Some(&p), &c, 100.0, true)
        };
        let store = |bytes, x, sectors| of(bytes, x, sectors, Direction::Store);
        assert_eq!(store(4, Some(4), 4.0), 1.0);
        assert_eq!(store(4, Some(16), 16.0), SHARED_PARTS);
        assert_eq!(store(8, Some(32), 32.0), NEAR_PARTS);
        assert_eq!(store(8, Some(8192), 32.0), FAR_PARTS);
        assert_eq!(store(8, None, 32.0), FAR_PARTS);
        assert_eq!(of(8, Some(8192), 32.0, Direction::Load), 1.0);
    }
}
