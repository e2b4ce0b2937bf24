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

/// Standard deviation of the finite values.
fn spread(values: impl Iterator<Item = f64>) -> f64 {
    // Welford's updates, which lose nothing where the mean is far from zero.
    let (mut n, mut mean, mut squares) = (0.0, 0.0, 0.0);
    for x in values.filter(|x| x.is_finite()) {
        n += 1.0;
        let d = x - mean;
        mean += d / n;
        squares += d * (x - mean);
    }
    if n > 1.0 {
        (squares / (n - 1.0)).sqrt()
    } else {
        0.0
    }
}

impl Perturb {
    /// Moves the floating-point values of a buffer; gives whether it moved any.
    pub fn apply(&self, name: &str, elem: &ElemType, bytes: &mut [u8]) -> bool {
        let size = elem.size().max(1);
        let mut any = false;
        for (k, (offset, scalar)) in elem.scalars().into_iter().enumerate() {
            let Some(f) = format_of(scalar) else {
                continue;
            };
            let at = |e: &[u8]| read(&e[offset..], f);
            let sd = self.relative * spread(bytes.chunks_exact(size).map(at));
            if !(sd > 0.0 && sd.is_finite()) {
                continue;
            }
            any = true;
            let mut normal = Stream::named(self.seed, name).branch(k as u32).normals();
            for (i, e) in bytes.chunks_exact_mut(size).enumerate() {
                let moved = f.round(at(e) + sd * normal(i as u64));
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
}
