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
use super::lanes::{F64Lanes, LANES, batches, spread};
use super::time_belief::{Belief, TimeBatch, TimeRuns};
use crate::distributions::log_improvement;
use crate::history::Evaluation;
use crate::problem::{Assignment, Search};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// Factors on all deviations: a belief for each.
const SCALES: [f64; 4] = [0.25, 0.5, 1.0, 2.0];

/// What beliefs that start from predictions count beforehand, all together: of one model, and of two.
const TRUST: f64 = 0.5;
const TRUST_BOTH: f64 = 0.67;

/// A time that is nearer than this to the prediction, relative, is the prediction: no clock is that good.
const SAME: f64 = 1e-9;

/// What is left to doubt then.
const CERTAIN: f64 = 1e-6;

/// Batches of predictions that are worth a thread.
const AT_ONCE: usize = 4;

/// A belief that counts less is not asked.
const NEGLIGIBLE: f64 = 1e-4;

/// The model.
pub struct TimeModel<'p> {
    search: Search<'p>,
    runs: TimeRuns,
    /// Kinds of belief, each with all of the [`SCALES`].
    beliefs: Vec<Belief<'p>>,
    /// What each kind at each scale counts, and what it counted beforehand.
    weights: Vec<f64>,
    prior: Vec<f64>,
    /// Predictions, where somebody makes them.
    forecasts: Vec<Rc<Forecast<'p>>>,
    /// Times are the predictions themselves.
    exact: bool,
    /// Logarithms of gains that were asked for since something changed, and over which time. A proposal asks more than once.
    told: RefCell<(f64, HashMap<Assignment, f64>)>,
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
            beliefs.push(Belief::new(search, from, &SCALES));
            for scale in SCALES {
                // Nothing is as likely beforehand as that the deviations are as assumed.
                prior.push(part * (-0.5 * f64::ln(scale).powi(2)).exp());
            }
        }
        let sum: f64 = prior.iter().sum();
        prior.iter_mut().for_each(|p| *p /= sum);
        TimeModel {
            search,
            runs: TimeRuns::default(),
            beliefs,
            weights: prior.clone(),
            prior,
            forecasts,
            exact: false,
            told: RefCell::default(),
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
        self.told.borrow_mut().1.remove(a);
        self.forecasts.iter().for_each(|f| {
            f.exact(a);
        });
    }

    /// Takes what was settled into what stands for the predictions of others.
    pub fn refit(&self) {
        for f in &self.forecasts {
            if f.refit() {
                self.told.borrow_mut().1.clear();
            }
        }
    }

    /// Corrects the model by everything that ran.
    pub fn learn(&mut self, all: &[Evaluation]) {
        self.told.get_mut().1.clear();
        self.exact = self.forecasts.first().is_some_and(|f| repeats(f, all));
        if self.exact {
            return;
        }
        self.runs = TimeRuns::new(self.search.problem, all);
        let each = self.beliefs.iter_mut();
        let evidence: Vec<f64> = each.flat_map(|b| b.learn(&self.runs)).collect();
        let most = evidence.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let weights = self.prior.iter().zip(&evidence);
        self.weights = weights.map(|(p, e)| p * (e - most).exp()).collect();
        let sum: f64 = self.weights.iter().sum();
        self.weights.iter_mut().for_each(|w| *w /= sum);
    }

    /// Means of the times of assignments, and deviations if they are asked for, by each belief that counts; and what it
    /// counts. Then a function of them.
    fn predictions<'a, R: Send>(
        &self,
        all: &'a [&'a [u8]],
        deviations: bool,
        f: impl Fn(Vec<(f64, F64Lanes, F64Lanes)>) -> R + Sync,
    ) -> Vec<R> {
        let heard: Vec<(&Belief, Vec<usize>, &[f64])> = self
            .beliefs
            .iter()
            .zip(self.weights.chunks(SCALES.len()))
            .map(|(b, weights)| {
                let heard = |scale: &usize| weights[*scale] > NEGLIGIBLE;
                (b, (0..SCALES.len()).filter(heard).collect(), weights)
            })
            .filter(|(_, scales, _): &(_, Vec<usize>, _)| !scales.is_empty())
            .collect();
        // Predictions of the caller are for this thread alone.
        let priors = |batch: [&'a [u8]; LANES]| {
            let each = heard.iter().map(|(b, ..)| b.priors(batch));
            (batch, each.collect::<Vec<_>>())
        };
        let work: Vec<_> = batches(all).map(priors).collect();
        let by = heard
            .iter()
            .map(|(b, scales, w)| (&b.regression, scales, *w));
        let by: Vec<_> = by.collect();
        let (problem, runs) = (self.search.problem, &self.runs);
        spread(&work, AT_ONCE, |(batch, priors)| {
            let batch = TimeBatch::new(problem, runs, *batch);
            let mut out = Vec::new();
            for ((regression, scales, weights), prior) in by.iter().zip(priors) {
                let found = regression.predict((runs, &batch), *prior, scales, deviations);
                let each = scales.iter().zip(found);
                out.extend(each.map(|(scale, (mean, sd))| (weights[*scale], mean, sd)));
            }
            f(out)
        })
    }

    /// Mean of the time of an assignment.
    pub fn mean(&self, a: &[u8]) -> f64 {
        self.means(&[a]).first().copied().unwrap_or(1.0)
    }

    /// The same of many, which costs less than one after the other.
    pub fn means<A: AsRef<[u8]>>(&self, all: &[A]) -> Vec<f64> {
        let all: Vec<&[u8]> = all.iter().map(AsRef::as_ref).collect();
        self.forecasts.iter().for_each(|f| f.prepare_small(&all));
        if let (true, Some(f)) = (self.exact, self.forecasts.first()) {
            return all.iter().map(|a| f.time(a).0).collect();
        }
        let found = self.predictions(&all, false, |found| {
            let mut sum = F64Lanes::ZERO;
            for (w, mean, _) in found {
                sum.add_scaled(&mean, w);
            }
            sum
        });
        let lanes = found.iter().flat_map(|l| l.0);
        lanes.take(all.len()).collect()
    }

    /// Logarithms of the expected gains of assignments over a time.
    pub fn log_gains<A: AsRef<[u8]>>(&self, best: f64, all: &[A]) -> Vec<f64> {
        let mut told = self.told.borrow_mut();
        if told.0 != best {
            *told = (best, HashMap::new());
        }
        let told = &mut told.1;
        let new = all.iter().map(AsRef::as_ref);
        let new: Vec<&[u8]> = new.filter(|a| !told.contains_key(*a)).collect();
        let found = self.log_gains_of(best, &new);
        told.extend(new.iter().map(|a| a.to_vec()).zip(found));
        let each = all.iter().map(|a| told.get(a.as_ref()).copied());
        each.map(|gain| gain.unwrap_or(f64::NEG_INFINITY)).collect()
    }

    fn log_gains_of(&self, best: f64, all: &[&[u8]]) -> Vec<f64> {
        self.forecasts.iter().for_each(|f| f.prepare_small(all));
        if let (true, Some(f)) = (self.exact, self.forecasts.first()) {
            let each = all.iter().map(|a| {
                let (time, miss) = f.time(a);
                log_improvement(best, time, miss.max(CERTAIN))
            });
            return each.collect();
        }
        let found = self.predictions(all, true, |found| log_gain(best, &found));
        let lanes = found.iter().flat_map(|l| l.0);
        lanes.take(all.len()).collect()
    }
}

/// Logarithm of the expected gain over a time, by what beliefs count, their means and deviations.
fn log_gain(best: f64, found: &[(f64, F64Lanes, F64Lanes)]) -> F64Lanes {
    let logs: Vec<F64Lanes> = found
        .iter()
        .map(|(w, mean, sd)| {
            let w = w.ln();
            F64Lanes::each(|k| w + log_improvement(best, mean.0[k], sd.0[k]))
        })
        .collect();
    F64Lanes::each(|k| {
        let each = || logs.iter().map(|l| l.0[k]);
        let most = each().fold(f64::NEG_INFINITY, f64::max);
        if most == f64::NEG_INFINITY {
            return most;
        }
        most + each().map(|l| (l - most).exp()).sum::<f64>().ln()
    })
}
