//! Carrying a job out: compile, run, time, compare, report.
use super::check::{check_folder, fixed_blocks, plan_params, refuse};
use super::count::{Counts, counted};
use super::finished::{Workshop, launched_only};
use super::kept::kept;
use super::reference::compare_output;
use super::report::{Energy, Output, ReferenceInfo, Report, Spent, Times};
use super::save::save;
use super::timed::Runner;
use super::{Device, Job, JobError};
use crate::memory::{self, MemoryNeed};
use crate::run::Session;
use crate::storage;
use kerf_exec::cpu::{self, CpuExecutor, CpuOptions};
use kerf_exec::cuda::watch::Watch;
use kerf_exec::cuda::{self, CudaExecutor, assemble};
use kerf_exec::{DeviceInfo, Executor, KernelStats};
use kerf_ir::finish;
use kerf_ir::kernels::{self, KernelInfo};
use kerf_ir::program::{self, Program};
use kerf_llvm::Module;
use kerf_pass::sanitize;
use kerf_workload::digest::digest;
use kerf_workload::workload::Workload;
use std::collections::BTreeMap;
use std::time::Instant;

/// Where the interval of a median is wider than this part of it, more samples are taken: up to so many times
/// as many.
const UNSTEADY: f64 = 0.03;
const MORE: usize = 4;

/// A program that is ready to be loaded.
enum Made {
    Cpu(Box<CpuExecutor>),
    Cuda(cuda::Code),
}

impl Made {
    fn load(self, job: &Job, used: &[String]) -> Result<Box<dyn Executor>, JobError> {
        Ok(match self {
            Made::Cpu(e) => e,
            Made::Cuda(code) => Box::new(CudaExecutor::from_code(code, used, job.ordinal)?),
        })
    }
}

fn made(job: &Job, m: &Module, spent: &mut Spent) -> Result<Made, JobError> {
    let clock = Instant::now();
    Ok(match job.device {
        Device::Cpu => {
            let options = CpuOptions {
                checks: job.memcheck,
                threads: job.threads,
                no_regions: job.coroutines,
                order: job.order,
            };
            let exec = CpuExecutor::new(m, options)?;
            spent.codegen_s += clock.elapsed().as_secs_f64();
            Made::Cpu(Box::new(exec))
        }
        Device::Cuda => {
            let ptx = finish::ptx(m, &job.arch).map_err(|e| JobError::Compile {
                message: e.0,
                help: None,
            })?;
            spent.codegen_s += clock.elapsed().as_secs_f64();
            let clock = Instant::now();
            let code = assemble(&ptx, job.ordinal)?;
            spent.load_s += clock.elapsed().as_secs_f64();
            Made::Cuda(code)
        }
    })
}

/// The GPU for this process alone, among those that ask for it. Given back when dropped.
fn alone(job: &Job) -> Result<Option<std::fs::File>, JobError> {
    let Some(path) = &job.lock else {
        return Ok(None);
    };
    let fail = |e: std::io::Error| JobError::Input(format!("cannot lock {}: {e}", path.display()));
    let f = std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)
        .map_err(fail)?;
    f.lock().map_err(fail)?;
    Ok(Some(f))
}

/// Kernels write lines for people.
fn prints(m: &Module) -> bool {
    ["vprintf", "printf"]
        .iter()
        .filter_map(|name| m.function(name))
        .any(|f| !f.users().is_empty())
}

/// The samples' median is not known well enough.
fn unsteady(samples: &[f64]) -> bool {
    let t = Times::new(samples.to_vec());
    t.is_some_and(|t| t.high_s - t.low_s > UNSTEADY * t.median_s)
}

/// Energy of a run by NVML.
fn energy(
    job: &Job,
    session: &Session,
    plan: &mut Runner,
    watch: &Watch,
    per_run_s: f64,
) -> Result<Option<Energy>, JobError> {
    if plan.batch.is_some() {
        return plan.energy(watch, job.energy_s);
    }
    let Some(start) = watch.read().energy_j else {
        return Ok(None);
    };
    let clock = std::time::Instant::now();
    let mut runs = 0;
    while clock.elapsed().as_secs_f64() < job.energy_s {
        // Enough runs between looks at the clock that the device does not idle.
        let batch = (0.05 / per_run_s.max(1e-6)).clamp(1.0, 10_000.0) as u64;
        for _ in 0..batch {
            session.run(plan.exec.as_mut(), &mut plan.loaded)?;
        }
        runs += batch;
    }
    let window_s = clock.elapsed().as_secs_f64();
    let Some(end) = watch.read().energy_j else {
        return Ok(None);
    };
    Ok(Some(Energy {
        per_run_j: (end - start) / runs as f64,
        mean_w: (end - start) / window_s,
        window_s,
        runs,
    }))
}

