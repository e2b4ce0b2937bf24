//! The most probable corrections of contributions, for several hypotheses about errors at once.
//!
//! Hypotheses differ in norm, interplay and where the iteration begins, and not in what ran: each is a lane.
use super::error_fit::{Deviations, ErrorFit, View, alike};
use super::lanes::{F64Lanes, LANES, spread};
use super::linear::{LaneCholesky, dot};
use kerf_num::wide;

/// Iterations of Gauss and Newton; the steps are damped, and few more ever matter.
const ITERATIONS: usize = 20;

/// Where an error is only known to be too large: it is taken as at least this far beyond the tolerance,
/// and no nearer than this, both as logarithms.
const BEYOND: f64 = 1.0;

/// An iteration ends where no contribution moves further.
const SETTLED: f64 = 3e-3;

/// Runs from which on fits are spread over threads: with fewer, a thread takes longer to start than to fit.
const ENOUGH: usize = 12;

/// One run.
pub struct Observed {
    /// What ran.
    pub assignment: Vec<u8>,
    /// Logarithm of its error; none if it failed or gave no numbers.
    pub log: Option<f64>,
    /// What the caller's model says of the whole beyond what it said of the parts.
    pub offset: f64,
}

/// A hypothesis, and where its iteration begins.
pub struct FitStart {
    /// The norm.
    pub norm: f64,
    /// Deviation of what norms cannot say.
    pub interplay: f64,
    /// Logarithm of its weight before any run.
    pub weight: f64,
    /// Contributions.
    pub logs: Vec<Vec<f64>>,
}

/// What all fits have in common.
pub struct Fitting<'m> {
    /// Logarithm of the tolerance.
    tolerance: f64,
    /// Logarithm of the error of the program as it is.
    own: f64,
    prior: &'m [Vec<f64>],
    deviations: Deviations,
    observed: &'m [Observed],
    /// Similarity of each run to those before it, and to itself.
    alike: Vec<Vec<f64>>,
    /// Levels of the variable that has most.
    depth: usize,
}

/// Contributions under several fits.
struct LaneState {
    norm: F64Lanes,
    interplay: F64Lanes,
    logs: Vec<Vec<F64Lanes>>,
}

/// [`View`] under several fits; shares of all variables, none where one is not lowered.
struct LaneView {
    log: F64Lanes,
    shares: Vec<F64Lanes>,
    total: F64Lanes,
    levels: Vec<F64Lanes>,
}

/// What one iteration finds.
struct Iteration {
    views: Vec<LaneView>,
    residuals: Vec<F64Lanes>,
    factor: LaneCholesky,
    alpha: Vec<F64Lanes>,
    /// Where contributions are going.
    target: Vec<Vec<F64Lanes>>,
}

fn lowered(a: &[u8]) -> impl Iterator<Item = (usize, usize)> + '_ {
    let all = a.iter().enumerate().filter(|(_, l)| **l > 0);
    all.map(|(i, l)| (i, usize::from(*l)))
}

impl LaneState {
    /// F64Lanes beyond the last start repeat it.
    fn new(starts: &[FitStart]) -> LaneState {
        let of = |k: usize| &starts[k.min(starts.len() - 1)];
        let first = starts[0].logs.iter().enumerate();
        let levels = |(i, logs): (usize, &Vec<f64>)| {
            let each = (0..logs.len()).map(|l| F64Lanes::each(|k| of(k).logs[i][l]));
            each.collect()
        };
        LaneState {
            norm: F64Lanes::each(|k| of(k).norm),
            interplay: F64Lanes::each(|k| of(k).interplay),
            logs: first.map(levels).collect(),
        }
    }

    fn view(&self, own: f64, depth: usize, a: &[u8]) -> LaneView {
        let own = self.norm * F64Lanes::all(own);
        let mut top = own;
        let mut shares = vec![F64Lanes::ZERO; a.len()];
        for (i, l) in lowered(a) {
            shares[i] = self.norm * self.logs[i][l];
            top = F64Lanes::each(|k| top.0[k].max(shares[i].0[k]));
        }
        let mut sum = F64Lanes::ZERO;
        for (i, _) in lowered(a) {
            shares[i] = F64Lanes::each(|k| (shares[i].0[k] - top.0[k]).exp());
            sum = sum + shares[i];
        }
        sum = F64Lanes::each(|k| sum.0[k] + (own.0[k] - top.0[k]).exp());
        let mut total = F64Lanes::ZERO;
        let mut levels = vec![F64Lanes::ZERO; depth];
        for (i, l) in lowered(a) {
            shares[i] = F64Lanes::each(|k| shares[i].0[k] / sum.0[k]);
            total = total + shares[i];
            levels[l] = levels[l] + shares[i];
        }
        LaneView {
            log: F64Lanes::each(|k| (top.0[k] + sum.0[k].ln()) / self.norm.0[k]),
            shares,
            total,
            levels,
        }
    }

