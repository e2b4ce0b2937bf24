//! The device side of an application's source, packed for `kerf cc` ([`kerf_clang::cc`]).
use crate::blob::{self, Meta};
use crate::{managed, program};
use kerf_clang::cc::{CcError, DeviceUnit};
use kerf_clang::compile::{self, CompileError};
use kerf_llvm::Module;
use std::path::Path;

/// Adds compiled code to a packed program in a file ([`blob::KeptCode`]), or says why it cannot.
pub type Keep<'a> = &'a dyn Fn(&Path) -> Result<(), KeepError>;

/// Why code is not kept, in the words of whoever compiles it.
pub type KeepError = Box<dyn std::error::Error>;

/// Compiles, prepares and packs a unit. Units that are linked with others are only compiled: they are prepared when the
/// program starts, and so is their code.
pub fn pack(unit: &DeviceUnit, keep: Option<Keep>) -> Result<Vec<String>, CcError> {
    let source = unit.source;
    let (mut bitcode, unlifted) = match unit.relocatable {
        true => {
            let c = compile::compile(unit.tools, source, unit.flags)?;
            (c.bitcode, Vec::new())
        }
        false => {
            let p = program::load(unit.tools, source, unit.flags)?;
            (p.bitcode, p.unlifted)
        }
    };
    let m = Module::parse(&bitcode, &source.display().to_string()).map_err(|e| {
        CompileError::BadIr {
            path: source.to_owned(),
            why: e.0,
        }
    })?;
    let managed = managed::take(&m);
    if !managed.is_empty() {
        bitcode = m.bitcode();
    }
    let meta = Meta {
        version: 1,
        source: source.display().to_string(),
        arch: unit.tools.arch.clone(),
        prepared: !unit.relocatable,
        ftz: unit.ftz,
        precise_sqrt: unit.precise_sqrt,
        precise_div: unit.precise_div,
        libdevice: unit.tools.libdevice.as_deref().map(absolute),
        unlifted,
        managed,
        kept: 0,
    };
    let bytes = blob::pack(&meta, &bitcode, None)
        .map_err(|e| CcError::Usage(format!("{}: {e}", source.display())))?;
    std::fs::write(unit.to, bytes).map_err(|why| CcError::Read {
        path: unit.to.to_owned(),
        why,
    })?;
    match keep {
        Some(keep) if !unit.relocatable => Ok(keep(unit.to)
            .err()
            .into_iter()
            .map(|why| {
                format!(
                    "{}: kernels will be compiled when the program starts: {why}",
                    source.display()
                )
            })
            .collect()),
        _ => Ok(Vec::new()),
    }
}

fn absolute(path: &Path) -> String {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    path.display().to_string()
}
