//! Small formats on an executor: every argument of a piece by its polynomial, counted there; what that leaves open
//! is decided by MPFR here.
use crate::batch::{GpuError, word};
use kerf_exec::{Arg, BufferId, Executor, Launch};
use kerf_hardround::exhaustive::{
    ArgumentTally, DECIDED, DifferenceWalk, MARGIN, Visitor, evaluate, tally_with,
};
use kerf_hardround::format::BinadeGrid;
use kerf_hardround::leaf::{HardCase, Query};
use kerf_hardround::poly::{DEGREE, Poly};
use kerf_hardround::units::{Units, work};
use kerf_hardround::wide::WORDS;
use kerf_ir::finish::{Reflect, finish};
use kerf_llvm::Module;
use std::ops::ControlFlow;

static BITCODE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/small.bc"));

/// Name of the kernel.
pub const KERNEL: &str = "count_small";
const THREADS: u32 = 256;
/// 64-bit words of a piece on the device.
const PIECE: usize = (DEGREE + 1) * WORDS + 2;
/// Counters on the device.
const COUNTERS: usize = 64;
/// Arguments of the longest piece on the device, so that blocks have about equal work.
const LONGEST: u64 = 1 << 16;

/// Sizes of batches.
#[derive(Debug, Clone, Copy)]
pub struct SmallBatchSizes {
    /// Pieces of a launch.
    pub pieces: usize,
    /// Arguments of a launch that the host decides.
    pub open: usize,
}

impl Default for SmallBatchSizes {
    fn default() -> SmallBatchSizes {
        SmallBatchSizes {
            pieces: 4096,
            open: 1 << 20,
        }
    }
}

/// The finished module, for an executor of architecture `arch`.
pub fn program(arch: &str) -> Result<Module, GpuError> {
    let m = Module::parse(BITCODE, "small")?;
    kerf_ir::prepare::prepare(&m, arch)?;
    finish(&m, &[], arch, Reflect::default())?;
    Ok(m)
}

/// A piece for the device.
#[derive(Debug, Clone)]
struct Piece {
    grid: BinadeGrid,
    poly: Poly,
    alike: bool,
}

/// Keeps smooth pieces.
#[derive(Debug, Default)]
struct Gather(Vec<Piece>);

impl Visitor for Gather {
    fn smooth(
        &mut self,
        _: &Query,
        grid: &BinadeGrid,
        poly: &Poly,
        alike: bool,
        _: &mut ArgumentTally,
        _: &mut Vec<HardCase>,
    ) {
        let mut at = grid.first;
        while at < grid.end {
            let end = grid.end.min(at + LONGEST);
            self.0.push(Piece {
                grid: grid.part(at, end),
                poly: poly.clone(),
                alike,
            });
            at = end;
        }
    }
}

/// The device's side.
struct Counter<'a> {
    exec: &'a mut dyn Executor,
    room: SmallBatchSizes,
    pieces: BufferId,
    by_k: BufferId,
    open: BufferId,
    opens: BufferId,
}

