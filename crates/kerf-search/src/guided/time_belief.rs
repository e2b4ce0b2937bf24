//! One kind of belief of time: what predictions lack, by regression over the runs, at several scales of deviations.
//!
//! The covariance of two assignments at a scale is the square of the scale times what is the same for all scales, and most of
//! that is a sum over what two assignments have in common, which is the same for all kinds.
use super::forecast::Forecast;
use super::lanes::{F64Lanes, LANES, LevelRows, distance};
use super::linear::{Cholesky, dot};
use crate::history::Evaluation;
use crate::problem::{Problem, Search};
use kerf_num::wide;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Measured times repeat to this, relative.
const NOISE: f64 = 0.01;

/// Similarity of assignments that differ in one variable.
const ALIKE: f64 = 0.7;

/// What levels in no order are taken to change of the time, at least; and by the belief that knows nothing, for which
/// parts count for more.
const SHAPES: f64 = 0.3;
const SHAPES_UNKNOWN: f64 = 0.13;

/// What deviates, and by how much at scale 1: the gain as a whole, parts of it, conversions, and the rest.
struct Parts {
    whole: f64,
    part: f64,
    cast: f64,
    rest: f64,
}

/// Where a belief starts from predictions.
const TOLD: Parts = Parts {
    whole: 0.3,
    part: 0.3,
    cast: 0.8,
    rest: 0.04,
};

/// Where it does not.
const UNTOLD: Parts = Parts {
    whole: 0.3,
    part: 0.7,
    cast: 1.0,
    rest: 0.05,
};

/// How far an assignment is from the program as it is, which is known: whatever is like it deviates less.
fn lowered(a: &[u8]) -> f64 {
    1.0 - ALIKE.powi(distance_from_identity(a) as i32)
}

fn distance_from_identity(a: &[u8]) -> usize {
    a.iter().map(|l| usize::from(*l > 0)).sum()
}

/// One run.
struct TimeRun {
    assignment: Vec<u8>,
    time: f64,
    /// [`lowered`].
    lowered: f64,
    /// Its levels below the first, by [`LevelRows`].
    levels: Vec<usize>,
    /// Edges whose ends have different levels, and which of [`TimeRuns::casts`] it is.
    casts: Vec<(usize, usize)>,
}

/// All runs that took a time.
#[derive(Default)]
pub struct TimeRuns {
    all: Vec<TimeRun>,
    rows: LevelRows,
    /// Conversions: edges with the levels of both ends.
    casts: Vec<(usize, u8, u8)>,
}

impl TimeRuns {
    /// What ran, as far as it took a time.
    pub fn new(problem: &Problem, all: &[Evaluation]) -> TimeRuns {
        let mut runs = TimeRuns {
            rows: LevelRows::new(problem.variables.iter().map(|v| v.levels.len())),
            ..TimeRuns::default()
        };
        let mut known = BTreeMap::new();
        for e in all {
            let Some(time) = e.outcome.time().filter(|t| t.is_finite()) else {
                continue;
            };
            let a = &e.assignment;
            let levels = a.iter().enumerate().filter(|(_, l)| **l > 0);
            let mut casts = Vec::new();
            for (k, e) in problem.edges.iter().enumerate() {
                let (x, y) = (a[e.a], a[e.b]);
                if x != y {
                    let at = *known.entry((k, x, y)).or_insert_with(|| {
                        runs.casts.push((k, x, y));
                        runs.casts.len() - 1
                    });
                    casts.push((k, at));
                }
            }
            runs.all.push(TimeRun {
                assignment: a.clone(),
                time,
                lowered: lowered(a),
                levels: levels.map(|(i, l)| runs.rows.at(i, *l)).collect(),
                casts,
            });
        }
        runs
    }
}

/// Assignments, one in each lane, and what they have in common with the runs.
pub struct TimeBatch<'a> {
    assignments: [&'a [u8]; LANES],
    /// By [`LevelRows`]: 1 where an assignment has this level.
    levels: Vec<F64Lanes>,
    /// For each of [`TimeRuns::casts`]: 1 where an assignment has it, half where it has another one on the same edge.
    casts: Vec<F64Lanes>,
    /// Similarity to each run.
    near: Vec<F64Lanes>,
}

