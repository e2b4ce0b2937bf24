//! What a search is made of before anything is evaluated: the space, the store, workers and models.
use crate::algebra::RewritableClusters;
use crate::counts;
use crate::criteria::{Criteria, CriteriaError};
use crate::error::TuneError;
use crate::evaluate::{Evaluator, Input};
use crate::event::{TuneEvent, Watch};
use crate::group::Group;
use crate::launch;
use crate::launch::tuners::Factor;
use crate::made::MadeScope;
use crate::models::{self, Predictions};
use crate::prediction::{CostKind, TimePredictor};
use crate::problem::{ProblemError, TuningScope, for_scope};
use crate::program_check::ProgramCheck;
use crate::records;
use crate::request::TuneRequest;
use crate::result;
use crate::scaled::ScaledScope;
use crate::setting::Setting;
use crate::store::{self, Store};
use crate::subject::Subject;
use crate::tunable::Tunable;
use kerf_clang::compile::Toolchain;
use kerf_exec::cuda::CudaExecutor;
use kerf_files::FolderLock;
use kerf_run::job::{Device, Job};
use kerf_run::memory::{MemoryNeed, arena_bytes};
use kerf_search::{Problem, Search};
use serde_json::json;
use std::path::Path;

/// What counts as close enough, as far as it is known before the program ran.
pub(super) struct Acceptance {
    pub criteria: Criteria,
    /// The tolerance follows from the program's own error.
    pub by_own_error: bool,
    /// A plan has to give the program's own bits.
    pub same_bits: bool,
}

impl Acceptance {
    fn new(request: &TuneRequest, subject: &Subject) -> Result<Acceptance, TuneError> {
        // With a ratio the tolerance is known when the cheapest version has run.
        let given = request.ratio.map(|_| 1.0).or(request.tolerance);
        // Shapes round nothing, so that without a tolerance the program's own error is one.
        let shapes_alone = request.launch
            && request.formats.is_empty()
            && request.approx.is_none()
            && !request.algebra;
        let mut by_own_error = false;
        // With a tolerance of 0 a plan must not change a bit: an error of 0 against a reference is beyond the program itself.
        let same_bits = given == Some(0.0);
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
        Ok(Acceptance {
            criteria,
            by_own_error,
            same_bits,
        })
    }
}

impl Acceptance {
    /// Whether formats are tuned, within a tolerance that the program itself may miss.
    fn may_raise(&self, request: &TuneRequest) -> bool {
        let given = !self.by_own_error && !self.same_bits && request.ratio.is_none();
        given && !request.formats.is_empty()
    }
}

/// A search before anything is evaluated.
pub(super) struct Prepared {
    pub space: SearchSpace,
    /// The check for undefined behaviour, where this command makes one.
    pub check: Option<ProgramCheck>,
    /// The lock of the result folder, where something was written there.
    pub lock: Option<FolderLock>,
    /// What evaluates plans, where it has begun with the program itself.
    pub evaluator: Option<Evaluator>,
}

/// What is searched.
pub(super) struct SearchSpace {
    pub subject: Subject,
    pub tunable: Tunable,
    pub acceptance: Acceptance,
    /// Tuning inputs.
    pub input: Input,
    /// What a reader should know of the shapes of launches.
    pub shape_notes: Vec<String>,
    /// Wider formats are in it.
    pub raise: bool,
    /// Why there is nothing to tune but what can be raised, which helps where the program itself misses the tolerance.
    pub nothing: Option<NothingLower>,
}

/// That no operation can be lowered, and why.
pub(super) struct NothingLower {
    kernels: String,
    why: String,
}

impl NothingLower {
    pub fn error(&self) -> ProblemError {
        ProblemError::Nothing {
            kernels: self.kernels.clone(),
            why: self.why.clone(),
        }
    }
}

/// Stack of the thread that looks at expressions, whose graphs are walked by recursion.
const STACK_BYTES: usize = 64 << 20;

