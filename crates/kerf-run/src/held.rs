//! A buffer that the device holds in another format than the workload's: its bytes there and back.
use kerf_num::Format;

/// How a buffer is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeldBuffer {
    /// The workload's format.
    pub from: Format,
    /// The device's.
    pub to: Format,
}

impl HeldBuffer {
    /// A number of bytes of the workload's, on the device.
    pub fn bytes(self, n: usize) -> usize {
        n / self.from.bytes() * self.to.bytes()
    }
    /// Content for the device, each number rounded once.
    pub fn narrow(self, bytes: &[u8]) -> Vec<u8> {
        convert(bytes, self.from, self.to)
    }
    /// Content as the workload has it.
    pub fn widen(self, bytes: &[u8]) -> Vec<u8> {
        convert(bytes, self.to, self.from)
    }
}

/// Numbers that one thread converts, at least.
const PIECE: usize = 1 << 18;

fn convert(bytes: &[u8], from: Format, to: Format) -> Vec<u8> {
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

fn piece(bytes: &[u8], out: &mut [u8], from: Format, to: Format) {
    let numbers = bytes.chunks_exact(from.bytes());
    for (c, out) in numbers.zip(out.chunks_exact_mut(to.bytes())) {
        let mut raw = [0u8; 8];
        raw[..c.len()].copy_from_slice(c);
        let bits = to.encode(from.decode(u64::from_le_bytes(raw)));
        out.copy_from_slice(&bits.to_le_bytes()[..to.bytes()]);
    }
}
