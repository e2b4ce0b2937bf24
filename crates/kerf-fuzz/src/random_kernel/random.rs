//! The pseudo-random source of the generator.
use kerf_num::random::SplitMix64;

/// A SplitMix64 stream: integer arithmetic only, so every machine draws the same numbers.
pub(super) struct Random {
    numbers: SplitMix64,
}

impl Random {
    /// The stream of item `index` under `seed`. Streams of one seed are independent of each other,
    /// so kernel 3 of a module is the same text whether four or forty kernels are asked for.
    pub(super) fn stream(seed: u64, index: u64) -> Self {
        let first = SplitMix64::at(seed, 0);
        let second = first ^ index.wrapping_mul(0xd134_2543_de82_ef95);
        Random {
            numbers: SplitMix64::new(SplitMix64::at(second, 0)),
        }
    }

    /// The next 64 random bits.
    pub(super) fn next(&mut self) -> u64 {
        self.numbers.bits()
    }

    /// A number in `0..bound`; 0 for a bound of 0. The bias of the reduction is below 2^-32 for
    /// the small bounds used here.
    pub(super) fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next()) * bound as u128) >> 64) as usize
    }

    /// A number in `low..=high`.
    pub(super) fn within(&mut self, low: usize, high: usize) -> usize {
        low + self.below(high - low + 1)
    }

    /// True in `percent` cases of a hundred.
    pub(super) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One of `items`, which must not be empty.
    pub(super) fn choose<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }

    /// One of `items`, drawn in proportion to the weights; the weights must not all be zero.
    pub(super) fn weighted<T: Copy>(&mut self, items: &[(usize, T)]) -> T {
        let total = items.iter().map(|item| item.0).sum();
        let mut left = self.below(total);
        for &(weight, item) in items {
            if left < weight {
                return item;
            }
            left -= weight;
        }
        items[0].1
    }

    /// A number uniform in [0, 1) with 53 random bits.
    pub(super) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A random order of `items`.
    pub(super) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = self.below(last + 1);
            items.swap(last, other);
        }
    }
}
