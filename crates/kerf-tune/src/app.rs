//! Tuning a whole application: plans over its kernels, each evaluation a run of the program.
//!
//! The reference is what the original program gives. Operations change format inside kernels; allocations of
//! doubles may be held in narrower formats, where the runtime converts whatever host code copies.
pub mod acceptance;
pub mod run;
mod search;
mod shares;
mod subject;
mod types;
pub mod values;
mod weighted;

use crate::duration::SearchDuration;
use crate::evaluate::Evaluated;
use crate::front::{Point, front};
use crate::models::{self, CostModel};
use crate::precheck::Checked;
use crate::problem::{Group, Tunable, with_storage};
use crate::result::{ResultError, write};
use crate::score::{StaticScore, Weights};
use crate::store::{self, Phase, Store};
use kerf_num::Metric;
use kerf_pass::{Plan, SiteFormat};
use kerf_search::Outcome;
use run::{Ran, RunFailure, Runner, TracedKernel};
use search::Searcher;
pub use search::{Local, LocalKernel};
use serde_json::json;
pub use shares::COVERED;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
pub use types::{AppError, AppEvent, AppResult, Estimate, Request, Share, TimeBy};
use values::{NoValues, Source, Values, values};
use weighted::Weighted;

/// A candidate may take this many times as long as the program itself, and some seconds.
const PATIENCE: f64 = 10.0;
/// How long the check for undefined behaviour before a search may last.
const CHECKED: Duration = Duration::from_secs(20);
/// Kernels are compiled in them, beside whatever else the machine does.
const PATIENCE_S: f64 = 60.0;

/// The fastest point within a tolerance that is faster than the program.
fn fastest(points: &[Point], tolerance: f64) -> Option<Point> {
    points
        .iter()
        .filter(|p| p.error <= tolerance && p.time < 1.0)
        .min_by(|a, b| a.time.total_cmp(&b.time).then(a.error.total_cmp(&b.error)))
        .cloned()
}

/// A name without its template arguments and namespaces.
fn bare(name: &str) -> &str {
    let head = name.split('<').next().unwrap_or(name);
    head.rsplit("::").next().unwrap_or(head)
}

struct Evaluation {
    error: Result<f64, String>,
    /// The number that is furthest off, in words, and whether it is small beside the others.
    worst: (String, bool),
    time: Option<f64>,
    wall_s: f64,
}

struct App<'r> {
    request: &'r Request,
    runner: Runner,
    reference: Values,
    base_time: Option<f64>,
    limit: Duration,
    started: Instant,
}

/// Waits until the clock's second is not that of `last` any more: programs that take random numbers by `time(0)` would
/// give the same output twice, and only the search would see that they do not repeat.
fn in_another_second(last: SystemTime) {
    let whole = |t: SystemTime| t.duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
    let now = SystemTime::now();
    if whole(now) == whole(last) {
        let part = now
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default()
            .subsec_nanos();
        std::thread::sleep(Duration::from_secs(1) - Duration::from_nanos(part.into()));
    }
}

fn seconds(time: &TimeBy, ran: &Ran) -> Result<Option<f64>, AppError> {
    Ok(match time {
        TimeBy::Predicted => None,
        TimeBy::Kernels => Some(ran.trace.kernels.iter().map(|k| k.seconds).sum()),
        TimeBy::Wall => Some(ran.wall_s),
        TimeBy::Pattern(r) => {
            let hit = r.captures(&ran.stdout);
            let text = hit.and_then(|c| Some(c.get(usize::from(c.len() > 1))?.as_str().to_owned()));
            let number = text.and_then(|t| {
                let words = t.split(|c: char| c.is_whitespace() || ":=,".contains(c));
                words.filter_map(|w| w.parse::<f64>().ok()).next()
            });
            Some(number.ok_or_else(|| AppError::NoTime(r.as_str().to_owned()))?)
        }
    })
}

