//! Memory: allocating, freeing, asking.
use crate::call::{call, put};
use crate::error::{CallFailure, code};
use crate::replay::hooks;
use crate::state::{Allocation, State, tracing};
use kerf_exec::raw::MemoryPlace;
use std::ffi::c_void;

/// Rows of pitched memory begin at multiples of this.
pub const PITCH: usize = 512;

/// New memory.
pub fn alloc(s: &mut State, bytes: usize, place: MemoryPlace) -> Result<u64, CallFailure> {
    let address = s.on_device(|d| d.alloc(bytes, place))?;
    // What no kernel writes is then the same in every run that is compared.
    if place == MemoryPlace::Device && s.trace.as_ref().is_some_and(|t| t.keeps_copies()) {
        s.on_device(|d| d.fill(address, 0, bytes, 0))?;
    }
    s.allocated += 1;
    note(s, address, bytes, place)?;
    hooks::allocated(s, address, bytes, place);
    Ok(address)
}

/// Notes the memory that was allocated last.
pub fn note(
    s: &mut State,
    address: u64,
    bytes: usize,
    place: MemoryPlace,
) -> Result<(), CallFailure> {
    let number = s.allocated;
    let held = s
        .config()?
        .buffers
        .allocations
        .get(&number)
        .map(|f| f.word());
    s.memory.insert(
        address,
        Allocation {
            bytes,
            place,
            number,
            element: None,
            held: held.filter(|_| place == MemoryPlace::Device),
            written: false,
        },
    );
    Ok(())
}

fn give(
    to: *mut *mut c_void,
    bytes: usize,
    place: MemoryPlace,
    s: &mut State,
) -> Result<(), CallFailure> {
    if to.is_null() {
        return Err(code::INVALID_VALUE.into());
    }
    if bytes == 0 {
        return put(to, std::ptr::null_mut());
    }
    let a = alloc(s, bytes, place)?;
    put(to, a as *mut c_void)
}

/// Frees memory; null is nothing.
pub fn free(s: &mut State, address: u64, host: bool) -> Result<(), CallFailure> {
    if address == 0 {
        return Ok(());
    }
    let is = |a: &Allocation| (a.place == MemoryPlace::Host) == host;
    if !s.memory.get(&address).is_some_and(is) {
        return Err(code::INVALID_VALUE.into());
    }
    tracing::freed(s, address)?;
    let a = s
        .memory
        .remove(&address)
        .ok_or(CallFailure::from(code::INVALID_VALUE))?;
    s.on_device(|d| {
        d.synchronize()?;
        d.free(address, a.bytes, a.place)
    })?;
    hooks::freed(s, address, a.place);
    Ok(())
}

#[unsafe(no_mangle)]
extern "C" fn cudaMalloc(to: *mut *mut c_void, bytes: usize) -> i32 {
    call("cudaMalloc", |s| give(to, bytes, MemoryPlace::Device, s))
}

