//! Differential evolution (Storn and Price 1997) over levels: rand/1/bin, rounded to levels that exist.
use super::existing::Existing;
use super::walk::NeighbourWalk;
use crate::problem::{Assignment, Problem, Search};
use crate::rng::Rng;
use crate::script::{Missing, Script, ScriptProbe, Scripted};
use crate::strategy::{Reason, Strategy};

/// Weight of a difference, and probability that a level comes from the mutant.
const WEIGHT: f64 = 0.7;
const CROSSOVER: f64 = 0.7;

/// Generations without anything new after which it starts anew.
const PATIENCE: usize = 10;

/// Attempts at a mutant that exists.
const TRIES: usize = 10;

struct Differential<'p> {
    existing: Existing<'p>,
}

/// Individuals: what the publication advises goes beyond small budgets.
fn population(search: &Search) -> usize {
    (search.budget / 8).clamp(6, 20)
}

fn mutant(
    problem: &Problem,
    rng: &mut Rng,
    all: &[(f64, Assignment)],
    target: &[u8],
) -> Assignment {
    let n = all.len();
    let (a, b, c) = (rng.below(n), rng.below(n), rng.below(n));
    let sure = rng.below(target.len());
    let mut out = target.to_vec();
    for (d, v) in problem.variables.iter().enumerate() {
        if d != sure && !rng.chance(CROSSOVER) {
            continue;
        }
        let at = |i: usize| f64::from(all[i].1[d]);
        let x = at(a) + WEIGHT * (at(b) - at(c)) + 0.5 * (rng.unit() - 0.5);
        let most = v.levels.len().saturating_sub(1) as f64;
        let level = x.round().clamp(0.0, most) as u8;
        out[d] = if v.allows(level) { level } else { target[d] };
    }
    out
}

impl Script for Differential<'_> {
    fn play(&self, search: &Search, probe: &ScriptProbe) -> Result<Reason, Missing> {
        let mut rng = Rng::new(search.seed ^ 0xd1ff);
        let mut walk = NeighbourWalk::new(search, probe);
        let problem = search.problem;
        loop {
            let mut all: Vec<(f64, Assignment)> = Vec::new();
            for _ in 0..population(search) {
                let Some(a) = walk.fresh(&mut rng) else { break };
                all.push((walk.rate(&a)?, a));
            }
            if all.is_empty() {
                return Ok(Reason::Exhausted);
            }
            let mut idle = 0;
            while idle < PATIENCE {
                let before = walk.seen();
                for i in 0..all.len() {
                    let target = all[i].1.clone();
                    let mut next = None;
                    for _ in 0..TRIES {
                        let m = mutant(problem, &mut rng, &all, &target);
                        if self.existing.has(&m) {
                            next = Some(m);
                            break;
                        }
                    }
                    let next = next.unwrap_or_else(|| self.existing.step(&target, &mut rng));
                    let rate = walk.rate(&next)?;
                    if rate <= all[i].0 {
                        all[i] = (rate, next);
                    }
                }
                idle = if walk.seen() > before { 0 } else { idle + 1 };
            }
        }
    }
}

/// Differential evolution.
pub fn differential(search: Search<'_>) -> impl Strategy + '_ {
    let existing = Existing::new(search.problem);
    Scripted::new(search, Differential { existing })
}
