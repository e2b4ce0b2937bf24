//! Guided search: models of error and time, corrected by every run, until the optimum is bracketed.
//!
//! It starts with everything as low as it goes, which brackets the problem from below as the program
//! itself does from above. Then it runs whatever promises the largest expected gain, and ends when
//! nothing promises enough.
use crate::guided::error_model::ErrorModel;
use crate::guided::propose::{Proposal, Proposer};
use crate::guided::time_model::TimeModel;
use crate::outcome::{History, Outcome};
use crate::problem::Search;
use crate::rng::Rng;
use crate::strategy::{Reason, Step, Strategy};

/// The search ends when no assignment is expected to gain this much of the time: a third of what measured times
/// repeat to. On recorded tables a third of this takes 11.0 runs instead of 7.8, and finds 0.05 % more.
const WORTHWHILE: f64 = 0.003;

/// Where times are predictions and nothing is left to doubt of them, this is enough.
const WORTHWHILE_EXACT: f64 = 0.001;

/// Where everything as low as it goes is within the tolerance and the fastest, models have to promise more by this part
/// for every promise that they did not keep. Asking more elsewhere too (a quarter for each) takes 5.9 runs instead of 7.1 on
/// recorded tables, and some seeds then end 1.5 % short of what others find.
const IN_DOUBT: f64 = 2.0;

/// With variables without an order: a level that was not tried says little of itself, so that less is asked of it.
const WORTHWHILE_SHAPE: f64 = 0.001;

/// Then it doubts the error model by this factor, and goes on while that makes something worthwhile.
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

/// Runs out of doubt, at most, for each run without: models that misled are given up slowly.
const DOUBTS: f64 = 0.5;

struct Guided<'p> {
    search: Search<'p>,
    history: History,
    errors: Option<ErrorModel<'p>>,
    times: TimeModel<'p>,
    rng: Rng,
    /// What is run before models decide.
    opening: Vec<Vec<u8>>,
    /// Runs asked for, and those among them out of doubt.
    asked: usize,
    doubted: usize,
    /// What was asked for last for the sake of its shape.
    shaped: Option<Vec<u8>>,
    /// Questions since the last one for a shape; those for shapes and for others since one of them was a gain.
    since: usize,
    vain: [usize; 2],
    /// Runs in a row beyond the tolerance.
    beyond: usize,
    stale: bool,
}

