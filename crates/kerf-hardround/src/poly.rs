//! A block of arguments as a polynomial modulo 1, with proven bounds.
//!
//! For arguments `x = m 2^e` of one grid and results with one unit in the last place, let `F(m)` be the
//! value in units of half that. An argument is hard to round when F is near an integer, so F counts modulo
//! 1 only, and since `m` is an integer, so do the coefficients of a polynomial in it. They are held in 320
//! bits after the point; every shift of the polynomial is then exact.
use crate::format::{BinadeGrid, BinaryFormat};
use crate::function::ElementaryFunction;
use crate::interval::MpfrInterval;
use crate::wide::{BITS, Wide};
use rug::Float;
use rug::float::Round;

/// Degree of the polynomials.
pub const DEGREE: usize = 7;
/// Largest error of a block's polynomial: far below what the search can see.
pub const TOLERANCE: f64 = 1.0 / (1u64 << 58) as f64;
/// Bits of the coefficients' enclosures: 53 before the point, and as many again as errors may take.
const PRECISION: u32 = 256;
/// Bits of enclosures over whole blocks.
const COARSE: u32 = 96;
/// Slack for f64 arithmetic on bounds: some dozens of operations of relative error 2^-53.
pub const SLACK: f64 = 1.0 + 1e-12;

/// F over one block, as a polynomial in `m - middle`.
#[derive(Debug, Clone)]
pub struct Poly {
    /// Coefficients modulo 1.
    pub c: [Wide; DEGREE + 1],
    /// Bounds of the magnitudes of the coefficients themselves.
    pub size: [f64; DEGREE + 1],
    /// The coefficients themselves, to 1 part in 2^50.
    pub near: [f64; DEGREE + 1],
    /// The argument that it is centred on.
    pub middle: u64,
    /// Largest distance from the middle for which the bounds hold.
    pub reach: u64,
    /// Bound of |F - polynomial|.
    pub error: f64,
}

/// What a block is.
#[derive(Debug, Clone)]
pub enum BlockPolynomial {
    /// A polynomial describes it.
    Smooth(Box<Poly>),
    /// Every result is beyond the largest number.
    Overflow,
    /// Every result is below a quarter of the smallest number: far from half of it, which rounds either way.
    Underflow,
    /// The enclosures say too little: split it.
    Coarse,
}

/// The exponent of the unit in the last place on an enclosure without zero; none if it is not one.
fn unit(format: BinaryFormat, v: &MpfrInterval) -> Option<i32> {
    if v.has_zero() {
        return None;
    }
    let (near, far) = match v.lo > 0 {
        true => (v.lo.clone(), v.hi.clone()),
        false => (-v.hi.clone(), -v.lo.clone()),
    };
    let exponent = |f: &Float| f.get_exp().map(|e| e - 1);
    // A far end that is exactly a power of two belongs to the next binade.
    let (a, b) = (format.ulp(exponent(&near)?), format.ulp(exponent(&far)?));
    (a == b).then_some(a)
}

/// Describes the arguments of `grid`.
pub fn block(f: ElementaryFunction, format: BinaryFormat, grid: &BinadeGrid) -> BlockPolynomial {
    describe(f, format, grid).unwrap_or(BlockPolynomial::Coarse)
}

/// What both descriptions start from.
struct Prepared {
    wide: Vec<MpfrInterval>,
    middle: u64,
    reach: u64,
    ulp: i32,
    negative: bool,
}

enum Preparation {
    Ready(Prepared),
    Out(BlockPolynomial),
}

/// Derivatives over the whole block, and the unit of its results, if they have one.
fn prepare(
    f: ElementaryFunction,
    format: BinaryFormat,
    grid: &BinadeGrid,
    degree: usize,
) -> Option<Preparation> {
    let last = grid.end - 1;
    let middle = grid.first + grid.len() / 2;
    let reach = (middle - grid.first).max(last - middle).max(1);
    // Next to zero, 1 - x^2 and 1 have to be told apart.
    let lead = grid.exponent + 63 - grid.first.max(1).leading_zeros() as i32;
    // And so have a limit and values next to it.
    let precision = COARSE + 2 * lead.min(0).unsigned_abs() + f.limit_bits(grid.value(last));
    let (near, far) = (
        grid.float(grid.first, precision),
        grid.float(last, precision),
    );
    let whole = match grid.negative {
        false => MpfrInterval::new(&near, &far, precision),
        true => MpfrInterval::new(&far, &near, precision),
    };
    let wide = f.taylor(&whole, degree)?;
    let range = values(f, &whole, &wide)?;
    if range.lo.get_exp()? > format.highest + 1
        && range.hi.get_exp()? > format.highest + 1
        && !range.has_zero()
    {
        return Some(Preparation::Out(BlockPolynomial::Overflow));
    }
    match [&range.lo, &range.hi].map(|v| v.get_exp().is_some_and(|e| e < format.lowest - 1)) {
        [true, true] => return Some(Preparation::Out(BlockPolynomial::Underflow)),
        [false, false] => {}
        _ => return None,
    }
    Some(Preparation::Ready(Prepared {
        ulp: unit(format, &range)?,
        negative: range.hi < 0,
        wide,
        middle,
        reach,
    }))
}

