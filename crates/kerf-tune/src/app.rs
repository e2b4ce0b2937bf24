//! Tuning a whole application: plans over its kernels, each evaluation a replay of one recorded run, or a run of the program.
//!
//! The reference is what the original program gives. Operations change format inside kernels; allocations of
//! doubles may be held in narrower formats, where the runtime converts whatever host code copies.
pub mod acceptance;
mod confirm;
mod counted_launch;
mod counting;
mod error;
mod evaluate;
mod event;
mod original;
mod replay;
mod request;
mod result;
pub mod run;
mod search;
mod shares;
mod space;
mod subject;
pub mod values;
mod weighted;

pub use counted_launch::{CountLaunches, CountedLaunch};
pub use error::AppError;
pub use evaluate::EvaluationFailure;
pub use event::AppEvent;
pub use replay::{NoReplay, ReplaySummary};
pub use request::{AppRequest, TimeBy};
pub use result::{
    AppResult, Confirmation, KernelShare, Local, LocalKernel, NotSearched, RejectedPlan, Validated,
};
pub use run::AppDevice;
pub use shares::COVERED;

use crate::duration::SearchDuration;
use crate::front::{FrontPoint, front};
use crate::group::Group;
use crate::precheck::SanitizerCheck;
use crate::prediction::TimePredictor;
use crate::result::{ResultError, write};
use crate::store::{self, Store};
use confirm::{Confirmer, Validation};
use evaluate::{App, save};
use kerf_exec::replay::WorstNumber;
use kerf_num::Metric;
use kerf_search::{Problem, Reason};
use original::Original;
use replay::Replayer;
use run::AppRunner;
use search::Searcher;
use serde_json::json;
use space::AppSpace;
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};
use values::ValueSource;
use weighted::{AppModels, Weighted};

/// What the tolerance bounds where nobody says: values near zero, of which an application's output has many, decide nothing.
pub const DEFAULT_METRIC: Metric = Metric::RelLinf;

/// A candidate may take this many times as long as the program itself, and some seconds.
const PATIENCE: f64 = 10.0;
/// Kernels are compiled in them, beside whatever else the machine does.
const PATIENCE_S: f64 = 60.0;

/// How long the search will take, by the program's own run.
fn duration(request: &AppRequest, run_s: f64, plans: u64, known: usize) -> SearchDuration {
    let evaluation_s = run_s * request.runs() as f64;
    let evaluations = request.budget.min(plans.try_into().unwrap_or(usize::MAX));
    let most = request.most.map_or(f64::INFINITY, |m| m.as_secs_f64());
    SearchDuration {
        // With a limit of its own, the search ends by itself.
        evaluations: match most < evaluations as f64 * evaluation_s {
            true => (most / evaluation_s) as usize,
            false => evaluations.saturating_sub(known),
        },
        evaluation_s,
        validations: 0,
        validation_s: 0.0,
        parallel: 1,
    }
}

/// How the application is run for a request, with a folder for what runs write.
fn runner(request: &AppRequest, scratch: &Path) -> AppRunner {
    AppRunner {
        command: request.command.clone(),
        device: request.device,
        scratch: scratch.to_owned(),
        output: match &request.source {
            ValueSource::File(p, _) => Some(p.clone()),
            _ => None,
        },
        copies: matches!(request.source, ValueSource::Copies),
        records: 0,
        record: None,
        require: request.require.clone(),
        turn: scratch.parent().unwrap_or(scratch).join("kerf-turn.lock"),
        keeps_turn: matches!(request.time, TimeBy::Wall | TimeBy::Pattern(_)),
    }
}

/// What makes a search the same search; the budget may grow.
fn description(request: &AppRequest, space: &AppSpace, replayed: bool) -> serde_json::Value {
    let groups = space.tunable.groups.iter();
    let mut all = json!({
        "kerf": env!("CARGO_PKG_VERSION"),
        "command": request.command,
        "device": request.device.to_string(),
        "metric": request.metric,
        "tolerance": request.tolerance,
        "compared": request.source.describe(),
        "strategy": request.strategy,
        "formats": request.formats,
        "grouping": request.grouping,
        "storage": request.storage,
        "groups": groups.map(|g| &g.name).collect::<Vec<_>>(),
        "seed": request.seed,
        "floor": request.floor,
        "time": request.time.name(),
        "replayed": replayed,
        "validated": request.validate_with,
        "require": request.require.as_ref().map(regex_lite::Regex::as_str),
        "what": request.what(),
    });
    if request.makes_functions() {
        let levels = space.tunable.made.iter().flat_map(|c| &c.levels);
        let ids = levels.flat_map(|l| l.functions.iter().map(|f| f.id()));
        all["functions"] = ids.collect::<Vec<String>>().into();
    }
    all
}

