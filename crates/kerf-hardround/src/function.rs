//! The functions: names, domains, values by MPFR, and Taylor coefficients over intervals.
use crate::interval::MpfrInterval;
use rug::Float;
use rug::float::{Constant, Round};
use rug::ops::PowAssignRound;
use std::cmp::Ordering;

/// Largest exponent of `x^n`.
pub const LARGEST_POWER: i32 = 64;

/// A function of one argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // The names say it.
pub enum ElementaryFunction {
    Exp,
    Exp2,
    Exp10,
    Expm1,
    Log,
    Log2,
    Log10,
    Log1p,
    Sin,
    Cos,
    Tan,
    Asin,
    Acos,
    Atan,
    Sinh,
    Cosh,
    Tanh,
    Cbrt,
    Sqrt,
    Rsqrt,
    /// x to an integer power other than 0 and 1.
    Power(i32),
}

use ElementaryFunction::*;

/// All functions but the powers.
pub const FUNCTIONS: [(&str, ElementaryFunction); 20] = [
    ("exp", Exp),
    ("exp2", Exp2),
    ("exp10", Exp10),
    ("expm1", Expm1),
    ("log", Log),
    ("log2", Log2),
    ("log10", Log10),
    ("log1p", Log1p),
    ("sin", Sin),
    ("cos", Cos),
    ("tan", Tan),
    ("asin", Asin),
    ("acos", Acos),
    ("atan", Atan),
    ("sinh", Sinh),
    ("cosh", Cosh),
    ("tanh", Tanh),
    ("cbrt", Cbrt),
    ("sqrt", Sqrt),
    ("rsqrt", Rsqrt),
];

/// At arguments beyond 2 to this, exponentials leave every format.
const FAR: i32 = 12;
/// Beyond these, 1 - |tanh| and 1 + expm1 are below 2^-257: however many bits are asked for, all arguments have them.
const TANH_LIMIT: f64 = 90.0;
const EXPM1_LIMIT: f64 = -180.0;

impl ElementaryFunction {
    /// By name: `exp`, ..., `x^3`, `pown:-2`.
    pub fn find(name: &str) -> Option<ElementaryFunction> {
        if let Some((_, f)) = FUNCTIONS.into_iter().find(|(n, _)| *n == name) {
            return Some(f);
        }
        let n = name.strip_prefix("x^").or(name.strip_prefix("pown:"))?;
        let n: i32 = n.parse().ok()?;
        (n != 0 && n != 1 && n.abs() <= LARGEST_POWER).then_some(Power(n))
    }

    /// The name.
    pub fn name(self) -> String {
        if let Power(n) = self {
            return format!("x^{n}");
        }
        let named = FUNCTIONS.into_iter().find(|(_, f)| *f == self);
        named.map_or(String::new(), |(n, _)| n.to_owned())
    }

    /// Whether x is in the domain, with a finite value.
    pub fn has(self, x: f64) -> bool {
        match self {
            Log | Log2 | Log10 | Rsqrt => x > 0.0,
            Sqrt => x >= 0.0,
            Log1p => x > -1.0,
            Asin | Acos => x.abs() <= 1.0,
            Power(n) => n > 0 || x != 0.0,
            _ => true,
        }
    }

    /// Whether f(-x) is -f(x), or f(x): then one sign tells the other. None where it is neither.
    pub fn odd(self) -> Option<bool> {
        match self {
            Sin | Tan | Asin | Atan | Sinh | Tanh | Cbrt => Some(true),
            Cos | Cosh => Some(false),
            Power(n) => Some(n % 2 != 0),
            _ => None,
        }
    }

