//! The chosen plan in the real program, before it is called good: more than once, and on other arguments where they are
//! given. Host code that decides by device results does so here, and a plan that is not accepted here gives way to the next.
use super::acceptance;
use super::error::AppError;
use super::evaluate::{App, EvaluationFailure, save};
use super::original;
use super::request::AppRequest;
use super::result::{Confirmation, RejectedPlan, Validated};
use super::run::AppDevice;
use super::run::{AppRunner, Ran};
use super::search::{Searcher, fastest};
use super::subject;
use super::values::{Values, values};
use crate::front::FrontPoint;
use crate::store::Phase;
use crate::subject::Subject;
use crate::tunable::Tunable;
use kerf_exec::replay::AppCriterion;
use kerf_search::{Problem, Reason};
use std::path::Path;
use std::time::Duration;

/// Runs of the program with a plan before that is called good.
const RUNS: usize = 2;
/// Plans that are tried before the program stays as it is.
const MOST_PLANS: usize = 20;

/// Why the program does not confirm a plan.
#[derive(Debug, thiserror::Error)]
enum Unconfirmed {
    /// Its error is beyond the tolerance.
    #[error("the error is {0:.3e} in the program")]
    Beyond(f64),
    /// It fails, or gives nothing to compare.
    #[error(transparent)]
    Failed(#[from] EvaluationFailure),
    /// On other arguments.
    #[error("{0}: {1}")]
    Elsewhere(String, Box<Unconfirmed>),
}

/// The program on other arguments, as it is.
pub(super) struct Validation {
    runner: AppRunner,
    reference: Values,
}

impl Validation {
    /// Runs the other commands of a request once.
    pub fn all(request: &AppRequest, runner: &AppRunner) -> Result<Vec<Validation>, AppError> {
        let commands = request.validate_with.iter().enumerate();
        let run = |(i, command): (usize, &String)| {
            let runner = AppRunner {
                command: command.clone(),
                scratch: runner.scratch.join(format!("validation-{i}")),
                ..runner.clone()
            };
            let reference = original::other_run(request, &runner)?;
            Ok(Validation { runner, reference })
        };
        commands.map(run).collect()
    }
}

/// One run of a program with a plan: its error, if that is within the tolerance.
fn accepted(
    request: &AppRequest,
    runner: &AppRunner,
    reference: &Values,
    plan: &Path,
    limit: Duration,
) -> Result<f64, Unconfirmed> {
    let ran = runner.run(Some(plan), limit, false);
    let ran = ran.map_err(|e| Unconfirmed::from(EvaluationFailure::from(e)))?;
    judged(request, runner, reference, &ran)
}

/// The error of a run, if that is within the tolerance.
fn judged(
    request: &AppRequest,
    runner: &AppRunner,
    reference: &Values,
    ran: &Ran,
) -> Result<f64, Unconfirmed> {
    let criterion: AppCriterion = request.criterion();
    let error = values(&request.source, ran, &runner.trace())
        .map_err(EvaluationFailure::from)
        .and_then(|v| Ok(acceptance::error(&v, reference, &criterion)?));
    match error {
        Ok(e) if e <= request.tolerance => Ok(e),
        Ok(e) => Err(Unconfirmed::Beyond(e)),
        Err(e) => Err(e.into()),
    }
}

/// The largest error of a plan in the program, and its errors in the other commands.
type PlanErrors = Result<(f64, Vec<f64>), Unconfirmed>;

/// Plans of a search, tried in the program.
pub(super) struct Confirmer<'c> {
    pub app: &'c App<'c>,
    pub subject: &'c Subject,
    pub tunable: &'c Tunable,
    pub validations: &'c [Validation],
}

