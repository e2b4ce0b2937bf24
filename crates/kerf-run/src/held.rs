//! A buffer that the device holds in another format than the workload's: its bytes there and back.
use kerf_num::scaled::StorageLoss;
use kerf_num::{Format, StorageFormat};

/// How a buffer is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeldBuffer {
    /// The workload's format.
    pub from: Format,
    /// The device's.
    pub to: StorageFormat,
}

impl HeldBuffer {
    /// A number of bytes of the workload's, on the device.
    pub fn bytes(self, n: usize) -> usize {
        n / self.from.bytes() * self.to.bytes()
    }
    /// Content for the device, each number rounded once.
    pub fn narrow(self, bytes: &[u8]) -> Vec<u8> {
        convert(bytes, self.from.into(), self.to)
    }
    /// How many numbers of a content saturate, and how many are not held, on the way to the device.
    pub fn losses(self, bytes: &[u8]) -> [u64; 2] {
        let mut lost = [0; 2];
        if self.to.scaled().is_none() {
            return lost;
        }
        for c in bytes.chunks_exact(self.from.bytes()) {
            match self.to.encode_with_loss(self.from.decode(word(c))).1 {
                StorageLoss::None => {}
                StorageLoss::Saturated => lost[0] += 1,
                StorageLoss::NotHeld => lost[1] += 1,
            }
        }
        lost
    }
    /// Content as the workload has it.
    pub fn widen(self, bytes: &[u8]) -> Vec<u8> {
        convert(bytes, self.to, self.from.into())
    }
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
