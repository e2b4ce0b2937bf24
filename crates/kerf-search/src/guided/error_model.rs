//! What is believed of errors: a contribution for each variable and level, corrected by every run.
//!
//! The error of an assignment is the p-norm of the contributions of its lowered variables and of the
//! program's own error, for p = 1 (they add up), 2 (they are independent) or 16 (the largest decides). The
//! logarithm of each contribution is its prediction plus corrections that are normal beforehand: one
//! common to all, one of its level, one of its variable, one of its own. On top lies a deviation that is
//! alike for assignments that are alike, for what a norm cannot say (cancellation). Runs correct
//! all of it at once: Gauss and Newton's iteration to the most probable corrections, with the deviations
//! around them as uncertainty. Each norm is weighed by how well it explained the runs.
use super::error_fit::{Deviations, ErrorBatch, ErrorFit, KeptFit};
use super::error_fitting::{FitStart, Fitting, Observed};
use super::lanes::{F64Lanes, LANES, LevelRows, batches, spread};
use crate::distributions::normal_cdf;
use crate::history::Evaluation;
use crate::outcome::Outcome;
use crate::problem::{Assignment, Search};
use crate::rng::Rng;
use std::cell::RefCell;
use std::collections::HashMap;

/// Norms, with their weights before any run.
const NORMS: [(f64, f64); 3] = [(1.0, 0.3), (2.0, 0.4), (16.0, 0.3)];

/// Deviations of what norms cannot say, with their weights before any run: nearly none, as where one
/// variable decides and others change nothing, to much, as where errors cancel.
const INTERPLAY: [(f64, f64); 4] = [(0.01, 0.2), (0.08, 0.25), (0.3, 0.35), (0.8, 0.2)];

/// A fit is dropped when it is this much less probable than the best.
const DROPPED: f64 = 0.02;

/// Logarithm of how much coarser a level is than the one above, where nobody said: 13 bits.
const STEP: f64 = 9.0;

/// What variables whose levels are in no order add to the program's own error, as a logarithm below it: shapes of
/// launches do not round.
const NEGLIGIBLE: f64 = 12.0;

/// Fits that are kept at most; each costs time in every prediction.
const KEPT: usize = 8;

/// Starts at random for each norm and interplay, beside the one from the predictions, with up to so many
/// variables. Where the largest error decides, which variable has it is often open, and each answer
/// is a fit of its own.
const STARTS: [(usize, usize); 2] = [(32, 3), (100, 1)];

/// Batches of predictions that are worth a thread.
const AT_ONCE: usize = 4;

/// With sensitivities.
const INFORMED: Deviations = Deviations {
    common: 0.5,
    level: 0.4,
    variable: 0.5,
    own: 0.3,
    interplay: 0.3,
    noise: 0.005,
};

/// Without.
const BLIND: Deviations = Deviations {
    common: 5.0,
    level: 1.0,
    variable: 2.0,
    own: 0.5,
    interplay: 0.3,
    noise: 0.005,
};

/// The model.
pub struct ErrorModel<'p> {
    search: Search<'p>,
    /// Logarithm of the tolerance.
    tolerance: f64,
    /// Logarithm of the error of the program as it is.
    own: f64,
    prior: Vec<Vec<f64>>,
    deviations: Deviations,
    observed: Vec<Observed>,
    fits: Vec<KeptFit>,
    /// What was predicted since the last run: the mean and deviation of each fit. A proposal asks more than once.
    told: RefCell<HashMap<Assignment, Vec<(f64, f64)>>>,
    rows: LevelRows,
}

