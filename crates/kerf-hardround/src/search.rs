//! Searching one polynomial block: the test on long intervals, on parts of those that fail, and a walk over
//! what still fails. Gives candidates; MPFR decides.
pub use crate::isa::Isa;
use crate::lanes::{Avx2, Avx512, Lanes, ScalarLane};
use crate::lsg::{GROUPS, failures};
use crate::plan::{BlockPlan, LEAST_RUNS, LEVELS, SPLITS};
use crate::poly::{DEGREE, Poly, shift};
use crate::tables::{RUN, STARTS, Tables};
use crate::{hits, runs};
use serde::{Deserialize, Serialize};

/// Arguments of a line that failed to the end are visited one by one up to this many: then finding them is faster.
const VISITED: u64 = 1 << 13;

/// How many intervals each phase saw.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseCounts {
    /// Intervals tested, by level.
    pub tested: [u64; LEVELS],
    /// Intervals that failed, by level; those of the last level are walked.
    pub failed: [u64; LEVELS],
    /// Arguments visited one by one with a polynomial.
    pub walked: u64,
    /// Arguments evaluated with MPFR.
    pub evaluated: u64,
}

impl PhaseCounts {
    /// Adds another's.
    pub fn add(&mut self, o: &PhaseCounts) {
        for l in 0..LEVELS {
            self.tested[l] += o.tested[l];
            self.failed[l] += o.failed[l];
        }
        self.walked += o.walked;
        self.evaluated += o.evaluated;
    }
}

/// Lines that wait for the next level: starts, slopes, and distance of the first argument from the
/// sub-block's.
#[derive(Debug, Default)]
pub struct Lines {
    b: Vec<u64>,
    a: Vec<u64>,
    at: Vec<u64>,
}

impl Lines {
    fn clear(&mut self) {
        self.b.clear();
        self.a.clear();
        self.at.clear();
    }
    fn push(&mut self, b: u64, a: u64, at: u64) {
        self.b.push(b);
        self.a.push(a);
        self.at.push(at);
    }
    /// Number of lines.
    pub fn len(&self) -> usize {
        self.at.len()
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.at.is_empty()
    }
}

/// Memory that is used again from sub-block to sub-block.
#[derive(Debug, Default)]
pub struct Scratch {
    starts: [Vec<u64>; STARTS],
    values: runs::RunStarts,
    lines: [Lines; 2],
}

/// Searches `[first, end)` of a block; pushes arguments that may be hard.
pub fn smooth(
    poly: &Poly,
    (first, end): (u64, u64),
    eps: f64,
    isa: Isa,
    scratch: &mut Scratch,
    candidates: &mut Vec<u64>,
    counts: &mut PhaseCounts,
) -> Option<BlockPlan> {
    let mut at = first;
    let mut main = None;
    let mut search = Search {
        poly,
        eps,
        isa,
        scratch,
        candidates,
        counts,
    };
    while at < end {
        let Some(plan) = BlockPlan::new(poly, eps, end - at) else {
            let starts = &mut search.scratch.values;
            runs::near(poly, (at, end), eps, isa, starts, search.candidates);
            search.counts.walked += end - at;
            break;
        };
        let run = (RUN as u64) << plan.bits;
        let chunk = run * LEAST_RUNS as u64;
        while end - at >= chunk {
            let runs = ((end - at) / chunk * LEAST_RUNS as u64).min(plan.runs as u64) as usize;
            search.sub_block(at, runs, &plan);
            at += run * runs as u64;
        }
        main.get_or_insert(plan);
    }
    main
}

/// A block's polynomial, and what its search fills.
struct Search<'a> {
    poly: &'a Poly,
    eps: f64,
    isa: Isa,
    scratch: &'a mut Scratch,
    candidates: &'a mut Vec<u64>,
    counts: &'a mut PhaseCounts,
}

