//! A random permutation without a table: where any one index goes is computed by itself.

/// A permutation of `0 .. count`.
#[derive(Debug, Clone, Copy)]
pub struct Permutation {
    /// Numbers that are permuted.
    pub count: u64,
    /// The largest number of as many bits as the largest of these.
    pub mask: u64,
    /// Half of these bits, rounded up; at least 1.
    pub shift: u32,
    /// What chooses the permutation.
    pub key: (u64, u64),
}

/// Rounds of the mixing function.
pub const ROUNDS: u64 = 6;

impl Permutation {
    /// Chosen by 128 bits.
    pub fn new(count: u64, key: (u64, u64)) -> Permutation {
        let bits = 64 - count.saturating_sub(1).leading_zeros();
        Permutation {
            count,
            mask: u64::MAX.checked_shr(64 - bits).unwrap_or(0),
            shift: bits.div_ceil(2).max(1),
            key,
        }
    }

    /// Where `i` goes, for `i` below the count.
    ///
    /// A permutation of the next power of two is applied until it lands below the count. Starting
    /// from there it has to, since its cycle comes back to `i`; on average it takes less than two
    /// applications.
    pub fn at(&self, i: u64) -> u64 {
        let mut x = i;
        loop {
            x = self.mix(x);
            if x < self.count || self.count == 0 {
                return x;
            }
        }
    }

    /// Steps that can each be undone among the numbers up to the mask.
    fn mix(&self, mut x: u64) -> u64 {
        let mut key = self.key.0;
        for _ in 0..ROUNDS {
            key = key
                .wrapping_mul(0x9E37_79B9_7F4A_7C15)
                .wrapping_add(self.key.1);
            x = x.wrapping_add(key >> 7) & self.mask;
            x ^= x >> self.shift;
            x = x.wrapping_mul(key.rotate_left(29) | 1) & self.mask;
            x ^= x >> self.shift;
        }
        x
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_value_once() {
        for count in (1..70).chain([1000, 4096, 4097, 65535]) {
            let p = Permutation::new(count, (123, 456));
            let mut seen: Vec<u64> = (0..count).map(|i| p.at(i)).collect();
            seen.sort_unstable();
            assert!(seen.into_iter().eq(0..count), "{count}");
        }
    }

    #[test]
    fn keys_matter_and_nothing_stays_in_order() {
        let list = |key| {
            let p = Permutation::new(1000, key);
            (0..1000).map(|i| p.at(i)).collect::<Vec<_>>()
        };
        assert_ne!(list((1, 2)), list((2, 2)));
        assert_ne!(list((1, 2)), list((1, 3)));
        let rising = list((1, 2)).windows(2).filter(|w| w[0] < w[1]).count();
        assert!((400..600).contains(&rising), "{rising}");
        let fixed = (0..).zip(list((1, 2))).filter(|(i, v)| i == v);
        assert!(fixed.count() < 8);
    }
}
