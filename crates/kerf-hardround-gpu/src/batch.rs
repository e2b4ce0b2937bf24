//! Batches of sub-blocks on an executor.
use crate::stage::{POINTS, Staged, WORDS};
use kerf_exec::{Arg, BufferId, ExecError, Executor, Launch};
use kerf_hardround::format::BinadeGrid;
use kerf_hardround::leaf::{FoundCases, Query, decide};
use kerf_hardround::plan::{LEVELS, SPLITS};
use kerf_hardround::search::Scratch;
use kerf_hardround::tables::{LONG_RUNS, RUN};
use kerf_ir::finish::{Reflect, finish};
use kerf_llvm::{LlvmError, Module};

static BITCODE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/search.bc"));

/// Threads of a block.
const BLOCK: u32 = 128;
/// Blocks of the kernels that loop over what they find, for each multiprocessor of a large GPU many.
const BLOCKS: u32 = 2112;
/// Lines that fail at each level, at most, over the intervals of a batch: a hundred times as many as do.
const ROOM: [f64; LEVELS] = [0.1, 0.1, 0.1, 0.05];
/// Rounds in which a basis is shortened: one does nearly as well as any number.
const ROUNDS: u32 = 1;
/// Bits of a place that are the distance within the sub-block.
const DISTANCE: u32 = 40;

