//! Numbers to codes of scaled formats and back, in plain instructions.
//!
//! Only additions and products that round to nearest, integer operations, conversions that are exact and choices: both
//! executors have the bits of [`kerf_num::scaled`] by construction. A code's number is exact in the format that it is
//! computed in here, which is f32 wherever that holds all of them ([`ScaledFormat::check_for`]).
use super::losses::LossCounter;
use crate::convert::words;
use kerf_llvm::{Builder, IntPred, Opcode, RealPred, Value};
use kerf_num::Format;
use kerf_num::scaled::{ElementCode, SMALL_NAN, ScaledFormat};

/// The narrowest format that holds all numbers of a scaled one, and in which they are computed.
fn working_format(s: ScaledFormat) -> Format {
    match s.check_for(Format::F32) {
        Ok(()) => Format::F32,
        Err(_) => Format::F64,
    }
}

/// The number of a code, in f32 or f64: conversions to all formats that hold the scaled one are exact.
pub(super) fn decode(b: &Builder, code: Value, s: ScaledFormat) -> Value {
    let working = working_format(s);
    let t = b.float_ty(working);
    let scaled = |v: Value, exponent: i32| match exponent {
        0 => v,
        k => b.bin(Opcode::LLVMFMul, v, t.real(2f64.powi(k))),
    };
    let exponent = i32::from(s.exponent);
    if s.code.is_integer() {
        return scaled(b.cast(Opcode::LLVMSIToFP, code, t), exponent);
    }
    // The upper bits of an f16, whose exponents differ by a constant.
    let wide = b.zext_or_trunc(code, b.int_ty(16));
    let word = |v: u64| b.int_ty(16).int(v);
    let (bits, apart) = match s.code {
        ElementCode::E5m2 => (b.shl(wide, word(8)), 0),
        _ => {
            let magnitude = b.shl(b.and(wide, word(0x7F)), word(7));
            let sign = b.shl(b.and(wide, word(0x80)), word(8));
            (b.or(magnitude, sign), 8)
        }
    };
    let half = b.bitcast(bits, b.float_ty(Format::F16));
    let v = scaled(words(b, half, working), exponent + apart);
    match s.code {
        ElementCode::E4m3 => {
            let magnitude = b.and(wide, word(0x7F));
            let nan = b.icmp(IntPred::LLVMIntEQ, magnitude, word(SMALL_NAN));
            b.select(nan, t.real(f64::NAN), v)
        }
        _ => v,
    }
}

/// Bits of the fraction of a format that scaling takes place in.
fn fraction_bits(working: Format) -> u32 {
    working.mantissa_bits() - 1
}

/// A number on its way to a code.
struct Encoder<'b> {
    b: &'b Builder,
    s: ScaledFormat,
    working: Format,
    /// The number, as the program has it.
    x: Value,
    /// The number over the scale.
    y: Value,
    /// Bits of the number without its sign.
    magnitude: Value,
    bits: Value,
}

