//! Another belief of errors, for those that neither add up nor grow with what is lowered: each variable can be lowered to
//! some level, whatever the others do, and one that is lowered further spoils the result.
//!
//! A run within the tolerance clears what it lowers, one beyond it has a culprit somewhere; how large the error is
//! says nothing. What is left open is drawn from at random (Gibbs sampling, with exchanges of a culprit for another variable).
//! Runs may contradict the belief, each at a price, so that errors that cancel now and then do not upset it.
use crate::history::Evaluation;
use crate::problem::{Assignment, Problem, Variable};
use crate::rng::Rng;

/// Parts of all variables that may be culprits, any of them beforehand.
const RATES: [f64; 5] = [0.02, 0.06, 0.15, 0.3, 0.5];

/// Probability that a run contradicts the belief.
const ODD: f64 = 0.03;

/// Chains, draws kept of each, sweeps before the first of them and between any two.
const CHAINS: usize = 4;
const DRAWS: usize = 64;
const BEFORE: usize = 60;
const BETWEEN: usize = 2;

/// What a culprit leaves of the probability to pass in a draw: not nothing, so that fewer are better than many.
const LEFT: f64 = 0.05;

/// A run: the variables that it lowered, with their levels, and whether it passed.
struct Test {
    levels: Vec<u8>,
    passed: bool,
}

/// What variables may be lowered to, as it might be: draws from what the runs leave open.
pub struct Culprits {
    draws: Vec<Assignment>,
    /// The same, with no bound where a variable is without an order.
    bounds: Vec<Assignment>,
    /// What so many culprits leave of the probability to pass.
    left: Vec<f64>,
}

/// One chain: the lowest level that each variable is taken to bear, and for each run how many are lowered further.
struct Chain<'t> {
    tests: &'t [Test],
    /// Levels that each variable has, and the lowest of them.
    allowed: &'t [Vec<u8>],
    bears: Vec<u8>,
    guilty: Vec<usize>,
    rate: f64,
}

impl Chain<'_> {
    fn lowest(&self, i: usize) -> u8 {
        self.allowed[i].last().copied().unwrap_or(0)
    }

    fn is_culprit(&self, i: usize) -> bool {
        self.bears[i] < self.lowest(i)
    }

    fn prior(&self, i: usize, level: u8) -> f64 {
        match level == self.lowest(i) {
            true => 1.0 - self.rate,
            false => self.rate / (self.allowed[i].len() - 1) as f64,
        }
    }

    /// Probability of what the runs gave, as far as variable `i` has a say, if it bears `level`.
    fn likelihood(&self, i: usize, level: u8) -> f64 {
        let mut p = 1.0;
        for (t, n) in self.tests.iter().zip(&self.guilty) {
            let others = n - usize::from(t.levels[i] > self.bears[i]);
            let here = t.levels[i] > level;
            p *= match (others == 0 && !here) == t.passed {
                true => 1.0 - ODD,
                false => ODD,
            };
        }
        p
    }

    fn set(&mut self, i: usize, level: u8) {
        for (t, n) in self.tests.iter().zip(&mut self.guilty) {
            *n -= usize::from(t.levels[i] > self.bears[i]);
            *n += usize::from(t.levels[i] > level);
        }
        self.bears[i] = level;
    }

    fn draw(&mut self, i: usize, rng: &mut Rng) {
        let all = &self.allowed[i];
        if all.len() < 2 {
            return;
        }
        let weights: Vec<f64> = all
            .iter()
            .map(|l| self.prior(i, *l) * self.likelihood(i, *l))
            .collect();
        let mut at = rng.unit() * weights.iter().sum::<f64>();
        for (l, w) in all.iter().zip(&weights) {
            at -= w;
            if at <= 0.0 {
                let l = *l;
                return self.set(i, l);
            }
        }
    }

    fn odds(&self) -> f64 {
        let each = self.tests.iter().zip(&self.guilty);
        let odd = each.filter(|(t, n)| (**n == 0) != t.passed).count();
        (ODD / (1.0 - ODD)).powi(odd as i32)
    }

    /// A culprit cleared for another variable, where the runs bear it.
    fn exchange(&mut self, rng: &mut Rng) {
        let n = self.bears.len();
        let culprits: Vec<usize> = (0..n).filter(|i| self.is_culprit(*i)).collect();
        let (Some(from), to) = (rng.pick(&culprits).copied(), rng.below(n)) else {
            return;
        };
        let (a, b) = (self.bears[from], self.bears[to]);
        if self.is_culprit(to) || !self.allowed[to].contains(&a) || a == b {
            return;
        }
        let before = self.odds();
        self.set(from, self.lowest(from));
        self.set(to, a);
        if !rng.chance(self.odds() / before) {
            self.set(to, b);
            self.set(from, a);
        }
    }

    fn sweep(&mut self, rng: &mut Rng) {
        let n = self.bears.len();
        for i in 0..n {
            self.draw(i, rng);
            if i % 4 == 0 {
                self.exchange(rng);
            }
        }
        let free: Vec<usize> = (0..n).filter(|i| self.allowed[*i].len() > 1).collect();
        let bad = free.iter().filter(|i| self.is_culprit(**i));
        let (bad, all) = (bad.count() as f64, free.len() as f64);
        let weights = RATES.map(|r| (bad * r.ln() + (all - bad) * (1.0 - r).ln()).exp());
        let mut at = rng.unit() * weights.iter().sum::<f64>();
        for (r, w) in RATES.iter().zip(weights) {
            at -= w;
            if at <= 0.0 {
                self.rate = *r;
                break;
            }
        }
    }
}

