//! The search a second time, by a method of its own, for verification: MPFR values at five arguments of a block, the
//! polynomial through them, and Lefevre's test in 64-bit integers on its tangents.
//!
//! Let t be an argument's distance from the first one of the block, and F(t) its value in half units of the last place. The
//! polynomial p of degree 4 through F(0), F(h), ..., F(4h) departs from F by at most `|c5| 4! h^5 / 4`, where c5 encloses
//! the fifth Taylor coefficient over the block. On n arguments around c, p is its tangent plus `p''/2 u^2`; if F is within eps of an
//! integer somewhere, the tangent's fraction plus a shift is below a threshold d there, and [`least`] is a lower bound of it.
//! Lines that fail are divided in eight, and what fails again is visited; candidates are decided by p, then by MPFR.
//!
//! Of the search it shares the recurrences of the Taylor coefficients, which bound c5 and the binade of the results, and
//! MPFR; not its polynomials, its difference tables, its planning, its vector code, or the lattice of GPUs.
use crate::confirm::{NoValue, value};
use crate::format::BinadeGrid;
use crate::interval::MpfrInterval;
use crate::leaf::Query;
use crate::lsg::least;
use rug::float::Round;
use rug::{Float, Integer};

/// Degree of the polynomials.
const DEGREE: usize = 4;
/// Bits of values.
const PRECISION: u32 = 448;
/// Bits of enclosures, where nothing cancels.
const BOUND_PRECISION: u32 = 192;
/// Bits after the point of coefficients modulo 1.
const POINT: u32 = 320;
/// Arguments of a block at most.
const LARGEST_BLOCK: u64 = 1 << 32;
/// Blocks of so few arguments that no polynomial describes are evaluated.
const EVALUATED: u64 = 64;
/// The error of a polynomial is below this, or below a sixteenth of 2^-bits.
const LARGEST_ERROR: f64 = 1.0 / (1u64 << 46) as f64;
/// Lines of one difference table, and what its truncations to 128 bits add up to at most.
const TABLE_LINES: u64 = 4096;
/// Share of lines that fail, about.
const FAILING: f64 = 1.0 / 128.0;
const LONGEST_LINE: u64 = 1 << 20;
const SHORTEST_LINE: u64 = 16;
/// Parts of a line that failed, and lines that are visited at once.
const PARTS: u64 = 8;
const VISITED_LINE: u64 = 256;

/// What a repeated search found.
#[derive(Debug, Clone, Default)]
pub struct RepeatedSearch {
    /// Bits of the arguments that are hard to round.
    pub cases: Vec<u64>,
    /// Number of exact cases.
    pub exact: u64,
    /// Blocks described by a polynomial.
    pub blocks: u64,
    /// Arguments decided by MPFR.
    pub evaluated: u64,
    /// Blocks whose polynomial is farther from a value than its bound allows, by their first argument.
    pub violations: Vec<f64>,
}

/// Searches part of a binade whose results are not all alike.
pub fn repeat(q: &Query, grid: &BinadeGrid, found: &mut RepeatedSearch) {
    if grid.len() <= EVALUATED {
        return evaluate_all(q, grid, found);
    }
    if grid.len() <= LARGEST_BLOCK
        && let Some(block) = Block::new(q, grid, found)
    {
        block.search(q, found);
        return evaluate_all(q, &grid.part(block.grid.end, grid.end), found);
    }
    let middle = grid.first + grid.len() / 2;
    repeat(q, &grid.part(grid.first, middle), found);
    repeat(q, &grid.part(middle, grid.end), found);
}

fn evaluate_all(q: &Query, grid: &BinadeGrid, found: &mut RepeatedSearch) {
    (grid.first..grid.end).for_each(|m| evaluate(q, grid, m, found));
}

/// Decides one argument.
fn evaluate(q: &Query, grid: &BinadeGrid, m: u64, found: &mut RepeatedSearch) {
    found.evaluated += 1;
    match value(q.function, q.format, &grid.float(m, 64)) {
        Ok(v) if v.k.is_none() => found.exact += 1,
        Ok(v) if v.k >= Some(q.bits) => found.cases.push(grid.value(m).to_bits()),
        Err(NoValue::Zero) => found.exact += 1,
        _ => {}
    }
}

/// F at an argument in half units of its own result's last place, and that unit's exponent.
pub fn half_units(q: &Query, grid: &BinadeGrid, m: u64) -> Option<(Float, i32)> {
    let mut y = grid.float(m, PRECISION);
    q.function.apply(&mut y, Round::Nearest);
    let ulp = q.format.ulp(y.get_exp()? - 1);
    Some((y.abs() << (1 - ulp), ulp))
}

