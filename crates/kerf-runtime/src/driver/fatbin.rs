//! Fat binaries: containers with PTX and machine code (SASS) for several architectures. Only PTX can be used here.
//!
//! NVIDIA does not document the layout; it is read as cuobjdump and compilers that write it agree on: a header
//! (magic, version, bytes of it, bytes of the entries), then entries, each with a header of its own and a payload that may be
//! compressed with LZ4 or Zstandard.
use std::io::Read;

/// First word of a fat binary.
pub const MAGIC: u32 = 0xba55_ed50;
/// First word of the struct that compilers put around its address.
pub const WRAPPER_MAGIC: u32 = 0x4662_43b1;

const KIND_PTX: u16 = 1;
const KIND_ELF: u16 = 2;
const COMPRESSED_LZ4: u64 = 0x2000;
const COMPRESSED_ZSTD: u64 = 0x8000;
/// Bytes of an entry's header up to the last field that is read.
const ENTRY_FIELDS: usize = 64;

/// Why no PTX comes from a fat binary.
#[derive(Debug, PartialEq, thiserror::Error)]
pub enum FatbinError {
    /// It ends before its own lengths say.
    #[error("the fat binary is cut off")]
    CutOff,
    /// A payload that does not decompress.
    #[error("PTX for sm_{arch} in the fat binary does not decompress: {why}")]
    Compression {
        /// Architecture of the entry.
        arch: u32,
        /// What the decompressor says.
        why: String,
    },
    /// Machine code alone.
    #[error(
        "the fat binary has machine code alone (SASS for {0}), which only a GPU can run; compile with PTX, for example \
         `nvcc -gencode arch=compute_80,code=compute_80`"
    )]
    MachineCodeAlone(String),
    /// Nothing of use.
    #[error("the fat binary has neither PTX nor machine code")]
    Empty,
}

fn field<const N: usize>(bytes: &[u8], at: usize) -> Result<[u8; N], FatbinError> {
    let found = bytes.get(at..at + N).and_then(|b| b.try_into().ok());
    found.ok_or(FatbinError::CutOff)
}

fn u16_at(bytes: &[u8], at: usize) -> Result<u16, FatbinError> {
    field(bytes, at).map(u16::from_le_bytes)
}

fn u32_at(bytes: &[u8], at: usize) -> Result<u32, FatbinError> {
    field(bytes, at).map(u32::from_le_bytes)
}

fn u64_at(bytes: &[u8], at: usize) -> Result<u64, FatbinError> {
    field(bytes, at).map(u64::from_le_bytes)
}

/// Bytes of a fat binary, by its header.
///
/// # Safety
/// 16 bytes at `at` are readable, and as many behind them as they say.
pub unsafe fn bytes_at(at: *const u8) -> Vec<u8> {
    // SAFETY: as the caller promises.
    unsafe {
        let head = std::slice::from_raw_parts(at, 16);
        let header = u16_at(head, 6).unwrap_or(16) as usize;
        let entries = u64_at(head, 8).unwrap_or(0) as usize;
        std::slice::from_raw_parts(at, header + entries).to_vec()
    }
}

struct Entry<'a> {
    kind: u16,
    arch: u32,
    flags: u64,
    uncompressed: usize,
    payload: &'a [u8],
}

impl Entry<'_> {
    fn text(&self) -> Result<Vec<u8>, FatbinError> {
        let bad = |why: String| FatbinError::Compression {
            arch: self.arch,
            why,
        };
        if self.flags & COMPRESSED_LZ4 != 0 {
            let plain = lz4_flex::block::decompress(self.payload, self.uncompressed);
            return plain.map_err(|e| bad(e.to_string()));
        }
        if self.flags & COMPRESSED_ZSTD != 0 {
            let mut plain = Vec::new();
            let decoder = ruzstd::decoding::StreamingDecoder::new(self.payload);
            let mut decoder = decoder.map_err(|e| bad(e.to_string()))?;
            decoder
                .read_to_end(&mut plain)
                .map_err(|e| bad(e.to_string()))?;
            return Ok(plain);
        }
        Ok(self.payload.to_vec())
    }
}

