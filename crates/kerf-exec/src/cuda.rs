//! The CUDA executor: PTX through the driver, which is loaded at run time.
//!
//! All driver calls of Kerf are in this module and in [`watch`] (NVML).
mod clear;
mod code;
mod device_memory;
mod driver;
mod entries;
mod fixed_memory;
mod graph;
mod raw;
mod stream;
pub mod watch;

use crate::{BufferId, DeviceInfo, DeviceKind, ExecError, Executor, KernelStats, Launch};
use clear::Clear;
use code::LoadedCode;
use driver::{DriverContext, DriverEvent};
use graph::{KeptContents, Recording};
use kerf_pass::shadow::VARIABLE_ENTRIES;
use std::ffi::c_void;
use stream::OwnStream;

pub use device_memory::{DeviceMemory, read_device};
pub use driver::{Attributes, driver_version, present};
pub use raw::CudaDevice;

/// Assembles PTX for a device to a binary that can be looked at, by the driver's linker: not what nvcc would make of
/// it (see [`Code`]). May be called from several threads.
pub fn link(ptx: &str, ordinal: i32) -> Result<Vec<u8>, ExecError> {
    DriverContext::new(ordinal)?.link(ptx)
}

/// PTX compiled for a device as a whole program, as nvcc does it and as the driver does for those who load the PTX.
pub struct Code {
    loaded: LoadedCode,
    /// What is loaded goes before its context.
    _context: DriverContext,
}

impl Code {
    fn on(
        ordinal: i32,
        load: impl FnOnce(&DriverContext) -> Result<LoadedCode, ExecError>,
    ) -> Result<Code, ExecError> {
        let context = DriverContext::new(ordinal)?;
        Ok(Code {
            loaded: load(&context)?,
            _context: context,
        })
    }
}

/// Compiles PTX for a device. May be called from several threads, which do not wait for each other.
pub fn assemble(ptx: &str, ordinal: i32) -> Result<Code, ExecError> {
    Code::on(ordinal, |c| c.load_beside(ptx))
}

/// A binary that another compiler made, loaded on a device.
pub fn load_binary(binary: &[u8], ordinal: i32) -> Result<Code, ExecError> {
    Code::on(ordinal, |c| c.load_binary(binary))
}

/// A device's context, kept from one program to the next: making one takes longer than most kernels.
pub struct KeptContext {
    _context: DriverContext,
}

/// Keeps a device's context.
pub fn keep(ordinal: i32) -> Result<KeptContext, ExecError> {
    Ok(KeptContext {
        _context: DriverContext::new(ordinal)?,
    })
}

/// What the driver says of a device.
pub fn attributes(ordinal: i32) -> Result<Attributes, ExecError> {
    DriverContext::new(ordinal)?.attributes()
}

struct Buffer {
    address: u64,
    bytes: usize,
    name: String,
    owned: bool,
    /// Memory of others with what it was filled from, where it was.
    source: Option<u64>,
    /// What is recorded does not write it.
    constant: bool,
}

/// The CUDA executor with one loaded program.
pub struct CudaExecutor {
    recording: Option<Recording>,
    /// What fills the cache before each run of a recording.
    clear: Option<Clear>,
    buffers: Vec<Buffer>,
    /// Shadow memory of a program that computes its own shadows.
    entries: Option<entries::DeviceEntries>,
    kernels: Vec<(String, KernelStats)>,
    start: DriverEvent,
    stop: DriverEvent,
    /// Copies beside the kernels, and what they wait for.
    beside: Option<OwnStream>,
    marks: Vec<DriverEvent>,
    /// Whether buffers were made, and cleared on the default stream, for which the other does not wait by itself.
    cleared: bool,
    loaded: LoadedCode,
    context: DriverContext,
}

impl CudaExecutor {
    /// Loads PTX on device `ordinal`.
    pub fn new(ptx: &str, symbols: &[String], ordinal: i32) -> Result<CudaExecutor, ExecError> {
        Self::at_level(ptx, symbols, ordinal, code::HIGHEST)
    }

    /// Loads PTX with the driver's assembler at an optimisation level from 0 to 4.
    pub fn at_level(
        ptx: &str,
        symbols: &[String],
        ordinal: i32,
        level: u32,
    ) -> Result<CudaExecutor, ExecError> {
        let context = DriverContext::new(ordinal)?;
        let loaded = context.load(ptx, level)?;
        Self::holding(context, loaded, symbols)
    }

