//! One hypothesis about errors, fitted to the runs: its contributions and their covariance.
use super::lanes::{F64Lanes, LANES, LevelRows, distance};
use super::linear::Cholesky;
use kerf_num::wide;
use std::sync::OnceLock;

/// Deviations of the logarithms before any run.
#[derive(Debug, Clone, Copy)]
pub struct Deviations {
    /// Common to all.
    pub common: f64,
    /// Of each level.
    pub level: f64,
    /// Of each variable.
    pub variable: f64,
    /// Of each variable at each level.
    pub own: f64,
    /// Of what norms cannot say.
    pub interplay: f64,
    /// Of repeated measurements.
    pub noise: f64,
}

/// Similarity of assignments that differ in one variable, as far as interplay goes.
const ALIKE: f64 = 0.6;

/// A run under one fit.
pub struct View {
    /// Share of each lowered variable in the norm: index, level, derivative of the logarithm.
    shares: Vec<(usize, u8, f64)>,
    /// All shares together, and those of each level from the first lowered one on.
    total: f64,
    levels: Vec<f64>,
}

impl View {
    /// With the sums of its shares, which every covariance takes.
    pub fn new(shares: Vec<(usize, u8, f64)>) -> View {
        let lowest = shares.iter().map(|s| s.1).max().unwrap_or(0);
        let mut levels = vec![0.0; usize::from(lowest)];
        for s in &shares {
            levels[usize::from(s.1) - 1] += s.2;
        }
        View {
            total: shares.iter().map(|s| s.2).sum(),
            shares,
            levels,
        }
    }
}

/// One norm and interplay, fitted.
pub struct ErrorFit {
    /// The norm.
    pub norm: f64,
    /// What was assumed.
    pub deviations: Deviations,
    /// Logarithm of the contribution by variable and level.
    pub logs: Vec<Vec<f64>>,
    /// The runs under it.
    pub views: Vec<View>,
    /// Covariance of the runs, noise included.
    pub factor: Cholesky,
    /// Its inverse times what the runs have beyond the predictions.
    pub alpha: Vec<f64>,
    /// Its probability.
    pub weight: f64,
}

/// Similarity of two assignments.
pub fn alike(a: &[u8], b: &[u8]) -> f64 {
    ALIKE.powi(distance(a, b) as i32)
}

/// Assignments to predict, one in each lane, and what does not depend on the fit.
pub struct ErrorBatch<'a> {
    assignments: [&'a [u8]; LANES],
    /// Similarity to each run.
    alike: Vec<F64Lanes>,
    /// What the caller's model says beyond what it said of the parts.
    offset: F64Lanes,
}

impl<'a> ErrorBatch<'a> {
    /// With the runs that they are compared with.
    pub fn new<'r>(
        assignments: [&'a [u8]; LANES],
        runs: impl Iterator<Item = &'r [u8]>,
        offset: F64Lanes,
    ) -> ErrorBatch<'a> {
        let powers = |far: usize| ALIKE.powi(far as i32);
        let powers: Vec<f64> = (0..=assignments[0].len()).map(powers).collect();
        let near = |b: &[u8]| F64Lanes::each(|k| powers[distance(assignments[k], b)]);
        ErrorBatch {
            assignments,
            alike: runs.map(near).collect(),
            offset,
        }
    }
}

/// Contributions to the power of the norm over the largest of them.
pub struct Powers {
    /// Logarithms by level of each variable, then that of the program's own error.
    logs: Vec<f64>,
    /// By which of these is the largest; each is made when it is needed first.
    over: Vec<OnceLock<Vec<f64>>>,
}

impl Powers {
    /// By norm, contributions, and the program's own error.
    pub fn new(norm: f64, logs: &[Vec<f64>], own: f64) -> Powers {
        let all = logs.iter().flatten().copied().chain([own]);
        let logs: Vec<f64> = all.map(|x| norm * x).collect();
        Powers {
            over: logs.iter().map(|_| OnceLock::new()).collect(),
            logs,
        }
    }

    fn over(&self, largest: usize) -> &[f64] {
        self.over[largest].get_or_init(|| {
            let top = self.logs[largest];
            self.logs.iter().map(|x| (x - top).exp()).collect()
        })
    }
}

/// Shares of assignments under one fit, one assignment in each lane.
struct LaneShares {
    /// Logarithm of the norm.
    log: F64Lanes,
    /// By variable, and by its level; none where a variable is not lowered or has another level.
    variables: Vec<F64Lanes>,
    levels_of: Vec<F64Lanes>,
    /// All together, and those of each level from the first lowered one on.
    total: F64Lanes,
    levels: Vec<F64Lanes>,
    /// Sum of their squares.
    squares: F64Lanes,
}

/// A fit that predictions are made by.
pub struct KeptFit {
    /// The fit.
    pub fit: ErrorFit,
    powers: Powers,
}

