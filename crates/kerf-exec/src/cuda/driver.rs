//! The driver API, wrapped just enough: contexts, modules, memory, events.
//!
//! Every call's result is checked and named. After a sticky error (a kernel that trapped) the
//! context is dead; the worker process that holds it then ends.
use crate::{ExecError, KernelStats};
use cudarc::driver::sys::{self, CUfunction_attribute_enum as FnAttr, CUresult};
use std::ffi::{CStr, CString, c_void};

fn check(what: &str, r: CUresult) -> Result<(), ExecError> {
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

/// Driver's CUDA version, such as `13.0`; `none` without a driver.
pub fn driver_version() -> String {
    if !present() {
        return "none".into();
    }
    let mut v = 0;
    // SAFETY: the out pointer is valid.
    match unsafe { sys::cuDriverGetVersion(&mut v) } {
        CUresult::CUDA_SUCCESS => format!("{}.{}", v / 1000, v % 1000 / 10),
        _ => "unknown".into(),
    }
}

/// The primary context of a device, current on this thread.
pub struct Context {
    device: sys::CUdevice,
    /// Device name.
    pub name: String,
    /// Compute capability, e.g. 90.
    pub capability: i32,
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: retained in `new`.
        let _ = unsafe { sys::cuDevicePrimaryCtxRelease_v2(self.device) };
    }
}

impl Context {
    /// Initialises the driver and makes the context current.
    pub fn new(ordinal: i32) -> Result<Context, ExecError> {
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
            let (mut major, mut minor) = (0, 0);
            use sys::CUdevice_attribute_enum as Attr;
            check(
                "reading an attribute",
                sys::cuDeviceGetAttribute(
                    &mut major,
                    Attr::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
                    device,
                ),
            )?;
            check(
                "reading an attribute",
                sys::cuDeviceGetAttribute(
                    &mut minor,
                    Attr::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
                    device,
                ),
            )?;
            Ok(Context {
                device,
                name,
                capability: major * 10 + minor,
            })
        }
    }

    /// Compiles PTX for the device at an optimisation level from 0 to 4 (4 is the driver's default).
    pub fn load(&self, ptx: &str, level: u32) -> Result<Loaded, ExecError> {
        let text = CString::new(ptx).map_err(|_| ExecError::Compile("PTX holds a NUL".into()))?;
        let mut log = vec![0u8; 16 * 1024];
        use sys::CUjit_option_enum as Opt;
        let mut options = [
            Opt::CU_JIT_ERROR_LOG_BUFFER,
            Opt::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
            Opt::CU_JIT_OPTIMIZATION_LEVEL,
        ];
        let mut values = [
            log.as_mut_ptr().cast::<c_void>(),
            log.len() as *mut c_void,
            level as usize as *mut c_void,
        ];
        let mut module = std::ptr::null_mut();
        // SAFETY: the text is NUL terminated; options and values match in number and kind.
        let r = unsafe {
            sys::cuModuleLoadDataEx(
                &mut module,
                text.as_ptr().cast(),
                3,
                options.as_mut_ptr(),
                values.as_mut_ptr(),
            )
        };
        check("loading PTX", r).map_err(|e| {
            let log = CStr::from_bytes_until_nul(&log)
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            ExecError::Compile(format!("{e}: {}", log.trim()))
        })?;
        Ok(Loaded { module })
    }
}

/// A loaded module.
pub struct Loaded {
    module: sys::CUmodule,
}

impl Drop for Loaded {
    fn drop(&mut self) {
        // SAFETY: loaded in `Context::load`.
        let _ = unsafe { sys::cuModuleUnload(self.module) };
    }
}

impl Loaded {
    fn function(&self, symbol: &str) -> Result<sys::CUfunction, ExecError> {
        let c = CString::new(symbol).map_err(|_| ExecError::NoKernel(symbol.into()))?;
        let mut f = std::ptr::null_mut();
        // SAFETY: the module is loaded and the name a C string.
        check("finding a kernel", unsafe {
            sys::cuModuleGetFunction(&mut f, self.module, c.as_ptr())
        })
        .map_err(|_| ExecError::NoKernel(symbol.into()))?;
        Ok(f)
    }

    /// Address and size of a variable.
    pub fn global(&self, symbol: &str) -> Result<(u64, usize), ExecError> {
        let c = CString::new(symbol).map_err(|_| ExecError::NoSymbol(symbol.into()))?;
        let (mut p, mut n) = (0, 0);
        // SAFETY: as in `function`.
        check("finding a variable", unsafe {
            sys::cuModuleGetGlobal_v2(&mut p, &mut n, self.module, c.as_ptr())
        })
        .map_err(|_| ExecError::NoSymbol(symbol.into()))?;
        Ok((p, n))
    }

    /// Resources of a kernel.
    pub fn stats(&self, symbol: &str) -> Result<KernelStats, ExecError> {
        let f = self.function(symbol)?;
        let get = |a| {
            let mut v = 0;
            // SAFETY: the out pointer is valid.
            check("reading a kernel attribute", unsafe {
                sys::cuFuncGetAttribute(&mut v, a, f)
            })
            .map(|()| v as u32)
        };
        Ok(KernelStats {
            symbol: symbol.into(),
            registers: Some(get(FnAttr::CU_FUNC_ATTRIBUTE_NUM_REGS)?),
            shared_bytes: Some(get(FnAttr::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)?),
            local_bytes: Some(get(FnAttr::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)?),
            max_threads: Some(get(FnAttr::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?),
            modelled: Vec::new(),
            note: None,
        })
    }

    /// Launches a kernel on the default stream.
    pub fn launch(
        &self,
        symbol: &str,
        name: &str,
        grid: [u32; 3],
        block: [u32; 3],
        shared: u32,
        params: &mut [*mut c_void],
    ) -> Result<(), ExecError> {
        let f = self.function(symbol)?;
        // SAFETY: the parameters match the kernel's signature, which the workload checked.
        unsafe {
            if shared > 48 * 1024 {
                let a = FnAttr::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
                check(
                    &format!("asking for {shared} bytes of shared memory for {name}"),
                    sys::cuFuncSetAttribute(f, a, shared as i32),
                )?;
            }
            let r = sys::cuLaunchKernel(
                f,
                grid[0],
                grid[1],
                grid[2],
                block[0],
                block[1],
                block[2],
                shared,
                std::ptr::null_mut(),
                params.as_mut_ptr(),
                std::ptr::null_mut(),
            );
            check(&format!("launching {name}"), r)
        }
    }
}

/// A point on the default stream.
pub struct Event(sys::CUevent);

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: created in `new`.
        let _ = unsafe { sys::cuEventDestroy_v2(self.0) };
    }
}

impl Event {
    /// A new event.
    pub fn new() -> Result<Event, ExecError> {
        let mut e = std::ptr::null_mut();
        // SAFETY: the out pointer is valid.
        check("making an event", unsafe { sys::cuEventCreate(&mut e, 0) })?;
        Ok(Event(e))
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
    pub fn since(&self, start: &Event) -> Result<f64, ExecError> {
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
