//! A certificate checked on another way: MPFR at single arguments, chords instead of tangents, the test in
//! integers, and enclosures of what is said to be uniform. Nothing of the search's polynomials, tables or vectors is used.
use crate::certificate::{CertificateRecord, Header, Written};
use crate::confirm::value;
use crate::format::{BinadeGrid, hex, parse};
use crate::group::{GroupRecord, PiecesDigest};
use crate::interval::MpfrInterval;
use crate::leaf::{Piece, PieceMethod, Query, describe};
use crate::lsg::least;
use crate::plan::SPLITS;
use crate::unit_set::UnitSet;
use crate::units::{Units, expected};
use rug::float::Round;
use rug::{Float, Integer};
use std::collections::BTreeSet;

/// Bits of values: 53 before the point, and enough behind it.
const PRECISION: u32 = 256;
/// Arguments tried in pieces that are uniform, walked or evaluated.
const TRIED: u64 = 32;
/// How often a piece that is said to be uniform is divided until an enclosure tells.
const DIVIDED: u32 = 12;

/// Largest departure of F from a chord of a visited piece, and lengths of such chords.
const FARTHEST: f64 = 1.0 / 64.0;
const LONGEST: f64 = 65536.0;
const SHORTEST: f64 = 8.0;

/// What was checked, and what is wrong.
#[derive(Debug, Clone, Default)]
pub struct CertificateVerdict {
    /// Units whose line is there and right.
    pub units: u64,
    /// Units missing.
    pub missing: u64,
    /// Hard cases computed again.
    pub cases: u64,
    /// Stretches of arguments searched again.
    pub stretches: u64,
    /// Arguments in them.
    pub arguments: u128,
    /// Arguments evaluated.
    pub evaluated: u64,
    /// Pieces proven to be uniform, as the certificate says.
    pub uniform: u64,
    /// Hard cases in what was searched by the test.
    pub tested_cases: u64,
    /// Hard cases that chance would give in what was searched; none where all of some piece is hard.
    pub expected: f64,
    /// What is wrong, in words.
    pub mistakes: Vec<String>,
}

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

/// Checks a record; in each piece `samples` stretches are searched again, at places drawn by `seed`, or one after the other
/// where so many cover the piece.
pub fn verify(record: &CertificateRecord, samples: u64, seed: u64) -> CertificateVerdict {
    let mut v = CertificateVerdict::default();
    let h = &record.header;
    let Some((q, ..)) = h.query() else {
        v.mistakes
            .push("the header names an unknown function, format or number".into());
        return v;
    };
    let units = match Units::from_header(h, &q) {
        Ok(u) => u,
        Err(e) => {
            v.mistakes.push(e.to_string());
            return v;
        }
    };
    if units.len() != h.units {
        v.mistakes.push(format!(
            "the range has {} units, the header says {}",
            units.len(),
            h.units
        ));
    }
    let mut seen = UnitSet::default();
    let mut places = Places(seed);
    for g in &record.groups {
        let range = g.range();
        if range.is_empty() || range.end > units.len() {
            v.mistakes
                .push(format!("{} are not of this range", numbers(g)));
        } else if seen.count_in(&range) > 0 {
            v.mistakes.push(format!("{} are there twice", numbers(g)));
        } else {
            group(&q, &units, g, (samples, &mut places), &mut v);
            seen.insert(range);
        }
    }
    v.units = seen.len();
    v.missing = units.len().saturating_sub(v.units);
    if v.missing > 0 {
        v.mistakes.push(format!(
            "{} of {} units are missing",
            v.missing,
            units.len()
        ));
    }
    deviation(h, record, &mut v);
    v
}

/// The units of a group, in words.
fn numbers(g: &GroupRecord) -> String {
    format!("units {} to {}", g.unit, g.range().end.saturating_sub(1))
}

/// How many cases chance would give where arguments were searched.
fn deviation(h: &Header, record: &CertificateRecord, v: &mut CertificateVerdict) {
    let searched = |g: &GroupRecord| {
        let of = |name: &str| u128::from(g.methods.get(name).copied().unwrap_or(0));
        of("test") + of("walk")
    };
    v.expected = expected(record.groups.iter().map(searched).sum(), h.bits);
}

