//! Buffers that a plan holds in narrower formats: what the application copies is converted on the way.
//!
//! `buffers.json` beside the plan names allocations by their order, which is the same in every run of a
//! program that does the same. An allocation keeps its size; only its first part is used.
use crate::config::Config;
use crate::error::{CallFailure, code};
use crate::registered::LoadedUnit;
use crate::state::{Allocation, State};
use kerf_ir::kernels::{KernelInfo, ParamKind, ScalarKind};
use kerf_num::Format;
use std::collections::BTreeMap;
use std::ffi::c_void;

/// What the application's numbers are.
pub const FROM: Format = Format::F64;

fn refuse(what: impl Into<String>) -> CallFailure {
    CallFailure::new(code::NOT_SUPPORTED, what.into())
}

fn scaled(bytes: u64, to: Format) -> Result<u64, CallFailure> {
    let (from, to) = (FROM.bytes() as u64, to.bytes() as u64);
    match bytes % from {
        0 => Ok(bytes / from * to),
        _ => Err(refuse(
            "a part of a number of a buffer that the plan holds in another format",
        )),
    }
}

/// Numbers in another format, rounded once. The processor's own conversions round as ours do; programs that copy in a
/// loop would wait for anything slower.
fn convert(bytes: &[u8], from: Format, to: Format) -> Vec<u8> {
    fn words<const N: usize>(bytes: &[u8]) -> impl Iterator<Item = [u8; N]> {
        bytes.as_chunks::<N>().0.iter().copied()
    }
    let mut out = vec![0u8; bytes.len() / from.bytes() * to.bytes()];
    match (from, to) {
        (Format::F64, Format::F32) => {
            for (o, b) in out.as_chunks_mut::<4>().0.iter_mut().zip(words(bytes)) {
                *o = (f64::from_le_bytes(b) as f32).to_le_bytes();
            }
        }
        (Format::F32, Format::F64) => {
            for (o, b) in out.as_chunks_mut::<8>().0.iter_mut().zip(words(bytes)) {
                *o = f64::from(f32::from_le_bytes(b)).to_le_bytes();
            }
        }
        _ => {
            let wide = bytes.chunks_exact(from.bytes());
            for (o, c) in out.chunks_exact_mut(to.bytes()).zip(wide) {
                let mut b = [0u8; 8];
                b[..c.len()].copy_from_slice(c);
                let x = from.decode(u64::from_le_bytes(b));
                o.copy_from_slice(&to.encode(x).to_le_bytes()[..to.bytes()]);
            }
        }
    }
    out
}

impl State {
    /// Where an address of a held allocation is on the device, and its format; none for any other.
    pub fn held(&self, address: u64) -> Result<Option<(u64, Format)>, CallFailure> {
        let Some((at, Allocation { held: Some(f), .. })) = self.holding(address) else {
            return Ok(None);
        };
        Ok(Some((at + scaled(address - at, *f)?, *f)))
    }
}

/// Copies where an end is held in another format; false if none is, and nothing was done.
pub fn copy(
    s: &mut State,
    to: u64,
    from: u64,
    bytes: usize,
    stream: u64,
) -> Result<bool, CallFailure> {
    let (a, b) = (s.held(to)?, s.held(from)?);
    let (target, source, format) = match (a, b) {
        (None, None) => return Ok(false),
        (Some((t, f)), Some((r, g))) if f == g => {
            let n = scaled(bytes as u64, f)? as usize;
            s.on_device(|d| d.copy(t, r, n, stream, true))?;
            return Ok(true);
        }
        (Some(_), Some(_)) => return Err(refuse("a copy between buffers of different formats")),
        (Some((t, f)), None) => (Some(t), None, f),
        (None, Some((r, f))) => (None, Some(r), f),
    };
    let n = scaled(bytes as u64, format)? as usize;
    if let Some(t) = target {
        if s.is_on_device(from) {
            return Err(refuse("a copy between buffers of different formats"));
        }
        // SAFETY: the application's own range, as it says.
        let data = unsafe { std::slice::from_raw_parts(from as *const u8, bytes) };
        let narrow = convert(data, FROM, format);
        s.on_device(|d| d.copy(t, narrow.as_ptr() as u64, n, stream, true))?;
    }
    if let Some(r) = source {
        if s.is_on_device(to) {
            return Err(refuse("a copy between buffers of different formats"));
        }
        let mut narrow = vec![0u8; n];
        s.on_device(|d| d.copy(narrow.as_mut_ptr() as u64, r, n, stream, true))?;
        let wide = convert(&narrow, format, FROM);
        // SAFETY: as above.
        unsafe { std::ptr::copy_nonoverlapping(wide.as_ptr(), to as *mut u8, wide.len()) };
    }
    Ok(true)
}