impl KeptFit {
    /// With the program's own error.
    pub fn new(fit: ErrorFit, own: f64) -> KeptFit {
        KeptFit {
            powers: Powers::new(fit.norm, &fit.logs, own),
            fit,
        }
    }

    fn shares(&self, rows: &LevelRows, batch: &ErrorBatch) -> LaneShares {
        let depth = self.fit.logs.iter().map(Vec::len).max().unwrap_or(0);
        let mut out = LaneShares {
            log: F64Lanes::ZERO,
            variables: vec![F64Lanes::ZERO; self.fit.logs.len()],
            levels_of: vec![F64Lanes::ZERO; rows.count],
            total: F64Lanes::ZERO,
            levels: vec![F64Lanes::ZERO; depth],
            squares: F64Lanes::ZERO,
        };
        for (k, a) in batch.assignments.iter().enumerate() {
            let lowered = a.iter().enumerate().filter(|(_, l)| **l > 0);
            let mut largest = rows.count;
            for (i, l) in lowered.clone() {
                let row = rows.at(i, *l);
                if self.powers.logs[row] > self.powers.logs[largest] {
                    largest = row;
                }
            }
            let parts = self.powers.over(largest);
            let sum = lowered.clone().map(|(i, l)| parts[rows.at(i, *l)]);
            let sum = sum.sum::<f64>() + parts[rows.count];
            out.log.0[k] = (self.powers.logs[largest] + sum.ln()) / self.fit.norm;
            let (mut total, mut squares) = (0.0, 0.0);
            for (i, l) in lowered {
                let row = rows.at(i, *l);
                let share = parts[row] / sum;
                out.variables[i].0[k] = share;
                out.levels_of[row].0[k] = share;
                out.levels[usize::from(*l) - 1].0[k] += share;
                total += share;
                squares += share * share;
            }
            (out.total.0[k], out.squares.0[k]) = (total, squares);
        }
        out
    }

    /// Covariance of the logarithms of errors: of the assignments and a run, by what their shares have in common.
    #[inline(always)]
    fn covariance(
        &self,
        total: F64Lanes,
        level: F64Lanes,
        variable: F64Lanes,
        own: F64Lanes,
    ) -> F64Lanes {
        let d = &self.fit.deviations;
        total
            + F64Lanes::all(d.level * d.level) * level
            + F64Lanes::all(d.variable * d.variable) * variable
            + F64Lanes::all(d.own * d.own) * own
    }

    /// Mean and deviation of the logarithms of errors.
    pub fn predict(&self, rows: &LevelRows, batch: &ErrorBatch) -> (F64Lanes, F64Lanes) {
        let fit = &self.fit;
        let d = &fit.deviations;
        let shares = self.shares(rows, batch);
        let (covariances, deviation) = covariances(self, rows, &shares, &batch.alike);
        let interplay = F64Lanes::all(d.interplay * d.interplay);
        let common = F64Lanes::all(d.common * d.common) * shares.total;
        let explained = fit.factor.forward_squares(&covariances);
        let mut level = F64Lanes::ZERO;
        shares.levels.iter().for_each(|x| level.add_product(x, x));
        let total = common * shares.total;
        let whole = self.covariance(total, level, shares.squares, shares.squares) + interplay;
        let deviations = F64Lanes::each(|k| (whole.0[k] - explained.0[k]).max(1e-6).sqrt());
        (shares.log + batch.offset + deviation, deviations)
    }
}

wide! {
    /// Covariances of assignments with each run, and what runs that are like them had beyond what norms say.
    fn covariances(
        kept: &KeptFit,
        rows: &LevelRows,
        shares: &LaneShares,
        alike: &[F64Lanes],
    ) -> (Vec<F64Lanes>, F64Lanes) {
        let fit = &kept.fit;
        let d = &fit.deviations;
        let interplay = F64Lanes::all(d.interplay * d.interplay);
        let common = F64Lanes::all(d.common * d.common) * shares.total;
        let mut deviation = F64Lanes::ZERO;
        let mut covariances = Vec::with_capacity(fit.views.len());
        for ((alike, v), alpha) in alike.iter().zip(&fit.views).zip(&fit.alpha) {
            let near = interplay * *alike;
            deviation.add_scaled(&near, *alpha);
            let (mut variable, mut own) = (F64Lanes::ZERO, F64Lanes::ZERO);
            let mut level = F64Lanes::ZERO;
            // Apart, so that each sum stays in registers.
            for &(i, _, s) in &v.shares {
                variable.add_scaled(&shares.variables[i], s);
            }
            for &(i, l, s) in &v.shares {
                own.add_scaled(&shares.levels_of[rows.at(i, l)], s);
            }
            for (x, y) in shares.levels.iter().zip(&v.levels) {
                level.add_scaled(x, *y);
            }
            let total = common * F64Lanes::all(v.total);
            covariances.push(kept.covariance(total, level, variable, own) + near);
        }
        (covariances, deviation)
    }
}
