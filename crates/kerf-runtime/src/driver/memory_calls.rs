//! Memory of the driver API: allocating, freeing, asking, filling.
use crate::call::put;
use crate::copy::{fill, fill_words};
use crate::error::{CallFailure, code};
use crate::memory::{PITCH, alloc, free, prefetch};
use crate::replay::hooks;
use crate::state::State;
use kerf_exec::raw::MemoryPlace;
use std::ffi::c_void;

/// Memory for the application. The driver refuses zero bytes; the runtime gives a null pointer.
pub fn give(
    s: &mut State,
    to: *mut u64,
    bytes: usize,
    place: MemoryPlace,
) -> Result<(), CallFailure> {
    if bytes == 0 || to.is_null() {
        return Err(code::INVALID_VALUE.into());
    }
    let address = alloc(s, bytes, place)?;
    put(to, address)
}

/// Fills elements of two bytes. Those of two equal bytes are a fill of bytes; others are copied from the host.
fn fill_halves(
    s: &mut State,
    to: u64,
    value: u16,
    n: usize,
    stream: u64,
) -> Result<(), CallFailure> {
    let [low, high] = value.to_le_bytes();
    if low == high {
        return fill(s, to, i32::from(low), 2 * n, stream);
    }
    let data: Vec<u8> = (0..n).flat_map(|_| value.to_le_bytes()).collect();
    crate::copy::line(s, to, data.as_ptr() as u64, data.len(), 1, stream, true)
}

/// Rows of a filled rectangle: where they begin, the bytes between them, and how many there are.
struct FilledRows(u64, usize, usize);

impl FilledRows {
    fn each(self, mut f: impl FnMut(u64) -> Result<(), CallFailure>) -> Result<(), CallFailure> {
        let FilledRows(to, pitch, rows) = self;
        (0..rows).try_for_each(|i| f(to + (i * pitch) as u64))
    }
}

/// `CUpointer_attribute` that are answered; the value's type depends on the attribute.
fn pointer_attribute(
    s: &mut State,
    to: *mut c_void,
    what: i32,
    address: u64,
) -> Result<(), CallFailure> {
    let found = s.holding(address).map(|(at, a)| (at, a.clone()));
    let Some((at, a)) = found else {
        return Err(code::INVALID_VALUE.into());
    };
    let on_device = a.place != MemoryPlace::Host;
    match what {
        // Context, kind of memory (host 1, device 2), both pointers.
        1 => put(to.cast(), super::context::CONTEXT),
        2 => put(to.cast::<u32>(), if on_device { 2 } else { 1 }),
        3 => put(to.cast(), address),
        4 if a.place == MemoryPlace::Device => Err(code::INVALID_VALUE.into()),
        4 => put(to.cast(), address),
        // Synchronous copies; number of the buffer; is it managed?
        6 => put(to.cast::<u32>(), 0),
        7 => put(to.cast::<u64>(), a.number as u64),
        8 => put(to.cast::<u32>(), u32::from(a.place == MemoryPlace::Managed)),
        9 => put(to.cast::<i32>(), 0),
        // Beginning and size of the range, is it mapped?
        11 => put(to.cast(), at),
        12 => put(to.cast(), a.bytes),
        13 => put(to.cast::<u32>(), 1),
        // Exchange with other interfaces is not had: no handle types, no pool's memory.
        10 | 14 | 15 | 16 | 17 => put(to.cast::<u32>(), 0),
        _ => Err(code::INVALID_VALUE.into()),
    }
}

/// `CUmemLocation`.
#[repr(C)]
struct MemoryLocation {
    kind: i32,
    id: i32,
}

