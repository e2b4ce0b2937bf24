//! Guided search: models of error and time, corrected by every run, until the optimum is bracketed.
//!
//! It starts with everything as low as it goes, which brackets the problem from below as the program
//! itself does from above, and with everything a little lower. Then it runs whatever promises the largest expected gain, and ends when
//! nothing promises enough; of what differs from the best in one variable, less is enough.
use crate::guided::culprits::Culprits;
use crate::guided::error_model::ErrorModel;
use crate::guided::propose::{Proposal, Proposer};
use crate::guided::time_model::TimeModel;
use crate::history::History;
use crate::outcome::Outcome;
use crate::problem::Search;
use crate::rng::Rng;
use crate::strategy::{Reason, Strategy, StrategyStep};

/// The level of everything in the third run, where there are lower ones: between errors of 1 and of 1e-15 models do not see what
/// spoils the first (backprop on an H200: all f64 to f32, twice as fast, was run as number 46, and 40 before had an error of 0.24).
const LITTLE_LOWERED: u8 = 1;

/// Models decide until no assignment is expected to gain this much of the time: a third of what measured times
/// repeat to.
const WORTHWHILE: f64 = 0.003;

/// Where times are predictions and nothing is left to doubt of them, this is enough.
const WORTHWHILE_EXACT: f64 = 0.001;

/// Where everything as low as it goes is within the tolerance and the fastest, models have to promise more by this part
/// for every promise that they did not keep.
const IN_DOUBT: f64 = 1.0;

/// While nothing is faster than the program, this part of it is enough: no search should end with nothing for a few runs less.
const NOTHING_YET: f64 = 0.33;

/// With variables without an order: a level that was not tried says little of itself, so that less is asked of it.
const WORTHWHILE_SHAPE: f64 = 0.001;

/// Of neighbours of the best, which differ from it in one variable, this part of it is enough, up to so many runs; and this
/// chance of being within the tolerance. Models of time miss what single variables do by some percent: on 50 cases of
/// recorded tables it took 12.5 runs instead of 7.7, and 45 came to 97 % of the optimum instead of 42.
const NEAR: f64 = 0.1;
const COMPARED: usize = 25;
const CHANCE: f64 = 0.05;

/// It doubts the error model by this factor, and goes on while that makes something worthwhile.
const DOUBT: f64 = 2.0;

/// Every so many questions are for another level of a variable without an order, in the best assignment so far: a
/// shape of a launch rounds nothing, so that it is a gain whatever comes of the rest. More of them where the others have
/// gained nothing this often, fewer where shapes have.
const SHAPES: usize = 3;
const SHAPES_MORE: usize = 2;
const SHAPES_FEWER: usize = 5;
const IN_VAIN: usize = 3;

/// Changes of shapes that are weighed against each other, at most.
const MOST_SHAPES: usize = 2000;

/// Parts into which variables are split, where nobody said what they contribute and nothing lowered has passed: the
/// model takes them for alike, and one that spoils the error speaks for all.
const PARTS: [usize; 3] = [2, 4, 8];

/// Runs in a row beyond the tolerance after which the error model is taken to mislead (errors that neither add up nor grow
/// with what is lowered: an application's own measure). Then every so many questions are for a part of what the
/// best assignment does not lower yet.
const MISLED: usize = 4;
const PARTS_EVERY: usize = 2;

/// With no more variables than this to lower, models come to know each of them within the usual number of runs, and parts only
/// take runs away from them.
const FEW: usize = 16;

/// What the belief in culprits counts beforehand, and the least that either belief is taken to have said of what then
/// happened: one surprise is not the end of it.
const BLAME: f64 = 0.3;
const SURPRISE: f64 = 0.02;

/// Runs out of doubt, at most, for each run without: models that misled are given up slowly.
const DOUBTS: f64 = 0.5;

