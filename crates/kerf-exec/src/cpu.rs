//! The CPU executor: kernels as x86 code, with the semantics of a GPU.
mod approx;
mod block;
mod collective_kinds;
mod context;
mod directed;
mod entries;
mod fault;
mod fixed_memory;
mod flush;
mod heap;
mod intrinsics;
pub mod kept;
pub mod launch;
mod launch_state;
mod lead;
pub mod lower;
mod mapping;
mod memory;
mod pool;
mod printf;
mod raw;
mod reciprocals;
mod regions;
mod sanitize;
mod seeds;
mod sfu;
pub mod shadow;
mod signals;
mod symbols;
mod table_names;
pub mod tensor_core;

use crate::{
    BufferId, DeviceInfo, DeviceKind, ExecError, Executor, KernelStats, Launch, LaunchConfiguration,
};
use kerf_llvm::{HostJit, Module};
use kerf_num::{Dd, Format};
use kerf_pass::shadow::{ShadowMap, VARIABLE_ENTRIES};
use launch::{KernelCall, KernelEntry, LaunchShape, Reserve};
use launch_state::{MemoryRange, Shared};
use lower::{LowerOptions, Lowered, LoweredKernel};
use memory::Arena;
use sanitize::Sanitizer;
use shadow::ShadowState;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Instant;

pub use memory::available_memory;
pub use raw::CpuDevice;
pub use sanitize::{SanitizeOptions, UnknownFaultKind};
pub use shadow::BYTES_PER_BYTE as SHADOW_BYTES_PER_BYTE;

struct Buffer {
    address: usize,
    bytes: usize,
    name: String,
    element: usize,
}

/// Options of the CPU executor.
#[derive(Debug, Clone, Copy, Default)]
pub struct CpuOptions {
    /// What is checked of a program that the sanitizer pass instrumented.
    pub checks: Option<SanitizeOptions>,
    /// Worker threads; 0: all cores.
    pub threads: usize,
    /// Run every kernel with barriers as coroutines (a second opinion on region mode).
    pub no_regions: bool,
    /// Order of the blocks of kernels whose results depend on it: 0 by number, each other number another.
    pub order: u64,
}

/// A program compiled for this machine, which several executors can run.
pub struct CpuCode(Lowered);

impl CpuCode {
    /// Compiles a finished module.
    pub fn new(finished: &Module, options: CpuOptions) -> Result<CpuCode, ExecError> {
        let by = LowerOptions {
            no_regions: options.no_regions,
        };
        let lowered = lower::lower(finished, by).map_err(|e| ExecError::Compile(e.0))?;
        Ok(CpuCode(lowered))
    }
}

/// The CPU executor with one loaded program.
pub struct CpuExecutor {
    sanitizer: Option<Sanitizer>,
    lowered: Lowered,
    jit: HostJit,
    pool: rayon::ThreadPool,
    reserves: Vec<Mutex<Reserve>>,
    buffers: Vec<Buffer>,
    variables: Vec<MemoryRange>,
    printed: Vec<u8>,
    started: Option<Instant>,
    shadow: Option<ShadowState>,
    /// Shadow memory of a program that computes its own shadows.
    entries: Option<entries::ArenaEntries>,
    /// Addresses of kernels that were launched: entry, regions.
    found: BTreeMap<String, (usize, Vec<(usize, usize)>)>,
    arena: Arena,
    order: u64,
    /// Memory of an application that holds several programs, for memcheck.
    pub(crate) beside: Vec<MemoryRange>,
}

impl CpuExecutor {
    /// Compiles a finished module for this machine.
    pub fn new(finished: &Module, options: CpuOptions) -> Result<CpuExecutor, ExecError> {
        Self::from_lowered(CpuCode::new(finished, options)?.0, options)
    }

    /// An executor of code that was compiled before, with variables as the source has them.
    pub fn from_code(code: &CpuCode, options: CpuOptions) -> Result<CpuExecutor, ExecError> {
        Self::from_lowered(code.0.clone(), options)
    }