impl Search<'_> {
    /// Searches `runs` runs from `start` on.
    fn sub_block(&mut self, start: u64, runs: usize, plan: &BlockPlan) {
        let Search {
            poly,
            eps,
            isa,
            scratch,
            candidates,
            counts,
        } = self;
        let p: [_; DEGREE + 1] = shift(&poly.c, start.wrapping_sub(poly.middle) as i64);
        Tables::new(&p, plan.bits, runs).starts(&mut scratch.starts, runs);
        let middle = start + ((runs * RUN) as u64 * plan.levels[0].n) / 2;
        let second = poly.second(middle).0;
        let [lines, parts] = &mut scratch.lines;
        lines.clear();
        // SAFETY: `Isa::all` names only what the processor has; buffers have the lengths that are said.
        unsafe {
            match isa {
                Isa::Scalar => first_level::<ScalarLane>(&scratch.starts, runs, plan, lines),
                Isa::Avx2 => first_avx2(&scratch.starts, runs, plan, lines),
                Isa::Avx512 => first_avx512(&scratch.starts, runs, plan, lines),
            }
        }
        counts.tested[0] += (runs * RUN) as u64;
        counts.failed[0] += lines.len() as u64;
        for l in 0..SPLITS.len() {
            divide(plan, l, second, lines, parts);
            counts.tested[l + 1] += parts.len() as u64;
            lines.clear();
            // SAFETY: as above.
            unsafe {
                match isa {
                    Isa::Scalar => later_level::<ScalarLane>(plan, l + 1, parts, lines),
                    Isa::Avx2 => later_avx2(plan, l + 1, parts, lines),
                    Isa::Avx512 => later_avx512(plan, l + 1, parts, lines),
                }
            }
            counts.failed[l + 1] += lines.len() as u64;
        }
        counts.walked += lines.len() as u64 * plan.levels[LEVELS - 1].n;
        walk_lines(plan, second, *eps, start, lines, candidates);
    }
}

/// The parts of lines that failed at level `l`.
fn divide(plan: &BlockPlan, l: usize, second: f64, lines: &Lines, parts: &mut Lines) {
    parts.clear();
    let m = plan.levels[l + 1].n;
    for part in 0..SPLITS[l] {
        let (start, slope) = plan.refinement(l, part, second);
        for i in 0..lines.len() {
            let (b, a) = (lines.b[i], lines.a[i]);
            let moved = b.wrapping_add(a.wrapping_mul(part * m)).wrapping_add(start);
            parts.push(moved, a.wrapping_add(slope), lines.at[i] + part * m);
        }
    }
}

/// Every argument of lines that failed to the end: those near an integer by the line are looked at again
/// with the curve.
fn walk_lines(
    plan: &BlockPlan,
    second: f64,
    eps: f64,
    start: u64,
    lines: &Lines,
    candidates: &mut Vec<u64>,
) {
    let last = &plan.levels[LEVELS - 1];
    let d = crate::plan::fraction(last.d) + 1;
    let near = crate::plan::fraction((eps + plan.settled[1]).min(0.25)) + 1;
    for i in 0..lines.len() {
        let (b, a) = (lines.b[i], lines.a[i]);
        let mut look = |j: u64| {
            let t = j as f64 - last.n as f64 / 2.0;
            let value = b
                .wrapping_add(a.wrapping_mul(j))
                .wrapping_add(crate::plan::signed(second / 2.0 * t * t));
            if value < near || value.wrapping_neg() < near {
                candidates.push(start + lines.at[i] + j);
            }
        };
        let mut z = b.wrapping_add(last.offset);
        if last.n > VISITED {
            hits::each(z, a, d, last.n, look);
            continue;
        }
        for j in 0..last.n {
            if z < d {
                look(j);
            }
            z = z.wrapping_add(a);
        }
    }
}

#[target_feature(enable = "avx2,fma")]
unsafe fn first_avx2(s: &[Vec<u64>; STARTS], runs: usize, plan: &BlockPlan, out: &mut Lines) {
    // SAFETY: the function has the features that these lanes need; the rest as the caller's.
    unsafe { first_level::<Avx2>(s, runs, plan, out) }
}
#[target_feature(enable = "avx512f")]
unsafe fn first_avx512(s: &[Vec<u64>; STARTS], runs: usize, plan: &BlockPlan, out: &mut Lines) {
    // SAFETY: the function has the features that these lanes need; the rest as the caller's.
    unsafe { first_level::<Avx512>(s, runs, plan, out) }
}
#[target_feature(enable = "avx2,fma")]
unsafe fn later_avx2(plan: &BlockPlan, l: usize, parts: &mut Lines, out: &mut Lines) {
    // SAFETY: the function has the features that these lanes need; the rest as the caller's.
    unsafe { later_level::<Avx2>(plan, l, parts, out) }
}
#[target_feature(enable = "avx512f")]
unsafe fn later_avx512(plan: &BlockPlan, l: usize, parts: &mut Lines, out: &mut Lines) {
    // SAFETY: the function has the features that these lanes need; the rest as the caller's.
    unsafe { later_level::<Avx512>(plan, l, parts, out) }
}

