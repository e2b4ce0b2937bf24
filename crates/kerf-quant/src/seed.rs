//! One seed for a run; everything that draws at random has numbers of its own, by name and by place.
use kerf_num::random::SplitMix64;
pub use kerf_num::random::mix;

/// A seed for something that has a name (FNV-1a, then [`mix`]).
pub fn derive(seed: u64, name: &str) -> u64 {
    let mut h = 0xcbf2_9ce4_8422_2325 ^ SplitMix64::at(seed, 0);
    for b in name.bytes() {
        h = (h ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    mix(h)
}

/// A seed for something that has a number: a step, an epoch, a point.
pub fn step(seed: u64, number: u64) -> u64 {
    mix(seed ^ SplitMix64::at(number, 0))
}

/// A number in [0, 1) for one element: 24 bits, so that every `f32` of it is exact.
pub fn unit(seed: u64, element: u64) -> f32 {
    let bits = mix(seed.wrapping_add(element.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
    (bits >> 40) as f32 / (1u64 << 24) as f32
}
