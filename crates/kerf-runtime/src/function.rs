//! What applications ask about kernels: attributes, occupancy, cache preferences.
use crate::call::{call, put};
use crate::error::{CallFailure, code};
use crate::registered::RegisteredFunction;
use crate::state::State;
use kerf_exec::DeviceKind;
use std::ffi::{CString, c_char, c_void};

/// A function by its handle.
pub fn find(s: &State, function: *const c_void) -> Result<RegisteredFunction, CallFailure> {
    s.functions
        .get(&(function as usize))
        .cloned()
        .ok_or(CallFailure::from(code::INVALID_DEVICE_FUNCTION))
}

/// `cudaFuncAttributes`.
#[repr(C)]
struct Attributes {
    shared: usize,
    constant: usize,
    local: usize,
    max_threads: i32,
    registers: i32,
    ptx_version: i32,
    binary_version: i32,
    cache_mode: i32,
    max_dynamic_shared: i32,
    rest: [i32; 23],
}

/// What is known of a kernel.
pub struct FunctionAttributes {
    /// Bytes of static shared memory.
    pub shared: usize,
    /// Bytes of local memory of a thread.
    pub local: usize,
    /// Threads that a block may have.
    pub max_threads: i32,
    /// Registers of a thread.
    pub registers: i32,
    /// Capability that it was compiled for, 90 for `sm_90`.
    pub ptx_version: i32,
    /// Bytes of dynamic shared memory that a launch may ask for.
    pub max_dynamic_shared: i32,
}

/// The capability of the machine code that runs.
pub const BINARY_VERSION: i32 = 90;

