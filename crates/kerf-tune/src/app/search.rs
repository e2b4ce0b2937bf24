//! The search over an application's plans: each evaluated once, kept as it comes; kernels alone, for comparison.
use super::error::AppError;
use super::evaluate::{App, kept};
use super::event::AppEvent;
use super::request::TimeBy;
use super::result::{Local, LocalKernel};
use super::subject;
use super::weighted::AppModels;
use crate::evaluate::{Input, PlanEvaluation};
use crate::front::FrontPoint;
use crate::layouts::{LayoutSearch, LayoutTrials, without_layouts};
use crate::models::Predictions;
use crate::prediction::TimePredictor;
use crate::store::{Phase, Store};
use crate::subject::Subject;
use crate::tunable::Tunable;
use kerf_exec::replay::WorstNumber;
use kerf_search::{Assignment, Outcome, Problem, Reason, Search, SearchSession};
use std::collections::BTreeMap;

/// The fastest point within a tolerance that is faster than the program.
pub(super) fn fastest(points: &[FrontPoint], tolerance: f64) -> Option<FrontPoint> {
    points
        .iter()
        .filter(|p| p.error <= tolerance && p.time < 1.0)
        .min_by(|a, b| a.time.total_cmp(&b.time).then(a.error.total_cmp(&b.error)))
        .cloned()
}

const INPUT: Input = Input {
    seed: 0,
    perturb: None,
};

/// A search under way.
pub(super) struct Searcher<'s, 'w> {
    pub app: &'s App<'s>,
    pub tunable: &'s Tunable,
    pub subject: &'s Subject,
    pub models: &'s AppModels<'s>,
    pub db: Store,
    /// What ran, and the time that the search went by.
    pub known: BTreeMap<Assignment, (PlanEvaluation, Option<f64>)>,
    /// The least error of all that ran, and the number that was furthest off in it (is it small?).
    pub nearest: Option<(f64, WorstNumber)>,
    /// Evaluations that this command made, and their seconds.
    pub made: (usize, f64),
    pub watch: &'w mut (dyn FnMut(&AppEvent) + 'w),
}

impl Searcher<'_, '_> {
    /// Takes over what the folder has.
    pub fn remember(&mut self) -> Result<(), AppError> {
        for phase in [Phase::Search, Phase::Layout, Phase::Probe] {
            for (a, e) in self.db.all(phase)? {
                let time = e.predicted;
                self.known.insert(a, (e, time));
            }
        }
        Ok(())
    }

    fn outcome(&self, a: &Assignment) -> Option<Outcome> {
        let (e, time) = self.known.get(a)?;
        Some(match (e.error, time) {
            (Some(error), Some(time)) if e.failure.is_none() => Outcome::ran(error, *time),
            _ => Outcome::Failed,
        })
    }

    fn evaluate(&mut self, phase: Phase, a: &Assignment, done: usize) -> Result<Outcome, AppError> {
        if let Some(o) = self.outcome(a) {
            return Ok(o);
        }
        if let Some(twin) = self.twin(a) {
            let (e, time) = self.known[&twin].clone();
            self.db.put(phase, a, &INPUT, &e, time)?;
            self.known.insert(a.clone(), (e, time));
            return Ok(self.outcome(a).unwrap_or(Outcome::Failed));
        }
        let held = subject::held(self.subject, self.tunable, a);
        let e = self
            .app
            .evaluate(&self.tunable.plan(self.subject, a), &held)?;
        self.made = (self.made.0 + 1, self.made.1 + e.wall_s);
        let time = match self.app.request.time {
            TimeBy::Predicted => self.models.judge.predict(a),
            _ => e.time,
        };
        if let Ok(error) = e.error.as_ref().copied()
            && self.nearest.as_ref().is_none_or(|n| error < n.0)
        {
            self.nearest = Some((error, e.worst.clone()));
        }
        let mut k = kept(&e, self.app.request.device);
        // What the search went by, so that it can go on from it.
        k.predicted = time;
        self.db.put(phase, a, &INPUT, &k, time)?;
        self.known.insert(a.clone(), (k, time));
        (self.watch)(&AppEvent::Evaluated(
            done + 1,
            e.error.as_ref().copied(),
            time,
        ));
        Ok(self.outcome(a).unwrap_or(Outcome::Failed))
    }

    /// Another assignment that stands for the same plan and is known.
    fn twin(&self, a: &Assignment) -> Option<Assignment> {
        if self.tunable.math.is_empty() && self.tunable.made.is_empty() {
            return None;
        }
        let plan = |a: &Assignment| {
            let held = subject::held(self.subject, self.tunable, a);
            (self.tunable.plan(self.subject, a), held)
        };
        let mine = plan(a);
        self.known.keys().find(|b| plan(b) == mine).cloned()
    }

    /// A plan that the program does not confirm counts as one that failed, from here on.
    pub fn reject(&mut self, p: &FrontPoint, why: &str) -> Result<(), AppError> {
        (self.watch)(&AppEvent::Rejected(1.0 / p.time, why));
        if let Some((e, time)) = self.known.get_mut(&p.assignment) {
            e.failure = Some(format!("not confirmed by the program: {why}"));
            self.db.put(Phase::Final, &p.assignment, &INPUT, e, *time)?;
        }
        Ok(())
    }

