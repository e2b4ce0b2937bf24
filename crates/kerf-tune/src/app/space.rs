//! What is searched of an application: its kernels, what can be chosen of them, and which of it may change.
use super::counting::AppCounts;
use super::error::AppError;
use super::request::{AppRequest, TimeBy};
use super::result::{KernelShare, NotSearched};
use super::run::{AppRunner, AppTrace, TracedKernel};
use super::weighted::{AppModels, Weighted};
use super::{shares, subject};
use crate::algebra::RewritableClusters;
use crate::group::Group;
use crate::made::MadeScope;
use crate::models::{self, Unknown};
use crate::problem::{ProblemError, TuningScope, for_scope};
use crate::score::{StaticScore, Weights};
use crate::subject::{Kernel, Subject};
use crate::tunable::Tunable;
use kerf_predict::cost::CostModel;
use kerf_search::{Outcome, Problem};

/// What is searched of an application.
pub(super) struct AppSpace {
    pub subject: Subject,
    pub tunable: Tunable,
    /// All kernels that were launched, with their parts of the time.
    pub shares: Vec<KernelShare>,
    /// Part of the time, by position in the subject.
    parts: Vec<f64>,
    /// What was counted of recorded launches.
    counts: AppCounts,
    /// Predicts times from counts; none where the profile does not tell enough.
    device: Option<CostModel>,
    /// What was asked for and is not searched.
    left_out: Vec<NotSearched>,
}

/// Something of a kernel that is not searched.
fn left_out(what: &str, kernel: &str, why: &str) -> NotSearched {
    NotSearched {
        what: what.to_owned(),
        kernel: kernel.to_owned(),
        why: why.to_owned(),
    }
}

/// What was counted, where times are predicted from it, or functions are made for the arguments that were counted.
fn counts(
    request: &AppRequest,
    runner: &AppRunner,
    counted: Option<AppCounts>,
    subject: &Subject,
) -> Result<AppCounts, AppError> {
    if let Some(counted) = counted {
        return Ok(counted);
    }
    let calls = |k: &Kernel| k.is_tuned && !k.library_calls.is_empty();
    match request.makes_functions() && subject.kernels.iter().any(calls) {
        true => AppCounts::obtain(request, runner),
        false => Ok(AppCounts::default()),
    }
}

impl AppSpace {
    /// From a trace of the application as it is, whose device code is in the runner's folder, and the launches that were
    /// counted already.
    pub fn new(
        request: &AppRequest,
        runner: &AppRunner,
        trace: &AppTrace,
        counted: Option<AppCounts>,
    ) -> Result<AppSpace, AppError> {
        let selected = shares::chosen(trace, &request.kernels)?;
        let mut subject = subject::subject(trace, &runner.trace())?;
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
        let shares: Vec<KernelShare> = shares.collect();
        let launched = |symbol: &str| trace.kernels.iter().find(|k| k.symbol == symbol);
        let kernels = subject.kernels.iter();
        let parts = kernels.map(|k| launched(&k.symbol).map_or(0.0, part));
        let parts: Vec<f64> = parts.collect();
        for k in &mut subject.kernels {
            k.is_tuned = selected.iter().any(|s| s.symbol == k.symbol);
        }
        let counts = counts(request, runner, counted, &subject)?;
        let tunable = tunable(request, &subject, &counts)?;
        let mut space = AppSpace {
            left_out: Vec::new(),
            device: CostModel::new(&request.profile).ok(),
            tunable,
            shares,
            parts,
            counts,
            subject,
        };
        space.left_out = space.not_searched(request);
        Ok(space)
    }

    /// What was asked for and cannot be searched, by kernel, with the reason.
    fn not_searched(&self, request: &AppRequest) -> Vec<NotSearched> {
        let mut all = Vec::new();
        let coarse = self.tunable.uncoarsened.iter();
        all.extend(coarse.map(|u| left_out("layout", &u.kernel, &u.why)));
        let blocks = self.tunable.fixed_blocks.iter();
        all.extend(blocks.map(|u| left_out("launch", &u.kernel, &u.why)));
        let single = self.tunable.single.iter();
        all.extend(single.map(|(kernel, why)| left_out("approx (warps)", kernel, why)));
        for k in self.subject.kernels.iter().filter(|k| k.is_tuned) {
            if request.launch && !request.searches_blocks() {
                let why = "times are predicted, and no model tells what other blocks gain; --time kernels measures";
                all.push(left_out("launch", &k.name, why));
            }
            let calls = !k.library_calls.is_empty() && request.makes_functions();
            if calls && self.counts.work(&k.symbol).is_none() {
                let why = "no launch of it could be counted, so that the ranges of its arguments are not known";
                all.push(left_out("approx (made functions)", &k.name, why));
            }
        }
        all
    }

