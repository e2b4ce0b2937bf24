//! Branches of a space whose points are listed: combinations of parameters with few values, such as flags and methods.
//!
//! The fastest of one branch can be far from the fastest of another in all other parameters, so that a search which
//! follows its regression stays in the branch where it found something first. Some of its questions go to the
//! others.
use crate::problem::{Assignment, Problem};
use crate::rng::Rng;

/// Parameters of at most so many values make branches.
const FEW: usize = 3;

/// The parameters that make them.
#[derive(Debug, Clone)]
pub struct Branches {
    few: Vec<usize>,
}

impl Branches {
    /// Of a space.
    pub fn new(problem: &Problem) -> Branches {
        let count = |i: &usize| problem.variables[*i].levels.len();
        let all = 0..problem.variables.len();
        Branches {
            few: all.filter(|i| (2..=FEW).contains(&count(i))).collect(),
        }
    }

    /// Whether two points are of one branch.
    pub fn same(&self, a: &Assignment, b: &Assignment) -> bool {
        self.few.iter().all(|i| a[*i] == b[*i])
    }

    /// The fastest point of a branch other than the fastest's: of the best of the others half of the time, of the
    /// next a quarter of it, and so on. `fastest` are the runs, the fastest first.
    pub fn other<'a>(&self, fastest: &[&'a Assignment], rng: &mut Rng) -> Option<&'a Assignment> {
        let mut heads: Vec<&'a Assignment> = Vec::new();
        for a in fastest {
            if !heads.iter().any(|h| self.same(h, a)) {
                heads.push(a);
            }
        }
        let others = heads.get(1..)?;
        let mut rank = 0;
        while rank + 1 < others.len() && rng.chance(0.5) {
            rank += 1;
        }
        others.get(rank).copied()
    }
}

/// When it is the turn of another branch. Visits that find nothing near the fastest make the next one later: where
/// flags hardly matter, or the right ones were found at once, questions are better spent elsewhere.
#[derive(Debug, Clone)]
pub struct Turns {
    every: usize,
    tired: f64,
    interval: f64,
    due: f64,
    /// The fastest time when the branch that is being visited was chosen.
    visiting: Option<f64>,
}

/// A visit paid if it found a time of at most this over the fastest.
const NEAR: f64 = 1.05;

/// Visits are no rarer than one in so many times as many questions as at first.
const RAREST: f64 = 4.0;

impl Turns {
    /// Every so many questions (0: never), later by a factor after each visit in vain.
    pub fn new(every: usize, tired: f64) -> Turns {
        Turns {
            every,
            tired,
            interval: every as f64,
            due: 1.0,
            visiting: None,
        }
    }

    /// Whether it is the turn of another branch at this question.
    pub fn due(&self, asked: usize) -> bool {
        self.every > 0 && asked as f64 >= self.due
    }

    /// A visit begins.
    pub fn began(&mut self, asked: usize, fastest: f64) {
        self.visiting = Some(fastest);
        self.due = asked as f64 + self.interval;
    }

    /// What came of a question; none if it failed.
    pub fn told(&mut self, time: Option<f64>) {
        let Some(fastest) = self.visiting.take() else {
            return;
        };
        let before = self.interval;
        self.interval = match time.is_some_and(|t| t <= NEAR * fastest) {
            true => self.every as f64,
            false => (self.interval * self.tired).min(RAREST * self.every as f64),
        };
        self.due += self.interval - before;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::{Level, Variable};

    fn space(values: &[usize]) -> Problem {
        let one = |(i, n): (usize, &usize)| {
            let levels = (0..*n).map(|l| Level::named(l.to_string())).collect();
            Variable::new(format!("v{i}"), levels)
        };
        Problem::categorical(values.iter().enumerate().map(one).collect(), Vec::new())
    }

    #[test]
    fn visits_in_vain_become_rare_and_others_do_not() {
        let visits = |time: Option<f64>| {
            let mut t = Turns::new(4, 1.3);
            let mut n = 0;
            for asked in 1..=100 {
                if t.due(asked) {
                    t.began(asked, 1.0);
                    n += 1;
                }
                t.told(time);
            }
            n
        };
        assert_eq!(visits(Some(1.02)), 25);
        assert!(
            (8..12).contains(&visits(Some(2.0))),
            "{}",
            visits(Some(2.0))
        );
        assert_eq!(visits(None), visits(Some(2.0)));
        assert!(!Turns::new(0, 1.3).due(1));
    }

    #[test]
    fn branches_are_combinations_of_few_values() {
        let b = Branches::new(&space(&[16, 2, 1, 3]));
        assert!(b.same(&vec![0, 1, 0, 2], &vec![9, 1, 0, 2]));
        assert!(!b.same(&vec![0, 1, 0, 2], &vec![0, 0, 0, 2]));
        let runs: Vec<Assignment> = vec![
            vec![0, 1, 0, 2],
            vec![3, 1, 0, 2],
            vec![5, 0, 0, 2],
            vec![6, 0, 0, 1],
        ];
        let all: Vec<&Assignment> = runs.iter().collect();
        let mut rng = Rng::new(1);
        let mut seen = [0; 4];
        for _ in 0..100 {
            let a = b.other(&all, &mut rng).expect("a branch");
            seen[all.iter().position(|x| *x == a).expect("a run")] += 1;
        }
        assert_eq!((seen[0], seen[1]), (0, 0));
        assert!(seen[2] > 25 && seen[3] > 25, "{seen:?}");
        // One branch, or none.
        assert!(b.other(&all[..2], &mut rng).is_none());
        assert!(b.other(&[], &mut rng).is_none());
        let plain = Branches::new(&space(&[16, 8]));
        assert!(plain.other(&[&vec![0, 1], &vec![2, 3]], &mut rng).is_none());
    }
}