impl<'a> Counter<'a> {
    fn new(exec: &'a mut dyn Executor, room: SmallBatchSizes) -> Result<Counter<'a>, GpuError> {
        Ok(Counter {
            pieces: exec.alloc("pieces", room.pieces * PIECE * 8, 8)?,
            by_k: exec.alloc("counts", COUNTERS * 8, 8)?,
            open: exec.alloc("open", room.open * 8, 8)?,
            opens: exec.alloc("opens", 4, 4)?,
            room,
            exec,
        })
    }

    /// Counts pieces; where more is left open than there is room for, all of them here.
    fn count(
        &mut self,
        q: &Query,
        batch: &[Piece],
        tally: &mut ArgumentTally,
        cases: &mut Vec<HardCase>,
    ) -> Result<(), GpuError> {
        if batch.is_empty() {
            return Ok(());
        }
        let mut bytes = Vec::with_capacity(batch.len() * PIECE * 8);
        for p in batch {
            let c = p.poly.around(p.grid.first);
            // Where all have the query's bits they are counted like others.
            let bits = if p.alike { u64::MAX } else { q.bits.into() };
            let words = c.iter().flat_map(|c| c.0).chain([p.grid.len(), bits]);
            words.for_each(|w| bytes.extend(w.to_le_bytes()));
        }
        self.exec.write(self.pieces, &bytes)?;
        self.exec.write(self.by_k, &[0; COUNTERS * 8])?;
        self.exec.write(self.opens, &[0; 4])?;
        let buffer = |id| Arg::Buffer { id, offset: 0 };
        self.exec.launch(&Launch {
            symbol: KERNEL,
            name: KERNEL,
            grid: [batch.len() as u32, 1, 1],
            block: [THREADS, 1, 1],
            dynamic_shared: 0,
            args: &[
                buffer(self.pieces),
                buffer(self.by_k),
                buffer(self.open),
                buffer(self.opens),
                Arg::Bytes((self.room.open as u32).to_le_bytes().to_vec()),
                Arg::Bytes(MARGIN.to_le_bytes().to_vec()),
                Arg::Bytes(DECIDED.to_le_bytes().to_vec()),
            ],
        })?;
        let many = word(&self.exec.read(self.opens)?, 0) as usize;
        if many > self.room.open {
            for p in batch {
                DifferenceWalk.smooth(q, &p.grid, &p.poly, p.alike, tally, cases);
            }
            return Ok(());
        }
        let by_k = self.exec.read(self.by_k)?;
        for (k, n) in by_k.chunks_exact(8).enumerate() {
            let n = u64::from(word(n, 0)) | u64::from(word(n, 1)) << 32;
            if n > 0 {
                tally.count_many(k as u32, n);
            }
        }
        if many > 0 {
            let open = self.exec.read(self.open)?;
            let mut unlisted = Vec::new();
            for place in open.chunks_exact(8).take(many) {
                let place = u64::from(word(place, 0)) | u64::from(word(place, 1)) << 32;
                let p = &batch[(place >> 40) as usize];
                let m = p.grid.first + (place & ((1 << 40) - 1));
                let list = if p.alike { &mut unlisted } else { &mut *cases };
                evaluate(q, &p.grid, m, tally, list);
            }
        }
        Ok(())
    }
}

/// Counts the arguments of all units on an executor that has [`program`] loaded: the same as
/// [`kerf_hardround::exhaustive::tally`] over all of them.
pub fn count(
    exec: &mut dyn Executor,
    q: &Query,
    units: &Units,
    threads: usize,
    room: SmallBatchSizes,
) -> Result<(ArgumentTally, Vec<HardCase>), GpuError> {
    let mut counter = Counter::new(exec, room)?;
    let mut all = (ArgumentTally::default(), Vec::new());
    let mut waiting: Vec<Piece> = Vec::new();
    let mut failed = None;
    let gather = |g: &BinadeGrid, _: &mut _| {
        let mut pieces = Gather::default();
        let (tally, cases) = tally_with(q, g, &mut pieces);
        (tally, cases, pieces.0)
    };
    work(
        units,
        0..u64::MAX,
        threads,
        |_| true,
        gather,
        |_, _, (tally, cases, pieces)| {
            all.0.add(&tally);
            all.1.extend(cases);
            waiting.extend(pieces);
            while waiting.len() >= room.pieces {
                let rest = waiting.split_off(room.pieces);
                let batch = std::mem::replace(&mut waiting, rest);
                if let Err(e) = counter.count(q, &batch, &mut all.0, &mut all.1) {
                    failed = Some(e);
                    return ControlFlow::Break(());
                }
            }
            ControlFlow::Continue(())
        },
    );
    if let Some(e) = failed {
        return Err(e);
    }
    counter.count(q, &waiting, &mut all.0, &mut all.1)?;
    all.1.sort_by(|a, b| a.x.total_cmp(&b.x));
    Ok(all)
}
