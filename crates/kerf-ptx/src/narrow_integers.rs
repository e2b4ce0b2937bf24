//! Products of 24 bits, packing with saturation, and the video instructions on one integer.
use super::lifter::Lifter;
use super::refusal::Lifted;
use super::syntax::Instruction;
use super::types::Ty;
use kerf_llvm::{IntPred, Opcode, Value};

impl Lifter {
    /// `mul24` and `mad24`: of the 48 bits of a product, the low 32 or the high 32.
    pub fn product24(&mut self, i: &mut Instruction, op: &str) -> Lifted<()> {
        let part = i.pick(&["lo", "hi"]);
        let sat = i.flag("sat");
        let ty = i.ty()?;
        let sums = op == "mad24";
        i.arity(if sums { 4 } else { 3 })?;
        let (Some(part), Ty::Uint(32) | Ty::Sint(32)) = (part, ty) else {
            return i.unsupported();
        };
        if sat && !(sums && part == "hi" && ty.signed()) {
            return i.unsupported();
        }
        let wide = self.b.int_ty(64);
        let factor = |l: &Lifter, k: usize| -> Lifted<Value> {
            let eight = l.int_constant(32, 8);
            let top = l.b.shl(l.read(&i.operand(k)?, ty)?, eight);
            let shift = match ty.signed() {
                true => Opcode::LLVMAShr,
                false => Opcode::LLVMLShr,
            };
            Ok(l.extend(l.b.bin(shift, top, eight), ty, wide))
        };
        let product = self.b.mul(factor(self, 1)?, factor(self, 2)?);
        let shift = wide.int(if part == "hi" { 16 } else { 0 });
        let v = self
            .b
            .zext_or_trunc(self.b.lshr(product, shift), self.b.int_ty(32));
        let v = match (sums, sat) {
            (false, _) => v,
            (true, false) => self.b.add(v, self.read(&i.operand(3)?, ty)?),
            (true, true) => {
                let c = self.read(&i.operand(3)?, ty)?;
                self.intrinsic("llvm.sadd.sat", &[v.ty()], &[v, c])?
            }
        };
        self.write(&i.operand(0)?, v, ty.signed())
    }

    /// `cvt.pack.sat`: two integers clamped to a narrow type, side by side below a third one.
    pub fn convert_packed(&mut self, i: &mut Instruction) -> Lifted<()> {
        let sat = i.flag("sat");
        let narrow = i.pick(&["u16", "s16", "u8", "s8", "u4", "s4", "u2", "s2"]);
        let (Some(narrow), true) = (narrow, sat) else {
            return i.unsupported();
        };
        let ty = i.ty()?;
        let joined = i.optional_ty();
        let width: u32 = narrow[1..].parse().unwrap_or(16);
        if ty != Ty::Sint(32) || (joined.is_some() != (width < 16)) {
            return i.unsupported();
        }
        i.arity(if joined.is_some() { 4 } else { 3 })?;
        let (low, high) = match narrow.starts_with('s') {
            true => (
                1u64.wrapping_neg() << (width - 1),
                (1u64 << (width - 1)) - 1,
            ),
            false => (0, (1u64 << width) - 1),
        };
        let clamped = |l: &Lifter, k: usize| -> Lifted<Value> {
            let v = l.read(&i.operand(k)?, ty)?;
            let v = l.intrinsic("llvm.smax", &[v.ty()], &[v, l.int_constant(32, low)])?;
            let v = l.intrinsic("llvm.smin", &[v.ty()], &[v, l.int_constant(32, high)])?;
            Ok(l.b.and(v, l.int_constant(32, (1 << width) - 1)))
        };
        let shift = |l: &Lifter, v: Value, by: u32| l.b.shl(v, l.int_constant(32, u64::from(by)));
        let (a, b) = (clamped(self, 1)?, clamped(self, 2)?);
        let mut v = self.b.or(shift(self, a, width), b);
        if joined.is_some() {
            let c = self.read(&i.operand(3)?, Ty::Bits(32))?;
            v = self.b.or(v, shift(self, c, 2 * width));
        }
        self.write(&i.operand(0)?, v, false)
    }

    /// `vadd`, `vsub`, `vabsdiff`, `vmin`, `vmax`, `vshl`, `vshr` of whole words: computed exactly, clamped or cut to the
    /// type of the result, and combined with a third operand.
    pub fn video_scalar(&mut self, i: &mut Instruction, op: &str) -> Lifted<()> {
        let (to, at, bt) = (i.ty()?, i.ty()?, i.ty()?);
        let sat = i.flag("sat");
        let wrap = i.pick(&["clamp", "wrap"]) == Some("wrap");
        let second = i.pick(&["add", "min", "max"]);
        let words = [to, at, bt];
        let known = |t: &Ty| matches!(t, Ty::Uint(32) | Ty::Sint(32));
        i.arity(if second.is_some() { 4 } else { 3 })?;
        if !words.iter().all(known) {
            return i.unsupported();
        }
        let wide = self.b.int_ty(64);
        let x = self.extend(self.read(&i.operand(1)?, at)?, at, wide);
        let word = self.read(&i.operand(2)?, bt)?;
        let y = self.extend(word, bt, wide);
        let v = match op {
            "vadd" => self.b.add(x, y),
            "vsub" => self.b.sub(x, y),
            "vabsdiff" => {
                let defined = self.b.int_ty(1).zero();
                self.intrinsic("llvm.abs", &[wide], &[self.b.sub(x, y), defined])?
            }
            "vmin" | "vmax" => {
                self.intrinsic(super::integer::order(&op[1..], true), &[wide], &[x, y])?
            }
            "vshl" | "vshr" => {
                let most = self.int_constant(32, 32);
                let by = match wrap {
                    true => self.b.and(word, self.int_constant(32, 31)),
                    false => self.intrinsic("llvm.umin", &[word.ty()], &[word, most])?,
                };
                let by = self.b.zext_or_trunc(by, wide);
                let shift = match op {
                    "vshl" => Opcode::LLVMShl,
                    _ => Opcode::LLVMAShr,
                };
                self.b.bin(shift, x, by)
            }
            _ => return i.unsupported(),
        };
        let v = if sat { self.clamp_word(v, to) } else { v };
        let v = self.b.zext_or_trunc(v, self.b.int_ty(32));
        let v = match second {
            None => v,
            Some(second) => {
                let c = self.read(&i.operand(3)?, to)?;
                match second {
                    "add" => self.b.add(v, c),
                    m => {
                        self.intrinsic(super::integer::order(m, to.signed()), &[v.ty()], &[v, c])?
                    }
                }
            }
        };
        self.write(&i.operand(0)?, v, to.signed())
    }

    /// An i64 clamped to the range of a 32-bit type.
    fn clamp_word(&self, v: Value, to: Ty) -> Value {
        let (low, high) = match to.signed() {
            true => (i64::from(i32::MIN), i64::from(i32::MAX)),
            false => (0, i64::from(u32::MAX)),
        };
        let t = v.ty();
        let (low, high) = (t.int(low as u64), t.int(high as u64));
        let b = &self.b;
        let v = b.select(b.icmp(IntPred::LLVMIntSLT, v, low), low, v);
        b.select(b.icmp(IntPred::LLVMIntSGT, v, high), high, v)
    }
}
