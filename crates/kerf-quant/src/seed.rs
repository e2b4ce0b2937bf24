//! One seed for a run; everything that draws at random has numbers of its own, by name and by place.

/// The finaliser of SplitMix64: every bit of the argument reaches every bit of the result.
pub fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A seed for something that has a name (FNV-1a, then [`mix`]).
pub fn derive(seed: u64, name: &str) -> u64 {
    let mut h = 0xcbf2_9ce4_8422_2325 ^ mix(seed.wrapping_add(0x9e37_79b9_7f4a_7c15));
    for b in name.bytes() {
        h = (h ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    mix(h)
}

/// A seed for something that has a number: a step, an epoch, a point.
pub fn step(seed: u64, number: u64) -> u64 {
    mix(seed ^ mix(number.wrapping_add(0x9e37_79b9_7f4a_7c15)))
}

/// A number in [0, 1) for one element: 24 bits, so that every `f32` of it is exact.
pub fn unit(seed: u64, element: u64) -> f32 {
    let bits = mix(seed.wrapping_add(element.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
    (bits >> 40) as f32 / (1u64 << 24) as f32
}
