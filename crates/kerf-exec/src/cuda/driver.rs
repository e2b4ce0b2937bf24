//! The driver API, wrapped just enough: contexts, memory, events; modules are in [`super::code`].
//!
//! Every call's result is checked and named. After a sticky error (a kernel that trapped) the
//! context is dead; the worker process that holds it then ends.
use crate::ExecError;
use cudarc::driver::sys::{self, CUresult};
use std::ffi::CStr;

pub(super) fn check(what: &str, r: CUresult) -> Result<(), ExecError> {
    if r == CUresult::CUDA_SUCCESS {
        return Ok(());
    }
    let mut p = std::ptr::null();
    // SAFETY: the driver returns a static string or leaves the pointer null.
    let why = unsafe {
        let _ = sys::cuGetErrorString(r, &mut p);
        if p.is_null() {
            format!("{r:?}")
        } else {
            CStr::from_ptr(p).to_string_lossy().into_owned()
        }
    };
    Err(ExecError::Device {
        what: what.to_owned(),
        why,
    })
}

/// Is a CUDA driver installed?
pub fn present() -> bool {
    // SAFETY: tries to open the library and closes it again.
    unsafe { sys::is_culib_present() }
}

/// The driver's CUDA version by its number, 13000 for 13.0, where there is a driver that says it.
pub(super) fn version() -> Option<i32> {
    let mut v = 0;
    // SAFETY: the out pointer is valid.
    let r = unsafe { sys::cuDriverGetVersion(&mut v) };
    (r == CUresult::CUDA_SUCCESS).then_some(v)
}

/// Driver's CUDA version, such as `13.0`; `none` without a driver.
pub fn driver_version() -> String {
    if !present() {
        return "none".into();
    }
    match version() {
        Some(v) => format!("{}.{}", v / 1000, v % 1000 / 10),
        None => "unknown".into(),
    }
}

/// The primary context of a device, current on this thread.
pub struct DriverContext {
    device: sys::CUdevice,
    raw: sys::CUcontext,
    /// Device name.
    pub name: String,
    /// Compute capability, e.g. 90.
    pub capability: i32,
}

// SAFETY: the driver's handles may be used by any thread; where they need the context to be current, it is made so.
unsafe impl Send for DriverContext {}

impl Drop for DriverContext {
    fn drop(&mut self) {
        // SAFETY: retained in `new`.
        let _ = unsafe { sys::cuDevicePrimaryCtxRelease_v2(self.device) };
    }
}

impl DriverContext {
    /// Initialises the driver and finds a device.
    fn device(ordinal: i32) -> Result<sys::CUdevice, ExecError> {
        let missing = |why: String| ExecError::Missing {
            device: "cuda".into(),
            why,
        };
        if !present() {
            return Err(missing(
                "the NVIDIA driver (libcuda.so.1) is not installed".into(),
            ));
        }
        // SAFETY: out pointers are valid; the order of calls is the driver's.
        unsafe {
            check("initialising the driver", sys::cuInit(0)).map_err(|e| missing(e.to_string()))?;
            let mut n = 0;
            check("counting devices", sys::cuDeviceGetCount(&mut n))?;
            if ordinal >= n {
                return Err(missing(format!(
                    "device {ordinal} was asked for and there are {n}"
                )));
            }
            let mut device = 0;
            check("opening the device", sys::cuDeviceGet(&mut device, ordinal))?;
            Ok(device)
        }
    }

