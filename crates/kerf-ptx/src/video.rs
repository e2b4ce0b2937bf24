//! The video instructions on two or four packed integers, which clang's headers use.
use super::compare::{integer, take_comparison};
use super::integer::order;
use super::lifter::Lifter;
use super::refusal::Lifted;
use super::syntax::Instruction;
use super::types::Ty;
use kerf_llvm::{IntPred, Opcode, Value};

impl Lifter {
    /// `vadd2`, `vsub4`, `vset2`, ...
    pub fn video(&mut self, i: &mut Instruction, op: &str) -> Lifted<()> {
        let (base, lanes) = match op.strip_suffix(['2', '4']) {
            Some(b) => (b.to_owned(), if op.ends_with('2') { 2 } else { 4 }),
            None => return i.unsupported(),
        };
        let comparison = if base == "vset" {
            take_comparison(i)?
        } else {
            ""
        };
        let result = if base == "vset" {
            Ty::Uint(32)
        } else {
            i.ty()?
        };
        let (at, bt) = (i.ty()?, i.ty()?);
        let (sum, sat) = (i.flag("add"), i.flag("sat"));
        i.arity(4)?;
        if [result, at, bt]
            .iter()
            .any(|t| !matches!(t, Ty::Uint(32) | Ty::Sint(32)))
        {
            return i.unsupported();
        }
        let narrow = self.b.int_ty(32 / lanes).vector(lanes);
        let wide = self.b.int_ty(32).vector(lanes);
        let spread = |l: &Lifter, k: usize, ty: Ty| -> Lifted<Value> {
            let v = l.b.bitcast(l.read(&i.operand(k)?, ty)?, narrow);
            Ok(l.extend(v, ty, wide))
        };
        let (x, y) = (spread(self, 1, at)?, spread(self, 2, bt)?);
        let c = self.read(&i.operand(3)?, Ty::Uint(32))?;
        // Every value of a narrow lane fits a signed word, so comparisons are signed throughout.
        let v = match base.as_str() {
            "vadd" => self.b.add(x, y),
            "vsub" => self.b.sub(x, y),
            "vavrg" => self.average(x, y),
            "vabsdiff" => {
                let d = self.b.sub(x, y);
                self.intrinsic("llvm.abs", &[wide], &[d, self.b.int_ty(1).zero()])?
            }
            "vmin" => self.intrinsic(order("min", true), &[wide], &[x, y])?,
            "vmax" => self.intrinsic(order("max", true), &[wide], &[x, y])?,
            "vset" => match integer(comparison, true) {
                Some(p) => self.b.cast(Opcode::LLVMZExt, self.b.icmp(p, x, y), wide),
                None => return i.unsupported(),
            },
            _ => return i.unsupported(),
        };
        let v = if sat {
            self.clamp_lanes(v, 32 / lanes, result.signed())?
        } else {
            v
        };
        let v = if sum {
            (0..lanes).fold(c, |s, k| self.b.add(s, self.b.lane(v, k)))
        } else {
            self.b
                .bitcast(self.b.cast(Opcode::LLVMTrunc, v, narrow), self.b.int_ty(32))
        };
        self.write(&i.operand(0)?, v, false)
    }

    /// The average, rounded away from zero.
    fn average(&self, x: Value, y: Value) -> Value {
        let sum = self.b.add(x, y);
        let t = sum.ty();
        let up = self.b.icmp(IntPred::LLVMIntSGE, sum, t.zero());
        let sum = self.b.add(sum, self.b.cast(Opcode::LLVMZExt, up, t));
        self.b
            .bin(Opcode::LLVMAShr, sum, self.splat(t, t.element().int(1)))
    }

    fn clamp_lanes(&self, v: Value, bits: u32, signed: bool) -> Lifted<Value> {
        let t = v.ty();
        let (low, high) = if signed {
            (1u64.wrapping_neg() << (bits - 1), (1 << (bits - 1)) - 1)
        } else {
            (0, (1 << bits) - 1)
        };
        let low = self.splat(t, self.int_constant(32, low));
        let high = self.splat(t, self.int_constant(32, high));
        let v = self.intrinsic("llvm.smax", &[t], &[v, low])?;
        self.intrinsic("llvm.smin", &[t], &[v, high])
    }
}
