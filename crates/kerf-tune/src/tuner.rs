//! Evaluations of one search: what the strategy asks for, all kept as they come.
//!
//! * [`baseline`] is the program itself before the search, [`alone`] each group lowered by itself.
//! * [`choose`] goes from everything that ran to one plan, with [`finals`], the fastest plans measured once more, and
//!   [`demoted`], what goes with plans that failed on other inputs.
//! * [`raise`] finds what needs a wider format, where the program itself misses the tolerance.
//! * [`recorded`] is everything that ran as a search space of its own.
//! * [`layouts`] decides how many elements a thread computes, when the strategy has ended.
mod alone;
mod baseline;
pub(crate) mod choose;
mod demoted;
mod finals;
mod layouts;
pub(crate) mod raise;
mod recorded;

use crate::coded::Coded;
use crate::duration::SearchDuration;
use crate::error::TuneError;
use crate::evaluate::{EvaluationRequest as Run, Evaluator, Input, PlanEvaluation, Sampling};
use crate::event::{TuneEvent, Watch};
use crate::front::FrontPoint;
use crate::layouts::without_layouts;
use crate::models::Predictions;
use crate::precheck::SanitizerCheck;
use crate::prediction::{ErrorPredictor, TimePredictor};
use crate::program_check::ProgramCheck;
use crate::request::TuneRequest;
use crate::result::EnergyResult;
use crate::score::{StaticScore, Weights};
use crate::store::{self, Phase, Store, StoreError};
use crate::subject::Subject;
use crate::tunable::Tunable;
use crate::tuner::raise::{RaisedBase, Raising, TimesFromBase};
use kerf_pass::Plan;
use kerf_run::job::{Device, Energy};
use kerf_search::{Assignment, NoModels, Outcome, Problem, Reason, Search, SearchSession};
use std::collections::{BTreeMap, BTreeSet};

/// Questions that a strategy asks before it is told the outcome of the first, where a GPU measures: it thinks, and the code of
/// plans is made on other cores, while those before them are measured. On 17 cases of recorded tables guided is 1.1 % from
/// the optimum after 20 evaluations with 3, as with 1 (1.8 %), and 2 to 4 % with 6.
const LAG: usize = 3;

/// What is done while plans are evaluated.
#[derive(Default)]
pub(crate) struct Meanwhile<'m> {
    /// Plans that are likely to be asked for next, whose code is made.
    likely: &'m [Assignment],
    /// What this thread does.
    think: Option<&'m mut dyn FnMut()>,
}

/// A search under way.
pub(crate) struct Tuner<'t> {
    pub(crate) request: &'t TuneRequest,
    pub(crate) subject: &'t Subject,
    pub(crate) tunable: &'t Tunable,
    pub(crate) cost: &'t dyn TimePredictor,
    /// What judges plans where nothing is measured.
    pub(crate) judge: &'t dyn TimePredictor,
    /// Times from machine code, beside them.
    pub(crate) code: Option<&'t Coded<'t>>,
    /// Kernels that take hardly any of the time, by the names that plans have for them.
    pub(crate) minor_kernels: BTreeSet<String>,
    /// What AMPT-GA goes by.
    pub(crate) published: &'t dyn TimePredictor,
    /// What is known of errors, and which formats it forbids.
    pub(crate) errors: &'t dyn ErrorPredictor,
    pub(crate) evaluator: Evaluator,
    /// What evaluates plans on other inputs, where that is at other sizes.
    pub(crate) validating: Option<Evaluator>,
    pub(crate) store: Store,
    pub(crate) input: Input,
    /// Everything known on the tuning inputs.
    pub(crate) known: BTreeMap<Assignment, PlanEvaluation>,
    /// Plans that were measured once more, with more samples.
    pub(crate) finals: BTreeMap<Assignment, PlanEvaluation>,
    /// Finalists that measurement does not tell from the fastest of them.
    pub(crate) tied: Vec<Assignment>,
    /// Where the program itself misses the tolerance, what raising came to.
    pub(crate) raising: Option<Raising>,
    /// A plan has to give the program's own bits.
    pub(crate) same_bits: bool,
    /// The check for undefined behaviour, which may still run.
    pub(crate) check: ProgramCheck,
    pub(crate) warnings: Vec<String>,
    pub(crate) watch: &'t mut Watch<'t>,
}

