//! An executor that reads the counters of an instrumented program after each launch.
use kerf_exec::{Arg, BufferId, DeviceInfo, ExecError, Executor, KernelStats, Launch};
use kerf_pass::count::{
    self, BlockCount, CountTable, CountTally, Detail, LaunchCounts, Pattern, Together,
};
use std::collections::BTreeMap;

/// Beyond this many kinds of launches, those of one shape are merged.
const MOST_KINDS: usize = 2048;

/// An executor that reads and clears the counters after each launch.
pub(super) struct CountingExecutor<'a> {
    inner: Box<dyn Executor>,
    counters: &'a CountTable,
    /// Some blocks of each launch stand for all.
    pub(super) sampled: bool,
    blocks: BufferId,
    sites: BufferId,
    addresses: BufferId,
    warps: BufferId,
    sizes: BTreeMap<usize, u64>,
    /// Launches and threads of each kernel, and what was counted of it, by symbol.
    pub(super) tallies: BTreeMap<String, (u64, u64, CountTally)>,
    launches: Vec<LaunchCounts>,
    /// Copies between buffers, and their bytes.
    pub(super) copies: (u64, u64),
    /// How many launches of a kernel, and with the same numbers as arguments, were looked at.
    looked_at: BTreeMap<String, u32>,
    alike: BTreeMap<(String, Vec<u8>), u32>,
    /// What was seen in kinds of launches, by their place among them, and in how many.
    seen: BTreeMap<usize, (u32, Vec<Pattern>, Together)>,
    /// The kind of the last launch with these numbers.
    kinds: BTreeMap<(String, Vec<u8>), usize>,
}

/// Launches of a kernel whose addresses and warps are looked at, also where some blocks stand for all; and those of them with the
/// same numbers as arguments.
const LOOKED_AT: u32 = 8;
const LOOKED_AT_SAMPLED: u32 = 2;
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

impl<'a> CountingExecutor<'a> {
    pub(super) fn new(
        mut inner: Box<dyn Executor>,
        counters: &'a CountTable,
    ) -> Result<Self, ExecError> {
        let blocks = inner.symbol(count::BLOCKS, counters.block_bytes(), 8)?;
        let sites = inner.symbol(count::SITES, counters.site_bytes(), 8)?;
        let addresses = inner.symbol(count::ADDRESSES, counters.sampled.bytes(), 8)?;
        let warps = inner.symbol(count::WARPS, counters.noted.bytes(), 8)?;
        Ok(CountingExecutor {
            inner,
            counters,
            sampled: false,
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

    /// Kinds of launches, with what was seen in them.
    pub(super) fn take_launches(&mut self) -> Vec<LaunchCounts> {
        let mut launches = std::mem::take(&mut self.launches);
        for (kind, (_, patterns, together)) in std::mem::take(&mut self.seen) {
            launches[kind].patterns = patterns;
            launches[kind].together = together.threads();
            launches[kind].spread = together.spread();
        }
        launches
    }

    fn size(&self, a: &Arg) -> u64 {
        let of = |id: &BufferId| self.sizes.get(&id.0).copied().unwrap_or(0);
        match a {
            Arg::Buffer { id, .. } => of(id),
            Arg::Composite { pointers, .. } => pointers.iter().map(|p| of(&p.1)).sum(),
            Arg::Bytes(_) | Arg::Local(_) => 0,
        }
    }

    /// Runs a launch. Gives its blocks and how many of them ran, where those were not all.
    fn run(&mut self, l: &Launch) -> Result<Option<(u64, u64)>, ExecError> {
        let all = l.grid.iter().map(|g| u64::from(*g)).product();
        let some = self.sampled.then(|| self.counters.standing_for(all));
        let Some(some) = some.flatten() else {
            self.inner.launch(l)?;
            return Ok(None);
        };
        let only = self.inner.launch_blocks(l, &some)?;
        Ok(only.then_some((all, some.len() as u64)))
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

impl Executor for CountingExecutor<'_> {
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
    fn write_from_device(&mut self, id: BufferId, address: u64) -> Result<(), ExecError> {
        self.inner.write_from_device(id, address)
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
        let most = match self.sampled {
            true => LOOKED_AT_SAMPLED,
            false => LOOKED_AT,
        };
        let look = self.counters.detail != Detail::Executions
            && before(self.looked_at.get(l.symbol)) < most
            && before(self.alike.get(&key)) < ALIKE;
        if look {
            let nothing = vec![0; self.counters.sampled.bytes()];
            self.inner.write(self.addresses, &nothing)?;
            let nothing = vec![0; self.counters.noted.bytes()];
            self.inner.write(self.warps, &nothing)?;
        }
        let counted = self.run(l)?;
        let (blocks, sites) = (self.inner.read(self.blocks)?, self.inner.read(self.sites)?);
        let mut tally = CountTally::read(self.counters, &blocks, &sites);
        if let Some((all, some)) = counted {
            tally.scale(all, some);
        }
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
