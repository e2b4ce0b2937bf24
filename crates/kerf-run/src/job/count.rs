//! The counting run: a workload, instrumented, on the CPU executor.
use super::finished::{finished, launched_only};
use super::{Job, JobError};
use crate::run::WorkloadSession;
use kerf_exec::cpu::{CpuExecutor, CpuOptions};
use kerf_exec::{Arg, BufferId, DeviceInfo, ExecError, Executor, KernelStats, Launch};
use kerf_ir::kernels::KernelInfo;
use kerf_llvm::Module;
use kerf_pass::count::{
    self, BlockCount, CountTable, CountTally, Detail, Direction, KernelCounters, LaunchCounts,
    MemoryKind, Pattern, Root, SiteRecord, Together,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a counting run of the original program gave.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ProgramCounts {
    /// Kernels that were launched, in the program's order.
    pub kernels: Vec<KernelCounts>,
    /// Launches with equal shapes, arguments' sizes and block counts, and with accesses alike as far as these were looked at, in
    /// the order of the first.
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
    pub memory: MemoryKind,
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
    counters: &'a CountTable,
    blocks: BufferId,
    sites: BufferId,
    addresses: BufferId,
    warps: BufferId,
    sizes: BTreeMap<usize, u64>,
    tallies: BTreeMap<String, (u64, u64, CountTally)>,
    launches: Vec<LaunchCounts>,
    copies: (u64, u64),
    /// How many launches of a kernel, and with the same numbers as arguments, were looked at.
    looked_at: BTreeMap<String, u32>,
    alike: BTreeMap<(String, Vec<u8>), u32>,
    /// What was seen in kinds of launches, by their place among them, and in how many.
    seen: BTreeMap<usize, (u32, Vec<Pattern>, Together)>,
    /// The kind of the last launch with these numbers.
    kinds: BTreeMap<(String, Vec<u8>), usize>,
}

/// Launches of a kernel whose addresses and warps are looked at, and those of them with the same numbers as arguments.
const LOOKED_AT: u32 = 8;
const ALIKE: u32 = 4;

/// Do accesses of two launches touch about as much?
fn touch_alike(a: &[Pattern], b: &[Pattern]) -> bool {
    let near = |x: f32, y: f32| (x - y).abs() <= 0.25 * x.max(y) + 0.5;
    a.iter().all(|p| {
        let same = b.iter().find(|o| (o.block, o.index) == (p.block, p.index));
        same.is_none_or(|o| {
            near(p.sectors[0], o.sectors[0]) && near(p.passes[1][0], o.passes[1][0])
        })
    })
}

/// Numbers among the arguments of a launch.
fn numbers(l: &Launch) -> Vec<u8> {
    let one = |a: &Arg| match a {
        Arg::Bytes(b) => b.clone(),
        _ => Vec::new(),
    };
    l.args.iter().flat_map(one).collect()
}

impl<'a> Counting<'a> {
    fn new(mut inner: CpuExecutor, counters: &'a CountTable) -> Result<Self, ExecError> {
        let blocks = inner.symbol(count::BLOCKS, counters.block_bytes(), 8)?;
        let sites = inner.symbol(count::SITES, counters.site_bytes(), 8)?;
        let addresses = inner.symbol(count::ADDRESSES, counters.sampled.bytes(), 8)?;
        let warps = inner.symbol(count::WARPS, counters.noted.bytes(), 8)?;
        Ok(Counting {
            inner,
            counters,
            blocks,
            sites,
            addresses,
            warps,
            looked_at: BTreeMap::new(),
            alike: BTreeMap::new(),
            seen: BTreeMap::new(),
            kinds: BTreeMap::new(),
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

    /// Notes a launch, and returns its kind.
    fn note(&mut self, l: &Launch, tally: &CountTally, seen: Option<&[Pattern]>) -> usize {
        let new = LaunchCounts {
            symbol: l.symbol.to_owned(),
            grid: l.grid,
            block: l.block,
            dynamic_shared: l.dynamic_shared,
            buffers: l.args.iter().map(|a| self.size(a)).collect(),
            repeats: 1,
            blocks: tally.blocks(),
            patterns: Vec::new(),
            together: Vec::new(),
            spread: None,
        };
        let shape = |x: &LaunchCounts| {
            (x.symbol == new.symbol && x.grid == new.grid && x.block == new.block)
                && (x.dynamic_shared == new.dynamic_shared && x.buffers == new.buffers)
        };
        let merge = self.launches.len() >= MOST_KINDS;
        let key = (l.symbol.to_owned(), numbers(l));
        let usual = self.kinds.get(&key).copied();
        let known = &self.seen;
        let fits = |k: &usize| {
            let x = &self.launches[*k];
            let touches = match (seen, known.get(k)) {
                (Some(a), Some((_, b, _))) => touch_alike(a, b),
                _ => true,
            };
            shape(x) && (merge || x.blocks == new.blocks && touches)
        };
        let mut all = usual.into_iter().chain((0..self.launches.len()).rev());
        let Some(kind) = all.find(|k| fits(k)) else {
            self.launches.push(new);
            self.kinds.insert(key, self.launches.len() - 1);
            return self.launches.len() - 1;
        };
        self.kinds.insert(key, kind);
        let old = &mut self.launches[kind];
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
        kind
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
        let key = (l.symbol.to_owned(), numbers(l));
        let before = |n: Option<&u32>| n.copied().unwrap_or(0);
        let look = before(self.looked_at.get(l.symbol)) < LOOKED_AT
            && before(self.alike.get(&key)) < ALIKE;
        if look {
            let nothing = vec![0; self.counters.sampled.bytes()];
            self.inner.write(self.addresses, &nothing)?;
            let nothing = vec![0; self.counters.noted.bytes()];
            self.inner.write(self.warps, &nothing)?;
        }
        self.inner.launch(l)?;
        let (blocks, sites) = (self.inner.read(self.blocks)?, self.inner.read(self.sites)?);
        let tally = CountTally::read(self.counters, &blocks, &sites);
        self.inner.write(self.blocks, &vec![0; blocks.len()])?;
        self.inner.write(self.sites, &vec![0; sites.len()])?;
        if let (true, Some(k)) = (look, self.counters.kernel(l.symbol)) {
            *self.looked_at.entry(l.symbol.to_owned()).or_default() += 1;
            *self.alike.entry(key).or_default() += 1;
            let table = self.inner.read(self.addresses)?;
            let new = count::patterns(self.counters, k, &table);
            let kind = self.note(l, &tally, Some(&new));
            let (launches, all, together) = self.seen.entry(kind).or_default();
            count::join_patterns(all, *launches, &new);
            together.join(self.counters, k, &self.inner.read(self.warps)?);
            *launches += 1;
        } else {
            self.note(l, &tally, None);
        }
        let size = |d: [u32; 3]| d.iter().map(|x| u64::from(*x)).product::<u64>();
        let all = self
            .tallies
            .entry(l.symbol.to_owned())
            .or_insert_with(|| (0, 0, CountTally::empty(self.counters)));
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

fn traffic(k: &KernelCounters, info: Option<&KernelInfo>, t: &CountTally) -> Vec<Traffic> {
    let mut by: BTreeMap<(MemoryKind, &Root), Traffic> = BTreeMap::new();
    for a in &k.accesses {
        let name = match &a.root {
            Root::Parameter(p) => info.and_then(|i| i.params.get(*p)).map(|p| p.name.clone()),
            Root::Variable(v) => Some(kerf_llvm::demangle(v)),
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
    session: &WorkloadSession,
    m: &Module,
    detail: Detail,
) -> Result<ProgramCounts, JobError> {
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
    for (kind, (_, patterns, together)) in exec.seen {
        launches[kind].patterns = patterns;
        launches[kind].together = together.threads();
        launches[kind].spread = together.spread();
    }
    Ok(ProgramCounts {
        kernels,
        launches,
        copies: exec.copies.0,
        copied_bytes: exec.copies.1,
    })
}
