//! The search for the fastest plan within a tolerance: baseline, search, probes, validation, result.
//!
//! Where the program itself misses the tolerance, the space is made again with wider formats in it, and the search begins with the
//! plan that raises as little as possible ([`crate::tuner::raise`]).
mod assemble;
mod prepare;
mod search_models;

pub use crate::error::TuneError;
pub use crate::event::TuneEvent;
pub use crate::request::TuneRequest;

use crate::evaluate::{Evaluator, PlanEvaluation};
use crate::event::Watch;
use crate::evidence::gather::Gather;
use crate::layouts::LayoutSearch;
use crate::models;
use crate::precheck::SanitizerCheck;
use crate::program_check::ProgramCheck;
use crate::result::{self, Cheapest, Floor, PhaseClock, PhaseSeconds, SearchVerdict, TuneResult};
use crate::store::Store;
use crate::tuner::Tuner;
use crate::tuner::choose::Choice;
use crate::tuner::raise::{self, Raising, TimesFromBase};
use kerf_clang::compile::Toolchain;
use kerf_search::{Outcome, Problem, Reason};
use prepare::{Acceptance, Prepared, SearchSpace, Workers};
use search_models::{CountedProgram, SearchModels};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::Instant;

/// Without a tolerance, a shape's error may be this many times the program's own: sums in another order differ.
const OWN_ERRORS: f64 = 4.0;

/// What the search came to.
struct SearchOutcome {
    verdict: SearchVerdict,
    /// The program itself.
    floor: Floor,
    /// Its first evaluation.
    own: PlanEvaluation,
    cheapest: Option<Cheapest>,
    choice: Choice,
    /// Why the strategy ended; none if it did not run.
    ended: Option<Reason>,
    /// Evaluations that the strategy asked for.
    executed: usize,
    /// Groups that were lowered alone.
    alone: usize,
    /// Evaluations of elements of threads.
    layouts: usize,
    /// Evaluations beside the strategy's.
    probes: usize,
    /// What the check for undefined behaviour came to.
    checked: SanitizerCheck,
}

/// What all attempts of one command have in common.
struct Session<'r> {
    request: &'r TuneRequest,
    tools: Toolchain,
    workers: Workers,
    counted: CountedProgram,
    /// What evaluates plans, where it has begun before the search.
    evaluator: RefCell<Option<Evaluator>>,
    clock: Instant,
}

/// What an attempt leaves for the next one.
struct Progress {
    store: Store,
    check: ProgramCheck,
    phases: PhaseSeconds,
    warnings: Vec<String>,
    /// The program itself, where it ran.
    own: Option<(Floor, PlanEvaluation)>,
}

/// How a search over one space ended.
enum Attempt {
    /// With a result.
    Ended(Box<TuneResult>),
    /// The program itself misses the tolerance, and no wider format is in the space.
    Missed(Box<Progress>),
}

/// Tunes, and writes the result folder.
pub fn tune<'t>(
    request: &'t TuneRequest,
    watch: &'t mut Watch<'t>,
) -> Result<TuneResult, TuneError> {
    let clock = Instant::now();
    let mut phase = PhaseClock::start();
    let tools = request.job.toolchain();
    let Prepared {
        mut space,
        check,
        lock,
        evaluator,
    } = SearchSpace::prepare(request, &tools, watch)?;
    let problem = space.problem();
    watch(&space.prepared(&problem));
    let published = models::published_score(&space.subject, &space.tunable);
    prepare::check_strategy(request, &space, &problem, &published)?;
    drop(published);
    // Until the result is written, nobody else writes there.
    let _lock = lock.map_or_else(|| prepare::hold_folder(&request.out), Ok)?;
    let store = space.open_store(request)?;
    let session = Session {
        request,
        tools,
        workers: Workers::new(request, &space.subject),
        evaluator: RefCell::new(evaluator),
        counted: CountedProgram::obtain(request, &space),
        clock,
    };
    let check = space.program_check(check, request, &store, watch)?;
    let mut progress = Progress {
        store,
        check,
        phases: PhaseSeconds {
            prepare_s: phase.lap(),
            ..PhaseSeconds::default()
        },
        warnings: Vec::new(),
        own: None,
    };
    loop {
        match attempt(&session, &space, progress, &mut *watch)? {
            Attempt::Ended(result) => return Ok(*result),
            // A space with wider formats is not missed.
            Attempt::Missed(so_far) => {
                space = space.with_wider_formats(request)?;
                watch(&space.prepared(&space.problem()));
                progress = *so_far;
            }
        }
    }
}