fn entries(bytes: &[u8]) -> Result<Vec<Entry<'_>>, FatbinError> {
    let begin = u16_at(bytes, 6)? as usize;
    let end = begin + u64_at(bytes, 8)? as usize;
    let all = bytes.get(..end).ok_or(FatbinError::CutOff)?;
    let (mut at, mut out) = (begin, Vec::new());
    while at < end {
        let head = all.get(at..).ok_or(FatbinError::CutOff)?;
        if head.len() < ENTRY_FIELDS {
            break;
        }
        let header = u32_at(head, 4)? as usize;
        let padded = u32_at(head, 8)? as usize;
        let compressed = u32_at(head, 16)? as usize;
        let flags = u64_at(head, 40)?;
        let is_compressed = flags & (COMPRESSED_LZ4 | COMPRESSED_ZSTD) != 0;
        let used = if is_compressed { compressed } else { padded };
        let payload = head.get(header..).and_then(|p| p.get(..used));
        out.push(Entry {
            kind: u16_at(head, 0)?,
            arch: u32_at(head, 28)?,
            flags,
            uncompressed: u64_at(head, 56)? as usize,
            payload: payload.ok_or(FatbinError::CutOff)?,
        });
        at += (header + padded).max(ENTRY_FIELDS);
    }
    Ok(out)
}

/// The PTX in a fat binary: of the newest architecture, at most `capability` (90 for `sm_90`) where there is such.
pub fn ptx(bytes: &[u8], capability: u32) -> Result<Vec<u8>, FatbinError> {
    let all = entries(bytes)?;
    let texts = || all.iter().filter(|e| e.kind == KIND_PTX);
    let suited = texts()
        .filter(|e| e.arch <= capability)
        .max_by_key(|e| e.arch);
    if let Some(e) = suited.or_else(|| texts().min_by_key(|e| e.arch)) {
        return e.text();
    }
    let machine = all.iter().filter(|e| e.kind == KIND_ELF);
    let names: Vec<String> = machine.map(|e| format!("sm_{}", e.arch)).collect();
    Err(match names.is_empty() {
        true => FatbinError::Empty,
        false => FatbinError::MachineCodeAlone(names.join(", ")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(kind: u16, arch: u32, flags: u64, payload: &[u8], plain: usize) -> Vec<u8> {
        let padded = payload.len().next_multiple_of(8);
        let mut e = vec![0u8; ENTRY_FIELDS];
        e[0..2].copy_from_slice(&kind.to_le_bytes());
        e[4..8].copy_from_slice(&(ENTRY_FIELDS as u32).to_le_bytes());
        e[8..12].copy_from_slice(&(padded as u32).to_le_bytes());
        e[16..20].copy_from_slice(&(payload.len() as u32).to_le_bytes());
        e[28..32].copy_from_slice(&arch.to_le_bytes());
        e[40..48].copy_from_slice(&flags.to_le_bytes());
        e[56..64].copy_from_slice(&(plain as u64).to_le_bytes());
        e.extend(payload);
        e.resize(ENTRY_FIELDS + padded, 0);
        e
    }

    fn container(parts: &[Vec<u8>]) -> Vec<u8> {
        let body = parts.concat();
        let mut out = MAGIC.to_le_bytes().to_vec();
        out.extend(1u16.to_le_bytes());
        out.extend(16u16.to_le_bytes());
        out.extend((body.len() as u64).to_le_bytes());
        out.extend(body);
        out
    }

    #[test]
    fn ptx_of_the_newest_suitable_architecture_is_taken() {
        let text = b".version 8.0\n.target sm_80\n";
        let packed = lz4_flex::block::compress(text);
        let file = container(&[
            entry(KIND_ELF, 90, 0, b"ELF", 0),
            entry(KIND_PTX, 70, 0, b".version 7.0\n\0\0\0", 0),
            entry(KIND_PTX, 80, COMPRESSED_LZ4, &packed, text.len()),
            entry(KIND_PTX, 100, 0, b".version 9.0", 0),
        ]);
        assert_eq!(ptx(&file, 90).expect("it has PTX"), text);
        assert!(
            ptx(&file, 75)
                .expect("it has PTX")
                .starts_with(b".version 7.0")
        );
        for n in 16..file.len() {
            assert!(ptx(&file[..n], 90).is_err(), "{n} bytes");
        }
    }

    #[test]
    fn machine_code_alone_is_refused_with_the_remedy() {
        let file = container(&[entry(KIND_ELF, 90, 0, b"ELF", 0)]);
        let why = ptx(&file, 90).expect_err("no PTX").to_string();
        assert!(why.contains("sm_90") && why.contains("nvcc"), "{why}");
        assert_eq!(ptx(&container(&[]), 90), Err(FatbinError::Empty));
    }
}
