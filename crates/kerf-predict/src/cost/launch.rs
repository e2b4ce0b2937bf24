//! One launch: work by unit, bytes by level, waiting of a warp, rounds of blocks.
use super::census::{BlockWork, KernelWork};
use super::executed::{copies, warps};
use super::rates::{Rates, UNITS};
use super::traffic::Waits;
use super::{CostModel, LaunchPrediction, Resource, ResourceShare, Unit, combine, memory};
use kerf_device::occupancy::{Demand, WARP};
use kerf_pass::count::{CountedAccess, Direction, LaunchCounts, MemoryKind, Pattern};
use std::collections::BTreeMap;

/// Resources of the units, in their order.
const OF_UNITS: [(Unit, Resource); UNITS] = [
    (Unit::Issue, Resource::Issue),
    (Unit::F64, Resource::F64),
    (Unit::F32, Resource::F32),
    (Unit::Half, Resource::Half),
    (Unit::Special, Resource::Special),
    (Unit::LoadStore, Resource::LoadStore),
];

fn size(d: [u32; 3]) -> f64 {
    d.iter().map(|x| f64::from(*x)).product()
}

/// Launches of a kernel beyond this many kinds are put together with those that do about as much.
const KINDS: usize = 32;

/// Launches with nearly alike ones put together: the one in the middle stands for all.
pub(super) fn alike(launches: &[LaunchCounts]) -> Vec<LaunchCounts> {
    let work = |l: &LaunchCounts| l.blocks.iter().map(|b| b.warps).sum::<u64>();
    let mut by: BTreeMap<(&str, [u32; 3], u32), Vec<&LaunchCounts>> = BTreeMap::new();
    for l in launches {
        by.entry((&l.symbol, l.block, l.dynamic_shared))
            .or_default()
            .push(l);
    }
    let mut out = Vec::new();
    for mut all in by.into_values() {
        all.sort_by_key(|l| work(l));
        for part in all.chunks(all.len().div_ceil(KINDS).max(1)) {
            let repeats = part.iter().map(|l| l.repeats).sum();
            out.push(LaunchCounts {
                repeats,
                ..part[part.len() / 2].clone()
            });
        }
    }
    out
}

impl CostModel {
    /// Multiprocessors that have work.
    pub(super) fn busy(&self, blocks: f64) -> f64 {
        blocks.min(self.sms).max(1.0)
    }

    /// Time of every resource, in clocks of a multiprocessor.
    fn units(&self, r: &Rates, work: &KernelWork, l: &LaunchCounts) -> [f64; UNITS] {
        let mut all = [0.0; UNITS];
        for (b, warps) in work.blocks.iter().zip(warps(work, l)) {
            let saved = 1.0 - 1.0 / copies(b, l);
            for ((sum, c), shared) in all.iter_mut().zip(b.clocks).zip(b.shared) {
                *sum += warps * f64::from(WARP) * (c - saved * shared);
            }
            for (a, seen) in b.accesses.iter().zip(&b.seen) {
                all[Unit::LoadStore as usize] += warps * passes(r, a, seen.as_ref(), l.block);
            }
        }
        all
    }

    /// Seconds of one launch.
    pub(super) fn launch(
        &self,
        r: &Rates,
        work: &KernelWork,
        own: &KernelWork,
        l: &LaunchCounts,
        missed: f64,
    ) -> LaunchPrediction {
        let threads = size(l.block) as u32;
        let demand = Demand {
            registers: work.registers,
            shared: work.static_shared + u64::from(l.dynamic_shared),
            carveout: None,
        };
        let warps_of_block = threads.div_ceil(WARP).max(1);
        // What does not fit would spill; the assembler then takes what there is.
        let resident = self
            .machine
            .occupancy(demand, threads.clamp(1, self.machine.threads_per_block))
            .map_or(1, |o| o.blocks)
            .max(1);
        let blocks = size(l.grid).max(1.0);
        let busy = self.busy(blocks);
        // The multiprocessor with the most blocks decides.
        let fullest = (blocks / self.sms).ceil();
        let here = fullest.min(f64::from(resident));
        let waves = (blocks / (self.sms * f64::from(resident))).max(1.0);
        let partitions = f64::from(self.machine.partitions);
        let lanes = (here * f64::from(warps_of_block)).min(partitions) / partitions;

        let lone = here * f64::from(warps_of_block) <= 1.0;
        let levels = self.levels(r, work, own, l, missed, Waits { lone, last: None });
        let mut clocks = self.units(r, work, l);
        for (k, c) in clocks.iter_mut().enumerate() {
            *c *= fullest / blocks;
            // A unit of a sub-partition without warps stands still.
            if k != Unit::LoadStore as usize {
                *c /= lanes;
            }
        }
        let full = self.alone(r, work, l, Some(&levels.latency));
        let alone = self.alone(r, work, l, None);
        let s = |c: f64| c / self.clock_hz;
        let mut shares: Vec<ResourceShare> = OF_UNITS
            .into_iter()
            .map(|(u, resource)| ResourceShare {
                resource,
                seconds: s(clocks[u as usize]),
            })
            .collect();
        let share = |resource, seconds| ResourceShare { resource, seconds };
        shares.push(share(
            Resource::L2,
            levels.l2_bytes / (self.l2_bandwidth * busy / self.sms),
        ));
        shares.push(share(Resource::Dram, levels.dram_bytes / self.bandwidth));
        shares.push(share(Resource::Latency, s(alone * waves)));
        shares.push(share(Resource::MemoryLatency, s((full - alone) * waves)));
        shares.push(share(Resource::Launch, self.launch_s));
        let device_seconds = combine::seconds(&shares, lone);
        let seconds = device_seconds.max(combine::weight(Resource::Launch) * self.launch_s);
        shares
            .iter_mut()
            .for_each(|x| x.seconds *= combine::weight(x.resource));
        shares.sort_by(|a, b| {
            b.seconds
                .total_cmp(&a.seconds)
                .then(a.resource.cmp(&b.resource))
        });
        let limit = shares[0].resource;
        LaunchPrediction {
            symbol: l.symbol.clone(),
            repeats: l.repeats,
            seconds,
            device_seconds,
            limit,
            shares,
            registers: work.registers,
            warps: here as u32 * warps_of_block,
            waves,
        }
    }