/// Whether the counts of a group fit each other and its tests, and the bounds of the tests what they have to be.
fn counts(g: &GroupRecord, v: &mut CertificateVerdict) {
    let c = &g.counts;
    let parts = SPLITS
        .iter()
        .enumerate()
        .all(|(l, n)| c.failed[l].checked_mul(*n) == Some(c.tested[l + 1]));
    let failed = c.failed.iter().zip(c.tested).all(|(f, t)| *f <= t);
    let tested = g.methods.get("test").copied().unwrap_or(0);
    let longest = g.tests.iter().map(|t| t.n).max().unwrap_or(0);
    let reached = u128::from(c.tested[0]) * u128::from(longest)
        + u128::from(c.walked)
        + u128::from(c.evaluated);
    if !parts || !failed || reached < u128::from(tested) {
        v.mistakes.push(format!(
            "{}: the counts of the phases do not fit each other",
            numbers(g)
        ));
    }
    // NaN is wrong too.
    if !g.tests.iter().all(|t| t.margin >= 1.0) {
        v.mistakes.push(format!(
            "{}: a bound of the test is less than it has to be",
            numbers(g)
        ));
    }
}

/// Whether a case is what its line says; gives its argument's bits.
fn case(q: &Query, line: &str, v: &mut CertificateVerdict) -> Option<u64> {
    v.cases += 1;
    let written = Written::from_line(line);
    let x = written.as_ref().and_then(|c| parse(&c.x));
    let place = x.and_then(|x| Some((x, q.format.split(x)?)));
    let Some((c, (x, (m, exponent)))) = written.as_ref().zip(place) else {
        v.mistakes.push(format!("{line:?} is not a case"));
        return None;
    };
    let grid = BinadeGrid {
        negative: x < 0.0,
        exponent,
        first: m,
        end: m + 1,
    };
    let again = value(q.function, q.format, &grid.float(m, 64));
    let right = again.is_ok_and(|w| {
        w.k == Some(c.k)
            && c.k >= q.bits
            && u8::from(w.ones) == c.repeated
            && u8::from(w.round_bit) == c.round_bit
            && w.exponent == c.binade
    });
    if !right {
        v.mistakes
            .push(format!("{} is not the case that its line says", c.x));
    }
    Some(x.to_bits())
}

fn group(
    q: &Query,
    units: &Units,
    g: &GroupRecord,
    (samples, places): (u64, &mut Places),
    v: &mut CertificateVerdict,
) {
    counts(g, v);
    let cases = g.cases.iter().filter_map(|line| case(q, line, v));
    let known: BTreeSet<u64> = cases.collect();
    if known.len() != g.cases.len() {
        v.mistakes.push(format!("{} list a case twice", numbers(g)));
    }
    let (mut length, mut inside) = (0, 0);
    let mut digest = PiecesDigest::default();
    for grid in g.range().map_while(|i| units.get(i)) {
        length += grid.len();
        let ends = [grid.value(grid.first).abs(), grid.value(grid.end - 1).abs()];
        let negative = grid.negative;
        let here = |x: &&u64| {
            let x = f64::from_bits(**x);
            (x < 0.0) == negative && (ends[0]..=ends[1]).contains(&x.abs())
        };
        inside += known.iter().filter(here).count();
        let pieces = describe(q, &grid);
        digest.add(&pieces);
        for p in &pieces {
            let part = grid.part(p.first, p.first + p.length);
            piece(q, &part, p, &known, (samples, places), v);
        }
    }
    let mut wrong = |what: &str| v.mistakes.push(format!("{}: {what}", numbers(g)));
    if inside != known.len() {
        wrong("a case is not among their arguments");
    }
    if length != g.length
        || units.get(g.unit).map(|u| hex(u.value(u.first))) != Some(g.first.clone())
    {
        wrong("arguments are left out, or are not theirs");
    }
    if digest.text() != g.pieces {
        wrong("the pieces with their bounds of F'' are not those that the function has there");
    }
}

fn piece(
    q: &Query,
    grid: &BinadeGrid,
    p: &Piece,
    known: &BTreeSet<u64>,
    (samples, places): (u64, &mut Places),
    v: &mut CertificateVerdict,
) {
    if p.method == PieceMethod::Walk {
        let (low, high) = (grid.value(grid.first).abs(), grid.value(grid.end - 1).abs());
        let inside = |x: &&u64| (low..=high).contains(&f64::from_bits(**x).abs());
        v.tested_cases += known.iter().filter(inside).count() as u64;
        if let Some(n) = chord(p) {
            curvature(q, grid, p, places, v);
            return stretches(q, grid, p, n, known, (samples, places), v);
        }
    }
    if matches!(p.method, PieceMethod::AllHard | PieceMethod::NoneHard)
        && q.function.beyond(grid.value(grid.first)).is_none()
    {
        if uniform(q, grid, DIVIDED) == Some(p.method == PieceMethod::AllHard) {
            v.uniform += 1;
        } else {
            v.mistakes.push(format!(
                "piece from {}: that all its arguments are alike ({:?}) cannot be proven",
                hex(grid.value(grid.first)),
                p.method
            ));
        }
    }
    single_values(q, grid, p, known, (samples, places), v);
}

