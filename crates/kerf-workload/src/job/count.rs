//! The counting run: a workload, instrumented, on the CPU executor.
use super::finished::{finished, launched_only};
use super::{Job, JobError};
use crate::run::Session;
use kerf_exec::cpu::{CpuExecutor, CpuOptions};
use kerf_exec::{Arg, BufferId, DeviceInfo, ExecError, Executor, KernelStats, Launch};
use kerf_ir::kernels::KernelInfo;
use kerf_ir::llvm::Module;
use kerf_pass::count::{
    self, BlockCount, Counters, Detail, Direction, KernelCounters, LaunchCounts, Memory, Pattern,
    Root, SiteRecord, Tally,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a counting run of the original program gave.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Counts {
    /// Kernels that were launched, in the program's order.
    pub kernels: Vec<KernelCounts>,
    /// Launches with equal shapes, arguments' sizes and block counts, in the order of the first.
    pub launches: Vec<LaunchCounts>,
    /// Copies between buffers.
    pub copies: u64,
    /// Bytes copied.
    pub copied_bytes: u64,
}

/// One kernel, over all its launches.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct KernelCounts {
    /// Symbol.
    pub symbol: String,
    /// Name in the source.
    pub name: String,
    /// Launches.
    pub launches: u64,
    /// Threads of all launches.
    pub threads: u64,
    /// Sites.
    pub sites: Vec<SiteCounts>,
    /// Bytes by memory and object.
    pub traffic: Vec<Traffic>,
}

/// One site.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SiteCounts {
    /// Number in its kernel.
    pub id: usize,
    /// Operation.
    pub op: String,
    /// Format.
    pub format: kerf_num::Format,
    /// Group.
    pub group: usize,
    /// Source line, if known.
    pub line: Option<u32>,
    /// What was seen.
    #[serde(flatten)]
    pub seen: SiteRecord,
}

/// Bytes that threads moved between themselves and an object.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Traffic {
    /// What memory.
    pub memory: Memory,
    /// What object.
    pub root: Root,
    /// Name of the parameter or variable, where it has one.
    pub name: Option<String>,
    /// Bytes loaded.
    pub loaded: u64,
    /// Bytes stored.
    pub stored: u64,
    /// Bytes of atomic operations.
    pub atomic: u64,
}

/// Beyond this many kinds of launches, those of one shape are merged.
const MOST_KINDS: usize = 2048;

/// An executor that reads and clears the counters after each launch.
struct Counting<'a> {
    inner: CpuExecutor,
    counters: &'a Counters,
    blocks: BufferId,
    sites: BufferId,
    addresses: BufferId,
    sizes: BTreeMap<usize, u64>,
    tallies: BTreeMap<String, (u64, u64, Tally)>,
    launches: Vec<LaunchCounts>,
    copies: (u64, u64),
    /// What accesses of each kernel touch, and over how many launches.
    patterns: BTreeMap<String, (u32, Vec<Pattern>)>,
}

/// Launches of a kernel whose addresses are looked at.
const LOOKED_AT: u32 = 4;

impl<'a> Counting<'a> {
    fn new(mut inner: CpuExecutor, counters: &'a Counters) -> Result<Self, ExecError> {
        let blocks = inner.symbol(count::BLOCKS, counters.block_bytes(), 8)?;
        let sites = inner.symbol(count::SITES, counters.site_bytes(), 8)?;
        let addresses = inner.symbol(count::ADDRESSES, counters.sampled.bytes(), 8)?;
        Ok(Counting {
            inner,
            counters,
            blocks,
            sites,
            addresses,
            patterns: BTreeMap::new(),
            sizes: BTreeMap::new(),
            tallies: BTreeMap::new(),
            launches: Vec::new(),
            copies: (0, 0),
        })
    }

