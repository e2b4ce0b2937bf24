//! Code on a device: PTX compiled by the driver, binaries, and what is in them.
use super::driver::{DriverContext, check, version};
use crate::{ExecError, KernelStats, LaunchConfiguration};
use cudarc::driver::sys::{self, CUfunction_attribute_enum as FnAttr, CUresult};
use std::ffi::{CStr, CString, c_void};

/// The highest level of optimisation, and the driver's default.
pub const HIGHEST: u32 = 4;

impl DriverContext {
    /// Compiles PTX for the device at an optimisation level up to [`HIGHEST`].
    pub fn load(&self, ptx: &str, level: u32) -> Result<LoadedCode, ExecError> {
        let text = CString::new(ptx).map_err(|_| ExecError::Compile("PTX holds a NUL".into()))?;
        let mut log = Log::new();
        let (mut options, mut values) = log.options(level);
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
        check("loading PTX", r).map_err(|e| log.with(&e))?;
        Ok(LoadedCode::from_module(module))
    }

    /// [`Context::load`] at the highest level, by threads beside each other: modules are compiled one at a time in a
    /// process, libraries are not. Drivers before 12.0 have no libraries.
    pub fn load_beside(&self, ptx: &str) -> Result<LoadedCode, ExecError> {
        if version().is_some_and(|v| v < 12000) {
            return self.load(ptx, HIGHEST);
        }
        let text = CString::new(ptx).map_err(|_| ExecError::Compile("PTX holds a NUL".into()))?;
        let mut log = Log::new();
        let (mut options, mut values) = log.options(HIGHEST);
        let mut library = std::ptr::null_mut();
        // SAFETY: as in `load`; there are no library options.
        let r = unsafe {
            sys::cuLibraryLoadData(
                &mut library,
                text.as_ptr().cast(),
                options.as_mut_ptr(),
                values.as_mut_ptr(),
                3,
                std::ptr::null_mut(),
                std::ptr::null_mut(),
                0,
            )
        };
        check("loading PTX", r).map_err(|e| log.with(&e))?;
        let mut module = std::ptr::null_mut();
        // SAFETY: the library was loaded.
        let r = unsafe { sys::cuLibraryGetModule(&mut module, library) };
        let found = check("loading PTX", r).map_err(|e| log.with(&e));
        // Made in any case: it unloads the library.
        let loaded = LoadedCode {
            module,
            library: Some((library, log)),
        };
        found.map(|()| loaded)
    }

    /// Assembles PTX to a binary that can be looked at, for [`Context::load_binary`]. The driver's linker makes it, as
    /// code to be linked: slow paths of divisions and roots are functions there, which cost registers and time.
    pub fn link(&self, ptx: &str) -> Result<Vec<u8>, ExecError> {
        let text = CString::new(ptx).map_err(|_| ExecError::Compile("PTX holds a NUL".into()))?;
        let mut log = Log::new();
        let (mut options, mut values) = log.options(HIGHEST);
        // SAFETY: options and values match in number and kind and outlive the link; the text is NUL
        // terminated, and its length counts the NUL; the binary is copied before the link goes.
        unsafe {
            let mut link = std::ptr::null_mut();
            check(
                "starting the assembler",
                sys::cuLinkCreate_v2(3, options.as_mut_ptr(), values.as_mut_ptr(), &mut link),
            )?;
            let added = sys::cuLinkAddData_v2(
                link,
                sys::CUjitInputType_enum::CU_JIT_INPUT_PTX,
                text.as_ptr().cast_mut().cast(),
                text.as_bytes_with_nul().len(),
                c"kernel.ptx".as_ptr(),
                0,
                std::ptr::null_mut(),
                std::ptr::null_mut(),
            );
            let (mut binary, mut size) = (std::ptr::null_mut(), 0);
            let result = check("assembling PTX", added)
                .and_then(|()| {
                    check(
                        "assembling PTX",
                        sys::cuLinkComplete(link, &mut binary, &mut size),
                    )
                })
                .map(|()| std::slice::from_raw_parts(binary.cast::<u8>(), size).to_vec());
            let _ = sys::cuLinkDestroy(link);
            result.map_err(|e| log.with(&e))
        }
    }