struct Guided<'p> {
    search: Search<'p>,
    history: History,
    errors: Option<ErrorModel<'p>>,
    /// The other belief of errors, with many variables; and how well each has foretold what passes, as logarithms.
    culprits: Option<Culprits>,
    foretold: [f64; 2],
    times: TimeModel<'p>,
    rng: Rng,
    /// What is run before models decide.
    opening: Vec<Vec<u8>>,
    /// Runs asked for, and those among them out of doubt.
    asked: usize,
    doubted: usize,
    /// What was asked for and is not told yet, the earliest first; and what of it was asked for the sake of its shape.
    pending: Vec<Vec<u8>>,
    shaped: Vec<Vec<u8>>,
    /// Questions since the last one for a shape; those for shapes and for others since one of them was a gain.
    since: usize,
    vain: [usize; 2],
    /// Runs in a row beyond the tolerance.
    beyond: usize,
    stale: bool,
    /// What came close to being proposed last.
    others: Vec<Vec<u8>>,
}

/// The default strategy.
pub fn guided(search: Search<'_>) -> impl Strategy + '_ {
    let problem = search.problem;
    let mut opening = vec![
        problem.uniform(LITTLE_LOWERED),
        problem.all_low(),
        problem.identity(),
    ];
    opening.dedup();
    Guided {
        errors: ErrorModel::new(search),
        culprits: None,
        foretold: [0.0; 2],
        times: TimeModel::new(search),
        history: History::default(),
        rng: Rng::new(search.seed),
        opening,
        asked: 0,
        doubted: 0,
        pending: Vec::new(),
        shaped: Vec::new(),
        since: 0,
        vain: [0, 0],
        beyond: 0,
        stale: false,
        others: Vec::new(),
        search,
    }
}

impl Guided<'_> {
    /// Brings the models up to date.
    fn learn(&mut self) {
        if self.stale {
            self.times.learn(self.history.all());
            self.times.refit();
            if let Some(e) = &mut self.errors {
                e.learn(self.history.all());
            }
            if self.errors.is_some() && self.many() {
                let mut rng = Rng::new(self.search.seed ^ self.history.all().len() as u64);
                let all = self.history.all();
                self.culprits = Some(Culprits::new(self.search.problem, all, &mut rng));
            }
            self.stale = false;
        }
    }

    /// Takes what models say of the assignments whose outcomes are awaited for these outcomes, so that the next question is
    /// not for their like (the "kriging believer" of Ginsbourger, Le Riche and Carraro). Errors are taken to be one deviation
    /// larger. It is said anew by all that was told for each question: what was expected once and not borne out since would
    /// otherwise speak for itself (black_scholes on an H200: 1.56 times as fast instead of 3.06).
    fn expect_pending(&mut self) {
        if self.pending.is_empty() {
            return;
        }
        self.stale |= self.history.forget_expected();
        self.learn();
        for a in &self.pending {
            let error = self.errors.as_ref().map_or(0.0, |e| {
                let (mean, deviation) = e.predict(a);
                (mean + deviation).exp()
            });
            let outcome = Outcome::ran(error, self.times.mean(a));
            self.history.expect(a.clone(), outcome);
        }
        self.stale = true;
    }

    /// Questions since the last one for a shape, those included whose answers are awaited.
    fn since_shape(&self) -> usize {
        let shaped = |a: &Vec<u8>| self.shaped.contains(a);
        match self.pending.iter().rposition(shaped) {
            Some(last) => self.pending.len() - 1 - last,
            None => self.since + self.pending.len(),
        }
    }

    /// Whether more variables can be lowered than models come to know within the usual number of runs.
    fn many(&self) -> bool {
        let problem = self.search.problem;
        let low = problem.all_low();
        let free = low.iter().zip(problem.identity());
        free.filter(|(l, i)| *l != i).count() > FEW
    }

    /// What the belief in culprits counts.
    fn blame(&self) -> f64 {
        let [sums, culprits] = self.foretold;
        let odds = BLAME / (1.0 - BLAME) * (culprits - sums).exp();
        odds / (1.0 + odds)
    }

    /// Notes how well both beliefs of errors foretold a run.
    fn judge(&mut self, a: &[u8], passed: bool) {
        let (Some(e), Some(c), false) = (&self.errors, &self.culprits, self.stale) else {
            return;
        };
        let each = [e.passes(a, 1.0), c.passes(a)];
        for (sum, p) in self.foretold.iter_mut().zip(each) {
            let p = if passed { p } else { 1.0 - p };
            *sum += p.clamp(SURPRISE, 1.0).ln();
        }
    }

    /// Whether times need not be run for.
    fn certain(&mut self) -> bool {
        self.learn();
        self.times.is_exact()
    }

    /// How much more than usual has to be promised, or less.
    fn caution(&self) -> f64 {
        let problem = self.search.problem;
        let best = self.history.best();
        if best.is_none_or(|b| b.assignment == problem.identity()) {
            return NOTHING_YET;
        }
        let lowest = best.is_some_and(|b| b.assignment == problem.all_low());
        let unkept = if lowest { self.vain[1] } else { 0 };
        1.0 + IN_DOUBT * unkept as f64
    }

    fn proposer(&self, doubt: f64, blame: f64) -> Proposer<'_, '_> {
        let best = self.history.best().and_then(|e| e.outcome.time());
        Proposer {
            search: &self.search,
            errors: self.errors.as_ref(),
            culprits: self.culprits.as_ref().map(|c| (c, blame)),
            times: &self.times,
            history: &self.history,
            // Without anything within the tolerance, whatever is within it is a gain.
            best: best.unwrap_or(2.0),
            doubt,
        }
    }

    fn propose(&mut self, doubt: f64, blame: f64) -> Option<Proposal> {
        self.learn();
        let mut rng = self.rng.clone();
        let found = self.proposer(doubt, blame).propose(&mut rng);
        self.rng = rng;
        if let Some(p) = &found {
            self.others.clone_from(&p.others);
        }
        found
    }

    /// [`Guided::shape`], where it is its turn.
    fn turn(&mut self) -> Option<Vec<u8>> {
        let every = match self.vain {
            [shapes, others] if others >= IN_VAIN && shapes <= IN_VAIN => SHAPES_MORE,
            [shapes, others] if shapes > IN_VAIN && others < IN_VAIN => SHAPES_FEWER,
            // Neither gains, or both do.
            _ => SHAPES,
        };
        if self.since_shape() + 1 < every {
            return None;
        }
        self.shape()
    }

    /// The most promising change of one or two variables without an order in the best assignment: a shape, and that code is
    /// compiled for it.
    fn shape(&mut self) -> Option<Vec<u8>> {
        let best = self.history.best()?.assignment.clone();
        self.learn();
        let variables = &self.search.problem.variables;
        let changed = |from: &[u8], after: usize| -> Vec<(usize, Vec<u8>)> {
            let mut out = Vec::new();
            for (i, v) in variables.iter().enumerate().skip(after) {
                for l in v.allowed().filter(|l| v.unordered && *l != from[i]) {
                    let mut a = from.to_vec();
                    a[i] = l;
                    out.push((i + 1, a));
                }
            }
            out
        };
        let one = changed(&best, 0);
        let two = one.iter().flat_map(|(next, a)| changed(a, *next));
        let all = one.iter().cloned().chain(two).map(|c| c.1);
        let all: Vec<Vec<u8>> = all.take(MOST_SHAPES).collect();
        let proposer = self.proposer(1.0, self.blame());
        let mut top: Option<(Vec<u8>, f64)> = None;
        let values = proposer.values(&all);
        for (a, value) in all.into_iter().zip(values) {
            if self.history.get(&a).is_none() && top.as_ref().is_none_or(|t| value > t.1) {
                top = Some((a, value));
            }
        }
        top.map(|t| t.0)
    }

    /// Asks for something for the sake of its shape.
    fn shaped(&mut self, a: Vec<u8>) -> StrategyStep {
        self.asked += 1;
        self.shaped.push(a.clone());
        StrategyStep::Evaluate(a)
    }

    /// The most promising neighbour of the best, where there are few variables.
    fn neighbour(&mut self, enough: f64) -> Option<Vec<u8>> {
        if self.history.all().len() >= COMPARED || self.many() || self.certain() {
            return None;
        }
        let best = self.history.best()?.assignment.clone();
        let proposer = self.proposer(1.0, self.blame());
        let mut all: Vec<Vec<u8>> = Vec::new();
        for (i, v) in self.search.problem.variables.iter().enumerate() {
            for l in v.allowed().filter(|l| *l != best[i]) {
                let mut a = best.clone();
                a[i] = l;
                if self.history.get(&a).is_none() {
                    all.push(a);
                }
            }
        }
        if let Some(e) = &self.errors {
            let mut pass = e.passes_each(&all, DOUBT).into_iter();
            all.retain(|_| pass.next().is_some_and(|p| p > CHANCE));
        }
        let values = proposer.values(&all);
        let mut top: Option<(Vec<u8>, f64)> = None;
        for (a, value) in all.into_iter().zip(values) {
            if top.as_ref().is_none_or(|t| value > t.1) {
                top = Some((a, value));
            }
        }
        top.filter(|t| t.1 >= (NEAR * enough).ln()).map(|t| t.0)
    }

    /// A part of the variables lowered, as delta debugging does: for searches that would end with nothing.
    fn split(&mut self) -> Option<Vec<u8>> {
        let problem = self.search.problem;
        let identity = problem.identity();
        let found = |a: &[u8]| a.iter().zip(&identity).any(|(x, y)| x != y);
        let blind = self.errors.as_ref().is_some_and(ErrorModel::is_blind);
        // Shapes of launches are gains of their own, and have runs of their own.
        let shapes = problem.variables.iter().any(|v| v.unordered);
        let lowered = self.history.best().is_some_and(|b| found(&b.assignment));
        if !blind || shapes || lowered {
            return None;
        }
        self.parts_of(&identity)
    }

    /// [`Guided::parts_of`] the best, where it is its turn.
    fn misled(&mut self) -> Option<Vec<u8>> {
        let shapes = self.search.problem.variables.iter().any(|v| v.unordered);
        let turn = self.beyond >= MISLED && (self.beyond - MISLED).is_multiple_of(PARTS_EVERY);
        if shapes || !turn {
            return None;
        }
        if !self.many() {
            return None;
        }
        let best = self.history.best()?.assignment.clone();
        self.parts_of(&best)
    }

    /// An assignment with a part of its other variables lowered too.
    fn parts_of(&mut self, base: &[u8]) -> Option<Vec<u8>> {
        self.learn();
        let low = self.search.problem.all_low();
        let free: Vec<usize> = (0..low.len()).filter(|i| low[*i] != base[*i]).collect();
        let now = self.times.mean(base);
        for parts in PARTS.into_iter().filter(|p| *p <= free.len()) {
            for part in 0..parts {
                let mut a = base.to_vec();
                let ends = [part, part + 1].map(|k| k * free.len() / parts);
                for i in &free[ends[0]..ends[1]] {
                    a[*i] = low[*i];
                }
                let gains = self.times.mean(&a) < now * (1.0 - WORTHWHILE);
                if gains && self.history.get(&a).is_none() {
                    return Some(a);
                }
            }
        }
        None
    }
}