/// What the search came to.
struct SearchOutcome {
    /// Why the strategy ended.
    ended: Reason,
    /// Evaluations that it asked for.
    evaluations: usize,
    /// Evaluations of layouts.
    layouts: usize,
    /// Plans that did not run.
    failed: usize,
    /// Everything that ran, the program itself first.
    points: Vec<FrontPoint>,
    /// The fastest within the tolerance that the program confirms.
    best: FrontPoint,
    /// Does it change anything?
    tuned: bool,
    /// The least error of all that ran, and the number that was furthest off in it (is it small?).
    nearest: Option<(f64, WorstNumber)>,
    /// Kernels tuned alone, where that was asked for.
    local: Option<Local>,
    /// What the program itself said of the plans.
    confirmed: Confirmation,
    /// Evaluations a minute.
    per_minute: Option<f64>,
}

/// Tunes an application, and writes the result folder.
pub fn tune<'w>(
    request: &AppRequest,
    watch: &'w mut (dyn FnMut(&AppEvent) + 'w),
) -> Result<AppResult, AppError> {
    let clock = Instant::now();
    let io = |e: std::io::Error| ResultError::File {
        path: request.out.display().to_string(),
        why: e.to_string(),
    };
    std::fs::create_dir_all(&request.out).map_err(io)?;
    let _lock = kerf_files::FolderLock::take(&request.out)?;
    let scratch = tempfile::tempdir().map_err(io)?;
    let runner = runner(request, scratch.path());
    let mut original = Original::run(request, &runner, watch)?;
    let counted = original.launches.take();
    let space = AppSpace::new(request, &runner, &original.ran.trace, counted)?;
    watch(&AppEvent::Prepared(
        original.ran.wall_s,
        &space.shares,
        space.free_groups(),
    ));
    let validations = Validation::all(request, &runner)?;
    let own_s = original.ran.wall_s;
    let limit = Duration::from_secs_f64(PATIENCE * own_s + PATIENCE_S).min(request.limit);
    let replayer = open_replayer(request, &runner, &mut original, limit, watch);
    let runs = if replayer.is_ok() { 1 } else { request.runs() };
    let recorded = replayer.as_ref().ok().map(Replayer::recorded_copies);
    let program_time = original.repeat(request, &runner, runs, recorded)?;
    let replayer_used = replayer.as_ref().ok();
    let app = App {
        request,
        reference: &original.reference,
        base_time: replayer_used.map_or(program_time, |r| r.base.0),
        limit,
        runner: &runner,
        replayer: replayer_used,
        started: OnceCell::new(),
    };
    let models = space.models(request);
    let problem = space.problem(request, &models);
    let path = request.out.join(store::FILE);
    let described = description(request, &space, replayer.is_ok());
    let store = Store::open(&path, &described, request.resume)?;
    let check = original.check.take();
    let mut searcher = Searcher {
        app: &app,
        tunable: &space.tunable,
        subject: &space.subject,
        models: &models,
        db: store,
        known: BTreeMap::new(),
        nearest: None,
        made: (0, 0.0),
        watch,
    };
    searcher.remember()?;
    let evaluation_s = replayer_used.map_or(own_s, |r| r.base.1);
    let duration = duration(request, evaluation_s, problem.size(), searcher.known.len());
    duration.check(request.confirmed, false)?;
    let outcome = search(&mut searcher, &problem, &validations)?;
    let checked = original::checked_program(check, &runner, &mut searcher)?;
    let best = outcome.best.assignment.clone();
    let plan = space.tunable.plan(&space.subject, &best);
    let mut result = assemble(request, &original, &space, outcome, &models, checked);
    result.replay = Some(match &replayer {
        Ok(r) => r.summary(),
        Err(why) => ReplaySummary::none(why),
    });
    result.wall_s = clock.elapsed().as_secs_f64();
    let held = subject::held(&space.subject, &space.tunable, &best);
    save(&request.out, &plan, &held)?;
    let json = |v: serde_json::Result<String>| v.map_err(|e| AppError::Module(e.to_string()));
    let text = json(serde_json::to_string_pretty(&result))? + "\n";
    write(&request.out.join("result.json"), text.as_bytes())?;
    Ok(result)
}

/// Replays of the recorded run, once they give its bits; why candidates restart the program otherwise, which is said.
fn open_replayer(
    request: &AppRequest,
    runner: &AppRunner,
    original: &mut Original,
    limit: Duration,
    watch: &mut dyn FnMut(&AppEvent),
) -> Result<Replayer, NoReplay> {
    let recorded = std::mem::replace(&mut original.recorded, Err(NoReplay::Unwanted));
    let opened = recorded.and_then(|r| Replayer::open(request, runner, r, limit));
    match &opened {
        Ok(r) => {
            let s = r.summary();
            watch(&AppEvent::Replayed(s.calls, s.bytes, r.base.1));
        }
        Err(NoReplay::Unwanted) => {}
        Err(why) => original
            .warnings
            .push(format!("every candidate restarts the program: {why}")),
    }
    opened
}

