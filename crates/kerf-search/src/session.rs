//! The driver: each assignment is evaluated once, executions are counted, a broken search goes on.
use crate::history::Evaluation;
use crate::outcome::Outcome;
use crate::problem::{Assignment, Problem};
use crate::strategy::{Reason, Strategy, StrategyStep};
use std::collections::{BTreeMap, VecDeque};

/// A strategy that asks this often for what is known already goes round in circles.
const CIRCLES: usize = 10_000;

/// A search under way.
pub struct SearchSession<'s> {
    strategy: &'s mut dyn Strategy,
    budget: usize,
    known: BTreeMap<Assignment, Outcome>,
    /// The baseline, which costs no execution.
    free: Option<Assignment>,
    /// Asked for by the strategy and not told to it yet.
    pending: VecDeque<Assignment>,
    /// Questions that a strategy is asked before it is told the answer of the first of them.
    lag: usize,
    /// Why the strategy has nothing more to ask for, before it is told what is pending.
    idle: Option<Reason>,
    executed: Vec<Evaluation>,
    /// Assignments in `executed`, so that each is counted once.
    counted: BTreeMap<Assignment, ()>,
    circles: usize,
    ended: Option<Reason>,
}

/// How a search went.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchTrace {
    /// Everything executed, in order.
    pub executed: Vec<Evaluation>,
    /// Why it ended.
    pub reason: Reason,
    /// Its result.
    pub best: Option<Evaluation>,
}

impl<'s> SearchSession<'s> {
    /// Begins a search.
    pub fn new(
        problem: &Problem,
        strategy: &'s mut dyn Strategy,
        budget: usize,
    ) -> SearchSession<'s> {
        let mut known = BTreeMap::new();
        let free = problem.baseline.map(|o| {
            known.insert(problem.identity(), o);
            problem.identity()
        });
        SearchSession {
            strategy,
            budget,
            known,
            free,
            pending: VecDeque::new(),
            lag: 1,
            idle: None,
            executed: Vec::new(),
            counted: BTreeMap::new(),
            circles: 0,
            ended: None,
        }
    }

    /// The strategy is told the outcome of a question when it has asked this many, that one included, where it can do with
    /// that: while one is executed, the next are known, and can be made ready. It is always as many, however fast
    /// answers come, so that the questions do not depend on that.
    pub fn with_lag(mut self, lag: usize) -> SearchSession<'s> {
        if self.strategy.asks_ahead() {
            self.lag = lag.max(1);
        }
        self
    }

    /// Goes on where a search was broken off: what was recorded is not executed again. A strategy asks the
    /// same questions for the same answers, so that it comes to where it was.
    pub fn resume(&mut self, recorded: impl IntoIterator<Item = Evaluation>) {
        let new = recorded.into_iter().map(|e| (e.assignment, e.outcome));
        self.known.extend(new);
    }

    /// What to execute next; `None` at the end. Asked again without an answer, it says the same.
    pub fn wanted(&mut self) -> Option<Assignment> {
        while self.ended.is_none() {
            let Some(a) = self.pending.front().cloned() else {
                self.ask();
                continue;
            };
            if self.known.contains_key(&a) {
                self.ask_ahead();
            }
            let free = self.free.as_ref() == Some(&a) || self.counted.contains_key(&a);
            if !free && self.executed.len() >= self.budget {
                self.ended = Some(Reason::Budget);
                break;
            }
            match self.known.get(&a).copied() {
                None => return Some(a),
                Some(o) => self.answer(a, o, free),
            }
        }
        None
    }

    /// What may be executed at once, [`Session::wanted`] first: the unknown rest of what the strategy asked
    /// for together, as far as the budget goes.
    pub fn open(&mut self, most: usize) -> Vec<Assignment> {
        if self.wanted().is_none() {
            return Vec::new();
        }
        let left = self.budget.saturating_sub(self.executed.len());
        let mut new: Vec<Assignment> = Vec::new();
        let mut counted = 0;
        for a in &self.pending {
            if new.len() >= most || counted >= left {
                break;
            }
            let free = self.free.as_ref() == Some(a) || self.counted.contains_key(a);
            if free || new.contains(a) {
                continue;
            }
            counted += 1;
            if !self.known.contains_key(a) {
                new.push(a.clone());
            }
        }
        new
    }

    /// Asks for what comes after what is wanted now, before that is answered. A strategy with a lag thinks about it while
    /// something else is executed.
    pub fn ask_ahead(&mut self) {
        let left = self.budget.saturating_sub(self.executed.len());
        while self.ended.is_none() && self.idle.is_none() && self.pending.len() < self.lag.min(left)
        {
            self.ask();
        }
    }

    fn ask(&mut self) {
        match self.strategy.ask() {
            StrategyStep::Evaluate(a) => self.pending.push_back(a),
            StrategyStep::Batch(all) if all.is_empty() => self.circles += CIRCLES,
            StrategyStep::Batch(all) => self.pending.extend(all),
            // What is pending may bring it to more.
            StrategyStep::Done(reason) if !self.pending.is_empty() => self.idle = Some(reason),
            StrategyStep::Done(reason) => self.ended = Some(reason),
        }
        if self.circles >= CIRCLES {
            self.ended = Some(Reason::Stalled);
        }
    }

    fn answer(&mut self, a: Assignment, outcome: Outcome, free: bool) {
        self.pending.pop_front();
        self.idle = None;
        self.strategy.tell(&a, &outcome);
        if free {
            self.circles += 1;
            return;
        }
        self.circles = 0;
        self.counted.insert(a.clone(), ());
        self.executed.push(Evaluation {
            assignment: a,
            outcome,
        });
    }

    /// The outcome of an execution.
    pub fn tell(&mut self, a: &[u8], o: Outcome) {
        self.known.insert(a.to_vec(), o);
    }

    /// Everything executed so far, recorded evaluations that were asked for included.
    pub fn executed(&self) -> &[Evaluation] {
        &self.executed
    }

    /// What may well be wanted after what is wanted now: the rest of what was asked for together, and what the strategy
    /// takes for likely.
    pub fn likely(&self) -> Vec<Assignment> {
        let rest = self.pending.iter().skip(1).cloned();
        let all = rest.chain(self.strategy.likely());
        let now = self.pending.front();
        let next = |a: &Assignment| !self.known.contains_key(a) && now != Some(a);
        all.filter(next).collect()
    }

    /// The best so far.
    pub fn best(&self) -> Option<&Evaluation> {
        self.strategy.best()
    }

    /// How it went. A session that was not driven to its end counts as out of budget.
    pub fn finish(self) -> SearchTrace {
        SearchTrace {
            best: self.strategy.best().cloned(),
            reason: self.ended.unwrap_or(Reason::Budget),
            executed: self.executed,
        }
    }
}

