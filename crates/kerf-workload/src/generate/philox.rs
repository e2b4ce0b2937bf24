//! Philox2x64-10, the counter-based generator of Salmon, Moraes, Dror and Shaw ("Parallel random
//! numbers: as easy as 1, 2, 3", 2011).

use sha2::{Digest, Sha256};

use super::real::{normals, unit};

/// The random numbers of one buffer, or of one field of its elements.
#[derive(Debug, Clone, Copy)]
pub struct Stream {
    /// Key of the generator.
    pub key: u64,
    /// Number of the field; the upper half of the second counter.
    pub branch: u32,
}

impl Stream {
    /// The stream of a buffer, by the workload's seed and the buffer's name.
    pub fn named(seed: u64, name: &str) -> Stream {
        Stream::hashed(b"named\0", seed, name)
    }

    /// The stream of a buffer with a seed of its own: the name does not matter then.
    pub fn from_seed(seed: u64) -> Stream {
        Stream::hashed(b"seeded\0", seed, "")
    }

    /// An independent stream, for a field.
    pub fn branch(self, branch: u32) -> Stream {
        Stream { branch, ..self }
    }

    fn hashed(kind: &[u8], seed: u64, name: &str) -> Stream {
        let mut hash = Sha256::new();
        hash.update(kind);
        hash.update(seed.to_le_bytes());
        hash.update(name.as_bytes());
        let full = hash.finalize();
        let key = full
            .iter()
            .take(8)
            .fold(0, |key, b| key << 8 | u64::from(*b));
        Stream { key, branch: 0 }
    }

    /// 128 random bits for index `i`; different `draw`s are independent.
    #[inline]
    pub fn bits(self, i: u64, draw: u32) -> (u64, u64) {
        let [a, b] = block(
            [i, u64::from(self.branch) << 32 | u64::from(draw)],
            self.key,
        );
        (a, b)
    }

    /// Standard normal numbers by index. They come in pairs; asking for them in order computes each
    /// pair once.
    pub fn normals(self) -> impl FnMut(u64) -> f64 {
        let mut pair = u64::MAX;
        let mut odd = 0.0;
        move |i| {
            if i & 1 == 1 && pair == i >> 1 {
                return odd;
            }
            pair = i >> 1;
            let (first, second) = normals(self.bits(pair, 0));
            odd = second;
            if i & 1 == 0 { first } else { second }
        }
    }

    /// A uniform number in [0, 1), a multiple of 2^-53.
    #[inline]
    pub fn unit(self, i: u64, draw: u32) -> f64 {
        unit(self.bits(i, draw).0)
    }
}

const MULTIPLIER: u64 = 0xD2B7_4407_B1CE_6E93;
const WEYL: u64 = 0x9E37_79B9_7F4A_7C15;

#[inline]
fn block([mut a, mut b]: [u64; 2], mut key: u64) -> [u64; 2] {
    for _ in 0..10 {
        let product = u128::from(MULTIPLIER) * u128::from(a);
        a = (product >> 64) as u64 ^ key ^ b;
        b = product as u64;
        key = key.wrapping_add(WEYL);
    }
    [a, b]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_answers() {
        // From the test vectors of the authors' Random123 library.
        assert_eq!(
            block([0; 2], 0),
            [0xca00_a045_9843_d731, 0x66c2_4222_c9a8_45b5]
        );
        assert_eq!(
            block([u64::MAX; 2], u64::MAX),
            [0x65b0_21d6_0cd8_310f, 0x4d02_f322_2f86_df20]
        );
        assert_eq!(
            block(
                [0x243f_6a88_85a3_08d3, 0x1319_8a2e_0370_7344],
                0xa409_3822_299f_31d0
            ),
            [0x0a5e_742c_2997_341c, 0xb0f8_83d3_8000_de5d]
        );
    }

    #[test]
    fn units_stay_below_one() {
        assert_eq!(unit(0), 0.0);
        assert_eq!(unit(u64::MAX), 1.0f64.next_down());
    }

    #[test]
    fn normal_numbers_do_not_depend_on_order() {
        let stream = Stream::named(0, "x");
        let mut inorder = stream.normals();
        let list: Vec<f64> = (0..10).map(&mut inorder).collect();
        let mut backward = stream.normals();
        for i in (0..10).rev() {
            assert_eq!(backward(i), list[i as usize]);
        }
    }

    #[test]
    fn streams_differ() {
        let first = |s: Stream| s.bits(0, 0);
        let all = [
            first(Stream::named(0, "x")),
            first(Stream::named(1, "x")),
            first(Stream::named(0, "y")),
            first(Stream::from_seed(0)),
            first(Stream::named(0, "x").branch(1)),
            Stream::named(0, "x").bits(0, 1),
            Stream::named(0, "x").bits(1, 0),
        ];
        for (i, a) in all.iter().enumerate() {
            assert!(!all[..i].contains(a));
        }
    }
}
