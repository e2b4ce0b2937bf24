//! Layouts of a workload's kernels, evaluated after its strategy.
use super::{Meanwhile, Tuner};
use crate::layouts::{LayoutTrials, MOST};
use crate::prediction::TimePredictor;
use crate::store::{Phase, StoreError};
use crate::tunable::Tunable;
use kerf_run::job::Device;
use kerf_search::{Assignment, Outcome};

impl LayoutTrials for Tuner<'_> {
    type Error = StoreError;

    fn tunable(&self) -> &Tunable {
        self.tunable
    }

    fn fastest(&self) -> (Assignment, f64) {
        let own = (vec![0; self.tunable.groups.len()], 1.0);
        self.best().map_or(own, |p| (p.assignment, p.time))
    }

    fn known_outcome(&self, a: &Assignment) -> Option<Outcome> {
        self.known.get(a).map(|e| self.outcome(a, e))
    }

    fn known_plans(&self) -> Vec<Assignment> {
        self.known.keys().cloned().collect()
    }

    fn is_minor(&self, kernel: &str) -> bool {
        self.minor_kernels.contains(kernel)
    }

    fn predictor(&self) -> Option<&dyn TimePredictor> {
        (self.evaluator.job.device == Device::Cpu).then_some(self.judge)
    }

    fn run(
        &mut self,
        all: &[Assignment],
        done: usize,
        likely: &[Assignment],
    ) -> Result<(), StoreError> {
        for a in all {
            if let Some(e) = self.store.get(Phase::Layout, a, &self.input)? {
                self.known.insert(a.clone(), e);
            }
        }
        let is_new = |a: &&Assignment| !self.known.contains_key(*a);
        let left: Vec<Assignment> = all.iter().filter(is_new).cloned().collect();
        let meanwhile = Meanwhile {
            likely,
            think: None,
        };
        self.evaluate(Phase::Layout, &left, (done, MOST), meanwhile)
    }
}