    /// An executor of code for this machine.
    fn from_lowered(lowered: Lowered, options: CpuOptions) -> Result<CpuExecutor, ExecError> {
        let jit = lower::load(&lowered).map_err(|e| ExecError::Compile(e.0))?;
        let variables = lowered
            .variables
            .iter()
            .filter_map(|v| {
                let start = jit.address(&v.symbol).ok()?;
                let name = kerf_llvm::demangle(&v.symbol);
                Some(MemoryRange {
                    start,
                    end: start + v.bytes,
                    name,
                    element: v.element,
                })
            })
            .collect();
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(options.threads)
            .build()
            .map_err(|e| ExecError::Compile(e.to_string()))?;
        let reserves = (0..pool.current_num_threads())
            .map(|_| Mutex::default())
            .collect();
        let memory = |e: mapping::MemoryError| ExecError::Memory(e.to_string());
        let sanitizer = match &lowered.checked {
            Some(sites) => {
                let checks = options.checks.unwrap_or_default();
                Some(Sanitizer::new(sites.clone(), checks).map_err(memory)?)
            }
            None => None,
        };
        let arena = match &sanitizer {
            Some(s) => Arena::within(s.region),
            None => Arena::new().map_err(memory)?,
        };
        Ok(CpuExecutor {
            sanitizer,
            lowered,
            jit,
            pool,
            reserves,
            buffers: Vec::new(),
            variables,
            printed: Vec::new(),
            started: None,
            shadow: None,
            entries: None,
            found: BTreeMap::new(),
            arena,
            order: options.order,
            beside: Vec::new(),
        })
    }

    /// An executor of a module that `kerf_pass::shadow` instrumented before it was finished.
    pub fn with_shadow(
        code: &CpuCode,
        options: CpuOptions,
        map: ShadowMap,
    ) -> Result<CpuExecutor, ExecError> {
        let mut e = Self::from_lowered(code.0.clone(), options)?;
        e.shadow =
            Some(ShadowState::new(&e.arena, map).map_err(|e| ExecError::Memory(e.to_string()))?);
        Ok(e)
    }

    /// Shadow values of a buffer's scalars at the given byte offsets.
    pub fn shadow_values(
        &self,
        id: BufferId,
        scalars: impl Iterator<Item = (usize, Format)>,
    ) -> Result<Vec<Dd>, ExecError> {
        let b = self.slot(id)?;
        let s = self
            .shadow
            .as_ref()
            .ok_or_else(|| ExecError::Compile("there is no shadow execution".into()))?;
        Ok(scalars
            .filter(|(at, f)| at + f.bytes() <= b.bytes)
            .map(|(at, f)| {
                let mut bits = [0u8; 8];
                // SAFETY: inside the buffer, as filtered.
                unsafe {
                    std::ptr::copy_nonoverlapping(
                        (b.address + at) as *const u8,
                        bits.as_mut_ptr(),
                        f.bytes(),
                    )
                };
                s.value(b.address + at, u64::from_le_bytes(bits), f)
            })
            .collect())
    }

    /// The shadow execution, if this is one.
    pub fn shadow(&self) -> Option<&ShadowState> {
        self.shadow.as_ref()
    }

    /// Where the code of a kernel lies: asked of the JIT once, since short launches would notice.
    fn addresses(&mut self, k: &LoweredKernel) -> Result<(usize, Vec<(usize, usize)>), ExecError> {
        if let Some(found) = self.found.get(&k.symbol) {
            return Ok(found.clone());
        }
        let find = |name: &str| self.jit.address(name).map_err(|e| ExecError::Compile(e.0));
        let address = if k.mode == lower::ThreadMode::Regions {
            0
        } else {
            find(&k.entry)?
        };
        let regions = (0..k.regions)
            .map(|i| {
                Ok((
                    find(&format!("{}.r{i}", k.entry))?,
                    find(&format!("{}.t{i}", k.entry))?,
                ))
            })
            .collect::<Result<Vec<_>, ExecError>>()?;
        self.found
            .insert(k.symbol.clone(), (address, regions.clone()));
        Ok((address, regions))
    }

    /// The first value of a range that depends on undefined ones, in words.
    fn undefined_at(&self, address: usize, bytes: usize) -> Option<String> {
        let s = self.sanitizer.as_ref()?;
        let (at, _, cause) = s.undefined_in(address, bytes)?;
        let by = s.first_store(address + at);
        let by = by.map_or_else(String::new, |b| format!("; first stored by {b}"));
        Some(format!(
            "byte {at} of {bytes} that are copied to the host is undefined: {cause}{by}"
        ))
    }

    /// Compiles a kernel, which its first launch would do.
    pub(crate) fn compile(&mut self, symbol: &str) -> Result<(), ExecError> {
        let k = self.lowered.kernels.iter().find(|k| k.symbol == symbol);
        let k = k.ok_or_else(|| ExecError::NoKernel(symbol.into()))?.clone();
        self.addresses(&k).map(|_| ())
    }

    /// Launches a kernel; `args[i]` points at argument i. A cooperative grid can wait for all its blocks.
    pub(crate) fn launch_with(
        &mut self,
        launch: LaunchConfiguration,
        args: &[*const u8],
        cooperative: bool,
    ) -> Result<(), ExecError> {
        self.launch_only(launch, args, cooperative, None)
    }