/// Do evaluations need the times of single kernels?
fn times_kernels(time: &TimeBy) -> bool {
    matches!(time, TimeBy::Kernels)
}

/// Whatever else goes on on the machine only adds to a time: the least is the program's own.
fn least(all: &[f64]) -> f64 {
    all.iter().copied().fold(f64::INFINITY, f64::min)
}

/// Writes a plan as the runtime reads it; gives its file.
fn save(
    dir: &std::path::Path,
    plan: &Plan,
    held: &BTreeMap<usize, SiteFormat>,
) -> Result<PathBuf, AppError> {
    let json = |v: serde_json::Result<String>| v.map_err(|e| AppError::Module(e.to_string()));
    let buffers = json(serde_json::to_string_pretty(
        &json!({ "allocations": held }),
    ))? + "\n";
    write(&dir.join("buffers.json"), buffers.as_bytes())?;
    let path = dir.join("plan.json");
    let text = json(serde_json::to_string_pretty(plan))? + "\n";
    write(&path, text.as_bytes())?;
    Ok(path)
}

impl App<'_> {
    /// Is the time for the search used?
    fn over(&self) -> bool {
        let most = self.request.most;
        most.is_some_and(|m| self.started.elapsed() >= m)
    }

    fn evaluate(
        &self,
        plan: &Plan,
        held: &BTreeMap<usize, SiteFormat>,
    ) -> Result<Evaluation, AppError> {
        let clock = Instant::now();
        let path = save(&self.runner.scratch, plan, held)?;
        let runs = match self.request.time {
            TimeBy::Predicted => 1,
            _ => self.request.repeats.max(1),
        };
        let (mut error, mut times, mut worst) =
            (Err(String::new()), Vec::new(), Default::default());
        for _ in 0..runs {
            let kernels = times_kernels(&self.request.time);
            let ran = match self.runner.run(Some(&path), self.limit, kernels) {
                Ok(r) => r,
                Err(e) => {
                    error = Err(e.to_string());
                    break;
                }
            };
            let v = values(&self.request.source, &ran, &self.runner.trace());
            error = v.map_err(|e| e.to_string()).and_then(|v| {
                let r = self.request;
                worst = values::worst(&v, &self.reference, r.floor);
                acceptance::error(&v, &self.reference, &r.criterion())
            });
            if error.is_err() {
                break;
            }
            times.extend(seconds(&self.request.time, &ran)?);
            // Beyond the tolerance its time is of little interest: once is enough.
            if error.as_ref().is_ok_and(|e| *e > self.request.tolerance) {
                break;
            }
        }
        let time = match (self.base_time, times.is_empty()) {
            (Some(b), false) if b > 0.0 => Some(least(&times) / b),
            _ => None,
        };
        Ok(Evaluation {
            error,
            worst,
            time,
            wall_s: clock.elapsed().as_secs_f64(),
        })
    }
}

fn kept(e: &Evaluation, device: &str) -> Evaluated {
    Evaluated {
        error: e.error.as_ref().ok().copied().filter(|v| v.is_finite()),
        device: device.to_owned(),
        wall_s: e.wall_s,
        ..Evaluated::failed_with(e.error.as_ref().err().cloned())
    }
}

