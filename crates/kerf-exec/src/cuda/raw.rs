//! A GPU as a device for applications, through the driver API.
use super::code::{HIGHEST, LoadedCode};
use super::driver::{DriverContext, check};
use super::fixed_memory::CudaFixedMemory;
use crate::raw::{MemoryPlace, RawDevice, RawLaunch, Rectangle};
use crate::{DeviceKind, ExecError, KernelStats};
use cudarc::driver::sys::{self, CUresult};
use kerf_ir::blob::{CodeImage, ImageKind};
use kerf_llvm::Module;
use std::collections::BTreeMap;

struct Program {
    functions: BTreeMap<String, sys::CUfunction>,
    loaded: LoadedCode,
}

/// A GPU.
pub struct CudaDevice {
    programs: Vec<Program>,
    context: DriverContext,
    /// Where device memory is, at addresses that other processes have too.
    fixed: Option<CudaFixedMemory>,
    last: i32,
}

impl CudaDevice {
    /// Device `ordinal`, with its primary context.
    pub fn new(ordinal: i32) -> Result<CudaDevice, ExecError> {
        Ok(CudaDevice {
            programs: Vec::new(),
            context: DriverContext::new(ordinal)?,
            fixed: None,
            last: 0,
        })
    }

    fn check(&mut self, what: &str, r: CUresult) -> Result<(), ExecError> {
        self.last = r as i32;
        check(what, r)
    }

    fn function(&mut self, program: usize, symbol: &str) -> Result<sys::CUfunction, ExecError> {
        let p = self
            .programs
            .get_mut(program)
            .ok_or_else(|| ExecError::NoKernel(symbol.into()))?;
        if let Some(f) = p.functions.get(symbol) {
            return Ok(*f);
        }
        let f = p.loaded.function(symbol)?;
        p.functions.insert(symbol.to_owned(), f);
        Ok(f)
    }

    /// More dynamic shared memory than every kernel may have has to be asked for.
    fn allow(&mut self, f: sys::CUfunction, shared: u32) -> Result<(), ExecError> {
        if shared <= 48 * 1024 {
            return Ok(());
        }
        let a = sys::CUfunction_attribute_enum::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        // SAFETY: a function that is loaded.
        let r = unsafe { sys::cuFuncSetAttribute(f, a, shared as i32) };
        self.check("asking for shared memory", r)
    }
}

fn stream_of(s: u64) -> sys::CUstream {
    s as usize as sys::CUstream
}

fn event_of(e: u64) -> sys::CUevent {
    e as usize as sys::CUevent
}

