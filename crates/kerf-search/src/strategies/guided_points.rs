//! Guided search where the assignments are listed and only time counts: launch parameters, tile sizes, unroll
//! factors and whatever else a kernel is compiled with.
//!
//! Some runs spread over the space, then always the point with the largest expected gain under a
//! regression that every run corrects, times the probability that it runs at all, which a second regression
//! learns from what failed. Where it is asked for more before it is told of earlier questions, it takes these to give what the
//! regression predicts. It ends with the budget: a regression of such a space is never so
//! sure that the rest could be left out.
use crate::distributions::{log_improvement, log_normal_cdf};
use crate::guided::field::{Field, Prices};
use crate::history::History;
use crate::outcome::Outcome;
use crate::problem::{Assignment, Search};
use crate::rng::Rng;
use crate::strategies::branches::{Branches, Turns};
use crate::strategies::listed::Listed;
use crate::strategy::{Reason, Strategy, StrategyStep};

/// Points from which each opening run is the farthest from those before.
const CHOICE: usize = 24;

/// Regression over more runs than this would take too long; then it goes on with the fastest half.
const MOST: usize = 400;

/// Points that are predicted at once. Of a larger space these are drawn anew now and then.
const POOL: usize = 10_000;

/// Of a larger space, the fastest so many runs have all their neighbours in the pool.
const CENTRES: usize = 8;

/// Promising points beside the one that is asked for that are said to be likely next.
const OTHERS: usize = 8;

/// Constants that comparisons vary.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GuidedSettings {
    /// Runs before the regression decides.
    pub opening: usize,
    /// The lengths are chosen anew when the number of runs has grown by this factor.
    pub tune: f64,
    /// What times above the middle count for.
    pub slow: f64,
    /// Prices of lengths.
    pub prices: Prices,
    /// Sweeps over the lengths.
    pub sweeps: usize,
    /// How many regressions of time there are: with two, one of them knows parameters by order alone.
    pub fields: usize,
    /// Every so many questions are for a neighbour of one of the fastest; 0 for never.
    pub local: usize,
    /// Every so many questions are for another branch than the fastest's; 0 for never.
    pub branch: usize,
    /// By this factor later after each of them that found nothing near the fastest.
    pub tired: f64,
}

impl Default for GuidedSettings {
    fn default() -> GuidedSettings {
        GuidedSettings {
            opening: 10,
            tune: 1.3,
            slow: 0.3,
            prices: Prices::default(),
            sweeps: 2,
            fields: 1,
            local: 2,
            branch: 4,
            tired: 1.3,
        }
    }
}

struct GuidedPoints<'p> {
    search: Search<'p>,
    settings: GuidedSettings,
    listed: Listed<'p>,
    history: History,
    rng: Rng,
    /// Predicted logarithms of time from elsewhere, of mean 0 and deviation 1; empty if there are none.
    prior: Vec<f64>,
    times: Vec<Field>,
    runs: Field,
    /// Points that are predicted, by number.
    pool: Vec<usize>,
    /// Points that were run, by number, in order; those that were asked for and are not told; both are seen.
    ran: Vec<usize>,
    pending: Vec<usize>,
    seen: Vec<bool>,
    /// The most promising points beside the one that was asked for last.
    others: Vec<usize>,
    /// Runs that the regression of time is over, as points; of all runs the first `noted` are in them or
    /// left out.
    used: Vec<usize>,
    noted: usize,
    /// The runs that the regression of failures is over: from the first of these to before the second.
    tried: (usize, usize),
    any_failed: bool,
    branches: Branches,
    turns: Turns,
    /// The point that was asked for in another branch, until it is told.
    visiting: Option<usize>,
    /// Runs at the last choice of lengths.
    tuned: usize,
    /// The fastest at the last choice of the pool.
    pooled_for: Option<usize>,
    asked: usize,
}

/// Guided search over listed points.
pub fn guided_points<'p>(search: Search<'p>, points: &'p [Assignment]) -> impl Strategy + 'p {
    guided_points_with(search, points, GuidedSettings::default())
}

/// The same with other constants.
pub fn guided_points_with<'p>(
    search: Search<'p>,
    points: &'p [Assignment],
    settings: GuidedSettings,
) -> impl Strategy + 'p {
    GuidedPoints {
        listed: Listed::new(search.problem, points),
        history: History::default(),
        rng: Rng::new(search.seed),
        prior: prior(&search, points),
        times: [settings.prices, Prices::plain()]
            .into_iter()
            .take(settings.fields.max(1))
            .map(|p| Field::new(search.problem, points, p))
            .collect(),
        runs: Field::new(search.problem, points, settings.prices),
        pool: Vec::new(),
        ran: Vec::new(),
        pending: Vec::new(),
        others: Vec::new(),
        visiting: None,
        seen: vec![false; points.len()],
        used: Vec::new(),
        noted: 0,
        tried: (0, 0),
        any_failed: false,
        branches: Branches::new(search.problem),
        turns: Turns::new(settings.branch, settings.tired),
        tuned: 0,
        pooled_for: None,
        asked: 0,
        settings,
        search,
    }
}

