//! MRG32k3a (L'Ecuyer, Good parameters for combined multiple recursive generators, Operations Research 1999), in sequences that
//! are 2^76 numbers apart.
use super::Generator;

const MODULI: [u64; 2] = [4_294_967_087, 4_294_944_443];

/// A linear map of the last three numbers of a recursion, modulo its prime.
type Map = [[u64; 3]; 3];

/// One step of each recursion, on its numbers from the oldest to the newest.
const STEPS: [Map; 2] = [
    [[0, 1, 0], [0, 0, 1], [MODULI[0] - 810_728, 1_403_580, 0]],
    [[0, 1, 0], [0, 0, 1], [MODULI[1] - 1_370_589, 0, 527_612]],
];

fn product(a: &Map, b: &Map, modulus: u64) -> Map {
    let entry = |i: usize, j: usize| {
        let sum = (0..3).map(|k| a[i][k] * b[k][j] % modulus).sum::<u64>();
        sum % modulus
    };
    std::array::from_fn(|i| std::array::from_fn(|j| entry(i, j)))
}

fn image(a: &Map, v: [u64; 3], modulus: u64) -> [u64; 3] {
    let entry = |row: &[u64; 3]| {
        let sum = (0..3).map(|k| row[k] * v[k] % modulus).sum::<u64>();
        sum % modulus
    };
    a.each_ref().map(entry)
}

/// A map, so many times squared.
fn squared(mut a: Map, times: u32, modulus: u64) -> Map {
    for _ in 0..times {
        a = product(&a, &a, modulus);
    }
    a
}

/// A place in one sequence.
#[derive(Debug, Clone, Copy)]
struct Sequence([[u64; 3]; 2]);

impl Sequence {
    fn from_seed(seed: u64) -> Sequence {
        if seed == 0 {
            return Sequence([[12345; 3]; 2]);
        }
        let a = u64::from(seed as u32 ^ 0x5555_5555);
        let b = u64::from((seed >> 32) as u32 ^ 0xAAAA_AAAA);
        let times = |x: [u64; 3], m: u64| x.map(|x| x * 12345 % m);
        Sequence([times([a, b, a], MODULI[0]), times([b, a, b], MODULI[1])])
    }

    fn apply(&mut self, maps: [&Map; 2]) {
        for ((v, map), m) in self.0.iter_mut().zip(maps).zip(MODULI) {
            *v = image(map, *v, m);
        }
    }

    fn skip(&mut self, n: u64) {
        let mut maps = STEPS;
        for i in 0..64 {
            if n >> i & 1 == 1 {
                self.apply([&maps[0], &maps[1]]);
            }
            maps = std::array::from_fn(|r| product(&maps[r], &maps[r], MODULI[r]));
        }
    }

    /// A number from 1 to the first modulus.
    fn next(&mut self) -> u64 {
        let [a, b] = &mut self.0;
        let sum = |p: u64, x: u64, q: u64, y: u64, m: u64| (p * x % m + q * y % m) % m;
        let x = sum(1_403_580, a[1], MODULI[0] - 810_728, a[0], MODULI[0]);
        let y = sum(527_612, b[2], MODULI[1] - 1_370_589, b[0], MODULI[1]);
        *a = [a[1], a[2], x];
        *b = [b[1], b[2], y];
        if x > y { x - y } else { x + MODULI[0] - y }
    }
}

/// The generator of `CURAND_RNG_PSEUDO_MRG32K3A`.
#[derive(Debug, Clone)]
pub struct Mrg32k3a {
    sequences: Vec<Sequence>,
    offset: u64,
}

impl Mrg32k3a {
    /// Sequences of the default ordering.
    pub const DEFAULT: usize = 81920;
    /// Sequences of the legacy ordering.
    pub const LEGACY: usize = 4096;

    /// From a seed, and so many numbers after its first one, in so many sequences.
    pub fn new(seed: u64, offset: u64, sequences: usize) -> Mrg32k3a {
        let apart: [Map; 2] = std::array::from_fn(|r| squared(STEPS[r], 76, MODULI[r]));
        let (rounds, rest) = (offset / sequences as u64, offset % sequences as u64);
        let mut s = Sequence::from_seed(seed);
        // Skipping commutes with going on to the next sequence.
        s.skip(rounds);
        let mut all = Vec::with_capacity(sequences);
        for i in 0..sequences as u64 {
            let mut here = s;
            if i < rest {
                here.next();
            }
            all.push(here);
            s.apply([&apart[0], &apart[1]]);
        }
        Mrg32k3a {
            sequences: all,
            offset,
        }
    }

    fn fill<T>(&mut self, to: &mut [T], number: impl Fn(f64) -> T) {
        let count = self.sequences.len();
        for t in to {
            let x = self.sequences[(self.offset % count as u64) as usize].next();
            *t = number(x as f64);
            self.offset += 1;
        }
    }
}

/// What makes a number one of 32 bits, and one of (0, 1].
const TO_BITS: f64 = 1.000_000_048_662;
const TO_UNIT: f64 = 2.328_306_549_837_829e-10;

impl Generator for Mrg32k3a {
    fn bits(&mut self, to: &mut [u32]) {
        self.fill(to, |x| (x * TO_BITS) as u32);
    }

    fn uniform(&mut self, to: &mut [f32]) {
        self.fill(to, |x| (x * TO_UNIT) as f32);
    }

    fn uniform_double(&mut self, to: &mut [f64]) {
        self.fill(to, |x| x * TO_UNIT);
    }

    fn offset(&self) -> u64 {
        self.offset
    }
}
