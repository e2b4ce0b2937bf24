//! What the counters say: one record a site, and how records of several launches add up.
use super::fields::{
    BELOW_INFINITY, BLOCK_FIELDS, CANCELLATION, FIELDS, FORMATS, FRACTION, INFINITE, Join, LANES,
    LARGEST, LARGEST_ARGUMENT, LARGEST_SECOND, LOCAL, LOCAL_VALUES, NAN, PARTS, RECORDED,
    SMALLEST_ARGUMENT, SMALLEST_SECOND, TINY_DW32, TINY_F16, TINY_F32, ZERO, infinity, join,
    number_of_key, unit,
};
use super::lanes::Spread;
use super::values::is_sum;
use super::{CountTable, KernelCounters, Pattern};
use kerf_num::Format;
use serde::{Deserialize, Serialize};

/// What the operation of a site loses in one format, its operands rounded to it as well.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LocalError {
    /// The format.
    pub format: Format,
    /// Largest relative error of a result other than zero.
    pub largest: f64,
    /// Their mean, in which no single one counts more than 2^20 of the format's units (2^-24, 2^-11, 2^-8).
    pub mean: f64,
}

/// What the values of one site were. Where values of some executions were recorded, numbers of values are carried to all.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SiteRecord {
    /// Executions, over all threads.
    pub count: u64,
    /// Largest finite magnitude, but for the format's largest number, which counts as an infinity.
    pub largest: Option<f64>,
    /// Smallest magnitude that is not zero.
    pub smallest: Option<f64>,
    /// Exponent of the largest: 2^e <= |x| < 2^(e+1).
    pub max_exponent: Option<i32>,
    /// Exponent of the smallest.
    pub min_exponent: Option<i32>,
    /// Zeros. Of a vector, and of a comparison, each number counts.
    pub zeros: u64,
    /// NaN.
    pub nan: u64,
    /// Infinities, and the largest number of the format, which programs write for one.
    pub infinite: u64,
    /// Numbers other than zero below the smallest normal f16, 2^-14.
    pub below_f16: u64,
    /// Numbers other than zero below the smallest normal f32 and bf16, 2^-126.
    pub below_f32: u64,
    /// Numbers other than zero below 2^-102, where the low word of a pair of f32 loses digits.
    #[serde(default)]
    pub below_dw32: u64,
    /// Significant bits that hold every value seen: with at most 24, f32 would round none of them.
    pub significant_bits: u32,
    /// Largest loss of leading bits in a sum: exponent of the larger operand less that of the result.
    /// All bits of the format where the result was zero.
    pub cancellation: Option<u32>,
    /// Smallest and largest finite argument of a math function, of two arguments the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<[f64; 2]>,
    /// Smallest and largest finite second argument of a math function of two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub second_arguments: Option<[f64; 2]>,
    /// What its operation alone would lose in narrower formats, whose exponents are taken as unlimited.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub local: Vec<LocalError>,
}

impl SiteRecord {
    /// What the operation alone would lose in a format; none where it had no value to lose digits of.
    pub fn local(&self, f: Format) -> Option<&LocalError> {
        self.local.iter().find(|l| l.format == f)
    }
}

/// Exponent of a number other than zero.
fn exponent(x: f64) -> i32 {
    let e = (x.to_bits() >> 52 & 0x7ff) as i32;
    match e {
        // Subnormal: the leading bit decides.
        0 => -1012 - (x.to_bits() << 1).leading_zeros() as i32,
        _ => e - 1023,
    }
}

fn local_errors(raw: &[u64; FIELDS], format: Format) -> Vec<LocalError> {
    if raw[LOCAL_VALUES] == 0 {
        return Vec::new();
    }
    let narrower = FORMATS.into_iter().zip(LOCAL);
    narrower
        .filter(|(f, _)| f.mantissa_bits() < format.mantissa_bits())
        .map(|(f, at)| LocalError {
            format: f,
            largest: f64::from_bits(raw[at.largest]),
            mean: raw[at.sum] as f64 / PARTS * unit(f) / raw[LOCAL_VALUES] as f64,
        })
        .collect()
}

/// Smallest and largest number by their fields; none where nothing was seen.
fn ends(smallest: u64, largest: u64) -> Option<[f64; 2]> {
    (largest > 0).then(|| [!smallest, largest].map(number_of_key))
}

/// A record of a site that was executed `count` times.
fn decode(raw: &[u64; FIELDS], format: Format, count: u64, sums: bool) -> SiteRecord {
    // Some executions stand for all.
    let all = |n: u64| match raw[RECORDED] {
        0 => n,
        recorded => (u128::from(n) * u128::from(count) / u128::from(recorded)) as u64,
    };
    let largest = (raw[LARGEST] > 0).then(|| format.decode(raw[LARGEST]));
    let smallest =
        (raw[BELOW_INFINITY] > 0).then(|| format.decode(infinity(format) - raw[BELOW_INFINITY]));
    let bits = format.mantissa_bits();
    let seen = largest.is_some();
    SiteRecord {
        count,
        largest,
        smallest,
        max_exponent: largest.map(exponent),
        min_exponent: smallest.map(exponent),
        zeros: all(raw[ZERO]),
        nan: all(raw[NAN]),
        infinite: all(raw[INFINITE]),
        below_f16: all(raw[TINY_F16]),
        below_f32: all(raw[TINY_F32]),
        below_dw32: all(raw[TINY_DW32]),
        significant_bits: match raw[FRACTION] {
            0 => u32::from(seen),
            f => bits - f.trailing_zeros().min(bits - 1),
        },
        cancellation: (sums && count > 0).then_some(raw[CANCELLATION] as u32),
        arguments: ends(raw[SMALLEST_ARGUMENT], raw[LARGEST_ARGUMENT]),
        second_arguments: ends(raw[SMALLEST_SECOND], raw[LARGEST_SECOND]),
        local: local_errors(raw, format),
    }
}

