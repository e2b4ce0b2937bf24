//! The f32 operations of the special-function unit, bit by bit as sm_90 has them.
//!
//! The unit interpolates (Oberman and Siu, "A high-performance area-efficient multifunction interpolator",
//! 2005): the upper bits of the argument choose a segment, and of the lower n bits x it computes
//! c0 + c1 x + c2 s, where s is x squared, but for the columns of the multiplier that it leaves out. What is
//! below the last bit of the result is cut off. Negative numbers in fixed point are ones' complements.
//! Coefficients (`tables/sfu.txt`), columns and constants were fitted to exhaustive dumps of an H200.
use super::table_names as names;
use kerf_llvm::{Builder, IntPred, Opcode, Type, Value};
use kerf_num::Format;
use std::sync::LazyLock;

/// A function's segments, bits of x, and the constant that is added, in units of 2^-(26 + n).
struct Table {
    name: &'static str,
    segments: usize,
    bits: u32,
    bias: i64,
}

const RCP: Table = table("rcp", 128, 16, 16188);
const RSQRT: Table = table("rsqrt", 128, 17, -4);
const SQRT: Table = table("sqrt", 128, 17, -4);
const EX2: Table = table("ex2", 64, 17, 64592);
const LG2: Table = table("lg2", 64, 17, 26800);
const SIN: Table = table("sin", 64, 17, 0);
const TANH: Table = table("tanh", 51, 17, 0);

/// For each exponent from -8 on, digits of the mantissa that say the segment of `TANH`, and its first one.
static TANH_BINADES: [[u32; 2]; 11] = [
    [0, 0],
    [0, 1],
    [0, 2],
    [1, 3],
    [1, 5],
    [2, 7],
    [2, 11],
    [2, 15],
    [3, 19],
    [4, 27],
    [3, 43],
];

const fn table(name: &'static str, segments: usize, bits: u32, bias: i64) -> Table {
    Table {
        name,
        segments,
        bits,
        bias,
    }
}

/// Lowest column of the squarer.
const fn column(bits: u32) -> u32 {
    if bits == 16 { 17 } else { 19 }
}

/// Coefficients of all functions.
struct Coefficients {
    /// Four words a segment.
    all: Vec<[i32; 4]>,
    /// Where each function's begin.
    names: Vec<(&'static str, usize)>,
}

static COEFFICIENTS: LazyLock<Coefficients> = LazyLock::new(|| {
    let (mut all, mut names) = (Vec::new(), Vec::new());
    for line in include_str!("tables/sfu.txt").lines() {
        let numbers: Vec<i32> = line
            .split_whitespace()
            .filter_map(|w| w.parse().ok())
            .collect();
        match numbers[..] {
            [c0, c1, c2] => all.push([c0, c1, c2, 0]),
            _ if line.starts_with('#') => {}
            _ => names.push((line, all.len())),
        }
    }
    Coefficients { all, names }
});

fn squares(bits: u32) -> Vec<u16> {
    let low = column(bits);
    (0..1u64 << bits)
        .map(|x| {
            let mut s = 0;
            for a in (0..bits).filter(|a| x >> a & 1 == 1) {
                // The digit with itself, and twice with those above it, where the column is there.
                let first = (a + 1).max((low - 1).saturating_sub(a));
                let above = x >> first << first;
                s += (above << (a + 1)) + if 2 * a >= low { 1 << (2 * a) } else { 0 };
            }
            (s >> low) as u16
        })
        .collect()
}

static SQUARES_16: LazyLock<Vec<u16>> = LazyLock::new(|| squares(16));
static SQUARES_17: LazyLock<Vec<u16>> = LazyLock::new(|| squares(17));

/// Where the arrays are that code names.
pub(super) fn address(name: &str) -> Option<usize> {
    Some(match name {
        names::SEGMENTS => COEFFICIENTS.all.as_ptr() as usize,
        names::SQUARES_16 => SQUARES_16.as_ptr() as usize,
        names::SQUARES_17 => SQUARES_17.as_ptr() as usize,
        names::BINADES => TANH_BINADES.as_ptr() as usize,
        _ => return None,
    })
}

/// An element of an array of ours, of a type, by its index.
fn constant(b: &Builder, t: Type, table: &str, index: Value) -> Value {
    let v = b.load(t, b.index(t, b.external(table), index));
    v.mark("invariant.load");
    v
}

impl Table {
    /// Number of the first segment among those of all functions.
    fn first(&self) -> usize {
        let Coefficients { all, names } = &*COEFFICIENTS;
        let at = names.iter().find(|n| n.0 == self.name).map(|n| n.1);
        let at = at.expect("the shipped table should have every function");
        assert!(at + self.segments <= all.len(), "{} is whole", self.name);
        at
    }

