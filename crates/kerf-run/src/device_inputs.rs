//! First contents of buffers, made on the device that holds them.
//!
//! [`DeviceGenerator`] gives a buffer the bytes that `kerf_workload::generate` gives it, and the changes of a `Perturb`,
//! by kernels of a program of its own. What holds:
//!
//! * Bytes are the same on every device: kernels use integers and the operations that IEEE 754 defines, and every scalar
//!   is a function of its number.
//! * What needs the host (files, deeply nested expressions) is named by [`HostReason`] before anything is written.
//! * An expression without a value is found on the device; its message comes from the host's generator.

mod encode;
mod expression;

use encode::{LeafKernel, Parameters, PlacedScalars};
use kerf_exec::call::{GrowingBuffer, Record, start_of, word};
use kerf_exec::cpu::{CpuExecutor, CpuOptions};
use kerf_exec::cuda::{self, Code, CudaExecutor};
use kerf_exec::{Arg, BufferId, ExecError, Executor, Launch, digest};
use kerf_ir::finish::{Reflect, finish};
use kerf_llvm::{LlvmError, Module};
use kerf_workload::generate::perturb::{CHUNK, LANES, Perturb, standard_deviation};
use kerf_workload::generate::recipe::{Leaf, LeafValues, recipe};
use kerf_workload::generate::{GenerateError, generate};
use kerf_workload::workload::BufferSpec;
use std::fmt;

static BITCODE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/generate.bc"));
/// The same for GPUs: starting costs no passes.
static PTX: &str = include_str!(concat!(env!("OUT_DIR"), "/generate.ptx"));

/// Threads of a block, of kernels that take one scalar after the other.
const THREADS: usize = 256;
/// Blocks of these, at most: several for each multiprocessor of a large GPU.
const BLOCKS: usize = 4096;
/// No scalar.
const NOWHERE: u64 = u64::MAX;
/// Bytes of a sum with its count.
const MOMENT_BYTES: usize = 16;

/// Symbols of the kernels.
pub const KERNELS: [&str; 16] = [
    "clear_bytes",
    "fill_constant",
    "fill_listed",
    "fill_uniform_integers",
    "fill_uniform_floats",
    "fill_log_uniform",
    "fill_normal",
    "fill_linear_integers",
    "fill_linear_floats",
    "fill_permutation",
    "fill_expression",
    "sum_values",
    "sum_moments",
    "move_values",
    "find_nonfinite",
    "digest_buffer",
];

/// The finished program of the generators, for an architecture such as `sm_90`.
pub fn program(arch: &str) -> Result<Module, LlvmError> {
    let m = Module::parse(BITCODE, "generate")?;
    kerf_ir::prepare::prepare(&m, arch)?;
    finish(&m, &[], arch, Reflect::default())?;
    Ok(m)
}

/// Why a buffer has no first content on the device.
#[derive(Debug, thiserror::Error)]
pub enum DeviceInputError {
    /// The workload file is wrong.
    #[error("{0}")]
    Generate(Box<GenerateError>),
    /// The device failed.
    #[error("{0}")]
    Exec(#[from] ExecError),
    /// A fault of Kerf's.
    #[error("buffer `{buffer}`, scalar {index}: only the host has a value (a fault of Kerf)")]
    Disagreement {
        /// The buffer.
        buffer: String,
        /// The scalar that the device has no value for.
        index: u64,
    },
}

impl From<GenerateError> for DeviceInputError {
    fn from(e: GenerateError) -> Self {
        DeviceInputError::Generate(Box::new(e))
    }
}

/// Who makes a first content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Filled {
    /// It is in the buffer.
    OnDevice,
    /// The host has to make and upload it; the buffer is as it was.
    NeedsHost(HostReason),
}

/// Why a first content is for the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostReason {
    /// It is read from a file.
    File,
    /// An expression uses a name that has no value.
    UnknownName,
    /// An expression holds more values at a time than the device has room for.
    DeepExpression,
}

impl fmt::Display for HostReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HostReason::File => f.write_str("it is read from a file"),
            HostReason::UnknownName => f.write_str("its expression has a name without a value"),
            HostReason::DeepExpression => f.write_str("its expression is nested deeply"),
        }
    }
}

/// Fills buffers of an executor that has [`program`] loaded.
pub struct DeviceGenerator<E: Executor> {
    exec: E,
    /// Operations of expressions and listed numbers.
    uploaded: GrowingBuffer,
    partials: [GrowingBuffer; 2],
    /// Two words: a scalar without a value, a flag, a sum or a digest.
    result: BufferId,
}

impl DeviceGenerator<CpuExecutor> {
    /// A generator on the CPU executor.
    pub fn on_cpu(options: CpuOptions) -> Result<DeviceGenerator<CpuExecutor>, ExecError> {
        let m = program("sm_70").map_err(|e| ExecError::Compile(e.0))?;
        DeviceGenerator::new(CpuExecutor::new(&m, options)?)
    }
}

