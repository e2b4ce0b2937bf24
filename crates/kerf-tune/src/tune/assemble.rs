//! The result of a search from what it came to.
use super::SearchOutcome;
use crate::error::TuneError;
use crate::evaluate::PlanEvaluation;
use crate::front::{FrontPoint, front};
use crate::result::{
    self, EvaluationCounts, GroupResult, PhaseSeconds, RaisedResult, SearchVerdict, SiteResult,
    Tie, TuneResult,
};
use crate::store::Phase;
use crate::tuner::Tuner;
use crate::tuner::choose::Choice;
use kerf_pass::Plan;
use kerf_run::job::{JobSeconds, StorageLosses};
use kerf_search::Assignment;
use std::time::Instant;

/// The result, with the energy of a tuned plan, which is measured here where that was asked for.
pub(super) fn result(
    tuner: &Tuner,
    outcome: SearchOutcome,
    plan: &Plan,
    (clock, phases): (Instant, PhaseSeconds),
) -> Result<TuneResult, TuneError> {
    let (request, subject, tunable) = (tuner.request, tuner.subject, tuner.tunable);
    let chosen = &outcome.choice.plan;
    let ties = tied_with(tuner, &outcome.choice);
    let groups = groups(tuner, outcome.verdict, &outcome.choice);
    let ran = tuner.known.get(&chosen.assignment).unwrap_or(&outcome.own);
    let last = tuner.finals.get(&chosen.assignment).unwrap_or(ran);
    let energy = match outcome.verdict {
        SearchVerdict::Tuned | SearchVerdict::Raised => tuner.energy(plan, &chosen.assignment)?,
        _ => None,
    };
    let validated = tuner.store.all(Phase::Validation)?;
    let sites = result::sites(subject, tunable, plan, &chosen.assignment);
    let effort = effort(tuner, &outcome, &validated, (clock, phases));
    Ok(TuneResult {
        schema: result::SCHEMA.into(),
        kerf: env!("CARGO_PKG_VERSION").into(),
        verdict: outcome.verdict,
        workload: request.job.workload.clone(),
        overrides: request.job.overrides.clone(),
        program: subject.digest(),
        inputs: outcome.own.inputs.clone(),
        input: tuner.input,
        criteria: tuner.evaluator.criteria.clone(),
        cheapest: outcome.cheapest,
        raised: raised(tuner, &chosen.assignment, &sites),
        formats: request.formats.clone(),
        strategy: request.strategy.to_string(),
        seed: request.seed,
        budget: request.budget,
        ended: outcome.ended,
        device: outcome.own.device.clone(),
        profile: request.profile.name.clone(),
        floor: outcome.floor,
        error: ran.error,
        outputs: ran.outputs.clone(),
        speedup: tuner.speedup(chosen),
        energy,
        tie: outcome.choice.tie.map(|point| tie(tuner, point)),
        ties,
        validation: outcome.choice.validation,
        demoted: outcome.choice.demoted,
        sites,
        assignment: chosen.assignment.clone(),
        groups,
        fixed_storage: tunable.fixed.clone(),
        front: front(&tuner.points(&[])),
        effort,
        checked: Some(outcome.checked),
        warnings: warnings(tuner, last),
        losses: last.losses.clone(),
    })
}

/// What a reader must know of the search, and of what the plan's scaled formats lose.
fn warnings(tuner: &Tuner, ran: &PlanEvaluation) -> Vec<String> {
    let mut all = tuner.warnings.clone();
    let lost = ran.losses.iter().filter_map(StorageLosses::sentence);
    all.extend(lost.map(|s| format!("on the tuning inputs {s}")));
    all
}

/// What came of wider formats, if they were tried.
fn raised(tuner: &Tuner, chosen: &[u8], sites: &[SiteResult]) -> Option<RaisedResult> {
    let r = tuner.raising.as_ref()?;
    let groups = tuner.tunable.groups.iter();
    let can = groups
        .clone()
        .filter(|g| g.lower_levels() < g.formats.len());
    Some(RaisedResult {
        everything: r.error.filter(|_| r.failure.is_none()),
        failure: r.failure.clone(),
        groups: groups.zip(chosen).filter(|(g, l)| g.raises(**l)).count(),
        operations: sites.iter().filter(|s| s.is_raised()).count(),
        of: can.map(|g| g.sites.len()).sum(),
    })
}

fn tie(tuner: &Tuner, point: FrontPoint) -> Tie {
    Tie {
        speedup: tuner.speedup(&point),
        point,
    }
}

/// Plans that measurement does not tell from the chosen one.
fn tied_with(tuner: &Tuner, choice: &Choice) -> Vec<Tie> {
    let chosen = &choice.plan.assignment;
    if !tuner.tied.contains(chosen) {
        return Vec::new();
    }
    let all = tuner.points(&choice.demoted).into_iter();
    all.filter(|p| p.assignment != *chosen && tuner.tied.contains(&p.assignment))
        .map(|point| tie(tuner, point))
        .collect()
}

/// What became of each group, and why.
fn groups(tuner: &Tuner, verdict: SearchVerdict, choice: &Choice) -> Vec<GroupResult> {
    let (chosen, errors) = (&choice.plan, tuner.errors);
    let all = &tuner.tunable.groups;
    let vetoes: Vec<Option<String>> = (0..all.len())
        .map(|i| errors.veto(i, chosen.assignment[i] + 1))
        .collect();
    let each = all.iter().enumerate().map(|(i, g)| GroupResult {
        format: g.formats[chosen.assignment[i] as usize],
        kept: match verdict {
            SearchVerdict::Unmet => None,
            _ => tuner.kept(i, chosen, &choice.demoted, &vetoes),
        },
        alone: tuner.alone(i),
        local: (1..g.formats.len())
            .filter_map(|l| errors.local(i, l as u8))
            .collect(),
        group: g.clone(),
    });
    each.collect()
}

/// How many evaluations there were, and where their time went.
fn effort(
    tuner: &Tuner,
    outcome: &SearchOutcome,
    validated: &[(Assignment, PlanEvaluation)],
    (clock, phases): (Instant, PhaseSeconds),
) -> EvaluationCounts {
    let every = || {
        let validated = validated.iter().map(|(_, e)| e);
        let on_tuning_inputs = tuner.known.values().chain(tuner.finals.values());
        on_tuning_inputs.chain(validated)
    };
    let mut spent = JobSeconds::default();
    every().for_each(|e| spent.add(&e.spent));
    EvaluationCounts {
        search: outcome.executed,
        alone: outcome.alone,
        raising: tuner.raising.as_ref().map_or(0, |r| r.evaluations),
        layouts: outcome.layouts,
        probes: outcome.probes,
        validation: validated.len(),
        failed: every().filter(|e| e.failure.is_some()).count(),
        finals: tuner.finals.len(),
        wall_s: clock.elapsed().as_secs_f64(),
        evaluation_s: every().map(|e| e.wall_s).sum(),
        spent,
        phases: PhaseSeconds {
            validation_s: validated.iter().fold(0.0, |s, (_, e)| s + e.wall_s),
            ..phases
        },
    }
}
