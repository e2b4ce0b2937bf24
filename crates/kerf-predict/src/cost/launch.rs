//! Predictions from the prepared program: one launch as work by unit, bytes by level of memory, and the chain of dependent
//! operations of a warp.
use super::census::BlockWork;
use super::executed::{unrolled_copies, warp_executions};
use super::fitted::{FittedConstants, ProgramConstants};
use super::rates::{Rates, UNITS};
use super::traffic::{KernelLaunch, LoadWaiting};
use super::{CostModel, LaunchPrediction, Resource, ResourceShare, Unit, combine, memory};
use kerf_device::occupancy::{Demand, WARP};
use kerf_ir::address::AccessDirection;
use kerf_pass::count::{CountedAccess, LaunchCounts, MemoryKind, Pattern};
use std::collections::BTreeMap;

/// The resource of each unit.
const RESOURCE_OF_UNIT: [(Unit, Resource); UNITS] = [
    (Unit::Issue, Resource::Issue),
    (Unit::F64, Resource::F64),
    (Unit::F32, Resource::F32),
    (Unit::Half, Resource::Half),
    (Unit::Special, Resource::Special),
    (Unit::LoadStore, Resource::LoadStore),
];

/// Blocks of a grid, or threads of a block.
pub(super) fn volume(extents: [u32; 3]) -> f64 {
    extents.iter().map(|x| f64::from(*x)).product()
}

/// Groups of similar launches of a kernel, at most: bounds the time of a prediction.
const LAUNCH_GROUPS: usize = 32;

/// Merges similar launches: those of a kernel with the same block are sorted by work and cut into groups, each of which its
/// median stands for.
pub(super) fn merged(launches: &[LaunchCounts]) -> Vec<LaunchCounts> {
    let work = |l: &LaunchCounts| l.blocks.iter().map(|b| b.warps).sum::<u64>();
    let mut by_shape: BTreeMap<(&str, [u32; 3], u32), Vec<&LaunchCounts>> = BTreeMap::new();
    for l in launches {
        by_shape
            .entry((&l.symbol, l.block, l.dynamic_shared))
            .or_default()
            .push(l);
    }
    let mut out = Vec::new();
    for mut all in by_shape.into_values() {
        all.sort_by_key(|l| work(l));
        for group in all.chunks(all.len().div_ceil(LAUNCH_GROUPS).max(1)) {
            let repeats = group.iter().map(|l| l.repeats).sum();
            out.push(LaunchCounts {
                repeats,
                ..group[group.len() / 2].clone()
            });
        }
    }
    out
}

/// How the blocks of a launch are distributed over the multiprocessors.
pub(super) struct Placement {
    /// Blocks of the launch.
    pub blocks: f64,
    pub warps_per_block: u32,
    /// Blocks that fit on a multiprocessor at once.
    pub resident_limit: f64,
    /// Blocks of the multiprocessor that has most, which decides the time; and those of them that are resident at once.
    pub blocks_of_fullest: f64,
    pub resident_blocks: f64,
    /// Warps of `resident_blocks`.
    pub resident_warps: f64,
    /// Schedulers of a multiprocessor, and those of them that have a warp.
    pub schedulers: f64,
    pub active_schedulers: f64,
}

impl Placement {
    /// Rounds in which the device executes all blocks.
    pub(super) fn waves(&self, sms: f64) -> f64 {
        (self.blocks / (sms * self.resident_limit)).max(1.0)
    }
}

impl CostModel {
    /// Multiprocessors that have work.
    pub(super) fn busy_sms(&self, blocks: f64) -> f64 {
        blocks.min(self.sms).max(1.0)
    }

    /// Where the blocks of a launch run. A kernel whose demand exceeds a multiprocessor would spill: one block then fits.
    pub(super) fn placement(&self, l: &LaunchCounts, registers: u32, shared: u64) -> Placement {
        let threads = volume(l.block).max(1.0) as u32;
        let warps_per_block = threads.div_ceil(WARP).max(1);
        let demand = Demand {
            registers,
            shared: shared + u64::from(l.dynamic_shared),
            carveout: None,
        };
        let most_threads = self.machine.threads_per_block;
        let occupancy = self
            .machine
            .occupancy(demand, threads.clamp(1, most_threads));
        let resident_limit = f64::from(occupancy.map_or(1, |o| o.blocks).max(1));
        let blocks = volume(l.grid).max(1.0);
        let blocks_of_fullest = (blocks / self.sms).ceil();
        let resident_blocks = blocks_of_fullest.min(resident_limit);
        let resident_warps = resident_blocks * f64::from(warps_per_block);
        let schedulers = f64::from(self.machine.partitions);
        Placement {
            blocks,
            warps_per_block,
            resident_limit,
            blocks_of_fullest,
            resident_blocks,
            resident_warps,
            schedulers,
            active_schedulers: resident_warps.min(schedulers),
        }
    }