/// The exponent of the unit that all results of a grid have, and the largest magnitude of the fifth Taylor coefficient of F.
fn enclosure(q: &Query, grid: &BinadeGrid) -> Option<(i32, f64)> {
    // Next to zero, 1 and 1 - x^2 have to be told apart; and so have a limit and values next to it.
    let lead = grid.exponent + 63 - grid.first.max(1).leading_zeros() as i32;
    let last = grid.end - 1;
    let precision =
        BOUND_PRECISION + 2 * lead.min(0).unsigned_abs() + q.function.limit_bits(grid.value(last));
    let ends = [grid.first, last].map(|m| grid.float(m, precision));
    let over = match grid.negative {
        false => MpfrInterval::new(&ends[0], &ends[1], precision),
        true => MpfrInterval::new(&ends[1], &ends[0], precision),
    };
    let order = DEGREE + 1;
    let all = q.function.taylor(&over, order)?;
    let values = all.first().filter(|v| v.is_sound() && !v.has_zero())?;
    let exponents = [&values.lo, &values.hi].map(|y| y.get_exp().map(|e| e - 1));
    let [Some(a), Some(b)] = exponents else {
        return None;
    };
    let ulp = q.format.ulp(a);
    let inside = |e: i32| e <= q.format.highest && e >= q.format.lowest - 2;
    if !inside(a) || !inside(b) || q.format.ulp(b) != ulp {
        return None;
    }
    let fifth = all.get(order).filter(|c| c.is_sound())?;
    let fifth = fifth.shift(grid.exponent * order as i32 + 1 - ulp);
    Some((ulp, fifth.magnitude()))
}

/// A block and the polynomial through five of its values.
struct Block {
    grid: BinadeGrid,
    /// Coefficients modulo 1, by power of t, in multiples of 2^-POINT.
    coefficients: [Integer; DEGREE + 1],
    /// Bounds of p''/2 over the block and one line beyond it.
    bend: (f64, f64),
    /// Bound of |p - F|.
    error: f64,
}

/// A line `b + a j`, 0 <= j < n, in multiples of 2^-64 modulo 1; `first` is the t of j = 0.
#[derive(Clone, Copy)]
struct Line {
    first: u64,
    n: u64,
    a: u64,
    b: u64,
}

fn modulus() -> Integer {
    Integer::from(1) << POINT
}

/// A number modulo 1.
fn fixed(x: &Float) -> Option<Integer> {
    let scaled = Float::with_val(x.prec(), x << POINT);
    let (i, _) = scaled.to_integer_round(Round::Down)?;
    Some(i.modulo(&modulus()))
}

/// The leading 128 bits of a fraction.
fn leading(i: &Integer) -> u128 {
    Integer::from(i >> (POINT - 128)).to_u128_wrapping()
}

/// Monomial coefficients of the polynomial through values at 0, h, ..., DEGREE h.
fn monomials(values: &[Float], h: u64) -> [Float; DEGREE + 1] {
    let precision = PRECISION + 128;
    let mut differences: Vec<Float> = values
        .iter()
        .map(|v| Float::with_val(precision, v))
        .collect();
    for order in 1..=DEGREE {
        for i in (order..=DEGREE).rev() {
            differences[i] = Float::with_val(precision, &differences[i] - &differences[i - 1]);
        }
    }
    // Newton's form: the i-th term is a difference over i! h^i, times t (t - h) ... (t - (i - 1) h).
    let zero = || Float::with_val(precision, 0);
    let mut sum: [Float; DEGREE + 1] = std::array::from_fn(|_| zero());
    let mut product: [Float; DEGREE + 1] = std::array::from_fn(|_| zero());
    product[0] = Float::with_val(precision, 1);
    let mut scale = Float::with_val(precision, 1);
    for (i, difference) in differences.iter().enumerate() {
        if i > 0 {
            scale *= h;
            scale *= i as u64;
            let root = Float::with_val(precision, h) * (i as u64 - 1);
            for k in (0..=DEGREE).rev() {
                let lower = match k {
                    0 => zero(),
                    k => product[k - 1].clone(),
                };
                product[k] = lower - Float::with_val(precision, &product[k] * &root);
            }
        }
        let factor = Float::with_val(precision, difference / &scale);
        for k in 0..=DEGREE {
            sum[k] += Float::with_val(precision, &product[k] * &factor);
        }
    }
    sum
}