/// What was counted: one launch, or several joined.
#[derive(Debug, Clone, PartialEq)]
pub struct CountTally {
    blocks: Vec<[u64; BLOCK_FIELDS]>,
    records: Vec<[u64; FIELDS]>,
}

/// How often a block ran.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct BlockCount {
    /// By all threads together.
    pub threads: u64,
    /// By warps, as far as one lane tells: that which ran it most often. Exact where a lane takes part
    /// whenever any does, as under `if (tid < n)`.
    pub warps: u64,
    /// By the thread that ran it most often (in one call, for a function's).
    pub longest: u64,
}

/// Launches that are alike.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LaunchCounts {
    /// Symbol of the kernel.
    pub symbol: String,
    /// Blocks.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
    /// Dynamic shared memory in bytes.
    pub dynamic_shared: u32,
    /// Bytes of the buffer behind each parameter; 0 for what is no buffer.
    pub buffers: Vec<u64>,
    /// How many launches.
    pub repeats: u64,
    /// Executions of each block of the program in one launch (the mean, where launches were merged).
    pub blocks: Vec<BlockCount>,
    /// What the kernel's accesses touch, where it was looked at.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub patterns: Vec<Pattern>,
    /// Threads of a warp that run each block together, in the mean; 0 where no warp was seen to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub together: Vec<f32>,
    /// How blocks of threads differ in their work, where it was looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread: Option<Spread>,
}

fn words(bytes: &[u8]) -> impl Iterator<Item = u64> {
    bytes.chunks_exact(8).map(|c| {
        let mut b = [0; 8];
        b.copy_from_slice(c);
        u64::from_le_bytes(b)
    })
}

impl CountTally {
    /// Nothing yet.
    pub fn empty(c: &CountTable) -> CountTally {
        CountTally {
            blocks: vec![[0; BLOCK_FIELDS]; c.blocks],
            records: vec![[0; FIELDS]; c.formats.len()],
        }
    }

    /// From the bytes of the two variables.
    pub fn read(c: &CountTable, blocks: &[u8], sites: &[u8]) -> CountTally {
        let mut t = CountTally::empty(c);
        let fields = t.blocks.iter_mut().flatten();
        fields.zip(words(blocks)).for_each(|(to, w)| *to = w);
        let fields = t.records.iter_mut().flatten();
        fields.zip(words(sites)).for_each(|(to, w)| *to = w);
        t
    }

    /// Takes in another one.
    pub fn join(&mut self, other: &CountTally) {
        for (a, b) in self.blocks.iter_mut().zip(&other.blocks) {
            for (lane, (a, b)) in a.iter_mut().zip(b).enumerate() {
                *a = if lane < LANES { *a + b } else { (*a).max(*b) };
            }
        }
        for (a, b) in self.records.iter_mut().zip(&other.records) {
            for (field, (a, b)) in a.iter_mut().zip(b).enumerate() {
                *a = match join(field) {
                    Join::Largest => (*a).max(*b),
                    Join::All => *a | b,
                    Join::Sum => *a + b,
                };
            }
        }
    }

    /// What `all` blocks of threads would have counted, by `counted` of them.
    pub fn scale(&mut self, all: u64, counted: u64) {
        let by = |n: u64| (u128::from(n) * u128::from(all) / u128::from(counted.max(1))) as u64;
        for b in &mut self.blocks {
            b[..LANES].iter_mut().for_each(|n| *n = by(*n));
        }
    }

    /// How often a block ran.
    pub fn block(&self, number: usize) -> BlockCount {
        let b = &self.blocks[number];
        BlockCount {
            threads: b[..LANES].iter().sum(),
            warps: b[..LANES].iter().copied().max().unwrap_or(0),
            longest: b[LANES],
        }
    }

    /// How often each block ran.
    pub fn blocks(&self) -> Vec<BlockCount> {
        (0..self.blocks.len()).map(|b| self.block(b)).collect()
    }

    /// Records of a kernel's sites.
    pub fn sites(&self, c: &CountTable, k: &KernelCounters) -> Vec<SiteRecord> {
        let one = |id: usize| {
            let slot = k.site_records[id];
            let sums = is_sum(&k.sites[id].op);
            let count = self.block(k.site_blocks[id]).threads;
            decode(&self.records[slot], c.formats[slot], count, sums)
        };
        (0..k.sites.len()).map(one).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponents_of_normal_and_subnormal_numbers() {
        for (x, e) in [(1.0, 0), (1.99, 0), (2.0, 1), (0.75, -1), (f64::MAX, 1023)] {
            assert_eq!(exponent(x), e, "{x}");
        }
        for e in [-1022, -1023, -1050, -1074] {
            let mut x = 1.0f64;
            (0..-e).for_each(|_| x /= 2.0);
            assert_eq!(exponent(x), e);
        }
    }

    #[test]
    fn significant_bits() {
        let with = |fraction: u64| {
            let mut raw = [0; FIELDS];
            raw[LARGEST] = 1.0f64.to_bits();
            raw[FRACTION] = fraction;
            decode(&raw, Format::F64, 1, false).significant_bits
        };
        assert_eq!(with(0), 1);
        assert_eq!(with(1), 53);
        assert_eq!(with(1 << 51), 2);
        assert_eq!(with((1.1f32.to_bits() as u64 % (1 << 23)) << 29), 24);
    }
}
