//! The search for the fastest plan within a tolerance: baseline, search, probes, validation, result.
mod assemble;
mod prepare;

pub use crate::error::TuneError;
pub use crate::event::TuneEvent;
pub use crate::request::TuneRequest;

use crate::evaluate::PlanEvaluation;
use crate::event::Watch;
use crate::evidence::gather::Gather;
use crate::models;
use crate::precheck::SanitizerCheck;
use crate::result::{self, Cheapest, Floor, PhaseClock, PhaseSeconds, SearchVerdict, TuneResult};
use crate::tuner::Tuner;
use crate::tuner::choose::Choice;
use kerf_search::{Outcome, Problem, Reason};
use prepare::{Acceptance, CountedProgram, SearchModels, SearchSpace, Workers};
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

/// Tunes, and writes the result folder.
pub fn tune<'t>(
    request: &'t TuneRequest,
    watch: &'t mut Watch<'t>,
) -> Result<TuneResult, TuneError> {
    let clock = Instant::now();
    let mut phase = PhaseClock::start();
    let mut phases = PhaseSeconds::default();
    let tools = request.job.toolchain();
    let (space, check, lock) = SearchSpace::prepare(request, &tools, watch)?;
    let mut problem = space.problem();
    watch(&space.prepared(&problem));
    let (subject, tunable) = (&space.subject, &space.tunable);
    let published = models::published_score(subject, tunable);
    prepare::check_strategy(request, &space, &problem, &published)?;
    // Until the result is written, nobody else writes there.
    let _lock = lock.map_or_else(|| prepare::hold_folder(&request.out), Ok)?;
    let store = space.open_store(request)?;
    let workers = Workers::new(request, subject);
    let counted = CountedProgram::obtain(request, &space);
    phases.prepare_s = phase.lap();
    let models = SearchModels::new(request, &space, &counted, watch);
    phases.models_s = phase.lap();
    let check = space.program_check(check, request, &store, watch)?;
    let vetoed = models::inform_but(
        &mut problem,
        models.cost.as_ref(),
        models.errors.as_ref(),
        &tunable.shapes(),
    );
    let mut tuner = Tuner {
        evaluator: workers.evaluator(request, &space.acceptance.criteria),
        request,
        subject,
        tunable,
        cost: models.cost.as_ref(),
        judge: models.judge.as_deref().unwrap_or(models.cost.as_ref()),
        code: models.code.as_ref(),
        validating: None,
        published: &published,
        errors: models.errors.as_ref(),
        store,
        input: space.input,
        known: BTreeMap::new(),
        finals: BTreeMap::new(),
        tied: Vec::new(),
        same_bits: space.acceptance.same_bits,
        check,
        warnings: Vec::new(),
        watch,
    };
    for note in counted.notes.iter().chain(&models.notes) {
        tuner.warn(note.clone());
    }
    announce(&mut tuner, &space, &workers, &vetoed);
    let outcome = search(&mut tuner, &mut problem, &space.acceptance, &mut phases)?;
    let plan = tunable.plan(subject, &outcome.choice.plan.assignment);
    let result = assemble::result(&tuner, outcome, &plan, (clock, phases))?;
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
    result::save(&request.out, subject, &plan, &tools, &result, &evidence)?;
    Ok(result)
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

/// Measures the program itself, runs the strategy where the program is within the tolerance, and chooses a plan.
fn search(
    tuner: &mut Tuner,
    problem: &mut Problem,
    acceptance: &Acceptance,
    phases: &mut PhaseSeconds,
) -> Result<SearchOutcome, TuneError> {
    let mut phase = PhaseClock::start();
    let floor = tuner.floor();
    if floor.is_err() {
        // Undefined behaviour would explain it.
        tuner.checked()?;
    }
    let floor = floor?;
    let cheapest = tuner.cheapest(problem, &floor)?;
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
    let identity = problem.identity();
    let own = tuner.known[&identity].clone();
    problem.baseline = Some(Outcome::ran(floor.error.unwrap_or(f64::INFINITY), 1.0));
    let met = floor.error.is_some_and(|e| e <= tuner.tolerance());
    let (mut ended, mut executed, mut alone) = (None, 0, 0);
    let (mut layouts, mut probes) = (0, 0);
    tuner.validate_at_cpu_sizes(&own);
    phases.program_s = phase.lap();
    if met {
        let duration = tuner.duration(problem)?;
        duration.check(tuner.request.confirmed, true)?;
        if tuner.request.sensitivity {
            alone = tuner.each_alone(problem)?;
        }
        let (reason, count) = tuner.search(problem)?;
        (ended, executed) = (Some(reason), count);
        layouts = tuner.settle_layouts(problem)?;
    }
    phases.search_s = phase.lap();
    let checked = tuner.checked()?;
    phases.check_s = phase.lap();
    // What was searched is there even if what follows is not.
    save_space(tuner, problem.clone())?;
    let choice = match met {
        true => tuner.choose(&own, &mut probes)?,
        false => Choice::program_itself(identity.clone(), &own),
    };
    phases.choice_s = phase.lap();
    let verdict = match (met, choice.plan.assignment == identity) {
        (false, _) => SearchVerdict::Unmet,
        (true, true) => SearchVerdict::Unchanged,
        (true, false) => SearchVerdict::Tuned,
    };
    Ok(SearchOutcome {
        verdict,
        floor,
        own,
        cheapest,
        choice,
        ended,
        executed,
        alone,
        layouts,
        probes,
        checked,
    })
}

/// Writes everything that ran so far as a recorded search space.
fn save_space(tuner: &Tuner, problem: Problem) -> Result<(), TuneError> {
    if let Some(recorded) = tuner.space(problem) {
        result::save_space(&tuner.request.out, &recorded)?;
    }
    Ok(())
}
