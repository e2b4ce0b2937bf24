//! What is searched of an application: its kernels, what can be chosen of them, and which of it may change.
use super::error::AppError;
use super::request::AppRequest;
use super::result::KernelShare;
use super::run::{AppTrace, TracedKernel};
use super::weighted::Weighted;
use super::{shares, subject};
use crate::group::Group;
use crate::models::{self, Unknown};
use crate::problem::with_storage;
use crate::score::{StaticScore, Weights};
use crate::subject::Subject;
use crate::tunable::Tunable;
use kerf_device::profile::DeviceProfile;
use kerf_search::{Outcome, Problem};
use std::path::Path;

/// What is searched of an application.
pub(super) struct AppSpace {
    pub subject: Subject,
    pub tunable: Tunable,
    /// All kernels that were launched, with their parts of the time.
    pub shares: Vec<KernelShare>,
    /// Is it tuned? By position in the subject, all kernels that were launched.
    chosen: Vec<bool>,
    /// Part of the time, by position in the subject.
    parts: Vec<f64>,
}

impl AppSpace {
    /// From a trace of the application as it is; `folder` has its device code.
    pub fn new(
        request: &AppRequest,
        trace: &AppTrace,
        folder: &Path,
    ) -> Result<AppSpace, AppError> {
        let selected = shares::chosen(trace, &request.kernels)?;
        let subject = subject::subject(trace, folder)?;
        if subject.kernels.iter().all(|k| k.sites.is_empty()) {
            return Err(AppError::NoKernels);
        }
        let all_s: f64 = trace.kernels.iter().map(|k| k.seconds).sum();
        let part = |k: &TracedKernel| if all_s > 0.0 { k.seconds / all_s } else { 0.0 };
        let is_selected = |k: &TracedKernel| {
            let mut all = selected.iter();
            all.any(|s| s.symbol == k.symbol && s.unit == k.unit)
        };
        let shares = trace.kernels.iter().map(|k| KernelShare {
            name: k.name.clone(),
            launches: k.launches,
            part: part(k),
            tuned: is_selected(k),
        });
        let launched = |symbol: &str| trace.kernels.iter().find(|k| k.symbol == symbol);
        let kernels = subject.kernels.iter();
        let parts = kernels.map(|k| launched(&k.symbol).map_or(0.0, part));
        let kernels = subject.kernels.iter();
        let chosen = kernels.map(|k| selected.iter().any(|s| s.symbol == k.symbol));
        Ok(AppSpace {
            tunable: with_storage(
                &subject,
                &request.formats,
                request.grouping,
                request.storage,
            )?,
            shares: shares.collect(),
            chosen: chosen.collect(),
            parts: parts.collect(),
            subject,
        })
    }

    /// Operations of kernels that take little time stay; memory is shared, so it may still change there.
    fn may_change(&self, g: &Group) -> bool {
        match g.holds.is_empty() {
            true => self.chosen[g.at],
            false => g.holds.iter().any(|p| self.chosen[p.at]),
        }
    }

    /// Groups that may change.
    pub fn free_groups(&self) -> usize {
        let all = self.tunable.groups.iter();
        all.filter(|g| self.may_change(g)).count()
    }

    /// The prediction of times for a device.
    pub fn cost(&self, profile: &DeviceProfile) -> Weighted<'_> {
        let weights = Weights::from_profile(profile);
        Weighted::new(
            StaticScore::new(&self.subject, &self.tunable, weights),
            self.parts.clone(),
            self.tunable.groups.len(),
        )
    }

    /// The search problem.
    pub fn problem(&self, tolerance: f64, cost: &Weighted) -> Problem {
        let mut problem = self.tunable.problem(&self.subject, tolerance);
        for (g, v) in self.tunable.groups.iter().zip(&mut problem.variables) {
            if !self.may_change(g) {
                v.levels.iter_mut().skip(1).for_each(|l| l.veto = true);
            }
        }
        models::inform(&mut problem, cost, &Unknown);
        problem.baseline = Some(Outcome::ran(0.0, 1.0));
        problem
    }
}
