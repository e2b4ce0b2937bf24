//! Angles near multiples of a right one, where sines and cosines are almost zero.
use super::scaled;
use rug::float::Constant;
use rug::{Float, Integer};

/// The double next to so many quarter turns, but for rounding errors of the second order.
pub fn quarter_turns(n: f64) -> f64 {
    const HIGH: f64 = std::f64::consts::FRAC_PI_2;
    const LOW: f64 = 6.123233995736766e-17;
    let p = n * HIGH;
    p + (n.mul_add(HIGH, -p) + n * LOW)
}

/// For every exponent, the doubles m 2^e that are nearest to multiples of pi/2: denominators m of the
/// continued fraction of 2^e 2/pi (after Kahan).
pub fn near_multiples() -> Vec<f64> {
    const BITS: u32 = 1300;
    let ratio = 2 / Float::with_val(BITS, Constant::Pi);
    let one = Integer::from(1) << BITS;
    let limit = Integer::from(1) << 53;
    let mut all = Vec::new();
    for e in 0..=971 {
        let Some(fixed) = Float::with_val(BITS + 16, &ratio << (e + BITS as i32)).to_integer()
        else {
            continue;
        };
        // The fraction of 2^e 2/pi, as numerator / 2^BITS.
        let (mut a, mut b) = (one.clone(), fixed.modulo(&one));
        let (mut before, mut m) = (Integer::from(0), Integer::from(1));
        let mut last = Vec::new();
        while b != 0 {
            let (q, r) = a.div_rem(b.clone());
            let next = Integer::from(&q * &m) + &before;
            if next >= limit {
                break;
            }
            (before, m) = (m, next);
            (a, b) = (b, r);
            last.push(m.clone());
        }
        for m in last.iter().rev().take(2) {
            if let Some(m) = m.to_u64() {
                all.push(scaled(m, e));
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use rug::ops::Pow;

    #[test]
    fn the_worst_angle_is_among_them() {
        // 6381956970095103 * 2^797, from Muller and others, "Handbook of Floating-Point Arithmetic".
        assert!(near_multiples().contains(&scaled(6381956970095103, 797)));
    }

    #[test]
    fn sines_or_cosines_are_small() {
        for x in near_multiples() {
            let x = Float::with_val(64, x);
            let sine = Float::with_val(64, x.sin_ref()).abs();
            let cosine = Float::with_val(64, x.cos_ref()).abs();
            let least = sine.min(&cosine);
            assert!(least < Float::with_val(64, 2).pow(-40), "{x}");
        }
    }
}