impl RawDevice for CudaDevice {
    fn kind(&self) -> DeviceKind {
        DeviceKind::Cuda
    }
    fn name(&self) -> String {
        self.context.name.clone()
    }
    fn last_code(&self) -> i32 {
        self.last
    }
    fn enter(&mut self) -> Result<(), ExecError> {
        self.context.enter()
    }
    fn load(&mut self, finished: &Module, arch: &str) -> Result<usize, ExecError> {
        let ptx = kerf_ir::finish::ptx(finished, arch).map_err(|e| ExecError::Compile(e.0))?;
        let loaded = self.context.load(&ptx, 4)?;
        self.programs.push(Program {
            functions: BTreeMap::new(),
            loaded,
        });
        Ok(self.programs.len() - 1)
    }
    fn image(
        &mut self,
        finished: &Module,
        arch: &str,
    ) -> Result<Option<(CodeImage, Vec<u8>)>, ExecError> {
        // The driver keeps what it assembles by itself.
        let ptx = kerf_ir::finish::ptx(finished, arch).map_err(|e| ExecError::Compile(e.0))?;
        let image = CodeImage {
            kind: ImageKind::Ptx,
            target: arch.to_owned(),
            bytes: ptx.len(),
            about: serde_json::Value::Null,
        };
        Ok(Some((image, ptx.into_bytes())))
    }
    fn load_kept(&mut self, image: &CodeImage, bytes: &[u8]) -> Result<Option<usize>, ExecError> {
        if !image.suits_gpu(self.context.capability as u64) {
            return Ok(None);
        }
        let loaded = match image.kind {
            ImageKind::Cubin => {
                // In the program it lies anywhere; memory of its own is aligned.
                let aligned = bytes.to_vec();
                self.context.load_binary(&aligned)?
            }
            ImageKind::Ptx => self
                .context
                .load(&String::from_utf8_lossy(bytes), HIGHEST)?,
            ImageKind::Host => return Ok(None),
        };
        self.programs.push(Program {
            functions: BTreeMap::new(),
            loaded,
        });
        Ok(Some(self.programs.len() - 1))
    }
    fn variable(&mut self, program: usize, symbol: &str) -> Result<(u64, usize), ExecError> {
        match self.programs.get(program) {
            Some(p) => p.loaded.global(symbol),
            None => Err(ExecError::NoSymbol(symbol.into())),
        }
    }
    fn launch(&mut self, program: usize, l: &mut RawLaunch) -> Result<Vec<u8>, ExecError> {
        let f = self.function(program, l.symbol)?;
        let [gx, gy, gz] = l.grid;
        let [bx, by, bz] = l.block;
        let (shared, args) = (l.shared, l.args.as_mut_ptr());
        self.allow(f, shared)?;
        // SAFETY: the arguments are as the kernel's signature takes them; shape and stream are the application's, as for CUDA.
        unsafe {
            let s = stream_of(l.stream);
            let r = if l.cooperative {
                sys::cuLaunchCooperativeKernel(f, gx, gy, gz, bx, by, bz, shared, s, args)
            } else {
                let none = std::ptr::null_mut();
                sys::cuLaunchKernel(f, gx, gy, gz, bx, by, bz, shared, s, args, none)
            };
            self.check("launching a kernel", r)?;
        }
        Ok(Vec::new())
    }
    fn stats(&mut self, program: usize, symbol: &str) -> Result<KernelStats, ExecError> {
        match self.programs.get(program) {
            Some(p) => p.loaded.stats(symbol),
            None => Err(ExecError::NoKernel(symbol.into())),
        }
    }
    fn blocks_per_sm(
        &mut self,
        program: usize,
        symbol: &str,
        threads: u32,
        shared: u32,
    ) -> Result<u32, ExecError> {
        let f = self.function(program, symbol)?;
        self.allow(f, shared)?;
        match self.programs.get(program) {
            Some(p) => p.loaded.blocks_per_sm(symbol, threads, shared),
            None => Err(ExecError::NoKernel(symbol.into())),
        }
    }
    fn alloc(&mut self, bytes: usize, place: MemoryPlace) -> Result<u64, ExecError> {
        let fixed = self.fixed.as_mut();
        if let Some(f) = fixed.filter(|_| place == MemoryPlace::Device) {
            return f.alloc(bytes);
        }
        let mut p = 0u64;
        // SAFETY: results go into locals; addresses and streams are the application's, which CUDA trusts the same way.
        let r = unsafe {
            match place {
                MemoryPlace::Device => sys::cuMemAlloc_v2(&mut p, bytes),
                MemoryPlace::Managed => sys::cuMemAllocManaged(&mut p, bytes, 1),
                MemoryPlace::Host => {
                    let mut h = std::ptr::null_mut();
                    // Portable and mapped.
                    let r = sys::cuMemHostAlloc(&mut h, bytes, 3);
                    p = h as u64;
                    r
                }
            }
        };
        self.check("allocating memory", r)?;
        Ok(p)
    }
    fn fix_addresses(&mut self, first: u64) -> Result<(), ExecError> {
        self.fixed = Some(CudaFixedMemory::new(self.context.number(), first)?);
        Ok(())
    }
    fn alloc_at(&mut self, address: u64, bytes: usize) -> Result<(), ExecError> {
        let fixed = self
            .fixed
            .as_mut()
            .filter(|_| CudaFixedMemory::holds(address));
        let missing = || ExecError::Memory(format!("{address:#x} is not in the range"));
        fixed.ok_or_else(missing)?.alloc_at(address, bytes)
    }
    fn fixed_end(&self) -> u64 {
        self.fixed.as_ref().map_or(0, CudaFixedMemory::end)
    }
    fn unload(&mut self) -> Result<(), ExecError> {
        self.programs.clear();
        Ok(())
    }
    fn free(&mut self, address: u64, bytes: usize, place: MemoryPlace) -> Result<(), ExecError> {
        let fixed = self.fixed.as_mut();
        if let Some(f) = fixed.filter(|_| CudaFixedMemory::holds(address)) {
            return f.free(address, bytes);
        }
        // SAFETY: results go into locals; addresses and streams are the application's, which CUDA trusts the same way.
        let r = unsafe {
            match place {
                MemoryPlace::Host => sys::cuMemFreeHost(address as *mut _),
                _ => sys::cuMemFree_v2(address),
            }
        };
        self.check("freeing memory", r)
    }
    fn register(&mut self, address: u64, bytes: usize) -> Result<(), ExecError> {
        // SAFETY: the range is the application's, which CUDA trusts the same way.
        let r = unsafe { sys::cuMemHostRegister_v2(address as *mut _, bytes, 3) };
        self.check("registering memory", r)
    }
    fn unregister(&mut self, address: u64) -> Result<(), ExecError> {
        // SAFETY: the range is the application's, which CUDA trusts the same way.
        let r = unsafe { sys::cuMemHostUnregister(address as *mut _) };
        self.check("unregistering memory", r)
    }
    fn copy(
        &mut self,
        to: u64,
        from: u64,
        bytes: usize,
        stream: u64,
        wait: bool,
    ) -> Result<(), ExecError> {
        // SAFETY: results go into locals; addresses and streams are the application's, which CUDA trusts the same way.
        let r = unsafe {
            match wait && stream == 0 {
                true => sys::cuMemcpy(to, from, bytes),
                false => sys::cuMemcpyAsync(to, from, bytes, stream_of(stream)),
            }
        };
        self.check("copying memory", r)?;
        match wait && stream != 0 {
            true => self.wait_stream(stream),
            false => Ok(()),
        }
    }
    fn copy_rows(&mut self, r: Rectangle, stream: u64, wait: bool) -> Result<(), ExecError> {
        let unified = sys::CUmemorytype_enum::CU_MEMORYTYPE_UNIFIED;
        let c = sys::CUDA_MEMCPY2D {
            srcXInBytes: 0,
            srcY: 0,
            srcMemoryType: unified,
            srcHost: std::ptr::null(),
            srcDevice: r.from,
            srcArray: std::ptr::null_mut(),
            srcPitch: r.from_pitch,
            dstXInBytes: 0,
            dstY: 0,
            dstMemoryType: unified,
            dstHost: std::ptr::null_mut(),
            dstDevice: r.to,
            dstArray: std::ptr::null_mut(),
            dstPitch: r.to_pitch,
            WidthInBytes: r.width,
            Height: r.rows,
        };
        // SAFETY: the description lives through the call; what it names is the application's, which CUDA trusts the same way.
        let result = unsafe { sys::cuMemcpy2DAsync_v2(&c, stream_of(stream)) };
        self.check("copying rows", result)?;
        match wait {
            true => self.wait_stream(stream),
            false => Ok(()),
        }
    }
    fn prefetch(
        &mut self,
        address: u64,
        bytes: usize,
        to_host: bool,
        stream: u64,
    ) -> Result<(), ExecError> {
        // The driver's number of the host is -1.
        let to = if to_host { -1 } else { self.context.number() };
        // SAFETY: the range is the application's, which CUDA trusts the same way.
        let r = unsafe { sys::cuMemPrefetchAsync(address, bytes, to, stream_of(stream)) };
        self.check("bringing memory near", r)
    }
    fn fill(&mut self, to: u64, value: u8, bytes: usize, stream: u64) -> Result<(), ExecError> {
        // SAFETY: the range is the application's, which CUDA trusts the same way.
        let r = unsafe { sys::cuMemsetD8Async(to, value, bytes, stream_of(stream)) };
        self.check("clearing memory", r)
    }
    fn fill_words(&mut self, to: u64, value: u32, n: usize, stream: u64) -> Result<(), ExecError> {
        // SAFETY: the range is the application's, which CUDA trusts the same way.
        let r = unsafe { sys::cuMemsetD32Async(to, value, n, stream_of(stream)) };
        self.check("filling memory", r)
    }
    fn stream(&mut self, flags: u32, priority: i32) -> Result<u64, ExecError> {
        let mut s = std::ptr::null_mut();
        // SAFETY: results go into locals; handles are the driver's own.
        let r = unsafe { sys::cuStreamCreateWithPriority(&mut s, flags, priority) };
        self.check("making a stream", r)?;
        Ok(s as u64)
    }
    fn drop_stream(&mut self, stream: u64) -> Result<(), ExecError> {
        // SAFETY: a handle that the driver gave the application, which CUDA trusts the same way.
        let r = unsafe { sys::cuStreamDestroy_v2(stream_of(stream)) };
        self.check("ending a stream", r)
    }
    fn wait_stream(&mut self, stream: u64) -> Result<(), ExecError> {
        // SAFETY: a handle that the driver gave the application, which CUDA trusts the same way.
        let r = unsafe { sys::cuStreamSynchronize(stream_of(stream)) };
        self.check("running the kernels", r)
    }
    fn stream_done(&mut self, stream: u64) -> Result<bool, ExecError> {
        // SAFETY: a handle that the driver gave the application, which CUDA trusts the same way.
        match unsafe { sys::cuStreamQuery(stream_of(stream)) } {
            CUresult::CUDA_ERROR_NOT_READY => Ok(false),
            r => self.check("asking a stream", r).map(|()| true),
        }
    }
    fn stream_after(&mut self, stream: u64, event: u64) -> Result<(), ExecError> {
        // SAFETY: a handle that the driver gave the application, which CUDA trusts the same way.
        let r = unsafe { sys::cuStreamWaitEvent(stream_of(stream), event_of(event), 0) };
        self.check("waiting for an event", r)
    }
    fn event(&mut self, flags: u32) -> Result<u64, ExecError> {
        let mut e = std::ptr::null_mut();
        // SAFETY: results go into locals; handles are the driver's own.
        let r = unsafe { sys::cuEventCreate(&mut e, flags) };
        self.check("making an event", r)?;
        Ok(e as u64)
    }
    fn drop_event(&mut self, event: u64) -> Result<(), ExecError> {
        // SAFETY: a handle that the driver gave the application, which CUDA trusts the same way.
        let r = unsafe { sys::cuEventDestroy_v2(event_of(event)) };
        self.check("ending an event", r)
    }
    fn record_event(&mut self, event: u64, stream: u64) -> Result<(), ExecError> {
        // SAFETY: a handle that the driver gave the application, which CUDA trusts the same way.
        let r = unsafe { sys::cuEventRecord(event_of(event), stream_of(stream)) };
        self.check("recording an event", r)
    }
    fn wait_event(&mut self, event: u64) -> Result<(), ExecError> {
        // SAFETY: a handle that the driver gave the application, which CUDA trusts the same way.
        let r = unsafe { sys::cuEventSynchronize(event_of(event)) };
        self.check("running the kernels", r)
    }
    fn event_done(&mut self, event: u64) -> Result<bool, ExecError> {
        // SAFETY: a handle that the driver gave the application, which CUDA trusts the same way.
        match unsafe { sys::cuEventQuery(event_of(event)) } {
            CUresult::CUDA_ERROR_NOT_READY => Ok(false),
            r => self.check("asking an event", r).map(|()| true),
        }
    }
    fn elapsed_ms(&mut self, from: u64, to: u64) -> Result<f32, ExecError> {
        let mut ms = 0.0f32;
        // SAFETY: results go into locals; handles are the driver's own.
        let r = unsafe { sys::cuEventElapsedTime(&mut ms, event_of(from), event_of(to)) };
        self.check("reading the clock", r)?;
        Ok(ms)
    }
    fn synchronize(&mut self) -> Result<(), ExecError> {
        // SAFETY: no arguments.
        let r = unsafe { sys::cuCtxSynchronize() };
        self.check("running the kernels", r)
    }
    fn memory(&mut self) -> Result<(usize, usize), ExecError> {
        let (mut free, mut all) = (0, 0);
        // SAFETY: results go into locals; handles are the driver's own.
        let r = unsafe { sys::cuMemGetInfo_v2(&mut free, &mut all) };
        self.check("asking for free memory", r)?;
        Ok((free, all))
    }
    fn attribute(&mut self, number: i32) -> Result<i32, ExecError> {
        self.context.attribute(number)
    }
}
