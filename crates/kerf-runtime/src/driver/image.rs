//! Images that modules are loaded from: PTX text, fat binaries, what Kerf's linker gave. Machine code is refused.
use super::fatbin::{self, FatbinError};
use crate::error::{CallFailure, code};
use crate::state::State;
use kerf_ir::blob::{self, BlobError, Meta};
use kerf_ir::prepare;
use kerf_llvm::{LlvmError, Module};
use kerf_ptx::PtxError;

/// First bytes of machine code and objects.
const ELF: &[u8] = b"\x7fELF";
const ARCHIVE: &[u8] = b"!<arch>";

/// Why an image is no module.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    /// A null pointer.
    #[error("there is no image")]
    Null,
    /// A cubin.
    #[error(
        "the image is machine code of a GPU (a cubin, SASS), which only that GPU can run; give the program PTX: \
         `nvcc -ptx`, NVRTC with --gpu-architecture=compute_80, or a linker of the driver instead of nvJitLink"
    )]
    MachineCode,
    /// Something else.
    #[error("the image is neither PTX nor a fat binary")]
    Unknown,
    /// A fat binary.
    #[error(transparent)]
    Fatbin(#[from] FatbinError),
    /// PTX with a mistake.
    #[error("PTX: {0}")]
    Ptx(#[from] PtxError),
    /// What Kerf made is not valid.
    #[error("{}", .0.0)]
    Module(LlvmError),
    /// An image of another Kerf.
    #[error(transparent)]
    Blob(#[from] BlobError),
    /// Nothing of the file can run.
    #[error("{0}")]
    Refused(String),
}

impl From<ImageError> for CallFailure {
    fn from(e: ImageError) -> CallFailure {
        let code = match e {
            ImageError::Null => code::INVALID_VALUE,
            ImageError::MachineCode | ImageError::Fatbin(FatbinError::MachineCodeAlone(_)) => {
                code::NO_BINARY
            }
            ImageError::Ptx(_) => code::INVALID_PTX,
            ImageError::Refused(_) => code::NOT_SUPPORTED,
            _ => code::INVALID_IMAGE,
        };
        CallFailure::new(code, e.to_string())
    }
}

/// Device code as LLVM bitcode, and what is known of it.
pub struct ImageCode {
    /// What is known.
    pub meta: Meta,
    /// Bitcode.
    pub bitcode: Vec<u8>,
}

/// The bytes of an image whose length is in itself.
///
/// # Safety
/// `at` is null, or an image as `cuModuleLoadData` takes it: text that ends with a zero byte, a fat binary, a wrapper
/// around the address of one, machine code, or what Kerf's linker gave.
pub unsafe fn bytes_at(at: *const u8) -> Result<Vec<u8>, ImageError> {
    if at.is_null() {
        return Err(ImageError::Null);
    }
    // SAFETY: as the caller promises. Byte by byte, since text may be shorter than a word.
    unsafe {
        let head: Vec<u8> = (0..4)
            .map(|i| *at.add(i))
            .scan(false, |ended, b| {
                let is_inside = !*ended;
                *ended |= b == 0;
                is_inside.then_some(b)
            })
            .collect();
        if head == ELF {
            return Err(ImageError::MachineCode);
        }
        let word = <[u8; 4]>::try_from(head.as_slice()).map(u32::from_le_bytes);
        match word {
            Ok(fatbin::MAGIC) => return Ok(fatbin::bytes_at(at)),
            Ok(fatbin::WRAPPER_MAGIC) => {
                let inside = at.add(8).cast::<*const u8>().read_unaligned();
                return Ok(fatbin::bytes_at(inside));
            }
            _ => {}
        }
        if head.starts_with(&kerf_clang::cc::DEVICE_CODE_MAGIC[..4]) {
            let b = blob::unpack(at)?;
            return blob::pack(&b.meta, b.bitcode, None).map_err(|_| ImageError::Unknown);
        }
        let text = std::ffi::CStr::from_ptr(at.cast());
        Ok(text.to_bytes().to_vec())
    }
}

/// The architecture that PTX is compiled for: `sm_90`, or the device's own where that is older.
fn architecture(s: &mut State) -> Result<(String, u32), CallFailure> {
    let (major, minor) = s.on_device(|d| Ok((d.attribute(75)?, d.attribute(76)?)))?;
    let capability = (10 * major + minor).clamp(50, 90) as u32;
    Ok((format!("sm_{capability}"), capability))
}

/// Translates an image; the module is not prepared yet, so that it can be linked with others.
pub fn translate(s: &mut State, image: &[u8], name: &str) -> Result<ImageCode, CallFailure> {
    let (arch, capability) = architecture(s)?;
    if image.starts_with(ELF) || image.starts_with(ARCHIVE) {
        return Err(ImageError::MachineCode.into());
    }
    if image.starts_with(kerf_clang::cc::DEVICE_CODE_MAGIC) {
        let b = blob::read(image).map_err(ImageError::from)?;
        return Ok(ImageCode {
            bitcode: b.bitcode.to_vec(),
            meta: b.meta,
        });
    }
    let inside;
    let text = match image.starts_with(&fatbin::MAGIC.to_le_bytes()) {
        true => {
            inside = fatbin::ptx(image, capability).map_err(ImageError::from)?;
            &inside
        }
        false => image,
    };
    if text.is_empty() || !text.is_ascii() && std::str::from_utf8(text).is_err() {
        return Err(ImageError::Unknown.into());
    }
    let text = String::from_utf8_lossy(text);
    let text = text.trim_end_matches('\0');
    let (m, unlifted) = kerf_ptx::translate(text, name).map_err(ImageError::from)?;
    Ok(ImageCode {
        bitcode: m.bitcode(),
        meta: Meta {
            version: 1,
            source: name.to_owned(),
            arch,
            prepared: false,
            ftz: false,
            precise_sqrt: true,
            precise_div: true,
            libdevice: None,
            unlifted,
            managed: Vec::new(),
            kept: 0,
        },
    })
}

/// Prepares a translated image, where it is not prepared yet. An image whose kernels are all refused is refused itself, by
/// the names of the instructions.
pub fn prepared(mut code: ImageCode) -> Result<ImageCode, ImageError> {
    if code.meta.prepared {
        return Ok(code);
    }
    let m = Module::parse(&code.bitcode, &code.meta.source).map_err(ImageError::Module)?;
    let more = prepare::prepare(&m, &code.meta.arch).map_err(ImageError::Module)?;
    code.meta.unlifted.extend(more);
    let refused = |name: &str| {
        let whole = code.meta.unlifted.iter().filter(|u| u.whole_function);
        whole.into_iter().any(|u| u.function == name)
    };
    let kernels: Vec<String> = m.kernel_functions().iter().map(|f| f.name()).collect();
    if !kernels.is_empty() && kernels.iter().all(|k| refused(k)) {
        let why = code.meta.unlifted.iter().map(|u| {
            let place = u.location.clone().unwrap_or_default();
            format!("{place}: `{}`: {}", u.text.trim(), u.reason)
        });
        return Err(ImageError::Refused(why.collect::<Vec<_>>().join("; ")));
    }
    code.bitcode = m.bitcode();
    code.meta.prepared = true;
    Ok(code)
}