impl DeviceGenerator<CudaExecutor> {
    /// The code of generators on a GPU. It may be made by another thread than the generator's.
    pub fn code(ordinal: i32) -> Result<Code, ExecError> {
        cuda::assemble(PTX, ordinal)
    }

    /// A generator on a GPU. Buffers of other executors on the same GPU are made known to it by [`CudaExecutor::adopt`].
    pub fn on_cuda(code: Code, ordinal: i32) -> Result<DeviceGenerator<CudaExecutor>, ExecError> {
        let symbols = KERNELS.map(str::to_owned);
        DeviceGenerator::new(CudaExecutor::from_code(code, &symbols, ordinal)?)
    }
}

impl<E: Executor> DeviceGenerator<E> {
    /// Of an executor that has [`program`] loaded.
    pub fn new(mut exec: E) -> Result<DeviceGenerator<E>, ExecError> {
        Ok(DeviceGenerator {
            result: exec.alloc("generator", 16, 8)?,
            exec,
            uploaded: GrowingBuffer::default(),
            partials: Default::default(),
        })
    }

    /// The executor, whose buffers are filled.
    pub fn executor(&mut self) -> &mut E {
        &mut self.exec
    }

    /// Gives a buffer its first content, as `kerf_workload::generate` and then `perturb` would. The buffer has to have
    /// room for it. On an error its content is undefined.
    pub fn fill(
        &mut self,
        spec: &BufferSpec,
        seed: u64,
        sizes: &[(String, i64)],
        perturb: Option<&Perturb>,
        buffer: BufferId,
    ) -> Result<Filled, DeviceInputError> {
        let recipe = recipe(spec, seed, sizes)?;
        if spec.bytes().is_none() {
            Err(GenerateError::Memory {
                buffer: spec.name.clone(),
                len: spec.len,
                elem: spec.elem.clone(),
            })?;
        }
        let mut encoded = Vec::new();
        for leaf in &recipe.leaves {
            match encode::leaf_kernel(leaf) {
                Ok(kernel) => encoded.push((leaf, kernel)),
                Err(reason) => return Ok(Filled::NeedsHost(reason)),
            }
        }
        self.clear_uncovered(spec, &recipe.leaves, buffer)?;
        for (leaf, kernel) in encoded {
            let Some((scalars, kernel)) = PlacedScalars::from_leaf(spec, leaf).zip(kernel) else {
                continue;
            };
            if let Some(index) = self.fill_leaf(&scalars, kernel, buffer)? {
                generate(spec, seed, sizes)?;
                return Err(DeviceInputError::Disagreement {
                    buffer: spec.name.clone(),
                    index,
                });
            }
        }
        if let Some(perturb) = perturb {
            self.perturb(spec, perturb, buffer)?;
        }
        Ok(Filled::OnDevice)
    }

    /// Clears a buffer of which some bytes are padding, or zeros.
    fn clear_uncovered(
        &mut self,
        spec: &BufferSpec,
        leaves: &[Leaf],
        buffer: BufferId,
    ) -> Result<(), ExecError> {
        let written = leaves
            .iter()
            .filter(|l| !matches!(l.values, LeafValues::Zero));
        let covered: usize = written.map(|l| l.elem.size()).sum();
        if covered == spec.elem.size() {
            return Ok(());
        }
        let bytes = spec.len * spec.elem.size();
        let args = [start_of(buffer), word(bytes)];
        self.launch_over("clear_bytes", bytes.div_ceil(8), &args)
    }

    /// Runs the kernel of a leaf; gives the first scalar that has no value.
    fn fill_leaf(
        &mut self,
        scalars: &PlacedScalars,
        kernel: LeafKernel,
        buffer: BufferId,
    ) -> Result<Option<u64>, ExecError> {
        if scalars.count == 0 {
            return Ok(None);
        }
        let can_fail = matches!(kernel.parameters, Parameters::Expression { .. });
        let mut args = vec![scalars.arg(buffer)];
        match kernel.parameters {
            Parameters::Record(record) => args.push(record.arg()),
            Parameters::Bits(bits) => args.push(Arg::Bytes(bits.to_le_bytes().to_vec())),
            Parameters::Listed(bytes) => args.push(start_of(self.upload(&bytes)?)),
            Parameters::Expression { operations, stream } => {
                let mut record = Record::default();
                record.pointer(self.upload(&operations)?);
                record.word((operations.len() / expression::OPERATION_BYTES) as u64);
                encode::add_stream(&mut record, stream);
                self.exec.write(self.result, &NOWHERE.to_le_bytes())?;
                args.extend([record.arg(), start_of(self.result)]);
            }
        }
        self.launch_over(kernel.symbol, scalars.count, &args)?;
        if !can_fail {
            return Ok(None);
        }
        let [failing, _] = self.result_words()?;
        Ok((failing != NOWHERE).then_some(failing))
    }

    fn upload(&mut self, bytes: &[u8]) -> Result<BufferId, ExecError> {
        let id = self.uploaded.with(&mut self.exec, bytes.len())?;
        self.exec.write(id, bytes)?;
        Ok(id)
    }

