//! AMPT-GA (Kotipalli et al. 2019): a genetic algorithm on a static performance score.
//!
//! Performance is the static score (section 4.3); Kerf's model of time can stand in its place, to see what the score
//! does and what the search. Only an individual whose score is better than that of the best so far
//! is executed, for its error and time; others rank last (section 4.5), and like all of low fitness may still be parents
//! (section 4.2). One that is then beyond the tolerance, or
//! measured slower than the best so far, is rejected, and the filter stays where it was (section 3). A quarter of the mutations change
//! whole groups of variables that exchange values, to one level (section 4.4). The first generation has
//! everything high and everything low. Where the publication is silent (population, selection, crossover),
//! both genetic algorithms here do the same.
use super::existing::Existing;
use super::genetic::{Evolution, evolve, fitness, mutate_variables};
use crate::outcome::Outcome;
use crate::problem::{Assignment, Problem, Search};
use crate::rng::Rng;
use crate::script::{Missing, Script, ScriptProbe, Scripted};
use crate::strategy::{Reason, Strategy};
use std::collections::BTreeMap;

/// Part of the mutations that change whole groups: G of section 4.4.
const GROUPS: f64 = 0.25;

/// Part of the heaviest conversions that bind variables into groups. Binding all would make one group of
/// most kernels.
const BINDING: f64 = 0.5;

/// Which of its parts are on: figure 9 of the publication leaves out one at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parts {
    /// Mutations change whole groups.
    pub groups: bool,
    /// What scores no better than the best so far is not executed.
    pub filter: bool,
    /// The first generation has everything high and everything low.
    pub first: bool,
    /// What performance is.
    pub score: Rating,
}

/// What performance is, before anything ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rating {
    /// The static score, as published.
    Static,
    /// The caller's model of time.
    Model,
    /// Nothing: everything is executed, and measured time counts.
    Measured,
}

impl Parts {
    /// As published.
    pub const ALL: Parts = Parts {
        groups: true,
        filter: true,
        first: true,
        score: Rating::Static,
    };
}

struct AmptGa<'p> {
    existing: Existing<'p>,
    groups: Vec<Vec<usize>>,
    parts: Parts,
}

/// Variables between which conversions are dear, united.
fn groups(problem: &Problem) -> Vec<Vec<usize>> {
    let mut of: Vec<usize> = (0..problem.variables.len()).collect();
    let mut edges = problem.edges.clone();
    edges.sort_by(|x, y| y.weight.total_cmp(&x.weight));
    let binding = (BINDING * edges.len() as f64).ceil() as usize;
    for e in edges.iter().take(binding) {
        let (from, to) = (of[e.b], of[e.a]);
        of.iter_mut().filter(|g| **g == from).for_each(|g| *g = to);
    }
    let mut found: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (i, g) in of.iter().enumerate() {
        found.entry(*g).or_default().push(i);
    }
    found.into_values().collect()
}

struct Run<'r> {
    groups: &'r [Vec<usize>],
    parts: Parts,
    search: &'r Search<'r>,
    probe: &'r ScriptProbe<'r>,
    /// Everything high and everything low.
    bounds: [Assignment; 2],
    /// Score of the best that was executed and is within the tolerance.
    best: f64,
    /// Its measured time.
    time: f64,
    /// Individuals that were executed, by the outcome that they had when they were.
    rated: BTreeMap<Assignment, f64>,
}

impl Run<'_> {
    /// The performance score; measured time where nothing predicts it.
    fn rate_one(&mut self, a: &Assignment) -> Result<f64, Missing> {
        if let Some(f) = self.rated.get(a) {
            return Ok(*f);
        }
        let score = match self.parts.score {
            Rating::Static => self.search.static_score(a),
            Rating::Model => self.search.predict(a),
            Rating::Measured => None,
        };
        // The two that bound the space are executed whatever they score: the text guarantees an answer where the
        // tolerance is nothing or no matter (section 4.4).
        let bound = self.parts.first && self.bounds.contains(a);
        if self.parts.filter && !bound && score.is_some_and(|s| s >= self.best) {
            // Filtered: neither executed nor considered. Not remembered, since nothing was learnt.
            return Ok(f64::INFINITY);
        }
        let o = self.probe.one(a)?;
        let performance = score.or(o.time()).unwrap_or(f64::INFINITY);
        let time = o.time().unwrap_or(f64::INFINITY);
        let slower = time > self.time;
        if self.search.problem.accepts(&o) && !slower {
            (self.best, self.time) = (performance, time);
        }
        let f = match o {
            Outcome::Failed => f64::INFINITY,
            Outcome::Ran { .. } if slower && self.search.problem.accepts(&o) => f64::INFINITY,
            Outcome::Ran { .. } => fitness(self.search.problem, performance, &o),
        };
        self.rated.insert(a.clone(), f);
        Ok(f)
    }
}

impl Evolution for Run<'_> {
    fn first(&self, _: &Problem) -> Vec<Assignment> {
        match self.parts.first {
            true => self.bounds.to_vec(),
            false => Vec::new(),
        }
    }
    fn mutate(&self, problem: &Problem, rng: &mut Rng, a: &mut Assignment) {
        let before = a.clone();
        mutate_variables(problem, rng, a);
        if !self.parts.groups || !rng.chance(GROUPS) {
            return;
        }
        // A group that the mutation touched changes as one, to the level that was drawn.
        for g in self.groups {
            let Some(drawn) = g.iter().find(|i| a[**i] != before[**i]).map(|i| a[*i]) else {
                continue;
            };
            for i in g.iter().filter(|i| problem.variables[**i].allows(drawn)) {
                a[*i] = drawn;
            }
        }
    }
    fn rate(&mut self, all: &[Assignment]) -> Result<Vec<f64>, Missing> {
        all.iter().map(|a| self.rate_one(a)).collect()
    }
}

impl Script for AmptGa<'_> {
    fn play(&self, search: &Search, probe: &ScriptProbe) -> Result<Reason, Missing> {
        let mut run = Run {
            groups: &self.groups,
            parts: self.parts,
            search,
            probe,
            bounds: [search.problem.identity(), search.problem.all_low()],
            best: f64::INFINITY,
            time: f64::INFINITY,
            rated: BTreeMap::new(),
        };
        evolve(search, &self.existing, &mut run)
    }
}

/// AMPT-GA.
pub fn ampt_ga(search: Search<'_>, parts: Parts) -> impl Strategy + '_ {
    let groups = groups(search.problem);
    let existing = Existing::new(search.problem);
    let script = AmptGa {
        existing,
        groups,
        parts,
    };
    Scripted::new(search, script)
}
