//! Types.
use crate::message::message;
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
