//! Digests of bytes that a device computes in any order: on the host what `device/digest.h` does.

/// A bijective mixing function, the finaliser of SplitMix64.
fn mixed(mut x: u64) -> u64 {
    x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

fn add_word(sums: &mut [u64; 2], place: u64, word: u64) {
    let shifted = 0x9e37_79b9_7f4a_7c15u64.wrapping_mul(place.wrapping_add(1));
    let x = mixed(word.wrapping_add(shifted));
    sums[0] = sums[0].wrapping_add(x);
    sums[1] = sums[1].wrapping_add(mixed(x ^ 0xd6e8_feb8_6659_fd93));
}

/// 128 bits that depend on every byte and on their number. Words of 8 bytes are taken in little-endian order, zeros after
/// the last byte; behind them the number of bytes.
pub fn digest_bytes(bytes: &[u8]) -> [u64; 2] {
    let mut sums = [0; 2];
    for (place, word) in (0..).zip(bytes.chunks(8)) {
        let mut padded = [0; 8];
        padded[..word.len()].copy_from_slice(word);
        add_word(&mut sums, place, u64::from_le_bytes(padded));
    }
    with_length(sums, bytes.len())
}

/// The digest of so many bytes from the sums over their words.
pub fn with_length(mut sums: [u64; 2], bytes: usize) -> [u64; 2] {
    add_word(&mut sums, bytes.div_ceil(8) as u64, bytes as u64);
    sums
}
