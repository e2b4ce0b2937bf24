//! Declarations of `shim/`.
use llvm_sys::prelude::*;
use std::ffi::{CStr, CString, c_char, c_uint};

unsafe extern "C" {
    pub fn kerf_free(p: *mut c_char);
    pub fn kerf_demangle(name: *const c_char) -> *mut c_char;
    pub fn kerf_loop_depths(f: LLVMValueRef, depth: *mut c_uint);
    pub fn kerf_variable_place(v: LLVMValueRef) -> *mut c_char;
    pub fn kerf_variable_name(v: LLVMValueRef) -> *mut c_char;
    pub fn kerf_drop_unit_lists(m: LLVMModuleRef);
    pub fn kerf_lighten_debug(m: LLVMModuleRef);
    pub fn kerf_number_lines(m: LLVMModuleRef);
    pub fn kerf_debug_params(f: LLVMValueRef) -> *mut c_char;
    pub fn kerf_debug_global(g: LLVMValueRef) -> *mut c_char;
    pub fn kerf_location(v: LLVMValueRef) -> *mut c_char;
    pub fn kerf_location_chain(v: LLVMValueRef) -> *mut c_char;
    pub fn kerf_location_in(v: LLVMValueRef, main: *const c_char) -> *mut c_char;
    pub fn kerf_prepend_params(f: LLVMValueRef, types: *mut LLVMTypeRef, n: c_uint)
    -> LLVMValueRef;
    pub fn kerf_append_param(f: LLVMValueRef, ty: LLVMTypeRef, name: *const c_char)
    -> LLVMValueRef;
    pub fn kerf_delete_body(f: LLVMValueRef);
    pub fn kerf_inline(call: LLVMValueRef) -> bool;
    pub fn kerf_param_to_int(f: LLVMValueRef, index: c_uint) -> LLVMValueRef;
    pub fn kerf_prepend_args(
        call: LLVMValueRef,
        callee: LLVMValueRef,
        ty: LLVMTypeRef,
        args: *mut LLVMValueRef,
        n: c_uint,
    ) -> LLVMValueRef;
    pub fn kerf_mark_parallel(latch: LLVMValueRef, body: LLVMValueRef);
    pub fn kerf_optimise_scalar(
        m: LLVMModuleRef,
        t: llvm_sys::target_machine::LLVMTargetMachineRef,
    );
    pub fn kerf_choose_vector_loops(f: LLVMValueRef);
    pub fn kerf_drop_poison_flags(f: LLVMValueRef);
    pub fn kerf_split_before(inst: LLVMValueRef) -> LLVMBasicBlockRef;
    pub fn kerf_add_prologue(f: LLVMValueRef) -> LLVMBasicBlockRef;
    pub fn kerf_demote(v: LLVMValueRef, at: LLVMBasicBlockRef) -> LLVMValueRef;
    pub fn kerf_move_to(v: LLVMValueRef, at: LLVMBasicBlockRef);
    pub fn kerf_promote(f: LLVMValueRef, allocas: *mut LLVMValueRef, n: c_uint);
    pub fn kerf_keep_rolled(latch: LLVMValueRef);
    pub fn kerf_unroll_by(latch: LLVMValueRef, factor: u32);
    pub fn kerf_remove_unreachable(f: LLVMValueRef);
    pub fn kerf_clone_function(f: LLVMValueRef, name: *const c_char) -> LLVMValueRef;
    pub fn kerf_expand_constant_users(g: LLVMValueRef);
    pub fn kerf_copy_global(to: LLVMValueRef, from: LLVMValueRef);
    pub fn kerf_drop_used(m: LLVMModuleRef);
    pub fn kerf_strict_math(m: LLVMModuleRef);
    pub fn kerf_mark_pure(f: LLVMValueRef);
    pub fn kerf_underlying(p: LLVMValueRef) -> LLVMValueRef;
    pub fn kerf_set_no_wrap(v: LLVMValueRef);
    pub fn kerf_shape_backend();
    pub fn kerf_shape(m: LLVMModuleRef);
    pub fn kerf_shape_rest(m: LLVMModuleRef);
    pub fn kerf_shape_memory(m: LLVMModuleRef);
    pub fn kerf_parse_part(
        ctx: LLVMContextRef,
        bytes: *const c_char,
        size: usize,
        name: *const c_char,
        roots: *const *const c_char,
        n: usize,
        error: *mut *mut c_char,
    ) -> LLVMModuleRef;
}

/// Takes over a string that the shim allocated.
pub fn take(p: *mut c_char) -> Option<String> {
    if p.is_null() {
        return None;
    }
    // SAFETY: the shim returns a NUL-terminated malloc'ed string, freed exactly once here.
    unsafe {
        let s = CStr::from_ptr(p).to_string_lossy().into_owned();
        kerf_free(p);
        Some(s)
    }
}

/// A C string; interior NULs (which LLVM names cannot have) end it early.
pub fn cstring(s: &str) -> CString {
    let end = s.find('\0').unwrap_or(s.len());
    CString::new(&s[..end]).unwrap_or_default()
}

pub fn demangle(name: &str) -> String {
    // SAFETY: the argument is a valid C string.
    take(unsafe { kerf_demangle(cstring(name).as_ptr()) }).unwrap_or_else(|| name.to_owned())
}
