//! Synthetic problems that look like real ones, for comparing strategies.
//!
//! Variables have shares of the time and errors that span decades; they form a chain along the data flow
//! with some links across; conversions between neighbours cost time, so that lowering one variable alone
//! can be slower; a kernel can become bound by memory. The truth is hidden from strategies, which see
//! predictions of it that are wrong by stated amounts, and times with noise.
use crate::outcome::Outcome;
use crate::problem::{Assignment, Edge, Level, Models, Problem, Variable};
use crate::rng::Rng;
use crate::strategies::{draw, every};

/// How errors of single variables make the error of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorLaw {
    /// Root of the sum of squares.
    Quadrature,
    /// The largest one.
    Largest,
    /// Their sum.
    Sum,
    /// The worst of several elements, each a sum with signs; pairs that cancel or amplify.
    Cancelling,
}

/// What kind of problem to make.
#[derive(Debug, Clone, Copy)]
pub struct SyntheticRecipe {
    /// How many variables.
    pub variables: usize,
    /// How many levels each.
    pub levels: usize,
    /// How errors combine.
    pub errors: ErrorLaw,
    /// Time of an average conversion over that of an average variable.
    pub casts: f64,
    /// Whether memory bounds the time from below.
    pub memory_bound: bool,
    /// Standard deviation of the logarithm of predicted over true errors; none: no prediction.
    pub sensitivity: Option<f64>,
    /// Standard deviation of predicted over true costs; none: no prediction.
    pub model: Option<f64>,
    /// Standard deviation of measured times.
    pub noise: f64,
    /// Variables whose lowest level overflows: outputs are no numbers then.
    pub overflows: usize,
    /// The tolerance is this quantile of the errors of random assignments (the rule of AMPT-GA's evaluation).
    pub quantile: f64,
}

impl Default for SyntheticRecipe {
    fn default() -> SyntheticRecipe {
        SyntheticRecipe {
            variables: 12,
            levels: 2,
            errors: ErrorLaw::Quadrature,
            casts: 0.5,
            memory_bound: false,
            sensitivity: Some(0.5),
            model: Some(0.1),
            noise: 0.01,
            overflows: 0,
            quantile: 0.5,
        }
    }
}

/// A problem and the truth about it.
#[derive(Debug, Clone)]
pub struct Synthetic {
    /// What strategies see.
    pub problem: Problem,
    recipe: SyntheticRecipe,
    seed: u64,
    /// Share of the time of each variable at each level.
    shares: Vec<Vec<f64>>,
    fixed: f64,
    memory: f64,
    casts: Vec<f64>,
    /// Error of each variable at each level.
    errors: Vec<Vec<f64>>,
    /// Sign and size of each variable's effect on each element.
    elements: Vec<Vec<f64>>,
    /// Two variables, and the factor on their errors when both are lowered.
    pairs: Vec<(usize, usize, f64)>,
}

const NAMES: [&str; 4] = ["f64", "f32", "f16", "f8"];

fn lognormal(rng: &mut Rng, sigma: f64) -> f64 {
    (sigma * rng.normal()).exp()
}

impl Synthetic {
    /// A problem by recipe and seed.
    pub fn new(recipe: SyntheticRecipe, seed: u64) -> Synthetic {
        let mut rng = Rng::new(seed ^ 0x5eed_0000);
        let n = recipe.variables;
        let weights: Vec<f64> = (0..n).map(|_| lognormal(&mut rng, 0.9)).collect();
        let total: f64 = weights.iter().sum();
        let busy = 0.7 + 0.25 * rng.unit();
        let shares: Vec<Vec<f64>> = weights
            .iter()
            .map(|w| {
                let mut share = vec![busy * w / total];
                for _ in 1..recipe.levels {
                    let last = share.last().copied().unwrap_or(0.0);
                    share.push(last * (0.4 + 0.25 * rng.unit()));
                }
                share
            })
            .collect();
        let errors: Vec<Vec<f64>> = (0..n)
            .map(|_| {
                let mut e = 1e-7 * lognormal(&mut rng, 2.0);
                let mut all = vec![0.0];
                for _ in 1..recipe.levels {
                    all.push(e);
                    e *= 8192.0 * lognormal(&mut rng, 0.5);
                }
                all
            })
            .collect();
        let mut edges: Vec<Edge> = Vec::new();
        let mut link = |a: usize, b: usize, rng: &mut Rng| {
            if a != b && !edges.iter().any(|e| (e.a, e.b) == (a, b)) {
                let weight = recipe.casts * busy / n as f64 * lognormal(rng, 0.7);
                edges.push(Edge { a, b, weight });
            }
        };
        for b in 1..n {
            let reach = rng.below(b.min(3)) + 1;
            link(b - reach, b, &mut rng);
        }
        for _ in 0..n / 3 {
            let b = rng.below(n);
            link(rng.below(b + 1), b, &mut rng);
        }
        let casts: Vec<f64> = edges.iter().map(|e| e.weight).collect();
        let elements = (0..16)
            .map(|_| (0..n).map(|_| rng.normal()).collect())
            .collect();
        let pairs = (0..n / 4)
            .map(|_| {
                let factor = if rng.chance(0.5) { 0.1 } else { 5.0 };
                (rng.below(n), rng.below(n), factor)
            })
            .filter(|(a, b, _)| a != b)
            .collect();
        let mut s = Synthetic {
            problem: Problem::precision(Vec::new(), edges, 0.0),
            recipe,
            seed,
            fixed: 1.0 - busy,
            memory: if recipe.memory_bound {
                0.5 + 0.2 * rng.unit()
            } else {
                0.0
            },
            shares,
            casts,
            errors,
            elements,
            pairs,
        };
        s.describe(&mut rng);
        s
    }

