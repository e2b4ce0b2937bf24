//! `libcuda.so.1` of Kerf: the driver API under its own names, passed on to libkerfrt.so.
//!
//! A program that is started with this library's folder in `LD_LIBRARY_PATH` (`scripts/driver.sh`) loads it in place of NVIDIA's
//! driver. It is apart from libkerfrt.so for two reasons: that one opens NVIDIA's driver, which must not meet other functions of its own
//! names in the process, and applications of `kerf cc` are linked with it.
//!
//! Every entry is a jump through a table, so that nothing is said here of parameters.
#![allow(non_snake_case)] // CUDA's names

use std::cell::UnsafeCell;
use std::ffi::{CStr, CString, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// Passes a call on: registers and stack are as the caller left them.
macro_rules! entry {
    ($name:ident, $number:literal) => {
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        extern "C" fn $name() {
            std::arch::naked_asm!(
                "jmp qword ptr [rip + {table} + {offset}]",
                table = sym CALLS,
                offset = const 8 * $number,
            )
        }
    };
}

include!(concat!(env!("OUT_DIR"), "/entries.rs"));

/// Addresses that the entries jump to.
#[repr(transparent)]
struct CallTable(UnsafeCell<[*const c_void; NAMES.len()]>);
// SAFETY: written once, while the library is loaded and nobody can call it yet.
unsafe impl Sync for CallTable {}

static CALLS: CallTable = CallTable(UnsafeCell::new([missing as *const c_void; NAMES.len()]));

/// `CUDA_ERROR_NOT_INITIALIZED`, of every call where the runtime is missing.
const NOT_INITIALIZED: i32 = 3;

extern "C" fn missing() -> i32 {
    NOT_INITIALIZED
}

/// The folder of this library, behind symbolic links.
fn folder() -> Option<PathBuf> {
    // SAFETY: the address is of this library; the name is copied.
    let name = unsafe {
        let mut info: libc::Dl_info = std::mem::zeroed();
        if libc::dladdr(missing as *const c_void, &mut info) == 0 || info.dli_fname.is_null() {
            return None;
        }
        CStr::from_ptr(info.dli_fname)
    };
    let path = std::path::Path::new(std::ffi::OsStr::from_bytes(name.to_bytes()));
    let path = std::fs::canonicalize(path).ok()?;
    Some(path.parent()?.to_owned())
}

/// libkerfrt.so: as the environment says, or beside this library.
fn runtime() -> Option<*mut c_void> {
    let named = std::env::var_os("KERF_RUNTIME").filter(|p| !p.is_empty());
    let beside = folder().into_iter().flat_map(|f| {
        ["libkerfrt.so", "deps/libkerfrt.so", "../libkerfrt.so"].map(|name| f.join(name))
    });
    let mut places = named.map(PathBuf::from).into_iter().chain(beside);
    places.find_map(|p| {
        let name = CString::new(p.as_os_str().as_bytes()).ok()?;
        // SAFETY: opens a library by its path.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        (!handle.is_null()).then_some(handle)
    })
}

extern "C" fn fill() {
    let Some(library) = runtime() else {
        eprintln!(
            "kerf: libkerfrt.so was not found beside Kerf's libcuda.so.1; set KERF_RUNTIME to its path"
        );
        return;
    };
    for (i, name) in NAMES.iter().enumerate() {
        // SAFETY: a handle of the linker's; the table has a place for each name, and nobody reads it yet.
        unsafe {
            let found = libc::dlsym(library, name.as_ptr());
            if !found.is_null() {
                (*CALLS.0.get())[i] = found;
            }
        }
    }
}

/// Runs when the library is loaded.
#[used]
#[unsafe(link_section = ".init_array")]
static FILL: extern "C" fn() = fill;