/// What can be chosen, with what a reader should know of the shapes of launches.
fn choices(
    request: &TuneRequest,
    subject: &Subject,
    criteria: &Criteria,
    input: &Input,
    raise: bool,
) -> Result<(Tunable, Vec<String>), ProblemError> {
    let (functions, scaled) = (
        makes_functions(request, subject),
        scales_memory(request, subject),
    );
    let counts = || match functions || scaled {
        false => None,
        true => counts::obtain(request, subject, input).ok(),
    };
    // Expressions are looked at while the program is counted.
    let (counts, rewritable) = std::thread::scope(|s| {
        let algebra = || RewritableClusters::for_subject(subject, &request.profile);
        let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
        let running = thread.spawn_scoped(s, move || request.algebra.then(algebra));
        let counts = counts();
        // Where there is no thread, it comes after that.
        let found = match running {
            Ok(thread) => thread.join().ok().flatten(),
            Err(_) => request.algebra.then(algebra),
        };
        (counts, found)
    });
    let counted = |wanted: bool| counts.as_ref().filter(|_| wanted);
    let scope = TuningScope {
        formats: &request.formats,
        raise,
        by: request.grouping,
        storage: request.storage,
        scaled: counted(scaled).map(|counts| ScaledScope {
            codes: &request.scaled,
            counts,
            tolerance: criteria.tolerance,
            metric: criteria.metric,
        }),
        approx: request.approx,
        layout: request.layout,
        records: request.layout && request.job.device == Device::Cuda,
        blocks: false,
        code: request.code,
        algebra: rewritable.as_ref(),
        made: counted(functions).map(|counts| MadeScope {
            counts,
            profile: &request.profile,
            tolerance: criteria.tolerance,
            metric: criteria.metric,
        }),
    };
    match request.launch {
        false => Ok((for_scope(subject, &scope)?, Vec::new())),
        true => launch::prepare::tunable(request, subject, &scope, input),
    }
}

impl SearchSpace {
    /// Compiles and checks the program, and finds what can be chosen. On a GPU the program runs meanwhile, with its reference.
    pub fn prepare(
        request: &TuneRequest,
        tools: &Toolchain,
        watch: &mut Watch,
    ) -> Result<Prepared, TuneError> {
        let subject = Subject::load(&request.job.workload, &request.job.overrides, tools)?;
        let acceptance = Acceptance::new(request, &subject)?;
        let input = Input {
            seed: request.job.seed.unwrap_or(subject.workload.seed),
            perturb: None,
        };
        let checked = match request.resume {
            true => None,
            false => Some(ProgramCheck::begin(request, &subject, &input, watch)?),
        };
        let writes = makes_functions(request, &subject)
            || scales_memory(request, &subject)
            || request.launch;
        let lock = match writes {
            true => Some(hold_folder(&request.out)?),
            false => None,
        };
        let criteria = &acceptance.criteria;
        let begins = request.job.device == Device::Cuda && !request.resume && lock.is_some();
        let evaluator = begins.then(|| {
            let evaluator = Workers::new(request, &subject).evaluator(request, criteria);
            evaluator.begin_program(input);
            evaluator
        });
        let chosen = |raise| choices(request, &subject, criteria, &input, raise);
        let mut nothing = None;
        let (tunable, mut shape_notes) = match chosen(false) {
            Err(ProblemError::Nothing { kernels, why }) if acceptance.may_raise(request) => {
                let lower = NothingLower { kernels, why };
                let wider = chosen(true).map_err(|_| lower.error())?;
                nothing = Some(lower);
                wider
            }
            other => other?,
        };
        shape_notes.extend(
            tunable
                .uncoarsened
                .iter()
                .map(|u| format!("threads of {} keep one element each: {}", u.kernel, u.why)),
        );
        let records = tunable.fixed_records.iter();
        shape_notes
            .extend(records.map(|f| format!("records of {} stay as they are: {}", f.name, f.why)));
        if request.layout && request.job.device == Device::Cpu {
            let unmeasured = records::names(&subject);
            shape_notes.extend(unmeasured.into_iter().map(|name| {
                format!("records of {name} stay as they are: counts are of the program's own layout, so times of others have to be measured (--device cuda)")
            }));
        }
        let space = SearchSpace {
            subject,
            tunable,
            acceptance,
            input,
            shape_notes,
            raise: nothing.is_some(),
            nothing,
        };
        Ok(Prepared {
            space,
            check: checked,
            lock,
            evaluator,
        })
    }

