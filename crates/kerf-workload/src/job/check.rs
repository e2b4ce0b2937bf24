//! What is refused before anything runs.
use super::JobError;
use kerf_ir::kernels::KernelInfo;
use kerf_ir::llvm::Module;
use kerf_ir::obstacles::{self, Scope};
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
