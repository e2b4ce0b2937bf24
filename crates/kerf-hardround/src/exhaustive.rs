//! Every argument of a range, counted by the number of identical bits after its round bit: for formats with
//! few enough numbers.
use crate::confirm::{ConfirmedValue, NoValue, value};
use crate::format::BinadeGrid;
use crate::leaf::{HardCase, Query};
use crate::poly::{BlockPolynomial, Poly, block, uniform};
use crate::rotate;
use crate::walk::{WALK_ERROR, each};
use serde::{Deserialize, Serialize};

/// Runs of this many bits are counted with MPFR.
pub const DECIDED: u32 = 44;
/// Pieces where all values are within 2 to minus this of a number are not looked at; less than [`DECIDED`], so
/// that none is left that MPFR would have to count whole.
const UNIFORM: i32 = 40;
/// Bound of a walked value's error, in units of 2^-64.
pub const MARGIN: u64 = 1 << 12;
/// Pieces of at most this many arguments that no polynomial describes are evaluated one by one.
const SMALL: u64 = 48;
/// Longer pieces that begin or end with arguments that are all hard are divided, so that those are not listed by the million.
const LISTED: u64 = 4096;

/// Arguments counted.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ArgumentTally {
    /// Arguments with k identical bits after the round bit, by k.
    pub by_k: Vec<u64>,
    /// Exact cases, zeros among them.
    pub exact: u64,
    /// Results beyond the largest number or below a quarter of the smallest, or nearer to a limit than 2^-250.
    pub out_of_range: u64,
    /// Arguments of pieces where every value is within 2^-40 of a number, as next to zero: not counted by k, and
    /// not listed.
    pub uniform: u64,
}

impl ArgumentTally {
    /// Arguments in all.
    pub fn total(&self) -> u64 {
        self.by_k.iter().sum::<u64>() + self.exact + self.out_of_range + self.uniform
    }
    /// Adds another's.
    pub fn add(&mut self, o: &ArgumentTally) {
        if self.by_k.len() < o.by_k.len() {
            self.by_k.resize(o.by_k.len(), 0);
        }
        for (a, b) in self.by_k.iter_mut().zip(&o.by_k) {
            *a += b;
        }
        self.exact += o.exact;
        self.out_of_range += o.out_of_range;
        self.uniform += o.uniform;
    }
    /// Adds the negative arguments of an odd or even function to the positive ones.
    pub fn mirror(&mut self, odd: bool, cases: &mut Vec<HardCase>) {
        let same = self.clone();
        self.add(&same);
        let negative = |c: &HardCase| HardCase {
            x: -c.x,
            value: ConfirmedValue {
                negative: c.value.negative != odd,
                ..c.value
            },
        };
        let mirrored: Vec<HardCase> = cases.iter().map(negative).collect();
        cases.extend(mirrored);
    }
    /// Counts an argument with k identical bits.
    pub fn count(&mut self, k: u32) {
        self.count_many(k, 1);
    }
    /// Counts so many arguments with k identical bits.
    pub fn count_many(&mut self, k: u32, n: u64) {
        let k = k as usize;
        if self.by_k.len() <= k {
            self.by_k.resize(k + 1, 0);
        }
        self.by_k[k] += n;
    }
}

/// What visits a smooth piece.
pub trait Visitor {
    /// Counts the arguments of a piece by its polynomial, or keeps the piece for later. With `alike` all have
    /// the query's bits, and none is listed.
    fn smooth(
        &mut self,
        q: &Query,
        grid: &BinadeGrid,
        poly: &Poly,
        alike: bool,
        tally: &mut ArgumentTally,
        cases: &mut Vec<HardCase>,
    );
}

/// Visits by differences, on the processor.
#[derive(Debug, Clone, Copy, Default)]
pub struct DifferenceWalk;

impl Visitor for DifferenceWalk {
    fn smooth(
        &mut self,
        q: &Query,
        grid: &BinadeGrid,
        poly: &Poly,
        alike: bool,
        tally: &mut ArgumentTally,
        cases: &mut Vec<HardCase>,
    ) {
        let mut near = Vec::new();
        each(poly, grid.first, grid.end, |m, z| match clear(z) {
            Some(k) if k < q.bits || alike => tally.count(k),
            _ => evaluate(q, grid, m, tally, &mut near),
        });
        if !alike {
            cases.append(&mut near);
        }
    }
}

