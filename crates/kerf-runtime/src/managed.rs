//! `__managed__` variables: host code has one, the device another, and they are kept equal.
//!
//! Host code may touch them only while no kernel runs. So the host's value goes to the device before a
//! launch, unless a kernel may have changed the device's since; and the device's comes back when host code
//! has waited for the device.
use crate::error::CallFailure;
use crate::state::State;
use crate::variable;

/// Calls after which kernels are done.
const WAITING: &[&str] = &[
    "cudaDeviceSynchronize",
    "cudaStreamSynchronize",
    "cudaEventSynchronize",
    "cudaMemcpy",
    "cudaMemcpy2D",
    "cudaMemcpy3D",
    "cudaMemcpyFromSymbol",
    "cudaStreamQuery",
    "cudaEventQuery",
    "cuCtxSynchronize",
];

/// Gives a variable of host code its first value, if it is a managed one.
pub fn registered(s: &mut State, unit: usize, symbol: &str, shadow: usize, bytes: usize) {
    let marked = s.units[unit].meta.iter().flat_map(|m| &m.managed);
    let Some(m) = marked.into_iter().find(|m| m.symbol == symbol) else {
        return;
    };
    let first = m.bytes();
    // SAFETY: the shadow has that many bytes, and nothing runs yet.
    unsafe {
        std::ptr::copy_nonoverlapping(first.as_ptr(), shadow as *mut u8, first.len().min(bytes));
    }
    s.managed.push(shadow);
}

/// Before a launch.
pub fn to_device(s: &mut State) -> Result<(), CallFailure> {
    if s.managed.is_empty() {
        return Ok(());
    }
    if !s.managed_changed {
        for shadow in s.managed.clone() {
            let (at, bytes) = variable::find(s, shadow as *const _)?;
            s.on_device(|d| d.copy(at, shadow as u64, bytes, 0, true))?;
        }
    }
    s.managed_changed = true;
    Ok(())
}

/// After a call, if it waited for the device.
pub fn to_host(s: &mut State, call: &str) -> Result<(), CallFailure> {
    if s.managed.is_empty() || !s.managed_changed || !WAITING.contains(&call) {
        return Ok(());
    }
    for shadow in s.managed.clone() {
        let (at, bytes) = variable::find(s, shadow as *const _)?;
        s.on_device(|d| d.copy(shadow as u64, at, bytes, 0, true))?;
    }
    s.managed_changed = false;
    Ok(())
}
