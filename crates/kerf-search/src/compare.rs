//! Strategies side by side on recorded spaces: the same problems, tolerances and seeds.
//!
//! Tolerances are quantiles of the errors of all assignments, as in the publication of AMPT-GA (Kotipalli et
//! al. 2019), so that nobody chooses them.
use crate::recorded::Recorded;
use crate::repeat::repeat;
use crate::strategy::StrategyError;
use serde::Serialize;

/// One strategy in one case, over all seeds.
#[derive(Debug, Clone, Serialize)]
pub struct Score {
    /// Strategy.
    pub strategy: String,
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
}

/// A space at a tolerance.
#[derive(Debug, Clone, Serialize)]
pub struct Case {
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
    pub scores: Vec<Score>,
}

impl Case {
    /// The score of a strategy.
    pub fn of(&self, strategy: &str) -> Option<&Score> {
        self.scores.iter().find(|s| s.strategy == strategy)
    }
}

/// Geometric mean; not a number of nothing.
pub fn geometric_mean(values: impl IntoIterator<Item = f64>) -> f64 {
    let logs: Vec<f64> = values.into_iter().map(f64::ln).collect();
    (logs.iter().sum::<f64>() / logs.len() as f64).exp()
}

/// The cases of one space: each quantile at which something is within the tolerance.
pub fn compare(
    space: &Recorded,
    quantiles: &[f64],
    strategies: &[(String, usize)],
    seeds: usize,
    seed: u64,
) -> Result<Vec<Case>, StrategyError> {
    let mut all: Vec<Case> = Vec::new();
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
        for (strategy, budget) in strategies {
            let r = repeat(&here, strategy, *budget, seeds, seed)?;
            let found: Vec<f64> = r
                .repetitions
                .iter()
                .map(|x| base / x.time.unwrap_or(base))
                .collect();
            let runs = || r.repetitions.iter().map(|x| x.executions);
            scores.push(Score {
                strategy: strategy.clone(),
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
            });
        }
        all.push(Case {
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
