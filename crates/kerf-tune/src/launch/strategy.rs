//! Strategies that know of launches: the tuners' own, and Ryoo's static pruning for comparison.
use super::choice::LaunchChoice;
use kerf_search::script::{Missing, Script, ScriptProbe, Scripted};
use kerf_search::strategy::{Reason, Strategy, StrategyError, by_name};
use kerf_search::{Assignment, Search};

/// Names of the strategies of this file.
pub const NAMES: [&str; 2] = ["launch", "ryoo"];

/// A strategy by its name; those of `kerf-search` too.
pub fn named<'p>(
    name: &str,
    search: Search<'p>,
    launch: Option<&'p LaunchChoice>,
) -> Result<Box<dyn Strategy + 'p>, StrategyError> {
    // Parameters that are compiled in are no shapes: their names say nothing to the tuners.
    let plain = launch.is_some_and(|l| l.parameters.is_some());
    match (name, launch.filter(|_| !plain)) {
        ("launch", None) if plain => by_name("guided", search),
        ("launch", Some(l)) => Ok(Box::new(Scripted::new(search, Tuners(l)))),
        ("ryoo", Some(l)) => Ok(Box::new(Scripted::new(search, Ryoo(l)))),
        _ => by_name(name, search),
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
