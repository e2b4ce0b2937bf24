//! Conversions between f32, f16 and the 8-bit formats e4m3 and e5m2, in plain IR.
//!
//! e4m3 has no infinity; one bit pattern of each sign is NaN. Conversions to these formats round to nearest, ties to even,
//! and saturate at the largest finite number (`.satfinite`), as PTX demands of them.
use super::lifter::Lifter;
use super::refusal::Lifted;
use super::registers::{as_int, reinterpret};
use super::syntax::Instruction;
use super::types::Ty;
use kerf_llvm::{IntPred, Opcode, RealPred, Value};
use kerf_num::Format;

/// An 8-bit format.
#[derive(Clone, Copy)]
struct SmallFormat {
    /// Bits of the significand that are stored.
    mantissa: u32,
    /// Exponent bias.
    bias: u32,
    /// Code of the largest finite number.
    largest: u64,
}

fn small_format(name: &str) -> SmallFormat {
    match name {
        "e4m3x2" => SmallFormat {
            mantissa: 3,
            bias: 7,
            largest: 0x7E,
        },
        _ => SmallFormat {
            mantissa: 2,
            bias: 15,
            largest: 0x7B,
        },
    }
}

const NAN: u64 = 0x7F;

impl Lifter {
    /// `cvt` to or from a pair of 8-bit numbers; none if it is another conversion.
    pub fn convert_small(&mut self, i: &mut Instruction) -> Option<Lifted<()>> {
        let names = ["e4m3x2", "e5m2x2"];
        let at = i
            .modifiers
            .iter()
            .position(|m| names.contains(&m.as_str()))?;
        let format = small_format(&i.modifiers.remove(at));
        Some(match i.flag("satfinite") {
            true => self.narrow_to_small(i, format),
            false => self.widen_small(i, format),
        })
    }

    /// Two numbers to 8 bits each: the first source is the upper byte.
    fn narrow_to_small(&mut self, i: &mut Instruction, f: SmallFormat) -> Lifted<()> {
        let rounded = i.flag("rn");
        let ty = i.ty()?;
        let single = self.b.float_ty(Format::F32);
        let (high, low) = match ty {
            Ty::Float(Format::F32) => {
                i.arity(3)?;
                let high = self.read(&i.operand(1)?, ty)?;
                (high, self.read(&i.operand(2)?, ty)?)
            }
            Ty::Float2(Format::F16) => {
                i.arity(2)?;
                let pair = self.read(&i.operand(1)?, ty)?;
                let wide = |k| {
                    let lane = self.b.lane(pair, k);
                    self.b.cast(Opcode::LLVMFPExt, lane, single)
                };
                (wide(1), wide(0))
            }
            _ => return i.unsupported(),
        };
        if !rounded {
            return i.unsupported();
        }
        let (high, low) = (self.small_code(high, f)?, self.small_code(low, f)?);
        let both = self.b.or(self.b.shl(high, self.int_constant(32, 8)), low);
        let both = self.b.zext_or_trunc(both, self.b.int_ty(16));
        self.write(&i.operand(0)?, both, false)
    }

    /// The code of an f32, in an i32.
    fn small_code(&self, x: Value, f: SmallFormat) -> Lifted<Value> {
        let (b, word) = (&self.b, |v: u64| self.int_constant(32, v));
        let bits = as_int(b, x);
        let magnitude = b.and(bits, word(0x7FFF_FFFF));
        let shift = 23 - f.mantissa;
        // A normal number: round the bits that go, then move the exponent to the new bias.
        let last = b.and(b.lshr(magnitude, word(u64::from(shift))), word(1));
        let half = b.add(last, word((1 << (shift - 1)) - 1));
        let kept = b.lshr(b.add(magnitude, half), word(u64::from(shift)));
        let normal = b.sub(kept, word(u64::from(127 - f.bias) << f.mantissa));
        // A smaller one: the addition to a power of two rounds it to a multiple of the least number.
        let least = 1.0 - f64::from(f.bias) - f64::from(f.mantissa);
        let anchor = x.ty().real((least + 23.0).exp2());
        let size = reinterpret(b, magnitude, x.ty());
        let sum = b.bin(Opcode::LLVMFAdd, size, anchor);
        let small = b.sub(as_int(b, sum), as_int(b, anchor));
        let limit = x.ty().real((1.0 - f64::from(f.bias)).exp2());
        let is_small = b.fcmp(RealPred::LLVMRealOLT, size, limit);
        let code = b.select(is_small, small, normal);
        let code = self.intrinsic("llvm.umin", &[code.ty()], &[code, word(f.largest)])?;
        let nan = b.fcmp(RealPred::LLVMRealUNO, x, x);
        let code = b.select(nan, word(NAN), code);
        let sign = b.and(b.lshr(bits, word(24)), word(0x80));
        Ok(b.or(code, b.select(nan, word(0), sign)))
    }

    /// A pair of 8-bit numbers to two f16, which hold them exactly.
    fn widen_small(&mut self, i: &mut Instruction, f: SmallFormat) -> Lifted<()> {
        let relu = i.flag("relu");
        let rounded = i.flag("rn");
        let ty = i.ty()?;
        i.arity(2)?;
        if ty != Ty::Float2(Format::F16) || relu || !rounded {
            return i.unsupported();
        }
        let both = self.read(&i.operand(1)?, Ty::Bits(16))?;
        let half = self.b.float_ty(Format::F16);
        let one = |shift: u64| -> Value {
            let b = &self.b;
            let word = |v: u64| self.int_constant(16, v);
            let code = b.and(b.lshr(both, word(shift)), word(0xFF));
            let magnitude = b.and(code, word(0x7F));
            let sign = b.shl(b.and(code, word(0x80)), word(8));
            // The significand goes to the top of an f16's; what the biases differ by is a power of two.
            let bits = b.shl(magnitude, word(u64::from(10 - f.mantissa)));
            let scale = half.real(f64::from(15 - f.bias).exp2());
            let v = b.bin(Opcode::LLVMFMul, b.bitcast(bits, half), scale);
            let bits = b.or(as_int(b, v), sign);
            let nan = b.icmp(IntPred::LLVMIntUGT, magnitude, word(f.largest.max(0x7C)));
            b.bitcast(b.select(nan, word(0x7FFF), bits), half)
        };
        let v = self.vector(&[one(0), one(8)], 16);
        self.write(&i.operand(0)?, v, false)
    }
}
