//! Integer arithmetic.
use super::lifter::Lifter;
use super::refusal::Lifted;
use super::syntax::Instruction;
use super::types::Ty;
use kerf_llvm::{IntPred, Opcode, Value};

/// Which part of a product an instruction keeps.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Low,
    High,
    Wide,
}

impl Part {
    /// Takes `.lo`, `.hi` or `.wide`.
    pub fn take(i: &mut Instruction) -> Lifted<Part> {
        match i.pick(&["lo", "hi", "wide"]) {
            Some("lo") => Ok(Part::Low),
            Some("hi") => Ok(Part::High),
            Some(_) => Ok(Part::Wide),
            None => i.unsupported(),
        }
    }
}

fn doubled(ty: Ty) -> Ty {
    match ty {
        Ty::Sint(w) => Ty::Sint(2 * w),
        Ty::Uint(w) => Ty::Uint(2 * w),
        t => t,
    }
}

impl Lifter {
    /// `add`, `sub`, `mul`, `mad`, `fma` and the forms with a carry, by type.
    pub fn arithmetic(&mut self, i: &mut Instruction, op: &str) -> Lifted<()> {
        let ty = i.ty()?;
        if op.ends_with('c') || i.modifiers.iter().any(|m| m == "cc") {
            return self.carried(i, op, ty);
        }
        match ty {
            Ty::Float(_) | Ty::Float2(_) => self.float_arithmetic(i, op, ty),
            Ty::Uint(_) | Ty::Sint(_) | Ty::Int2(_) => self.int_arithmetic(i, op, ty),
            Ty::Bits(_) | Ty::Pred => i.unsupported(),
        }
    }

    fn int_arithmetic(&mut self, i: &mut Instruction, op: &str, ty: Ty) -> Lifted<()> {
        let product = matches!(op, "mul" | "mad");
        if op == "fma" || (product && !ty.is_int()) {
            return i.unsupported();
        }
        i.arity(if op == "mad" { 4 } else { 3 })?;
        let (x, y) = (
            self.read(&i.operand(1)?, ty)?,
            self.read(&i.operand(2)?, ty)?,
        );
        let v = if product {
            let part = Part::take(i)?;
            let v = self.product(x, y, ty, part);
            if op == "mad" {
                let c = if part == Part::Wide { doubled(ty) } else { ty };
                let c = self.read(&i.operand(3)?, c)?;
                match part == Part::High && ty == Ty::Sint(32) && i.flag("sat") {
                    true => self.intrinsic("llvm.sadd.sat", &[v.ty()], &[v, c])?,
                    false => self.b.add(v, c),
                }
            } else {
                v
            }
        } else {
            match (op, i.flag("sat") && ty == Ty::Sint(32)) {
                ("add", true) => self.intrinsic("llvm.sadd.sat", &[x.ty()], &[x, y])?,
                (_, true) => self.intrinsic("llvm.ssub.sat", &[x.ty()], &[x, y])?,
                ("add", false) => self.b.add(x, y),
                (_, false) => self.b.sub(x, y),
            }
        };
        self.write(&i.operand(0)?, v, ty.signed())
    }

    /// The low or high half of a product, or all of it.
    pub fn product(&self, x: Value, y: Value, ty: Ty, part: Part) -> Value {
        if part == Part::Low {
            return self.b.mul(x, y);
        }
        let w = ty.width();
        let wide = self.b.int_ty(2 * w);
        let v = self
            .b
            .mul(self.extend(x, ty, wide), self.extend(y, ty, wide));
        if part == Part::Wide {
            return v;
        }
        let shift = wide.int(u64::from(w));
        self.b
            .zext_or_trunc(self.b.lshr(v, shift), self.b.int_ty(w))
    }

    /// Extends an integer (or vector of integers) by the sign of its PTX type.
    pub fn extend(&self, v: Value, ty: Ty, to: kerf_llvm::Type) -> Value {
        let op = if ty.signed() {
            Opcode::LLVMSExt
        } else {
            Opcode::LLVMZExt
        };
        if v.ty() == to {
            v
        } else {
            self.b.cast(op, v, to)
        }
    }

    /// `div` and `rem`. IR leaves division by zero and overflow undefined; the GPU gives all ones
    /// for the one and wraps around for the other.
    pub fn divide(&mut self, i: &mut Instruction, op: &str) -> Lifted<()> {
        let ty = i.ty()?;
        if matches!(ty, Ty::Float(_)) && op == "div" {
            return self.float_divide(i, ty);
        }
        i.arity(3)?;
        if !matches!(ty, Ty::Uint(_) | Ty::Sint(_)) {
            return i.unsupported();
        }
        let (x, y) = (
            self.read(&i.operand(1)?, ty)?,
            self.read(&i.operand(2)?, ty)?,
        );
        let (t, eq) = (x.ty(), IntPred::LLVMIntEQ);
        let by_zero = self.b.icmp(eq, y, t.zero());
        let mut odd = by_zero;
        if ty.signed() {
            let lowest = self.int_constant(ty.width(), 1 << (ty.width() - 1));
            let minus_one = self.int_constant(ty.width(), u64::MAX);
            let overflows = self
                .b
                .and(self.b.icmp(eq, x, lowest), self.b.icmp(eq, y, minus_one));
            odd = self.b.or(odd, overflows);
        }
        let y = self.b.select(odd, t.int(1), y);
        let opcode = match (op, ty.signed()) {
            ("div", true) => Opcode::LLVMSDiv,
            ("div", false) => Opcode::LLVMUDiv,
            (_, true) => Opcode::LLVMSRem,
            (_, false) => Opcode::LLVMURem,
        };
        let ones = self.int_constant(ty.width(), u64::MAX);
        let v = self.b.select(by_zero, ones, self.b.bin(opcode, x, y));
        self.write(&i.operand(0)?, v, ty.signed())
    }