    /// Takes what [`assemble`] made, which has its variables to itself: code for two executors is assembled twice.
    pub fn from_code(
        code: Code,
        symbols: &[String],
        ordinal: i32,
    ) -> Result<CudaExecutor, ExecError> {
        Self::holding(DriverContext::new(ordinal)?, code.loaded, symbols)
    }

    /// Loads a binary made by [`link`].
    pub fn from_binary(
        binary: &[u8],
        symbols: &[String],
        ordinal: i32,
    ) -> Result<CudaExecutor, ExecError> {
        let context = DriverContext::new(ordinal)?;
        let loaded = context.load_binary(binary)?;
        Self::holding(context, loaded, symbols)
    }

    fn holding(
        context: DriverContext,
        loaded: LoadedCode,
        symbols: &[String],
    ) -> Result<CudaExecutor, ExecError> {
        let kernels = symbols
            .iter()
            .map(|s| Ok((s.clone(), loaded.stats(s)?)))
            .collect::<Result<Vec<_>, ExecError>>()?;
        Ok(CudaExecutor {
            recording: None,
            clear: None,
            buffers: Vec::new(),
            entries: None,
            kernels,
            start: DriverEvent::new()?,
            stop: DriverEvent::new()?,
            beside: None,
            marks: Vec::new(),
            cleared: false,
            loaded,
            context,
        })
    }

    /// The stream that records, while it does.
    fn recorder(&self) -> Option<&OwnStream> {
        let r = self.recording.as_ref()?;
        r.graph.is_none().then_some(&r.stream)
    }

    /// The stream for copies beside the kernels, made when it is first needed.
    fn side(&mut self) -> Result<&OwnStream, ExecError> {
        if self.beside.is_none() {
            self.beside = Some(OwnStream::new()?);
        }
        self.beside.as_ref().ok_or(ExecError::NoBuffer(0))
    }

    fn slot(&self, id: BufferId) -> Result<&Buffer, ExecError> {
        self.buffers.get(id.0).ok_or(ExecError::NoBuffer(id.0))
    }

    /// Frees every buffer (a campaign of many small programs would otherwise pile them up).
    pub fn clear(&mut self) {
        self.recording = None;
        for b in self.buffers.drain(..).filter(|b| b.owned) {
            driver::free(b.address);
        }
    }
}

impl Drop for CudaExecutor {
    fn drop(&mut self) {
        self.clear();
    }
}

impl Executor for CudaExecutor {
    fn device(&self) -> DeviceInfo {
        DeviceInfo {
            kind: DeviceKind::Cuda,
            name: self.context.name.clone(),
            detail: format!(
                "sm_{}, driver {}",
                self.context.capability,
                driver_version()
            ),
        }
    }

    fn alloc(&mut self, name: &str, bytes: usize, _element: usize) -> Result<BufferId, ExecError> {
        let carved = self.entries.as_mut().and_then(|e| e.carve(bytes));
        let address = match carved {
            Some(a) => a,
            None => driver::alloc(bytes.max(1), name)?,
        };
        driver::fill(address, 0, bytes.max(1))?;
        self.cleared = true;
        self.buffers.push(Buffer {
            address,
            bytes,
            name: name.into(),
            owned: carved.is_none(),
            source: None,
            constant: false,
        });
        Ok(BufferId(self.buffers.len() - 1))
    }

    fn symbol(
        &mut self,
        symbol: &str,
        bytes: usize,
        _element: usize,
    ) -> Result<BufferId, ExecError> {
        let (address, have) = self.loaded.global(symbol)?;
        let entries = self.loaded.global(&format!("{VARIABLE_ENTRIES}{symbol}"));
        if let (Some(e), Ok((at, _))) = (&mut self.entries, entries) {
            e.add_variable(address, have, at);
        }
        if have < bytes {
            return Err(ExecError::TooLong {
                name: symbol.into(),
                have,
                want: bytes,
            });
        }
        self.buffers.push(Buffer {
            address,
            bytes,
            name: symbol.into(),
            owned: false,
            source: None,
            constant: false,
        });
        Ok(BufferId(self.buffers.len() - 1))
    }

