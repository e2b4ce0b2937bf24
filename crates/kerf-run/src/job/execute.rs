//! Carrying a job out: compile, run, time, compare, report.
use super::check::{check_folder, fixed_blocks, plan_params, refuse, refuse_everywhere};
use super::count::{NotCounted, ProgramCounts, counted, counting_code};
use super::finished::{Libdevice, launched_only, prints};
use super::kept::kept;
use super::losses::{StorageLosses, losses};
use super::measured::{Measured, MeasuredOutputs, Prepared, measure};
use super::planned::PlannedCode;
use super::reference::compared_outputs;
use super::report::{JobReport, JobSeconds, Output, ReferenceInfo};
use super::resident::{RunOnDevice, stays_on_device};
use super::shadowed::Reference;
use super::turn::{alone, kept_or_alone};
use super::workshop::{Workshop, ptx};
use super::{Device, Job, JobError, ReferenceRoute};
use crate::memory::{self, MemoryNeed};
use crate::other_launches::LaunchedWorkload;
use crate::run::WorkloadSession;
use crate::storage;
use kerf_exec::cpu;
use kerf_exec::{DeviceInfo, DeviceKind, KernelStats};
use kerf_ir::kernels::{self, GlobalInfo, KernelInfo};
use kerf_ir::program::{self, Program};
use kerf_llvm::Module;
use kerf_pass::count::Detail;
use kerf_pass::sanitize;
use kerf_workload::expand::{ConcreteStep, expand};
use kerf_workload::workload::Workload;
use std::collections::BTreeMap;
use std::time::Instant;

/// What a reader of the results has to know.
fn warnings(
    workload: &Workload,
    infos: &[KernelInfo],
    stats: &[KernelStats],
    (route, reference): (ReferenceRoute, Option<&ReferenceInfo>),
) -> Vec<String> {
    let mut warnings: Vec<String> = workload.warnings.iter().map(ToString::to_string).collect();
    for k in stats {
        if !k.modelled.is_empty() {
            let name = infos
                .iter()
                .find(|i| i.symbol == k.symbol)
                .map_or(&k.symbol, |i| &i.name);
            warnings.push(format!(
                "{name}: modelled, not the GPU's own bits: {}",
                k.modelled.join(", ")
            ));
        }
    }
    if let Some(r) = reference {
        for f in &r.flips {
            let what = match f.count {
                1 => "1 comparison goes".to_owned(),
                n => format!("{n} comparisons go"),
            };
            warnings.push(format!(
                "{what} the other way in exact arithmetic at {}",
                f.place
            ));
        }
        if !r.needs_host.is_empty() && route == ReferenceRoute::Gpu {
            warnings.push(format!(
                "the reference was computed on the CPU, since device code has no shadow for: {}",
                r.needs_host.join("; ")
            ));
        }
        for u in &r.untracked {
            warnings.push(format!(
                "{u} has no high-precision version: the reference takes its result as exact"
            ));
        }
    }
    warnings
}

/// Sizes and launch parameters of a run.
fn settings(session: &WorkloadSession) -> BTreeMap<String, i64> {
    let mut settings: BTreeMap<String, i64> = session.workload.sizes.iter().cloned().collect();
    settings.extend(session.params.clone());
    settings
}

/// The report of a job that only counts. What the instrumented kernels print is not the program's.
fn only_counted(
    job: &Job,
    session: &WorkloadSession,
    counts: ProgramCounts,
    spent: JobSeconds,
) -> JobReport {
    let (kind, name) = match counts.device {
        Device::Cpu => (DeviceKind::Cpu, "CPU executor".to_owned()),
        Device::Cuda => (DeviceKind::Cuda, format!("GPU {}", job.ordinal)),
    };
    let mut warnings: Vec<String> = session
        .workload
        .warnings
        .iter()
        .map(ToString::to_string)
        .collect();
    warnings.extend(counted_elsewhere(&counts));
    JobReport {
        device: DeviceInfo {
            kind,
            name,
            detail: "counting".into(),
        },
        settings: settings(session),
        seed: session.seed,
        times: None,
        replays: None,
        spent,
        baseline: None,
        inputs: None,
        energy: None,
        sensors: Vec::new(),
        kernels: Vec::new(),
        outputs: Vec::new(),
        reference: None,
        launches: counts.launches.iter().map(|l| l.repeats).sum(),
        counts: Some(counts),
        losses: Vec::new(),
        printed: String::new(),
        warnings,
    }
}