impl<'p> ErrorModel<'p> {
    /// What is believed before any run. `None` if there is no error to speak of.
    pub fn new(search: Search<'p>) -> Option<ErrorModel<'p>> {
        let problem = search.problem;
        let tolerance = problem.tolerance?.max(1e-300).ln();
        let own = match problem.baseline.and_then(|o| o.error()) {
            Some(e) if e > 0.0 && e.is_finite() => e.ln(),
            _ => tolerance - 30.0,
        };
        // What is not said of one variable is taken as the middle of what is said of others.
        let mut known: Vec<f64> = Vec::new();
        let predicted: Vec<Vec<Option<f64>>> = (0..problem.variables.len())
            .map(|i| {
                let v = &problem.variables[i];
                if v.unordered {
                    let none = own.min(tolerance) - NEGLIGIBLE;
                    return v.levels.iter().map(|_| Some(none)).collect();
                }
                let mut alone = problem.identity();
                let levels = v.levels.iter().enumerate().map(|(l, level)| {
                    alone[i] = l as u8;
                    let e = level.error.or_else(|| search.models.error(&alone));
                    e.filter(|e| l > 0 && e.is_finite())
                        .map(|e| e.max(1e-300).ln())
                });
                let levels: Vec<_> = levels.collect();
                let down = levels.iter().enumerate();
                known.extend(down.filter_map(|(l, e)| e.map(|e| e - STEP * (l as f64 - 1.0))));
                levels
            })
            .collect();
        known.sort_by(f64::total_cmp);
        let middle = known.get(known.len() / 2).copied().unwrap_or(tolerance);
        let guess = |l: usize| middle + STEP * (l as f64 - 1.0);
        let prior = predicted.iter().map(|levels| {
            let all = levels.iter().enumerate();
            all.map(|(l, e)| e.unwrap_or(guess(l))).collect()
        });
        let mut model = ErrorModel {
            tolerance,
            own,
            prior: prior.collect(),
            rows: LevelRows::new(problem.variables.iter().map(|v| v.levels.len())),
            deviations: if known.is_empty() { BLIND } else { INFORMED },
            observed: Vec::new(),
            fits: Vec::new(),
            told: RefCell::default(),
            search,
        };
        model.fit();
        Some(model)
    }

    /// Did nobody say what variables contribute?
    pub fn is_blind(&self) -> bool {
        self.deviations.common == BLIND.common
    }

    /// Corrects the model by everything that ran.
    pub fn learn(&mut self, all: &[Evaluation]) {
        let ran = all.iter().filter(|e| e.assignment.iter().any(|l| *l > 0));
        let observed = ran.map(|e| Observed {
            assignment: e.assignment.clone(),
            offset: self.offset(&e.assignment),
            log: match e.outcome {
                Outcome::Ran { error, .. } if error.is_finite() => {
                    Some(error.max(1e-300).ln().max(self.own))
                }
                _ => None,
            },
        });
        self.observed = observed.collect();
        self.fit();
    }

    fn fit(&mut self) {
        self.told.get_mut().clear();
        let starts = self.fit_starts();
        let ends = (self.tolerance, self.own);
        let fitting = Fitting::new(ends, &self.prior, self.deviations, &self.observed);
        let found = fitting.fit_all(&starts).into_iter().zip(&starts);
        let mut fits: Vec<(ErrorFit, f64)> = found
            .map(|((fit, evidence), start)| (fit, evidence + start.weight))
            .collect();
        fits.sort_by(|x, y| y.1.total_cmp(&x.1));
        fits.truncate(KEPT);
        let top = fits.iter().map(|f| f.1).fold(f64::NEG_INFINITY, f64::max);
        self.fits = fits
            .into_iter()
            .map(|(f, e)| ErrorFit {
                weight: (e - top).exp(),
                ..f
            })
            .filter(|f| f.weight >= DROPPED)
            .map(|f| KeptFit::new(f, self.own))
            .collect();
        let total: f64 = self.fits.iter().map(|f| f.fit.weight).sum();
        self.fits.iter_mut().for_each(|f| f.fit.weight /= total);
    }

    /// Each norm with each interplay, from the predictions and at random.
    fn fit_starts(&self) -> Vec<FitStart> {
        let mut rng = Rng::new(self.search.seed ^ self.observed.len() as u64);
        let few = STARTS.iter().find(|s| self.prior.len() <= s.0);
        let starts = few.filter(|_| self.observed.len() > 1).map_or(0, |s| s.1);
        let mut out = Vec::new();
        for (norm, weight) in NORMS {
            for (interplay, also) in INTERPLAY {
                for start in 0..=starts {
                    out.push(FitStart {
                        norm,
                        interplay,
                        weight: f64::ln(weight * also),
                        logs: match start {
                            0 => self.prior.clone(),
                            _ => self.start(&mut rng),
                        },
                    });
                }
            }
        }
        out
    }

    /// Contributions as they might be.
    fn start(&self, rng: &mut Rng) -> Vec<Vec<f64>> {
        let each = self.prior.iter().map(|levels| {
            let moved = self.deviations.variable * rng.normal();
            levels.iter().map(|x| x + moved).collect()
        });
        each.collect()
    }

    /// What the caller's model says of the whole beyond what it said of the parts.
    fn offset(&self, a: &[u8]) -> f64 {
        let lowered = a.iter().filter(|l| **l > 0).count();
        if lowered < 2 {
            return 0.0;
        }
        match self.search.models.error(a) {
            Some(e) if e > 0.0 && e.is_finite() => {
                let parts = a.iter().enumerate().filter(|(_, l)| **l > 0);
                let squares = parts.map(|(i, l)| (2.0 * self.prior[i][*l as usize]).exp());
                e.ln() - 0.5 * squares.sum::<f64>().max(1e-300).ln()
            }
            _ => 0.0,
        }
    }

    /// Mean and deviation of the logarithm of the errors of assignments under each fit.
    fn predictions<'a>(&self, all: &'a [&'a [u8]]) -> Vec<Vec<(f64, f64)>> {
        let with_offset = |batch: [&'a [u8]; LANES]| {
            let mut offset = F64Lanes::ZERO;
            for k in 0..LANES {
                // Where there are fewer assignments than lanes, the last one is in all that are left.
                offset.0[k] = match k > 0 && batch[k] == batch[k - 1] {
                    true => offset.0[k - 1],
                    false => self.offset(batch[k]),
                };
            }
            (batch, offset)
        };
        let work: Vec<_> = batches(all).map(with_offset).collect();
        let (fits, rows, observed) = (&self.fits, &self.rows, &self.observed);
        let found = spread(&work, AT_ONCE, |(batch, offset)| {
            let runs = observed.iter().map(|o| o.assignment.as_slice());
            let batch = ErrorBatch::new(*batch, runs, *offset);
            let each = fits.iter().map(|f| f.predict(rows, &batch));
            each.collect::<Vec<_>>()
        });
        let lane = |i: usize| {
            let each = found[i / LANES].iter();
            each.map(|(mean, sd)| (mean.0[i % LANES], sd.0[i % LANES]))
                .collect()
        };
        (0..all.len()).map(lane).collect()
    }

    /// Probability that an assignment is within the tolerance, with deviations taken as larger by a factor
    /// of `doubt`.
    pub fn passes(&self, a: &[u8], doubt: f64) -> f64 {
        let all = self.passes_each(&[a], doubt);
        all.first().copied().unwrap_or(1.0)
    }

    /// The same of many, which costs less than one after the other.
    pub fn passes_each<A: AsRef<[u8]>>(&self, all: &[A], doubt: f64) -> Vec<f64> {
        let mut told = self.told.borrow_mut();
        let new = all.iter().map(AsRef::as_ref);
        let new: Vec<&[u8]> = new.filter(|a| !told.contains_key(*a)).collect();
        let found = self.predictions(&new);
        told.extend(new.iter().map(|a| a.to_vec()).zip(found));
        let each = all.iter().map(|a| {
            let a = a.as_ref();
            if a.iter().all(|l| *l == 0) {
                return if self.own <= self.tolerance { 1.0 } else { 0.0 };
            }
            let by = self.fits.iter().zip(told.get(a).into_iter().flatten());
            by.map(|(f, (mean, sd))| {
                f.fit.weight * normal_cdf((self.tolerance - mean) / (doubt * sd))
            })
            .sum()
        });
        each.collect()
    }

    /// Predicted error, its logarithm's mean and deviation over all fits.
    pub fn predict(&self, a: &[u8]) -> (f64, f64) {
        let found: Vec<(f64, f64)> = self.predictions(&[a]).into_iter().flatten().collect();
        let each = || self.fits.iter().zip(&found);
        let mean: f64 = each().map(|(f, (m, _))| f.fit.weight * m).sum();
        let var: f64 = each()
            .map(|(f, (m, s))| f.fit.weight * (s * s + (m - mean).powi(2)))
            .sum();
        (mean, var.sqrt())
    }

    /// For a knapsack: contributions to the power of the norm over that of the tolerance, by variable and
    /// level, for each norm that is left; and the norm.
    pub fn weights(&self) -> Vec<(f64, Vec<Vec<f64>>)> {
        let mut out: Vec<(f64, Vec<Vec<f64>>)> = Vec::new();
        for f in self.fits.iter().map(|f| &f.fit) {
            if out.iter().any(|(p, _)| *p == f.norm) {
                continue;
            }
            let weight = |x: &f64| (f.norm * (x - self.tolerance)).min(600.0).exp();
            let all = f.logs.iter().map(|logs| {
                let mut w: Vec<f64> = logs.iter().map(weight).collect();
                if let Some(first) = w.first_mut() {
                    *first = 0.0;
                }
                w
            });
            out.push((f.norm, all.collect()));
        }
        out
    }
}
