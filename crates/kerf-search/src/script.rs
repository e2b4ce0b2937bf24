//! Strategies written as straight programs.
//!
//! Delta debugging or a genetic algorithm reads best as a loop that evaluates and goes on. Such a program
//! runs from its start at every question, over the outcomes that are known; the first one that is missing
//! is the question. So the same outcomes give the same questions by construction, and nothing has to be
//! saved. The repeated work is small beside any execution.
use crate::history::History;
use crate::outcome::Outcome;
use crate::problem::{Assignment, Search};
use crate::strategy::{Reason, Strategy, StrategyStep};

/// Questions that are foreseen, each by a run of the program.
const FORESEEN: usize = 8;

/// How many times the best time that of a foreseen question is taken to be.
const SLOW: f64 = 1e3;

/// Outcomes that a program needs and that are not known yet.
pub struct Missing(Vec<Assignment>);

/// What a program sees: outcomes, if they are known.
pub struct ScriptProbe<'h> {
    history: &'h History,
}

impl ScriptProbe<'_> {
    /// The outcome of one assignment.
    pub fn one(&self, a: &[u8]) -> Result<Outcome, Missing> {
        let known = self.history.get(a);
        known.ok_or_else(|| Missing(vec![a.to_vec()]))
    }
    /// The outcomes of several, asked for together.
    pub fn all(&self, of: &[Assignment]) -> Result<Vec<Outcome>, Missing> {
        let mut missing: Vec<Assignment> = Vec::new();
        let mut out = Vec::new();
        for a in of {
            match self.history.get(a) {
                Some(o) => out.push(o),
                None if missing.contains(a) => {}
                None => missing.push(a.clone()),
            }
        }
        match missing.is_empty() {
            true => Ok(out),
            false => Err(Missing(missing)),
        }
    }
}

/// A strategy as a program.
pub trait Script {
    /// Runs from the start; gives why it ended, or what it has to know first.
    fn play(&self, search: &Search, probe: &ScriptProbe) -> Result<Reason, Missing>;
}

/// A program as a strategy.
pub struct Scripted<'p, S> {
    search: Search<'p>,
    script: S,
    history: History,
}

impl<'p, S: Script> Scripted<'p, S> {
    /// Wraps a program.
    pub fn new(search: Search<'p>, script: S) -> Scripted<'p, S> {
        Scripted {
            search,
            script,
            history: History::default(),
        }
    }
}

impl<S: Script> Strategy for Scripted<'_, S> {
    fn ask(&mut self) -> StrategyStep {
        let probe = ScriptProbe {
            history: &self.history,
        };
        match self.script.play(&self.search, &probe) {
            Ok(reason) => StrategyStep::Done(reason),
            Err(Missing(mut all)) if all.len() == 1 => StrategyStep::Evaluate(all.remove(0)),
            Err(Missing(all)) => StrategyStep::Batch(all),
        }
    }
    /// The questions that come if what is asked for turns out to be slow: most of what is tried is no gain. Of a generation,
    /// which is asked for together, the next one is anybody's guess.
    fn likely(&self) -> Vec<Assignment> {
        let best = self.history.best().and_then(|e| e.outcome.time());
        let slow = Outcome::ran(0.0, best.unwrap_or(1.0) * SLOW);
        let mut history = self.history.clone();
        let mut all = Vec::new();
        for _ in 0..FORESEEN {
            let probe = ScriptProbe { history: &history };
            let Err(Missing(some)) = self.script.play(&self.search, &probe) else {
                break;
            };
            let ends = some.len() > 1;
            some.iter().for_each(|a| history.expect(a.clone(), slow));
            all.extend(some);
            if ends {
                break;
            }
        }
        all
    }
    fn tell(&mut self, a: &[u8], o: &Outcome) {
        self.history.note(self.search.problem, a, o);
    }
    fn history(&self) -> &History {
        &self.history
    }
}
