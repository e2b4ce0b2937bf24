//! CUDA's error codes, the last error of each thread, and failures on the way to one.
use kerf_exec::ExecError;
use kerf_exec::cpu::launch::FaultKind;
use std::cell::Cell;
use std::ffi::CStr;

/// Code, name, text.
const TABLE: &[(i32, &CStr, &CStr)] = &[
    (0, c"cudaSuccess", c"no error"),
    (1, c"cudaErrorInvalidValue", c"invalid argument"),
    (2, c"cudaErrorMemoryAllocation", c"out of memory"),
    (3, c"cudaErrorInitializationError", c"initialization error"),
    (4, c"cudaErrorCudartUnloading", c"driver shutting down"),
    (5, c"cudaErrorProfilerDisabled", c"profiler disabled"),
    (
        6,
        c"cudaErrorProfilerNotInitialized",
        c"profiler not initialized",
    ),
    (
        7,
        c"cudaErrorProfilerAlreadyStarted",
        c"profiler already started",
    ),
    (
        8,
        c"cudaErrorProfilerAlreadyStopped",
        c"profiler already stopped",
    ),
    (
        9,
        c"cudaErrorInvalidConfiguration",
        c"invalid configuration argument",
    ),
    (12, c"cudaErrorInvalidPitchValue", c"invalid pitch argument"),
    (13, c"cudaErrorInvalidSymbol", c"invalid device symbol"),
    (16, c"cudaErrorInvalidHostPointer", c"invalid host pointer"),
    (
        17,
        c"cudaErrorInvalidDevicePointer",
        c"invalid device pointer",
    ),
    (18, c"cudaErrorInvalidTexture", c"invalid texture"),
    (
        19,
        c"cudaErrorInvalidTextureBinding",
        c"invalid texture binding",
    ),
    (
        20,
        c"cudaErrorInvalidChannelDescriptor",
        c"invalid channel descriptor",
    ),
    (
        21,
        c"cudaErrorInvalidMemcpyDirection",
        c"invalid copy direction for memcpy",
    ),
    (22, c"cudaErrorAddressOfConstant", c"address of constant"),
    (23, c"cudaErrorTextureFetchFailed", c"texture fetch failed"),
    (24, c"cudaErrorTextureNotBound", c"texture not bound"),
    (
        25,
        c"cudaErrorSynchronizationError",
        c"synchronization error",
    ),
    (
        26,
        c"cudaErrorInvalidFilterSetting",
        c"invalid filter setting",
    ),
    (27, c"cudaErrorInvalidNormSetting", c"invalid norm setting"),
    (
        28,
        c"cudaErrorMixedDeviceExecution",
        c"mixed device execution",
    ),
    (31, c"cudaErrorNotYetImplemented", c"not yet implemented"),
    (
        32,
        c"cudaErrorMemoryValueTooLarge",
        c"memory value too large",
    ),
    (34, c"cudaErrorStubLibrary", c"stub library"),
    (
        35,
        c"cudaErrorInsufficientDriver",
        c"CUDA driver version is insufficient for CUDA runtime version",
    ),
    (
        36,
        c"cudaErrorCallRequiresNewerDriver",
        c"call requires newer driver",
    ),
    (37, c"cudaErrorInvalidSurface", c"invalid surface"),
    (
        43,
        c"cudaErrorDuplicateVariableName",
        c"duplicate variable name",
    ),
    (
        44,
        c"cudaErrorDuplicateTextureName",
        c"duplicate texture name",
    ),
    (
        45,
        c"cudaErrorDuplicateSurfaceName",
        c"duplicate surface name",
    ),
    (
        46,
        c"cudaErrorDevicesUnavailable",
        c"all CUDA-capable devices are busy or unavailable",
    ),
    (
        49,
        c"cudaErrorIncompatibleDriverContext",
        c"incompatible driver context",
    ),
    (
        52,
        c"cudaErrorMissingConfiguration",
        c"__global__ function call is not configured",
    ),
    (53, c"cudaErrorPriorLaunchFailure", c"prior launch failure"),
    (
        65,
        c"cudaErrorLaunchMaxDepthExceeded",
        c"launch max depth exceeded",
    ),
    (
        66,
        c"cudaErrorLaunchFileScopedTex",
        c"launch file scoped tex",
    ),
    (
        67,
        c"cudaErrorLaunchFileScopedSurf",
        c"launch file scoped surf",
    ),
    (68, c"cudaErrorSyncDepthExceeded", c"sync depth exceeded"),
    (
        69,
        c"cudaErrorLaunchPendingCountExceeded",
        c"launch pending count exceeded",
    ),
    (
        98,
        c"cudaErrorInvalidDeviceFunction",
        c"invalid device function",
    ),
    (
        100,
        c"cudaErrorNoDevice",
        c"no CUDA-capable device is detected",
    ),
    (101, c"cudaErrorInvalidDevice", c"invalid device ordinal"),
    (102, c"cudaErrorDeviceNotLicensed", c"device not licensed"),
    (
        103,
        c"cudaErrorSoftwareValidityNotEstablished",
        c"software validity not established",
    ),
    (127, c"cudaErrorStartupFailure", c"startup failure"),
    (
        200,
        c"cudaErrorInvalidKernelImage",
        c"device kernel image is invalid",
    ),
    (
        201,
        c"cudaErrorDeviceUninitialized",
        c"invalid device context",
    ),
    (
        205,
        c"cudaErrorMapBufferObjectFailed",
        c"map buffer object failed",
    ),
    (
        206,
        c"cudaErrorUnmapBufferObjectFailed",
        c"unmap buffer object failed",
    ),
    (207, c"cudaErrorArrayIsMapped", c"array is mapped"),
    (208, c"cudaErrorAlreadyMapped", c"already mapped"),
    (
        209,
        c"cudaErrorNoKernelImageForDevice",
        c"no kernel image is available for execution on the device",
    ),
    (210, c"cudaErrorAlreadyAcquired", c"already acquired"),
    (211, c"cudaErrorNotMapped", c"not mapped"),
    (212, c"cudaErrorNotMappedAsArray", c"not mapped as array"),
    (
        213,
        c"cudaErrorNotMappedAsPointer",
        c"not mapped as pointer",
    ),
    (214, c"cudaErrorECCUncorrectable", c"e c c uncorrectable"),
    (215, c"cudaErrorUnsupportedLimit", c"unsupported limit"),
    (
        216,
        c"cudaErrorDeviceAlreadyInUse",
        c"device already in use",
    ),
    (
        217,
        c"cudaErrorPeerAccessUnsupported",
        c"peer access is not supported between these two devices",
    ),
    (218, c"cudaErrorInvalidPtx", c"a PTX JIT compilation failed"),
    (
        219,
        c"cudaErrorInvalidGraphicsContext",
        c"invalid graphics context",
    ),
    (
        220,
        c"cudaErrorNvlinkUncorrectable",
        c"nvlink uncorrectable",
    ),
    (
        221,
        c"cudaErrorJitCompilerNotFound",
        c"jit compiler not found",
    ),
    (
        222,
        c"cudaErrorUnsupportedPtxVersion",
        c"unsupported ptx version",
    ),
    (
        223,
        c"cudaErrorJitCompilationDisabled",
        c"jit compilation disabled",
    ),
    (
        224,
        c"cudaErrorUnsupportedExecAffinity",
        c"unsupported exec affinity",
    ),
    (
        225,
        c"cudaErrorUnsupportedDevSideSync",
        c"unsupported dev side sync",
    ),
    (226, c"cudaErrorContained", c"contained"),
    (300, c"cudaErrorInvalidSource", c"invalid source"),
    (301, c"cudaErrorFileNotFound", c"file not found"),
    (
        302,
        c"cudaErrorSharedObjectSymbolNotFound",
        c"shared object symbol not found",
    ),
    (
        303,
        c"cudaErrorSharedObjectInitFailed",
        c"shared object init failed",
    ),
    (304, c"cudaErrorOperatingSystem", c"operating system"),
    (
        400,
        c"cudaErrorInvalidResourceHandle",
        c"invalid resource handle",
    ),
    (401, c"cudaErrorIllegalState", c"illegal state"),
    (402, c"cudaErrorLossyQuery", c"lossy query"),
    (500, c"cudaErrorSymbolNotFound", c"named symbol not found"),
    (600, c"cudaErrorNotReady", c"device not ready"),
    (
        700,
        c"cudaErrorIllegalAddress",
        c"an illegal memory access was encountered",
    ),
    (
        701,
        c"cudaErrorLaunchOutOfResources",
        c"too many resources requested for launch",
    ),
    (
        702,
        c"cudaErrorLaunchTimeout",
        c"the launch timed out and was terminated",
    ),
    (
        703,
        c"cudaErrorLaunchIncompatibleTexturing",
        c"launch incompatible texturing",
    ),
    (
        704,
        c"cudaErrorPeerAccessAlreadyEnabled",
        c"peer access is already enabled",
    ),
    (
        705,
        c"cudaErrorPeerAccessNotEnabled",
        c"peer access has not been enabled",
    ),
    (
        708,
        c"cudaErrorSetOnActiveProcess",
        c"set on active process",
    ),
    (709, c"cudaErrorContextIsDestroyed", c"context is destroyed"),
    (710, c"cudaErrorAssert", c"device-side assert triggered"),
    (711, c"cudaErrorTooManyPeers", c"too many peers"),
    (
        712,
        c"cudaErrorHostMemoryAlreadyRegistered",
        c"part or all of the requested memory range is already mapped",
    ),
    (
        713,
        c"cudaErrorHostMemoryNotRegistered",
        c"pointer does not correspond to a registered memory region",
    ),
    (714, c"cudaErrorHardwareStackError", c"hardware stack error"),
    (
        715,
        c"cudaErrorIllegalInstruction",
        c"an illegal instruction was encountered",
    ),
    (716, c"cudaErrorMisalignedAddress", c"misaligned address"),
    (
        717,
        c"cudaErrorInvalidAddressSpace",
        c"invalid address space",
    ),
    (718, c"cudaErrorInvalidPc", c"invalid pc"),
    (
        719,
        c"cudaErrorLaunchFailure",
        c"unspecified launch failure",
    ),
    (
        720,
        c"cudaErrorCooperativeLaunchTooLarge",
        c"too many blocks in cooperative launch",
    ),
    (721, c"cudaErrorTensorMemoryLeak", c"tensor memory leak"),
    (800, c"cudaErrorNotPermitted", c"not permitted"),
    (801, c"cudaErrorNotSupported", c"operation not supported"),
    (802, c"cudaErrorSystemNotReady", c"system not ready"),
    (
        803,
        c"cudaErrorSystemDriverMismatch",
        c"system driver mismatch",
    ),
    (
        804,
        c"cudaErrorCompatNotSupportedOnDevice",
        c"compat not supported on device",
    ),
    (
        805,
        c"cudaErrorMpsConnectionFailed",
        c"mps connection failed",
    ),
    (806, c"cudaErrorMpsRpcFailure", c"mps rpc failure"),
    (807, c"cudaErrorMpsServerNotReady", c"mps server not ready"),
    (
        808,
        c"cudaErrorMpsMaxClientsReached",
        c"mps max clients reached",
    ),
    (
        809,
        c"cudaErrorMpsMaxConnectionsReached",
        c"mps max connections reached",
    ),
    (
        810,
        c"cudaErrorMpsClientTerminated",
        c"mps client terminated",
    ),
    (811, c"cudaErrorCdpNotSupported", c"cdp not supported"),
    (812, c"cudaErrorCdpVersionMismatch", c"cdp version mismatch"),
    (
        900,
        c"cudaErrorStreamCaptureUnsupported",
        c"stream capture unsupported",
    ),
    (
        901,
        c"cudaErrorStreamCaptureInvalidated",
        c"stream capture invalidated",
    ),
    (902, c"cudaErrorStreamCaptureMerge", c"stream capture merge"),
    (
        903,
        c"cudaErrorStreamCaptureUnmatched",
        c"stream capture unmatched",
    ),
    (
        904,
        c"cudaErrorStreamCaptureUnjoined",
        c"stream capture unjoined",
    ),
    (
        905,
        c"cudaErrorStreamCaptureIsolation",
        c"stream capture isolation",
    ),
    (
        906,
        c"cudaErrorStreamCaptureImplicit",
        c"stream capture implicit",
    ),
    (907, c"cudaErrorCapturedEvent", c"captured event"),
    (
        908,
        c"cudaErrorStreamCaptureWrongThread",
        c"stream capture wrong thread",
    ),
    (909, c"cudaErrorTimeout", c"timeout"),
    (
        910,
        c"cudaErrorGraphExecUpdateFailure",
        c"graph exec update failure",
    ),
    (911, c"cudaErrorExternalDevice", c"external device"),
    (912, c"cudaErrorInvalidClusterSize", c"invalid cluster size"),
    (913, c"cudaErrorFunctionNotLoaded", c"function not loaded"),
    (
        914,
        c"cudaErrorInvalidResourceType",
        c"invalid resource type",
    ),
    (
        915,
        c"cudaErrorInvalidResourceConfiguration",
        c"invalid resource configuration",
    ),
    (999, c"cudaErrorUnknown", c"unknown error"),
];

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
    pub const NOT_READY: i32 = 600;
    pub const ILLEGAL_ADDRESS: i32 = 700;
    pub const TIMEOUT: i32 = 702;
    pub const ASSERT: i32 = 710;
    pub const LAUNCH_FAILURE: i32 = 719;
    pub const NOT_SUPPORTED: i32 = 801;
    pub const UNKNOWN: i32 = 999;
}