impl Prepared {
    /// Coefficient d of F in m: half units of the result, 2^(e d) of the argument, and the signs.
    fn scaled(&self, grid: &BinadeGrid, v: &MpfrInterval, d: usize) -> MpfrInterval {
        let v = v.shift(grid.exponent * d as i32 + 1 - self.ulp);
        match self.negative ^ (grid.negative && d % 2 == 1) {
            true => v.neg(),
            false => v,
        }
    }
}

fn describe(
    f: ElementaryFunction,
    format: BinaryFormat,
    grid: &BinadeGrid,
) -> Option<BlockPolynomial> {
    let p = match prepare(f, format, grid, DEGREE + 1)? {
        Preparation::Ready(p) => p,
        Preparation::Out(b) => return Some(b),
    };
    let at = grid.float(p.middle, PRECISION);
    let point = f.taylor(&MpfrInterval::point(&at, PRECISION), DEGREE)?;
    let mut poly = Poly {
        c: [Wide::ZERO; DEGREE + 1],
        size: [0.0; DEGREE + 1],
        near: [0.0; DEGREE + 1],
        middle: p.middle,
        reach: p.reach,
        error: 0.0,
    };
    let mut power = 1.0;
    for (d, v) in point.iter().enumerate() {
        let v = p.scaled(grid, v, d);
        poly.c[d] = Wide::from_float(&v.lo);
        poly.size[d] = v.magnitude();
        poly.error += (v.width() + 2f64.powi(-BITS)) * power;
        poly.near[d] = v.lo.to_f64_round(Round::Nearest);
        power *= p.reach as f64;
    }
    let rest = p.scaled(grid, &p.wide[DEGREE + 1], DEGREE + 1);
    poly.error += rest.magnitude() * power;
    poly.error *= SLACK;
    // NaN fails too.
    (poly.error <= TOLERANCE).then(|| BlockPolynomial::Smooth(Box::new(poly)))
}

/// Whether all results of a grid of any length are beyond the largest number, or below a quarter of the smallest: then
/// which of the two.
pub fn out_of_range(
    f: ElementaryFunction,
    format: BinaryFormat,
    grid: &BinadeGrid,
) -> Option<BlockPolynomial> {
    match prepare(f, format, grid, 1)? {
        Preparation::Out(b) => Some(b),
        Preparation::Ready(_) => None,
    }
}

/// What decides on the unit of a result: its sign, and the unit's exponent, or that the result is out of range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ResultClass {
    negative: bool,
    ulp: i32,
}

fn class(
    f: ElementaryFunction,
    format: BinaryFormat,
    grid: &BinadeGrid,
    m: u64,
) -> Option<ResultClass> {
    let mut y = grid.float(m, 64);
    // Truncated: the exponent is that of the value.
    f.apply(&mut y, Round::Zero);
    let e = y.get_exp()? - 1;
    let ulp = match e {
        e if e > format.highest => i32::MAX,
        e if e < format.lowest - 2 => i32::MIN,
        e => format.ulp(e),
    };
    Some(ResultClass {
        negative: y.is_sign_negative(),
        ulp,
    })
}

/// The first argument whose result has another unit than those before it, where the function is monotonic on the grid
/// and there is one. A good place to divide, whatever is said here of the function.
pub fn edge(f: ElementaryFunction, format: BinaryFormat, grid: &BinadeGrid) -> Option<u64> {
    let (mut low, mut high) = (grid.first, grid.end - 1);
    let first = class(f, format, grid, low)?;
    if class(f, format, grid, high)? == first {
        return None;
    }
    let ends = [low, high].map(|m| grid.float(m, COARSE));
    let whole = match grid.negative {
        false => MpfrInterval::new(&ends[0], &ends[1], COARSE),
        true => MpfrInterval::new(&ends[1], &ends[0], COARSE),
    };
    if f.taylor(&whole, 1)?[1].has_zero() {
        return None;
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        match class(f, format, grid, middle) == Some(first) {
            true => low = middle,
            false => high = middle,
        }
    }
    Some(high)
}