/// Finds out about a kernel.
pub fn attributes(
    s: &mut State,
    function: *const c_void,
) -> Result<FunctionAttributes, CallFailure> {
    let f = find(s, function)?;
    // Libraries of templates (CUB) choose by it among the versions that were compiled.
    let arch = s.units[f.module].meta[0].arch.clone();
    let version = kerf_llvm::compute_capability(&arch);
    let version = version.map_err(|_| CallFailure::from(code::INVALID_DEVICE_FUNCTION))?;
    let u = s.unit(f.module)?;
    let program = u.program_of(&f.symbol);
    let planned = u.planned.get(&f.symbol).copied().unwrap_or_default();
    let shared = u
        .kernels
        .iter()
        .find(|k| k.symbol == f.symbol)
        .map_or(0, |k| k.static_shared_bytes as usize);
    let stats = s
        .on_device(|d| d.stats(program, &f.symbol))
        .unwrap_or_default();
    let most = stats.max_threads.unwrap_or(1024);
    Ok(FunctionAttributes {
        shared: stats.shared_bytes.map_or(shared, |b| b as usize),
        local: stats.local_bytes.unwrap_or(0) as usize,
        max_threads: planned.most_threads(most) as i32,
        registers: stats.registers.unwrap_or(32) as i32,
        ptx_version: version as i32,
        max_dynamic_shared: f.shared_limit.saturating_sub(shared) as i32,
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaFuncGetAttributes(to: *mut c_void, function: *const c_void) -> i32 {
    call("cudaFuncGetAttributes", |s| {
        let a = attributes(s, function)?;
        put(
            to.cast(),
            Attributes {
                shared: a.shared,
                constant: 0,
                local: a.local,
                max_threads: a.max_threads,
                registers: a.registers,
                ptx_version: a.ptx_version,
                binary_version: BINARY_VERSION,
                cache_mode: 0,
                max_dynamic_shared: a.max_dynamic_shared,
                rest: [0; 23],
            },
        )
    })
}

/// The attribute that allows more dynamic shared memory.
const MAX_DYNAMIC_SHARED: i32 = 8;

/// Sets an attribute; all but dynamic shared memory are hints.
pub fn set_attribute(
    s: &mut State,
    function: *const c_void,
    attribute: i32,
    value: i32,
) -> Result<(), CallFailure> {
    find(s, function)?;
    if attribute == MAX_DYNAMIC_SHARED {
        let most = s.on_device(|d| d.attribute(97))?;
        if value < 0 || value > most {
            return Err(code::INVALID_VALUE.into());
        }
        if let Some(f) = s.functions.get_mut(&(function as usize)) {
            f.shared_limit = value as usize;
        }
    }
    Ok(())
}

#[unsafe(no_mangle)]
extern "C" fn cudaFuncSetAttribute(function: *const c_void, attribute: i32, value: i32) -> i32 {
    call("cudaFuncSetAttribute", |s| {
        set_attribute(s, function, attribute, value)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaFuncSetCacheConfig(function: *const c_void, _config: i32) -> i32 {
    call("cudaFuncSetCacheConfig", |s| find(s, function).map(|_| ()))
}

#[unsafe(no_mangle)]
extern "C" fn cudaFuncSetSharedMemConfig(function: *const c_void, _config: i32) -> i32 {
    call("cudaFuncSetSharedMemConfig", |s| {
        find(s, function).map(|_| ())
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaFuncGetName(to: *mut *const c_char, function: *const c_void) -> i32 {
    call("cudaFuncGetName", |s| {
        let f = find(s, function)?;
        // Lives as long as the program, as CUDA's does.
        put(
            to,
            CString::new(f.symbol)
                .unwrap_or_default()
                .into_raw()
                .cast_const(),
        )
    })
}

/// Blocks of a kernel that fit on one multiprocessor.
pub fn occupancy(
    s: &mut State,
    function: *const c_void,
    threads: i32,
    shared: usize,
) -> Result<i32, CallFailure> {
    let f = find(s, function)?;
    if threads <= 0 {
        return Err(code::INVALID_VALUE.into());
    }
    let u = s.unit(f.module)?;
    let program = u.program_of(&f.symbol);
    let planned = u.planned.get(&f.symbol).copied().unwrap_or_default();
    let fixed = u
        .kernels
        .iter()
        .find(|k| k.symbol == f.symbol)
        .map_or(0, |k| k.static_shared_bytes as usize);
    // More shared memory than the kernel may have: none fits.
    if shared + fixed > f.shared_limit.max(48 * 1024) {
        return Ok(0);
    }
    let on_cpu = s.device()?.kind() == DeviceKind::Cpu;
    let all = if on_cpu { shared + fixed } else { shared };
    let n = planned.resident(threads as u32, all as u32, |threads, shared| {
        s.on_device(|d| d.blocks_per_sm(program, &f.symbol, threads, shared))
    })?;
    Ok(n as i32)
}

#[unsafe(no_mangle)]
extern "C" fn cudaOccupancyMaxActiveBlocksPerMultiprocessor(
    to: *mut i32,
    function: *const c_void,
    threads: i32,
    shared: usize,
) -> i32 {
    call("cudaOccupancyMaxActiveBlocksPerMultiprocessor", |s| {
        put(to, occupancy(s, function, threads, shared)?)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    to: *mut i32,
    function: *const c_void,
    threads: i32,
    shared: usize,
    _flags: u32,
) -> i32 {
    call(
        "cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags",
        |s| put(to, occupancy(s, function, threads, shared)?),
    )
}

#[unsafe(no_mangle)]
extern "C" fn cudaOccupancyAvailableDynamicSMemPerBlock(
    to: *mut usize,
    function: *const c_void,
    blocks: i32,
    _threads: i32,
) -> i32 {
    call("cudaOccupancyAvailableDynamicSMemPerBlock", |s| {
        find(s, function)?;
        let most = s.on_device(|d| d.attribute(81))? as usize;
        put(to, (most / blocks.max(1) as usize).saturating_sub(1024))
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaSetDoubleForDevice(_d: *mut f64) -> i32 {
    0
}

#[unsafe(no_mangle)]
extern "C" fn cudaSetDoubleForHost(_d: *mut f64) -> i32 {
    0
}
