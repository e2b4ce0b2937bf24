//! Shapes for a workload that lists none: which blocks its kernels could have, from what the code does with
//! indices.
use super::space::ChoiceError;
use crate::error::TuneError;
use crate::problem::ProblemError;
use crate::subject::SubjectError;
use kerf_ir::kernels::{self, block_bounds};
use kerf_llvm::Module;
use kerf_pass::block_role::{Role, roles};
use kerf_run::job::{Job, LaunchKind, kinds};
use kerf_run::shapes::{Follow, Free, widen};
use kerf_workload::Workload;
use std::path::{Path, PathBuf};

/// Threads of a block on all devices that profiles exist for.
const MOST: u32 = 1024;

/// Why a kernel keeps its block: what the source or the workload does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeptBlock {
    /// The workload launches it in several ways.
    #[error("it is launched with several blocks")]
    Several,
    /// The module has no code of it.
    #[error("it has no code")]
    NoCode,
    /// The source names the only block.
    #[error("the source requires blocks of {} x {} x {}", .0[0], .0[1], .0[2])]
    Required([u32; 3]),
    /// Its code uses the indices in a way that holds every axis of the block.
    #[error("{0}")]
    Indices(&'static str),
}

/// What was found for the kernels of a workload.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FoundShapes {
    /// Kernels whose blocks can change.
    pub free: Vec<Free>,
    /// Kernels whose blocks cannot, and why.
    pub fixed: Vec<(String, KeptBlock)>,
}

/// One kernel: how its block may change, or why not.
fn one(
    m: &Module,
    k: &LaunchKind,
    all: &[LaunchKind],
    named: &str,
    axes: usize,
) -> Result<Free, KeptBlock> {
    if all
        .iter()
        .any(|o| o.symbol == k.symbol && o.launch.block != k.launch.block)
    {
        return Err(KeptBlock::Several);
    }
    let f = m.function(&k.symbol).ok_or(KeptBlock::NoCode)?;
    let bounds = block_bounds(m, f);
    if let Some(r) = bounds.required {
        return Err(KeptBlock::Required(r));
    }
    let roles = roles(f);
    let mut why = "";
    let axis = |a: usize| {
        // An axis that the file does not mention stays as it is.
        match roles[a] {
            _ if a >= axes => Follow::Fixed,
            Role::Threads => Follow::Threads,
            Role::Blocks => Follow::Blocks,
            Role::Fixed(w) => {
                why = w;
                Follow::Fixed
            }
        }
    };
    let axes: Vec<Follow> = (0..3).map(axis).collect();
    if axes.iter().all(|a| *a == Follow::Fixed) {
        return Err(KeptBlock::Indices(why));
    }
    Ok(Free {
        kernel: named.to_owned(),
        block: k.launch.block,
        axes: [axes[0], axes[1], axes[2]],
        most: bounds.most.unwrap_or(MOST).min(MOST),
    })
}

/// What the kernels of a workload could be launched with.
pub fn find(w: &Workload, m: &Module) -> Result<FoundShapes, ChoiceError> {
    let infos = kernels::kernels(m);
    let all = kinds(w, &infos, &w.launch_space.default_params())
        .map_err(|e| ChoiceError::NoSpace(e.to_string()))?;
    let mut out = FoundShapes::default();
    for l in super::choice::launches(w) {
        let known = |f: &FoundShapes| {
            f.free.iter().any(|k| k.kernel == l.kernel) || f.fixed.iter().any(|k| k.0 == l.kernel)
        };
        let symbol = kernels::find(&infos, &l.kernel).map(|i| i.symbol.clone());
        let kind = symbol.ok().and_then(|s| all.iter().find(|k| k.symbol == s));
        let Some(k) = kind.filter(|_| !known(&out)) else {
            continue;
        };
        match one(m, k, &all, &l.kernel, l.block.len()) {
            Ok(f) => out.free.push(f),
            Err(why) => out.fixed.push((l.kernel.clone(), why)),
        }
    }
    Ok(out)
}

/// The text of the workload's file with shapes for all kernels that can have others.
pub fn widened(w: &Workload, m: &Module) -> Result<(String, FoundShapes), ChoiceError> {
    let found = find(w, m)?;
    if found.free.is_empty() {
        let each = found.fixed.iter().map(|(k, why)| format!("{k}: {why}"));
        let each: Vec<String> = each.collect();
        return Err(ChoiceError::NoSpace(format!(
            "there is no [launch_space], and no kernel can have another block:\n  {}\nhelp: where that is wrong, write grid and block as expressions of a parameter, e.g.\n  grid = [\"ceil_div(n, bx)\"]\n  block = [\"bx\"]\n  [launch_space]\n  bx = [32, 64, 128, 256, 512, 1024]",
            each.join("\n  ")
        )));
    }
    let text = std::fs::read_to_string(&w.path)
        .map_err(|e| ChoiceError::NoSpace(format!("{}: {e}", w.path.display())))?;
    let text =
        widen(&text, &w.path, &found.free).map_err(|e| ChoiceError::NoSpace(e.to_string()))?;
    Ok((text, found))
}

/// Where a workload lists no shapes, writes `workload.toml` with some into a folder; gives its path and what a
/// reader should know. None where the file has a launch space.
pub fn give_shapes(job: &Job, out: &Path) -> Result<Option<(PathBuf, Vec<String>)>, TuneError> {
    let tools = job.toolchain();
    let w = Workload::read(&job.workload, &job.overrides).map_err(SubjectError::from)?;
    if !w.launch_space.params.is_empty() {
        return Ok(None);
    }
    let program = kerf_run::compile::own_program(&w, &tools).map_err(SubjectError::from)?;
    let m = program.module().map_err(SubjectError::from)?;
    let (text, found) = widened(&w, &m).map_err(ProblemError::from)?;
    crate::result::make_folder(out)?;
    let path = out.join("workload.toml");
    let path = std::path::absolute(&path).unwrap_or(path);
    crate::result::write(&path, text.as_bytes())?;
    let names: Vec<&str> = found.free.iter().map(|f| f.kernel.as_str()).collect();
    let mut notes = vec![format!(
        "the file lists no shapes; other blocks are tried for {}, as {} says",
        names.join(", "),
        path.display()
    )];
    for (k, why) in &found.fixed {
        notes.push(format!("{k} keeps its block: {why}"));
    }
    Ok(Some((path, notes)))
}
