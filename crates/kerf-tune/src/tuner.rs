//! Evaluations of one search: the program itself, what the strategy asks for, all kept as they come.
use crate::coded::Coded;
use crate::criteria::rejected;
use crate::duration::SearchDuration;
use crate::error::TuneError;
use crate::evaluate::{Evaluated, Evaluator, Input, Request as Run};
use crate::event::{Event, Watch};
use crate::front::Point;
use crate::launch::strategy::named;
use crate::models::Predictions;
use crate::prediction::{CostModel, Sensitivity};
use crate::request::Request;
use crate::result::{Cheapest, EnergyResult, Floor};
use crate::score::{StaticScore, Weights};
use crate::setting::{PARTS, Setting};
use crate::store::{Phase, Store, StoreError};
use crate::subject::Subject;
use crate::tunable::Tunable;
use kerf_num::metrics::Rejection;
use kerf_pass::Plan;
use kerf_run::job::{Device, Energy};
use kerf_search::recorded::Recorded;
use kerf_search::{Assignment, Evaluation, NoModels, Outcome, Problem, Reason, Search, Session};
use std::collections::BTreeMap;
use std::time::Duration;

/// Runs of the program itself that tell whether it repeats: on a GPU, and on the CPU where its kernels
/// depend on the order of threads or on the clock.
const FLOOR_RUNS: usize = 3;

/// A candidate may take this many times as long as the program's own evaluation, and some seconds.
const PATIENCE: f64 = 10.0;
const PATIENCE_S: f64 = 20.0;

/// A search under way.
pub(crate) struct Tuner<'t> {
    pub(crate) request: &'t Request,
    pub(crate) subject: &'t Subject,
    pub(crate) tunable: &'t Tunable,
    pub(crate) cost: &'t dyn CostModel,
    /// Times from machine code, beside them.
    pub(crate) code: Option<&'t Coded<'t>>,
    /// What AMPT-GA goes by.
    pub(crate) published: &'t dyn CostModel,
    /// What is known of errors, and which formats it forbids.
    pub(crate) errors: &'t dyn Sensitivity,
    pub(crate) evaluator: Evaluator,
    pub(crate) store: Store,
    pub(crate) input: Input,
    /// Everything known on the tuning inputs.
    pub(crate) known: BTreeMap<Assignment, Evaluated>,
    /// Plans that were measured once more, with more samples.
    pub(crate) finals: BTreeMap<Assignment, Evaluated>,
    /// Finalists that measurement does not tell from the fastest of them.
    pub(crate) tied: Vec<Assignment>,
    /// A plan has to give the program's own bits.
    pub(crate) same_bits: bool,
    pub(crate) warnings: Vec<String>,
    pub(crate) watch: &'t mut Watch<'t>,
}

pub(crate) fn point(a: &Assignment, e: &Evaluated, time: Option<f64>) -> Option<Point> {
    Some(Point {
        assignment: a.clone(),
        time: time?,
        error: e.error.filter(|_| e.failure.is_none())?,
    })
}

