//! One unit of a certificate checked: its pieces derived again, what is uniform proven, and the rest searched a second time
//! ([`crate::repeat`]), all of it or at some places.
use crate::confirm::value;
use crate::format::{BinadeGrid, hex};
use crate::leaf::{Piece, PieceMethod, Query, describe};
use crate::repeat::{RepeatedSearch, half_units, repeat};
use crate::uniform_proof::{out_of_range, uniform};
use rug::Float;
use std::collections::BTreeSet;

/// Bits of second differences.
const PRECISION: u32 = 256;
/// Arguments tried in pieces that are uniform, or that nothing but single values describes.
const TRIED: u64 = 32;
/// How often a piece that is said to be uniform is divided until an enclosure tells.
const DIVIDED: u32 = 12;
/// Arguments of a stretch that is searched again as a sample.
const STRETCH: u64 = 1 << 18;

/// A generator for places to look at: SplitMix64.
struct Places(u64);

impl Places {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ z >> 31) % n.max(1)
    }
}

/// How a unit is checked.
#[derive(Clone, Copy)]
pub struct UnitQuery<'a> {
    /// What was asked.
    pub query: &'a Query,
    /// Bits of the arguments that its group lists.
    pub listed: &'a BTreeSet<u64>,
    /// Stretches of each piece that are searched again; none for everything.
    pub samples: Option<u64>,
    /// Seed of their places.
    pub seed: u64,
}

/// What was checked of a unit, and what is wrong.
#[derive(Debug, Clone, Default)]
pub struct UnitVerdict {
    /// Its pieces.
    pub pieces: Vec<Piece>,
    /// Stretches of arguments searched again, and arguments in them.
    pub stretches: u64,
    /// Arguments in them.
    pub arguments: u128,
    /// Arguments evaluated.
    pub evaluated: u64,
    /// Pieces proven to be uniform or out of range.
    pub uniform: u64,
    /// Listed cases in pieces that were searched.
    pub tested_cases: u64,
    /// Listed cases in all its pieces.
    pub cases: u64,
    /// Exact cases in what was searched again.
    pub exact: u64,
    /// What is wrong, in words.
    pub mistakes: Vec<String>,
}

/// Checks a unit.
pub fn check_unit(u: UnitQuery, grid: &BinadeGrid) -> UnitVerdict {
    let mut check = UnitCheck {
        u,
        places: Places(u.seed),
        v: UnitVerdict::default(),
    };
    let pieces = describe(u.query, grid);
    let mut next = grid.first;
    for p in &pieces {
        if p.first != next || p.length == 0 {
            break;
        }
        next += p.length;
        check.piece(&grid.part(p.first, next), p);
    }
    if next != grid.end {
        check.wrong(grid, "its pieces leave arguments out");
    }
    check.v.pieces = pieces;
    check.v
}

struct UnitCheck<'a> {
    u: UnitQuery<'a>,
    places: Places,
    v: UnitVerdict,
}

