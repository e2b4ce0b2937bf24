//! Batches of sub-blocks on an executor.
use crate::stage::{Staged, WORDS};
use kerf_exec::{Arg, BufferId, ExecError, Executor, Launch};
use kerf_hardround::format::Grid;
use kerf_hardround::leaf::{Found, Query, decide};
use kerf_hardround::plan::{LEVELS, SPLITS};
use kerf_hardround::tables::{RUN, RUNS};
use kerf_ir::finish::{Reflect, finish};
use kerf_ir::llvm::{LlvmError, Module};

static BITCODE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/search.bc"));

/// Threads of a block.
const BLOCK: u32 = 128;
/// Blocks of the kernels that loop over what they find, for each multiprocessor of a large GPU many.
const BLOCKS: u32 = 2112;
/// Lines that fail at each level, at most, over the intervals of a batch: about twice as many as
/// thresholds let fail, and more of the rare ones.
const ROOM: [f64; LEVELS] = [0.7, 0.35, 0.05, 0.01];
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
    #[error(
        "{0} lines failed at level {1} of a batch, with room for {2}: the list would be very long"
    )]
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
pub const KERNELS: [&str; 5] = [
    "first_level",
    "second_level",
    "third_level",
    "fourth_level",
    "walk",
];

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
            lines.push([
                alloc("starts", n, 8)?,
                alloc("slopes", n, 8)?,
                alloc("places", n, 8)?,
            ]);
        }
        let lines = [lines[0], lines[1], lines[2], lines[3]];
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

    /// Seconds of the first `kernels` kernels on a batch, without the transfers.
    pub fn timed(&mut self, batch: &[Pending], kernels: usize) -> Result<f64, GpuError> {
        self.pack(batch);
        self.send()?;
        self.exec.start_clock()?;
        self.launch(kernels)?;
        Ok(self.exec.stop_clock()?)
    }

    /// Puts a batch's sub-blocks in order, while the device works on another.
    pub fn pack(&mut self, batch: &[Pending]) {
        self.bytes.clear();
        for s in batch.iter().flat_map(|b| &b.2.sub_blocks) {
            for w in &s.words {
                self.bytes.extend_from_slice(&w.to_le_bytes());
            }
        }
    }

    fn count(&self) -> usize {
        self.bytes.len() / (8 * WORDS)
    }

    /// Sends off what was packed.
    pub fn start(&mut self) -> Result<(), GpuError> {
        self.send()?;
        self.launch(KERNELS.len())
    }

    fn send(&mut self) -> Result<(), GpuError> {
        if self.count() == 0 {
            return Ok(());
        }
        self.exec.write(self.subs, &self.bytes)?;
        self.exec.write(self.counts, &[0; 4 * (LEVELS + 1)])?;
        let failed = self.count() * LEVELS * 4;
        Ok(self.exec.write(self.failed, &self.zeros[..failed])?)
    }

    fn launch(&mut self, kernels: usize) -> Result<(), GpuError> {
        let count = self.count() as u32;
        if count == 0 {
            return Ok(());
        }
        let buffer = |id| Arg::Buffer { id, offset: 0 };
        let number = |n: u32| Arg::Bytes(n.to_le_bytes().to_vec());
        let lines = |l: [BufferId; 3]| l.map(buffer).to_vec();
        let (room, all) = (self.room, self.lines);
        let tail = |l: usize| {
            [
                buffer(self.counts),
                buffer(self.failed),
                number(room[l - 1]),
                number(room[l]),
            ]
        };
        let subs = || vec![buffer(self.subs)];
        let first = [
            subs(),
            lines(all[0]),
            vec![buffer(self.counts), buffer(self.failed), number(room[0])],
        ]
        .concat();
        let later =
            |l: usize| [subs(), lines(all[l - 1]), lines(all[l]), tail(l).to_vec()].concat();
        let last = LEVELS - 1;
        let walk = [
            subs(),
            lines(all[last]),
            vec![
                buffer(self.found),
                buffer(self.counts),
                number(room[last]),
                number(CANDIDATES as u32),
            ],
        ]
        .concat();
        // No more blocks than there can be lines for: small batches run on a CPU, too.
        let blocks = |most: u32| BLOCKS.min(most.div_ceil(BLOCK)).max(1);
        let all = [
            (count * (RUNS as u32 / BLOCK), first),
            (blocks(count * 8192), later(1)),
            (blocks(count * 4096), later(2)),
            (blocks(count * 1024), later(3)),
            (blocks(count * 256), walk),
        ];
        for ((blocks, args), name) in all.iter().zip(KERNELS).take(kernels) {
            self.exec.launch(&Launch {
                symbol: name,
                name,
                grid: [*blocks, 1, 1],
                block: [BLOCK, 1, 1],
                dynamic_shared: 0,
                args,
            })?;
        }
        Ok(())
    }

    /// Waits for the batch that was sent, of `count` sub-blocks, and reads its results.
    pub fn wait(&mut self, batch: &[Pending]) -> Result<Raw, GpuError> {
        if batch.iter().all(|b| b.2.sub_blocks.is_empty()) {
            return Ok(Raw::default());
        }
        let counts = self.exec.read(self.counts)?;
        for (l, room) in self.room.iter().enumerate() {
            if word(&counts, l) > *room {
                return Err(GpuError::Full(word(&counts, l), l + 1, *room));
            }
        }
        let many = word(&counts, LEVELS) as usize;
        if many > CANDIDATES {
            return Err(GpuError::Full(many as u32, LEVELS + 1, CANDIDATES as u32));
        }
        let mut places = Vec::new();
        if many > 0 {
            let found = self.exec.read(self.found)?;
            for place in found.chunks_exact(8).take(many) {
                let mut w = [0; 8];
                w.copy_from_slice(place);
                places.push(u64::from_le_bytes(w));
            }
        }
        Ok(Raw {
            failed: self.exec.read(self.failed)?,
            places,
        })
    }
}