    fn size(&self, a: &Arg) -> u64 {
        let of = |id: &BufferId| self.sizes.get(&id.0).copied().unwrap_or(0);
        match a {
            Arg::Buffer { id, .. } => of(id),
            Arg::Composite { pointers, .. } => pointers.iter().map(|p| of(&p.1)).sum(),
            Arg::Bytes(_) | Arg::Local(_) => 0,
        }
    }

    fn note(&mut self, l: &Launch, tally: &Tally) {
        let new = LaunchCounts {
            symbol: l.symbol.to_owned(),
            grid: l.grid,
            block: l.block,
            dynamic_shared: l.dynamic_shared,
            buffers: l.args.iter().map(|a| self.size(a)).collect(),
            repeats: 1,
            blocks: tally.blocks(),
            patterns: Vec::new(),
        };
        let shape = |x: &LaunchCounts| {
            (x.symbol == new.symbol && x.grid == new.grid && x.block == new.block)
                && (x.dynamic_shared == new.dynamic_shared && x.buffers == new.buffers)
        };
        let merge = self.launches.len() >= MOST_KINDS;
        let mut alike = self.launches.iter_mut().rev();
        let alike = alike.find(|x| shape(x) && (merge || x.blocks == new.blocks));
        let Some(old) = alike else {
            self.launches.push(new);
            return;
        };
        let n = old.repeats;
        for (a, b) in old.blocks.iter_mut().zip(&new.blocks) {
            let mean = |a: u64, b: u64| (a * n + b).div_ceil(n + 1);
            *a = BlockCount {
                threads: mean(a.threads, b.threads),
                warps: mean(a.warps, b.warps),
                longest: mean(a.longest, b.longest),
            };
        }
        old.repeats += 1;
    }
}

impl Executor for Counting<'_> {
    fn device(&self) -> DeviceInfo {
        self.inner.device()
    }
    fn alloc(&mut self, name: &str, bytes: usize, element: usize) -> Result<BufferId, ExecError> {
        let id = self.inner.alloc(name, bytes, element)?;
        self.sizes.insert(id.0, bytes as u64);
        Ok(id)
    }
    fn symbol(&mut self, name: &str, bytes: usize, element: usize) -> Result<BufferId, ExecError> {
        let id = self.inner.symbol(name, bytes, element)?;
        self.sizes.insert(id.0, bytes as u64);
        Ok(id)
    }
    fn write(&mut self, id: BufferId, data: &[u8]) -> Result<(), ExecError> {
        self.inner.write(id, data)
    }
    fn read(&mut self, id: BufferId) -> Result<Vec<u8>, ExecError> {
        self.inner.read(id)
    }
    fn copy(&mut self, from: BufferId, to: BufferId) -> Result<(), ExecError> {
        let of = |id: BufferId| self.sizes.get(&id.0).copied().unwrap_or(0);
        self.copies.0 += 1;
        self.copies.1 += of(from).min(of(to));
        self.inner.copy(from, to)
    }
    fn launch(&mut self, l: &Launch) -> Result<(), ExecError> {
        let known = self.patterns.get(l.symbol).map_or(0, |p| p.0);
        let look = known < LOOKED_AT;
        if look {
            let nothing = vec![0; self.counters.sampled.bytes()];
            self.inner.write(self.addresses, &nothing)?;
        }
        self.inner.launch(l)?;
        if let (true, Some(k)) = (look, self.counters.kernel(l.symbol)) {
            let table = self.inner.read(self.addresses)?;
            let new = count::patterns(self.counters, k, &table);
            let (launches, all) = self.patterns.entry(l.symbol.to_owned()).or_default();
            count::join_patterns(all, *launches, &new);
            *launches += 1;
        }
        let (blocks, sites) = (self.inner.read(self.blocks)?, self.inner.read(self.sites)?);
        let tally = Tally::read(self.counters, &blocks, &sites);
        self.inner.write(self.blocks, &vec![0; blocks.len()])?;
        self.inner.write(self.sites, &vec![0; sites.len()])?;
        self.note(l, &tally);
        let size = |d: [u32; 3]| d.iter().map(|x| u64::from(*x)).product::<u64>();
        let all = self
            .tallies
            .entry(l.symbol.to_owned())
            .or_insert_with(|| (0, 0, Tally::empty(self.counters)));
        all.0 += 1;
        all.1 += size(l.grid) * size(l.block);
        all.2.join(&tally);
        Ok(())
    }
    fn start_clock(&mut self) -> Result<(), ExecError> {
        self.inner.start_clock()
    }
    fn stop_clock(&mut self) -> Result<f64, ExecError> {
        self.inner.stop_clock()
    }
    fn printed(&mut self) -> Vec<u8> {
        self.inner.printed()
    }
    fn kernel_stats(&self) -> Vec<KernelStats> {
        self.inner.kernel_stats()
    }
}

