//! Bit patterns of a format's values, and the order they stand in.
//!
//! What holds: decoding is exact, encoding rounds once, and the ordinals of a
//! format's values are consecutive integers in the order of the values.

use half::{bf16, f16};

use super::Format;

impl Format {
    /// The value that `bits` encode. Bits above the format's width are ignored.
    #[inline]
    pub fn decode(self, bits: u64) -> f64 {
        match self {
            Format::F64 => f64::from_bits(bits),
            Format::F32 => f64::from(f32::from_bits(bits as u32)),
            Format::F16 => f16::from_bits(bits as u16).to_f64(),
            Format::Bf16 => bf16::from_bits(bits as u16).to_f64(),
        }
    }

    /// The encoding of `x` rounded to this format, to nearest even. A NaN stays
    /// a NaN of the same sign, and becomes a quiet one in the narrower formats.
    #[inline]
    pub fn encode(self, x: f64) -> u64 {
        match self {
            Format::F64 => x.to_bits(),
            Format::F32 => u64::from((x as f32).to_bits()),
            Format::F16 | Format::Bf16 => self.encode_narrow(x),
        }
    }

    /// In integers: this is called for every element of narrow buffers.
    fn encode_narrow(self, x: f64) -> u64 {
        let fraction_bits = self.mantissa_bits() - 1;
        let sign = (x.to_bits() >> 63) << (8 * self.bytes() - 1);
        let infinity = ((2 * self.max_exponent() + 1) as u64) << fraction_bits;
        let magnitude = x.to_bits() & (u64::MAX >> 1);
        if x.is_nan() {
            return sign | infinity | 1 << (fraction_bits - 1);
        }
        let above = (magnitude >> 52) as i64 - 1023 - i64::from(self.min_exponent());
        // Digits that the format has no room for; more of them below its smallest normal number.
        let dropped = 52 - i64::from(fraction_bits) + (-above).max(0);
        if dropped > 53 {
            return sign;
        }
        let digits = magnitude & ((1 << 52) - 1) | 1 << 52;
        let (kept, rest) = (digits >> dropped, digits & ((1 << dropped) - 1));
        let half = 1u64 << (dropped - 1);
        let up = rest > half || (rest == half && kept & 1 == 1);
        // The hidden bit adds the 1 by which the exponent field is short here.
        let code = ((above.max(0) as u64) << fraction_bits) + kept + u64::from(up);
        sign | code.min(infinity)
    }

    /// The smallest value of this format above `x`, which need not be a value
    /// of the format itself. NaN and `+inf` stay what they are.
    pub fn next_up(self, x: f64) -> f64 {
        if x.is_nan() || x == f64::INFINITY {
            return x;
        }
        let rounded = self.round(x);
        if rounded > x {
            return rounded;
        }
        match self.ordinal(rounded) + 1 {
            // Up from the smallest negative value is the negative zero.
            0 => -0.0,
            up => self.at_ordinal(up),
        }
    }

    /// The largest value of this format below `x`, which need not be a value of
    /// the format itself. NaN and `-inf` stay what they are.
    #[inline]
    pub fn next_down(self, x: f64) -> f64 {
        -self.next_up(-x)
    }

    /// Position of `x`, rounded to this format, among the format's values in
    /// order: both zeros are 0, the smallest positive value is 1, the smallest
    /// negative one -1, and infinity follows the largest finite value. No
    /// meaning for NaN.
    #[inline]
    pub fn ordinal(self, x: f64) -> i64 {
        let bits = self.encode(x);
        let sign_bit = 1u64 << (8 * self.bytes() - 1);
        let magnitude = (bits & (sign_bit - 1)) as i64;
        if bits & sign_bit == 0 {
            magnitude
        } else {
            -magnitude
        }
    }

    /// The value at an [`ordinal`](Format::ordinal).
    fn at_ordinal(self, ordinal: i64) -> f64 {
        let magnitude = self.decode(ordinal.unsigned_abs());
        if ordinal < 0 { -magnitude } else { magnitude }
    }
}
