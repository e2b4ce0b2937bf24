//! clang's driver and compiler as a function.
//!
//! A program that has it calls itself again for each compilation ([`run`] in that process), so that a crash of clang ends
//! that process and is a value for the one that waits. The bitcode is that of the machine's clang of the same version.
//! Only the `kerf` program links this crate: clang adds 270 MB of libraries to a link.
#![warn(missing_docs)]

#[cfg(feature = "link")]
mod linked {
    // LLVM's libraries are linked with that crate, behind clang's.
    use kerf_llvm as _;
    use std::ffi::{CString, OsString, c_char, c_int};
    use std::os::unix::ffi::OsStringExt;

    unsafe extern "C" {
        fn kerf_clang_main(argc: c_int, argv: *const *const c_char, prefix: *const c_char)
        -> c_int;
    }

    /// Runs clang in this process and gives its exit code.
    ///
    /// `args` begins with the path of this program; `prefix` is the argument with which this program calls this
    /// function again, where clang's driver has more than one thing to do.
    pub fn run(args: Vec<OsString>, prefix: &str) -> i32 {
        // The system passes no argument with a zero byte in it.
        let args: Vec<CString> = args
            .into_iter()
            .filter_map(|a| CString::new(a.into_vec()).ok())
            .collect();
        let mut pointers: Vec<*const c_char> = args.iter().map(|a| a.as_ptr()).collect();
        let count = c_int::try_from(pointers.len()).unwrap_or(c_int::MAX);
        pointers.push(std::ptr::null());
        let prefix = CString::new(prefix).unwrap_or_default();
        // SAFETY: `count` strings that end with a zero, which outlive the call, and a null pointer behind them.
        unsafe { kerf_clang_main(count, pointers.as_ptr(), prefix.as_ptr()) }
    }
}

#[cfg(feature = "link")]
pub use linked::run;
