//! The knapsack: the fastest assignment whose predicted errors fit into the tolerance.
//!
//! Each variable takes one level; times add up, with terms for pairs of neighbours; weights add up and
//! have a limit. Small problems are solved exactly, by branch and bound with a Lagrangian bound; where
//! that would take too long, a beam search gives a good answer.

/// A multiple-choice knapsack with pairs.
#[derive(Debug, Clone, Default)]
pub struct Knapsack {
    /// Time of each variable at each level; infinite if it may not be taken.
    pub time: Vec<Vec<f64>>,
    /// Weight of each variable at each level, 0 or more.
    pub weight: Vec<Vec<f64>>,
    /// Two variables, the lower first, and the time of each pair of their levels.
    pub pairs: Vec<(usize, usize, Vec<Vec<f64>>)>,
    /// What the weights may add up to.
    pub limit: f64,
}

/// Nodes of the tree after which the beam search takes over.
const NODES: usize = 20_000;

/// Width of the beam.
const BEAM: usize = 64;

/// Steps of the subgradient method for the multiplier.
const STEPS: usize = 40;

impl Knapsack {
    /// Time of an assignment.
    pub fn cost(&self, a: &[u8]) -> f64 {
        let own = a.iter().zip(&self.time).map(|(l, t)| t[*l as usize]);
        let pairs = self
            .pairs
            .iter()
            .map(|(i, j, t)| t[a[*i] as usize][a[*j] as usize]);
        own.sum::<f64>() + pairs.sum::<f64>()
    }
    /// Weight of an assignment.
    pub fn load(&self, a: &[u8]) -> f64 {
        let own = a.iter().zip(&self.weight).map(|(l, w)| w[*l as usize]);
        own.sum()
    }
    /// The best assignment found, and whether it is known to be the best there is. Level 0 of every
    /// variable must fit.
    pub fn solve(&self) -> (Vec<u8>, bool) {
        let ending = EndingPairs::new(self);
        let mut tree = Tree::new(self, &ending);
        tree.best = self.beam(&ending);
        tree.best_cost = self.cost(&tree.best);
        let mut a = vec![0; self.time.len()];
        tree.descend(&mut a, 0, 0.0, 0.0);
        let exact = tree.nodes < NODES;
        (tree.best, exact)
    }

    /// Good assignments, variable by variable, the best few of each length kept. With a heavy load the
    /// future is dear, so several prices of weight are tried.
    fn beam(&self, ending: &EndingPairs) -> Vec<u8> {
        let n = self.time.len();
        let mut best = (vec![0; n], self.cost(&vec![0; n]));
        let lambda = self.multiplier();
        for price in [0.0, 0.5 * lambda, lambda, 2.0 * lambda] {
            let mut beam: Vec<(Vec<u8>, f64, f64)> = vec![(vec![0; n], 0.0, 0.0)];
            for i in 0..n {
                // Each a longer one, by its beginning and its last level.
                let mut next: Vec<(f64, f64, usize, u8)> = Vec::new();
                for (from, (a, cost, load)) in beam.iter().enumerate() {
                    for (l, t) in self.time[i].iter().enumerate() {
                        let load = load + self.weight[i][l];
                        if t.is_finite() && load <= self.limit {
                            let cost = cost + t + ending.time(a, i, l);
                            next.push((cost, load, from, l as u8));
                        }
                    }
                }
                next.sort_by(|x, y| (x.0 + price * x.1).total_cmp(&(y.0 + price * y.1)));
                next.truncate(BEAM);
                let longer = next.into_iter().map(|(cost, load, from, l)| {
                    let mut a = beam[from].0.clone();
                    a[i] = l;
                    (a, cost, load)
                });
                beam = longer.collect();
            }
            for (a, cost, _) in beam {
                if cost < best.1 {
                    best = (a, cost);
                }
            }
        }
        best.0
    }

    /// The price of weight that makes the bound highest.
    fn multiplier(&self) -> f64 {
        let bound = |lambda: f64| -> (f64, f64) {
            let (mut value, mut load) = (-lambda * self.limit, 0.0);
            for (t, w) in self.time.iter().zip(&self.weight) {
                let each = t.iter().zip(w).map(|(t, w)| (t + lambda * w, *w));
                let (v, w) = each
                    .min_by(|x, y| x.0.total_cmp(&y.0))
                    .unwrap_or((0.0, 0.0));
                value += v;
                load += w;
            }
            (value, load)
        };
        // The bound is concave in the price: search by ratio, since prices span decades.
        let (mut low, mut high): (f64, f64) = (1e-12, 1e12);
        for _ in 0..2 * STEPS {
            let middle = (low * high).sqrt();
            match bound(middle).1 > self.limit {
                true => low = middle,
                false => high = middle,
            }
        }
        high
    }
}

/// The earlier member of a pair, and the times of both levels.
type EndingPair<'k> = (usize, &'k [Vec<f64>]);

