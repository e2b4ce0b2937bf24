//! Logic, shifts, bit fields and bit counts.
use super::lifter::Lifter;
use super::refusal::Lifted;
use super::syntax::Instruction;
use super::types::Ty;
use kerf_llvm::{IntPred, Opcode, Value};

impl Lifter {
    /// `and`, `or`, `xor`, `not`, `cnot`
    pub fn logic(&mut self, i: &mut Instruction, op: &str) -> Lifted<()> {
        let ty = i.ty()?;
        let unary = matches!(op, "not" | "cnot");
        i.arity(if unary { 2 } else { 3 })?;
        if !(ty.is_int() && ty.width() <= 64) && ty != Ty::Pred {
            return i.unsupported();
        }
        let x = self.read(&i.operand(1)?, ty)?;
        let t = x.ty();
        let v = match op {
            "not" => self.b.xor(x, self.int_constant(ty.width(), u64::MAX)),
            "cnot" => {
                let zero = self.b.icmp(IntPred::LLVMIntEQ, x, t.zero());
                self.b.zext_or_trunc(zero, t)
            }
            _ => {
                let y = self.read(&i.operand(2)?, ty)?;
                match op {
                    "and" => self.b.and(x, y),
                    "or" => self.b.or(x, y),
                    _ => self.b.xor(x, y),
                }
            }
        };
        self.write(&i.operand(0)?, v, false)
    }

    /// `shl` and `shr`, whose amounts PTX clamps to the width.
    pub fn shift(&mut self, i: &mut Instruction, op: &str) -> Lifted<()> {
        let ty = i.ty()?;
        i.arity(3)?;
        if !ty.is_int() || ty.width() > 64 {
            return i.unsupported();
        }
        let x = self.read(&i.operand(1)?, ty)?;
        let amount = self.read(&i.operand(2)?, Ty::Uint(32))?;
        let opcode = match (op, ty.signed()) {
            ("shl", _) => Opcode::LLVMShl,
            (_, true) => Opcode::LLVMAShr,
            (_, false) => Opcode::LLVMLShr,
        };
        let v = self.clamped_shift(opcode, x, amount);
        self.write(&i.operand(0)?, v, ty.signed())
    }

    /// A shift by an i32 amount: at the width or beyond it only zeros, or the sign, are left.
    pub fn clamped_shift(&self, opcode: Opcode, x: Value, amount: Value) -> Value {
        let t = x.ty();
        let width = u64::from(t.int_bits());
        if let Some(k) = amount.const_int() {
            return match opcode {
                Opcode::LLVMAShr => self.b.bin(opcode, x, t.int(k.min(width - 1))),
                _ if k >= width => t.zero(),
                _ => self.b.bin(opcode, x, t.int(k)),
            };
        }
        let inside = self
            .b
            .icmp(IntPred::LLVMIntULT, amount, self.int_constant(32, width));
        if opcode == Opcode::LLVMAShr {
            let most = self.int_constant(32, width - 1);
            let amount = self.b.select(inside, amount, most);
            return self.b.bin(opcode, x, self.b.zext_or_trunc(amount, t));
        }
        let shifted = self.b.bin(opcode, x, self.b.zext_or_trunc(amount, t));
        self.b.select(inside, shifted, t.zero())
    }

    /// `shf`: a shift of two words as one.
    pub fn funnel(&mut self, i: &mut Instruction) -> Lifted<()> {
        let left = i.pick(&["l", "r"]) == Some("l");
        let clamp = i.pick(&["wrap", "clamp"]) == Some("clamp");
        let ty = i.ty()?;
        i.arity(4)?;
        if ty != Ty::Bits(32) {
            return i.unsupported();
        }
        let (low, high) = (
            self.read(&i.operand(1)?, ty)?,
            self.read(&i.operand(2)?, ty)?,
        );
        let amount = self.read(&i.operand(3)?, ty)?;
        let name = if left { "llvm.fshl" } else { "llvm.fshr" };
        let mut v = self.intrinsic(name, &[low.ty()], &[high, low, amount])?;
        if clamp {
            let inside = self
                .b
                .icmp(IntPred::LLVMIntULT, amount, self.int_constant(32, 32));
            v = self.b.select(inside, v, if left { low } else { high });
        }
        self.write(&i.operand(0)?, v, false)
    }

    /// `lop3`: any function of three bits, by its table.
    pub fn lop3(&mut self, i: &mut Instruction) -> Lifted<()> {
        let ty = i.ty()?;
        i.arity(5)?;
        let Some(table) = self.constant(&i.operand(4)?) else {
            return i.unsupported();
        };
        if ty != Ty::Bits(32) {
            return i.unsupported();
        }
        let (x, y) = (
            self.read(&i.operand(1)?, ty)?,
            self.read(&i.operand(2)?, ty)?,
        );
        let z = self.read(&i.operand(3)?, ty)?;
        // Bit 4x + 2y + z of the table is the result for those inputs.
        let (off, on) = (table & 15, table >> 4 & 15);
        let (f0, f1) = (self.table2(off, y, z), self.table2(on, y, z));
        let v = if off == on {
            f0
        } else if off == 15 - on {
            self.b.xor(x, f0)
        } else {
            let not_x = self.b.xor(x, self.int_constant(32, u64::MAX));
            self.b.or(self.b.and(x, f1), self.b.and(not_x, f0))
        };
        self.write(&i.operand(0)?, v, false)
    }

