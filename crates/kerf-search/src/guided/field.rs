//! Regression over a space whose points are listed: launch parameters, tile sizes, unroll factors.
//!
//! A Gaussian process. Points are alike by the product over parameters of exp(-distance / length), and, in
//! part, parameter by parameter on their own, so that few runs already tell which values are good in
//! general. Which distances count, how far they reach, the mixture and the noise are those that explain
//! the runs best, against a price for each distance beyond order. A prediction from elsewhere enters as a
//! linear term of unknown slope.
use super::coding::{Coding, DistanceKind};
use crate::problem::{Assignment, Problem};

/// Lengths that are tried, over the range of a parameter; the last means that a distance does not count.
const LENGTHS: [f64; 9] = [0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 10.0, 40.0, f64::INFINITY];

/// The last of [`LENGTHS`], and the one that order begins with.
const NEVER: usize = 8;
const BEGIN: usize = 3;

/// Parts of the covariance that single parameters have.
const ALONE: [f64; 4] = [0.05, 0.3, 0.6, 0.85];

/// Variances of the noise, over that of the values.
const NOISE: [f64; 3] = [1e-4, 1e-3, 1e-2];

/// Variances of the slope over the prediction.
const SLOPE: [f64; 3] = [0.0, 0.5, 2.0];

/// Runs that lengths are chosen by, at most.
const TUNED_BY: usize = 120;

/// Constants of the choice of lengths that comparisons vary.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prices {
    /// Evidence that a distance beyond order has to add.
    pub extra: f64,
    /// Evidence that a product of two parameters has to add.
    pub product: f64,
    /// Strength of the belief that lengths are about those that the choice begins with.
    pub middle: f64,
}

impl Default for Prices {
    fn default() -> Prices {
        Prices {
            extra: 0.5,
            product: 1.0,
            middle: 0.1,
        }
    }
}

impl Prices {
    /// Order alone: other distances are beyond any price.
    pub fn plain() -> Prices {
        Prices {
            extra: f64::INFINITY,
            product: f64::INFINITY,
            ..Prices::default()
        }
    }
}

/// The process, and its state over the pool: the points that it predicts.
#[derive(Clone)]
pub struct Field {
    coding: Coding,
    prices: Prices,
    /// An index into [`LENGTHS`] for each distance of each dimension.
    lengths: Vec<Vec<usize>>,
    alone: f64,
    noise: f64,
    slope: f64,
    /// Covariance of each two codes of each dimension; empty if the dimension does not count.
    tables: Vec<Vec<f64>>,
    /// Codes of the pool, dimension by dimension, and predictions.
    pool: Vec<Vec<u16>>,
    pool_prior: Vec<f64>,
    points: usize,
    /// Codes of the runs, run by run, and predictions.
    observed: Vec<Vec<u16>>,
    observed_prior: Vec<f64>,
    values: Vec<f64>,
    /// The lower factor of the runs' covariance, row by row.
    factor: Vec<Vec<f64>>,
    /// L^-1 k: for each run, over the pool.
    halves: Vec<Vec<f64>>,
    /// What is left of each point's variance.
    variances: Vec<f64>,
}

/// Sum of products, in four parts that the machine can do at once.
fn fast_dot(a: &[f64], b: &[f64]) -> f64 {
    let mut s = [0.0; 4];
    let (x, y) = (a.chunks_exact(4), b.chunks_exact(4));
    let rest: f64 = x
        .remainder()
        .iter()
        .zip(y.remainder())
        .map(|(a, b)| a * b)
        .sum();
    for (p, q) in x.zip(y) {
        for i in 0..4 {
            s[i] += p[i] * q[i];
        }
    }
    s.iter().sum::<f64>() + rest
}

/// Factors in place what [`Field::matrix`] gives, and solves for the values; the evidence's logarithm.
fn evidence(mut rows: Vec<Vec<f64>>, values: &[f64]) -> f64 {
    let (mut fit, mut det) = (0.0, 0.0);
    let mut half: Vec<f64> = Vec::with_capacity(rows.len());
    for i in 0..rows.len() {
        let (above, at) = rows.split_at_mut(i);
        let row = &mut at[0];
        for (j, other) in above.iter().enumerate() {
            row[j] = (row[j] - fast_dot(&row[..j], &other[..j])) / other[j];
        }
        let rest = row[i] - fast_dot(&row[..i], &row[..i]);
        row[i] = rest.max(1e-10).sqrt();
        let h = (values[i] - fast_dot(&row[..i], &half)) / row[i];
        half.push(h);
        fit += h * h;
        det += row[i].ln();
    }
    -0.5 * fit - det
}