impl Guided<'_> {
    /// What to run next, by all that is told and expected.
    fn next_step(&mut self) -> StrategyStep {
        if self
            .history
            .best()
            .is_some_and(|b| b.assignment == self.search.problem.all_low())
        {
            // Nothing between it and the program needs to be known.
            self.opening.clear();
        }
        if let Some(a) = self.opening.pop() {
            return StrategyStep::Evaluate(a);
        }
        if let Some(a) = self.turn() {
            return self.shaped(a);
        }
        if let Some(a) = self.misled() {
            self.asked += 1;
            return StrategyStep::Evaluate(a);
        }
        let best = self.history.best().and_then(|e| e.outcome.time());
        let shapes = self.search.problem.variables.iter().any(|v| v.unordered);
        let part = match shapes {
            true => WORTHWHILE_SHAPE,
            false if self.certain() => WORTHWHILE_EXACT,
            false => WORTHWHILE * self.caution(),
        };
        let enough = part * best.unwrap_or(1.0);
        // Together, then each by itself: it ends when neither promises enough.
        let beliefs: &[f64] = match self.culprits {
            Some(_) => &[self.blame(), 0.0, 1.0],
            None => &[0.0],
        };
        for blame in beliefs {
            let Some(p) = self.propose(1.0, *blame) else {
                return StrategyStep::Done(Reason::Exhausted);
            };
            if p.gain >= enough {
                self.asked += 1;
                return StrategyStep::Evaluate(p.assignment);
            }
        }
        if self.doubted as f64 <= DOUBTS * self.asked as f64
            && let Some(p) = self.propose(DOUBT, self.blame())
            && p.gain >= enough
        {
            self.doubted += 1;
            return StrategyStep::Evaluate(p.assignment);
        }
        if let Some(a) = self.split() {
            self.asked += 1;
            return StrategyStep::Evaluate(a);
        }
        // That promises were not kept is no reason against what models miss.
        let near = enough.min(WORTHWHILE * best.unwrap_or(1.0));
        if !shapes && let Some(a) = self.neighbour(near) {
            self.asked += 1;
            return StrategyStep::Evaluate(a);
        }
        // Shapes that gained nothing make those that were not tried look like them.
        if self.vain[0] <= IN_VAIN
            && let Some(a) = self.shape()
        {
            return self.shaped(a);
        }
        StrategyStep::Done(Reason::Bracketed)
    }
}

