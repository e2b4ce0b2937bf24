//! `__constant__` and `__device__` variables, which host code names by their shadows.
use crate::call::{call, put};
use crate::copy;
use crate::error::{CallFailure, code};
use crate::replay::hooks;
use crate::state::State;
use crate::variable::find;
use std::ffi::c_void;

fn within(s: &mut State, shadow: *const c_void, n: usize, at: usize) -> Result<u64, CallFailure> {
    let (address, bytes) = find(s, shadow)?;
    match at.checked_add(n).is_some_and(|end| end <= bytes) {
        true => Ok(address + at as u64),
        false => Err(code::INVALID_VALUE.into()),
    }
}

fn write(
    s: &mut State,
    shadow: *const c_void,
    from: *const c_void,
    (n, at): (usize, usize),
    kind: i32,
    stream: Option<*mut c_void>,
) -> Result<(), CallFailure> {
    let to = within(s, shadow, n, at)?;
    let wait = stream.is_none();
    let stream = stream.map_or(0, |x| x as u64);
    copy::line(s, to, from as u64, n, kind, stream, wait)
}

fn read(
    s: &mut State,
    to: *mut c_void,
    shadow: *const c_void,
    (n, at): (usize, usize),
    kind: i32,
    stream: Option<*mut c_void>,
) -> Result<(), CallFailure> {
    let from = within(s, shadow, n, at)?;
    let wait = stream.is_none();
    let stream = stream.map_or(0, |x| x as u64);
    copy::line(s, to as u64, from, n, kind, stream, wait)
}

#[unsafe(no_mangle)]
extern "C" fn cudaMemcpyToSymbol(
    symbol: *const c_void,
    from: *const c_void,
    n: usize,
    at: usize,
    kind: i32,
) -> i32 {
    call("cudaMemcpyToSymbol", |s| {
        write(s, symbol, from, (n, at), kind, None)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaMemcpyToSymbolAsync(
    symbol: *const c_void,
    from: *const c_void,
    n: usize,
    at: usize,
    kind: i32,
    stream: *mut c_void,
) -> i32 {
    call("cudaMemcpyToSymbolAsync", |s| {
        write(s, symbol, from, (n, at), kind, Some(stream))
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaMemcpyFromSymbol(
    to: *mut c_void,
    symbol: *const c_void,
    n: usize,
    at: usize,
    kind: i32,
) -> i32 {
    call("cudaMemcpyFromSymbol", |s| {
        read(s, to, symbol, (n, at), kind, None)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaMemcpyFromSymbolAsync(
    to: *mut c_void,
    symbol: *const c_void,
    n: usize,
    at: usize,
    kind: i32,
    stream: *mut c_void,
) -> i32 {
    call("cudaMemcpyFromSymbolAsync", |s| {
        read(s, to, symbol, (n, at), kind, Some(stream))
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaGetSymbolAddress(to: *mut *mut c_void, symbol: *const c_void) -> i32 {
    call("cudaGetSymbolAddress", |s| {
        let (a, _) = find(s, symbol)?;
        hooks::refuse(
            s,
            "cudaGetSymbolAddress: variables have other addresses in a replay",
        );
        put(to, a as *mut c_void)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaGetSymbolSize(to: *mut usize, symbol: *const c_void) -> i32 {
    call("cudaGetSymbolSize", |s| {
        let (_, n) = find(s, symbol)?;
        put(to, n)
    })
}