/// Why a call failed.
#[derive(Debug, Clone)]
pub struct Failed {
    /// CUDA's code.
    pub code: i32,
    /// What is said on standard error, where the code alone says too little.
    pub message: Option<String>,
    /// Does every later call fail with it?
    pub sticky: bool,
}

impl From<i32> for Failed {
    fn from(code: i32) -> Failed {
        Failed {
            code,
            message: None,
            sticky: false,
        }
    }
}

impl Failed {
    /// With words.
    pub fn new(code: i32, message: impl Into<String>) -> Failed {
        Failed {
            message: Some(message.into()),
            ..Failed::from(code)
        }
    }
    /// From an executor; `driver` is the code that a driver gave last.
    pub fn of(e: ExecError, driver: i32) -> Failed {
        match &e {
            ExecError::Memory(_) => Failed::from(code::OUT_OF_MEMORY),
            ExecError::NoKernel(_) => Failed::new(code::INVALID_DEVICE_FUNCTION, e.to_string()),
            ExecError::NoSymbol(_) => Failed::from(code::INVALID_SYMBOL),
            ExecError::Missing { .. } => Failed::new(code::NO_DEVICE, e.to_string()),
            ExecError::Compile(_) => Failed::new(code::INVALID_IMAGE, e.to_string()),
            ExecError::Fault(f) => Failed {
                code: match f.kind {
                    FaultKind::Trap => code::LAUNCH_FAILURE,
                    FaultKind::Assert => code::ASSERT,
                    FaultKind::Memory => code::ILLEGAL_ADDRESS,
                    FaultKind::Deadlock => code::TIMEOUT,
                },
                message: Some(e.to_string()),
                sticky: true,
            },
            _ => Failed::from(driver),
        }
    }
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
    let sticky = crate::state::sticky();
    let last = LAST.with(|l| l.replace(0));
    if sticky != 0 { sticky } else { last }
}

#[unsafe(no_mangle)]
extern "C" fn cudaPeekAtLastError() -> i32 {
    let sticky = crate::state::sticky();
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
