//! Functions of one floating-point argument, and `copysign`.
use super::float_arith::Style;
use super::lifter::Lifter;
use super::refusal::Lifted;
use super::syntax::Instruction;
use super::types::Ty;
use kerf_llvm::{Opcode, Value, sys};
use kerf_num::Format;

impl Lifter {
    /// `rcp`, `sqrt`, `rsqrt`, `ex2`, `lg2`, `sin`, `cos`, `tanh`
    pub fn function(&mut self, i: &mut Instruction, op: &str) -> Lifted<()> {
        let approx = i.flag("approx");
        let style = Style::take(i);
        let ty = i.ty()?;
        i.arity(2)?;
        let Some(f) = ty.format().filter(|_| !style.sat && !style.relu) else {
            return i.unsupported();
        };
        let x = self.read(&i.operand(1)?, ty)?;
        let v = match (op, approx) {
            ("tanh" | "ex2", _) if f == Format::F64 => return i.unsupported(),
            ("tanh", true) => self.lanewise(x, |x| self.tanh(x, f))?,
            ("ex2", true) => {
                let name = if style.ftz {
                    "llvm.nvvm.ex2.approx.ftz"
                } else {
                    "llvm.nvvm.ex2.approx"
                };
                self.lanewise(x, |x| self.intrinsic(name, &[x.ty()], &[x]))?
            }
            _ if !matches!(ty, Ty::Float(Format::F32 | Format::F64)) => return i.unsupported(),
            // NVVM has the approximation that flushes; the other one must be right for subnormals
            // too, which the division is.
            ("rcp", true) if !style.ftz => self.reciprocal(x),
            ("rcp", false) if !style.needs_intrinsic(f) => self.reciprocal(x),
            ("sqrt", false) if !style.needs_intrinsic(f) => {
                self.intrinsic("llvm.sqrt", &[x.ty()], &[x])?
            }
            ("rcp" | "sqrt", false) => self.intrinsic(&style.intrinsic(op, f), &[], &[x])?,
            (_, true) => {
                let style = Style {
                    rounding: "approx",
                    ..style
                };
                self.intrinsic(&style.intrinsic(op, f), &[], &[x])?
            }
            _ => return i.unsupported(),
        };
        self.write(&i.operand(0)?, v, false)
    }

    fn reciprocal(&self, x: Value) -> Value {
        self.b.bin(Opcode::LLVMFDiv, x.ty().real(1.0), x)
    }

    /// NVVM has no intrinsic of `tanh.approx`; libdevice's function keeps what it promises.
    fn tanh(&self, x: Value, f: Format) -> Lifted<Value> {
        let single = self.b.float_ty(Format::F32);
        let wide = if f == Format::F32 {
            x
        } else {
            self.b.cast(Opcode::LLVMFPExt, x, single)
        };
        let v = self.libdevice(c"__nv_tanhf", wide);
        Ok(if f == Format::F32 {
            v
        } else {
            self.b.cast(Opcode::LLVMFPTrunc, v, x.ty())
        })
    }

    /// A call of a libdevice function of one argument.
    fn libdevice(&self, name: &std::ffi::CStr, x: Value) -> Value {
        let ty = x.ty().function(&[x.ty()]);
        // SAFETY: the builder stands in a function of a live module; the name is a C string.
        let f = unsafe {
            let m = sys::LLVMGetGlobalParent(self.b.block().function().0);
            let f = sys::LLVMGetNamedFunction(m, name.as_ptr());
            Value(if f.is_null() {
                sys::LLVMAddFunction(m, name.as_ptr(), ty.0)
            } else {
                f
            })
        };
        let v = self.b.call_ty(ty, f, &[x]);
        if f.is_declaration() {
            f.mark_pure();
        }
        v
    }

    /// `copysign`, whose first source gives the sign.
    pub fn copysign(&mut self, i: &mut Instruction) -> Lifted<()> {
        let ty = i.ty()?;
        i.arity(3)?;
        let (sign, size) = (
            self.read(&i.operand(1)?, ty)?,
            self.read(&i.operand(2)?, ty)?,
        );
        if ty.format().is_none() {
            return i.unsupported();
        }
        let v = self.intrinsic("llvm.copysign", &[size.ty()], &[size, sign])?;
        self.write(&i.operand(0)?, v, false)
    }
}