    fn write(&mut self, id: BufferId, data: &[u8]) -> Result<(), ExecError> {
        let b = self.slot(id)?;
        if data.len() > b.bytes {
            return Err(ExecError::TooLong {
                name: b.name.clone(),
                have: b.bytes,
                want: data.len(),
            });
        }
        driver::to_device(b.address, data)?;
        self.buffers[id.0].source = None;
        let b = &self.buffers[id.0];
        match &self.entries {
            Some(e) => e.written(b.address, data.len()),
            None => Ok(()),
        }
    }

    fn read(&mut self, id: BufferId) -> Result<Vec<u8>, ExecError> {
        let b = self.slot(id)?;
        driver::to_host(b.address, b.bytes)
    }

    fn write_beside(&mut self, id: BufferId, data: &[u8]) -> Result<(), ExecError> {
        let b = self.slot(id)?;
        let (address, have) = (b.address, b.bytes);
        if data.len() > have {
            return Err(ExecError::TooLong {
                name: b.name.clone(),
                have,
                want: data.len(),
            });
        }
        self.buffers[id.0].source = None;
        // Clearing goes on after the call: what is written meanwhile would be lost.
        if std::mem::take(&mut self.cleared) {
            self.stop.record()?;
            self.stop.wait()?;
        }
        self.side()?.to_device(address, data)
    }

    fn mark(&mut self, number: usize) -> Result<(), ExecError> {
        while self.marks.len() <= number {
            self.marks.push(DriverEvent::new()?);
        }
        self.marks[number].record()
    }

    fn read_after(
        &mut self,
        number: usize,
        id: BufferId,
        bytes: usize,
    ) -> Result<Vec<u8>, ExecError> {
        if let Some(e) = self.marks.get(number) {
            e.wait()?;
        }
        let b = self.slot(id)?;
        let (address, bytes) = (b.address, bytes.min(b.bytes));
        self.side()?.to_host(address, bytes)
    }

    fn copy(&mut self, from: BufferId, to: BufferId) -> Result<(), ExecError> {
        let (a, b) = (self.slot(from)?, self.slot(to)?);
        if let Some(s) = self.recorder() {
            return s.copy(b.address, a.address, a.bytes.min(b.bytes));
        }
        let bytes = a.bytes.min(b.bytes);
        driver::on_device(b.address, a.address, bytes)?;
        let (to, from) = (b.address, a.address);
        match &mut self.entries {
            Some(e) => e.copied(to, from, bytes),
            None => Ok(()),
        }
    }

    fn launch(&mut self, l: &Launch) -> Result<(), ExecError> {
        self.make_room_for_shared(l)?;
        let mut storage = l
            .args
            .iter()
            .map(|a| a.storage(|id| Ok(self.slot(id)?.address)))
            .collect::<Result<Vec<_>, _>>()?;
        let mut params: Vec<*mut c_void> =
            storage.iter_mut().map(|s| s.as_mut_ptr().cast()).collect();
        let stream = self.recorder().map_or(std::ptr::null_mut(), OwnStream::raw);
        self.loaded.launch(l.configuration(), &mut params, stream)
    }

    fn constant(&mut self, buffer: BufferId) {
        if let Some(b) = self.buffers.get_mut(buffer.0) {
            b.constant = true;
        }
    }

    fn record(&mut self) -> Result<bool, ExecError> {
        // A recording before this one left copies on the device, which need only be written again.
        let mut before = self.recording.take().map_or_else(Vec::new, |r| r.kept);
        let mut kept = Vec::new();
        for b in self.buffers.iter().filter(|b| !b.constant) {
            let mine = |k: &KeptContents| k.owned && (k.buffer, k.bytes) == (b.address, b.bytes);
            if let Some(at) = before.iter().position(mine) {
                let k = before.swap_remove(at);
                driver::on_device(k.copy, k.buffer, k.bytes)?;
                kept.push(k);
                continue;
            }
            let k = match b.source {
                Some(copy) => Ok(KeptContents::elsewhere(b.address, copy, b.bytes)),
                None => KeptContents::new(b.address, b.bytes, &b.name),
            };
            match k {
                Ok(k) => kept.push(k),
                Err(ExecError::Memory(_)) => return Ok(false),
                Err(e) => return Err(e),
            }
        }
        // What was put on the default stream has to be done before the other one runs.
        self.start.record()?;
        self.start.wait()?;
        let r = Recording {
            stream: OwnStream::new()?,
            kept,
            graph: None,
            events: Vec::new(),
        };
        r.stream.begin()?;
        self.recording = Some(r);
        Ok(true)
    }

