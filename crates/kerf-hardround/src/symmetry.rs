//! Exact symmetries: binades whose hard cases follow from those of others, so that a search of the whole domain needs a
//! few of some functions.
//!
//! The number of identical bits after the round bit depends on the value in half units of its last place, modulo 1 and up to its
//! sign. It is the same at x and at another argument where the value differs by the sign, by a power of two without leaving
//! the normal numbers, or by an integer without leaving its binade.
use crate::format::{BinadeGrid, BinaryFormat};
use crate::function::ElementaryFunction::{self, *};

/// Exponents of the leading bits of a grid's numbers: the least and the largest.
fn exponents(format: BinaryFormat, grid: &BinadeGrid) -> (i32, i32) {
    let top = grid.exponent + format.precision as i32 - 1;
    match grid.exponent == format.lowest {
        true => (format.lowest, top),
        false => (top, top),
    }
}

/// How many binades in a row have different values, for functions with f(2^n x) = 2^m f(x) of every x.
fn period(f: ElementaryFunction) -> Option<i32> {
    match f {
        Sqrt | Rsqrt => Some(2),
        Cbrt => Some(3),
        Rootn(n) => Some(n.abs()),
        _ => None,
    }
}

/// What is left to search of a binade, and why the rest follows from other arguments; all of it where nothing does.
pub fn left_to_search(
    f: ElementaryFunction,
    format: BinaryFormat,
    grid: &BinadeGrid,
) -> (Option<BinadeGrid>, Option<&'static str>) {
    if grid.negative {
        match f.odd() {
            Some(true) => return (None, Some("f(-x) = -f(x)")),
            Some(false) => return (None, Some("f(-x) = f(x)")),
            None => {}
        }
    }
    let (least, top) = exponents(format, grid);
    // Exponent of the smallest normal number.
    let normal = format.lowest + format.precision as i32 - 1;
    let covered = match f {
        Sqrt | Rsqrt | Cbrt | Rootn(_) => {
            let binades = period(f).unwrap_or(i32::MAX);
            (!(0..binades).contains(&top)).then_some("f(2^n x) is f(x) times a power of two")
        }
        Power(n) => {
            let inside = match n > 0 {
                true => n * least >= normal && n * (top + 1) <= format.highest + 1,
                false => n * (top + 1) >= normal && n * least <= format.highest,
            };
            (top != 0 && inside).then_some("f(2x) is f(x) times a power of two")
        }
        Exp2 if !grid.negative => {
            let inside = (1..31).contains(&top) && (1 << (top + 1)) <= format.highest + 1;
            inside.then_some("f(x + 1) = 2 f(x)")
        }
        Exp2 => return negative_exponents(grid, top, normal),
        Log2 => {
            let first = top >= 1 && (top & (top - 1)) == 0;
            let own = first || (-1..=0).contains(&top) || grid.exponent == format.lowest;
            (!own).then_some("f(2x) = f(x) + 1")
        }
        Sinpi | Cospi | Tanpi => (top >= 1).then_some("|f(x + 1)| = |f(x)|"),
        _ => None,
    };
    match covered {
        Some(why) => (None, Some(why)),
        None => (Some(*grid), None),
    }
}

/// Negative arguments of exp2: results from the smallest normal number on follow from those of [1, 2).
fn negative_exponents(
    grid: &BinadeGrid,
    top: i32,
    normal: i32,
) -> (Option<BinadeGrid>, Option<&'static str>) {
    let why = Some("f(x + 1) = 2 f(x)");
    if !(0..31).contains(&top) || grid.exponent > 0 {
        return (Some(*grid), None);
    }
    // |x| up to this.
    let last = (normal.unsigned_abs() as u64) << grid.exponent.unsigned_abs();
    match last {
        last if last + 1 >= grid.end => (None, why),
        last if last < grid.first => (Some(*grid), None),
        last => (Some(grid.part(last + 1, grid.end)), why),
    }
}

/// x as a significand in [1, 2) and an exponent.
fn normalized(x: f64) -> (f64, i32) {
    let (x, shifted) = match x.abs() < f64::MIN_POSITIVE {
        true => (x * 2f64.powi(60), 60),
        false => (x, 0),
    };
    let e = ((x.abs().to_bits() >> 52) as i32) - 1023;
    let bits = x.to_bits() & !(0x7ff << 52) | 1023 << 52;
    (f64::from_bits(bits), e - shifted)
}

/// The argument from which the hard cases at x follow, for a number x of binary64 that [`left_to_search`] leaves out, and
/// x itself for others.
pub fn representative(f: ElementaryFunction, format: BinaryFormat, x: f64) -> f64 {
    let Some((m, exponent)) = format.split(x).filter(|_| x != 0.0) else {
        return x;
    };
    let grid = BinadeGrid {
        negative: x < 0.0,
        exponent,
        first: m,
        end: m + 1,
    };
    if left_to_search(f, format, &grid).0.is_some() {
        return x;
    }
    let x = match f.odd() {
        Some(_) => x.abs(),
        None => x,
    };
    let positive = BinadeGrid {
        negative: x < 0.0,
        ..grid
    };
    if left_to_search(f, format, &positive).0.is_some() {
        return x;
    }
    let (y, e) = normalized(x);
    match f {
        Power(_) => y,
        Exp2 | Sinpi | Cospi | Tanpi => 1.0 + (x - x.floor()),
        Log2 => {
            let whole = if e >= 0 { e } else { -e - 1 };
            let first = 1 << (31 - whole.leading_zeros());
            y * 2f64.powi(first)
        }
        _ => match period(f) {
            Some(p) => y * 2f64.powi(e.rem_euclid(p)),
            None => x,
        },
    }
}

/// What of a domain is searched.
#[derive(Debug, Clone, Default)]
pub struct SearchedDomain {
    /// Parts of binades, in the order of their numbers.
    pub searched: Vec<BinadeGrid>,
    /// Why arguments are left out, and how many.
    pub left_out: Vec<(&'static str, u128)>,
}

/// The whole domain.
pub fn domain(f: ElementaryFunction, format: BinaryFormat) -> SearchedDomain {
    let top = 1u64 << format.precision;
    let mut all = SearchedDomain::default();
    for negative in [true, false] {
        for exponent in format.lowest..=format.ulp(format.highest) {
            let first = if exponent == format.lowest {
                1
            } else {
                top / 2
            };
            let grid = BinadeGrid {
                negative,
                exponent,
                first,
                end: top,
            };
            let grid = match (f.has(grid.value(first)), f.has(grid.value(top - 1))) {
                (true, true) => grid,
                // 1 itself, at the edge of the arcs.
                (true, false) => grid.part(first, first + 1),
                _ => continue,
            };
            let (left, why) = left_to_search(f, format, &grid);
            let out = grid.len() - left.map_or(0, |g| g.len());
            all.searched.extend(left);
            if let Some(why) = why {
                match all.left_out.iter_mut().find(|w| w.0 == why) {
                    Some(w) => w.1 += u128::from(out),
                    None => all.left_out.push((why, u128::from(out))),
                }
            }
        }
    }
    let order = |g: &BinadeGrid| g.value(g.first);
    all.searched.sort_by(|a, b| order(a).total_cmp(&order(b)));
    all
}
