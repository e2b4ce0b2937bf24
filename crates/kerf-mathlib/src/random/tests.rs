//! Numbers that cuRAND 10.4.4 gave (its host generators), as hashes of what calls in a row wrote.
use super::{Generator, Mrg32k3a, Philox, Xorwow};

/// FNV-1a, 64 bits.
fn hash(bytes: impl Iterator<Item = u8>) -> u64 {
    bytes.fold(0xcbf2_9ce4_8422_2325, |h, x| {
        (h ^ u64::from(x)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// 300,001 words, 100,003 uniform numbers, 90,007 uniform doubles and 5 words.
fn drawn(g: &mut dyn Generator) -> [u64; 4] {
    let (mut a, mut b) = (vec![0; 300_001], vec![0.0; 100_003]);
    let (mut c, mut d) = (vec![0.0; 90_007], vec![0; 5]);
    g.bits(&mut a);
    g.uniform(&mut b);
    g.uniform_double(&mut c);
    g.bits(&mut d);
    [
        hash(a.iter().flat_map(|x| x.to_le_bytes())),
        hash(b.iter().flat_map(|x| x.to_le_bytes())),
        hash(c.iter().flat_map(|x| x.to_le_bytes())),
        hash(d.iter().flat_map(|x| x.to_le_bytes())),
    ]
}

/// Seeds and offsets.
const STARTS: [(u64, u64); 3] = [(1234, 0), (0, 0), (0x1234_5678_9abc_def0, 12_345_678_901)];

#[test]
fn xorwow_has_the_bits_of_curand() {
    let expected = [
        [
            0x52f5caa87c49db1,
            0x7641de15c62b94b6,
            0x92aa72c07b930e91,
            0xaee5818d048478d1,
        ],
        [
            0x8e8f519fdda98c14,
            0x3f99cdfdc48463f7,
            0xf29b52ae49ebb466,
            0xd2036b744412ad32,
        ],
        [
            0xac06cff70a5250b6,
            0xc77a1a56de3a6ea7,
            0xb4dee2c7dbf0abdf,
            0x7c41a8a840a5d97a,
        ],
    ];
    let found = STARTS.map(|(seed, offset)| drawn(&mut Xorwow::new(seed, offset)));
    assert_eq!(found, expected);
}

#[test]
fn mrg32k3a_has_the_bits_of_curand() {
    let expected = [
        [
            0x733193ecb1c30c29,
            0x193d339b1d48b7cc,
            0x1c05a83bbd89a8e7,
            0x472dbcc9b122eeb,
        ],
        [
            0xeefcf409fe9367a9,
            0xb3e0312b050b2abd,
            0x6a72886d80a51ba8,
            0x2bb56e1ea26f9b9b,
        ],
        [
            0x239242cb068effab,
            0x796d4520812f97b0,
            0xad9ec72feaa68e9e,
            0xcf846b8dfee93f28,
        ],
    ];
    let found = STARTS.map(|(seed, offset)| {
        let mut g = Mrg32k3a::new(seed, offset, Mrg32k3a::DEFAULT);
        drawn(&mut g)
    });
    assert_eq!(found, expected);
    let legacy = drawn(&mut Mrg32k3a::new(1234, 0, Mrg32k3a::LEGACY));
    assert_eq!(legacy[0], 0x3c7cacead35bb9dd);
}

#[test]
fn philox_has_the_bits_of_curand() {
    let expected = [
        [
            0x50011b56f849da15,
            0x55a2fcf594f69111,
            0x92dfeda1119e22f,
            0x2c1e6f5e0d7b8914,
        ],
        [
            0xe2f7e9bc0bc0dbb2,
            0x6d4bc16ba3fd4632,
            0xd163b4bd6ba906cb,
            0xe935322dd281a2b5,
        ],
        [
            0x18d666650749073,
            0x1649981b966681d,
            0xa80905a3876b6ff,
            0x5fa519c01922c6fe,
        ],
    ];
    let found = STARTS.map(|(seed, offset)| drawn(&mut Philox::new(seed, offset)));
    assert_eq!(found, expected);
}