    /// What strategies are told.
    fn describe(&mut self, rng: &mut Rng) {
        let r = self.recipe;
        let spread = r.model.unwrap_or(0.0);
        let n = r.variables;
        for i in 0..n {
            let levels = (0..r.levels).map(|l| Level {
                name: NAMES.get(l).copied().unwrap_or("low").to_owned(),
                cost: match r.model {
                    Some(_) => self.shares[i][l] * lognormal(rng, spread),
                    None => 0.0,
                },
                error: r
                    .sensitivity
                    .filter(|_| l > 0)
                    .map(|s| self.errors[i][l] * lognormal(rng, s)),
                veto: false,
                value: None,
            });
            let levels = levels.collect();
            let mut v = Variable::new(format!("v{i}"), levels);
            v.depth = i as u32;
            v.block = (4 * i / n) as u32;
            self.problem.variables.push(v);
        }
        for (e, true_weight) in self.problem.edges.iter_mut().zip(&self.casts) {
            e.weight = match r.model {
                Some(s) => true_weight * lognormal(rng, 3.0 * s),
                None => 0.0,
            };
        }
        let mut errors: Vec<f64> = (0..1000)
            .map(|_| self.true_error(&draw(&self.problem, rng)))
            .collect();
        errors.retain(|e| e.is_finite());
        errors.sort_by(f64::total_cmp);
        let at = (r.quantile * errors.len().saturating_sub(1) as f64) as usize;
        self.problem.tolerance = Some(errors.get(at).copied().unwrap_or(0.0));
    }

    /// Time without noise, over that of the identity.
    pub fn true_time(&self, a: &[u8]) -> f64 {
        let own = a.iter().zip(&self.shares).map(|(l, s)| s[*l as usize]);
        let edges = self.problem.edges.iter().zip(&self.casts);
        let casts = edges.filter(|(e, _)| a[e.a] != a[e.b]).map(|(_, c)| c);
        let busy = self.fixed + own.sum::<f64>() + casts.sum::<f64>();
        // Neither limit is sharp: where both are near, time is above either.
        (busy.powi(8) + self.memory.powi(8)).powf(0.125) / (1.0 + self.memory.powi(8)).powf(0.125)
    }

    /// The error of the output.
    pub fn true_error(&self, a: &[u8]) -> f64 {
        let lowest = self.recipe.levels as u8 - 1;
        // Spread over the variables, so that they are not all neighbours.
        let step = a.len() / self.recipe.overflows.max(1);
        let mut over = a.iter().step_by(step.max(1)).take(self.recipe.overflows);
        if over.any(|l| *l == lowest) {
            return f64::INFINITY;
        }
        let mut e: Vec<f64> = a
            .iter()
            .zip(&self.errors)
            .map(|(l, e)| e[*l as usize])
            .collect();
        match self.recipe.errors {
            ErrorLaw::Quadrature => e.iter().map(|x| x * x).sum::<f64>().sqrt(),
            ErrorLaw::Largest => e.iter().copied().fold(0.0, f64::max),
            ErrorLaw::Sum => e.iter().sum(),
            ErrorLaw::Cancelling => {
                for &(i, j, factor) in &self.pairs {
                    if a[i] > 0 && a[j] > 0 {
                        e[i] *= factor;
                        e[j] *= factor;
                    }
                }
                let sums = self.elements.iter().map(|signs| {
                    let terms = signs.iter().zip(&e).map(|(s, e)| s * e);
                    terms.sum::<f64>().abs()
                });
                sums.fold(0.0, f64::max)
            }
        }
    }

    /// What a measurement gives: the true error, and a time with noise that depends on the assignment
    /// alone, so that a problem stays the same.
    pub fn evaluate(&self, a: &[u8]) -> Outcome {
        let hash = a.iter().fold(self.seed ^ 0x0dd5, |h, l| {
            (h ^ u64::from(*l) ^ 0x100).wrapping_mul(0x0100_0000_01b3)
        });
        let noise = lognormal(&mut Rng::new(hash), self.recipe.noise);
        Outcome::ran(self.true_error(a), self.true_time(a) * noise)
    }

    /// The fastest assignment within the tolerance, by the truth.
    pub fn optimum(&self) -> (Assignment, f64) {
        let tolerance = self.problem.tolerance.unwrap_or(0.0);
        let mut best = (self.problem.identity(), 1.0);
        for a in every(&self.problem) {
            let t = self.true_time(&a);
            if t < best.1 && self.true_error(&a) <= tolerance {
                best = (a, t);
            }
        }
        best
    }
}

impl Models for Synthetic {}