/// Pairs by their later member.
struct EndingPairs<'k>(Vec<Vec<EndingPair<'k>>>);

impl<'k> EndingPairs<'k> {
    fn new(problem: &'k Knapsack) -> EndingPairs<'k> {
        let mut by_later = vec![Vec::new(); problem.time.len()];
        for (i, j, t) in &problem.pairs {
            by_later[*j].push((*i, t.as_slice()));
        }
        EndingPairs(by_later)
    }

    /// Time of the pairs that end with a variable at a level.
    fn time(&self, a: &[u8], variable: usize, level: usize) -> f64 {
        let pairs = self.0[variable].iter();
        pairs.map(|(i, t)| t[usize::from(a[*i])][level]).sum()
    }
}

struct Tree<'k> {
    problem: &'k Knapsack,
    ending: &'k EndingPairs<'k>,
    lambda: f64,
    /// Bound of all variables from an index on, price of their weight included.
    rest: Vec<f64>,
    nodes: usize,
    best: Vec<u8>,
    best_cost: f64,
}

impl<'k> Tree<'k> {
    fn new(problem: &'k Knapsack, ending: &'k EndingPairs<'k>) -> Tree<'k> {
        let n = problem.time.len();
        let lambda = problem.multiplier();
        let mut rest = vec![0.0; n + 1];
        for i in (0..n).rev() {
            let own = problem.time[i].iter().zip(&problem.weight[i]);
            let own = own.map(|(t, w)| t + lambda * w);
            let pairs = problem.pairs.iter().filter(|(_, j, _)| *j == i);
            let pairs = pairs.map(|(_, _, t)| t.iter().flatten().copied().fold(f64::MAX, f64::min));
            rest[i] = rest[i + 1] + own.fold(f64::MAX, f64::min) + pairs.sum::<f64>();
        }
        Tree {
            problem,
            ending,
            lambda,
            rest,
            nodes: 0,
            best: Vec::new(),
            best_cost: f64::INFINITY,
        }
    }

    fn descend(&mut self, a: &mut Vec<u8>, i: usize, cost: f64, load: f64) {
        self.nodes += 1;
        if self.nodes >= NODES {
            return;
        }
        if i == a.len() {
            if cost < self.best_cost {
                self.best_cost = cost;
                self.best.clone_from(a);
            }
            return;
        }
        let k = self.problem;
        let mut next: Vec<(f64, f64, u8)> = Vec::new();
        for l in 0..k.time[i].len() {
            let load = load + k.weight[i][l];
            if !k.time[i][l].is_finite() || load > k.limit {
                continue;
            }
            let cost = cost + k.time[i][l] + self.ending.time(a, i, l);
            // Weight that is left is worth its price at most.
            let bound = cost + self.rest[i + 1] - self.lambda * (k.limit - load);
            if bound < self.best_cost {
                next.push((cost, load, l as u8));
            }
        }
        next.sort_by(|x, y| x.0.total_cmp(&y.0));
        for (cost, load, l) in next {
            a[i] = l;
            self.descend(a, i + 1, cost, load);
        }
        a[i] = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    fn random(n: usize, levels: usize, seed: u64) -> Knapsack {
        let mut r = Rng::new(seed);
        let mut k = Knapsack {
            limit: 1.0,
            ..Knapsack::default()
        };
        for i in 0..n {
            let mut time = vec![0.0];
            let mut weight = vec![0.0];
            for l in 1..levels {
                time.push(-r.unit() * l as f64);
                weight.push((3.0 * r.normal() - 2.0 + l as f64).exp());
            }
            k.time.push(time);
            k.weight.push(weight);
            if i > 0 {
                let cast = r.unit();
                let table = (0..levels).map(|x| {
                    let row = (0..levels).map(|y| if x == y { 0.0 } else { cast });
                    row.collect()
                });
                k.pairs.push((r.below(i), i, table.collect()));
            }
        }
        k
    }

    #[test]
    fn small_ones_are_exact() {
        for seed in 0..40 {
            let k = random(8, 3, seed);
            let (a, exact) = k.solve();
            assert!(exact, "seed {seed}");
            assert!(k.load(&a) <= k.limit);
            let mut best = f64::INFINITY;
            for code in 0..3usize.pow(8) {
                let b: Vec<u8> = (0..8).map(|i| (code / 3usize.pow(i) % 3) as u8).collect();
                if k.load(&b) <= k.limit {
                    best = best.min(k.cost(&b));
                }
            }
            assert!((k.cost(&a) - best).abs() < 1e-12, "seed {seed}");
        }
    }

    #[test]
    fn large_ones_fit() {
        let k = random(200, 3, 1);
        let (a, _) = k.solve();
        assert!(k.load(&a) <= k.limit);
        assert!(k.cost(&a) < -10.0, "{}", k.cost(&a));
    }
}
