//! A device program as it travels inside an application's binary: a header, then bitcode.
//!
//! `kerf cc` puts it where nvcc puts a fat binary; Kerf's runtime reads it when the application registers
//! it. The runtime is only given an address, so the header says how long the rest is.
use crate::finish::Reflect;
use crate::inline_ptx::Unlifted;
use serde::{Deserialize, Serialize};

/// First bytes of every blob.
pub(crate) const MAGIC: &[u8; 8] = b"KERFBLOB";

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

/// Packs a program.
pub fn pack(meta: &Meta, bitcode: &[u8]) -> Result<Vec<u8>, serde_json::Error> {
    let head = serde_json::to_vec(meta)?;
    let mut out = MAGIC.to_vec();
    out.extend((head.len() as u64).to_le_bytes());
    out.extend((bitcode.len() as u64).to_le_bytes());
    out.extend(head);
    out.extend(bitcode);
    Ok(out)
}

/// Reads a program at an address.
///
/// # Safety
/// `at` is what [`pack`] gave, or at least 8 readable bytes of something else.
pub unsafe fn unpack(at: *const u8) -> Result<(Meta, &'static [u8]), BlobError> {
    // SAFETY: as the caller promises; lengths are read only behind the magic.
    unsafe {
        if std::slice::from_raw_parts(at, 8) != MAGIC {
            return Err(BlobError::Foreign);
        }
        let length = |o: usize| {
            let mut b = [0u8; 8];
            std::ptr::copy_nonoverlapping(at.add(o), b.as_mut_ptr(), 8);
            u64::from_le_bytes(b) as usize
        };
        let (head, body) = (length(8), length(16));
        let text = std::slice::from_raw_parts(at.add(24), head);
        let meta: Meta =
            serde_json::from_slice(text).map_err(|e| BlobError::Version(e.to_string()))?;
        Ok((meta, std::slice::from_raw_parts(at.add(24 + head), body)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_comes_back() {
        let meta = Meta {
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
        };
        let bytes = pack(&meta, b"BC\xc0\xde").expect("packs");
        // SAFETY: just packed.
        let (back, code) = unsafe { unpack(bytes.as_ptr()) }.expect("unpacks");
        assert_eq!((back.source.as_str(), code), ("a.cu", &b"BC\xc0\xde"[..]));
        assert!(back.reflect().ftz && !back.reflect().precise_sqrt);
        assert_eq!(back.managed[0].bytes(), [10, 0]);
        let other = [0x50, 0xed, 0x55, 0xba, 0, 0, 0, 0u8];
        // SAFETY: eight bytes.
        assert!(matches!(
            unsafe { unpack(other.as_ptr()) },
            Err(BlobError::Foreign)
        ));
    }
}