/// What a reader of the results has to know.
fn warnings(
    workload: &Workload,
    infos: &[KernelInfo],
    stats: &[KernelStats],
    reference: Option<&ReferenceInfo>,
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
        for u in &r.untracked {
            warnings.push(format!(
                "{u} has no high-precision version: the reference takes its result as exact"
            ));
        }
    }
    warnings
}

/// The report of a job that only counts. What the instrumented kernels print is not the program's.
fn only_counted(workload: &Workload, session: &Session, counts: Counts) -> Report {
    let mut settings: BTreeMap<String, i64> = workload.sizes.iter().cloned().collect();
    settings.extend(session.params.clone());
    Report {
        device: DeviceInfo {
            kind: "cpu".into(),
            name: "CPU executor".into(),
            detail: "counting".into(),
        },
        settings,
        seed: session.seed,
        times: None,
        replays: None,
        spent: Spent::default(),
        baseline: None,
        inputs: None,
        energy: None,
        sensors: Vec::new(),
        kernels: Vec::new(),
        outputs: Vec::new(),
        reference: None,
        launches: counts.launches.iter().map(|l| l.repeats).sum(),
        counts: Some(counts),
        printed: String::new(),
        warnings: workload.warnings.iter().map(ToString::to_string).collect(),
    }
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
    if all.any(|k| !k.sites.is_empty() || !k.math.is_empty() || !k.storage.is_empty()) {
        return Err(JobError::Input(format!(
            "the plan changes operations and `{name}`, a macro: its sites are those of the program with the file's own value; help: set the value in the workload file (`default` of [launch_space]) and tune again"
        )));
    }
    Ok(Some(crate::compile::program(w, &job.toolchain(), params)?))
}

/// Carries a job out in this process.
pub fn execute(job: &Job) -> Result<Report, JobError> {
    execute_with(job, &mut Workshop::default())
}

