//! What is believed of time: the prediction, corrected by every run, and a doubt whether to believe it.
//!
//! A cost model may be wrong altogether, say of what memory costs or of what the compiler makes of a loop. So there are several
//! kinds of belief, one that starts from the predictions of each model that the caller has and one that knows nothing but that
//! lower is faster, each with several assumptions of how far predictions miss, and each counts as much as it has explained the runs: a few runs that went as predicted do not prove
//! that all will. Where runs repeat the predictions to the last digits, their times are these predictions
//! (errors executed without the device, times by the model), and nothing is left to doubt.
//!
//! In each, the difference between measured and predicted time is a sum of normal corrections: of the gain as a
//! whole, of each variable at each level, of the conversions between each two neighbours, and one that is
//! alike for assignments that are alike. Regression over the runs gives each its most probable value
//! and what is left of its uncertainty.
use super::forecast::{Forecast, ForecastSource};
use super::linear::{Cholesky, dot, log_improvement};
use crate::history::Evaluation;
use crate::problem::{Assignment, Search};
use std::rc::Rc;

/// Measured times repeat to this, relative.
const NOISE: f64 = 0.01;

/// Similarity of assignments that differ in one variable.
const ALIKE: f64 = 0.7;

/// Factors on all deviations: a belief for each.
const SCALES: [f64; 4] = [0.25, 0.5, 1.0, 2.0];

/// What beliefs that start from predictions count beforehand, all together: of one model, and of two.
const TRUST: f64 = 0.5;
const TRUST_BOTH: f64 = 0.67;

/// What levels in no order are taken to change of the time, at least; and by the belief that knows nothing, for which
/// parts count for more.
const SHAPES: f64 = 0.3;
const SHAPES_UNKNOWN: f64 = 0.13;

/// A time that is nearer than this to the prediction, relative, is the prediction: no clock is that good.
const SAME: f64 = 1e-9;

/// What is left to doubt then.
const CERTAIN: f64 = 1e-6;

/// A belief that counts less is not asked.
const NEGLIGIBLE: f64 = 1e-4;

/// The model.
pub struct TimeModel<'p> {
    beliefs: Vec<Belief<'p>>,
    /// What each counts, and what it counted beforehand.
    weights: Vec<f64>,
    prior: Vec<f64>,
    /// Predictions, where somebody makes them.
    forecasts: Vec<Rc<Forecast<'p>>>,
    /// Times are the predictions themselves.
    exact: bool,
}

/// One belief.
#[derive(Clone)]
struct Belief<'p> {
    search: Search<'p>,
    /// Predictions that it starts from.
    forecast: Option<Rc<Forecast<'p>>>,
    /// Predicted gain of each variable at each level, alone.
    gains: Vec<Vec<f64>>,
    /// Predicted time of the conversions on each edge.
    casts: Vec<f64>,
    observed: Vec<(Vec<u8>, f64, f64)>,
    scale: f64,
    factor: Cholesky,
    alpha: Vec<f64>,
}

/// Whether somebody predicts time.
fn informed(search: &Search, source: ForecastSource) -> bool {
    let low = search.problem.all_low();
    !low.is_empty() && source.ask(search, &low).is_some_and(|t| t != 1.0)
}

/// Whether everything that ran took the time that was predicted, and something says so that was not as the program
/// is.
fn repeats(f: &Forecast, all: &[Evaluation]) -> bool {
    let mut telling = false;
    for e in all {
        let Some(t) = e.outcome.time().filter(|t| t.is_finite()) else {
            continue;
        };
        let predicted = f.exact(&e.assignment);
        if (t - predicted).abs() > SAME * t {
            return false;
        }
        telling |= predicted != 1.0;
    }
    telling
}

