//! The program itself before the search: its error, whether it repeats, and the version with every math call at its cheapest.
use super::{Meanwhile, Tuner};
use crate::criteria::rejected;
use crate::error::TuneError;
use crate::evaluate::{EvaluationRequest as Run, PlanEvaluation, Sampling};
use crate::event::TuneEvent;
use crate::result::{Cheapest, Floor};
use crate::setting::{PARTS, Setting};
use crate::store::Phase;
use kerf_num::metrics::Rejection;
use kerf_pass::Plan;
use kerf_run::job::Device;
use kerf_search::Problem;
use std::time::Duration;

/// Runs of the program itself that tell whether it repeats: on a GPU, and on the CPU where its kernels
/// depend on the order of threads or on the clock.
const FLOOR_RUNS: usize = 3;

/// A candidate may take this many times as long as the program's own evaluation, and some seconds.
const PATIENCE: f64 = 10.0;
const PATIENCE_S: f64 = 20.0;

impl Tuner<'_> {
    /// Runs of the program itself, as many as tell whether it repeats.
    fn own_evaluations(&mut self) -> Result<Vec<PlanEvaluation>, TuneError> {
        let runs = match self.evaluator.job.device {
            Device::Cuda => FLOOR_RUNS,
            Device::Cpu if self.subject.kernels.iter().any(|k| !k.unordered.is_empty()) => {
                FLOOR_RUNS
            }
            Device::Cpu => 1,
        };
        let mut all: Vec<PlanEvaluation> = Vec::new();
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
                        timed: Sampling::UntilSteady,
                        energy_s: 0.0,
                        order: n as u64,
                        ahead: Vec::new(),
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
        Ok(all)
    }

    /// The program itself: its error, and whether it repeats.
    pub(crate) fn floor(&mut self) -> Result<Floor, TuneError> {
        let all = self.own_evaluations()?;
        let identity = vec![0; self.tunable.groups.len()];
        let first = &all[0];
        let errors = || all.iter().map(|e| e.error.unwrap_or(f64::INFINITY));
        let worst = errors().fold(0.0, f64::max);
        let floor = Floor {
            error: worst.is_finite().then_some(worst),
            outputs: first.outputs.clone(),
            runs: all.len(),
            repeats: all.iter().all(|e| e.digests == first.digests),
            least: Some(errors().fold(f64::INFINITY, f64::min)).filter(|e| e.is_finite()),
        };
        self.known.insert(identity, first.clone());
        if let Some(what) = rejected(&first.outputs, Rejection::NothingCompared) {
            return Err(TuneError::NoReference(what));
        }
        if let Some(what) = rejected(&first.outputs, Rejection::NanPairs) {
            return Err(TuneError::MakesNan(what));
        }
        for note in self.floor_notes(first, &floor, worst) {
            self.warn(note);
        }
        let slowest = all.iter().map(|e| e.wall_s).fold(0.0, f64::max);
        let limit = Duration::from_secs_f64(PATIENCE * slowest + PATIENCE_S);
        self.evaluator.limit = limit.min(self.request.limit);
        (self.watch)(&TuneEvent::Floor(&floor));
        Ok(floor)
    }

    /// What a reader must know of the program itself; `worst` is its largest error.
    fn floor_notes(&self, first: &PlanEvaluation, floor: &Floor, worst: f64) -> Vec<String> {
        let counts = first.counts;
        let mut notes = first.warnings.clone();
        if counts.special() > 0 {
            notes.push(format!(
                "{} of {} values of the reference are NaN or infinite; they have to stay so, and say nothing of accuracy",
                counts.special(),
                counts.values
            ));
        }
        if !floor.repeats {
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
        notes
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
            self.evaluate(
                Phase::Probe,
                std::slice::from_ref(&a),
                (0, 1),
                Meanwhile::default(),
            )?;
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
        self.inform_warps(problem, &e);
        Ok(Some(Cheapest {
            error: e.error,
            time: self.time(&a, &e),
            ratio,
        }))
    }

    /// Writes into a problem what the cheapest version tells of parts of the warps: which are the same, and their errors.
    fn inform_warps(&mut self, problem: &mut Problem, cheapest: &PlanEvaluation) {
        let Some(w) = self.tunable.warps.as_ref().map(|w| w.group) else {
            return;
        };
        let slots = self
            .tunable
            .slots(self.subject, &self.request.profile, &cheapest.kernels);
        if let Some((used, of)) = slots {
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
        if let Some(error) = cheapest.error {
            let all = problem.variables[w].levels.iter_mut();
            for (level, s) in all.zip(&self.tunable.groups[w].formats).skip(1) {
                if let Setting::Warps(n) = s {
                    level.error = Some(error * f64::from(*n) / f64::from(PARTS));
                }
            }
        }
    }
}
