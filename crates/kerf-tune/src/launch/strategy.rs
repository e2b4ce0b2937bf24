//! Strategies that know of launches: the tuners' own, and Ryoo's static pruning for comparison.
use super::choice::LaunchChoice;
use kerf_search::script::{Missing, Script, ScriptProbe, Scripted};
use kerf_search::strategy::{Reason, Strategy};
use kerf_search::{Assignment, Search, StrategyError, StrategyName};
use std::fmt;
use std::str::FromStr;

/// How a workload is searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TuneStrategy {
    /// The launch tuners leave shapes out, what is left runs.
    Launch,
    /// One that knows variables and levels only; Ryoo's takes the metrics of launches where there are shapes.
    Search(StrategyName),
}

impl TuneStrategy {
    /// The default.
    pub const GUIDED: TuneStrategy = TuneStrategy::Search(StrategyName::Guided);

    /// It searches launch shapes alone.
    pub fn is_of_shapes(self) -> bool {
        matches!(
            self,
            TuneStrategy::Launch | TuneStrategy::Search(StrategyName::Ryoo)
        )
    }

    /// It searches launches and something else one after the other.
    pub fn is_staged(self) -> bool {
        matches!(self, TuneStrategy::Search(s) if s.is_staged())
    }

    /// It searches one degree of approximation.
    pub fn is_one_degree(self) -> bool {
        matches!(self, TuneStrategy::Search(s) if s.is_one_degree())
    }

    /// The strategy, at its beginning.
    pub fn start<'p>(
        self,
        search: Search<'p>,
        launch: Option<&'p LaunchChoice>,
    ) -> Result<Box<dyn Strategy + 'p>, StrategyError> {
        // Parameters that are compiled in are no shapes: their names say nothing to the tuners.
        let shapes = launch.filter(|l| l.parameters.is_none());
        match (self, shapes) {
            (TuneStrategy::Launch, Some(l)) => Ok(Box::new(Scripted::new(search, Tuners(l)))),
            (TuneStrategy::Launch, None) => StrategyName::Guided.start(search),
            (TuneStrategy::Search(StrategyName::Ryoo), Some(l)) => {
                Ok(Box::new(Scripted::new(search, Ryoo(l))))
            }
            (TuneStrategy::Search(name), _) => name.start(search),
        }
    }
}

impl fmt::Display for TuneStrategy {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            TuneStrategy::Launch => f.pad("launch"),
            TuneStrategy::Search(name) => name.fmt(f),
        }
    }
}

impl FromStr for TuneStrategy {
    type Err = StrategyError;

    fn from_str(name: &str) -> Result<TuneStrategy, StrategyError> {
        match name {
            "launch" => Ok(TuneStrategy::Launch),
            other => other.parse().map(TuneStrategy::Search),
        }
    }
}

/// Component by component: what the tuners leave, the fastest stays; then compiled for its block.
struct Tuners<'l>(&'l LaunchChoice);

fn fastest(
    search: &Search,
    probe: &ScriptProbe,
    all: &[Assignment],
    now: &Assignment,
) -> Result<Assignment, Missing> {
    let outcomes = probe.all(all)?;
    let good = all
        .iter()
        .zip(outcomes)
        .filter(|(_, o)| search.problem.accepts(o));
    let timed = good.filter_map(|(a, o)| Some((a, o.time()?)));
    let best = timed.min_by(|x, y| x.1.total_cmp(&y.1));
    Ok(best.map_or_else(|| now.clone(), |b| b.0.clone()))
}

/// One component after the other at some of its levels.
fn descend(
    search: &Search,
    probe: &ScriptProbe,
    launch: &LaunchChoice,
    levels: impl Fn(usize) -> Vec<usize>,
) -> Result<Reason, Missing> {
    let mut now = search.problem.identity();
    for (i, v) in launch.variables.iter().enumerate() {
        let mut all = vec![now.clone()];
        for l in levels(i) {
            let mut a = now.clone();
            a[v.group] = l as u8;
            if !all.contains(&a) {
                all.push(a);
            }
        }
        now = fastest(search, probe, &all, &now)?;
    }
    if let Some(g) = launch.fixed {
        let mut a = now.clone();
        a[g] = 1;
        fastest(search, probe, &[now.clone(), a], &now)?;
    }
    Ok(Reason::LocalOptimum)
}

impl Script for Tuners<'_> {
    fn play(&self, search: &Search, probe: &ScriptProbe) -> Result<Reason, Missing> {
        descend(search, probe, self.0, |i| {
            self.0.variables[i].funnel.levels.clone()
        })
    }
}

/// Ryoo et al., "Program Optimization Space Pruning for a Multithreaded GPU" (2008): shapes that no other is
/// better than in both efficiency, 1 / (instructions of all threads), and utilisation,
/// (W_TB - 1) / 2 + (B_SM - 1) W_TB instructions between waits; all of those are run.
struct Ryoo<'l>(&'l LaunchChoice);

impl Script for Ryoo<'_> {
    fn play(&self, search: &Search, probe: &ScriptProbe) -> Result<Reason, Missing> {
        descend(search, probe, self.0, |i| {
            self.0.variables[i].pareto.clone()
        })
    }
}
