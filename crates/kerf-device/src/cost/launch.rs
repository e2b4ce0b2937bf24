//! One launch: work by unit, bytes by level, waiting of a warp, rounds of blocks.
use super::census::{BlockWork, KernelWork};
use super::rates::{Rates, UNITS};
use super::{CostModel, LaunchPrediction, Resource, Share, Unit, memory};
use crate::occupancy::{Demand, WARP};
use kerf_pass::count::{Access, BlockCount, Direction, LaunchCounts, Memory, Root};
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

/// Where a launch's loads find their data: parts of all sectors.
#[derive(Debug, Clone, Copy)]
struct Levels {
    /// Bytes that L2 gives.
    l2_bytes: f64,
    /// Bytes that device memory gives or takes.
    dram_bytes: f64,
    /// Clocks that a global load takes in the mean.
    latency: f64,
}

fn size(d: [u32; 3]) -> f64 {
    d.iter().map(|x| f64::from(*x)).product()
}

impl CostModel {
    /// Multiprocessors that have work.
    fn busy(&self, blocks: f64) -> f64 {
        blocks.min(self.sms).max(1.0)
    }

    /// Bytes between the levels. Each multiprocessor gets each byte from L2 once as long as L1 holds
    /// the buffer; what L2 holds comes from an earlier launch or the host, and costs no trip to memory.
    fn levels(&self, r: &Rates, work: &KernelWork, l: &LaunchCounts) -> Levels {
        let mut sectors: BTreeMap<&Root, (f64, bool)> = BTreeMap::new();
        for b in &work.blocks {
            let warps = l.blocks[b.number].warps as f64;
            for a in b.accesses.iter().filter(|a| a.memory == Memory::Global) {
                let s = sectors.entry(&a.root).or_insert((0.0, false));
                s.0 += warps * (memory::sectors(a, l.block) * memory::SECTOR) as f64;
                s.1 |= a.direction != Direction::Load;
            }
        }
        let busy = self.busy(size(l.grid));
        let whole: f64 = l.buffers.iter().map(|b| *b as f64).sum();
        let (mut all, mut l2, mut dram) = (0.0, 0.0, 0.0);
        for (root, (bytes, written)) in sectors {
            let buffer = match root {
                Root::Parameter(p) => l.buffers.get(*p).map(|b| *b as f64),
                _ => None,
            };
            // Writes go through to L2.
            let buffer = buffer.filter(|b| *b > 0.0).unwrap_or(whole.max(1.0));
            let first = match written {
                true => bytes,
                false => bytes.min(buffer * busy),
            };
            all += bytes;
            l2 += first;
            dram += first.min(buffer);
        }
        if whole <= self.l2_bytes {
            dram = 0.0;
        }
        let part = |x: f64| if all > 0.0 { (x / all).min(1.0) } else { 0.0 };
        let (near, middle, far) = (
            r.load_latency("l1"),
            r.load_latency("l2"),
            r.load_latency("dram"),
        );
        Levels {
            l2_bytes: l2,
            dram_bytes: dram,
            latency: near + part(l2) * (middle - near) + part(dram) * (far - middle),
        }
    }

    /// Time of every resource, in clocks of a multiprocessor.
    fn units(&self, r: &Rates, work: &KernelWork, l: &LaunchCounts) -> [f64; UNITS] {
        let mut all = [0.0; UNITS];
        for b in &work.blocks {
            let warps = l.blocks[b.number].warps as f64;
            for (sum, c) in all.iter_mut().zip(b.clocks) {
                *sum += warps * f64::from(WARP) * c;
            }
            for a in &b.accesses {
                all[Unit::LoadStore as usize] += warps * passes(r, a, l.block);
            }
        }
        all
    }