/// One search over a space.
fn attempt(
    session: &Session,
    space: &SearchSpace,
    progress: Progress,
    watch: &mut Watch,
) -> Result<Attempt, TuneError> {
    let (request, counted) = (session.request, &session.counted);
    let (subject, tunable) = (&space.subject, &space.tunable);
    let mut phase = PhaseClock::start();
    let mut problem = space.problem();
    let published = models::published_score(subject, tunable);
    // What models have to say of the program was said by the first attempt.
    let mut silent = |_: &TuneEvent| ();
    let models = match progress.own {
        Some(_) => SearchModels::new(request, space, counted, &mut silent),
        None => SearchModels::new(request, space, counted, watch),
    };
    let shapes = tunable.shapes();
    let (cost, errors) = (models.cost.as_ref(), models.errors.as_ref());
    let vetoed = match space.raise {
        true => Vec::new(),
        false => models::inform_but(&mut problem, cost, errors, &shapes),
    };
    let mut phases = progress.phases;
    phases.models_s += phase.lap();
    let begun = session.evaluator.take();
    let criteria = &space.acceptance.criteria;
    let mut tuner = Tuner {
        evaluator: begun.unwrap_or_else(|| session.workers.evaluator(request, criteria)),
        request,
        subject,
        tunable,
        cost,
        judge: models.judge.as_deref().unwrap_or(cost),
        code: models.code.as_ref(),
        validating: None,
        minor_kernels: counted.minor_kernels(subject),
        published: &published,
        errors,
        store: progress.store,
        input: space.input,
        known: BTreeMap::new(),
        finals: BTreeMap::new(),
        tied: Vec::new(),
        raising: None,
        same_bits: space.acceptance.same_bits,
        check: progress.check,
        warnings: progress.warnings,
        watch,
    };
    if request.assembler.is_some() && tunable.has_double_words() {
        tuner.note(
            "times of double words are predicted from counts: their machine code is not read"
                .into(),
        );
    }
    let floor = match progress.own {
        Some((floor, own)) => {
            tuner.known.insert(problem.identity(), own);
            floor
        }
        None => {
            for note in counted.notes.iter().chain(&models.notes) {
                tuner.warn(note.clone());
            }
            announce(&mut tuner, space, &session.workers, &vetoed);
            own_floor(&mut tuner, &mut phases)?
        }
    };
    if needs_wider_formats(&mut tuner, space, &floor) {
        let own = tuner.known[&problem.identity()].clone();
        return Ok(Attempt::Missed(Box::new(Progress {
            own: Some((floor, own)),
            store: tuner.store,
            check: tuner.check,
            warnings: tuner.warnings,
            phases,
        })));
    }
    let result = conclude(session, space, tuner, floor, (problem, phases))?;
    Ok(Attempt::Ended(Box::new(result)))
}

/// Searches from the program itself, or from what has to be raised of it, and writes the result folder.
fn conclude(
    session: &Session,
    space: &SearchSpace,
    mut tuner: Tuner,
    floor: Floor,
    (mut problem, mut phases): (Problem, PhaseSeconds),
) -> Result<TuneResult, TuneError> {
    let (request, counted) = (session.request, &session.counted);
    let (subject, tunable) = (&space.subject, &space.tunable);
    let outcome = search(
        &mut tuner,
        &mut problem,
        space,
        (floor, counted),
        &mut phases,
    )?;
    let plan = tunable.plan(subject, &outcome.choice.plan.assignment);
    let result = assemble::result(&tuner, outcome, &plan, (session.clock, phases))?;
    save_space(&tuner, problem)?;
    let seen = Gather {
        subject,
        plan: &plan,
        result: &result,
        counts: counted.counts.as_ref(),
        device: counted.device.as_ref().ok(),
        profile: &request.profile,
    };
    let evidence = seen.evidence(&tuner.evaluator, space.input);
    result::save(
        &request.out,
        subject,
        &plan,
        &session.tools,
        &result,
        &evidence,
    )?;
    Ok(result)
}

