//! Texts that LLVM hands over.
use llvm_sys::core::LLVMDisposeMessage;
use std::ffi::CStr;

/// The text, which is freed.
pub(super) fn message(p: *mut std::ffi::c_char) -> String {
    // SAFETY: LLVM returned an owned, NUL-terminated message.
    unsafe {
        let s = CStr::from_ptr(p).to_string_lossy().into_owned();
        LLVMDisposeMessage(p);
        s
    }
}