/// Appends the lanes whose bit is set.
#[inline(always)]
unsafe fn keep<L: Lanes>(
    mut failed: u32,
    b: &[L::U; GROUPS],
    a: &[L::U; GROUPS],
    at: impl Fn(usize) -> u64,
    out: &mut Lines,
) {
    if failed == 0 {
        return;
    }
    let (mut bs, mut slopes) = ([0u64; 32], [0u64; 32]);
    for g in 0..GROUPS {
        // SAFETY: 32 words have room for all groups.
        unsafe {
            L::store_u(bs.as_mut_ptr().add(g * L::W), b[g]);
            L::store_u(slopes.as_mut_ptr().add(g * L::W), a[g]);
        }
    }
    while failed != 0 {
        let i = failed.trailing_zeros() as usize;
        out.push(bs[i], slopes[i], at(i));
        failed &= failed - 1;
    }
}

/// All groups' lanes from memory, which has to have them.
#[inline(always)]
unsafe fn load<L: Lanes>(v: &[u64], first: usize) -> [L::U; GROUPS] {
    // SAFETY: the vectors are as long as the lanes that are read of them, and the processor has their features: the caller sees to it.
    unsafe {
        let mut r = [L::splat_u(0); GROUPS];
        for (g, r) in r.iter_mut().enumerate() {
            *r = L::load_u(v.as_ptr().add(first + g * L::W));
        }
        r
    }
}

/// The test on every interval of a sub-block. `s` has at least `runs` values each, `runs` a multiple of
/// [`LEAST_RUNS`].
#[inline(always)]
unsafe fn first_level<L: Lanes>(
    s: &[Vec<u64>; STARTS],
    runs: usize,
    plan: &BlockPlan,
    out: &mut Lines,
) {
    let level = &plan.levels[0];
    let n = level.n;
    let lanes = GROUPS * L::W;
    // SAFETY: the vectors are as long as the lanes that are read of them, and the processor has their features: the caller sees to it.
    unsafe {
        let offset = L::splat_u(level.offset);
        for group in 0..runs / lanes {
            let mut v = [[L::splat_u(0); GROUPS]; STARTS];
            for i in 0..STARTS {
                v[i] = load::<L>(&s[i], group * lanes);
            }
            for k in 0..RUN {
                let failed = failures::<L>(&v[4], &v[0], offset, n as f64, level.d);
                let at = |i: usize| ((group * lanes + i) * RUN + k) as u64 * n;
                keep::<L>(failed, &v[0], &v[4], at, out);
                for i in [0, 1, 2, 4, 5] {
                    let step = v[i + 1];
                    for (v, step) in v[i].iter_mut().zip(step) {
                        *v = L::add_u(*v, step);
                    }
                }
            }
        }
    }
}

/// The test on listed lines.
#[inline(always)]
unsafe fn later_level<L: Lanes>(plan: &BlockPlan, l: usize, parts: &mut Lines, out: &mut Lines) {
    let level = &plan.levels[l];
    let lanes = GROUPS * L::W;
    let count = parts.len();
    // Whole vectors: the last lines are made up, and not looked at.
    for v in [&mut parts.b, &mut parts.a] {
        v.resize(count.div_ceil(lanes) * lanes, 1 << 63);
    }
    // SAFETY: the vectors are as long as the lanes that are read of them, and the processor has their features: the caller sees to it.
    unsafe {
        let offset = L::splat_u(level.offset);
        for first in (0..count).step_by(lanes) {
            let (b, a) = (load::<L>(&parts.b, first), load::<L>(&parts.a, first));
            let failed = failures::<L>(&a, &b, offset, level.n as f64, level.d);
            let real = match count - first {
                c if c < lanes => failed & ((1 << c) - 1),
                _ => failed,
            };
            keep::<L>(real, &b, &a, |i| parts.at[first + i], out);
        }
    }
}