/// Fills a held allocation; false if it is none.
pub fn fill(
    s: &mut State,
    to: u64,
    value: u8,
    bytes: usize,
    stream: u64,
) -> Result<bool, CallFailure> {
    let Some((at, f)) = s.held(to)? else {
        return Ok(false);
    };
    if value != 0 {
        return Err(refuse(
            "a fill with bytes other than 0 of a buffer in another format",
        ));
    }
    let n = scaled(bytes as u64, f)? as usize;
    s.on_device(|d| d.fill(at, 0, n, stream))?;
    Ok(true)
}

/// Does an allocation lie in a format of its own?
pub fn is_held(s: &State, address: u64) -> bool {
    s.holding(address).is_some_and(|(_, a)| a.held.is_some())
}

/// The arguments of a launch, with places in held allocations as they are on the device. `moved` is room
/// for them.
pub fn arguments(
    s: &State,
    u: &LoadedUnit,
    k: &KernelInfo,
    args: &mut [*mut c_void],
    moved: &mut Vec<u64>,
) -> Result<(), CallFailure> {
    let wanted = u.storage.get(&k.symbol);
    let none = |c: &Config| c.buffers.allocations.is_empty();
    if wanted.is_none_or(BTreeMap::is_empty) && s.config.as_ref().is_none_or(none) {
        return Ok(());
    }
    moved.resize(args.len(), 0);
    for (i, p) in k.params.iter().enumerate() {
        // SAFETY: arguments have the sizes that the kernel's signature says.
        let word = |offset: u64| unsafe {
            args[i]
                .cast::<u8>()
                .add(offset as usize)
                .cast::<u64>()
                .read_unaligned()
        };
        match &p.kind {
            ParamKind::Pointer { .. } => {
                let held = s.held(word(0))?;
                let format = wanted.and_then(|w| w.get(&p.name).or_else(|| w.get(&i.to_string())));
                let format = format.and_then(|f| f.float());
                if p.used && held.map(|h| h.1) != format && word(0) != 0 {
                    return Err(refuse(format!(
                        "{}: the plan holds parameter `{}` and the buffer that it is given in different formats",
                        k.name, p.name
                    )));
                }
                if let Some((at, _)) = held {
                    moved[i] = at;
                    args[i] = (&raw mut moved[i]).cast();
                }
            }
            ParamKind::Struct { fields, .. } => {
                let inside = |f: &&kerf_ir::kernels::ScalarAt| {
                    f.kind == ScalarKind::Ptr && is_held(s, word(f.offset))
                };
                if fields.iter().any(|f| inside(&f)) {
                    return Err(refuse(format!(
                        "{}: the address of a buffer in another format is passed in a struct",
                        k.name
                    )));
                }
            }
            ParamKind::Scalar { .. } => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_rounded_once_and_come_back() {
        let doubles: Vec<u8> = [1.0f64, 0.1, -3.5]
            .iter()
            .flat_map(|x| x.to_le_bytes())
            .collect();
        let narrow = convert(&doubles, Format::F64, Format::F32);
        assert_eq!(narrow.len(), 12);
        assert_eq!(narrow[4..8], 0.1f32.to_le_bytes());
        let wide = convert(&narrow, Format::F32, Format::F64);
        assert_eq!(wide[8..16], f64::from(0.1f32).to_le_bytes());
        // The short way gives what the long one does, also where f32 ends.
        for x in [
            1e39,
            -1e-46,
            3.4028235677973366e38,
            1e-40,
            f64::INFINITY,
            0.1,
        ] {
            let bits = |v: &[u8]| u32::from_le_bytes([v[0], v[1], v[2], v[3]]);
            let short = convert(&f64::to_le_bytes(x), Format::F64, Format::F32);
            assert_eq!(u64::from(bits(&short)), Format::F32.encode(x), "{x}");
        }
        let half = convert(&doubles, Format::F64, Format::F16);
        assert_eq!(half.len(), 6);
        assert_eq!(half[..2], [0x00, 0x3c]);
        assert!(scaled(12, Format::F32).is_err());
        assert_eq!(scaled(16, Format::F32).expect("whole"), 8);
    }
}
