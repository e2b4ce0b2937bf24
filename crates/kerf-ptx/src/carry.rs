//! Extended-precision integer arithmetic through the carry flag.
//!
//! The flag lives between the instructions of one asm statement. A statement that takes it from an
//! earlier one is refused, and then so is the one that leaves it.
use super::integer::Part;
use super::lifter::Lifter;
use super::refusal::{Lifted, refuse};
use super::syntax::{Instruction, Statement};
use super::types::Ty;
use kerf_llvm::Value;

fn reads_carry(i: &Instruction) -> bool {
    matches!(i.opcode(), "addc" | "subc" | "madc")
}

fn writes_carry(i: &Instruction) -> bool {
    i.modifiers.iter().any(|m| m == "cc")
}

fn instructions(s: &[Statement]) -> impl DoubleEndedIterator<Item = &Instruction> {
    s.iter().filter_map(|s| match s {
        Statement::Do(i) => Some(i),
        _ => None,
    })
}

/// Does the statement read a carry that it has not written?
pub(super) fn takes_carry(s: &[Statement]) -> bool {
    instructions(s)
        .find(|i| reads_carry(i) || writes_carry(i))
        .is_some_and(reads_carry)
}

/// Does the statement end with a carry that it has not read?
pub(super) fn leaves_carry(s: &[Statement]) -> bool {
    instructions(s)
        .rev()
        .find(|i| reads_carry(i) || writes_carry(i))
        .is_some_and(writes_carry)
}

impl Lifter {
    /// `add.cc`, `addc`, `sub.cc`, `subc`, `mad.cc`, `madc` and the combinations.
    pub fn carried(&mut self, i: &mut Instruction, op: &str, ty: Ty) -> Lifted<()> {
        let sets = i.flag("cc");
        let uses = op.ends_with('c');
        let base = op.trim_end_matches('c');
        i.arity(if base == "mad" { 4 } else { 3 })?;
        if !matches!(ty, Ty::Uint(32 | 64) | Ty::Sint(32 | 64)) {
            return i.unsupported();
        }
        let (mut x, mut y) = (
            self.read(&i.operand(1)?, ty)?,
            self.read(&i.operand(2)?, ty)?,
        );
        if base == "mad" {
            let part = Part::take(i)?;
            if part == Part::Wide {
                return i.unsupported();
            }
            x = self.product(x, y, ty, part);
            y = self.read(&i.operand(3)?, ty)?;
        } else if !matches!(base, "add" | "sub") {
            return i.unsupported();
        }
        let name = if base == "sub" {
            "llvm.usub.with.overflow"
        } else {
            "llvm.uadd.with.overflow"
        };
        let (mut v, mut out) = self.overflowing(name, x, y)?;
        if uses {
            let Some(carry) = self.carry else {
                return refuse("the carry flag comes from another asm statement");
            };
            let (w, more) = self.overflowing(name, v, self.b.zext_or_trunc(carry, v.ty()))?;
            (v, out) = (w, self.b.or(out, more));
        }
        if sets {
            self.carry = Some(match (self.guard, self.carry) {
                (Some(p), Some(old)) => self.b.select(p, out, old),
                _ => out,
            });
        }
        self.write(&i.operand(0)?, v, false)
    }

    fn overflowing(&self, name: &str, x: Value, y: Value) -> Lifted<(Value, Value)> {
        let both = self.intrinsic(name, &[x.ty()], &[x, y])?;
        Ok((self.b.extract(both, 0), self.b.extract(both, 1)))
    }
}
