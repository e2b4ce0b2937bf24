//! A device program as it travels inside an application's binary: a header, bitcode, and code made of it.
//!
//! `kerf cc` puts it where nvcc puts a fat binary; Kerf's runtime reads it when the application registers
//! it. The runtime is only given an address, so the header says how long the rest is. The code is of the program as
//! it is written, for devices that the compiler knew of; plans and other devices need the bitcode.
use crate::finish::Reflect;
use crate::kernels::KernelInfo;
use kerf_ptx::Unlifted;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// First bytes of every blob.
const MAGIC: &[u8] = kerf_clang::cc::DEVICE_CODE_MAGIC;

/// What the runtime has to know of the bitcode.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Meta {
    /// Version of this layout.
    pub version: u32,
    /// The source file, for messages.
    pub source: String,
    /// Target architecture it was compiled for.
    pub arch: String,
    /// Is the module prepared (whole-program compilation), or compiled only, to be linked with others
    /// first (`-rdc=true`)?
    pub prepared: bool,
    /// `-ftz=true`.
    pub ftz: bool,
    /// `-prec-sqrt=true`.
    pub precise_sqrt: bool,
    /// `-prec-div=true`.
    pub precise_div: bool,
    /// Where libdevice was at that time.
    pub libdevice: Option<String>,
    /// Inline PTX that was not understood.
    #[serde(default)]
    pub unlifted: Vec<Unlifted>,
    /// `__managed__` variables.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub managed: Vec<Managed>,
    /// Bytes of what is kept behind the bitcode; set by [`pack`].
    #[serde(default)]
    pub kept: usize,
}

/// Code of the program as it is written, made by the compiler so that the program need not.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct KeptCode {
    /// The kernels.
    pub kernels: Vec<KernelInfo>,
    /// Why the CPU cannot run some of them.
    pub refused: BTreeMap<String, String>,
    /// What there is; of those that suit a device, the first is the best.
    pub images: Vec<CodeImage>,
}

/// Code for one kind of device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CodeImage {
    /// Which kind of code.
    pub kind: ImageKind,
    /// What it is for: an architecture, or a processor with the version of Kerf that made it.
    pub target: String,
    /// Its bytes; set by [`pack`].
    #[serde(default)]
    pub bytes: usize,
    /// What the executor has to know of it.
    #[serde(default)]
    pub about: serde_json::Value,
}

/// Kinds of code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ImageKind {
    /// Machine code of a GPU.
    Cubin,
    /// Text that a GPU's driver assembles.
    Ptx,
    /// An object for the CPU executor.
    Host,
}

impl CodeImage {
    /// Can a GPU of a capability (90 for `sm_90`) have it? Machine code is for one generation, PTX for all later
    /// ones too, and what is for an architecture's own features (`sm_90a`) for that one only.
    pub fn suits_gpu(&self, device: u64) -> bool {
        let Ok(made) = kerf_llvm::compute_capability(&self.target) else {
            return false;
        };
        let only = self.target.ends_with(char::is_alphabetic);
        match self.kind {
            ImageKind::Host => false,
            _ if only => device == made,
            ImageKind::Cubin => device / 10 == made / 10 && device >= made,
            ImageKind::Ptx => device >= made,
        }
    }
}

/// A program that was packed.
#[derive(Debug, Clone)]
pub struct Blob<'a> {
    /// What is said of it.
    pub meta: Meta,
    /// Bitcode.
    pub bitcode: &'a [u8],
    /// What is kept, still packed; empty if nothing is.
    pub kept: &'a [u8],
}

/// A `__managed__` variable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Managed {
    /// Its symbol in the module.
    pub symbol: String,
    /// Its first value as hexadecimal bytes; empty where that is zeros.
    pub first: String,
}

impl Managed {
    /// Its first value; empty where that is zeros.
    pub fn bytes(&self) -> Vec<u8> {
        (0..self.first.len() / 2)
            .filter_map(|i| u8::from_str_radix(self.first.get(2 * i..2 * i + 2)?, 16).ok())
            .collect()
    }
}

impl Meta {
    /// What libdevice is to be told.
    pub fn reflect(&self) -> Reflect {
        Reflect {
            ftz: self.ftz,
            precise_sqrt: self.precise_sqrt,
            precise_div: self.precise_div,
        }
    }
}

