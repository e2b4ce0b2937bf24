//! Addresses: which pointer a register stands for, and conversions between state spaces.
use super::lifter::Lifter;
use super::refusal::{Lifted, refuse};
use super::registers::{Binding, as_int};
use super::syntax::{Instruction, Operand};
use super::types::Ty;
use kerf_llvm::{Opcode, Value, space};

/// How far back the origin of an address is looked for.
const DEPTH: u32 = 8;

/// Takes the state space of an instruction; none is generic.
pub(super) fn take_space(i: &mut Instruction) -> u32 {
    // Parameters of functions are copies in memory here, which generic addresses reach.
    if i.pick(&["param", "param::entry", "param::func"]).is_some() {
        return space::GENERIC;
    }
    match i.pick(&["global", "shared", "shared::cta", "const", "local"]) {
        Some("global") => space::GLOBAL,
        Some("const") => space::CONSTANT,
        Some("local") => space::LOCAL,
        Some(_) => space::SHARED,
        None => space::GENERIC,
    }
}

/// A pointer and a byte offset that together make an integer.
struct Origin {
    pointer: Value,
    offset: Option<Value>,
}

fn shown(o: &Operand) -> String {
    match o {
        Operand::Name(n) => n.split('\'').next().unwrap_or_default().to_owned(),
        _ => "an address".to_owned(),
    }
}

fn opcode(v: Value) -> Option<Opcode> {
    v.opcode().or_else(|| v.const_opcode())
}

impl Lifter {
    /// The address that a memory operand names, as a pointer to a state space.
    pub fn address(&self, o: &Operand, space: u32) -> Lifted<Value> {
        let Operand::Memory(base, offset) = o else {
            return refuse("an operand of a memory instruction is no address");
        };
        let p = self.pointer(base, space)?;
        match self.constant(offset) {
            Some(k) => Ok(self.beyond(p, k)),
            None => refuse("the offset of an address is no constant"),
        }
    }

    /// The address `bytes` after another.
    pub fn beyond(&self, p: Value, bytes: u64) -> Value {
        if bytes == 0 {
            p
        } else {
            self.b.offset(p, self.int_constant(64, bytes))
        }
    }

    /// The variable or parameter that an operand names.
    pub fn symbol(&self, o: &Operand) -> Option<Value> {
        match o {
            Operand::Name(n) => self.symbols.as_ref()?.get(n).copied(),
            _ => None,
        }
    }

    /// The address of a variable, or of a part of it, as an integer of `ty`.
    pub fn symbol_address(&self, o: &Operand, ty: Ty) -> Lifted<Value> {
        let (name, bytes) = match o {
            Operand::Beyond(name, bytes) => (name.as_ref(), *bytes),
            o => (o, 0),
        };
        match self.symbol(name) {
            Some(p) if ty.is_int() && matches!(ty.width(), 32 | 64) => {
                let t = ty.llvm(&self.b);
                let p = self.beyond(p, bytes);
                Ok(self.b.cast(Opcode::LLVMPtrToInt, p, t))
            }
            Some(_) => refuse("an address is taken as something that is no address"),
            None => refuse(format!("{} is not declared", shown(name))),
        }
    }

    /// A register's content as a pointer to a state space.
    pub fn pointer(&self, o: &Operand, space: u32) -> Lifted<Value> {
        if let Some(p) = self.symbol(o) {
            return Ok(self.in_space(p, space));
        }
        if let (Operand::Int(a), true) = (o, self.symbols.is_some()) {
            let a = self.int_constant(64, *a);
            return Ok(self.b.cast(Opcode::LLVMIntToPtr, a, self.b.ptr_ty(space)));
        }
        let Some(Binding::Register(i)) = self.regs.find(o)? else {
            return match self.symbols.is_some() {
                true => refuse(format!("{} is not declared", shown(o))),
                false => refuse("an address is no register of this statement"),
            };
        };
        let r = self.regs.all[i];
        match r.value {
            Some(v) if v.ty().is_ptr() => Ok(self.in_space(v, space)),
            Some(v) if matches!(r.width, 32 | 64) => Ok(self.resolve(v, space)),
            _ => refuse("an address is not known"),
        }
    }