    /// Seconds of one launch.
    pub(super) fn launch(
        &self,
        r: &Rates,
        work: &KernelWork,
        l: &LaunchCounts,
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

        let levels = self.levels(r, work, l);
        let mut clocks = self.units(r, work, l);
        for (k, c) in clocks.iter_mut().enumerate() {
            *c *= fullest / blocks;
            // A unit of a sub-partition without warps stands still.
            if k != Unit::LoadStore as usize {
                *c /= lanes;
            }
        }
        let alone = self.alone(r, work, l, levels.latency);
        let s = |c: f64| c / self.clock_hz;
        let mut shares: Vec<Share> = OF_UNITS
            .into_iter()
            .map(|(u, resource)| Share {
                resource,
                seconds: s(clocks[u as usize]),
            })
            .collect();
        let longest = shares.iter().map(|x| x.seconds).fold(0.0, f64::max);
        let overlap = self.together(r, &clocks);
        let share = |resource, seconds| Share { resource, seconds };
        shares.push(share(
            Resource::L2,
            levels.l2_bytes / (self.l2_bandwidth * busy / self.sms),
        ));
        shares.push(share(Resource::Dram, levels.dram_bytes / self.bandwidth));
        shares.push(share(Resource::Latency, s(alone * waves)));
        // Blocks are handed out, parameters and code fetched, and the last stores drained: a few trips
        // to memory.
        let ramp = s(3.0 * r.load_latency("dram"));
        shares.push(share(Resource::Launch, self.launch_s - ramp));
        shares.sort_by(|a, b| {
            b.seconds
                .total_cmp(&a.seconds)
                .then(a.resource.cmp(&b.resource))
        });
        let limit = shares[0].resource;
        // Streams on other units than the longest overlap with it, but not wholly.
        let not_hidden = s(overlap) - longest;
        let seconds = shares[0].seconds
            + ramp
            + match limit {
                Resource::Launch | Resource::L2 | Resource::Dram | Resource::Latency => 0.0,
                _ => not_hidden,
            };
        LaunchPrediction {
            symbol: l.symbol.clone(),
            repeats: l.repeats,
            seconds,
            limit,
            shares,
            registers: work.registers,
            warps: here as u32 * warps_of_block,
            waves,
        }
    }

    /// Clocks of all units together: the longest, and of the others what does not overlap.
    fn together(&self, r: &Rates, clocks: &[f64; UNITS]) -> f64 {
        let (first, most) = OF_UNITS
            .iter()
            .map(|(u, _)| (*u, clocks[*u as usize]))
            .max_by(|a, b| a.1.total_cmp(&b.1))
            .unwrap_or((Unit::Issue, 0.0));
        let others = OF_UNITS
            .iter()
            .filter(|(u, _)| *u != first && *u != Unit::Issue);
        let rest: f64 = others
            .map(|(u, _)| r.serialisation(first, *u) * clocks[*u as usize])
            .sum();
        match first {
            // Slots are what streams share; nothing adds to them.
            Unit::Issue => most,
            _ => most + rest,
        }
    }

    /// Clocks of a warp that is alone: its blocks one after the other.
    fn alone(&self, r: &Rates, work: &KernelWork, l: &LaunchCounts, latency: f64) -> f64 {
        let warps = (size(l.grid) * (size(l.block) / f64::from(WARP)).ceil()).max(1.0);
        let partitions = f64::from(self.machine.partitions);
        let mut sum = 0.0;
        for b in &work.blocks {
            let c = l.blocks[b.number];
            if c.threads == 0 {
                continue;
            }
            let times = (c.warps as f64 / warps).max(c.longest as f64);
            sum += times * alone_in(r, b, &c, l, latency, partitions);
        }
        sum
    }
}

/// Passes of the load-store unit for one access of a warp.
fn passes(r: &Rates, a: &Access, block: [u32; 3]) -> f64 {
    let n = memory::passes(a, block) as f64;
    if a.direction != Direction::Atomic {
        return n;
    }
    let key = match a.memory {
        Memory::Shared => "atomic_add.shared",
        _ => "atomic_add.global",
    };
    let element = if a.bytes > 4 { "f64" } else { "i32" };
    let c = r.cost(&format!("{key}.{element}"));
    f64::from(WARP) * c.clocks.iter().copied().fold(0.0, f64::max)
}

/// Latency of an access whose result is waited for.
fn wait(r: &Rates, a: &Access, global: f64) -> f64 {
    match (a.memory, a.direction) {
        (Memory::Shared, Direction::Atomic) => r.cost("atomic_add.shared.i32").latency,
        (_, Direction::Atomic) => r.cost("atomic_add.global.f64").latency,
        (Memory::Shared, _) => r.load_latency("shared"),
        (Memory::Local, _) => r.load_latency("l1"),
        // Parameters and constants are part of the instructions that use them.
        (Memory::Constant, _) => r.load_latency("shared"),
        (Memory::Global, _) => global,
    }
}

/// Clocks of one warp for one execution of a block.
fn alone_in(
    r: &Rates,
    b: &BlockWork,
    count: &BlockCount,
    l: &LaunchCounts,
    global: f64,
    partitions: f64,
) -> f64 {
    let latency = |k: usize| {
        let n = &b.nodes[k];
        n.latency + n.load.map_or(0.0, |a| wait(r, &b.accesses[a], global))
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
    let passes: f64 = b.accesses.iter().map(|a| passes(r, a, l.block)).sum();
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
    // A loop is unrolled no further than it goes round.
    let entered = b.before.map_or(1, |n| l.blocks[n].threads).max(1);
    let rounds = (count.threads as f64 / entered as f64).max(1.0);
    let copies = b.unrolled.min(rounds);
    let each = (path + (copies - 1.0) * recurrence) / copies;
    each.max(recurrence).max(issue)
}
