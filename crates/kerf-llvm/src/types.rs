//! Types, and the simplest constants of a type.
use crate::value::{Value, message};
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::*;
use std::ffi::CStr;

/// A type.
#[derive(Copy, Clone, PartialEq, Eq, Hash)]
pub struct Type(pub LLVMTypeRef);

// SAFETY (all unsafe blocks of this file): the handles are valid by the contract stated in the
// parent module; each call passes values of the kind that the C function documents, which the
// method's own check or documentation ensures.

impl std::fmt::Debug for Type {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.print())
    }
}

impl Type {
    /// What kind of type it is.
    pub fn kind(self) -> LLVMTypeKind {
        unsafe { LLVMGetTypeKind(self.0) }
    }
    /// As text.
    pub fn print(self) -> String {
        message(unsafe { LLVMPrintTypeToString(self.0) })
    }
    /// Bits of an integer type.
    pub fn int_bits(self) -> u32 {
        unsafe { LLVMGetIntTypeWidth(self.0) }
    }
    /// Is it an integer type?
    pub fn is_int(self) -> bool {
        self.kind() == LLVMTypeKind::LLVMIntegerTypeKind
    }
    /// Is it a pointer?
    pub fn is_ptr(self) -> bool {
        self.kind() == LLVMTypeKind::LLVMPointerTypeKind
    }
    /// Is it `void`?
    pub fn is_void(self) -> bool {
        self.kind() == LLVMTypeKind::LLVMVoidTypeKind
    }
    /// Is it a fixed vector?
    pub fn is_vector(self) -> bool {
        self.kind() == LLVMTypeKind::LLVMVectorTypeKind
    }
    /// Is it a scalar floating-point type that Kerf knows?
    pub fn is_float(self) -> bool {
        self.format().is_some()
    }
    /// Format of a scalar floating-point type.
    pub fn format(self) -> Option<kerf_num::Format> {
        use kerf_num::Format::*;
        match self.kind() {
            LLVMTypeKind::LLVMDoubleTypeKind => Some(F64),
            LLVMTypeKind::LLVMFloatTypeKind => Some(F32),
            LLVMTypeKind::LLVMHalfTypeKind => Some(F16),
            LLVMTypeKind::LLVMBFloatTypeKind => Some(Bf16),
            _ => None,
        }
    }
    /// Element type of a vector or array; the type itself otherwise.
    pub fn element(self) -> Type {
        match self.kind() {
            LLVMTypeKind::LLVMVectorTypeKind | LLVMTypeKind::LLVMArrayTypeKind => {
                Type(unsafe { LLVMGetElementType(self.0) })
            }
            _ => self,
        }
    }
    /// Number of lanes of a vector, 1 for a scalar.
    pub fn lanes(self) -> u32 {
        if self.is_vector() {
            unsafe { LLVMGetVectorSize(self.0) }
        } else {
            1
        }
    }
    /// Number of elements of an array type.
    pub fn array_len(self) -> u64 {
        unsafe { LLVMGetArrayLength2(self.0) }
    }
    /// Fields of a struct type.
    pub fn fields(self) -> Vec<Type> {
        let n = unsafe { LLVMCountStructElementTypes(self.0) };
        (0..n)
            .map(|i| Type(unsafe { LLVMStructGetTypeAtIndex(self.0, i) }))
            .collect()
    }
    /// Address space of a pointer.
    pub fn space(self) -> u32 {
        unsafe { LLVMGetPointerAddressSpace(self.0) }
    }
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
    /// The array type of `n` of these.
    pub fn array(self, n: u64) -> Type {
        Type(unsafe { LLVMArrayType2(self.0, n) })
    }
    /// The vector type of `n` of these.
    pub fn vector(self, n: u32) -> Type {
        Type(unsafe { LLVMVectorType(self.0, n) })
    }
    /// The function type with this return type.
    pub fn function(self, params: &[Type]) -> Type {
        let mut p: Vec<_> = params.iter().map(|t| t.0).collect();
        Type(unsafe { LLVMFunctionType(self.0, p.as_mut_ptr(), p.len() as u32, 0) })
    }
    /// Parameter types of a function type.
    pub fn params(self) -> Vec<Type> {
        let n = unsafe { LLVMCountParamTypes(self.0) } as usize;
        let mut v = vec![std::ptr::null_mut(); n];
        unsafe { LLVMGetParamTypes(self.0, v.as_mut_ptr()) };
        v.into_iter().map(Type).collect()
    }
    /// Return type of a function type.
    pub fn ret(self) -> Type {
        Type(unsafe { LLVMGetReturnType(self.0) })
    }
    /// Name of a named struct.
    pub fn struct_name(self) -> Option<String> {
        let p = unsafe { LLVMGetStructName(self.0) };
        (!p.is_null()).then(|| unsafe { CStr::from_ptr(p) }.to_string_lossy().into_owned())
    }
}