impl Block {
    /// The largest part from the grid's start on whose length is 4h + 1; none where results have several units or the
    /// polynomial is not near enough.
    fn new(q: &Query, grid: &BinadeGrid, found: &mut RepeatedSearch) -> Option<Block> {
        let h = (grid.len() - 1) / DEGREE as u64;
        let grid = grid.part(grid.first, grid.first + DEGREE as u64 * h + 1);
        let (ulp, fifth) = enclosure(q, &grid)?;
        // |t (t - h) ... (t - 4h)| <= 4! h^5 / 4.
        let error = fifth * (h as f64).powi(DEGREE as i32 + 1) * 6.0 * (1.0 + 1e-9);
        if error.is_nan() || error > LARGEST_ERROR.max(q.eps() / 16.0) {
            return None;
        }
        let mut values = Vec::new();
        for i in 0..=DEGREE as u64 {
            let (y, unit) = half_units(q, &grid, grid.first + i * h)?;
            if unit != ulp {
                return None;
            }
            values.push(y);
        }
        let monomials = monomials(&values, h);
        let mut coefficients: [Integer; DEGREE + 1] = Default::default();
        for (c, m) in coefficients.iter_mut().zip(&monomials) {
            *c = fixed(m)?;
        }
        let length = (grid.len() + grid.len().min(LONGEST_LINE) + SHORTEST_LINE) as f64;
        let second = monomials[2].to_f64();
        let rest = 3.0 * monomials[3].to_f64().abs() * length
            + 6.0 * monomials[4].to_f64().abs() * length * length;
        let slack = rest + 1e-12 * (second.abs() + rest);
        let block = Block {
            grid,
            coefficients,
            bend: (second - slack, second + slack),
            // What the values and coefficients are off by.
            error: error + 2f64.powi(-100),
        };
        // The bound is tried where no value was used.
        let tried = h / 2;
        let there = fixed(&half_units(q, &block.grid, block.grid.first + tried)?.0)?;
        if distance(&(there - block.value(tried)).modulo(&modulus())) > block.error + 2f64.powi(-60)
        {
            found.violations.push(block.grid.value(block.grid.first));
        }
        found.blocks += 1;
        Some(block)
    }

    /// p(t) modulo 1.
    fn value(&self, t: u64) -> Integer {
        let mut y = Integer::new();
        for c in self.coefficients.iter().rev() {
            y *= t;
            y += c;
        }
        y.modulo(&modulus())
    }

    /// p'(t) modulo 1.
    fn slope(&self, t: u64) -> Integer {
        let mut y = Integer::new();
        for (k, c) in self.coefficients.iter().enumerate().skip(1).rev() {
            y *= t;
            y += Integer::from(c * k as u64);
        }
        y.modulo(&modulus())
    }

    /// The tangent in the middle of n arguments from t on: its value at t, and its slope.
    fn tangent(&self, t: u64, n: u64) -> (Integer, Integer) {
        let slope = self.slope(t + n / 2);
        let start = self.value(t + n / 2) - Integer::from(&slope * (n / 2));
        (start.modulo(&modulus()), slope)
    }

    /// How near to an integer p is where F may be hard.
    fn reach(&self, q: &Query) -> f64 {
        q.eps() + self.error
    }

    /// What is added to a line of n arguments, and below what a fraction may hide a hard case; none where all may.
    fn threshold(&self, q: &Query, n: u64) -> Option<(u64, u64)> {
        let square = (n as f64).powi(2) / 4.0;
        let (low, high) = (self.bend.0.min(0.0) * square, self.bend.1.max(0.0) * square);
        // Truncation of the slope to 64 bits n times, of the start, and of the table.
        let truncation = (n as f64 + 4.0) * 2f64.powi(-63);
        let shift = self.reach(q) + high + truncation;
        let width = 2.0 * self.reach(q) + high - low + 2.0 * truncation;
        let scaled = |x: f64| (x * (1.0 + 1e-9) * 2f64.powi(64)) as u64 + 1;
        // The shift is rounded up by less than what the width is.
        (width < 0.5).then(|| (scaled(shift), scaled(width + shift * 1e-8)))
    }

    /// Arguments of a line: as many as leave few lines failing; 1 where that is too few.
    fn line_length(&self, q: &Query) -> u64 {
        let bend = self.bend.0.abs().max(self.bend.1.abs());
        let fits = |n: &u64| {
            let n = *n as f64;
            n * (2.0 * self.reach(q) + bend * n * n / 4.0) <= FAILING
        };
        let longest = LONGEST_LINE.min(self.grid.len());
        let lengths = (SHORTEST_LINE.ilog2()..=LONGEST_LINE.ilog2()).rev();
        let mut lengths = lengths.map(|b| 1u64 << b).filter(|n| *n <= longest);
        lengths.find(fits).unwrap_or(1)
    }

