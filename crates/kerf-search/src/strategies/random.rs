//! Assignments at random, none twice.
use crate::history::History;
use crate::outcome::Outcome;
use crate::problem::{Assignment, Problem, Search};
use crate::rng::Rng;
use crate::strategy::{Reason, Strategy, StrategyStep};

/// Points that are said to come next.
const LIKELY: usize = 64;

/// Draws of something known in a row after which a space counts as exhausted.
const TRIES: usize = 1000;

struct Random<'p> {
    search: Search<'p>,
    rng: Rng,
    history: History,
    /// Points that exist, in random order, the next one last.
    left: Option<Vec<Assignment>>,
}

/// An assignment at random, over what is allowed.
pub fn draw(problem: &Problem, rng: &mut Rng) -> Assignment {
    if let Some(p) = problem.points.as_ref().and_then(|p| rng.pick(p)) {
        return p.clone();
    }
    let one = |v: &crate::problem::Variable| {
        let allowed: Vec<u8> = v.allowed().collect();
        rng.pick(&allowed).copied().unwrap_or(0)
    };
    problem.variables.iter().map(one).collect()
}

/// Uniformly at random, without repetition.
pub fn random(search: Search<'_>) -> impl Strategy + '_ {
    let mut rng = Rng::new(search.seed);
    let left = search.problem.points.clone().map(|mut points| {
        rng.shuffle(&mut points);
        points
    });
    Random {
        search,
        rng,
        history: History::default(),
        left,
    }
}

impl Strategy for Random<'_> {
    fn ask(&mut self) -> StrategyStep {
        if let Some(left) = &mut self.left {
            return match left.pop() {
                Some(a) => StrategyStep::Evaluate(a),
                None => StrategyStep::Done(Reason::Exhausted),
            };
        }
        for _ in 0..TRIES {
            let a = draw(self.search.problem, &mut self.rng);
            if self.history.get(&a).is_none() {
                return StrategyStep::Evaluate(a);
            }
        }
        StrategyStep::Done(Reason::Exhausted)
    }
    fn tell(&mut self, a: &[u8], o: &Outcome) {
        self.history.note(self.search.problem, a, o);
    }
    fn likely(&self) -> Vec<Assignment> {
        let left = self.left.iter().flatten();
        left.rev().take(LIKELY).cloned().collect()
    }
    fn history(&self) -> &History {
        &self.history
    }
}
