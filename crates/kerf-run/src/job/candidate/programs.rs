//! A program of a judgement: compiled once, run on one input after another.
use super::super::JobError;
use super::super::check::{refuse, refuse_everywhere};
use super::super::finished::{Libdevice, launched_only};
use super::CandidateJob;
use crate::other_launches::LaunchedWorkload;
use crate::run::WorkloadSession;
use kerf_clang::compile::Toolchain;
use kerf_exec::Executor;
use kerf_exec::cpu::{CpuCode, CpuExecutor, CpuOptions, SanitizeOptions};
use kerf_ir::kernels::{self, GlobalInfo, KernelInfo};
use kerf_ir::program::Program;
use kerf_pass::sanitize;
use kerf_workload::workload::Workload;

/// A program of the pair, as one of its compilations.
pub(super) struct JudgedProgram {
    pub program: Program,
    pub kernels: Vec<KernelInfo>,
    pub globals: Vec<GlobalInfo>,
    /// Code for the kernels that it names.
    code: Option<(Vec<String>, CpuCode)>,
    /// The executor of a checked program, whose memory outlives it.
    exec: Option<CpuExecutor>,
}

impl JudgedProgram {
    pub fn load(program: Program) -> Result<JudgedProgram, JobError> {
        let m = program.module()?;
        let (kernels, globals) = (kernels::kernels(&m), kernels::globals(&m));
        drop(m);
        Ok(JudgedProgram {
            program,
            kernels,
            globals,
            code: None,
            exec: None,
        })
    }
}

/// The session of a program on an input.
pub(super) fn session_of<'a>(
    c: &CandidateJob,
    launched: &'a LaunchedWorkload,
    kernels: &'a [KernelInfo],
    globals: &'a [GlobalInfo],
) -> WorkloadSession<'a> {
    let w = &launched.workload;
    WorkloadSession {
        seed: c.job.seed.unwrap_or(w.seed),
        perturb: c.job.perturb,
        change: c.change,
        declared: launched.declared.clone(),
        ..WorkloadSession::plain(w, kernels, globals)
    }
}

/// Makes code of a program, unless it is there.
pub(super) fn code_of<'p>(
    p: &'p mut JudgedProgram,
    used: &[String],
    workload: &Workload,
    (libdevice, tools): (&mut Libdevice, &Toolchain),
    checked: bool,
) -> Result<&'p CpuCode, JobError> {
    let have = p.code.as_ref().is_some_and(|(names, _)| names == used);
    if !have {
        let m = p.program.module()?;
        refuse_everywhere(&m, used, &p.kernels, &p.program.unlifted)?;
        refuse(&m, used, &p.kernels, &p.program.unlifted)?;
        let session = WorkloadSession::plain(workload, &p.kernels, &p.globals);
        launched_only(&m, &session, used);
        if checked {
            sanitize::instrument(&m).map_err(|e| JobError::Compile {
                message: e.0,
                help: None,
            })?;
        }
        libdevice.finish(&m, tools)?;
        let code = CpuCode::new(&m, CpuOptions::default())?;
        p.exec = None;
        p.code = Some((used.to_vec(), code));
    }
    let gone = || JobError::Worker("the code is gone".into());
    p.code.as_ref().map(|(_, c)| c).ok_or_else(gone)
}

/// A run in which every access is checked; what was noticed.
pub(super) fn checked_run(
    p: &mut JudgedProgram,
    c: &CandidateJob,
    launched: &LaunchedWorkload,
    made: (&mut Libdevice, &Toolchain),
    checks: SanitizeOptions,
) -> Result<Vec<String>, JobError> {
    let (kernels, globals) = (p.kernels.clone(), p.globals.clone());
    let session = session_of(c, launched, &kernels, &globals);
    let used = session.check()?;
    let held = p.exec.take();
    let code = code_of(p, &used, &launched.workload, made, true)?;
    let options = CpuOptions {
        checks: Some(checks),
        threads: c.job.threads,
        ..CpuOptions::default()
    };
    let mut exec = match held {
        Some(e) => e,
        None => CpuExecutor::from_code(code, options)?,
    };
    let mut l = session.load(&mut exec)?;
    session.run(&mut exec, &mut l)?;
    for o in session.outputs() {
        exec.undefined(l.ids[l.binding[o]])?;
    }
    let notes = exec.take_notes();
    // Variables keep what earlier inputs left in them.
    if p.globals.is_empty() {
        p.exec = Some(exec);
    }
    Ok(notes)
}
