//! What is refused before anything runs.
use super::JobError;
use kerf_ir::kernels::{self, KernelInfo};
use kerf_ir::llvm::Module;
use kerf_ir::obstacles::{self, Scope};
use kerf_pass::Plan;
use std::path::Path;

pub(super) fn refuse(
    m: &Module,
    used: &[String],
    infos: &[KernelInfo],
    unlifted: &[kerf_ir::inline_ptx::Unlifted],
) -> Result<(), JobError> {
    let mut lines = Vec::new();
    for k in infos.iter().filter(|k| used.contains(&k.symbol)) {
        let Some(f) = m.function(&k.symbol) else {
            continue;
        };
        for o in obstacles::obstacles(m, f, unlifted) {
            if o.scope == Scope::CpuRun {
                let at = o
                    .location
                    .map_or_else(String::new, |l| format!(" at line {}", l.line));
                lines.push(format!("{}: {}{at}: {}", k.name, o.what, o.why));
            }
        }
    }
    if lines.is_empty() {
        Ok(())
    } else {
        Err(JobError::Unsupported(format!(
            "the CPU executor cannot run this:\n{}",
            lines.join("\n")
        )))
    }
}

/// A plan for a kernel that is not there would do nothing, which nobody means.
pub(super) fn check_plan(plan: &Plan, infos: &[KernelInfo]) -> Result<(), JobError> {
    for name in plan.kernels.keys() {
        if let Err(have) = kernels::find(infos, name) {
            return Err(JobError::Input(format!(
                "the plan names kernel `{name}`, which the source does not have; expected one of {}",
                have.join(", ")
            )));
        }
    }
    Ok(())
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
