//! From everything that ran to one plan: groups lowered one by one, validation, reasons, the final time.
use super::{Meanwhile, Tuner};
use crate::error::TuneError;
use crate::evaluate::{Evaluator, Input, PlanEvaluation};
use crate::event::TuneEvent;
use crate::front::FrontPoint;
use crate::precheck::cpu_sizes;
use crate::result::{Demoted, KeptReason, Speedup};
use crate::store::{Phase, StoreError};
use crate::validate::{Excuse, Validation, Validator};
use kerf_run::job::{Device, Job};
use kerf_search::Assignment;

/// Groups whose lowering is tried to explain why they were kept, at most, for each plan.
const PROBES: usize = 32;

/// A gain below this part of the time is none: predicted, it would read 1.00 and the program stays as it is; of a probe, no
/// reason to measure and to probe again.
const LEAST: f64 = 5e-3;

/// Raising more than has to be raised is worth it from this part of the time on: predictions are no better.
const WORTH_RAISING: f64 = 0.05;

/// Seconds of a reference at full size beyond which other inputs are tried at the CPU's sizes.
const SLOW_REFERENCE_S: f64 = 3.0;

/// Plans that probes may improve, one after the other.
const IMPROVEMENTS: usize = 4;

/// Demotions after which probes may still look for plans in place of the demoted one. Where errors on other inputs are
/// larger as a rule, there are hundreds that pass on the tuning inputs alone.
const REPLACED: usize = 3;

/// A demoted part of the warps is followed by one that is smaller by this part of it.
const DESCENT: u8 = 8;

/// What was chosen, and what on the way.
pub(crate) struct Choice {
    /// The plan.
    pub plan: FrontPoint,
    /// Its validation; none for the program as it is.
    pub validation: Option<Validation>,
    /// Plans that were demoted before it.
    pub demoted: Vec<Demoted>,
    /// The fastest plan that measurement does not tell from the program as it is.
    pub tie: Option<FrontPoint>,
}

/// The inputs that demoted plans failed on, each once.
fn hard_inputs(demoted: &[Demoted]) -> Vec<Input> {
    let mut hard: Vec<Input> = Vec::new();
    for i in demoted.iter().filter_map(|d| d.validation.worst_input) {
        if !hard.contains(&i) {
            hard.push(i);
        }
    }
    hard
}

impl Choice {
    /// The program as it is, by its own evaluation, where nothing was searched.
    pub fn program_itself(identity: Assignment, own: &PlanEvaluation) -> Choice {
        Choice {
            plan: FrontPoint {
                assignment: identity,
                time: 1.0,
                error: own.error.unwrap_or(f64::INFINITY),
            },
            validation: None,
            demoted: Vec::new(),
            tie: None,
        }
    }
}

