//! What the driver API tells of kernels: attributes, parameters, occupancy. A `CUkernel` and its `CUfunction` are one handle.
use super::kernel_launch::parameter_places;
use crate::call::{call, put};
use crate::error::{CallFailure, code};
use crate::function::{BINARY_VERSION, attributes, find, occupancy, set_attribute};
use crate::state::State;
use std::ffi::{CString, c_char, c_void};

type Function = *const c_void;

/// An attribute by the number of `CUfunction_attribute`.
fn attribute(s: &mut State, f: Function, what: i32) -> Result<i32, CallFailure> {
    let a = attributes(s, f)?;
    Ok(match what {
        0 => a.max_threads,
        1 => a.shared as i32,
        3 => a.local as i32,
        4 => a.registers,
        5 => a.ptx_version,
        6 => BINARY_VERSION,
        8 => a.max_dynamic_shared,
        // Carveout: the driver's choice.
        9 => -1,
        // Constant memory, caches, clusters: none.
        2 | 7 | 10..=15 => 0,
        _ => return Err(code::INVALID_VALUE.into()),
    })
}

/// A name that lives as long as the program, as the driver's does.
fn put_name(s: &mut State, to: *mut *const c_char, f: Function) -> Result<(), CallFailure> {
    let symbol = find(s, f)?.symbol;
    let name = CString::new(symbol).unwrap_or_default();
    put(to, name.into_raw().cast_const())
}

fn put_parameter(
    s: &mut State,
    f: Function,
    number: usize,
    offset: *mut usize,
    bytes: *mut usize,
) -> Result<(), CallFailure> {
    let places = parameter_places(s, f as usize)?;
    let (at, n) = *places
        .get(number)
        .ok_or(CallFailure::from(code::INVALID_VALUE))?;
    put(offset, at)?;
    match bytes.is_null() {
        true => Ok(()),
        false => put(bytes, n),
    }
}

driver_calls! {
    kerf_cuFuncGetAttribute as "cuFuncGetAttribute" (to: *mut i32, what: i32, f: Function) |s| {
        let v = attribute(s, f, what)?;
        put(to, v)
    };
    kerf_cuKernelGetAttribute as "cuKernelGetAttribute" (to: *mut i32, what: i32, f: Function, _device: i32) |s| {
        let v = attribute(s, f, what)?;
        put(to, v)
    };
    kerf_cuFuncSetAttribute as "cuFuncSetAttribute" (f: Function, what: i32, value: i32) |s| set_attribute(s, f, what, value);
    kerf_cuKernelSetAttribute as "cuKernelSetAttribute" (what: i32, value: i32, f: Function, _device: i32) |s|
        set_attribute(s, f, what, value);
    kerf_cuFuncSetCacheConfig as "cuFuncSetCacheConfig" (f: Function, _config: i32) |s| find(s, f).map(|_| ());
    kerf_cuKernelSetCacheConfig as "cuKernelSetCacheConfig" (f: Function, _config: i32, _device: i32) |s| find(s, f).map(|_| ());
    kerf_cuFuncSetSharedMemConfig as "cuFuncSetSharedMemConfig" (f: Function, _config: i32) |s| find(s, f).map(|_| ());
    kerf_cuFuncGetName as "cuFuncGetName" (to: *mut *const c_char, f: Function) |s| put_name(s, to, f);
    kerf_cuKernelGetName as "cuKernelGetName" (to: *mut *const c_char, f: Function) |s| put_name(s, to, f);
    kerf_cuFuncGetParamInfo as "cuFuncGetParamInfo" (f: Function, number: usize, offset: *mut usize, bytes: *mut usize) |s|
        put_parameter(s, f, number, offset, bytes);
    kerf_cuKernelGetParamInfo as "cuKernelGetParamInfo" (f: Function, number: usize, offset: *mut usize, bytes: *mut usize) |s|
        put_parameter(s, f, number, offset, bytes);
    kerf_cuFuncIsLoaded as "cuFuncIsLoaded" (to: *mut i32, f: Function) |s| {
        find(s, f)?;
        put(to, 1)
    };
    kerf_cuFuncLoad as "cuFuncLoad" (f: Function) |s| find(s, f).map(|_| ());
    kerf_cuOccupancyMaxActiveBlocksPerMultiprocessor as "cuOccupancyMaxActiveBlocksPerMultiprocessor"
        (to: *mut i32, f: Function, threads: i32, shared: usize) |s| {
        let n = occupancy(s, f, threads, shared)?;
        put(to, n)
    };
    kerf_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags as "cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags"
        (to: *mut i32, f: Function, threads: i32, shared: usize, _flags: u32) |s| {
        let n = occupancy(s, f, threads, shared)?;
        put(to, n)
    };
    kerf_cuOccupancyAvailableDynamicSMemPerBlock as "cuOccupancyAvailableDynamicSMemPerBlock"
        (to: *mut usize, f: Function, blocks: i32, _threads: i32) |s| {
        find(s, f)?;
        let most = s.on_device(|d| d.attribute(81))? as usize;
        put(to, (most / blocks.max(1) as usize).saturating_sub(1024))
    };
}

/// `CUoccupancyB2DSize`: dynamic shared memory for a size of blocks.
type SharedOfBlock = Option<extern "C" fn(i32) -> usize>;

/// The block size with the most resident threads, the largest of equal ones, and the blocks that fill the device.
fn best_block(
    f: Function,
    shared: impl Fn(i32) -> usize,
    limit: i32,
) -> impl FnOnce(&mut State) -> Result<(i32, i32), CallFailure> {
    move |s| {
        let most = attributes(s, f)?.max_threads;
        let most = if limit > 0 { most.min(limit) } else { most };
        let mut best = (0, 0, 0);
        let mut threads = most;
        while threads > 0 {
            let blocks = occupancy(s, f, threads, shared(threads))?;
            if blocks * threads > best.0 {
                best = (blocks * threads, blocks, threads);
            }
            threads = (threads - 1) / 32 * 32;
        }
        let multiprocessors = s.on_device(|d| d.attribute(16))?;
        Ok((best.1 * multiprocessors, best.2))
    }
}

#[unsafe(no_mangle)]
extern "C" fn kerf_cuOccupancyMaxPotentialBlockSize(
    grid: *mut i32,
    block: *mut i32,
    f: Function,
    shared_of_block: SharedOfBlock,
    shared: usize,
    limit: i32,
) -> i32 {
    // The application's function is asked before the lock is taken: it may call the driver itself.
    let by_block: Vec<usize> = match shared_of_block {
        Some(shared_of) => (0..=1024).map(|n| shared_of(n)).collect(),
        None => vec![shared; 1025],
    };
    let bytes = move |threads: i32| by_block.get(threads as usize).copied().unwrap_or(shared);
    super::driver_code(call("cuOccupancyMaxPotentialBlockSize", |s| {
        let (blocks, threads) = best_block(f, bytes, limit)(s)?;
        put(grid, blocks)?;
        put(block, threads)
    }))
}

#[unsafe(no_mangle)]
extern "C" fn kerf_cuOccupancyMaxPotentialBlockSizeWithFlags(
    grid: *mut i32,
    block: *mut i32,
    f: Function,
    shared_of_block: SharedOfBlock,
    shared: usize,
    limit: i32,
    _flags: u32,
) -> i32 {
    kerf_cuOccupancyMaxPotentialBlockSize(grid, block, f, shared_of_block, shared, limit)
}
