//! Proofs that all arguments of a part of a binade are alike: all hard, none hard, or all out of range.
use crate::format::BinadeGrid;
use crate::interval::MpfrInterval;
use crate::leaf::Query;
use rug::Float;

/// Bits of enclosures: 53 before the point, and enough behind it.
const PRECISION: u32 = 256;
/// For a dozen operations of relative error 2^-53 on bounds. Less than the 1e-11 that a search leaves: what is proven there has to be
/// provable here.
const SLACK: f64 = 1e-12;

/// Whether F comes within eps of an integer at all arguments (true) or at none (false), divided until enclosures tell.
pub fn uniform(q: &Query, grid: &BinadeGrid, depth: u32) -> Option<bool> {
    if let Some(alike) = enclosed(q, grid) {
        return Some(alike);
    }
    if depth == 0 || grid.len() < 2 {
        return None;
    }
    let at = grid.first + grid.len() / 2;
    let first = uniform(q, &grid.part(grid.first, at), depth - 1)?;
    (uniform(q, &grid.part(at, grid.end), depth - 1)? == first).then_some(first)
}

/// The same by one enclosure: value and slope in the middle, F'' over all. Arguments are whole numbers, so each counts modulo 1.
fn enclosed(q: &Query, grid: &BinadeGrid) -> Option<bool> {
    let (last, middle) = (grid.end - 1, grid.first + grid.len() / 2);
    // Next to zero, 1 and 1 - x^2 have to be told apart; and so have a limit and values next to it.
    let lead = grid.exponent + 63 - grid.first.max(1).leading_zeros() as i32;
    let precision =
        PRECISION + 2 * lead.min(0).unsigned_abs() + q.function.limit_bits(grid.value(last));
    let at = |m: u64| grid.float(m, precision);
    let ordered = |a: &Float, b: &Float| match grid.negative {
        false => MpfrInterval::new(a, b, precision),
        true => MpfrInterval::new(b, a, precision),
    };
    let bend = q.function.taylor(&ordered(&at(grid.first), &at(last)), 2)?;
    let bend = bend.last()?;
    let point = q
        .function
        .taylor(&MpfrInterval::point(&at(middle), precision), 1)?;
    let away = ordered(&(at(grid.first) - at(middle)), &(at(last) - at(middle)));
    let values = point[0]
        .add(&point[1].mul(&away))
        .add(&bend.mul(&away.mul(&away)));
    if values.has_zero() {
        return None;
    }
    let unit = |y: &Float| Some(q.format.ulp(y.get_exp()? - 1));
    let ulp = unit(&values.lo)?;
    if unit(&values.hi)? != ulp {
        return None;
    }
    // Modulo 1: the largest distance from the integer nearest to one end.
    let rest = |v: &MpfrInterval, d: i32| {
        let v = v.shift(grid.exponent * d + 1 - ulp);
        let whole = v.lo.clone().round();
        let r = v.sub(&MpfrInterval::point(&whole, precision));
        (r.magnitude(), v.width())
    };
    let reach = (middle - grid.first).max(last - middle) as f64;
    let (value, width) = rest(&point[0], 0);
    let spread = width + rest(&point[1], 1).0 * reach + rest(bend, 2).0 * reach * reach;
    let (low, high) = (
        value - spread * (1.0 + SLACK),
        value + spread * (1.0 + SLACK),
    );
    // NaN tells nothing.
    match (
        high < q.eps() * (1.0 - SLACK),
        low > q.eps() * (1.0 + SLACK),
    ) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    }
}

/// Whether all results are beyond the largest number (`overflow`), or all below a quarter of the smallest.
pub fn out_of_range(q: &Query, grid: &BinadeGrid, overflow: bool, depth: u32) -> bool {
    let ends = [grid.first, grid.end - 1].map(|m| grid.float(m, PRECISION));
    let over = match grid.negative {
        false => MpfrInterval::new(&ends[0], &ends[1], PRECISION),
        true => MpfrInterval::new(&ends[1], &ends[0], PRECISION),
    };
    let values = q
        .function
        .taylor(&over, 1)
        .and_then(|all| all.into_iter().next());
    let outside = values.filter(MpfrInterval::is_sound).is_some_and(|v| {
        let far = |y: &Float| match (overflow, y.get_exp()) {
            (true, Some(e)) => e - 1 > q.format.highest,
            (false, Some(e)) => e - 1 < q.format.lowest - 2,
            // Zero is not beyond the largest number.
            (overflow, None) => !overflow,
        };
        far(&v.lo) && far(&v.hi) && (!overflow || !v.has_zero())
    });
    if outside || depth == 0 || grid.len() < 2 {
        return outside;
    }
    let at = grid.first + grid.len() / 2;
    out_of_range(q, &grid.part(grid.first, at), overflow, depth - 1)
        && out_of_range(q, &grid.part(at, grid.end), overflow, depth - 1)
}