    /// [`CpuExecutor::launch_with`], of some blocks by number where they are given.
    fn launch_only(
        &mut self,
        launch: LaunchConfiguration,
        args: &[*const u8],
        cooperative: bool,
        only: Option<&[u64]>,
    ) -> Result<(), ExecError> {
        let LaunchConfiguration {
            symbol,
            name,
            grid,
            block,
            dynamic_shared,
        } = launch;
        let k = self
            .lowered
            .kernels
            .iter()
            .find(|k| k.symbol == symbol)
            .ok_or_else(|| ExecError::NoKernel(symbol.into()))?
            .clone();
        let (address, regions) = self.addresses(&k)?;
        for d in 0..3 {
            if u64::from(grid[d]) * u64::from(block[d]) > i32::MAX as u64 {
                return Err(ExecError::Compile(format!(
                    "{} would have more than 2^31-1 threads in dimension {d}",
                    name
                )));
            }
        }
        let ranges = self.ranges();
        let shared = Shared::new(
            name,
            &self.arena,
            k.stack_bytes,
            &ranges,
            self.sanitizer.as_ref(),
        );
        let shape = LaunchShape {
            grid,
            block,
            dynamic_shared,
            static_shared: self.lowered.static_shared,
            cooperative: cooperative && k.syncs_grid,
        };
        let entry = KernelEntry {
            mode: k.mode,
            address,
            regions,
            frame_bytes: k.frame_bytes,
            ordered: k.ordered,
            order: self.order,
        };
        if let Some(e) = &mut self.entries {
            e.use_it();
        }
        let call = KernelCall {
            entry: &entry,
            shape,
            args,
            only,
        };
        let run = || launch::run(&shared, &self.pool, &self.reserves, &call);
        let (fault, printed) = match &self.shadow {
            Some(s) => s.with(run),
            None => run(),
        }
        .map_err(|e| ExecError::Memory(e.to_string()))?;
        self.printed.extend(printed);
        fault.map_or(Ok(()), |f| Err(ExecError::Fault(f)))
    }

    /// Address and size of a variable.
    pub(crate) fn variable(&self, symbol: &str) -> Result<(u64, usize), ExecError> {
        let missing = || ExecError::NoSymbol(symbol.into());
        let address = self.jit.address(symbol).map_err(|_| missing())?;
        let sizes = &self.lowered.sizes;
        let found = sizes.iter().find(|(s, _)| s == symbol);
        Ok((address as u64, found.ok_or_else(missing)?.1))
    }

    fn ranges(&self) -> Vec<MemoryRange> {
        self.buffers
            .iter()
            .map(|b| MemoryRange {
                start: b.address,
                end: b.address + b.bytes,
                name: b.name.clone(),
                element: b.element,
            })
            .chain(self.variables.iter().cloned())
            .chain(self.beside.iter().cloned())
            .collect()
    }

    fn launch_blocks_of(&mut self, l: &Launch, only: Option<&[u64]>) -> Result<(), ExecError> {
        // Kept alive through the launch.
        let storage = l
            .args
            .iter()
            .map(|a| a.storage(|id| Ok(self.slot(id)?.address as u64)))
            .collect::<Result<Vec<_>, _>>()?;
        let args: Vec<*const u8> = storage.iter().map(|s| s.as_ptr().cast()).collect();
        self.launch_only(l.configuration(), &args, false, only)
    }

    fn slot(&self, id: BufferId) -> Result<&Buffer, ExecError> {
        self.buffers.get(id.0).ok_or(ExecError::NoBuffer(id.0))
    }
}

impl Executor for CpuExecutor {
    fn device(&self) -> DeviceInfo {
        DeviceInfo {
            kind: DeviceKind::Cpu,
            name: format!("CPU executor, {} threads", self.pool.current_num_threads()),
            detail: "times are of this machine's processor, not of a GPU".into(),
        }
    }

    fn alloc(&mut self, name: &str, bytes: usize, element: usize) -> Result<BufferId, ExecError> {
        let address = self
            .arena
            .alloc(bytes.max(1))
            .map_err(|e| ExecError::Memory(e.to_string()))?;
        self.buffers.push(Buffer {
            address: address as usize,
            bytes,
            name: name.into(),
            element,
        });
        Ok(BufferId(self.buffers.len() - 1))
    }

