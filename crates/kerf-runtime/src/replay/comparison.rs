//! A replay whose outputs stay on the device: where what it copies goes, and what its uploads come from.
use super::files::{bad, mapped};
use super::format::{COPIES, COPIES_DATA, DataPiece, RecordedCall};
use super::outputs::{self, LoggedCopy, ReplayOutputs};
use crate::error::{CallFailure, code};
use crate::held;
use crate::state::State;
use crate::trace::Copy;
use kerf_exec::cuda::DeviceMemory;
use kerf_exec::replay::{AppCriterion, JudgedReplay};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::Path;

/// Part of the free memory that may be used: programs on the device need some beside what they allocate.
const USED: f64 = 0.9;

/// Uploads of at least so many bytes are kept on the device; smaller ones take as long from there as from the host.
const KEPT_UPLOAD: u64 = 1 << 16;

/// Outputs of replays, and inputs, on the device.
pub struct ReplayComparison {
    outputs: ReplayOutputs,
    copies: Vec<LoggedCopy>,
    /// The copy that comes next.
    next: usize,
    /// Uploads by their place in the record, where the device has memory for them.
    uploads: Option<BTreeMap<u64, DeviceMemory>>,
}

/// The largest sum of bytes that are allocated at one time.
fn peak(calls: &[RecordedCall]) -> u64 {
    let (mut live, mut now, mut most) = (BTreeMap::new(), 0u64, 0u64);
    for c in calls {
        match c {
            RecordedCall::Alloc { address, bytes, .. } => {
                live.insert(*address, *bytes as u64);
                now += *bytes as u64;
            }
            RecordedCall::Free { address } => now -= live.remove(address).unwrap_or(0),
            _ => {}
        }
        most = most.max(now);
    }
    most
}

/// Bytes of the uploads that are kept.
fn upload_bytes(calls: &[RecordedCall]) -> u64 {
    let bytes = calls.iter().map(|c| match c {
        RecordedCall::Upload { data, .. } if data.bytes >= KEPT_UPLOAD => data.bytes,
        _ => 0,
    });
    bytes.sum()
}

fn out_of_step() -> CallFailure {
    CallFailure::new(
        code::UNKNOWN,
        "the replay copies something else than the replay before it",
    )
}

impl ReplayComparison {
    /// For the record in a folder, whose first replay has left what it copied. The device has nothing of a replay's now.
    pub fn open(
        s: &mut State,
        folder: &Path,
        calls: &[RecordedCall],
    ) -> Result<ReplayComparison, CallFailure> {
        let path = folder.join(COPIES);
        let text = std::fs::read_to_string(&path).map_err(|e| bad(&path, e))?;
        let copies: Vec<Copy> = serde_json::from_str(&text).map_err(|e| bad(&path, e))?;
        let recorded = mapped(&folder.join(COPIES_DATA))?;
        let device = s.config()?.device.clone();
        let on_gpu = device != "cpu";
        let (needed, uploads) = (outputs::need(&copies) + peak(calls), upload_bytes(calls));
        let mut keeps_uploads = on_gpu;
        if on_gpu {
            let free = s.on_device(|d| d.memory())?.0 as f64 * USED;
            if needed as f64 > free {
                return Err(CallFailure::new(
                    code::OUT_OF_MEMORY,
                    format!(
                        "comparing outputs on the device takes {:.1} GB, and it has {:.1}",
                        needed as f64 * 1e-9,
                        free * 1e-9
                    ),
                ));
            }
            keeps_uploads = (needed + uploads) as f64 <= free;
        }
        let (outputs, copies) = ReplayOutputs::new(&device, &copies, recorded)?;
        Ok(ReplayComparison {
            outputs,
            copies,
            next: 0,
            uploads: keeps_uploads.then(BTreeMap::new),
        })
    }

    /// Before a replay.
    pub fn begin(&mut self) {
        self.next = 0;
    }

    /// What comes from the device goes to the log.
    pub fn download(&mut self, s: &mut State, from: u64, bytes: u64) -> Result<(), CallFailure> {
        let copy = *self.copies.get(self.next).ok_or_else(out_of_step)?;
        if copy.last || copy.bytes as u64 != bytes {
            return Err(out_of_step());
        }
        self.next += 1;
        self.log(s, from, copy)
    }

    /// What kernels left in memory that goes, where that is compared.
    pub fn last_contents(&mut self, s: &mut State, address: u64) -> Result<(), CallFailure> {
        let number = s.memory.get(&address).map(|a| a.number);
        match self.copies.get(self.next).copied() {
            Some(c) if c.last && Some(c.allocation) == number => {
                self.next += 1;
                self.log(s, address, c)
            }
            _ => Ok(()),
        }
    }

    /// The same of all memory, at the end.
    pub fn end(&mut self, s: &mut State) -> Result<(), CallFailure> {
        let live: Vec<u64> = s.memory.keys().copied().collect();
        live.into_iter()
            .try_for_each(|address| self.last_contents(s, address))?;
        match self.next == self.copies.len() {
            true => Ok(()),
            false => Err(out_of_step()),
        }
    }

    fn log(&mut self, s: &mut State, from: u64, copy: LoggedCopy) -> Result<(), CallFailure> {
        let Some(to) = copy.to.filter(|_| copy.logged > 0) else {
            return Ok(());
        };
        let from = from + copy.skipped as u64;
        if let Some(narrow) = s.held(from)? {
            let count = copy.logged / held::FROM.bytes();
            if self.outputs.convert(narrow, (to, held::FROM), count)? {
                return Ok(());
            }
        }
        if held::copy(s, to, from, copy.logged, 0)? {
            return Ok(());
        }
        s.on_device(|d| d.copy(to, from, copy.logged, 0, false))
    }

    /// Copies what a record's upload has from memory of the device; false where the host has to.
    pub fn upload(
        &mut self,
        s: &mut State,
        to: u64,
        piece: DataPiece,
        data: &[u8],
    ) -> Result<bool, CallFailure> {
        let Some(uploads) = self.uploads.as_mut().filter(|_| piece.bytes >= KEPT_UPLOAD) else {
            return Ok(false);
        };
        let from = match uploads.entry(piece.offset) {
            Entry::Occupied(kept) => kept.get().address(),
            Entry::Vacant(place) => {
                let kept = s.on_device(|_| DeviceMemory::with_bytes(data, "an upload"))?;
                place.insert(kept).address()
            }
        };
        match s.held(to)? {
            Some(narrow) => {
                let count = data.len() / held::FROM.bytes();
                self.outputs.convert((from, held::FROM), narrow, count)
            }
            None => {
                s.on_device(|d| d.copy(to, from, data.len(), 0, false))?;
                Ok(true)
            }
        }
    }

    /// Compares what the replay left with what the recorded run left.
    pub fn judge(&mut self, c: &AppCriterion) -> Result<JudgedReplay, CallFailure> {
        self.outputs.judge(c)
    }
}
