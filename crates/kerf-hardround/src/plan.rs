//! How a block is searched: interval lengths, and the bounds that make the search complete.
//!
//! With a line L on an interval of n arguments, tangent in the middle, F lies in L + [R-, R+] where R follows
//! from bounds of F'' and n. If F(j) is within eps of an integer, then `{L(j) + eps + R+ + s/2} < d` with
//! `d = 2 eps + R+ - R- + s`, where s/2 bounds every error in the line as it is computed: the polynomial's, the
//! difference tables', truncation to 64 and to 52 bits.
use crate::poly::{Poly, SLACK};
use crate::tables::{LONG_RUNS, RUN, RUNS, TABLE_ERROR};

/// Sub-intervals of an interval that fails, level by level; the last level's are walked.
pub const SPLITS: [u64; 3] = [2, 4, 4];
/// Levels of the test.
pub const LEVELS: usize = SPLITS.len() + 1;
/// Runs that vectors need at once.
pub const LEAST_RUNS: usize = 32;
/// Longest interval: quotients of the test stay exact.
const LONGEST: u32 = 24;
/// Bits of the shortest interval for which the test pays.
pub const SHORTEST: u32 = 8;
/// Largest n d: about the fraction of intervals that fail at the first level. Beyond, intervals of half the
/// length, of which an eighth as many fail, cost less.
const MOST_FAILING: f64 = 0.35;

/// Largest error of values by which points are looked at: one in 2^33 arguments is looked at again on the processor.
const SETTLED: f64 = 1.0 / (1u64 << 34) as f64;

/// One level of the test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TestLevel {
    /// Arguments of an interval.
    pub n: u64,
    /// R-, R+.
    pub remainder: (f64, f64),
    /// Errors of the line, both ways.
    pub s: f64,
    /// Values below this may be hard cases.
    pub d: f64,
    /// What is added to the line, as a fraction of one in 64 bits.
    pub offset: u64,
    /// Errors of the line's start and slope in 64 bits.
    errors: (f64, f64),
}

/// How a part of a block is searched.
#[derive(Debug, Clone)]
pub struct BlockPlan {
    /// The levels, longest intervals first.
    pub levels: [TestLevel; LEVELS],
    /// Bits of the first level's length.
    pub bits: u32,
    /// Runs of a sub-block at most.
    pub runs: usize,
    /// Error of a value computed from a line and F'': of the first level and of the last.
    pub settled: [f64; 2],
}

/// A nonnegative number below 1 as a fraction in 64 bits, rounded down.
pub fn fraction(x: f64) -> u64 {
    (x * 2f64.powi(64)) as u64
}

fn binomial(n: usize, m: usize) -> f64 {
    (0..m).map(|i| (n - i) as f64 / (i + 1) as f64).product()
}

/// Errors of a first-level line's start and slope.
fn first(poly: &Poly, n: f64) -> (f64, f64) {
    let unit = 2f64.powi(-64);
    let (mut b, mut a) = (poly.error + TABLE_ERROR, TABLE_ERROR);
    for m in 0..=7 {
        let count = binomial(RUN, m);
        if m < 4 {
            b += count * unit;
        } else {
            let next = if m < 7 { poly.derivative(m + 1) } else { 0.0 };
            b += count * n.powi(m as i32) * (poly.derivative(m) + n / 2.0 * next);
        }
        if m < 3 {
            a += count * unit;
        } else if m < 7 {
            a += count * n.powi(m as i32) * poly.derivative(m + 1);
        }
    }
    (b * SLACK, a * SLACK)
}

/// Bound of the error of values by the tables of runs of single arguments.
pub fn visit_error(poly: &Poly) -> f64 {
    first(poly, 1.0).0 + 2f64.powi(-60)
}

fn level(poly: &Poly, n: u64, errors: (f64, f64), eps: f64) -> TestLevel {
    let nf = n as f64;
    let (low, high) = poly.curvature();
    let square = nf * nf / 8.0 * SLACK;
    let remainder = (low.min(0.0) * square, high.max(0.0) * square);
    let grain = 2f64.powi(-52);
    let half = (errors.0 + grain + nf * (errors.1 + grain)) * SLACK + 2f64.powi(-60);
    let s = 2.0 * half;
    let d = (2.0 * eps + (remainder.1 - remainder.0) + s) * SLACK;
    TestLevel {
        n,
        remainder,
        s,
        d,
        offset: fraction((eps + remainder.1 + half).min(0.99)),
        errors,
    }
}

