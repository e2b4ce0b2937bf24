//! Streams and events.
use crate::call::{call, put};
use crate::error::{CallFailure, code};
use crate::state::State;
use std::ffi::c_void;

/// A stream or an event.
pub type Handle = *mut c_void;

/// Success, or "not ready".
pub fn ready(done: bool) -> Result<(), CallFailure> {
    match done {
        true => Ok(()),
        false => Err(code::NOT_READY.into()),
    }
}

/// The priorities that a device tells of, the least and the greatest.
pub const PRIORITIES: (i32, i32) = (0, -5);

/// Makes a stream.
pub fn new_stream(
    s: &mut State,
    to: *mut Handle,
    flags: u32,
    priority: i32,
) -> Result<(), CallFailure> {
    let priority = priority.clamp(PRIORITIES.1, PRIORITIES.0);
    let h = s.on_device(|d| d.stream(flags, priority))?;
    s.streams.insert(h, (flags, priority));
    put(to, h as Handle)
}

/// Flags and priority of a stream; those of the default streams are 0.
pub fn made(s: &State, stream: Handle) -> (u32, i32) {
    s.streams.get(&(stream as u64)).copied().unwrap_or_default()
}

#[unsafe(no_mangle)]
extern "C" fn cudaStreamCreate(to: *mut Handle) -> i32 {
    call("cudaStreamCreate", |s| new_stream(s, to, 0, 0))
}

#[unsafe(no_mangle)]
extern "C" fn cudaStreamCreateWithFlags(to: *mut Handle, flags: u32) -> i32 {
    call("cudaStreamCreateWithFlags", |s| new_stream(s, to, flags, 0))
}

#[unsafe(no_mangle)]
extern "C" fn cudaStreamCreateWithPriority(to: *mut Handle, flags: u32, priority: i32) -> i32 {
    call("cudaStreamCreateWithPriority", |s| {
        new_stream(s, to, flags, priority)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaStreamDestroy(stream: Handle) -> i32 {
    call("cudaStreamDestroy", |s| {
        s.streams.remove(&(stream as u64));
        s.on_device(|d| d.drop_stream(stream as u64))
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaStreamSynchronize(stream: Handle) -> i32 {
    call("cudaStreamSynchronize", |s| {
        s.on_device(|d| d.wait_stream(stream as u64))
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaStreamQuery(stream: Handle) -> i32 {
    call("cudaStreamQuery", |s| {
        ready(s.on_device(|d| d.stream_done(stream as u64))?)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaStreamWaitEvent(stream: Handle, event: Handle, _flags: u32) -> i32 {
    call("cudaStreamWaitEvent", |s| {
        s.on_device(|d| d.stream_after(stream as u64, event as u64))
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaStreamGetFlags(stream: Handle, to: *mut u32) -> i32 {
    call("cudaStreamGetFlags", |s| put(to, made(s, stream).0))
}

#[unsafe(no_mangle)]
extern "C" fn cudaStreamGetPriority(stream: Handle, to: *mut i32) -> i32 {
    call("cudaStreamGetPriority", |s| put(to, made(s, stream).1))
}

#[unsafe(no_mangle)]
extern "C" fn cudaStreamIsCapturing(_stream: Handle, to: *mut i32) -> i32 {
    call("cudaStreamIsCapturing", |_| put(to, 0))
}

#[unsafe(no_mangle)]
extern "C" fn cudaDeviceGetStreamPriorityRange(least: *mut i32, greatest: *mut i32) -> i32 {
    call("cudaDeviceGetStreamPriorityRange", |_| {
        put(least, PRIORITIES.0)?;
        put(greatest, PRIORITIES.1)
    })
}

/// Makes an event.
pub fn new_event(s: &mut State, to: *mut Handle, flags: u32) -> Result<(), CallFailure> {
    let h = s.on_device(|d| d.event(flags))?;
    put(to, h as Handle)
}

#[unsafe(no_mangle)]
extern "C" fn cudaEventCreate(to: *mut Handle) -> i32 {
    call("cudaEventCreate", |s| new_event(s, to, 0))
}

#[unsafe(no_mangle)]
extern "C" fn cudaEventCreateWithFlags(to: *mut Handle, flags: u32) -> i32 {
    call("cudaEventCreateWithFlags", |s| new_event(s, to, flags))
}

#[unsafe(no_mangle)]
extern "C" fn cudaEventDestroy(event: Handle) -> i32 {
    call("cudaEventDestroy", |s| {
        s.on_device(|d| d.drop_event(event as u64))
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaEventRecord(event: Handle, stream: Handle) -> i32 {
    call("cudaEventRecord", |s| {
        s.on_device(|d| d.record_event(event as u64, stream as u64))
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaEventRecordWithFlags(event: Handle, stream: Handle, _flags: u32) -> i32 {
    cudaEventRecord(event, stream)
}

#[unsafe(no_mangle)]
extern "C" fn cudaEventSynchronize(event: Handle) -> i32 {
    call("cudaEventSynchronize", |s| {
        s.on_device(|d| d.wait_event(event as u64))
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaEventQuery(event: Handle) -> i32 {
    call("cudaEventQuery", |s| {
        ready(s.on_device(|d| d.event_done(event as u64))?)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaEventElapsedTime(to: *mut f32, from: Handle, end: Handle) -> i32 {
    call("cudaEventElapsedTime", |s| {
        let ms = s.on_device(|d| d.elapsed_ms(from as u64, end as u64))?;
        put(to, ms)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaEventElapsedTime_v2(to: *mut f32, from: Handle, end: Handle) -> i32 {
    cudaEventElapsedTime(to, from, end)
}

#[unsafe(no_mangle)]
extern "C" fn cudaStreamGetDevice(_stream: Handle, to: *mut i32) -> i32 {
    call("cudaStreamGetDevice", |_| put(to, 0))
}

#[unsafe(no_mangle)]
extern "C" fn cudaStreamGetId(stream: Handle, to: *mut u64) -> i32 {
    call("cudaStreamGetId", |_| put(to, stream as u64))
}
