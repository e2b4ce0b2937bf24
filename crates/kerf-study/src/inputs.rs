//! Inputs: a counter-based generator, so that a seed gives the same numbers on every machine.
use kerf_num::random::{SplitMix64, mix};

/// A stream of random numbers, addressed by index.
#[derive(Debug, Clone, Copy)]
pub struct InputStream {
    key: u64,
}

impl InputStream {
    /// The stream of a purpose: seed and name decide it.
    pub fn new(seed: u64, name: &str) -> InputStream {
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325u64, |h, b| {
            (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3)
        });
        InputStream {
            key: mix(mix(seed) ^ hash),
        }
    }

    /// 64 random bits for an index.
    pub fn bits(self, i: u64) -> u64 {
        SplitMix64::at(self.key, i)
    }

    /// A number strictly between 0 and 1.
    pub fn unit(self, i: u64) -> f64 {
        ((self.bits(i) >> 12) as f64 + 0.5) * (0.5f64).powi(52)
    }

    /// A number of an open interval.
    pub fn within(self, i: u64, (low, high): (f64, f64)) -> f64 {
        low + (high - low) * self.unit(i)
    }

    /// A number of an open interval that f32 holds exactly, and so does every other type: studies of
    /// arithmetic start from the same numbers in all of them.
    pub fn single_within(self, i: u64, range: (f64, f64)) -> f64 {
        f64::from(self.within(i, range) as f32)
    }

    /// A number of an interval as high and low word, with 106 random bits: no type but double2 holds it.
    pub fn wide_within(self, i: u64, range: (f64, f64)) -> (f64, f64) {
        let hi = self.within(i, range);
        let ulp = hi.next_up() - hi;
        // The low word has indices of its own.
        (hi, (self.unit(!i) - 0.5) * ulp)
    }

    /// Indices 0..n in random order (Fisher and Yates).
    pub fn order(self, n: usize) -> Vec<usize> {
        let mut all: Vec<usize> = (0..n).collect();
        for i in (1..n).rev() {
            // The bias of the remainder, n in 2^64, is of no account here.
            all.swap(i, (self.bits(i as u64) % (i as u64 + 1)) as usize);
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_and_a_name_decide_everything() {
        let (a, b) = (InputStream::new(1, "x"), InputStream::new(1, "y"));
        assert_eq!(a.bits(5), InputStream::new(1, "x").bits(5));
        assert_ne!(a.bits(5), b.bits(5));
        assert_ne!(a.bits(5), InputStream::new(2, "x").bits(5));
        // Computed apart from this code: the same on every machine.
        assert_eq!(InputStream::new(1, "x").bits(0), 0xf126_cc64_cb4b_c6d2);
    }

    #[test]
    fn numbers_lie_in_their_interval_and_fill_it() {
        let s = InputStream::new(3, "t");
        let v: Vec<f64> = (0..10_000).map(|i| s.within(i, (2.0, 4.0))).collect();
        assert!(v.iter().all(|x| (2.0..4.0).contains(x)));
        let mean = v.iter().sum::<f64>() / 1e4;
        assert!((mean - 3.0).abs() < 0.05);
        let mut o = s.order(100);
        assert_ne!(o, (0..100).collect::<Vec<_>>());
        o.sort();
        assert_eq!(o, (0..100).collect::<Vec<_>>());
    }
}
