//! One program on one device: buffers, launches, and times where there are any.
use crate::number::Storage;
use crate::{Setup, StudyDevice, StudyError};
use kerf_exec::cpu::{CpuExecutor, CpuOptions};
use kerf_exec::cuda::CudaExecutor;
use kerf_exec::{Arg, BufferId, DeviceInfo, ExecError, Executor, KernelStats, Launch};
use kerf_ir::finish::{self, Reflect};
use kerf_ir::prepare;
use kerf_llvm::Module;

/// Timed repeats of a run on a GPU; the median counts. Runs longer than [`LONG_S`] vary little.
const REPEATS: usize = 5;
const REPEATS_OF_LONG: usize = 3;
const LONG_S: f64 = 0.05;

/// A loaded program.
pub struct StudyBench {
    exec: Box<dyn Executor>,
    timed: bool,
    stats: Vec<KernelStats>,
}

/// The bitcode of a device source, embedded by the build script.
#[macro_export]
#[doc(hidden)]
macro_rules! bitcode {
    ($name:literal) => {
        include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".bc"))
    };
}

/// All embedded programs, by name.
pub const EMBEDDED: [(&str, &[u8]); 7] = [
    ("summation", bitcode!("summation")),
    ("products", bitcode!("products")),
    ("do_undo", bitcode!("do_undo")),
    ("exponential", bitcode!("exponential")),
    ("gaussian", bitcode!("gaussian")),
    ("lud", bitcode!("lud")),
    ("lavamd", bitcode!("lavamd")),
];

/// Prepares and finishes embedded bitcode.
///
/// It was compiled with contraction off, so no instruction may be contracted and the fusion of
/// `prepare` finds nothing to do; fused multiply-adds are those that the algorithms write out.
pub fn module(bitcode: &[u8], name: &str, setup: &Setup) -> Result<Module, ExecError> {
    let bad = |e: kerf_llvm::LlvmError| ExecError::Compile(format!("study {name}: {e}"));
    let m = Module::parse(bitcode, name).map_err(bad)?;
    prepare::prepare(&m, &setup.arch).map_err(bad)?;
    finish::finish(&m, &setup.libdevice, &setup.arch, Reflect::default()).map_err(bad)?;
    Ok(m)
}

impl StudyBench {
    /// Loads a program on the setup's device.
    pub fn new(bitcode: &[u8], name: &str, setup: &Setup) -> Result<StudyBench, StudyError> {
        let m = module(bitcode, name, setup)?;
        let exec: Box<dyn Executor> = match setup.device {
            StudyDevice::Cpu => Box::new(CpuExecutor::new(&m, CpuOptions::default())?),
            StudyDevice::Cuda(ordinal) => {
                let ptx =
                    finish::ptx(&m, &setup.arch).map_err(|e| ExecError::Compile(e.to_string()))?;
                let kernels: Vec<String> = m.kernel_functions().iter().map(|k| k.name()).collect();
                Box::new(CudaExecutor::new(&ptx, &kernels, ordinal)?)
            }
        };
        Ok(StudyBench {
            stats: exec.kernel_stats(),
            timed: setup.timed(),
            exec,
        })
    }

    /// The device.
    pub fn device(&self) -> DeviceInfo {
        self.exec.device()
    }

    /// A zeroed buffer of numbers.
    pub fn room(&mut self, s: Storage, n: usize) -> Result<BufferId, StudyError> {
        Ok(self
            .exec
            .alloc("numbers", (n * s.bytes()).max(1), s.bytes())?)
    }

    /// A buffer with content.
    pub fn upload(&mut self, bytes: &[u8], element: usize) -> Result<BufferId, StudyError> {
        let id = self.exec.alloc("input", bytes.len().max(1), element)?;
        self.exec.write(id, bytes)?;
        Ok(id)
    }

    /// Fills a buffer.
    pub fn write(&mut self, id: BufferId, bytes: &[u8]) -> Result<(), StudyError> {
        Ok(self.exec.write(id, bytes)?)
    }

    /// Content of a buffer.
    pub fn read(&mut self, id: BufferId) -> Result<Vec<u8>, StudyError> {
        Ok(self.exec.read(id)?)
    }

    /// Launches `symbol`.
    pub fn launch(
        &mut self,
        symbol: &str,
        grid: [u32; 2],
        block: [u32; 2],
        args: &[Arg],
    ) -> Result<(), StudyError> {
        self.exec.launch(&Launch {
            symbol,
            name: symbol,
            grid: [grid[0], grid[1], 1],
            block: [block[0], block[1], 1],
            dynamic_shared: 0,
            args,
        })?;
        Ok(())
    }

    /// Runs `body`; on a GPU again and again, with `reset` (from, to) copied before each, and gives the
    /// median time in seconds. On the CPU it runs once and there is no time: that of a CPU says nothing
    /// about a GPU.
    pub fn measure(
        &mut self,
        reset: Option<(BufferId, BufferId)>,
        mut body: impl FnMut(&mut StudyBench) -> Result<(), StudyError>,
    ) -> Result<Option<f64>, StudyError> {
        if let Some((from, to)) = reset {
            self.exec.copy(from, to)?;
        }
        body(self)?;
        if !self.timed {
            return Ok(None);
        }
        let mut times: Vec<f64> = Vec::with_capacity(REPEATS);
        while times.len() < REPEATS
            && (times.len() < REPEATS_OF_LONG || times.iter().all(|t| *t < LONG_S))
        {
            if let Some((from, to)) = reset {
                self.exec.copy(from, to)?;
            }
            self.exec.start_clock()?;
            body(self)?;
            times.push(self.exec.stop_clock()?);
        }
        times.sort_by(f64::total_cmp);
        Ok(Some(times[times.len() / 2]))
    }

    fn stats(&self, symbol: &str) -> Option<&KernelStats> {
        self.stats.iter().find(|s| s.symbol == symbol)
    }

    /// Registers of a kernel (GPU).
    pub fn registers(&self, symbol: &str) -> Option<u32> {
        self.stats(symbol)?.registers
    }

    /// Static shared memory of a kernel in bytes (GPU).
    pub fn shared_bytes(&self, symbol: &str) -> Option<u32> {
        self.stats(symbol)?.shared_bytes
    }

    /// What the CPU models instead of reproducing, over all kernels.
    pub fn modelled(&self) -> Vec<String> {
        let mut all: Vec<String> = self.stats.iter().flat_map(|s| s.modelled.clone()).collect();
        all.sort();
        all.dedup();
        all
    }
}

/// A buffer as an argument.
pub fn buffer(id: BufferId) -> Arg {
    Arg::Buffer { id, offset: 0 }
}

/// An int as an argument.
pub fn int(n: usize) -> Arg {
    // Sizes of studies are far below 2^31.
    Arg::Bytes((n as i32).to_le_bytes().to_vec())
}