/// How long the search will take, by the program's own run.
fn duration(r: &Request, run_s: f64, plans: u64, known: usize) -> SearchDuration {
    let runs = match r.time {
        TimeBy::Predicted => 1,
        _ => r.repeats.max(1),
    };
    let evaluation_s = run_s * runs as f64;
    let evaluations = r.budget.min(plans.try_into().unwrap_or(usize::MAX));
    let most = r.most.map_or(f64::INFINITY, |m| m.as_secs_f64());
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

/// Checks the application for undefined behaviour, and says what was not checked.
fn check(
    r: &Request,
    runner: &Runner,
    watch: &mut dyn FnMut(&AppEvent),
) -> Result<Checked, AppError> {
    let checked = runner.check(&r.allow, CHECKED);
    let checked = checked.map_err(AppError::Undefined)?;
    if let Some(gap) = checked.gap() {
        watch(&AppEvent::Warning(&gap));
    }
    Ok(checked)
}

/// Tunes an application, and writes the result folder.
pub fn tune<'w>(
    r: &Request,
    watch: &'w mut (dyn FnMut(&AppEvent) + 'w),
) -> Result<AppResult, AppError> {
    let clock = Instant::now();
    let io = |path: &std::path::Path, e: std::io::Error| ResultError::File {
        path: path.display().to_string(),
        why: e.to_string(),
    };
    std::fs::create_dir_all(&r.out).map_err(|e| io(&r.out, e))?;
    let _lock = kerf_files::FolderLock::take(&r.out)?;
    let scratch = tempfile::tempdir().map_err(|e| io(&r.out, e))?;
    let runner = Runner {
        command: r.command.clone(),
        device: r.device.clone(),
        scratch: scratch.path().to_owned(),
        output: match &r.source {
            Source::File(p, _) => Some(p.clone()),
            _ => None,
        },
        copies: matches!(r.source, Source::Copies),
        records: false,
        require: r.require.clone(),
    };
    let advice = |e: &RunFailure| match e {
        RunFailure::Hangs(_) => "run it by hand with KERF_DEVICE set; --timeout allows more",
        RunFailure::Untraced => {
            "build it with kerf cc, and let it end by itself (not by _exit or abort)"
        }
        RunFailure::Failed { .. } => {
            "run it by hand with KERF_DEVICE set, and mend that first; if it always ends so, put `|| true` behind the command"
        }
        RunFailure::Unlike(_) => "run it by hand and try the pattern of --require with grep -E",
        RunFailure::Unwritten(_) => "check --output-file; its path is relative to where kerf runs",
        RunFailure::Start(_) => "check the command",
    };
    let mut own = runner.run(None, r.limit, true).map_err(|e| {
        let help = advice(&e);
        AppError::Program(e, help)
    })?;
    let checked = match r.resume {
        true => None,
        false => Some(check(r, &runner, watch)?),
    };
    let ended = SystemTime::now();
    let help = |e: &NoValues| match e {
        NoValues::NoMatch(_) => {
            "run the application and try the pattern on its output with grep -E"
        }
        NoValues::NoNumber(_) => {
            "put brackets around the number, e.g. 'error +(\\S+)'; --require says what has to be printed"
        }
        NoValues::File(..) => "check --output-file; its path is relative to where kerf runs",
        NoValues::NoCopies => "say what to compare with --stdout-pattern or --output-file",
        NoValues::TooMuch => "say what to compare with --stdout-pattern or --output-file",
    };
    let get = |ran: &Ran| {
        values(&r.source, ran, &runner.trace()).map_err(|e| {
            let h = help(&e);
            AppError::Values(e, h)
        })
    };
    let reference = get(&own)?;
    let counts = acceptance::own_counts(&reference, &r.criterion())?;
    let mut warnings = Vec::new();
    if counts.special() > 0 {
        warnings.push(format!(
            "{} of {} values of the original program's output are NaN or infinite; they have to stay so, and say nothing of accuracy",
            counts.special(),
            counts.values
        ));
    }
    if reference.unknown > 0 {
        warnings.push(format!(
            "{} bytes that come from the device are of a type that no kernel tells, and are not compared",
            reference.unknown
        ));
    }
    if let Some((n, e)) = values::unseen(&reference, r.metric, r.floor, r.tolerance) {
        warnings.push(format!(
            "{n} of {} numbers are printed with so few digits that errors up to {e:.1e} are not seen, and the tolerance is {:e}; \
             let the application print more digits, or compare what it copies from the device (no pattern, no file)",
            reference.floats.len(),
            r.tolerance
        ));
    }
    let kernels_by = shares::profile(&mut own.trace, r, &runner, &mut warnings)?;
    let some = shares::chosen(&own.trace, &r.kernels)?;
    let subject = subject::subject(&own.trace, &runner.trace())?;
    if subject.kernels.iter().all(|k| k.sites.is_empty()) {
        return Err(AppError::NoKernels);
    }
    let all_s: f64 = own.trace.kernels.iter().map(|k| k.seconds).sum();
    let part = |k: &TracedKernel| if all_s > 0.0 { k.seconds / all_s } else { 0.0 };
    let shares: Vec<Share> = own
        .trace
        .kernels
        .iter()
        .map(|k| Share {
            name: k.name.clone(),
            launches: k.launches,
            part: part(k),
            tuned: some
                .iter()
                .any(|s| s.symbol == k.symbol && s.unit == k.unit),
        })
        .collect();
    let t: Tunable = with_storage(&subject, &r.formats, r.grouping, r.storage)?;
    let chosen: Vec<bool> = subject
        .kernels
        .iter()
        .map(|k| some.iter().any(|s| s.symbol == k.symbol))
        .collect();
    // Operations of kernels that take little time stay; memory is shared, so it may still change there.
    let may_change = |g: &Group| match g.holds.is_empty() {
        true => chosen[g.at],
        false => g.holds.iter().any(|p| chosen[p.at]),
    };
    let free = t.groups.iter().filter(|g| may_change(g)).count();
    watch(&AppEvent::Prepared(own.wall_s, &shares, free));
    // Again, to see whether it repeats; and as often as times ask for.
    let runs = match r.time {
        TimeBy::Predicted => 1,
        _ => r.repeats.max(1),
    };
    // The first run had its kernels timed one by one, so only their times are those of the program.
    let first = seconds(&r.time, &own)?;
    let mut times: Vec<f64> = first
        .filter(|_| times_kernels(&r.time))
        .into_iter()
        .collect();
    in_another_second(ended);
    for _ in 0..runs {
        let again = runner
            .run(None, r.limit, times_kernels(&r.time))
            .map_err(|e| {
                let help = advice(&e);
                AppError::Program(e, help)
            })?;
        let v = get(&again)?;
        match acceptance::error(&v, &reference, &r.criterion()) {
            Ok(e) if e <= r.tolerance => {
                if v != reference {
                    warnings.push(format!("the output changes from run to run, by {e:e}"));
                }
            }
            Ok(e) => return Err(AppError::Unsteady(format!("by {e:e}"), r.tolerance)),
            Err(e) => return Err(AppError::Unsteady(e, r.tolerance)),
        }
        times.extend(seconds(&r.time, &again)?);
    }
    let app = App {
        request: r,
        reference,
        base_time: (!times.is_empty()).then(|| least(&times)),
        limit: Duration::from_secs_f64(PATIENCE * own.wall_s + PATIENCE_S).min(r.limit),
        runner,
        started: clock,
    };
    // By position in the subject, all kernels that were launched.
    let launched = |symbol: &str| own.trace.kernels.iter().find(|k| k.symbol == symbol);
    let parts: Vec<f64> = subject
        .kernels
        .iter()
        .map(|k| launched(&k.symbol).map_or(0.0, part))
        .collect();
    let cost = Weighted::new(
        StaticScore::new(&subject, &t, Weights::of_profile(&r.profile)),
        parts,
        t.groups.len(),
    );
    let mut problem = t.problem(&subject, r.tolerance);
    for (g, v) in t.groups.iter().zip(&mut problem.variables) {
        if !may_change(g) {
            v.levels.iter_mut().skip(1).for_each(|l| l.veto = true);
        }
    }
    models::inform(&mut problem, &cost, &models::Unknown);
    problem.baseline = Some(Outcome::ran(0.0, 1.0));
    let search = json!({
        "kerf": env!("CARGO_PKG_VERSION"),
        "command": r.command,
        "device": r.device,
        "metric": r.metric,
        "tolerance": r.tolerance,
        "compared": r.source.describe(),
        "strategy": r.strategy,
        "formats": r.formats,
        "grouping": r.grouping,
        "storage": r.storage,
        "groups": t.groups.iter().map(|g| &g.name).collect::<Vec<_>>(),
        "seed": r.seed,
        "floor": r.floor,
        "time": r.time.name(),
        "require": r.require.as_ref().map(regex_lite::Regex::as_str),
    });
    let store = Store::open(&r.out.join(store::FILE), &search, r.resume)?;
    let checked = match checked.map_or_else(|| store.kept(store::CHECKED), |c| Ok(Some(c)))? {
        Some(c) => c,
        None => check(r, &app.runner, watch)?,
    };
    store.keep(store::CHECKED, &checked)?;
    let mut s = Searcher {
        app: &app,
        tunable: &t,
        subject: &subject,
        cost: &cost,
        db: store,
        known: BTreeMap::new(),
        nearest: None,
        watch,
    };
    s.remember()?;
    duration(r, own.wall_s, problem.size(), s.known.len()).check(r.confirmed, false)?;
    let (ended, evaluations) = s.search(Phase::Search, &problem)?;
    let local = match r.local {
        true => Some(s.local(&problem)?),
        false => None,
    };
    let failed = s.known.values().filter(|k| k.0.failure.is_some()).count();
    let points = s.points(&problem);
    let best = fastest(&points, r.tolerance).unwrap_or_else(|| points[0].clone());
    let tuned = best.assignment != problem.identity();
    let plan = t.plan(&subject, &best.assignment);
    if evaluations > 0 && failed == evaluations {
        warnings.push(
            "the application failed with every plan: its own check may be stricter than the tolerance"
                .into(),
        );
    }
    if let (false, Metric::MaxRel, Some((error, (worst, small)))) = (tuned, r.metric, &s.nearest)
        && *error > r.tolerance
        && (*small || *error > 0.1)
    {
        warnings.push(format!(
            "numbers near zero may decide the relative error ({worst}): --floor X measures smaller numbers against X, \
             --metric rel_l2 looks at all numbers together"
        ));
    }
    warnings.push(
        "the plan was judged on the application's own run; other inputs were not tried".into(),
    );
    let format = |g: &Group, l: &u8| (g.name.clone(), g.formats[*l as usize].to_string());
    let result = AppResult {
        schema: "kerf.tune-app/1".into(),
        kerf: env!("CARGO_PKG_VERSION").into(),
        verdict: if tuned { "tuned" } else { "unchanged" }.into(),
        command: r.command.clone(),
        device: r.device.clone(),
        compared: r.source.describe(),
        numbers: app.reference.floats.len(),
        counts: Some(counts),
        checked: Some(checked),
        metric: r.metric,
        tolerance: r.tolerance,
        reference: "the output of the original program".into(),
        kernels: shares,
        kernels_by,
        strategy: r.strategy.clone(),
        seed: r.seed,
        budget: r.budget,
        evaluations,
        failed,
        ended,
        error: best.error,
        speedup: 1.0 / best.time,
        time_by: match &r.time {
            TimeBy::Predicted => format!("predicted: {}", cost.describe()),
            TimeBy::Kernels => format!("measured: kernel times on {}", r.device),
            TimeBy::Wall => format!("measured: from start to end on {}", r.device),
            TimeBy::Pattern(p) => {
                format!("measured: the application's own figure, `{}`", p.as_str())
            }
        },
        groups: t
            .groups
            .iter()
            .zip(&best.assignment)
            .map(|(g, l)| format(g, l))
            .collect(),
        front: front(&points),
        local,
        warnings,
        wall_s: clock.elapsed().as_secs_f64(),
    };
    save(
        &r.out,
        &plan,
        &subject::held(&subject, &t, &best.assignment),
    )?;
    let json = |v: serde_json::Result<String>| v.map_err(|e| AppError::Module(e.to_string()));
    let text = json(serde_json::to_string_pretty(&result))? + "\n";
    write(&r.out.join("result.json"), text.as_bytes())?;
    Ok(result)
}
