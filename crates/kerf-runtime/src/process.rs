//! The process: its environment, its standard error, this library in it.
use std::path::PathBuf;

/// A line of the runtime's own.
pub fn say(text: &str) {
    eprintln!("kerf: {text}");
}

/// This library's file.
pub fn this_library() -> Option<PathBuf> {
    // SAFETY: the address is of this library; the name is copied.
    unsafe {
        let mut info: libc::Dl_info = std::mem::zeroed();
        if libc::dladdr(this_library as *const () as *const _, &mut info) == 0
            || info.dli_fname.is_null()
        {
            return None;
        }
        let name = std::ffi::CStr::from_ptr(info.dli_fname).to_str().ok()?;
        std::fs::canonicalize(name).ok()
    }
}

/// A variable of the environment, unless it is empty.
pub fn var(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|v| !v.is_empty())
}
