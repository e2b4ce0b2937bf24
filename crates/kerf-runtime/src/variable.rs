//! Where the application's variables are on the device.
use crate::error::{CallFailure, code};
use crate::state::State;
use kerf_exec::raw::MemoryPlace;
use std::ffi::c_void;

/// Address and size of a variable.
pub fn find(s: &mut State, shadow: *const c_void) -> Result<(u64, usize), CallFailure> {
    let v = s
        .variables
        .get(&(shadow as usize))
        .cloned()
        .ok_or(CallFailure::from(code::INVALID_SYMBOL))?;
    if let Some(a) = v.address {
        return Ok((a, v.bytes));
    }
    let program = s.unit(v.module)?.program;
    let address = match s.device()?.variable(program, &v.symbol) {
        Ok((a, _)) => a,
        // No kernel has anything to do with it, so that any place will do.
        Err(_) => s.on_device(|d| d.alloc(v.bytes, MemoryPlace::Device))?,
    };
    if let Some(x) = s.variables.get_mut(&(shadow as usize)) {
        x.address = Some(address);
    }
    Ok((address, v.bytes))
}