/// The program itself, measured.
fn own_floor(tuner: &mut Tuner, phases: &mut PhaseSeconds) -> Result<Floor, TuneError> {
    let mut phase = PhaseClock::start();
    let floor = tuner.floor();
    if floor.is_err() {
        // Undefined behaviour would explain it.
        tuner.checked()?;
    }
    phases.program_s += phase.lap();
    floor
}

/// Whether the program itself misses the tolerance, and wider formats, which are not in the space yet, may help; with a word on it.
fn needs_wider_formats(tuner: &mut Tuner, space: &SearchSpace, floor: &Floor) -> bool {
    let may = space.may_raise(tuner.request);
    if within(floor, tuner.tolerance()) || !(may || space.raise) {
        return false;
    }
    if !floor.repeats {
        tuner.note(
            "wider formats are not tried: the program gives other bits every time, and one run of a plan would be luck"
                .into(),
        );
        return false;
    }
    if may {
        tuner.note(format!(
            "the program itself misses the tolerance of {:e}: wider formats are tried",
            tuner.tolerance()
        ));
    }
    may
}

/// Whether the program itself is within a tolerance.
fn within(floor: &Floor, tolerance: f64) -> bool {
    floor.error.is_some_and(|e| e <= tolerance)
}

/// Says what a reader should know of the search before it starts.
fn announce(tuner: &mut Tuner, space: &SearchSpace, workers: &Workers, vetoed: &[String]) {
    for note in &space.shape_notes {
        tuner.note(note.clone());
    }
    if workers.count < tuner.request.workers {
        tuner.note(format!(
            "{} evaluations at a time, not {}: memory is not enough for more",
            workers.count, tuner.request.workers
        ));
    }
    if tuner.same_bits {
        tuner.note("with a tolerance of 0 a plan has to give the program's own bits".into());
    }
    for veto in vetoed {
        tuner.warn(format!("not tried: {veto}"));
    }
    for (kernel, why) in &space.tunable.single {
        tuner.warn(format!("{kernel} keeps one version: {why}"));
    }
}

/// Finds what needs wider formats where the program itself misses the tolerance, runs the strategy, and chooses a plan.
fn search(
    tuner: &mut Tuner,
    problem: &mut Problem,
    space: &SearchSpace,
    (floor, counted): (Floor, &CountedProgram),
    phases: &mut PhaseSeconds,
) -> Result<SearchOutcome, TuneError> {
    let mut phase = PhaseClock::start();
    let acceptance = &space.acceptance;
    let cheapest = match space.raise {
        true => None,
        false => tuner.cheapest(problem, &floor)?,
    };
    set_own_tolerance(tuner, problem, acceptance, &floor);
    let identity = problem.identity();
    let own = tuner.known[&identity].clone();
    problem.baseline = Some(Outcome::ran(floor.error.unwrap_or(f64::INFINITY), 1.0));
    let met = within(&floor, tuner.tolerance());
    if let (true, Some(nothing)) = (met, &space.nothing) {
        return Err(nothing.error().into());
    }
    tuner.validate_at_cpu_sizes(&own);
    phases.program_s += phase.lap();
    if !met && space.raise && floor.repeats {
        tuner.raising = Some(raised(tuner, counted)?);
    }
    let begins = met || tuner.raising.as_ref().is_some_and(|r| r.base.is_some());
    let mut ran = StrategyRun::default();
    if begins {
        ran = run_strategy(tuner, problem)?;
    }
    phases.search_s += phase.lap();
    // What was searched is there even if what follows is not.
    save_space(tuner, problem.clone())?;
    let mut probes = 0;
    let choice = match begins {
        true => tuner.choose(&own, &mut probes)?,
        false => Choice::program_itself(identity.clone(), &own),
    };
    phases.choice_s += phase.lap();
    // It may have taken longer than the search.
    let checked = tuner.checked()?;
    phases.check_s += phase.lap();
    let verdict = match (met, choice.plan.assignment == identity) {
        (true, true) => SearchVerdict::Unchanged,
        (true, false) => SearchVerdict::Tuned,
        (false, true) => SearchVerdict::Unmet,
        (false, false) => SearchVerdict::Raised,
    };
    Ok(SearchOutcome {
        verdict,
        floor,
        own,
        cheapest,
        choice,
        ended: ran.ended,
        executed: ran.executed,
        alone: ran.alone,
        layouts: ran.layouts,
        probes,
        checked,
    })
}