/// Why a search on a device failed.
#[derive(Debug, thiserror::Error)]
pub enum GpuError {
    /// The kernels could not be compiled.
    #[error("the kernels of the search could not be compiled: {0}")]
    Compile(#[from] LlvmError),
    /// The compiler ended with a panic.
    #[error("the kernels could not be compiled")]
    CompilerPanicked,
    /// The executor failed.
    #[error("{0}")]
    Exec(#[from] ExecError),
    /// More lines failed than there is room for, in a study that does not go on then.
    #[error("more intervals failed than the study has room for")]
    Full,
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

/// Sizes of batches.
#[derive(Debug, Clone, Copy)]
pub struct BatchSizes {
    /// Sub-blocks of a batch.
    pub sub_blocks: usize,
    /// Room for lines that fail, over what is usual.
    pub lines: f64,
    /// Candidates of a batch.
    pub candidates: usize,
    /// Points of an interval that are close to the integers, at most: longer intervals have more of them.
    pub points: f64,
    /// Rounds in which a basis is shortened from one interval to the next.
    pub rounds: u32,
}

impl BatchSizes {
    /// Enough for all but strange ranges.
    pub fn usual(sub_blocks: usize) -> BatchSizes {
        BatchSizes {
            sub_blocks,
            lines: 1.0,
            candidates: 1 << 16,
            points: POINTS,
            rounds: ROUNDS,
        }
    }
}

/// What belongs to one batch: while the kernels of one work, the other is written or read.
struct Slot {
    subs: BufferId,
    counts: BufferId,
    failed: BufferId,
    found: BufferId,
    /// Sub-blocks that it has.
    count: usize,
}

/// Buffers on a device.
pub struct Batches<'a> {
    exec: &'a mut dyn Executor,
    slots: [Slot; 2],
    lines: [[BufferId; 3]; LEVELS],
    room: [u32; LEVELS],
    candidates: usize,
    rounds: u32,
    /// Sub-blocks of a batch at most.
    pub most: usize,
    /// Bytes to write, kept for the next batch.
    bytes: Vec<u8>,
    zeros: Vec<u8>,
}

/// A 32-bit word of a buffer.
pub(crate) fn word(bytes: &[u8], i: usize) -> u32 {
    let mut w = [0; 4];
    w.copy_from_slice(&bytes[4 * i..4 * i + 4]);
    u32::from_le_bytes(w)
}

impl<'a> Batches<'a> {
    /// Room for so many sub-blocks at a time.
    pub fn new(exec: &'a mut dyn Executor, room: BatchSizes) -> Result<Batches<'a>, GpuError> {
        let most = room.sub_blocks.max(64);
        let intervals = (most * RUN * LONG_RUNS) as f64 * room.lines;
        let rooms = ROOM.map(|r| (intervals * r) as u32 + 64);
        let mut alloc = |name: &str, n: usize, size: usize| exec.alloc(name, n * size, size);
        let mut lines = Vec::new();
        for r in rooms {
            let n = r as usize;
            lines.push([
                alloc("starts", n, 8)?,
                alloc("slopes", n, 8)?,
                alloc("places", n, 8)?,
            ]);
        }
        let lines = [lines[0], lines[1], lines[2], lines[3]];
        let mut slot = || -> Result<Slot, GpuError> {
            Ok(Slot {
                subs: alloc("sub-blocks", most * WORDS, 8)?,
                counts: alloc("counts", LEVELS + 1, 4)?,
                failed: alloc("failed", most * LEVELS, 4)?,
                found: alloc("candidates", room.candidates, 8)?,
                count: 0,
            })
        };
        Ok(Batches {
            slots: [slot()?, slot()?],
            lines,
            room: rooms,
            candidates: room.candidates,
            rounds: room.rounds,
            most,
            bytes: Vec::new(),
            zeros: vec![0; most * LEVELS * 4],
            exec,
        })
    }

    /// Seconds of the first `kernels` kernels on a batch, without the transfers.
    pub fn timed(&mut self, batch: &[Pending], kernels: usize) -> Result<f64, GpuError> {
        self.send(0, batch)?;
        self.exec.start_clock()?;
        self.launch(0, kernels)?;
        Ok(self.exec.stop_clock()?)
    }

    /// Writes a batch's sub-blocks into a slot, while the device works on the other.
    pub fn send(&mut self, slot: usize, batch: &[Pending]) -> Result<(), GpuError> {
        self.bytes.clear();
        for b in batch {
            self.bytes.extend_from_slice(&b.2.bytes);
        }
        let s = &mut self.slots[slot];
        s.count = self.bytes.len() / (8 * WORDS);
        if s.count == 0 {
            return Ok(());
        }
        let failed = s.count * LEVELS * 4;
        self.exec.write_beside(s.subs, &self.bytes)?;
        self.exec.write_beside(s.counts, &[0; 4 * (LEVELS + 1)])?;
        Ok(self.exec.write_beside(s.failed, &self.zeros[..failed])?)
    }

    /// Lets the device work on a slot, after what it does already.
    pub fn start(&mut self, slot: usize) -> Result<(), GpuError> {
        self.launch(slot, KERNELS.len())?;
        Ok(self.exec.mark(slot)?)
    }

    fn launch(&mut self, slot: usize, kernels: usize) -> Result<(), GpuError> {
        let s = &self.slots[slot];
        let count = s.count as u32;
        if count == 0 {
            return Ok(());
        }
        let buffer = |id| Arg::Buffer { id, offset: 0 };
        let number = |n: u32| Arg::Bytes(n.to_le_bytes().to_vec());
        let lines = |l: [BufferId; 3]| l.map(buffer).to_vec();
        let (room, all) = (self.room, self.lines);
        let tail = |l: usize| {
            [
                buffer(s.counts),
                buffer(s.failed),
                number(room[l - 1]),
                number(room[l]),
            ]
        };
        let subs = || vec![buffer(s.subs)];
        let first = [
            subs(),
            lines(all[0]),
            vec![
                buffer(s.found),
                buffer(s.counts),
                buffer(s.failed),
                number(room[0]),
                number(self.candidates as u32),
                number(self.rounds),
            ],
        ]
        .concat();
        let later =
            |l: usize| [subs(), lines(all[l - 1]), lines(all[l]), tail(l).to_vec()].concat();
        let last = LEVELS - 1;
        let walk = [
            subs(),
            lines(all[last]),
            vec![
                buffer(s.found),
                buffer(s.counts),
                number(room[last]),
                number(self.candidates as u32),
            ],
        ]
        .concat();
        // No more blocks than there can be lines for: small batches run on a CPU, too.
        let blocks = |most: u32| BLOCKS.min(most.div_ceil(BLOCK)).max(1);
        let all = [
            (count * (LONG_RUNS as u32 / BLOCK), first),
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

    /// Waits for a slot and reads its results; none if there was not room for them.
    fn wait(&mut self, slot: usize) -> Result<Option<Raw>, GpuError> {
        let s = &self.slots[slot];
        if s.count == 0 {
            return Ok(Some(Raw::default()));
        }
        let counts = self.exec.read_after(slot, s.counts, 4 * (LEVELS + 1))?;
        let many = word(&counts, LEVELS) as usize;
        let full = |l: usize| word(&counts, l) > self.room[l];
        if (0..LEVELS).any(full) || many > self.candidates {
            return Ok(None);
        }
        let found = match many {
            0 => Vec::new(),
            _ => self.exec.read_after(slot, s.found, many * 8)?,
        };
        let places = found.chunks_exact(8).map(|place| {
            let mut w = [0; 8];
            w.copy_from_slice(place);
            u64::from_le_bytes(w)
        });
        Ok(Some(Raw {
            places: places.collect(),
            failed: self.exec.read_after(slot, s.failed, s.count * LEVELS * 4)?,
        }))
    }

    /// Waits for the batch of a slot and completes its units. Where there was not room for what it gave, it is
    /// done again in halves, and a single unit on the processor: nothing is lost.
    pub fn finish(
        &mut self,
        q: &Query,
        slot: usize,
        mut batch: Vec<Pending>,
    ) -> Result<Vec<Done>, GpuError> {
        if let Some(raw) = self.wait(slot)? {
            return Ok(raw.complete(q, batch));
        }
        if batch.len() <= 1 {
            return Ok(batch.iter().map(|b| here(q, b.0, b.1)).collect());
        }
        let rest = batch.split_off(batch.len() / 2);
        let mut all = Vec::new();
        for half in [batch, rest] {
            self.send(slot, &half)?;
            self.start(slot)?;
            all.extend(self.finish(q, slot, half)?);
        }
        Ok(all)
    }
}

/// A unit searched on the processor.
pub fn here(q: &Query, number: u64, grid: BinadeGrid) -> Done {
    let found = kerf_hardround::leaf::search(q, &grid, &mut Scratch::default());
    (number, grid, found)
}

/// A unit that is done, with its number and place.
pub type Done = (u64, BinadeGrid, FoundCases);

/// A unit with its number and place.
pub type Pending = (u64, BinadeGrid, Staged);

/// What the device gave for a batch.
#[derive(Debug, Default)]
struct Raw {
    /// Failures of each sub-block, by level.
    failed: Vec<u8>,
    /// Candidates.
    places: Vec<u64>,
}

impl Raw {
    /// Completes the units of the batch.
    fn complete(&self, q: &Query, mut batch: Vec<Pending>) -> Vec<Done> {
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