    /// Clocks of a multiprocessor on every unit, over all blocks of the launch.
    fn unit_clocks(&self, k: &KernelLaunch) -> [f64; UNITS] {
        let (work, l) = (k.work, k.counts);
        let mut all = [0.0; UNITS];
        for (b, executions) in work.blocks.iter().zip(warp_executions(work, l)) {
            let saved = 1.0 - 1.0 / unrolled_copies(b, l);
            let clocks = b.unit_clocks.into_iter().zip(b.shared_clocks);
            for (sum, (own, shared)) in all.iter_mut().zip(clocks) {
                *sum += executions * f64::from(WARP) * (own - saved * shared);
            }
            for (a, pattern) in b.accesses.iter().zip(&b.patterns) {
                all[Unit::LoadStore as usize] +=
                    executions * load_store_passes(k.rates, a, pattern.as_ref(), l.block);
            }
        }
        all
    }

    /// Predicts one launch.
    pub(super) fn program_launch(
        &self,
        k: &KernelLaunch,
        fitted: &FittedConstants,
    ) -> LaunchPrediction {
        let (work, l, c) = (k.work, k.counts, &fitted.program);
        let on = self.placement(l, work.registers, work.static_shared);
        let waves = on.waves(self.sms);
        let lone_warp = on.resident_warps <= 1.0;
        let waiting = LoadWaiting {
            lone_warp,
            sector_exponent: None,
        };
        let traffic = self.traffic(k, waiting);
        let mut clocks = self.unit_clocks(k);
        for (unit, c) in clocks.iter_mut().enumerate() {
            *c *= on.blocks_of_fullest / on.blocks;
            // Units of a scheduler without warps are idle; the load-store unit is shared.
            if unit != Unit::LoadStore as usize {
                *c /= on.active_schedulers / on.schedulers;
            }
        }
        let with_memory = self.chain_clocks(k, c, Some(&traffic.latency_clocks));
        let arithmetic = self.chain_clocks(k, c, None);
        let l2_bandwidth = self.l2_bandwidth * self.busy_sms(on.blocks) / self.sms;
        let seconds = |clocks: f64| clocks / self.clock_hz;
        let units = RESOURCE_OF_UNIT.map(|(u, r)| (r, seconds(clocks[u as usize])));
        let others = [
            (Resource::L2, traffic.l2_bytes / l2_bandwidth),
            (Resource::Dram, traffic.dram_bytes / self.bandwidth),
            (Resource::Latency, seconds(arithmetic * waves)),
            (
                Resource::MemoryLatency,
                seconds((with_memory - arithmetic) * waves),
            ),
            (Resource::Launch, self.launch_s),
        ];
        let mut shares: Vec<ResourceShare> = units
            .into_iter()
            .chain(others)
            .map(|(resource, seconds)| ResourceShare { resource, seconds })
            .collect();
        let device_seconds = combine::device_seconds(&shares, lone_warp, c);
        for share in &mut shares {
            share.seconds *= c.weight(share.resource);
        }
        shares.sort_by(|a, b| {
            b.seconds
                .total_cmp(&a.seconds)
                .then(a.resource.cmp(&b.resource))
        });
        LaunchPrediction {
            symbol: l.symbol.clone(),
            repeats: l.repeats,
            seconds: device_seconds.max(c.weight(Resource::Launch) * self.launch_s),
            device_seconds,
            limit: shares[0].resource,
            shares,
            registers: work.registers,
            warps: on.resident_warps as u32,
            waves,
        }
    }

    /// Clocks of a warp without others: its blocks one after the other. `load_clocks`: latency of loads from device memory, by
    /// block and access; without it they take no time.
    fn chain_clocks(
        &self,
        k: &KernelLaunch,
        c: &ProgramConstants,
        load_clocks: Option<&[Vec<f64>]>,
    ) -> f64 {
        let (work, l) = (k.work, k.counts);
        let warps = (volume(l.grid) * (volume(l.block) / f64::from(WARP)).ceil()).max(1.0);
        let executions = warp_executions(work, l);
        let mut sum = 0.0;
        for (n, b) in work.blocks.iter().enumerate() {
            let count = l.blocks[b.number];
            if count.threads == 0 {
                continue;
            }
            let mean = executions[n] / warps;
            let longest = mean.max(count.longest as f64);
            let times = (1.0 - c.longest_warp_weight) * mean + c.longest_warp_weight * longest;
            let chain = BlockChain {
                block: b,
                rates: k.rates,
                constants: c,
                load_clocks: load_clocks.map(|l| l[n].as_slice()),
            };
            sum += times * chain.clocks(l, f64::from(self.machine.partitions));
        }
        sum
    }
}