    /// Global addresses are the same as generic ones; other spaces have windows of their own, so
    /// that only a cast from generic is meant where the spaces differ.
    fn in_space(&self, p: Value, space: u32) -> Value {
        let (from, to) = (p.ty().space(), self.b.ptr_ty(space));
        if from == space || (from == space::GENERIC && p.opcode() == Some(Opcode::LLVMAlloca)) {
            p
        } else if from == space::GENERIC || (from == space::GLOBAL && space == space::GENERIC) {
            self.b.cast(Opcode::LLVMAddrSpaceCast, p, to)
        } else {
            self.b.cast(Opcode::LLVMIntToPtr, as_int(&self.b, p), to)
        }
    }

    /// An integer as a pointer: the pointer that it was made from, if that can be seen. (The 32 bits
    /// of a shared address are enough on a GPU alone.)
    fn resolve(&self, v: Value, space: u32) -> Value {
        let v = as_int(&self.b, v);
        match self.origin(v, DEPTH) {
            Some(o) => {
                let p = self.in_space(o.pointer, space);
                o.offset.map_or(p, |k| self.b.offset(p, k))
            }
            None => self.b.cast(Opcode::LLVMIntToPtr, v, self.b.ptr_ty(space)),
        }
    }

    fn origin(&self, v: Value, depth: u32) -> Option<Origin> {
        if depth == 0 {
            return None;
        }
        match opcode(v)? {
            Opcode::LLVMPtrToInt => Some(Origin {
                pointer: v.operand(0),
                offset: None,
            }),
            Opcode::LLVMTrunc | Opcode::LLVMZExt => self.origin(v.operand(0), depth - 1),
            Opcode::LLVMAdd => {
                let (x, y) = (v.operand(0), v.operand(1));
                let (found, other) = match self.origin(x, depth - 1) {
                    Some(o) => (o, y),
                    None => (self.origin(y, depth - 1)?, x),
                };
                let wide = self.b.int_ty(64);
                let step = self.b.sext_or_trunc(other, wide);
                let offset = found.offset.map_or(step, |k| self.b.add(k, step));
                Some(Origin {
                    offset: Some(offset),
                    ..found
                })
            }
            _ => None,
        }
    }

    /// `cvta` and `cvta.to`
    pub fn cvta(&mut self, i: &mut Instruction) -> Lifted<()> {
        let to_space = i.flag("to");
        let space = take_space(i);
        let ty = i.ty()?;
        i.arity(2)?;
        if space == space::GENERIC || ty != Ty::Uint(64) {
            return i.unsupported();
        }
        let (from, to) = if to_space { (0, space) } else { (space, 0) };
        let p = self.pointer(&i.operand(1)?, from)?;
        let v = self.b.cast(Opcode::LLVMAddrSpaceCast, p, self.b.ptr_ty(to));
        self.write(&i.operand(0)?, v, false)
    }

    /// `isspacep`
    pub fn isspacep(&mut self, i: &mut Instruction) -> Lifted<()> {
        let name = match take_space(i) {
            space::GLOBAL => "llvm.nvvm.isspacep.global",
            space::SHARED => "llvm.nvvm.isspacep.shared",
            space::CONSTANT => "llvm.nvvm.isspacep.const",
            space::LOCAL => "llvm.nvvm.isspacep.local",
            _ => return i.unsupported(),
        };
        i.arity(2)?;
        let p = self.pointer(&i.operand(1)?, space::GENERIC)?;
        let v = self.intrinsic(name, &[], &[p])?;
        self.write(&i.operand(0)?, v, false)
    }
}