/// What to say of a program that the job's GPU could not count.
fn counted_elsewhere(counts: &ProgramCounts) -> Option<String> {
    let why = counts.needs_cpu.join("; ");
    (!why.is_empty()).then(|| format!("the program was counted on the CPU executor: {why}"))
}

/// The program for a plan's launch parameters, where they are macros that have another value than the file's.
fn variant(
    job: &Job,
    w: &Workload,
    params: &BTreeMap<String, i64>,
) -> Result<Option<Program>, JobError> {
    let changed = w.changed_macros(params);
    let Some(name) = changed.keys().next() else {
        return Ok(None);
    };
    let mut all = job.plan.kernels.values();
    let changed = |k: &kerf_pass::KernelPlan| {
        !(k.sites.is_empty() && k.math.is_empty() && k.made.is_empty() && k.storage.is_empty())
    };
    if all.any(changed) {
        return Err(JobError::Input(format!(
            "the plan changes operations and `{name}`, a macro: its sites are those of the program with the file's own value; help: set the value in the workload file (`default` of [launch_space]) and tune again"
        )));
    }
    Ok(Some(crate::compile::program(w, &job.toolchain(), params)?))
}

/// The workload of a job, with the acceptance that the job has instead of the file's.
pub(super) fn read_workload(job: &Job) -> Result<Workload, JobError> {
    let mut workload = Workload::read(&job.workload, &job.overrides)?;
    if let Some(a) = &job.accept {
        workload.accept = a.clone();
    }
    Ok(workload)
}

/// The program as it is, and the one that runs where that is another.
struct Programs {
    own: Program,
    own_kernels: Vec<KernelInfo>,
    own_globals: Vec<GlobalInfo>,
    /// Patched, instrumented for a memory check, or with the plan's macros.
    other: Option<Program>,
    /// Launch parameters under the plan.
    params: BTreeMap<String, i64>,
}

impl Programs {
    fn compile(job: &Job, workload: &Workload) -> Result<Programs, JobError> {
        let own = crate::compile::own_program(workload, &job.toolchain())?;
        let own_module = own.module()?;
        let own_kernels = kernels::kernels(&own_module);
        let own_globals = kernels::globals(&own_module);
        drop(own_module);
        let params = plan_params(workload, &job.plan)?;
        let checked = job.checked_toolchain();
        let other = match (&job.patched, job.memcheck) {
            (Some(p), None) => Some(program::load(&job.toolchain(), &p.source, &p.flags)?),
            (Some(p), Some(_)) => Some(program::load(&checked, &p.source, &p.flags)?),
            (None, Some(_)) => Some(crate::compile::program(workload, &checked, &params)?),
            (None, None) => variant(job, workload, &params)?,
        };
        Ok(Programs {
            own,
            own_kernels,
            own_globals,
            other,
            params,
        })
    }

    /// The one that runs.
    fn run(&self) -> &Program {
        self.other.as_ref().unwrap_or(&self.own)
    }

    /// The program as it is, on the inputs of a session.
    fn own_session<'a>(
        &'a self,
        workload: &'a Workload,
        session: &WorkloadSession<'a>,
    ) -> WorkloadSession<'a> {
        WorkloadSession {
            workload,
            kernels: &self.own_kernels,
            globals: &self.own_globals,
            declared: None,
            storage: Vec::new(),
            lambda: BTreeMap::new(),
            regroup: BTreeMap::new(),
            reblock: BTreeMap::new(),
            coarsen: BTreeMap::new(),
            params: workload.launch_space.default_params(),
            ..*session
        }
    }

    /// The workload as the program that runs is launched on it.
    fn launched(
        &self,
        job: &Job,
        workload: &Workload,
        kernels: &[KernelInfo],
    ) -> Result<LaunchedWorkload, JobError> {
        let launches = job.patched.as_ref().and_then(|p| p.launches.as_ref());
        match launches {
            Some(l) => Ok(l.launched(workload, &self.own_kernels, kernels)?),
            None => Ok(LaunchedWorkload {
                workload: workload.clone(),
                declared: None,
            }),
        }
    }
}

/// The session of the program that runs, its buffers as a patched source holds them.
fn session_under_job<'a>(
    job: &Job,
    launched: &'a LaunchedWorkload,
    params: &BTreeMap<String, i64>,
    infos: &'a [KernelInfo],
    globals: &'a [GlobalInfo],
) -> Result<WorkloadSession<'a>, JobError> {
    let workload = &launched.workload;
    let mut session = WorkloadSession {
        params: match launched.declared {
            Some(_) => workload.launch_space.default_params(),
            None => params.clone(),
        },
        seed: job.seed.unwrap_or(workload.seed),
        perturb: job.perturb,
        ..WorkloadSession::plain(workload, infos, globals)
    };
    if let Some(p) = &job.patched {
        let (storage, specs) = storage::declared(&workload.buffers, &p.held)?;
        let specs = launched.declared.clone().unwrap_or(specs);
        (session.storage, session.declared) = (storage, Some(specs));
    }
    Ok(session)
}