/// Runs the strategy, then kernels alone where that was asked for, and chooses what the program confirms.
fn search(
    searcher: &mut Searcher,
    problem: &Problem,
    validations: &[Validation],
) -> Result<SearchOutcome, AppError> {
    let request = searcher.app.request;
    let confirmer = Confirmer {
        app: searcher.app,
        subject: searcher.subject,
        tunable: searcher.tunable,
        validations,
    };
    let choice = confirmer.choose(searcher, problem)?;
    let local = match request.local {
        true => Some(searcher.local(problem)?),
        false => None,
    };
    let known = searcher.known.values();
    let failed = known.filter(|k| k.0.failure.is_some()).count();
    let points = searcher.points(problem);
    let best = choice.best.unwrap_or_else(|| points[0].clone());
    let (made, seconds) = searcher.made;
    Ok(SearchOutcome {
        ended: choice.ended,
        evaluations: choice.evaluations,
        layouts: choice.layouts,
        failed,
        tuned: best.assignment != problem.identity(),
        best,
        points,
        nearest: searcher.nearest.clone(),
        local,
        confirmed: choice.confirmation,
        per_minute: (made > 0 && seconds > 0.0).then(|| 60.0 * made as f64 / seconds),
    })
}

/// What a reader must know of the outcome.
fn warnings(request: &AppRequest, outcome: &SearchOutcome) -> Vec<String> {
    let mut warnings = Vec::new();
    let evaluated = outcome.evaluations + outcome.layouts;
    if evaluated > 0 && outcome.failed == evaluated {
        warnings.push(
            "the application failed with every plan: its own check may be stricter than the tolerance"
                .into(),
        );
    }
    if let (false, Metric::MaxRel, Some((error, worst))) =
        (outcome.tuned, request.metric, &outcome.nearest)
        && *error > request.tolerance
        && (worst.is_small || *error > 0.1)
    {
        let worst = &worst.words;
        warnings.push(format!(
            "numbers near zero may decide the relative error ({worst}): --floor X measures smaller numbers against X, \
             --metric rel_linf measures them against the largest of their array"
        ));
    }
    if request.validate_with.is_empty() {
        warnings.push(
            "the plan was judged on the application's own run; other inputs were not tried (--validate-with)".into(),
        );
    }
    let rejected = outcome.confirmed.rejected.len();
    if rejected > 0 && !outcome.tuned {
        warnings.push(format!(
            "faster plans were within the tolerance in the search ({rejected}), and the program confirmed none of them"
        ));
    }
    warnings
}

/// The result, but for its time.
fn assemble(
    request: &AppRequest,
    original: &Original,
    space: &AppSpace,
    outcome: SearchOutcome,
    models: &AppModels,
    checked: SanitizerCheck,
) -> AppResult {
    let mut all_warnings = original.warnings.clone();
    all_warnings.extend(warnings(request, &outcome));
    let format = |g: &Group, l: &u8| (g.name.clone(), g.formats[*l as usize].to_string());
    let groups = space.tunable.groups.iter().zip(&outcome.best.assignment);
    let changed = groups.clone().filter(|(_, l)| **l > 0);
    AppResult {
        schema: "kerf.tune-app/1".into(),
        kerf: env!("CARGO_PKG_VERSION").into(),
        verdict: if outcome.tuned { "tuned" } else { "unchanged" }.into(),
        command: request.command.clone(),
        device: request.device.to_string(),
        compared: request.source.describe(),
        numbers: original.reference.floats.len(),
        counts: Some(original.counts),
        checked: Some(checked),
        arrays: original.reference.scales(),
        metric: request.metric,
        tolerance: request.tolerance,
        reference: "the output of the original program".into(),
        kernels: space.shares.clone(),
        kernels_by: original.kernels_by.clone(),
        strategy: request.strategy.to_string(),
        seed: request.seed,
        budget: request.budget,
        evaluations: outcome.evaluations,
        failed: outcome.failed,
        ended: outcome.ended,
        replay: None,
        evaluations_per_minute: outcome.per_minute,
        error: plan_error(&outcome, request),
        confirmed: Some(outcome.confirmed),
        speedup: 1.0 / outcome.best.time,
        time_by: time_by(request, &models.judge),
        what: request.what(),
        left_out: space.left_out(request, models),
        layouts: outcome.layouts,
        changed: changed.map(|(g, l)| format(g, l)).collect(),
        groups: groups.map(|(g, l)| format(g, l)).collect(),
        front: front(&outcome.points),
        local: outcome.local,
        warnings: all_warnings,
        wall_s: 0.0,
    }
}

/// The error of the plan: the largest that was seen of it. Where the program decides, only its own runs count.
fn plan_error(outcome: &SearchOutcome, request: &AppRequest) -> f64 {
    match outcome.confirmed.error {
        Some(e) if request.program_decides() => e,
        Some(e) => e.max(outcome.best.error),
        None => outcome.best.error,
    }
}

/// How time was told, in words.
fn time_by(request: &AppRequest, judge: &Weighted) -> String {
    match &request.time {
        TimeBy::Predicted => format!("predicted: {}", judge.describe()),
        TimeBy::Kernels => format!("measured: kernel times on {}", request.device),
        TimeBy::Wall => format!("measured: from start to end on {}", request.device),
        TimeBy::Pattern(p) => {
            format!("measured: the application's own figure, `{}`", p.as_str())
        }
    }
}
