//! What to run next: assignments that may be better, found by the knapsack and by climbing.
//!
//! An assignment is worth its expected gain over the best so far, times the probability that it is within
//! the tolerance. After a failure the error model expects more and proposals tighten; after a pass with
//! room to spare they loosen.
use super::culprits::Culprits;
use super::error_model::ErrorModel;
use super::knapsack::Knapsack;
use super::time_model::TimeModel;
use crate::history::History;
use crate::problem::{Assignment, Problem, Search};
use crate::rng::Rng;
use crate::strategies::draw;
use std::collections::BTreeMap;

/// Parts of the tolerance that the knapsack plans for.
const SLACKS: [f64; 5] = [0.5, 0.75, 1.0, 1.4, 2.0];

/// Starts at random, beside the planned ones.
const RANDOM: usize = 3;

/// Starts that lower all that the belief in culprits clears, by one draw of it each.
const CLEARED: usize = 4;

/// Predictions that one proposal may take: as many as keep the product with the number of variables, and no
/// fewer than the second number.
const WORK: (usize, usize) = (160_000, 4000);

/// Evaluations up to which a proposal may take all of these. Each prediction looks at every one of them, so that with more of
/// them there are fewer predictions, down to the second number: a proposal should not take longer than what it proposes.
const OBSERVED: (usize, usize) = (16, 1500);

/// Neighbours that are looked at in one step of a climb, at random where there are more; and such looks
/// without anything better after which a climb ends.
const LOOK: (usize, usize) = (600, 3);

/// Up to this many variables, also exchanges of any two are tried.
const EXCHANGES: usize = 32;

/// Predictions that are made for the most promising assignments, where something else stands for the rest; and
/// how often that is corrected and climbed again.
const ASKED: usize = 24;
const ROUNDS: usize = 3;

/// A proposal.
#[derive(Debug, Clone, PartialEq)]
pub struct Proposal {
    /// What to run.
    pub assignment: Assignment,
    /// Expected gain: of time, times the probability of being within the tolerance.
    pub gain: f64,
}

/// Both models, and what has been evaluated.
pub struct Proposer<'m, 'p> {
    /// The problem.
    pub search: &'m Search<'p>,
    /// Errors.
    pub errors: Option<&'m ErrorModel<'p>>,
    /// The other belief of errors, and what it counts.
    pub culprits: Option<(&'m Culprits, f64)>,
    /// Times.
    pub times: &'m TimeModel<'p>,
    /// Everything told.
    pub history: &'m History,
    /// Time of the best so far.
    pub best: f64,
    /// Factor on what the error model says of its own uncertainty.
    pub doubt: f64,
}

impl Proposer<'_, '_> {
    /// Logarithm of the expected gain of an assignment.
    pub fn value(&self, a: &[u8]) -> f64 {
        let gain = self.times.log_gain(self.best, a);
        let mut pass = self.errors.map_or(1.0, |e| e.passes(a, self.doubt));
        if let Some((c, counts)) = self.culprits {
            pass += counts * (c.passes(self.search.problem, a) - pass);
        }
        gain + pass.max(1e-300).ln()
    }

    /// The most promising assignment that has not been evaluated.
    pub fn propose(&self, rng: &mut Rng) -> Option<Proposal> {
        let mut best = None;
        for round in 0..ROUNDS {
            let mut climb = Climb {
                proposer: self,
                known: BTreeMap::new(),
                moves: moves(self.search.problem),
            };
            let mut starts = self.starts(rng);
            let many = self.search.problem.variables.len() > EXCHANGES;
            if many {
                // Not all will be climbed from.
                let value = |a: &Assignment| self.value(a);
                let mut valued: Vec<(f64, Assignment)> =
                    starts.into_iter().map(|a| (value(&a), a)).collect();
                valued.sort_by(|x, y| y.0.total_cmp(&x.0));
                starts = valued.into_iter().map(|v| v.1).collect();
            }
            for start in starts {
                match many {
                    true => climb.sweep(start, rng),
                    false => climb.from(start, rng),
                }
            }
            let new = climb.known.into_iter();
            let new = new.filter(|(a, _)| self.history.get(a).is_none());
            let agreed;
            (best, agreed) = self.settled(new.collect());
            if agreed || round + 1 == ROUNDS {
                break;
            }
            self.times.refit();
        }
        best
    }

