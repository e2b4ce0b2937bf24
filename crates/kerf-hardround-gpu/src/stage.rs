//! What the processor prepares: sub-blocks as the kernels read them.
use kerf_hardround::format::Grid;
use kerf_hardround::leaf::{self, Engine, Found, Query};
use kerf_hardround::plan::{LEVELS, Plan, SPLITS, fraction};
use kerf_hardround::poly::{DEGREE, Poly};
use kerf_hardround::search::{Counts, Scratch};
use kerf_hardround::tables::{RUN, RUNS, STARTS, Tables};

/// 64-bit words of a sub-block on the device.
pub const WORDS: usize = STARTS * (DEGREE + 1) * 2 + 1 + 3 * LEVELS + (LEVELS - 1) * PARTS * 2 + 4;
/// Room for the parts of a line.
const PARTS: usize = 4;

/// A sub-block; the device reads its record, for which `device/search.cu` has the same order.
#[derive(Debug, Clone)]
pub struct SubBlock {
    /// Its first argument.
    pub start: u64,
    /// Arguments of an interval of the last level.
    pub last: u64,
    /// Number of its polynomial among those of the unit.
    pub poly: usize,
}

impl SubBlock {
    /// [`RUNS`] runs from `start` on; the record is added to `bytes`.
    fn new(
        q: &Query,
        poly: &Poly,
        number: usize,
        plan: &Plan,
        start: u64,
        bytes: &mut Vec<u8>,
    ) -> SubBlock {
        let tables = Tables::new(&poly.around(start), plan.bits, RUNS);
        let middle = start + ((RUNS * RUN) as u64 * plan.levels[0].n) / 2;
        let second = poly.second(middle).0;
        let mut words = Vec::with_capacity(WORDS);
        for d in tables.d.iter().flatten() {
            words.extend([*d as u64, (*d >> 64) as u64]);
        }
        words.push(tables.degree as u64);
        words.extend(plan.levels.map(|l| (l.n as f64).to_bits()));
        words.extend(plan.levels.map(|l| l.offset));
        words.extend(plan.levels.map(|l| l.d.to_bits()));
        for (l, parts) in SPLITS.into_iter().enumerate() {
            for part in 0..PARTS as u64 {
                // Those that a level does not have are not read.
                let (start, slope) = plan.refinement(l, part.min(parts - 1), second);
                words.extend([start, slope]);
            }
        }
        let last = plan.levels[LEVELS - 1];
        words.push(fraction(last.d) + 1);
        words.push(fraction((q.eps() + plan.settled).min(0.25)) + 1);
        words.push((second / 2.0).to_bits());
        words.push(plan.levels[0].n);
        words.resize(WORDS, 0);
        bytes.extend(words.iter().flat_map(|w| w.to_le_bytes()));
        SubBlock {
            start,
            last: last.n,
            poly: number,
        }
    }
}

/// A unit of which the sub-blocks are still to be searched.
#[derive(Debug, Clone, Default)]
pub struct Staged {
    /// What is known of it without the device.
    pub found: Found,
    /// What the device has to search.
    pub sub_blocks: Vec<SubBlock>,
    /// Their records, one after the other.
    pub bytes: Vec<u8>,
    /// The polynomials behind the sub-blocks.
    pub polys: Vec<Poly>,
}

/// One thread that prepares units.
#[derive(Debug, Default)]
pub struct Stage {
    scratch: Scratch,
    sub_blocks: Vec<SubBlock>,
    bytes: Vec<u8>,
    polys: Vec<Poly>,
}

impl Stage {
    /// Divides a unit, searches what no sub-block has, and prepares the sub-blocks.
    pub fn unit(&mut self, q: &Query, grid: &Grid) -> Staged {
        let found = leaf::search(q, grid, self);
        Staged {
            found,
            sub_blocks: std::mem::take(&mut self.sub_blocks),
            bytes: std::mem::take(&mut self.bytes),
            polys: std::mem::take(&mut self.polys),
        }
    }
}

impl Engine for Stage {
    fn smooth(
        &mut self,
        q: &Query,
        poly: &Poly,
        (first, end): (u64, u64),
        candidates: &mut Vec<u64>,
        counts: &mut Counts,
    ) -> Option<Plan> {
        let mut plan = Plan::new(poly, q.eps(), end - first);
        let mut at = first;
        if let Some(p) = plan.as_ref().filter(|p| p.runs == RUNS) {
            let length = (RUNS * RUN) as u64 * p.levels[0].n;
            let number = self.polys.len();
            if end - at >= length {
                self.polys.push(poly.clone());
            }
            while end - at >= length {
                let s = SubBlock::new(q, poly, number, p, at, &mut self.bytes);
                self.sub_blocks.push(s);
                counts.tested[0] += (RUNS * RUN) as u64;
                at += length;
            }
        }
        if at < end {
            let rest = self.scratch.smooth(q, poly, (at, end), candidates, counts);
            plan = plan.or(rest);
        }
        plan
    }
}
