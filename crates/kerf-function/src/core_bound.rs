//! Proven bounds of a core's error: its polynomial's distance from the function, and all roundings of its code.
//!
//! The range is divided into short intervals. On each, the function is its Taylor polynomial at the middle with a
//! remainder, whose coefficients are enclosed ([`TargetFunction::taylor`](crate::target::TargetFunction::taylor)); the
//! polynomial is expanded there too, and the difference is bounded coefficient by coefficient. Intervals whose bound is
//! above the target are divided further.
use crate::code::StraightLineCode;
use crate::core_fit::{Core, CoreVariable, EvaluationScheme, PieceCoefficients};
use crate::running_error::{TRACKED_PRECISION, TrackedValue, enlarged, track};
use crate::target::LARGEST_ORDER;
use kerf_hardround::interval::MpfrInterval;
use rug::Float;
use rug::float::Round;

/// Bits of enclosures of Taylor coefficients.
const PROOF_PRECISION: u32 = 192;
/// How often an interval is halved.
const DEEPEST: u32 = 9;

/// What is proven on a short interval of arguments.
#[derive(Clone, Copy, Debug)]
pub struct CoreLeaf {
    /// The largest magnitude of an argument.
    pub largest_argument: f64,
    /// A bound of the distance of the computed core from the exact one.
    pub error: f64,
    /// A lower bound of the exact core's magnitude.
    pub least: f64,
    /// An upper bound of the exact core's magnitude.
    pub greatest: f64,
}

/// A core with its code, ready to be bounded.
pub(crate) struct CoreProof<'a> {
    core: &'a Core,
    coefficients: &'a PieceCoefficients,
    code: StraightLineCode,
    /// The step from which on roundings are tracked.
    variable: usize,
}

fn interval(lo: f64, hi: f64) -> MpfrInterval {
    let exact = |x: f64| Float::with_val(64, x);
    MpfrInterval::new(&exact(lo), &exact(hi), PROOF_PRECISION)
}

/// Coefficients of p(t + by), from those of p(t).
fn shifted(mut c: Vec<MpfrInterval>, by: &MpfrInterval) -> Vec<MpfrInterval> {
    let n = c.len();
    for i in 0..n {
        for k in (i..n.saturating_sub(1)).rev() {
            let next = c[k].add(&c[k + 1].mul(by));
            c[k] = next;
        }
    }
    c
}

/// A bound of |d_0| + |d_1| h + |d_2| h^2 + ...
fn sum_of_magnitudes(d: &[MpfrInterval], h: f64) -> f64 {
    d.iter()
        .rev()
        .fold(0.0, |s, d| enlarged(enlarged(s * h) + d.magnitude()))
}

/// A lower bound of the magnitudes in an interval.
fn least_magnitude(x: &MpfrInterval) -> f64 {
    match (x.lo > 0, x.hi < 0) {
        (true, _) => x.lo.to_f64_round(Round::Down),
        (_, true) => -x.hi.to_f64_round(Round::Up),
        _ => 0.0,
    }
}

