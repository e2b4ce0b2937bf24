//! Libraries and kernels of CUDA 12: a library is a module without a context, so it has a module's handle, and a kernel that of
//! its function.
use super::module::{
    JitOptions, kernel_names, load_at, load_file, put_function, put_functions, put_global, unit_of,
    unload,
};
use crate::call::put;
use crate::error::{CallFailure, code};
use std::ffi::{c_char, c_void};

driver_calls! {
    kerf_cuLibraryLoadData as "cuLibraryLoadData" (
        to: *mut u64, image: *const c_void, options: *const i32, values: *mut *mut c_void, n: u32,
        _library_options: *const i32, _library_values: *mut *mut c_void, _m: u32,
    ) |s| {
        let m = load_at(s, image, &JitOptions::new(n, options, values))?;
        put(to, m)
    };
    kerf_cuLibraryLoadFromFile as "cuLibraryLoadFromFile" (
        to: *mut u64, path: *const c_char, options: *const i32, values: *mut *mut c_void, n: u32,
        _library_options: *const i32, _library_values: *mut *mut c_void, _m: u32,
    ) |s| {
        let m = load_file(s, path, &JitOptions::new(n, options, values))?;
        put(to, m)
    };
    kerf_cuLibraryUnload as "cuLibraryUnload" (library: u64) |s| unload(s, library);
    kerf_cuLibraryGetModule as "cuLibraryGetModule" (to: *mut u64, library: u64) |s| {
        unit_of(s, library)?;
        put(to, library)
    };
    kerf_cuLibraryGetKernel as "cuLibraryGetKernel" (to: *mut u64, library: u64, name: *const c_char) |s|
        put_function(s, library, name, to);
    kerf_cuLibraryGetKernelCount as "cuLibraryGetKernelCount" (to: *mut u32, library: u64) |s| {
        let n = kernel_names(s, library)?.len();
        put(to, n as u32)
    };
    kerf_cuLibraryEnumerateKernels as "cuLibraryEnumerateKernels" (to: *mut u64, n: u32, library: u64) |s|
        put_functions(s, library, to, n);
    kerf_cuLibraryGetGlobal as "cuLibraryGetGlobal" (to: *mut u64, bytes: *mut usize, library: u64, name: *const c_char) |s|
        put_global(s, library, name, to, bytes);
    kerf_cuLibraryGetManaged as "cuLibraryGetManaged" (_to: *mut u64, _bytes: *mut usize, _library: u64, _name: *const c_char) |_s|
        Err(code::NOT_FOUND.into());
    kerf_cuKernelGetFunction as "cuKernelGetFunction" (to: *mut u64, kernel: u64) |s| match s.functions.contains_key(&(kernel as usize)) {
        true => put(to, kernel),
        false => Err(CallFailure::from(code::INVALID_HANDLE)),
    };
    kerf_cuKernelGetLibrary as "cuKernelGetLibrary" (to: *mut u64, kernel: u64) |s| {
        let unit = s.functions.get(&(kernel as usize)).map(|f| f.module);
        let library = s.driver.modules.iter().find(|(_, u)| Some(**u) == unit).map(|(h, _)| *h);
        put(to, library.ok_or(CallFailure::from(code::INVALID_HANDLE))?)
    };
}