impl<'b> Encoder<'b> {
    fn new(b: &'b Builder, x: Value, s: ScaledFormat) -> Encoder<'b> {
        let working = match x.ty().format() {
            Some(Format::F64) => Format::F64,
            _ => working_format(s),
        };
        let x = words(b, x, working);
        let word = b.int_ty(8 * working.bytes() as u32);
        let bits = b.bitcast(x, word);
        let y = match s.exponent {
            0 => x,
            k => b.bin(Opcode::LLVMFMul, x, x.ty().real(2f64.powi(-i32::from(k)))),
        };
        Encoder {
            b,
            s,
            working,
            x,
            y,
            magnitude: b.and(bits, word.int(u64::MAX >> (65 - word.int_bits()))),
            bits,
        }
    }

    fn word(&self, v: u64) -> Value {
        self.bits.ty().int(v)
    }

    fn real(&self, v: f64) -> Value {
        self.x.ty().real(v)
    }

    fn is_nan(&self) -> Value {
        self.b.fcmp(RealPred::LLVMRealUNO, self.x, self.x)
    }

    fn is_infinite(&self) -> Value {
        let infinity = self.working.encode(f64::INFINITY);
        let b = self.b;
        b.icmp(IntPred::LLVMIntEQ, self.magnitude, self.word(infinity))
    }

    fn is_not_finite(&self) -> Value {
        let infinity = self.working.encode(f64::INFINITY);
        let b = self.b;
        b.icmp(IntPred::LLVMIntUGE, self.magnitude, self.word(infinity))
    }

    /// The integer next to the number over the scale; and whether that is beyond the largest.
    fn integer(&self) -> (Value, Value) {
        let b = self.b;
        let (most, least) = (self.s.code.largest(), -self.s.code.largest() - 1.0);
        // Halfway beyond the largest integer, which is odd, lies an even one.
        let above = b.fcmp(RealPred::LLVMRealOGE, self.y, self.real(most + 0.5));
        let below = b.fcmp(RealPred::LLVMRealOLT, self.y, self.real(least - 0.5));
        let y = b.select(above, self.real(most), self.y);
        let y = b.select(below, self.real(least), y);
        let y = b.select(self.is_nan(), self.real(0.0), y);
        // The sum has no room for a fraction: it is rounded to an integer, which its lowest bits are.
        let anchor = self.real(1.5 * 2f64.powi(fraction_bits(self.working) as i32));
        let sum = b.bin(Opcode::LLVMFAdd, y, anchor);
        let code = b.bitcast(sum, self.bits.ty());
        (code, b.or(above, below))
    }

    /// The code of an 8-bit floating-point format without its sign; and whether it lies beyond the largest.
    fn small(&self) -> (Value, Value) {
        let (b, code) = (self.b, self.s.code);
        let wide = fraction_bits(self.working);
        let shift = wide - code.fraction_bits();
        let scaled = b.bitcast(self.y, self.bits.ty());
        let magnitude = b.and(scaled, self.magnitude_mask());
        // A normal number: what goes is rounded, and a carry enters the exponent.
        let last = b.and(b.lshr(magnitude, self.word(shift.into())), self.word(1));
        let half = b.add(last, self.word((1 << (shift - 1)) - 1));
        let kept = b.lshr(b.add(magnitude, half), self.word(shift.into()));
        let bias = self.working.max_exponent() + code.min_exponent() - 1;
        let normal = b.sub(kept, self.word((bias as u64) << code.fraction_bits()));
        // A smaller one: the sum with a power of two is rounded to a multiple of the least number.
        let anchor = self.real(code.least() * 2f64.powi(wide as i32));
        let size = b.bitcast(magnitude, self.y.ty());
        let sum = b.bin(Opcode::LLVMFAdd, size, anchor);
        let anchor_bits = b.bitcast(anchor, self.bits.ty());
        let small = b.sub(b.bitcast(sum, self.bits.ty()), anchor_bits);
        let limit = self.real(2f64.powi(code.min_exponent()));
        let is_small = b.fcmp(RealPred::LLVMRealOLT, size, limit);
        let found = b.select(is_small, small, normal);
        let largest = self.word(code.largest_code());
        let beyond = b.icmp(IntPred::LLVMIntUGT, found, largest);
        (b.select(beyond, largest, found), beyond)
    }

    fn magnitude_mask(&self) -> Value {
        self.word(u64::MAX >> (65 - self.bits.ty().int_bits()))
    }

    fn signed(&self, magnitude: Value) -> Value {
        let b = self.b;
        let code = match self.s.code {
            ElementCode::E5m2 => b.select(self.is_infinite(), self.word(0x7C), magnitude),
            _ => magnitude,
        };
        let shift = self.bits.ty().int_bits() - 8;
        let sign = b.and(b.lshr(self.bits, self.word(shift.into())), self.word(0x80));
        b.select(self.is_nan(), self.word(SMALL_NAN), b.or(code, sign))
    }

    /// The code, where losses are counted if they are.
    fn encode(&self, counter: Option<&LossCounter>) -> Value {
        let (code, beyond) = match self.s.code.is_integer() {
            true => self.integer(),
            false => {
                let (magnitude, beyond) = self.small();
                (self.signed(magnitude), beyond)
            }
        };
        if let Some(c) = counter {
            let b = self.b;
            let endless = self.is_not_finite();
            let finite = b.xor(endless, b.int_ty(1).int(1));
            let saturated = b.and(beyond, finite);
            let not_held = match self.s.code {
                ElementCode::E5m2 => b.int_ty(1).zero(),
                ElementCode::E4m3 => self.is_infinite(),
                ElementCode::I16 | ElementCode::I8 => endless,
            };
            c.count(b, saturated, not_held);
        }
        self.b
            .zext_or_trunc(code, self.b.int_ty(8 * self.s.bytes() as u32))
    }
}

/// The code of a number.
pub(super) fn encode(
    b: &Builder,
    x: Value,
    s: ScaledFormat,
    counter: Option<&LossCounter>,
) -> Value {
    Encoder::new(b, x, s).encode(counter)
}