impl<'a> CoreProof<'a> {
    pub(crate) fn new(
        core: &'a Core,
        coefficients: &'a PieceCoefficients,
        scheme: EvaluationScheme,
    ) -> CoreProof<'a> {
        let mut code = StraightLineCode::new(core.format);
        let steps = core.append(&mut code, coefficients, scheme, 0);
        CoreProof {
            core,
            coefficients,
            code,
            variable: steps.variable,
        }
    }

    /// A bound of `total` over all arguments of the core, where that is at most `target`; otherwise the bound on the first
    /// short interval where it is above.
    pub(crate) fn bound(&self, target: f64, total: &dyn Fn(&CoreLeaf) -> f64) -> f64 {
        let mut worst = 0f64;
        for piece in 0..self.core.pieces() {
            let (lo, hi) = self.core.piece_range(piece);
            let mut ends = vec![lo];
            if lo < 0.0 && hi > 0.0 {
                ends.push(0.0);
            }
            ends.push(hi);
            for e in ends.windows(2) {
                let b = self.bound_between((e[0], e[1]), piece, (target, total), 0);
                if b > target {
                    return b;
                }
                worst = worst.max(b);
            }
        }
        worst
    }

    fn bound_between(
        &self,
        (lo, hi): (f64, f64),
        piece: usize,
        asked: (f64, &dyn Fn(&CoreLeaf) -> f64),
        depth: u32,
    ) -> f64 {
        let whole = self
            .leaf(lo, hi, piece)
            .map_or(f64::INFINITY, |l| asked.1(&l));
        let middle = lo / 2.0 + hi / 2.0;
        if whole <= asked.0 || depth == DEEPEST || middle <= lo || middle >= hi {
            return if whole.is_nan() { f64::INFINITY } else { whole };
        }
        let left = self.bound_between((lo, middle), piece, asked, depth + 1);
        if left > asked.0 {
            return left;
        }
        left.max(self.bound_between((middle, hi), piece, asked, depth + 1))
    }

    /// The polynomial in x - base, with exact coefficients; times x where `times_argument`.
    fn dense(&self, piece: usize, times_argument: bool) -> Vec<MpfrInterval> {
        let number = |x: f64| interval(x, x);
        let c = &self.coefficients[piece];
        let mut dense: Vec<MpfrInterval> = match self.core.variable {
            CoreVariable::Square => c.iter().flat_map(|c| [number(*c), number(0.0)]).collect(),
            _ => c.iter().map(|c| number(*c)).collect(),
        };
        if times_argument {
            let base = number(self.core.base(piece));
            let mut product: Vec<MpfrInterval> = dense.iter().map(|c| c.mul(&base)).collect();
            product.push(number(0.0));
            for (p, c) in product[1..].iter_mut().zip(&dense) {
                *p = p.add(c);
            }
            dense = product;
        }
        dense
    }

    /// Bounds of the polynomial's distance from f(x) / x at most h from zero, and an enclosure of f(x) / x.
    fn next_to_zero(&self, s: &MpfrInterval, piece: usize) -> Option<(f64, MpfrInterval)> {
        let f = self.core.function;
        let at_zero = f.taylor(&interval(0.0, 0.0), LARGEST_ORDER)?;
        let around = f.taylor(s, LARGEST_ORDER)?;
        if at_zero[0].magnitude() != 0.0 {
            return None;
        }
        let to_zero = interval(-self.core.base(piece), -self.core.base(piece));
        let mut d = shifted(self.dense(piece, false), &to_zero);
        d.resize(d.len().max(LARGEST_ORDER), interval(0.0, 0.0));
        for k in 0..LARGEST_ORDER {
            let c = match k + 1 < LARGEST_ORDER {
                true => &at_zero[k + 1],
                false => &around[LARGEST_ORDER],
            };
            d[k] = d[k].sub(c);
        }
        Some((sum_of_magnitudes(&d, s.magnitude()), around[1].clone()))
    }

    /// The same away from zero, or of f(x).
    fn around_middle(&self, s: &MpfrInterval, piece: usize) -> Option<(f64, MpfrInterval)> {
        let f = self.core.function;
        let over = self.core.over_argument;
        let (lo, hi) = (s.lo.to_f64(), s.hi.to_f64());
        let middle = lo / 2.0 + hi / 2.0;
        let point = interval(middle, middle);
        let at_middle = f.taylor(&point, LARGEST_ORDER)?;
        let around = f.taylor(s, LARGEST_ORDER)?;
        let base = self.core.base(piece);
        let mut d = shifted(self.dense(piece, over), &point.sub(&interval(base, base)));
        d.resize(d.len().max(LARGEST_ORDER + 1), interval(0.0, 0.0));
        for k in 0..=LARGEST_ORDER {
            let c = match k < LARGEST_ORDER {
                true => &at_middle[k],
                false => &around[k],
            };
            d[k] = d[k].sub(c);
        }
        let radius = enlarged((middle - lo).max(hi - middle));
        let off = sum_of_magnitudes(&d, radius);
        Some(match over {
            true => (enlarged(off / least_magnitude(s)), around[0].div(s)?),
            false => (off, around[0].clone()),
        })
    }

    fn leaf(&self, lo: f64, hi: f64, piece: usize) -> Option<CoreLeaf> {
        let s = interval(lo, hi);
        let touches_zero = lo == 0.0 || hi == 0.0;
        let (approximation, value) = match self.core.over_argument && touches_zero {
            true => self.next_to_zero(&s, piece)?,
            false => self.around_middle(&s, piece)?,
        };
        let narrow = |x: &MpfrInterval| MpfrInterval::new(&x.lo, &x.hi, TRACKED_PRECISION);
        let known = match self.core.variable {
            // The distance to the nearest middle of a piece is exact.
            CoreVariable::Pieces { .. } => {
                let base = self.core.base(piece);
                let t = narrow(&s.sub(&interval(base, base)));
                (
                    self.variable,
                    TrackedValue {
                        exact: t,
                        error: 0.0,
                    },
                )
            }
            _ => {
                let error = self.core.argument_error;
                (
                    0,
                    TrackedValue {
                        exact: narrow(&s),
                        error,
                    },
                )
            }
        };
        let polynomial = track(&self.code, known.0, known, piece)?;
        Some(CoreLeaf {
            largest_argument: s.magnitude(),
            error: enlarged(approximation + polynomial.error),
            least: least_magnitude(&value),
            greatest: value.magnitude(),
        })
    }
}