/// Carries a job out, with what earlier ones left.
pub fn execute_with(job: &Job, kept_before: &mut Workshop) -> Result<Report, JobError> {
    let mut spent = Spent::default();
    let clock = Instant::now();
    let mut workload = Workload::read(&job.workload, &job.overrides)?;
    if let Some(a) = &job.accept {
        workload.accept = a.clone();
    }
    let program = crate::compile::own_program(&workload, &job.toolchain())?;
    let own_module = program.module()?;
    let own_infos = kernels::kernels(&own_module);
    let own_globals = kernels::globals(&own_module);
    drop(own_module);
    let params = plan_params(&workload, &job.plan)?;
    let checked = job.checked_toolchain();
    let other = match (&job.patched, job.memcheck) {
        (Some(p), None) => Some(program::load(&job.toolchain(), &p.source, &p.flags)?),
        (Some(p), Some(_)) => Some(program::load(&checked, &p.source, &p.flags)?),
        (None, Some(_)) => Some(crate::compile::program(&workload, &checked, &params)?),
        (None, None) => variant(job, &workload, &params)?,
    };
    let run = other.as_ref().unwrap_or(&program);
    let m = run.module()?;
    let infos = kernels::kernels(&m);
    let globals = kernels::globals(&m);
    let mut session = Session {
        params,
        seed: job.seed.unwrap_or(workload.seed),
        perturb: job.perturb,
        ..Session::plain(&workload, &infos, &globals)
    };
    let held = job.patched.as_ref().map(|p| p.held.as_slice());
    if let Some(held) = held {
        let (storage, specs) =
            storage::declared(&workload.buffers, held).map_err(JobError::Input)?;
        (session.storage, session.declared) = (storage, Some(specs));
    }
    let used = session.check()?;
    if let Some(dir) = &job.save {
        check_folder(dir)?;
    }
    if job.device == Device::Cpu || job.reference || job.count.is_some() {
        refuse(&m, &used, &infos, &run.unlifted)?;
    }
    let on_cpu = job.device == Device::Cpu;
    let need = MemoryNeed::for_workload(&workload, job.reference);
    if let Some(why) = memory::refusal(&workload, &need, on_cpu, cpu::available_memory()) {
        return Err(JobError::Input(why));
    }
    if let (Some(detail), true) = (job.count, job.count_only) {
        let counts = counted(job, &session, &m, detail)?;
        return Ok(only_counted(&workload, &session, counts));
    }
    spent.prepare_s = clock.elapsed().as_secs_f64();
    let clock = Instant::now();
    job.plan.apply(&m)?;
    if held.is_none() {
        session.storage = storage::assign(&session, &job.plan).map_err(JobError::Input)?;
    }
    launched_only(&m, &session, &used);
    if job.memcheck.is_some() {
        sanitize::instrument(&m).map_err(|e| JobError::Compile {
            message: e.0,
            help: None,
        })?;
    }
    spent.rewrite_s = clock.elapsed().as_secs_f64();
    let clock = Instant::now();
    fixed_blocks(&session, &job.plan)?;
    for (name, k) in &job.plan.kernels {
        if let (Some(c), Ok(info)) = (k.regroup, kernels::find(&infos, name)) {
            session.regroup.insert(info.symbol.clone(), c);
        }
        if let (Some(p), Ok(info)) = (&k.partition, kernels::find(&infos, name)) {
            session.lambda.insert(info.symbol.clone(), p.lambda as f32);
        }
    }
    kept_before.finish(&m, &job.toolchain())?;
    spent.codegen_s = clock.elapsed().as_secs_f64();
    if job.device == Device::Cuda {
        kept_before.keep_context(job.ordinal)?;
    }
    let mut sensors = Vec::new();
    // NVML takes milliseconds to answer, and nobody reads the sensors of a measurement beside the program's.
    let sensed = job.device == Device::Cuda && (!job.baseline || job.energy_s > 0.0);
    // Nobody wants to read a line a thousand times.
    let sample_s = if prints(&m) { 0.0 } else { job.sample_s };
    let watch = sensed
        .then(|| Watch::new(job.ordinal as u32).ok())
        .flatten();
    let program_made = made(job, &m, &mut spent)?;
    let clock = Instant::now();
    let own_made = match job.baseline && job.device == Device::Cuda {
        true => Some(kept_before.assembled(&program, &job.toolchain(), job.ordinal)?),
        false => None,
    };
    spent.baseline_s = clock.elapsed().as_secs_f64();
    let clock = Instant::now();
    let originals = kept_before.originals(&session)?;
    let held = originals.as_ref().map(|o| session.as_held(o));
    spent.load_s += clock.elapsed().as_secs_f64();
    // From here to the outputs the GPU is this process's alone: copies disturb measurements too.
    let clock = Instant::now();
    let turn = alone(job)?;
    spent.wait_s = clock.elapsed().as_secs_f64();
    let clock = Instant::now();
    let mut exec = program_made.load(job, &used)?;
    if let (false, Some(free)) = (on_cpu, exec.free_memory()?) {
        let programs = 1 + usize::from(own_made.is_some());
        if let Some(why) = memory::refusal_on_device(&workload, programs, free) {
            return Err(JobError::Input(why));
        }
    }
    let mut plan = Runner::with(exec, &session, held)?;
    // The program as it is, beside the plan's on the same device: a clock that drifts drifts for both.
    let own = Session {
        kernels: &own_infos,
        globals: &own_globals,
        declared: None,
        storage: Vec::new(),
        lambda: BTreeMap::new(),
        regroup: BTreeMap::new(),
        params: workload.launch_space.default_params(),
        ..session
    };
    let mut base = match own_made {
        Some(code) => {
            let used = own.check()?;
            let exec = Made::Cuda(code).load(job, &used)?;
            Some(Runner::with(exec, &own, originals)?)
        }
        None => None,
    };
    spent.load_s += clock.elapsed().as_secs_f64();
    let clock = Instant::now();
    for _ in 0..job.warmup {
        plan.run(&session)?;
        if let Some(b) = &mut base {
            b.run(&own)?;
        }
    }
    if sample_s > 0.0 {
        plan.record(&session, sample_s)?;
        if let Some(b) = &mut base {
            b.record(&own, sample_s)?;
        }
    }
    let _ = plan.exec.printed();
    sensors.extend(watch.as_ref().map(Watch::read));
    let (mut samples, mut baseline) = (Vec::new(), Vec::new());
    let enough = job.repeats.max(1) as usize;
    while samples.len() < enough
        || sample_s > 0.0
            && samples.len() < MORE * enough
            && (unsteady(&samples) || unsteady(&baseline))
    {
        if let Some(b) = &mut base {
            baseline.push(b.sample(&own)?);
        }
        samples.push(plan.sample(&session)?);
    }
    let replays = plan.batch;
    let mut read = Vec::new();
    for o in session.outputs() {
        read.push(session.output(plan.exec.as_mut(), &plan.loaded, o)?);
        plan.exec
            .undefined(plan.loaded.ids[plan.loaded.binding[o]])?;
    }
    drop(base);
    spent.run_s = clock.elapsed().as_secs_f64();
    let times = Times::new(samples);
    // Others that measure would be in it.
    let energy = match (&watch, job.energy_s > 0.0) {
        (Some(w), true) => {
            let once = times.as_ref().map_or(1e-3, |t| t.median_s);
            energy(job, &session, &mut plan, w, once)?
        }
        _ => None,
    };
    drop(turn);
    let mut exec = plan.exec;
    sensors.extend(watch.as_ref().map(Watch::read));
    let printed = String::from_utf8_lossy(&exec.printed()).into_owned();
    let clock = Instant::now();
    let inputs = match &job.references {
        Some(_) => Some(kept_before.inputs(&session)?),
        None => None,
    };
    let reference = if job.reference {
        // The reference is of the program as it is, on the inputs as they are.
        Some(kept(job, &own, &program, inputs.as_deref())?)
    } else {
        None
    };
    spent.reference_s = clock.elapsed().as_secs_f64();
    let counts = match job.count {
        Some(detail) => {
            // What ran is what is counted: buffers are held as the plan says, and kernels have to read them so.
            let m = run.module()?;
            job.plan.apply(&m)?;
            Some(counted(job, &session, &m, detail)?)
        }
        None => None,
    };
    let clock = Instant::now();
    let mut outputs = Vec::new();
    for (k, o) in session.outputs().into_iter().enumerate() {
        let b = &workload.buffers[o];
        let bytes = std::mem::take(&mut read[k]);
        let mut out = Output {
            name: b.name.clone(),
            element: b.elem.to_string(),
            len: b.len,
            digest: digest(&bytes, &b.elem),
            saved: None,
            errors: Vec::new(),
            integer_mismatches: None,
            verdict: None,
            scatter: Vec::new(),
        };
        if let Some(dir) = &job.save {
            let shadows = reference.as_ref().map(|r| &r.outputs[k]);
            out.saved = Some(save(dir, b, &bytes, shadows)?);
        }
        if let Some(r) = &reference {
            compare_output(job, &session, o, &bytes, &r.outputs[k], &mut out)?;
        }
        outputs.push(out);
    }
    spent.compare_s = clock.elapsed().as_secs_f64();
    let stats: Vec<KernelStats> = exec
        .kernel_stats()
        .into_iter()
        .filter(|k| used.contains(&k.symbol))
        .collect();
    let mut warnings = warnings(
        &workload,
        &infos,
        &stats,
        reference.as_ref().map(|r| &r.info),
    );
    warnings.extend(exec.take_notes());
    let mut settings: BTreeMap<String, i64> = workload.sizes.iter().cloned().collect();
    settings.extend(session.params.clone());
    let launches = kerf_workload::expand::expand(&workload, &session.params)?
        .filter(|s| matches!(s, Ok(kerf_workload::expand::ConcreteStep::Launch(_))))
        .count() as u64;
    Ok(Report {
        device: exec.device(),
        settings,
        seed: session.seed,
        times,
        replays,
        spent,
        baseline: Times::new(baseline),
        inputs,
        energy,
        sensors,
        kernels: stats,
        outputs,
        reference: reference.map(|r| r.info),
        counts,
        printed,
        launches,
        warnings,
    })
}
