//! A strategy repeated over a recorded space: how near to the optimum, after how many executions.
use crate::problem::Search;
use crate::recorded::RecordedSpace;
use crate::session::run;
use crate::strategy::Reason;
use crate::strategy_name::{StrategyError, StrategyName};
use serde::Serialize;

/// Budgets at which results are stated, up to the one that was asked for.
const MARKS: [usize; 11] = [2, 5, 10, 25, 50, 100, 200, 500, 1000, 2000, 5000];

/// How near to the optimum the repetitions were after so many executions.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ProgressMark {
    /// Executions.
    pub executions: usize,
    /// Mean of best found over optimum, of the repetitions that had found anything.
    pub mean: f64,
    /// The middle one.
    pub median: f64,
    /// What a tenth of them is below.
    pub low: f64,
    /// What nine tenths of them are below.
    pub high: f64,
    /// The worst one.
    pub worst: f64,
    /// Repetitions that had found nothing within the tolerance yet.
    pub nothing: usize,
}

/// One repetition.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Repetition {
    /// Its seed.
    pub seed: u64,
    /// Executions it took.
    pub executions: usize,
    /// Why it ended.
    pub reason: Reason,
    /// Best found over optimum.
    pub over_optimum: Option<f64>,
    /// Time of the best found.
    pub time: Option<f64>,
    /// Assignments that the table does not have, and that counted as failed.
    pub missing: usize,
}

/// All repetitions.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Repetitions {
    /// The strategy.
    pub strategy: StrategyName,
    /// By executions.
    pub marks: Vec<ProgressMark>,
    /// One by one.
    pub repetitions: Vec<Repetition>,
}

/// Repeats a strategy with seeds from `seed` on.
pub fn repeat(
    recorded: &RecordedSpace,
    strategy: StrategyName,
    budget: usize,
    repeats: usize,
    seed: u64,
) -> Result<Repetitions, StrategyError> {
    let problem = &recorded.problem;
    let optimum = recorded.optimum().unwrap_or(f64::NAN);
    let mut budgets: Vec<usize> = MARKS.into_iter().filter(|m| *m < budget).collect();
    budgets.push(budget);
    let mut found: Vec<Vec<f64>> = vec![Vec::new(); budgets.len()];
    let mut repetitions = Vec::new();
    for seed in (0..repeats as u64).map(|r| seed.wrapping_add(r)) {
        let search = Search {
            problem,
            models: recorded,
            seed,
            budget,
        };
        let mut s = strategy.start(search)?;
        let mut missing = 0;
        let trace = run(problem, &mut *s, budget, |a| {
            missing += usize::from(!recorded.has(a));
            recorded.outcome(a)
        });
        let start = problem.baseline.filter(|o| problem.accepts(o));
        let mut best = start.and_then(|o| o.time()).unwrap_or(f64::INFINITY);
        let mut best_after = vec![best];
        for e in &trace.executed {
            if problem.accepts(&e.outcome) {
                best = best.min(e.outcome.time().unwrap_or(f64::INFINITY));
            }
            best_after.push(best);
        }
        for (b, f) in budgets.iter().zip(&mut found) {
            let at = (*b).min(best_after.len() - 1);
            f.push(best_after[at] / optimum);
        }
        let result = trace.best.as_ref().and_then(|e| e.outcome.time());
        repetitions.push(Repetition {
            seed,
            executions: trace.executed.len(),
            reason: trace.reason,
            over_optimum: result.map(|t| t / optimum),
            time: result,
            missing,
        });
    }
    let marks = budgets.into_iter().zip(found).map(|(b, f)| mark(b, f));
    Ok(Repetitions {
        strategy,
        marks: marks.collect(),
        repetitions,
    })
}

fn mark(executions: usize, mut found: Vec<f64>) -> ProgressMark {
    let all = found.len();
    found.retain(|x| x.is_finite());
    found.sort_by(f64::total_cmp);
    let n = found.len();
    let at = |q: f64| {
        let i = (q * n.saturating_sub(1) as f64).round() as usize;
        found.get(i).copied().unwrap_or(f64::NAN)
    };
    ProgressMark {
        executions,
        mean: found.iter().sum::<f64>() / n as f64,
        median: found.get(n / 2).copied().unwrap_or(f64::NAN),
        low: at(0.1),
        high: at(0.9),
        worst: found.last().copied().unwrap_or(f64::NAN),
        nothing: all - n,
    }
}