    /// The interpolated value, in units of 2^-(26 + n), for a segment and its x.
    fn interpolate(&self, b: &Builder, segment: Value, x: Value) -> Value {
        let i64t = b.int_ty(64);
        let wide = |v: Value| b.zext_or_trunc(v, i64t);
        let first = b.shl(wide(segment), b.i64(2));
        let base = 4 * self.first() as u64;
        let [c0, c1, c2] = [0, 1, 2].map(|k| {
            let at = b.add(first, b.i64(base + k));
            let c = constant(b, b.int_ty(32), names::SEGMENTS, at);
            b.sext_or_trunc(c, i64t)
        });
        let x = wide(x);
        let squares = match self.bits {
            16 => names::SQUARES_16,
            _ => names::SQUARES_17,
        };
        let s = wide(constant(b, b.int_ty(16), squares, x));
        let s = b.shl(s, b.i64(u64::from(column(self.bits) - self.bits)));
        let sum = b.add(b.shl(c0, b.i64(self.bits.into())), b.mul(c1, x));
        b.add(b.add(sum, b.mul(c2, s)), b.i64(self.bias as u64))
    }

    /// The same for an argument of 23 bits, of which the upper ones say the segment.
    fn at(&self, b: &Builder, mantissa: Value) -> Value {
        let segment = b.lshr(mantissa, b.i32(self.bits));
        let x = b.and(mantissa, b.i32((1 << self.bits) - 1));
        self.interpolate(b, segment, x)
    }
}

/// An f32 taken apart.
struct Parts<'b> {
    b: &'b Builder,
    sign: Value,
    exponent: Value,
    mantissa: Value,
}