    /// What was asked for and is not searched: of the space, and what `models` say nothing of.
    pub fn left_out(&self, request: &AppRequest, models: &AppModels) -> Vec<NotSearched> {
        let mut all = self.left_out.clone();
        let kernels = self.subject.kernels.iter().enumerate();
        for (at, k) in kernels.filter(|(_, k)| k.is_tuned) {
            let mut groups = self.tunable.layouts().map(|g| &self.tunable.groups[g]);
            if groups.any(|g| g.at == at) && !self.tells_layouts(request, models, at) {
                let why = "no launch of it could be counted, so that no machine code tells what its layouts gain";
                all.push(left_out("layout, code", &k.name, why));
            }
        }
        all
    }

    /// Are times of other layouts of a kernel measured, or predicted from machine code?
    fn tells_layouts(&self, request: &AppRequest, models: &AppModels, at: usize) -> bool {
        !matches!(request.time, TimeBy::Predicted) || models.judge.knows_layout(at)
    }

    /// Operations of kernels that take little time stay; memory is shared, so it may still change there.
    fn may_change(&self, g: &Group) -> bool {
        let is_tuned = |at: usize| self.subject.kernels[at].is_tuned;
        match g.holds.is_empty() {
            true => is_tuned(g.at),
            false => g.holds.iter().any(|p| is_tuned(p.at)),
        }
    }

    /// Groups that may change.
    pub fn free_groups(&self) -> usize {
        let all = self.tunable.groups.iter();
        all.filter(|g| self.may_change(g)).count()
    }

    /// The predictions of times for a device.
    pub fn models<'s>(&'s self, request: &AppRequest) -> AppModels<'s> {
        let weights = Weights::from_profile(&request.profile);
        let score = StaticScore::new(&self.subject, &self.tunable, weights);
        let parts = self.parts.clone();
        let mut guide = Weighted::new((&self.subject, &self.tunable), score, parts);
        let predicts = matches!(request.time, TimeBy::Predicted);
        let mut judge = None;
        if let Some(device) = &self.device {
            guide = guide.counted(device, &self.counts);
            let assembler = request.assembler.as_ref();
            // Double words are never read from machine code, and times of two models are no ratio.
            let assembler = assembler.filter(|_| predicts && !self.tunable.has_double_words());
            judge = assembler.map(|by| guide.coded(device, &self.counts, by));
        }
        AppModels {
            judge: judge.unwrap_or_else(|| guide.clone()),
            guide,
        }
    }

    /// The search problem.
    pub fn problem(&self, request: &AppRequest, models: &AppModels) -> Problem {
        let mut problem = self.tunable.problem(&self.subject, request.tolerance);
        let layouts: Vec<usize> = self.tunable.layouts().collect();
        let groups = self.tunable.groups.iter().enumerate();
        for ((i, g), v) in groups.zip(&mut problem.variables) {
            let is_told = !layouts.contains(&i) || self.tells_layouts(request, models, g.at);
            if !self.may_change(g) || !is_told {
                v.levels.iter_mut().skip(1).for_each(|l| l.veto = true);
            }
        }
        let shapes = self.tunable.shapes();
        models::inform_but(&mut problem, &models.guide, &Unknown, &shapes);
        problem.baseline = Some(Outcome::ran(0.0, 1.0));
        problem
    }
}

/// What can be chosen of an application.
fn tunable(
    request: &AppRequest,
    subject: &Subject,
    counts: &AppCounts,
) -> Result<Tunable, ProblemError> {
    let program = counts.program().filter(|_| request.makes_functions());
    let found = || RewritableClusters::for_subject(subject, &request.profile);
    let rewritable = request.algebra.then(found);
    for_scope(
        subject,
        &TuningScope {
            formats: &request.formats,
            raise: false,
            by: request.grouping,
            storage: request.storage,
            // The runtime's copies know no scales.
            scaled: None,
            approx: request.approx,
            layout: request.layout,
            // Host code fills and reads its buffers itself.
            records: false,
            blocks: request.searches_blocks(),
            code: request.code,
            algebra: rewritable.as_ref(),
            made: program.as_ref().map(|counts| MadeScope {
                counts,
                profile: &request.profile,
                tolerance: request.tolerance,
                metric: request.metric,
            }),
        },
    )
}
