//! Executors: what runs a finished program.
//!
//! [`cpu`] compiles to x86 and keeps SIMT semantics; `cuda` compiles to PTX and uses the driver.
//! Both give the same bits on IEEE operations and on libdevice functions.
#![warn(missing_docs)]

pub mod call;
pub mod compare;
pub mod cpu;
pub mod cuda;
pub mod digest;
pub mod fixed_range;
pub mod raw;
pub mod replay;
pub mod shadow_space;
pub mod worker;

use serde::{Deserialize, Serialize};

/// A buffer of an executor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BufferId(pub usize);

/// A kernel argument.
#[derive(Debug, Clone)]
pub enum Arg {
    /// Address of a buffer plus bytes.
    Buffer {
        /// The buffer.
        id: BufferId,
        /// Bytes from its start.
        offset: u64,
    },
    /// A value, in memory order.
    Bytes(Vec<u8>),
    /// A struct that holds addresses of buffers.
    Composite {
        /// The value, with zeros for the addresses.
        bytes: Vec<u8>,
        /// Where an address goes: byte in the struct, buffer, bytes from its start.
        pointers: Vec<(usize, BufferId, u64)>,
    },
    /// An OpenCL local pointer: offset into dynamic shared memory.
    Local(u32),
}

impl Arg {
    /// The argument's storage, in 16-byte slots so that structs are aligned; `address` tells where a
    /// buffer lies.
    pub(crate) fn storage(
        &self,
        address: impl Fn(BufferId) -> Result<u64, ExecError>,
    ) -> Result<Vec<u128>, ExecError> {
        let bytes = match self {
            Arg::Buffer { id, offset } => (address(*id)? + offset).to_le_bytes().to_vec(),
            Arg::Bytes(b) => b.clone(),
            Arg::Local(offset) => u64::from(*offset).to_le_bytes().to_vec(),
            Arg::Composite { bytes, pointers } => {
                let mut b = bytes.clone();
                for (at, id, offset) in pointers {
                    let a = (address(*id)? + offset).to_le_bytes();
                    if let Some(slot) = b.get_mut(*at..*at + 8) {
                        slot.copy_from_slice(&a);
                    }
                }
                b
            }
        };
        let mut slots = vec![0u128; bytes.len().div_ceil(16).max(1)];
        for (slot, chunk) in slots.iter_mut().zip(bytes.chunks(16)) {
            let mut word = [0u8; 16];
            word[..chunk.len()].copy_from_slice(chunk);
            *slot = u128::from_le_bytes(word);
        }
        Ok(slots)
    }
}

/// One launch.
#[derive(Debug, Clone)]
pub struct Launch<'a> {
    /// Symbol of the kernel.
    pub symbol: &'a str,
    /// Its name in messages.
    pub name: &'a str,
    /// Blocks.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
    /// Dynamic shared memory in bytes.
    pub dynamic_shared: u32,
    /// Arguments.
    pub args: &'a [Arg],
}

impl<'a> Launch<'a> {
    /// Without the arguments.
    pub(crate) fn configuration(&self) -> LaunchConfiguration<'a> {
        LaunchConfiguration {
            symbol: self.symbol,
            name: self.name,
            grid: self.grid,
            block: self.block,
            dynamic_shared: self.dynamic_shared,
        }
    }
}

/// Which kernel is launched, and on how many threads.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LaunchConfiguration<'a> {
    /// Symbol of the kernel.
    pub symbol: &'a str,
    /// Its name in messages.
    pub name: &'a str,
    /// Blocks.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
    /// Dynamic shared memory in bytes.
    pub dynamic_shared: u32,
}

/// What kind of device computes, or stands for one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DeviceKind {
    /// The CPU executor.
    Cpu,
    /// A GPU.
    Cuda,
    /// A profile, from which times are predicted.
    Profile,
}

