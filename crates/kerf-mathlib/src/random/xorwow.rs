//! XORWOW (Marsaglia, Xorshift RNGs, Journal of Statistical Software 2003), in 4096 sequences that are 2^67 numbers apart.
use super::{Generator, unit, unit_double};
use std::sync::OnceLock;

/// Sequences of the host API.
const SEQUENCES: usize = 4096;

/// The shift register: 160 bits.
type Register = [u32; 5];

/// What the register becomes with one number drawn.
fn step(v: Register) -> Register {
    let t = v[0] ^ v[0] >> 2;
    let last = v[4] ^ v[4] << 4 ^ t ^ t << 1;
    [v[1], v[2], v[3], v[4], last]
}

/// A linear map of registers: what becomes of each of the 160 bits.
#[derive(Clone)]
struct BitMatrix(Vec<Register>);

impl BitMatrix {
    fn one_step() -> BitMatrix {
        let bit = |i: usize| {
            let mut v = [0; 5];
            v[i / 32] = 1 << (i % 32);
            step(v)
        };
        BitMatrix((0..160).map(bit).collect())
    }

    fn apply(&self, v: Register) -> Register {
        let mut out = [0; 5];
        for (i, image) in self.0.iter().enumerate() {
            if v[i / 32] >> (i % 32) & 1 == 1 {
                for (o, x) in out.iter_mut().zip(image) {
                    *o ^= x;
                }
            }
        }
        out
    }

    fn squared(&self) -> BitMatrix {
        BitMatrix(self.0.iter().map(|image| self.apply(*image)).collect())
    }
}

/// Powers of the step: 2^0, 2^1, ... and 2^67 steps.
fn powers() -> &'static [BitMatrix] {
    static POWERS: OnceLock<Vec<BitMatrix>> = OnceLock::new();
    POWERS.get_or_init(|| {
        let mut all = vec![BitMatrix::one_step()];
        while all.len() <= 67 {
            all.push(all[all.len() - 1].squared());
        }
        all
    })
}

/// A place in one sequence.
#[derive(Debug, Clone, Copy)]
struct Sequence {
    register: Register,
    weyl: u32,
}

impl Sequence {
    fn from_seed(seed: u64) -> Sequence {
        let a = 1_099_087_573u32.wrapping_mul(seed as u32 ^ 0xaad2_6b49);
        let b = 2_591_861_531u32.wrapping_mul((seed >> 32) as u32 ^ 0xf7dc_efdd);
        Sequence {
            register: [
                123_456_789u32.wrapping_add(a),
                362_436_069 ^ a,
                521_288_629u32.wrapping_add(b),
                88_675_123 ^ b,
                5_783_321u32.wrapping_add(a),
            ],
            weyl: 6_615_241u32.wrapping_add(b).wrapping_add(a),
        }
    }

    fn next(&mut self) -> u32 {
        self.register = step(self.register);
        self.weyl = self.weyl.wrapping_add(362_437);
        self.register[4].wrapping_add(self.weyl)
    }

    fn skip(&mut self, n: u64) {
        for (i, power) in powers().iter().take(64).enumerate() {
            if n >> i & 1 == 1 {
                self.register = power.apply(self.register);
            }
        }
        self.weyl = self.weyl.wrapping_add(362_437u32.wrapping_mul(n as u32));
    }
}

/// The generator of `CURAND_RNG_PSEUDO_XORWOW`, which is the default one.
#[derive(Debug, Clone)]
pub struct Xorwow {
    sequences: Vec<Sequence>,
    offset: u64,
}

impl Xorwow {
    /// From a seed, and so many numbers after its first one.
    pub fn new(seed: u64, offset: u64) -> Xorwow {
        let mut s = Sequence::from_seed(seed);
        let rounds = offset / SEQUENCES as u64;
        let mut sequences = Vec::with_capacity(SEQUENCES);
        for i in 0..SEQUENCES {
            let mut here = s;
            let begun = (i as u64) < offset % SEQUENCES as u64;
            here.skip(rounds + u64::from(begun));
            sequences.push(here);
            // 2^67 steps leave the Weyl sequence where it is.
            s.register = powers()[67].apply(s.register);
        }
        Xorwow { sequences, offset }
    }

    fn fill<T>(&mut self, to: &mut [T], number: impl Fn(&mut Sequence) -> T) {
        for t in to {
            *t = number(&mut self.sequences[self.offset as usize % SEQUENCES]);
            self.offset += 1;
        }
    }
}

impl Generator for Xorwow {
    fn bits(&mut self, to: &mut [u32]) {
        self.fill(to, Sequence::next);
    }

    fn uniform(&mut self, to: &mut [f32]) {
        self.fill(to, |s| unit(s.next()));
    }

    fn uniform_double(&mut self, to: &mut [f64]) {
        self.fill(to, |s| {
            let x = s.next();
            unit_double(x, s.next())
        });
    }

    fn offset(&self) -> u64 {
        self.offset
    }
}
