//! Barriers and the exchanges of a warp.
use super::lifter::Lifter;
use super::refusal::Lifted;
use super::syntax::{Instruction, Operand};
use super::types::Ty;
use kerf_llvm::Value;
use kerf_num::Format;

const WORD: Ty = Ty::Uint(32);

impl Lifter {
    fn words(&self, i: &Instruction, range: std::ops::Range<usize>) -> Lifted<Vec<Value>> {
        range.map(|k| self.read(&i.operand(k)?, WORD)).collect()
    }

    /// `bar` and `barrier`; `bar` is the aligned form.
    pub fn barrier(&mut self, i: &mut Instruction, op: &str) -> Lifted<()> {
        if op == "bar" && i.flag("warp") {
            i.arity(1)?;
            let args = self.words(i, 0..1)?;
            let known = i.flag("sync");
            self.intrinsic("llvm.nvvm.bar.warp.sync", &[], &args)?;
            return if known { Ok(()) } else { i.unsupported() };
        }
        i.flag("cta");
        let aligned = if i.flag("aligned") || op == "bar" {
            ".aligned"
        } else {
            ""
        };
        let n = i.operands.len();
        match i.pick(&["sync", "arrive", "red"]) {
            Some("red") => self.barrier_reduction(i, aligned),
            Some(kind) if n == 2 => {
                let name = format!("llvm.nvvm.barrier.cta.{kind}{aligned}.count");
                self.intrinsic(&name, &[], &self.words(i, 0..2)?)
                    .map(|_| ())
            }
            Some("sync") if n == 1 => {
                let name = format!("llvm.nvvm.barrier.cta.sync{aligned}.all");
                self.intrinsic(&name, &[], &self.words(i, 0..1)?)
                    .map(|_| ())
            }
            _ => i.unsupported(),
        }
    }

    fn barrier_reduction(&mut self, i: &mut Instruction, aligned: &str) -> Lifted<()> {
        let Some(kind) = i.pick(&["popc", "and", "or"]) else {
            return i.unsupported();
        };
        let ty = i.ty()?;
        let n = i.operands.len();
        let form = match n {
            3 => "all",
            4 => "count",
            _ => return i.unsupported(),
        };
        if ty != (if kind == "popc" { WORD } else { Ty::Pred }) {
            return i.unsupported();
        }
        let mut args = self.words(i, 1..n - 1)?;
        args.push(self.read(&i.operand(n - 1)?, Ty::Pred)?);
        let name = format!("llvm.nvvm.barrier.cta.red.{kind}{aligned}.{form}");
        let v = self.intrinsic(&name, &[], &args)?;
        self.write(&i.operand(0)?, v, false)
    }

    /// `shfl.sync`
    pub fn shuffle(&mut self, i: &mut Instruction) -> Lifted<()> {
        let sync = i.flag("sync");
        let mode = i.pick(&["up", "down", "bfly", "idx"]);
        let ty = i.ty()?;
        i.arity(5)?;
        let (Some(mode), true, Ty::Bits(32)) = (mode, sync, ty) else {
            return i.unsupported();
        };
        let args = self.words(i, 1..5)?;
        let mut ordered = vec![args[3], args[0], args[1], args[2]];
        let to = i.operand(0)?;
        if let Operand::Pair(d, p) = to {
            let both =
                self.intrinsic(&format!("llvm.nvvm.shfl.sync.{mode}.i32p"), &[], &ordered)?;
            let (v, inside) = (self.b.extract(both, 0), self.b.extract(both, 1));
            self.write(&d, v, false)?;
            return self.write(&p, inside, false);
        }
        // A float stays one, as it does in CUDA's own __shfl_sync.
        let single = self.b.float_ty(Format::F32);
        let (kind, raw) = match self.raw(&i.operand(1)?) {
            Some(v) if v.ty() == single => ("f32", v),
            _ => ("i32", ordered[1]),
        };
        ordered[1] = raw;
        let v = self.intrinsic(&format!("llvm.nvvm.shfl.sync.{mode}.{kind}"), &[], &ordered)?;
        self.write(&to, v, false)
    }

