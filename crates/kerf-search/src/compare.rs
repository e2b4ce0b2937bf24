//! Strategies side by side on recorded spaces: the same problems, tolerances and seeds.
//!
//! Tolerances are quantiles of the errors of all assignments, as in the publication of AMPT-GA (Kotipalli et
//! al. 2019), so that nobody chooses them.
use crate::outcome::Outcome;
use crate::problem::{Assignment, Search};
use crate::recorded::RecordedSpace;
use crate::repeat::repeat;
use crate::session::run;
use crate::strategy_name::{StrategyError, StrategyName};
use serde::Serialize;
use std::collections::BTreeSet;

/// One strategy in one case, over all seeds.
#[derive(Debug, Clone, Serialize)]
pub struct StrategyScore {
    /// Strategy.
    pub strategy: StrategyName,
    /// Speed-up found, geometric mean over the seeds.
    pub speedup: f64,
    /// The least of them.
    pub worst: f64,
    /// Executions, geometric mean over the seeds.
    pub executions: f64,
    /// The most of them.
    pub most: usize,
    /// Speed-up of each seed.
    pub by_seed: Vec<f64>,
    /// Executions, and the speed-up found by then in the mean.
    pub progress: Vec<(usize, f64)>,
    /// Speed-up found by the end of 3, 5 and 8 executions, geometric mean over the seeds.
    pub cut: Vec<(usize, f64)>,
    /// Executions until something is as fast as what the first strategy gives, geometric mean over the seeds. A
    /// strategy that ends before is begun again with another seed, and what it ran before is not counted again;
    /// one that never comes there counts with everything that the table has.
    pub reach: f64,
    /// Seeds with which it never came there.
    pub never: usize,
}

/// A space at a tolerance.
#[derive(Debug, Clone, Serialize)]
pub struct ComparedCase {
    /// Space.
    pub space: String,
    /// Variables.
    pub variables: usize,
    /// Assignments in the table.
    pub outcomes: usize,
    /// Quantile of the errors that the tolerance is.
    pub quantile: f64,
    /// The tolerance.
    pub tolerance: f64,
    /// The largest speed-up in the table.
    pub optimum: f64,
    /// Strategies.
    pub scores: Vec<StrategyScore>,
}

impl ComparedCase {
    /// The score of a strategy.
    pub fn score(&self, strategy: StrategyName) -> Option<&StrategyScore> {
        self.scores.iter().find(|s| s.strategy == strategy)
    }
}

/// Executions at which results are also stated.
const CUTS: [usize; 3] = [3, 5, 8];

/// How often a strategy that ended is begun again.
const AGAIN: u64 = 40;

/// Times nearer than this are equal: single measurements do not tell them apart.
const EQUAL: f64 = 0.01;

/// Executions until something within the tolerance takes no longer than `target`, to one percent.
fn reach(
    space: &RecordedSpace,
    strategy: StrategyName,
    target: f64,
    budget: usize,
    seed: u64,
) -> Result<Option<usize>, StrategyError> {
    let problem = &space.problem;
    let enough = target * (1.0 + EQUAL);
    let there = |o: &Outcome| problem.accepts(o) && o.time().is_some_and(|t| t <= enough);
    if problem.baseline.is_some_and(|o| there(&o)) {
        return Ok(Some(0));
    }
    let mut ran: BTreeSet<Assignment> = BTreeSet::new();
    for again in 0..AGAIN {
        let search = Search {
            problem,
            models: space,
            // Far from the seeds that are compared.
            seed: seed.wrapping_add(again << 32),
            budget,
        };
        let mut s = strategy.start(search)?;
        let before = ran.len();
        let trace = run(problem, &mut *s, budget, |a| space.outcome(a));
        for e in trace.executed {
            let good = there(&e.outcome);
            ran.insert(e.assignment);
            if good {
                return Ok(Some(ran.len()));
            }
        }
        // Those without chance do the same again.
        if again > 3 && ran.len() == before && before == 0 {
            break;
        }
    }
    Ok(None)
}

/// Geometric mean; not a number of nothing.
pub fn geometric_mean(values: impl IntoIterator<Item = f64>) -> f64 {
    let logs: Vec<f64> = values.into_iter().map(f64::ln).collect();
    (logs.iter().sum::<f64>() / logs.len() as f64).exp()
}

/// The cases of one space: each quantile at which something is within the tolerance.
pub fn compare(
    space: &RecordedSpace,
    quantiles: &[f64],
    strategies: &[(StrategyName, usize)],
    seeds: usize,
    seed: u64,
) -> Result<Vec<ComparedCase>, StrategyError> {
    let mut all: Vec<ComparedCase> = Vec::new();
    for q in quantiles {
        let Some(tolerance) = space.error_quantile(*q).filter(|t| *t > 0.0) else {
            continue;
        };
        // Quantiles that are one tolerance are one case.
        if all.iter().any(|c| c.tolerance == tolerance) {
            continue;
        }
        let Some(here) = space.within(tolerance) else {
            continue;
        };
        let base = here.problem.baseline.and_then(|o| o.time()).unwrap_or(1.0);
        let most = base / here.optimum().unwrap_or(base);
        let mut scores = Vec::new();
        let mut targets: Vec<f64> = Vec::new();
        for (strategy, budget) in strategies {
            let r = repeat(&here, *strategy, *budget, seeds, seed)?;
            let times = r.repetitions.iter().map(|x| x.time.unwrap_or(base));
            if targets.is_empty() {
                targets = times.collect();
            }
            let mut reached = Vec::new();
            for (x, target) in r.repetitions.iter().zip(&targets) {
                reached.push(reach(&here, *strategy, *target, *budget, x.seed)?);
            }
            let whole = here.len();
            let cut = CUTS.into_iter().filter(|n| n < budget).map(|n| {
                let r = repeat(&here, *strategy, n, seeds, seed)?;
                let found = r.repetitions.iter().map(|x| base / x.time.unwrap_or(base));
                Ok((n, geometric_mean(found)))
            });
            let cut = cut.collect::<Result<Vec<_>, StrategyError>>()?;
            let found: Vec<f64> = r
                .repetitions
                .iter()
                .map(|x| base / x.time.unwrap_or(base))
                .collect();
            let runs = || r.repetitions.iter().map(|x| x.executions);
            scores.push(StrategyScore {
                strategy: *strategy,
                speedup: geometric_mean(found.iter().copied()),
                worst: found.iter().copied().fold(f64::INFINITY, f64::min),
                executions: geometric_mean(runs().map(|n| n.max(1) as f64)),
                most: runs().max().unwrap_or(0),
                by_seed: found,
                progress: r
                    .marks
                    .iter()
                    .filter(|m| m.nothing == 0 && m.mean > 0.0)
                    .map(|m| (m.executions, most / m.mean))
                    .collect(),
                cut,
                reach: geometric_mean(reached.iter().map(|n| n.unwrap_or(whole).max(1) as f64)),
                never: reached.iter().filter(|n| n.is_none()).count(),
            });
        }
        all.push(ComparedCase {
            space: here.name.clone(),
            variables: here.problem.variables.len(),
            outcomes: here.len(),
            quantile: *q,
            tolerance,
            optimum: most,
            scores,
        });
    }
    Ok(all)
}
