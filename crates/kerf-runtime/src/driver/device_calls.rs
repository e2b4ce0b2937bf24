//! Devices: there is one.
use crate::call::put;
use crate::device::VERSION;
use crate::error::{CallFailure, code};
use std::ffi::{CStr, c_char, c_void};

fn only(device: i32) -> Result<(), CallFailure> {
    match device {
        0 => Ok(()),
        _ => Err(code::INVALID_DEVICE.into()),
    }
}

/// Writes a C string into a buffer of the application's, cut off where that ends.
fn put_text(to: *mut c_char, n: i32, text: &CStr) -> Result<(), CallFailure> {
    if to.is_null() || n < 1 {
        return Err(code::INVALID_VALUE.into());
    }
    // SAFETY: the application's buffer has n bytes.
    unsafe {
        libc::strncpy(to, text.as_ptr(), n as usize);
        *to.add(n as usize - 1) = 0;
    }
    Ok(())
}

/// Identifies the device that the CPU stands for, and any other: there is one.
const UUID: [u8; 16] = *b"kerf-only-device";

/// Where the device is said to be on the bus.
const PCI_BUS: &CStr = c"0000:00:00.0";

driver_calls! {
    kerf_cuInit as "cuInit" (_flags: u32) |s| s.device().map(|_| ());
    kerf_cuDriverGetVersion as "cuDriverGetVersion" (to: *mut i32) |_s| put(to, VERSION);
    kerf_cuDeviceGetCount as "cuDeviceGetCount" (to: *mut i32) |_s| put(to, 1);
    kerf_cuDeviceGet as "cuDeviceGet" (to: *mut i32, n: i32) |_s| {
        only(n)?;
        put(to, 0)
    };
    kerf_cuDeviceGetName as "cuDeviceGetName" (to: *mut c_char, n: i32, device: i32) |s| {
        only(device)?;
        let text = std::ffi::CString::new(s.device()?.name()).unwrap_or_default();
        put_text(to, n, &text)
    };
    kerf_cuDeviceGetAttribute as "cuDeviceGetAttribute" (to: *mut i32, what: i32, device: i32) |s| {
        only(device)?;
        let v = s.on_device(|d| d.attribute(what))?;
        put(to, v)
    };
    kerf_cuDeviceComputeCapability as "cuDeviceComputeCapability" (a: *mut i32, b: *mut i32, device: i32) |s| {
        only(device)?;
        let (x, y) = s.on_device(|d| Ok((d.attribute(75)?, d.attribute(76)?)))?;
        put(a, x)?;
        put(b, y)
    };
    kerf_cuDeviceTotalMem_v2 as "cuDeviceTotalMem" (to: *mut usize, device: i32) |s| {
        only(device)?;
        let (_, all) = s.on_device(|d| d.memory())?;
        put(to, all)
    };
    kerf_cuDeviceGetUuid as "cuDeviceGetUuid" (to: *mut [u8; 16], device: i32) |_s| {
        only(device)?;
        put(to, UUID)
    };
    kerf_cuDeviceGetUuid_v2 as "cuDeviceGetUuid" (to: *mut [u8; 16], device: i32) |_s| {
        only(device)?;
        put(to, UUID)
    };
    kerf_cuDeviceGetPCIBusId as "cuDeviceGetPCIBusId" (to: *mut c_char, n: i32, device: i32) |_s| {
        only(device)?;
        put_text(to, n, PCI_BUS)
    };
    kerf_cuDeviceGetByPCIBusId as "cuDeviceGetByPCIBusId" (to: *mut i32, id: *const c_char) |_s| {
        if id.is_null() {
            return Err(code::INVALID_VALUE.into());
        }
        // SAFETY: a C string of the application's.
        match unsafe { CStr::from_ptr(id) } == PCI_BUS {
            true => put(to, 0),
            false => Err(code::INVALID_DEVICE.into()),
        }
    };
    kerf_cuDeviceCanAccessPeer as "cuDeviceCanAccessPeer" (to: *mut i32, device: i32, peer: i32) |_s| {
        only(device)?;
        only(peer)?;
        put(to, 0)
    };
    kerf_cuDeviceGetP2PAttribute as "cuDeviceGetP2PAttribute" (to: *mut i32, _what: i32, _a: i32, _b: i32) |_s| put(to, 0);
    kerf_cuDeviceGetExecAffinitySupport as "cuDeviceGetExecAffinitySupport" (to: *mut i32, _kind: i32, device: i32) |_s| {
        only(device)?;
        put(to, 0)
    };
    kerf_cuFlushGPUDirectRDMAWrites as "cuFlushGPUDirectRDMAWrites" (_target: i32, _scope: i32) |_s| Ok(());
    kerf_cuProfilerInitialize as "cuProfilerInitialize" (_config: *const c_char, _out: *const c_char, _mode: i32) |_s| Ok(());
    kerf_cuProfilerStart as "cuProfilerStart" () |_s| Ok(());
    kerf_cuProfilerStop as "cuProfilerStop" () |_s| Ok(());
    kerf_cuThreadExchangeStreamCaptureMode as "cuThreadExchangeStreamCaptureMode" (_mode: *mut c_void) |_s| Ok(());
}
