//! Philox4x32-10 (Salmon et al., Parallel random numbers: as easy as 1, 2, 3, SC 2011): a counter, enciphered.
use super::{Generator, unit, unit_double};

/// Sequences of the host API: so many threads take four words each in turn.
const SEQUENCES: u64 = 65536;

/// Four words for a counter.
fn block(mut c: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    for _ in 0..10 {
        let (a, b) = (u64::from(c[0]) * 0xD251_1F53, u64::from(c[2]) * 0xCD9E_8D57);
        c = [
            (b >> 32) as u32 ^ c[1] ^ key[0],
            b as u32,
            (a >> 32) as u32 ^ c[3] ^ key[1],
            a as u32,
        ];
        key[0] = key[0].wrapping_add(0x9E37_79B9);
        key[1] = key[1].wrapping_add(0xBB67_AE85);
    }
    c
}

/// The generator of `CURAND_RNG_PSEUDO_PHILOX4_32_10`.
#[derive(Debug, Clone)]
pub struct Philox {
    key: [u32; 2],
    /// Of each sequence, the counter of its next words.
    counters: Vec<u64>,
    offset: u64,
}

impl Philox {
    /// From a seed, and so many numbers after its first one.
    pub fn new(seed: u64, offset: u64) -> Philox {
        let (rounds, begun) = (offset / 4 / SEQUENCES, offset / 4 % SEQUENCES);
        Philox {
            key: [seed as u32, (seed >> 32) as u32],
            counters: (0..SEQUENCES)
                .map(|i| rounds + u64::from(i < begun))
                .collect(),
            offset,
        }
    }

    /// The words of a sequence at a counter.
    fn words(&self, sequence: u64, counter: u64) -> [u32; 4] {
        let high = |x: u64| (x >> 32) as u32;
        let c = [
            counter as u32,
            high(counter),
            sequence as u32,
            high(sequence),
        ];
        block(c, self.key)
    }

    /// Fills `to` with the four numbers that `group` makes for each thread in turn, of so many counters.
    fn fill<T: Copy>(
        &mut self,
        to: &mut [T],
        counters: u64,
        group: impl Fn(&Philox, u64, u64) -> [T; 4],
    ) {
        let mut at = 0;
        while at < to.len() {
            let sequence = self.offset / 4 % SEQUENCES;
            let first = (self.offset % 4) as usize;
            let numbers = group(self, sequence, self.counters[sequence as usize]);
            let count = (4 - first).min(to.len() - at);
            to[at..at + count].copy_from_slice(&numbers[first..first + count]);
            at += count;
            self.offset += count as u64;
            if first + count == 4 {
                self.counters[sequence as usize] += counters;
            }
        }
    }
}

impl Generator for Philox {
    fn bits(&mut self, to: &mut [u32]) {
        self.fill(to, 1, Philox::words);
    }

    fn uniform(&mut self, to: &mut [f32]) {
        self.fill(to, 1, |p, sequence, c| p.words(sequence, c).map(unit));
    }

    fn uniform_double(&mut self, to: &mut [f64]) {
        self.fill(to, 2, |p, sequence, c| {
            let (a, b) = (p.words(sequence, c), p.words(sequence, c + 1));
            [(a[0], a[1]), (a[2], a[3]), (b[0], b[1]), (b[2], b[3])].map(|(x, y)| unit_double(x, y))
        });
    }

    fn offset(&self) -> u64 {
        self.offset
    }
}