    /// Loads a binary made by [`Context::assemble`].
    pub fn load_binary(&self, binary: &[u8]) -> Result<LoadedCode, ExecError> {
        let mut module = std::ptr::null_mut();
        // SAFETY: the driver reads the image, whose header holds its size.
        check("loading a binary", unsafe {
            sys::cuModuleLoadData(&mut module, binary.as_ptr().cast())
        })?;
        Ok(LoadedCode::from_module(module))
    }
}

/// What the driver's compiler says where it fails. It writes here as long as what it compiled is loaded.
struct Log(Vec<u8>);

type JitOption = sys::CUjit_option_enum;

impl Log {
    fn new() -> Log {
        Log(vec![0; 16 * 1024])
    }

    /// Options and their values: this log, of its size, and a level of optimisation.
    fn options(&mut self, level: u32) -> ([JitOption; 3], [*mut c_void; 3]) {
        let options = [
            JitOption::CU_JIT_ERROR_LOG_BUFFER,
            JitOption::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
            JitOption::CU_JIT_OPTIMIZATION_LEVEL,
        ];
        let values = [
            self.0.as_mut_ptr().cast::<c_void>(),
            self.0.len() as *mut c_void,
            level as usize as *mut c_void,
        ];
        (options, values)
    }

    fn with(&self, e: &ExecError) -> ExecError {
        let log = CStr::from_bytes_until_nul(&self.0).unwrap_or_default();
        ExecError::Compile(format!("{e}: {}", log.to_string_lossy().trim()))
    }
}
/// A loaded module.
pub struct LoadedCode {
    module: sys::CUmodule,
    /// What the module is of, if it is of a library.
    library: Option<(sys::CUlibrary, Log)>,
}

// SAFETY: the driver's handles may be used by any thread in which the context is current.
unsafe impl Send for LoadedCode {}

impl Drop for LoadedCode {
    fn drop(&mut self) {
        // SAFETY: loaded in `Context::load`, or in `Context::load_beside` with its library.
        let _ = unsafe {
            match &self.library {
                Some((library, _)) => sys::cuLibraryUnload(*library),
                None => sys::cuModuleUnload(self.module),
            }
        };
    }
}

impl LoadedCode {
    fn from_module(module: sys::CUmodule) -> LoadedCode {
        LoadedCode {
            module,
            library: None,
        }
    }

    pub(super) fn function(&self, symbol: &str) -> Result<sys::CUfunction, ExecError> {
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

    /// Blocks of a kernel that the driver says fit on one multiprocessor.
    pub fn blocks_per_sm(&self, symbol: &str, threads: u32, shared: u32) -> Result<u32, ExecError> {
        let f = self.function(symbol)?;
        let mut n = 0;
        // SAFETY: the function is loaded and the out pointer valid.
        check("asking for the occupancy", unsafe {
            sys::cuOccupancyMaxActiveBlocksPerMultiprocessor(
                &mut n,
                f,
                threads as i32,
                shared as usize,
            )
        })?;
        Ok(n as u32)
    }

    /// Launches a kernel on a stream; null is the default one.
    pub fn launch(
        &self,
        launch: LaunchConfiguration,
        params: &mut [*mut c_void],
        stream: sys::CUstream,
    ) -> Result<(), ExecError> {
        let LaunchConfiguration {
            symbol,
            name,
            grid,
            block,
            dynamic_shared: shared,
        } = launch;
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
                stream,
                params.as_mut_ptr(),
                std::ptr::null_mut(),
            );
            check(&format!("launching {name}"), r).map_err(|e| match e {
                ExecError::Device { what, why } => ExecError::Launch {
                    what,
                    why,
                    // After a fault of a kernel every call fails.
                    context_lives: sys::cuCtxSynchronize() == CUresult::CUDA_SUCCESS,
                },
                e => e,
            })
        }
    }
}