/// Refuses what cannot be carried out, before anything runs.
fn check_possible(
    job: &Job,
    session: &WorkloadSession,
    m: &Module,
    used: &[String],
    run: &Program,
) -> Result<(), JobError> {
    if let Some(dir) = &job.save {
        check_folder(dir)?;
    }
    refuse_everywhere(m, used, session.kernels, &run.unlifted)?;
    let on_cpu = job.device == Device::Cpu;
    let counted_on_cpu = job.count.is_some() && job.counts_on_cpu();
    if on_cpu || job.reference || counted_on_cpu {
        refuse(m, used, session.kernels, &run.unlifted)?;
    }
    let need = MemoryNeed::for_workload(session.workload, job.reference);
    match memory::refusal(session.workload, &need, on_cpu, cpu::available_memory()) {
        Some(why) => Err(JobError::Input(why)),
        None => Ok(()),
    }
}

/// Applies the plan to the module, and holds buffers as it says.
fn rewrite(
    job: &Job,
    session: &mut WorkloadSession,
    m: &Module,
    used: &[String],
) -> Result<(), JobError> {
    job.plan.apply(m)?;
    if job.patched.is_none() {
        session.storage = storage::assign(session, &job.plan)?;
    }
    launched_only(m, session, used);
    if job.memcheck.is_some() {
        sanitize::instrument(m).map_err(|e| JobError::Compile {
            message: e.0,
            help: None,
        })?;
    }
    Ok(())
}

/// What launches of the plan's kernels need beside their arguments.
fn launch_as_planned(job: &Job, session: &mut WorkloadSession) -> Result<(), JobError> {
    fixed_blocks(session, &job.plan)?;
    for (name, k) in &job.plan.kernels {
        if let (Some(c), Ok(info)) = (k.regroup, kernels::find(session.kernels, name)) {
            session.regroup.insert(info.symbol.clone(), c);
        }
        if let (Some(x), Ok(info)) = (k.reblock, kernels::find(session.kernels, name)) {
            session.reblock.insert(info.symbol.clone(), x);
        }
        if let (Some(c), Ok(info)) = (k.coarsen, kernels::find(session.kernels, name)) {
            session.coarsen.insert(info.symbol.clone(), c);
        }
        if let (Some(p), Ok(info)) = (&k.partition, kernels::find(session.kernels, name)) {
            session.lambda.insert(info.symbol.clone(), p.lambda as f32);
        }
    }
    Ok(())
}

/// The program of a job as it is.
fn own_program(job: &Job) -> Result<Program, JobError> {
    let workload = read_workload(job)?;
    Ok(Programs::compile(job, &workload)?.own)
}

/// The code of a job's program under its plan, made from its files alone: on any thread.
fn code_under_plan(job: &Job) -> Result<PlannedCode, JobError> {
    let workload = read_workload(job)?;
    let programs = Programs::compile(job, &workload)?;
    let m = programs.run().module()?;
    let (infos, globals) = (kernels::kernels(&m), kernels::globals(&m));
    let launched = programs.launched(job, &workload, &infos)?;
    let mut session = session_under_job(job, &launched, &programs.params, &infos, &globals)?;
    let used = session.check()?;
    rewrite(job, &mut session, &m, &used)?;
    launch_as_planned(job, &mut session)?;
    Libdevice::default().finish(&m, &job.toolchain())?;
    Ok(PlannedCode::new(ptx(&m, &job.arch)?, prints(&m)))
}

/// Operations of what ran. Buffers are held as the plan says, and kernels have to read them so.
fn count_as_run(
    job: &Job,
    session: &WorkloadSession,
    run: &Program,
    kept_before: &mut Workshop,
) -> Result<Option<ProgramCounts>, JobError> {
    let Some(detail) = job.count else {
        return Ok(None);
    };
    let m = run.module()?;
    job.plan.apply(&m)?;
    let tools = kept_before.for_counting(job, session)?;
    let code = (&m, &run.unlifted[..]);
    Ok(Some(counted(job, session, code, detail, tools)?))
}

