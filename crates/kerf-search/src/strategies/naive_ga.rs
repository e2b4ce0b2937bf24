//! A genetic algorithm that knows nothing of the program: the baseline of AMPT-GA's publication
//! (Kotipalli et al. 2019, section 4.2). Every new individual is executed.
use super::existing::Existing;
use super::genetic::{Evolution, evolve, fitness, mutate_variables};
use crate::problem::{Assignment, Problem, Search};
use crate::rng::Rng;
use crate::script::{Missing, Script, ScriptProbe, Scripted};
use crate::strategy::{Reason, Strategy};

struct NaiveGa<'p> {
    existing: Existing<'p>,
}

struct Run<'r> {
    problem: &'r Problem,
    probe: &'r ScriptProbe<'r>,
}

impl Evolution for Run<'_> {
    fn first(&self, _: &Problem) -> Vec<Assignment> {
        Vec::new()
    }
    fn mutate(&self, problem: &Problem, rng: &mut Rng, a: &mut Assignment) {
        mutate_variables(problem, rng, a);
    }
    fn rate(&mut self, all: &[Assignment]) -> Result<Vec<f64>, Missing> {
        let outcomes = self.probe.all(all)?;
        let rate = |o| fitness(self.problem, crate::Outcome::time(o).unwrap_or(0.0), o);
        Ok(outcomes.iter().map(rate).collect())
    }
}

impl Script for NaiveGa<'_> {
    fn play(&self, search: &Search, probe: &ScriptProbe) -> Result<Reason, Missing> {
        let mut run = Run {
            problem: search.problem,
            probe,
        };
        evolve(search, &self.existing, &mut run)
    }
}

/// A genetic algorithm on measured times.
pub fn naive_ga(search: Search<'_>) -> impl Strategy + '_ {
    let existing = Existing::new(search.problem);
    Scripted::new(search, NaiveGa { existing })
}