fn traffic(k: &KernelCounters, info: Option<&KernelInfo>, t: &Tally) -> Vec<Traffic> {
    let mut by: BTreeMap<(Memory, &Root), Traffic> = BTreeMap::new();
    for a in &k.accesses {
        let name = match &a.root {
            Root::Parameter(p) => info.and_then(|i| i.params.get(*p)).map(|p| p.name.clone()),
            Root::Variable(v) => Some(kerf_ir::llvm::demangle(v)),
            Root::Array | Root::Unknown => None,
        };
        let to = by.entry((a.memory, &a.root)).or_insert_with(|| Traffic {
            memory: a.memory,
            root: a.root.clone(),
            name,
            loaded: 0,
            stored: 0,
            atomic: 0,
        });
        let bytes = a.bytes * t.block(a.block).threads;
        match a.direction {
            Direction::Load => to.loaded += bytes,
            Direction::Store => to.stored += bytes,
            Direction::Atomic => to.atomic += bytes,
        }
    }
    by.into_values().collect()
}

/// Runs a session's workload once, instrumented. `m` is its prepared module, which is changed.
pub(super) fn counted(
    job: &Job,
    session: &Session,
    m: &Module,
    detail: Detail,
) -> Result<Counts, JobError> {
    // Blocks are numbered over the whole program, which is what predictions look at.
    let counters = count::instrument(m, detail).map_err(|e| JobError::Compile {
        message: format!("the counters could not be put in: {e}"),
        help: None,
    })?;
    launched_only(m, session, &session.check()?);
    finished(m, job)?;
    let options = CpuOptions {
        threads: job.threads,
        ..CpuOptions::default()
    };
    let mut exec = Counting::new(CpuExecutor::new(m, options)?, &counters)?;
    let mut l = session.load(&mut exec)?;
    session.run(&mut exec, &mut l)?;
    let mut kernels = Vec::new();
    for k in &counters.kernels {
        let Some((launches, threads, tally)) = exec.tallies.get(&k.symbol) else {
            continue;
        };
        let sites = k.sites.iter().zip(tally.sites(&counters, k));
        let info = session.kernels.iter().find(|i| i.symbol == k.symbol);
        kernels.push(KernelCounts {
            symbol: k.symbol.clone(),
            name: k.name.clone(),
            launches: *launches,
            threads: *threads,
            sites: sites
                .map(|(s, seen)| SiteCounts {
                    id: s.id,
                    op: s.op.clone(),
                    format: s.format,
                    group: s.group,
                    line: s.location.as_ref().map(|l| l.line),
                    seen,
                })
                .collect(),
            traffic: traffic(k, info, tally),
        });
    }
    let mut launches = exec.launches;
    for (symbol, (_, patterns)) in exec.patterns {
        if let Some(first) = launches.iter_mut().find(|l| l.symbol == symbol) {
            first.patterns = patterns;
        }
    }
    Ok(Counts {
        kernels,
        launches,
        copies: exec.copies.0,
        copied_bytes: exec.copies.1,
    })
}