#[unsafe(no_mangle)]
extern "C" fn cudaMallocAsync(to: *mut *mut c_void, bytes: usize, _stream: *mut c_void) -> i32 {
    call("cudaMallocAsync", |s| {
        give(to, bytes, MemoryPlace::Device, s)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaMallocManaged(to: *mut *mut c_void, bytes: usize, _flags: u32) -> i32 {
    call("cudaMallocManaged", |s| {
        give(to, bytes, MemoryPlace::Managed, s)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaMallocHost(to: *mut *mut c_void, bytes: usize) -> i32 {
    call("cudaMallocHost", |s| give(to, bytes, MemoryPlace::Host, s))
}

#[unsafe(no_mangle)]
extern "C" fn cudaHostAlloc(to: *mut *mut c_void, bytes: usize, _flags: u32) -> i32 {
    call("cudaHostAlloc", |s| give(to, bytes, MemoryPlace::Host, s))
}

#[unsafe(no_mangle)]
extern "C" fn cudaFree(address: *mut c_void) -> i32 {
    call("cudaFree", |s| free(s, address as u64, false))
}

#[unsafe(no_mangle)]
extern "C" fn cudaFreeAsync(address: *mut c_void, stream: *mut c_void) -> i32 {
    call("cudaFreeAsync", |s| {
        s.on_device(|d| d.wait_stream(stream as u64))?;
        free(s, address as u64, false)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaFreeHost(address: *mut c_void) -> i32 {
    call("cudaFreeHost", |s| free(s, address as u64, true))
}

#[unsafe(no_mangle)]
extern "C" fn cudaMallocPitch(
    to: *mut *mut c_void,
    pitch: *mut usize,
    width: usize,
    height: usize,
) -> i32 {
    call("cudaMallocPitch", |s| {
        let p = width.next_multiple_of(PITCH);
        give(to, p * height, MemoryPlace::Device, s)?;
        put(pitch, p)
    })
}

/// `cudaPitchedPtr`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Pitched {
    /// First byte.
    pub address: *mut c_void,
    /// Bytes of a row with its padding.
    pub pitch: usize,
    /// Bytes of a row.
    pub xsize: usize,
    /// Rows of a slice.
    pub ysize: usize,
}

/// `cudaExtent`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Extent {
    /// Bytes.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// Slices.
    pub depth: usize,
}

#[unsafe(no_mangle)]
extern "C" fn cudaMalloc3D(to: *mut Pitched, extent: Extent) -> i32 {
    call("cudaMalloc3D", |s| {
        let pitch = extent.width.next_multiple_of(PITCH);
        let mut address = std::ptr::null_mut();
        let bytes = pitch * extent.height.max(1) * extent.depth.max(1);
        give(&mut address, bytes, MemoryPlace::Device, s)?;
        put(
            to,
            Pitched {
                address,
                pitch,
                xsize: extent.width,
                ysize: extent.height,
            },
        )
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaHostRegister(address: *mut c_void, bytes: usize, _flags: u32) -> i32 {
    call("cudaHostRegister", |s| {
        s.on_device(|d| d.register(address as u64, bytes))?;
        s.registered.insert(address as u64, bytes);
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaHostUnregister(address: *mut c_void) -> i32 {
    call("cudaHostUnregister", |s| {
        s.on_device(|d| d.unregister(address as u64))?;
        s.registered.remove(&(address as u64));
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaHostGetDevicePointer(
    to: *mut *mut c_void,
    host: *mut c_void,
    _flags: u32,
) -> i32 {
    // Addresses are the same on both sides.
    call("cudaHostGetDevicePointer", |s| {
        hooks::refuse(s, "cudaHostGetDevicePointer (mapped memory)");
        put(to, host)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaHostGetFlags(to: *mut u32, _host: *mut c_void) -> i32 {
    call("cudaHostGetFlags", |_| put(to, 0))
}

#[unsafe(no_mangle)]
extern "C" fn cudaMemGetInfo(free: *mut usize, total: *mut usize) -> i32 {
    call("cudaMemGetInfo", |s| {
        let (f, t) = s.on_device(|d| d.memory())?;
        put(free, f)?;
        put(total, t)
    })
}

/// `cudaPointerAttributes`.
#[repr(C)]
struct PointerAttributes {
    kind: i32,
    device: i32,
    device_pointer: *mut c_void,
    host_pointer: *mut c_void,
}

#[unsafe(no_mangle)]
extern "C" fn cudaPointerGetAttributes(to: *mut c_void, address: *mut c_void) -> i32 {
    call("cudaPointerGetAttributes", |s| {
        let place = s.holding(address as u64).map(|(_, a)| a.place);
        let none = std::ptr::null_mut();
        let (kind, device, host) = match place {
            Some(MemoryPlace::Device) => (2, address, none),
            Some(MemoryPlace::Managed) => (3, address, address),
            Some(MemoryPlace::Host) => (1, address, address),
            None => (0, none, none),
        };
        put(
            to.cast(),
            PointerAttributes {
                kind,
                device: if kind == 0 { -2 } else { 0 },
                device_pointer: device,
                host_pointer: host,
            },
        )
    })
}

/// Without it the first kernel brings managed memory over, page by page. Of other memory there is nothing to bring.
pub fn prefetch(
    s: &mut State,
    at: u64,
    bytes: usize,
    to_host: bool,
    stream: u64,
) -> Result<(), CallFailure> {
    let place = s.holding(at).map(|(_, a)| a.place);
    match bytes > 0 && place == Some(MemoryPlace::Managed) {
        true => s.on_device(|d| d.prefetch(at, bytes, to_host, stream)),
        false => Ok(()),
    }
}

#[unsafe(no_mangle)]
extern "C" fn cudaMemPrefetchAsync(
    at: *const c_void,
    bytes: usize,
    device: i32,
    stream: *mut c_void,
) -> i32 {
    call("cudaMemPrefetchAsync", |s| {
        prefetch(s, at as u64, bytes, device < 0, stream as u64)
    })
}

/// `cudaMemLocation`.
#[repr(C)]
struct Location {
    kind: i32,
    id: i32,
}

/// A device, by CUDA's numbers of kinds; the others are parts of the host.
const A_DEVICE: i32 = 1;

#[unsafe(no_mangle)]
extern "C" fn cudaMemPrefetchAsync_v2(
    at: *const c_void,
    bytes: usize,
    to: Location,
    _flags: u32,
    stream: *mut c_void,
) -> i32 {
    call("cudaMemPrefetchAsync", |s| {
        let to_host = to.kind != A_DEVICE || to.id < 0;
        prefetch(s, at as u64, bytes, to_host, stream as u64)
    })
}

/// Hints: nothing depends on them.
macro_rules! hints {
    ($($name:ident),*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $name() -> i32 {
            call(stringify!($name), |_| Ok(()))
        }
    )*};
}
hints!(
    cudaMemAdvise,
    cudaMemAdvise_v2,
    cudaStreamAttachMemAsync,
    cudaCtxResetPersistingL2Cache,
    cudaMemPoolSetAttribute,
    cudaMemPoolTrimTo,
    cudaMemPoolSetAccess,
    cudaDeviceSetMemPool,
    cudaStreamSetAttribute,
    cudaStreamCopyAttributes
);

#[unsafe(no_mangle)]
extern "C" fn cudaDeviceGetDefaultMemPool(to: *mut *mut c_void, _device: i32) -> i32 {
    // One pool, whose address is never looked at.
    call("cudaDeviceGetDefaultMemPool", |_| {
        put(to, std::ptr::dangling_mut())
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaDeviceGetMemPool(to: *mut *mut c_void, device: i32) -> i32 {
    cudaDeviceGetDefaultMemPool(to, device)
}

#[unsafe(no_mangle)]
extern "C" fn cudaMallocFromPoolAsync(
    to: *mut *mut c_void,
    bytes: usize,
    _pool: *mut c_void,
    stream: *mut c_void,
) -> i32 {
    cudaMallocAsync(to, bytes, stream)
}

/// All attributes of a pool are 64-bit words but the first three, which are yes or no.
#[unsafe(no_mangle)]
extern "C" fn cudaMemPoolGetAttribute(
    _pool: *mut c_void,
    attribute: i32,
    value: *mut c_void,
) -> i32 {
    call("cudaMemPoolGetAttribute", |_| match attribute {
        1..=3 => put(value.cast::<i32>(), 1),
        _ => put(value.cast::<u64>(), 0),
    })
}
