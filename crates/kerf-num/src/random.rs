//! Random numbers that are the same on every machine: integer arithmetic only.

/// What the state advances by: 2^64 over the golden ratio, made odd.
const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// The finaliser of SplitMix64: every bit of the argument reaches every bit of the result, and no two arguments have
/// the same result.
#[must_use]
pub const fn mix(z: u64) -> u64 {
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// SplitMix64: a counter, mixed.
///
/// Steele, Lea and Flood (2014): Fast splittable pseudorandom number generators, OOPSLA 2014,
/// doi:10.1145/2660193.2660195; the constants of [`mix`] are Stafford's variant 13, as in the reference implementation
/// of Vigna. The period is 2^64, and every seed is a place in the same cycle. Recorded results depend on the numbers of
/// each seed: they must not change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SplitMix64 {
    state: u64,
}

impl SplitMix64 {
    /// The numbers of a seed.
    #[must_use]
    pub const fn new(seed: u64) -> SplitMix64 {
        SplitMix64 { state: seed }
    }

    /// The next 64 random bits.
    pub const fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GAMMA);
        mix(self.state)
    }

    /// The number at a place of a seed's sequence, from 0, without those before it.
    #[must_use]
    pub const fn at(seed: u64, place: u64) -> u64 {
        mix(seed.wrapping_add(place.wrapping_add(1).wrapping_mul(GAMMA)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of the reference implementation (Vigna, splitmix64.c).
    #[test]
    fn published_values() {
        let first = |seed: u64| {
            let mut r = SplitMix64::new(seed);
            [(); 5].map(|()| r.bits())
        };
        assert_eq!(
            first(0),
            [
                0xe220_a839_7b1d_cdaf,
                0x6e78_9e6a_a1b9_65f4,
                0x06c4_5d18_8009_454f,
                0xf88b_b8a8_724c_81ec,
                0x1b39_896a_51a8_749b,
            ]
        );
        assert_eq!(
            first(1_234_567),
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423,
                4_593_380_528_125_082_431,
                16_408_922_859_458_223_821,
            ]
        );
    }

    #[test]
    fn any_place_by_itself() {
        for seed in [0, 7, u64::MAX] {
            let mut r = SplitMix64::new(seed);
            for place in 0..20 {
                assert_eq!(SplitMix64::at(seed, place), r.bits());
            }
        }
    }
}