/// A unit with its number and place.
pub type Pending = (u64, Grid, Staged);

/// What the device gave for a batch.
#[derive(Debug, Default)]
pub struct Raw {
    /// Failures of each sub-block, by level.
    failed: Vec<u8>,
    /// Candidates.
    places: Vec<u64>,
}

impl Raw {
    /// Completes the units of the batch.
    pub fn complete(&self, q: &Query, mut batch: Vec<Pending>) -> Vec<(u64, Grid, Found)> {
        let mut candidates: Vec<Vec<Vec<u64>>> = batch
            .iter()
            .map(|b| vec![Vec::new(); b.2.polys.len()])
            .collect();
        // Where each sub-block came from.
        let mut owners = Vec::new();
        for (unit, b) in batch.iter().enumerate() {
            owners.extend(
                b.2.sub_blocks
                    .iter()
                    .map(|s| (unit, s.start, s.last, s.poly)),
            );
        }
        for place in &self.places {
            let (unit, start, _, poly) = owners[(place >> DISTANCE) as usize];
            candidates[unit][poly].push(start + (place & ((1 << DISTANCE) - 1)));
        }
        for (s, (unit, _, last, _)) in owners.iter().enumerate() {
            let c = &mut batch[*unit].2.found.counts;
            for l in 0..LEVELS {
                let failed = u64::from(word(&self.failed, s * LEVELS + l));
                c.failed[l] += failed;
                match SPLITS.get(l) {
                    Some(parts) => c.tested[l + 1] += failed * parts,
                    None => c.walked += failed * last,
                }
            }
        }
        let complete = |((i, grid, staged), c): (Pending, Vec<Vec<u64>>)| {
            let mut found = staged.found;
            for (poly, c) in staged.polys.iter().zip(c) {
                decide(q, &grid, poly, c, &mut found);
            }
            found.cases.sort_by(|a, b| a.x.abs().total_cmp(&b.x.abs()));
            found.exact.sort_by(|a, b| a.abs().total_cmp(&b.abs()));
            (i, grid, found)
        };
        batch.into_iter().zip(candidates).map(complete).collect()
    }
}