/// The number of identical bits of a walked value, where its error cannot change it; otherwise MPFR decides.
fn clear(z: u64) -> Option<u32> {
    let k = run(z);
    let same = run(z.wrapping_sub(MARGIN)) == k && run(z.wrapping_add(MARGIN)) == k;
    (k < DECIDED && same).then_some(k)
}

/// Counts the arguments of part of a binade; those with at least the query's bits are listed too, except in
/// pieces where all have them.
pub fn tally(q: &Query, grid: &BinadeGrid) -> (ArgumentTally, Vec<HardCase>) {
    tally_with(q, grid, &mut DifferenceWalk)
}

/// The same, smooth pieces by a visitor.
pub fn tally_with(
    q: &Query,
    grid: &BinadeGrid,
    visitor: &mut impl Visitor,
) -> (ArgumentTally, Vec<HardCase>) {
    let mut all = (ArgumentTally::default(), Vec::new());
    divide(q, grid, visitor, &mut all.0, &mut all.1);
    all
}

fn divide(
    q: &Query,
    grid: &BinadeGrid,
    visitor: &mut impl Visitor,
    tally: &mut ArgumentTally,
    cases: &mut Vec<HardCase>,
) {
    if q.function.beyond(grid.value(grid.first)).is_some() {
        tally.out_of_range += grid.len();
        return;
    }
    if rotate::serves(q.function, grid) {
        rotate::visit(q.function, q.format, grid, |m, z| match z.and_then(clear) {
            Some(k) if k < q.bits => tally.count(k),
            _ => evaluate(q, grid, m, tally, cases),
        });
        return;
    }
    let close = 2f64.powi(-UNIFORM);
    if uniform(q.function, q.format, grid, close) == Some(true) {
        tally.uniform += grid.len();
        return;
    }
    match block(q.function, q.format, grid) {
        BlockPolynomial::Smooth(poly)
            if poly.error + WALK_ERROR < MARGIN as f64 / 2f64.powi(64) =>
        {
            let alike = poly.uniform(q.eps()) == Some(true);
            if !alike && grid.len() > LISTED && hard_at_an_end(q, grid) {
                return halves(q, grid, visitor, tally, cases);
            }
            visitor.smooth(q, grid, &poly, alike, tally, cases);
        }
        BlockPolynomial::Overflow | BlockPolynomial::Underflow => tally.out_of_range += grid.len(),
        _ if grid.len() <= SMALL => {
            for m in grid.first..grid.end {
                evaluate(q, grid, m, tally, cases);
            }
        }
        _ => halves(q, grid, visitor, tally, cases),
    }
}

fn halves(
    q: &Query,
    grid: &BinadeGrid,
    visitor: &mut impl Visitor,
    tally: &mut ArgumentTally,
    cases: &mut Vec<HardCase>,
) {
    let middle = grid.first + grid.len() / 2;
    divide(q, &grid.part(grid.first, middle), visitor, tally, cases);
    divide(q, &grid.part(middle, grid.end), visitor, tally, cases);
}

/// Whether the first two arguments or the last two have the query's bits: next to a limit all have them from somewhere on.
fn hard_at_an_end(q: &Query, grid: &BinadeGrid) -> bool {
    let hard = |m: u64| {
        let v = value(q.function, q.format, &grid.float(m, 64));
        v.is_ok_and(|v| v.k.is_some_and(|k| k >= q.bits))
    };
    let last = grid.end - 1;
    hard(grid.first) && hard(grid.first + 1) || hard(last) && hard(last - 1)
}

/// Identical bits at the start of a fraction.
fn run(z: u64) -> u32 {
    z.leading_zeros().max(z.leading_ones())
}

/// Counts one argument by MPFR, and lists it if it has the query's bits.
pub fn evaluate(
    q: &Query,
    grid: &BinadeGrid,
    m: u64,
    tally: &mut ArgumentTally,
    cases: &mut Vec<HardCase>,
) {
    match value(q.function, q.format, &grid.float(m, 64)) {
        Ok(v) => match v.k {
            Some(k) => {
                tally.count(k);
                if k >= q.bits {
                    cases.push(HardCase {
                        x: grid.value(m),
                        value: v,
                    });
                }
            }
            None => tally.exact += 1,
        },
        Err(NoValue::Zero) => tally.exact += 1,
        Err(NoValue::Limit) => tally.uniform += 1,
        Err(NoValue::Range | NoValue::Domain) => tally.out_of_range += 1,
    }
}
