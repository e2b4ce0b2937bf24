//! `mov`, with packing and unpacking, and special registers.
use super::lifter::Lifter;
use super::refusal::{Lifted, refuse};
use super::registers::{Binding, Register, as_int, reinterpret};
use super::syntax::{Instruction, Operand};
use super::types::Ty;
use kerf_llvm::{Type, Value};

impl Lifter {
    /// `mov`
    pub fn mov(&mut self, i: &mut Instruction) -> Lifted<()> {
        let ty = i.ty()?;
        i.arity(2)?;
        let (to, from) = (i.operand(0)?, i.operand(1)?);
        match (&to, &from) {
            (Operand::Vector(parts), _) => self.unpack(parts, &from, ty),
            (_, Operand::Vector(parts)) => self.pack(&to, parts, ty),
            _ => match self.whole(&from, ty)? {
                // The value keeps its type: what was made as f32 is read as f32 again.
                Some(r) => self.copy(&to, r, ty),
                None => {
                    let v = self.read(&from, ty)?;
                    self.write(&to, v, false)
                }
            },
        }
    }

    /// The register that an operand names, if it is as wide as `ty` and holds something.
    fn whole(&self, o: &Operand, ty: Ty) -> Lifted<Option<Register>> {
        let Some(Binding::Register(i)) = self.regs.find(o)? else {
            return Ok(None);
        };
        let r = self.regs.all[i];
        Ok((r.width == ty.width() && r.value.is_some()).then_some(r))
    }

    fn copy(&mut self, to: &Operand, from: Register, ty: Ty) -> Lifted<()> {
        let Some(v) = from.value else {
            return self.write(to, ty.llvm(&self.b).zero(), false);
        };
        self.write(to, v, false)?;
        if self.guard.is_none() && *to != Operand::Sink {
            let t = self.regs.target(to)?;
            self.regs.all[t].widened = from.widened;
        }
        Ok(())
    }

    fn part_width(ty: Ty, parts: &[Operand]) -> Lifted<u32> {
        let n = parts.len() as u32;
        let even = matches!(n, 2 | 4) && ty.width().is_multiple_of(n * 8);
        if even {
            Ok(ty.width() / n)
        } else {
            refuse("a vector operand has an odd size")
        }
    }

    fn unpack(&mut self, parts: &[Operand], from: &Operand, ty: Ty) -> Lifted<()> {
        let width = Self::part_width(ty, parts)?;
        let v = self.read(from, Ty::Bits(ty.width()))?;
        let lane = self.lane_type(parts, width);
        let lanes = reinterpret(&self.b, v, lane.vector(parts.len() as u32));
        for (k, o) in parts.iter().enumerate() {
            if *o != Operand::Sink {
                let x = self.b.lane(lanes, k as u32);
                self.write(o, x, false)?;
            }
        }
        Ok(())
    }

    /// Floating-point lanes where the registers were declared so, else integers.
    fn lane_type(&self, parts: &[Operand], width: u32) -> Type {
        let declared = parts.iter().find_map(|o| match self.regs.find(o) {
            Ok(Some(Binding::Register(i))) => match self.regs.all[i].declared {
                t @ Ty::Float(_) if t.width() == width => Some(t),
                _ => None,
            },
            _ => None,
        });
        declared.unwrap_or(Ty::Bits(width)).llvm(&self.b)
    }

    fn pack(&mut self, to: &Operand, parts: &[Operand], ty: Ty) -> Lifted<()> {
        let width = Self::part_width(ty, parts)?;
        let mut values = Vec::new();
        for o in parts {
            values.push(match self.whole(o, Ty::Bits(width))? {
                Some(Register { value: Some(v), .. }) => v,
                _ => self.read(o, Ty::Bits(width))?,
            });
        }
        let v = self.vector(&values, width);
        self.write(to, v, false)?;
        if let ([Operand::Int(0), _], 16, None) = (parts, width, self.guard)
            && *to != Operand::Sink
        {
            let t = self.regs.target(to)?;
            self.regs.all[t].widened = values.get(1).copied();
        }
        Ok(())
    }

    /// A vector of values of `width` bits each: of their type if they agree, else of integers.
    pub fn vector(&self, values: &[Value], width: u32) -> Value {
        let first = values.first().map(|v| v.ty());
        let t = first
            .filter(|t| (t.is_int() || t.is_float()) && values.iter().all(|v| v.ty() == *t))
            .unwrap_or(self.b.int_ty(width));
        let whole = t.vector(values.len() as u32).poison();
        values.iter().enumerate().fold(whole, |all, (k, v)| {
            let x = if v.ty() == t { *v } else { as_int(&self.b, *v) };
            self.b.set_lane(all, x, k as u32)
        })
    }

    /// A special register (`%laneid`) or the constant `WARP_SZ`.
    pub fn special(&self, o: &Operand, ty: Ty) -> Lifted<Value> {
        let Operand::Name(name) = o else {
            return refuse("an operand is unknown");
        };
        if name == "WARP_SZ" && ty.is_int() {
            return Ok(self.int_constant(ty.width(), 32));
        }
        let unknown = || refuse(format!("{name} is not a register that is known"));
        let Some(plain) = name.strip_prefix('%') else {
            return unknown();
        };
        let (read, high) = match plain {
            "clock_hi" => ("clock64".to_owned(), true),
            "globaltimer_hi" => ("globaltimer".to_owned(), true),
            "globaltimer_lo" => ("globaltimer.lo".to_owned(), false),
            "WARP_SZ" => ("warpsize".to_owned(), false),
            _ => (plain.replace("lanemask_", "lanemask."), false),
        };
        // A register of the kernel's cluster or of the driver has no meaning on a CPU.
        const KNOWN: [&str; 15] = [
            "tid",
            "ntid",
            "ctaid",
            "nctaid",
            "laneid",
            "warpid",
            "nwarpid",
            "warpsize",
            "smid",
            "nsmid",
            "lanemask",
            "clock",
            "clock64",
            "globaltimer",
            "gridid",
        ];
        let sizes = ["dynamic_smem_size", "total_smem_size"];
        let family = read.split('.').next().unwrap_or_default();
        // The workspace of a cooperative grid, where its barrier is.
        let grid = ["envreg1", "envreg2"];
        let known = KNOWN.contains(&family) || sizes.contains(&family) || grid.contains(&family);
        if !ty.is_int() || !known {
            return unknown();
        }
        let mut v = self.intrinsic(&format!("llvm.nvvm.read.ptx.sreg.{read}"), &[], &[])?;
        if high {
            v = self.b.lshr(v, self.int_constant(64, 32));
            v = self.b.zext_or_trunc(v, self.b.int_ty(32));
        }
        if v.ty().int_bits() > ty.width() {
            return refuse(format!("{name} is wider than the instruction"));
        }
        Ok(self.b.zext_or_trunc(v, ty.llvm(&self.b)))
    }
}