    /// `neg`, `abs`, `min`, `max`, by type.
    pub fn sign_and_order(&mut self, i: &mut Instruction, op: &str) -> Lifted<()> {
        let ty = i.ty()?;
        let unary = matches!(op, "neg" | "abs");
        match ty {
            Ty::Float(_) | Ty::Float2(_) if unary => return self.float_sign(i, op, ty),
            Ty::Float(_) | Ty::Float2(_) => return self.float_order(i, op, ty),
            Ty::Bits(_) | Ty::Pred => return i.unsupported(),
            Ty::Uint(_) | Ty::Sint(_) | Ty::Int2(_) => {}
        }
        i.arity(if unary { 2 } else { 3 })?;
        let x = self.read(&i.operand(1)?, ty)?;
        let v = if unary {
            let minus = self.b.sub(x.ty().zero(), x);
            if op == "neg" {
                minus
            } else {
                let negative = self.b.icmp(IntPred::LLVMIntSLT, x, x.ty().zero());
                self.b.select(negative, minus, x)
            }
        } else {
            let y = self.read(&i.operand(2)?, ty)?;
            let v = self.intrinsic(order(op, ty.signed()), &[x.ty()], &[x, y])?;
            if i.flag("relu") && ty.signed() {
                self.intrinsic("llvm.smax", &[x.ty()], &[v, x.ty().zero()])?
            } else {
                v
            }
        };
        self.write(&i.operand(0)?, v, ty.signed())
    }

    /// `sad`: a difference's size added to a sum.
    pub fn sad(&mut self, i: &mut Instruction) -> Lifted<()> {
        let ty = i.ty()?;
        i.arity(4)?;
        if !matches!(ty, Ty::Uint(_) | Ty::Sint(_)) {
            return i.unsupported();
        }
        let (x, y) = (
            self.read(&i.operand(1)?, ty)?,
            self.read(&i.operand(2)?, ty)?,
        );
        let c = self.read(&i.operand(3)?, ty)?;
        let less = if ty.signed() {
            IntPred::LLVMIntSLT
        } else {
            IntPred::LLVMIntULT
        };
        let below = self.b.icmp(less, x, y);
        let difference = self.b.select(below, self.b.sub(y, x), self.b.sub(x, y));
        self.write(&i.operand(0)?, self.b.add(c, difference), ty.signed())
    }

    /// `dp4a` and `dp2a`: sums of products of bytes.
    pub fn dot(&mut self, i: &mut Instruction, op: &str) -> Lifted<()> {
        let upper = match (op, i.pick(&["lo", "hi"])) {
            ("dp4a", None) => false,
            ("dp2a", Some(half)) => half == "hi",
            _ => return i.unsupported(),
        };
        let (at, bt) = (i.ty()?, i.ty()?);
        i.arity(4)?;
        if at.width() != 32 || bt.width() != 32 || !at.is_int() || !bt.is_int() {
            return i.unsupported();
        }
        let lanes = |l: &Lifter, k: usize, ty: Ty, width: u32| -> Lifted<Value> {
            let v = l.read(&i.operand(k)?, ty)?;
            Ok(l.b.bitcast(v, l.b.int_ty(width).vector(32 / width)))
        };
        let a = lanes(self, 1, at, if op == "dp4a" { 8 } else { 16 })?;
        let bytes = lanes(self, 2, bt, 8)?;
        let word = self.b.int_ty(32);
        let mut sum = self.read(&i.operand(3)?, Ty::Bits(32))?;
        for k in 0..a.ty().lanes() {
            let x = self.extend(self.b.lane(a, k), at, word);
            let y = self.b.lane(bytes, if upper { k + 2 } else { k });
            sum = self.b.add(sum, self.b.mul(x, self.extend(y, bt, word)));
        }
        self.write(&i.operand(0)?, sum, false)
    }
}

/// Intrinsic of an integer `min` or `max`.
pub(super) fn order(op: &str, signed: bool) -> &'static str {
    match (op, signed) {
        ("min", true) => "llvm.smin",
        ("min", false) => "llvm.umin",
        (_, true) => "llvm.smax",
        (_, false) => "llvm.umax",
    }
}
