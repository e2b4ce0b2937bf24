//! From the prepared module to the finished one, with the libdevice that the job names.
use super::{Job, JobError};
use kerf_ir::compile::Toolchain;
use kerf_ir::finish::{self, Reflect};
use kerf_ir::llvm::Module;
use kerf_ir::program::{Program, sha256};
use std::path::{Path, PathBuf};

const LIBDEVICE_HELP: &str =
    "run scripts/setup.sh (make setup), or set KERF_LIBDEVICE to libdevice.10.bc";

fn needs_libdevice(m: &Module) -> bool {
    m.functions()
        .iter()
        .any(|f| f.is_declaration() && f.name().starts_with("__nv_"))
}

/// What one job leaves for the next in the same process.
#[derive(Default)]
pub struct Workshop {
    libdevice: Option<(PathBuf, Vec<u8>)>,
    /// PTX of a program as it is, by digest and architecture.
    own: Option<(String, String, String)>,
}

impl Workshop {
    /// Finishes a prepared module.
    pub(super) fn finish(&mut self, m: &Module, tools: &Toolchain) -> Result<(), JobError> {
        let lib = match (&tools.libdevice, needs_libdevice(m)) {
            (Some(p), true) => {
                if self.libdevice.as_ref().is_none_or(|(q, _)| q != p) {
                    self.libdevice = Some((p.clone(), read(p)?));
                }
                self.libdevice.as_ref().map_or(&[][..], |l| &l.1)
            }
            (None, true) => return Err(missing()),
            (_, false) => &[],
        };
        with_libdevice(m, lib, tools)
    }

    /// PTX of a program as it is.
    pub(super) fn ptx(&mut self, p: &Program, tools: &Toolchain) -> Result<String, JobError> {
        let digest = sha256(&p.bitcode);
        if let Some((d, arch, ptx)) = &self.own
            && (d, arch) == (&digest, &tools.arch)
        {
            return Ok(ptx.clone());
        }
        let m = p.module()?;
        self.finish(&m, tools)?;
        let ptx = finish::ptx(&m, &tools.arch).map_err(|e| JobError::Compile {
            message: e.0,
            help: None,
        })?;
        self.own = Some((digest, tools.arch.clone(), ptx.clone()));
        Ok(ptx)
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

fn with_libdevice(m: &Module, lib: &[u8], tools: &Toolchain) -> Result<(), JobError> {
    finish::finish(m, lib, &tools.arch, Reflect::default()).map_err(|e| JobError::Compile {
        message: e.0,
        help: None,
    })
}

/// Finishes a prepared module for the job's device.
pub(super) fn finished(m: &Module, job: &Job) -> Result<(), JobError> {
    finish_with_tools(m, &job.toolchain())
}

/// Finishes a prepared module with the libdevice and for the architecture of a toolchain.
pub fn finish_with_tools(m: &Module, tools: &Toolchain) -> Result<(), JobError> {
    Workshop::default().finish(m, tools)
}