impl DeviceKind {
    /// As documents have it.
    pub const fn name(self) -> &'static str {
        match self {
            DeviceKind::Cpu => "cpu",
            DeviceKind::Cuda => "cuda",
            DeviceKind::Profile => "profile",
        }
    }
}

/// What a device is.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DeviceInfo {
    /// What kind of device.
    pub kind: DeviceKind,
    /// Model.
    pub name: String,
    /// What a reader of results must know.
    pub detail: String,
}

/// What is known of a compiled kernel.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct KernelStats {
    /// Symbol.
    pub symbol: String,
    /// Registers of a thread (CUDA).
    pub registers: Option<u32>,
    /// Static shared memory in bytes (CUDA).
    pub shared_bytes: Option<u32>,
    /// Local memory of a thread in bytes: spills and local arrays (CUDA).
    pub local_bytes: Option<u32>,
    /// Largest block that can be launched (CUDA).
    pub max_threads: Option<u32>,
    /// Operations that the CPU models instead of reproducing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub modelled: Vec<String>,
    /// How it is run.
    pub note: Option<String>,
}

/// Why an execution failed. Variants say whose fault it is.
#[derive(Debug, Clone, thiserror::Error, Serialize, Deserialize)]
pub enum ExecError {
    /// The program could not be compiled for the device.
    #[error("cannot compile for this device: {0}")]
    Compile(String),
    /// Not enough memory.
    #[error("{0}")]
    Memory(String),
    /// No such kernel.
    #[error("there is no kernel {0}")]
    NoKernel(String),
    /// No such variable.
    #[error("there is no device variable {0}")]
    NoSymbol(String),
    /// No such buffer.
    #[error("there is no buffer number {0}")]
    NoBuffer(usize),
    /// More data than room.
    #[error("{name} holds {have} bytes, not {want}")]
    TooLong {
        /// The buffer.
        name: String,
        /// Its size.
        have: usize,
        /// What was to go into it.
        want: usize,
    },
    /// The kernel failed.
    #[error("{0}")]
    Fault(cpu::launch::Fault),
    /// An output depends on undefined values.
    #[error("output {message}")]
    Undefined {
        /// What kind of fault that is.
        kind: cpu::launch::FaultKind,
        /// Which element, and where the value comes from.
        message: String,
    },
    /// The device or its driver failed.
    #[error("{what}: {why}")]
    Device {
        /// What was being done.
        what: String,
        /// The driver's reason.
        why: String,
    },
    /// The driver refused a launch: registers or local memory do not suffice. A fault of the program itself shows later.
    #[error("{what}: {why}")]
    Launch {
        /// What was being done.
        what: String,
        /// The driver's reason.
        why: String,
        /// The context still does what it is asked to: other programs can run in it.
        #[serde(default)]
        context_lives: bool,
    },
    /// The device is not there.
    #[error("no {device} device: {why}")]
    Missing {
        /// Which kind.
        device: String,
        /// Why it could not be had.
        why: String,
    },
}