    /// The best of some by the predictions themselves, and whether what stands for them promised no more of
    /// any other. The most promising ones are settled, one after the other.
    fn settled(&self, mut new: Vec<(Assignment, f64)>) -> (Option<Proposal>, bool) {
        new.sort_by(|x, y| y.1.total_cmp(&x.1));
        let mut best: Option<(Assignment, f64)> = None;
        let mut asked = 0;
        let mut agreed = true;
        let together = self.times.at_once();
        for (i, (a, promised)) in new.iter().enumerate() {
            if best.as_ref().is_some_and(|b| b.1 >= *promised) {
                break;
            }
            let mut value = *promised;
            if !self.times.is_settled(a) {
                if asked == ASKED {
                    agreed = false;
                    break;
                }
                if together > 1 && asked.is_multiple_of(together) {
                    let left = new[i..].iter().filter(|n| !self.times.is_settled(&n.0));
                    let next = left.take(together.min(ASKED - asked));
                    let next: Vec<Assignment> = next.map(|n| n.0.clone()).collect();
                    self.times.prepare(&next);
                }
                asked += 1;
                self.times.settle(a);
                value = self.value(a);
            }
            if best.as_ref().is_none_or(|b| value > b.1) {
                best = Some((a.clone(), value));
            }
        }
        let proposal = best.map(|(assignment, v)| Proposal {
            assignment,
            gain: v.exp(),
        });
        (proposal, agreed)
    }

    fn starts(&self, rng: &mut Rng) -> Vec<Assignment> {
        let problem = self.search.problem;
        let best = self.history.best().map(|e| e.assignment.clone());
        let around = best.clone().unwrap_or_else(|| problem.identity());
        let mut starts = self.planned(&around);
        starts.extend(best);
        if let Some((c, _)) = self.culprits {
            starts.extend(c.some(CLEARED, rng));
        }
        let levels = problem.depth_of_levels();
        starts.extend((0..levels).map(|l| problem.uniform(l as u8)));
        starts.extend((0..RANDOM).map(|_| draw(problem, rng)));
        let mut unique: Vec<Assignment> = Vec::new();
        for s in starts {
            if !unique.contains(&s) {
                unique.push(s);
            }
        }
        unique
    }

    /// The answers of the knapsack: times by the model around an assignment, errors by each norm.
    fn planned(&self, around: &[u8]) -> Vec<Assignment> {
        let Some(errors) = self.errors else {
            return Vec::new();
        };
        let mut knapsack = self.decompose(around);
        let mut out = Vec::new();
        for (norm, weight) in errors.weights() {
            knapsack.weight = weight;
            for slack in SLACKS {
                knapsack.limit = slack.powf(norm);
                out.push(knapsack.solve().0);
            }
        }
        out
    }

    /// Time as a sum over variables and pairs of neighbours, as it is around an assignment.
    fn decompose(&self, around: &[u8]) -> Knapsack {
        let problem = self.search.problem;
        let time = |a: &[u8]| self.times.mean(a);
        let base = time(around);
        let mut a = around.to_vec();
        let mut single: Vec<Vec<f64>> = Vec::new();
        for (i, v) in problem.variables.iter().enumerate() {
            let levels = (0..v.levels.len() as u8).map(|l| {
                a[i] = l;
                if v.allows(l) {
                    time(&a) - base
                } else {
                    f64::INFINITY
                }
            });
            single.push(levels.collect());
            a[i] = around[i];
        }
        let mut pairs = Vec::new();
        for e in &problem.edges {
            let (i, j) = (e.a.min(e.b), e.a.max(e.b));
            if i == j || pairs.iter().any(|(x, y, _)| (*x, *y) == (i, j)) {
                continue;
            }
            let table = (0..single[i].len()).map(|l| {
                let row = (0..single[j].len()).map(|m| {
                    (a[i], a[j]) = (l as u8, m as u8);
                    let apart = single[i][l] + single[j][m];
                    if apart.is_finite() {
                        time(&a) - base - apart
                    } else {
                        0.0
                    }
                });
                row.collect()
            });
            let table: Vec<Vec<f64>> = table.collect();
            (a[i], a[j]) = (around[i], around[j]);
            pairs.push((i, j, table));
        }
        Knapsack {
            time: single,
            pairs,
            ..Knapsack::default()
        }
    }
}

/// Sets of variables that change to one level together: each one, and neighbours with all of theirs.
fn moves(problem: &Problem) -> Vec<Vec<usize>> {
    let n = problem.variables.len();
    let mut out: Vec<Vec<usize>> = (0..n).map(|i| vec![i]).collect();
    out.extend(problem.edges.iter().map(|e| vec![e.a, e.b]));
    for i in 0..n {
        let mut star = vec![i];
        for e in &problem.edges {
            match (e.a == i, e.b == i) {
                (true, false) => star.push(e.b),
                (false, true) => star.push(e.a),
                _ => {}
            }
        }
        if star.len() > 2 {
            out.push(star);
        }
    }
    out
}

/// Steepest ascent of the value.
struct Climb<'c, 'm, 'p> {
    proposer: &'c Proposer<'m, 'p>,
    known: BTreeMap<Assignment, f64>,
    moves: Vec<Vec<usize>>,
}

