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

/// The search ends when no assignment is expected to gain this much of the time.
const WORTHWHILE: f64 = 0.001;

/// So many proposals in a row must be worth too little.
const QUIET: usize = 2;

struct Guided<'p> {
    search: Search<'p>,
    history: History,
    errors: Option<ErrorModel<'p>>,
    times: TimeModel<'p>,
    rng: Rng,
    /// What is run before models decide.
    opening: Vec<Vec<u8>>,
    quiet: usize,
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
        quiet: 0,
        stale: false,
        search,
    }
}

impl Guided<'_> {
    fn propose(&mut self) -> Option<Proposal> {
        if self.stale {
            self.times.learn(self.history.all());
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
        };
        proposer.propose(&mut self.rng)
    }
}

impl Strategy for Guided<'_> {
    fn ask(&mut self) -> Step {
        if let Some(a) = self.opening.pop() {
            return Step::Evaluate(a);
        }
        let Some(p) = self.propose() else {
            return Step::Done(Reason::Exhausted);
        };
        let best = self.history.best().and_then(|e| e.outcome.time());
        match p.gain < WORTHWHILE * best.unwrap_or(1.0) {
            true => self.quiet += 1,
            false => self.quiet = 0,
        }
        if self.quiet >= QUIET {
            return Step::Done(Reason::Bracketed);
        }
        Step::Evaluate(p.assignment)
    }
    fn tell(&mut self, a: &[u8], o: &Outcome) {
        self.stale |= self.history.note(self.search.problem, a, o);
    }
    fn history(&self) -> &History {
        &self.history
    }
}
