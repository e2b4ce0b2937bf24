//! Guided on recorded tables, where the second model of time gives only so many answers to each search, as one does that
//! compiles what it is asked for: `answers MOST SEEDS FILE...`. With 0 it answers everything.
use kerf_search::compare::geometric_mean;
use kerf_search::recorded::RecordedSpace;
use kerf_search::{Answers, Assignment, Models, Search, by_name, run};
use std::cell::RefCell;
use std::collections::BTreeSet;

/// Executions of a search.
const BUDGET: usize = 25;

/// Answers that are asked for together: cores.
const AT_ONCE: usize = 16;

struct Limited<'r> {
    table: &'r RecordedSpace,
    most: usize,
    given: RefCell<BTreeSet<Assignment>>,
}

impl Models for Limited<'_> {
    fn time(&self, a: &[u8]) -> Option<f64> {
        self.table.time(a)
    }
    fn other_time(&self, a: &[u8]) -> Option<f64> {
        let mut given = self.given.borrow_mut();
        if !given.contains(a) && given.len() >= self.most {
            return None;
        }
        given.insert(a.to_vec());
        self.table.other_time(a)
    }
    fn other_answers(&self) -> Answers {
        match self.most {
            usize::MAX => self.table.other_answers(),
            in_all => Answers {
                in_all,
                at_once: AT_ONCE,
            },
        }
    }
    fn prepare_other(&self, all: &[Assignment]) {
        all.iter().for_each(|a| {
            self.other_time(a);
        });
    }
    fn static_score(&self, a: &[u8]) -> Option<f64> {
        self.table.static_score(a)
    }
}

fn main() {
    let usage = "usage: answers MOST SEEDS FILE...";
    let mut args = std::env::args().skip(1);
    let mut number = || args.next().and_then(|a| a.parse::<usize>().ok());
    let (most, seeds) = number().zip(number()).expect(usage);
    let most = if most == 0 { usize::MAX } else { most };
    let (mut parts, mut executions, mut good) = (Vec::new(), Vec::new(), 0);
    for file in args {
        let space = RecordedSpace::parse(&std::fs::read(&file).expect("a file")).expect("a space");
        let mut seen = Vec::new();
        for q in [0.25, 0.5, 0.75] {
            let Some(tolerance) = space.error_quantile(q).filter(|t| *t > 0.0) else {
                continue;
            };
            let Some(here) = space
                .within(tolerance)
                .filter(|_| !seen.contains(&tolerance))
            else {
                continue;
            };
            seen.push(tolerance);
            let problem = &here.problem;
            let base = problem.baseline.and_then(|o| o.time()).unwrap_or(1.0);
            let optimum = base / here.optimum().unwrap_or(base);
            let (mut found, mut runs, mut asked) = (Vec::new(), Vec::new(), 0);
            for seed in 1..=seeds as u64 {
                let models = Limited {
                    table: &here,
                    most,
                    given: RefCell::default(),
                };
                let search = Search {
                    problem,
                    models: &models,
                    seed,
                    budget: BUDGET,
                };
                let mut s = by_name("guided", search).expect("a strategy");
                let trace = run(problem, &mut *s, BUDGET, |a| here.outcome(a));
                let passed = trace
                    .executed
                    .iter()
                    .filter(|e| problem.accepts(&e.outcome));
                let best = passed.filter_map(|e| e.outcome.time()).fold(base, f64::min);
                found.push(base / best);
                runs.push(trace.executed.len().max(1) as f64);
                asked = asked.max(models.given.borrow().len());
            }
            let worst = found.iter().copied().fold(f64::INFINITY, f64::min) / optimum;
            let (found, runs) = (geometric_mean(found), geometric_mean(runs));
            println!(
                "{file:40} {:3.0} % {tolerance:.2e} optimum {optimum:.3} found {found:.3} worst {worst:.4} runs {runs:4.1} asked {asked}",
                100.0 * q
            );
            parts.push(found / optimum);
            executions.push(runs);
            good += usize::from(worst >= 0.97);
        }
    }
    println!(
        "{} cases: {:.4} of the optimum, at least 97 %: {good}; runs {:.2}",
        parts.len(),
        geometric_mean(parts.iter().copied()),
        geometric_mean(executions.iter().copied()),
    );
}