impl Strategy for Guided<'_> {
    fn ask(&mut self) -> StrategyStep {
        self.expect_pending();
        let step = self.next_step();
        if let StrategyStep::Evaluate(a) = &step {
            self.pending.push(a.clone());
        }
        step
    }
    fn likely(&self) -> Vec<Vec<u8>> {
        let opening = self.opening.iter().rev();
        let all = opening.chain(&self.others).cloned();
        all.filter(|a| self.history.get(a).is_none()).collect()
    }
    fn tell(&mut self, a: &[u8], o: &Outcome) {
        let before = self.history.best().and_then(|e| e.outcome.time());
        self.pending.retain(|p| p != a);
        if !self.history.is_told(a) {
            self.judge(a, self.search.problem.accepts(o));
        }
        let new = self.history.note(self.search.problem, a, o);
        self.stale |= new;
        if !new {
            return;
        }
        let now = self.history.best().and_then(|e| e.outcome.time());
        let gained = match (before, now) {
            (Some(b), Some(n)) => n < b * (1.0 - WORTHWHILE),
            (b, n) => b.is_none() && n.is_some(),
        };
        let passed = self.search.problem.accepts(o);
        self.beyond = if passed { 0 } else { self.beyond + 1 };
        let shape = self.shaped.iter().any(|s| s == a);
        self.shaped.retain(|s| s != a);
        // The opening is nobody's turn.
        let turn = usize::from(self.asked + self.doubted > 0);
        self.since = if shape { 0 } else { self.since + turn };
        let vain = &mut self.vain[usize::from(!shape)];
        *vain = if gained { 0 } else { *vain + 1 };
    }
    fn asks_ahead(&self) -> bool {
        true
    }
    fn history(&self) -> &History {
        &self.history
    }
}

#[cfg(test)]
mod tests;