/// Tries single arguments; all of a piece where so much is asked for and nothing else proves it.
fn single_values(
    q: &Query,
    grid: &BinadeGrid,
    p: &Piece,
    known: &BTreeSet<u64>,
    (samples, places): (u64, &mut Places),
    v: &mut CertificateVerdict,
) {
    let proven = !matches!(p.method, PieceMethod::Walk | PieceMethod::Evaluate);
    let all = samples >= grid.len() && !proven;
    let tried = if all {
        grid.len()
    } else {
        TRIED.min(grid.len())
    };
    for i in 0..tried {
        let m = match all {
            true => grid.first + i,
            false => grid.first + places.below(grid.len()),
        };
        v.evaluated += 1;
        let hard = value(q.function, q.format, &grid.float(m, 64));
        let listed = known.contains(&grid.value(m).to_bits());
        let right = match (p.method, hard.map(|w| w.k)) {
            (PieceMethod::Overflow | PieceMethod::Underflow, r) => r.is_err(),
            (PieceMethod::AllHard, r) => {
                r.is_err() || matches!(r, Ok(k) if k.is_none_or(|k| k >= q.bits))
            }
            (PieceMethod::NoneHard, Ok(k)) => k.is_some_and(|k| k < q.bits),
            (_, Ok(Some(k))) => listed == (k >= q.bits),
            (_, _) => !listed,
        };
        if !right {
            v.mistakes.push(format!(
                "{} is not as its piece says ({:?})",
                hex(grid.value(m)),
                p.method
            ));
        }
    }
}

/// Searches stretches of n arguments of a piece again: so many at random, or one after the other where they cover it.
fn stretches(
    q: &Query,
    grid: &BinadeGrid,
    p: &Piece,
    n: u64,
    known: &BTreeSet<u64>,
    (samples, places): (u64, &mut Places),
    v: &mut CertificateVerdict,
) {
    let length = n.min(grid.len());
    let all = grid.len().div_ceil(length);
    for i in 0..samples.min(all) {
        let first = match samples >= all {
            true => (grid.first + i * length).min(grid.end - length),
            false => grid.first + places.below(grid.len() - length + 1),
        };
        stretch(q, &grid.part(first, first + length), p, known, v);
    }
}

/// Arguments of a chord from which a visited piece departs little; none where that is too few.
fn chord(p: &Piece) -> Option<u64> {
    let (low, high) = p.second?;
    let bend = low.abs().max(high.abs());
    let n = (8.0 * FARTHEST / bend).sqrt().min(LONGEST);
    (n >= SHORTEST).then_some(n as u64)
}

/// Whether F comes within eps of an integer at all arguments (true) or at none (false), divided until enclosures tell.
fn uniform(q: &Query, grid: &BinadeGrid, depth: u32) -> Option<bool> {
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
    let (low, high) = (value - spread * (1.0 + 1e-9), value + spread * (1.0 + 1e-9));
    // NaN tells nothing.
    match (high < q.eps() * (1.0 - 1e-9), low > q.eps() * (1.0 + 1e-9)) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    }
}

/// F at an argument, in half units of the last place of its own result.
fn half_units(q: &Query, grid: &BinadeGrid, m: u64) -> Option<(Float, i32)> {
    let mut y = grid.float(m, PRECISION);
    q.function.apply(&mut y, Round::Nearest);
    let ulp = q.format.ulp(y.get_exp()? - 1);
    Some((y.abs() << (1 - ulp), ulp))
}

