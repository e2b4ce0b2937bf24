//! What to run next: assignments that may be better, found by the knapsack and by climbing.
//!
//! An assignment is worth its expected gain over the best so far, times the probability that it is within
//! the tolerance. After a failure the error model expects more and proposals tighten; after a pass with
//! room to spare they loosen.
use super::culprits::Culprits;
use super::error_model::ErrorModel;
use super::knapsack::Knapsack;
use super::lanes::{LANES, spread};
use super::time_model::TimeModel;
use crate::history::History;
use crate::problem::{Assignment, Problem, Search};
use crate::rng::Rng;
use crate::strategies::draw;
use std::collections::HashMap;

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

/// Assignments that a proposal names beside its own.
const OTHERS: usize = 8;

/// A proposal.
#[derive(Debug, Clone, PartialEq)]
pub struct Proposal {
    /// What to run.
    pub assignment: Assignment,
    /// Expected gain: of time, times the probability of being within the tolerance.
    pub gain: f64,
    /// The next best ones, which may be proposed after it.
    pub others: Vec<Assignment>,
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
        let all = self.values(&[a]);
        all.first().copied().unwrap_or(f64::NEG_INFINITY)
    }

    /// The same of many, which costs less than one after the other.
    pub fn values<A: AsRef<[u8]>>(&self, all: &[A]) -> Vec<f64> {
        let gains = self.times.log_gains(self.best, all);
        let pass = match self.errors {
            Some(e) => e.passes_each(all, self.doubt),
            None => vec![1.0; all.len()],
        };
        let each = all.iter().zip(gains).zip(pass);
        each.map(|((a, gain), mut pass)| {
            if let Some((c, counts)) = self.culprits {
                pass += counts * (c.passes(a.as_ref()) - pass);
            }
            gain + pass.max(1e-300).ln()
        })
        .collect()
    }

    /// The most promising assignment that has not been evaluated.
    pub fn propose(&self, rng: &mut Rng) -> Option<Proposal> {
        let mut best = None;
        for round in 0..ROUNDS {
            let mut climb = Climb {
                proposer: self,
                known: HashMap::new(),
                moves: moves(self.search.problem),
            };
            let mut starts = self.starts(rng);
            let many = self.search.problem.variables.len() > EXCHANGES;
            if many {
                // Not all will be climbed from.
                let values = self.values(&starts);
                let mut valued: Vec<(f64, Assignment)> = values.into_iter().zip(starts).collect();
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
        new.sort_by(|x, y| y.1.total_cmp(&x.1).then_with(|| x.0.cmp(&y.0)));
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
        let proposal = best.map(|(assignment, v)| {
            let others = new.iter().map(|n| &n.0).filter(|a| **a != assignment);
            Proposal {
                others: others.take(OTHERS).cloned().collect(),
                assignment,
                gain: v.exp(),
            }
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
        let base = self.decompose(around);
        let mut all = Vec::new();
        for (norm, weight) in errors.weights() {
            all.extend(SLACKS.map(|slack| Knapsack {
                weight: weight.clone(),
                limit: slack.powf(norm),
                ..base.clone()
            }));
        }
        spread(&all, 1, |knapsack| knapsack.solve().0)
    }

    /// Time as a sum over variables and pairs of neighbours, as it is around an assignment.
    fn decompose(&self, around: &[u8]) -> Knapsack {
        let problem = self.search.problem;
        let base = self.times.mean(around);
        let mut single: Vec<Vec<f64>> = Vec::new();
        let mut changed = Vec::new();
        for (i, v) in problem.variables.iter().enumerate() {
            single.push(vec![f64::INFINITY; v.levels.len()]);
            for l in v.allowed() {
                let mut a = around.to_vec();
                a[i] = l;
                changed.push((i, l, a));
            }
        }
        let all: Vec<&[u8]> = changed.iter().map(|c| c.2.as_slice()).collect();
        let times = self.times.means(&all);
        for ((i, l, _), time) in changed.iter().zip(times) {
            single[*i][usize::from(*l)] = time - base;
        }
        let mut pairs = Vec::new();
        for e in &problem.edges {
            let (i, j) = (e.a.min(e.b), e.a.max(e.b));
            if i == j || pairs.iter().any(|(x, y, _)| (*x, *y) == (i, j)) {
                continue;
            }
            let table = self.together(around, [i, j], [&single[i], &single[j]], base);
            pairs.push((i, j, table));
        }
        Knapsack {
            time: single,
            pairs,
            ..Knapsack::default()
        }
    }

    /// What two variables change of the time together, beyond what each of them does: by both levels.
    fn together(
        &self,
        around: &[u8],
        [i, j]: [usize; 2],
        alone: [&[f64]; 2],
        base: f64,
    ) -> Vec<Vec<f64>> {
        let mut a = around.to_vec();
        let mut all = Vec::new();
        for (l, x) in alone[0].iter().enumerate() {
            for (m, y) in alone[1].iter().enumerate() {
                if (x + y).is_finite() {
                    (a[i], a[j]) = (l as u8, m as u8);
                    all.push(a.clone());
                }
            }
        }
        let mut times = self.times.means(&all).into_iter();
        let row = |x: &f64| {
            let each = alone[1].iter().map(|y| match (x + y).is_finite() {
                true => times.next().map_or(0.0, |t| t - base - (x + y)),
                false => 0.0,
            });
            each.collect()
        };
        alone[0].iter().map(row).collect()
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

/// An assignment and its value.
type Valued = (Assignment, f64);

/// Steepest ascent of the value.
struct Climb<'c, 'm, 'p> {
    proposer: &'c Proposer<'m, 'p>,
    known: HashMap<Assignment, f64>,
    moves: Vec<Vec<usize>>,
}

impl Climb<'_, '_, '_> {
    /// An assignment's value, which it notes.
    fn value(&mut self, a: &[u8]) -> f64 {
        if let Some(v) = self.known.get(a) {
            return *v;
        }
        let v = self.proposer.value(a);
        self.known.insert(a.to_vec(), v);
        v
    }

    /// Values of several, without a note of them.
    fn values(&self, all: &[Assignment]) -> Vec<f64> {
        let known: Vec<Option<f64>> = all.iter().map(|a| self.known.get(a).copied()).collect();
        let new = all.iter().zip(&known).filter(|(_, k)| k.is_none());
        let new: Vec<&Assignment> = new.map(|(a, _)| a).collect();
        let mut found = self.proposer.values(&new).into_iter();
        let each = known.into_iter().map(|k| k.or_else(|| found.next()));
        each.map(|v| v.unwrap_or(f64::NEG_INFINITY)).collect()
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
            let better = self.better(neighbours, value, all);
            match better {
                Some((b, v)) => (at, value, looks) = (b, v, 0),
                None if all || looks >= LOOK.1 => break,
                None => looks += 1,
            }
        }
    }

    /// The best of some neighbours that is better than a value and new; where not all neighbours are among them, the first.
    fn better(
        &mut self,
        some: Vec<Assignment>,
        value: f64,
        all: bool,
    ) -> Option<(Assignment, f64)> {
        let at_once = if all { some.len().max(1) } else { LANES };
        let mut better: Option<(Assignment, f64)> = None;
        for part in some.chunks(at_once) {
            for (b, v) in part.iter().zip(self.values(part)) {
                if !self.known.contains_key(b) {
                    self.known.insert(b.clone(), v);
                }
                let least = better.as_ref().map_or(value, |x| x.1);
                if v > least && self.proposer.history.get(b).is_none() {
                    better = Some((b.clone(), v));
                    // Where not all can be seen, the steepest way is not known anyway.
                    if !all {
                        return better;
                    }
                }
            }
        }
        better
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
            let steps = sets.iter().flat_map(|s| (0..depth).map(move |l| (*s, l)));
            let steps: Vec<(usize, u8)> = steps.collect();
            let mut left = steps.as_slice();
            while !left.is_empty() {
                if self.known.len() >= most {
                    return;
                }
                let (taken, next) = self.first_better(&at, value, left);
                left = next;
                (at, value) = taken.unwrap_or((at, value));
            }
            match (value > before, alone) {
                (true, _) => {}
                (false, true) => alone = false,
                (false, false) => return,
            }
        }
    }

    /// The first of the next steps from an assignment that is better than a value, and the steps that are left then. It looks
    /// at as many as are valued at once.
    fn first_better<'s>(
        &mut self,
        at: &[u8],
        value: f64,
        steps: &'s [(usize, u8)],
    ) -> (Option<Valued>, &'s [(usize, u8)]) {
        let most = self.most();
        let mut next: Vec<(usize, Assignment)> = Vec::new();
        let mut seen = 0;
        for (set, l) in steps {
            seen += 1;
            let b = self.moved(at, *set, *l);
            if b != at && self.proposer.history.get(&b).is_none() {
                next.push((seen, b));
            }
            if next.len() == LANES {
                break;
            }
        }
        let (ends, next): (Vec<usize>, Vec<Assignment>) = next.into_iter().unzip();
        let values = self.values(&next);
        for ((b, v), end) in next.into_iter().zip(values).zip(ends) {
            if self.known.len() >= most {
                return (None, &[]);
            }
            self.known.entry(b.clone()).or_insert(v);
            if v > value {
                return (Some((b, v)), &steps[end..]);
            }
        }
        (None, &steps[seen..])
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
