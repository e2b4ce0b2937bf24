//! CUDA's error codes, the last error of each thread, and failures on the way to one.
mod table;

use kerf_exec::ExecError;
use kerf_exec::cpu::launch::FaultKind;
use std::cell::Cell;
use std::ffi::CStr;
use std::sync::atomic::{AtomicI32, Ordering};
use table::TABLE;

/// Codes that this crate names itself.
pub mod code {
    pub const SUCCESS: i32 = 0;
    pub const INVALID_VALUE: i32 = 1;
    pub const OUT_OF_MEMORY: i32 = 2;
    pub const INVALID_CONFIGURATION: i32 = 9;
    pub const INVALID_SYMBOL: i32 = 13;
    pub const INVALID_DEVICE_FUNCTION: i32 = 98;
    pub const NO_DEVICE: i32 = 100;
    pub const INVALID_DEVICE: i32 = 101;
    pub const INVALID_IMAGE: i32 = 200;
    pub const NO_BINARY: i32 = 209;
    pub const INVALID_PTX: i32 = 218;
    pub const FILE_NOT_FOUND: i32 = 301;
    pub const INVALID_HANDLE: i32 = 400;
    pub const NOT_FOUND: i32 = 500;
    pub const NOT_READY: i32 = 600;
    pub const ILLEGAL_ADDRESS: i32 = 700;
    pub const MISALIGNED_ADDRESS: i32 = 716;
    pub const TIMEOUT: i32 = 702;
    pub const ASSERT: i32 = 710;
    pub const HARDWARE_STACK: i32 = 714;
    pub const LAUNCH_FAILURE: i32 = 719;
    pub const COOPERATIVE_TOO_LARGE: i32 = 720;
    pub const NOT_SUPPORTED: i32 = 801;
    pub const UNKNOWN: i32 = 999;
}

/// Why a call failed.
#[derive(Debug, Clone)]
pub struct CallFailure {
    /// CUDA's code.
    pub code: i32,
    /// What is said on standard error, where the code alone says too little.
    pub message: Option<String>,
    /// Does every later call fail with it?
    pub sticky: bool,
}

impl From<i32> for CallFailure {
    fn from(code: i32) -> CallFailure {
        CallFailure {
            code,
            message: None,
            sticky: false,
        }
    }
}

impl CallFailure {
    /// With words.
    pub fn new(code: i32, message: impl Into<String>) -> CallFailure {
        CallFailure {
            message: Some(message.into()),
            ..CallFailure::from(code)
        }
    }
    /// From an executor; `driver` is the code that a driver gave last.
    pub fn from_executor(e: ExecError, driver: i32) -> CallFailure {
        match &e {
            ExecError::Memory(_) => CallFailure::from(code::OUT_OF_MEMORY),
            ExecError::NoKernel(_) => {
                CallFailure::new(code::INVALID_DEVICE_FUNCTION, e.to_string())
            }
            ExecError::NoSymbol(_) => CallFailure::from(code::INVALID_SYMBOL),
            ExecError::Missing { .. } => CallFailure::new(code::NO_DEVICE, e.to_string()),
            ExecError::Compile(_) => CallFailure::new(code::INVALID_IMAGE, e.to_string()),
            ExecError::Fault(f) => CallFailure {
                code: match f.kind {
                    FaultKind::Trap => code::LAUNCH_FAILURE,
                    FaultKind::Assert => code::ASSERT,
                    FaultKind::Memory => code::ILLEGAL_ADDRESS,
                    FaultKind::Alignment => code::MISALIGNED_ADDRESS,
                    FaultKind::Deadlock => code::TIMEOUT,
                    FaultKind::Stack => code::HARDWARE_STACK,
                    _ => code::LAUNCH_FAILURE,
                },
                message: Some(match f.kind.checked_name() {
                    Some(_) => format!("memcheck: {e}"),
                    None => e.to_string(),
                }),
                sticky: true,
            },
            // A driver's code that was not kept is no success.
            _ if driver == code::SUCCESS => CallFailure::new(code::UNKNOWN, e.to_string()),
            _ => CallFailure::from(driver),
        }
    }
}

static STICKY: AtomicI32 = AtomicI32::new(0);

/// The error that every call gives since a kernel failed; 0 if none did.
pub fn sticky() -> i32 {
    STICKY.load(Ordering::Relaxed)
}

/// From now on every call gives this error.
pub fn set_sticky(code: i32) {
    STICKY.store(code, Ordering::Relaxed);
}

/// Makes later calls work again, as `cudaDeviceReset` does.
pub fn clear_sticky() {
    STICKY.store(0, Ordering::Relaxed);
}

thread_local! {
    static LAST: Cell<i32> = const { Cell::new(0) };
}

/// Notes a call's result for `cudaGetLastError`.
pub fn note(code: i32) -> i32 {
    // "Not ready" is an answer, not an error.
    if code != code::SUCCESS && code != code::NOT_READY {
        LAST.with(|l| l.set(code));
    }
    code
}

fn entry(code: i32) -> Option<&'static (i32, &'static CStr, &'static CStr)> {
    TABLE.iter().find(|e| e.0 == code)
}

/// The name of a code.
pub fn name(code: i32) -> &'static CStr {
    entry(code).map_or(c"unrecognized error code", |e| e.1)
}

/// The text of a code.
pub fn text(code: i32) -> &'static CStr {
    entry(code).map_or(c"unrecognized error code", |e| e.2)
}

#[unsafe(no_mangle)]
extern "C" fn cudaGetLastError() -> i32 {
    let sticky = sticky();
    let last = LAST.with(|l| l.replace(0));
    if sticky != 0 { sticky } else { last }
}

#[unsafe(no_mangle)]
extern "C" fn cudaPeekAtLastError() -> i32 {
    let sticky = sticky();
    if sticky != 0 {
        sticky
    } else {
        LAST.with(Cell::get)
    }
}

#[unsafe(no_mangle)]
extern "C" fn cudaGetErrorString(code: i32) -> *const libc::c_char {
    text(code).as_ptr()
}

#[unsafe(no_mangle)]
extern "C" fn cudaGetErrorName(code: i32) -> *const libc::c_char {
    name(code).as_ptr()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_have_cudas_names_and_texts() {
        assert_eq!(name(700), c"cudaErrorIllegalAddress");
        assert_eq!(text(2), c"out of memory");
        assert_eq!(name(12345), c"unrecognized error code");
        note(9);
        note(600);
        assert_eq!(LAST.with(Cell::get), 9);
    }
}
