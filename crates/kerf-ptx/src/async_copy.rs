//! `cp.async`: in a PTX file, copies into shared memory that complete at once, which the order of PTX allows, so that nothing is
//! left to wait for. In inline PTX, whose kernels have pipelines written around it, the intrinsics of the same instructions.
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
        if let Some(kind) = i.pick(&["commit_group", "wait_group", "wait_all"]) {
            return self.copy_group(i, kind);
        }
        let global = i.flag("global");
        let shared = i.pick(&["shared", "shared::cta"]).is_some();
        let cache = i.pick(&["ca", "cg"]);
        i.drop_hints("L2::");
        let bytes = match self.constant(&i.operand(2)?) {
            Some(n @ (4 | 8 | 16)) if shared && global => n,
            _ => return i.unsupported(),
        };
        let to = self.address(&i.operand(0)?, space::SHARED)?;
        let from = self.address(&i.operand(1)?, space::GLOBAL)?;
        let inline = self.symbols.is_none();
        match (i.operands.len(), cache) {
            (3 | 4, Some(cache)) if inline => {
                let size = i.operands.get(3).map(|o| self.read(o, Ty::Uint(32)));
                let size = size.transpose()?;
                let partial = if size.is_some() { ".s" } else { "" };
                let name = format!("llvm.nvvm.cp.async.{cache}.shared.global.{bytes}{partial}");
                let args: Vec<Value> = [to, from].into_iter().chain(size).collect();
                self.intrinsic(&name, &[], &args).map(|_| ())
            }
            (3, _) => {
                self.copy_words(to, from, bytes);
                Ok(())
            }
            (4, _) => {
                let size = self.read(&i.operand(3)?, Ty::Uint(32))?;
                self.copy_part(to, from, bytes, size)
            }
            _ => refuse("cp.async with a cache policy is not supported"),
        }
    }

    /// Commits copies, or waits for them.
    fn copy_group(&mut self, i: &Instruction, kind: &str) -> Lifted<()> {
        if self.symbols.is_some() {
            return Ok(());
        }
        let name = format!("llvm.nvvm.cp.async.{}", kind.replace('_', "."));
        let args = match (kind, i.operands.first()) {
            ("wait_group", Some(o)) => match self.constant(o) {
                Some(n) => vec![self.int_constant(32, n)],
                None => return refuse("cp.async.wait_group of a number that is no constant"),
            },
            (_, None) => Vec::new(),
            _ => return i.unsupported(),
        };
        self.intrinsic(&name, &[], &args).map(|_| ())
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