impl<'p> TimeModel<'p> {
    /// What is believed before any run.
    pub fn new(search: Search<'p>) -> TimeModel<'p> {
        let some = [ForecastSource::Time, ForecastSource::Other]
            .into_iter()
            .filter(|s| informed(&search, *s))
            .map(|s| Rc::new(Forecast::new(search, s)));
        let forecasts: Vec<Rc<Forecast>> = some.collect();
        let trust = [0.0, TRUST, TRUST_BOTH][forecasts.len()];
        let each = trust / forecasts.len().max(1) as f64;
        let told = forecasts.iter().map(|f| (Some(f.clone()), each));
        let kinds: Vec<_> = told.chain([(None, 1.0 - trust)]).collect();
        let (mut beliefs, mut prior) = (Vec::new(), Vec::new());
        for (from, part) in kinds.into_iter().filter(|k| k.1 > 0.0) {
            let first = Belief::new(search, from);
            for scale in SCALES {
                let mut b = first.clone();
                b.fit(scale);
                beliefs.push(b);
                // Nothing is as likely beforehand as that the deviations are as assumed.
                prior.push(part * (-0.5 * f64::ln(scale).powi(2)).exp());
            }
        }
        let sum: f64 = prior.iter().sum();
        prior.iter_mut().for_each(|p| *p /= sum);
        TimeModel {
            beliefs,
            weights: prior.clone(),
            prior,
            forecasts,
            exact: false,
        }
    }

    /// Whether times are the predictions themselves, as far as was seen.
    pub fn is_exact(&self) -> bool {
        self.exact
    }

    /// Whether what is said of an assignment is by the prediction itself, not by what stands for it.
    pub fn is_settled(&self, a: &[u8]) -> bool {
        self.forecasts.iter().all(|f| f.is_exact(a))
    }

    /// How many had better be settled together.
    pub fn at_once(&self) -> usize {
        let each = self.forecasts.iter().map(|f| f.at_once());
        each.max().unwrap_or(1)
    }

    /// Says that these will be settled.
    pub fn prepare(&self, all: &[Assignment]) {
        self.forecasts.iter().for_each(|f| f.prepare(all));
    }

    /// Has the prediction itself made for an assignment.
    pub fn settle(&self, a: &[u8]) {
        self.forecasts.iter().for_each(|f| {
            f.exact(a);
        });
    }

    /// Takes what was settled into what stands for the predictions of others.
    pub fn refit(&self) {
        self.forecasts.iter().for_each(|f| f.refit());
    }

    /// Corrects the model by everything that ran.
    pub fn learn(&mut self, all: &[Evaluation]) {
        self.exact = self.forecasts.first().is_some_and(|f| repeats(f, all));
        if self.exact {
            return;
        }
        let evidence: Vec<f64> = self.beliefs.iter_mut().map(|b| b.learn(all)).collect();
        let most = evidence.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let weights = self.prior.iter().zip(&evidence);
        self.weights = weights.map(|(p, e)| p * (e - most).exp()).collect();
        let sum: f64 = self.weights.iter().sum();
        self.weights.iter_mut().for_each(|w| *w /= sum);
    }

    /// Beliefs that count, with what they do.
    fn heard(&self) -> impl Iterator<Item = (&Belief<'p>, &f64)> {
        let all = self.beliefs.iter().zip(&self.weights);
        all.filter(|(_, w)| **w > NEGLIGIBLE)
    }

    /// Mean of the time of an assignment.
    pub fn mean(&self, a: &[u8]) -> f64 {
        if let (true, Some(f)) = (self.exact, self.forecasts.first()) {
            return f.time(a).0;
        }
        self.heard().map(|(b, w)| w * b.predict(a).0).sum()
    }

    /// Logarithm of the expected gain of an assignment over a time.
    pub fn log_gain(&self, best: f64, a: &[u8]) -> f64 {
        if let (true, Some(f)) = (self.exact, self.forecasts.first()) {
            let (time, miss) = f.time(a);
            return log_improvement(best, time, miss.max(CERTAIN));
        }
        let logs: Vec<f64> = self
            .heard()
            .map(|(b, w)| {
                let (mean, sd) = b.predict(a);
                w.ln() + log_improvement(best, mean, sd)
            })
            .collect();
        let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if most == f64::NEG_INFINITY {
            return most;
        }
        most + logs.iter().map(|l| (l - most).exp()).sum::<f64>().ln()
    }
}

impl<'p> Belief<'p> {
    fn new(search: Search<'p>, forecast: Option<Rc<Forecast<'p>>>) -> Belief<'p> {
        let problem = search.problem;
        let n = problem.variables.len();
        let identity = problem.identity();
        let mut casts = vec![0.2 / n.max(1) as f64; problem.edges.len()];
        let mut gains: Vec<Vec<f64>> = problem
            .variables
            .iter()
            .map(|v| {
                let each = 0.7 / n as f64;
                // However many formats there are, a shape is one decision for all of the time.
                let each = if v.unordered {
                    each.max(SHAPES_UNKNOWN)
                } else {
                    each
                };
                vec![each; v.levels.len()]
            })
            .collect();
        if let Some(f) = &forecast {
            let base = f.exact(&identity);
            // What a variable gains alone hides behind the conversions that it needs then.
            let total = problem.score(&identity);
            let each = problem.variables.iter().zip(&mut gains).enumerate();
            for (i, (v, gains)) in each {
                for (l, gain) in gains.iter_mut().enumerate() {
                    let mut a = identity.clone();
                    a[i] = l as u8;
                    let alone = (base - f.exact(&a)).abs();
                    let counted = v.levels[0].cost - v.levels[l].cost;
                    let counted = if total > 0.0 { counted / total } else { 0.0 };
                    *gain = alone.max(counted.abs());
                    if v.unordered {
                        // Predictions of shapes are weak, and often there are none.
                        *gain = gain.max(SHAPES);
                    }
                }
            }
            for (c, e) in casts.iter_mut().zip(&problem.edges) {
                let counted = if total > 0.0 { e.weight / total } else { 0.0 };
                *c = counted.abs().max(0.02 / n as f64);
            }
        }
        let mut model = Belief {
            search,
            forecast,
            gains,
            casts,
            observed: Vec::new(),
            scale: 1.0,
            factor: Cholesky::default(),
            alpha: Vec::new(),
        };
        model.fit(1.0);
        model
    }