/// Predicted times as logarithms of mean 0 and deviation 1; empty unless all points have one, and they
/// differ.
fn prior(search: &Search, points: &[Assignment]) -> Vec<f64> {
    let mut all = Vec::with_capacity(points.len());
    for p in points {
        match search.predict(p) {
            Some(t) => all.push(t.ln()),
            None => return Vec::new(),
        }
    }
    let n = all.len().max(1) as f64;
    let mean = all.iter().sum::<f64>() / n;
    let sd = (all.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n).sqrt();
    match sd > 1e-9 {
        true => all.iter().map(|x| (x - mean) / sd).collect(),
        false => Vec::new(),
    }
}

impl<'p> GuidedPoints<'p> {
    fn time(&self, point: usize) -> Option<f64> {
        let o = self.history.get(self.listed.at(point))?;
        o.time().filter(|t| t.is_finite() && *t > 0.0)
    }

    fn before(&self, point: usize) -> f64 {
        self.prior.get(point).copied().unwrap_or(0.0)
    }

    fn with_prior(&self, of: &[usize]) -> Vec<(&'p Assignment, f64)> {
        let each = of.iter();
        each.map(|p| (self.listed.at(*p), self.before(*p)))
            .collect()
    }

    /// Logarithms of times of these points, moved and scaled.
    fn values(&self, of: &[usize]) -> Vec<f64> {
        let logs: Vec<f64> = of
            .iter()
            .filter_map(|p| self.time(*p))
            .map(f64::ln)
            .collect();
        let mut known = logs.clone();
        known.sort_by(f64::total_cmp);
        let slow = known.get(known.len() / 2).copied().unwrap_or(0.0);
        // The slower half tells little of where the fastest is, and would stretch the scale.
        let s = self.settings.slow;
        let cap = |x: f64| if x > slow { slow + s * (x - slow) } else { x };
        let y: Vec<f64> = logs.iter().map(|l| cap(*l)).collect();
        let n = y.len().max(1) as f64;
        let mean = y.iter().sum::<f64>() / n;
        let var = y.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n;
        let sd = var.sqrt().max(1e-6);
        y.iter().map(|v| (v - mean) / sd).collect()
    }

    /// The fastest runs, by number of point.
    fn fastest(&self, most: usize) -> Vec<usize> {
        let timed = |p: &usize| Some((self.time(*p)?, *p));
        let mut all: Vec<(f64, usize)> = self.ran.iter().filter_map(timed).collect();
        all.sort_by(|x, y| x.0.total_cmp(&y.0));
        all.into_iter().take(most).map(|x| x.1).collect()
    }

    /// Chooses the points that are predicted.
    fn choose_pool(&mut self) {
        let n = self.listed.len();
        let mut pool: Vec<usize> = match n <= POOL {
            true => (0..n).collect(),
            false => {
                let mut some: Vec<usize> = (0..POOL / 2).map(|_| self.rng.below(n)).collect();
                for p in self.fastest(CENTRES) {
                    self.listed.neighbours(p, &mut some);
                    // Two steps away in any direction, some of them.
                    let mut near = Vec::new();
                    self.listed.neighbours(p, &mut near);
                    for q in near {
                        let mut far = Vec::new();
                        self.listed.neighbours(q, &mut far);
                        some.extend((0..8).filter_map(|_| self.rng.pick(&far).copied()));
                    }
                }
                some.sort_unstable();
                some.dedup();
                some
            }
        };
        pool.retain(|p| !self.seen[*p] || self.pending.contains(p));
        let points = self.with_prior(&pool);
        for f in &mut self.times {
            f.set_pool(self.search.problem, &points);
        }
        self.runs.set_pool(self.search.problem, &points);
        self.pool = pool;
    }