    /// A function of two bits by its table: bit 2y + z.
    fn table2(&self, table: u64, y: Value, z: Value) -> Value {
        let b = &self.b;
        let ones = self.int_constant(32, u64::MAX);
        let not = |v: Value| b.xor(v, ones);
        match table & 15 {
            0 => y.ty().zero(),
            1 => not(b.or(y, z)),
            2 => b.and(not(y), z),
            3 => not(y),
            4 => b.and(y, not(z)),
            5 => not(z),
            6 => b.xor(y, z),
            7 => not(b.and(y, z)),
            8 => b.and(y, z),
            9 => not(b.xor(y, z)),
            10 => z,
            11 => b.or(not(y), z),
            12 => y,
            13 => b.or(y, not(z)),
            14 => b.or(y, z),
            _ => ones,
        }
    }

    /// The low `length` bits set, all of them where that is the width or more.
    fn low_mask(&self, t: kerf_llvm::Type, length: Value) -> Value {
        let all = self.int_constant(t.int_bits(), u64::MAX);
        let above = self.clamped_shift(Opcode::LLVMShl, all, length);
        self.b.xor(above, all)
    }

    /// A position or length in a field of `ty`. PTX wants at most 255; of more than that the GPU
    /// takes the low byte for 32-bit fields and all of it for 64-bit ones.
    fn place(&self, i: &Instruction, k: usize, ty: Ty) -> Lifted<Value> {
        let v = self.read(&i.operand(k)?, Ty::Uint(32))?;
        let wide = ty.width() == 64;
        Ok(if wide {
            v
        } else {
            self.b.and(v, self.int_constant(32, 255))
        })
    }

    /// `bfe`: a bit field, extended.
    pub fn extract_field(&mut self, i: &mut Instruction) -> Lifted<()> {
        let ty = i.ty()?;
        i.arity(4)?;
        if !matches!(ty, Ty::Uint(32 | 64) | Ty::Sint(32 | 64)) {
            return i.unsupported();
        }
        let x = self.read(&i.operand(1)?, ty)?;
        let (position, length) = (self.place(i, 2, ty)?, self.place(i, 3, ty)?);
        let t = x.ty();
        let v = if ty.signed() {
            let field = self.clamped_shift(Opcode::LLVMAShr, x, position);
            let width = self.int_constant(32, u64::from(ty.width()));
            let length = self.intrinsic("llvm.umin", &[width.ty()], &[length, width])?;
            let spare = self.b.sub(width, length);
            // A field of no bits is zero: then `spare` is the width and the shift left clears all.
            let top = self.clamped_shift(Opcode::LLVMShl, field, spare);
            self.clamped_shift(Opcode::LLVMAShr, top, spare)
        } else {
            let field = self.clamped_shift(Opcode::LLVMLShr, x, position);
            self.b.and(field, self.low_mask(t, length))
        };
        self.write(&i.operand(0)?, v, ty.signed())
    }

    /// `bfi`: a bit field put into a word.
    pub fn insert_field(&mut self, i: &mut Instruction) -> Lifted<()> {
        let ty = i.ty()?;
        i.arity(5)?;
        if !matches!(ty, Ty::Bits(32 | 64)) {
            return i.unsupported();
        }
        let (field, word) = (
            self.read(&i.operand(1)?, ty)?,
            self.read(&i.operand(2)?, ty)?,
        );
        let (position, length) = (self.place(i, 3, ty)?, self.place(i, 4, ty)?);
        let mask = self.low_mask(word.ty(), length);
        let mask = self.clamped_shift(Opcode::LLVMShl, mask, position);
        let field = self.clamped_shift(Opcode::LLVMShl, field, position);
        let keep = self.b.xor(mask, self.int_constant(ty.width(), u64::MAX));
        let v = self.b.or(self.b.and(word, keep), self.b.and(field, mask));
        self.write(&i.operand(0)?, v, false)
    }

    /// `popc`, `clz`, `brev`, `bfind`
    pub fn count(&mut self, i: &mut Instruction, op: &str) -> Lifted<()> {
        let shift_amount = i.flag("shiftamt");
        let ty = i.ty()?;
        i.arity(2)?;
        let bits = matches!(ty, Ty::Bits(32 | 64));
        let find = op == "bfind" && matches!(ty, Ty::Uint(32 | 64) | Ty::Sint(32 | 64));
        if !find && (!bits || shift_amount) {
            return i.unsupported();
        }
        let x = self.read(&i.operand(1)?, ty)?;
        let (t, word) = (x.ty(), self.b.int_ty(32));
        let may_be_zero = self.b.int_ty(1).zero();
        let v = match op {
            "brev" => self.intrinsic("llvm.bitreverse", &[t], &[x])?,
            "popc" => {
                let n = self.intrinsic("llvm.ctpop", &[t], &[x])?;
                self.b.zext_or_trunc(n, word)
            }
            "clz" => {
                let n = self.intrinsic("llvm.ctlz", &[t], &[x, may_be_zero])?;
                self.b.zext_or_trunc(n, word)
            }
            _ => {
                let x = if ty.signed() {
                    let sign = self.clamped_shift(Opcode::LLVMAShr, x, self.int_constant(32, 64));
                    self.b.xor(x, sign)
                } else {
                    x
                };
                let n = self.intrinsic("llvm.ctlz", &[t], &[x, may_be_zero])?;
                let n = self.b.zext_or_trunc(n, word);
                let top = self.int_constant(32, u64::from(ty.width()) - 1);
                let found = if shift_amount { n } else { self.b.sub(top, n) };
                let none = self.b.icmp(IntPred::LLVMIntEQ, x, t.zero());
                self.b.select(none, self.int_constant(32, u64::MAX), found)
            }
        };
        self.write(&i.operand(0)?, v, false)
    }
}