impl Tuner<'_> {
    pub(crate) fn tolerance(&self) -> f64 {
        self.evaluator.criteria.tolerance
    }

    /// What a reader may want to know.
    pub(crate) fn note(&mut self, text: String) {
        (self.watch)(&Event::Note(&text));
        self.warnings.push(text);
    }

    pub(crate) fn warn(&mut self, text: String) {
        (self.watch)(&Event::Warning(&text));
        self.warnings.push(text);
    }

    /// Time over that of the program: measured, or predicted.
    pub(crate) fn time(&self, a: &Assignment, e: &Evaluated) -> Option<f64> {
        match self.evaluator.job.device {
            Device::Cuda => {
                let e = self.finals.get(a).unwrap_or(e);
                e.timing.as_ref().map(|t| t.ratio)
            }
            Device::Cpu => self.cost.predict(a),
        }
    }

    pub(crate) fn outcome(&self, a: &Assignment, e: &Evaluated) -> Outcome {
        match (&e.failure, self.time(a, e)) {
            (None, Some(t)) => Outcome::ran(e.error.unwrap_or(f64::INFINITY), t),
            _ => Outcome::Failed,
        }
    }

    /// The program itself: its error, and whether it repeats.
    pub(crate) fn floor(&mut self) -> Result<Floor, TuneError> {
        let runs = match self.evaluator.job.device {
            Device::Cuda => FLOOR_RUNS,
            Device::Cpu if self.subject.kernels.iter().any(|k| !k.unordered.is_empty()) => {
                FLOOR_RUNS
            }
            Device::Cpu => 1,
        };
        let identity = vec![0; self.tunable.groups.len()];
        let mut all: Vec<Evaluated> = Vec::new();
        for n in 0..runs {
            // Another run of the same is another row.
            let run = vec![n as u8];
            let e = match self.store.get(Phase::Baseline, &run, &self.input)? {
                // Bits are not kept, and have to be compared.
                Some(e) if !self.same_bits => e,
                before => {
                    let e = self.evaluator.one(&Run {
                        plan: Plan::default(),
                        input: self.input,
                        timed: 1,
                        energy_s: 0.0,
                        order: n as u64,
                    })?;
                    if before.is_none() {
                        self.store
                            .put(Phase::Baseline, &run, &self.input, &e, Some(1.0))?;
                    }
                    e
                }
            };
            all.push(e);
        }
        let first = &all[0];
        let repeats = all.iter().all(|e| e.digests == first.digests);
        let errors = || all.iter().map(|e| e.error.unwrap_or(f64::INFINITY));
        let worst = errors().fold(0.0, f64::max);
        let floor = Floor {
            error: worst.is_finite().then_some(worst),
            outputs: first.outputs.clone(),
            runs,
            repeats,
            least: Some(errors().fold(f64::INFINITY, f64::min)).filter(|e| e.is_finite()),
        };
        let counts = first.counts;
        let mut notes = first.warnings.clone();
        let slowest = all.iter().map(|e| e.wall_s).fold(0.0, f64::max);
        self.known.insert(identity, first.clone());
        if let Some(what) = rejected(&first.outputs, Rejection::NothingCompared) {
            return Err(TuneError::NoReference(what));
        }
        if let Some(what) = rejected(&first.outputs, Rejection::NanPairs) {
            return Err(TuneError::MakesNan(what));
        }
        if counts.special() > 0 {
            notes.push(format!(
                "{} of {} values of the reference are NaN or infinite; they have to stay so, and say nothing of accuracy",
                counts.special(),
                counts.values
            ));
        }
        if !repeats {
            notes.push(format!(
                "the program gives other bits every time: its error on the same inputs was from {:.3e} to {worst:.3e}",
                floor.least.unwrap_or(f64::INFINITY)
            ));
        }
        for k in self
            .subject
            .kernels
            .iter()
            .filter(|k| !k.unordered.is_empty())
        {
            let how = match self.evaluator.job.device {
                Device::Cpu => {
                    "the program ran with its blocks in several orders, plans run in one of them"
                }
                Device::Cuda => "errors are of the order that happened",
            };
            notes.push(format!(
                "{} depends on the order of threads ({}): {how}",
                k.name,
                k.unordered.join(", ")
            ));
        }
        notes.into_iter().for_each(|n| self.warn(n));
        let limit = Duration::from_secs_f64(PATIENCE * slowest + PATIENCE_S);
        self.evaluator.limit = limit.min(self.request.limit);
        (self.watch)(&Event::Floor(&floor));
        Ok(floor)
    }

    /// The version with every math call at its cheapest, where something depends on it: the tolerance, or
    /// what is believed of parts of the warps.
    pub(crate) fn cheapest(
        &mut self,
        problem: &mut Problem,
        floor: &Floor,
    ) -> Result<Option<Cheapest>, TuneError> {
        let ratio = self.request.ratio;
        let warps = self.tunable.warps.as_ref().map(|w| w.group);
        if ratio.is_none() && warps.is_none() {
            return Ok(None);
        }
        let a = self.tunable.cheapest();
        // The search may have asked for it in an earlier run of this command.
        for phase in [Phase::Probe, Phase::Search] {
            if let Some(e) = self.store.get(phase, &a, &self.input)? {
                self.known.insert(a.clone(), e);
            }
        }
        if !self.known.contains_key(&a) {
            self.evaluate(Phase::Probe, std::slice::from_ref(&a), 0, 1)?;
        }
        let e = self.known[&a].clone();
        if let Some(r) = ratio {
            let own = floor.error.unwrap_or(f64::INFINITY);
            let why = || e.failure.clone().unwrap_or_else(|| "it is infinite".into());
            let error = e.error.ok_or_else(|| TuneError::NoRatio(why()))?;
            // Against the accurate version, as published, the program's own error is 0, and this is the
            // ratio of errors.
            let tolerance = own + r * (error - own).max(0.0);
            if !(tolerance.is_finite() && tolerance > 0.0) {
                return Err(TuneError::NoRatio(format!(
                    "it is {error}, and the program's own {own}"
                )));
            }
            self.evaluator.criteria.scale(tolerance);
            problem.tolerance = Some(self.tolerance());
        }
        let slots = self
            .tunable
            .slots(self.subject, &self.request.profile, &e.kernels);
        if let (Some(w), Some((used, of))) = (warps, slots) {
            let keep = (u32::from(PARTS) * used).div_ceil(of);
            let all = problem.variables[w].levels.iter_mut();
            for (level, s) in all.zip(&self.tunable.groups[w].formats) {
                level.veto |= matches!(s, Setting::Warps(n) if u32::from(*n) >= keep && *n < PARTS);
            }
            if keep < u32::from(PARTS) {
                self.warn(format!(
                    "at most {used} of {of} warp slots are in use, so parts of the warps from {keep}/{PARTS} on are one"
                ));
            }
        }
        if let (Some(w), Some(error)) = (warps, e.error) {
            let all = problem.variables[w].levels.iter_mut();
            for (level, s) in all.zip(&self.tunable.groups[w].formats).skip(1) {
                if let Setting::Warps(n) = s {
                    level.error = Some(error * f64::from(*n) / f64::from(PARTS));
                }
            }
        }
        Ok(Some(Cheapest {
            error: e.error,
            time: self.time(&a, &e),
            ratio,
        }))
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
    pub(crate) fn best(&self) -> Option<Point> {
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
        done: usize,
        budget: usize,
    ) -> Result<(), StoreError> {
        let all = &match self.tunable.math.is_empty() {
            true => all.to_vec(),
            false => self.alike(phase, all)?,
        };
        let requests: Vec<Run> = all
            .iter()
            .map(|a| Run {
                plan: self.tunable.plan(self.subject, a),
                input: self.input,
                timed: 1,
                energy_s: 0.0,
                order: 0,
            })
            .collect();
        let mut best = self.best().map(|p| (p.time, p.error));
        let tolerance = self.tolerance();
        let cuda = self.evaluator.job.device == Device::Cuda;
        let predicted: Vec<Option<f64>> = all.iter().map(|a| self.cost.predict(a)).collect();
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
        let mut done = done;
        let parallel = self.evaluator.parallel();
        self.evaluator.all(&requests, |i, mut e| {
            e.predicted = predicted[i];
            if e.failure.is_none() && bits.as_ref().is_some_and(|b| *b != e.digests) {
                e.failure = Some("the outputs have other bits than the program's own".into());
            }
            let time = match cuda {
                true => e.timing.as_ref().map(|t| t.ratio),
                false => predicted[i],
            };
            store.put(phase, &all[i], &input, &e, time)?;
            done += 1;
            if let (true, Some(t), Some(error)) = (e.accepted(tolerance), time, e.error)
                && best.is_none_or(|(b, _)| t < b)
            {
                best = Some((t, error));
            }
            let left = budget.saturating_sub(done) as f64;
            known.insert(all[i].clone(), e.clone());
            let mean = known.values().map(|e| e.wall_s).sum::<f64>() / known.len() as f64;
            watch(&Event::Evaluated {
                phase,
                done,
                budget,
                error: e.error,
                time,
                best,
                tolerance,
                left_s: left * mean / parallel as f64,
            });
            Ok(())
        })
    }

    /// Energy of the chosen plan and of the program: measured on a GPU where asked for, estimated where the
    /// profile has energies.
    pub(crate) fn energy(
        &self,
        plan: &Plan,
        a: &Assignment,
    ) -> Result<Option<EnergyResult>, TuneError> {
        let weights = Weights::from_energies(&self.request.profile);
        let estimated = weights.and_then(|w| {
            let score = StaticScore::new(self.subject, self.tunable, w);
            Some((score.predict(a)?, score.describe()))
        });
        let measure = |plan: &Plan| -> Result<Option<Energy>, TuneError> {
            let e = self.evaluator.one(&Run {
                plan: plan.clone(),
                input: self.input,
                timed: 1,
                energy_s: 0.5 * self.request.energy_s,
                order: 0,
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
        let r = self.request;
        let alone = if r.sensitivity { own.len() } else { 0 };
        let wanted = r
            .budget
            .min(problem.size().try_into().unwrap_or(usize::MAX));
        let made = self.store.all(Phase::Search)?.len();
        let validated = self.store.all(Phase::Validation)?.len();
        Ok(SearchDuration {
            evaluations: (wanted + alone).saturating_sub(made),
            // The reference of the tuning inputs is kept; each other input has its own.
            evaluation_s: all_s - reference_s,
            validations: r.trials.inputs.saturating_sub(validated),
            validation_s: all_s,
            parallel: self.evaluator.parallel(),
        })
    }

    /// Runs the strategy to its end.
    pub(crate) fn search(&mut self, problem: &Problem) -> Result<(Reason, usize), TuneError> {
        let predictions = Predictions {
            cost: self.cost,
            code: self.code,
            published: Some(self.published),
        };
        let listed = problem.points.is_some();
        let search = Search {
            problem,
            // Each prediction would be a program to compile and to count.
            models: if listed { &NoModels } else { &predictions },
            seed: self.request.seed,
            budget: self.request.budget,
        };
        let mut strategy = named(&self.request.strategy, search, self.tunable.launch.as_ref())?;
        let mut session = Session::new(problem, strategy.as_mut(), self.request.budget);
        // Where only time is searched, what is beyond the tolerance is as good as what does not run.
        let tolerated = |o: Outcome| match listed && !problem.accepts(&o) {
            true => Outcome::Failed,
            false => o,
        };
        for (a, e) in self.store.all(Phase::Search)? {
            session.tell(&a, tolerated(self.outcome(&a, &e)));
            self.known.insert(a, e);
        }
        loop {
            let wanted = session.open(self.evaluator.parallel());
            if wanted.is_empty() {
                break;
            }
            // A probe of an earlier, smaller budget may have been what is wanted now.
            let (old, new): (Vec<_>, Vec<_>) =
                wanted.into_iter().partition(|a| self.known.contains_key(a));
            let done = session.executed().len();
            self.evaluate(Phase::Search, &new, done, self.request.budget)?;
            for a in old.iter().chain(&new) {
                session.tell(a, tolerated(self.outcome(a, &self.known[a])));
            }
        }
        let executed = session.executed().len();
        Ok((session.finish().reason, executed))
    }

    /// Everything that is known, as a recorded search space; none if nothing is within the tolerance.
    pub(crate) fn space(&self, mut problem: Problem) -> Option<Recorded> {
        let path = &self.subject.workload.path;
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let times = match self.evaluator.job.device {
            Device::Cpu => format!("times predicted by {}", self.cost.describe()),
            Device::Cuda => "times measured".into(),
        };
        let listed = problem.points.is_some();
        let all = self.known.iter().map(|(a, e)| Evaluation {
            assignment: a.clone(),
            outcome: match self.outcome(a, e) {
                o if listed && !problem.accepts(&o) => Outcome::Failed,
                o => o,
            },
        });
        let all = all.collect();
        if listed {
            // A parameter space, where only time counts, and only what ran is known to exist.
            (problem.tolerance, problem.baseline) = (None, None);
            return Recorded::new(format!("{name}, {times}"), problem, all).ok();
        }
        let r = Recorded::new(format!("{name}, {times}"), problem, all).ok()?;
        let r = r.predicted_by(|a| self.cost.predict(&a.to_vec()));
        let r = r.coded_by(|a| self.code?.predict(&a.to_vec()));
        Some(r.scored_by(|a| self.published.predict(&a.to_vec())))
    }
}