impl<'a> TimeBatch<'a> {
    /// With the runs that they are compared with.
    pub fn new(
        problem: &Problem,
        runs: &TimeRuns,
        assignments: [&'a [u8]; LANES],
    ) -> TimeBatch<'a> {
        let mut levels = vec![F64Lanes::ZERO; runs.rows.count];
        if !runs.all.is_empty() {
            for (k, a) in assignments.iter().enumerate() {
                for (i, l) in a.iter().enumerate() {
                    levels[runs.rows.at(i, *l)].0[k] = 1.0;
                }
            }
        }
        let cast = |&(edge, x, y): &(usize, u8, u8)| {
            let e = &problem.edges[edge];
            F64Lanes::each(|k| {
                let own = (assignments[k][e.a], assignments[k][e.b]);
                match own.0 == own.1 {
                    true => 0.0,
                    false if own == (x, y) => 1.0,
                    false => 0.5,
                }
            })
        };
        let powers = |far: usize| ALIKE.powi(far as i32);
        let powers: Vec<f64> = (0..=assignments[0].len()).map(powers).collect();
        let from_identity =
            F64Lanes::each(|k| 1.0 - powers[distance_from_identity(assignments[k])]);
        let near = |r: &TimeRun| {
            F64Lanes::each(|k| {
                let far = distance(assignments[k], &r.assignment);
                powers[far] * (from_identity.0[k] * r.lowered).sqrt()
            })
        };
        TimeBatch {
            assignments,
            levels,
            casts: runs.casts.iter().map(cast).collect(),
            near: runs.all.iter().map(near).collect(),
        }
    }
}

/// Regression at one scale of deviations.
struct Scaled {
    scale: f64,
    factor: Cholesky,
    alpha: Vec<f64>,
}

/// One kind.
pub struct Belief<'p> {
    /// Predictions that it starts from.
    forecast: Option<Rc<Forecast<'p>>>,
    /// What it makes of the runs.
    pub regression: Regression<'p>,
    /// Runs that it knows.
    known: Vec<Vec<u8>>,
}

/// What predictions lack, by the runs.
pub struct Regression<'p> {
    problem: &'p Problem,
    parts: &'static Parts,
    /// Variances: of each variable at each level, and of the conversions on each edge.
    gains: Vec<f64>,
    casts: Vec<f64>,
    /// Predictions for the runs.
    predicted: Vec<f64>,
    rows: LevelRows,
    scaled: Vec<Scaled>,
}