    /// Brings the regressions up to date; gives the values that the one of time is over.
    fn learn(&mut self) -> Vec<f64> {
        let n = self.ran.len();
        let before = self.used.len();
        let new: Vec<usize> = self.ran[self.noted..].to_vec();
        self.any_failed |= new.iter().any(|p| self.time(*p).is_none());
        let timed: Vec<usize> = new
            .into_iter()
            .filter(|p| self.time(*p).is_some())
            .collect();
        self.used.extend(timed);
        self.noted = n;
        let crowded = self.used.len() > MOST;
        if crowded {
            self.used = self.fastest(MOST / 2);
        }
        let values = self.values(&self.used);
        let fastest = self.fastest(1).first().copied();
        let large = self.listed.len() > POOL;
        let retune = n as f64 >= self.settings.tune * self.tuned as f64;
        if retune || crowded || (large && fastest != self.pooled_for) {
            self.choose_pool();
            self.pooled_for = fastest;
            let sweeps = if retune { self.settings.sweeps } else { 0 };
            let used = self.with_prior(&self.used);
            for f in &mut self.times {
                f.learn(self.search.problem, &used, &values, sweeps);
            }
            if self.any_failed {
                let from = self.ran.len().saturating_sub(MOST);
                let all = self.with_prior(&self.ran[from..]);
                let worked = self.worked(from);
                self.runs.learn(self.search.problem, &all, &worked, sweeps);
                self.tried = (from, n);
            }
            self.tuned = if retune { n } else { self.tuned };
            return values;
        }
        for p in &self.used[before..] {
            let run = (self.listed.at(*p), self.before(*p));
            for f in &mut self.times {
                f.add(self.search.problem, run, &values);
            }
        }
        let (from, to) = self.tried;
        if self.any_failed && to == 0 {
            let all = self.with_prior(&self.ran);
            let worked = self.worked(0);
            self.runs.learn(self.search.problem, &all, &worked, 1);
        } else if self.any_failed {
            let worked = self.worked(from);
            for i in to..n {
                let p = self.ran[i];
                let run = (self.listed.at(p), self.before(p));
                self.runs
                    .add(self.search.problem, run, &worked[..=i - from]);
            }
        }
        self.tried.1 = if self.any_failed { n } else { 0 };
        values
    }

    /// 1 for what ran, -1 for what failed.
    fn worked(&self, from: usize) -> Vec<f64> {
        let one = |p: &usize| if self.time(*p).is_some() { 1.0 } else { -1.0 };
        self.ran[from..].iter().map(one).collect()
    }

    fn opening(&mut self) -> Option<usize> {
        let begun = self.ran.len() + self.pending.len();
        if begun >= self.listed.len() {
            return None;
        }
        let far = |i: usize| {
            let distance = |j: &usize| {
                let pairs = self.listed.at(i).iter().zip(self.listed.at(*j));
                pairs.filter(|(x, y)| x != y).count()
            };
            let all = self.ran.iter().chain(&self.pending);
            all.map(distance).min().unwrap_or(0)
        };
        let mut best: Option<(usize, f64)> = None;
        for _ in 0..CHOICE {
            let Some(i) = self.listed.unseen(&self.seen, &mut self.rng) else {
                break;
            };
            // With predictions every second opening run is one that they promise something of.
            let promise = match self.prior.is_empty() || begun % 2 == 1 {
                true => 0.0,
                false => -10.0 * self.before(i),
            };
            let d = far(i) as f64 + promise;
            if best.is_none_or(|b| d > b.1) {
                best = Some((i, d));
            }
        }
        best.map(|b| b.0)
    }

    /// Neighbours of one of the fastest that were not run: of the fastest half of the time, of the next a
    /// quarter of it, and so on.
    fn near_by(&mut self) -> Vec<usize> {
        let centres = self.fastest(CENTRES);
        let mut rank = 0;
        while rank + 1 < centres.len() && self.rng.chance(0.5) {
            rank += 1;
        }
        let mut near = Vec::new();
        if let Some(p) = centres.get(rank) {
            self.listed.neighbours(*p, &mut near);
        }
        near.retain(|p| !self.seen[*p]);
        near.sort_unstable();
        near
    }

