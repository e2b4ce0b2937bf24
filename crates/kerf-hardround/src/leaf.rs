//! A part of a binade, divided until each piece is smooth, uniform or small; the hard cases of it.
use crate::confirm::{ConfirmedValue, NoValue, value};
use crate::format::{BinadeGrid, BinaryFormat};
use crate::function::ElementaryFunction;
use crate::plan::{BlockPlan, fraction};
use crate::poly::{BlockPolynomial, Poly, block, edge, out_of_range, uniform};
use crate::rotate;
use crate::search::{Isa, PhaseCounts, Scratch, smooth};
use crate::walk;
use serde::{Deserialize, Serialize};

/// Largest piece that is described by one polynomial.
pub const LARGEST: u64 = 1 << 40;
/// Pieces of at most this many arguments that no polynomial describes are evaluated one by one.
const SMALL: u64 = 48;

/// Pieces of at most this many arguments are listed even if all are hard: someone looks at a place.
pub const LISTED: u64 = 4096;

/// What was asked.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Query {
    /// The function.
    pub function: ElementaryFunction,
    /// Format of arguments and results.
    pub format: BinaryFormat,
    /// Identical bits after the round bit, at least.
    pub bits: u32,
    /// Instructions to use; none to visit every argument with the polynomial, which is slow and for checks.
    pub isa: Option<Isa>,
}

impl Query {
    /// 2^-bits.
    pub fn eps(&self) -> f64 {
        2f64.powi(-(self.bits as i32))
    }
}

/// How a piece was dealt with.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PieceMethod {
    /// The test on intervals of n arguments, with these bounds at the first level.
    Test {
        /// Arguments of an interval.
        n: u64,
        /// Width of the remainder of the affine step.
        r: f64,
        /// Errors of the lines.
        s: f64,
        /// Threshold.
        d: f64,
    },
    /// Every argument by the polynomial, or by turns where steps are long.
    Walk,
    /// Every argument by MPFR.
    Evaluate,
    /// Every argument is hard: the value never leaves the neighbourhood of numbers.
    AllHard,
    /// No argument is: the value stays away from them.
    NoneHard,
    /// Results beyond the largest number.
    Overflow,
    /// Results below a quarter of the smallest number.
    Underflow,
}

/// A piece of the range.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Piece {
    /// First integer of its grid.
    pub first: u64,
    /// Arguments.
    pub length: u64,
    /// How it was dealt with.
    pub method: PieceMethod,
    /// Bounds of F'' over it, in half units per argument squared; none where not needed.
    pub second: Option<(f64, f64)>,
    /// Bound of the polynomial's error.
    pub error: f64,
}

/// One hard case.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HardCase {
    /// The argument.
    pub x: f64,
    /// Its value's tail.
    pub value: ConfirmedValue,
}

/// What was found in a part of a binade.
#[derive(Debug, Clone, Default)]
pub struct FoundCases {
    /// Hard cases, in the order of magnitudes.
    pub cases: Vec<HardCase>,
    /// Pieces, in order, without gaps.
    pub pieces: Vec<Piece>,
    /// What the phases saw.
    pub counts: PhaseCounts,
    /// Exact cases met (all of them: their F is an integer).
    pub exact: Vec<f64>,
}

/// What searches a smooth piece.
pub trait PieceSearch {
    /// Whether pieces are only described: nothing is visited or evaluated.
    fn only_describes(&self) -> bool {
        false
    }
    /// Pushes arguments of [first, end) that may be hard, or keeps the piece for later; gives the plan it
    /// follows, none where it visits every argument.
    fn smooth(
        &mut self,
        q: &Query,
        poly: &Poly,
        range: (u64, u64),
        candidates: &mut Vec<u64>,
        counts: &mut PhaseCounts,
    ) -> Option<BlockPlan>;
}

impl PieceSearch for Scratch {
    fn smooth(
        &mut self,
        q: &Query,
        poly: &Poly,
        range: (u64, u64),
        candidates: &mut Vec<u64>,
        counts: &mut PhaseCounts,
    ) -> Option<BlockPlan> {
        let Some(isa) = q.isa else {
            walk::near(poly, range.0, range.1, q.eps(), candidates);
            counts.walked += range.1 - range.0;
            return None;
        };
        smooth(poly, range, q.eps(), isa, self, candidates, counts)
    }
}

/// Describes pieces.
struct Describer;

impl PieceSearch for Describer {
    fn only_describes(&self) -> bool {
        true
    }
    fn smooth(
        &mut self,
        _: &Query,
        _: &Poly,
        _: (u64, u64),
        _: &mut Vec<u64>,
        _: &mut PhaseCounts,
    ) -> Option<BlockPlan> {
        None
    }
}

/// The pieces that a search of a part of a binade has, smooth ones as [`PieceMethod::Walk`].
pub fn describe(q: &Query, grid: &BinadeGrid) -> Vec<Piece> {
    search(q, grid, &mut Describer).pieces
}

/// Searches a part of a binade.
pub fn search(q: &Query, grid: &BinadeGrid, engine: &mut impl PieceSearch) -> FoundCases {
    let mut found = FoundCases::default();
    divide(q, grid, engine, &mut found);
    found
}