    fn search(&self, q: &Query, found: &mut RepeatedSearch) {
        let n = self.line_length(q);
        let threshold = self.threshold(q, n);
        let lines = self.grid.len().div_ceil(n);
        let mut first = 0;
        while first < lines {
            let many = TABLE_LINES.min(lines - first);
            match (n, threshold) {
                (1, _) | (_, None) => self.visit_values(q, (first * n, many * n), found),
                (_, Some(threshold)) => {
                    self.test_lines(q, (first * n, many), (n, threshold), found);
                }
            }
            first += many;
        }
    }

    /// Lefevre's test on `many` lines of n arguments from t on.
    fn test_lines(
        &self,
        q: &Query,
        (t, many): (u64, u64),
        (n, (shift, limit)): (u64, (u64, u64)),
        found: &mut RepeatedSearch,
    ) {
        let starts: Vec<(Integer, Integer)> = (0..=DEGREE as u64)
            .map(|i| self.tangent(t + i * n, n))
            .collect();
        let mut b = differences(starts.iter().map(|s| s.0.clone()).collect());
        let mut a = differences(starts.into_iter().map(|s| s.1).collect());
        for i in 0..many {
            let line = Line {
                first: t + i * n,
                n,
                a: (a[0] >> 64) as u64,
                b: (b[0] >> 64) as u64,
            };
            if least(line.a, line.b.wrapping_add(shift), n) < limit {
                self.divide(q, line, (shift, limit), found);
            }
            advance(&mut a);
            advance(&mut b);
        }
    }

    /// A line that failed: its parts are tested, and those that fail visited.
    fn divide(&self, q: &Query, line: Line, threshold: (u64, u64), found: &mut RepeatedSearch) {
        let n = line.n / PARTS;
        let Some((shift, limit)) = self.threshold(q, n).filter(|_| line.n > VISITED_LINE) else {
            return self.visit_line(q, line, threshold, found);
        };
        for first in (line.first..line.first + line.n).step_by(n as usize) {
            if first >= self.grid.len() {
                return;
            }
            let (b, a) = self.tangent(first, n);
            let part = Line {
                first,
                n,
                a: (leading(&a) >> 64) as u64,
                b: (leading(&b) >> 64) as u64,
            };
            if least(part.a, part.b.wrapping_add(shift), n) < limit {
                self.visit_line(q, part, (shift, limit), found);
            }
        }
    }

    /// Every argument of a line.
    fn visit_line(
        &self,
        q: &Query,
        line: Line,
        (shift, limit): (u64, u64),
        found: &mut RepeatedSearch,
    ) {
        let mut z = line.b.wrapping_add(shift);
        for t in line.first..(line.first + line.n).min(self.grid.len()) {
            if z < limit && distance(&self.value(t)) <= self.reach(q) + 2f64.powi(-60) {
                evaluate(q, &self.grid, self.grid.first + t, found);
            }
            z = z.wrapping_add(line.a);
        }
    }

    /// Every argument by p, where lines would be too short.
    fn visit_values(&self, q: &Query, (t, many): (u64, u64), found: &mut RepeatedSearch) {
        let starts = (0..=DEGREE as u64).map(|i| self.value(t + i)).collect();
        let mut d = differences(starts);
        let reach = ((self.reach(q) + 2f64.powi(-60)).min(0.5) * 2f64.powi(64)) as u64;
        for t in t..(t + many).min(self.grid.len()) {
            let z = (d[0] >> 64) as u64;
            if z <= reach || z.wrapping_neg() <= reach {
                evaluate(q, &self.grid, self.grid.first + t, found);
            }
            advance(&mut d);
        }
    }
}

/// Forward differences of values modulo 1, truncated to 128 bits.
fn differences(mut values: Vec<Integer>) -> [u128; DEGREE + 1] {
    for order in 1..values.len() {
        for i in (order..values.len()).rev() {
            let before = values[i - 1].clone();
            values[i] -= before;
        }
    }
    std::array::from_fn(|i| leading(&Integer::from(&values[i]).modulo(&modulus())))
}

/// From one value of a difference table to the next.
fn advance(d: &mut [u128; DEGREE + 1]) {
    for i in 0..DEGREE {
        d[i] = d[i].wrapping_add(d[i + 1]);
    }
}

/// Distance of a fraction from the integers.
fn distance(fraction: &Integer) -> f64 {
    let z = leading(fraction);
    z.min(z.wrapping_neg()) as f64 * 2f64.powi(-128)
}
