//! The search for the fastest plan within a tolerance: baseline, search, probes, validation, result.
use crate::approx::Approx;
use crate::choose::Choice;
use crate::coded::Assembler;
use crate::counts;
use crate::criteria::{Criteria, CriteriaError};
use crate::duration::TooLong;
use crate::evaluate::{Evaluator, Input, WorkerProgram};
use crate::evidence::Gather;
use crate::front::{Point, front};
use crate::launch;
use crate::launch::strategy::named;
use crate::launch::tuners::Factor;
use crate::models::{self, CostKind, Predictions};
use crate::precheck::{self, Checked};
use crate::problem::{Group, Grouping, ProblemError, Wish, of_wish};
use crate::result::{
    self, Demoted, Effort, Floor, GroupResult, ResultError, Tie, TuneResult, Verdict,
};
use crate::store::{self, Phase, Store, StoreError};
use crate::subject::{Subject, SubjectError};
use crate::tuner::Tuner;
use crate::validate::Trials;
use kerf_device::profile::DeviceProfile;
use kerf_exec::ExecError;
use kerf_exec::cpu::SanitizeOptions;
use kerf_files::{FolderLock, LockError};
use kerf_num::Metric;
use kerf_pass::SiteFormat;
use kerf_predict::cost::CostModel;
use kerf_run::job::{Device, Job, JobError, Spent};
use kerf_run::memory::MemoryNeed;
use kerf_search::strategy::StrategyError;
use kerf_search::{Outcome, Search};
use serde_json::json;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// What is asked for.
pub struct Request {
    /// What evaluations have in common: workload, device, toolchain, repeats.
    pub job: Job,
    /// What the program is checked for before the search.
    pub checks: SanitizeOptions,
    /// Tolerance, where not the file's.
    pub tolerance: Option<f64>,
    /// Metric, where not the file's.
    pub metric: Option<Metric>,
    /// Strategy.
    pub strategy: String,
    /// Evaluations, at most.
    pub budget: usize,
    /// The tolerance is this part of the way from the program's own error to the one that it has with every
    /// math call at its cheapest.
    pub ratio: Option<f64>,
    /// Formats that sites may have; none: they keep theirs.
    pub formats: Vec<SiteFormat>,
    /// Math calls and parts of the warps, where they may change.
    pub approx: Option<Approx>,
    /// Shapes of launches may change.
    pub launch: bool,
    /// Tuners that leave shapes out, with the strategy `launch`.
    pub tuners: Vec<Factor>,
    /// What changes together.
    pub grouping: Grouping,
    /// Hold buffers and arrays in narrower formats too.
    pub storage: bool,
    /// Seconds over which the energy of the plan and of the program is measured, on a GPU. 0: not.
    pub energy_s: f64,
    /// Device that times are predicted for, where they are not measured.
    pub profile: DeviceProfile,
    /// How they are predicted.
    pub cost: CostKind,
    /// With it, predictions from machine code guide searches that measure.
    pub assembler: Option<Assembler>,
    /// Result folder.
    pub out: PathBuf,
    /// Seed of the search.
    pub seed: u64,
    /// Run each group alone first, for its effect on every output.
    pub sensitivity: bool,
    /// Go on with what is in the folder.
    pub resume: bool,
    /// Start it even if it is estimated to take hours.
    pub confirmed: bool,
    /// How the plan is validated.
    pub trials: Trials,
    /// Time limit of the first evaluation.
    pub limit: Duration,
    /// Evaluations at a time.
    pub workers: usize,
    /// How workers are started.
    pub program: WorkerProgram,
    /// Programs that reach workers of other machines, one each.
    pub remote: Vec<WorkerProgram>,
}