    fn symbol(
        &mut self,
        symbol: &str,
        bytes: usize,
        element: usize,
    ) -> Result<BufferId, ExecError> {
        let address = self
            .jit
            .address(symbol)
            .map_err(|_| ExecError::NoSymbol(symbol.into()))?;
        let entries = self.jit.address(&format!("{VARIABLE_ENTRIES}{symbol}"));
        if let (Some(e), Ok(at)) = (&mut self.entries, entries) {
            e.add_variable(address, bytes, at);
        }
        self.buffers.push(Buffer {
            address,
            bytes,
            name: symbol.into(),
            element,
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
        // SAFETY: the buffer has at least that many bytes, and no kernel is running.
        unsafe { std::ptr::copy_nonoverlapping(data.as_ptr(), b.address as *mut u8, data.len()) };
        if let Some(s) = &self.shadow {
            s.written(b.address, data.len());
        }
        if let Some(e) = &self.entries {
            e.written(b.address, data.len());
        }
        if let Some(s) = &self.sanitizer {
            s.region.fill(b.address, data.len(), false, 0);
        }
        Ok(())
    }

    fn read(&mut self, id: BufferId) -> Result<Vec<u8>, ExecError> {
        let b = self.slot(id)?;
        // SAFETY: as in `write`.
        Ok(unsafe { std::slice::from_raw_parts(b.address as *const u8, b.bytes) }.to_vec())
    }

    fn copy(&mut self, from: BufferId, to: BufferId) -> Result<(), ExecError> {
        let (a, b) = (self.slot(from)?, self.slot(to)?);
        let (from, to, n) = (a.address, b.address, a.bytes.min(b.bytes));
        // SAFETY: both have n bytes; they may be the same buffer.
        unsafe { std::ptr::copy(from as *const u8, to as *mut u8, n) };
        if let Some(s) = &self.shadow {
            s.copied(to, from, n);
        }
        if let Some(e) = &mut self.entries {
            e.copied(to, from, n);
        }
        if let Some(s) = &self.sanitizer {
            s.region.copy(to, from, n);
        }
        Ok(())
    }

    fn launch(&mut self, l: &Launch) -> Result<(), ExecError> {
        self.launch_blocks_of(l, None)
    }

    fn launch_blocks(&mut self, l: &Launch, blocks: &[u64]) -> Result<bool, ExecError> {
        self.launch_blocks_of(l, Some(blocks))?;
        Ok(true)
    }

    fn start_clock(&mut self) -> Result<(), ExecError> {
        self.started = Some(Instant::now());
        Ok(())
    }

    fn stop_clock(&mut self) -> Result<f64, ExecError> {
        Ok(self
            .started
            .take()
            .map_or(0.0, |t| t.elapsed().as_secs_f64()))
    }

    fn undefine(&mut self, id: BufferId, assumed: bool) -> Result<(), ExecError> {
        let b = self.slot(id)?;
        if let Some(s) = &self.sanitizer {
            let origin = if assumed { sanitize::ASSUMED } else { 0 };
            s.region.fill(b.address, b.bytes, true, origin);
        }
        Ok(())
    }

    fn undefined(&mut self, id: BufferId) -> Result<(), ExecError> {
        let b = self.slot(id)?;
        let Some(s) = &self.sanitizer else {
            return Ok(());
        };
        let Some((at, kind, cause)) = s.undefined_in(b.address, b.bytes) else {
            return Ok(());
        };
        let index = at / b.element.max(1);
        let mut message = format!("{}[{index}] is undefined: {cause}", b.name);
        if let Some(by) = s.first_store(b.address + at) {
            message += &format!("; first stored by {by}");
        }
        match s.allows(kind) {
            true => s.note(format!("allowed: {message}")),
            false => return Err(ExecError::Undefined { kind, message }),
        }
        Ok(())
    }

    fn take_notes(&mut self) -> Vec<String> {
        let all = self.sanitizer.as_ref();
        all.map_or_else(Vec::new, Sanitizer::take_notes)
    }

    fn free_memory(&mut self) -> Result<Option<usize>, ExecError> {
        Ok(Some(available_memory()))
    }

    fn printed(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.printed)
    }

    fn kernel_stats(&self) -> Vec<KernelStats> {
        self.lowered
            .kernels
            .iter()
            .map(|k| KernelStats {
                symbol: k.symbol.clone(),
                modelled: k.modelled.clone(),
                note: Some(match k.mode {
                    lower::ThreadMode::Loop => "threads in a vectorisable loop".into(),
                    lower::ThreadMode::Coroutine => "threads as coroutines".into(),
                    lower::ThreadMode::Regions => format!(
                        "{} regions between barriers, threads in a vectorisable loop each",
                        k.regions
                    ),
                }),
                ..KernelStats::default()
            })
            .collect()
    }
}
