//! Fractions of one in 320 bits, wrapping: exact arithmetic modulo 1 with integers.
use crate::confirm::words;
use rug::float::Round;
use rug::{Float, Integer};

/// Words of a fraction, least first.
pub const WORDS: usize = 5;
/// Bits of a fraction.
pub const BITS: i32 = 64 * WORDS as i32;

/// A number modulo 1, as a multiple of 2^-320.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wide(pub [u64; WORDS]);

impl Wide {
    /// Zero.
    pub const ZERO: Wide = Wide([0; WORDS]);

    /// A number modulo 1, within 2^-320 of it.
    pub fn from_float(x: &Float) -> Wide {
        let scaled = x.clone() << BITS;
        let Some((i, _)) = scaled.to_integer_round(Round::Down) else {
            return Wide::ZERO;
        };
        let modulus = Integer::from(1) << BITS as u32;
        let mut i = i % &modulus;
        if i < 0 {
            i += modulus;
        }
        let mut w = [0; WORDS];
        for (w, d) in w.iter_mut().zip(words(&i)) {
            *w = d;
        }
        Wide(w)
    }

    /// Sum.
    pub fn plus(self, o: Wide) -> Wide {
        let mut r = self.0;
        let mut carry = 0u128;
        for (r, o) in r.iter_mut().zip(o.0) {
            let s = u128::from(*r) + u128::from(o) + carry;
            *r = s as u64;
            carry = s >> 64;
        }
        Wide(r)
    }

    /// Negation.
    pub fn negated(self) -> Wide {
        let mut r = self.0.map(|w| !w);
        for w in &mut r {
            let (s, over) = w.overflowing_add(1);
            *w = s;
            if !over {
                break;
            }
        }
        Wide(r)
    }

    /// Product with an integer.
    pub fn times(self, n: i64) -> Wide {
        let mut r = self.0;
        let mut carry = 0u128;
        for r in &mut r {
            let s = u128::from(*r) * u128::from(n.unsigned_abs()) + carry;
            *r = s as u64;
            carry = s >> 64;
        }
        if n < 0 { Wide(r).negated() } else { Wide(r) }
    }

    /// Times a power of two.
    pub fn shifted(self, by: u32) -> Wide {
        let (words, bits) = ((by / 64) as usize, by % 64);
        let mut r = [0; WORDS];
        for (i, r) in r.iter_mut().enumerate().skip(words) {
            *r = self.0[i - words] << bits;
            if bits > 0 && i > words {
                *r |= self.0[i - words - 1] >> (64 - bits);
            }
        }
        Wide(r)
    }

    /// The first 128 bits.
    pub fn top(self) -> u128 {
        u128::from(self.0[WORDS - 1]) << 64 | u128::from(self.0[WORDS - 2])
    }

    /// The distance to the nearest integer, not below it.
    pub fn distance(self) -> f64 {
        let t = self.top();
        let t = if t >> 127 == 1 { !t } else { t };
        (t as f64 + 1.0) * 2f64.powi(-128) * (1.0 + 1e-12)
    }
}