impl BlockPlan {
    /// Intervals of 2^bits arguments, sub-blocks of up to `runs` runs; none where a bound is too large.
    pub fn with(poly: &Poly, eps: f64, bits: u32, runs: usize) -> Option<BlockPlan> {
        let mut n = 1u64 << bits;
        let span = (runs * RUN) as f64 * n as f64;
        let third = poly.derivative(3);
        let relative = poly.derivative(2) * 1e-11;
        let mut errors = first(poly, n as f64);
        // Of a value at any argument of an interval, with F'' of the sub-block's middle.
        let settled = |n: u64, errors: (f64, f64)| {
            let half = n as f64 / 2.0;
            let curve = (third * span / 4.0 + relative) * half * half + third / 6.0 * half.powi(3);
            (errors.0 + errors.1 * n as f64 + curve) * SLACK + 2f64.powi(-60)
        };
        let at_first = settled(n, errors);
        let mut levels = [level(poly, n, errors, eps); LEVELS];
        for (l, split) in SPLITS.into_iter().enumerate() {
            // From the centre of an interval to that of a part of it, with F'' of the sub-block's middle.
            let delta = n as f64 / 2.0;
            let value =
                (third * span / 4.0 + relative) * delta * delta + third / 6.0 * delta.powi(3);
            let slope = (third * span / 2.0 + relative) * delta + third / 2.0 * delta * delta;
            let unit = 2f64.powi(-63);
            n /= split;
            errors = (
                errors.0 + errors.1 * 2.0 * delta + value + n as f64 / 2.0 * slope + unit,
                errors.1 + slope + unit,
            );
            levels[l + 1] = level(poly, n, errors, eps);
        }
        let sound = levels.iter().all(|l| l.d < 0.5);
        sound.then_some(BlockPlan {
            levels,
            bits,
            runs,
            settled: [at_first, settled(n, errors)],
        })
    }

    /// The plan for `length` arguments, whose intervals are as long as pays; none where walking does.
    pub fn new(poly: &Poly, eps: f64, length: u64) -> Option<BlockPlan> {
        let room = length / (LEAST_RUNS * RUN) as u64;
        let most = (63u32.checked_sub(room.leading_zeros())?).min(LONGEST);
        for bits in (SHORTEST..=most).rev() {
            let Some(mut plan) = BlockPlan::with(poly, eps, bits, LEAST_RUNS) else {
                continue;
            };
            if plan.levels[0].d * plan.levels[0].n as f64 > MOST_FAILING {
                continue;
            }
            // Longer sub-blocks, as long as they cost little accuracy.
            for runs in [64, 128, RUNS] {
                match BlockPlan::with(poly, eps, bits, runs) {
                    Some(p) if p.levels[LEVELS - 1].d < 1.25 * plan.levels[LEVELS - 1].d => {
                        plan = p
                    }
                    _ => break,
                }
            }
            return Some(plan);
        }
        None
    }

    /// The plan for sub-blocks of [`LONG_RUNS`] runs in `length` arguments, where every point of an interval that is close
    /// to the integers is looked at: n d is about their number, at most `points`.
    pub fn by_points(poly: &Poly, eps: f64, length: u64, points: f64) -> Option<BlockPlan> {
        let room = length / (LONG_RUNS * RUN) as u64;
        let most = (63u32.checked_sub(room.leading_zeros())?).min(LONGEST);
        (SHORTEST..=most).rev().find_map(|bits| {
            let plan = BlockPlan::with(poly, eps, bits, LONG_RUNS)?;
            let few = plan.levels[0].d * plan.levels[0].n as f64 <= points;
            (few && plan.settled[0] <= eps.max(SETTLED)).then_some(plan)
        })
    }

    /// What takes a line of level `l` to its part number `part`: added to the start besides slope times
    /// distance, and added to the slope; `second` is F''.
    pub fn refinement(&self, l: usize, part: u64, second: f64) -> (u64, u64) {
        let (n, m) = (self.levels[l].n as f64, self.levels[l + 1].n as f64);
        let delta = part as f64 * m + m / 2.0 - n / 2.0;
        let start = second / 2.0 * (delta * delta - 2.0 * (m / 2.0) * delta);
        (signed(start), signed(second * delta))
    }
}

/// A number of magnitude below 1/2 as a fraction of one in 64 bits, wrapping.
pub fn signed(x: f64) -> u64 {
    (x * 2f64.powi(64)) as i64 as u64
}
