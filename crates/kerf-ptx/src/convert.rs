//! `cvt` between integers and floating-point formats.
use super::lifter::Lifter;
use super::refusal::Lifted;
use super::rounding::Direction;
use super::syntax::Instruction;
use super::types::{Ty, bits};
use kerf_llvm::{IntPred, Opcode, RealPred, Value};
use kerf_num::Format;

/// Modifiers of a conversion.
struct Mode {
    /// Rounding to the format of the result.
    direction: Option<Direction>,
    /// Rounding to an integer.
    integral: Option<&'static str>,
    ftz: bool,
    sat: bool,
}

impl Lifter {
    /// `cvt`
    pub fn convert(&mut self, i: &mut Instruction) -> Lifted<()> {
        let mode = Mode {
            direction: i.pick(&["rn", "rz", "rm", "rp"]).map(Direction::parse),
            integral: i.pick(&["rni", "rzi", "rmi", "rpi"]),
            ftz: i.flag("ftz"),
            sat: i.flag("sat"),
        };
        let (to, from) = (i.ty()?, i.ty()?);
        if let (Ty::Float2(f), Ty::Float(Format::F32)) = (to, from) {
            return self.convert_pair(i, f, &mode);
        }
        i.arity(2)?;
        let mut x = self.read(&i.operand(1)?, from)?;
        // The GPU does not flush what goes to f16, where a directed rounding would show it.
        if mode.ftz && from == Ty::Float(Format::F32) && to != Ty::Float(Format::F16) {
            x = self.flush(x, Format::F32)?;
        }
        let v = match (to, from) {
            (Ty::Float(t), Ty::Float(f)) => {
                let v = match mode.integral {
                    Some(m) => self.round_to_integer(x, m)?,
                    None => x,
                };
                let v = self.float_to_float(v, f, t, mode.direction)?;
                let v = if mode.sat { self.saturate(v) } else { v };
                let flush = mode.ftz && t == Format::F32;
                if flush { self.flush(v, t)? } else { v }
            }
            (Ty::Float(t), Ty::Uint(_) | Ty::Sint(_)) => {
                let direction = mode.direction.unwrap_or(Direction::Nearest);
                let v = self.int_to_float(x, from.signed(), t, direction)?;
                if mode.sat { self.saturate(v) } else { v }
            }
            (Ty::Uint(_) | Ty::Sint(_), Ty::Float(f)) => {
                let Some(m) = mode.integral else {
                    return i.unsupported();
                };
                self.float_to_int(x, f, to, m)?
            }
            (Ty::Uint(_) | Ty::Sint(_), Ty::Uint(_) | Ty::Sint(_)) => {
                self.int_to_int(x, from, to, mode.sat)?
            }
            _ => return i.unsupported(),
        };
        self.write(&i.operand(0)?, v, to.signed())
    }

    /// Two f32 to a packed pair: the first source is the upper half.
    fn convert_pair(&mut self, i: &mut Instruction, f: Format, mode: &Mode) -> Lifted<()> {
        i.arity(3)?;
        if mode.integral.is_some() || mode.sat || mode.ftz {
            return i.unsupported();
        }
        let single = Ty::Float(Format::F32);
        let mut halves = Vec::new();
        for k in [2, 1] {
            let x = self.read(&i.operand(k)?, single)?;
            halves.push(self.float_to_float(x, Format::F32, f, mode.direction)?);
        }
        let v = self.vector(&halves, 16);
        self.write(&i.operand(0)?, v, false)
    }

    fn round_to_integer(&self, x: Value, mode: &str) -> Lifted<Value> {
        let name = match mode {
            "rni" => "llvm.roundeven",
            "rzi" => "llvm.trunc",
            "rmi" => "llvm.floor",
            _ => "llvm.ceil",
        };
        self.intrinsic(name, &[x.ty()], &[x])
    }

    fn float_to_float(
        &self,
        x: Value,
        from: Format,
        to: Format,
        direction: Option<Direction>,
    ) -> Lifted<Value> {
        let t = self.b.float_ty(to);
        if from == to {
            return Ok(x);
        }
        if bits(to) > bits(from) {
            return Ok(self.b.cast(Opcode::LLVMFPExt, x, t));
        }
        // f16 and bf16 convert to each other through f32, which holds both.
        let x = if bits(to) == bits(from) {
            self.b
                .cast(Opcode::LLVMFPExt, x, self.b.float_ty(Format::F32))
        } else {
            x
        };
        match direction.unwrap_or(Direction::Nearest) {
            Direction::Nearest => Ok(self.b.cast(Opcode::LLVMFPTrunc, x, t)),
            d => self.narrow_directed(x, t, d),
        }
    }

    /// To an integer, which saturates; what a NaN becomes depends on the widths.
    fn float_to_int(&self, x: Value, from: Format, to: Ty, mode: &str) -> Lifted<Value> {
        let x = if bits(from) == 16 {
            self.b
                .cast(Opcode::LLVMFPExt, x, self.b.float_ty(Format::F32))
        } else {
            x
        };
        let r = if mode == "rzi" {
            x
        } else {
            self.round_to_integer(x, mode)?
        };
        let t = to.llvm(&self.b);
        let name = if to.signed() {
            "llvm.fptosi.sat"
        } else {
            "llvm.fptoui.sat"
        };
        let v = self.intrinsic(name, &[t, r.ty()], &[r])?;
        if from != Format::F64 && to.width() != 64 {
            return Ok(v);
        }
        let nan = self.b.fcmp(RealPred::LLVMRealUNO, x, x);
        Ok(self
            .b
            .select(nan, self.int_constant(to.width(), 1 << (to.width() - 1)), v))
    }

    fn int_to_int(&self, x: Value, from: Ty, to: Ty, sat: bool) -> Lifted<Value> {
        let t = to.llvm(&self.b);
        let x = if sat { self.clamp_to(x, from, to)? } else { x };
        Ok(if from.signed() {
            self.b.sext_or_trunc(x, t)
        } else {
            self.b.zext_or_trunc(x, t)
        })
    }

    /// Clamps an integer to the range of another integer type, still in its own type.
    fn clamp_to(&self, x: Value, from: Ty, to: Ty) -> Lifted<Value> {
        let (fw, tw) = (from.width(), to.width());
        let t = x.ty();
        let mut v = x;
        if from.signed() {
            let lowest = if to.signed() {
                1u64.wrapping_neg() << (tw - 1)
            } else {
                0
            };
            if !to.signed() || tw < fw {
                v = self.intrinsic("llvm.smax", &[t], &[v, self.int_constant(fw, lowest)])?;
            }
        }
        let magnitude = tw - u32::from(to.signed());
        if magnitude < fw - u32::from(from.signed()) {
            let highest = self.int_constant(fw, (1 << magnitude) - 1);
            let over = if from.signed() {
                IntPred::LLVMIntSGT
            } else {
                IntPred::LLVMIntUGT
            };
            v = self.b.select(self.b.icmp(over, v, highest), highest, v);
        }
        Ok(v)
    }
}
