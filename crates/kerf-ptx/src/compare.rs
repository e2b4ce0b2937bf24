//! Comparisons and selections.
use super::lifter::Lifter;
use super::refusal::Lifted;
use super::registers::as_int;
use super::syntax::{Instruction, Operand};
use super::types::Ty;
use kerf_llvm::{IntPred, RealPred, Value};
use kerf_num::Format;

const COMPARISONS: [&str; 18] = [
    "eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs", "equ", "neu", "ltu", "leu", "gtu",
    "geu", "num", "nan",
];

fn real(cmp: &str) -> Option<RealPred> {
    use RealPred::*;
    Some(match cmp {
        "eq" => LLVMRealOEQ,
        "ne" => LLVMRealONE,
        "lt" => LLVMRealOLT,
        "le" => LLVMRealOLE,
        "gt" => LLVMRealOGT,
        "ge" => LLVMRealOGE,
        "equ" => LLVMRealUEQ,
        "neu" => LLVMRealUNE,
        "ltu" => LLVMRealULT,
        "leu" => LLVMRealULE,
        "gtu" => LLVMRealUGT,
        "geu" => LLVMRealUGE,
        "num" => LLVMRealORD,
        "nan" => LLVMRealUNO,
        _ => return None,
    })
}

/// Integer comparison by name and signedness.
pub(super) fn integer(cmp: &str, signed: bool) -> Option<IntPred> {
    use IntPred::*;
    Some(match (cmp, signed) {
        ("eq", _) => LLVMIntEQ,
        ("ne", _) => LLVMIntNE,
        ("lt", true) => LLVMIntSLT,
        ("le", true) => LLVMIntSLE,
        ("gt", true) => LLVMIntSGT,
        ("ge", true) => LLVMIntSGE,
        ("lt" | "lo", _) => LLVMIntULT,
        ("le" | "ls", _) => LLVMIntULE,
        ("gt" | "hi", _) => LLVMIntUGT,
        ("ge" | "hs", _) => LLVMIntUGE,
        _ => return None,
    })
}

/// Takes the comparison of an instruction.
pub(super) fn take_comparison(i: &mut Instruction) -> Lifted<&'static str> {
    match i.pick(&COMPARISONS) {
        Some(c) => Ok(c),
        None => i.unsupported(),
    }
}

impl Lifter {
    fn compare(&self, i: &mut Instruction, cmp: &str, ty: Ty, ftz: bool) -> Lifted<Value> {
        let (mut x, mut y) = (
            self.read(&i.operand(1)?, ty)?,
            self.read(&i.operand(2)?, ty)?,
        );
        if let Some(f) = ty.format() {
            if ftz {
                (x, y) = (self.flush(x, f)?, self.flush(y, f)?);
            }
            return match real(cmp) {
                Some(p) => Ok(self.b.fcmp(p, x, y)),
                None => i.unsupported(),
            };
        }
        match integer(cmp, ty.signed()) {
            Some(p) if ty.is_int() => Ok(self.b.icmp(p, x, y)),
            _ => i.unsupported(),
        }
    }

    fn combine(&self, op: Option<&str>, v: Value, with: Option<Value>) -> Value {
        match (op, with) {
            (Some("and"), Some(c)) => self.b.and(v, c),
            (Some("or"), Some(c)) => self.b.or(v, c),
            (Some(_), Some(c)) => self.b.xor(v, c),
            _ => v,
        }
    }

    /// The predicate that a comparison is combined with, if it is.
    fn combined_with(&self, i: &Instruction, op: Option<&str>) -> Lifted<Option<Value>> {
        if op.is_none() {
            i.arity(3)?;
            return Ok(None);
        }
        i.arity(4)?;
        Ok(Some(self.read(&i.operand(3)?, Ty::Pred)?))
    }

    /// `setp`
    pub fn setp(&mut self, i: &mut Instruction) -> Lifted<()> {
        let cmp = take_comparison(i)?;
        let boolean = i.pick(&["and", "or", "xor"]);
        let ftz = i.flag("ftz");
        let ty = i.ty()?;
        let v = self.compare(i, cmp, ty, ftz)?;
        let with = self.combined_with(i, boolean)?;
        let to = i.operand(0)?;
        if v.ty().is_vector() {
            // The two predicates are those of the two halves.
            let Operand::Pair(p, q) = to else {
                return i.unsupported();
            };
            let (low, high) = (self.b.lane(v, 0), self.b.lane(v, 1));
            self.write(&p, self.combine(boolean, low, with), false)?;
            return self.write(&q, self.combine(boolean, high, with), false);
        }
        let direct = self.combine(boolean, v, with);
        let Operand::Pair(p, q) = to else {
            return self.write(&to, direct, false);
        };
        let inverse = self.b.xor(v, self.b.int_ty(1).int(1));
        let inverse = self.combine(boolean, inverse, with);
        self.write(&p, direct, false)?;
        self.write(&q, inverse, false)
    }

