//! One hypothesis about errors, fitted to the runs: its contributions and their covariance.
use super::linear::Cholesky;

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

/// Contributions of an assignment under one fit.
pub struct View {
    /// Logarithm of the norm.
    pub log: f64,
    /// Share of each lowered variable in it: index, level, derivative of the logarithm.
    pub shares: Vec<(usize, u8, f64)>,
    /// All shares together, and those of each level from the first lowered one on.
    total: f64,
    levels: Vec<f64>,
}

impl View {
    /// With the sums of its shares, which every covariance takes.
    pub fn new(log: f64, shares: Vec<(usize, u8, f64)>) -> View {
        let lowest = shares.iter().map(|s| s.1).max().unwrap_or(0);
        let mut levels = vec![0.0; usize::from(lowest)];
        for s in &shares {
            levels[usize::from(s.1) - 1] += s.2;
        }
        View {
            log,
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
    let far = a.iter().zip(b).filter(|(x, y)| x != y).count();
    ALIKE.powi(far as i32)
}

impl ErrorFit {
    /// Covariance of the logarithms of two assignments' errors.
    pub fn covariance(&self, a: &[u8], va: &View, b: &[u8], vb: &View) -> f64 {
        let near = self.deviations.interplay * self.deviations.interplay * alike(a, b);
        self.covariance_with(va, vb, near)
    }

    /// The same, with the part that is alike given.
    pub fn covariance_with(&self, va: &View, vb: &View, near: f64) -> f64 {
        let d = &self.deviations;
        let (mut variable, mut own) = (0.0, 0.0);
        let mut others = vb.shares.iter().peekable();
        for &(i, l, s) in &va.shares {
            while others.next_if(|o| o.0 < i).is_some() {}
            if let Some(&(_, m, t)) = others.next_if(|o| o.0 == i) {
                variable += s * t;
                if l == m {
                    own += s * t;
                }
            }
        }
        let level: f64 = va.levels.iter().zip(&vb.levels).map(|(x, y)| x * y).sum();
        d.common * d.common * va.total * vb.total
            + d.level * d.level * level
            + d.variable * d.variable * variable
            + d.own * d.own * own
            + near
    }
}
