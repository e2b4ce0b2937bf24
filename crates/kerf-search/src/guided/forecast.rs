//! Predicted times when there are more assignments than a model can be asked for.
//!
//! A cost model that rewrites a program for every answer takes milliseconds, and a proposal looks at thousands
//! of assignments. In a small space each is asked for once. In a large one a sum over variables and pairs
//! of neighbours stands for the model: static counts, corrected by regression over everything that the model
//! was asked. What a proposal would run is asked for before it is believed. A model that gives only so many answers, since each
//! takes long, spends no more than half of them beforehand; the sum stands for what it does not answer any more.
use super::linear::Cholesky;
use crate::problem::{Answers, Assignment, Problem, Search};
use crate::rng::Rng;
use crate::strategies::draw;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

/// Spaces up to this size are asked for as a whole.
const SMALL: u64 = 1024;

/// Neighbours lowered together, and assignments at random, that the sum is fitted to beside each variable
/// alone and all others without it.
const CALIBRATION: (usize, usize) = (150, 60);

/// Levels at which all but one variable are asked for: formats. Parts of the warps and shapes have more.
const DEPTH: u8 = 4;

/// What the sum may miss, and how far its terms may be from static counts: times over the program's own.
const DEVIATIONS: (f64, f64) = (0.005, 0.05);

/// Which of the caller's models.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForecastSource {
    /// Of time.
    Time,
    /// The other one.
    Other,
}

impl ForecastSource {
    /// What it says.
    pub fn ask(self, search: &Search, a: &[u8]) -> Option<f64> {
        match self {
            ForecastSource::Time => search.predict(a),
            ForecastSource::Other => search.predict_other(a),
        }
    }

    fn answers(self, search: &Search) -> Answers {
        match self {
            ForecastSource::Time => Answers {
                in_all: usize::MAX,
                at_once: search.models.times_at_once(),
            },
            ForecastSource::Other => search.models.other_answers(),
        }
    }

    fn prepare(self, search: &Search, all: &[Assignment]) {
        match self {
            ForecastSource::Time => search.models.prepare_times(all),
            ForecastSource::Other => search.models.prepare_other(all),
        }
    }
}

/// The model, and what stands for it.
pub struct Forecast<'p> {
    search: Search<'p>,
    source: ForecastSource,
    small: bool,
    /// Score of the program as it is.
    base: f64,
    /// Answers; none where the model gives none.
    told: RefCell<BTreeMap<Assignment, Option<f64>>>,
    answers: Answers,
    /// Terms of the sum: of each variable by level, then of each edge.
    terms: RefCell<Vec<f64>>,
    /// What the sum misses of what was told.
    misses: Cell<f64>,
    /// Answers that the sum was fitted to.
    fitted: Cell<usize>,
    /// First term of each variable.
    first: Vec<usize>,
}

fn terms<'t>(
    problem: &'t Problem,
    first: &'t [usize],
    a: &'t [u8],
) -> impl Iterator<Item = usize> + 't {
    let lowered = a.iter().zip(first).filter(|(l, _)| **l > 0);
    let lowered = lowered.map(|(l, f)| f + *l as usize - 1);
    let edges = problem.edges.iter().enumerate();
    let start = first.last().copied().unwrap_or(0);
    lowered.chain(edges.filter_map(move |(k, e)| (a[e.a] != a[e.b]).then_some(start + k)))
}

