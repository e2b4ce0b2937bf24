//! From the prepared module to the finished one, with the libdevice that the job names.
use super::{Job, JobError};
use crate::run::Session;
use kerf_ir::compile::Toolchain;
use kerf_ir::finish::{self, Reflect};
use kerf_ir::kernels;
use kerf_ir::llvm::Module;

const LIBDEVICE_HELP: &str =
    "run scripts/setup.sh (make setup), or set KERF_LIBDEVICE to libdevice.10.bc";

fn needs_libdevice(m: &Module) -> bool {
    m.functions()
        .iter()
        .any(|f| f.is_declaration() && f.name().starts_with("__nv_"))
}

/// Takes out of a prepared module the kernels that the workload does not launch: a source with a hundred
/// of them would take minutes to compile, again for each plan.
pub(super) fn launched_only(m: &Module, session: &Session, used: &[String]) {
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

/// Finishes a prepared module for the job's device.
pub(super) fn finished(m: &Module, job: &Job) -> Result<(), JobError> {
    finish_with_tools(m, &job.toolchain())
}

/// Finishes a prepared module with the libdevice and for the architecture of a toolchain.
pub fn finish_with_tools(m: &Module, tools: &Toolchain) -> Result<(), JobError> {
    let lib = match (&tools.libdevice, needs_libdevice(m)) {
        (Some(p), true) => std::fs::read(p).map_err(|e| JobError::Compile {
            message: format!("cannot read {}: {e}", p.display()),
            help: Some(LIBDEVICE_HELP.into()),
        })?,
        (None, true) => {
            return Err(JobError::Compile {
                message: "libdevice.10.bc was not found, and the program calls math functions"
                    .into(),
                help: Some(LIBDEVICE_HELP.into()),
            });
        }
        (_, false) => Vec::new(),
    };
    finish::finish(m, &lib, &tools.arch, Reflect::default()).map_err(|e| JobError::Compile {
        message: e.0,
        help: None,
    })
}