fn divide(q: &Query, grid: &BinadeGrid, engine: &mut impl PieceSearch, found: &mut FoundCases) {
    let method = |w| match w {
        "overflow" => PieceMethod::Overflow,
        "underflow" => PieceMethod::Underflow,
        _ => PieceMethod::AllHard,
    };
    if let Some(w) = q.function.beyond(grid.value(grid.first)) {
        return found.piece(grid, method(w), None);
    }
    if rotate::serves(q.function, grid) {
        if engine.only_describes() {
            return found.piece(grid, PieceMethod::Walk, None);
        }
        let near = fraction((q.eps() + rotate::ERROR).min(0.49)) + 1;
        rotate::visit(q.function, q.format, grid, |m, z| {
            if z.is_none_or(|z| z < near || z.wrapping_neg() <= near) {
                evaluate(q, grid, m, found);
            }
        });
        found.counts.walked += grid.len();
        return found.piece(grid, PieceMethod::Walk, None);
    }
    if grid.len() > LARGEST {
        match uniform(q.function, q.format, grid, q.eps()) {
            Some(true) => return found.piece(grid, PieceMethod::AllHard, None),
            Some(false) => return found.piece(grid, PieceMethod::NoneHard, None),
            None => {}
        }
        match out_of_range(q.function, q.format, grid) {
            Some(BlockPolynomial::Overflow) => {
                return found.piece(grid, PieceMethod::Overflow, None);
            }
            Some(_) => return found.piece(grid, PieceMethod::Underflow, None),
            None => {}
        }
    } else {
        match block(q.function, q.format, grid) {
            BlockPolynomial::Smooth(poly) => return polynomial(q, grid, &poly, engine, found),
            BlockPolynomial::Overflow => return found.piece(grid, PieceMethod::Overflow, None),
            BlockPolynomial::Underflow => return found.piece(grid, PieceMethod::Underflow, None),
            BlockPolynomial::Coarse if grid.len() <= SMALL => {
                evaluate_all(q, grid, engine, found);
                return found.piece(grid, PieceMethod::Evaluate, None);
            }
            BlockPolynomial::Coarse => {}
        }
    }
    // Where the results change their unit, or near the middle.
    let at = match grid.len() <= LARGEST {
        true => edge(q.function, q.format, grid),
        false => None,
    };
    let at = at.unwrap_or_else(|| grid.round_middle());
    divide(q, &grid.part(grid.first, at), engine, found);
    divide(q, &grid.part(at, grid.end), engine, found);
}

/// Whether values change so slowly that one which comes near an integer stays there for more arguments than are listed:
/// next to zero, where asin x is x and then is not. In halves, all but a few arguments are all hard, or none is.
fn enters_slowly(q: &Query, grid: &BinadeGrid, poly: &Poly) -> bool {
    let hard = grid.len() as f64 * 2.0 * q.eps() / poly.spread();
    grid.len() > LISTED && hard > LISTED as f64
}

fn polynomial(
    q: &Query,
    grid: &BinadeGrid,
    poly: &Poly,
    engine: &mut impl PieceSearch,
    found: &mut FoundCases,
) {
    match poly.uniform(q.eps()) {
        Some(true) if grid.len() <= LISTED => {
            evaluate_all(q, grid, engine, found);
            return found.piece(grid, PieceMethod::Evaluate, None);
        }
        Some(true) => return found.piece(grid, PieceMethod::AllHard, Some(poly)),
        Some(false) => return found.piece(grid, PieceMethod::NoneHard, Some(poly)),
        None if enters_slowly(q, grid, poly) => {
            let at = grid.round_middle();
            divide(q, &grid.part(grid.first, at), engine, found);
            return divide(q, &grid.part(at, grid.end), engine, found);
        }
        None => {}
    }
    let mut candidates = Vec::new();
    let range = (grid.first, grid.end);
    let plan = engine.smooth(q, poly, range, &mut candidates, &mut found.counts);
    decide(q, grid, poly, candidates, found);
    let method = plan.map_or(PieceMethod::Walk, |p| {
        let l = &p.levels[0];
        PieceMethod::Test {
            n: l.n,
            r: l.remainder.1 - l.remainder.0,
            s: l.s,
            d: l.d,
        }
    });
    found.piece(grid, method, Some(poly));
}

/// Decides candidates: by the polynomial, and by MPFR those that are near an integer indeed.
pub fn decide(
    q: &Query,
    grid: &BinadeGrid,
    poly: &Poly,
    mut candidates: Vec<u64>,
    found: &mut FoundCases,
) {
    candidates.sort_unstable();
    candidates.dedup();
    for m in candidates {
        if poly.near(m, q.eps()) {
            evaluate(q, grid, m, found);
        }
    }
}

/// Decides every argument, unless pieces are only described.
fn evaluate_all(q: &Query, grid: &BinadeGrid, engine: &impl PieceSearch, found: &mut FoundCases) {
    if !engine.only_describes() {
        (grid.first..grid.end).for_each(|m| evaluate(q, grid, m, found));
    }
}

/// Decides one argument.
fn evaluate(q: &Query, grid: &BinadeGrid, m: u64, found: &mut FoundCases) {
    found.counts.evaluated += 1;
    let x = grid.value(m);
    match value(q.function, q.format, &grid.float(m, 64)) {
        Ok(value) => match value.k {
            Some(k) if k >= q.bits => found.cases.push(HardCase { x, value }),
            Some(_) => {}
            None => found.exact.push(x),
        },
        Err(NoValue::Zero) => found.exact.push(x),
        Err(NoValue::Range | NoValue::Domain | NoValue::Limit) => {}
    }
}

impl FoundCases {
    fn piece(&mut self, grid: &BinadeGrid, method: PieceMethod, poly: Option<&Poly>) {
        self.pieces.push(Piece {
            first: grid.first,
            length: grid.len(),
            method,
            second: poly.map(Poly::curvature),
            error: poly.map_or(0.0, |p| p.error),
        });
    }
}
