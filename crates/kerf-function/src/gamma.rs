//! Taylor coefficients of the gamma function and its logarithm on positive numbers, enclosed.
//!
//! The k-th coefficient of log gamma is (-1)^k zeta(k, x) / k from k = 2 on, with Hurwitz' zeta function by Euler and Maclaurin's sum: its
//! remainder has the sign of the first term that is left out, and is not larger (Olver 1974, 8.1). Those of gamma follow from
//! g' = g (log gamma)'.
use kerf_hardround::interval::MpfrInterval;
use rug::Float;
use rug::float::Round;
use rug::ops::PowAssignRound;

/// Numerators and denominators of B_2, B_4, ... B_20.
const BERNOULLI: [(i64, u32); 10] = [
    (1, 6),
    (-1, 30),
    (1, 42),
    (-1, 30),
    (5, 66),
    (-691, 2730),
    (7, 6),
    (-3617, 510),
    (43867, 798),
    (-174611, 330),
];
/// Terms of the series are summed one by one up to here.
const SUMMED_TO: f64 = 32.0;

/// x^-s
fn reciprocal_power(x: &MpfrInterval, s: i32) -> MpfrInterval {
    x.falling(|a, r| a.pow_assign_round(-s, r))
}

/// zeta(s, x) at a number.
fn hurwitz(s: i32, x: &Float, precision: u32) -> Option<MpfrInterval> {
    let x = MpfrInterval::point(x, precision);
    let int = |n: i64| MpfrInterval::int(n, precision);
    let terms = (SUMMED_TO - x.lo.to_f64()).ceil().max(0.0) as i64;
    let mut sum = int(0);
    for n in 0..terms {
        sum = sum.add(&reciprocal_power(&x.add(&int(n)), s));
    }
    let y = x.add(&int(terms));
    sum = sum.add(&reciprocal_power(&y, s - 1).over(s.unsigned_abs() - 1));
    sum = sum.add(&reciprocal_power(&y, s).shift(-1));
    // s (s + 1) ... (s + 2j - 2) y^(-s - 2j + 1) / (2j)!
    let mut factor = reciprocal_power(&y, s + 1).times(s.into()).shift(-1);
    let squared = y.mul(&y);
    for (j, (numerator, denominator)) in BERNOULLI.into_iter().enumerate() {
        let term = factor.times(numerator).over(denominator);
        if j + 1 == BERNOULLI.len() {
            let bound = Float::with_val(precision, term.magnitude());
            sum = sum.add(&MpfrInterval::new(&-bound.clone(), &bound, precision));
            break;
        }
        sum = sum.add(&term);
        let k = 2 * (j as i64 + 1);
        let (a, b) = (i64::from(s) + k - 1, i64::from(s) + k);
        factor = factor
            .times(a * b)
            .div(&squared)?
            .over((k as u32 + 1) * (k as u32 + 2));
    }
    Some(sum)
}

/// Coefficients of log gamma.
pub(crate) fn logarithm(x: &MpfrInterval, n: usize) -> Option<Vec<MpfrInterval>> {
    if x.lo <= 0 {
        return None;
    }
    let precision = x.precision();
    let slope = x.rising(|a, r| a.digamma_round(r));
    let middle = Float::with_val(precision, &x.lo + &x.hi) >> 1;
    let middle = MpfrInterval::point(&middle, precision);
    let at_middle = middle.rising(|a, r| a.ln_gamma_round(r));
    let mut all = vec![at_middle.add(&slope.mul(&x.sub(&middle))), slope];
    for k in 2..=n as i32 {
        // It decreases with x.
        let zeta = MpfrInterval {
            lo: hurwitz(k, &x.hi, precision)?.lo,
            hi: hurwitz(k, &x.lo, precision)?.hi,
        };
        let sign = if k % 2 == 0 { 1 } else { -1 };
        all.push(zeta.times(sign).over(k.unsigned_abs()));
    }
    all.truncate(n + 1);
    Some(all)
}

/// Coefficients of gamma.
pub(crate) fn gamma(x: &MpfrInterval, n: usize) -> Option<Vec<MpfrInterval>> {
    let logarithm = logarithm(x, n)?;
    let mut all = vec![logarithm[0].rising(|a, r: Round| a.exp_round(r))];
    for k in 1..=n {
        let mut sum = MpfrInterval::int(0, x.precision());
        for j in 1..=k {
            sum = sum.add(&logarithm[j].times(j as i64).mul(&all[k - j]));
        }
        all.push(sum.over(k as u32));
    }
    Some(all)
}
