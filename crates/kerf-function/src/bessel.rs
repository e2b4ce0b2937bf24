//! Taylor coefficients of Bessel functions of orders 0 and 1, enclosed.
//!
//! Both kinds have the derivative C_v' = (C_(v-1) - C_(v+1)) / 2, so that the k-th one is 2^-k sum_i (-1)^i C(k, i) C_(v-k+2i), with
//! C_(-m) = (-1)^m C_m. Values of orders up to v + n on an interval are those at its middle, and a bound of the slope.
use kerf_hardround::interval::MpfrInterval;
use rug::Float;
use rug::float::Round;
use rug::ops::{AddAssignRound, MulAssignRound};

/// Coefficients of a function of the first kind.
pub(crate) fn first_kind(x: &MpfrInterval, n: usize, order: i32) -> Vec<MpfrInterval> {
    // |J_m'| <= 1 for every m.
    let value = |m: i32| x.lipschitz(1, |a, r| a.jn_round(m, r));
    let values: Vec<MpfrInterval> = (0..=order + n as i32).map(value).collect();
    coefficients(&values, n, order)
}

/// Coefficients of a function of the second kind, on positive arguments; none elsewhere.
pub(crate) fn second_kind(x: &MpfrInterval, n: usize, order: i32) -> Option<Vec<MpfrInterval>> {
    if x.lo <= 0 {
        return None;
    }
    let most = order + n as i32;
    // J_m^2 + Y_m^2 decreases on positive numbers (Nicholson; Watson 1944, 13.74): its root at the lower end bounds |Y_m|.
    let bound = |m: i32| {
        let mut first = x.lo.clone();
        first.jn_round(m, Round::AwayZero);
        let mut second = x.lo.clone();
        second.yn_round(m, Round::AwayZero);
        first.abs_mut();
        first.add_assign_round(&second.abs(), Round::Up);
        first
    };
    let bounds: Vec<Float> = (0..=most + 1).map(bound).collect();
    let value = |m: i32| {
        let mut steepest = bounds[m.abs_diff(1) as usize].clone();
        steepest.add_assign_round(&bounds[m as usize + 1], Round::Up);
        steepest >>= 1;
        around_middle(x, steepest, |a, r| a.yn_round(m, r))
    };
    let values: Vec<MpfrInterval> = (0..=most).map(value).collect();
    Some(coefficients(&values, n, order))
}

/// A function's values by that at the middle and a bound of its slope.
fn around_middle(
    x: &MpfrInterval,
    steepest: Float,
    f: impl Fn(&mut Float, Round) -> std::cmp::Ordering,
) -> MpfrInterval {
    let precision = x.precision();
    let middle = Float::with_val(precision, &x.lo + &x.hi) >> 1;
    let at_middle = MpfrInterval::point(&middle, precision).rising(f);
    // The whole width is not below the distance of the middle from either end.
    let mut off = Float::with_val_round(precision, x.width(), Round::Up).0;
    off.mul_assign_round(&steepest, Round::Up);
    at_middle.add(&MpfrInterval::new(&-off.clone(), &off, precision))
}

/// Coefficients from the values of orders 0 and up.
fn coefficients(values: &[MpfrInterval], n: usize, order: i32) -> Vec<MpfrInterval> {
    let at = |m: i32| match m < 0 && m % 2 != 0 {
        true => values[m.unsigned_abs() as usize].neg(),
        false => values[m.unsigned_abs() as usize].clone(),
    };
    let mut factorial = 1u32;
    let mut coefficients = Vec::new();
    for k in 0..=n as i32 {
        factorial *= k.max(1) as u32;
        let mut binomial = 1i64;
        let mut sum = MpfrInterval::int(0, values[0].precision());
        for i in 0..=k {
            let sign = if i % 2 == 0 { 1 } else { -1 };
            sum = sum.add(&at(order - k + 2 * i).times(sign * binomial));
            binomial = binomial * i64::from(k - i) / i64::from(i + 1);
        }
        coefficients.push(sum.shift(-k).over(factorial));
    }
    coefficients
}
