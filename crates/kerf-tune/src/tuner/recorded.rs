//! Everything that ran on the tuning inputs as a recorded search space, with what models say of it.
use super::Tuner;
use super::raise::TimesFromBase;
use crate::prediction::TimePredictor;
use kerf_run::job::Device;
use kerf_search::recorded::RecordedSpace;
use kerf_search::{Evaluation, Outcome, Problem};

impl Tuner<'_> {
    /// Everything that is known, as a recorded search space; none if nothing is within the tolerance. Where something was raised, as
    /// the strategy saw it: times are over that of the plan that it began with.
    pub(crate) fn space(&self, mut problem: Problem) -> Option<RecordedSpace> {
        let path = &self.subject.workload.path;
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let times = match self.evaluator.job.device {
            Device::Cpu => format!("times predicted by {}", self.judge.describe()),
            Device::Cuda => "times measured".into(),
        };
        if self.raising.is_some() {
            return self.raised_space(&problem, format!("{name}, raised, {times}"));
        }
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
            return RecordedSpace::new(format!("{name}, {times}"), problem, all).ok();
        }
        let recorded = RecordedSpace::new(format!("{name}, {times}"), problem, all).ok()?;
        let recorded = recorded
            .predicted_by(|a| self.cost.predict(&a.to_vec()))
            .coded_by(|a| self.code?.predict(&a.to_vec()));
        Some(recorded.scored_by(|a| self.published.predict(&a.to_vec())))
    }

    fn raised_space(&self, whole: &Problem, name: String) -> Option<RecordedSpace> {
        let base = self.base();
        let mut problem = base.problem(whole, self.tunable);
        let own = self.known.get(&base.levels)?;
        problem.baseline = Some(Outcome::ran(own.error.unwrap_or(f64::INFINITY), 1.0));
        let all = self.known.iter().filter_map(|(a, e)| {
            Some(Evaluation {
                assignment: base.seen(a, self.tunable)?,
                outcome: match self.outcome(a, e) {
                    Outcome::Failed => Outcome::Failed,
                    Outcome::Ran { error, time } => Outcome::ran(error, time / base.time),
                },
            })
        });
        let recorded = RecordedSpace::new(name, problem, all.collect()).ok()?;
        let from_base = |times| TimesFromBase { times, base: &base };
        let (cost, published) = (from_base(self.cost), from_base(self.published));
        let recorded = recorded.predicted_by(|a| cost.predict(&a.to_vec()));
        Some(recorded.scored_by(|a| published.predict(&a.to_vec())))
    }
}
