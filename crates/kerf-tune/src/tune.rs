//! The search for the fastest plan within a tolerance: baseline, search, probes, validation, result.
use crate::criteria::{Criteria, CriteriaError};
use crate::evaluate::{Evaluated, Evaluator, Input, Request as Run, WorkerProgram};
use crate::front::{Point, front};
use crate::models::{self, CostModel, Predictions};
use crate::problem::{Grouping, ProblemError, Tunable, tunable};
use crate::result::{
    self, Demoted, Effort, Floor, GroupResult, Kept, ResultError, Speedup, TuneResult, Verdict,
};
use crate::store::{self, Phase, Store, StoreError};
use crate::subject::{Subject, SubjectError};
use crate::validate::{Trials, Validation, Validator};
use kerf_device::profile::DeviceProfile;
use kerf_num::Metric;
use kerf_pass::{Plan, SiteFormat};
use kerf_search::strategy::{StrategyError, by_name};
use kerf_search::{Assignment, Outcome, Problem, Reason, Search, Session};
use kerf_workload::job::{Device, Job, JobError};
use serde_json::json;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// Groups whose lowering is tried to explain why they were kept, at most, for each plan.
const PROBES: usize = 32;

/// Plans that probes may improve, one after the other.
const IMPROVEMENTS: usize = 4;

/// Runs of the program itself that tell whether it repeats, on a GPU.
const FLOOR_RUNS: usize = 3;

/// A candidate may take this many times as long as the program's own evaluation, and some seconds.
const PATIENCE: f64 = 10.0;
const PATIENCE_S: f64 = 20.0;

/// The final measurement has this many times the runs of one in the search.
const FINAL_RUNS: u32 = 3;