    /// The prediction that runs correct, and what it may miss itself.
    fn prior(&self, a: &[u8]) -> (f64, f64) {
        if let Some(f) = &self.forecast {
            return f.time(a);
        }
        let lowered = a.iter().zip(&self.search.problem.variables);
        let lowered = lowered.filter(|(_, v)| !v.unordered);
        let far = lowered.map(|(l, v)| f64::from(*l) / (v.levels.len().max(2) - 1) as f64);
        (1.0 - 0.5 * far.sum::<f64>() / a.len().max(1) as f64, 0.0)
    }

    /// Covariance of what the predictions of two assignments lack.
    fn covariance(&self, a: &[u8], fa: f64, b: &[u8], fb: f64) -> f64 {
        let (whole, part, cast, rest) = match self.forecast {
            Some(_) => (0.3, 0.3, 0.8, 0.04),
            None => (0.3, 0.7, 1.0, 0.05),
        };
        let mut k = whole * whole * (1.0 - fa) * (1.0 - fb);
        let mut far = 0;
        for ((x, y), g) in a.iter().zip(b).zip(&self.gains) {
            if x != y {
                far += 1;
            } else if *x > 0 {
                let g = part * g[*x as usize];
                k += g * g;
            }
        }
        for (e, c) in self.search.problem.edges.iter().zip(&self.casts) {
            let (p, q) = ((a[e.a], a[e.b]), (b[e.a], b[e.b]));
            if p.0 != p.1 && q.0 != q.1 {
                let same = if p == q { 1.0 } else { 0.5 };
                k += same * (cast * c).powi(2);
            }
        }
        // The identity is known: whatever is like it deviates less.
        let lowered = |a: &[u8]| {
            let zeros = a.iter().filter(|l| **l == 0).count();
            1.0 - ALIKE.powi((a.len() - zeros) as i32)
        };
        let near = ALIKE.powi(far) * (lowered(a) * lowered(b)).sqrt();
        self.scale * self.scale * (k + rest * rest * near)
    }

    fn fit(&mut self, scale: f64) -> f64 {
        self.scale = scale;
        self.factor = Cholesky::from_elements(self.observed.len(), |i, j| {
            let ((a, fa, _), (b, fb, _)) = (&self.observed[i], &self.observed[j]);
            let noise = if i == j { (NOISE * fa).powi(2) } else { 0.0 };
            self.covariance(a, *fa, b, *fb) + noise
        });
        let y: Vec<f64> = self.observed.iter().map(|(_, f, t)| t - f).collect();
        self.alpha = self.factor.solve(&y);
        -0.5 * (dot(&self.alpha, &y) + self.factor.log_det())
    }

    /// Corrects it by everything that ran; gives how well it explains the runs.
    fn learn(&mut self, all: &[Evaluation]) -> f64 {
        let ran = all.iter().filter_map(|e| {
            let t = e.outcome.time().filter(|t| t.is_finite())?;
            let predicted = match &self.forecast {
                Some(f) => f.exact(&e.assignment),
                None => self.prior(&e.assignment).0,
            };
            Some((e.assignment.clone(), predicted, t))
        });
        self.observed = ran.collect();
        self.fit(self.scale)
    }

    /// Mean and deviation of the time of an assignment.
    fn predict(&self, a: &[u8]) -> (f64, f64) {
        let (f, miss) = self.prior(a);
        let k: Vec<f64> = self
            .observed
            .iter()
            .map(|(b, fb, _)| self.covariance(a, f, b, *fb))
            .collect();
        let half = self.factor.forward(&k);
        let variance = self.covariance(a, f, a, f) - dot(&half, &half) + miss * miss;
        (f + dot(&k, &self.alpha), variance.max(1e-10).sqrt())
    }
}
