//! The parts that are installed with this program: a wheel and the archive have one layout.
//!
//! ```text
//! bin/kerf                 this program, with clang linked into it (feature `clang`)
//! lib/libkerfrt.so         the runtime of applications
//! share/kerf/clang         clang's own headers (its resource folder)
//! share/kerf/sysroot       C and C++ headers for device code
//! ```
use kerf_clang::clang_program::ClangProgram;
use std::path::PathBuf;

/// The first argument with which this program is clang.
pub const CLANG_WORD: &str = "internal-clang";

/// This program, without symbolic links.
pub fn program() -> Option<PathBuf> {
    std::env::current_exe()
        .ok()
        .and_then(|p| std::fs::canonicalize(p).ok())
}

/// The folder that holds `bin`, `lib` and `share`.
pub fn prefix() -> Option<PathBuf> {
    Some(program()?.parent()?.parent()?.to_owned())
}

/// The clang in this program, where it was linked and its headers are installed.
pub fn embedded_clang() -> Option<ClangProgram> {
    if !cfg!(feature = "clang") {
        return None;
    }
    let share = prefix()?.join("share/kerf");
    let resources = share.join("clang");
    if !resources.join("include/stddef.h").is_file() {
        return None;
    }
    Some(ClangProgram {
        path: program()?,
        leading_args: vec![
            CLANG_WORD.to_owned(),
            format!("-resource-dir={}", resources.display()),
            "--no-default-config".to_owned(),
        ],
        device_sysroot: Some(share.join("sysroot")).filter(|s| s.is_dir()),
    })
}

/// How CUDA's headers, libdevice and ptxas are had where this program is installed.
pub fn cuda_remedy() -> &'static str {
    match embedded_clang() {
        Some(_) => {
            "pip install --force-reinstall kerf-gpu, or for the archive what its README.txt says; both bring NVIDIA's wheels"
        }
        None => "scripts/setup.sh (or make setup)",
    }
}

/// Is this program called as clang? Then it is, and this gives the exit code.
#[cfg(feature = "clang")]
pub fn as_clang() -> Option<i32> {
    let mut args: Vec<std::ffi::OsString> = std::env::args_os().collect();
    if args.get(1).is_none_or(|a| a != CLANG_WORD) {
        return None;
    }
    args.remove(1);
    // clang names this file where it runs itself again.
    args[0] = program()?.into_os_string();
    Some(kerf_embedded_clang::run(args, CLANG_WORD))
}

/// Without the feature it never is.
#[cfg(not(feature = "clang"))]
pub fn as_clang() -> Option<i32> {
    None
}