    fn capability_of(device: sys::CUdevice) -> Result<i32, ExecError> {
        use sys::CUdevice_attribute_enum as Attr;
        let get = |attribute| {
            let mut v = 0;
            // SAFETY: the out pointer is valid.
            let r = unsafe { sys::cuDeviceGetAttribute(&mut v, attribute, device) };
            check("reading an attribute", r).map(|()| v)
        };
        let major = get(Attr::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
        let minor = get(Attr::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
        Ok(major * 10 + minor)
    }

    /// Compute capability of a device, without a context, which takes a fraction of a second to make.
    pub fn capability_at(ordinal: i32) -> Result<i32, ExecError> {
        DriverContext::capability_of(DriverContext::device(ordinal)?)
    }

    /// Bytes of memory of a device.
    pub fn memory_at(ordinal: i32) -> Result<usize, ExecError> {
        DriverContext::memory_of(DriverContext::device(ordinal)?)
    }

    fn memory_of(device: sys::CUdevice) -> Result<usize, ExecError> {
        let mut memory = 0;
        // SAFETY: the out pointer is valid.
        check("reading the memory's size", unsafe {
            sys::cuDeviceTotalMem_v2(&mut memory, device)
        })?;
        Ok(memory)
    }

    /// Initialises the driver and makes the context current.
    pub fn new(ordinal: i32) -> Result<DriverContext, ExecError> {
        let device = DriverContext::device(ordinal)?;
        // SAFETY: out pointers are valid; the order of calls is the driver's.
        unsafe {
            let mut ctx = std::ptr::null_mut();
            check(
                "making a context",
                sys::cuDevicePrimaryCtxRetain(&mut ctx, device),
            )?;
            check("making the context current", sys::cuCtxSetCurrent(ctx))?;
            let mut name = [0u8; 128];
            check(
                "reading the device name",
                sys::cuDeviceGetName(name.as_mut_ptr().cast(), 127, device),
            )?;
            let name = CStr::from_bytes_until_nul(&name)
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            Ok(DriverContext {
                device,
                raw: ctx,
                name,
                capability: DriverContext::capability_of(device)?,
            })
        }
    }

    /// The driver's number of the device.
    pub(super) fn number(&self) -> i32 {
        self.device
    }

    /// Makes the context current on this thread, if it is not.
    pub(super) fn enter(&self) -> Result<(), ExecError> {
        thread_local! {
            static CURRENT: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
        }
        if CURRENT.with(std::cell::Cell::get) == self.raw as usize {
            return Ok(());
        }
        // SAFETY: a live context.
        check("making the context current", unsafe {
            sys::cuCtxSetCurrent(self.raw)
        })?;
        CURRENT.with(|c| c.set(self.raw as usize));
        Ok(())
    }

    /// An attribute by its number; 0 for one that the driver does not know.
    pub(super) fn attribute(&self, number: i32) -> Result<i32, ExecError> {
        type Get = unsafe fn(*mut i32, u32, sys::CUdevice) -> CUresult;
        // SAFETY: the driver's function, with its enumeration as the number that it is: the application
        // may ask for one that the declarations do not have.
        unsafe {
            let get = std::mem::transmute::<*const (), Get>(sys::cuDeviceGetAttribute as *const ());
            let mut v = 0;
            match get(&mut v, number as u32, self.device) {
                CUresult::CUDA_ERROR_INVALID_VALUE => Ok(0),
                r => check("reading an attribute", r).map(|()| v),
            }
        }
    }

    /// What the driver says of the device.
    pub fn attributes(&self) -> Result<Attributes, ExecError> {
        use sys::CUdevice_attribute_enum as A;
        let get = |a| {
            let mut v = 0;
            // SAFETY: the out pointer is valid.
            check("reading an attribute", unsafe {
                sys::cuDeviceGetAttribute(&mut v, a, self.device)
            })
            .map(|()| v as u32)
        };
        let memory = DriverContext::memory_of(self.device)?;
        Ok(Attributes {
            sms: get(A::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
            threads_per_sm: get(A::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR)?,
            blocks_per_sm: get(A::CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR)?,
            threads_per_block: get(A::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
            registers_per_sm: get(A::CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR)?,
            shared_per_sm: get(A::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR)?,
            shared_per_block: get(A::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?,
            shared_reserved: get(A::CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK)?,
            l2_bytes: get(A::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?,
            clock_khz: get(A::CU_DEVICE_ATTRIBUTE_CLOCK_RATE)?,
            memory_bytes: memory as u64,
        })
    }
}

/// What the driver says of a device.
#[derive(Debug, Clone)]
pub struct Attributes {
    /// Multiprocessors.
    pub sms: u32,
    /// Threads that fit on one.
    pub threads_per_sm: u32,
    /// Blocks that fit on one.
    pub blocks_per_sm: u32,
    /// Threads of a block.
    pub threads_per_block: u32,
    /// 32-bit registers of a multiprocessor.
    pub registers_per_sm: u32,
    /// Shared memory of a multiprocessor, in bytes.
    pub shared_per_sm: u32,
    /// Shared memory that a block may ask for, in bytes.
    pub shared_per_block: u32,
    /// Shared memory that the system takes of each block, in bytes.
    pub shared_reserved: u32,
    /// L2 cache in bytes.
    pub l2_bytes: u32,
    /// Highest clock in kHz.
    pub clock_khz: u32,
    /// Device memory in bytes.
    pub memory_bytes: u64,
}

/// A point on the default stream.
pub struct DriverEvent(sys::CUevent);

impl Drop for DriverEvent {
    fn drop(&mut self) {
        // SAFETY: created in `new`.
        let _ = unsafe { sys::cuEventDestroy_v2(self.0) };
    }
}

impl DriverEvent {
    /// A new event.
    pub fn new() -> Result<DriverEvent, ExecError> {
        let mut e = std::ptr::null_mut();
        // SAFETY: the out pointer is valid.
        check("making an event", unsafe { sys::cuEventCreate(&mut e, 0) })?;
        Ok(DriverEvent(e))
    }
    /// For other streams.
    pub(super) fn raw(&self) -> sys::CUevent {
        self.0
    }
    /// Puts it on the stream.
    pub fn record(&self) -> Result<(), ExecError> {
        // SAFETY: a live event.
        check("recording an event", unsafe {
            sys::cuEventRecord(self.0, std::ptr::null_mut())
        })
    }
    /// Waits for it.
    pub fn wait(&self) -> Result<(), ExecError> {
        // SAFETY: a live event.
        check("running the kernels", unsafe {
            sys::cuEventSynchronize(self.0)
        })
    }
    /// Seconds from an earlier event to this one.
    pub fn since(&self, start: &DriverEvent) -> Result<f64, ExecError> {
        let mut ms = 0.0f32;
        // SAFETY: both events are recorded and done.
        check("reading the clock", unsafe {
            sys::cuEventElapsedTime(&mut ms, start.0, self.0)
        })?;
        Ok(f64::from(ms) * 1e-3)
    }
}

/// Device memory.
pub fn alloc(bytes: usize, name: &str) -> Result<u64, ExecError> {
    let mut p = 0;
    // SAFETY: the out pointer is valid.
    check(&format!("allocating {bytes} bytes for {name}"), unsafe {
        sys::cuMemAlloc_v2(&mut p, bytes)
    })
    .map_err(|e| ExecError::Memory(e.to_string()))?;
    Ok(p)
}

/// Bytes of device memory that are free.
pub fn free_memory() -> Result<usize, ExecError> {
    let (mut free, mut all) = (0, 0);
    // SAFETY: the out pointers are valid.
    check("asking for free memory", unsafe {
        sys::cuMemGetInfo_v2(&mut free, &mut all)
    })?;
    Ok(free)
}

/// Frees device memory.
pub fn free(p: u64) {
    // SAFETY: allocated by `alloc`, freed once.
    let _ = unsafe { sys::cuMemFree_v2(p) };
}

/// Sets bytes.
pub fn fill(p: u64, value: u8, bytes: usize) -> Result<(), ExecError> {
    // SAFETY: the range belongs to the allocation.
    check("clearing memory", unsafe {
        sys::cuMemsetD8_v2(p, value, bytes)
    })
}

/// Copies to the device.
pub fn to_device(p: u64, data: &[u8]) -> Result<(), ExecError> {
    // SAFETY: the caller checked the length.
    check("copying to the device", unsafe {
        sys::cuMemcpyHtoD_v2(p, data.as_ptr().cast(), data.len())
    })
}

/// Copies from the device.
pub fn to_host(p: u64, bytes: usize) -> Result<Vec<u8>, ExecError> {
    let mut v = vec![0u8; bytes];
    // SAFETY: the vector has that many bytes.
    check("copying from the device", unsafe {
        sys::cuMemcpyDtoH_v2(v.as_mut_ptr().cast(), p, bytes)
    })?;
    Ok(v)
}

/// Copies on the device.
pub fn on_device(to: u64, from: u64, bytes: usize) -> Result<(), ExecError> {
    // SAFETY: the caller checked both lengths.
    check("copying on the device", unsafe {
        sys::cuMemcpyDtoD_v2(to, from, bytes)
    })
}
