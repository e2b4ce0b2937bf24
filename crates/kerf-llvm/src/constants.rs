//! The simplest constants of a type.
use crate::types::Type;
use crate::value::Value;
use llvm_sys::core::*;

// SAFETY (all unsafe blocks of this file): the handles are valid by the contract stated in the
// parent module; each call passes values of the kind that the C function documents, which the
// method's own check or documentation ensures.

impl Type {
    /// A constant zero (or null) of this type.
    pub fn zero(self) -> Value {
        Value(unsafe { LLVMConstNull(self.0) })
    }
    /// `poison` of this type.
    pub fn poison(self) -> Value {
        Value(unsafe { LLVMGetPoison(self.0) })
    }
    /// `undef` of this type.
    pub fn undef(self) -> Value {
        Value(unsafe { LLVMGetUndef(self.0) })
    }
    /// An integer constant of this integer type.
    pub fn int(self, v: u64) -> Value {
        Value(unsafe { LLVMConstInt(self.0, v, 0) })
    }
    /// A floating-point constant of this type (rounded to it).
    pub fn real(self, v: f64) -> Value {
        Value(unsafe { LLVMConstReal(self.0, v) })
    }
    /// A constant array of elements of this type.
    pub fn array_of(self, elements: &[Value]) -> Value {
        let mut v: Vec<_> = elements.iter().map(|e| e.0).collect();
        Value(unsafe { LLVMConstArray2(self.0, v.as_mut_ptr(), v.len() as u64) })
    }
    /// A constant struct of these fields, whose type has no name; this is any type of the same context.
    pub fn struct_of(self, fields: &[Value]) -> Value {
        let mut v: Vec<_> = fields.iter().map(|e| e.0).collect();
        let n = v.len() as u32;
        Value(unsafe { LLVMConstStructInContext(LLVMGetTypeContext(self.0), v.as_mut_ptr(), n, 0) })
    }
    /// A constant vector of these lanes.
    pub fn vector_of(lanes: &[Value]) -> Value {
        let mut v: Vec<_> = lanes.iter().map(|e| e.0).collect();
        Value(unsafe { LLVMConstVector(v.as_mut_ptr(), v.len() as u32) })
    }
}