impl Climb<'_, '_, '_> {
    /// An assignment's value; those that have been evaluated are worth nothing.
    fn value(&mut self, a: &[u8]) -> f64 {
        if let Some(v) = self.known.get(a) {
            return *v;
        }
        let v = self.proposer.value(a);
        self.known.insert(a.to_vec(), v);
        v
    }

    /// Predictions that the climbs of a proposal may take.
    fn most(&self) -> usize {
        let variables = self.proposer.search.problem.variables.len();
        let all = (WORK.0 / variables.max(1)).max(WORK.1);
        let observed = self.proposer.history.all().len().max(OBSERVED.0);
        (all * OBSERVED.0 / observed).max(OBSERVED.1)
    }

    fn from(&mut self, start: Assignment, rng: &mut Rng) {
        let mut at = start;
        // Evaluated ones may be passed through: what lies behind them may be new.
        let mut value = self.value(&at);
        let most = self.most();
        let mut looks = 0;
        while self.known.len() < most {
            let mut neighbours = self.neighbours(&at);
            let all = neighbours.len() <= LOOK.0;
            if !all {
                rng.shuffle(&mut neighbours);
                neighbours.truncate(LOOK.0);
            }
            let mut better: Option<(Assignment, f64)> = None;
            for b in neighbours {
                let v = self.value(&b);
                let known = self.proposer.history.get(&b).is_some();
                if !known && v > better.as_ref().map_or(value, |x| x.1) {
                    better = Some((b, v));
                    // Where not all can be seen, the steepest way is not known anyway.
                    if !all {
                        break;
                    }
                }
            }
            match better {
                Some((b, v)) => (at, value, looks) = (b, v, 0),
                None if all || looks >= LOOK.1 => break,
                None => looks += 1,
            }
        }
    }

    /// With many variables: whatever is better is taken as it is met, variables alone first. A look at all neighbours for each
    /// step would use up what may be looked at within a few steps.
    fn sweep(&mut self, start: Assignment, rng: &mut Rng) {
        let mut at = start;
        let mut value = self.value(&at);
        let most = self.most();
        let depth = self.proposer.search.problem.depth_of_levels() as u8;
        let mut order: Vec<usize> = (0..self.moves.len()).collect();
        let (alone, together) = order.split_at_mut(at.len());
        rng.shuffle(alone);
        rng.shuffle(together);
        let mut alone = true;
        loop {
            let before = value;
            let sets = if alone {
                &order[..at.len()]
            } else {
                &order[..]
            };
            for (set, l) in sets.iter().flat_map(|s| (0..depth).map(move |l| (*s, l))) {
                if self.known.len() >= most {
                    return;
                }
                let b = self.moved(&at, set, l);
                if b == at || self.proposer.history.get(&b).is_some() {
                    continue;
                }
                let v = self.value(&b);
                if v > value {
                    (at, value) = (b, v);
                }
            }
            match (value > before, alone) {
                (true, _) => {}
                (false, true) => alone = false,
                (false, false) => return,
            }
        }
    }

    /// An assignment with one of the sets at a level.
    fn moved(&self, a: &[u8], set: usize, level: u8) -> Assignment {
        let mut b = a.to_vec();
        for i in &self.moves[set] {
            if self.proposer.search.problem.variables[*i].allows(level) {
                b[*i] = level;
            }
        }
        b
    }

    fn neighbours(&self, a: &[u8]) -> Vec<Assignment> {
        let problem = self.proposer.search.problem;
        let mut out = Vec::new();
        for set in 0..self.moves.len() {
            for l in 0..problem.depth_of_levels() as u8 {
                let b = self.moved(a, set, l);
                if b != a {
                    out.push(b);
                }
            }
        }
        let n = a.len();
        if n <= EXCHANGES {
            for i in 0..n {
                for j in 0..i {
                    let fits = |x: usize, y: usize| problem.variables[x].allows(a[y]);
                    if a[i] != a[j] && fits(i, j) && fits(j, i) {
                        let mut b = a.to_vec();
                        b.swap(i, j);
                        out.push(b);
                    }
                }
            }
        }
        out
    }
}
