//! Basic blocks.
use crate::value::Value;
use llvm_sys::LLVMOpcode;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

/// A basic block.
#[derive(Copy, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Block(pub LLVMBasicBlockRef);

// SAFETY (all unsafe blocks of this file): the handles are valid by the contract stated in the
// parent module; each call passes values of the kind that the C function documents, which the
// method's own check or documentation ensures.

impl Block {
    /// Instructions, in order.
    pub fn instructions(self) -> Vec<Value> {
        let mut out = Vec::new();
        unsafe {
            let mut i = LLVMGetFirstInstruction(self.0);
            while !i.is_null() {
                out.push(Value(i));
                i = LLVMGetNextInstruction(i);
            }
        }
        out
    }
    /// First instruction.
    pub fn first(self) -> Option<Value> {
        let v = unsafe { LLVMGetFirstInstruction(self.0) };
        (!v.is_null()).then_some(Value(v))
    }
    /// First instruction that is not a phi.
    pub fn first_non_phi(self) -> Option<Value> {
        self.instructions()
            .into_iter()
            .find(|i| i.opcode() != Some(LLVMOpcode::LLVMPHI))
    }
    /// Terminator.
    pub fn terminator(self) -> Option<Value> {
        let v = unsafe { LLVMGetBasicBlockTerminator(self.0) };
        (!v.is_null()).then_some(Value(v))
    }
    /// Its name; empty if it has none.
    pub fn name(self) -> String {
        Value(unsafe { LLVMBasicBlockAsValue(self.0) }).name()
    }
    /// Renames it.
    pub fn set_name(self, name: &str) {
        Value(unsafe { LLVMBasicBlockAsValue(self.0) }).set_name(name);
    }
    /// The function it belongs to.
    pub fn function(self) -> Value {
        Value(unsafe { LLVMGetBasicBlockParent(self.0) })
    }
}
