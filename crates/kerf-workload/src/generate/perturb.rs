//! Inputs near the generated ones: x' = x + N(0, V) (AMPT-GA, Kotipalli et al. 2019, section 4.7).
use super::philox::Stream;
use crate::elem::ElemType;
use crate::scalar::Scalar;
use kerf_num::Format;
use serde::{Deserialize, Serialize};

/// How far inputs are moved, and by which numbers.
///
/// The publication leaves the unit of V open, since its program has inputs of one kind. Here it is the
/// standard deviation of the values that are moved, for each field of each buffer: positions and
/// masses in one buffer are moved by as much as suits each. What does not vary is left alone.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Perturb {
    /// Standard deviation of the change over that of the values.
    pub relative: f64,
    /// Seed of the changes.
    pub seed: u64,
}

/// The floating-point format of a scalar.
pub fn format_of(s: Scalar) -> Option<Format> {
    match s {
        Scalar::F64 => Some(Format::F64),
        Scalar::F32 => Some(Format::F32),
        Scalar::F16 => Some(Format::F16),
        Scalar::Bf16 => Some(Format::Bf16),
        _ => None,
    }
}

fn read(bytes: &[u8], f: Format) -> f64 {
    let mut b = [0u8; 8];
    b[..f.bytes()].copy_from_slice(&bytes[..f.bytes()]);
    f.decode(u64::from_le_bytes(b))
}

/// Values that one partial sum is of.
pub const CHUNK: usize = 4096;
/// Interleaved sums of a chunk.
pub const LANES: usize = 128;

/// Sum of at most [`CHUNK`] values: lane `k` adds the values `k`, `k + LANES`, ... in order, then neighbouring lanes are
/// added pairwise.
fn chunk_sum(values: &[f64]) -> f64 {
    let mut lanes = [0.0; LANES];
    for row in values.chunks(LANES) {
        for (lane, x) in lanes.iter_mut().zip(row) {
            *lane += x;
        }
    }
    let mut step = 1;
    while step < LANES {
        for k in (0..LANES).step_by(2 * step) {
            lanes[k] += lanes[k + step];
        }
        step *= 2;
    }
    lanes[0]
}

/// Sum in an order that depends on the number of values alone: of chunks, then of chunks of their sums, until one is
/// left. A device adds in the same order (`generate.cu` of kerf-run), so that both have the same bits.
fn blocked_sum(values: impl Iterator<Item = f64>) -> f64 {
    let mut values = values.peekable();
    let mut sums = Vec::new();
    let mut chunk = Vec::with_capacity(CHUNK);
    while values.peek().is_some() {
        chunk.clear();
        chunk.extend(values.by_ref().take(CHUNK));
        sums.push(chunk_sum(&chunk));
    }
    while sums.len() > 1 {
        sums = sums.chunks(CHUNK).map(chunk_sum).collect();
    }
    sums.first().copied().unwrap_or(0.0)
}

/// Standard deviation of the finite values: their mean first, then the squares of the distances from it, so that nothing
/// is lost where the mean is far from zero. What is not finite adds a zero.
fn spread(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let finite = |x: &f64| x.is_finite();
    let count = values.clone().filter(finite).count() as f64;
    let zero_or = |x: f64, value: f64| if x.is_finite() { value } else { 0.0 };
    let mean = blocked_sum(values.clone().map(|x| zero_or(x, x))) / count;
    let squares = blocked_sum(values.map(|x| zero_or(x, (x - mean) * (x - mean))));
    standard_deviation(count, squares)
}

/// Standard deviation of `count` values whose squared distances from their mean have this sum.
pub fn standard_deviation(count: f64, squares: f64) -> f64 {
    if count > 1.0 {
        (squares / (count - 1.0)).sqrt()
    } else {
        0.0
    }
}

impl Perturb {
    /// Standard deviation of the change of values of this one; none where they are left alone.
    pub fn change(&self, deviation: f64) -> Option<f64> {
        let sd = self.relative * deviation;
        (sd > 0.0 && sd.is_finite()).then_some(sd)
    }

    /// Random numbers of the changes of the scalars at position `k` in the elements of a buffer.
    pub fn stream(&self, name: &str, k: usize) -> Stream {
        Stream::named(self.seed, name).branch(k as u32)
    }

