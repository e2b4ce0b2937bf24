//! From the prepared module to the finished one, with the libdevice that the job names.
use super::launch_kinds::kinds;
use super::{Job, JobError};
use crate::run::WorkloadSession;
use kerf_clang::compile::Toolchain;
use kerf_ir::finish::{self, Reflect};
use kerf_ir::kernels;
use kerf_llvm::Module;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const LIBDEVICE_HELP: &str =
    "`kerf doctor` says how it is installed; or set KERF_LIBDEVICE to libdevice.10.bc";

/// libdevice, and the part of it that was needed so far.
struct Library {
    path: PathBuf,
    arch: String,
    whole: Vec<u8>,
    roots: BTreeSet<String>,
    part: Arc<Vec<u8>>,
}

impl Library {
    /// A part with these functions. Their f32 versions are in it as well: plans come to need them.
    fn with(&mut self, needed: &[String]) -> Result<Arc<Vec<u8>>, JobError> {
        if !needed.iter().all(|n| self.roots.contains(n)) {
            for n in needed {
                self.roots.extend([n.clone(), format!("{n}f")]);
            }
            let part = finish::trim(&self.whole, &self.roots, &self.arch);
            self.part = Arc::new(part.map_err(|e| JobError::Compile {
                message: format!("{}: {}", self.path.display(), e.0),
                help: Some(LIBDEVICE_HELP.into()),
            })?);
        }
        Ok(self.part.clone())
    }
}

/// libdevice for one program after another, on any number of threads.
#[derive(Default)]
pub(super) struct Libdevice(Option<Library>);

impl Libdevice {
    /// A part with what a prepared module needs; empty where it needs nothing.
    pub(super) fn part(&mut self, m: &Module, tools: &Toolchain) -> Result<Arc<Vec<u8>>, JobError> {
        let needed = finish::needed(m);
        if needed.is_empty() {
            return Ok(Arc::default());
        }
        let path = tools.libdevice.as_ref().ok_or_else(missing)?;
        let held = self.0.take();
        let held = held.filter(|l| (&l.path, &l.arch) == (path, &tools.arch));
        let library = match held {
            Some(l) => l,
            None => Library {
                path: path.clone(),
                arch: tools.arch.clone(),
                whole: read(path)?,
                roots: BTreeSet::new(),
                part: Arc::default(),
            },
        };
        self.0.insert(library).with(&needed)
    }

    /// Finishes a prepared module.
    pub(super) fn finish(&mut self, m: &Module, tools: &Toolchain) -> Result<(), JobError> {
        let lib = self.part(m, tools)?;
        with_libdevice(m, &lib, tools, Reflect::default())
    }
}

fn read(p: &Path) -> Result<Vec<u8>, JobError> {
    std::fs::read(p).map_err(|e| JobError::Compile {
        message: format!("cannot read {}: {e}", p.display()),
        help: Some(LIBDEVICE_HELP.into()),
    })
}

fn missing() -> JobError {
    JobError::Compile {
        message: "libdevice.10.bc was not found, and the program calls math functions".into(),
        help: Some(LIBDEVICE_HELP.into()),
    }
}

/// Finishes a prepared module with a part of libdevice, with f32 operations as `reflect` has them.
pub(super) fn with_libdevice(
    m: &Module,
    lib: &[u8],
    tools: &Toolchain,
    reflect: Reflect,
) -> Result<(), JobError> {
    finish::finish(m, lib, &tools.arch, reflect).map_err(|e| JobError::Compile {
        message: e.0,
        help: None,
    })
}

/// Takes out of a prepared module the kernels that the workload does not launch: a source with a hundred
/// of them would take minutes to compile, again for each plan.
pub(super) fn launched_only(m: &Module, session: &WorkloadSession, used: &[String]) {
    let symbols: Vec<&String> = session
        .workload
        .buffers
        .iter()
        .filter_map(|b| b.symbol.as_ref())
        .collect();
    kernels::retain(m, |k| {
        // A variable that the workload fills may be there for this kernel alone.
        let fills = |g: &String| symbols.iter().any(|s| g.contains(s.as_str()));
        used.contains(&k.name()) || kernels::used_globals(k).iter().any(|g| fills(&g.name()))
    });
}

/// Tells the assembler how many threads the blocks of the workload's launches have, where the kernel does not say so: what
/// instrumentation adds takes as many registers as there are, and a block of 1,024 threads would not start.
pub(super) fn bound_blocks(m: &Module, session: &WorkloadSession) -> Result<(), JobError> {
    let mut most: BTreeMap<String, u32> = BTreeMap::new();
    for kind in kinds(session.workload, session.kernels, &session.params)? {
        let threads = most.entry(kind.symbol.clone()).or_default();
        *threads = kind.threads().max(*threads);
    }
    for (symbol, threads) in most {
        let Some(kernel) = m.function(&symbol) else {
            continue;
        };
        if kernels::block_bounds(m, kernel) == kernels::BlockBounds::default() {
            kernel.add_fn_attr("nvvm.maxntid", &threads.to_string());
        }
    }
    Ok(())
}

/// Kernels write lines for people.
pub(super) fn prints(m: &Module) -> bool {
    ["vprintf", "printf"]
        .iter()
        .filter_map(|name| m.function(name))
        .any(|f| !f.users().is_empty())
}

/// Finishes a prepared module for the job's device.
pub(super) fn finished(m: &Module, job: &Job) -> Result<(), JobError> {
    finish_with_tools(m, &job.toolchain())
}

/// Finishes a prepared module with the libdevice and for the architecture of a toolchain.
pub fn finish_with_tools(m: &Module, tools: &Toolchain) -> Result<(), JobError> {
    Libdevice::default().finish(m, tools)
}
