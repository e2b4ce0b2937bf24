//! Predicated instructions, `@p op`.
//!
//! What only computes is always computed and its result kept by a select. What touches memory moves
//! into a block of its own, entered if the predicate holds.
use super::lifter::Lifter;
use super::refusal::{Lifted, refuse};
use super::registers::Register;
use super::syntax::Instruction;
use super::types::Ty;
use kerf_llvm::{Block, Builder, Value};

/// How an instruction may be predicated.
enum Effect {
    /// It only computes.
    None,
    /// It reads or writes memory, or stops.
    Memory,
    /// Threads wait for each other in it.
    Collective,
}

fn effect(opcode: &str) -> Effect {
    match opcode {
        "ld" | "ldu" | "st" | "atom" | "red" | "membar" | "fence" | "trap" | "brkpt" | "cp" => {
            Effect::Memory
        }
        "bar" | "barrier" | "shfl" | "vote" | "match" | "activemask" | "redux"
        | "griddepcontrol" => Effect::Collective,
        _ => Effect::None,
    }
}

impl Lifter {
    /// Emits an instruction under its guard.
    pub fn guarded(&mut self, i: Instruction) -> Lifted<()> {
        let Some((predicate, negated)) = &i.guard else {
            return self.instruction(i);
        };
        let mut p = self.read(predicate, Ty::Pred)?;
        if *negated {
            p = self.b.xor(p, self.b.int_ty(1).int(1));
        }
        match effect(i.opcode()) {
            Effect::None => {
                self.guard = Some(p);
                let done = self.instruction(i);
                self.guard = None;
                done
            }
            Effect::Memory => self.branched(p, i),
            // In a whole function a predicate is a branch like any other.
            Effect::Collective if self.symbols.is_some() => self.branched(p, i),
            Effect::Collective => refuse(format!("{} under a predicate is not supported", i.name)),
        }
    }

    fn branched(&mut self, p: Value, i: Instruction) -> Lifted<()> {
        self.under(p, |l| l.instruction(i))
    }

    /// Emits code that runs only where a predicate holds.
    pub fn under(&mut self, p: Value, emit: impl FnOnce(&mut Lifter) -> Lifted<()>) -> Lifted<()> {
        let before = self.regs.changes.len();
        let head = self.b.block();
        let tail = self.anchor.split_before();
        let Some(jump) = head.terminator() else {
            return refuse("a block has no end");
        };
        let then = self.b.new_block(head.function(), "");
        // The jump carries the debug location that code in the new block takes over.
        let back = Builder::at_end(then).br(tail);
        back.copy_debug_loc(self.anchor);
        Builder::before(jump).cond_br(p, then, tail);
        jump.erase();

        self.b = Builder::before(back);
        // What is emitted may split its block again.
        let outer = std::mem::replace(&mut self.anchor, back);
        let done = emit(self);
        self.anchor = outer;
        done?;
        let then = back.block();
        self.b = Builder::before(self.anchor);
        let Some(branch) = head.terminator() else {
            return refuse("a block has no end");
        };
        let place = Join {
            head,
            branch,
            then,
            back,
            tail,
        };
        for (k, old) in self.regs.changed_since(before) {
            if self.regs.all[k].value != old.value {
                self.regs.all[k] = place.join(old, self.regs.all[k]);
            }
        }
        Ok(())
    }
}

/// Where the two ways of a predicated instruction meet.
struct Join {
    head: Block,
    branch: Value,
    then: Block,
    back: Value,
    tail: Block,
}

impl Join {
    fn join(&self, old: Register, new: Register) -> Register {
        // A number stays one; what is a number on one way alone is joined as bits.
        let same = old.value.map(Value::ty) == new.value.map(Value::ty);
        let kept = new.value.map(Value::ty).filter(|_| same);
        let content = |r: &Register, at: Value| {
            let b = Builder::before(at);
            let known = kept.or_else(|| r.kind.map(|k| k.llvm(&b)));
            r.read(&b, known.unwrap_or_else(|| b.int_ty(r.width)))
        };
        let (o, n) = (content(&old, self.branch), content(&new, self.back));
        let first = self.tail.first().unwrap_or(self.back);
        let phi = Builder::before(first).phi(n.ty());
        phi.add_incoming(&[(o, self.head), (n, self.then)]);
        Register {
            value: Some(phi),
            widened: None,
            ..new
        }
    }
}
