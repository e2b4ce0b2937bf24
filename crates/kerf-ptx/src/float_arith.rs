//! Floating-point arithmetic: add, sub, mul, fma, div, neg, abs, min, max and their saturation.
//!
//! Round-to-nearest operations become plain IR, which optimisers and the tuner see. Other rounding
//! modes, and flushing of f32 subnormals, have no IR of their own and go to NVVM intrinsics.
use super::lifter::Lifter;
use super::refusal::Lifted;
use super::syntax::Instruction;
use super::types::{Ty, min_normal};
use kerf_llvm::{Opcode, RealPred, Value};
use kerf_num::Format;

/// How an operation rounds and clamps.
pub(super) struct Style {
    /// `rn`, `rz`, `rm` or `rp`.
    pub rounding: &'static str,
    /// Does the text say how it rounds? Then it must not be fused with a neighbour.
    pub explicit: bool,
    /// Flush subnormals to zero.
    pub ftz: bool,
    /// Clamp to [0, 1].
    pub sat: bool,
    /// Clamp below at 0.
    pub relu: bool,
}

impl Style {
    /// Takes the modifiers of an operation.
    pub fn take(i: &mut Instruction) -> Style {
        i.flag("noftz");
        let rounding = i.pick(&["rn", "rz", "rm", "rp"]);
        Style {
            rounding: rounding.unwrap_or("rn"),
            explicit: rounding.is_some(),
            ftz: i.flag("ftz"),
            sat: i.flag("sat"),
            relu: i.flag("relu"),
        }
    }
    /// Must it be an NVVM intrinsic?
    pub fn needs_intrinsic(&self, f: Format) -> bool {
        self.rounding != "rn" || (self.ftz && f == Format::F32)
    }
    /// Name of the NVVM intrinsic of an operation.
    pub fn intrinsic(&self, op: &str, f: Format) -> String {
        let suffix = if f == Format::F64 { "d" } else { "f" };
        let ftz = if self.ftz { ".ftz" } else { "" };
        format!("llvm.nvvm.{op}.{}{ftz}.{suffix}", self.rounding)
    }
}

impl Lifter {
    /// `add`, `sub`, `mul`, `fma` and the floating-point `mad`, which is the same as `fma`.
    pub fn float_arithmetic(&mut self, i: &mut Instruction, op: &str, ty: Ty) -> Lifted<()> {
        let style = Style::take(i);
        let op = if op == "mad" { "fma" } else { op };
        let n = if op == "fma" { 3 } else { 2 };
        i.arity(n + 1)?;
        if style.relu && op != "fma" {
            return i.unsupported();
        }
        let mut args = Vec::new();
        for k in 0..n {
            args.push(self.read(&i.operand(k + 1)?, ty)?);
        }
        let Some(format) = ty.format() else {
            return i.unsupported();
        };
        let v = if style.needs_intrinsic(format) {
            if !matches!(ty, Ty::Float(Format::F32 | Format::F64)) {
                return i.unsupported();
            }
            // There is no rounded subtraction: a - b = a + (-b) in every mode.
            let op = if op == "sub" {
                args[1] = self.b.fneg(args[1]);
                "add"
            } else {
                op
            };
            self.intrinsic(&style.intrinsic(op, format), &[], &args)?
        } else {
            if style.ftz {
                args = args
                    .iter()
                    .map(|a| self.flush(*a, format))
                    .collect::<Lifted<_>>()?;
            }
            let v = match op {
                "add" => self.b.bin(Opcode::LLVMFAdd, args[0], args[1]),
                "sub" => self.b.bin(Opcode::LLVMFSub, args[0], args[1]),
                "mul" => self.b.bin(Opcode::LLVMFMul, args[0], args[1]),
                _ => self.intrinsic("llvm.fma", &[args[0].ty()], &args)?,
            };
            // The assembler may fuse what does not say how it rounds; whether it is fused is decided in the IR.
            if self.symbols.is_some() && !style.explicit && v.is_instruction() {
                v.let_contract();
            }
            if style.ftz { self.flush(v, format)? } else { v }
        };
        let v = self.clamped(v, &style)?;
        self.write(&i.operand(0)?, v, false)
    }