impl Field {
    /// Nothing is known yet.
    pub fn new(problem: &Problem, points: &[Assignment], prices: Prices) -> Field {
        let coding = Coding::new(problem, points);
        let begin = |d: &super::coding::Dimension| {
            let one = |(i, _): (usize, _)| {
                if i == 0 && !d.product { BEGIN } else { NEVER }
            };
            d.distances.iter().enumerate().map(one).collect()
        };
        let lengths: Vec<Vec<usize>> = coding.dimensions.iter().map(begin).collect();
        let mut f = Field {
            prices,
            tables: Vec::new(),
            lengths,
            alone: 0.3,
            noise: 1e-3,
            slope: 0.0,
            pool: Vec::new(),
            pool_prior: Vec::new(),
            points: 0,
            observed: Vec::new(),
            observed_prior: Vec::new(),
            values: Vec::new(),
            factor: Vec::new(),
            halves: Vec::new(),
            variances: Vec::new(),
            coding,
        };
        f.tables = (0..f.lengths.len())
            .map(|d| f.table(d, &f.lengths[d]))
            .collect();
        f
    }

    /// The points to predict, with predictions from elsewhere (0 for none), instead of those before.
    pub fn set_pool(&mut self, problem: &Problem, points: &[(&Assignment, f64)]) {
        self.pool = vec![Vec::new(); self.coding.dimensions.len()];
        self.pool_prior.clear();
        self.points = 0;
        let mut codes = Vec::new();
        for (a, prior) in points {
            codes.clear();
            self.coding.encode(problem, a, &mut codes);
            for (d, c) in self.pool.iter_mut().zip(&codes) {
                d.push(*c);
            }
            self.pool_prior.push(*prior);
            self.points += 1;
        }
    }

    fn table(&self, d: usize, lengths: &[usize]) -> Vec<f64> {
        let dimension = &self.coding.dimensions[d];
        if lengths.iter().all(|l| *l == NEVER) {
            return Vec::new();
        }
        let mut t = vec![0.0; dimension.codes * dimension.codes];
        for ((_, far), l) in dimension.distances.iter().zip(lengths) {
            let length = LENGTHS[*l];
            if length.is_finite() {
                for (t, far) in t.iter_mut().zip(far) {
                    *t += far / length;
                }
            }
        }
        t.iter().map(|x| (-x).exp()).collect()
    }

    /// Covariance of one dimension; 1 where it does not count.
    fn alike(&self, tables: &[Vec<f64>], d: usize, a: u16, b: u16) -> f64 {
        let n = self.coding.dimensions[d].codes;
        let at = a as usize * n + b as usize;
        tables[d].get(at).copied().unwrap_or(1.0)
    }

    /// Product over all dimensions, and sum over parameters, of two points; without one of the dimensions.
    fn parts(&self, a: &[u16], b: &[u16], without: usize) -> (f64, f64) {
        let (mut product, mut sum) = (1.0, 0.0);
        for d in 0..self.tables.len() {
            if d == without {
                continue;
            }
            let k = self.alike(&self.tables, d, a[d], b[d]);
            product *= k;
            if d < self.coding.parameters {
                sum += k;
            }
        }
        (product, sum)
    }

    fn mix(&self, (product, sum): (f64, f64), prior: f64) -> f64 {
        let n = self.coding.parameters.max(1) as f64;
        (1.0 - self.alone) * product + self.alone * sum / n + self.slope * prior
    }

    fn penalty(&self, lengths: &[Vec<usize>]) -> f64 {
        let mut price = 0.0;
        for (d, lengths) in self.coding.dimensions.iter().zip(lengths) {
            for ((kind, _), l) in d.distances.iter().zip(lengths) {
                if *l == NEVER {
                    continue;
                }
                price += self.prices.middle * (*l as f64 - BEGIN as f64).powi(2);
                price += match (d.product, kind) {
                    (true, _) => self.prices.product,
                    (false, DistanceKind::Order) => 0.0,
                    (false, _) if d.distances.len() > 1 => self.prices.extra,
                    (false, _) => 0.0,
                };
            }
        }
        price
    }