    /// What a register holds, in the type that it was made with.
    fn raw(&self, o: &Operand) -> Option<Value> {
        match self.regs.find(o) {
            Ok(Some(super::registers::Binding::Register(i))) => self.regs.all[i].value,
            _ => None,
        }
    }

    /// `vote.sync`
    pub fn vote(&mut self, i: &mut Instruction) -> Lifted<()> {
        let sync = i.flag("sync");
        let mode = i.pick(&["all", "any", "uni", "ballot"]);
        let ty = i.ty()?;
        i.arity(3)?;
        let (Some(mode), true) = (mode, sync) else {
            return i.unsupported();
        };
        if ty
            != (if mode == "ballot" {
                Ty::Bits(32)
            } else {
                Ty::Pred
            })
        {
            return i.unsupported();
        }
        let p = self.read(&i.operand(1)?, Ty::Pred)?;
        let mask = self.read(&i.operand(2)?, WORD)?;
        let v = self.intrinsic(&format!("llvm.nvvm.vote.{mode}.sync"), &[], &[mask, p])?;
        self.write(&i.operand(0)?, v, false)
    }

    /// `match.sync`
    pub fn matching(&mut self, i: &mut Instruction) -> Lifted<()> {
        let sync = i.flag("sync");
        let mode = i.pick(&["any", "all"]);
        let ty = i.ty()?;
        i.arity(3)?;
        let (Some(mode), true, Ty::Bits(w @ (32 | 64))) = (mode, sync, ty) else {
            return i.unsupported();
        };
        let x = self.read(&i.operand(1)?, ty)?;
        let args = [self.read(&i.operand(2)?, WORD)?, x];
        let to = i.operand(0)?;
        if mode == "any" {
            let v = self.intrinsic(&format!("llvm.nvvm.match.any.sync.i{w}"), &[], &args)?;
            return self.write(&to, v, false);
        }
        let both = self.intrinsic(&format!("llvm.nvvm.match.all.sync.i{w}p"), &[], &args)?;
        let (v, all) = (self.b.extract(both, 0), self.b.extract(both, 1));
        let Operand::Pair(d, p) = to else {
            return self.write(&to, v, false);
        };
        self.write(&d, v, false)?;
        self.write(&p, all, false)
    }

    /// `activemask`
    pub fn activemask(&mut self, i: &mut Instruction) -> Lifted<()> {
        i.arity(1)?;
        if i.ty()? != Ty::Bits(32) {
            return i.unsupported();
        }
        let v = self.intrinsic("llvm.nvvm.activemask", &[], &[])?;
        self.write(&i.operand(0)?, v, false)
    }

    /// `redux.sync`
    pub fn redux(&mut self, i: &mut Instruction) -> Lifted<()> {
        let sync = i.flag("sync");
        let op = i.pick(&["add", "min", "max", "and", "or", "xor"]);
        let ty = i.ty()?;
        i.arity(3)?;
        let name = match (op, ty) {
            (Some("add"), Ty::Uint(32) | Ty::Sint(32)) => "add",
            (Some("min"), Ty::Sint(32)) => "min",
            (Some("min"), Ty::Uint(32)) => "umin",
            (Some("max"), Ty::Sint(32)) => "max",
            (Some("max"), Ty::Uint(32)) => "umax",
            (Some(op @ ("and" | "or" | "xor")), Ty::Bits(32)) => op,
            _ => return i.unsupported(),
        };
        if !sync {
            return i.unsupported();
        }
        let args = self.words(i, 1..3)?;
        let v = self.intrinsic(&format!("llvm.nvvm.redux.sync.{name}"), &[], &args)?;
        self.write(&i.operand(0)?, v, false)
    }

    /// `griddepcontrol`
    pub fn grid_dependency(&mut self, i: &mut Instruction) -> Lifted<()> {
        i.arity(0)?;
        let name = match i.pick(&["wait", "launch_dependents"]) {
            Some("wait") => "llvm.nvvm.griddepcontrol.wait",
            Some(_) => "llvm.nvvm.griddepcontrol.launch.dependents",
            None => return i.unsupported(),
        };
        self.intrinsic(name, &[], &[]).map(|_| ())
    }
}