    fn clamped(&self, v: Value, style: &Style) -> Lifted<Value> {
        let v = if style.relu {
            self.intrinsic("llvm.maximum", &[v.ty()], &[v, self.real(v.ty(), 0.0)])?
        } else {
            v
        };
        Ok(if style.sat { self.saturate(v) } else { v })
    }

    /// Clamps to [0, 1]; NaN becomes 0.
    pub fn saturate(&self, v: Value) -> Value {
        let (zero, one) = (self.real(v.ty(), 0.0), self.real(v.ty(), 1.0));
        let positive = self.b.fcmp(RealPred::LLVMRealOGT, v, zero);
        let v = self.b.select(positive, v, zero);
        let below = self.b.fcmp(RealPred::LLVMRealOLT, v, one);
        self.b.select(below, v, one)
    }

    /// Turns subnormals into zeros of the same sign.
    pub fn flush(&self, v: Value, f: Format) -> Lifted<Value> {
        let t = v.ty();
        let size = self.intrinsic("llvm.fabs", &[t], &[v])?;
        let tiny = self
            .b
            .fcmp(RealPred::LLVMRealOLT, size, self.real(t, min_normal(f)));
        let zero = self.intrinsic("llvm.copysign", &[t], &[self.real(t, 0.0), v])?;
        Ok(self.b.select(tiny, zero, v))
    }

    /// Floating-point `div`.
    pub fn float_divide(&mut self, i: &mut Instruction, ty: Ty) -> Lifted<()> {
        let fast = i.pick(&["full", "approx"]);
        let style = Style::take(i);
        i.arity(3)?;
        let Ty::Float(f @ (Format::F32 | Format::F64)) = ty else {
            return i.unsupported();
        };
        let args = [
            self.read(&i.operand(1)?, ty)?,
            self.read(&i.operand(2)?, ty)?,
        ];
        let v = match fast {
            Some(_) if f == Format::F64 => return i.unsupported(),
            Some("full") if style.ftz => self.intrinsic("llvm.nvvm.div.full.ftz", &[], &args)?,
            Some("full") => self.intrinsic("llvm.nvvm.div.full", &[], &args)?,
            Some(_) if style.ftz => self.intrinsic("llvm.nvvm.div.approx.ftz.f", &[], &args)?,
            Some(_) => self.intrinsic("llvm.nvvm.div.approx.f", &[], &args)?,
            None if style.needs_intrinsic(f) => {
                self.intrinsic(&style.intrinsic("div", f), &[], &args)?
            }
            None => self.b.bin(Opcode::LLVMFDiv, args[0], args[1]),
        };
        self.write(&i.operand(0)?, v, false)
    }

    /// Floating-point `neg` and `abs`.
    pub fn float_sign(&mut self, i: &mut Instruction, op: &str, ty: Ty) -> Lifted<()> {
        let ftz = i.flag("ftz");
        i.arity(2)?;
        let Some(f) = ty.format() else {
            return i.unsupported();
        };
        let mut v = self.read(&i.operand(1)?, ty)?;
        if ftz {
            v = self.flush(v, f)?;
        }
        let v = match op {
            "neg" => self.b.fneg(v),
            _ => self.intrinsic("llvm.fabs", &[v.ty()], &[v])?,
        };
        self.write(&i.operand(0)?, v, false)
    }

    /// Floating-point `min` and `max`: with `.NaN` a NaN wins, without it loses.
    pub fn float_order(&mut self, i: &mut Instruction, op: &str, ty: Ty) -> Lifted<()> {
        let (ftz, nan) = (i.flag("ftz"), i.flag("NaN"));
        i.arity(3)?;
        let Some(f) = ty.format() else {
            return i.unsupported();
        };
        let mut args = vec![
            self.read(&i.operand(1)?, ty)?,
            self.read(&i.operand(2)?, ty)?,
        ];
        if ftz {
            args = args
                .iter()
                .map(|a| self.flush(*a, f))
                .collect::<Lifted<_>>()?;
        }
        let name = match (op, nan) {
            ("min", false) => "llvm.minimumnum",
            ("min", true) => "llvm.minimum",
            (_, false) => "llvm.maximumnum",
            (_, true) => "llvm.maximum",
        };
        let v = self.intrinsic(name, &[args[0].ty()], &args)?;
        self.write(&i.operand(0)?, v, false)
    }
}