impl<'b> Parts<'b> {
    fn from_f32(b: &'b Builder, x: Value) -> Parts<'b> {
        let w = b.bitcast(x, b.int_ty(32));
        Parts {
            b,
            sign: b.and(w, b.i32(0x8000_0000)),
            exponent: b.and(b.lshr(w, b.i32(23)), b.i32(255)),
            mantissa: b.and(w, b.i32(0x7f_ffff)),
        }
    }
    fn is(&self, v: Value, n: u32) -> Value {
        self.b.icmp(IntPred::LLVMIntEQ, v, self.b.i32(n))
    }
    fn negative(&self) -> Value {
        let zero = self.b.i32(0);
        self.b.icmp(IntPred::LLVMIntNE, self.sign, zero)
    }
    /// The result, with NaN for NaN.
    fn or_nan(&self, r: Value) -> Value {
        let b = self.b;
        let some = b.icmp(IntPred::LLVMIntNE, self.mantissa, b.i32(0));
        let nan = b.and(self.is(self.exponent, 255), some);
        let r = b.select(nan, b.i32(0x7fff_ffff), r);
        b.bitcast(r, b.float_ty(Format::F32))
    }
    /// `y`, a number of 24 bits, times a power of two: the exponent's field if its first bit were not set.
    fn scaled(&self, exponent: Value, y: Value) -> Value {
        let b = self.b;
        let y = b.zext_or_trunc(y, b.int_ty(32));
        b.add(b.shl(exponent, b.i32(23)), y)
    }
}

fn shifted(b: &Builder, v: Value, n: u64) -> Value {
    b.bin(Opcode::LLVMAShr, v, b.i64(n))
}

/// A number in fixed point below 2^52 as f32, with the digits that it has no room for cut off.
fn cut(b: &Builder, magnitude: Value, point: i32) -> Value {
    let f64t = b.float_ty(Format::F64);
    let v = b.cast(Opcode::LLVMSIToFP, magnitude, f64t);
    let w = b.and(b.bitcast(v, b.int_ty(64)), b.i64(!0x1fff_ffff));
    let scale = f64t.real(2f64.powi(-point));
    let v = b.bin(Opcode::LLVMFMul, b.bitcast(w, f64t), scale);
    let r = b.cast(Opcode::LLVMFPTrunc, v, b.float_ty(Format::F32));
    b.bitcast(r, b.int_ty(32))
}

/// `MUFU.RCP`.
pub(super) fn rcp(b: &Builder, x: Value) -> Value {
    let p = Parts::from_f32(b, x);
    let y = shifted(b, RCP.at(b, p.mantissa), 18);
    let r = p.scaled(b.sub(b.i32(252), p.exponent), y);
    let field = b.bin(Opcode::LLVMAShr, r, b.i32(23));
    let under = b.icmp(IntPred::LLVMIntSLE, field, b.i32(0));
    let r = b.select(under, b.i32(0), r);
    let r = b.select(p.is(p.exponent, 0), b.i32(0x7f80_0000), r);
    let r = b.select(p.is(p.exponent, 255), b.i32(0), r);
    p.or_nan(b.or(r, p.sign))
}

/// Half the exponent, rounded down, and the bit that is lost as the upper digit of the segment.
fn halved(b: &Builder, p: &Parts) -> (Value, Value, Value) {
    let e = b.sub(p.exponent, b.i32(127));
    let odd = b.and(e, b.i32(1));
    let half = b.bin(Opcode::LLVMAShr, b.sub(e, odd), b.i32(1));
    (half, odd, b.or(p.mantissa, b.shl(odd, b.i32(23))))
}

/// `MUFU.RSQ`.
pub(super) fn rsqrt(b: &Builder, x: Value) -> Value {
    let p = Parts::from_f32(b, x);
    let (half, odd, argument) = halved(b, &p);
    let y = shifted(b, RSQRT.at(b, argument), 19);
    let one = b.and(p.is(odd, 0), p.is(p.mantissa, 0));
    let y = b.select(one, b.i64(1 << 24), y);
    let r = p.scaled(b.sub(b.i32(125), half), y);
    let r = b.select(p.is(p.exponent, 255), b.i32(0), r);
    let r = b.select(p.negative(), b.i32(0x7fff_ffff), r);
    let zero = b.or(p.sign, b.i32(0x7f80_0000));
    p.or_nan(b.select(p.is(p.exponent, 0), zero, r))
}

/// `MUFU.SQRT`.
pub(super) fn sqrt(b: &Builder, x: Value) -> Value {
    let p = Parts::from_f32(b, x);
    let (half, _, argument) = halved(b, &p);
    let y = shifted(b, SQRT.at(b, argument), 20);
    let r = p.scaled(b.add(b.i32(126), half), y);
    let r = b.select(p.is(p.exponent, 255), b.i32(0x7f80_0000), r);
    let r = b.select(p.negative(), b.i32(0x7fff_ffff), r);
    p.or_nan(b.select(p.is(p.exponent, 0), p.sign, r))
}

/// The mantissa with its first bit, shifted by an exponent that may be negative.
fn placed(b: &Builder, mantissa: Value, by: Value, most: u32) -> Value {
    let full = b.or(mantissa, b.i32(0x80_0000));
    let least = |x: Value, n: u32| {
        let small = b.icmp(IntPred::LLVMIntULT, x, b.i32(n));
        b.select(small, x, b.i32(n))
    };
    let left = b.shl(full, least(by, most));
    let right = b.lshr(full, least(b.sub(b.i32(0), by), 31));
    b.select(b.icmp(IntPred::LLVMIntSGE, by, b.i32(0)), left, right)
}

/// `MUFU.EX2`.
pub(super) fn ex2(b: &Builder, x: Value) -> Value {
    let p = Parts::from_f32(b, x);
    let fixed = placed(b, p.mantissa, b.sub(p.exponent, b.i32(127)), 7);
    // Whole numbers are negated, all others complemented.
    let whole = p.is(b.and(fixed, b.i32(0x7f_ffff)), 0);
    let below = b.select(whole, b.sub(b.i32(0), fixed), b.xor(fixed, b.i32(u32::MAX)));
    let f = b.select(p.negative(), below, fixed);
    let n = b.bin(Opcode::LLVMAShr, f, b.i32(23));
    let y = shifted(b, EX2.at(b, b.and(f, b.i32(0x7f_ffff))), 20);
    let r = p.scaled(b.add(b.i32(126), n), y);
    let under = b.icmp(IntPred::LLVMIntSLE, n, b.i32(-127i32 as u32));
    let r = b.select(under, b.i32(0), r);
    let large = b.icmp(IntPred::LLVMIntUGE, p.exponent, b.i32(134));
    let end = b.select(p.negative(), b.i32(0), b.i32(0x7f80_0000));
    p.or_nan(b.select(large, end, r))
}

/// `MUFU.LG2`.
pub(super) fn lg2(b: &Builder, x: Value) -> Value {
    let p = Parts::from_f32(b, x);
    let i64t = b.int_ty(64);
    // 36 digits after the point.
    let fraction = shifted(b, LG2.at(b, p.mantissa), 7);
    let e = b.sext_or_trunc(b.sub(p.exponent, b.i32(127)), i64t);
    let f = b.add(b.shl(e, b.i64(36)), fraction);
    let sign = shifted(b, f, 63);
    let r = cut(b, b.xor(f, sign), 36);
    let minus = b.and(b.zext_or_trunc(sign, b.int_ty(32)), b.i32(0x8000_0000));
    let r = b.or(r, minus);
    let one = b.and(p.is(p.exponent, 127), p.is(p.mantissa, 0));
    let r = b.select(one, b.i32(0), r);
    let r = b.select(p.is(p.exponent, 255), b.i32(0x7f80_0000), r);
    let r = b.select(p.negative(), b.i32(0x7fff_ffff), r);
    p.or_nan(b.select(p.is(p.exponent, 0), b.i32(0xff80_0000), r))
}

/// `MUFU.SIN` or `MUFU.COS` after the product with 1/(2 pi), rounded towards zero, that goes before both.
pub(super) fn sine(b: &Builder, x: Value, cosine: bool) -> Value {
    let p = Parts::from_f32(b, x);
    let f64t = b.float_ty(Format::F64);
    let i32t = b.int_ty(32);
    let size = b.intrinsic("llvm.fabs", &[f64t], &[b.cast(Opcode::LLVMFPExt, x, f64t)]);
    // Exact, and then cut to an f32's digits; where that would be subnormal the result is zero anyway.
    let turns = b.bin(
        Opcode::LLVMFMul,
        size,
        f64t.real(f64::from(0.159_154_94f32)),
    );
    let w = b.bitcast(turns, b.int_ty(64));
    let field = |shift: u64, mask: u32| {
        let v = b.zext_or_trunc(b.lshr(w, b.i64(shift)), i32t);
        b.and(v, b.i32(mask))
    };
    // 25 digits after the point, of which two say the quarter.
    let by = b.sub(field(52, 0x7ff), b.i32(1021));
    let fixed = placed(b, field(29, 0x7f_ffff), by, 31);
    let q = b.and(b.lshr(fixed, b.i32(23)), b.i32(3));
    let q = if cosine { b.add(q, b.i32(1)) } else { q };
    let t = b.and(fixed, b.i32(0x7f_ffff));
    let back = b.sub(b.i32(0), b.and(q, b.i32(1)));
    let t = b.xor(t, b.and(back, b.i32(0x7f_ffff)));
    let r = cut(b, SIN.at(b, t), 43);
    let sign = b.shl(b.and(b.lshr(q, b.i32(1)), b.i32(1)), b.i32(31));
    let sign = if cosine { sign } else { b.xor(sign, p.sign) };
    let r = b.or(r, sign);
    let r = b.select(p.is(p.exponent, 255), b.i32(0x7fff_ffff), r);
    b.bitcast(r, b.float_ty(Format::F32))
}

/// `MUFU.TANH`: below 2^-8 the argument, from 8 on one, and segments that are wider in upper binades between.
pub(super) fn tanh(b: &Builder, x: Value) -> Value {
    let p = Parts::from_f32(b, x);
    let i32t = b.int_ty(32);
    let binade = b.sub(p.exponent, b.i32(119));
    let inside = b.icmp(IntPred::LLVMIntULT, binade, b.i32(11));
    let index = b.select(inside, binade, b.i32(0));
    let first = b.shl(b.zext_or_trunc(index, b.int_ty(64)), b.i64(1));
    let digits = constant(b, i32t, names::BINADES, first);
    let start = constant(b, i32t, names::BINADES, b.add(first, b.i64(1)));
    let rest = b.sub(b.i32(23), digits);
    let segment = b.add(start, b.lshr(p.mantissa, rest));
    let lower = b.lshr(p.mantissa, b.sub(rest, b.i32(17)));
    let y = TANH.interpolate(b, segment, b.and(lower, b.i32(0x1_ffff)));
    // Below one half the values are of the binade's size.
    let low = b.icmp(IntPred::LLVMIntULT, index, b.i32(7));
    let scale = b.select(low, b.sub(index, b.i32(7)), b.i32(0));
    let r = b.add(cut(b, y, 43), b.shl(scale, b.i32(23)));
    let small = b.icmp(IntPred::LLVMIntULT, p.exponent, b.i32(119));
    let tiny = b.or(b.shl(p.exponent, b.i32(23)), p.mantissa);
    let outside = b.select(small, tiny, b.i32(0x3f80_0000));
    p.or_nan(b.or(b.select(inside, r, outside), p.sign))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_whole() {
        for t in [RCP, RSQRT, SQRT, EX2, LG2, SIN, TANH] {
            assert!(t.first() < COEFFICIENTS.all.len());
        }
        let all: usize = [RCP, RSQRT, SQRT, EX2, LG2, SIN, TANH]
            .iter()
            .map(|t| t.segments)
            .sum();
        assert_eq!(COEFFICIENTS.all.len(), all);
    }

    #[test]
    fn squares_lack_low_columns_only() {
        for bits in [16, 17] {
            for (x, s) in squares(bits).into_iter().enumerate().step_by(977) {
                let (x, s) = (x as u64, u64::from(s) << column(bits));
                assert!(
                    s <= x * x && x * x - s < u64::from(bits) << column(bits),
                    "{x}"
                );
            }
        }
        assert_eq!(
            squares(16)[0xffff],
            ((0xffffu64 * 0xffff - 1_048_577) >> 17) as u16
        );
    }
}
