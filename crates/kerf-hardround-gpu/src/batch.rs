//! Batches of sub-blocks on an executor.
use crate::stage::{Staged, WORDS};
use kerf_exec::{Arg, BufferId, ExecError, Executor, Launch};
use kerf_hardround::format::Grid;
use kerf_hardround::leaf::{Found, Query, evaluate};
use kerf_hardround::plan::{LEVELS, SPLITS};
use kerf_hardround::tables::{RUN, RUNS};
use kerf_ir::finish::{Reflect, finish};
use kerf_ir::llvm::{LlvmError, Module};

static BITCODE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/search.bc"));

/// Threads of a block.
const BLOCK: u32 = 128;
/// Blocks of the kernels that loop over what they find, for each multiprocessor of a large GPU many.
const BLOCKS: u32 = 2112;
/// Lines that fail at each level, at most, over the intervals of a batch: about four times as many as
/// thresholds let fail.
const ROOM: [f64; LEVELS] = [0.6, 0.1, 0.01];
/// Candidates of a batch, at most.
const CANDIDATES: usize = 1 << 16;
/// Bits of a place that are the distance within the sub-block.
const DISTANCE: u32 = 40;

/// Why a search on a device failed.
#[derive(Debug, thiserror::Error)]
pub enum GpuError {
    /// The kernels could not be compiled.
    #[error("the kernels of the search could not be compiled: {0}")]
    Compile(#[from] LlvmError),
    /// The executor failed.
    #[error("{0}")]
    Exec(#[from] ExecError),
    /// More lines failed than there is room for.
    #[error("{0} lines failed at level {1} of a batch, with room for {2}: the list would be very long")]
    Full(u32, usize, u32),
}

/// The finished module, for an executor of architecture `arch`.
pub fn program(arch: &str) -> Result<Module, GpuError> {
    let m = Module::parse(BITCODE, "hardround")?;
    kerf_ir::prepare::prepare(&m, arch)?;
    finish(&m, &[], arch, Reflect::default())?;
    Ok(m)
}

/// Names of the kernels.
pub const KERNELS: [&str; 4] = ["first_level", "second_level", "third_level", "walk"];

/// Buffers on a device.
pub struct Batches<'a> {
    exec: &'a mut dyn Executor,
    subs: BufferId,
    lines: [[BufferId; 3]; LEVELS],
    room: [u32; LEVELS],
    counts: BufferId,
    failed: BufferId,
    found: BufferId,
    /// Bytes to write, kept for the next batch.
    bytes: Vec<u8>,
    zeros: Vec<u8>,
}

fn word(bytes: &[u8], i: usize) -> u32 {
    let mut w = [0; 4];
    w.copy_from_slice(&bytes[4 * i..4 * i + 4]);
    u32::from_le_bytes(w)
}

impl<'a> Batches<'a> {
    /// Room for about `sub_blocks` at a time. A unit may have more: it is then too large.
    pub fn new(exec: &'a mut dyn Executor, sub_blocks: usize) -> Result<Batches<'a>, GpuError> {
        // The last unit of a batch may go beyond.
        let most = sub_blocks.max(64);
        let intervals = (most * RUN * RUNS) as f64;
        let room = ROOM.map(|r| (intervals * r) as u32 + 1024);
        let mut alloc = |name: &str, n: usize, size: usize| exec.alloc(name, n * size, size);
        let mut lines = Vec::new();
        for r in room {
            let n = r as usize;
            lines.push([alloc("starts", n, 8)?, alloc("slopes", n, 8)?, alloc("places", n, 8)?]);
        }
        let lines = [lines[0], lines[1], lines[2]];
        Ok(Batches {
            subs: alloc("sub-blocks", most * WORDS, 8)?,
            lines,
            room,
            counts: alloc("counts", LEVELS + 1, 4)?,
            failed: alloc("failed", most * LEVELS, 4)?,
            found: alloc("candidates", CANDIDATES, 8)?,
            bytes: Vec::new(),
            zeros: vec![0; most * LEVELS * 4],
            exec,
        })
    }

    fn start(&mut self, symbol: &str, blocks: u32, args: &[Arg]) -> Result<(), GpuError> {
        self.exec.launch(&Launch {
            symbol,
            name: symbol,
            grid: [blocks, 1, 1],
            block: [BLOCK, 1, 1],
            dynamic_shared: 0,
            args,
        })?;
        Ok(())
    }

    /// Seconds of the first `kernels` kernels on a batch, without the transfers.
    pub fn timed(&mut self, batch: &[(u64, Grid, Staged)], kernels: usize) -> Result<f64, GpuError> {
        self.send(batch, 0)?;
        self.exec.start_clock()?;
        self.send(&[], kernels)?;
        Ok(self.exec.stop_clock()?)
    }

    /// Sends a batch off.
    pub fn launch(&mut self, batch: &[(u64, Grid, Staged)]) -> Result<(), GpuError> {
        self.send(batch, KERNELS.len())
    }

    /// Writes a batch, unless it is empty, and starts the first kernels on what was written last.
    fn send(&mut self, batch: &[(u64, Grid, Staged)], kernels: usize) -> Result<(), GpuError> {
        if !batch.is_empty() {
            self.bytes.clear();
            for s in batch.iter().flat_map(|b| &b.2.sub_blocks) {
                for w in &s.words {
                    self.bytes.extend_from_slice(&w.to_le_bytes());
                }
            }
            if self.bytes.is_empty() {
                return Ok(());
            }
            self.exec.write(self.subs, &self.bytes)?;
            self.exec.write(self.counts, &[0; 4 * (LEVELS + 1)])?;
            let count = self.bytes.len() / (8 * WORDS);
            self.exec.write(self.failed, &self.zeros[..count * LEVELS * 4])?;
        }
        let count = (self.bytes.len() / (8 * WORDS)) as u32;
        let buffer = |id| Arg::Buffer { id, offset: 0 };
        let number = |n: u32| Arg::Bytes(n.to_le_bytes().to_vec());
        let lines = |l: [BufferId; 3]| l.map(buffer).to_vec();
        let (room, all) = (self.room, self.lines);
        let tail = |l: usize| [buffer(self.counts), buffer(self.failed), number(room[l - 1]), number(room[l])];
        let subs = || vec![buffer(self.subs)];
        let first = [
            subs(),
            lines(all[0]),
            vec![buffer(self.counts), buffer(self.failed), number(room[0])],
        ]
        .concat();
        let second = [subs(), lines(all[0]), lines(all[1]), tail(1).to_vec()].concat();
        let third = [subs(), lines(all[1]), lines(all[2]), tail(2).to_vec()].concat();
        let walk = [
            subs(),
            lines(all[2]),
            vec![buffer(self.found), buffer(self.counts), number(room[2]), number(CANDIDATES as u32)],
        ]
        .concat();
        // No more blocks than there can be lines for: small batches run on a CPU, too.
        let blocks = |most: u32| BLOCKS.min(most.div_ceil(BLOCK)).max(1);
        let all = [
            (count * (RUNS as u32 / BLOCK), first),
            (blocks(count * 16384), second),
            (blocks(count * 2048), third),
            (blocks(count * 256), walk),
        ];
        for ((blocks, args), name) in all.iter().zip(KERNELS).take(kernels) {
            self.start(name, *blocks, args)?;
        }
        Ok(())
    }

    /// Waits for the batch that was sent, and completes its units.
    pub fn collect(
        &mut self,
        q: &Query,
        batch: Vec<(u64, Grid, Staged)>,
    ) -> Result<Vec<(u64, Grid, Found)>, GpuError> {
        // Where each sub-block came from.
        let mut owners = Vec::new();
        for (unit, b) in batch.iter().enumerate() {
            owners.extend(b.2.sub_blocks.iter().map(|s| (unit, s.start, s.last)));
        }
        let mut candidates: Vec<Vec<u64>> = vec![Vec::new(); batch.len()];
        let mut batch = batch;
        if !owners.is_empty() {
            let counts = self.exec.read(self.counts)?;
            for (l, room) in self.room.iter().enumerate() {
                if word(&counts, l) > *room {
                    return Err(GpuError::Full(word(&counts, l), l + 1, *room));
                }
            }
            let many = word(&counts, LEVELS);
            if many as usize > CANDIDATES {
                return Err(GpuError::Full(many, LEVELS + 1, CANDIDATES as u32));
            }
            if many > 0 {
                let found = self.exec.read(self.found)?;
                for place in found.chunks_exact(8).take(many as usize) {
                    let mut w = [0; 8];
                    w.copy_from_slice(place);
                    let place = u64::from_le_bytes(w);
                    let (unit, start, _) = owners[(place >> DISTANCE) as usize];
                    candidates[unit].push(start + (place & ((1 << DISTANCE) - 1)));
                }
            }
            let failed = self.exec.read(self.failed)?;
            for (s, (unit, _, last)) in owners.iter().enumerate() {
                let c = &mut batch[*unit].2.found.counts;
                let f: [u64; LEVELS] = std::array::from_fn(|l| u64::from(word(&failed, s * LEVELS + l)));
                for l in 0..LEVELS {
                    c.failed[l] += f[l];
                    if l > 0 {
                        c.tested[l] += f[l - 1] * SPLITS[l - 1];
                    }
                }
                c.walked += f[LEVELS - 1] * last;
            }
        }
        let complete = |((i, grid, staged), mut c): ((u64, Grid, Staged), Vec<u64>)| {
            let mut found = staged.found;
            c.sort_unstable();
            c.dedup();
            for m in c {
                evaluate(q, &grid, m, &mut found);
            }
            found.cases.sort_by(|a, b| a.x.abs().total_cmp(&b.x.abs()));
            found.exact.sort_by(|a, b| a.abs().total_cmp(&b.abs()));
            (i, grid, found)
        };
        Ok(batch.into_iter().zip(candidates).map(complete).collect())
    }
}
