//! What the processor prepares: sub-blocks as the kernels read them.
use kerf_hardround::format::BinadeGrid;
use kerf_hardround::leaf::{self, FoundCases, PieceSearch, Query};
use kerf_hardround::plan::{BlockPlan, LEVELS, SPLITS, fraction};
use kerf_hardround::poly::{DEGREE, Poly};
use kerf_hardround::search::{PhaseCounts, Scratch};
use kerf_hardround::tables::{LONG_RUNS, RUN, STARTS, Tables};

/// 64-bit words of a sub-block on the device.
pub const WORDS: usize = STARTS * (DEGREE + 1) * 2 + 1 + 3 * LEVELS + (LEVELS - 1) * PARTS * 2 + 6;
/// Room for the parts of a line.
const PARTS: usize = 4;
/// Points of an interval that are close to the integers, at most, for intervals to be that long.
pub const POINTS: f64 = 0.5;
/// Bits by which intervals may be shorter than a piece's longest before a sub-block is not worth describing.
const SHORTER: u32 = 8;

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
    /// [`LONG_RUNS`] runs from `start` on; the record is added to `bytes`.
    fn new(
        q: &Query,
        poly: &Poly,
        number: usize,
        plan: &BlockPlan,
        start: u64,
        bytes: &mut Vec<u8>,
    ) -> SubBlock {
        let tables = Tables::new(&poly.around(start), plan.bits, LONG_RUNS);
        let middle = start + ((LONG_RUNS * RUN) as u64 * plan.levels[0].n) / 2;
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
        words.extend([plan.levels[0], last].map(|l| fraction(l.d) + 1));
        words.extend(plan.settled.map(|s| fraction((q.eps() + s).min(0.25)) + 1));
        words.push((second / 2.0).to_bits());
        words.push(u64::from(plan.bits));
        debug_assert_eq!(words.len(), WORDS);
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
    pub found: FoundCases,
    /// What the device has to search.
    pub sub_blocks: Vec<SubBlock>,
    /// Their records, one after the other.
    pub bytes: Vec<u8>,
    /// The polynomials behind the sub-blocks.
    pub polys: Vec<Poly>,
}

/// One thread that prepares units.
#[derive(Debug)]
pub struct Stage {
    /// Points of an interval that are close to the integers, at most.
    points: f64,
    scratch: Scratch,
    sub_blocks: Vec<SubBlock>,
    bytes: Vec<u8>,
    polys: Vec<Poly>,
}

impl Stage {
    /// With intervals that have so many points close to the integers, at most ([`POINTS`] is usual).
    pub fn new(points: f64) -> Stage {
        Stage {
            points,
            scratch: Scratch::default(),
            sub_blocks: Vec::new(),
            bytes: Vec::new(),
            polys: Vec::new(),
        }
    }

    /// Divides a unit, searches what no sub-block has, and prepares the sub-blocks.
    pub fn unit(&mut self, q: &Query, grid: &BinadeGrid) -> Staged {
        let found = leaf::search(q, grid, self);
        Staged {
            found,
            sub_blocks: std::mem::take(&mut self.sub_blocks),
            bytes: std::mem::take(&mut self.bytes),
            polys: std::mem::take(&mut self.polys),
        }
    }
}

impl PieceSearch for Stage {
    fn smooth(
        &mut self,
        q: &Query,
        poly: &Poly,
        (first, end): (u64, u64),
        candidates: &mut Vec<u64>,
        counts: &mut PhaseCounts,
    ) -> Option<BlockPlan> {
        let mut main: Option<BlockPlan> = None;
        let mut at = first;
        while let Some(p) = BlockPlan::by_points(poly, q.eps(), end - at, self.points) {
            // What is left at the end is searched here, if that takes no longer than describing it.
            if main.as_ref().is_some_and(|m| p.bits + SHORTER < m.bits) {
                break;
            }
            let length = ((LONG_RUNS * RUN) as u64) << p.bits;
            if main.is_none() {
                self.polys.push(poly.clone());
            }
            while end - at >= length {
                let number = self.polys.len() - 1;
                let s = SubBlock::new(q, poly, number, &p, at, &mut self.bytes);
                self.sub_blocks.push(s);
                counts.tested[0] += (LONG_RUNS * RUN) as u64;
                at += length;
            }
            main.get_or_insert(p);
        }
        if at < end {
            let rest = self.scratch.smooth(q, poly, (at, end), candidates, counts);
            main = main.or(rest);
        }
        main
    }
}
