//! Carrying a job out: compile, run, time, compare, report.
use super::check::{check_folder, refuse};
use super::count::counted;
use super::finished::{finished, launched_only};
use super::kept::kept;
use super::reference::compare_output;
use super::report::{Energy, Output, ReferenceInfo, Report, Times};
use super::save::save;
use super::{Device, Job, JobError};
use crate::digest::digest;
use crate::run::{Loaded, Session};
use crate::storage;
use crate::workload::Workload;
use kerf_exec::cpu::{CpuExecutor, CpuOptions};
use kerf_exec::cuda::CudaExecutor;
use kerf_exec::cuda::watch::Watch;
use kerf_exec::{Executor, KernelStats};
use kerf_ir::finish;
use kerf_ir::kernels::{self, KernelInfo};
use kerf_ir::llvm::Module;
use kerf_ir::program;
use std::collections::BTreeMap;

fn executor(job: &Job, m: &Module, used: &[String]) -> Result<Box<dyn Executor>, JobError> {
    Ok(match job.device {
        Device::Cpu => Box::new(CpuExecutor::new(
            m,
            CpuOptions {
                memcheck: job.memcheck,
                threads: job.threads,
                no_regions: job.coroutines,
            },
        )?),
        Device::Cuda => {
            let ptx = finish::ptx(m, &job.arch).map_err(|e| JobError::Compile {
                message: e.0,
                help: None,
            })?;
            Box::new(CudaExecutor::new(&ptx, used, job.ordinal)?)
        }
    })
}

