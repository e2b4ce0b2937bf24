//! Taylor coefficients of the functions over intervals, by recurrences from their differential equations.
use crate::function::ElementaryFunction::{self, *};
use crate::interval::MpfrInterval;
use rug::Float;
use rug::float::{Constant, Round};

impl ElementaryFunction {
    /// Enclosures of f, f'/1!, ..., f^(n)/n! over an interval that does not straddle zero; none where the
    /// function is not smooth on it or the enclosure fails.
    pub fn taylor(self, x: &MpfrInterval, n: usize) -> Option<Vec<MpfrInterval>> {
        let rising = || x.rising(|a, r| self.apply(a, r));
        let falling = || x.falling(|a, r| self.apply(a, r));
        let all = match self {
            Exp | Expm1 | Exp2 | Exp10 | Exp2m1 | Exp10m1 => self.exponential(x, n),
            Log | Log2 | Log10 | Log1p | Log2p1 | Log10p1 => self.logarithm(x, n),
            Sin | Cos | Sinpi | Cospi => self.waves(x, n),
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
                let c = x.lipschitz(1, |a, r| a.cos_round(r));
                // No pole, and short enough that none lies between: the cosine keeps its sign.
                let one = MpfrInterval::int(1, x.precision());
                (!c.has_zero() && x.width() < 1.0).then(|| riccati(rising(), &one, false, n))
            }
            Tanpi => {
                let c = x.lipschitz(4, |a, r| a.cos_pi_round(r));
                let pi = pi(x.precision());
                (!c.has_zero() && x.width() < 0.25).then(|| riccati(rising(), &pi, false, n))
            }
            Tanh => Some(riccati(
                rising(),
                &MpfrInterval::int(1, x.precision()),
                true,
                n,
            )),
            Asin | Acos | Asinpi | Acospi => self.arc(x, n),
            Atan | Atanpi | Atanh => self.arc_tangent(x, n),
            Asinh | Acosh => self.area(x, n),
            Erf | Erfc => self.error_function(x, n),
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
            Rootn(e) if e > 0 => power(rising(), x, 1, e.unsigned_abs(), n),
            Rootn(e) => power(falling(), x, -1, e.unsigned_abs(), n),
        };
        let all = all?;
        all.iter().all(MpfrInterval::is_sound).then_some(all)
    }

    /// [`ElementaryFunction::taylor`] of the exponential functions.
    fn exponential(self, x: &MpfrInterval, n: usize) -> Option<Vec<MpfrInterval>> {
        let p = x.precision();
        let one = MpfrInterval::int(1, p);
        let (whole, log) = match self {
            Exp | Expm1 => (Exp, one),
            Exp2 | Exp2m1 => (Exp2, ln2(p)),
            _ => (Exp10, ln10(p)),
        };
        let first = x.rising(|a, r| whole.apply(a, r));
        let mut c = ratio(first, n, |k| Some(log.over(k)))?;
        c[0] = x.rising(|a, r| self.apply(a, r));
        Some(c)
    }

    /// [`ElementaryFunction::taylor`] of the logarithms.
    fn logarithm(self, x: &MpfrInterval, n: usize) -> Option<Vec<MpfrInterval>> {
        let p = x.precision();
        let one = MpfrInterval::int(1, p);
        let at = match self {
            Log1p | Log2p1 | Log10p1 => x.add(&one),
            _ => x.clone(),
        };
        if at.lo <= 0 {
            return None;
        }
        let unit = match self {
            Log2 | Log2p1 => one.div(&ln2(p))?,
            Log10 | Log10p1 => one.div(&ln10(p))?,
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

    /// [`ElementaryFunction::taylor`] of sine and cosine, of x or of pi x.
    fn waves(self, x: &MpfrInterval, n: usize) -> Option<Vec<MpfrInterval>> {
        let p = x.precision();
        let (s, c, step) = match self {
            Sin | Cos => (
                x.lipschitz(1, |a, r| a.sin_round(r)),
                x.lipschitz(1, |a, r| a.cos_round(r)),
                MpfrInterval::int(1, p),
            ),
            _ => (
                x.lipschitz(4, |a, r| a.sin_pi_round(r)),
                x.lipschitz(4, |a, r| a.cos_pi_round(r)),
                pi(p),
            ),
        };
        let cycle = match self {
            Sin | Sinpi => [s.clone(), c.clone(), s.neg(), c.neg()],
            _ => [c.clone(), s.neg(), c.neg(), s],
        };
        let mut scale = MpfrInterval::int(1, p);
        let scaled = cycle.into_iter().cycle().take(n + 1).map(|d| {
            let scaled = d.mul(&scale);
            scale = scale.mul(&step);
            scaled
        });
        factorials(scaled.collect::<Vec<_>>().into_iter(), n)
    }

    /// [`ElementaryFunction::taylor`] of the arc sine and cosine, also over pi.
    fn arc(self, x: &MpfrInterval, n: usize) -> Option<Vec<MpfrInterval>> {
        let p = x.precision();
        let one = MpfrInterval::int(1, p);
        let w = one.sub(&x.mul(x));
        if w.lo <= 0 {
            return None;
        }
        let root = w.rising(|a, r| a.sqrt_round(r));
        let slope = match self {
            Asin | Acos => one.div(&root)?,
            _ => one.div(&root.mul(&pi(p)))?,
        };
        // The first is not used by the recurrence.
        let mut c = vec![one, slope];
        for k in 0..n as i64 - 1 {
            // (1 - x^2) y'' = x y', coefficient of t^k
            let i = k as usize;
            let a = x.mul(&c[i + 1]).times((k + 1) * (2 * k + 1));
            let b = c[i].times(k * k);
            c.push(a.add(&b).div(&w)?.over(((k + 2) * (k + 1)) as u32));
        }
        match self {
            Asin | Asinpi => c[0] = x.rising(|a, r| self.apply(a, r)),
            _ => {
                c.iter_mut().for_each(|v| *v = v.neg());
                c[0] = x.falling(|a, r| self.apply(a, r));
            }
        }
        Some(c)
    }

    /// [`ElementaryFunction::taylor`] of the area hyperbolic sine and cosine.
    fn area(self, x: &MpfrInterval, n: usize) -> Option<Vec<MpfrInterval>> {
        let one = MpfrInterval::int(1, x.precision());
        let w = match self {
            Asinh => x.mul(x).add(&one),
            _ => x.mul(x).sub(&one),
        };
        if w.lo <= 0 {
            return None;
        }
        let root = w.rising(|a, r| a.sqrt_round(r));
        let mut c = vec![x.rising(|a, r| self.apply(a, r)), one.div(&root)?];
        for k in 0..n as i64 - 1 {
            // w y'' = -x y', coefficient of t^k
            let i = k as usize;
            let a = x.mul(&c[i + 1]).times((k + 1) * (2 * k + 1));
            let b = c[i].times(k * k);
            let sum = a.add(&b).neg();
            c.push(sum.div(&w)?.over(((k + 2) * (k + 1)) as u32));
        }
        Some(c)
    }

    /// [`ElementaryFunction::taylor`] of the arc tangent, also over pi, and of the area hyperbolic tangent.
    fn arc_tangent(self, x: &MpfrInterval, n: usize) -> Option<Vec<MpfrInterval>> {
        let p = x.precision();
        let one = MpfrInterval::int(1, p);
        let square = x.mul(x);
        let w = match self {
            Atanh => one.sub(&square),
            _ => one.add(&square),
        };
        if w.lo <= 0 {
            return None;
        }
        let mut d = vec![match self {
            Atanpi => one.div(&w.mul(&pi(p)))?,
            _ => one.div(&w)?,
        }];
        for k in 1..n {
            // (1 + x^2) d_k + 2 x d_(k-1) + d_(k-2) = 0; with 1 - x^2 the other signs
            let mut sum = x.mul(&d[k - 1]).times(2);
            if k > 1 {
                sum = sum.add(&d[k - 2]);
            }
            let next = sum.div(&w)?;
            d.push(if self == Atanh { next } else { next.neg() });
        }
        let mut c = vec![x.rising(|a, r| self.apply(a, r))];
        c.extend(d.iter().enumerate().map(|(k, v)| v.over(k as u32 + 1)));
        Some(c)
    }

    /// [`ElementaryFunction::taylor`] of the error function and its complement: g = 2/sqrt(pi) exp(-x^2), g' = -2 x g.
    fn error_function(self, x: &MpfrInterval, n: usize) -> Option<Vec<MpfrInterval>> {
        let p = x.precision();
        let root = pi(p).rising(|a, r| a.sqrt_round(r));
        let bell = x.mul(x).neg().rising(|a, r| a.exp_round(r));
        let mut g = vec![bell.times(2).div(&root)?];
        for k in 0..n.saturating_sub(1) {
            let mut sum = x.mul(&g[k]);
            if k > 0 {
                sum = sum.add(&g[k - 1]);
            }
            g.push(sum.times(-2).over(k as u32 + 1));
        }
        let first = match self {
            Erf => x.rising(|a, r| self.apply(a, r)),
            _ => x.falling(|a, r| self.apply(a, r)),
        };
        let mut c = vec![first];
        c.extend(g.iter().enumerate().map(|(k, v)| {
            let v = v.over(k as u32 + 1);
            if self == Erf { v } else { v.neg() }
        }));
        Some(c)
    }
}

fn ln10(p: u32) -> MpfrInterval {
    MpfrInterval::int(10, p).rising(|a, r| a.ln_round(r))
}

fn pi(p: u32) -> MpfrInterval {
    MpfrInterval {
        lo: Float::with_val_round(p, Constant::Pi, Round::Down).0,
        hi: Float::with_val_round(p, Constant::Pi, Round::Up).0,
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

/// y' = s (1 + y^2), or s (1 - y^2).
fn riccati(y: MpfrInterval, s: &MpfrInterval, minus: bool, n: usize) -> Vec<MpfrInterval> {
    let one = MpfrInterval::int(1, y.precision());
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
            sum = sum.add(&one);
        }
        c.push(sum.mul(s).over(k as u32 + 1));
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
