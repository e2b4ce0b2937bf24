//! Memory pools: there is one, and allocations from it are plain allocations, freed when their stream has come to it.
use super::memory_calls::give;
use crate::call::put;
use crate::memory::free;
use kerf_exec::raw::MemoryPlace;
use std::ffi::c_void;

/// Stands for every pool; never looked at.
const POOL: *mut c_void = std::ptr::dangling_mut();

driver_calls! {
    kerf_cuMemAllocAsync as "cuMemAllocAsync" (to: *mut u64, bytes: usize, _stream: u64) |s|
        give(s, to, bytes, MemoryPlace::Device);
    kerf_cuMemAllocFromPoolAsync as "cuMemAllocFromPoolAsync" (to: *mut u64, bytes: usize, _pool: *mut c_void, _stream: u64) |s|
        give(s, to, bytes, MemoryPlace::Device);
    kerf_cuMemFreeAsync as "cuMemFreeAsync" (address: u64, stream: u64) |s| {
        s.on_device(|d| d.wait_stream(stream))?;
        free(s, address, false)
    };
    kerf_cuDeviceGetDefaultMemPool as "cuDeviceGetDefaultMemPool" (to: *mut *mut c_void, _device: i32) |_s| put(to, POOL);
    kerf_cuDeviceGetMemPool as "cuDeviceGetMemPool" (to: *mut *mut c_void, _device: i32) |_s| put(to, POOL);
    kerf_cuDeviceSetMemPool as "cuDeviceSetMemPool" (_device: i32, _pool: *mut c_void) |_s| Ok(());
    kerf_cuMemPoolCreate as "cuMemPoolCreate" (to: *mut *mut c_void, _properties: *const c_void) |_s| put(to, POOL);
    kerf_cuMemPoolDestroy as "cuMemPoolDestroy" (_pool: *mut c_void) |_s| Ok(());
    kerf_cuMemPoolTrimTo as "cuMemPoolTrimTo" (_pool: *mut c_void, _bytes: usize) |_s| Ok(());
    kerf_cuMemPoolSetAccess as "cuMemPoolSetAccess" (_pool: *mut c_void, _access: *const c_void, _n: usize) |_s| Ok(());
    kerf_cuMemPoolSetAttribute as "cuMemPoolSetAttribute" (_pool: *mut c_void, _attribute: i32, _value: *mut c_void) |_s| Ok(());
    // The first three attributes are yes or no, the others 64-bit words.
    kerf_cuMemPoolGetAttribute as "cuMemPoolGetAttribute" (_pool: *mut c_void, attribute: i32, value: *mut c_void) |_s| match attribute {
        1..=3 => put(value.cast::<i32>(), 1),
        _ => put(value.cast::<u64>(), 0),
    };
}