    /// Moves the finite floating-point values of a buffer; gives whether it moved any.
    pub fn apply(&self, name: &str, elem: &ElemType, bytes: &mut [u8]) -> bool {
        let size = elem.size().max(1);
        let mut any = false;
        for (k, (offset, scalar)) in elem.scalars().into_iter().enumerate() {
            let Some(f) = format_of(scalar) else {
                continue;
            };
            let at = |e: &[u8]| read(&e[offset..], f);
            let Some(sd) = self.change(spread(bytes.chunks_exact(size).map(at))) else {
                continue;
            };
            any = true;
            let mut normal = self.stream(name, k).normals();
            for (i, e) in bytes.chunks_exact_mut(size).enumerate() {
                let x = at(e);
                if !x.is_finite() {
                    continue;
                }
                let moved = f.round(x + sd * normal(i as u64));
                let new = f.encode(moved).to_le_bytes();
                e[offset..offset + f.bytes()].copy_from_slice(&new[..f.bytes()]);
            }
        }
        any
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(v: &[f64]) -> Vec<u8> {
        v.iter().flat_map(|x| x.to_le_bytes()).collect()
    }

    fn values(b: &[u8]) -> Vec<f64> {
        b.chunks_exact(8).map(|c| read(c, Format::F64)).collect()
    }

    #[test]
    fn moves_by_the_spread_of_each_field() {
        let elem = ElemType::parse("f64x2").expect("a type");
        let n = 4000;
        // A field of spread 1000/sqrt(12), and one that does not vary.
        let before: Vec<f64> = (0..n)
            .flat_map(|i| [1e6 + 1000.0 * f64::from(i) / f64::from(n), 7.0])
            .collect();
        let mut b = bytes(&before);
        let p = Perturb {
            relative: 0.01,
            seed: 3,
        };
        assert!(p.apply("x", &elem, &mut b));
        let after = values(&b);
        let moves: Vec<f64> = (0..n as usize)
            .map(|i| after[2 * i] - before[2 * i])
            .collect();
        let rms = (moves.iter().map(|d| d * d).sum::<f64>() / f64::from(n)).sqrt();
        let expected = 0.01 * 1000.0 / 12f64.sqrt();
        assert!((rms / expected - 1.0).abs() < 0.05, "{rms} for {expected}");
        assert!((0..n as usize).all(|i| after[2 * i + 1] == 7.0));
    }

    #[test]
    fn same_seed_same_inputs_and_constants_stay() {
        let elem = ElemType::parse("f64").expect("a type");
        let moved = |seed, v: &[f64]| {
            let mut b = bytes(v);
            let any = Perturb {
                relative: 0.1,
                seed,
            }
            .apply("x", &elem, &mut b);
            (any, values(&b))
        };
        assert_eq!(moved(1, &[1.0, 2.0]), moved(1, &[1.0, 2.0]));
        assert_ne!(moved(1, &[1.0, 2.0]), moved(2, &[1.0, 2.0]));
        assert_eq!(moved(1, &[5.0, 5.0]), (false, vec![5.0, 5.0]));
    }

    #[test]
    fn the_spread_takes_finite_values_of_all_chunks() {
        let count = 3 * CHUNK + 5;
        let value = |i: usize| match i % 7 {
            0 => f64::NAN,
            1 => f64::NEG_INFINITY,
            k => 1e9 + k as f64,
        };
        let kept: Vec<f64> = (0..count).map(value).filter(|x| x.is_finite()).collect();
        let mean = kept.iter().map(|x| x - 1e9).sum::<f64>() / kept.len() as f64;
        let squares: f64 = kept.iter().map(|x| (x - 1e9 - mean).powi(2)).sum();
        let want = (squares / (kept.len() - 1) as f64).sqrt();
        let got = spread((0..count).map(value));
        assert!((got / want - 1.0).abs() < 1e-6, "{got} for {want}");
        assert_eq!(spread([3.0, f64::NAN].into_iter()), 0.0);
        assert_eq!(spread(std::iter::empty()), 0.0);
    }

    #[test]
    fn what_is_not_finite_keeps_its_bits() {
        let elem = ElemType::parse("f64").expect("a type");
        let odd_nan = f64::from_bits(0xfff0_0000_0000_0123);
        let mut b = bytes(&[1.0, odd_nan, 2.0, f64::INFINITY]);
        let p = Perturb {
            relative: 0.1,
            seed: 1,
        };
        assert!(p.apply("x", &elem, &mut b));
        assert_eq!(b[8..16], odd_nan.to_bits().to_le_bytes());
        assert_eq!(b[24..], f64::INFINITY.to_le_bytes());
        assert_ne!(b[..8], 1f64.to_le_bytes());
    }
}