/// Where no tolerance was given, it follows from the program's own error.
fn set_own_tolerance(
    tuner: &mut Tuner,
    problem: &mut Problem,
    acceptance: &Acceptance,
    floor: &Floor,
) {
    if let (true, Some(own)) = (acceptance.by_own_error, floor.error) {
        let most = if acceptance.same_bits {
            1.0
        } else {
            OWN_ERRORS
        };
        let tolerance = (most * own).max(f64::EPSILON);
        tuner.evaluator.criteria.scale(tolerance);
        problem.tolerance = Some(tuner.tolerance());
    }
}

/// What of the program has to be raised, with a word on it.
fn raised(tuner: &mut Tuner, counted: &CountedProgram) -> Result<Raising, TuneError> {
    let suspects = raise::suspects(tuner.subject, tuner.tunable, counted.counts.as_ref());
    let r = tuner.raise(&suspects)?;
    if let Some(base) = &r.base {
        let groups = tuner.tunable.groups.iter().zip(&base.levels);
        let names = groups.filter(|(_, l)| **l > 0).map(|(g, l)| {
            let to = g.formats[usize::from(*l)];
            format!("{} as {to}", g.name)
        });
        let names: Vec<String> = names.collect();
        tuner.note(format!(
            "{} of {} groups have to be raised: {}",
            names.len(),
            suspects.len(),
            names.join(", ")
        ));
    }
    Ok(r)
}

/// What the strategy did.
#[derive(Default)]
struct StrategyRun {
    ended: Option<Reason>,
    executed: usize,
    alone: usize,
    layouts: usize,
}

/// Runs the strategy from the program itself, or from the plan that raises as little as possible.
fn run_strategy(tuner: &mut Tuner, problem: &mut Problem) -> Result<StrategyRun, TuneError> {
    let duration = tuner.duration(problem)?;
    duration.check(tuner.request.confirmed, true)?;
    let raised = tuner.raising.is_some();
    let mut ran = StrategyRun::default();
    match (tuner.request.sensitivity, raised) {
        (true, false) => ran.alone = tuner.each_alone(problem)?,
        (true, true) => tuner.note(
            "groups are not lowered alone: the program itself misses the tolerance (--sensitivity)"
                .into(),
        ),
        (false, _) => {}
    }
    let (reason, executed) = match raised {
        false => tuner.search(problem)?,
        true => {
            let base = tuner.base();
            let mut lower = base.problem(problem, tuner.tunable);
            let error = tuner.known[&base.levels].error;
            lower.baseline = Some(Outcome::ran(error.unwrap_or(f64::INFINITY), 1.0));
            let cost = TimesFromBase {
                times: tuner.cost,
                base: &base,
            };
            models::inform_but(&mut lower, &cost, tuner.errors, &tuner.tunable.shapes());
            tuner.search(&lower)?
        }
    };
    (ran.ended, ran.executed) = (Some(reason), executed);
    ran.layouts = LayoutSearch::new(tuner, problem).settle()?;
    Ok(ran)
}

/// Writes everything that ran so far as a recorded search space.
fn save_space(tuner: &Tuner, problem: Problem) -> Result<(), TuneError> {
    if let Some(recorded) = tuner.space(problem) {
        result::save_space(&tuner.request.out, &recorded)?;
    }
    Ok(())
}