/// Passes of the load-store unit for one access of a warp.
fn load_store_passes(
    r: &Rates,
    a: &CountedAccess,
    pattern: Option<&Pattern>,
    block: [u32; 3],
) -> f64 {
    let n = memory::passes(a, pattern, block);
    if a.direction != AccessDirection::Atomic {
        return n;
    }
    let key = match a.memory {
        MemoryKind::Shared => "atomic_add.shared",
        _ => "atomic_add.global",
    };
    let element = if a.bytes > 4 { "f64" } else { "i32" };
    let c = r.cost(&format!("{key}.{element}"));
    f64::from(WARP) * c.unit_clocks.iter().copied().fold(0.0, f64::max)
}

/// Latency in clocks of an access whose result is used; `global`: of a load from device memory.
fn access_latency(r: &Rates, a: &CountedAccess, global: f64) -> f64 {
    match (a.memory, a.direction) {
        (MemoryKind::Shared, AccessDirection::Atomic) => {
            r.cost("atomic_add.shared.i32").latency_clocks
        }
        (_, AccessDirection::Atomic) => r.cost("atomic_add.global.f64").latency_clocks,
        (MemoryKind::Shared, _) => r.load_latency("shared"),
        (MemoryKind::Local, _) => r.load_latency("l1"),
        // Constant memory that is no operand of an instruction: assumed to be as far as shared memory.
        (MemoryKind::Constant, _) => r.load_latency("shared"),
        (MemoryKind::Global, _) => global,
    }
}

/// The dependence graph of a block, for one warp without others.
struct BlockChain<'k> {
    block: &'k BlockWork,
    rates: &'k Rates<'k>,
    constants: &'k ProgramConstants,
    load_clocks: Option<&'k [f64]>,
}

impl BlockChain<'_> {
    fn latency_clocks(&self, node: usize) -> f64 {
        let b = self.block;
        let n = &b.nodes[node];
        let remaining = match b.predicated {
            true => self.constants.predicated_load_fraction,
            false => 1.0,
        };
        let global = |a: usize| self.load_clocks.map_or(0.0, |g| g[a]);
        let load = n.load.map_or(0.0, |a| {
            access_latency(self.rates, &b.accesses[a], global(a))
        });
        let load = remaining * load;
        n.latency_clocks
            + match n.used_here {
                true => load,
                false => self.constants.exposed_load_fraction * load,
            }
    }

    /// The longest chain of one iteration.
    fn critical_path(&self) -> f64 {
        let nodes = &self.block.nodes;
        let mut ready: Vec<f64> = Vec::with_capacity(nodes.len());
        for (k, n) in nodes.iter().enumerate() {
            let start = n.depends_on.iter().map(|o| ready[*o]).fold(0.0, f64::max);
            ready.push(start + self.latency_clocks(k));
        }
        ready.iter().copied().fold(0.0, f64::max)
    }

    /// The longest chain from a phi to its next value.
    fn recurrence(&self) -> f64 {
        let nodes = &self.block.nodes;
        let chains = self.block.recurrences.iter().map(|(phi, next)| {
            let mut from_phi: Vec<Option<f64>> = vec![None; nodes.len()];
            from_phi[*phi] = Some(0.0);
            for k in phi + 1..=*next {
                let before = nodes[k].depends_on.iter().filter_map(|o| from_phi[*o]);
                let longest =
                    before.fold(None, |m: Option<f64>, x| Some(m.map_or(x, |m| m.max(x))));
                if !nodes[k].is_phi {
                    from_phi[k] = longest.map(|x| x + self.latency_clocks(k));
                }
            }
            from_phi[*next].unwrap_or(0.0)
        });
        chains.fold(0.0, f64::max)
    }

    /// Clocks of one execution of the block.
    fn clocks(&self, l: &LaunchCounts, schedulers: f64) -> f64 {
        let b = self.block;
        let path = self.critical_path();
        // One warp has the units of one scheduler.
        let busiest = b.unit_clocks.iter().copied().fold(0.0, f64::max);
        let all = b.accesses.iter().zip(&b.patterns);
        let passes: f64 = all
            .map(|(a, p)| load_store_passes(self.rates, a, p.as_ref(), l.block))
            .sum();
        let throughput = (busiest * f64::from(WARP) * schedulers).max(passes);
        if !b.is_loop {
            return path.max(throughput);
        }
        let recurrence = self.recurrence();
        let copies = unrolled_copies(b, l);
        let iteration = (path + (copies - 1.0) * recurrence) / copies;
        iteration.max(recurrence).max(throughput)
    }
}