    /// `set`: true is 1.0 for a floating-point result and all ones for an integer.
    pub fn set(&mut self, i: &mut Instruction) -> Lifted<()> {
        let cmp = take_comparison(i)?;
        let boolean = i.pick(&["and", "or", "xor"]);
        let ftz = i.flag("ftz");
        let (to, ty) = (i.ty()?, i.ty()?);
        let v = self.compare(i, cmp, ty, ftz)?;
        let with = self.combined_with(i, boolean)?;
        if v.ty().is_vector() && with.is_some() {
            return i.unsupported();
        }
        let v = self.combine(boolean, v, with);
        let t = match (to, v.ty().is_vector()) {
            (Ty::Uint(32) | Ty::Sint(32) | Ty::Int2(_), true) => Ty::Int2(false).llvm(&self.b),
            (Ty::Float2(_), true) => to.llvm(&self.b),
            (Ty::Uint(16 | 32) | Ty::Sint(16 | 32) | Ty::Float(_), false) => to.llvm(&self.b),
            _ => return i.unsupported(),
        };
        let yes = match to.format() {
            Some(_) => self.real(t, 1.0),
            None => self.splat(t, self.int_constant(t.element().int_bits(), u64::MAX)),
        };
        let v = self.b.select(v, yes, t.zero());
        self.write(&i.operand(0)?, v, false)
    }

    /// `selp`
    pub fn selp(&mut self, i: &mut Instruction) -> Lifted<()> {
        let ty = i.ty()?;
        i.arity(4)?;
        let (x, y) = (
            self.read(&i.operand(1)?, ty)?,
            self.read(&i.operand(2)?, ty)?,
        );
        let p = self.read(&i.operand(3)?, Ty::Pred)?;
        self.write(&i.operand(0)?, self.b.select(p, x, y), false)
    }

    /// `slct`: chooses by the sign of the third source.
    pub fn slct(&mut self, i: &mut Instruction) -> Lifted<()> {
        let ftz = i.flag("ftz");
        let (ty, by) = (i.ty()?, i.ty()?);
        i.arity(4)?;
        let (x, y) = (
            self.read(&i.operand(1)?, ty)?,
            self.read(&i.operand(2)?, ty)?,
        );
        let c = self.read(&i.operand(3)?, by)?;
        // Flushing a negative subnormal makes it -0, which counts as not below zero.
        let c = if ftz && by == Ty::Float(Format::F32) {
            self.flush(c, Format::F32)?
        } else {
            c
        };
        let p = match by {
            Ty::Sint(32) => self.b.icmp(IntPred::LLVMIntSGE, c, c.ty().zero()),
            Ty::Float(Format::F32) => self.b.fcmp(RealPred::LLVMRealOGE, c, c.ty().zero()),
            _ => return i.unsupported(),
        };
        self.write(&i.operand(0)?, self.b.select(p, x, y), false)
    }

    /// `testp`: what kind of number it is.
    pub fn testp(&mut self, i: &mut Instruction) -> Lifted<()> {
        // Bits of llvm.is.fpclass.
        const NAN: u64 = 0x003;
        const INFINITE: u64 = 0x204;
        const NORMAL: u64 = 0x108;
        const SUBNORMAL: u64 = 0x090;
        const ZERO: u64 = 0x060;
        let kinds = [
            "finite",
            "infinite",
            "number",
            "notanumber",
            "normal",
            "subnormal",
        ];
        let class = match i.pick(&kinds) {
            Some("finite") => NORMAL | SUBNORMAL | ZERO,
            Some("infinite") => INFINITE,
            Some("number") => NORMAL | SUBNORMAL | ZERO | INFINITE,
            Some("notanumber") => NAN,
            // PTX counts zero as normal.
            Some("normal") => NORMAL | ZERO,
            Some(_) => SUBNORMAL,
            None => return i.unsupported(),
        };
        let ty = i.ty()?;
        i.arity(2)?;
        let x = self.read(&i.operand(1)?, ty)?;
        if !matches!(ty, Ty::Float(_)) {
            return i.unsupported();
        }
        let class = self.int_constant(32, class);
        let v = self.intrinsic("llvm.is.fpclass", &[x.ty()], &[x, class])?;
        self.write(&i.operand(0)?, as_int(&self.b, v), false)
    }
}
