//! Regression of time over a space whose points are listed: launch parameters and the like.
//!
//! The logarithm of time is a Gaussian process. Points are alike by the product over parameters of
//! exp(-distance / length), and, in part, parameter by parameter on their own, so that few runs already tell
//! which values are good in general. Lengths, the mixture and the noise are those that explain the runs
//! best.
use super::linear::{Cholesky, dot};
use crate::problem::{Assignment, Problem};

/// Lengths that are tried, over the range of a parameter.
const LENGTHS: [f64; 8] = [0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 10.0, 40.0];

/// Parts of the covariance that single parameters have.
const ALONE: [f64; 4] = [0.05, 0.3, 0.6, 0.85];

/// Variances of the noise, over that of the logarithms.
const NOISE: [f64; 3] = [1e-4, 1e-3, 1e-2];

/// The process, and its state over all points.
pub struct Field<'p> {
    points: &'p [Assignment],
    /// Position of each level of each variable, from 0 to 1.
    positions: Vec<Vec<f64>>,
    lengths: Vec<f64>,
    alone: f64,
    noise: f64,
    /// Covariance of each two levels of each variable.
    tables: Vec<Vec<Vec<f64>>>,
    observed: Vec<usize>,
    values: Vec<f64>,
    factor: Cholesky,
    /// L^-1 k for each point, one run after the other.
    halves: Vec<Vec<f64>>,
    /// What is left of each point's variance.
    variances: Vec<f64>,
}

/// Where levels lie: numbers by their logarithm where all are positive, else in order.
fn positions(problem: &Problem) -> Vec<Vec<f64>> {
    let one = |v: &crate::problem::Variable| {
        let n = v.levels.len();
        let values: Vec<f64> = v.levels.iter().filter_map(|l| l.value).collect();
        let at: Vec<f64> = match values.len() == n && values.iter().all(|x| *x > 0.0) {
            true => values.iter().map(|x| x.ln()).collect(),
            false => (0..n).map(|i| i as f64).collect(),
        };
        let low = at.iter().copied().fold(f64::INFINITY, f64::min);
        let high = at.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let range = if high > low { high - low } else { 1.0 };
        at.iter().map(|x| (x - low) / range).collect()
    };
    problem.variables.iter().map(one).collect()
}

impl<'p> Field<'p> {
    /// Nothing is known yet.
    pub fn new(problem: &'p Problem, points: &'p [Assignment]) -> Field<'p> {
        let n = problem.variables.len();
        let mut f = Field {
            points,
            positions: positions(problem),
            lengths: vec![1.0; n],
            alone: 0.3,
            noise: 1e-3,
            tables: Vec::new(),
            observed: Vec::new(),
            values: Vec::new(),
            factor: Cholesky::default(),
            halves: Vec::new(),
            variances: Vec::new(),
        };
        f.tables = (0..n).map(|d| f.table(d, 1.0)).collect();
        f
    }

    fn table(&self, d: usize, length: f64) -> Vec<Vec<f64>> {
        let p = &self.positions[d];
        let row = |x: &f64| p.iter().map(|y| (-(x - y).abs() / length).exp()).collect();
        p.iter().map(row).collect()
    }

    fn covariance(&self, a: &[u8], b: &[u8]) -> f64 {
        let (mut product, mut sum) = (1.0, 0.0);
        for ((t, x), y) in self.tables.iter().zip(a).zip(b) {
            let k = t[*x as usize][*y as usize];
            product *= k;
            sum += k;
        }
        (1.0 - self.alone) * product + self.alone * sum / self.tables.len().max(1) as f64
    }

    /// Logarithm of the evidence for the present lengths.
    fn evidence(&self) -> f64 {
        let factor = self.factored();
        let half = factor.forward(&self.values);
        -0.5 * (dot(&half, &half) + factor.log_det())
    }

    fn factored(&self) -> Cholesky {
        Cholesky::of(self.observed.len(), |i, j| {
            let (a, b) = (self.observed[i], self.observed[j]);
            let noise = if i == j { self.noise } else { 0.0 };
            self.covariance(&self.points[a], &self.points[b]) + noise
        })
    }

    /// Chooses lengths, mixture and noise anew, one after the other.
    pub fn tune(&mut self) {
        let mut best = self.evidence();
        for _ in 0..2 {
            let before = best;
            for d in 0..self.lengths.len() {
                if self.positions[d].len() < 2 {
                    continue;
                }
                let old = (self.lengths[d], self.tables[d].clone());
                let mut kept = old.clone();
                for length in LENGTHS.into_iter().filter(|l| *l != old.0) {
                    self.tables[d] = self.table(d, length);
                    let e = self.evidence();
                    if e > best {
                        best = e;
                        kept = (length, self.tables[d].clone());
                    }
                }
                (self.lengths[d], self.tables[d]) = kept;
            }
            let mut kept = (self.alone, self.noise);
            for alone in ALONE {
                for noise in NOISE {
                    (self.alone, self.noise) = (alone, noise);
                    let e = self.evidence();
                    if e > best {
                        best = e;
                        kept = (alone, noise);
                    }
                }
            }
            (self.alone, self.noise) = kept;
            if best - before < 0.1 {
                break;
            }
        }
    }

    /// Takes runs, as numbers of points with values of mean 0 and deviation 1, and computes everything
    /// anew.
    pub fn learn(&mut self, observed: &[usize], values: &[f64], tune: bool) {
        self.observed = observed.to_vec();
        self.values = values.to_vec();
        if tune {
            self.tune();
        }
        self.factor = Cholesky::default();
        self.halves = vec![Vec::new(); self.points.len()];
        self.variances = vec![1.0; self.points.len()];
        for i in 0..observed.len() {
            self.extend(i);
        }
    }

    /// One more run; values of all are given, since their mean may have changed.
    pub fn add(&mut self, observed: usize, values: &[f64]) {
        self.observed.push(observed);
        self.values = values.to_vec();
        self.extend(self.observed.len() - 1);
    }

    fn extend(&mut self, i: usize) {
        let new = &self.points[self.observed[i]];
        let below: Vec<f64> = (0..i)
            .map(|j| self.covariance(new, &self.points[self.observed[j]]))
            .collect();
        self.factor.push(&below, 1.0 + self.noise);
        let row = self.factor.last().to_vec();
        let (rest, diagonal) = row.split_at(i);
        for p in 0..self.points.len() {
            let k = self.covariance(new, &self.points[p]);
            let h = (k - dot(rest, &self.halves[p])) / diagonal[0];
            self.halves[p].push(h);
            self.variances[p] -= h * h;
        }
    }

    /// Mean and deviation at every point.
    pub fn predict(&self) -> Vec<(f64, f64)> {
        let half = self.factor.forward(&self.values);
        let each = self.halves.iter().zip(&self.variances);
        each.map(|(h, v)| (dot(h, &half), v.max(1e-9).sqrt()))
            .collect()
    }
}
