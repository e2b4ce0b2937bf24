//! The sums of products of tensor cores, bit for bit as hardware makes them.
//!
//! A tensor core does not round after every addition. Products of narrow formats are exact; a group of them and the accumulator
//! are aligned to the largest exponent among them, bits below a fixed position are cut off, the integers that remain are added
//! exactly, and the sum is rounded once (Fasi, Higham, Mikaitis, Pranesh 2021, "Numerical behavior of NVIDIA tensor cores").
//! [`SumModel`] has what differs between formats and devices.

/// A floating-point format of at most 32 bits, as an operand of a tensor core.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OperandFormat {
    /// Bits of the exponent.
    pub exponent_bits: u32,
    /// Bits of the fraction that count.
    pub fraction_bits: u32,
    /// Bits below the fraction, which are ignored (of tf32, held in 32 bits).
    pub ignored_bits: u32,
}

impl OperandFormat {
    /// IEEE half precision.
    pub const F16: Self = Self::new(5, 10, 0);
    /// bfloat16.
    pub const BF16: Self = Self::new(8, 7, 0);
    /// tf32 in a word of 32 bits.
    pub const TF32: Self = Self::new(8, 10, 13);
    /// IEEE single precision.
    pub const F32: Self = Self::new(8, 23, 0);

    const fn new(exponent_bits: u32, fraction_bits: u32, ignored_bits: u32) -> Self {
        OperandFormat {
            exponent_bits,
            fraction_bits,
            ignored_bits,
        }
    }

    fn bias(self) -> i32 {
        (1 << (self.exponent_bits - 1)) - 1
    }

    /// Takes a number apart.
    pub fn decode(self, bits: u32) -> Term {
        let w = bits >> self.ignored_bits;
        let fraction = i64::from(w & ((1 << self.fraction_bits) - 1));
        let top = (1 << self.exponent_bits) - 1;
        let exponent = (w >> self.fraction_bits & top) as i32;
        let negative = w >> (self.fraction_bits + self.exponent_bits) & 1 == 1;
        let kind = match (exponent as u32 == top, fraction) {
            (true, 0) => Kind::Infinite,
            (true, _) => Kind::NotANumber,
            _ => Kind::Finite,
        };
        let hidden = i64::from(exponent != 0) << self.fraction_bits;
        Term {
            negative,
            significand: fraction | hidden,
            exponent: exponent.max(1) - self.bias(),
            fraction_bits: self.fraction_bits,
            kind,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Finite,
    Infinite,
    NotANumber,
}

/// A number taken apart: `±significand * 2^(exponent - fraction_bits)`, not normalised.
#[derive(Debug, Clone, Copy)]
pub struct Term {
    negative: bool,
    significand: i64,
    exponent: i32,
    fraction_bits: u32,
    kind: Kind,
}

impl Term {
    fn times(self, o: Term) -> Term {
        use Kind::*;
        let is_zero = |t: Term| t.kind == Finite && t.significand == 0;
        let kind = match (self.kind, o.kind) {
            (NotANumber, _) | (_, NotANumber) => NotANumber,
            (Infinite, _) if is_zero(o) => NotANumber,
            (_, Infinite) if is_zero(self) => NotANumber,
            (Infinite, _) | (_, Infinite) => Infinite,
            _ => Finite,
        };
        Term {
            negative: self.negative != o.negative,
            significand: self.significand * o.significand,
            exponent: self.exponent + o.exponent,
            fraction_bits: self.fraction_bits + o.fraction_bits,
            kind,
        }
    }

    /// The term in units of `2^(top - bits)`, towards zero.
    fn aligned(self, top: i32, bits: u32) -> i64 {
        let left = self.exponent - top + bits as i32 - self.fraction_bits as i32;
        // A zero may have any exponent, the largest too.
        let magnitude = match left {
            _ if self.significand == 0 => 0,
            0.. => self.significand << left,
            -62..0 => self.significand >> -left,
            _ => 0,
        };
        match self.negative {
            true => -magnitude,
            false => magnitude,
        }
    }
}

/// The format of sums.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SumFormat {
    /// Sums in f32 are cut off.
    F32,
    /// Sums in f16 are rounded to nearest, ties to even.
    F16,
}

/// How a tensor core adds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SumModel {
    /// Products that are added at once, with the accumulator.
    pub group: usize,
    /// Bits of the fraction that are kept below the largest exponent.
    pub aligned_bits: u32,
}

