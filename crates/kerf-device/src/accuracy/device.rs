//! Running a measuring kernel over strata, in launches of many blocks.
use super::bounds::Documented;
use super::records::{BOUNDS, Doubt, Segment, SegmentRecord, THREADS};
use super::strata::Stratum;
use super::tally::{AccuracyTally, ArgumentCase, ErrorPlace};
use kerf_exec::{Arg, BufferId, ExecError, Executor, Launch};

/// Room for doubtful arguments of one launch.
const DOUBTS: usize = 1 << 17;

/// A loaded kernel with its buffers.
pub struct KernelRunner<'a> {
    exec: &'a mut dyn Executor,
    kernel: String,
    blocks: usize,
    arity: usize,
    segments: BufferId,
    records: BufferId,
    bounds: BufferId,
    list: BufferId,
    filled: BufferId,
}

impl<'a> KernelRunner<'a> {
    /// Buffers for launches of up to `blocks` segments.
    pub fn new(
        exec: &'a mut dyn Executor,
        kernel: &str,
        arity: usize,
        blocks: usize,
        documented: &[Documented],
    ) -> Result<KernelRunner<'a>, ExecError> {
        let segments = exec.alloc("segments", blocks * Segment::BYTES, Segment::BYTES)?;
        let records = exec.alloc(
            "records",
            blocks * SegmentRecord::BYTES,
            SegmentRecord::BYTES,
        )?;
        let bounds = exec.alloc("bounds", BOUNDS * 16, 16)?;
        let list = exec.alloc("list", DOUBTS * Doubt::BYTES, Doubt::BYTES)?;
        let filled = exec.alloc("filled", 4, 4)?;
        let mut bytes = Vec::new();
        for b in documented {
            bytes.extend(b.limit.to_le_bytes());
            bytes.extend((b.measure as u32).to_le_bytes());
            bytes.extend([0; 4]);
        }
        exec.write(bounds, &bytes)?;
        Ok(KernelRunner {
            exec,
            kernel: kernel.into(),
            blocks,
            arity,
            segments,
            records,
            bounds,
            list,
            filled,
        })
    }

    fn launch(&mut self, segments: &[Segment], list_all: bool) -> Result<Vec<Doubt>, ExecError> {
        let mut bytes = Vec::with_capacity(segments.len() * Segment::BYTES);
        for s in segments {
            s.write(&mut bytes);
        }
        self.exec.write(self.segments, &bytes)?;
        self.exec.write(self.filled, &[0; 4])?;
        let buffer = |id| Arg::Buffer { id, offset: 0 };
        let word = |v: u32| Arg::Bytes(v.to_le_bytes().to_vec());
        self.exec.launch(&Launch {
            symbol: &self.kernel,
            name: &self.kernel,
            grid: [segments.len() as u32, 1, 1],
            block: [THREADS, 1, 1],
            dynamic_shared: 0,
            args: &[
                buffer(self.segments),
                buffer(self.records),
                buffer(self.bounds),
                buffer(self.list),
                buffer(self.filled),
                word(DOUBTS as u32),
                word(u32::from(list_all)),
            ],
        })?;
        let filled = self.exec.read(self.filled)?;
        let filled = filled.iter().rev().fold(0, |n, b| n << 8 | usize::from(*b));
        if filled == 0 {
            return Ok(Vec::new());
        }
        let list = self.exec.read(self.list)?;
        let mut doubts: Vec<Doubt> = list
            .chunks_exact(Doubt::BYTES)
            .take(filled)
            .map(Doubt::read)
            .collect();
        // Blocks arrive in any order.
        doubts.sort();
        Ok(doubts)
    }

    /// Adds the statistics of all strata to a tally; gives what the host has to settle, with the
    /// position of its stratum.
    pub fn run(
        &mut self,
        strata: &[Stratum],
        tally: &mut AccuracyTally,
        progress: &mut dyn FnMut(f64),
    ) -> Result<Vec<(usize, u64, ArgumentCase)>, ExecError> {
        let mut doubts = Vec::new();
        for (n, part) in strata.chunks(self.blocks).enumerate() {
            let first = n * self.blocks;
            progress(first as f64 / strata.len() as f64);
            let segments: Vec<Segment> = part.iter().map(|s| s.segment).collect();
            let found = self.launch(&segments, false)?;
            let records = self.exec.read(self.records)?;
            for (s, bytes) in part.iter().zip(records.chunks_exact(SegmentRecord::BYTES)) {
                tally.add(s, &SegmentRecord::read(bytes));
            }
            for d in found {
                doubts.push((first + d.segment as usize, d.index, self.case(&d)));
            }
        }
        Ok(doubts)
    }

    fn case(&self, d: &Doubt) -> ArgumentCase {
        ArgumentCase {
            arguments: d.arguments[..self.arity]
                .iter()
                .map(|a| u64::from(*a))
                .collect(),
            got: vec![d.got],
        }
    }

    /// Arguments and results of a segment, each with its number.
    pub fn cases(&mut self, segment: Segment) -> Result<Vec<(u64, ArgumentCase)>, ExecError> {
        let found = self.launch(&[segment], true)?;
        Ok(found.iter().map(|d| (d.index, self.case(d))).collect())
    }

    /// Arguments and result at a place.
    pub fn look(&mut self, place: &ErrorPlace) -> Result<Option<ArgumentCase>, ExecError> {
        match place {
            ErrorPlace::Host(_, case) => Ok(Some(case.clone())),
            ErrorPlace::Device(segment, index) => {
                let one = Segment {
                    start: *index,
                    count: 1,
                    ..*segment
                };
                Ok(self.cases(one)?.pop().map(|c| c.1))
            }
        }
    }
}