/// The outputs of a run, and what they are compared with.
struct Comparison<'a> {
    job: &'a Job,
    session: &'a WorkloadSession<'a>,
    /// The program as it is, on the inputs as they are: the reference is of that.
    own: &'a WorkloadSession<'a>,
    program: &'a Program,
    inputs: Option<&'a str>,
}

impl Comparison<'_> {
    /// With what outputs are expected to be, and with the reference.
    fn compare(
        &self,
        measured: &mut Measured,
        kept_before: &mut Workshop,
        spent: &mut JobSeconds,
    ) -> Result<(Vec<Output>, Option<ReferenceInfo>), JobError> {
        if self.job.answers.is_some() {
            // That waits for the GPU by itself.
            measured.turn = None;
        }
        let clock = Instant::now();
        let shelf = &mut kept_before.answers;
        let mut run = MeasuredOutputs(measured, self.session);
        let close = shelf.compare(self.job, self.session, &mut run)?;
        let close_s = clock.elapsed().as_secs_f64();
        let (mut outputs, info) = self.with_reference(measured, kept_before, spent)?;
        spent.compare_s += close_s;
        for (name, answer) in close {
            let output = outputs.iter_mut().find(|o| o.name == name);
            output.into_iter().for_each(|o| o.answer = Some(answer));
        }
        Ok((outputs, info))
    }

    fn with_reference(
        &self,
        measured: &mut Measured,
        kept_before: &mut Workshop,
        spent: &mut JobSeconds,
    ) -> Result<(Vec<Output>, Option<ReferenceInfo>), JobError> {
        if stays_on_device(self.job) {
            return self.on_device(measured, kept_before, spent);
        }
        let clock = Instant::now();
        let reference = match self.job.reference {
            true => Some(self.by_host(kept_before, None)?),
            false => None,
        };
        spent.reference_s = clock.elapsed().as_secs_f64();
        let clock = Instant::now();
        let read = match self.job.reads_outputs() {
            true => Some(measured.read_outputs(self.session)?),
            false => None,
        };
        let outputs = compared_outputs(self.job, self.session, read, reference.as_ref())?;
        spent.compare_s = clock.elapsed().as_secs_f64();
        Ok((outputs, reference.map(|r| r.info)))
    }

    /// The reference in this process's memory. `refused`: why device code cannot compute it, where that is known.
    fn by_host(
        &self,
        kept_before: &mut Workshop,
        refused: Option<Vec<String>>,
    ) -> Result<Reference, JobError> {
        let code = kept_before.reference_code();
        let of = (self.own, self.program);
        kept(self.job, of, self.inputs, code, refused)
    }

    /// Compares outputs where they are. What device code cannot compute comes from the host once, and stays there too.
    fn on_device(
        &self,
        measured: &mut Measured,
        kept_before: &mut Workshop,
        spent: &mut JobSeconds,
    ) -> Result<(Vec<Output>, Option<ReferenceInfo>), JobError> {
        let (job, own, program) = (self.job, self.own, self.program);
        // Comparisons and references would be in others' times.
        let mut turn = kept_or_alone(measured.turn.take(), job, spent)?;
        let clock = Instant::now();
        let found = kept_before.resident()?.reference(job, own, program)?;
        let info = match found {
            Ok(info) => info,
            Err(why) => {
                // The CPU may take minutes, in which others use the GPU.
                drop(turn);
                let r = self.by_host(kept_before, Some(why))?;
                turn = alone(job)?;
                kept_before.resident()?.take(job, own, program, &r)?;
                r.info
            }
        };
        spent.reference_s = clock.elapsed().as_secs_f64();
        let clock = Instant::now();
        let run = RunOnDevice {
            exec: measured.exec.as_ref(),
            loaded: &measured.loaded,
        };
        let resident = kept_before.resident()?;
        let outputs = resident.compare(self.session, &run, job)?;
        resident.check_intact(self.session)?;
        drop(turn);
        spent.compare_s = clock.elapsed().as_secs_f64();
        Ok((outputs, Some(info)))
    }
}

/// Launches of one run.
fn launch_count(session: &WorkloadSession) -> Result<u64, JobError> {
    let steps = expand(session.workload, &session.params)?;
    let launches = steps.filter(|s| matches!(s, Ok(ConcreteStep::Launch(_))));
    Ok(launches.count() as u64)
}

