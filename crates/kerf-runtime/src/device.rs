//! Devices: there is one, and this is what it says of itself.
use crate::call::{call, put};
use crate::error::{CallFailure, clear_sticky, code};
use crate::state::State;
use std::ffi::c_char;

/// CUDA's version that applications are compiled against.
pub const VERSION: i32 = 12090;

#[unsafe(no_mangle)]
extern "C" fn cudaGetDeviceCount(to: *mut i32) -> i32 {
    call("cudaGetDeviceCount", |s| {
        s.device()?;
        put(to, 1)
    })
}

fn only(device: i32) -> Result<(), CallFailure> {
    match device {
        0 => Ok(()),
        _ => Err(code::INVALID_DEVICE.into()),
    }
}

#[unsafe(no_mangle)]
extern "C" fn cudaSetDevice(device: i32) -> i32 {
    call("cudaSetDevice", |s| {
        only(device)?;
        s.device().map(|_| ())
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaInitDevice(device: i32, _flags: u32, _more: u32) -> i32 {
    call("cudaInitDevice", |_| only(device))
}

#[unsafe(no_mangle)]
extern "C" fn cudaGetDevice(to: *mut i32) -> i32 {
    call("cudaGetDevice", |_| put(to, 0))
}

#[unsafe(no_mangle)]
extern "C" fn cudaChooseDevice(to: *mut i32, _properties: *const Properties) -> i32 {
    call("cudaChooseDevice", |_| put(to, 0))
}

#[unsafe(no_mangle)]
extern "C" fn cudaSetValidDevices(_list: *const i32, _n: i32) -> i32 {
    call("cudaSetValidDevices", |_| Ok(()))
}

#[unsafe(no_mangle)]
extern "C" fn cudaDeviceGetAttribute(to: *mut i32, attribute: i32, device: i32) -> i32 {
    call("cudaDeviceGetAttribute", |s| {
        only(device)?;
        let v = s.on_device(|d| d.attribute(attribute))?;
        put(to, v)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaDeviceSynchronize() -> i32 {
    call("cudaDeviceSynchronize", |s| {
        s.on_device(|d| d.synchronize())
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaThreadSynchronize() -> i32 {
    cudaDeviceSynchronize()
}

#[unsafe(no_mangle)]
extern "C" fn cudaDeviceReset() -> i32 {
    clear_sticky();
    call("cudaDeviceReset", |s| {
        if s.device.is_some() {
            s.on_device(|d| d.synchronize())?;
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaThreadExit() -> i32 {
    cudaDeviceReset()
}

#[unsafe(no_mangle)]
extern "C" fn cudaDriverGetVersion(to: *mut i32) -> i32 {
    call("cudaDriverGetVersion", |_| put(to, VERSION))
}

#[unsafe(no_mangle)]
extern "C" fn cudaRuntimeGetVersion(to: *mut i32) -> i32 {
    call("cudaRuntimeGetVersion", |_| put(to, VERSION))
}

#[unsafe(no_mangle)]
extern "C" fn cudaDeviceCanAccessPeer(to: *mut i32, device: i32, peer: i32) -> i32 {
    call("cudaDeviceCanAccessPeer", |_| {
        only(device)?;
        only(peer)?;
        put(to, 0)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaDeviceEnablePeerAccess(_peer: i32, _flags: u32) -> i32 {
    call("cudaDeviceEnablePeerAccess", |_| {
        Err(code::INVALID_DEVICE.into())
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaDeviceDisablePeerAccess(_peer: i32) -> i32 {
    call("cudaDeviceDisablePeerAccess", |_| {
        Err(code::INVALID_DEVICE.into())
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaDeviceGetP2PAttribute(to: *mut i32, _what: i32, _a: i32, _b: i32) -> i32 {
    call("cudaDeviceGetP2PAttribute", |_| put(to, 0))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaDeviceGetPCIBusId(to: *mut c_char, length: i32, device: i32) -> i32 {
    call("cudaDeviceGetPCIBusId", |_| {
        only(device)?;
        let text = c"0000:00:00.0";
        if to.is_null() || (length as usize) <= text.count_bytes() {
            return Err(code::INVALID_VALUE.into());
        }
        // SAFETY: the application's buffer is long enough.
        unsafe { libc::strcpy(to, text.as_ptr()) };
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaDeviceGetByPCIBusId(to: *mut i32, _id: *const c_char) -> i32 {
    call("cudaDeviceGetByPCIBusId", |_| put(to, 0))
}

#[unsafe(no_mangle)]
extern "C" fn cudaGetDeviceFlags(to: *mut u32) -> i32 {
    call("cudaGetDeviceFlags", |_| put(to, 0))
}

#[unsafe(no_mangle)]
extern "C" fn cudaDeviceGetCacheConfig(to: *mut i32) -> i32 {
    call("cudaDeviceGetCacheConfig", |_| put(to, 0))
}

#[unsafe(no_mangle)]
extern "C" fn cudaDeviceGetSharedMemConfig(to: *mut i32) -> i32 {
    call("cudaDeviceGetSharedMemConfig", |_| put(to, 1))
}

#[unsafe(no_mangle)]
extern "C" fn cudaDeviceGetLimit(to: *mut usize, what: i32) -> i32 {
    call("cudaDeviceGetLimit", |_| {
        put(
            to,
            match what {
                0 => 1024,    // stack
                1 => 1 << 20, // printf
                2 => 8 << 20, // malloc
                _ => 0,
            },
        )
    })
}

/// Settings that change speed, not results; on the CPU executor not even that.
macro_rules! settings {
    ($($name:ident),*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $name() -> i32 {
            call(stringify!($name), |_| Ok(()))
        }
    )*};
}
settings!(
    cudaSetDeviceFlags,
    cudaDeviceSetCacheConfig,
    cudaDeviceSetSharedMemConfig,
    cudaDeviceSetLimit,
    cudaThreadSetCacheConfig,
    cudaThreadSetLimit,
    cudaProfilerStart,
    cudaProfilerStop,
    cudaProfilerInitialize
);

/// `cudaDeviceProp` of CUDA 12.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Properties {
    name: [u8; 256],
    uuid: [u8; 16],
    luid: [u8; 8],
    luid_mask: u32,
    total_memory: usize,
    shared_per_block: usize,
    registers_per_block: i32,
    warp: i32,
    pitch: usize,
    max_threads: i32,
    max_block: [i32; 3],
    max_grid: [i32; 3],
    clock: i32,
    constant: usize,
    major: i32,
    minor: i32,
    texture_alignment: usize,
    texture_pitch: usize,
    overlap: i32,
    sms: i32,
    timeout: i32,
    integrated: i32,
    map_host: i32,
    compute_mode: i32,
    textures: [i32; 40],
    surface_alignment: usize,
    concurrent_kernels: i32,
    ecc: i32,
    pci: [i32; 3],
    tcc: i32,
    engines: i32,
    unified: i32,
    memory_clock: i32,
    bus_width: i32,
    l2: i32,
    persisting_l2: i32,
    threads_per_sm: i32,
    priorities: i32,
    global_l1: i32,
    local_l1: i32,
    shared_per_sm: usize,
    registers_per_sm: i32,
    managed: i32,
    multi_board: i32,
    board_group: i32,
    native_atomics: i32,
    f64_ratio: i32,
    pageable: i32,
    concurrent_managed: i32,
    preemption: i32,
    registered_pointers: i32,
    cooperative: i32,
    cooperative_multi: i32,
    shared_optin: usize,
    page_tables: i32,
    direct_managed: i32,
    blocks_per_sm: i32,
    access_window: i32,
    shared_reserved: usize,
    host_register: i32,
    rest: [i32; 75],
}

fn properties(s: &mut State) -> Result<Properties, CallFailure> {
    let name = s.device()?.name();
    let (_, total) = s.on_device(|d| d.memory())?;
    let mut a = |n: i32| s.on_device(|d| d.attribute(n));
    // SAFETY: plain numbers.
    let mut p: Properties = unsafe { std::mem::zeroed() };
    let n = name.len().min(255);
    p.name[..n].copy_from_slice(&name.as_bytes()[..n]);
    p.total_memory = total;
    p.shared_per_block = a(8)? as usize;
    p.registers_per_block = a(12)?;
    p.warp = a(10)?;
    p.pitch = a(11)? as usize;
    p.max_threads = a(1)?;
    p.max_block = [a(2)?, a(3)?, a(4)?];
    p.max_grid = [a(5)?, a(6)?, a(7)?];
    p.clock = a(13)?;
    p.constant = a(9)? as usize;
    (p.major, p.minor) = (a(75)?, a(76)?);
    p.texture_alignment = a(14)? as usize;
    p.texture_pitch = a(51)? as usize;
    p.overlap = a(15)?;
    p.sms = a(16)?;
    p.timeout = a(17)?;
    p.integrated = a(18)?;
    p.map_host = a(19)?;
    p.compute_mode = a(20)?;
    p.surface_alignment = a(30)? as usize;
    p.concurrent_kernels = a(31)?;
    p.ecc = a(32)?;
    p.pci = [a(33)?, a(34)?, a(50)?];
    p.tcc = a(35)?;
    p.engines = a(40)?;
    p.unified = a(41)?;
    p.memory_clock = a(36)?;
    p.bus_width = a(37)?;
    p.l2 = a(38)?;
    p.persisting_l2 = a(108)?;
    p.threads_per_sm = a(39)?;
    p.priorities = a(78)?;
    (p.global_l1, p.local_l1) = (a(79)?, a(80)?);
    p.shared_per_sm = a(81)? as usize;
    p.registers_per_sm = a(82)?;
    p.managed = a(83)?;
    (p.multi_board, p.board_group) = (a(84)?, a(85)?);
    p.native_atomics = a(86)?;
    p.f64_ratio = a(87)?;
    p.pageable = a(88)?;
    p.concurrent_managed = a(89)?;
    p.preemption = a(90)?;
    p.registered_pointers = a(91)?;
    (p.cooperative, p.cooperative_multi) = (a(95)?, a(96)?);
    p.shared_optin = a(97)? as usize;
    p.page_tables = a(100)?;
    p.direct_managed = a(101)?;
    p.blocks_per_sm = a(106)?;
    p.access_window = a(109)?;
    p.shared_reserved = a(111)? as usize;
    p.host_register = a(99)?;
    Ok(p)
}

#[unsafe(no_mangle)]
extern "C" fn cudaGetDeviceProperties_v2(to: *mut Properties, device: i32) -> i32 {
    call("cudaGetDeviceProperties", |s| {
        only(device)?;
        let p = properties(s)?;
        put(to, p)
    })
}

/// Bytes of CUDA 11's struct, which is a first part of this one.
const OLD_BYTES: usize = 728;

#[unsafe(no_mangle)]
extern "C" fn cudaGetDeviceProperties(to: *mut Properties, device: i32) -> i32 {
    call("cudaGetDeviceProperties", |s| {
        only(device)?;
        let p = properties(s)?;
        if to.is_null() {
            return Err(code::INVALID_VALUE.into());
        }
        // SAFETY: the application's struct has at least that many bytes.
        unsafe {
            std::ptr::copy_nonoverlapping((&raw const p).cast::<u8>(), to.cast::<u8>(), OLD_BYTES);
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_layout_is_cudas() {
        assert_eq!(size_of::<Properties>(), 1032);
        assert_eq!(std::mem::offset_of!(Properties, major), 360);
        assert_eq!(std::mem::offset_of!(Properties, sms), 388);
        assert_eq!(std::mem::offset_of!(Properties, shared_optin), 696);
        assert_eq!(std::mem::offset_of!(Properties, shared_reserved), 720);
    }
}
