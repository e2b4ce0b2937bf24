//! A range in parts that are each searched in one way, at one speed.
//!
//! Where the curvature of F or the length of polynomial pieces changes a lot (next to a pole, a zero, an inflection, the
//! end of a domain, a limit), a binade is divided until probes within a part agree. This decides how large units of work
//! are and what is said about time; that nothing is missed is [`crate::leaf`]'s.
use crate::cost::{CoreSeconds, EVALUATED_S, INTERVAL_S, PIECE_S, TURNED_S, VISITED_S, WALKED_S};
use crate::format::BinadeGrid;
use crate::leaf::{LARGEST, Query};
use crate::plan::{BlockPlan, SHORTEST, visit_error};
use crate::poly::{BlockPolynomial, Poly, block, out_of_range, uniform};
use crate::rotate;
use crate::tables::{LONG_RUNS, RUN};

/// A part is one unit where no unit is smaller.
const WHOLE: u64 = 1 << 60;
/// Least arguments of a unit.
const LEAST: u64 = 1 << 18;
/// Arguments of a unit of a small format, where all are visited.
const SMALL_FORMAT: u64 = 1 << 20;
/// Seconds of a core that a unit takes, about.
const UNIT_S: f64 = 0.03;
/// A part that takes no more seconds than this is not divided further, and is one unit, whatever it has inside.
const ONE_UNIT_S: f64 = 0.25;
/// Largest ratio of costs within a part, but for its cheapest place.
const ALIKE: f64 = 2.0;
/// Places of a part that are looked at, as parts in 64 of its length: not at simple fractions, where functions have their
/// exact values and change their binades; and the ends.
const PLACES: [f64; 6] = [0.0, 11.3, 23.7, 38.9, 52.1, 64.0];
/// Windows around a place, in bits of their length, in which a polynomial is looked for.
const WINDOWS: [u32; 9] = [40, 36, 32, 28, 24, 20, 16, 12, 8];
/// Larger windows in which all arguments may be alike.
const UNIFORM_WINDOWS: [u32; 2] = [50, 45];

/// A part of a binade that is divided into equal units.
#[derive(Debug, Clone, Copy)]
pub struct PlannedPart {
    /// The arguments.
    pub grid: BinadeGrid,
    /// Arguments of a unit; units lie at multiples of it.
    pub unit: u64,
    /// What an argument takes.
    pub each: CoreSeconds,
    /// Whether all arguments are hard, or none is, as is known without a search.
    pub uniform: bool,
}

/// Divides part of a binade.
pub fn plan(q: &Query, grid: &BinadeGrid) -> Vec<PlannedPart> {
    let mut out = Vec::new();
    for g in peel(q, grid) {
        divide(q, &g, &mut out);
    }
    out
}

/// Takes off the first or last argument where the others are all alike without it: next to zero, results of
/// many functions are just below or above the argument, so those of powers of two lie in another binade.
fn peel(q: &Query, grid: &BinadeGrid) -> Vec<BinadeGrid> {
    let alike = |g: &BinadeGrid| !g.is_empty() && alike(q, g);
    if grid.len() < 3 || alike(grid) {
        return vec![*grid];
    }
    for at in [grid.first + 1, grid.end - 1] {
        let parts = [grid.part(grid.first, at), grid.part(at, grid.end)];
        if parts.iter().any(|p| p.len() > 1 && alike(p)) {
            return parts.to_vec();
        }
    }
    vec![*grid]
}

/// Whether all arguments are hard or none is, or all results are out of range.
fn alike(q: &Query, grid: &BinadeGrid) -> bool {
    q.function.beyond(grid.value(grid.first)).is_some()
        || uniform(q.function, q.format, grid, q.eps()).is_some()
        || out_of_range(q.function, q.format, grid).is_some()
}

