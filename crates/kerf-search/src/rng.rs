//! A small random generator, the same numbers on every machine.

/// xoshiro256++ of Blackman and Vigna (2019), seeded by SplitMix64.
#[derive(Debug, Clone)]
pub struct Rng([u64; 4]);

/// One step of SplitMix64.
fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Rng {
    /// By seed.
    pub fn new(seed: u64) -> Rng {
        let mut s = seed;
        Rng([(); 4].map(|()| split_mix(&mut s)))
    }
    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        let s = &mut self.0;
        let out = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        out
    }
    /// Uniform in [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }
    /// Uniform in 0..n; 0 for n = 0.
    pub fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.bits()) * n as u128) >> 64) as usize
    }
    /// True with this probability.
    pub fn chance(&mut self, p: f64) -> bool {
        self.unit() < p
    }
    /// Standard normal (Box and Muller).
    pub fn normal(&mut self) -> f64 {
        let r = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        r * (std::f64::consts::TAU * self.unit()).cos()
    }
    /// One of a slice.
    pub fn pick<'a, T>(&mut self, of: &'a [T]) -> Option<&'a T> {
        of.get(self.below(of.len()))
    }
    /// Puts a slice into random order.
    pub fn shuffle<T>(&mut self, of: &mut [T]) {
        for i in (1..of.len()).rev() {
            of.swap(i, self.below(i + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stay_as_they_are() {
        let mut r = Rng::new(1);
        let first = [r.bits(), r.bits()];
        assert_eq!(first, [0xcfc5_d07f_6f03_c29b, 0xbf42_4132_963f_e08d]);
    }

    #[test]
    fn draws_are_in_range() {
        let mut r = Rng::new(7);
        let mut seen = [0; 5];
        for _ in 0..1000 {
            seen[r.below(5)] += 1;
            assert!((0.0..1.0).contains(&r.unit()));
        }
        assert!(seen.iter().all(|n| *n > 150), "{seen:?}");
        assert_eq!(r.below(0), 0);
        let mean = (0..4000).map(|_| r.normal()).sum::<f64>() / 4000.0;
        assert!(mean.abs() < 0.06, "{mean}");
    }
}
