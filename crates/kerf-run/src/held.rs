//! A buffer that the device holds in another way than the workload has it, in another format or with its records laid out
//! otherwise: its bytes there and back.
use kerf_exec::{Arg, BufferId};
use kerf_num::scaled::{ScaledFormat, StorageLoss};
use kerf_num::{Format, StorageFormat};
use kerf_pass::records::{RUN, Records};
use kerf_workload::workload::BufferSpec;
use std::sync::Arc;

/// The formats of a buffer whose numbers the device holds in another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeldNumbers {
    /// The workload's format.
    pub from: Format,
    /// The device's.
    pub to: StorageFormat,
}

impl HeldNumbers {
    /// A number of bytes of the workload's, on the device.
    pub fn bytes(self, n: usize) -> usize {
        n / self.from.bytes() * self.to.bytes()
    }
}

/// How a buffer is held. Records are laid out in the format that the device holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldBuffer {
    /// The formats; none where the device has the workload's.
    pub numbers: Option<HeldNumbers>,
    /// How records are stored; none where they are as the workload has them.
    pub records: Option<Arc<Records>>,
}

impl HeldBuffer {
    /// Numbers in another format.
    pub fn in_format(from: Format, to: StorageFormat) -> HeldBuffer {
        HeldBuffer {
            numbers: Some(HeldNumbers { from, to }),
            records: None,
        }
    }
    /// Bytes of so many of the workload's, if nothing but formats changes: of an element, of a field.
    pub fn element_bytes(&self, n: usize) -> usize {
        self.numbers.map_or(n, |f| f.bytes(n))
    }
    /// Bytes of the whole buffer on the device.
    pub fn bytes(&self, n: usize) -> usize {
        let n = self.element_bytes(n);
        self.records.as_ref().map_or(n, |r| r.stored_bytes(n))
    }
    /// Where a byte of the workload's buffer is on the device, from which a kernel takes what follows for a buffer; none where
    /// records in between are not laid out as at the beginning.
    pub fn offset(&self, n: usize) -> Option<usize> {
        let n = self.element_bytes(n);
        match &self.records {
            Some(r) => r.stored_offset(n),
            None => Some(n),
        }
    }
    /// The formats, where they are all that changes: device code converts between them.
    pub fn device_formats(&self) -> Option<HeldNumbers> {
        self.numbers.filter(|_| self.records.is_none())
    }
    /// The scaled format of its numbers.
    pub fn scaled(&self) -> Option<ScaledFormat> {
        self.numbers?.to.scaled()
    }
    /// Content for the device, each number rounded once.
    pub fn narrow(&self, bytes: &[u8]) -> Vec<u8> {
        let narrow = self.numbers.map(|f| convert(bytes, f.from.into(), f.to));
        match (&self.records, narrow) {
            (Some(r), narrow) => r.store(narrow.as_deref().unwrap_or(bytes)),
            (None, Some(narrow)) => narrow,
            (None, None) => bytes.to_vec(),
        }
    }
    /// How many numbers of a content saturate, and how many are not held, on the way to the device.
    pub fn losses(&self, bytes: &[u8]) -> [u64; 2] {
        let mut lost = [0; 2];
        let Some(f) = self.numbers.filter(|f| f.to.scaled().is_some()) else {
            return lost;
        };
        for c in bytes.chunks_exact(f.from.bytes()) {
            match f.to.encode_with_loss(f.from.decode(word(c))).1 {
                StorageLoss::None => {}
                StorageLoss::Saturated => lost[0] += 1,
                StorageLoss::NotHeld => lost[1] += 1,
            }
        }
        lost
    }
    /// Content as the workload has it, of so many bytes.
    pub fn widen(&self, bytes: &[u8], own: usize) -> Vec<u8> {
        let records = self.records.as_ref();
        let program = records.map(|r| r.load(bytes, self.element_bytes(own)));
        let bytes = program.as_deref().unwrap_or(bytes);
        match self.numbers {
            Some(f) => convert(bytes, f.to, f.from.into()),
            None => bytes.to_vec(),
        }
    }
}

/// Offsets into buffers that are held in another way. An error says which offset has no counterpart, and which would have.
pub(crate) fn shift_offsets(
    args: &mut [Arg],
    ids: &[BufferId],
    (held, buffers): (&[Option<HeldBuffer>], &[BufferSpec]),
) -> Result<(), (String, String)> {
    for a in args {
        if let Arg::Buffer { id, offset } = a
            && let Some(at) = ids.iter().position(|i| i == id)
            && let Some(Some(h)) = held.get(at)
        {
            let wrong = || {
                let name = &buffers[at].name;
                let what = format!(
                    "a kernel gets an address inside of `{name}`, whose records the plan stores otherwise"
                );
                (what, format!("an offset of a multiple of {RUN} records"))
            };
            *offset = h.offset(*offset as usize).ok_or_else(wrong)? as u64;
        }
    }
    Ok(())
}

/// Numbers that one thread converts, at least.
const PIECE: usize = 1 << 18;

fn convert(bytes: &[u8], from: StorageFormat, to: StorageFormat) -> Vec<u8> {
    let count = bytes.len() / from.bytes();
    let mut out = vec![0; count * to.bytes()];
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let each = count.div_ceil(cores).max(PIECE);
    let inputs = bytes.chunks(each * from.bytes());
    let pieces = inputs.zip(out.chunks_mut(each * to.bytes()));
    std::thread::scope(|s| {
        for (mine, out) in pieces {
            let mut work = move || piece(mine, out, from, to);
            match count > each {
                true => drop(s.spawn(work)),
                false => work(),
            }
        }
    });
    out
}

fn piece(bytes: &[u8], out: &mut [u8], from: StorageFormat, to: StorageFormat) {
    let numbers = bytes.chunks_exact(from.bytes());
    for (c, out) in numbers.zip(out.chunks_exact_mut(to.bytes())) {
        let bits = to.encode(from.decode(word(c)));
        out.copy_from_slice(&bits.to_le_bytes()[..to.bytes()]);
    }
}

/// Bytes of a number in a word.
fn word(bytes: &[u8]) -> u64 {
    let mut raw = [0u8; 8];
    raw[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(raw)
}