/// The default strategy.
pub fn guided(search: Search<'_>) -> impl Strategy + '_ {
    let problem = search.problem;
    let mut opening = vec![problem.all_low(), problem.identity()];
    opening.dedup();
    Guided {
        errors: ErrorModel::new(search),
        times: TimeModel::new(search),
        history: History::default(),
        rng: Rng::new(search.seed),
        opening,
        asked: 0,
        doubted: 0,
        shaped: None,
        since: 0,
        vain: [0, 0],
        beyond: 0,
        stale: false,
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
            self.stale = false;
        }
    }

    /// Whether times need not be run for.
    fn certain(&mut self) -> bool {
        self.learn();
        self.times.is_exact()
    }

    /// How much more than usual has to be promised.
    fn caution(&self) -> f64 {
        let low = self.search.problem.all_low();
        let lowest = self.history.best().is_some_and(|b| b.assignment == low);
        let unkept = if lowest { self.vain[1] } else { 0 };
        1.0 + IN_DOUBT * unkept as f64
    }

    fn proposer(&self, doubt: f64) -> Proposer<'_, '_> {
        let best = self.history.best().and_then(|e| e.outcome.time());
        Proposer {
            search: &self.search,
            errors: self.errors.as_ref(),
            times: &self.times,
            history: &self.history,
            // Without anything within the tolerance, whatever is within it is a gain.
            best: best.unwrap_or(2.0),
            doubt,
        }
    }

    fn propose(&mut self, doubt: f64) -> Option<Proposal> {
        self.learn();
        let mut rng = self.rng.clone();
        let found = self.proposer(doubt).propose(&mut rng);
        self.rng = rng;
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
        if self.since + 1 < every {
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
        let all: Vec<Vec<u8>> = one.iter().cloned().chain(two).map(|c| c.1).collect();
        let proposer = self.proposer(1.0);
        let mut top: Option<(Vec<u8>, f64)> = None;
        for a in all.into_iter().take(MOST_SHAPES) {
            let value = proposer.value(&a);
            if self.history.get(&a).is_none() && top.as_ref().is_none_or(|t| value > t.1) {
                top = Some((a, value));
            }
        }
        top.map(|t| t.0)
    }

    /// Asks for something for the sake of its shape.
    fn shaped(&mut self, a: Vec<u8>) -> Step {
        self.asked += 1;
        self.shaped = Some(a.clone());
        Step::Evaluate(a)
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
        let best = self.history.best()?.assignment.clone();
        let (low, identity) = (
            self.search.problem.all_low(),
            self.search.problem.identity(),
        );
        let free = low.iter().zip(&identity).filter(|(l, i)| l != i).count();
        if free <= FEW {
            return None;
        }
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

impl Strategy for Guided<'_> {
    fn ask(&mut self) -> Step {
        if let Some(a) = self.opening.pop() {
            return Step::Evaluate(a);
        }
        if let Some(a) = self.turn() {
            return self.shaped(a);
        }
        if let Some(a) = self.misled() {
            self.asked += 1;
            return Step::Evaluate(a);
        }
        let best = self.history.best().and_then(|e| e.outcome.time());
        let shapes = self.search.problem.variables.iter().any(|v| v.unordered);
        let part = match shapes {
            true => WORTHWHILE_SHAPE,
            false if self.certain() => WORTHWHILE_EXACT,
            false => WORTHWHILE * self.caution(),
        };
        let enough = part * best.unwrap_or(1.0);
        let Some(p) = self.propose(1.0) else {
            return Step::Done(Reason::Exhausted);
        };
        if p.gain >= enough {
            self.asked += 1;
            return Step::Evaluate(p.assignment);
        }
        if self.doubted as f64 <= DOUBTS * self.asked as f64
            && let Some(p) = self.propose(DOUBT).filter(|p| p.gain >= enough)
        {
            self.doubted += 1;
            return Step::Evaluate(p.assignment);
        }
        if let Some(a) = self.split() {
            self.asked += 1;
            return Step::Evaluate(a);
        }
        // Shapes that gained nothing make those that were not tried look like them.
        if self.vain[0] <= IN_VAIN
            && let Some(a) = self.shape()
        {
            return self.shaped(a);
        }
        Step::Done(Reason::Bracketed)
    }
    fn tell(&mut self, a: &[u8], o: &Outcome) {
        let before = self.history.best().and_then(|e| e.outcome.time());
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
        let shape = self.shaped.take().is_some_and(|s| s == a);
        // The opening is nobody's turn.
        let turn = usize::from(self.asked + self.doubted > 0);
        self.since = if shape { 0 } else { self.since + turn };
        let vain = &mut self.vain[usize::from(!shape)];
        *vain = if gained { 0 } else { *vain + 1 };
    }
    fn history(&self) -> &History {
        &self.history
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::{Level, NoModels, Problem, Variable};
    use crate::session::run;

    fn variable(name: &str, levels: usize, unordered: bool) -> Variable {
        let all = (0..levels).map(|l| Level::named(format!("{name} {l}")));
        Variable {
            unordered,
            ..Variable::new(name, all.collect())
        }
    }

    /// So many variables of two formats.
    fn formats(n: usize) -> Vec<Variable> {
        (0..n)
            .map(|i| variable(&format!("v{i}"), 2, false))
            .collect()
    }

    /// A search that knows nothing.
    fn blind(problem: &Problem, budget: usize) -> Search<'_> {
        Search {
            problem,
            models: &NoModels,
            seed: 1,
            budget,
        }
    }

    /// Every lowered variable is too inaccurate; shape 5 is faster.
    fn outcome(a: &[u8]) -> Outcome {
        let lowered = a[..20].iter().filter(|l| **l > 0).count() as f64;
        let shape = [1.0, 1.1, 0.97, 1.2, 1.05, 0.9, 1.0, 1.3][a[20] as usize];
        Outcome::ran(
            1e-12 + lowered,
            shape * (1.0 - 0.02 * lowered) * [1.0, 0.99][a[21] as usize],
        )
    }

    #[test]
    fn shapes_gain_where_precision_does_not() {
        let mut all = formats(20);
        all.push(variable("shape", 8, true));
        all.push(variable("block size", 2, true));
        let problem = Problem::precision(all, Vec::new(), 1e-6);
        let search = blind(&problem, 32);
        let mut s = guided(search);
        let done = run(&problem, &mut s, 32, outcome);
        let best = done.best.expect("a plan within the tolerance");
        assert!(best.assignment[..20].iter().all(|l| *l == 0));
        assert!(best.outcome.time().is_some_and(|t| t <= 0.9), "{best:?}");
    }

    #[test]
    fn what_one_variable_spoils_is_found_in_parts() {
        let problem = Problem::precision(formats(16), Vec::new(), 1e-6);
        let search = blind(&problem, 24);
        // Variable 3 loses everything, and the others nothing.
        let outcome = |a: &[u8]| {
            let lowered = a.iter().filter(|l| **l > 0).count() as f64;
            let error = if a[3] > 0 { 0.1 } else { 1e-12 };
            Outcome::ran(error, 1.0 - 0.03 * lowered)
        };
        let done = run(&problem, &mut guided(search), 24, outcome);
        let best = done.best.expect("a plan within the tolerance");
        assert_eq!(best.assignment[3], 0);
        assert!(best.outcome.time().is_some_and(|t| t < 0.77), "{best:?}");
    }

    #[test]
    fn errors_that_do_not_add_up_are_found_in_parts() {
        let problem = Problem::precision(formats(48), Vec::new(), 1e-3);
        // Any of ten in the middle gives the same error, however many of them; the others give none. Models that add up
        // see nothing change near everything low.
        let outcome = |a: &[u8]| {
            let lowered = a.iter().filter(|l| **l > 0).count() as f64;
            let bad = a[19..29].iter().any(|l| *l > 0);
            let casts = a.windows(2).filter(|w| w[0] != w[1]).count() as f64;
            let error = if bad { 4e-3 } else { 1e-11 };
            Outcome::ran(error, 1.0 - 0.01 * lowered + 0.001 * casts)
        };
        let done = run(&problem, &mut guided(blind(&problem, 25)), 25, outcome);
        let best = done.best.expect("a plan within the tolerance");
        assert!(best.outcome.time().is_some_and(|t| t < 0.68), "{best:?}");
    }

    #[test]
    fn where_everything_can_be_low_the_search_ends_soon() {
        let problem = Problem::precision(formats(40), Vec::new(), 1e-3);
        let search = blind(&problem, 30);
        // All passes; one variable has nearly all of the gain, and the rest is less than times repeat to.
        let outcome = |a: &[u8]| {
            let lowered = a[1..].iter().filter(|l| **l > 0).count() as f64;
            let sum: usize = a
                .iter()
                .enumerate()
                .map(|(i, l)| i * i * usize::from(*l))
                .sum();
            let noise = (sum % 17) as f64 * 1e-4;
            Outcome::ran(1e-4, 1.0 - 0.45 * f64::from(a[0]) - lowered * 1e-3 + noise)
        };
        let mut s = guided(search);
        let done = run(&problem, &mut s, 30, outcome);
        let best = done.best.expect("a plan within the tolerance");
        assert!(best.outcome.time().is_some_and(|t| t < 0.52));
        let executed = s.history().all().len();
        assert!(executed <= 8, "{executed} executions");
    }

    /// Predicts what runs then take, or nearly.
    struct Told(f64);

    fn told(a: &[u8]) -> f64 {
        let gain: f64 = a
            .iter()
            .enumerate()
            .map(|(i, l)| f64::from(*l) * (1 + i % 4) as f64)
            .sum();
        let casts = a.windows(2).filter(|w| w[0] != w[1]).count() as f64;
        1.0 - 0.009 * gain + 0.011 * casts
    }

    impl crate::problem::Models for Told {
        fn time(&self, a: &[u8]) -> Option<f64> {
            Some(told(a))
        }
    }

    /// Executions, and the time found, where runs are slower than predicted by this part and each of the first five
    /// variables loses so much of the tolerance.
    fn with_predictions(off: f64, each: f64) -> (usize, f64) {
        let problem = Problem::precision(formats(14), Vec::new(), 1e-6);
        let models = Told(off);
        let search = Search {
            problem: &problem,
            models: &models,
            seed: 1,
            budget: 25,
        };
        let mut s = guided(search);
        let done = run(&problem, &mut s, 25, |a| {
            let lost: f64 = a.iter().take(5).map(|l| f64::from(*l)).sum();
            let lowered = a.iter().any(|l| *l > 0);
            let time = told(a) * if lowered { 1.0 + models.0 } else { 1.0 };
            Outcome::ran(1e-12 + 1e-6 * each * lost, time)
        });
        let best = done.best.expect("a plan within the tolerance");
        (done.executed.len(), best.outcome.time().expect("a time"))
    }

    #[test]
    fn times_that_are_predictions_are_not_run_for() {
        // Two of the first five may be low, and all others.
        let every = crate::strategies::every(&Problem::precision(formats(14), Vec::new(), 1e-6));
        let passes = |a: &Vec<u8>| a[..5].iter().filter(|l| **l > 0).count() <= 2;
        let optimum = every.into_iter().filter(passes).map(|a| told(&a));
        let optimum = optimum.fold(f64::INFINITY, f64::min);
        let (_, found) = with_predictions(0.0, 0.4);
        assert!(found <= optimum * 1.001, "{found} of {optimum}");
        // Where everything passes, the fastest prediction is the answer, and one run says so.
        let (exact, _) = with_predictions(0.0, 0.0);
        let (doubted, _) = with_predictions(0.02, 0.0);
        assert!(exact == 1 && doubted > 1, "{exact} against {doubted}");
    }

    #[test]
    fn without_shapes_nothing_is_asked_for_their_sake() {
        let problem = Problem::precision(formats(4), Vec::new(), 1e-6);
        let search = blind(&problem, 8);
        let mut s = Guided {
            asked: 0,
            shaped: None,
            since: SHAPES,
            vain: [0, 0],
            history: History::default(),
            errors: ErrorModel::new(search),
            times: TimeModel::new(search),
            rng: Rng::new(1),
            opening: Vec::new(),
            doubted: 0,
            beyond: 0,
            stale: false,
            search,
        };
        s.tell(&[0, 0, 0, 0], &Outcome::ran(0.0, 1.0));
        assert_eq!((s.turn(), s.shape()), (None, None));
    }
}
