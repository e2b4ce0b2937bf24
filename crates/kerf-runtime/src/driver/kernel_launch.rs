//! Launches of the driver API: arguments one by one (`kernelParams`) or as one buffer (`extra`).
use crate::error::{CallFailure, code};
use crate::launch::{launch, launch_attributes, parameters};
use crate::launch_request::LaunchRequest;
use crate::replay::hooks::parameter_bytes;
use crate::state::State;
use kerf_ir::kernels::ParamKind;
use std::ffi::c_void;

/// Keys of `extra`: its end, the address of the buffer, the address of its size.
const PARAMETER_END: usize = 0;
const PARAMETER_BUFFER: usize = 1;
const PARAMETER_BYTES: usize = 2;

/// Offset and bytes of each parameter in a kernel's parameter buffer: every one at a multiple of its alignment.
fn places(kinds: &[ParamKind]) -> Vec<(usize, usize)> {
    let mut end = 0usize;
    let mut out = Vec::new();
    for kind in kinds {
        let bytes = parameter_bytes(kind);
        let align = match kind {
            ParamKind::Struct { align, .. } => (*align).max(1) as usize,
            _ => bytes.max(1),
        };
        let at = end.next_multiple_of(align);
        out.push((at, bytes));
        end = at + bytes;
    }
    out
}

/// [`places`] of a function by its handle.
pub fn parameter_places(
    s: &mut State,
    function: usize,
) -> Result<Vec<(usize, usize)>, CallFailure> {
    Ok(places(&parameters(s, function)?))
}

/// The addresses of arguments in the buffer that `extra` describes.
///
/// # Safety
/// `extra` is a list of keys and values that ends with [`PARAMETER_END`].
unsafe fn from_buffer(
    s: &mut State,
    function: usize,
    extra: *mut *mut c_void,
) -> Result<Vec<*mut c_void>, CallFailure> {
    let (mut buffer, mut bytes) = (std::ptr::null_mut::<u8>(), 0usize);
    let mut at = extra;
    // SAFETY: as the caller promises.
    unsafe {
        while *at as usize != PARAMETER_END {
            match *at as usize {
                PARAMETER_BUFFER => buffer = (*at.add(1)).cast(),
                PARAMETER_BYTES => bytes = *(*at.add(1)).cast::<usize>(),
                _ => return Err(code::INVALID_VALUE.into()),
            }
            at = at.add(2);
        }
    }
    let places = parameter_places(s, function)?;
    let needed = places.last().map_or(0, |(at, n)| at + n);
    if buffer.is_null() && needed > 0 || bytes < needed {
        let why = format!("the parameter buffer has {bytes} bytes, and the kernel takes {needed}");
        return Err(CallFailure::new(code::INVALID_VALUE, why));
    }
    // SAFETY: inside the buffer, as was just found.
    Ok(places
        .iter()
        .map(|(at, _)| unsafe { buffer.add(*at) }.cast())
        .collect())
}

/// Launches with either form of arguments.
fn launch_with(
    s: &mut State,
    mut r: LaunchRequest,
    extra: *mut *mut c_void,
) -> Result<(), CallFailure> {
    if !s.functions.contains_key(&r.function) {
        return Err(CallFailure::from(code::INVALID_HANDLE));
    }
    if !r.args.is_null() || extra.is_null() {
        let needed = parameters(s, r.function)?.len();
        if needed > 0 && r.args.is_null() {
            return Err(code::INVALID_VALUE.into());
        }
        return launch(s, r);
    }
    // SAFETY: the application's own list.
    let mut addresses = unsafe { from_buffer(s, r.function, extra)? };
    r.args = addresses.as_mut_ptr();
    launch(s, r)
}

/// `CUlaunchConfig`.
#[repr(C)]
struct LaunchConfiguration {
    grid: [u32; 3],
    block: [u32; 3],
    shared: u32,
    stream: u64,
    attributes: *const c_void,
    count: u32,
}

driver_calls! {
    kerf_cuLaunchKernel as "cuLaunchKernel" (
        function: usize, gx: u32, gy: u32, gz: u32, bx: u32, by: u32, bz: u32, shared: u32, stream: u64,
        args: *mut *mut c_void, extra: *mut *mut c_void,
    ) |s| launch_with(s, LaunchRequest {
        function,
        grid: [gx, gy, gz],
        block: [bx, by, bz],
        args,
        shared: shared as usize,
        stream,
        cooperative: false,
    }, extra);
    kerf_cuLaunchCooperativeKernel as "cuLaunchCooperativeKernel" (
        function: usize, gx: u32, gy: u32, gz: u32, bx: u32, by: u32, bz: u32, shared: u32, stream: u64,
        args: *mut *mut c_void,
    ) |s| launch_with(s, LaunchRequest {
        function,
        grid: [gx, gy, gz],
        block: [bx, by, bz],
        args,
        shared: shared as usize,
        stream,
        cooperative: true,
    }, std::ptr::null_mut());
    kerf_cuLaunchKernelEx as "cuLaunchKernelEx" (
        config: *const c_void, function: usize, args: *mut *mut c_void, extra: *mut *mut c_void,
    ) |s| {
        if config.is_null() {
            return Err(code::INVALID_VALUE.into());
        }
        // SAFETY: the application's own configuration.
        let c = unsafe { &*config.cast::<LaunchConfiguration>() };
        // SAFETY: the application says that there are so many attributes.
        let cooperative = unsafe { launch_attributes(c.attributes, c.count)? };
        launch_with(s, LaunchRequest {
            function,
            grid: c.grid,
            block: c.block,
            args,
            shared: c.shared as usize,
            stream: c.stream,
            cooperative,
        }, extra)
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use kerf_ir::kernels::ScalarKind;

    #[test]
    fn parameters_lie_at_multiples_of_their_alignment() {
        let word = |bits| ParamKind::Scalar {
            scalar: ScalarKind::Int { bits, signed: true },
        };
        let pointer = ParamKind::Pointer {
            space: 1,
            element_bytes: 4,
            element: Vec::new(),
        };
        let by_value = ParamKind::Struct {
            bytes: 12,
            align: 4,
            fields: Vec::new(),
        };
        let kinds = [word(32), pointer, word(8), by_value, word(16)];
        assert_eq!(places(&kinds), [(0, 4), (8, 8), (16, 1), (20, 12), (32, 2)]);
    }
}
