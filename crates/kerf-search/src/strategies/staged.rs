//! Launch and the rest one after the other, each with half of the evaluations: what one search over both is compared
//! with.
//!
//! The first stage leaves the variables of the second as the program has them; the second one keeps what the
//! first found. Both are guided searches. Shapes of launches are the variables without an order.
use crate::outcome::Outcome;
use crate::problem::{Answers, Assignment, Edge, Metrics, Models, Problem, Search};
use crate::script::{Missing, Script, ScriptProbe, Scripted};
use crate::strategy::{Reason, Strategy, StrategyStep};

/// Which comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StageOrder {
    /// The launch.
    First,
    /// Everything else.
    Last,
}

/// A search in two stages.
struct Staged {
    shapes: Vec<usize>,
    order: StageOrder,
}

/// Shapes before or after everything else.
pub fn staged(search: Search<'_>, order: StageOrder) -> impl Strategy + '_ {
    let all = search.problem.variables.iter().enumerate();
    let shapes = all.filter(|(_, v)| v.unordered).map(|(i, _)| i).collect();
    Scripted::new(search, Staged { shapes, order })
}

/// Predictions of a stage: those of the whole, with the rest as it stands.
struct Within<'m> {
    models: &'m dyn Models,
    fixed: &'m [u8],
    mine: &'m [usize],
}

impl Within<'_> {
    fn whole(&self, a: &[u8]) -> Assignment {
        let mut all = self.fixed.to_vec();
        for (at, level) in self.mine.iter().zip(a) {
            all[*at] = *level;
        }
        all
    }
}

impl Models for Within<'_> {
    fn time(&self, a: &[u8]) -> Option<f64> {
        self.models.time(&self.whole(a))
    }
    fn times_at_once(&self) -> usize {
        self.models.times_at_once()
    }
    fn prepare_times(&self, all: &[Assignment]) {
        let all: Vec<Assignment> = all.iter().map(|a| self.whole(a)).collect();
        self.models.prepare_times(&all);
    }
    fn other_time(&self, a: &[u8]) -> Option<f64> {
        self.models.other_time(&self.whole(a))
    }
    fn other_answers(&self) -> Answers {
        self.models.other_answers()
    }
    fn prepare_other(&self, all: &[Assignment]) {
        let all: Vec<Assignment> = all.iter().map(|a| self.whole(a)).collect();
        self.models.prepare_other(&all);
    }
    fn error(&self, a: &[u8]) -> Option<f64> {
        self.models.error(&self.whole(a))
    }
    fn static_score(&self, a: &[u8]) -> Option<f64> {
        self.models.static_score(&self.whole(a))
    }
    fn metrics(&self, a: &[u8]) -> Option<Metrics> {
        self.models.metrics(&self.whole(a))
    }
}

/// The part of a problem that some of its variables are.
fn part(problem: &Problem, mine: &[usize], baseline: Option<Outcome>) -> Problem {
    let place = |i: usize| mine.iter().position(|m| *m == i);
    let edge = |e: &Edge| {
        Some(Edge {
            a: place(e.a)?,
            b: place(e.b)?,
            weight: e.weight,
        })
    };
    Problem {
        variables: mine.iter().map(|i| problem.variables[*i].clone()).collect(),
        edges: problem.edges.iter().filter_map(edge).collect(),
        tolerance: problem.tolerance,
        baseline,
        points: None,
    }
}

/// One stage over the variables `mine`, the others as in `fixed`. Gives its best.
fn stage(
    search: &Search,
    probe: &ScriptProbe,
    fixed: &Assignment,
    mine: &[usize],
    budget: usize,
) -> Result<Assignment, Missing> {
    let baseline = match *fixed == search.problem.identity() {
        true => search.problem.baseline,
        false => Some(probe.one(fixed)?),
    };
    let problem = part(search.problem, mine, baseline);
    let models = Within {
        models: search.models,
        fixed,
        mine,
    };
    let inner = Search {
        problem: &problem,
        models: &models,
        seed: search.seed,
        budget,
    };
    let mut strategy = super::guided(inner);
    let known = problem.identity();
    let (mut asked, mut seen) = (0, vec![known.clone()]);
    loop {
        let all = match strategy.ask() {
            StrategyStep::Evaluate(a) => vec![a],
            StrategyStep::Batch(all) => all,
            StrategyStep::Done(_) => break,
        };
        for a in all {
            let first = !seen.contains(&a);
            if first && asked >= budget {
                return Ok(best(&strategy, &models, fixed));
            }
            let outcome = match (a == known, baseline) {
                (true, Some(o)) => o,
                _ => probe.one(&models.whole(&a))?,
            };
            if first {
                asked += 1;
                seen.push(a.clone());
            }
            strategy.tell(&a, &outcome);
        }
    }
    Ok(best(&strategy, &models, fixed))
}

fn best(strategy: &dyn Strategy, models: &Within, fixed: &Assignment) -> Assignment {
    let found = strategy.best();
    found.map_or_else(|| fixed.clone(), |e| models.whole(&e.assignment))
}

impl Script for Staged {
    fn play(&self, search: &Search, probe: &ScriptProbe) -> Result<Reason, Missing> {
        let every = 0..search.problem.variables.len();
        let rest: Vec<usize> = every.filter(|i| !self.shapes.contains(i)).collect();
        let (first, second) = match self.order {
            StageOrder::First => (&self.shapes, &rest),
            StageOrder::Last => (&rest, &self.shapes),
        };
        let half = search.budget / 2;
        let now = stage(search, probe, &search.problem.identity(), first, half)?;
        stage(search, probe, &now, second, search.budget - half)?;
        Ok(Reason::Budget)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::{Level, NoModels, Variable};
    use crate::session::run;

    fn problem() -> Problem {
        let variable = |name: &str, n: usize| {
            let level = |l: usize| Level::named(format!("{name}{l}"));
            Variable::new(name, (0..n).map(level).collect())
        };
        let mut all = vec![variable("format", 2), variable("shape", 4)];
        all[1].unordered = true;
        Problem::precision(all, Vec::new(), 1e-3)
    }

    /// Shape 3 is the best for the lowered program, and shape 1 for the program as it is.
    fn outcome(a: &[u8]) -> Outcome {
        let table = [[1.0, 0.8, 1.1, 1.2], [0.9, 0.85, 0.9, 0.5]];
        Outcome::ran(1e-4 * f64::from(a[0]), table[a[0] as usize][a[1] as usize])
    }

    fn found(order: StageOrder, budget: usize) -> (Assignment, usize) {
        let p = problem();
        let search = Search {
            problem: &p,
            models: &NoModels,
            seed: 1,
            budget,
        };
        let mut s = staged(search, order);
        let done = run(&p, &mut s, budget, outcome);
        let best = done.best.expect("a best");
        (best.assignment, done.executed.len())
    }

    #[test]
    fn the_first_stage_decides_without_the_second() {
        // Formats first find the lowered program, whose best shape is then found.
        assert_eq!(found(StageOrder::Last, 8).0, [1, 3]);
        // Shapes first settle on that of the program as it is.
        assert_eq!(found(StageOrder::First, 8).0[1], 1);
    }

    #[test]
    fn both_stages_keep_to_their_half() {
        for budget in [2, 3, 5] {
            for order in [StageOrder::First, StageOrder::Last] {
                assert!(found(order, budget).1 <= budget);
            }
        }
    }
}
