//! Coefficients of `exp` and `log`, as the nearest pairs of `f64`.
//!
//! What holds: each pair is the exact constant rounded to a double-word number,
//! and each part of `ln 2` is as short as its comment says. Computed with 400
//! bits.

use super::Dw;

/// `ln 2` in parts of 42, 42 and 53 bits: exponents of `f64` have 11 bits.
pub(super) const LN2_F64: [f64; 3] = [
    0.6931471805598903,
    5.49792301870721e-14,
    1.1612227229362532e-26,
];

/// `ln 2` in parts of 16, 16 and 24 bits: exponents of `f32` have 8 bits.
pub(super) const LN2_F32: [f32; 3] = [0.693_145_75, 1.428_590_6e-6, 1.619_851e-11];

/// `1/k!` for k from 2 to 22.
pub(super) const INV_FACTORIAL: [(f64, f64); 21] = [
    (0.5, 0.0),
    (0.16666666666666666, 9.25185853854297e-18),
    (0.041666666666666664, 2.3129646346357427e-18),
    (0.008333333333333333, 1.1564823173178714e-19),
    (0.001388888888888889, -5.300543954373577e-20),
    (0.0001984126984126984, 1.7209558293420705e-22),
    (2.48015873015873e-05, 2.1511947866775882e-23),
    (2.7557319223985893e-06, -1.858393274046472e-22),
    (2.755731922398589e-07, 2.3767714622250297e-23),
    (2.505210838544172e-08, -1.448814070935912e-24),
    (2.08767569878681e-09, -1.20734505911326e-25),
    (1.6059043836821613e-10, 1.2585294588752098e-26),
    (1.1470745597729725e-11, 2.0655512752830745e-28),
    (7.647163731819816e-13, 7.03872877733453e-30),
    (4.779477332387385e-14, 4.399205485834081e-31),
    (2.8114572543455206e-15, 1.6508842730861433e-31),
    (1.5619206968586225e-16, 1.1910679660273754e-32),
    (8.22063524662433e-18, 2.2141894119604265e-34),
    (4.110317623312165e-19, 1.4412973378659527e-36),
    (1.9572941063391263e-20, -1.3643503830087908e-36),
    (8.896791392450574e-22, -7.911402614872376e-38),
];

/// `1/(2j + 1)` for j from 1 to 21.
pub(super) const INV_ODD: [(f64, f64); 21] = [
    (0.3333333333333333, 1.850371707708594e-17),
    (0.2, -1.1102230246251566e-17),
    (0.14285714285714285, 7.93016446160826e-18),
    (0.1111111111111111, 6.1679056923619804e-18),
    (0.09090909090909091, -2.523234146875356e-18),
    (0.07692307692307693, -4.270088556250602e-18),
    (0.06666666666666667, 9.251858538542971e-19),
    (0.058823529411764705, 8.163404592832033e-19),
    (0.05263157894736842, 2.921639538487254e-18),
    (0.047619047619047616, 2.64338815386942e-18),
    (0.043478260869565216, 1.206764157201257e-18),
    (0.04, -8.326672684688674e-19),
    (0.037037037037037035, 2.05596856412066e-18),
    (0.034482758620689655, 4.785444071660157e-19),
    (0.03225806451612903, 8.953411488912552e-19),
    (0.030303030303030304, -8.410780489584519e-19),
    (0.02857142857142857, 8.921435019309293e-19),
    (0.02702702702702703, -1.50030138462859e-18),
    (0.02564102564102564, 8.896017825522087e-19),
    (0.024390243902439025, -8.46206573647223e-19),
    (0.023255813953488372, 3.2273925134452225e-19),
];

/// The first `N` coefficients as pairs of `f64`.
pub(super) const fn head_f64<const N: usize>(table: &[(f64, f64); 21]) -> [Dw<f64>; N] {
    let mut out = [Dw { hi: 0.0, lo: 0.0 }; N];
    let mut i = 0;
    while i < N {
        out[i] = Dw {
            hi: table[i].0,
            lo: table[i].1,
        };
        i += 1;
    }
    out
}

/// The first `N` coefficients as pairs of `f32`: an `f64` holds 5 bits more than
/// such a pair.
pub(super) const fn head_f32<const N: usize>(table: &[(f64, f64); 21]) -> [Dw<f32>; N] {
    let mut out = [Dw { hi: 0.0, lo: 0.0 }; N];
    let mut i = 0;
    while i < N {
        let hi = table[i].0 as f32;
        out[i] = Dw {
            hi,
            lo: (table[i].0 - hi as f64) as f32,
        };
        i += 1;
    }
    out
}

/// `N` coefficients from `start`, each in one `f64`.
pub(super) const fn tail_f64<const N: usize>(table: &[(f64, f64); 21], start: usize) -> [f64; N] {
    let mut out = [0.0; N];
    let mut i = 0;
    while i < N {
        out[i] = table[start + i].0;
        i += 1;
    }
    out
}

/// `N` coefficients from `start`, each in one `f32`.
pub(super) const fn tail_f32<const N: usize>(table: &[(f64, f64); 21], start: usize) -> [f32; N] {
    let mut out = [0.0; N];
    let mut i = 0;
    while i < N {
        out[i] = table[start + i].0 as f32;
        i += 1;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_with_the_first_parts_of_ln2_are_exact() {
        for n in -1100..=1100 {
            for part in &LN2_F64[..2] {
                let product = f64::from(n) * part;
                assert_eq!(f64::from(n).mul_add(*part, -product), 0.0);
            }
        }
        for n in -160i16..=160 {
            for part in &LN2_F32[..2] {
                let product = f32::from(n) * part;
                assert_eq!(f32::from(n).mul_add(*part, -product), 0.0);
            }
        }
    }

    #[test]
    fn parts_add_up_to_ln2() {
        let [a, b, c] = LN2_F64;
        assert_eq!(a + (b + c), std::f64::consts::LN_2);
        let [a, b, c] = LN2_F32.map(f64::from);
        assert_eq!(a + (b + c), std::f64::consts::LN_2);
    }
}
