//! Slot form: values that live in several blocks are kept in memory, so that blocks can be copied one by one.
//!
//! A slot is an alloca that is only loaded and stored. Every value that another block or a phi uses has one, and phis
//! have one in place of themselves. In a block, loads of slots come before stores to them: what was stored or loaded
//! there before is taken directly.
use super::obstacle::is_barrier;
use kerf_llvm::{Block, Opcode, Value};
use std::collections::{BTreeMap, BTreeSet};

/// The slots of a kernel, and the block that they are in.
pub(super) struct Slots {
    /// The kernel's first block: allocas and a jump.
    pub prologue: Block,
    /// Slots.
    pub all: BTreeSet<Value>,
    /// Arrays and structs of the source's functions, which each copy has for itself.
    pub arrays: BTreeSet<Value>,
}

fn escapes(i: Value) -> bool {
    let home = i.block();
    i.users().iter().any(|u| u.block() != home)
}

/// Gives each barrier a block of its own.
fn isolate_barriers(kernel: Value) {
    let barriers: Vec<Value> = kernel
        .instructions()
        .into_iter()
        .filter(|i| is_barrier(*i))
        .collect();
    for b in barriers {
        b.split_before();
        if let Some(next) = b.next() {
            next.split_before();
        }
    }
}

impl Slots {
    /// Brings a kernel into slot form.
    pub(super) fn demote(kernel: Value) -> Slots {
        kernel.remove_unreachable();
        let prologue = kernel.add_prologue();
        let mut arrays = BTreeSet::new();
        for i in kernel.instructions() {
            if i.opcode() == Some(Opcode::LLVMAlloca) {
                i.move_to(prologue);
                arrays.insert(i);
            }
        }
        isolate_barriers(kernel);
        let mut all = BTreeSet::new();
        let phi = |i: &Value| i.opcode() == Some(Opcode::LLVMPHI);
        let phis: Vec<Value> = kernel.instructions().into_iter().filter(phi).collect();
        for p in phis {
            all.extend(p.demote(prologue));
        }
        // Loads that stand for phis are among them now.
        let own = |i: &Value| i.opcode() != Some(Opcode::LLVMAlloca) && escapes(*i);
        let escaping: Vec<Value> = kernel.instructions().into_iter().filter(own).collect();
        for i in escaping {
            all.extend(i.demote(prologue));
        }
        let slots = Slots {
            prologue,
            all,
            arrays,
        };
        for b in kernel.blocks() {
            slots.forward(b);
        }
        slots
    }

    /// The slot that an instruction loads.
    pub(super) fn loaded(&self, i: Value) -> Option<Value> {
        let load = i.opcode() == Some(Opcode::LLVMLoad);
        load.then(|| i.operand(0)).filter(|s| self.all.contains(s))
    }

    /// The slot that an instruction stores to, and what.
    pub(super) fn stored(&self, i: Value) -> Option<(Value, Value)> {
        let store = i.opcode() == Some(Opcode::LLVMStore) && self.all.contains(&i.operand(1));
        store.then(|| (i.operand(1), i.operand(0)))
    }

    /// Takes values of slots that a block already has.
    fn forward(&self, block: Block) {
        let mut known: BTreeMap<Value, Value> = BTreeMap::new();
        for i in block.instructions() {
            if let Some(s) = self.loaded(i) {
                match known.get(&s) {
                    Some(v) => i.become_value(*v),
                    None => {
                        known.insert(s, i);
                    }
                }
            } else if let Some((s, v)) = self.stored(i) {
                known.insert(s, v);
            }
        }
    }
}