/// The bits of NaN that a tensor core gives, in f32.
pub const NAN_F32: u32 = 0x7fff_ffff;
/// The same in f16.
pub const NAN_F16: u16 = 0x7fff;

impl SumModel {
    /// `c + a[0] * b[0] + a[1] * b[1] + ...`; accumulator and result as bits.
    pub fn dot(self, a: &[Term], b: &[Term], c: u32, sum: SumFormat) -> u32 {
        let held = match sum {
            SumFormat::F32 => OperandFormat::F32,
            SumFormat::F16 => OperandFormat::F16,
        };
        let mut terms: Vec<Term> = Vec::with_capacity(self.group + 1);
        let groups = a.chunks(self.group).zip(b.chunks(self.group));
        groups.fold(c, |acc, (a, b)| {
            terms.clear();
            terms.extend(a.iter().zip(b).map(|(x, y)| x.times(*y)));
            terms.push(held.decode(acc));
            self.add(&terms, sum)
        })
    }

    fn add(self, terms: &[Term], sum: SumFormat) -> u32 {
        if terms.iter().any(|t| t.kind != Kind::Finite) {
            return match (sum, special_sum(terms)) {
                (SumFormat::F32, None) => NAN_F32,
                (SumFormat::F16, None) => u32::from(NAN_F16),
                (SumFormat::F32, Some(negative)) => 0x7f80_0000 | u32::from(negative) << 31,
                (SumFormat::F16, Some(negative)) => 0x7c00 | u32::from(negative) << 15,
            };
        }
        let nonzero = terms.iter().filter(|t| t.significand != 0);
        let Some(top) = nonzero.map(|t| t.exponent).max() else {
            // A sum of zeros is negative only if all are.
            let negative = u32::from(terms.iter().all(|t| t.negative));
            return match sum {
                SumFormat::F32 => negative << 31,
                SumFormat::F16 => negative << 15,
            };
        };
        let total: i64 = terms
            .iter()
            .map(|t| t.aligned(top, self.aligned_bits))
            .sum();
        let unit = top - self.aligned_bits as i32;
        match sum {
            SumFormat::F32 => round_f32(total, unit),
            SumFormat::F16 => round_f16(total, unit),
        }
    }
}

/// The sum of terms of which some are not finite: the sign of an infinity, or nothing for NaN.
fn special_sum(terms: &[Term]) -> Option<bool> {
    let special = terms.iter().filter(|t| t.kind != Kind::Finite);
    let first = special.clone().next()?;
    let mut all = special;
    let same = |t: &Term| t.kind == Kind::Infinite && t.negative == first.negative;
    all.all(same).then_some(first.negative)
}

/// `total * 2^unit` in f32, towards zero.
fn round_f32(total: i64, unit: i32) -> u32 {
    let (sign, m) = (u32::from(total < 0) << 31, total.unsigned_abs());
    if m == 0 {
        return 0;
    }
    let exponent = 63 - m.leading_zeros() as i32 + unit;
    if exponent > 127 {
        return sign | 0x7f80_0000;
    }
    let lowest = (exponent - 23).max(-149);
    let shift = lowest - unit;
    let m = match shift {
        64.. => 0,
        0..64 => m >> shift,
        _ => m << -shift,
    } as u32;
    // What is cut off to nothing has no sign.
    if m == 0 {
        return 0;
    }
    let biased = match exponent < -126 {
        true => 0,
        false => (exponent + 127) as u32,
    };
    sign | (biased << 23) | (m & 0x7f_ffff)
}

