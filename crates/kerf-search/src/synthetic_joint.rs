//! Made-up problems of formats and launch shapes together, for comparing one search over both with two in a row.
//!
//! Formats are those of [`crate::synthetic`]. A launch has shapes that are in no order, and may be compiled for its block.
//! Each shape takes its own part of the time, and as many registers as formats leave: a block that does not fit well
//! with f64 may be the best one with f32, so that the best shape changes with the formats.
use crate::outcome::Outcome;
use crate::problem::{Assignment, Level, Models, Problem, Variable};
use crate::rng::Rng;
use crate::synthetic::{Synthetic, SyntheticRecipe};

/// What kind of problem to make.
#[derive(Debug, Clone, Copy)]
pub struct JointRecipe {
    /// The formats.
    pub formats: SyntheticRecipe,
    /// Shapes, the program's own included.
    pub shapes: usize,
    /// Standard deviation of the logarithm of what a shape takes.
    pub spread: f64,
    /// What a shape may lose by registers that formats take.
    pub registers: f64,
    /// How much is known of shapes beforehand: 0 nothing, 1 that they come in the order of their times.
    pub order: f64,
}

impl Default for JointRecipe {
    fn default() -> JointRecipe {
        JointRecipe {
            formats: SyntheticRecipe::default(),
            shapes: 8,
            spread: 0.08,
            registers: 0.15,
            order: 0.5,
        }
    }
}

/// A problem and the truth about it.
#[derive(Debug, Clone)]
pub struct Joint {
    /// What strategies see.
    pub problem: Problem,
    formats: Synthetic,
    recipe: JointRecipe,
    seed: u64,
    /// Part of the time that each shape takes, and the pressure of registers that it bears.
    shapes: Vec<(f64, f64)>,
    /// Factor of code that is compiled for its block.
    fixed: f64,
}

impl Joint {
    /// A problem by recipe and seed.
    pub fn new(recipe: JointRecipe, seed: u64) -> Joint {
        let formats = Synthetic::new(recipe.formats, seed);
        let mut rng = Rng::new(seed ^ 0x6a6f_696e);
        let mut shapes: Vec<(f64, f64, f64)> = (0..recipe.shapes)
            .map(|_| {
                let t = recipe.spread * rng.normal();
                let place = recipe.order * t + (1.0 - recipe.order) * recipe.spread * rng.normal();
                (t.exp(), 0.5 + 0.6 * rng.unit(), place)
            })
            .collect();
        // The first is the program's own, which is anywhere among them.
        shapes[1..].sort_by(|a, b| a.2.total_cmp(&b.2));
        let fixed = (0.03 * rng.normal()).exp();
        let mut problem = formats.problem.clone();
        let levels = |what: &str, n: usize| {
            (0..n)
                .map(|l| Level::named(format!("{what} {l}")))
                .collect()
        };
        for (what, n) in [("shape", recipe.shapes), ("block size", 2)] {
            problem.variables.push(Variable {
                unordered: true,
                ..Variable::new(what, levels(what, n))
            });
        }
        let mut joint = Joint {
            problem,
            formats,
            recipe,
            seed,
            shapes: shapes.into_iter().map(|(t, bears, _)| (t, bears)).collect(),
            fixed,
        };
        let own = joint.launch(&joint.problem.identity());
        joint.shapes.iter_mut().for_each(|s| s.0 /= own);
        joint
    }

    /// What the launch of an assignment does to the time.
    fn launch(&self, a: &[u8]) -> f64 {
        let n = a.len() - 2;
        let most = self.recipe.formats.levels.max(2) as f64 - 1.0;
        let lowered: f64 = a[..n].iter().map(|l| f64::from(*l) / most).sum();
        let pressure = 1.0 - 0.5 * lowered / n.max(1) as f64;
        let (takes, bears) = self.shapes[a[n] as usize];
        let loses = if pressure > bears {
            1.0 + self.recipe.registers
        } else {
            1.0
        };
        let fixed = if a[n + 1] > 0 { self.fixed } else { 1.0 };
        takes * loses * fixed
    }

    /// Time without noise, over that of the program as it is.
    pub fn true_time(&self, a: &[u8]) -> f64 {
        self.formats.true_time(&a[..a.len() - 2]) * self.launch(a)
    }

    /// What a measurement gives.
    pub fn evaluate(&self, a: &[u8]) -> Outcome {
        let hash = a.iter().fold(self.seed ^ 0x0dd6, |h, l| {
            (h ^ u64::from(*l) ^ 0x100).wrapping_mul(0x0100_0000_01b3)
        });
        let noise = (self.recipe.formats.noise * Rng::new(hash).normal()).exp();
        let error = self.formats.true_error(&a[..a.len() - 2]);
        Outcome::ran(error, self.true_time(a) * noise)
    }

    /// The fastest assignment within the tolerance, by the truth.
    pub fn optimum(&self) -> (Assignment, f64) {
        let mut best = (self.problem.identity(), 1.0);
        let tolerance = self.problem.tolerance.unwrap_or(0.0);
        for f in crate::strategies::every(&self.formats.problem) {
            if self.formats.true_error(&f) > tolerance {
                continue;
            }
            for shape in 0..self.shapes.len() as u8 {
                for block in 0..2 {
                    let mut a = f.clone();
                    a.extend([shape, block]);
                    let t = self.true_time(&a);
                    if t < best.1 {
                        best = (a, t);
                    }
                }
            }
        }
        best
    }
}

impl Models for Joint {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::Search;
    use crate::session::run;
    use crate::strategies::guided;

    fn problem(seed: u64) -> Joint {
        let formats = SyntheticRecipe {
            variables: 6,
            sensitivity: None,
            noise: 0.0,
            ..SyntheticRecipe::default()
        };
        let recipe = JointRecipe {
            formats,
            ..JointRecipe::default()
        };
        Joint::new(recipe, seed)
    }

    #[test]
    fn the_program_itself_takes_one() {
        let j = problem(1);
        assert!((j.true_time(&j.problem.identity()) - 1.0).abs() < 1e-12);
        assert!(j.problem.check().is_ok());
    }

    #[test]
    fn where_no_format_passes_the_best_shape_is_found() {
        for seed in 1..=4 {
            let mut j = problem(seed);
            j.problem.tolerance = Some(1e-14);
            let best = j.optimum().1;
            let search = Search {
                problem: &j.problem,
                models: &j,
                seed,
                budget: 20,
            };
            let done = run(&j.problem, &mut guided(search), 20, |a| j.evaluate(a));
            let found = done.best.and_then(|b| b.outcome.time()).unwrap_or(1.0);
            assert!(found <= 1.01 * best, "seed {seed}: {found} for {best}");
        }
    }
}
