//! Conversions that round in a given direction, in plain IR.
//!
//! A narrowing conversion rounds to nearest and then takes the neighbour if it went the wrong way.
//! An integer is first rounded, as an integer, to what the format holds exactly.
use super::lifter::Lifter;
use super::refusal::Lifted;
use super::registers::as_int;
use super::types::precision;
use kerf_llvm::{IntPred, Opcode, RealPred, Type, Value};
use kerf_num::Format;

/// A rounding mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    /// `.rn`
    Nearest,
    /// `.rz`
    Zero,
    /// `.rm`
    Down,
    /// `.rp`
    Up,
}

impl Direction {
    /// By its modifier.
    pub fn parse(s: &str) -> Direction {
        match s {
            "rz" => Direction::Zero,
            "rm" => Direction::Down,
            "rp" => Direction::Up,
            _ => Direction::Nearest,
        }
    }
}

/// Which integers stand in for those that a format cannot hold.
enum Keep<'a> {
    /// The next one whose last kept bit is odd, so that a second rounding sees what was lost.
    Odd,
    /// The next one away from zero where the condition holds, else towards zero.
    Away(&'a Value),
}

impl Lifter {
    /// Narrows `x` to the format `t`.
    pub fn narrow_directed(&self, x: Value, t: Type, d: Direction) -> Lifted<Value> {
        let near = self.b.cast(Opcode::LLVMFPTrunc, x, t);
        let back = self.b.cast(Opcode::LLVMFPExt, near, x.ty());
        let wrong = match d {
            Direction::Nearest => return Ok(near),
            Direction::Zero => {
                let size = |v| self.intrinsic("llvm.fabs", &[x.ty()], &[v]);
                self.b.fcmp(RealPred::LLVMRealOGT, size(back)?, size(x)?)
            }
            Direction::Down => self.b.fcmp(RealPred::LLVMRealOGT, back, x),
            Direction::Up => self.b.fcmp(RealPred::LLVMRealOLT, back, x),
        };
        // Bits count magnitudes: one less is the neighbour towards zero, one more away from it.
        let whole = as_int(&self.b, near);
        let one = whole.ty().int(1);
        let (less, more) = (self.b.sub(whole, one), self.b.add(whole, one));
        let negative = self.b.icmp(IntPred::LLVMIntSLT, whole, whole.ty().zero());
        let neighbour = match d {
            Direction::Down => self.b.select(negative, more, less),
            Direction::Up => self.b.select(negative, less, more),
            _ => less,
        };
        Ok(self.b.bitcast(self.b.select(wrong, neighbour, whole), t))
    }

    /// Converts an integer.
    pub fn int_to_float(&self, x: Value, signed: bool, to: Format, d: Direction) -> Lifted<Value> {
        let t = self.b.float_ty(to);
        let magnitude = x.ty().int_bits() - u32::from(signed);
        let opcode = if signed {
            Opcode::LLVMSIToFP
        } else {
            Opcode::LLVMUIToFP
        };
        // x86 converts to bf16 by way of f32, which would round twice.
        let twice = to == Format::Bf16 && magnitude > precision(Format::F32);
        if magnitude <= precision(to) || (d == Direction::Nearest && !twice) {
            return Ok(self.b.cast(opcode, x, t));
        }
        let wide = self.b.int_ty(64);
        let (size, negative) = if signed {
            let x = self.b.sext_or_trunc(x, wide);
            let negative = self.b.icmp(IntPred::LLVMIntSLT, x, wide.zero());
            (
                self.b.select(negative, self.b.sub(wide.zero(), x), x),
                negative,
            )
        } else {
            (self.b.zext_or_trunc(x, wide), self.b.int_ty(1).zero())
        };
        let yes = self.b.int_ty(1).int(1);
        let away = match d {
            Direction::Nearest => {
                let kept = self.representable(size, precision(Format::F32), Keep::Odd)?;
                let single = self.b.float_ty(Format::F32);
                let v = self.signed_float(kept, negative, single);
                return Ok(self.b.cast(Opcode::LLVMFPTrunc, v, t));
            }
            Direction::Zero => self.b.int_ty(1).zero(),
            Direction::Down => negative,
            Direction::Up => self.b.xor(negative, yes),
        };
        let mut kept = self.representable(size, precision(to), Keep::Away(&away))?;
        if to == Format::F16 {
            // Rounding towards zero stops at the largest finite number.
            let largest = wide.int(65504);
            let finite = self.intrinsic("llvm.umin", &[wide], &[kept, largest])?;
            kept = self.b.select(away, kept, finite);
        }
        // Rounding up may have carried out of 64 bits.
        let carried = self.b.icmp(IntPred::LLVMIntULT, kept, size);
        let carried = self.b.and(carried, away);
        let v = self.b.cast(Opcode::LLVMUIToFP, kept, t);
        let v = self
            .b
            .select(carried, t.real(18_446_744_073_709_551_616.0), v);
        Ok(self.b.select(negative, self.b.fneg(v), v))
    }

    fn signed_float(&self, size: Value, negative: Value, t: Type) -> Value {
        let v = self.b.cast(Opcode::LLVMUIToFP, size, t);
        self.b.select(negative, self.b.fneg(v), v)
    }

    /// Rounds an i64 to `digits` significant bits.
    fn representable(&self, size: Value, digits: u32, keep: Keep) -> Lifted<Value> {
        let (b, t) = (&self.b, size.ty());
        let defined = b.int_ty(1).zero();
        let zeros = self.intrinsic("llvm.ctlz", &[t], &[size, defined])?;
        let most = t.int(u64::from(64 - digits));
        let drop = self.intrinsic("llvm.usub.sat", &[t], &[most, zeros])?;
        let unit = b.shl(t.int(1), drop);
        let lost = b.sub(unit, t.int(1));
        let mask = b.xor(lost, t.int(u64::MAX));
        Ok(match keep {
            Keep::Away(yes) => {
                let bump = b.select(*yes, lost, t.zero());
                b.and(b.add(size, bump), mask)
            }
            Keep::Odd => {
                let inexact = b.icmp(IntPred::LLVMIntNE, b.and(size, lost), t.zero());
                let last = b.select(inexact, unit, t.zero());
                b.or(b.and(size, mask), last)
            }
        })
    }
}
