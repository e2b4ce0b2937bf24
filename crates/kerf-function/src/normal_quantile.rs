//! The inverse of the normal distribution function: values by Newton's iteration, and enclosed Taylor coefficients.
//!
//! An enclosure takes nothing from the iteration: the distribution function is on both sides of the probability at its ends.
//! Coefficients follow from w'' = w w'^2 for the inverse w.
use kerf_hardround::interval::MpfrInterval;
use rug::Float;
use rug::float::{Constant, Round};

/// The normal distribution function at w: erfc(-w / sqrt(2)) / 2.
fn distribution(w: &Float, precision: u32) -> Float {
    let root = Float::with_val(precision, 2).sqrt();
    (Float::with_val(precision, -w) / root).erfc() / 2
}

/// The inverse at a probability between 0 and 1, to about `precision` bits.
pub(crate) fn value(p: &Float, precision: u32) -> Float {
    let mut ends = [Float::with_val(53, -40), Float::with_val(53, 40)];
    for _ in 0..40 {
        let middle = Float::with_val(53, &ends[0] + &ends[1]) / 2;
        let is_below = distribution(&middle, 53) < *p;
        ends[usize::from(!is_below)] = middle;
    }
    let wide = precision + 64;
    let mut w = Float::with_val(wide, &ends[0]);
    // From 35 bits on each step doubles them.
    let steps = (f64::from(wide) / 35.0).log2().ceil() as u32 + 1;
    for _ in 0..steps {
        let off = distribution(&w, wide) - p;
        let square: Float = Float::with_val(wide, w.square_ref()) / 2;
        let two_pi: Float = Float::with_val(wide, Constant::Pi) * 2;
        w -= off * square.exp() * two_pi.sqrt();
    }
    Float::with_val(precision, w)
}

/// The distribution function at a number, enclosed.
fn enclosed_distribution(w: &Float, precision: u32) -> MpfrInterval {
    let root = MpfrInterval::int(2, precision).falling(|a, r| a.recip_sqrt_round(r));
    let scaled = MpfrInterval::point(w, precision).neg().mul(&root);
    scaled.falling(|a, r| a.erfc_round(r)).shift(-1)
}

/// The inverse at a number, from below or from above.
fn bound(p: &Float, precision: u32, is_upper: bool) -> Option<Float> {
    let w = value(p, precision);
    let mut distance = Float::with_val(precision, 1) >> (precision / 2);
    for _ in 0..8 {
        let at = match is_upper {
            true => Float::with_val_round(precision, &w + &distance, Round::Up).0,
            false => Float::with_val_round(precision, &w - &distance, Round::Down).0,
        };
        let there = enclosed_distribution(&at, precision);
        let is_beyond = match is_upper {
            true => there.lo >= *p,
            false => there.hi <= *p,
        };
        if is_beyond {
            return Some(at);
        }
        distance <<= 8;
    }
    None
}

/// Coefficients on probabilities between 0 and 1.
pub(crate) fn taylor(p: &MpfrInterval, n: usize) -> Option<Vec<MpfrInterval>> {
    if p.lo <= 0 || p.hi >= 1 {
        return None;
    }
    let precision = p.precision();
    let first = MpfrInterval {
        lo: bound(&p.lo, precision, false)?,
        hi: bound(&p.hi, precision, true)?,
    };
    // w' = sqrt(2 pi) exp(w^2 / 2)
    let magnitude = |x: &Float| x.clone().abs();
    let (a, b) = (magnitude(&first.lo), magnitude(&first.hi));
    let least = match first.has_zero() {
        true => Float::with_val(precision, 0),
        false => a.clone().min(&b),
    };
    let size = MpfrInterval::new(&least, &a.max(&b), precision);
    let two_pi = MpfrInterval {
        lo: Float::with_val_round(precision, Constant::Pi, Round::Down).0,
        hi: Float::with_val_round(precision, Constant::Pi, Round::Up).0,
    }
    .shift(1);
    let growth = size.mul(&size).shift(-1).rising(|a, r| a.exp_round(r));
    let slope = two_pi.rising(|a, r| a.sqrt_round(r)).mul(&growth);
    let (mut w, mut u) = (vec![first], vec![slope]);
    for k in 0..n {
        w.push(u[k].over(k as u32 + 1));
        let product = |x: &[MpfrInterval], y: &[MpfrInterval], k: usize| {
            let terms = (0..=k).map(|i| x[i].mul(&y[k - i]));
            terms.fold(MpfrInterval::int(0, precision), |s, t| s.add(&t))
        };
        let squares: Vec<MpfrInterval> = (0..=k).map(|i| product(&u, &u, i)).collect();
        u.push(product(&w, &squares, k).over(k as u32 + 1));
    }
    Some(w)
}
