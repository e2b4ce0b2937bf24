//! Streams and events of the driver API.
use super::context::CONTEXT;
use crate::call::{call, put};
use crate::stream::{PRIORITIES, made, new_event, new_stream, ready};
use std::ffi::c_void;

type Handle = *mut c_void;

driver_calls! {
    kerf_cuStreamCreate as "cuStreamCreate" (to: *mut Handle, flags: u32) |s| new_stream(s, to, flags, 0);
    kerf_cuStreamCreateWithPriority as "cuStreamCreateWithPriority" (to: *mut Handle, flags: u32, priority: i32) |s|
        new_stream(s, to, flags, priority);
    kerf_cuStreamDestroy_v2 as "cuStreamDestroy" (stream: u64) |s| {
        s.streams.remove(&stream);
        s.on_device(|d| d.drop_stream(stream))
    };
    kerf_cuStreamSynchronize as "cuStreamSynchronize" (stream: u64) |s| s.on_device(|d| d.wait_stream(stream));
    kerf_cuStreamQuery as "cuStreamQuery" (stream: u64) |s| ready(s.on_device(|d| d.stream_done(stream))?);
    kerf_cuStreamWaitEvent as "cuStreamWaitEvent" (stream: u64, event: u64, _flags: u32) |s|
        s.on_device(|d| d.stream_after(stream, event));
    kerf_cuStreamGetFlags as "cuStreamGetFlags" (stream: Handle, to: *mut u32) |s| put(to, made(s, stream).0);
    kerf_cuStreamGetPriority as "cuStreamGetPriority" (stream: Handle, to: *mut i32) |s| put(to, made(s, stream).1);
    kerf_cuStreamGetCtx as "cuStreamGetCtx" (_stream: Handle, to: *mut Handle) |_s| put(to, CONTEXT);
    kerf_cuStreamGetCtx_v2 as "cuStreamGetCtx" (_stream: Handle, to: *mut Handle, green: *mut Handle) |_s| {
        if !green.is_null() {
            put(green, std::ptr::null_mut())?;
        }
        put(to, CONTEXT)
    };
    kerf_cuStreamGetDevice as "cuStreamGetDevice" (_stream: Handle, to: *mut i32) |_s| put(to, 0);
    kerf_cuStreamGetId as "cuStreamGetId" (stream: u64, to: *mut u64) |_s| put(to, stream);
    kerf_cuStreamIsCapturing as "cuStreamIsCapturing" (_stream: Handle, to: *mut i32) |_s| put(to, 0);
    kerf_cuStreamCopyAttributes as "cuStreamCopyAttributes" (_to: Handle, _from: Handle) |_s| Ok(());
    kerf_cuStreamSetAttribute as "cuStreamSetAttribute" (_stream: Handle, _what: i32, _value: *const c_void) |_s| Ok(());
    kerf_cuCtxGetStreamPriorityRange as "cuCtxGetStreamPriorityRange" (least: *mut i32, greatest: *mut i32) |_s| {
        if !least.is_null() {
            put(least, PRIORITIES.0)?;
        }
        match greatest.is_null() {
            true => Ok(()),
            false => put(greatest, PRIORITIES.1),
        }
    };
    kerf_cuEventCreate as "cuEventCreate" (to: *mut Handle, flags: u32) |s| new_event(s, to, flags);
    kerf_cuEventDestroy_v2 as "cuEventDestroy" (event: u64) |s| s.on_device(|d| d.drop_event(event));
    kerf_cuEventRecord as "cuEventRecord" (event: u64, stream: u64) |s| s.on_device(|d| d.record_event(event, stream));
    kerf_cuEventRecordWithFlags as "cuEventRecordWithFlags" (event: u64, stream: u64, _flags: u32) |s| s.on_device(|d| d.record_event(event, stream));
    kerf_cuEventSynchronize as "cuEventSynchronize" (event: u64) |s| s.on_device(|d| d.wait_event(event));
    kerf_cuEventQuery as "cuEventQuery" (event: u64) |s| ready(s.on_device(|d| d.event_done(event))?);
    kerf_cuEventElapsedTime as "cuEventElapsedTime" (to: *mut f32, from: u64, end: u64) |s| {
        let ms = s.on_device(|d| d.elapsed_ms(from, end))?;
        put(to, ms)
    };
    kerf_cuEventElapsedTime_v2 as "cuEventElapsedTime" (to: *mut f32, from: u64, end: u64) |s| {
        let ms = s.on_device(|d| d.elapsed_ms(from, end))?;
        put(to, ms)
    };
}

#[unsafe(no_mangle)]
extern "C" fn kerf_cuLaunchHostFunc(
    stream: u64,
    f: extern "C" fn(*mut c_void),
    data: *mut c_void,
) -> i32 {
    let r = call("cuLaunchHostFunc", |s| {
        s.on_device(|d| d.wait_stream(stream))
    });
    if r == 0 {
        f(data);
    }
    r
}

#[unsafe(no_mangle)]
extern "C" fn kerf_cuStreamAddCallback(
    stream: Handle,
    f: extern "C" fn(Handle, i32, *mut c_void),
    data: *mut c_void,
    _flags: u32,
) -> i32 {
    let r = call("cuStreamAddCallback", |s| {
        s.on_device(|d| d.wait_stream(stream as u64))
    });
    if r == 0 {
        f(stream, 0, data);
    }
    r
}