/// Searches to the end.
pub fn run(
    problem: &Problem,
    strategy: &mut dyn Strategy,
    budget: usize,
    mut evaluate: impl FnMut(&[u8]) -> Outcome,
) -> SearchTrace {
    let mut session = SearchSession::new(problem, strategy, budget);
    while let Some(a) = session.wanted() {
        let o = evaluate(&a);
        session.tell(&a, o);
    }
    session.finish()
}

/// A record that this strategy did not make.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error(
    "evaluation {at} of the record is {recorded:?}, and the strategy asks for {asked:?}; \
     the record is of another strategy, seed or problem"
)]
pub struct Diverged {
    /// Which one.
    pub at: usize,
    /// What the record has.
    pub recorded: Assignment,
    /// What the strategy wants there.
    pub asked: Option<Assignment>,
}

/// Brings a new strategy to where a record ends, and checks that the record is its own.
pub fn replay(
    problem: &Problem,
    strategy: &mut dyn Strategy,
    recorded: &[Evaluation],
) -> Result<(), Diverged> {
    let mut session = SearchSession::new(problem, strategy, recorded.len());
    for (at, e) in recorded.iter().enumerate() {
        let asked = session.wanted();
        if asked.as_ref() != Some(&e.assignment) {
            return Err(Diverged {
                at,
                recorded: e.assignment.clone(),
                asked,
            });
        }
        session.tell(&e.assignment, e.outcome);
    }
    // The last answer reaches the strategy with the next question.
    session.deliver();
    Ok(())
}

impl SearchSession<'_> {
    /// Tells the strategy what is pending and known, without asking it anything.
    fn deliver(&mut self) {
        while let Some(a) = self.pending.front().cloned() {
            let free = self.free.as_ref() == Some(&a) || self.counted.contains_key(&a);
            match self.known.get(&a).copied() {
                Some(o) => self.answer(a, o, free),
                None => break,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::{Level, NoModels, Search, Variable};
    use crate::strategies::exhaustive;

    #[test]
    fn what_is_open_at_once_is_what_would_be_wanted_one_by_one() {
        let levels = || vec![Level::named("f64"), Level::named("f32")];
        let variables = (0..3).map(|i| Variable::new(i.to_string(), levels()));
        let problem = Problem::precision(variables.collect(), Vec::new(), 1.0);
        let search = Search {
            problem: &problem,
            models: &NoModels,
            seed: 1,
            budget: 5,
        };
        let outcome = |a: &[u8]| Outcome::ran(0.0, 1.0 - 0.1 * f64::from(a[0]));
        let mut strategy = exhaustive(search).expect("small");
        let alone = run(&problem, &mut strategy, 5, outcome).executed;
        assert_eq!(alone.len(), 5);
        let mut strategy = exhaustive(search).expect("small");
        let mut session = SearchSession::new(&problem, &mut strategy, 5);
        // Known from before: counted, and not asked for again.
        session.resume([alone[1].clone()]);
        let mut asked = Vec::new();
        loop {
            let some = session.open(2);
            assert!(some.len() <= 2);
            if some.is_empty() {
                break;
            }
            // Answers may come in any order.
            for a in some.iter().rev() {
                session.tell(a, outcome(a));
            }
            asked.extend(some);
        }
        let trace = session.finish();
        assert_eq!(trace.executed, alone);
        assert_eq!(trace.reason, Reason::Budget);
        let expected = [0, 2, 3, 4].map(|i: usize| alone[i].assignment.clone());
        assert_eq!(asked, expected);
    }
}
