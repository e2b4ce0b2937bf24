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

/// Then it doubts the error model by this factor, and goes on while that makes something worthwhile.
const DOUBT: f64 = 2.0;

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
        stale: false,
        search,
    }
}

impl Guided<'_> {
    fn propose(&mut self, doubt: f64) -> Option<Proposal> {
        if self.stale {
            self.times.learn(self.history.all());
            self.times.refit();
            if let Some(e) = &mut self.errors {
                e.learn(self.history.all());
            }
            self.stale = false;
        }
        let best = self.history.best().and_then(|e| e.outcome.time());
        let proposer = Proposer {
            search: &self.search,
            errors: self.errors.as_ref(),
            times: &self.times,
            history: &self.history,
            // Without anything within the tolerance, whatever is within it is a gain.
            best: best.unwrap_or(2.0),
            doubt,
        };
        proposer.propose(&mut self.rng)
    }
}

impl Strategy for Guided<'_> {
    fn ask(&mut self) -> Step {
        if let Some(a) = self.opening.pop() {
            return Step::Evaluate(a);
        }
        let best = self.history.best().and_then(|e| e.outcome.time());
        let enough = WORTHWHILE * best.unwrap_or(1.0);
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
        Step::Done(Reason::Bracketed)
    }
    fn tell(&mut self, a: &[u8], o: &Outcome) {
        self.stale |= self.history.note(self.search.problem, a, o);
    }
    fn history(&self) -> &History {
        &self.history
    }
}