    /// Runs the strategy to its end: why, and after how many evaluations.
    pub fn search(&mut self, phase: Phase, problem: &Problem) -> Result<(Reason, usize), AppError> {
        let request = self.app.request;
        let problem = &without_layouts(self.tunable, problem);
        let models = self.models;
        let predictions = Predictions {
            cost: &models.guide,
            code: None,
            // Where nothing is counted it is a static score, with bytes and parts of the run time.
            published: None,
        };
        let mut strategy = request.strategy.start(Search {
            problem,
            models: &predictions,
            seed: request.seed,
            budget: request.budget,
        })?;
        let mut session = SearchSession::new(problem, strategy.as_mut(), request.budget);
        let mut late = false;
        while let Some(a) = session.wanted() {
            if self.app.over() {
                late = true;
                break;
            }
            let o = self.evaluate(phase, &a, session.executed().len())?;
            session.tell(&a, o);
        }
        let executed = session.executed().len();
        let reason = session.finish().reason;
        Ok((if late { Reason::Budget } else { reason }, executed))
    }

    /// Elements of threads and the layout of code, on the fastest plans: how many evaluations that took.
    pub fn settle_layouts(&mut self, problem: &Problem) -> Result<usize, AppError> {
        match self.tunable.layouts().next().is_some() {
            true => LayoutSearch::new(self, problem).settle(),
            false => Ok(0),
        }
    }

    /// Everything that ran, the program itself first.
    pub fn points(&self, problem: &Problem) -> Vec<FrontPoint> {
        let own = FrontPoint {
            assignment: problem.identity(),
            time: 1.0,
            error: 0.0,
        };
        let ran = self.known.iter().filter_map(|(a, (e, time))| {
            Some(FrontPoint {
                assignment: a.clone(),
                time: (*time)?,
                error: e.error.filter(|_| e.failure.is_none())?,
            })
        });
        std::iter::once(own).chain(ran).collect()
    }

    /// Each kernel alone, then their plans together.
    pub fn local(&mut self, problem: &Problem) -> Result<Local, AppError> {
        let tolerance = self.app.request.tolerance;
        let mut together = problem.identity();
        let mut kernels = Vec::new();
        for (at, k) in self.subject.kernels.iter().enumerate() {
            // Memory that kernels share is none's alone.
            let mine = |g: usize| {
                let g = &self.tunable.groups[g];
                g.at == at && g.holds.iter().all(|p| p.at == at)
            };
            let mut alone = problem.clone();
            for (g, v) in alone.variables.iter_mut().enumerate() {
                if !mine(g) {
                    v.levels.iter_mut().skip(1).for_each(|l| l.veto = true);
                }
            }
            let free = |g: usize| problem.variables[g].levels.iter().skip(1).any(|l| !l.veto);
            let name = k.name.clone();
            if !(0..together.len()).any(|g| mine(g) && free(g)) {
                if (0..together.len()).any(|g| self.tunable.groups[g].at == at && free(g)) {
                    (self.watch)(&AppEvent::Shared(&name));
                }
                continue;
            }
            (self.watch)(&AppEvent::Alone(&name));
            let (_, evaluations) = self.search(Phase::Probe, &alone)?;
            let only = |p: &FrontPoint| {
                let all = p.assignment.iter().enumerate();
                all.filter(|(_, l)| **l > 0)
                    .all(|(g, _)| self.tunable.groups[g].at == at)
            };
            let points: Vec<FrontPoint> = self.points(problem).into_iter().filter(only).collect();
            let best = fastest(&points, tolerance);
            if let Some(b) = &best {
                for (to, l) in together.iter_mut().zip(&b.assignment) {
                    *to = (*to).max(*l);
                }
            }
            kernels.push(LocalKernel {
                name,
                speedup: best.as_ref().map_or(1.0, |b| 1.0 / b.time),
                error: best.as_ref().map_or(0.0, |b| b.error),
                evaluations,
            });
        }
        let changed = together != problem.identity();
        if changed {
            (self.watch)(&AppEvent::Together);
        }
        let (error, speedup) = match !changed {
            true => (Some(0.0), Some(1.0)),
            false => match self.evaluate(Phase::Probe, &together, 0)? {
                Outcome::Ran { error, time } => (Some(error), Some(1.0 / time)),
                _ => (None, None),
            },
        };
        Ok(Local {
            kernels,
            within: error.is_some_and(|e| e <= tolerance),
            error,
            speedup,
        })
    }
}

impl LayoutTrials for Searcher<'_, '_> {
    type Error = AppError;

    fn tunable(&self) -> &Tunable {
        self.tunable
    }

    fn fastest(&self) -> (Assignment, f64) {
        let own = vec![0; self.tunable.groups.len()];
        let tolerance = self.app.request.tolerance;
        let known = self.known.iter().filter_map(|(a, (e, time))| {
            let within = e.failure.is_none() && e.error.is_some_and(|e| e <= tolerance);
            Some((a, (*time).filter(|_| within)?))
        });
        let best = known.min_by(|a, b| a.1.total_cmp(&b.1));
        match best.filter(|b| b.1 < 1.0) {
            Some((a, time)) => (a.clone(), time),
            None => (own, 1.0),
        }
    }

    fn known_outcome(&self, a: &Assignment) -> Option<Outcome> {
        self.outcome(a)
    }

    fn known_plans(&self) -> Vec<Assignment> {
        self.known.keys().cloned().collect()
    }

    fn is_minor(&self, _kernel: &str) -> bool {
        // Only those that take most of the time are tuned.
        false
    }

    fn predictor(&self) -> Option<&dyn TimePredictor> {
        let predicts = matches!(self.app.request.time, TimeBy::Predicted);
        let judge: &dyn TimePredictor = &self.models.judge;
        predicts.then_some(judge)
    }

    fn run(
        &mut self,
        all: &[Assignment],
        _done: usize,
        _likely: &[Assignment],
    ) -> Result<(), AppError> {
        for a in all {
            if self.app.over() {
                break;
            }
            self.evaluate(Phase::Layout, a, self.known.len())?;
        }
        Ok(())
    }
}