/// What is asked for.
pub struct Request {
    /// What evaluations have in common: workload, device, toolchain, repeats.
    pub job: Job,
    /// Tolerance, where not the file's.
    pub tolerance: Option<f64>,
    /// Metric, where not the file's.
    pub metric: Option<Metric>,
    /// Strategy.
    pub strategy: String,
    /// Evaluations, at most.
    pub budget: usize,
    /// Formats that sites may have.
    pub formats: Vec<SiteFormat>,
    /// What changes together.
    pub grouping: Grouping,
    /// Device that times are predicted for, where they are not measured.
    pub profile: DeviceProfile,
    /// Result folder.
    pub out: PathBuf,
    /// Seed of the search.
    pub seed: u64,
    /// Go on with what is in the folder.
    pub resume: bool,
    /// How the plan is validated.
    pub trials: Trials,
    /// Time limit of the first evaluation.
    pub limit: Duration,
    /// Evaluations at a time.
    pub workers: usize,
    /// How workers are started.
    pub program: WorkerProgram,
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
    /// Nothing can be compared.
    #[error("every value of the reference is NaN or infinite, so there is nothing to compare; help: check the inputs (kerf run --reference shows the outputs)")]
    NoReference,
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
    /// What the program itself does.
    Floor(&'e Floor),
    /// What a reader must know.
    Warning(&'e str),
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

type Watch<'w> = dyn FnMut(&Event) + Send + 'w;

/// A search under way.
struct Tuner<'t> {
    request: &'t Request,
    subject: &'t Subject,
    tunable: &'t Tunable,
    cost: &'t dyn CostModel,
    evaluator: Evaluator,
    store: Store,
    input: Input,
    /// Everything known on the tuning inputs.
    known: BTreeMap<Assignment, Evaluated>,
    warnings: Vec<String>,
    watch: &'t mut Watch<'t>,
}

fn point(a: &Assignment, e: &Evaluated, time: Option<f64>) -> Option<Point> {
    Some(Point {
        assignment: a.clone(),
        time: time?,
        error: e.error.filter(|_| e.failure.is_none())?,
    })
}

impl Tuner<'_> {
    fn tolerance(&self) -> f64 {
        self.evaluator.criteria.tolerance
    }

    fn warn(&mut self, text: String) {
        (self.watch)(&Event::Warning(&text));
        self.warnings.push(text);
    }

    /// Time over that of the program: measured, or predicted.
    fn time(&self, a: &Assignment, e: &Evaluated) -> Option<f64> {
        match self.evaluator.job.device {
            Device::Cuda => e.timing.as_ref().map(|t| t.ratio),
            Device::Cpu => self.cost.predict(a),
        }
    }

    fn outcome(&self, a: &Assignment, e: &Evaluated) -> Outcome {
        match (&e.failure, self.time(a, e)) {
            (None, Some(t)) => Outcome::ran(e.error.unwrap_or(f64::INFINITY), t),
            _ => Outcome::Failed,
        }
    }

    /// The program itself: its error, and whether it repeats.
    fn floor(&mut self) -> Result<Floor, TuneError> {
        let runs = match self.evaluator.job.device {
            Device::Cuda => FLOOR_RUNS,
            Device::Cpu => 1,
        };
        let identity = vec![0; self.tunable.groups.len()];
        let mut all: Vec<Evaluated> = Vec::new();
        for n in 0..runs {
            // Another run of the same is another row.
            let run = vec![n as u8];
            let e = match self.store.get(Phase::Baseline, &run, &self.input)? {
                Some(e) => e,
                None => {
                    let e = self.evaluator.one(&Run {
                        plan: Plan::default(),
                        input: self.input,
                        timed: true,
                    })?;
                    self.store
                        .put(Phase::Baseline, &run, &self.input, &e, Some(1.0))?;
                    e
                }
            };
            all.push(e);
        }
        let first = &all[0];
        let repeats = all.iter().all(|e| e.digests == first.digests);
        let errors = || all.iter().map(|e| e.error.unwrap_or(f64::INFINITY));
        let worst = errors().fold(0.0, f64::max);
        let floor = Floor {
            error: worst.is_finite().then_some(worst),
            outputs: first.outputs.clone(),
            runs,
            repeats,
            least: Some(errors().fold(f64::INFINITY, f64::min)).filter(|e| e.is_finite()),
        };
        let (odd, count) = first.not_finite;
        let mut notes = first.warnings.clone();
        let slowest = all.iter().map(|e| e.wall_s).fold(0.0, f64::max);
        self.known.insert(identity, first.clone());
        if count > 0 && odd == count {
            return Err(TuneError::NoReference);
        }
        if odd > 0 {
            notes.push(format!(
                "{odd} of {count} values of the reference are NaN or infinite; they have to stay so, and say nothing of accuracy"
            ));
        }
        if !repeats {
            notes.push(format!(
                "the program gives other bits every time: its error on the same inputs was from {:.3e} to {worst:.3e}",
                floor.least.unwrap_or(f64::INFINITY)
            ));
        }
        for k in self.subject.kernels.iter().filter(|k| !k.unordered.is_empty()) {
            let how = match self.evaluator.job.device {
                Device::Cpu => "here blocks run in order, so errors are of one order among many",
                Device::Cuda => "errors are of the order that happened",
            };
            notes.push(format!(
                "{} depends on the order of threads ({}): {how}",
                k.name,
                k.unordered.join(", ")
            ));
        }
        notes.into_iter().for_each(|n| self.warn(n));
        let limit = Duration::from_secs_f64(PATIENCE * slowest + PATIENCE_S);
        self.evaluator.limit = limit.min(self.request.limit);
        (self.watch)(&Event::Floor(&floor));
        Ok(floor)
    }

    /// The fastest within the tolerance so far.
    fn best(&self) -> Option<Point> {
        let all = self.known.iter();
        let points = all.filter_map(|(a, e)| point(a, e, self.time(a, e)));
        points
            .filter(|p| p.error <= self.tolerance())
            .min_by(|a, b| a.time.total_cmp(&b.time).then(a.error.total_cmp(&b.error)))
    }

    /// Evaluates assignments that are not known, keeps them, and tells who watches.
    fn evaluate(
        &mut self,
        phase: Phase,
        all: &[Assignment],
        done: usize,
        budget: usize,
    ) -> Result<(), StoreError> {
        let requests: Vec<Run> = all
            .iter()
            .map(|a| Run {
                plan: self.tunable.plan(self.subject, a),
                input: self.input,
                timed: true,
            })
            .collect();
        let mut best = self.best().map(|p| (p.time, p.error));
        let tolerance = self.tolerance();
        let cuda = self.evaluator.job.device == Device::Cuda;
        let predicted: Vec<Option<f64>> = all.iter().map(|a| self.cost.predict(a)).collect();
        let (store, known, watch, input) =
            (&mut self.store, &mut self.known, &mut self.watch, self.input);
        let mut done = done;
        let parallel = self.evaluator.parallel();
        self.evaluator.all(&requests, |i, e| {
            let time = match cuda {
                true => e.timing.as_ref().map(|t| t.ratio),
                false => predicted[i],
            };
            store.put(phase, &all[i], &input, &e, time)?;
            done += 1;
            if let (true, Some(t), Some(error)) = (e.accepted(tolerance), time, e.error)
                && best.is_none_or(|(b, _)| t < b)
            {
                best = Some((t, error));
            }
            let left = budget.saturating_sub(done) as f64;
            known.insert(all[i].clone(), e.clone());
            let mean = known.values().map(|e| e.wall_s).sum::<f64>() / known.len() as f64;
            watch(&Event::Evaluated {
                phase,
                done,
                budget,
                error: e.error,
                time,
                best,
                tolerance,
                left_s: left * mean / parallel as f64,
            });
            Ok(())
        })
    }

    /// Runs the strategy to its end.
    fn search(&mut self, problem: &Problem) -> Result<(Reason, usize), TuneError> {
        let cost = self.cost;
        let predictions = Predictions { cost };
        let search = Search {
            problem,
            models: &predictions,
            seed: self.request.seed,
            budget: self.request.budget,
        };
        let mut strategy = by_name(&self.request.strategy, search)?;
        let mut session = Session::new(problem, strategy.as_mut(), self.request.budget);
        for (a, e) in self.store.all(Phase::Search)? {
            session.tell(&a, self.outcome(&a, &e));
            self.known.insert(a, e);
        }
        loop {
            let wanted = session.open(self.evaluator.parallel());
            if wanted.is_empty() {
                break;
            }
            // A probe of an earlier, smaller budget may have been what is wanted now.
            let (old, new): (Vec<_>, Vec<_>) =
                wanted.into_iter().partition(|a| self.known.contains_key(a));
            let done = session.executed().len();
            self.evaluate(Phase::Search, &new, done, self.request.budget)?;
            for a in old.iter().chain(&new) {
                session.tell(a, self.outcome(a, &self.known[a]));
            }
        }
        let executed = session.executed().len();
        Ok((session.finish().reason, executed))
    }

    /// What lowering each kept group of a plan would do, run where prediction does not rule it out. Gives
    /// a better plan if one turns up.
    fn probe(&mut self, at: &Point, probes: &mut usize) -> Result<Option<Point>, StoreError> {
        let mut new = Vec::new();
        for a in self.lowered(at) {
            if new.len() < PROBES && !self.known.contains_key(&a) && self.promises(&a, at) {
                new.push(a);
            }
        }
        for a in &new {
            if let Some(e) = self.store.get(Phase::Probe, a, &self.input)? {
                self.known.insert(a.clone(), e);
                *probes += 1;
            }
        }
        new.retain(|a| !self.known.contains_key(a));
        self.evaluate(Phase::Probe, &new, *probes, *probes + new.len())?;
        *probes += new.len();
        Ok(self.best().filter(|b| b.time < at.time))
    }

    /// The plan with one more group lowered by a level, for each group.
    fn lowered(&self, at: &Point) -> Vec<Assignment> {
        let groups = self.tunable.groups.iter().enumerate();
        let lower = groups.filter_map(|(i, g)| {
            let mut a = at.assignment.clone();
            a[i] += 1;
            ((a[i] as usize) < g.formats.len()).then_some(a)
        });
        lower.collect()
    }

    fn promises(&self, a: &Assignment, at: &Point) -> bool {
        let predicted = |a| self.cost.predict(a).unwrap_or(0.0);
        predicted(a) < predicted(&at.assignment)
    }

    fn kept(&self, i: usize, chosen: &Point, demoted: &[Demoted], vetoes: &[Option<String>]) -> Option<Kept> {
        let g = &self.tunable.groups[i];
        let mut a = chosen.assignment.clone();
        if a[i] as usize + 1 >= g.formats.len() {
            return None;
        }
        if let Some(why) = &vetoes[i] {
            return Some(Kept::Veto { why: why.clone() });
        }
        a[i] += 1;
        Some(match self.known.get(&a) {
            None if !self.promises(&a, chosen) => Kept::Slower {
                time: self.cost.predict(&a).unwrap_or(f64::NAN),
                chosen: self.cost.predict(&chosen.assignment).unwrap_or(f64::NAN),
                measured: false,
            },
            None if demoted.iter().any(|d| d.point.assignment[i] > chosen.assignment[i]) => {
                Kept::Validation
            }
            None => Kept::NotTried,
            Some(e) => match (&e.failure, self.time(&a, e)) {
                (Some(why), _) => Kept::Failed { why: why.clone() },
                _ if !e.accepted(self.tolerance()) => Kept::Error { error: e.error },
                (None, Some(t)) if t >= chosen.time => Kept::Slower {
                    time: t,
                    chosen: chosen.time,
                    measured: e.timing.is_some(),
                },
                _ => Kept::Validation,
            },
        })
    }

    /// The fastest plan of the front that passes on other inputs, and those that did not.
    fn validated(
        &mut self,
        candidates: &[Point],
        digest: Option<String>,
    ) -> Result<(Point, Option<Validation>, Vec<Demoted>), TuneError> {
        let mut demoted = Vec::new();
        let identity = vec![0; self.tunable.groups.len()];
        for p in candidates {
            if p.assignment == identity {
                return Ok((p.clone(), None, demoted));
            }
            let plan = self.tunable.plan(self.subject, &p.assignment);
            let (budget, tolerance) = (self.request.trials.inputs, self.tolerance());
            let watch = &mut self.watch;
            let best = Some((p.time, p.error));
            let tell = |done, e: &Evaluated| {
                watch(&Event::Evaluated {
                    phase: Phase::Validation,
                    done,
                    budget,
                    error: e.error,
                    time: None,
                    best,
                    tolerance,
                    left_s: budget.saturating_sub(done) as f64 * e.wall_s,
                });
            };
            let v = Validator {
                evaluator: &self.evaluator,
                store: &mut self.store,
                tuned: self.input,
                digest: digest.clone(),
            }
            .run(&p.assignment, &plan, &self.request.trials, false, tell)?;
            if v.holds() {
                if let Some(r) = &v.remark {
                    self.warn(r.clone());
                }
                return Ok((p.clone(), Some(v), demoted));
            }
            let d = Demoted {
                point: p.clone(),
                validation: v,
            };
            (self.watch)(&Event::Demoted(&d));
            demoted.push(d);
        }
        let e = self.known.get(&identity).and_then(|e| e.error);
        let own = Point {
            assignment: identity,
            time: 1.0,
            error: e.unwrap_or(f64::INFINITY),
        };
        Ok((own, None, demoted))
    }

    /// The time of the chosen plan, measured anew: the best of many samples is too good.
    fn speedup(&mut self, chosen: &Point) -> Result<Speedup, TuneError> {
        let identity = chosen.assignment.iter().all(|l| *l == 0);
        if self.evaluator.job.device == Device::Cpu || identity {
            let predicted = self.evaluator.job.device == Device::Cpu;
            return Ok(Speedup {
                value: 1.0 / chosen.time,
                low: None,
                high: None,
                kind: if predicted { "predicted" } else { "measured" }.into(),
                by: match predicted {
                    true => self.cost.describe(),
                    false => "the program as it is".into(),
                },
                timing: None,
            });
        }
        let a = &chosen.assignment;
        let e = match self.store.get(Phase::Final, a, &self.input)? {
            Some(e) => e,
            None => {
                self.evaluator.job.repeats *= FINAL_RUNS;
                let e = self.evaluator.one(&Run {
                    plan: self.tunable.plan(self.subject, a),
                    input: self.input,
                    timed: true,
                })?;
                let ratio = e.timing.as_ref().map(|t| t.ratio);
                self.store.put(Phase::Final, a, &self.input, &e, ratio)?;
                e
            }
        };
        let t = e.timing.clone();
        Ok(Speedup {
            value: 1.0 / t.as_ref().map_or(chosen.time, |t| t.ratio),
            low: t.as_ref().map(|t| 1.0 / t.ratio_high),
            high: t.as_ref().map(|t| 1.0 / t.ratio_low),
            kind: "measured".into(),
            by: e.device.clone(),
            timing: t,
        })
    }
}

/// What makes a search the same search; the budget may grow.
fn description(r: &Request, subject: &Subject, c: &Criteria, input: Input, groups: usize) -> serde_json::Value {
    json!({
        "kerf": env!("CARGO_PKG_VERSION"),
        "workload": r.job.workload,
        "program": subject.digest(),
        "sizes": subject.workload.sizes,
        "criteria": c,
        "strategy": r.strategy,
        "formats": r.formats,
        "grouping": r.grouping,
        "groups": groups,
        "device": r.job.device,
        "profile": r.profile.name,
        "seed": r.seed,
        "input": input,
        "trials": r.trials,
    })
}

/// Tunes, and writes the result folder.
pub fn tune<'t>(request: &'t Request, watch: &'t mut Watch<'t>) -> Result<TuneResult, TuneError> {
    let tools = request.job.toolchain();
    let subject = Subject::load(&request.job.workload, &request.job.overrides, &tools)?;
    let criteria = Criteria::new(&subject.workload, request.tolerance, request.metric)?;
    let tunable = tunable(&subject, &request.formats, request.grouping)?;
    let cost = models::cost_model(&subject, &tunable, &request.profile);
    let errors = models::sensitivity(&subject, &tunable);
    let mut problem = tunable.problem(&subject, criteria.tolerance);
    let vetoed = models::inform(&mut problem, cost.as_ref(), errors.as_ref());
    let input = Input {
        seed: request.job.seed.unwrap_or(subject.workload.seed),
        perturb: None,
    };
    watch(&Event::Prepared {
        groups: tunable.groups.len(),
        sites: tunable.chosen.len(),
        excluded: tunable.excluded.len(),
        plans: problem.size(),
    });
    // Strategies that refuse the problem do so before anything ran.
    let predictions = Predictions {
        cost: cost.as_ref(),
    };
    by_name(
        &request.strategy,
        Search {
            problem: &problem,
            models: &predictions,
            seed: request.seed,
            budget: request.budget,
        },
    )?;
    std::fs::create_dir_all(&request.out).map_err(|e| ResultError::File {
        path: request.out.display().to_string(),
        why: e.to_string(),
    })?;
    let search = description(request, &subject, &criteria, input, tunable.groups.len());
    let store = Store::open(&request.out.join(store::FILE), &search, request.resume)?;
    let job = Job {
        references: Some(request.out.join("references")),
        // Cores are shared among the workers, and blocks in order give the same bits on any number.
        threads: match (request.job.device, request.workers > 1) {
            (Device::Cpu, true) => 1,
            _ => request.job.threads,
        },
        ..request.job.clone()
    };
    let mut tuner = Tuner {
        evaluator: Evaluator::new(
            job,
            criteria.clone(),
            request.program.clone(),
            request.limit,
            request.workers,
        ),
        request,
        subject: &subject,
        tunable: &tunable,
        cost: cost.as_ref(),
        store,
        input,
        known: BTreeMap::new(),
        warnings: Vec::new(),
        watch,
    };
    for v in &vetoed {
        tuner.warn(format!("not tried: {v}"));
    }
    let floor = tuner.floor()?;
    let identity = problem.identity();
    let own = tuner.known[&identity].clone();
    problem.baseline = Some(Outcome::ran(floor.error.unwrap_or(f64::INFINITY), 1.0));
    let met = floor.error.is_some_and(|e| e <= criteria.tolerance);
    let mut probes = 0;
    let (mut ended, mut executed) = (None, 0);
    if met {
        let (reason, count) = tuner.search(&problem)?;
        (ended, executed) = (Some(reason), count);
        for _ in 0..IMPROVEMENTS {
            let Some(best) = tuner.best() else { break };
            if tuner.probe(&best, &mut probes)?.is_none() {
                break;
            }
        }
    }
    let points: Vec<Point> = tuner
        .known
        .iter()
        .filter_map(|(a, e)| point(a, e, tuner.time(a, e)))
        .collect();
    let front = front(&points);
    let candidates: Vec<Point> = front
        .iter()
        .filter(|p| p.error <= criteria.tolerance && p.time <= 1.0)
        .cloned()
        .collect();
    let (chosen, validation, demoted) = tuner.validated(&candidates, own.inputs.clone())?;
    if !demoted.is_empty() {
        tuner.probe(&chosen, &mut probes)?;
    }
    let speedup = tuner.speedup(&chosen)?;
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
        group: g.clone(),
    });
    let groups = groups.collect();
    let plan = tunable.plan(&subject, &chosen.assignment);
    let ran = tuner.known.get(&chosen.assignment).unwrap_or(&own).clone();
    let tried = tuner.store.all(Phase::Validation)?;
    let every = || tuner.known.values().chain(tried.iter().map(|(_, e)| e));
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
        validation,
        demoted,
        sites: result::sites(&subject, &tunable, &chosen.assignment),
        assignment: chosen.assignment,
        groups,
        front,
        effort: Effort {
            search: executed,
            probes,
            validation: tried.len(),
            failed: every().filter(|e| e.failure.is_some()).count(),
            wall_s: every().map(|e| e.wall_s).sum(),
        },
        warnings: tuner.warnings.clone(),
    };
    result::save(&request.out, &subject, &plan, &tools, &result)?;
    Ok(result)
}