/// Why a blob is none.
#[derive(Debug, thiserror::Error)]
pub enum BlobError {
    /// NVIDIA's own, or something else.
    #[error("the device code was not compiled by kerf cc")]
    Foreign,
    /// Of another version of Kerf.
    #[error("the device code was compiled by another version of Kerf: {0}")]
    Version(String),
}

/// Packs a program, with code that is kept, image by image.
pub fn pack(
    meta: &Meta,
    bitcode: &[u8],
    kept: Option<(&KeptCode, &[Vec<u8>])>,
) -> Result<Vec<u8>, serde_json::Error> {
    let mut behind = Vec::new();
    if let Some((k, images)) = kept {
        let mut k = k.clone();
        for (i, bytes) in k.images.iter_mut().zip(images) {
            i.bytes = bytes.len();
        }
        let head = serde_json::to_vec(&k)?;
        behind.extend((head.len() as u64).to_le_bytes());
        behind.extend(head);
        images.iter().for_each(|b| behind.extend(b));
    }
    let meta = Meta {
        kept: behind.len(),
        ..meta.clone()
    };
    let head = serde_json::to_vec(&meta)?;
    let mut out = MAGIC.to_vec();
    out.extend((head.len() as u64).to_le_bytes());
    out.extend((bitcode.len() as u64).to_le_bytes());
    out.extend(head);
    out.extend(bitcode);
    out.extend(behind);
    Ok(out)
}

fn length(bytes: &[u8], at: usize) -> Option<usize> {
    let b = bytes.get(at..at.checked_add(8)?)?;
    Some(u64::from_le_bytes(b.try_into().ok()?) as usize)
}

fn damaged() -> BlobError {
    BlobError::Version("it is cut off".into())
}

/// Reads what [`pack`] wrote.
pub fn read(bytes: &[u8]) -> Result<Blob<'_>, BlobError> {
    if !bytes.starts_with(MAGIC) {
        return Err(BlobError::Foreign);
    }
    let (Some(head), Some(body)) = (length(bytes, 8), length(bytes, 16)) else {
        return Err(damaged());
    };
    let part = |at: usize, n: usize| {
        let end = at.checked_add(n).ok_or_else(damaged)?;
        bytes.get(at..end).ok_or_else(damaged)
    };
    let meta: Meta =
        serde_json::from_slice(part(24, head)?).map_err(|e| BlobError::Version(e.to_string()))?;
    Ok(Blob {
        bitcode: part(24 + head, body)?,
        kept: part(24 + head + body, meta.kept)?,
        meta,
    })
}

/// Reads a program at an address.
///
/// # Safety
/// `at` is what [`pack`] gave, or at least 8 readable bytes of something else.
pub unsafe fn unpack(at: *const u8) -> Result<Blob<'static>, BlobError> {
    // SAFETY: as the caller promises; lengths are read only behind the magic.
    unsafe {
        if std::slice::from_raw_parts(at, 8) != MAGIC {
            return Err(BlobError::Foreign);
        }
        let front = std::slice::from_raw_parts(at, 24);
        let (Some(head), Some(body)) = (length(front, 8), length(front, 16)) else {
            return Err(damaged());
        };
        let text = std::slice::from_raw_parts(at.add(24), head);
        let meta: Meta =
            serde_json::from_slice(text).map_err(|e| BlobError::Version(e.to_string()))?;
        Ok(Blob {
            bitcode: std::slice::from_raw_parts(at.add(24 + head), body),
            kept: std::slice::from_raw_parts(at.add(24 + head + body), meta.kept),
            meta,
        })
    }
}