    /// Clocks of a warp that is alone: its blocks one after the other.
    fn alone(
        &self,
        r: &Rates,
        work: &KernelWork,
        l: &LaunchCounts,
        latency: Option<&[Vec<f64>]>,
    ) -> f64 {
        let warps = (size(l.grid) * (size(l.block) / f64::from(WARP)).ceil()).max(1.0);
        let partitions = f64::from(self.machine.partitions);
        let executed = super::executed::warps(work, l);
        let mut sum = 0.0;
        for (k, b) in work.blocks.iter().enumerate() {
            let c = l.blocks[b.number];
            if c.threads == 0 {
                continue;
            }
            // Between the mean warp and the one that does most, whom the others wait for at barriers.
            let mean = executed[k] / warps;
            let times = 0.5 * (mean + mean.max(c.longest as f64));
            sum += times * alone_in(r, b, l, latency.map(|l| l[k].as_slice()), partitions);
        }
        sum
    }
}

/// Passes of the load-store unit for one access of a warp.
fn passes(r: &Rates, a: &CountedAccess, seen: Option<&Pattern>, block: [u32; 3]) -> f64 {
    let n = memory::passes(a, seen, block);
    if a.direction != Direction::Atomic {
        return n;
    }
    let key = match a.memory {
        MemoryKind::Shared => "atomic_add.shared",
        _ => "atomic_add.global",
    };
    let element = if a.bytes > 4 { "f64" } else { "i32" };
    let c = r.cost(&format!("{key}.{element}"));
    f64::from(WARP) * c.clocks.iter().copied().fold(0.0, f64::max)
}

/// Latency of an access whose result is waited for.
fn wait(r: &Rates, a: &CountedAccess, global: f64) -> f64 {
    match (a.memory, a.direction) {
        (MemoryKind::Shared, Direction::Atomic) => r.cost("atomic_add.shared.i32").latency,
        (_, Direction::Atomic) => r.cost("atomic_add.global.f64").latency,
        (MemoryKind::Shared, _) => r.load_latency("shared"),
        (MemoryKind::Local, _) => r.load_latency("l1"),
        // Parameters and constants are part of the instructions that use them.
        (MemoryKind::Constant, _) => r.load_latency("shared"),
        (MemoryKind::Global, _) => global,
    }
}

/// Part of a load's latency that remains where its result is wanted in another block.
const NOT_HIDDEN: f64 = 0.1;

/// Clocks of one warp for one execution of a block.
fn alone_in(
    r: &Rates,
    b: &BlockWork,
    l: &LaunchCounts,
    global: Option<&[f64]>,
    partitions: f64,
) -> f64 {
    let latency = |k: usize| {
        let n = &b.nodes[k];
        // Predicated loads of neighbouring blocks are under way together.
        let overlap = if b.short { 0.5 } else { 1.0 };
        let waited = overlap
            * n.load.map_or(0.0, |a| {
                wait(r, &b.accesses[a], global.map_or(0.0, |g| g[a]))
            });
        n.latency
            + if n.wanted {
                waited
            } else {
                NOT_HIDDEN * waited
            }
    };
    // When each result is there, if the block begins at 0.
    let mut ready: Vec<f64> = Vec::with_capacity(b.nodes.len());
    for (k, n) in b.nodes.iter().enumerate() {
        let start = n.after.iter().map(|o| ready[*o]).fold(0.0, f64::max);
        ready.push(start + latency(k));
    }
    let path = ready.iter().copied().fold(0.0, f64::max);
    // One warp has the units of one sub-partition.
    let busiest = b.clocks.iter().copied().fold(0.0, f64::max);
    let all = b.accesses.iter().zip(&b.seen);
    let passes: f64 = all.map(|(a, s)| passes(r, a, s.as_ref(), l.block)).sum();
    let issue = (busiest * f64::from(WARP) * partitions).max(passes);
    if !b.loops {
        return path.max(issue);
    }
    // The longest way from a phi to its next value.
    let recurrence = b.recurrences.iter().map(|(phi, next)| {
        let mut from: Vec<Option<f64>> = vec![None; b.nodes.len()];
        from[*phi] = Some(0.0);
        for k in phi + 1..=*next {
            let before = b.nodes[k].after.iter().filter_map(|o| from[*o]);
            let longest = before.fold(None, |m: Option<f64>, x| Some(m.map_or(x, |m| m.max(x))));
            if !b.nodes[k].phi {
                from[k] = longest.map(|x| x + latency(k));
            }
        }
        from[*next].unwrap_or(0.0)
    });
    let recurrence = recurrence.fold(0.0, f64::max);
    let copies = copies(b, l);
    let each = (path + (copies - 1.0) * recurrence) / copies;
    each.max(recurrence).max(issue)
}