impl UnitCheck<'_> {
    fn wrong(&mut self, grid: &BinadeGrid, what: &str) {
        let first = hex(grid.value(grid.first));
        self.v.mistakes.push(format!("piece from {first}: {what}"));
    }

    /// Listed arguments of a piece.
    fn listed(&self, grid: &BinadeGrid) -> impl Iterator<Item = u64> + '_ {
        // Of one sign, bits are in the order of magnitudes.
        let ends = [grid.first, grid.end - 1].map(|m| grid.value(m).to_bits());
        self.u.listed.range(ends[0]..=ends[1]).copied()
    }

    fn piece(&mut self, grid: &BinadeGrid, p: &Piece) {
        let q = self.u.query;
        let listed = self.listed(grid).count() as u64;
        self.v.cases += listed;
        let proven = match p.method {
            PieceMethod::Walk | PieceMethod::Test { .. } => {
                self.v.tested_cases += listed;
                self.curvature(grid, p);
                return self.search_again(grid, p);
            }
            PieceMethod::Evaluate => return self.search_again(grid, p),
            _ if q.function.beyond(grid.value(grid.first)).is_some() => true,
            PieceMethod::AllHard => uniform(q, grid, DIVIDED) == Some(true),
            PieceMethod::NoneHard => uniform(q, grid, DIVIDED) == Some(false),
            PieceMethod::Overflow => out_of_range(q, grid, true, DIVIDED),
            PieceMethod::Underflow => out_of_range(q, grid, false, DIVIDED),
        };
        match proven {
            true => self.v.uniform += 1,
            false => {
                let what = format!(
                    "that all its arguments are alike ({}) cannot be proven",
                    p.method.name()
                );
                self.wrong(grid, &what);
            }
        }
        self.single_values(grid, p);
    }

    /// Searches a piece again, or stretches of it.
    fn search_again(&mut self, grid: &BinadeGrid, p: &Piece) {
        let length = match p.second {
            Some(_) => STRETCH,
            None => TRIED,
        };
        let length = length.min(grid.len());
        match self.u.samples {
            Some(n) if n < grid.len().div_ceil(length) => {
                for _ in 0..n {
                    let first = grid.first + self.places.below(grid.len() - length + 1);
                    self.stretch(&grid.part(first, first + length));
                }
            }
            _ => self.stretch(grid),
        }
    }

    /// Searches arguments again and compares with the list.
    fn stretch(&mut self, grid: &BinadeGrid) {
        let mut found = RepeatedSearch::default();
        repeat(self.u.query, grid, &mut found);
        self.v.stretches += 1;
        self.v.arguments += u128::from(grid.len());
        self.v.evaluated += found.evaluated;
        self.v.exact += found.exact;
        let hard: BTreeSet<u64> = found.cases.into_iter().collect();
        for x in hard.difference(self.u.listed) {
            let x = hex(f64::from_bits(*x));
            self.v.mistakes.push(format!("{x} is hard and not listed"));
        }
        for x in self.listed(grid).collect::<BTreeSet<_>>().difference(&hard) {
            let x = hex(f64::from_bits(*x));
            self.v
                .mistakes
                .push(format!("{x} is listed and not found again"));
        }
        for x in found.violations {
            let x = hex(x);
            let what = format!("block from {x}: a value leaves the bound of its polynomial");
            self.v.mistakes.push(what);
        }
    }

    /// Tries single arguments of a piece that is uniform.
    fn single_values(&mut self, grid: &BinadeGrid, p: &Piece) {
        let q = self.u.query;
        for _ in 0..TRIED.min(grid.len()) {
            let m = grid.first + self.places.below(grid.len());
            self.v.evaluated += 1;
            let k = value(q.function, q.format, &grid.float(m, 64)).map(|w| w.k);
            let right = match p.method {
                PieceMethod::Overflow | PieceMethod::Underflow => k.is_err(),
                PieceMethod::AllHard => {
                    k.is_err() || k.is_ok_and(|k| k.is_none_or(|k| k >= q.bits))
                }
                _ => k.is_ok_and(|k| k.is_some_and(|k| k < q.bits)),
            };
            if !right {
                let (x, name) = (hex(grid.value(m)), p.method.name());
                self.v
                    .mistakes
                    .push(format!("{x} is not as its piece says ({name})"));
            }
        }
    }

    /// Whether the bounds of F'' hold where it is tried: a second difference is a value of F'' somewhere between.
    fn curvature(&mut self, grid: &BinadeGrid, p: &Piece) {
        let q = self.u.query;
        let Some((low, high)) = p.second else { return };
        let h = (grid.len() / 8).min(1 << 24);
        for _ in 0..4 {
            if h == 0 {
                break;
            }
            let m = grid.first + h + self.places.below(grid.len() - 2 * h);
            let f = [m - h, m, m + h].map(|m| half_units(q, grid, m));
            let [Some(a), Some(b), Some(c)] = f else {
                return self.wrong(grid, "a value is not finite");
            };
            if a.1 != b.1 || b.1 != c.1 {
                return self.wrong(grid, "the results are not of one binade");
            }
            let sum = Float::with_val(PRECISION, &a.0 + &c.0);
            let twice: Float = b.0.clone() << 1;
            let second = Float::with_val(PRECISION, &sum - &twice).to_f64() / (h as f64).powi(2);
            let slack = 1e-9 * second.abs();
            if second < low - slack || second > high + slack {
                self.wrong(grid, "F'' leaves its bounds");
            }
        }
    }
}
