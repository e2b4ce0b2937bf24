//! Copies and fills, of lines, rectangles and boxes.
use crate::call::call;
use crate::error::{CallFailure, code};
use crate::held;
use crate::memory::{Extent, Pitched};
use crate::replay::hooks;
use crate::state::{State, tracing};
use kerf_exec::raw::Rectangle;
use std::ffi::c_void;

/// Directions, by CUDA's numbers.
const TO_HOST: i32 = 2;
const DEFAULT: i32 = 4;

fn is_to_host(s: &State, to: u64, from: u64, kind: i32) -> bool {
    kind == TO_HOST || kind == DEFAULT && s.is_on_device(from) && !s.is_on_device(to)
}

/// Copies a line of bytes.
pub fn line(
    s: &mut State,
    to: u64,
    from: u64,
    bytes: usize,
    kind: i32,
    stream: u64,
    wait: bool,
) -> Result<(), CallFailure> {
    if !(0..=DEFAULT).contains(&kind) {
        return Err(CallFailure::from(21));
    }
    if bytes == 0 {
        return Ok(());
    }
    if to == 0 || from == 0 {
        return Err(code::INVALID_VALUE.into());
    }
    // More than an allocation holds is refused, as CUDA does; on the CPU it would go unnoticed.
    for address in [to, from] {
        if let Some((at, a)) = s.holding(address)
            && address - at + bytes as u64 > a.bytes as u64
        {
            return Err(code::INVALID_VALUE.into());
        }
    }
    let to_host = is_to_host(s, to, from, kind);
    let tracing = s.trace.as_ref().is_some_and(|t| t.keeps_copies());
    let wait = wait || tracing && to_host || hooks::is_download(s, to, from);
    if !held::copy(s, to, from, bytes, stream)? {
        s.on_device(|d| d.copy(to, from, bytes, stream, wait))?;
    }
    hooks::copied(s, to, from, bytes, stream);
    tracing::moved(s, to, from, bytes);
    if tracing && to_host {
        tracing::copied(s, to, from, bytes)?;
    }
    Ok(())
}

