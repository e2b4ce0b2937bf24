//! How programs find the driver's calls, and the names of its errors.
use super::error_names::NAMES;
use crate::error::{code, text};
use crate::process::{say, this_library};
use std::ffi::{CStr, CString, c_char, c_void};
use std::os::unix::ffi::OsStrExt;
use std::sync::OnceLock;

/// This library, as the linker knows it: an address, so that it can be kept for all threads.
fn library() -> usize {
    static LIBRARY: OnceLock<usize> = OnceLock::new();
    *LIBRARY.get_or_init(|| {
        let path = this_library().and_then(|p| CString::new(p.as_os_str().as_bytes()).ok());
        // SAFETY: the library that this code is in, which is loaded.
        path.map_or(0, |p| unsafe {
            libc::dlopen(p.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) as usize
        })
    })
}

/// An exported call by its full name.
fn exported(name: &str) -> Option<*mut c_void> {
    let symbol = CString::new(format!("kerf_{name}")).ok()?;
    // SAFETY: a handle of the linker's, which is null at worst.
    let found = unsafe { libc::dlsym(library() as *mut c_void, symbol.as_ptr()) };
    (library() != 0 && !found.is_null()).then_some(found)
}

/// Calls whose form depends on CUDA's version in another way than that there is a second one: from which version on which
/// suffix is meant.
const VERSIONED: &[(&str, &[(i32, &str)])] = &[
    ("cuCtxCreate", &[(12050, "_v4"), (11040, "_v3"), (0, "_v2")]),
    ("cuGetProcAddress", &[(12000, "_v2"), (0, "")]),
    ("cuMemAdvise", &[(12020, "_v2"), (0, "")]),
    ("cuMemPrefetchAsync", &[(12020, "_v2"), (0, "")]),
    ("cuStreamGetCtx", &[(12050, "_v2"), (0, "")]),
    ("cuCtxGetDevice", &[(13000, "_v2"), (0, "")]),
    ("cuCtxSynchronize", &[(13000, "_v2"), (0, "")]),
];

/// The call that a name means for a program of a CUDA version.
fn resolve(name: &str, version: i32) -> Option<*mut c_void> {
    let name = name.trim_end_matches("_ptsz").trim_end_matches("_ptds");
    if let Some((_, forms)) = VERSIONED.iter().find(|(n, _)| *n == name) {
        let (_, suffix) = forms.iter().find(|(from, _)| version >= *from)?;
        return exported(&format!("{name}{suffix}"));
    }
    exported(&format!("{name}_v2")).or_else(|| exported(name))
}

/// `CUdriverProcAddressQueryResult`.
const SYMBOL_FOUND: i32 = 0;
const SYMBOL_NOT_FOUND: i32 = 1;

/// # Safety
/// `symbol` is a C string; the others are null or writable.
#[unsafe(no_mangle)]
unsafe extern "C" fn kerf_cuGetProcAddress_v2(
    symbol: *const c_char,
    to: *mut *mut c_void,
    version: i32,
    _flags: u64,
    status: *mut i32,
) -> i32 {
    if symbol.is_null() || to.is_null() {
        return code::INVALID_VALUE;
    }
    // SAFETY: as the caller promises.
    unsafe {
        let name = CStr::from_ptr(symbol).to_string_lossy();
        let found = resolve(&name, version);
        *to = found.unwrap_or(std::ptr::null_mut());
        if !status.is_null() {
            *status = match found {
                Some(_) => SYMBOL_FOUND,
                None => SYMBOL_NOT_FOUND,
            };
        }
    }
    // That there is no such call is no failure of this one.
    code::SUCCESS
}

/// # Safety
/// As of [`kerf_cuGetProcAddress_v2`].
#[unsafe(no_mangle)]
unsafe extern "C" fn kerf_cuGetProcAddress(
    symbol: *const c_char,
    to: *mut *mut c_void,
    version: i32,
    flags: u64,
) -> i32 {
    // SAFETY: as the caller promises.
    unsafe { kerf_cuGetProcAddress_v2(symbol, to, version, flags, std::ptr::null_mut()) }
}

/// Tables of undocumented calls, which NVIDIA's own CUDA runtime needs and nothing else does.
#[unsafe(no_mangle)]
extern "C" fn kerf_cuGetExportTable(to: *mut *const c_void, _id: *const c_void) -> i32 {
    static SAID: std::sync::Once = std::sync::Once::new();
    SAID.call_once(|| {
        say(
            "cuGetExportTable: the program has NVIDIA's CUDA runtime (libcudart), which needs undocumented calls of NVIDIA's \
             driver that Kerf does not have. Programs of the driver API alone (Numba, Triton) run; those of the runtime API are \
             compiled with `kerf cc`",
        );
    });
    if !to.is_null() {
        // SAFETY: the program says that it points to a place for an address.
        unsafe { *to = std::ptr::null() };
    }
    code::NOT_FOUND
}

fn put_text(to: *mut *const c_char, found: Option<&'static CStr>) -> i32 {
    if to.is_null() {
        return code::INVALID_VALUE;
    }
    // SAFETY: the program says that it points to a place for an address.
    unsafe { *to = found.map_or(std::ptr::null(), CStr::as_ptr) };
    match found {
        Some(_) => code::SUCCESS,
        None => code::INVALID_VALUE,
    }
}

fn error_name(error: i32) -> Option<&'static CStr> {
    let found = NAMES.iter().find(|(c, _)| *c == error);
    found.map(|(_, name)| *name)
}

// Not behind the lock and not refused after a fault: programs ask for names when something has failed.
#[unsafe(no_mangle)]
extern "C" fn kerf_cuGetErrorName(error: i32, to: *mut *const c_char) -> i32 {
    put_text(to, error_name(error))
}

#[unsafe(no_mangle)]
extern "C" fn kerf_cuGetErrorString(error: i32, to: *mut *const c_char) -> i32 {
    put_text(to, error_name(error).map(|_| text(error)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_the_drivers_names() {
        assert_eq!(error_name(218), Some(c"CUDA_ERROR_INVALID_PTX"));
        assert_eq!(error_name(700), Some(c"CUDA_ERROR_ILLEGAL_ADDRESS"));
        assert_eq!(error_name(12345), None);
        let mut to = std::ptr::null();
        assert_eq!(kerf_cuGetErrorString(2, &mut to), 0);
        // SAFETY: a text of the table.
        assert_eq!(unsafe { CStr::from_ptr(to) }, c"out of memory");
    }
}