impl Confirmer<'_> {
    /// Errors of a plan in the program, and in each of the other commands; or why it is not good.
    fn confirm(&self, p: &FrontPoint) -> Result<PlanErrors, AppError> {
        let (request, runner) = (self.app.request, self.app.runner);
        let held = subject::held(self.subject, self.tunable, &p.assignment);
        let plan = self.tunable.plan(self.subject, &p.assignment);
        let path = save(&runner.scratch, &plan, &held)?;
        let run = |runner: &AppRunner, reference: &Values| {
            accepted(request, runner, reference, &path, self.app.limit)
        };
        let worst = match self.own_error(&path) {
            Ok(e) => e,
            Err(why) => return Ok(Err(why)),
        };
        let mut others = Vec::new();
        for v in self.validations {
            match run(&v.runner, &v.reference) {
                Ok(e) => others.push(e),
                Err(why) => {
                    let command = v.runner.command.clone();
                    return Ok(Err(Unconfirmed::Elsewhere(command, why.into())));
                }
            }
        }
        Ok(Ok((worst, others)))
    }

    /// The largest error of a plan in runs of the program: beside each other on a GPU, which a program that works on the host for
    /// long needs for a part of the time; one after the other where they write the same file. A run that failed beside another may
    /// have lacked memory, and is made again alone.
    fn own_error(&self, plan: &Path) -> Result<f64, Unconfirmed> {
        let (app, request) = (self.app, self.app.request);
        let is_beside = request.device != AppDevice::Cpu && app.runner.output.is_none();
        let runs = (0..RUNS).filter(|_| is_beside).map(|k| {
            let runner = AppRunner {
                scratch: app.runner.scratch.join(format!("confirmed-{k}")),
                ..app.runner.clone()
            };
            let (mine, plan, limit) = (runner.clone(), plan.to_owned(), app.limit);
            let running = std::thread::spawn(move || mine.run(Some(&plan), limit, false));
            (runner, running)
        });
        let runs: Vec<_> = runs.collect();
        // All have ended before any is judged: the next plan runs in the same folders.
        let ended = runs.into_iter().map(|(runner, r)| (runner, r.join()));
        let ended: Vec<_> = ended.collect();
        let (mut worst, mut done) = (0.0f64, 0);
        for (runner, ran) in ended {
            if let Ok(Ok(ran)) = ran {
                worst = worst.max(judged(request, &runner, app.reference, &ran)?);
                done += 1;
            }
        }
        for _ in done..RUNS {
            let e = accepted(request, app.runner, app.reference, plan, app.limit)?;
            worst = worst.max(e);
        }
        Ok(worst)
    }

    /// The other commands with the errors of a plan there.
    fn validated(&self, errors: &[f64]) -> Vec<Validated> {
        let all = self.validations.iter().enumerate();
        let each = all.map(|(i, v)| Validated {
            command: v.runner.command.clone(),
            numbers: v.reference.floats.len(),
            error: errors.get(i).copied(),
        });
        each.collect()
    }

    /// Searches until the program confirms the fastest plan that was found, or nothing faster is left: a strategy is told
    /// of a plan that the program does not confirm as of one that failed. Gives the plan, and why and after how many
    /// evaluations the last search ended.
    pub fn choose(&self, searcher: &mut Searcher, problem: &Problem) -> Result<Choice, AppError> {
        let mut confirmation = Confirmation {
            validated: self.validated(&[]),
            ..Confirmation::default()
        };
        let mut layouts = 0;
        loop {
            let (ended, evaluations) = searcher.search(Phase::Search, problem)?;
            layouts += searcher.settle_layouts(problem)?;
            let done = |best, confirmation| Choice {
                best,
                ended,
                evaluations,
                layouts,
                confirmation,
            };
            let points = searcher.points(problem);
            let best = fastest(&points, self.app.request.tolerance);
            let Some(p) = best.filter(|_| confirmation.rejected.len() < MOST_PLANS) else {
                return Ok(done(None, confirmation));
            };
            match self.confirm(&p)? {
                Ok((error, others)) => {
                    confirmation.runs = RUNS;
                    confirmation.error = Some(error);
                    confirmation.validated = self.validated(&others);
                    return Ok(done(Some(p), confirmation));
                }
                Err(why) => {
                    let why = why.to_string();
                    searcher.reject(&p, &why)?;
                    confirmation.rejected.push(RejectedPlan {
                        speedup: 1.0 / p.time,
                        error: p.error,
                        why,
                    });
                }
            }
        }
    }
}

/// What was chosen.
pub(super) struct Choice {
    /// The plan; none if the program confirms none.
    pub best: Option<FrontPoint>,
    /// Why the search ended.
    pub ended: Reason,
    /// Evaluations that it asked for.
    pub evaluations: usize,
    /// Evaluations of layouts.
    pub layouts: usize,
    /// What the program said.
    pub confirmation: Confirmation,
}
