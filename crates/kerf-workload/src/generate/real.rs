//! Elementary functions for the generators, the same on every machine.
//!
//! They use additions, multiplications, divisions and square roots only, which IEEE 754 rounds the
//! same everywhere, with the coefficients of Sun's fdlibm. Errors are around one unit in the last
//! place, more than good enough for random numbers.

pub(super) use kerf_num::portable::exp;
use kerf_num::portable::{self, log_normal};

/// Natural logarithm of a positive finite number.
pub(super) fn ln(x: f64) -> f64 {
    if x < f64::MIN_POSITIVE {
        // Not `portable::log`, whose last bit differs: numbers of a seed stay what they were.
        const LN2_HIGH: f64 = 6.931_471_803_691_238e-1;
        const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;
        return log_normal(x * 2f64.powi(54)) - 54.0 * LN2_LOW - 54.0 * LN2_HIGH;
    }
    portable::log(x)
}

/// Cosine and sine of `turns` whole turns, `turns` in [0, 1).
#[inline]
fn cos_sin_turns(turns: f64) -> (f64, f64) {
    let quarters = turns * 4.0;
    let nearest = (quarters + 0.5) as u32;
    // Exact: both are multiples of 2^-51 up to 4.
    let x = (quarters - f64::from(nearest)) * std::f64::consts::FRAC_PI_2;
    let z = x * x;
    let sine = x + x
        * z
        * (-1.666_666_666_666_663_2e-1
            + z * (8.333_333_333_322_49e-3
                + z * (-1.984_126_982_985_795e-4
                    + z * (2.755_731_370_707_006_8e-6
                        + z * (-2.505_076_025_340_686_3e-8 + z * 1.589_690_995_211_55e-10)))));
    let cosine = 1.0
        - (0.5 * z
            - z * z
                * (4.166_666_666_666_66e-2
                    + z * (-1.388_888_888_887_411e-3
                        + z * (2.480_158_728_947_673e-5
                            + z * (-2.755_731_435_139_066_3e-7
                                + z * (2.087_572_321_298_175e-9
                                    - z * 1.135_964_755_778_819_5e-11))))));
    // Chosen and negated without branches, which random numbers would mispredict.
    let odd = nearest & 1 == 1;
    let (c, s) = if odd { (sine, cosine) } else { (cosine, sine) };
    let flip = |v: f64, negative: bool| f64::from_bits(v.to_bits() ^ u64::from(negative) << 63);
    (flip(c, (nearest + 1) & 2 != 0), flip(s, nearest & 2 != 0))
}

/// The upper 53 bits as a number in [0, 1).
#[inline]
pub(super) fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 * f64::EPSILON / 2.0
}

/// Two independent standard normal numbers from 128 random bits, by Box and Muller; at most 8.6 in
/// magnitude.
#[inline]
pub(super) fn normals((first, second): (u64, u64)) -> (f64, f64) {
    // In (0, 1], so that the logarithm is finite.
    let uniform = unit(first) + f64::EPSILON / 2.0;
    let radius = (-2.0 * log_normal(uniform)).sqrt();
    let (c, s) = cos_sin_turns(unit(second));
    (radius * c, radius * s)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn close(a: f64, b: f64, tolerance: f64) -> bool {
        (a - b).abs() <= tolerance * b.abs().max(1e-300)
    }

    #[test]
    fn exact_points() {
        assert_eq!(ln(1.0), 0.0);
        assert_eq!(exp(0.0), 1.0);
        assert_eq!(cos_sin_turns(0.0), (1.0, 0.0));
        assert_eq!(cos_sin_turns(0.25), (0.0, 1.0));
        assert_eq!(cos_sin_turns(0.5), (-1.0, 0.0));
        assert_eq!(cos_sin_turns(0.75), (0.0, -1.0));
    }

    #[test]
    fn extremes() {
        for x in [
            f64::MIN_POSITIVE,
            f64::MIN_POSITIVE / 1024.0,
            5e-324,
            f64::MAX,
            1e-300,
        ] {
            assert!(close(ln(x), x.ln(), 4e-16), "{x:e}");
        }
        assert!(close(exp(709.7), 709.7f64.exp(), 1e-15));
        assert!(close(exp(-708.0), (-708.0f64).exp(), 1e-15));
        assert!(exp(1e9).is_infinite());
        assert_eq!(exp(-1e9), 0.0);
        assert!(normals((0, 0)).0 < 8.6);
        assert_eq!(normals((u64::MAX, 0)), (0.0, 0.0));
    }

    proptest! {
        #[test]
        fn near_the_library(x in -300.0..300.0f64, u in 0.0..1.0f64) {
            prop_assert!(close(exp(x), x.exp(), 1e-15));
            prop_assert!(close(ln(x.exp()), x.exp().ln(), 1e-15) || x.abs() < 1e-3);
            let (sine, cosine) = (u * std::f64::consts::TAU).sin_cos();
            let (c, s) = cos_sin_turns(u);
            prop_assert!((c - cosine).abs() < 2e-15 && (s - sine).abs() < 2e-15);
        }
    }
}
