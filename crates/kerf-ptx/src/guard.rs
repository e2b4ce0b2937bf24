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
        "ld" | "ldu" | "st" | "atom" | "red" | "membar" | "fence" | "trap" | "brkpt" => {
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
            Effect::Collective => refuse(format!("{} under a predicate is not supported", i.name)),
        }
    }

    fn branched(&mut self, p: Value, i: Instruction) -> Lifted<()> {
        let before = self.regs.all.clone();
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
        self.instruction(i)?;
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
        for (k, old) in before.into_iter().enumerate() {
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
        let bits = |r: &Register, at: Value| {
            let b = Builder::before(at);
            r.read(&b, b.int_ty(r.width))
        };
        let (o, n) = (bits(&old, self.branch), bits(&new, self.back));
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