    /// The domain in words.
    pub fn domain(self) -> &'static str {
        match self {
            Log | Log2 | Log10 | Rsqrt => "x > 0",
            Sqrt => "x >= 0",
            Log1p => "x > -1",
            Asin | Acos => "-1 <= x <= 1",
            Power(n) if n < 0 => "x other than 0",
            _ => "all numbers",
        }
    }

    /// Whether the result overflows or underflows every format at arguments this large in magnitude, or
    /// does not differ from its limit: a reason not to evaluate. Gives what it is.
    pub fn beyond(self, x: f64) -> Option<&'static str> {
        if self == Tanh && x.abs() >= TANH_LIMIT || self == Expm1 && x <= EXPM1_LIMIT {
            return Some("limit");
        }
        if x.abs() < 2f64.powi(FAR) {
            return None;
        }
        match (self, x > 0.0) {
            (Exp | Exp2 | Exp10, true) | (Sinh | Cosh, _) | (Expm1, true) => Some("overflow"),
            (Exp | Exp2 | Exp10, false) => Some("underflow"),
            _ => None,
        }
    }

    /// Bits by which results next to a limit, at arguments up to x, differ from it at least.
    pub fn limit_bits(self, x: f64) -> u32 {
        match self {
            Tanh => (3.0 * x.abs().min(TANH_LIMIT)) as u32,
            Expm1 if x < 0.0 => (1.5 * x.max(EXPM1_LIMIT).abs()) as u32,
            _ => 0,
        }
    }

    /// Replaces x by the function's value, rounded to x's precision; the order of that to the exact one.
    pub fn apply(self, x: &mut Float, round: Round) -> Ordering {
        match self {
            Exp => x.exp_round(round),
            Exp2 => x.exp2_round(round),
            Exp10 => x.exp10_round(round),
            Expm1 => x.exp_m1_round(round),
            Log => x.ln_round(round),
            Log2 => x.log2_round(round),
            Log10 => x.log10_round(round),
            Log1p => x.ln_1p_round(round),
            Sin => x.sin_round(round),
            Cos => x.cos_round(round),
            Tan => x.tan_round(round),
            Asin => x.asin_round(round),
            Acos => x.acos_round(round),
            Atan => x.atan_round(round),
            Sinh => x.sinh_round(round),
            Cosh => x.cosh_round(round),
            Tanh => x.tanh_round(round),
            Cbrt => x.cbrt_round(round),
            Sqrt => x.sqrt_round(round),
            Rsqrt => x.recip_sqrt_round(round),
            Power(n) => x.pow_assign_round(n, round),
        }
    }

    /// Enclosures of f, f'/1!, ..., f^(n)/n! over an interval that does not straddle zero; none where the
    /// function is not smooth on it or the enclosure fails.
    pub fn taylor(self, x: &MpfrInterval, n: usize) -> Option<Vec<MpfrInterval>> {
        let rising = || x.rising(|a, r| self.apply(a, r));
        let falling = || x.falling(|a, r| self.apply(a, r));
        let all = match self {
            Exp | Expm1 | Exp2 | Exp10 => self.exponential(x, n),
            Log | Log2 | Log10 | Log1p => self.logarithm(x, n),
            Sin | Cos => {
                let s = x.lipschitz(|a, r| a.sin_round(r));
                let c = x.lipschitz(|a, r| a.cos_round(r));
                let cycle = match self {
                    Sin => [s.clone(), c.clone(), s.neg(), c.neg()],
                    _ => [c.clone(), s.neg(), c.neg(), s],
                };
                factorials(cycle.into_iter().cycle(), n)
            }
            Sinh | Cosh => {
                let s = x.rising(|a, r| a.sinh_round(r));
                let c = match x.lo.is_sign_negative() {
                    true => x.falling(|a, r| a.cosh_round(r)),
                    false => x.rising(|a, r| a.cosh_round(r)),
                };
                let cycle = if self == Sinh { [s, c] } else { [c, s] };
                factorials(cycle.into_iter().cycle(), n)
            }
            Tan => {
                let c = x.lipschitz(|a, r| a.cos_round(r));
                // No pole, and short enough that none lies between: the cosine keeps its sign.
                let one = MpfrInterval::int(1, x.precision());
                (!c.has_zero() && x.width() < 1.0).then(|| riccati(rising(), &one, false, n))
            }
            Tanh => Some(riccati(
                rising(),
                &MpfrInterval::int(1, x.precision()),
                true,
                n,
            )),
            Asin | Acos => self.arc(x, n),
            Atan => self.arc_tangent(x, n),
            Cbrt => power(rising(), x, 1, 3, n),
            Sqrt => power(rising(), x, 1, 2, n),
            Rsqrt => power(falling(), x, -1, 2, n),
            Power(e) => {
                let even = e % 2 == 0;
                let grows = (e > 0) ^ (even && x.lo.is_sign_negative());
                let first = match grows {
                    true => rising(),
                    false => falling(),
                };
                power(first, x, i64::from(e), 1, n)
            }
        };
        let all = all?;
        all.iter().all(MpfrInterval::is_sound).then_some(all)
    }

    /// [`Function::taylor`] of the exponential functions.
    fn exponential(self, x: &MpfrInterval, n: usize) -> Option<Vec<MpfrInterval>> {
        let p = x.precision();
        let one = MpfrInterval::int(1, p);
        let rising = || x.rising(|a, r| self.apply(a, r));
        match self {
            Exp => ratio(rising(), n, |k| Some(one.over(k))),
            Expm1 => {
                let e = x.rising(|a, r| Exp.apply(a, r));
                let mut c = ratio(e, n, |k| Some(one.over(k)))?;
                c[0] = rising();
                Some(c)
            }
            _ => {
                let l = match self {
                    Exp2 => ln2(p),
                    _ => MpfrInterval::int(10, p).rising(|a, r| a.ln_round(r)),
                };
                ratio(rising(), n, |k| Some(l.over(k)))
            }
        }
    }

    /// [`Function::taylor`] of the logarithms.
    fn logarithm(self, x: &MpfrInterval, n: usize) -> Option<Vec<MpfrInterval>> {
        let p = x.precision();
        let one = MpfrInterval::int(1, p);
        let at = if self == Log1p {
            x.add(&one)
        } else {
            x.clone()
        };
        if at.lo <= 0 {
            return None;
        }
        let unit = match self {
            Log2 => one.div(&ln2(p))?,
            Log10 => one.div(&MpfrInterval::int(10, p).rising(|a, r| a.ln_round(r)))?,
            _ => one.clone(),
        };
        let first = unit.div(&at)?;
        let mut c = vec![x.rising(|a, r| self.apply(a, r))];
        // f^(k+1)/(k+1)! = -f^(k)/k! * k/((k+1) x)
        c.extend(ratio(first, n - 1, |k| {
            one.times(-i64::from(k)).over(k + 1).div(&at)
        })?);
        Some(c)
    }

    /// [`Function::taylor`] of the arc sine and cosine.
    fn arc(self, x: &MpfrInterval, n: usize) -> Option<Vec<MpfrInterval>> {
        let one = MpfrInterval::int(1, x.precision());
        let w = one.sub(&x.mul(x));
        if w.lo <= 0 {
            return None;
        }
        let first = w.rising(|a, r| a.sqrt_round(r));
        let mut c = vec![x.rising(|a, r| a.asin_round(r)), one.div(&first)?];
        for k in 0..n as i64 - 1 {
            // (1 - x^2) y'' = x y', coefficient of t^k
            let i = k as usize;
            let a = x.mul(&c[i + 1]).times((k + 1) * (2 * k + 1));
            let b = c[i].times(k * k);
            c.push(a.add(&b).div(&w)?.over(((k + 2) * (k + 1)) as u32));
        }
        if self == Acos {
            c.iter_mut().for_each(|v| *v = v.neg());
            c[0] = x.falling(|a, r| a.acos_round(r));
        }
        Some(c)
    }

    /// [`Function::taylor`] of the arc tangent.
    fn arc_tangent(self, x: &MpfrInterval, n: usize) -> Option<Vec<MpfrInterval>> {
        let one = MpfrInterval::int(1, x.precision());
        let w = one.add(&x.mul(x));
        let mut d = vec![one.div(&w)?];
        for k in 1..n {
            // (1 + x^2) d_k + 2 x d_(k-1) + d_(k-2) = 0
            let mut sum = x.mul(&d[k - 1]).times(2);
            if k > 1 {
                sum = sum.add(&d[k - 2]);
            }
            d.push(sum.div(&w)?.neg());
        }
        let mut c = vec![x.rising(|a, r| self.apply(a, r))];
        c.extend(d.iter().enumerate().map(|(k, v)| v.over(k as u32 + 1)));
        Some(c)
    }
}