impl Culprits {
    /// What the runs leave open. Variables without an order are nobody's fault.
    pub fn new(problem: &Problem, all: &[Evaluation], rng: &mut Rng) -> Culprits {
        let allowed: Vec<Vec<u8>> = problem
            .variables
            .iter()
            .map(|v| match v.unordered {
                true => vec![0],
                false => v.allowed().collect(),
            })
            .collect();
        let levels = |a: &[u8]| -> Vec<u8> {
            let each = a.iter().zip(&problem.variables);
            each.map(|(l, v)| if v.unordered { 0 } else { *l })
                .collect()
        };
        let tests: Vec<Test> = all
            .iter()
            .map(|e| Test {
                levels: levels(&e.assignment),
                passed: problem.accepts(&e.outcome),
            })
            .filter(|t| t.levels.iter().any(|l| *l > 0))
            .collect();
        let mut draws = Vec::new();
        for _ in 0..CHAINS {
            let mut chain = Chain {
                tests: &tests,
                allowed: &allowed,
                // All are culprits but those that a run cleared.
                bears: (0..allowed.len())
                    .map(|i| {
                        let passed = tests.iter().filter(|t| t.passed);
                        passed.map(|t| t.levels[i]).max().unwrap_or(0)
                    })
                    .collect(),
                guilty: Vec::new(),
                rate: RATES[1],
            };
            let bears = &chain.bears;
            let guilty = |t: &Test| t.levels.iter().zip(bears).filter(|(l, b)| l > b).count();
            chain.guilty = tests.iter().map(guilty).collect();
            for _ in 0..BEFORE {
                chain.sweep(rng);
            }
            for _ in 0..DRAWS {
                for _ in 0..BETWEEN {
                    chain.sweep(rng);
                }
                draws.push(chain.bears.clone());
            }
        }
        let bound = |(level, v): (&u8, &Variable)| if v.unordered { u8::MAX } else { *level };
        let bounds = |d: &Assignment| d.iter().zip(&problem.variables).map(bound).collect();
        let left = (0..=problem.variables.len()).map(|n| LEFT.powi(n as i32));
        Culprits {
            bounds: draws.iter().map(bounds).collect(),
            left: left.collect(),
            draws,
        }
    }

    /// Probability that an assignment is within the tolerance.
    pub fn passes(&self, a: &[u8]) -> f64 {
        let each = self.bounds.iter().map(|bounds| {
            let further = a.iter().zip(bounds).map(|(l, most)| u16::from(l > most));
            self.left[usize::from(further.sum::<u16>())]
        });
        each.sum::<f64>() / self.draws.len().max(1) as f64
    }

    /// Some assignments that lower all that a draw clears.
    pub fn some(&self, most: usize, rng: &mut Rng) -> Vec<Assignment> {
        let each = (0..most).filter_map(|_| rng.pick(&self.draws));
        each.cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Outcome;
    use crate::problem::Level;

    fn problem() -> Problem {
        let levels = || ["f64", "f32", "f16"].map(Level::named).to_vec();
        let all = (0..12).map(|i| Variable::new(format!("v{i}"), levels()));
        Problem::precision(all.collect(), Vec::new(), 1e-3)
    }

    fn ran(lowered: &[(usize, u8)], error: f64) -> Evaluation {
        let mut assignment = vec![0; 12];
        lowered.iter().for_each(|(i, l)| assignment[*i] = *l);
        Evaluation {
            assignment,
            outcome: Outcome::ran(error, 1.0),
        }
    }

    #[test]
    fn what_passed_is_cleared_and_what_is_left_is_blamed() {
        let p = problem();
        let runs = [
            ran(&[(0, 1), (1, 1), (2, 2), (3, 2)], 0.5),
            ran(&[(0, 1), (1, 1)], 1e-5),
            ran(&[(2, 2)], 1e-4),
        ];
        let c = Culprits::new(&p, &runs, &mut Rng::new(1));
        let passes = |lowered: &[(usize, u8)]| c.passes(&ran(lowered, 0.0).assignment);
        let together = passes(&[(0, 1), (1, 1), (2, 2)]);
        assert!(together > 0.8, "{together}");
        // The only one left; a level between says less, and one that never was lowered less still.
        let each = [&[(3, 2)], &[(3, 1)], &[(9, 1)]].map(|a| passes(a));
        assert!(
            each[0] < 0.3 && each[0] < each[1] && each[1] < each[2],
            "{each:?}"
        );
    }

    #[test]
    fn one_contradiction_does_not_upset_it() {
        let p = problem();
        let bad: Vec<(usize, u8)> = (0..6).map(|i| (i, 1)).collect();
        let mut runs = vec![ran(&bad, 0.1), ran(&bad[..3], 0.1), ran(&bad[..1], 0.2)];
        // Errors that cancel.
        runs.push(ran(&[(0, 1), (7, 1), (8, 1)], 1e-9));
        runs.extend((9..12).map(|i| ran(&[(0, 1), (i, 1)], 0.3)));
        let c = Culprits::new(&p, &runs, &mut Rng::new(2));
        let passes = |i: usize| c.passes(&ran(&[(i, 1)], 0.0).assignment);
        assert!(
            passes(0) < 0.3 && passes(10) > 0.5,
            "{} {}",
            passes(0),
            passes(10)
        );
    }
}
