//! The comparison of outputs with their references, on the device that has both.
//!
//! [`DeviceComparer`] makes the report that `kerf_num::metrics::compare_with_quantiles` makes, by kernels of a program
//! of its own. What holds:
//!
//! * Counts, largest errors, their places and quantiles are bit for bit the same.
//! * Sums are of double-doubles in an order that depends on the number of values alone, so all devices give the same
//!   bits. They differ from the processor's by rounding in double-double.
//! * Closeness to expected numbers is that of `kerf_num::metrics::CloseRule`, bit for bit.
//! * What comes back from the device, and what the processor does, does not grow with the number of values.

mod closeness;
mod records;
mod select;
mod similarity;
mod spread;

use crate::call::{self, GrowingBuffer, Record, start_of};
use crate::cpu::{CpuExecutor, CpuOptions};
use crate::cuda::{self, Code, CudaExecutor};
use crate::{Arg, BufferId, ExecError, Executor, Launch};
use kerf_ir::finish::{Reflect, finish};
use kerf_llvm::{LlvmError, Module};
use kerf_num::metrics::{CompareOptions, ErrorParts, ErrorReport, Integers};
use kerf_num::scaled::ElementCode;
use kerf_num::{Format, StorageFormat};
use records::{BINS, CHUNK, COUNTERS, GROUP, PARTIAL_BYTES, PREFIXES, Words};

static BITCODE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/compare.bc"));
/// The same for GPUs: starting costs no passes.
static PTX: &str = include_str!(concat!(env!("OUT_DIR"), "/compare.ptx"));

/// Threads of a block that takes a chunk, or combines partial results.
const THREADS: u32 = 128;
/// Blocks of kernels that count, at most: several for each multiprocessor of a large GPU.
const COUNTING_BLOCKS: usize = 2048;
/// Where the values with the largest errors are in the result.
const LARGEST_AT: usize = PARTIAL_BYTES;
const LARGEST_BYTES: usize = 3 * 3 * 8;

/// Symbols of the kernels.
pub const KERNELS: [&str; 14] = [
    "compare_chunks",
    "combine_partials",
    "combine_sums",
    "fetch_largest",
    "count_digits",
    "spread_errors",
    "collect_errors",
    "count_integer_mismatches",
    "digest_values",
    "digest_integers",
    "convert_values",
    "sum_channel",
    "sum_similarity",
    "compare_closeness",
];

/// The finished program of the comparison, for an architecture such as `sm_90`.
pub fn program(arch: &str) -> Result<Module, LlvmError> {
    let m = Module::parse(BITCODE, "compare")?;
    kerf_ir::prepare::prepare(&m, arch)?;
    finish(&m, &[], arch, Reflect::default())?;
    Ok(m)
}

/// Floating-point values of one format on a device, with their references.
#[derive(Debug, Clone, Copy)]
pub struct DeviceValues<'a> {
    /// The buffer that is compared.
    pub candidate: BufferId,
    /// Its elements.
    pub elements: usize,
    /// Bytes of an element.
    pub element_bytes: usize,
    /// Where in an element values of the format begin.
    pub offsets: &'a [usize],
    /// The format that the candidate holds them in; none: the one that they are compared in.
    pub stored: Option<Format>,
    /// A buffer of pairs of `f64`, high word first, one for each value in the order of elements and offsets. Its
    /// address is a multiple of 16.
    pub reference: BufferId,
}

impl DeviceValues<'_> {
    fn count(&self) -> usize {
        self.elements * self.offsets.len()
    }
}

/// Integers of two buffers of the same layout on a device.
#[derive(Debug, Clone, Copy)]
pub struct DeviceIntegers<'a> {
    /// The buffer that is compared.
    pub candidate: BufferId,
    /// The same of the unchanged program.
    pub original: BufferId,
    /// Elements of each.
    pub elements: usize,
    /// Bytes of an element.
    pub element_bytes: usize,
    /// Where in an element integers begin, and their bytes, at most 8.
    pub scalars: &'a [(usize, usize)],
}

/// Compares buffers of an executor that has [`program`] loaded.
pub struct DeviceComparer<E: Executor> {
    exec: E,
    partials: [GrowingBuffer; 2],
    layout: GrowingBuffer,
    result: BufferId,
    bins: BufferId,
}

impl DeviceComparer<CpuExecutor> {
    /// A comparer on the CPU executor.
    pub fn on_cpu(options: CpuOptions) -> Result<DeviceComparer<CpuExecutor>, ExecError> {
        let m = program("sm_70").map_err(|e| ExecError::Compile(e.0))?;
        DeviceComparer::new(CpuExecutor::new(&m, options)?)
    }
}

impl DeviceComparer<CudaExecutor> {
    /// The code of comparers on a GPU. It may be made by another thread than the comparer's.
    pub fn code(ordinal: i32) -> Result<Code, ExecError> {
        cuda::assemble(PTX, ordinal)
    }