/// Why there is no result. A tolerance that cannot be met is a result.
#[derive(Debug, thiserror::Error)]
pub enum TuneError {
    /// The workload.
    #[error(transparent)]
    Subject(#[from] SubjectError),
    /// Nothing to tune.
    #[error(transparent)]
    Problem(#[from] ProblemError),
    /// The tolerance.
    #[error(transparent)]
    Criteria(#[from] CriteriaError),
    /// The strategy.
    #[error(transparent)]
    Strategy(#[from] StrategyError),
    /// The program itself does not run.
    #[error(transparent)]
    Baseline(#[from] JobError),
    /// Undefined behaviour.
    #[error("{0}\nwhat the program gives is chance, and there is nothing to tune")]
    Undefined(ExecError),
    /// Nothing can be compared.
    #[error(
        "every value of the reference is NaN or infinite ({0}), so there is nothing to compare; help: check the inputs (kerf run --reference shows the outputs)"
    )]
    NoReference(String),
    /// The program makes NaN, and nobody said that they are meant.
    #[error(
        "the program makes NaN of finite inputs: {0}; help: correct the inputs, or where NaN are meant, write `allow_nan = true` in the workload's [accept]"
    )]
    MakesNan(String),
    /// A ratio of nothing.
    #[error(
        "a ratio of quality needs the error of the fully approximate version: {0}; help: use --tolerance or --qos"
    )]
    NoRatio(String),
    /// Hours, which nobody confirmed.
    #[error(transparent)]
    Long(#[from] TooLong),
    /// Another process uses the folder.
    #[error(transparent)]
    Locked(#[from] LockError),
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The folder.
    #[error(transparent)]
    Result(#[from] ResultError),
}

/// What happens, for who watches.
#[derive(Debug)]
pub enum Event<'e> {
    /// What will be searched.
    Prepared {
        /// Groups.
        groups: usize,
        /// Sites in them.
        sites: usize,
        /// Sites that cannot change.
        excluded: usize,
        /// Possible plans, capped.
        plans: u64,
    },
    /// Plans are compiled, to predict their times.
    Compiled {
        /// So many.
        done: usize,
        /// Of so many.
        of: usize,
    },
    /// What the program itself does.
    Floor(&'e Floor),
    /// What a reader must know.
    Warning(&'e str),
    /// What a reader may want to know.
    Note(&'e str),
    /// An evaluation ended.
    Evaluated {
        /// What for.
        phase: Phase,
        /// How many there are now.
        done: usize,
        /// How many there may be.
        budget: usize,
        /// Its error; none if infinite or failed.
        error: Option<f64>,
        /// Its time over that of the program.
        time: Option<f64>,
        /// Best time within the tolerance so far, and its error.
        best: Option<(f64, f64)>,
        /// The tolerance.
        tolerance: f64,
        /// Seconds that the budget will take at most.
        left_s: f64,
    },
    /// A plan failed on other inputs.
    Demoted(&'e Demoted),
}

pub(crate) type Watch<'w> = dyn FnMut(&Event) + Send + 'w;

/// What makes a search the same search; the budget may grow.
fn description(
    r: &Request,
    subject: &Subject,
    c: &Criteria,
    input: Input,
    groups: usize,
) -> serde_json::Value {
    let mut all = json!({
        "kerf": env!("CARGO_PKG_VERSION"),
        "workload": r.job.workload,
        "program": subject.digest(),
        "sizes": subject.workload.sizes,
        "criteria": c,
        "strategy": r.strategy,
        "formats": r.formats,
        "grouping": r.grouping,
        "storage": r.storage,
        "approx": r.approx.map(|a| json!({ "calls": a.calls, "warps": a.warps })),
        "ratio": r.ratio,
        "launch": r.launch,
        "groups": groups,
        "device": r.job.device,
        "profile": r.profile.name,
        "cost": r.cost,
        "seed": r.seed,
        "input": input,
        "trials": r.trials,
    });
    if r.sensitivity {
        all["sensitivity"] = true.into();
    }
    if r.tuners != Factor::ALL {
        all["tuners"] = json!(r.tuners);
    }
    all
}

/// Without a tolerance, a shape's error may be this many times the program's own: sums in another order differ.
const OWN_ERRORS: f64 = 4.0;

/// Makes the folder, where it is not there yet, and keeps other searches out of it.
fn hold_folder(out: &std::path::Path) -> Result<FolderLock, TuneError> {
    result::make_folder(out)?;
    Ok(FolderLock::take(out)?)
}

/// Evaluations at a time that the machine's memory is enough for, where that is less than was asked for.
fn fewer_workers(r: &Request, subject: &Subject) -> Option<usize> {
    let need = MemoryNeed::for_workload(&subject.workload, true);
    let each = need.on_host(r.job.device == Device::Cpu).max(1);
    let fit = (kerf_exec::cpu::available_memory() / each).max(1);
    (fit < r.workers).then_some(fit)
}

/// Checks the program, and says what that came to.
fn check(
    request: &Request,
    subject: &Subject,
    input: &Input,
    watch: &mut Watch,
) -> Result<Checked, TuneError> {
    let checked = precheck::check(request, &subject.workload, input.seed);
    let c = checked.map_err(TuneError::Undefined)?;
    match (&c, c.gap()) {
        (Checked::Not { .. }, Some(gap)) => watch(&Event::Warning(&gap)),
        (_, Some(gap)) => watch(&Event::Note(&gap)),
        (_, None) => {}
    }
    c.notes().iter().for_each(|n| watch(&Event::Note(n)));
    Ok(c)
}

/// Tunes, and writes the result folder.
pub fn tune<'t>(request: &'t Request, watch: &'t mut Watch<'t>) -> Result<TuneResult, TuneError> {
    let clock = Instant::now();
    let tools = request.job.toolchain();
    let subject = Subject::load(&request.job.workload, &request.job.overrides, &tools)?;
    // With a ratio the tolerance is known when the cheapest version has run.
    let given = request.ratio.map(|_| 1.0).or(request.tolerance);
    // Shapes round nothing, so that without a tolerance the program's own error is one.
    let shapes_alone = request.launch && request.formats.is_empty() && request.approx.is_none();
    let mut by_own_error = false;
    // Shapes need not change a bit: with a tolerance of 0 they must not.
    let same_bits = shapes_alone && given == Some(0.0);
    let given = given.filter(|_| !same_bits);
    let criteria = match Criteria::new(&subject.workload, given, request.metric) {
        Ok(c) if same_bits => {
            by_own_error = true;
            c
        }
        Err(CriteriaError::None) if shapes_alone => {
            by_own_error = true;
            Criteria::new(&subject.workload, Some(1.0), request.metric)?
        }
        other => other?,
    };
    let input = Input {
        seed: request.job.seed.unwrap_or(subject.workload.seed),
        perturb: None,
    };
    let wish = Wish {
        formats: &request.formats,
        by: request.grouping,
        storage: request.storage,
        approx: request.approx,
    };
    let mut checked = match request.resume {
        true => None,
        false => Some(check(request, &subject, &input, watch)?),
    };
    let mut lock = None;
    let (tunable, shaped) = match request.launch {
        false => (of_wish(&subject, &wish)?, Vec::new()),
        true => {
            lock = Some(hold_folder(&request.out)?);
            launch::prepare::tunable(request, &subject, &wish, &input)?
        }
    };
    let mut problem = tunable.problem(&subject, criteria.tolerance);
    watch(&Event::Prepared {
        groups: tunable.groups.len(),
        sites: tunable.groups.iter().map(Group::operations).sum(),
        excluded: tunable.excluded.len(),
        plans: problem.size(),
    });
    // Strategies that refuse the problem do so before anything ran.
    let score = models::static_score(&subject, &tunable, &request.profile);
    let published = models::published_score(&subject, &tunable);
    let predictions = Predictions {
        cost: score.as_ref(),
        code: None,
        published: Some(&published),
    };
    named(
        &request.strategy,
        Search {
            problem: &problem,
            models: &predictions,
            seed: request.seed,
            budget: request.budget,
        },
        tunable.launch.as_ref(),
    )?;
    // Until the result is written, nobody else writes there.
    let _lock = match lock {
        Some(l) => l,
        None => hold_folder(&request.out)?,
    };
    let search = description(request, &subject, &criteria, input, tunable.groups.len());
    let store = Store::open(&request.out.join(store::FILE), &search, request.resume)?;
    if checked.is_none() {
        checked = store.kept(store::CHECKED)?;
    }
    let checked = match checked {
        Some(c) => c,
        None => check(request, &subject, &input, watch)?,
    };
    store.keep(store::CHECKED, &checked)?;
    let fewer = fewer_workers(request, &subject);
    let workers = fewer.unwrap_or(request.workers);
    let job = Job {
        references: Some(request.out.join("references")),
        // Cores are shared among the workers, and blocks in order give the same bits on any number.
        threads: match (request.job.device, workers > 1) {
            (Device::Cpu, true) => 1,
            _ => request.job.threads,
        },
        ..request.job.clone()
    };
    let counted = match request.cost {
        CostKind::Static => Ok(None),
        CostKind::Counts => counts::obtain(
            &request.job,
            &subject,
            &input,
            &request.out,
            &request.program,
            request.limit,
        )
        .map(Some),
    };
    let mut notes = Vec::new();
    let counted = counted.unwrap_or_else(|e| {
        notes.push(format!(
            "nothing could be counted, so times are by the static score: {e}"
        ));
        None
    });
    let device = CostModel::new(&request.profile);
    let (cost, note) = models::cost_model(
        &subject,
        &tunable,
        &request.profile,
        &device,
        counted.as_ref(),
        launch::prepare::recount(request, &subject, input),
    );
    notes.extend(note);
    if request.job.device == Device::Cpu {
        let note = models::unfilled(&subject, &device, counted.as_ref());
        note.iter().for_each(|n| watch(&Event::Note(n)));
    }
    // Where nothing is measured, times are the predictions, and one model makes them.
    let measures = request.job.device == Device::Cuda && request.strategy == "guided";
    let assembler = request.assembler.as_ref().filter(|_| measures);
    let code = models::code_model(
        &subject,
        &tunable,
        &device,
        counted.as_ref(),
        assembler,
        &mut |done, of| watch(&Event::Compiled { done, of }),
    );
    let errors = models::sensitivity(&subject, &tunable, counted.as_ref());
    let vetoed = models::inform_but(
        &mut problem,
        cost.as_ref(),
        errors.as_ref(),
        &tunable.shapes(),
    );
    let mut tuner = Tuner {
        evaluator: Evaluator::new(
            job,
            criteria.clone(),
            request.program.clone(),
            request.limit,
            workers,
        )
        .with_remote(&request.remote),
        request,
        subject: &subject,
        tunable: &tunable,
        cost: cost.as_ref(),
        code: code.as_ref(),
        published: &published,
        errors: errors.as_ref(),
        store,
        input,
        known: BTreeMap::new(),
        finals: BTreeMap::new(),
        tied: Vec::new(),
        same_bits,
        warnings: Vec::new(),
        watch,
    };
    notes.into_iter().for_each(|n| tuner.warn(n));
    shaped.into_iter().for_each(|n| tuner.note(n));
    if fewer.is_some() {
        tuner.note(format!(
            "{workers} evaluations at a time, not {}: memory is not enough for more",
            request.workers
        ));
    }
    if same_bits {
        tuner.note("with a tolerance of 0 a shape has to give the program's own bits".into());
    }
    for v in &vetoed {
        tuner.warn(format!("not tried: {v}"));
    }
    for (kernel, why) in &tunable.single {
        tuner.warn(format!("{kernel} keeps one version: {why}"));
    }
    let floor = tuner.floor()?;
    let cheapest = tuner.cheapest(&mut problem, &floor)?;
    if let (true, Some(own)) = (by_own_error, floor.error) {
        let most = if same_bits { 1.0 } else { OWN_ERRORS };
        let tolerance = (most * own).max(f64::EPSILON);
        tuner.evaluator.criteria.scale(tolerance);
        problem.tolerance = Some(tuner.tolerance());
    }
    let criteria = tuner.evaluator.criteria.clone();
    let identity = problem.identity();
    let own = tuner.known[&identity].clone();
    problem.baseline = Some(Outcome::ran(floor.error.unwrap_or(f64::INFINITY), 1.0));
    let met = floor.error.is_some_and(|e| e <= criteria.tolerance);
    let mut probes = 0;
    let (mut ended, mut executed) = (None, 0);
    let mut alone = 0;
    if met {
        let duration = tuner.duration(&problem)?;
        duration.check(request.confirmed, true)?;
    }
    if met && request.sensitivity {
        alone = tuner.each_alone(&mut problem)?;
    }
    if met {
        let (reason, count) = tuner.search(&problem)?;
        (ended, executed) = (Some(reason), count);
    }
    // What was searched is there even if what follows is not.
    if let Some(space) = tuner.space(problem.clone()) {
        result::save_space(&request.out, &space)?;
    }
    let choice = match met {
        true => tuner.choose(&own, &mut probes)?,
        false => Choice {
            plan: Point {
                assignment: identity.clone(),
                time: 1.0,
                error: own.error.unwrap_or(f64::INFINITY),
            },
            validation: None,
            demoted: Vec::new(),
            tie: None,
        },
    };
    let Choice {
        plan: chosen,
        validation,
        demoted,
        tie,
    } = choice;
    let front = front(&tuner.points(&[]));
    let speedup = tuner.speedup(&chosen);
    let tie = tie.map(|point| Tie {
        speedup: tuner.speedup(&point),
        point,
    });
    let ties = match tuner.tied.contains(&chosen.assignment) {
        false => Vec::new(),
        true => {
            let all = tuner.points(&demoted).into_iter();
            let other = all.filter(|p| p.assignment != chosen.assignment);
            other
                .filter(|p| tuner.tied.contains(&p.assignment))
                .map(|point| Tie {
                    speedup: tuner.speedup(&point),
                    point,
                })
                .collect()
        }
    };
    let verdict = match (met, chosen.assignment == identity) {
        (false, _) => Verdict::Unmet,
        (true, true) => Verdict::Unchanged,
        (true, false) => Verdict::Tuned,
    };
    let vetoes: Vec<Option<String>> = (0..tunable.groups.len())
        .map(|i| errors.veto(i, chosen.assignment[i] + 1))
        .collect();
    let groups = tunable.groups.iter().enumerate().map(|(i, g)| GroupResult {
        format: g.formats[chosen.assignment[i] as usize],
        kept: match verdict {
            Verdict::Unmet => None,
            _ => tuner.kept(i, &chosen, &demoted, &vetoes),
        },
        alone: tuner.alone(i),
        local: (1..g.formats.len())
            .filter_map(|l| errors.local(i, l as u8))
            .collect(),
        group: g.clone(),
    });
    let groups = groups.collect();
    let plan = tunable.plan(&subject, &chosen.assignment);
    let sites = result::sites(&subject, &tunable, &plan, &chosen.assignment);
    let ran = tuner.known.get(&chosen.assignment).unwrap_or(&own).clone();
    let energy = match verdict {
        Verdict::Tuned => tuner.energy(&plan, &chosen.assignment)?,
        _ => None,
    };
    let tried = tuner.store.all(Phase::Validation)?;
    let every = || {
        let tried = tried.iter().map(|(_, e)| e);
        tuner
            .known
            .values()
            .chain(tuner.finals.values())
            .chain(tried)
    };
    let mut spent = Spent::default();
    every().for_each(|e| spent.add(&e.spent));
    let result = TuneResult {
        schema: result::SCHEMA.into(),
        kerf: env!("CARGO_PKG_VERSION").into(),
        verdict,
        workload: request.job.workload.clone(),
        overrides: request.job.overrides.clone(),
        program: subject.digest(),
        inputs: own.inputs.clone(),
        input,
        criteria,
        cheapest,
        formats: request.formats.clone(),
        strategy: request.strategy.clone(),
        seed: request.seed,
        budget: request.budget,
        ended,
        device: own.device.clone(),
        profile: request.profile.name.clone(),
        floor,
        error: ran.error,
        outputs: ran.outputs.clone(),
        speedup,
        energy,
        tie,
        ties,
        validation,
        demoted,
        sites,
        assignment: chosen.assignment,
        groups,
        fixed_storage: tunable.fixed.clone(),
        front,
        effort: Effort {
            search: executed,
            alone,
            probes,
            validation: tried.len(),
            failed: every().filter(|e| e.failure.is_some()).count(),
            finals: tuner.finals.len(),
            wall_s: clock.elapsed().as_secs_f64(),
            evaluation_s: every().map(|e| e.wall_s).sum(),
            spent,
        },
        checked: Some(checked),
        warnings: tuner.warnings.clone(),
    };
    if let Some(space) = tuner.space(problem) {
        result::save_space(&request.out, &space)?;
    }
    let seen = Gather {
        subject: &subject,
        plan: &plan,
        result: &result,
        counts: counted.as_ref(),
        device: device.as_ref().ok(),
        profile: &request.profile,
    };
    let evidence = seen.evidence(&tuner.evaluator, input);
    result::save(&request.out, &subject, &plan, &tools, &result, &evidence)?;
    Ok(result)
}
