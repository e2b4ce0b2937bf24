//! Code for the CPU that `kerf cc` makes and a program keeps: an object, what is in it, and where it may run.
use super::lower::{self, LowerOptions, Lowered, LoweredKernel};
use kerf_clang::sha256;
use kerf_ir::blob::{CodeImage, ImageKind};
use kerf_llvm::{LlvmError, Module, host_target};
use serde::{Deserialize, Serialize};

/// What the executor has to know of an object.
#[derive(Serialize, Deserialize)]
struct Contents {
    kernels: Vec<LoweredKernel>,
    static_shared: u64,
    sizes: Vec<(String, usize)>,
    tables: Vec<String>,
}

/// The processor, and the version of the executor, whose functions the code calls. Both have to be the same.
pub fn target() -> String {
    let all = format!(
        "{:?} {} {}",
        host_target(),
        kerf_ir::DIGEST,
        env!("KERF_EXEC_DIGEST")
    );
    sha256(all.as_bytes())
}

/// Code of a finished module for this machine's processor.
pub fn make(finished: &Module) -> Result<(CodeImage, Vec<u8>), LlvmError> {
    let l = lower::lower(finished, LowerOptions::default())?;
    let contents = Contents {
        kernels: l.kernels,
        static_shared: l.static_shared,
        sizes: l.sizes,
        tables: l.tables,
    };
    let image = CodeImage {
        kind: ImageKind::Host,
        target: target(),
        bytes: l.object.len(),
        about: serde_json::to_value(contents).map_err(|e| LlvmError(e.to_string()))?,
    };
    Ok((image, l.object))
}

/// The code again; none if it is for another processor or another version of Kerf.
pub(super) fn read(image: &CodeImage, object: &[u8]) -> Option<Lowered> {
    if image.kind != ImageKind::Host || image.target != target() {
        return None;
    }
    let c: Contents = serde_json::from_value(image.about.clone()).ok()?;
    Some(Lowered {
        object: object.to_vec(),
        kernels: c.kernels,
        static_shared: c.static_shared,
        checked: None,
        variables: Vec::new(),
        sizes: c.sizes,
        tables: c.tables,
    })
}