/// `total * 2^unit` in f16, to nearest, ties to even.
fn round_f16(total: i64, unit: i32) -> u32 {
    let (sign, m) = (u32::from(total < 0) << 15, total.unsigned_abs());
    if m == 0 {
        return 0;
    }
    let exponent = 63 - m.leading_zeros() as i32 + unit;
    let lowest = (exponent - 10).max(-24);
    let shift = lowest - unit;
    let m = match shift {
        64.. => 0,
        1..64 => {
            let (kept, rest, half) = (m >> shift, m & ((1 << shift) - 1), 1 << (shift - 1));
            kept + u64::from(rest > half || (rest == half && kept & 1 == 1))
        }
        _ => m << -shift,
    } as u32;
    // What rounds to nothing has no sign either, as an H200 has it.
    if m == 0 {
        return 0;
    }
    let biased = match exponent < -14 {
        true => 0,
        false => (exponent + 14) as u32,
    };
    // The hidden bit, and a carry out of rounding, add to the exponent.
    let bits = (biased << 10) + m;
    sign | bits.min(0x7c00)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix64;

    const MODEL: SumModel = SumModel {
        group: 16,
        aligned_bits: 25,
    };

    fn dot(a: &[f64], b: &[f64], c: f32) -> f32 {
        let half = |v: &[f64]| -> Vec<Term> {
            let bits = v.iter().map(|x| crate::Format::F16.encode(*x) as u32);
            bits.map(|x| OperandFormat::F16.decode(x)).collect()
        };
        f32::from_bits(MODEL.dot(&half(a), &half(b), c.to_bits(), SumFormat::F32))
    }

    /// To f32, towards zero.
    fn cut(x: f64) -> f32 {
        let y = x as f32;
        match f64::from(y).abs() > x.abs() {
            true => f32::from_bits(y.to_bits() - 1),
            false => y,
        }
    }

    #[test]
    fn sums_of_close_exponents_are_cut_off_once() {
        let mut r = SplitMix64::new(1);
        for _ in 0..10_000 {
            // Products have 20 bits behind the point, all with the exponent 0.
            let mut number = || {
                let bits = r.bits();
                let x = 1.0 + (bits % 1024) as f64 / 1024.0;
                if bits >> 63 == 1 { -x } else { x }
            };
            let a: Vec<f64> = (0..16).map(|_| number()).collect();
            let b: Vec<f64> = (0..16).map(|_| number()).collect();
            let c = number() as f32;
            let exact = f64::from(c) + a.iter().zip(&b).map(|(x, y)| x * y).sum::<f64>();
            assert_eq!(dot(&a, &b, c), cut(exact));
        }
    }

    #[test]
    fn bits_beyond_the_alignment_are_lost_one_by_one() {
        let mut near = [f64::exp2(-24.0); 16];
        near[0] = 1.0;
        assert_eq!(dot(&near, &[1.0; 16], -1.0), 15.0 * f32::exp2(-24.0));
        let scaled = |e: f64| {
            let mut a = [f64::exp2(e); 16];
            a[0] = 1024.0;
            let mut b = [1.0; 16];
            b[0] = 16.0;
            dot(&a, &b, -16384.0)
        };
        assert_eq!(scaled(-11.0), 15.0 * f32::exp2(-11.0));
        assert_eq!(scaled(-12.0), 0.0);
    }

    #[test]
    fn special_values_follow_the_hardware() {
        let x = |v: f64| [vec![v], vec![0.0; 15]].concat();
        assert_eq!(dot(&x(f64::INFINITY), &x(2.0), 1.0), f32::INFINITY);
        assert_eq!(dot(&x(f64::INFINITY), &x(0.0), 1.0).to_bits(), NAN_F32);
        let opposite = dot(&x(f64::INFINITY), &x(1.0), f32::NEG_INFINITY);
        assert_eq!(opposite.to_bits(), NAN_F32);
        assert_eq!(dot(&x(1.0), &x(-1.0), 1.0).to_bits(), 0);
        assert_eq!(dot(&x(60000.0), &x(60000.0), f32::MAX), f32::MAX);
    }
}