    /// A comparer on a GPU. Buffers of other executors on the same GPU are made known to it by [`CudaExecutor::adopt`].
    pub fn on_cuda(code: Code, ordinal: i32) -> Result<DeviceComparer<CudaExecutor>, ExecError> {
        let symbols = KERNELS.map(str::to_owned);
        DeviceComparer::new(CudaExecutor::from_code(code, &symbols, ordinal)?)
    }
}

impl<E: Executor> DeviceComparer<E> {
    /// Of an executor that has [`program`] loaded.
    pub fn new(mut exec: E) -> Result<DeviceComparer<E>, ExecError> {
        Ok(DeviceComparer {
            result: exec.alloc("comparison", LARGEST_AT + LARGEST_BYTES, 8)?,
            bins: exec.alloc("bins", PREFIXES * BINS * 8, 8)?,
            exec,
            partials: Default::default(),
            layout: GrowingBuffer::default(),
        })
    }

    /// The executor, whose buffers are compared.
    pub fn executor(&mut self) -> &mut E {
        &mut self.exec
    }

    /// Compares values with their references.
    pub fn compare(
        &mut self,
        values: &DeviceValues,
        options: &CompareOptions,
    ) -> Result<ErrorReport, ExecError> {
        let count = values.count();
        if count == 0 {
            let parts = ErrorParts::new(0, options.floor());
            let none = select::no_values(options.quantiles());
            return Ok(parts.finish(none));
        }
        let described = self.describe(values, options.format(), options.floor())?;
        let chunks = count.div_ceil(CHUNK);
        let out = self.partials[0].with(&mut self.exec, chunks * PARTIAL_BYTES)?;
        self.launch(
            "compare_chunks",
            (chunks, THREADS),
            &[described.clone(), start_of(out)],
        )?;
        self.combine("combine_partials", chunks, PARTIAL_BYTES)?;
        let largest = Arg::Buffer {
            id: self.result,
            offset: LARGEST_AT as u64,
        };
        let args = [described.clone(), start_of(self.result), largest];
        self.launch("fetch_largest", (1, 3), &args)?;
        let bytes = self.exec.read(self.result)?;
        let parts = records::parts(&bytes, count, options.floor());
        let found = self.quantiles(&described, options.quantiles(), &parts)?;
        Ok(parts.finish(found))
    }

    /// Compares integers bit by bit.
    pub fn compare_integers(&mut self, values: &DeviceIntegers) -> Result<Integers, ExecError> {
        let count = values.elements * values.scalars.len();
        if count == 0 {
            return Ok(Integers::default());
        }
        let described = self.describe_integers(values)?;
        let words = self.counted("count_integer_mismatches", count, described)?;
        Ok(Integers {
            count,
            mismatches: words[0] as usize,
        })
    }

    /// The argument that says where integers are.
    fn describe_integers(&mut self, values: &DeviceIntegers) -> Result<Arg, ExecError> {
        let mut places = Vec::with_capacity(8 * values.scalars.len());
        for &(offset, bytes) in values.scalars {
            fits(offset, bytes, values.element_bytes)?;
            fits(0, bytes, 8)?;
            places.extend((bytes as u64 * (1 << 32) + offset as u64).to_le_bytes());
        }
        let layout = self.layout.with(&mut self.exec, places.len())?;
        self.exec.write(layout, &places)?;
        let mut record = Record::default();
        record.pointer(values.candidate);
        record.pointer(values.original);
        record.pointer(layout);
        record.word(values.element_bytes as u64);
        record.word((values.elements * values.scalars.len()) as u64);
        record.word(values.scalars.len() as u64);
        Ok(record.arg())
    }

    /// Launches a kernel that adds to two counters, and gives them.
    fn counted(&mut self, kernel: &str, count: usize, what: Arg) -> Result<[u64; 2], ExecError> {
        self.exec.write(self.bins, &[0; 16])?;
        let args = [what, start_of(self.bins)];
        self.launch(kernel, counting(count), &args)?;
        self.counters()
    }

    /// The first two words of the bins.
    fn counters(&mut self) -> Result<[u64; 2], ExecError> {
        let bytes = self.exec.read(self.bins)?;
        let mut words = Words::new(&bytes);
        Ok([words.take(), words.take()])
    }

    /// A digest of values: equal ones have equal digests, all NaNs being one value.
    pub fn digest(&mut self, values: &DeviceValues, format: Format) -> Result<[u64; 2], ExecError> {
        if values.count() == 0 {
            return Ok([0; 2]);
        }
        let described = self.describe(values, format, 0.0)?;
        self.counted("digest_values", values.count(), described)
    }

    /// A digest of the integers of a buffer.
    pub fn digest_integers(&mut self, values: &DeviceIntegers) -> Result<[u64; 2], ExecError> {
        let count = values.elements * values.scalars.len();
        if count == 0 {
            return Ok([0; 2]);
        }
        let described = self.describe_integers(values)?;
        self.counted("digest_integers", count, described)
    }