impl<'p> Forecast<'p> {
    /// Asks what a large space needs beforehand.
    pub fn new(search: Search<'p>, source: ForecastSource) -> Forecast<'p> {
        let problem = search.problem;
        let mut first = vec![0];
        for v in &problem.variables {
            first.push(first.last().copied().unwrap_or(0) + v.levels.len() - 1);
        }
        let answers = source.answers(&search);
        let f = Forecast {
            search,
            source,
            base: problem.score(&problem.identity()),
            small: problem.size() <= SMALL.min(answers.in_all as u64),
            answers,
            told: RefCell::default(),
            terms: RefCell::default(),
            misses: Cell::new(0.0),
            fitted: Cell::new(0),
            first,
        };
        if !f.small {
            f.calibrate();
        }
        f
    }

    fn calibrate(&self) {
        let problem = self.search.problem;
        let identity = problem.identity();
        let mut asked = vec![identity.clone()];
        for level in 1..problem.depth_of_levels() as u8 {
            let all = problem.uniform(level);
            for i in 0..identity.len() {
                let (mut alone, mut without) = (identity.clone(), all.clone());
                (alone[i], without[i]) = (all[i], 0);
                asked.push(alone);
                if level <= DEPTH {
                    asked.push(without);
                }
            }
            asked.push(all);
        }
        let low = problem.all_low();
        for e in problem.edges.iter().take(CALIBRATION.0) {
            let mut pair = identity.clone();
            (pair[e.a], pair[e.b]) = (low[e.a], low[e.b]);
            asked.push(pair);
        }
        let mut rng = Rng::new(self.search.seed ^ 0x666f_7265);
        asked.extend((0..CALIBRATION.1).map(|_| draw(problem, &mut rng)));
        asked.truncate(self.answers.in_all / 2);
        self.source.prepare(&self.search, &asked);
        asked.iter().for_each(|a| {
            self.exact(a);
        });
        self.refit();
    }

    /// How many had better be settled together.
    pub fn at_once(&self) -> usize {
        self.answers.at_once
    }

    /// Has what a small space will be asked for made together.
    pub fn prepare_small(&self, all: &[&[u8]]) {
        if !self.small || self.answers.at_once <= 1 {
            return;
        }
        let told = self.told.borrow();
        let new = all.iter().filter(|a| !told.contains_key(**a));
        let new: Vec<Assignment> = new.map(|a| a.to_vec()).collect();
        drop(told);
        if new.len() > 1 {
            self.prepare(&new);
        }
    }

    /// Says that these will be settled.
    pub fn prepare(&self, all: &[Assignment]) {
        self.source.prepare(&self.search, all);
    }

    /// [`Problem::score_ratio`], with the program's own score known.
    fn counted(&self, a: &[u8]) -> f64 {
        match self.base > 0.0 {
            true => self.search.problem.score(a) / self.base,
            false => 1.0,
        }
    }

    /// Fits the sum to everything that was told since; gives whether that changed it.
    pub fn refit(&self) -> bool {
        let told = self.told.borrow();
        if self.small || told.len() == self.fitted.get() {
            return false;
        }
        let problem = self.search.problem;
        let n = self.first.last().copied().unwrap_or(0) + problem.edges.len();
        let ridge = (DEVIATIONS.0 / DEVIATIONS.1).powi(2);
        let mut normal = vec![vec![0.0; n]; n];
        let mut right = vec![0.0; n];
        let rows: Vec<(Vec<usize>, f64)> = told
            .iter()
            .filter_map(|(a, t)| {
                let on = terms(problem, &self.first, a).collect();
                Some((on, (*t)? - self.counted(a)))
            })
            .collect();
        for (on, y) in &rows {
            for i in on {
                right[*i] += y;
                for j in on {
                    normal[*i][*j] += 1.0;
                }
            }
        }
        let factor =
            Cholesky::from_elements(n, |i, j| normal[i][j] + if i == j { ridge } else { 0.0 });
        let w = factor.solve(&right);
        let miss = |(on, y): &(Vec<usize>, f64)| y - on.iter().map(|i| w[*i]).sum::<f64>();
        let squares: f64 = rows.iter().map(|r| miss(r).powi(2)).sum();
        self.misses.set((squares / rows.len().max(1) as f64).sqrt());
        self.fitted.set(told.len());
        *self.terms.borrow_mut() = w;
        true
    }

    /// What the model itself says; where it says nothing, what stands for it.
    pub fn exact(&self, a: &[u8]) -> f64 {
        let known = self.told.borrow().get(a).copied();
        let told = known.unwrap_or_else(|| {
            let t = self.source.ask(&self.search, a);
            self.told.borrow_mut().insert(a.to_vec(), t);
            t
        });
        told.unwrap_or_else(|| self.sum(a))
    }

    /// Whether the model itself can say no more than [`Forecast::time`] does.
    pub fn is_exact(&self, a: &[u8]) -> bool {
        self.small || self.told.borrow().contains_key(a)
    }

    /// A predicted time, and how far it may be from what the model itself would say.
    pub fn time(&self, a: &[u8]) -> (f64, f64) {
        if self.small {
            return (self.exact(a), 0.0);
        }
        match self.told.borrow().get(a) {
            Some(Some(t)) => (*t, 0.0),
            _ => (self.sum(a), self.misses.get()),
        }
    }

    /// The sum; of a small space there is none.
    fn sum(&self, a: &[u8]) -> f64 {
        if self.small {
            return 1.0;
        }
        let w = self.terms.borrow();
        let on = terms(self.search.problem, &self.first, a);
        let sum = self.counted(a) + on.map(|i| w.get(i).copied().unwrap_or(0.0)).sum::<f64>();
        sum.max(1e-3)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::{Edge, Level, Models, Variable};

    /// A time that is nearly a sum, and how often it was asked for.
    struct Slow(Cell<usize>);

    fn truth(a: &[u8]) -> f64 {
        let gain: f64 = a
            .iter()
            .enumerate()
            .map(|(i, l)| f64::from(*l) * (i % 3) as f64)
            .sum();
        let casts = a.windows(2).filter(|w| w[0] != w[1]).count() as f64;
        (1.0 - 0.015 * gain + 0.004 * casts).max(0.2)
    }

    impl Models for Slow {
        fn time(&self, a: &[u8]) -> Option<f64> {
            self.0.set(self.0.get() + 1);
            Some(truth(a))
        }
    }

    fn problem(n: usize) -> Problem {
        let levels = || ["f64", "f32"].map(Level::named).to_vec();
        let variables = (0..n).map(|i| Variable::new(format!("v{i}"), levels()));
        let edges = (1..n).map(|b| Edge {
            a: b - 1,
            b,
            weight: 0.0,
        });
        Problem::precision(variables.collect(), edges.collect(), 1e-6)
    }

    #[test]
    fn few_answers_tell_the_rest() {
        let slow = Slow(Cell::new(0));
        let p = problem(30);
        let search = Search {
            problem: &p,
            models: &slow,
            seed: 3,
            budget: 10,
        };
        let f = Forecast::new(search, ForecastSource::Time);
        let asked = slow.0.get();
        assert!(asked < 200, "{asked}");
        let mut rng = Rng::new(9);
        for _ in 0..200 {
            let a = draw(&p, &mut rng);
            let (t, miss) = f.time(&a);
            assert!((t - truth(&a)).abs() < 0.01, "{t} for {}", truth(&a));
            assert!(miss < 0.01);
        }
        assert_eq!(slow.0.get(), asked, "none of them was asked for");
        let a = draw(&p, &mut rng);
        assert_eq!(f.exact(&a), truth(&a));
        assert!(f.is_exact(&a) && f.time(&a) == (truth(&a), 0.0));
    }

    /// The same, that answers only so often.
    struct Tired(Slow, usize);

    impl Models for Tired {
        fn other_time(&self, a: &[u8]) -> Option<f64> {
            (self.0.0.get() < self.1).then(|| self.0.time(a)).flatten()
        }
        fn other_answers(&self) -> Answers {
            Answers {
                in_all: self.1,
                at_once: 4,
            }
        }
    }

    #[test]
    fn what_is_not_answered_any_more_is_told_by_the_sum() {
        let tired = Tired(Slow(Cell::new(0)), 60);
        let p = problem(9);
        let search = Search {
            problem: &p,
            models: &tired,
            seed: 3,
            budget: 10,
        };
        // Small enough to be asked for as a whole, were it not for the answers.
        let f = Forecast::new(search, ForecastSource::Other);
        assert_eq!(tired.0.0.get(), 30);
        let mut rng = Rng::new(9);
        let mut summed = 0;
        for _ in 0..200 {
            let a = draw(&p, &mut rng);
            assert!((f.exact(&a) - truth(&a)).abs() < 0.02);
            assert!(f.is_exact(&a));
            summed += usize::from(f.time(&a).1 > 0.0);
        }
        assert_eq!(tired.0.0.get(), 60);
        assert!(summed > 100, "{summed}");
    }

    #[test]
    fn a_small_space_is_asked_for_as_a_whole() {
        let slow = Slow(Cell::new(0));
        let p = problem(6);
        let search = Search {
            problem: &p,
            models: &slow,
            seed: 3,
            budget: 10,
        };
        let f = Forecast::new(search, ForecastSource::Time);
        assert_eq!(slow.0.get(), 0);
        for _ in 0..2 {
            for a in crate::strategies::every(&p) {
                assert_eq!(f.time(&a), (truth(&a), 0.0));
            }
        }
        assert_eq!(slow.0.get(), 64);
    }
}