    /// The fastest of another branch, where it is the turn of one.
    fn other_branch(&mut self) -> Option<&'p Assignment> {
        if !self.turns.due(self.asked) {
            return None;
        }
        let fastest: Vec<&'p Assignment> = self
            .fastest(usize::MAX)
            .into_iter()
            .map(|p| self.listed.at(p))
            .collect();
        let other = self.branches.other(&fastest, &mut self.rng)?;
        let best = self.history.best().and_then(|e| e.outcome.time());
        self.turns.began(self.asked, best.unwrap_or(f64::INFINITY));
        Some(other)
    }

    /// What the regressions of time say of the pool. Points that are pending are taken to give what is predicted of them.
    fn predicted(&self, values: &[f64]) -> Vec<Vec<(f64, f64)>> {
        let places = |p: &usize| self.pool.iter().position(|i| i == p);
        let pending: Vec<usize> = self.pending.iter().filter_map(places).collect();
        let one = |field: &Field| {
            let mut now = field.predict();
            if pending.is_empty() {
                return now;
            }
            let (mut field, mut values) = (field.clone(), values.to_vec());
            for at in &pending {
                values.push(now[*at].0);
                let point = self.pool[*at];
                let run = (self.listed.at(point), self.before(point));
                field.add(self.search.problem, run, &values);
                now = field.predict();
            }
            now
        };
        self.times.iter().map(one).collect()
    }

    /// The first of those with the highest value; the next ones are kept.
    fn first_of(&mut self, mut ranked: Vec<(usize, f64)>) -> Option<usize> {
        // Ties go by position.
        ranked.sort_by(|x, y| y.1.total_cmp(&x.1));
        ranked.truncate(1 + OTHERS);
        self.others = ranked.iter().skip(1).map(|r| r.0).collect();
        ranked.first().map(|r| r.0)
    }

    fn promising(&mut self) -> Option<usize> {
        let values = self.learn();
        let best = values.iter().copied().fold(f64::INFINITY, f64::min);
        let predicted = self.predicted(&values);
        let works = self.any_failed.then(|| self.runs.predict());
        self.asked += 1;
        let branch = self.other_branch();
        // In another branch it is its own fastest that is to be beaten.
        let goal = branch
            .and_then(|b| self.used.iter().position(|u| self.listed.at(*u) == b))
            .map_or(best, |i| values[i]);
        let local = self.settings.local;
        let near = match branch.is_none() && local > 0 && self.asked.is_multiple_of(local) {
            true => self.near_by(),
            false => Vec::new(),
        };
        let elsewhere =
            |i: usize| branch.is_some_and(|b| !self.branches.same(b, self.listed.at(i)));
        let mut ranked: Vec<(usize, f64)> = Vec::new();
        for (at, i) in self.pool.iter().enumerate() {
            if self.seen[*i]
                || (!near.is_empty() && near.binary_search(i).is_err())
                || elsewhere(*i)
            {
                continue;
            }
            let chance = works.as_ref().map_or(0.0, |w| {
                let (m, s) = w[at];
                log_normal_cdf(m / (s * s + 0.1).sqrt())
            });
            let gain = predicted
                .iter()
                .map(|p| log_improvement(goal, p[at].0, p[at].1));
            let v = log_mean(gain) + chance;
            ranked.push((*i, v));
        }
        let found = self.first_of(ranked);
        let found = found.or_else(|| self.listed.unseen(&self.seen, &mut self.rng));
        if branch.is_some() {
            self.visiting = found;
        }
        found
    }
}

/// Logarithm of the mean, of logarithms.
fn log_mean(of: impl Iterator<Item = f64>) -> f64 {
    let mut out = f64::NEG_INFINITY;
    let mut n = 0.0;
    for x in of {
        let (low, high) = if x < out { (x, out) } else { (out, x) };
        out = match high == f64::NEG_INFINITY {
            true => high,
            false => high + (low - high).exp().ln_1p(),
        };
        n += 1.0;
    }
    out - f64::ln(f64::max(n, 1.0))
}

impl Strategy for GuidedPoints<'_> {
    fn ask(&mut self) -> StrategyStep {
        let timed = self.history.best().is_some();
        let begun = self.ran.len() + self.pending.len();
        let next = match begun < self.settings.opening || !timed {
            true => self.opening(),
            false => self.promising(),
        };
        match next {
            Some(i) => {
                self.seen[i] = true;
                self.pending.push(i);
                StrategyStep::Evaluate(self.listed.at(i).clone())
            }
            None => StrategyStep::Done(Reason::Exhausted),
        }
    }
    fn tell(&mut self, a: &[u8], o: &Outcome) {
        if self.history.note(self.search.problem, a, o)
            && let Some(i) = self.listed.find(a)
        {
            self.seen[i] = true;
            self.pending.retain(|p| *p != i);
            self.ran.push(i);
            if self.visiting.take_if(|v| *v == i).is_some() {
                self.turns.told(o.time().filter(|t| t.is_finite()));
            }
        }
    }
    fn likely(&self) -> Vec<Assignment> {
        let others = self.others.iter().filter(|i| !self.seen[**i]);
        others.map(|i| self.listed.at(*i).clone()).collect()
    }
    fn asks_ahead(&self) -> bool {
        true
    }
    fn history(&self) -> &History {
        &self.history
    }
}