    /// Writes `count` numbers of one format to another buffer in another format, each rounded once. Gives how many finite
    /// ones a scaled format made its largest number, and how many it has no code for.
    pub fn convert(
        &mut self,
        (from, from_format): (BufferId, StorageFormat),
        (to, to_format): (BufferId, StorageFormat),
        count: usize,
    ) -> Result<[u64; 2], ExecError> {
        if count == 0 {
            return Ok([0; 2]);
        }
        let mut record = Record::default();
        record.pointer(from);
        record.pointer(to);
        record.word(count as u64);
        for format in [from_format, to_format] {
            let (number, exponent) = storage_number(format);
            record.halves(number, exponent as u32);
        }
        record.pointer(self.bins);
        let loses = to_format.scaled().is_some();
        if loses {
            self.exec.write(self.bins, &[0; 16])?;
        }
        self.launch("convert_values", counting(count), &[record.arg()])?;
        match loses {
            true => self.counters(),
            false => Ok([0; 2]),
        }
    }

    /// The argument that says where values are.
    fn describe(
        &mut self,
        values: &DeviceValues,
        format: Format,
        floor: f64,
    ) -> Result<Arg, ExecError> {
        let mut offsets = Vec::with_capacity(4 * values.offsets.len());
        let stored = values.stored.unwrap_or(format);
        for &offset in values.offsets {
            fits(offset, stored.bytes(), values.element_bytes)?;
            offsets.extend((offset as u32).to_le_bytes());
        }
        let layout = self.layout.with(&mut self.exec, offsets.len())?;
        self.exec.write(layout, &offsets)?;
        let mut record = Record::default();
        record.pointer(layout);
        record.word(values.element_bytes as u64);
        record.halves(values.offsets.len() as u32, number(format));
        record.pointer(values.candidate);
        record.pointer(values.reference);
        record.word(values.count() as u64);
        record.word(floor.to_bits());
        record.halves(number(stored), 0);
        Ok(record.arg())
    }

    /// Combines the partial results in the first scratch buffer until one is left, which is then in the result.
    fn combine(&mut self, kernel: &str, count: usize, bytes: usize) -> Result<(), ExecError> {
        let (mut count, mut from) = (count, 0);
        loop {
            let groups = count.div_ceil(GROUP);
            let [a, b] = &mut self.partials;
            let (input, output) = if from == 0 { (a, b) } else { (b, a) };
            let input = input.with(&mut self.exec, count * bytes)?;
            let output = match groups {
                1 => self.result,
                _ => output.with(&mut self.exec, groups * bytes)?,
            };
            let args = [start_of(input), call::word(count), start_of(output)];
            self.launch(kernel, (groups, THREADS), &args)?;
            if groups == 1 {
                return Ok(());
            }
            (count, from) = (groups, 1 - from);
        }
    }

    /// Launches a kernel on so many blocks and threads of a block.
    fn launch(
        &mut self,
        symbol: &str,
        (blocks, threads): (usize, u32),
        args: &[Arg],
    ) -> Result<(), ExecError> {
        let grid = i32::try_from(blocks).map_err(|_| ExecError::Device {
            what: "comparing an output".into(),
            why: format!("{blocks} blocks are more than a launch can have"),
        })?;
        self.exec.launch(&Launch {
            symbol,
            name: symbol,
            grid: [grid.unsigned_abs(), 1, 1],
            block: [threads, 1, 1],
            dynamic_shared: 0,
            args,
        })
    }
}

/// A format, as the device code numbers it.
fn number(format: Format) -> u32 {
    Format::ALL.iter().position(|f| *f == format).unwrap_or(0) as u32
}

/// A format of elements, as the device code numbers it, and the exponent of its scale.
fn storage_number(format: StorageFormat) -> (u32, i32) {
    match format {
        StorageFormat::Float(f) => (number(f), 0),
        StorageFormat::Scaled(s) => {
            let at = ElementCode::ALL.iter().position(|c| *c == s.code);
            (
                (Format::ALL.len() + at.unwrap_or(0)) as u32,
                s.exponent.into(),
            )
        }
    }
}

/// Blocks and threads of a kernel that counts.
fn counting(count: usize) -> (usize, u32) {
    let blocks = count.div_ceil(COUNTERS).min(COUNTING_BLOCKS);
    (blocks, COUNTERS as u32)
}

/// Refuses a scalar that its element does not hold.
fn fits(offset: usize, bytes: usize, element: usize) -> Result<(), ExecError> {
    let end = offset.saturating_add(bytes);
    if end > element || u32::try_from(end).is_err() {
        return Err(ExecError::TooLong {
            name: "an element".into(),
            have: element,
            want: end,
        });
    }
    Ok(())
}