    /// Whether wider formats may help, and are not in it yet.
    pub fn may_raise(&self, request: &TuneRequest) -> bool {
        !self.raise && self.acceptance.may_raise(request)
    }

    /// The same with wider formats in it.
    pub fn with_wider_formats(self, request: &TuneRequest) -> Result<SearchSpace, TuneError> {
        let criteria = &self.acceptance.criteria;
        let (tunable, _) = choices(request, &self.subject, criteria, &self.input, true)?;
        Ok(SearchSpace {
            tunable,
            raise: true,
            ..self
        })
    }

    /// The search problem, before models say anything of it.
    pub fn problem(&self) -> Problem {
        let tolerance = self.acceptance.criteria.tolerance;
        self.tunable.problem(&self.subject, tolerance)
    }

    /// The event that tells of it.
    pub fn prepared(&self, problem: &Problem) -> TuneEvent<'static> {
        TuneEvent::Prepared {
            groups: self.tunable.groups.len(),
            sites: self.tunable.groups.iter().map(Group::operations).sum(),
            excluded: self.tunable.excluded.len(),
            plans: problem.size(),
        }
    }

    /// Opens the store of the result folder for this search.
    pub fn open_store(&self, request: &TuneRequest) -> Result<Store, TuneError> {
        let search = description(request, self);
        let path = request.out.join(store::FILE);
        Ok(Store::open(&path, &search, request.resume)?)
    }

    /// The check for undefined behaviour: that of this command, or what the one that it goes on from has kept.
    pub fn program_check(
        &self,
        begun: Option<ProgramCheck>,
        request: &TuneRequest,
        store: &Store,
        watch: &mut Watch,
    ) -> Result<ProgramCheck, TuneError> {
        if let Some(begun) = begun {
            return Ok(begun);
        }
        match store.kept(store::CHECKED)? {
            Some(c) => Ok(ProgramCheck::Done(c)),
            None => ProgramCheck::begin(request, &self.subject, &self.input, watch),
        }
    }
}

/// Whether functions are made for math calls: where calls may change, ranges of arguments are counted, and a plan need not have
/// the program's bits; not in searches that began before there were such functions.
fn makes_functions(request: &TuneRequest, subject: &Subject) -> bool {
    let calls = subject.kernels.iter().any(|k| !k.library_calls.is_empty());
    let asked = request.approx.is_some_and(|a| a.calls) && request.ratio.is_none();
    let counted = request.cost == CostKind::Counts && request.tolerance != Some(0.0);
    let path = request.out.join(store::FILE);
    let begun = request.resume && path.exists();
    calls && asked && counted && (!begun || store::has_setting(&path, FUNCTIONS))
}

/// Whether memory may be held in scaled formats: where formats are tuned, ranges of values are counted, and a plan need not have
/// the program's bits; not in searches that began before there were such formats.
fn scales_memory(request: &TuneRequest, subject: &Subject) -> bool {
    let asked = request.storage && !request.scaled.is_empty() && !request.formats.is_empty();
    let counted = request.cost == CostKind::Counts && request.tolerance != Some(0.0);
    let path = request.out.join(store::FILE);
    let begun = request.resume && path.exists();
    let memory = subject.stored.iter().any(|s| s.own.is_some());
    asked && counted && memory && (!begun || store::has_setting(&path, SCALED))
}

/// In the description of a search, the scaled formats of its memory.
const SCALED: &str = "scaled";

/// In the description of a search, what its made functions are.
const FUNCTIONS: &str = "functions";

