//! Copies of the driver API: lines, rectangles (`CUDA_MEMCPY2D`) and boxes (`CUDA_MEMCPY3D`).
use crate::copy::{line, rows};
use crate::error::{CallFailure, code};
use crate::state::State;
use kerf_exec::raw::Rectangle;
use std::ffi::c_void;

/// The runtime's directions of copies.
const TO_DEVICE: i32 = 1;
const TO_HOST: i32 = 2;
const ON_DEVICE: i32 = 3;
const BY_ADDRESS: i32 = 4;

/// `CUmemorytype`: the member of a description that has the address.
const HOST: i32 = 1;
const ARRAY: i32 = 3;

/// One side of `CUDA_MEMCPY2D`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Side2d {
    x: usize,
    y: usize,
    kind: i32,
    host: u64,
    device: u64,
    array: *const c_void,
    pitch: usize,
}

/// `CUDA_MEMCPY2D`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Copy2d {
    from: Side2d,
    to: Side2d,
    width: usize,
    height: usize,
}

/// One side of `CUDA_MEMCPY3D`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Side3d {
    x: usize,
    y: usize,
    z: usize,
    level: usize,
    kind: i32,
    host: u64,
    device: u64,
    array: *const c_void,
    reserved: *const c_void,
    pitch: usize,
    height: usize,
}

/// `CUDA_MEMCPY3D`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Copy3d {
    from: Side3d,
    to: Side3d,
    width: usize,
    height: usize,
    depth: usize,
}

fn address(kind: i32, host: u64, device: u64) -> Result<u64, CallFailure> {
    match kind {
        HOST => Ok(host),
        ARRAY => Err(CallFailure::new(
            code::NOT_SUPPORTED,
            "copies of CUDA arrays are not supported",
        )),
        _ => Ok(device),
    }
}

/// The application's description.
fn read<T: Copy>(p: *const c_void) -> Result<T, CallFailure> {
    match p.is_null() {
        true => Err(code::INVALID_VALUE.into()),
        // SAFETY: the application says that there is one.
        false => Ok(unsafe { p.cast::<T>().read_unaligned() }),
    }
}

fn rectangle(s: &mut State, p: *const c_void, stream: u64, wait: bool) -> Result<(), CallFailure> {
    let p: Copy2d = read(p)?;
    let begin = |side: &Side2d, pitch: usize| -> Result<u64, CallFailure> {
        let first = address(side.kind, side.host, side.device)?;
        Ok(first + (side.y * pitch + side.x) as u64)
    };
    // A pitch of 0 means that rows follow each other.
    let pitch = |side: &Side2d| {
        if side.pitch == 0 {
            p.width + side.x
        } else {
            side.pitch
        }
    };
    let r = Rectangle {
        to: begin(&p.to, pitch(&p.to))?,
        to_pitch: pitch(&p.to),
        from: begin(&p.from, pitch(&p.from))?,
        from_pitch: pitch(&p.from),
        width: p.width,
        rows: p.height,
    };
    rows(s, r, BY_ADDRESS, stream, wait)
}

fn boxes(s: &mut State, p: *const c_void, stream: u64, wait: bool) -> Result<(), CallFailure> {
    let p: Copy3d = read(p)?;
    let pitch = |side: &Side3d| {
        if side.pitch == 0 {
            p.width + side.x
        } else {
            side.pitch
        }
    };
    let begin = |side: &Side3d, z: usize| -> Result<u64, CallFailure> {
        let slice = side.height.max(p.height) * pitch(side);
        let first = address(side.kind, side.host, side.device)?;
        Ok(first + ((side.z + z) * slice + side.y * pitch(side) + side.x) as u64)
    };
    for z in 0..p.depth {
        let r = Rectangle {
            to: begin(&p.to, z)?,
            to_pitch: pitch(&p.to),
            from: begin(&p.from, z)?,
            from_pitch: pitch(&p.from),
            width: p.width,
            rows: p.height,
        };
        rows(s, r, BY_ADDRESS, stream, wait)?;
    }
    Ok(())
}

driver_calls! {
    kerf_cuMemcpy as "cuMemcpy" (to: u64, from: u64, n: usize) |s| line(s, to, from, n, BY_ADDRESS, 0, true);
    kerf_cuMemcpyAsync as "cuMemcpyAsync" (to: u64, from: u64, n: usize, stream: u64) |s|
        line(s, to, from, n, BY_ADDRESS, stream, false);
    kerf_cuMemcpyHtoD_v2 as "cuMemcpyHtoD" (to: u64, from: u64, n: usize) |s| line(s, to, from, n, TO_DEVICE, 0, true);
    kerf_cuMemcpyHtoDAsync_v2 as "cuMemcpyHtoDAsync" (to: u64, from: u64, n: usize, stream: u64) |s|
        line(s, to, from, n, TO_DEVICE, stream, false);
    kerf_cuMemcpyDtoH_v2 as "cuMemcpyDtoH" (to: u64, from: u64, n: usize) |s| line(s, to, from, n, TO_HOST, 0, true);
    kerf_cuMemcpyDtoHAsync_v2 as "cuMemcpyDtoHAsync" (to: u64, from: u64, n: usize, stream: u64) |s|
        line(s, to, from, n, TO_HOST, stream, false);
    kerf_cuMemcpyDtoD_v2 as "cuMemcpyDtoD" (to: u64, from: u64, n: usize) |s| line(s, to, from, n, ON_DEVICE, 0, true);
    kerf_cuMemcpyDtoDAsync_v2 as "cuMemcpyDtoDAsync" (to: u64, from: u64, n: usize, stream: u64) |s|
        line(s, to, from, n, ON_DEVICE, stream, false);
    kerf_cuMemcpyPeer as "cuMemcpyPeer" (to: u64, _a: *mut c_void, from: u64, _b: *mut c_void, n: usize) |s|
        line(s, to, from, n, ON_DEVICE, 0, true);
    kerf_cuMemcpyPeerAsync as "cuMemcpyPeerAsync" (to: u64, _a: *mut c_void, from: u64, _b: *mut c_void, n: usize, stream: u64) |s|
        line(s, to, from, n, ON_DEVICE, stream, false);
    kerf_cuMemcpy2D_v2 as "cuMemcpy2D" (p: *const c_void) |s| rectangle(s, p, 0, true);
    kerf_cuMemcpy2DUnaligned_v2 as "cuMemcpy2DUnaligned" (p: *const c_void) |s| rectangle(s, p, 0, true);
    kerf_cuMemcpy2DAsync_v2 as "cuMemcpy2DAsync" (p: *const c_void, stream: u64) |s| rectangle(s, p, stream, false);
    kerf_cuMemcpy3D_v2 as "cuMemcpy3D" (p: *const c_void) |s| boxes(s, p, 0, true);
    kerf_cuMemcpy3DAsync_v2 as "cuMemcpy3DAsync" (p: *const c_void, stream: u64) |s| boxes(s, p, stream, false);
}