impl Tuner<'_> {
    /// What lowering each kept group of a plan would do, run where prediction does not rule it out. Gives
    /// whether a better plan turned up.
    pub(crate) fn probe(
        &mut self,
        at: &FrontPoint,
        demoted: &[Demoted],
        probes: &mut usize,
    ) -> Result<bool, StoreError> {
        let mut new = Vec::new();
        for a in self.lowered(at) {
            if new.len() < PROBES && !self.known.contains_key(&a) && self.promises(&a, at) {
                new.push(a);
            }
        }
        self.run_probes(new, probes)?;
        let least = at.time * (1.0 - LEAST);
        let better = |p: &FrontPoint| p.error <= self.tolerance() && p.time < least;
        Ok(self.points(demoted).iter().any(better))
    }

    /// Runs plans that are not known, but for those that an earlier command ran.
    pub(crate) fn run_probes(
        &mut self,
        mut all: Vec<Assignment>,
        probes: &mut usize,
    ) -> Result<(), StoreError> {
        *probes += all.len();
        for a in &all {
            if let Some(e) = self.store.get(Phase::Probe, a, &self.input)? {
                self.known.insert(a.clone(), e);
            }
        }
        all.retain(|a| !self.known.contains_key(a));
        let progress = (*probes - all.len(), *probes);
        self.evaluate(Phase::Probe, &all, progress, Meanwhile::default())
    }

    /// The plan with one more group lowered by a level, for each group whose values fit it.
    pub(crate) fn lowered(&self, at: &FrontPoint) -> Vec<Assignment> {
        let groups = self.tunable.groups.iter().enumerate();
        let shapes = self.tunable.shapes();
        let lower = groups
            .filter(|(i, _)| !shapes.contains(i))
            .filter_map(|(i, g)| {
                let mut a = at.assignment.clone();
                a[i] += 1;
                let fits = usize::from(a[i]) < g.lower_levels();
                (fits && self.errors.veto(i, a[i]).is_none()).then_some(a)
            });
        lower.collect()
    }

    /// Whether a plan is predicted to be faster than another.
    pub(crate) fn promises(&self, a: &Assignment, at: &FrontPoint) -> bool {
        let predicted = |a| self.cost.predict(a).unwrap_or(0.0);
        predicted(a) < predicted(&at.assignment)
    }

    /// Why a group is not lowered further in the chosen plan; none if it is as low as was allowed.
    pub(crate) fn kept(
        &self,
        i: usize,
        chosen: &FrontPoint,
        demoted: &[Demoted],
        vetoes: &[Option<String>],
    ) -> Option<KeptReason> {
        let g = &self.tunable.groups[i];
        let mut a = chosen.assignment.clone();
        // Shapes are not lower or higher than each other.
        if self.tunable.shapes().contains(&i) || usize::from(a[i]) + 1 == g.lower_levels() {
            return None;
        }
        if g.raises(a[i]) {
            return self.raised_for(i, chosen);
        }
        if let Some(why) = &vetoes[i] {
            return Some(KeptReason::Veto { why: why.clone() });
        }
        a[i] += 1;
        let out: Vec<Assignment> = demoted.iter().map(|d| d.point.assignment.clone()).collect();
        Some(match self.known.get(&a) {
            None if !self.promises(&a, chosen) => KeptReason::Slower {
                time: self.cost.predict(&a).unwrap_or(f64::NAN),
                chosen: self.cost.predict(&chosen.assignment).unwrap_or(f64::NAN),
                measured: false,
            },
            None if demoted
                .iter()
                .any(|d| d.point.assignment[i] > chosen.assignment[i]) =>
            {
                KeptReason::Validation
            }
            None => KeptReason::NotTried,
            Some(e) => match (&e.failure, self.time(&a, e)) {
                (Some(why), _) => KeptReason::Failed { why: why.clone() },
                _ if !e.accepted(self.tolerance()) => KeptReason::Error {
                    error: e.error,
                    rejection: e.disqualified(),
                },
                (None, Some(t)) if t >= chosen.time || !self.is_out(&a, &out) => {
                    KeptReason::Slower {
                        time: t,
                        chosen: chosen.time,
                        measured: e.timing.is_some(),
                    }
                }
                _ => KeptReason::Validation,
            },
        })
    }

    /// Why a group is raised: the error without that in the plan that the search began with, or the time of the chosen one
    /// without that; none where neither ran.
    fn raised_for(&self, i: usize, chosen: &FrontPoint) -> Option<KeptReason> {
        let needed = |e: &PlanEvaluation| KeptReason::Needed {
            error: e.error.filter(|_| e.failure.is_none()),
        };
        let base = self.base().levels;
        if base[i] > 0 {
            // As it was found: the others in their widest formats.
            let others = (0..base.len()).filter(|g| *g != i && base[*g] > 0);
            let without = self.with_raised(&others.collect::<Vec<usize>>());
            return self.known.get(&without).map(needed);
        }
        let mut without = chosen.assignment.clone();
        without[i] = 0;
        let e = self.known.get(&without)?;
        Some(match self.time(&without, e) {
            Some(time) if e.accepted(self.tolerance()) => KeptReason::Slower {
                time,
                chosen: chosen.time,
                measured: e.timing.is_some(),
            },
            _ => needed(e),
        })
    }

    /// Other inputs at the CPU's sizes, where a reference is the CPU's work and takes it long at those of the GPU.
    pub(crate) fn validate_at_cpu_sizes(&mut self, own: &PlanEvaluation) {
        let job = &self.evaluator.job;
        let slow = job.device == Device::Cuda && own.spent.reference_s > SLOW_REFERENCE_S;
        let sizes = cpu_sizes(&self.subject.workload, &job.overrides).filter(|_| slow);
        let Some(overrides) = sizes else {
            return;
        };
        let at: Vec<String> = overrides.iter().map(|(n, v)| format!("{n}={v}")).collect();
        let job = Job {
            overrides,
            ..job.clone()
        };
        let (request, criteria) = (self.request, self.evaluator.criteria.clone());
        let program = request.program.clone();
        self.validating = Some(Evaluator::new(job, criteria, program, request.limit, 1));
        self.note(format!(
            "plans are tried on other inputs at {}: a reference at full size takes {:.0} s of the CPU",
            at.join(" "),
            own.spent.reference_s
        ));
    }

    /// What excuses a plan that misses the tolerance on an input, by missing it as well: the program itself, and where that is beyond
    /// the tolerance everything raised.
    fn excuse(&self) -> Excuse {
        let Some(r) = &self.raising else {
            return Excuse::Program;
        };
        let plan = self.tunable.plan(self.subject, &r.everything);
        Excuse::Plan(r.everything.clone(), Box::new(plan))
    }

    /// A plan on other inputs.
    fn validate(
        &mut self,
        p: &FrontPoint,
        digest: Option<String>,
        demoted: &[Demoted],
    ) -> Result<Validation, StoreError> {
        let plan = self.tunable.plan(self.subject, &p.assignment);
        let (budget, tolerance) = (self.request.trials.inputs, self.tolerance());
        let hard = hard_inputs(demoted);
        let excuse = self.excuse();
        let watch = &mut self.watch;
        let tell = |done, e: &PlanEvaluation| {
            watch(&TuneEvent::Evaluated {
                phase: Phase::Validation,
                done,
                budget,
                error: e.error,
                time: None,
                best: Some((p.time, p.error)),
                tolerance,
                left_s: budget.saturating_sub(done) as f64 * e.wall_s,
            });
        };
        Validator {
            evaluator: self.validating.as_ref().unwrap_or(&self.evaluator),
            store: &mut self.store,
            tuned: self.input,
            // Inputs at other sizes are others.
            digest: digest.filter(|_| self.validating.is_none()),
            hard,
            excuse,
        }
        .run(&p.assignment, &plan, &self.request.trials, false, tell)
    }

    /// The failure of a plan on the inputs that demoted ones failed on; none if it passes there.
    fn fails_like(
        &mut self,
        p: &FrontPoint,
        demoted: &[Demoted],
    ) -> Result<Option<Validation>, StoreError> {
        let plan = self.tunable.plan(self.subject, &p.assignment);
        let excuse = self.excuse();
        Validator {
            evaluator: self.validating.as_ref().unwrap_or(&self.evaluator),
            store: &mut self.store,
            tuned: self.input,
            digest: None,
            hard: hard_inputs(demoted),
            excuse,
        }
        .on_hard(&p.assignment, &plan, &self.request.trials, &mut |_, _| {})
    }

    /// Demotes those of the fastest plans that fail where others failed: an untimed run is cheaper than a place in the race.
    /// Without measured times there is no race.
    fn screen(&mut self, demoted: &mut Vec<Demoted>, probes: &mut usize) -> Result<(), StoreError> {
        let race = self.evaluator.job.device == Device::Cuda;
        while race && !demoted.is_empty() {
            let mut failed = None;
            for p in self.finalists(demoted) {
                if let Some(v) = self.fails_like(&p, demoted)? {
                    failed = Some((p, v));
                    break;
                }
            }
            match failed {
                Some((p, v)) => self.demote(p, v, demoted, probes)?,
                None => break,
            }
        }
        Ok(())
    }

    /// Takes a plan out of the choice, with those that go with it.
    fn demote(
        &mut self,
        point: FrontPoint,
        validation: Validation,
        demoted: &mut Vec<Demoted>,
        probes: &mut usize,
    ) -> Result<(), StoreError> {
        let d = Demoted {
            alike: self.alike_demoted(&point.assignment, demoted),
            point,
            validation,
        };
        (self.watch)(&TuneEvent::Demoted(&d));
        self.descend(&d.point, probes)?;
        demoted.push(d);
        if demoted.len() <= REPLACED {
            self.lay_out_like(demoted, probes)?;
        }
        Ok(())
    }

    /// The fastest plan within the tolerance that is faster than the program, and the fastest whether or not it is.
    fn fastest(&self, demoted: &[Demoted]) -> (Option<FrontPoint>, Option<FrontPoint>) {
        let changes = |p: &FrontPoint| p.assignment.iter().any(|l| *l > 0);
        let within = |p: &FrontPoint| p.error <= self.tolerance() && changes(p);
        let mut fast: Vec<FrontPoint> = self.points(demoted).into_iter().filter(within).collect();
        fast.sort_by(|a, b| a.time.total_cmp(&b.time).then(a.error.total_cmp(&b.error)));
        self.prefer_few_raised(&mut fast);
        let first = fast.first().cloned();
        let most = match self.evaluator.job.device {
            Device::Cuda => 1.0,
            Device::Cpu => 1.0 - LEAST,
        };
        // The program itself is no answer where it misses the tolerance: what meets it may be slower.
        let raised = self.raising.is_some();
        let best = fast
            .into_iter()
            .find(|p| raised || p.time < most && self.tells_apart(&p.assignment));
        (best, first)
    }

    /// Puts the fastest plan that raises no more than it has to before those that raise more, unless these are clearly faster.
    fn prefer_few_raised(&self, fast: &mut Vec<FrontPoint>) {
        if self.raising.is_none() {
            return;
        }
        let base = self.base();
        let few = |p: &FrontPoint| base.seen(&p.assignment, self.tunable).is_some();
        if let Some(i) = fast.iter().position(few)
            && fast[i].time * (1.0 - WORTH_RAISING) < fast[0].time
        {
            let p = fast.remove(i);
            fast.insert(0, p);
        }
    }

    /// The fastest plan that passes on other inputs, with groups lowered one by one as long as that helps,
    /// and the plans that did not pass.
    pub(crate) fn choose(
        &mut self,
        own: &PlanEvaluation,
        probes: &mut usize,
    ) -> Result<Choice, TuneError> {
        let identity = vec![0; self.tunable.groups.len()];
        let mut demoted: Vec<Demoted> = Vec::new();
        let (mut improvements, mut failures) = (0, 0);
        let mut tie: Option<FrontPoint> = None;
        loop {
            self.screen(&mut demoted, probes)?;
            self.remeasure(&demoted)?;
            let (best, first) = self.fastest(&demoted);
            if best.is_none() && self.evaluator.job.device == Device::Cuda {
                tie = first.filter(|p| self.finals.contains_key(&p.assignment));
            }
            let Some(best) = best else {
                let own = FrontPoint {
                    assignment: identity.clone(),
                    time: 1.0,
                    error: own.error.unwrap_or(f64::INFINITY),
                };
                let probed = improvements < IMPROVEMENTS && self.raising.is_none();
                let better = probed && self.probe(&own, &demoted, probes)?;
                improvements += 1;
                if better {
                    continue;
                }
                return Ok(Choice {
                    plan: own,
                    validation: None,
                    demoted,
                    tie,
                });
            };
            if improvements < IMPROVEMENTS {
                improvements += 1;
                if self.probe(&best, &demoted, probes)? {
                    continue;
                }
            }
            let v = self.validate(&best, own.inputs.clone(), &demoted)?;
            if v.holds() {
                if let Some(r) = &v.remark {
                    self.warn(match v.tried() {
                        0 => format!("{r}: nothing was validated"),
                        _ => r.clone(),
                    });
                }
                return Ok(Choice {
                    plan: best,
                    validation: Some(v),
                    demoted,
                    tie: None,
                });
            }
            self.demote(best, v, &mut demoted, probes)?;
            failures += 1;
            if failures <= REPLACED {
                improvements = 0;
            }
        }
    }

    /// After a demotion, the same with fewer warps approximate: what a search that stopped at the first
    /// degree within the tolerance has not run.
    fn descend(&mut self, from: &FrontPoint, probes: &mut usize) -> Result<(), StoreError> {
        let Some(w) = self.tunable.warps.as_ref().map(|w| w.group) else {
            return Ok(());
        };
        let mut a = from.assignment.clone();
        a[w] -= (a[w] / DESCENT).max(1).min(a[w]);
        match self.known.contains_key(&a) {
            true => Ok(()),
            false => self.run_probes(vec![a], probes),
        }
    }

    /// Whether measurement tells a plan from the program as it is.
    fn tells_apart(&self, a: &Assignment) -> bool {
        let timing = self.finals.get(a).and_then(|e| e.timing.as_ref());
        timing.is_none_or(|t| t.ratio_high < 1.0)
    }

    /// The speed-up of a plan: predicted, or from its last measurement.
    pub(crate) fn speedup(&self, p: &FrontPoint) -> Speedup {
        let timing = self.finals.get(&p.assignment);
        let identity = p.assignment.iter().all(|l| *l == 0);
        match (self.evaluator.job.device, timing) {
            (Device::Cpu, _) => Speedup {
                value: 1.0 / p.time,
                low: None,
                high: None,
                kind: "predicted".into(),
                by: self.judge.describe(),
                timing: None,
            },
            (Device::Cuda, Some(e)) => {
                let t = e.timing.clone();
                Speedup {
                    value: 1.0 / t.as_ref().map_or(p.time, |t| t.ratio),
                    low: t.as_ref().map(|t| 1.0 / t.ratio_high),
                    high: t.as_ref().map(|t| 1.0 / t.ratio_low),
                    kind: "measured".into(),
                    by: e.device.clone(),
                    timing: t,
                }
            }
            (Device::Cuda, None) => {
                let found = self.known.get(&p.assignment).filter(|_| !identity);
                let t = found.and_then(|e| e.timing.clone());
                Speedup {
                    value: 1.0 / p.time,
                    low: t.as_ref().map(|t| 1.0 / t.ratio_high),
                    high: t.as_ref().map(|t| 1.0 / t.ratio_low),
                    kind: "measured".into(),
                    by: found.map_or_else(|| "the program as it is".into(), |e| e.device.clone()),
                    timing: t,
                }
            }
        }
    }
}