    /// Chooses lengths, mixture, slope and noise anew, one after the other.
    fn tune(&mut self, sweeps: usize) {
        let telling = Telling::new(self);
        let whole = telling.pairs(self, NONE);
        let mut best = telling.evidence(self, &whole, None) - self.penalty(&self.lengths);
        for sweep in 0..sweeps {
            let before = best;
            for d in 0..self.lengths.len() {
                self.tune_lengths(&telling, d, sweep, &mut best);
            }
            self.tune_mixture(&telling, &mut best);
            if best - before < 0.1 {
                break;
            }
        }
    }

    /// Chooses the lengths of one dimension anew.
    fn tune_lengths(&mut self, telling: &Telling, d: usize, sweep: usize, best: &mut f64) {
        if self.coding.dimensions[d].product && self.prices.product.is_infinite() {
            return;
        }
        let rest = telling.pairs(self, d);
        for k in 0..self.lengths[d].len() {
            if k > 0 && self.prices.extra.is_infinite() {
                break;
            }
            let now = self.lengths[d][k];
            for l in 0..=NEVER {
                // Later sweeps look near by only; what does not count yet may begin anywhere.
                if l == now || (sweep > 0 && now != NEVER && l.abs_diff(now) > 1 && l != NEVER) {
                    continue;
                }
                let mut lengths = self.lengths.clone();
                lengths[d][k] = l;
                let table = self.table(d, &lengths[d]);
                let e = telling.evidence(self, &rest, Some((d, &table))) - self.penalty(&lengths);
                if e > *best {
                    *best = e;
                    self.lengths = lengths;
                    self.tables[d] = table;
                }
            }
        }
    }

    /// Chooses mixture, noise and slope anew, together.
    fn tune_mixture(&mut self, telling: &Telling, best: &mut f64) {
        let whole = telling.pairs(self, NONE);
        let mut kept = (self.alone, self.noise, self.slope);
        let has_prior = self.observed_prior.iter().any(|p| *p != 0.0);
        let slopes = if has_prior { &SLOPE[..] } else { &SLOPE[..1] };
        for alone in ALONE {
            for noise in NOISE {
                for slope in slopes {
                    (self.alone, self.noise, self.slope) = (alone, noise, *slope);
                    let e = telling.evidence(self, &whole, None) - self.penalty(&self.lengths);
                    if e > *best {
                        *best = e;
                        kept = (alone, noise, *slope);
                    }
                }
            }
        }
        (self.alone, self.noise, self.slope) = kept;
    }

    /// Takes runs with values of mean 0 and deviation 1, and computes everything anew. `sweeps` over the
    /// lengths; with none they stay.
    pub fn learn(
        &mut self,
        problem: &Problem,
        runs: &[(&Assignment, f64)],
        values: &[f64],
        sweeps: usize,
    ) {
        self.observed.clear();
        self.observed_prior.clear();
        self.values = values.to_vec();
        self.factor.clear();
        self.halves.clear();
        for (a, prior) in runs {
            self.note(problem, a, *prior);
        }
        if sweeps > 0 && runs.len() > 1 {
            self.tune(sweeps);
        }
        let one = 1.0;
        let prior = self.pool_prior.iter();
        self.variances = prior.map(|p| one + self.slope * p * p).collect();
        for i in 0..runs.len() {
            self.extend(i);
        }
    }

    /// One more run; values of all are given, since their mean may have changed.
    pub fn add(&mut self, problem: &Problem, run: (&Assignment, f64), values: &[f64]) {
        self.values = values.to_vec();
        self.note(problem, run.0, run.1);
        self.extend(self.observed.len() - 1);
    }

    fn note(&mut self, problem: &Problem, a: &Assignment, prior: f64) {
        let mut codes = Vec::new();
        self.coding.encode(problem, a, &mut codes);
        self.observed.push(codes);
        self.observed_prior.push(prior);
    }