fn divide(q: &Query, grid: &BinadeGrid, out: &mut Vec<PlannedPart>) {
    let mut part = |unit, each, uniform| {
        out.push(PlannedPart {
            grid: *grid,
            unit,
            each,
            uniform,
        });
    };
    let other = |other| CoreSeconds { tested: 0.0, other };
    let length = grid.len() as f64;
    if alike(q, grid) {
        return part(WHOLE, other(PIECE_S / length), true);
    }
    if rotate::serves(q.function, grid) {
        return part(unit(TURNED_S), other(TURNED_S), false);
    }
    if q.format.precision < 53 {
        return part(SMALL_FORMAT, other(WALKED_S), false);
    }
    let costs = PLACES.map(|place| probe(q, grid, place));
    let mut totals = costs.map(CoreSeconds::total);
    totals.sort_by(f64::total_cmp);
    // But for one: an end where a function is cheap, as at a zero, does no harm.
    let (least, most) = (totals[1], totals[PLACES.len() - 1]);
    let sum = costs.into_iter().reduce(CoreSeconds::plus);
    let mean = sum.map_or(other(most), |s| s.times(1.0 / PLACES.len() as f64));
    if most <= ALIKE * least {
        return part(unit(most), mean, false);
    }
    if most * length <= ONE_UNIT_S || grid.len() <= LEAST {
        return part(WHOLE, mean, false);
    }
    let at = grid.round_middle();
    divide(q, &grid.part(grid.first, at), out);
    divide(q, &grid.part(at, grid.end), out);
}

/// Arguments of a unit where one takes so long: a power of two.
fn unit(each_s: f64) -> u64 {
    let most = (UNIT_S / each_s).clamp(LEAST as f64, WHOLE as f64) as u64;
    1 << (63 - most.leading_zeros())
}

/// What an argument takes at a place.
fn probe(q: &Query, grid: &BinadeGrid, place: f64) -> CoreSeconds {
    let at = grid.first + ((place / 64.0 * grid.len() as f64) as u64).min(grid.len() - 1);
    let window = |bits: u32| {
        let length = (1u64 << bits).min(grid.len());
        let first = at.saturating_sub(length / 2);
        let first = first.clamp(grid.first, grid.end - length);
        grid.part(first, first + length)
    };
    let other = |other| CoreSeconds { tested: 0.0, other };
    let mut looked_at = u64::MAX;
    for bits in WINDOWS {
        let g = window(bits);
        // The same window as the one before, where the part is short.
        if g.len() == looked_at {
            continue;
        }
        looked_at = g.len();
        match block(q.function, q.format, &g) {
            BlockPolynomial::Smooth(poly) => {
                if poly.uniform(q.eps()).is_none() {
                    return smooth(q, &poly, g.len());
                }
                let long = |b: &u32| uniform(q.function, q.format, &window(*b), q.eps()).is_some();
                let bits = UNIFORM_WINDOWS.into_iter().find(long).unwrap_or(bits);
                return other(PIECE_S / window(bits).len() as f64);
            }
            BlockPolynomial::Overflow | BlockPolynomial::Underflow => {
                let out = |b: &u32| out_of_range(q.function, q.format, &window(*b)).is_some();
                let bits = UNIFORM_WINDOWS.into_iter().find(out).unwrap_or(bits);
                return other(PIECE_S / window(bits).len() as f64);
            }
            BlockPolynomial::Coarse => {}
        }
    }
    other(EVALUATED_S)
}

/// What an argument takes where a polynomial describes `length` of them, or a few times as many.
fn smooth(q: &Query, poly: &Poly, length: u64) -> CoreSeconds {
    let piece = PIECE_S / length as f64;
    let several = length.saturating_mul(8).min(LARGEST);
    let Some(plan) = BlockPlan::new(poly, q.eps(), several) else {
        let each = match visit_error(poly) < 1e-3 {
            true => VISITED_S,
            false => WALKED_S,
        };
        return CoreSeconds {
            tested: 0.0,
            other: each + piece,
        };
    };
    let n = plan.levels[0].n;
    let test = INTERVAL_S / n as f64;
    // A GPU has long sub-blocks; what does not fill one with the shortest intervals is the processor's.
    match ((LONG_RUNS * RUN) as u64) << SHORTEST <= several {
        true => CoreSeconds {
            tested: test,
            other: piece,
        },
        false => CoreSeconds {
            tested: 0.0,
            other: test + piece,
        },
    }
}