    /// Takes a step; gives how far each lane was from where it goes.
    fn step(&mut self, target: &[Vec<F64Lanes>], part: f64) -> F64Lanes {
        let mut far = F64Lanes::ZERO;
        for (now, target) in self.logs.iter_mut().zip(target) {
            for (x, t) in now.iter_mut().zip(target) {
                let way = *t - *x;
                far = F64Lanes::each(|k| far.0[k].max(way.0[k].abs()));
                *x = *x + F64Lanes::all(part) * way;
            }
        }
        far
    }
}

impl<'m> Fitting<'m> {
    /// For these runs.
    pub fn new(
        (tolerance, own): (f64, f64),
        prior: &'m [Vec<f64>],
        deviations: Deviations,
        observed: &'m [Observed],
    ) -> Fitting<'m> {
        let row = |i: usize| {
            let before = observed[..=i].iter();
            before.map(move |b| alike(&observed[i].assignment, &b.assignment))
        };
        Fitting {
            tolerance,
            own,
            prior,
            deviations,
            observed,
            alike: (0..observed.len()).map(|i| row(i).collect()).collect(),
            depth: prior.iter().map(Vec::len).max().unwrap_or(0),
        }
    }

    /// The fit of each start, and the logarithm of its evidence.
    pub fn fit_all(&self, starts: &[FitStart]) -> Vec<(ErrorFit, f64)> {
        let groups: Vec<&[FitStart]> = starts.chunks(LANES).collect();
        let least = match self.observed.len() < ENOUGH {
            true => groups.len(),
            false => 1,
        };
        let found = spread(&groups, least, |g| self.fit(g));
        found.into_iter().flatten().collect()
    }

    /// The fit of each start, and the logarithm of its evidence; as many starts as there are lanes at most.
    pub fn fit(&self, starts: &[FitStart]) -> Vec<(ErrorFit, f64)> {
        let mut found: Vec<Option<(ErrorFit, f64)>> = starts.iter().map(|_| None).collect();
        let mut state = LaneState::new(starts);
        for round in 1..ITERATIONS {
            let now = self.iterate(&state);
            // A full step overshoots where shares change along it.
            let part = if round <= 8 { 0.6 } else { 0.4 };
            let far = state.step(&now.target, part);
            for (k, found) in found.iter_mut().enumerate() {
                if found.is_none() && far.0[k] < SETTLED {
                    *found = Some(self.take(&state, &now, k));
                }
            }
            if found.iter().all(Option::is_some) {
                return found.into_iter().flatten().collect();
            }
        }
        let now = self.iterate(&state);
        let bend = self.bend(&state, &now);
        let rest = found.into_iter().enumerate().map(|(k, found)| {
            found.unwrap_or_else(|| {
                let (fit, evidence) = self.take(&state, &now, k);
                (fit, evidence - bend.0[k])
            })
        });
        rest.collect()
    }

    /// One iteration: where contributions go, as far as runs tell.
    fn iterate(&self, state: &LaneState) -> Iteration {
        let each = self.observed.iter();
        let views: Vec<LaneView> = each
            .map(|o| state.view(self.own, self.depth, &o.assignment))
            .collect();
        let residuals: Vec<F64Lanes> = self
            .observed
            .iter()
            .zip(&views)
            .map(|(o, v)| self.residual(state, o, v))
            .collect();
        let factor =
            LaneCholesky::from_elements(views.len(), |i, j| covariance(self, state, &views, i, j));
        let alpha = factor.solve(&residuals);
        Iteration {
            target: self.correction(&views, &alpha),
            views,
            residuals,
            factor,
            alpha,
        }
    }

    /// What a run has beyond what is expected without corrections.
    fn residual(&self, state: &LaneState, o: &Observed, v: &LaneView) -> F64Lanes {
        let mut moved = F64Lanes::ZERO;
        for (i, l) in lowered(&o.assignment) {
            let way = state.logs[i][l] - F64Lanes::all(self.prior[i][l]);
            moved.add_product(&v.shares[i], &way);
        }
        F64Lanes::each(|k| {
            let expected = v.log.0[k] + o.offset;
            // What is expected to be too large explains a failure as it is.
            let y = o.log.unwrap_or(expected.max(self.tolerance + BEYOND));
            y - expected + moved.0[k]
        })
    }

    /// Contributions after the corrections that `alpha` stands for.
    fn correction(&self, views: &[LaneView], alpha: &[F64Lanes]) -> Vec<Vec<F64Lanes>> {
        let d = &self.deviations;
        let mut common = F64Lanes::ZERO;
        let mut level = vec![F64Lanes::ZERO; self.depth];
        let mut variable = vec![F64Lanes::ZERO; self.prior.len()];
        let each = self.prior.iter().map(|p| vec![F64Lanes::ZERO; p.len()]);
        let mut own: Vec<Vec<F64Lanes>> = each.collect();
        for ((o, v), alpha) in self.observed.iter().zip(views).zip(alpha) {
            for (i, l) in lowered(&o.assignment) {
                let x = v.shares[i] * *alpha;
                common.add_scaled(&x, d.common * d.common);
                level[l].add_scaled(&x, d.level * d.level);
                variable[i].add_scaled(&x, d.variable * d.variable);
                own[i][l].add_scaled(&x, d.own * d.own);
            }
        }
        for (i, (own, prior)) in own.iter_mut().zip(self.prior).enumerate() {
            for (l, (x, p)) in own.iter_mut().zip(prior).enumerate() {
                *x = *x + (F64Lanes::all(*p) + common + level[l] + variable[i]);
            }
        }
        own
    }

    /// How much less probable the runs are than the evidence says, because the iteration did not come to an
    /// end: the error of the straight continuation to where it was going.
    fn bend(&self, state: &LaneState, now: &Iteration) -> F64Lanes {
        let there = LaneState {
            norm: state.norm,
            interplay: state.interplay,
            logs: now.target.clone(),
        };
        let noise = self.deviations.noise * self.deviations.noise;
        let variance = state.interplay * state.interplay + F64Lanes::all(noise);
        let mut sum = F64Lanes::ZERO;
        for (o, v) in self.observed.iter().zip(&now.views) {
            let mut way = F64Lanes::ZERO;
            for (i, l) in lowered(&o.assignment) {
                way.add_product(&v.shares[i], &(there.logs[i][l] - state.logs[i][l]));
            }
            let error = there.view(self.own, self.depth, &o.assignment).log - (v.log + way);
            sum = sum + F64Lanes::each(|k| 0.5 * error.0[k] * error.0[k] / variance.0[k]);
        }
        sum
    }

    /// The fit of one lane, and the logarithm of its evidence.
    fn take(&self, state: &LaneState, now: &Iteration, k: usize) -> (ErrorFit, f64) {
        let lane = |all: &[F64Lanes]| -> Vec<f64> { all.iter().map(|x| x.0[k]).collect() };
        let (alpha, residuals) = (lane(&now.alpha), lane(&now.residuals));
        let factor = now.factor.lane(k);
        let evidence = -0.5 * (dot(&alpha, &residuals) + factor.log_det());
        let views = self.observed.iter().zip(&now.views).map(|(o, v)| {
            let shares = lowered(&o.assignment).map(|(i, l)| (i, l as u8, v.shares[i].0[k]));
            View::new(shares.collect())
        });
        let fit = ErrorFit {
            norm: state.norm.0[k],
            deviations: Deviations {
                interplay: state.interplay.0[k],
                ..self.deviations
            },
            logs: state.logs.iter().map(|l| lane(l)).collect(),
            views: views.collect(),
            factor,
            alpha,
            weight: 0.0,
        };
        (fit, evidence)
    }
}