fn energy(
    job: &Job,
    session: &Session,
    exec: &mut dyn Executor,
    l: &mut Loaded,
    watch: &Watch,
    per_run_s: f64,
) -> Result<Option<Energy>, JobError> {
    let Some(start) = watch.read().energy_j else {
        return Ok(None);
    };
    let clock = std::time::Instant::now();
    let mut runs = 0;
    while clock.elapsed().as_secs_f64() < job.energy_s {
        // Enough runs between looks at the clock that the device does not idle.
        let batch = (0.05 / per_run_s.max(1e-6)).clamp(1.0, 10_000.0) as u64;
        for _ in 0..batch {
            session.run(exec, l)?;
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

/// The program as it is, beside the plan's on the same device: a clock that drifts drifts for both.
struct Baseline {
    exec: Box<dyn Executor>,
    loaded: Loaded,
    fresh: bool,
}

impl Baseline {
    fn new(
        job: &Job,
        program: &program::Program,
        session: &Session,
        used: &[String],
    ) -> Result<Baseline, JobError> {
        let m = program.module()?;
        launched_only(&m, session, used);
        finished(&m, job)?;
        let mut exec = executor(job, &m, used)?;
        let loaded = session.load(exec.as_mut())?;
        Ok(Baseline {
            exec,
            loaded,
            fresh: true,
        })
    }
    fn run(&mut self, session: &Session) -> Result<f64, JobError> {
        if !std::mem::replace(&mut self.fresh, false) {
            session.reset(self.exec.as_mut(), &mut self.loaded)?;
        }
        let t = session.run(self.exec.as_mut(), &mut self.loaded)?;
        let _ = self.exec.printed();
        Ok(t)
    }
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
            warnings.push(format!(
                "{} comparisons at {} go the other way in exact arithmetic",
                f.count, f.place
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

/// Carries a job out in this process.
pub fn execute(job: &Job) -> Result<Report, JobError> {
    let mut workload = Workload::read(&job.workload, &job.overrides)?;
    if let Some(a) = &job.accept {
        workload.accept = a.clone();
    }
    let program = program::load(&job.toolchain(), &workload.source, &workload.flags)?;
    let m = program.module()?;
    let infos = kernels::kernels(&m);
    let globals = kernels::globals(&m);
    let mut session = Session {
        workload: &workload,
        kernels: &infos,
        globals: &globals,
        params: workload.launch_space.default_params(),
        seed: job.seed.unwrap_or(workload.seed),
        storage: Vec::new(),
        perturb: job.perturb,
    };
    let used = session.check()?;
    if let Some(dir) = &job.save {
        check_folder(dir)?;
    }
    if job.device == Device::Cpu || job.reference || job.count {
        refuse(&m, &used, &infos, &program.unlifted)?;
    }
    job.plan.apply(&m)?;
    session.storage = storage::assign(&session, &job.plan).map_err(JobError::Input)?;
    launched_only(&m, &session, &used);
    finished(&m, job)?;
    let mut sensors = Vec::new();
    let watch = (job.device == Device::Cuda)
        .then(|| Watch::new(job.ordinal as u32).ok())
        .flatten();
    let mut exec = executor(job, &m, &used)?;
    let mut l = session.load(exec.as_mut())?;
    let mut base = match job.baseline && job.device == Device::Cuda {
        true => Some(Baseline::new(job, &program, &session, &used)?),
        false => None,
    };
    for _ in 0..job.warmup {
        session.run(exec.as_mut(), &mut l)?;
        session.reset(exec.as_mut(), &mut l)?;
        if let Some(b) = &mut base {
            b.run(&session)?;
        }
    }
    let _ = exec.printed();
    sensors.extend(watch.as_ref().map(Watch::read));
    let (mut samples, mut baseline) = (Vec::new(), Vec::new());
    for i in 0..job.repeats.max(1) {
        if i > 0 {
            session.reset(exec.as_mut(), &mut l)?;
            let _ = exec.printed();
        }
        if let Some(b) = &mut base {
            baseline.push(b.run(&session)?);
        }
        samples.push(session.run(exec.as_mut(), &mut l)?);
    }
    drop(base);
    sensors.extend(watch.as_ref().map(Watch::read));
    let printed = String::from_utf8_lossy(&exec.printed()).into_owned();
    let times = Times::new(samples);
    let inputs = match &job.references {
        Some(_) => Some(session.inputs()?),
        None => None,
    };
    let reference = if job.reference {
        // The reference is of the program as it is, on the inputs as they are.
        let own = Session {
            storage: Vec::new(),
            params: session.params.clone(),
            ..session
        };
        Some(kept(job, &own, &program, inputs.as_deref())?)
    } else {
        None
    };
    let counts = match job.count {
        true => Some(counted(job, &session, &program.module()?)?),
        false => None,
    };
    let mut outputs = Vec::new();
    for (k, o) in session.outputs().into_iter().enumerate() {
        let b = &workload.buffers[o];
        let bytes = session.output(exec.as_mut(), &l, o)?;
        let mut out = Output {
            name: b.name.clone(),
            element: b.elem.to_string(),
            len: b.len,
            digest: digest(&bytes, &b.elem),
            saved: None,
            errors: Vec::new(),
            integer_mismatches: None,
            verdict: None,
        };
        if let Some(dir) = &job.save {
            let shadows = reference.as_ref().map(|r| &r.outputs[k]);
            out.saved = Some(save(dir, b, &bytes, shadows)?);
        }
        if let Some(r) = &reference {
            compare_output(&workload, o, &bytes, &r.outputs[k], &mut out)?;
        }
        outputs.push(out);
    }
    let energy = match (&watch, job.energy_s > 0.0) {
        (Some(w), true) => energy(
            job,
            &session,
            exec.as_mut(),
            &mut l,
            w,
            times.as_ref().map_or(1e-3, |t| t.median_s),
        )?,
        _ => None,
    };
    let stats: Vec<KernelStats> = exec
        .kernel_stats()
        .into_iter()
        .filter(|k| used.contains(&k.symbol))
        .collect();
    let warnings = warnings(
        &workload,
        &infos,
        &stats,
        reference.as_ref().map(|r| &r.info),
    );
    let mut settings: BTreeMap<String, i64> = workload.sizes.iter().cloned().collect();
    settings.extend(session.params.clone());
    let launches = crate::expand::expand(&workload, &session.params)?
        .filter(|s| matches!(s, Ok(crate::expand::ConcreteStep::Launch(_))))
        .count() as u64;
    Ok(Report {
        device: exec.device(),
        settings,
        seed: session.seed,
        times,
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
