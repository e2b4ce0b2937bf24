//! The binary exponent of an `f64`: reading it and multiplying by powers of two.
//!
//! What holds: [`scale`] rounds at most once, also when the result is
//! subnormal, so it can serve correct rounding elsewhere in the crate.

/// `2^n`, for `n` in the normal range of `f64`.
#[inline]
pub(crate) const fn pow2(n: i32) -> f64 {
    debug_assert!(n >= -1022 && n <= 1023);
    f64::from_bits(((n + 1023) as u64) << 52)
}

/// `floor(log2 |x|)` for a finite `x` other than zero, subnormal or not.
#[inline]
pub(crate) fn exponent(x: f64) -> i32 {
    let magnitude = x.to_bits() & !(1 << 63);
    let field = (magnitude >> 52) as i32;
    if field != 0 {
        field - 1023
    } else {
        // The top bit of a subnormal fraction at bit b stands for 2^(b - 1074).
        63 - magnitude.leading_zeros() as i32 - 1074
    }
}

/// `x * 2^n`, rounded once.
#[inline]
pub(crate) fn scale(x: f64, n: i32) -> f64 {
    let (mut x, mut n) = (x, n);
    // Two steps reach from the smallest subnormal past the largest finite value.
    for _ in 0..2 {
        if n > 1023 {
            x *= pow2(1023);
            n -= 1023;
        } else if n < -1022 {
            // Down by 2^-969 and not by 2^-1022: a step that leaves the normal
            // range then still has 2^-54 to go, so its rounding cannot be seen.
            x *= pow2(-969);
            n += 969;
        }
    }
    x * pow2(n.clamp(-1022, 1023))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponent_covers_normals_and_subnormals() {
        assert_eq!(exponent(1.0), 0);
        assert_eq!(exponent(-1.999), 0);
        assert_eq!(exponent(f64::MAX), 1023);
        assert_eq!(exponent(f64::MIN_POSITIVE), -1022);
        assert_eq!(exponent(f64::from_bits(1)), -1074);
        assert_eq!(exponent(f64::from_bits(3)), -1073);
    }

    #[test]
    fn scale_reaches_across_the_whole_range() {
        assert_eq!(scale(f64::from_bits(1), 2097), pow2(1023));
        assert_eq!(scale(pow2(1023), -2097), f64::from_bits(1));
        assert_eq!(scale(1.0, 5000), f64::INFINITY);
        assert_eq!(scale(-1.0, -5000).to_bits(), (-0.0f64).to_bits());
        assert_eq!(scale(1.0, i32::MAX), f64::INFINITY);
        assert_eq!(scale(1.0, i32::MIN), 0.0);
    }

    #[test]
    fn scale_rounds_once() {
        // 1.5 ulp of the subnormal range minus a hair: two roundings would
        // first reach the tie and then go to the even neighbour, 2.
        let just_below_tie = 1.5 - f64::EPSILON;
        assert_eq!(scale(just_below_tie, -1074), f64::from_bits(1));
        assert_eq!(scale(1.5, -1074), f64::from_bits(2));
    }
}