    /// Moves the values of a buffer, as [`Perturb::apply`] does; gives whether it moved any.
    pub fn perturb(
        &mut self,
        spec: &BufferSpec,
        perturb: &Perturb,
        buffer: BufferId,
    ) -> Result<bool, ExecError> {
        let mut any = false;
        for (k, (offset, scalar)) in spec.elem.scalars().into_iter().enumerate() {
            let scalars = PlacedScalars::single(spec, offset, scalar);
            if !scalar.is_float() || scalars.count == 0 {
                continue;
            }
            let (count, sum) = self.sum(&scalars, None, buffer)?;
            let (_, squares) = self.sum(&scalars, Some(sum / count), buffer)?;
            let Some(sd) = perturb.change(standard_deviation(count, squares)) else {
                continue;
            };
            any = true;
            let mut stream = Record::default();
            encode::add_stream(&mut stream, perturb.stream(&spec.name, k));
            let args = [scalars.arg(buffer), float(sd), stream.arg()];
            self.launch_over("move_values", scalars.count.div_ceil(2), &args)?;
        }
        Ok(any)
    }

    /// Number and sum of the finite values, or of the squares of their distances from a mean.
    fn sum(
        &mut self,
        scalars: &PlacedScalars,
        mean: Option<f64>,
        buffer: BufferId,
    ) -> Result<(f64, f64), ExecError> {
        let mut count = scalars.count.div_ceil(CHUNK);
        let mut out = self.moments(count, 0)?;
        let (center, squared) = (float(mean.unwrap_or(0.0)), word(mean.is_some().into()));
        let args = [scalars.arg(buffer), center, squared, start_of(out)];
        self.launch("sum_values", count, LANES, &args)?;
        let mut level = 0;
        while count > 1 {
            let chunks = count.div_ceil(CHUNK);
            level += 1;
            let next = self.moments(chunks, level % 2)?;
            let args = [start_of(out), word(count), start_of(next)];
            self.launch("sum_moments", chunks, LANES, &args)?;
            (count, out) = (chunks, next);
        }
        let [finite, sum] = self.result_words()?.map(f64::from_bits);
        Ok((finite, sum))
    }

    /// Where so many sums go: the last one to the result.
    fn moments(&mut self, count: usize, which: usize) -> Result<BufferId, ExecError> {
        match count {
            1 => Ok(self.result),
            _ => self.partials[which].with(&mut self.exec, count * MOMENT_BYTES),
        }
    }

    /// Whether no floating-point value of a buffer is NaN or infinite.
    pub fn all_finite(&mut self, spec: &BufferSpec, buffer: BufferId) -> Result<bool, ExecError> {
        self.exec.write(self.result, &[0; 16])?;
        for scalars in PlacedScalars::floats(spec) {
            if scalars.count > 0 {
                let args = [scalars.arg(buffer), start_of(self.result)];
                self.launch_over("find_nonfinite", scalars.count, &args)?;
            }
        }
        Ok(self.result_words()?[0] == 0)
    }

    /// The digest of the first `bytes` of a buffer that `kerf_exec::digest::digest_bytes` gives of them.
    pub fn digest(&mut self, buffer: BufferId, bytes: usize) -> Result<[u64; 2], ExecError> {
        self.exec.write(self.result, &[0; 16])?;
        if bytes > 0 {
            let args = [start_of(buffer), word(bytes), start_of(self.result)];
            self.launch_over("digest_buffer", bytes.div_ceil(8), &args)?;
        }
        Ok(digest::with_length(self.result_words()?, bytes))
    }

    fn result_words(&mut self) -> Result<[u64; 2], ExecError> {
        let bytes = self.exec.read(self.result)?;
        let mut words = [0; 2];
        for (word, chunk) in words.iter_mut().zip(bytes.chunks_exact(8)) {
            *word = chunk.iter().rev().fold(0, |w, b| w << 8 | u64::from(*b));
        }
        Ok(words)
    }

    /// Launches a kernel whose threads share `count` indices.
    fn launch_over(&mut self, symbol: &str, count: usize, args: &[Arg]) -> Result<(), ExecError> {
        match count.div_ceil(THREADS).min(BLOCKS) {
            0 => Ok(()),
            blocks => self.launch(symbol, blocks, THREADS, args),
        }
    }

    fn launch(
        &mut self,
        symbol: &str,
        blocks: usize,
        threads: usize,
        args: &[Arg],
    ) -> Result<(), ExecError> {
        let grid = i32::try_from(blocks).map_err(|_| ExecError::Device {
            what: "generating inputs".into(),
            why: format!("{blocks} blocks are more than a launch can have"),
        })?;
        self.exec.launch(&Launch {
            symbol,
            name: symbol,
            grid: [grid.unsigned_abs(), 1, 1],
            block: [threads as u32, 1, 1],
            dynamic_shared: 0,
            args,
        })
    }
}

/// An argument of type double.
fn float(value: f64) -> Arg {
    Arg::Bytes(value.to_le_bytes().to_vec())
}