driver_calls! {
    kerf_cuMemGetInfo_v2 as "cuMemGetInfo" (free: *mut usize, all: *mut usize) |s| {
        let (f, a) = s.on_device(|d| d.memory())?;
        put(free, f)?;
        put(all, a)
    };
    kerf_cuMemAlloc_v2 as "cuMemAlloc" (to: *mut u64, bytes: usize) |s| give(s, to, bytes, MemoryPlace::Device);
    kerf_cuMemAllocManaged as "cuMemAllocManaged" (to: *mut u64, bytes: usize, _flags: u32) |s|
        give(s, to, bytes, MemoryPlace::Managed);
    kerf_cuMemAllocHost_v2 as "cuMemAllocHost" (to: *mut u64, bytes: usize) |s| give(s, to, bytes, MemoryPlace::Host);
    kerf_cuMemHostAlloc as "cuMemHostAlloc" (to: *mut u64, bytes: usize, _flags: u32) |s|
        give(s, to, bytes, MemoryPlace::Host);
    kerf_cuMemAllocPitch_v2 as "cuMemAllocPitch" (to: *mut u64, pitch: *mut usize, width: usize, height: usize, _element: u32) |s| {
        let row = width.next_multiple_of(PITCH);
        give(s, to, row * height, MemoryPlace::Device)?;
        put(pitch, row)
    };
    kerf_cuMemFree_v2 as "cuMemFree" (address: u64) |s| free(s, address, false);
    kerf_cuMemFreeHost as "cuMemFreeHost" (address: u64) |s| free(s, address, true);
    kerf_cuMemHostRegister_v2 as "cuMemHostRegister" (address: u64, bytes: usize, _flags: u32) |s|
        s.on_device(|d| d.register(address, bytes));
    kerf_cuMemHostUnregister as "cuMemHostUnregister" (address: u64) |s| s.on_device(|d| d.unregister(address));
    kerf_cuMemHostGetDevicePointer_v2 as "cuMemHostGetDevicePointer" (to: *mut u64, host: u64, _flags: u32) |s| {
        hooks::refuse(s, "cuMemHostGetDevicePointer (mapped memory)");
        put(to, host)
    };
    kerf_cuMemHostGetFlags as "cuMemHostGetFlags" (to: *mut u32, _host: u64) |_s| put(to, 0);
    kerf_cuMemGetAddressRange_v2 as "cuMemGetAddressRange" (base: *mut u64, bytes: *mut usize, address: u64) |s| {
        let found = s.holding(address).map(|(at, a)| (at, a.bytes));
        let (at, n) = found.ok_or(CallFailure::from(500))?;
        if !base.is_null() {
            put(base, at)?;
        }
        if !bytes.is_null() {
            put(bytes, n)?;
        }
        Ok(())
    };
    kerf_cuPointerGetAttribute as "cuPointerGetAttribute" (to: *mut c_void, what: i32, address: u64) |s|
        pointer_attribute(s, to, what, address);
    kerf_cuPointerGetAttributes as "cuPointerGetAttributes" (n: u32, what: *const i32, to: *mut *mut c_void, address: u64) |s| {
        if what.is_null() || to.is_null() {
            return Err(code::INVALID_VALUE.into());
        }
        for i in 0..n as usize {
            // SAFETY: the application says that both arrays have n elements.
            let (what, to) = unsafe { (*what.add(i), *to.add(i)) };
            // What does not apply to an address is left as null, and is no failure of this call.
            if pointer_attribute(s, to, what, address).is_err() && !to.is_null() {
                let wide = matches!(what, 1 | 3 | 4 | 7 | 11 | 12);
                match wide {
                    true => put(to.cast::<u64>(), 0)?,
                    false => put(to.cast::<u32>(), 0)?,
                }
            }
        }
        Ok(())
    };
    kerf_cuPointerSetAttribute as "cuPointerSetAttribute" (_value: *const c_void, _what: i32, _address: u64) |_s| Ok(());
    kerf_cuMemsetD8_v2 as "cuMemsetD8" (to: u64, value: u8, n: usize) |s| fill(s, to, i32::from(value), n, 0);
    kerf_cuMemsetD8Async as "cuMemsetD8Async" (to: u64, value: u8, n: usize, stream: u64) |s|
        fill(s, to, i32::from(value), n, stream);
    kerf_cuMemsetD16_v2 as "cuMemsetD16" (to: u64, value: u16, n: usize) |s| fill_halves(s, to, value, n, 0);
    kerf_cuMemsetD16Async as "cuMemsetD16Async" (to: u64, value: u16, n: usize, stream: u64) |s|
        fill_halves(s, to, value, n, stream);
    kerf_cuMemsetD32_v2 as "cuMemsetD32" (to: u64, value: u32, n: usize) |s| fill_words(s, to, value, n);
    kerf_cuMemsetD32Async as "cuMemsetD32Async" (to: u64, value: u32, n: usize, stream: u64) |s| {
        s.on_device(|d| d.wait_stream(stream))?;
        fill_words(s, to, value, n)
    };
    kerf_cuMemsetD2D8_v2 as "cuMemsetD2D8" (to: u64, pitch: usize, value: u8, width: usize, rows: usize) |s|
        FilledRows(to, pitch, rows).each(|at| fill(s, at, i32::from(value), width, 0));
    kerf_cuMemsetD2D8Async as "cuMemsetD2D8Async" (to: u64, pitch: usize, value: u8, width: usize, rows: usize, stream: u64) |s|
        FilledRows(to, pitch, rows).each(|at| fill(s, at, i32::from(value), width, stream));
    kerf_cuMemsetD2D16_v2 as "cuMemsetD2D16" (to: u64, pitch: usize, value: u16, width: usize, rows: usize) |s|
        FilledRows(to, pitch, rows).each(|at| fill_halves(s, at, value, width, 0));
    kerf_cuMemsetD2D16Async as "cuMemsetD2D16Async" (to: u64, pitch: usize, value: u16, width: usize, rows: usize, stream: u64) |s|
        FilledRows(to, pitch, rows).each(|at| fill_halves(s, at, value, width, stream));
    kerf_cuMemsetD2D32_v2 as "cuMemsetD2D32" (to: u64, pitch: usize, value: u32, width: usize, rows: usize) |s|
        FilledRows(to, pitch, rows).each(|at| fill_words(s, at, value, width));
    kerf_cuMemsetD2D32Async as "cuMemsetD2D32Async" (to: u64, pitch: usize, value: u32, width: usize, rows: usize, stream: u64) |s| {
        s.on_device(|d| d.wait_stream(stream))?;
        FilledRows(to, pitch, rows).each(|at| fill_words(s, at, value, width))
    };
    kerf_cuMemPrefetchAsync as "cuMemPrefetchAsync" (at: u64, bytes: usize, device: i32, stream: u64) |s|
        prefetch(s, at, bytes, device < 0, stream);
    kerf_cuMemPrefetchAsync_v2 as "cuMemPrefetchAsync" (at: u64, bytes: usize, to: MemoryLocation, _flags: u32, stream: u64) |s|
        prefetch(s, at, bytes, to.kind != 1 || to.id < 0, stream);
    kerf_cuMemAdvise as "cuMemAdvise" (_at: u64, _bytes: usize, _advice: i32, _device: i32) |_s| Ok(());
    kerf_cuMemAdvise_v2 as "cuMemAdvise" (_at: u64, _bytes: usize, _advice: i32, _location: MemoryLocation) |_s| Ok(());
    kerf_cuStreamAttachMemAsync as "cuStreamAttachMemAsync" (_stream: u64, _at: u64, _bytes: usize, _flags: u32) |_s| Ok(());
}