/// Something that runs kernels of one loaded program.
pub trait Executor {
    /// What it is.
    fn device(&self) -> DeviceInfo;
    /// A new zeroed buffer; `element` is the size of one element, for messages.
    fn alloc(&mut self, name: &str, bytes: usize, element: usize) -> Result<BufferId, ExecError>;
    /// The storage of a `__constant__` or `__device__` variable.
    fn symbol(&mut self, symbol: &str, bytes: usize, element: usize)
    -> Result<BufferId, ExecError>;
    /// Fills the start of a buffer.
    fn write(&mut self, id: BufferId, data: &[u8]) -> Result<(), ExecError>;
    /// The content of a buffer.
    fn read(&mut self, id: BufferId) -> Result<Vec<u8>, ExecError>;
    /// Fills the start of a buffer that no launch under way uses, beside those launches where the device can.
    fn write_beside(&mut self, id: BufferId, data: &[u8]) -> Result<(), ExecError> {
        self.write(id, data)
    }
    /// A place in the order of launches that [`Executor::read_after`] can wait for.
    fn mark(&mut self, _number: usize) -> Result<(), ExecError> {
        Ok(())
    }
    /// The first bytes of a buffer when everything before the mark is done; launches after it do not use the
    /// buffer, and go on meanwhile where the device can.
    fn read_after(
        &mut self,
        _number: usize,
        id: BufferId,
        bytes: usize,
    ) -> Result<Vec<u8>, ExecError> {
        let mut all = self.read(id)?;
        all.truncate(bytes);
        Ok(all)
    }
    /// Copies one buffer to another.
    fn copy(&mut self, from: BufferId, to: BufferId) -> Result<(), ExecError>;
    /// Launches a kernel (in order with everything before it).
    fn launch(&mut self, launch: &Launch) -> Result<(), ExecError>;
    /// Launches a kernel, of which only some blocks need to run, by number. Tells whether only those ran: an executor that
    /// cannot leave some out runs all.
    fn launch_blocks(&mut self, launch: &Launch, _blocks: &[u64]) -> Result<bool, ExecError> {
        self.launch(launch)?;
        Ok(false)
    }
    /// Starts the clock, after everything before it.
    fn start_clock(&mut self) -> Result<(), ExecError>;
    /// Waits for all work and gives the seconds since [`Executor::start_clock`].
    fn stop_clock(&mut self) -> Result<f64, ExecError>;
    /// Nothing that is recorded next writes this buffer: replays need not put its contents back.
    fn constant(&mut self, _buffer: BufferId) {}
    /// From now on launches and copies are recorded, not done, to be replayed from the contents that buffers
    /// have now. False if the executor cannot, or has no memory for it.
    fn record(&mut self) -> Result<bool, ExecError> {
        Ok(false)
    }
    /// Ends what [`Executor::record`] began.
    fn recorded(&mut self) -> Result<(), ExecError> {
        Ok(())
    }
    /// Records anew, from the contents that the recording before began with. False if there was none.
    fn record_again(&mut self) -> Result<bool, ExecError> {
        Ok(false)
    }
    /// Puts the contents back that the last recording started from. False if there is none.
    fn rewind(&mut self) -> Result<bool, ExecError> {
        Ok(false)
    }
    /// Seconds of a replay of what was recorded, on average over some. Contents are put back before each,
    /// outside of the time.
    fn replay(&mut self, _runs: u32) -> Result<f64, ExecError> {
        Err(ExecError::Device {
            what: "replaying launches".into(),
            why: "this executor does not record".into(),
        })
    }
    /// Takes a buffer's content as undefined, where the program is checked; or, if zeros are assumed, as something that
    /// is to be noted where a kernel relies on it.
    fn undefine(&mut self, _id: BufferId, _assumed: bool) -> Result<(), ExecError> {
        Ok(())
    }
    /// The first value of a buffer that a kernel computed from undefined ones, as a fault, where the program is checked.
    fn undefined(&mut self, _id: BufferId) -> Result<(), ExecError> {
        Ok(())
    }
    /// What the checks of a program noticed that stops nothing.
    fn take_notes(&mut self) -> Vec<String> {
        Vec::new()
    }
    /// Where a buffer lies on a GPU, for other programs on it; none on the CPU.
    fn device_address(&self, _id: BufferId) -> Option<u64> {
        None
    }
    /// Fills a buffer from memory of the same GPU, which has to stay as it is: recordings start from it.
    fn write_from_device(&mut self, id: BufferId, _address: u64) -> Result<(), ExecError> {
        Err(ExecError::NoBuffer(id.0))
    }
    /// Bytes of memory that buffers can still have; none where the executor does not say.
    fn free_memory(&mut self) -> Result<Option<usize>, ExecError> {
        Ok(None)
    }
    /// What kernels printed since the last call.
    fn printed(&mut self) -> Vec<u8>;
    /// What is known of the kernels.
    fn kernel_stats(&self) -> Vec<KernelStats>;
}