    fn extend(&mut self, i: usize) {
        let new = &self.observed[i];
        let prior = self.observed_prior[i];
        let mut row: Vec<f64> = Vec::with_capacity(i + 1);
        for j in 0..i {
            let k = self.mix(
                self.parts(new, &self.observed[j], usize::MAX),
                prior * self.observed_prior[j],
            );
            let other = &self.factor[j];
            row.push((k - fast_dot(&row, &other[..j])) / other[j]);
        }
        let own = 1.0 + self.slope * prior * prior + self.noise;
        row.push((own - fast_dot(&row, &row)).max(1e-10).sqrt());
        let (mut product, mut sum) = (vec![1.0; self.points], vec![0.0; self.points]);
        for (d, table) in self.tables.iter().enumerate() {
            let n = self.coding.dimensions[d].codes;
            let from = new[d] as usize * n;
            let single = d < self.coding.parameters;
            match table.get(from..from + n) {
                Some(t) => {
                    for ((p, s), c) in product.iter_mut().zip(&mut sum).zip(&self.pool[d]) {
                        let k = t[*c as usize];
                        *p *= k;
                        *s += if single { k } else { 0.0 };
                    }
                }
                None if single => sum.iter_mut().for_each(|s| *s += 1.0),
                None => {}
            }
        }
        let mut half = product;
        for ((h, s), p) in half.iter_mut().zip(&sum).zip(&self.pool_prior) {
            *h = self.mix((*h, *s), prior * p);
        }
        for (l, other) in row.iter().zip(&self.halves) {
            for (h, o) in half.iter_mut().zip(other) {
                *h -= l * o;
            }
        }
        let diagonal = row[i];
        for (h, v) in half.iter_mut().zip(&mut self.variances) {
            *h /= diagonal;
            *v -= *h * *h;
        }
        self.factor.push(row);
        self.halves.push(half);
    }

    /// Mean and deviation at every point of the pool.
    pub fn predict(&self) -> Vec<(f64, f64)> {
        let mut mean = vec![0.0; self.points];
        let mut solved: Vec<f64> = Vec::with_capacity(self.values.len());
        for (i, (row, half)) in self.factor.iter().zip(&self.halves).enumerate() {
            let s = (self.values[i] - fast_dot(&row[..i], &solved)) / row[i];
            solved.push(s);
            for (m, h) in mean.iter_mut().zip(half) {
                *m += s * h;
            }
        }
        let each = mean.into_iter().zip(&self.variances);
        each.map(|(m, v)| (m, v.max(1e-9).sqrt())).collect()
    }
}

/// No dimension is left out.
const NONE: usize = usize::MAX;

/// The runs that tell most: the fastest, and some of the others, evenly spread.
struct Telling {
    chosen: Vec<usize>,
    values: Vec<f64>,
}

impl Telling {
    fn new(f: &Field) -> Telling {
        let n = f.observed.len();
        let mut by: Vec<usize> = (0..n).collect();
        by.sort_by(|x, y| f.values[*x].total_cmp(&f.values[*y]));
        let mut chosen: Vec<usize> = by.iter().copied().take(TUNED_BY / 2).collect();
        let rest = &by[chosen.len()..];
        let room = TUNED_BY - TUNED_BY / 2;
        let step = (rest.len() as f64 / room as f64).max(1.0);
        chosen.extend((0..room.min(rest.len())).map(|i| rest[(i as f64 * step) as usize]));
        chosen.sort_unstable();
        chosen.dedup();
        let values = chosen.iter().map(|i| f.values[*i]).collect();
        Telling { chosen, values }
    }

    /// [`Field::parts`] of each of them with those before it and itself.
    fn pairs(&self, f: &Field, without: usize) -> Vec<Vec<(f64, f64)>> {
        let row = |(i, a): (usize, &usize)| {
            let one = |b: &usize| f.parts(&f.observed[*a], &f.observed[*b], without);
            self.chosen[..=i].iter().map(one).collect()
        };
        self.chosen.iter().enumerate().map(row).collect()
    }

    /// Evidence of their values; with a dimension that the pairs are without, and its table.
    fn evidence(&self, f: &Field, pairs: &[Vec<(f64, f64)>], with: Option<(usize, &[f64])>) -> f64 {
        let chosen = &self.chosen;
        let mut rows: Vec<Vec<f64>> = Vec::with_capacity(pairs.len());
        for (i, row) in pairs.iter().enumerate() {
            let a = &f.observed[chosen[i]];
            let pa = f.observed_prior[chosen[i]];
            let cell = |(j, (product, sum)): (usize, &(f64, f64))| {
                let b = &f.observed[chosen[j]];
                let (mut product, mut sum) = (*product, *sum);
                if let Some((d, table)) = with {
                    let n = f.coding.dimensions[d].codes;
                    let at = a[d] as usize * n + b[d] as usize;
                    let k = table.get(at).copied().unwrap_or(1.0);
                    product *= k;
                    if d < f.coding.parameters {
                        sum += k;
                    }
                }
                let noise = if i == j { f.noise } else { 0.0 };
                f.mix((product, sum), pa * f.observed_prior[chosen[j]]) + noise
            };
            rows.push(row.iter().enumerate().map(cell).collect());
        }
        evidence(rows, &self.values)
    }
}