/// Whether all arguments of a grid of any length have F within `eps` of an integer (true) or none has
/// (false), by a line and a bound of F''; none where that does not tell.
pub fn uniform(
    f: ElementaryFunction,
    format: BinaryFormat,
    grid: &BinadeGrid,
    eps: f64,
) -> Option<bool> {
    let Preparation::Ready(p) = prepare(f, format, grid, 2)? else {
        return None;
    };
    let at = grid.float(p.middle, PRECISION);
    let point = f.taylor(&MpfrInterval::point(&at, PRECISION), 1)?;
    let reach = p.reach as f64;
    let [value, slope] = [0, 1].map(|d| p.scaled(grid, &point[d], d));
    let error = value.width() + slope.width() * reach + 2f64.powi(-BITS) * (1.0 + reach);
    let curve = p.scaled(grid, &p.wide[2], 2).magnitude() * reach * reach;
    let spread = error + curve + Wide::from_float(&slope.lo).distance() * reach;
    within(Wide::from_float(&value.lo).distance(), spread, eps)
}

/// Whether all values within `spread` of one at this distance from the integers are within `eps` of them,
/// or none is.
fn within(distance: f64, spread: f64, eps: f64) -> Option<bool> {
    let low = distance * (1.0 - 1e-11) - 2f64.powi(-120) - spread * SLACK;
    let high = (distance + spread) * SLACK;
    match (high < eps, low > eps) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    }
}

/// The values over an interval: from the ends where the derivative has one sign.
fn values(
    f: ElementaryFunction,
    x: &MpfrInterval,
    taylor: &[MpfrInterval],
) -> Option<MpfrInterval> {
    if taylor[1].has_zero() {
        return Some(taylor[0].clone());
    }
    let apply = |a: &mut Float, r| f.apply(a, r);
    let v = match taylor[1].lo > 0 {
        true => x.rising(apply),
        false => x.falling(apply),
    };
    v.is_sound().then_some(v)
}

impl Poly {
    /// Bound of the d-th derivative over the block.
    pub fn derivative(&self, d: usize) -> f64 {
        let mut sum = 0.0;
        let mut power = 1.0;
        for k in d..=DEGREE {
            let falling: f64 = (k - d + 1..=k).map(|i| i as f64).product();
            sum += falling * self.size[k] * power;
            power *= self.reach as f64;
        }
        sum * SLACK
    }

    /// Bounds of F'' (of the polynomial) over the block: low and high.
    pub fn curvature(&self) -> (f64, f64) {
        let slope = self.derivative(3) * self.reach as f64;
        let middle = 2.0 * self.near[2];
        let around = slope + 2.0 * self.size[2] * 1e-12;
        (middle - around, middle + around)
    }

    /// F'' (of the polynomial) at one argument, and a bound of the error of that.
    pub fn second(&self, at: u64) -> (f64, f64) {
        let w = at.wrapping_sub(self.middle) as i64 as f64;
        let mut sum = 0.0;
        let mut size = 0.0;
        for k in (2..=DEGREE).rev() {
            let falling = (k * (k - 1)) as f64;
            sum = sum * w + falling * self.near[k];
            size = size * w.abs() + falling * self.size[k];
        }
        (sum, size * 1e-12)
    }

    /// Whether F at an argument may be within `eps` of an integer.
    pub fn near(&self, m: u64, eps: f64) -> bool {
        let w = m.wrapping_sub(self.middle) as i64;
        let value = self
            .c
            .iter()
            .rev()
            .fold(Wide::ZERO, |v, c| v.times(w).plus(*c));
        // Distances are known to 2^-128: exact cases count at any eps.
        value.distance() * (1.0 - 1e-11) <= eps + self.error + 2f64.powi(-120)
    }

    /// The polynomial in `m - at`.
    pub fn around(&self, at: u64) -> [Wide; DEGREE + 1] {
        shift(&self.c, at.wrapping_sub(self.middle) as i64)
    }

    /// How far values are from the one in the middle at most, modulo 1.
    pub fn spread(&self) -> f64 {
        let mut spread = self.error;
        let mut power = 1.0;
        for d in 1..=DEGREE {
            power *= self.reach as f64;
            // Coefficients count modulo 1, to 128 bits; or as they are.
            spread += self.c[d].distance().min(self.size[d]) * power;
        }
        spread
    }
    /// Bounds of F modulo 1 over the block, as a distance from the value in the middle: if the whole block
    /// stays within `eps` of integers, or stays away from them, no search is needed.
    pub fn uniform(&self, eps: f64) -> Option<bool> {
        within(self.c[0].distance(), self.spread(), eps)
    }
}

/// p(w + t) as a polynomial in w, modulo 1.
pub fn shift(p: &[Wide; DEGREE + 1], t: i64) -> [Wide; DEGREE + 1] {
    let mut c = *p;
    for i in 0..DEGREE {
        for k in (i..DEGREE).rev() {
            c[k] = c[k].plus(c[k + 1].times(t));
        }
    }
    c
}