/// Reads what is kept in a [`Blob`]: its description, and the bytes of each image. None if there is nothing, or
/// another version of Kerf wrote it; the bitcode is there for that.
pub fn read_kept(kept: &[u8]) -> Option<(KeptCode, Vec<&[u8]>)> {
    let head = length(kept, 0)?;
    let mut at = head.checked_add(8)?;
    let k: KeptCode = serde_json::from_slice(kept.get(8..at)?).ok()?;
    let mut images = Vec::new();
    for i in &k.images {
        let end = at.checked_add(i.bytes)?;
        images.push(kept.get(at..end)?);
        at = end;
    }
    Some((k, images))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::{Param, ParamKind, ScalarAt, ScalarKind};

    fn meta() -> Meta {
        Meta {
            version: 1,
            source: "a.cu".into(),
            arch: "sm_90".into(),
            prepared: true,
            ftz: true,
            precise_sqrt: false,
            precise_div: true,
            libdevice: None,
            unlifted: Vec::new(),
            managed: vec![Managed {
                symbol: "m".into(),
                first: "0a00".into(),
            }],
            kept: 0,
        }
    }

    fn image(kind: ImageKind, target: &str) -> CodeImage {
        CodeImage {
            kind,
            target: target.into(),
            bytes: 0,
            about: serde_json::Value::Null,
        }
    }

    #[test]
    fn what_is_packed_comes_back() {
        let bytes = pack(&meta(), b"BC\xc0\xde", None).expect("packs");
        // SAFETY: just packed.
        let b = unsafe { unpack(bytes.as_ptr()) }.expect("unpacks");
        assert_eq!(
            (b.meta.source.as_str(), b.bitcode),
            ("a.cu", &b"BC\xc0\xde"[..])
        );
        assert!(b.meta.reflect().ftz && !b.meta.reflect().precise_sqrt);
        assert_eq!(b.meta.managed[0].bytes(), [10, 0]);
        assert!(read_kept(b.kept).is_none());
        let other = [0x50, 0xed, 0x55, 0xba, 0, 0, 0, 0u8];
        // SAFETY: eight bytes.
        let unpacked = unsafe { unpack(other.as_ptr()) };
        assert!(matches!(unpacked, Err(BlobError::Foreign)));
    }

    #[test]
    fn kept_code_comes_back_image_by_image() {
        let element = ScalarAt {
            offset: 0,
            kind: ScalarKind::Float(kerf_num::Format::F64),
        };
        let param = |name: &str, kind: ParamKind| Param {
            name: name.into(),
            type_name: "t".into(),
            inferred: false,
            used: true,
            kind,
            members: Vec::new(),
        };
        let word = ScalarKind::Int {
            bits: 32,
            signed: true,
        };
        let pointer = ParamKind::Pointer {
            space: 1,
            element_bytes: 8,
            element: vec![element],
        };
        let by_value = ParamKind::Struct {
            bytes: 8,
            align: 8,
            fields: vec![ScalarAt {
                offset: 0,
                kind: ScalarKind::Ptr,
            }],
        };
        let k = KeptCode {
            kernels: vec![KernelInfo {
                symbol: "_Z1kPdi".into(),
                name: "k".into(),
                signature: "k(double*, int)".into(),
                params: vec![
                    param("x", pointer),
                    param("n", ParamKind::Scalar { scalar: word }),
                    param("s", by_value),
                ],
                static_shared_bytes: 16,
                dynamic_shared: true,
                written: None,
            }],
            refused: BTreeMap::from([("b".into(), "why".into())]),
            images: vec![
                image(ImageKind::Cubin, "sm_90"),
                image(ImageKind::Host, "x86"),
            ],
        };
        let images = [b"ELF".to_vec(), b"object".to_vec()];
        let bytes = pack(&meta(), b"BC", Some((&k, &images))).expect("packs");
        let b = read(&bytes).expect("reads");
        let (back, parts) = read_kept(b.kept).expect("something is kept");
        assert_eq!((back.kernels, back.refused), (k.kernels, k.refused));
        assert_eq!(parts, [&b"ELF"[..], &b"object"[..]]);
        assert_eq!(b.bitcode, b"BC");
        // SAFETY: just packed.
        let same = unsafe { unpack(bytes.as_ptr()) }.expect("unpacks");
        assert_eq!(same.kept, b.kept);
        // What is cut off is refused, not read beyond its end.
        for n in 8..bytes.len() {
            assert!(read(&bytes[..n]).is_err(), "{n} bytes");
        }
        assert!(read_kept(&b.kept[..b.kept.len() - 1]).is_none());
    }

    #[test]
    fn a_gpu_has_code_of_its_generation_and_ptx_of_earlier_ones() {
        let suits = |kind, target: &str, device| image(kind, target).suits_gpu(device);
        assert!(suits(ImageKind::Cubin, "sm_90", 90));
        assert!(suits(ImageKind::Cubin, "sm_80", 86));
        assert!(!suits(ImageKind::Cubin, "sm_86", 80));
        assert!(!suits(ImageKind::Cubin, "sm_90", 100));
        assert!(suits(ImageKind::Ptx, "sm_70", 90));
        assert!(!suits(ImageKind::Ptx, "sm_90", 80));
        assert!(suits(ImageKind::Ptx, "sm_90a", 90));
        assert!(!suits(ImageKind::Ptx, "sm_90a", 100));
        assert!(!suits(ImageKind::Host, "sm_90", 90));
    }
}