    fn record_again(&mut self) -> Result<bool, ExecError> {
        let Some(r) = &mut self.recording else {
            return Ok(false);
        };
        r.restore()?;
        r.graph = None;
        r.stream.begin()?;
        Ok(true)
    }

    fn recorded(&mut self) -> Result<(), ExecError> {
        if let Some(r) = &mut self.recording {
            r.graph = Some(r.stream.end()?);
        }
        Ok(())
    }

    fn rewind(&mut self) -> Result<bool, ExecError> {
        let Some(r) = self.recording.as_ref().filter(|r| r.graph.is_some()) else {
            return Ok(false);
        };
        for k in &r.kept {
            driver::on_device(k.buffer, k.copy, k.bytes)?;
        }
        Ok(true)
    }

    fn replay(&mut self, runs: u32) -> Result<f64, ExecError> {
        match &mut self.recording {
            Some(r) => r.replay(runs, self.clear.as_ref()),
            None => Err(ExecError::Device {
                what: "replaying launches".into(),
                why: "nothing was recorded".into(),
            }),
        }
    }

    fn start_clock(&mut self) -> Result<(), ExecError> {
        self.start.record()
    }

    fn stop_clock(&mut self) -> Result<f64, ExecError> {
        self.stop.record()?;
        self.stop.wait()?;
        self.stop.since(&self.start)
    }

    fn device_address(&self, id: BufferId) -> Option<u64> {
        self.slot(id).ok().map(|b| b.address)
    }

    fn write_from_device(&mut self, id: BufferId, address: u64) -> Result<(), ExecError> {
        let b = self.slot(id)?;
        driver::on_device(b.address, address, b.bytes)?;
        self.buffers[id.0].source = Some(address);
        let b = &self.buffers[id.0];
        match &self.entries {
            Some(e) => e.written(b.address, b.bytes),
            None => Ok(()),
        }
    }

    fn free_memory(&mut self) -> Result<Option<usize>, ExecError> {
        driver::free_memory().map(Some)
    }

    fn printed(&mut self) -> Vec<u8> {
        // The driver writes device printf to the process's own standard output.
        Vec::new()
    }

    fn kernel_stats(&self) -> Vec<KernelStats> {
        self.kernels.iter().map(|k| k.1.clone()).collect()
    }
}

impl CudaExecutor {
    /// Blocks of a kernel that the driver says fit on one multiprocessor.
    pub fn blocks_per_sm(&self, symbol: &str, threads: u32, shared: u32) -> Result<u32, ExecError> {
        self.loaded.blocks_per_sm(symbol, threads, shared)
    }
    /// From now on the cache is filled with other memory before each run of a recording, that part of it to be written
    /// back.
    pub fn clear_cache(&mut self, written: f64) -> Result<(), ExecError> {
        if self.clear.is_none() {
            self.clear = Some(Clear::new(&self.context)?);
        }
        if let Some(c) = &mut self.clear {
            c.leave(written);
        }
        Ok(())
    }
    /// Address of a buffer on the device, for kernels that follow pointers.
    pub fn address(&self, id: BufferId) -> Result<u64, ExecError> {
        Ok(self.slot(id)?.address)
    }
    /// Makes memory of the same device known that another executor, which lives longer than its use here, has.
    pub fn adopt(&mut self, name: &str, address: u64, bytes: usize) -> BufferId {
        let known = |b: &Buffer| !b.owned && (b.address, b.bytes) == (address, bytes);
        if let Some(at) = self.buffers.iter().position(known) {
            return BufferId(at);
        }
        self.buffers.push(Buffer {
            address,
            bytes,
            name: name.into(),
            owned: false,
            source: None,
            constant: false,
        });
        BufferId(self.buffers.len() - 1)
    }
    /// Name of the first GPU, or why there is none.
    pub fn probe() -> Result<String, ExecError> {
        let c = DriverContext::new(0)?;
        Ok(format!("{} (sm_{})", c.name, c.capability))
    }
    /// Compute capability of a device, e.g. 90.
    pub fn capability(ordinal: i32) -> Result<i32, ExecError> {
        DriverContext::capability_at(ordinal)
    }
    /// Bytes of memory of a device.
    pub fn memory(ordinal: i32) -> Result<usize, ExecError> {
        DriverContext::memory_at(ordinal)
    }
}