/// PTX of the program that counts for a job, as a GPU gets it; or why there is none.
pub fn counting_ptx(job: &Job, detail: Detail) -> Result<Result<String, NotCounted>, JobError> {
    let workload = read_workload(job)?;
    let programs = Programs::compile(job, &workload)?;
    let m = programs.run().module()?;
    let (infos, globals) = (kernels::kernels(&m), kernels::globals(&m));
    let launched = programs.launched(job, &workload, &infos)?;
    let session = session_under_job(job, &launched, &programs.params, &infos, &globals)?;
    let code = counting_code(job, &session, &m, detail, &mut Libdevice::default())?;
    Ok(code.map(|(ptx, _)| ptx))
}

/// Carries a job out in this process.
pub fn execute(job: &Job) -> Result<JobReport, JobError> {
    execute_with(job, &mut Workshop::default())
}

/// Carries a job out, with what earlier ones left.
pub fn execute_with(job: &Job, kept_before: &mut Workshop) -> Result<JobReport, JobError> {
    let mut spent = JobSeconds::default();
    let clock = Instant::now();
    let workload = read_workload(job)?;
    let programs = Programs::compile(job, &workload)?;
    let m = programs.run().module()?;
    let (infos, globals) = (kernels::kernels(&m), kernels::globals(&m));
    let launched = programs.launched(job, &workload, &infos)?;
    let mut session = session_under_job(job, &launched, &programs.params, &infos, &globals)?;
    let used = session.check()?;
    check_possible(job, &session, &m, &used, programs.run())?;
    kept_before.answers.ask(job, &session)?;
    spent.prepare_s = clock.elapsed().as_secs_f64();
    let clock = Instant::now();
    if let (Some(detail), true) = (job.count, job.count_only) {
        // Of a plan, counts have where records are stored and nothing else.
        let records = job.plan.of_records();
        records.apply(&m)?;
        session.storage = storage::assign(&session, &records)?;
        let code = (&m, &programs.run().unlifted[..]);
        let tools = kept_before.for_counting(job, &session)?;
        let counts = counted(job, &session, code, detail, tools)?;
        spent.count_s = clock.elapsed().as_secs_f64();
        return Ok(only_counted(job, &session, counts, spent));
    }
    let clock = Instant::now();
    rewrite(job, &mut session, &m, &used)?;
    spent.rewrite_s = clock.elapsed().as_secs_f64();
    let clock = Instant::now();
    launch_as_planned(job, &mut session)?;
    spent.codegen_s = clock.elapsed().as_secs_f64();
    let own = programs.own_session(&workload, &session);
    let code = (&m, &programs.own);
    if job.device == Device::Cuda {
        // Beside this job's own code: of plans that come together, all are made in the time of one.
        kept_before.make_ahead(job, &programs.own, (own_program, code_under_plan));
    }
    let prepared = Prepared::new(job, (&session, &own), code, kept_before, &mut spent)?;
    let inputs = match &job.references {
        Some(_) => Some(kept_before.inputs(job, &session)?),
        None => None,
    };
    let mut measured = measure(job, prepared, (&session, &used), &own, &mut spent)?;
    if let Some(base) = measured.base.take() {
        kept_before.keep_baseline(job, &own, &programs.own, base);
    }
    let by = Comparison {
        job,
        session: &session,
        own: &own,
        program: &programs.own,
        inputs: inputs.as_deref(),
    };
    let (outputs, info) = by.compare(&mut measured, kept_before, &mut spent)?;
    kept_before.check_kept_inputs(job, &own)?;
    let clock = Instant::now();
    let counts = count_as_run(job, &session, programs.run(), kept_before)?;
    let losses = losses(job, (&session, &used), programs.run(), kept_before)?;
    spent.count_s = clock.elapsed().as_secs_f64();
    let mut stats: Vec<KernelStats> = measured.exec.kernel_stats();
    stats.retain(|k| used.contains(&k.symbol));
    let mut warnings = warnings(
        &workload,
        &infos,
        &stats,
        (job.reference_route, info.as_ref()),
    );
    warnings.extend(counts.as_ref().and_then(counted_elsewhere));
    warnings.extend(losses.iter().filter_map(StorageLosses::sentence));
    warnings.extend(measured.exec.take_notes());
    Ok(JobReport {
        device: measured.exec.device(),
        settings: settings(&session),
        seed: session.seed,
        times: measured.times,
        replays: measured.replays,
        spent,
        baseline: measured.baseline,
        inputs,
        energy: measured.energy,
        sensors: measured.sensors,
        kernels: stats,
        outputs,
        reference: info,
        counts,
        losses,
        printed: measured.printed,
        launches: launch_count(&session)?,
        warnings,
    })
}