wide! {
    /// Covariance of two runs, noise included.
    fn covariance(
        fitting: &Fitting,
        state: &LaneState,
        views: &[LaneView],
        i: usize,
        j: usize,
    ) -> F64Lanes {
        let (a, b) = (&fitting.observed[i], &fitting.observed[j]);
        let (va, vb) = (&views[i], &views[j]);
        let (mut variable, mut own, mut level) = (F64Lanes::ZERO, F64Lanes::ZERO, F64Lanes::ZERO);
        let both = a.assignment.iter().zip(&b.assignment);
        for ((x, y), (s, t)) in both.zip(va.shares.iter().zip(&vb.shares)) {
            if *x > 0 && *y > 0 {
                variable.add_product(s, t);
                if x == y {
                    own.add_product(s, t);
                }
            }
        }
        for (x, y) in va.levels.iter().zip(&vb.levels) {
            level.add_product(x, y);
        }
        let noise = match (i == j, a.log) {
            (false, _) => 0.0,
            (true, Some(_)) => fitting.deviations.noise,
            (true, None) => BEYOND,
        };
        let near = state.interplay * state.interplay * F64Lanes::all(fitting.alike[i][j]);
        let d = &fitting.deviations;
        F64Lanes::all(d.common * d.common) * va.total * vb.total
            + F64Lanes::all(d.level * d.level) * level
            + F64Lanes::all(d.variable * d.variable) * variable
            + F64Lanes::all(d.own * d.own) * own
            + near
            + F64Lanes::all(noise * noise)
    }
}
