//! `cp.async`: copies into shared memory that complete at once, which the order of PTX allows, so that nothing is left to
//! wait for.
use super::lifter::Lifter;
use super::refusal::{Lifted, refuse};
use super::syntax::Instruction;
use super::types::Ty;
use kerf_llvm::{IntPred, Value, space};

impl Lifter {
    /// `cp.async` of 4, 8 or 16 bytes, and the groups of such copies.
    pub fn async_copy(&mut self, i: &mut Instruction) -> Lifted<()> {
        if !i.flag("async") {
            return i.unsupported();
        }
        if i.flag("commit_group") || i.flag("wait_group") || i.flag("wait_all") {
            return Ok(());
        }
        let global = i.flag("global");
        let shared = i.pick(&["shared", "shared::cta"]).is_some();
        i.pick(&["ca", "cg"]);
        i.drop_hints("L2::");
        let bytes = match self.constant(&i.operand(2)?) {
            Some(n @ (4 | 8 | 16)) if shared && global => n,
            _ => return i.unsupported(),
        };
        let to = self.address(&i.operand(0)?, space::SHARED)?;
        let from = self.address(&i.operand(1)?, space::GLOBAL)?;
        match i.operands.len() {
            3 => {
                self.copy_words(to, from, bytes);
                Ok(())
            }
            4 => {
                let size = self.read(&i.operand(3)?, Ty::Uint(32))?;
                self.copy_part(to, from, bytes, size)
            }
            _ => refuse("cp.async with a cache policy is not supported"),
        }
    }

    fn copy_words(&self, to: Value, from: Value, bytes: u64) {
        let word = self.b.int_ty(32);
        let t = match bytes {
            4 => word,
            n => word.vector(n as u32 / 4),
        };
        let v = self.b.load(t, from);
        v.set_align(bytes as u32);
        self.b.store(v, to).set_align(bytes as u32);
    }

    /// Only the first bytes are read, the others become zero. Sizes that end inside a word stop the thread.
    fn copy_part(&mut self, to: Value, from: Value, bytes: u64, size: Value) -> Lifted<()> {
        let word = self.b.int_ty(32);
        let rest = self.b.and(size, word.int(3));
        let odd = self.b.icmp(IntPred::LLVMIntNE, rest, word.zero());
        self.under(odd, |l| l.intrinsic("llvm.trap", &[], &[]).map(|_| ()))?;
        for at in (0..bytes).step_by(4) {
            let (to, from) = (self.beyond(to, at), self.beyond(from, at));
            self.b.store(word.zero(), to).set_align(4);
            let there = self.b.icmp(IntPred::LLVMIntUGE, size, word.int(at + 4));
            self.under(there, |l| {
                l.copy_words(to, from, 4);
                Ok(())
            })?;
        }
        Ok(())
    }
}