/// An assignment as a point of time and error; none if it did not run, or has no time.
pub(crate) fn point(a: &Assignment, e: &PlanEvaluation, time: Option<f64>) -> Option<FrontPoint> {
    Some(FrontPoint {
        assignment: a.clone(),
        time: time?,
        error: e.error.filter(|_| e.failure.is_none())?,
    })
}

impl Tuner<'_> {
    /// The largest error, in the unit of the criteria.
    pub(crate) fn tolerance(&self) -> f64 {
        self.evaluator.criteria.tolerance
    }

    /// What a reader may want to know.
    pub(crate) fn note(&mut self, text: String) {
        (self.watch)(&TuneEvent::Note(&text));
        self.warnings.push(text);
    }

    /// What a reader must know.
    pub(crate) fn warn(&mut self, text: String) {
        (self.watch)(&TuneEvent::Warning(&text));
        self.warnings.push(text);
    }

    /// What the check for undefined behaviour comes to, which is kept. A fault is an error.
    pub(crate) fn checked(&mut self) -> Result<SanitizerCheck, TuneError> {
        let checked = self.check.end(self.watch)?;
        self.store.keep(store::CHECKED, &checked)?;
        Ok(checked)
    }

    /// Time over that of the program: measured, or predicted.
    pub(crate) fn time(&self, a: &Assignment, e: &PlanEvaluation) -> Option<f64> {
        match self.evaluator.job.device {
            Device::Cuda => {
                let e = self.finals.get(a).unwrap_or(e);
                e.timing.as_ref().map(|t| t.ratio)
            }
            Device::Cpu => self.judge.predict(a),
        }
    }

    /// An evaluation as the strategies see it.
    pub(crate) fn outcome(&self, a: &Assignment, e: &PlanEvaluation) -> Outcome {
        match (&e.failure, self.time(a, e)) {
            (None, Some(t)) => Outcome::ran(e.error.unwrap_or(f64::INFINITY), t),
            _ => Outcome::Failed,
        }
    }

    /// Assignments that stand for the same plan have the same outcome, and it is known.
    fn alike(&mut self, phase: Phase, all: &[Assignment]) -> Result<Vec<Assignment>, StoreError> {
        let plan = |a: &Assignment| self.tunable.plan(self.subject, a);
        let mut left = Vec::new();
        let mut found = Vec::new();
        for a in all {
            let mine = plan(a);
            match self.known.iter().find(|(b, _)| plan(b) == mine) {
                Some((_, e)) => found.push((a.clone(), e.clone())),
                None => left.push(a.clone()),
            }
        }
        for (a, e) in found {
            let time = self.time(&a, &e);
            self.store.put(phase, &a, &self.input, &e, time)?;
            self.known.insert(a, e);
        }
        Ok(left)
    }

    /// The fastest within the tolerance so far.
    pub(crate) fn best(&self) -> Option<FrontPoint> {
        let all = self.known.iter();
        let points = all.filter_map(|(a, e)| point(a, e, self.time(a, e)));
        points
            .filter(|p| p.error <= self.tolerance())
            .min_by(|a, b| a.time.total_cmp(&b.time).then(a.error.total_cmp(&b.error)))
    }

    /// Evaluates assignments that are not known, keeps them, and tells who watches.
    pub(crate) fn evaluate(
        &mut self,
        phase: Phase,
        all: &[Assignment],
        (done, budget): (usize, usize),
        meanwhile: Meanwhile,
    ) -> Result<(), StoreError> {
        let all = &match self.tunable.math.is_empty() && self.tunable.made.is_empty() {
            true => all.to_vec(),
            false => self.alike(phase, all)?,
        };
        let plan = |a: &Assignment| self.tunable.plan(self.subject, a);
        let requests: Vec<Run> = all
            .iter()
            .enumerate()
            .map(|(i, a)| Run {
                plan: plan(a),
                input: self.input,
                timed: Sampling::UntilSteady,
                energy_s: 0.0,
                order: 0,
                ahead: all[i + 1..]
                    .iter()
                    .chain(meanwhile.likely)
                    .map(plan)
                    .collect(),
            })
            .collect();
        let mut best = self.best().map(|p| (p.time, p.error));
        let tolerance = self.tolerance();
        let cuda = self.evaluator.job.device == Device::Cuda;
        let model = match cuda {
            true => self.cost,
            false => self.judge,
        };
        model.prepare(all);
        let predicted: Vec<Option<f64>> = all.iter().map(|a| model.predict(a)).collect();
        let bits = self.same_bits.then(|| {
            let own = vec![0; self.tunable.groups.len()];
            self.known.get(&own).map(|e| e.digests.clone())
        });
        let bits = bits.flatten();
        let (store, known, watch, input) = (
            &mut self.store,
            &mut self.known,
            &mut self.watch,
            self.input,
        );
        let mut made = done;
        let parallel = self.evaluator.parallel();
        let done = |i: usize, mut e: PlanEvaluation| {
            e.predicted = predicted[i];
            if e.failure.is_none() && bits.as_ref().is_some_and(|b| *b != e.digests) {
                e.failure = Some("the outputs have other bits than the program's own".into());
            }
            let time = match cuda {
                true => e.timing.as_ref().map(|t| t.ratio),
                false => predicted[i],
            };
            store.put(phase, &all[i], &input, &e, time)?;
            made += 1;
            if let (true, Some(t), Some(error)) = (e.accepted(tolerance), time, e.error)
                && best.is_none_or(|(b, _)| t < b)
            {
                best = Some((t, error));
            }
            let left = budget.saturating_sub(made) as f64;
            known.insert(all[i].clone(), e.clone());
            let mean = known.values().map(|e| e.wall_s).sum::<f64>() / known.len() as f64;
            watch(&TuneEvent::Evaluated {
                phase,
                done: made,
                budget,
                error: e.error,
                time,
                best,
                tolerance,
                left_s: left * mean / parallel as f64,
            });
            Ok(())
        };
        self.evaluator.all_while(&requests, done, || {
            if let Some(think) = meanwhile.think {
                think();
            }
        })
    }

    /// Energy of the chosen plan and of the program: measured on a GPU where asked for, estimated where the
    /// profile has energies.
    pub(crate) fn energy(
        &self,
        plan: &Plan,
        a: &Assignment,
    ) -> Result<Option<EnergyResult>, TuneError> {
        // Static counts are those of the operations as they are written.
        let written = plan.kernels.values().all(|k| k.rewrites.is_empty());
        let weights = Weights::from_energies(&self.request.profile).filter(|_| written);
        let estimated = weights.and_then(|w| {
            let score = StaticScore::new(self.subject, self.tunable, w);
            Some((score.predict(a)?, score.describe()))
        });
        let measure = |plan: &Plan| -> Result<Option<Energy>, TuneError> {
            let e = self.evaluator.one(&Run {
                plan: plan.clone(),
                input: self.input,
                timed: Sampling::UntilSteady,
                energy_s: 0.5 * self.request.energy_s,
                order: 0,
                ahead: Vec::new(),
            })?;
            Ok(e.energy)
        };
        let cuda = self.evaluator.job.device == Device::Cuda && self.request.energy_s > 0.0;
        let (mut mine, mut program) = (None, None);
        if cuda {
            // The chip warms up as it works, and a warm one draws more: the plan is first and last.
            let own = Plan::default();
            let all = [
                measure(plan)?,
                measure(&own)?,
                measure(&own)?,
                measure(plan)?,
            ];
            let [first, second, third, last] = all;
            mine = first.zip(last).map(|(x, y)| x.and(&y));
            program = second.zip(third).map(|(x, y)| x.and(&y));
        }
        if estimated.is_none() && mine.is_none() {
            return Ok(None);
        }
        Ok(Some(EnergyResult {
            plan: mine,
            program,
            by: estimated.as_ref().map_or_else(String::new, |e| e.1.clone()),
            estimated: estimated.map(|e| e.0),
        }))
    }

    /// How long the search will take, by the program's own evaluation; what is in the folder is not made again.
    pub(crate) fn duration(&self, problem: &Problem) -> Result<SearchDuration, StoreError> {
        let own = vec![0; self.tunable.groups.len()];
        let (all_s, reference_s) = self.known.get(&own).map_or((0.0, 0.0), |e| {
            (e.wall_s, e.spent.reference_s.min(e.wall_s))
        });
        let request = self.request;
        let alone = if request.sensitivity { own.len() } else { 0 };
        let wanted = request
            .budget
            .min(problem.size().try_into().unwrap_or(usize::MAX));
        let made = self.store.all(Phase::Search)?.len();
        let validated = self.store.all(Phase::Validation)?.len();
        Ok(SearchDuration {
            evaluations: (wanted + alone).saturating_sub(made),
            // The reference of the tuning inputs is kept; each other input has its own.
            evaluation_s: all_s - reference_s,
            validations: request.trials.inputs.saturating_sub(validated),
            validation_s: all_s,
            parallel: self.evaluator.parallel(),
        })
    }

    /// The plan that the search begins with: the program itself, or that in which as little as possible is raised.
    pub(crate) fn base(&self) -> RaisedBase {
        let raised = self.raising.as_ref().and_then(|r| r.base.clone());
        raised.unwrap_or_else(|| RaisedBase {
            levels: vec![0; self.tunable.groups.len()],
            time: 1.0,
        })
    }

    /// Runs the strategy to its end.
    pub(crate) fn search(&mut self, problem: &Problem) -> Result<(Reason, usize), TuneError> {
        let problem = &without_layouts(self.tunable, problem);
        let base = self.base();
        let cost = TimesFromBase {
            times: self.cost,
            base: &base,
        };
        let published = TimesFromBase {
            times: self.published,
            base: &base,
        };
        let raised = self.raising.is_some();
        let predictions = Predictions {
            cost: if raised { &cost } else { self.cost },
            // It speaks of whole plans.
            code: self.code.filter(|_| !raised),
            published: Some(if raised { &published } else { self.published }),
        };
        let listed = problem.points.is_some();
        let search = Search {
            problem,
            // Each prediction would be a program to compile and to count.
            models: if listed { &NoModels } else { &predictions },
            seed: self.request.seed,
            budget: self.request.budget,
        };
        let mut strategy = self
            .request
            .strategy
            .start(search, self.tunable.launch.as_ref())?;
        let lag = match self.evaluator.job.device {
            Device::Cuda => LAG,
            Device::Cpu => 1,
        };
        let session = SearchSession::new(problem, strategy.as_mut(), self.request.budget);
        let mut session = session.with_lag(lag);
        // Where only time is searched, what is beyond the tolerance is as good as what does not run.
        let tolerated = |o: Outcome| match o {
            o if listed && !problem.accepts(&o) => Outcome::Failed,
            Outcome::Failed => Outcome::Failed,
            Outcome::Ran { error, time } => Outcome::ran(error, time / base.time),
        };
        for (a, e) in self.store.all(Phase::Search)? {
            if let Some(seen) = base.seen(&a, self.tunable) {
                session.tell(&seen, tolerated(self.outcome(&a, &e)));
            }
            self.known.insert(a, e);
        }
        loop {
            if self.check.is_news() {
                self.checked()?;
            }
            let wanted = session.open(self.evaluator.parallel());
            if wanted.is_empty() {
                break;
            }
            let whole = |a: &Assignment| base.whole(a);
            let wanted: Vec<Assignment> = wanted.iter().map(whole).collect();
            // A probe of an earlier, smaller budget may have been what is wanted now.
            let (old, new): (Vec<_>, Vec<_>) =
                wanted.into_iter().partition(|a| self.known.contains_key(a));
            let done = session.executed().len();
            let likely: Vec<Assignment> = session.likely().iter().map(whole).collect();
            let progress = (done, self.request.budget);
            let meanwhile = Meanwhile {
                likely: &likely,
                think: Some(&mut || session.ask_ahead()),
            };
            self.evaluate(Phase::Search, &new, progress, meanwhile)?;
            for a in old.iter().chain(&new) {
                if let Some(seen) = base.seen(a, self.tunable) {
                    session.tell(&seen, tolerated(self.outcome(a, &self.known[a])));
                }
            }
        }
        let executed = session.executed().len();
        Ok((session.finish().reason, executed))
    }
}