impl<'p> Belief<'p> {
    /// What is believed before any run.
    pub fn new(
        search: Search<'p>,
        forecast: Option<Rc<Forecast<'p>>>,
        scales: &[f64],
    ) -> Belief<'p> {
        let problem = search.problem;
        let (gains, casts) = match &forecast {
            Some(f) => told(problem, f),
            None => untold(problem),
        };
        let parts = if forecast.is_some() { &TOLD } else { &UNTOLD };
        let square = |x: f64| x * x;
        let gains = gains.iter().flatten();
        let scaled = scales.iter().map(|scale| Scaled {
            scale: *scale,
            factor: Cholesky::default(),
            alpha: Vec::new(),
        });
        let regression = Regression {
            problem,
            parts,
            gains: gains.map(|g| square(parts.part * g)).collect(),
            casts: casts.iter().map(|c| square(parts.cast * c)).collect(),
            predicted: Vec::new(),
            rows: LevelRows::new(problem.variables.iter().map(|v| v.levels.len())),
            scaled: scaled.collect(),
        };
        Belief {
            forecast,
            regression,
            known: Vec::new(),
        }
    }

    /// The prediction that runs correct, and what it may miss itself.
    fn prior(&self, a: &[u8]) -> (f64, f64) {
        if let Some(f) = &self.forecast {
            return f.time(a);
        }
        let lowered = a.iter().zip(&self.regression.problem.variables);
        let lowered = lowered.filter(|(_, v)| !v.unordered);
        let far = lowered.map(|(l, v)| f64::from(*l) / (v.levels.len().max(2) - 1) as f64);
        (1.0 - 0.5 * far.sum::<f64>() / a.len().max(1) as f64, 0.0)
    }

    /// [`Belief::prior`] of several.
    pub fn priors(&self, batch: [&[u8]; LANES]) -> (F64Lanes, F64Lanes) {
        let (mut predicted, mut miss) = (F64Lanes::ZERO, F64Lanes::ZERO);
        for k in 0..LANES {
            // Where there are fewer assignments than lanes, the last one is in all that are left.
            (predicted.0[k], miss.0[k]) = match k > 0 && batch[k] == batch[k - 1] {
                true => (predicted.0[k - 1], miss.0[k - 1]),
                false => self.prior(batch[k]),
            };
        }
        (predicted, miss)
    }

    /// Corrects it by everything that ran; gives how well it explains the runs at each scale.
    pub fn learn(&mut self, runs: &TimeRuns) -> Vec<f64> {
        let predicted: Vec<f64> = runs
            .all
            .iter()
            .map(|r| match &self.forecast {
                Some(f) => f.exact(&r.assignment),
                None => self.prior(&r.assignment).0,
            })
            .collect();
        // What has not changed since is factored already.
        let old = self.known.iter().zip(&self.regression.predicted);
        let new = runs.all.iter().zip(&predicted);
        let same = |((a, p), (run, q)): &((&Vec<u8>, &f64), (&TimeRun, &f64))| {
            **a == run.assignment && p == q
        };
        let same = old.zip(new).take_while(same).count();
        self.known = runs.all.iter().map(|r| r.assignment.clone()).collect();
        self.regression.learn(runs, predicted, same)
    }
}

impl Regression<'_> {
    /// Variance of what the prediction of an assignment lacks, at scale 1.
    fn variance(&self, rows: &LevelRows, a: &[u8], predicted: f64) -> f64 {
        let p = self.parts;
        let mut k = p.whole * p.whole * (1.0 - predicted) * (1.0 - predicted);
        for (i, l) in a.iter().enumerate().filter(|(_, l)| **l > 0) {
            k += self.gains[rows.at(i, *l)];
        }
        for (e, c) in self.problem.edges.iter().zip(&self.casts) {
            if a[e.a] != a[e.b] {
                k += c;
            }
        }
        let far = lowered(a);
        k + p.rest * p.rest * (far * far).sqrt()
    }

    /// Learns from runs, the first of which are as they were; gives how well it explains them at each scale.
    fn learn(&mut self, runs: &TimeRuns, predicted: Vec<f64>, same: usize) -> Vec<f64> {
        self.scaled.iter_mut().for_each(|s| s.factor.truncate(same));
        self.predicted = predicted;
        for i in (same..runs.all.len()).step_by(LANES) {
            self.extend(runs, i);
        }
        let y = runs.all.iter().zip(&self.predicted);
        let y: Vec<f64> = y.map(|(run, predicted)| run.time - predicted).collect();
        let each = self.scaled.iter_mut().map(|s| {
            s.alpha = s.factor.solve(&y);
            -0.5 * (dot(&s.alpha, &y) + s.factor.log_det())
        });
        each.collect()
    }

    /// Factors some more runs, from one on.
    fn extend(&mut self, runs: &TimeRuns, from: usize) {
        let last = (from + LANES).min(runs.all.len());
        let at = |k: usize| (from + k).min(last - 1);
        let some: [&[u8]; LANES] = std::array::from_fn(|k| runs.all[at(k)].assignment.as_slice());
        let batch = TimeBatch::new(self.problem, runs, some);
        let predicted = F64Lanes::each(|k| self.predicted[at(k)]);
        let covariances = covariances(self, runs, &batch, predicted);
        for i in from..last {
            let noise = NOISE * self.predicted[i];
            for s in &mut self.scaled {
                let scale = s.scale * s.scale;
                let row = covariances[..=i].iter().map(|c| scale * c.0[i - from]);
                let row: Vec<f64> = row.collect();
                s.factor.push(&row[..i], row[i] + noise * noise);
            }
        }
    }

    /// Means of the times of assignments at some of the scales, and deviations if they are asked for, by predictions and
    /// what these may miss.
    pub fn predict(
        &self,
        (runs, batch): (&TimeRuns, &TimeBatch),
        (predicted, miss): (F64Lanes, F64Lanes),
        scales: &[usize],
        deviations: bool,
    ) -> Vec<(F64Lanes, F64Lanes)> {
        let covariances = covariances(self, runs, batch, predicted);
        let whole = F64Lanes::each(|k| match deviations {
            true => self.variance(&self.rows, batch.assignments[k], predicted.0[k]),
            false => 0.0,
        });
        let mut scaled = covariances.clone();
        let mut out = Vec::new();
        for s in scales.iter().map(|i| &self.scaled[*i]) {
            let scale = F64Lanes::all(s.scale * s.scale);
            let mut mean = F64Lanes::ZERO;
            for ((k, base), alpha) in scaled.iter_mut().zip(&covariances).zip(&s.alpha) {
                *k = scale * *base;
                mean.add_scaled(k, *alpha);
            }
            let mut deviation = F64Lanes::ZERO;
            if deviations {
                let left = scale * whole - s.factor.forward_squares(&scaled) + miss * miss;
                deviation = F64Lanes::each(|k| left.0[k].max(1e-10).sqrt());
            }
            out.push((predicted + mean, deviation));
        }
        out
    }
}

