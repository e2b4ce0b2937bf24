//! Values: what holds for every kind, and constants.
use crate::message::message;
use crate::types::Type;
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::*;

/// A value: constant, global, function, argument or instruction.
#[derive(Copy, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Value(pub LLVMValueRef);

// SAFETY (all unsafe blocks of this file): the handles are valid by the contract stated in the
// parent module; each call passes values of the kind that the C function documents, which the
// method's own check or documentation ensures.

impl std::fmt::Debug for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.print())
    }
}

impl Value {
    /// As text.
    pub fn print(self) -> String {
        message(unsafe { LLVMPrintValueToString(self.0) })
    }
    /// Its type.
    pub fn ty(self) -> Type {
        Type(unsafe { LLVMTypeOf(self.0) })
    }
    /// Its name; empty if it has none.
    pub fn name(self) -> String {
        let mut n = 0;
        unsafe {
            let p = LLVMGetValueName2(self.0, &mut n);
            String::from_utf8_lossy(std::slice::from_raw_parts(p.cast::<u8>(), n)).into_owned()
        }
    }
    /// Renames it.
    pub fn set_name(self, name: &str) {
        unsafe { LLVMSetValueName2(self.0, name.as_ptr().cast(), name.len()) }
    }
    /// Opcode of a constant expression.
    pub fn const_opcode(self) -> Option<LLVMOpcode> {
        (!unsafe { LLVMIsAConstantExpr(self.0) }.is_null())
            .then(|| unsafe { LLVMGetConstOpcode(self.0) })
    }
    /// Is it an instruction?
    pub fn is_instruction(self) -> bool {
        !unsafe { LLVMIsAInstruction(self.0) }.is_null()
    }
    /// Is it a constant?
    pub fn is_constant(self) -> bool {
        unsafe { LLVMIsConstant(self.0) != 0 }
    }
    /// Is it a function?
    pub fn is_function(self) -> bool {
        !unsafe { LLVMIsAFunction(self.0) }.is_null()
    }
    /// Is it a global variable?
    pub fn is_global_var(self) -> bool {
        !unsafe { LLVMIsAGlobalVariable(self.0) }.is_null()
    }
    /// Is it an argument?
    pub fn is_argument(self) -> bool {
        !unsafe { LLVMIsAArgument(self.0) }.is_null()
    }
    /// Is it `undef` or `poison`?
    pub fn is_undef(self) -> bool {
        unsafe { LLVMIsUndef(self.0) != 0 }
    }
    /// Is it `poison`?
    pub fn is_poison(self) -> bool {
        unsafe { LLVMIsPoison(self.0) != 0 }
    }
    /// Lane `i` of a constant vector, element `i` of a constant array, field `i` of a constant struct.
    pub fn lane_constant(self, i: u32) -> Option<Value> {
        let v = unsafe { LLVMGetAggregateElement(self.0, i) };
        (!v.is_null()).then_some(Value(v))
    }
    /// The function that an argument belongs to.
    pub fn argument_function(self) -> Value {
        Value(unsafe { LLVMGetParamParent(self.0) })
    }

    /// Whether this is a parameter that is passed by value: a struct of the caller's.
    pub fn is_byval_argument(self) -> bool {
        self.is_argument() && {
            let f = self.argument_function();
            let number = f.params().iter().position(|p| *p == self);
            number.is_some_and(|n| f.byval(n as u32).is_some())
        }
    }
    /// Is it inline assembly?
    pub fn is_inline_asm(self) -> bool {
        !unsafe { LLVMIsAInlineAsm(self.0) }.is_null()
    }
    /// Value of an integer constant of at most 64 bits.
    pub fn const_int(self) -> Option<u64> {
        (!unsafe { LLVMIsAConstantInt(self.0) }.is_null() && self.ty().int_bits() <= 64)
            .then(|| unsafe { LLVMConstIntGetZExtValue(self.0) })
    }
    /// Value of a floating-point constant, rounded to f64.
    pub fn const_real(self) -> Option<f64> {
        if unsafe { LLVMIsAConstantFP(self.0) }.is_null() {
            return None;
        }
        let mut loses = 0;
        Some(unsafe { LLVMConstRealGetDouble(self.0, &mut loses) })
    }
    /// Text of a constant string (an array of i8).
    pub fn const_string(self) -> Option<Vec<u8>> {
        unsafe {
            if LLVMIsAConstantDataSequential(self.0).is_null() || LLVMIsConstantString(self.0) == 0
            {
                return None;
            }
            let mut n = 0;
            let p = LLVMGetAsString(self.0, &mut n);
            Some(std::slice::from_raw_parts(p.cast::<u8>(), n).to_vec())
        }
    }
    /// Operands.
    pub fn operands(self) -> Vec<Value> {
        let n = unsafe { LLVMGetNumOperands(self.0) };
        (0..n.max(0) as u32).map(|i| self.operand(i)).collect()
    }
    /// Operand `i`.
    pub fn operand(self, i: u32) -> Value {
        Value(unsafe { LLVMGetOperand(self.0, i) })
    }
    /// Replaces operand `i`.
    pub fn set_operand(self, i: u32, v: Value) {
        unsafe { LLVMSetOperand(self.0, i, v.0) }
    }
    /// Everything that uses it.
    pub fn users(self) -> Vec<Value> {
        let mut out = Vec::new();
        unsafe {
            let mut u = LLVMGetFirstUse(self.0);
            while !u.is_null() {
                out.push(Value(LLVMGetUser(u)));
                u = LLVMGetNextUse(u);
            }
        }
        out
    }
    /// Replaces all uses of it.
    pub fn replace_with(self, v: Value) {
        unsafe { LLVMReplaceAllUsesWith(self.0, v.0) }
    }
}