#[unsafe(no_mangle)]
extern "C" fn cudaMemcpy(to: *mut c_void, from: *const c_void, bytes: usize, kind: i32) -> i32 {
    call("cudaMemcpy", |s| {
        line(s, to as u64, from as u64, bytes, kind, 0, true)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaMemcpyAsync(
    to: *mut c_void,
    from: *const c_void,
    bytes: usize,
    kind: i32,
    stream: *mut c_void,
) -> i32 {
    call("cudaMemcpyAsync", |s| {
        line(s, to as u64, from as u64, bytes, kind, stream as u64, false)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaMemcpyPeer(
    to: *mut c_void,
    _to_device: i32,
    from: *const c_void,
    _from_device: i32,
    bytes: usize,
) -> i32 {
    call("cudaMemcpyPeer", |s| {
        line(s, to as u64, from as u64, bytes, 3, 0, true)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaMemcpyPeerAsync(
    to: *mut c_void,
    _to_device: i32,
    from: *const c_void,
    _from_device: i32,
    bytes: usize,
    stream: *mut c_void,
) -> i32 {
    call("cudaMemcpyPeerAsync", |s| {
        line(s, to as u64, from as u64, bytes, 3, stream as u64, false)
    })
}

/// Copies a rectangle.
pub fn rows(
    s: &mut State,
    r: Rectangle,
    kind: i32,
    stream: u64,
    wait: bool,
) -> Result<(), CallFailure> {
    if r.width > r.to_pitch || r.width > r.from_pitch {
        return Err(CallFailure::from(12));
    }
    if r.width == 0 || r.rows == 0 {
        return Ok(());
    }
    if s.watched() || hooks::is_recording(s) || held::is_held(s, r.to) || held::is_held(s, r.from) {
        return (0..r.rows).try_for_each(|i| {
            let (to, from) = ((i * r.to_pitch) as u64, (i * r.from_pitch) as u64);
            line(s, r.to + to, r.from + from, r.width, kind, stream, wait)
        });
    }
    s.on_device(|d| d.copy_rows(r, stream, wait))
}

#[unsafe(no_mangle)]
extern "C" fn cudaMemcpy2D(
    to: *mut c_void,
    to_pitch: usize,
    from: *const c_void,
    from_pitch: usize,
    width: usize,
    height: usize,
    kind: i32,
) -> i32 {
    call("cudaMemcpy2D", |s| {
        let r = Rectangle {
            to: to as u64,
            to_pitch,
            from: from as u64,
            from_pitch,
            width,
            rows: height,
        };
        rows(s, r, kind, 0, true)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaMemcpy2DAsync(
    to: *mut c_void,
    to_pitch: usize,
    from: *const c_void,
    from_pitch: usize,
    width: usize,
    height: usize,
    kind: i32,
    stream: *mut c_void,
) -> i32 {
    call("cudaMemcpy2DAsync", |s| {
        let r = Rectangle {
            to: to as u64,
            to_pitch,
            from: from as u64,
            from_pitch,
            width,
            rows: height,
        };
        rows(s, r, kind, stream as u64, false)
    })
}

/// `cudaPos`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Pos {
    x: usize,
    y: usize,
    z: usize,
}

/// `cudaMemcpy3DParms`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Parms {
    src_array: *const c_void,
    src_pos: Pos,
    src: Pitched,
    dst_array: *const c_void,
    dst_pos: Pos,
    dst: Pitched,
    extent: Extent,
    kind: i32,
}

fn boxes(s: &mut State, p: *const c_void, stream: u64, wait: bool) -> Result<(), CallFailure> {
    if p.is_null() {
        return Err(code::INVALID_VALUE.into());
    }
    // SAFETY: the application's own description.
    let p = unsafe { *p.cast::<Parms>() };
    if !p.src_array.is_null() || !p.dst_array.is_null() {
        return Err(CallFailure::new(
            code::NOT_SUPPORTED,
            "cudaMemcpy3D of arrays is not supported",
        ));
    }
    for z in 0..p.extent.depth {
        let at = |q: &Pitched, pos: &Pos| {
            q.address as u64 + ((pos.z + z) * q.pitch * q.ysize + pos.y * q.pitch + pos.x) as u64
        };
        let r = Rectangle {
            to: at(&p.dst, &p.dst_pos),
            to_pitch: p.dst.pitch,
            from: at(&p.src, &p.src_pos),
            from_pitch: p.src.pitch,
            width: p.extent.width,
            rows: p.extent.height,
        };
        rows(s, r, p.kind, stream, wait)?;
    }
    Ok(())
}

#[unsafe(no_mangle)]
extern "C" fn cudaMemcpy3D(p: *const c_void) -> i32 {
    call("cudaMemcpy3D", |s| boxes(s, p, 0, true))
}

#[unsafe(no_mangle)]
extern "C" fn cudaMemcpy3DAsync(p: *const c_void, stream: *mut c_void) -> i32 {
    call("cudaMemcpy3DAsync", |s| boxes(s, p, stream as u64, false))
}

/// Fills a line of bytes.
pub fn fill(
    s: &mut State,
    to: u64,
    value: i32,
    bytes: usize,
    stream: u64,
) -> Result<(), CallFailure> {
    if bytes == 0 {
        return Ok(());
    }
    match s.holding(to) {
        Some((at, a)) if to - at + bytes as u64 > a.bytes as u64 => {
            return Err(code::INVALID_VALUE.into());
        }
        None if !s.is_on_device(to) => return Err(code::INVALID_VALUE.into()),
        _ => {}
    }
    tracing::filled(s, to, value as u8, bytes);
    if !held::fill(s, to, value as u8, bytes, stream)? {
        s.on_device(|d| d.fill(to, value as u8, bytes, stream))?;
    }
    hooks::filled(s, to, value as u8, bytes, stream);
    Ok(())
}

/// Fills a line of 32-bit words.
pub fn fill_words(s: &mut State, to: u64, value: u32, count: usize) -> Result<(), CallFailure> {
    if held::is_held(s, to) {
        return Err(CallFailure::new(
            code::NOT_SUPPORTED,
            "a buffer that the plan holds in another format",
        ));
    }
    s.on_device(|d| d.fill_words(to, value, count, 0))?;
    hooks::filled_words(s, to, value, count);
    Ok(())
}

#[unsafe(no_mangle)]
extern "C" fn cudaMemset(to: *mut c_void, value: i32, bytes: usize) -> i32 {
    call("cudaMemset", |s| fill(s, to as u64, value, bytes, 0))
}

#[unsafe(no_mangle)]
extern "C" fn cudaMemsetAsync(
    to: *mut c_void,
    value: i32,
    bytes: usize,
    stream: *mut c_void,
) -> i32 {
    call("cudaMemsetAsync", |s| {
        fill(s, to as u64, value, bytes, stream as u64)
    })
}

fn fill_rows(
    s: &mut State,
    to: u64,
    pitch: usize,
    value: i32,
    width: usize,
    height: usize,
    stream: u64,
) -> Result<(), CallFailure> {
    (0..height).try_for_each(|i| fill(s, to + (i * pitch) as u64, value, width, stream))
}

#[unsafe(no_mangle)]
extern "C" fn cudaMemset2D(
    to: *mut c_void,
    pitch: usize,
    value: i32,
    width: usize,
    height: usize,
) -> i32 {
    call("cudaMemset2D", |s| {
        fill_rows(s, to as u64, pitch, value, width, height, 0)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaMemset2DAsync(
    to: *mut c_void,
    pitch: usize,
    value: i32,
    width: usize,
    height: usize,
    stream: *mut c_void,
) -> i32 {
    call("cudaMemset2DAsync", |s| {
        fill_rows(s, to as u64, pitch, value, width, height, stream as u64)
    })
}

fn fill_box(s: &mut State, p: Pitched, v: i32, e: Extent, stream: u64) -> Result<(), CallFailure> {
    (0..e.depth).try_for_each(|z| {
        let at = p.address as u64 + (z * p.pitch * p.ysize) as u64;
        fill_rows(s, at, p.pitch, v, e.width, e.height, stream)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaMemset3D(p: Pitched, value: i32, e: Extent) -> i32 {
    call("cudaMemset3D", |s| fill_box(s, p, value, e, 0))
}

#[unsafe(no_mangle)]
extern "C" fn cudaMemset3DAsync(p: Pitched, value: i32, e: Extent, stream: *mut c_void) -> i32 {
    call("cudaMemset3DAsync", |s| {
        fill_box(s, p, value, e, stream as u64)
    })
}