fn ln2(p: u32) -> MpfrInterval {
    MpfrInterval {
        lo: Float::with_val_round(p, Constant::Log2, Round::Down).0,
        hi: Float::with_val_round(p, Constant::Log2, Round::Up).0,
    }
}

/// c_0 = first, c_k = c_(k-1) q(k).
fn ratio(
    first: MpfrInterval,
    n: usize,
    q: impl Fn(u32) -> Option<MpfrInterval>,
) -> Option<Vec<MpfrInterval>> {
    let mut c = vec![first];
    for k in 1..=n {
        let next = c[k - 1].mul(&q(k as u32)?);
        c.push(next);
    }
    Some(c)
}

/// Derivatives over factorials.
fn factorials(
    derivatives: impl Iterator<Item = MpfrInterval>,
    n: usize,
) -> Option<Vec<MpfrInterval>> {
    let mut f = 1u32;
    let divided = derivatives.take(n + 1).enumerate().map(|(k, d)| {
        f *= (k as u32).max(1);
        d.over(f)
    });
    Some(divided.collect())
}

/// y' = 1 + y^2, or 1 - y^2.
fn riccati(y: MpfrInterval, one: &MpfrInterval, minus: bool, n: usize) -> Vec<MpfrInterval> {
    let mut c = vec![y];
    for k in 0..n {
        let mut sum = c[0].mul(&c[k]);
        for i in 1..=k {
            sum = sum.add(&c[i].mul(&c[k - i]));
        }
        if minus {
            sum = sum.neg();
        }
        if k == 0 {
            sum = sum.add(one);
        }
        c.push(sum.over(k as u32 + 1));
    }
    c
}

/// x^(p/q): c_k = c_(k-1) (p - (k-1) q) / (k q x).
fn power(
    first: MpfrInterval,
    x: &MpfrInterval,
    p: i64,
    q: u32,
    n: usize,
) -> Option<Vec<MpfrInterval>> {
    if x.has_zero() {
        return None;
    }
    let one = MpfrInterval::int(1, x.precision());
    ratio(first, n, |k| {
        let step = p - i64::from(k - 1) * i64::from(q);
        one.times(step).over(k * q).div(x)
    })
}