/// What makes a search the same search; the budget may grow.
fn description(request: &TuneRequest, space: &SearchSpace) -> serde_json::Value {
    let approx = request.approx;
    let mut all = json!({
        "kerf": env!("CARGO_PKG_VERSION"),
        "workload": request.job.workload,
        "program": space.subject.digest(),
        "sizes": space.subject.workload.sizes,
        "criteria": space.acceptance.criteria,
        "strategy": request.strategy.to_string(),
        "formats": request.formats,
        "grouping": request.grouping,
        "storage": request.storage,
        "approx": approx.map(|a| json!({ "calls": a.calls, "warps": a.warps })),
        "ratio": request.ratio,
        "launch": request.launch,
        "groups": space.tunable.groups.len(),
        "device": request.job.device,
        "profile": request.profile.name,
        "cost": request.cost,
        "seed": request.seed,
        "input": space.input,
        "trials": request.trials,
    });
    if makes_functions(request, &space.subject) {
        let levels = space.tunable.made.iter().flat_map(|c| &c.levels);
        let ids = levels.flat_map(|l| l.functions.iter().map(|f| f.id()));
        all[FUNCTIONS] = ids.collect::<Vec<String>>().into();
    }
    if scales_memory(request, &space.subject) {
        let levels = space.tunable.groups.iter().flat_map(|g| &g.formats);
        let scaled = levels.filter(|s| matches!(s, Setting::Scaled(_)));
        all[SCALED] = scaled.map(ToString::to_string).collect::<Vec<_>>().into();
    }
    if request.layout {
        all["layout"] = true.into();
    }
    if request.code {
        all["code"] = true.into();
    }
    if request.algebra {
        all["algebra"] = true.into();
    }
    if request.sensitivity {
        all["sensitivity"] = true.into();
    }
    if request.tuners != Factor::ALL {
        all["tuners"] = json!(request.tuners);
    }
    all
}

/// Makes the folder, where it is not there yet, and keeps other searches out of it.
pub(super) fn hold_folder(out: &Path) -> Result<FolderLock, TuneError> {
    result::make_folder(out)?;
    Ok(FolderLock::take(out)?)
}

/// Strategies that refuse the problem do so before anything ran.
pub(super) fn check_strategy(
    request: &TuneRequest,
    space: &SearchSpace,
    problem: &Problem,
    published: &dyn TimePredictor,
) -> Result<(), TuneError> {
    let score = models::static_score(&space.subject, &space.tunable, &request.profile);
    let predictions = Predictions {
        cost: score.as_ref(),
        code: None,
        published: Some(published),
    };
    let search = Search {
        problem,
        models: &predictions,
        seed: request.seed,
        budget: request.budget,
    };
    let launch = space.tunable.launch.as_ref();
    request.strategy.start(search, launch)?;
    Ok(())
}

/// Workers that evaluate plans.
pub(super) struct Workers {
    /// How many at a time: as many as were asked for, or as the machine's memory is enough for.
    pub count: usize,
}

/// Times the memory of a workload's buffers that a worker may take on a GPU: inputs and references that are kept, the program
/// as it is, the plan's, and shadows.
const ON_DEVICE: usize = 20;

impl Workers {
    pub fn new(request: &TuneRequest, subject: &Subject) -> Workers {
        let need = MemoryNeed::for_workload(&subject.workload, true);
        let each = need.on_host(request.job.device == Device::Cpu).max(1);
        let on_host = kerf_exec::cpu::available_memory() / each;
        let on_device = match request.job.device {
            Device::Cuda => {
                let each = ON_DEVICE.saturating_mul(arena_bytes(&subject.workload));
                CudaExecutor::memory(request.job.ordinal).map_or(usize::MAX, |m| m / each.max(1))
            }
            Device::Cpu => usize::MAX,
        };
        Workers {
            count: on_host.min(on_device).clamp(1, request.workers.max(1)),
        }
    }

    pub fn evaluator(&self, request: &TuneRequest, criteria: &Criteria) -> Evaluator {
        let job = Job {
            references: Some(request.out.join("references")),
            // Cores are shared among the workers, and blocks in order give the same bits on any number.
            threads: match (request.job.device, self.count > 1) {
                (Device::Cpu, true) => 1,
                _ => request.job.threads,
            },
            ..request.job.clone()
        };
        Evaluator::new(
            job,
            criteria.clone(),
            request.program.clone(),
            request.limit,
            self.count,
        )
        .with_remote(&request.remote)
    }
}
