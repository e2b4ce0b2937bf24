//! The calls of the driver API that applications mix in: devices, contexts, memory.
//!
//! `kerf cc` renames them (`cuInit` is `kerf_cuInit` here), so that NVIDIA's own driver, which this library
//! loads, never meets them. Others are missing when the program is linked, by name.
use crate::call::{call, put};
use crate::error::{CallFailure, code, name, text};
use kerf_exec::raw::MemoryPlace;
use std::ffi::{c_char, c_void};

/// The driver's codes are the runtime's, but for a few.
fn driver_code(code: i32) -> i32 {
    match code {
        9 => 1,
        13 | 98 => 500,
        c => c,
    }
}

macro_rules! calls {
    ($($symbol:ident as $cuda:literal ($($arg:ident: $ty:ty),*) |$s:ident| $body:expr;)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $symbol($($arg: $ty),*) -> i32 {
            driver_code(call($cuda, |$s| -> Result<(), CallFailure> { $body }))
        }
    )*};
}

/// Stands for the one context; never looked at.
const CONTEXT: *mut c_void = std::ptr::dangling_mut();

calls! {
    kerf_cuInit as "cuInit" (_flags: u32) |s| s.device().map(|_| ());
    kerf_cuDriverGetVersion as "cuDriverGetVersion" (to: *mut i32) |_s| put(to, 12090);
    kerf_cuDeviceGetCount as "cuDeviceGetCount" (to: *mut i32) |_s| put(to, 1);
    kerf_cuDeviceGet as "cuDeviceGet" (to: *mut i32, n: i32) |_s| {
        if n != 0 { return Err(code::INVALID_DEVICE.into()); }
        put(to, 0)
    };
    kerf_cuDeviceGetName as "cuDeviceGetName" (to: *mut c_char, n: i32, _device: i32) |s| {
        let text = std::ffi::CString::new(s.device()?.name()).unwrap_or_default();
        if to.is_null() || n < 1 { return Err(code::INVALID_VALUE.into()); }
        // SAFETY: the application's buffer has n bytes.
        unsafe {
            libc::strncpy(to, text.as_ptr(), n as usize);
            *to.add(n as usize - 1) = 0;
        }
        Ok(())
    };
    kerf_cuDeviceGetAttribute as "cuDeviceGetAttribute" (to: *mut i32, what: i32, _device: i32) |s| {
        let v = s.on_device(|d| d.attribute(what))?;
        put(to, v)
    };
    kerf_cuDeviceComputeCapability as "cuDeviceComputeCapability" (a: *mut i32, b: *mut i32, _device: i32) |s| {
        let (x, y) = s.on_device(|d| Ok((d.attribute(75)?, d.attribute(76)?)))?;
        put(a, x)?;
        put(b, y)
    };
    kerf_cuDeviceTotalMem_v2 as "cuDeviceTotalMem" (to: *mut usize, _device: i32) |s| {
        let (_, all) = s.on_device(|d| d.memory())?;
        put(to, all)
    };
    kerf_cuCtxCreate_v2 as "cuCtxCreate" (to: *mut *mut c_void, _flags: u32, _device: i32) |s| {
        s.device()?;
        put(to, CONTEXT)
    };
    kerf_cuCtxDestroy_v2 as "cuCtxDestroy" (_c: *mut c_void) |_s| Ok(());
    kerf_cuCtxGetCurrent as "cuCtxGetCurrent" (to: *mut *mut c_void) |_s| put(to, CONTEXT);
    kerf_cuCtxSetCurrent as "cuCtxSetCurrent" (_c: *mut c_void) |_s| Ok(());
    kerf_cuCtxPushCurrent_v2 as "cuCtxPushCurrent" (_c: *mut c_void) |_s| Ok(());
    kerf_cuCtxPopCurrent_v2 as "cuCtxPopCurrent" (to: *mut *mut c_void) |_s| put(to, CONTEXT);
    kerf_cuCtxGetDevice as "cuCtxGetDevice" (to: *mut i32) |_s| put(to, 0);
    kerf_cuCtxSynchronize as "cuCtxSynchronize" () |s| s.on_device(|d| d.synchronize());
    kerf_cuDevicePrimaryCtxRetain as "cuDevicePrimaryCtxRetain" (to: *mut *mut c_void, _device: i32) |s| {
        s.device()?;
        put(to, CONTEXT)
    };
    kerf_cuDevicePrimaryCtxRelease_v2 as "cuDevicePrimaryCtxRelease" (_device: i32) |_s| Ok(());
    kerf_cuMemGetInfo_v2 as "cuMemGetInfo" (free: *mut usize, all: *mut usize) |s| {
        let (f, a) = s.on_device(|d| d.memory())?;
        put(free, f)?;
        put(all, a)
    };
    kerf_cuMemAlloc_v2 as "cuMemAlloc" (to: *mut u64, bytes: usize) |s| {
        if bytes == 0 { return Err(code::INVALID_VALUE.into()); }
        let a = crate::memory::alloc(s, bytes, MemoryPlace::Device)?;
        put(to, a)
    };
    kerf_cuMemFree_v2 as "cuMemFree" (address: u64) |s| crate::memory::free(s, address, false);
    kerf_cuMemcpyHtoD_v2 as "cuMemcpyHtoD" (to: u64, from: *const c_void, n: usize) |s|
        crate::copy::line(s, to, from as u64, n, 1, 0, true);
    kerf_cuMemcpyDtoH_v2 as "cuMemcpyDtoH" (to: *mut c_void, from: u64, n: usize) |s|
        crate::copy::line(s, to as u64, from, n, 2, 0, true);
    kerf_cuMemcpyDtoD_v2 as "cuMemcpyDtoD" (to: u64, from: u64, n: usize) |s|
        crate::copy::line(s, to, from, n, 3, 0, true);
    kerf_cuMemsetD8_v2 as "cuMemsetD8" (to: u64, value: u8, n: usize) |s|
        crate::copy::fill(s, to, i32::from(value), n, 0);
    kerf_cuMemsetD32_v2 as "cuMemsetD32" (to: u64, value: u32, n: usize) |s|
        crate::copy::fill_words(s, to, value, n);
    kerf_cuGetErrorString as "cuGetErrorString" (c: i32, to: *mut *const c_char) |_s| put(to, text(c).as_ptr());
    kerf_cuGetErrorName as "cuGetErrorName" (c: i32, to: *mut *const c_char) |_s| put(to, name(c).as_ptr());
    kerf_cuProfilerStart as "cuProfilerStart" () |_s| Ok(());
    kerf_cuProfilerStop as "cuProfilerStop" () |_s| Ok(());
}
