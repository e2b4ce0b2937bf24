//! Contexts: there is one, the primary context of the one device, and it is always current.
use crate::call::put;
use crate::error::code;
use std::ffi::c_void;

/// Stands for the one context; never looked at.
pub const CONTEXT: *mut c_void = std::ptr::dangling_mut();

/// Values of `CUlimit`: bytes of a thread's stack, of the buffer of `printf`, of the device's heap.
const LIMITS: &[(i32, usize)] = &[(0, 1024), (1, 1 << 20), (2, 8 << 20)];

driver_calls! {
    kerf_cuCtxCreate_v2 as "cuCtxCreate" (to: *mut *mut c_void, _flags: u32, _device: i32) |s| {
        s.device()?;
        put(to, CONTEXT)
    };
    kerf_cuCtxCreate_v3 as "cuCtxCreate" (to: *mut *mut c_void, _affinity: *mut c_void, _n: i32, _flags: u32, _device: i32) |s| {
        s.device()?;
        put(to, CONTEXT)
    };
    kerf_cuCtxCreate_v4 as "cuCtxCreate" (to: *mut *mut c_void, _params: *mut c_void, _flags: u32, _device: i32) |s| {
        s.device()?;
        put(to, CONTEXT)
    };
    kerf_cuCtxDestroy_v2 as "cuCtxDestroy" (_c: *mut c_void) |_s| Ok(());
    kerf_cuCtxAttach as "cuCtxAttach" (to: *mut *mut c_void, _flags: u32) |_s| put(to, CONTEXT);
    kerf_cuCtxDetach as "cuCtxDetach" (_c: *mut c_void) |_s| Ok(());
    kerf_cuCtxGetCurrent as "cuCtxGetCurrent" (to: *mut *mut c_void) |_s| put(to, CONTEXT);
    kerf_cuCtxSetCurrent as "cuCtxSetCurrent" (_c: *mut c_void) |_s| Ok(());
    kerf_cuCtxPushCurrent_v2 as "cuCtxPushCurrent" (_c: *mut c_void) |_s| Ok(());
    kerf_cuCtxPopCurrent_v2 as "cuCtxPopCurrent" (to: *mut *mut c_void) |_s| match to.is_null() {
        true => Ok(()),
        false => put(to, CONTEXT),
    };
    kerf_cuCtxGetDevice as "cuCtxGetDevice" (to: *mut i32) |_s| put(to, 0);
    kerf_cuCtxGetDevice_v2 as "cuCtxGetDevice" (to: *mut i32, _c: *mut c_void) |_s| put(to, 0);
    kerf_cuCtxGetId as "cuCtxGetId" (_c: *mut c_void, to: *mut u64) |_s| put(to, 1);
    kerf_cuCtxGetApiVersion as "cuCtxGetApiVersion" (_c: *mut c_void, to: *mut u32) |_s| put(to, 3020);
    kerf_cuCtxGetFlags as "cuCtxGetFlags" (to: *mut u32) |_s| put(to, 0);
    kerf_cuCtxSetFlags as "cuCtxSetFlags" (_flags: u32) |_s| Ok(());
    kerf_cuCtxGetCacheConfig as "cuCtxGetCacheConfig" (to: *mut i32) |_s| put(to, 0);
    kerf_cuCtxSetCacheConfig as "cuCtxSetCacheConfig" (_config: i32) |_s| Ok(());
    kerf_cuCtxGetSharedMemConfig as "cuCtxGetSharedMemConfig" (to: *mut i32) |_s| put(to, 1);
    kerf_cuCtxSetSharedMemConfig as "cuCtxSetSharedMemConfig" (_config: i32) |_s| Ok(());
    kerf_cuCtxResetPersistingL2Cache as "cuCtxResetPersistingL2Cache" () |_s| Ok(());
    kerf_cuCtxGetLimit as "cuCtxGetLimit" (to: *mut usize, limit: i32) |_s| {
        let known = LIMITS.iter().find(|(n, _)| *n == limit);
        put(to, known.map_or(0, |(_, v)| *v))
    };
    kerf_cuCtxSetLimit as "cuCtxSetLimit" (_limit: i32, _value: usize) |_s| Ok(());
    kerf_cuCtxSynchronize as "cuCtxSynchronize" () |s| s.on_device(|d| d.synchronize());
    kerf_cuCtxSynchronize_v2 as "cuCtxSynchronize" (_c: *mut c_void) |s| s.on_device(|d| d.synchronize());
    kerf_cuCtxEnablePeerAccess as "cuCtxEnablePeerAccess" (_c: *mut c_void, _flags: u32) |_s|
        Err(code::INVALID_DEVICE.into());
    kerf_cuCtxDisablePeerAccess as "cuCtxDisablePeerAccess" (_c: *mut c_void) |_s|
        Err(code::INVALID_DEVICE.into());
    kerf_cuDevicePrimaryCtxRetain as "cuDevicePrimaryCtxRetain" (to: *mut *mut c_void, _device: i32) |s| {
        s.device()?;
        put(to, CONTEXT)
    };
    kerf_cuDevicePrimaryCtxRelease_v2 as "cuDevicePrimaryCtxRelease" (_device: i32) |_s| Ok(());
    kerf_cuDevicePrimaryCtxReset_v2 as "cuDevicePrimaryCtxReset" (_device: i32) |s| s.on_device(|d| d.synchronize());
    kerf_cuDevicePrimaryCtxSetFlags_v2 as "cuDevicePrimaryCtxSetFlags" (_device: i32, _flags: u32) |_s| Ok(());
    kerf_cuDevicePrimaryCtxGetState as "cuDevicePrimaryCtxGetState" (_device: i32, flags: *mut u32, active: *mut i32) |s| {
        put(flags, 0)?;
        put(active, i32::from(s.device.is_some()))
    };
}
