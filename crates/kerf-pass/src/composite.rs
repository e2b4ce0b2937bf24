//! Composite precision: chosen sites computed on double words.
//!
//! A value is `<2 x float>` or `<2 x double>`, element 0 the high word; phis and selects work on the
//! vector, operations are calls of the double-word library ([`crate::doubleword`]), which is linked and,
//! when the module is finished, inlined. Where a value leaves composite sites it is rounded once.
mod operation;

use crate::doubleword::library;
use crate::engine::{Build, FormatEngine};
use crate::format_types::type_of;
use crate::site_format::SiteFormat;
use kerf_llvm::{Builder, IntPred, LlvmError, Opcode, RealPred, Value};
use operation::Operation;

pub use operation::check;

/// Builds sites in pair formats.
pub(crate) struct Pass;

impl Pass {
    /// The shorter algorithm where operands are words; none where the general one is as good.
    fn with_words(
        &self,
        e: &mut FormatEngine,
        b: &Builder,
        name: &str,
        args: &[Value],
        to: SiteFormat,
    ) -> Result<Option<Value>, LlvmError> {
        if to.is_cmp() || !matches!(name, "add" | "sub" | "mul" | "div" | "fma") {
            return Ok(None);
        }
        let (Some(x), Some(y)) = (args.first(), args.get(1)) else {
            return Ok(None);
        };
        let words = (e.word(*x, to)?, e.word(*y, to)?);
        let ret = type_of(e.m, to);
        let kind = if name == "sub" { "add" } else { name };
        let minus = |v: Value| if name == "sub" { b.fneg(v) } else { v };
        let (form, operands) = match (words, name) {
            ((Some(x), Some(y)), "fma") => {
                let z = e.get(args[2], to)?;
                ("words", vec![x, y, z])
            }
            (_, "fma") | ((None, None), _) | ((Some(_), None), "div") => return Ok(None),
            ((Some(x), Some(y)), _) => ("words", vec![x, minus(y)]),
            ((None, Some(y)), _) => ("fp", vec![e.get(*x, to)?, minus(y)]),
            ((Some(x), None), _) => ("fp", vec![minus(e.get(*y, to)?), x]),
        };
        let name = format!("{kind}_{form}");
        Ok(Some(library(e.m, b, to, &name, ret, &operands)))
    }

    fn call(
        &self,
        e: &mut FormatEngine,
        b: &Builder,
        name: &str,
        args: &[Value],
        to: SiteFormat,
    ) -> Result<Value, LlvmError> {
        if let Some(v) = self.with_words(e, b, name, args, to)? {
            return Ok(v);
        }
        // Where the published formulas have nothing of their own, normal pairs are computed with.
        let (suffix, of) = match (to.is_cmp(), name) {
            (false, _) => ("", to),
            (true, "add" | "sub" | "mul" | "div" | "fma") => ("_cmp", to),
            (true, "exp") => ("_cmp_bf", to),
            (true, _) => ("", to.normal()),
        };
        let args = args
            .iter()
            .map(|a| e.get(*a, of))
            .collect::<Result<Vec<_>, _>>()?;
        let ret = type_of(e.m, to);
        Ok(library(e.m, b, to, &format!("{name}{suffix}"), ret, &args))
    }

    fn compare(
        &self,
        e: &mut FormatEngine,
        b: &Builder,
        i: Value,
        to: SiteFormat,
    ) -> Result<Value, LlvmError> {
        use RealPred::*;
        let (x, y) = (e.get(i.operand(0), to)?, e.get(i.operand(1), to)?);
        let i32t = b.int_ty(32);
        let suffix = if to.is_cmp() { "_cmp" } else { "" };
        let ask = |name: &str, x: Value, y: Value| {
            let r = library(e.m, b, to, &format!("{name}{suffix}"), i32t, &[x, y]);
            b.icmp(IntPred::LLVMIntNE, r, i32t.zero())
        };
        let not = |v: Value| b.xor(v, b.int_ty(1).int(1));
        let differ = || b.or(ask("less", x, y), ask("less", y, x));
        Ok(match i.real_pred() {
            LLVMRealOEQ => ask("equal", x, y),
            LLVMRealUNE => not(ask("equal", x, y)),
            LLVMRealONE => differ(),
            LLVMRealUEQ => not(differ()),
            LLVMRealOLT => ask("less", x, y),
            LLVMRealOGT => ask("less", y, x),
            LLVMRealOLE => ask("less_equal", x, y),
            LLVMRealOGE => ask("less_equal", y, x),
            LLVMRealUGE => not(ask("less", x, y)),
            LLVMRealULE => not(ask("less", y, x)),
            LLVMRealUGT => not(ask("less_equal", x, y)),
            LLVMRealULT => not(ask("less_equal", y, x)),
            // Whether there is a NaN, the high words know.
            p => b.fcmp(p, b.lane(x, 0), b.lane(y, 0)),
        })
    }
}

impl Build for Pass {
    fn build(
        &self,
        e: &mut FormatEngine,
        b: &Builder,
        i: Value,
        to: SiteFormat,
    ) -> Result<Value, LlvmError> {
        let operation = operation::classify(i).map_err(|e| LlvmError(e.to_string()))?;
        match operation {
            Operation::Call(name) => {
                let args = match i.opcode() {
                    Some(Opcode::LLVMCall) => i.args(),
                    _ => i.operands(),
                };
                self.call(e, b, name, &args, to)
            }
            Operation::Reciprocal => {
                let one = i.ty().real(1.0);
                self.call(e, b, "div", &[one, i.args()[0]], to)
            }
            Operation::Negate => {
                let x = e.get(i.operand(0), to)?;
                Ok(b.fneg(x))
            }
            Operation::Select => {
                let (x, y) = (e.get(i.operand(1), to)?, e.get(i.operand(2), to)?);
                Ok(b.select(i.operand(0), x, y))
            }
            Operation::Convert => e.get(i.operand(0), to),
            Operation::Compare => self.compare(e, b, i, to),
            Operation::FromInteger { signed } => {
                let n = i.operand(0);
                let bits = if n.ty().int_bits() <= 32 { 32 } else { 64 };
                let n = match signed {
                    true => b.sext_or_trunc(n, b.int_ty(bits)),
                    false => b.zext_or_trunc(n, b.int_ty(bits)),
                };
                let name = format!("from_{}{bits}", if signed { "i" } else { "u" });
                let ret = type_of(e.m, to);
                Ok(library(e.m, b, to, &name, ret, &[n]))
            }
            Operation::ToInteger { signed } => {
                let x = e.get(i.operand(0), to.normal())?;
                let bits = if i.ty().int_bits() <= 32 { 32 } else { 64 };
                let name = format!("to_{}{bits}", if signed { "i" } else { "u" });
                let n = library(e.m, b, to, &name, b.int_ty(bits), &[x]);
                Ok(b.zext_or_trunc(n, i.ty()))
            }
            Operation::Phi => Err(LlvmError("phis are built first".into())),
        }
    }
}
