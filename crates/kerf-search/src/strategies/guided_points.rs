//! Guided search where the assignments are listed and only time counts: launch parameters.
//!
//! Some runs spread over the space, then always the point with the largest expected gain under a
//! regression that every run corrects. It ends with the budget: a regression of such a space is never so
//! sure that the rest could be left out.
use crate::guided::field::Field;
use crate::guided::linear::log_improvement;
use crate::outcome::{History, Outcome};
use crate::problem::{Assignment, Search};
use crate::rng::Rng;
use crate::strategy::{Reason, Step, Strategy};
use std::collections::BTreeMap;

/// Runs before the regression decides.
const OPENING: usize = 10;

/// Points from which each opening run is the farthest from those before.
const CHOICE: usize = 24;

/// The lengths are chosen anew when the number of runs has grown by this factor.
const TUNE: f64 = 1.3;

/// Regression over more runs than this would take too long; then it goes on with the fastest half.
const MOST: usize = 400;

struct GuidedPoints<'p> {
    search: Search<'p>,
    points: &'p [Assignment],
    index: BTreeMap<&'p [u8], usize>,
    history: History,
    rng: Rng,
    field: Field<'p>,
    /// Points that were run, by number, in order.
    ran: Vec<usize>,
    seen: Vec<bool>,
    /// Runs that the regression is over, as indices into `ran`; how many of `ran` it has taken note of.
    used: Vec<usize>,
    noted: usize,
    /// Runs at the last choice of lengths.
    tuned: usize,
}

/// Guided search over listed points.
pub fn guided_points<'p>(search: Search<'p>, points: &'p [Assignment]) -> impl Strategy + 'p {
    let numbered = points.iter().enumerate();
    GuidedPoints {
        index: numbered.map(|(i, p)| (p.as_slice(), i)).collect(),
        history: History::default(),
        rng: Rng::new(search.seed),
        field: Field::new(search.problem, points),
        ran: Vec::new(),
        seen: vec![false; points.len()],
        used: Vec::new(),
        noted: 0,
        tuned: 0,
        points,
        search,
    }
}

impl GuidedPoints<'_> {
    /// Logarithms of times of these runs, moved and scaled. What failed counts as slow.
    fn values(&self, of: &[usize]) -> Vec<f64> {
        let log = |i: &usize| {
            let o = self.history.get(&self.points[self.ran[*i]])?;
            o.time().map(f64::ln)
        };
        let logs: Vec<Option<f64>> = of.iter().map(log).collect();
        let mut known: Vec<f64> = logs.iter().flatten().copied().collect();
        known.sort_by(f64::total_cmp);
        let slow = known.get(known.len() / 2).copied().unwrap_or(0.0);
        // The slower half tells little of where the fastest is, and would stretch the scale.
        let cap = |x: f64| if x > slow { slow + 0.3 * (x - slow) } else { x };
        let y: Vec<f64> = logs.iter().map(|l| cap(l.unwrap_or(slow))).collect();
        let mean = y.iter().sum::<f64>() / y.len().max(1) as f64;
        let var = y.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / y.len().max(1) as f64;
        let sd = var.sqrt().max(1e-6);
        y.iter().map(|v| (v - mean) / sd).collect()
    }

    /// Brings the regression up to date; gives the values that it is over.
    fn learn(&mut self) -> Vec<f64> {
        let n = self.ran.len();
        let before = self.used.len();
        self.used.extend(self.noted..n);
        self.noted = n;
        let crowded = self.used.len() > MOST;
        if crowded {
            let time = |i: &usize| {
                let o = self.history.get(&self.points[self.ran[*i]]);
                o.and_then(|o| o.time()).unwrap_or(f64::INFINITY)
            };
            let mut used = std::mem::take(&mut self.used);
            used.sort_by(|x, y| time(x).total_cmp(&time(y)));
            used.truncate(MOST / 2);
            self.used = used;
        }
        let values = self.values(&self.used);
        let points: Vec<usize> = self.used.iter().map(|i| self.ran[*i]).collect();
        let retune = n as f64 >= TUNE * self.tuned as f64;
        if retune || crowded {
            self.field.learn(&points, &values, retune);
            self.tuned = if retune { n } else { self.tuned };
        } else {
            for p in &points[before..] {
                self.field.add(*p, &values);
            }
        }
        values
    }

    fn opening(&mut self) -> Option<usize> {
        let left: Vec<usize> = (0..self.points.len()).filter(|i| !self.seen[*i]).collect();
        let far = |i: usize| {
            let distance = |j: &usize| {
                let pairs = self.points[i].iter().zip(&self.points[*j]);
                pairs.filter(|(x, y)| x != y).count()
            };
            self.ran.iter().map(distance).min().unwrap_or(0)
        };
        let mut best: Option<(usize, usize)> = None;
        for _ in 0..CHOICE {
            let i = *self.rng.pick(&left)?;
            let d = far(i);
            if best.is_none_or(|b| d > b.1) {
                best = Some((i, d));
            }
        }
        best.map(|b| b.0)
    }

    fn promising(&mut self) -> Option<usize> {
        let values = self.learn();
        let best = values.iter().copied().fold(f64::INFINITY, f64::min);
        let predicted = self.field.predict();
        let mut top: Option<(usize, f64)> = None;
        for (i, (mean, sd)) in predicted.into_iter().enumerate() {
            if self.seen[i] {
                continue;
            }
            let v = log_improvement(best, mean, sd);
            if top.is_none_or(|t| v > t.1) {
                top = Some((i, v));
            }
        }
        top.map(|t| t.0)
    }
}

impl Strategy for GuidedPoints<'_> {
    fn ask(&mut self) -> Step {
        let next = match self.ran.len() < OPENING {
            true => self.opening(),
            false => self.promising(),
        };
        match next {
            Some(i) => Step::Evaluate(self.points[i].clone()),
            None => Step::Done(Reason::Exhausted),
        }
    }
    fn tell(&mut self, a: &[u8], o: &Outcome) {
        if self.history.note(self.search.problem, a, o)
            && let Some(i) = self.index.get(a)
        {
            self.seen[*i] = true;
            self.ran.push(*i);
        }
    }
    fn history(&self) -> &History {
        &self.history
    }
}