/// What each variable is taken to gain at each level, and each conversion to take, where nobody says.
fn untold(problem: &Problem) -> (Vec<Vec<f64>>, Vec<f64>) {
    let n = problem.variables.len();
    let gains = problem.variables.iter().map(|v| {
        let each = 0.7 / n as f64;
        // However many formats there are, a shape is one decision for all of the time.
        let each = if v.unordered {
            each.max(SHAPES_UNKNOWN)
        } else {
            each
        };
        vec![each; v.levels.len()]
    });
    let casts = vec![0.2 / n.max(1) as f64; problem.edges.len()];
    (gains.collect(), casts)
}

/// The same by predictions.
fn told(problem: &Problem, f: &Forecast) -> (Vec<Vec<f64>>, Vec<f64>) {
    let identity = problem.identity();
    let base = f.exact(&identity);
    // What a variable gains alone hides behind the conversions that it needs then.
    let total = problem.score(&identity);
    let counted = |cost: f64| if total > 0.0 { cost / total } else { 0.0 };
    let mut gains = Vec::new();
    for (i, v) in problem.variables.iter().enumerate() {
        let levels = (0..v.levels.len()).map(|l| {
            let mut a = identity.clone();
            a[i] = l as u8;
            let alone = (base - f.exact(&a)).abs();
            let gain = alone.max(counted(v.levels[0].cost - v.levels[l].cost).abs());
            // Predictions of shapes are weak, and often there are none.
            if v.unordered { gain.max(SHAPES) } else { gain }
        });
        gains.push(levels.collect());
    }
    let least = 0.02 / problem.variables.len() as f64;
    let casts = problem.edges.iter();
    let casts = casts.map(|e| counted(e.weight).abs().max(least));
    (gains, casts.collect())
}

wide! {
    /// Covariance of what the predictions of assignments lack, with what that of each run does, at scale 1. `predicted` are
    /// the predictions of the assignments.
    fn covariances(
        by: &Regression,
        runs: &TimeRuns,
        batch: &TimeBatch,
        predicted: F64Lanes,
    ) -> Vec<F64Lanes> {
        let p = by.parts;
        let whole = F64Lanes::all(p.whole * p.whole) * (F64Lanes::all(1.0) - predicted);
        let rest = F64Lanes::all(p.rest * p.rest);
        let mut out = Vec::with_capacity(runs.all.len());
        for ((run, predicted), near) in runs.all.iter().zip(&by.predicted).zip(&batch.near) {
            let mut k = whole * F64Lanes::all(1.0 - predicted);
            for row in &run.levels {
                k.add_scaled(&batch.levels[*row], by.gains[*row]);
            }
            for (edge, row) in &run.casts {
                k.add_scaled(&batch.casts[*row], by.casts[*edge]);
            }
            out.push(k + rest * *near);
        }
        out
    }
}
