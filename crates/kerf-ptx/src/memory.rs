//! Loads and stores.
use super::address::take_space;
use super::lifter::Lifter;
use super::ordering::{Semantics, take_semantics};
use super::refusal::Lifted;
use super::registers::{Binding, reinterpret};
use super::syntax::{Instruction, Operand};
use super::types::Ty;
use kerf_llvm::{Ordering, Value, space, sys};

/// What a load or store does, but for its operands.
struct Access {
    semantics: Semantics,
    volatile: bool,
    invariant: bool,
    space: u32,
    lanes: u32,
    ty: Ty,
}

impl Lifter {
    fn access(&self, i: &mut Instruction) -> Lifted<Access> {
        i.arity(2)?;
        let semantics = take_semantics(i);
        let space = take_space(i);
        let invariant = i.flag("nc") || i.opcode() == "ldu";
        let cache = i.pick(&["ca", "cg", "cs", "lu", "cv", "wb", "wt"]);
        // Hints of where to cache change no value; a cache policy is an operand and is refused.
        for hint in [
            "L1::",
            "L2::64B",
            "L2::128B",
            "L2::256B",
            "L2::evict",
            "unified",
            "weak",
        ] {
            i.drop_hints(hint);
        }
        // `asm volatile` with an L2 access is how one block waits for another: a plain load could
        // be hoisted out of the loop.
        let fetched = self.side_effects && cache == Some("cg") && i.opcode() == "ld";
        let volatile = i.flag("volatile") || cache == Some("cv") || fetched;
        let lanes = match i.pick(&["v2", "v4", "v8"]) {
            Some("v2") => 2,
            Some("v4") => 4,
            Some(_) => 8,
            None => 1,
        };
        let ty = i.ty()?;
        let known = ty.is_int() || matches!(ty, Ty::Float(_));
        let wrong_way = match i.opcode() {
            "st" => Ordering::LLVMAtomicOrderingAcquire,
            _ => Ordering::LLVMAtomicOrderingRelease,
        };
        let both_ways = Ordering::LLVMAtomicOrderingAcquireRelease;
        if [Some(wrong_way), Some(both_ways)].contains(&semantics.ordering) {
            return i.unsupported();
        }
        if !known || (invariant && space == space::SHARED) {
            return i.unsupported();
        }
        Ok(Access {
            semantics,
            volatile,
            invariant,
            space,
            lanes,
            ty,
        })
    }

    /// The type of bits that are loaded or stored: that of the numbers which the registers hold, where they are known
    /// to hold some.
    fn held_type(&self, parts: &[Operand], ty: Ty) -> Ty {
        let kind = |o: &Operand| match self.regs.find(o) {
            Ok(Some(Binding::Register(i))) => {
                let r = self.regs.all[i];
                r.kind
                    .filter(|k| r.width == ty.width() && k.width() == r.width)
            }
            _ => None,
        };
        let kinds: Vec<Ty> = parts.iter().filter_map(kind).collect();
        match (ty, kinds.first()) {
            (Ty::Bits(_), Some(first)) if kinds.iter().all(|k| k == first) => {
                let registers = parts.iter().filter(|o| matches!(o, Operand::Name(_)));
                match registers.count() == kinds.len() && (parts.len() == 1 || !first.is_pair()) {
                    true => *first,
                    false => ty,
                }
            }
            _ => ty,
        }
    }

    /// `ld`
    pub fn load(&mut self, i: &mut Instruction) -> Lifted<()> {
        let a = self.access(i)?;
        let p = self.address(&i.operand(1)?, a.space)?;
        let parts = lanes_of(i.operand(0)?);
        if parts.len() as u32 != a.lanes {
            return i.unsupported();
        }
        let bytes = a.ty.width() / 8;
        let lane = self.held_type(&parts, a.ty).llvm(&self.b);
        if a.semantics.is_atomic() {
            for (k, o) in parts.iter().enumerate() {
                let at = self.beyond(p, u64::from(bytes) * k as u64);
                let v = self.b.load(self.b.int_ty(a.ty.width()), at);
                v.set_align(bytes);
                self.order(v, &a.semantics);
                let v = reinterpret(&self.b, v, lane);
                self.write(o, v, a.ty.signed())?;
            }
            return Ok(());
        }
        let whole = if a.lanes == 1 {
            lane
        } else {
            lane.vector(a.lanes)
        };
        let v = self.b.load(whole, p);
        v.set_align(bytes * a.lanes);
        set_volatile(v, a.volatile);
        if a.invariant {
            v.mark("invariant.load");
        }
        if a.lanes == 1 {
            return self.write(&parts[0], v, a.ty.signed());
        }
        for (k, o) in parts.iter().enumerate() {
            let x = self.b.lane(v, k as u32);
            self.write(o, x, a.ty.signed())?;
        }
        Ok(())
    }

    /// `st`
    pub fn store(&mut self, i: &mut Instruction) -> Lifted<()> {
        let a = self.access(i)?;
        let p = self.address(&i.operand(0)?, a.space)?;
        let parts = lanes_of(i.operand(1)?);
        if parts.len() as u32 != a.lanes || a.invariant || a.space == space::CONSTANT {
            return i.unsupported();
        }
        let bytes = a.ty.width() / 8;
        let mut values = Vec::new();
        let ty = self.held_type(&parts, a.ty);
        for o in &parts {
            values.push(match (o, a.ty == ty) {
                (Operand::Int(_), false) => {
                    reinterpret(&self.b, self.read(o, a.ty)?, ty.llvm(&self.b))
                }
                _ => self.read(o, ty)?,
            });
        }
        if a.semantics.is_atomic() {
            for (k, v) in values.iter().enumerate() {
                let at = self.beyond(p, u64::from(bytes) * k as u64);
                let v = reinterpret(&self.b, *v, self.b.int_ty(a.ty.width()));
                let s = self.b.store(v, at);
                s.set_align(bytes);
                self.order(s, &a.semantics);
            }
            return Ok(());
        }
        let v = match values.as_slice() {
            [v] => *v,
            all => self.vector(all, a.ty.width()),
        };
        let s = self.b.store(v, p);
        s.set_align(bytes * a.lanes);
        set_volatile(s, a.volatile);
        Ok(())
    }
}

fn lanes_of(o: Operand) -> Vec<Operand> {
    match o {
        Operand::Vector(parts) => parts,
        o => vec![o],
    }
}

fn set_volatile(access: Value, yes: bool) {
    // SAFETY: the value is a load or store that was just built.
    unsafe { sys::LLVMSetVolatile(access.0, i32::from(yes)) }
}
