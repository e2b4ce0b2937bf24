//! What is refused before anything runs.
use super::JobError;
use crate::run::WorkloadSession;
use kerf_ir::kernels::{self, KernelInfo};
use kerf_ir::obstacles::{self, ObstacleScope};
use kerf_llvm::Module;
use kerf_pass::Plan;
use kerf_workload::workload::Workload;
use std::collections::BTreeMap;
use std::path::Path;

/// Refuses kernels that the CPU executor cannot run.
pub(super) fn refuse(
    m: &Module,
    used: &[String],
    infos: &[KernelInfo],
    unlifted: &[kerf_ptx::Unlifted],
) -> Result<(), JobError> {
    let lines = obstacle_lines((m, unlifted), used, infos, ObstacleScope::stops_cpu);
    match lines.is_empty() {
        true => Ok(()),
        false => Err(JobError::Unsupported(format!(
            "the CPU executor cannot run this:\n{}",
            lines.join("\n")
        ))),
    }
}

/// Refuses kernels that no executor can run.
pub(super) fn refuse_everywhere(
    m: &Module,
    used: &[String],
    infos: &[KernelInfo],
    unlifted: &[kerf_ptx::Unlifted],
) -> Result<(), JobError> {
    let lines = obstacle_lines((m, unlifted), used, infos, |s| s == ObstacleScope::Run);
    match lines.is_empty() {
        true => Ok(()),
        false => Err(JobError::Unsupported(format!(
            "this PTX cannot be run by Kerf:\n{}",
            lines.join("\n")
        ))),
    }
}

/// Obstacles of the kernels of a workload, one a line.
fn obstacle_lines(
    (m, unlifted): (&Module, &[kerf_ptx::Unlifted]),
    used: &[String],
    infos: &[KernelInfo],
    wanted: impl Fn(ObstacleScope) -> bool,
) -> Vec<String> {
    let mut lines = Vec::new();
    for k in infos.iter().filter(|k| used.contains(&k.symbol)) {
        let Some(f) = m.function(&k.symbol) else {
            continue;
        };
        for o in obstacles::obstacles(m, f, unlifted) {
            if wanted(o.scope) {
                let at = o
                    .location
                    .map_or_else(String::new, |l| format!(" at line {}", l.line));
                lines.push(format!("{}: {}{at}: {}", k.name, o.what, o.why));
            }
        }
    }
    lines
}

/// Whether a folder is or can be made there, asked before a long run rather than after it.
pub(super) fn check_folder(dir: &Path) -> Result<(), JobError> {
    match dir.ancestors().find(|a| a.exists()) {
        Some(a) if !a.is_dir() => Err(JobError::Input(format!(
            "cannot save into {}: {} is not a folder; help: choose another folder with --save",
            dir.display(),
            a.display()
        ))),
        _ => Ok(()),
    }
}

/// The workload's launch parameters under a plan.
pub(super) fn plan_params(w: &Workload, plan: &Plan) -> Result<BTreeMap<String, i64>, JobError> {
    let mut params = w.launch_space.default_params();
    for (name, value) in &plan.launch {
        let slot = params.get_mut(name).ok_or_else(|| {
            let have: Vec<&str> = w.launch_space.params.iter().map(|p| p.0.as_str()).collect();
            JobError::Input(format!(
                "the plan sets launch parameter `{name}`, and the workload has {}; help: use the workload that was tuned",
                if have.is_empty() { "none".into() } else { have.join(", ") }
            ))
        })?;
        *slot = *value;
    }
    Ok(params)
}

/// Kernels that a plan compiles for one block have to be launched with it.
pub(super) fn fixed_blocks(session: &WorkloadSession, plan: &Plan) -> Result<(), JobError> {
    for (name, k) in &plan.kernels {
        let (Some(block), Ok(info)) = (k.block, kernels::find(session.kernels, name)) else {
            continue;
        };
        for step in kerf_workload::expand::expand(session.workload, &session.params)? {
            let kerf_workload::expand::ConcreteStep::Launch(l) = step? else {
                continue;
            };
            let mine = kernels::find(session.kernels, &l.kernel);
            if l.block != block && mine.is_ok_and(|m| m.symbol == info.symbol) {
                return Err(JobError::Input(format!(
                    "{name} is compiled for blocks of {:?} threads, and line {} launches it with {:?}; help: set the plan's `launch` parameters alike",
                    block, l.line, l.block
                )));
            }
        }
    }
    Ok(())
}
