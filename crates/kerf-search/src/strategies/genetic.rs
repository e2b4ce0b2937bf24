//! What both genetic algorithms share: fitness, selection, crossover, the loop over generations.
//!
//! The constraint is a penalty (AMPT-GA, Kotipalli et al. 2019, equation 1): fitness is performance plus
//! (error - tolerance) times 1 within the tolerance and times a large number beyond it. That number is
//! given over the tolerance here, so that the penalty does not depend on the unit of the error.
use super::existing::Existing;
use crate::outcome::Outcome;
use crate::problem::{Assignment, Problem, Search};
use crate::rng::Rng;
use crate::script::Missing;
use crate::strategies::draw;
use crate::strategy::Reason;

/// Generations without anything better after which the search ends (section 5.3).
const STALL: usize = 50;

/// Generations at most.
const GENERATIONS: usize = 2000;

/// Part of a generation that is made by crossover.
const CROSSOVER: f64 = 0.8;

/// Part that goes on unchanged.
const ELITE: f64 = 0.05;

/// Performance scores are ratios to the program as it is, hardly ever above this.
const PENALTY: f64 = 10.0;

/// Individuals; the publication says nothing, and ten a variable is usual for integers.
fn population(problem: &Problem) -> usize {
    (10 * problem.variables.len()).clamp(40, 100)
}

/// Performance with the penalty; smaller is better.
pub fn fitness(problem: &Problem, performance: f64, o: &Outcome) -> f64 {
    let (Some(error), Some(tolerance)) = (o.error(), problem.tolerance) else {
        return match o {
            Outcome::Failed => f64::INFINITY,
            Outcome::Ran { .. } => performance,
        };
    };
    match error <= tolerance {
        true => performance + (error - tolerance),
        false => performance + PENALTY * (error / tolerance.max(1e-300) - 1.0),
    }
}

/// How one generation becomes the next.
pub trait Evolution {
    /// The first individuals, before random ones.
    fn first(&self, problem: &Problem) -> Vec<Assignment>;
    /// Changes an individual.
    fn mutate(&self, problem: &Problem, rng: &mut Rng, a: &mut Assignment);
    /// The fitness of each individual.
    fn rate(&mut self, all: &[Assignment]) -> Result<Vec<f64>, Missing>;
}

/// One of two, the fitter.
fn tournament<'a>(rng: &mut Rng, ranked: &'a [(f64, Assignment)]) -> &'a Assignment {
    let (i, j) = (rng.below(ranked.len()), rng.below(ranked.len()));
    &ranked[i.min(j)].1
}

/// Each level from either parent.
fn cross(rng: &mut Rng, a: &[u8], b: &[u8]) -> Assignment {
    let each = a.iter().zip(b);
    each.map(|(x, y)| if rng.chance(0.5) { *x } else { *y })
        .collect()
}

/// Runs generations until nothing gets better.
pub fn evolve(
    search: &Search,
    existing: &Existing,
    evolution: &mut impl Evolution,
) -> Result<Reason, Missing> {
    let problem = search.problem;
    let mut rng = Rng::new(search.seed);
    let size = population(problem);
    let mut all = evolution.first(problem);
    all.retain(|a| existing.has(a));
    while all.len() < size {
        all.push(draw(problem, &mut rng));
    }
    let mut best = f64::INFINITY;
    let mut stall = 0;
    for _ in 0..GENERATIONS {
        let rates = evolution.rate(&all)?;
        let mut ranked: Vec<(f64, Assignment)> = rates.into_iter().zip(all).collect();
        ranked.sort_by(|x, y| x.0.total_cmp(&y.0));
        match ranked.first() {
            Some((f, _)) if *f < best => (best, stall) = (*f, 0),
            _ => stall += 1,
        }
        if stall >= STALL {
            return Ok(Reason::Stalled);
        }
        let elite = (ELITE * size as f64).ceil() as usize;
        all = ranked.iter().take(elite).map(|x| x.1.clone()).collect();
        while all.len() < size {
            let mother = tournament(&mut rng, &ranked);
            let child = if rng.chance(CROSSOVER) {
                let father = tournament(&mut rng, &ranked);
                cross(&mut rng, mother, father)
            } else {
                let mut child = mother.clone();
                evolution.mutate(problem, &mut rng, &mut child);
                child
            };
            // What does not exist dies at once; its parent takes the place.
            all.push(match existing.has(&child) {
                true => child,
                false => mother.clone(),
            });
        }
    }
    Ok(Reason::Stalled)
}

/// Gives some variables other levels: each with the same probability, one at least.
pub fn mutate_variables(problem: &Problem, rng: &mut Rng, a: &mut Assignment) {
    let n = a.len();
    if n == 0 {
        return;
    }
    let rate = (1.0 / n as f64).max(0.05);
    let sure = rng.below(n);
    for (i, (now, v)) in a.iter_mut().zip(&problem.variables).enumerate() {
        if i == sure || rng.chance(rate) {
            let others: Vec<u8> = v.allowed().filter(|l| l != now).collect();
            if let Some(l) = rng.pick(&others) {
                *now = *l;
            }
        }
    }
}