/// Whether the bounds of F'' hold where it is tried: a second difference is a value of F'' somewhere between.
fn curvature(
    q: &Query,
    grid: &BinadeGrid,
    p: &Piece,
    places: &mut Places,
    v: &mut CertificateVerdict,
) {
    let mut wrong = |what: &str| {
        v.mistakes.push(format!(
            "piece from {}: {what}",
            hex(grid.value(grid.first))
        ));
    };
    let Some((low, high)) = p.second else { return };
    let h = (grid.len() / 8).min(1 << 24);
    for _ in 0..4 {
        if h == 0 {
            break;
        }
        let m = grid.first + h + places.below(grid.len() - 2 * h);
        let f = [m - h, m, m + h].map(|m| half_units(q, grid, m));
        let [Some(a), Some(b), Some(c)] = f else {
            return wrong("a value is not finite");
        };
        if a.1 != b.1 || b.1 != c.1 {
            return wrong("the results are not of one binade");
        }
        let sum = Float::with_val(PRECISION, &a.0 + &c.0);
        let twice: Float = b.0.clone() << 1;
        let second = Float::with_val(PRECISION, &sum - &twice).to_f64() / (h as f64).powi(2);
        let slack = 1e-9 * second.abs();
        if second < low - slack || second > high + slack {
            wrong("F'' leaves its bounds");
        }
    }
}

/// A number's fraction in 64 bits, rounded down.
fn fraction(x: &Float) -> u64 {
    let scaled: Float = x.clone() << 64;
    let i = scaled
        .to_integer_round(Round::Down)
        .map_or(Integer::new(), |r| r.0);
    let modulus: Integer = Integer::from(1) << 64;
    let i: Integer = (i % &modulus + &modulus) % modulus;
    i.to_u64().unwrap_or(0)
}

/// Searches arguments with the chord between the ends, and with the parabola through the middle where the
/// chord comes near an integer.
fn stretch(
    q: &Query,
    grid: &BinadeGrid,
    p: &Piece,
    known: &BTreeSet<u64>,
    v: &mut CertificateVerdict,
) {
    let n = grid.len();
    v.stretches += 1;
    v.arguments += u128::from(n);
    let (Some((low, high)), true) = (p.second, n > 2) else {
        return;
    };
    let ends = [grid.first, grid.first + n / 2, grid.end - 1].map(|m| half_units(q, grid, m));
    let [Some((a, _)), Some((b, _)), Some((c, _))] = ends else {
        v.mistakes.push(format!(
            "{}: a value is not finite",
            hex(grid.value(grid.first))
        ));
        return;
    };
    let slope = Float::with_val(PRECISION, &c - &a) / (n - 1);
    // F lies between the chord and the chord less F'' n^2/8.
    let square = (n as f64).powi(2) / 8.0;
    let (below, above) = (high.max(0.0) * square, -low.min(0.0) * square);
    let error = (n as f64) * 2f64.powi(-62);
    let shift = q.eps() + error + above;
    // Values of the chord that may hide a hard case lie in (-eps - above, eps + below) around integers.
    let d = 2.0 * (q.eps() + error) + below + above;
    let offset = Float::with_val(PRECISION, shift);
    let start = fraction(&(a.clone() + &offset));
    let step = fraction(&slope);
    let limit = (d * 2f64.powi(64)) as u64 + 1;
    if least(step, start, n) >= limit {
        return;
    }
    // Parabola through three points, by divided differences.
    let h = (n / 2) as f64;
    let first = Float::with_val(PRECISION, &b - &a) / (n / 2);
    let rest = Float::with_val(PRECISION, &c - &b) / (n - 1 - n / 2);
    let bend = ((rest - &first) / (n - 1)).to_f64();
    let third = (high - low) / grid.len().max(p.length) as f64 * 4.0;
    let near =
        (q.eps() + error + third.abs() * h.powi(3) + 1e-12 * square * (high.abs() + low.abs()))
            * 2f64.powi(64);
    let (z0, slope) = (fraction(&a), fraction(&first));
    let mut z = start;
    for j in 0..n {
        if z < limit {
            let t = j as f64 * (j as f64 - h);
            let curve = (bend * t * 2f64.powi(64)) as i64 as u64;
            let exact = z0.wrapping_add(slope.wrapping_mul(j)).wrapping_add(curve);
            if (exact as i64).unsigned_abs() as f64 <= near {
                let m = grid.first + j;
                v.evaluated += 1;
                let hard = value(q.function, q.format, &grid.float(m, 64));
                let hard = hard.is_ok_and(|w| w.k.is_some_and(|k| k >= q.bits));
                if hard && !known.contains(&grid.value(m).to_bits()) {
                    v.mistakes
                        .push(format!("{} is hard and not listed", hex(grid.value(m))));
                }
            }
        }
        z = z.wrapping_add(step);
    }
}
