//! Minimax polynomials by the exchange algorithm of Remez, after W. J. Cody, W. Fraser and J. F. Hart (1968), in MPFR.
//!
//! Nothing here is a bound: [`crate::core_bound`] proves the error of what comes out, whatever it is.
use crate::linear::{FIT_PRECISION, float, polynomial, solve};
use rug::Float;
use rug::float::Constant;

/// Exchanges after which the polynomial is taken as it is.
const MOST_EXCHANGES: usize = 10;
/// Points of the grid on which extrema are looked for, for each of the coefficients.
const GRID: usize = 12;

/// A function to approximate: its value and the weight of an error, at each of many points.
pub(crate) struct FitProblem {
    /// Points in ascending order, with value and weight.
    samples: Vec<(Float, Float, Float)>,
}

/// A polynomial and its largest weighted error on the grid.
pub(crate) struct Minimax {
    /// Coefficients, from the lowest power.
    pub coefficients: Vec<Float>,
    /// Largest weighted error.
    pub error: f64,
}

/// `n` Chebyshev points of an interval, in ascending order.
pub(crate) fn chebyshev_points(lo: &Float, hi: &Float, n: usize) -> Vec<Float> {
    let pi = Float::with_val(FIT_PRECISION, Constant::Pi);
    let middle = Float::with_val(FIT_PRECISION, lo + hi) / 2;
    let radius = Float::with_val(FIT_PRECISION, hi - lo) / 2;
    let point = |i: usize| {
        let angle = Float::with_val(FIT_PRECISION, &pi * (2 * i + 1) as u32) / (2 * n) as u32;
        Float::with_val(FIT_PRECISION, &middle - &radius * angle.cos())
    };
    (0..n).map(point).collect()
}

impl FitProblem {
    /// A function on an interval, by its value and weight, sampled finely enough for polynomials up to a degree.
    pub(crate) fn new(
        lo: &Float,
        hi: &Float,
        degree: usize,
        value_and_weight: impl Fn(&Float) -> (Float, Float),
    ) -> FitProblem {
        let sample = |t: Float| {
            let (value, weight) = value_and_weight(&t);
            (t, value, weight)
        };
        let points = chebyshev_points(lo, hi, GRID * (degree + 2));
        FitProblem {
            samples: points.into_iter().map(sample).collect(),
        }
    }

    /// Points with their weights, for the rounding of coefficients.
    pub(crate) fn weighted_points(&self, about: usize) -> Vec<(Float, Float)> {
        let step = (self.samples.len() / about).max(1);
        let chosen = self.samples.iter().step_by(step);
        chosen.map(|(t, _, w)| (t.clone(), w.clone())).collect()
    }

    /// The weighted error of a polynomial at each sample.
    fn errors(&self, c: &[Float]) -> Vec<Float> {
        let one = |(t, y, w): &(Float, Float, Float)| (polynomial(c, t) - y) * w;
        self.samples.iter().map(one).collect()
    }

    /// The polynomial whose weighted errors at the chosen samples are equal with alternating signs.
    fn levelled(&self, chosen: &[usize]) -> Option<Vec<Float>> {
        let n = chosen.len();
        let row = |(i, s): (usize, &usize)| {
            let (t, _, w) = &self.samples[*s];
            let mut r = vec![float(1.0)];
            for k in 1..n - 1 {
                r.push(Float::with_val(FIT_PRECISION, &r[k - 1] * t));
            }
            let sign = if i % 2 == 0 { 1 } else { -1 };
            r.push(Float::with_val(FIT_PRECISION, sign / w));
            r
        };
        let a = chosen.iter().enumerate().map(row).collect();
        let b = chosen.iter().map(|s| self.samples[*s].1.clone()).collect();
        let mut c = solve(a, b)?;
        c.pop();
        Some(c)
    }

    fn first_choice(&self, degree: usize) -> Vec<usize> {
        let last = self.samples.len() - 1;
        let n = degree + 2;
        (0..n).map(|i| i * last / (n - 1)).collect()
    }

    /// About the error of the minimax polynomial of a degree, and not above it (de la Vallee-Poussin).
    pub(crate) fn level(&self, degree: usize) -> f64 {
        let chosen = self.first_choice(degree);
        let Some(c) = self.levelled(&chosen) else {
            return f64::INFINITY;
        };
        let (t, y, w) = &self.samples[chosen[0]];
        ((polynomial(&c, t) - y) * w).to_f64().abs()
    }

    /// The minimax polynomial of a degree.
    pub(crate) fn minimax(&self, degree: usize) -> Option<Minimax> {
        let n = degree + 2;
        let mut chosen = self.first_choice(degree);
        let mut best: Option<Minimax> = None;
        for _ in 0..MOST_EXCHANGES {
            let c = self.levelled(&chosen)?;
            let errors = self.errors(&c);
            let sizes: Vec<f64> = errors.iter().map(|e| e.to_f64().abs()).collect();
            let error = sizes.iter().copied().fold(0.0, f64::max);
            let level = sizes[chosen[0]];
            if best.as_ref().is_none_or(|b| error < b.error) {
                best = Some(Minimax {
                    coefficients: c,
                    error,
                });
            }
            if error <= level * 1.005 {
                break;
            }
            match exchanged(&errors, &sizes, n) {
                Some(next) if next != chosen => chosen = next,
                _ => break,
            }
        }
        best
    }
}

/// The largest error of each run of one sign; of more than `n`, those around the largest.
fn exchanged(errors: &[Float], sizes: &[f64], n: usize) -> Option<Vec<usize>> {
    let mut peaks: Vec<usize> = Vec::new();
    for (i, e) in errors.iter().enumerate() {
        match peaks.last_mut() {
            Some(p) if errors[*p].is_sign_negative() == e.is_sign_negative() => {
                if sizes[i] > sizes[*p] {
                    *p = i;
                }
            }
            _ => peaks.push(i),
        }
    }
    while peaks.len() > n {
        let (first, last) = (sizes[peaks[0]], sizes[peaks[peaks.len() - 1]]);
        if first < last {
            peaks.remove(0);
        } else {
            peaks.pop();
        }
    }
    (peaks.len() == n).then_some(peaks)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The minimax polynomial of degree 1 of exp on [0, 1] has the error 0.10593...
    #[test]
    fn the_line_nearest_to_exp() {
        let one = |t: &Float| (t.clone().exp(), float(1.0));
        let problem = FitProblem::new(&float(0.0), &float(1.0), 30, one);
        let m = problem.minimax(1).expect("exists");
        assert!((m.error - 0.105933).abs() < 1e-3, "{}", m.error);
        assert!((m.coefficients[1].to_f64() - 1.7182818).abs() < 1e-3);
        let m = problem.minimax(12).expect("exists");
        assert!(m.error < 1e-17, "{}", m.error);
    }
}
