//! What a replay leaves, compared on its device with what the recorded run left.
//!
//! A first replay keeps every byte that comes back to the host, and says what it is ([`Copy`]). From then on these bytes
//! stay on the device: copies from one allocation lie one behind the other in a log, beside the numbers of the recorded run,
//! and only the decision comes back.
use crate::error::{CallFailure, code};
use crate::trace::{Copy, float_format};
use kerf_exec::compare::{DeviceComparer, DeviceIntegers, DeviceValues};
use kerf_exec::cpu::{CpuExecutor, CpuOptions};
use kerf_exec::cuda::CudaExecutor;
use kerf_exec::replay::{AppCriterion, JudgedReplay, WorstNumber};
use kerf_exec::{BufferId, ExecError, Executor};
use kerf_num::Format;
use kerf_num::metrics::{CompareOptions, ErrorReport, Integers};
use std::collections::BTreeMap;

/// A number below this part of the largest of its array is small: its relative error says little of the whole.
const SMALL: f64 = 1e-2;

/// An executor that compares memory of the device that replays run on.
pub trait OutputExecutor: Executor {
    /// Memory for what replays leave, and its address for copies on the device.
    fn log(&mut self, bytes: usize) -> Result<(BufferId, u64), ExecError>;
    /// Makes bytes that were copied to an address of a log visible to kernels.
    fn refresh(&mut self, log: BufferId, from: u64, bytes: usize) -> Result<(), ExecError>;
}

impl OutputExecutor for CudaExecutor {
    fn log(&mut self, bytes: usize) -> Result<(BufferId, u64), ExecError> {
        let log = self.alloc("what replays leave", bytes, 1)?;
        let address = self.address(log)?;
        Ok((log, address))
    }
    fn refresh(&mut self, _log: BufferId, _from: u64, _bytes: usize) -> Result<(), ExecError> {
        Ok(())
    }
}

impl OutputExecutor for CpuExecutor {
    fn log(&mut self, bytes: usize) -> Result<(BufferId, u64), ExecError> {
        // Buffers of this executor have no address outside of it.
        let memory: &'static mut [u8] = Box::leak(vec![0u8; bytes].into_boxed_slice());
        let log = self.alloc("what replays leave", bytes, 1)?;
        Ok((log, memory.as_mut_ptr() as u64))
    }
    fn refresh(&mut self, log: BufferId, from: u64, bytes: usize) -> Result<(), ExecError> {
        // SAFETY: the memory of `log`, which stays, and which no copy writes now.
        let data = unsafe { std::slice::from_raw_parts(from as *const u8, bytes) };
        self.write(log, data)
    }
}

/// Where in the log a copy goes.
#[derive(Debug, Clone, Copy)]
pub struct LoggedCopy {
    /// Allocation that it is from.
    pub allocation: usize,
    /// Is it of what the allocation holds at its end?
    pub last: bool,
    /// Bytes of the whole copy.
    pub bytes: usize,
    /// Bytes of it before its first whole element.
    pub skipped: usize,
    /// Address in the log; none for bytes that are not compared.
    pub to: Option<u64>,
    /// Bytes of whole elements.
    pub logged: usize,
}

/// A scalar of an allocation's elements.
struct ComparedField {
    offset: usize,
    format: Format,
    /// The numbers of the recorded run, as pairs of doubles.
    reference: BufferId,
}

/// All that comes back from one allocation.
struct ComparedAllocation {
    number: usize,
    element_bytes: usize,
    elements: usize,
    fields: Vec<ComparedField>,
    /// Offset in an element and bytes.
    integers: Vec<(usize, usize)>,
    log: BufferId,
    address: u64,
    /// The same bytes of the recorded run.
    original: BufferId,
}

/// What replays leave, on the executor `E`.
pub struct OutputComparer<E: Executor> {
    comparer: DeviceComparer<E>,
    allocations: Vec<ComparedAllocation>,
}

/// Copies of one allocation with their whole elements.
struct Piece {
    at: usize,
    skipped: usize,
    logged: usize,
}

type Pieces<'c> = BTreeMap<usize, (&'c Copy, Vec<Piece>)>;

/// Offset and bytes of an integer of a type such as `i32`; none for pointers.
fn integer(offset: u64, kind: &str) -> Option<(usize, usize)> {
    let bits: usize = kind.strip_prefix('i')?.parse().ok()?;
    Some((offset as usize, bits.div_ceil(8)))
}

/// Whole elements of each copy, by allocation.
fn pieces(copies: &[Copy]) -> Pieces<'_> {
    let mut all = Pieces::new();
    for (at, c) in copies.iter().enumerate() {
        let Some((scalars, size)) = &c.element else {
            continue;
        };
        if scalars.is_empty() || *size == 0 {
            continue;
        }
        let skipped = ((size - c.at % size) % size) as usize;
        let logged = c.bytes.saturating_sub(skipped) / *size as usize * *size as usize;
        let (_, list) = all.entry(c.allocation).or_insert((c, Vec::new()));
        list.push(Piece {
            at,
            skipped,
            logged,
        });
    }
    all
}

fn failed(e: ExecError) -> CallFailure {
    CallFailure::from_executor(e, code::UNKNOWN)
}

impl<E: OutputExecutor> OutputComparer<E> {
    /// For replays that copy what `copies` says. `recorded` has the bytes that the recorded run copied. Gives also where
    /// each copy goes.
    pub fn new(
        comparer: DeviceComparer<E>,
        copies: &[Copy],
        recorded: &[u8],
    ) -> Result<(OutputComparer<E>, Vec<LoggedCopy>), CallFailure> {
        let uncompared = |c: &Copy| LoggedCopy {
            allocation: c.allocation,
            last: c.last,
            bytes: c.bytes,
            skipped: 0,
            to: None,
            logged: 0,
        };
        let mut logged: Vec<LoggedCopy> = copies.iter().map(uncompared).collect();
        let mut outputs = OutputComparer {
            comparer,
            allocations: Vec::new(),
        };
        for (first, list) in pieces(copies).into_values() {
            let mut bytes = Vec::with_capacity(list.iter().map(|p| p.logged).sum());
            for p in &list {
                let from = copies[p.at].offset as usize + p.skipped;
                let range = recorded.get(from..from + p.logged);
                bytes.extend_from_slice(range.ok_or_else(|| {
                    CallFailure::new(code::UNKNOWN, "the record's copies are cut off")
                })?);
            }
            let address = outputs.allocation(first, &bytes).map_err(failed)?;
            let mut at = address;
            for p in &list {
                logged[p.at].skipped = p.skipped;
                logged[p.at].logged = p.logged;
                logged[p.at].to = Some(at);
                at += p.logged as u64;
            }
        }
        Ok((outputs, logged))
    }

    /// Makes room for an allocation's copies; gives its address.
    fn allocation(&mut self, first: &Copy, recorded: &[u8]) -> Result<u64, ExecError> {
        let Some((scalars, size)) = &first.element else {
            return Ok(0);
        };
        let (element_bytes, size) = (*size as usize, recorded.len());
        let exec = self.comparer.executor();
        let (log, address) = exec.log(size)?;
        let original = exec.alloc("the recorded run's", size, 1)?;
        exec.write(original, recorded)?;
        let mut fields = Vec::new();
        for (offset, kind) in scalars {
            let Some(format) = float_format(kind) else {
                continue;
            };
            let pairs = pairs(recorded, (*offset as usize, element_bytes), format);
            let reference = exec.alloc("the recorded run's numbers", pairs.len(), 16)?;
            exec.write(reference, &pairs)?;
            fields.push(ComparedField {
                offset: *offset as usize,
                format,
                reference,
            });
        }
        self.allocations.push(ComparedAllocation {
            number: first.allocation,
            element_bytes,
            elements: size / element_bytes,
            fields,
            integers: scalars.iter().filter_map(|(o, k)| integer(*o, k)).collect(),
            log,
            address,
            original,
        });
        Ok(address)
    }

    /// Compares what is in the log with what the recorded run left.
    pub fn judge(&mut self, c: &AppCriterion) -> Result<JudgedReplay, CallFailure> {
        self.compared(c).map_err(failed)
    }

    fn compared(&mut self, c: &AppCriterion) -> Result<JudgedReplay, ExecError> {
        let (mut reports, mut integers) = (Vec::new(), Integers::default());
        let mut worst: Option<(f64, WorstNumber)> = None;
        for a in &self.allocations {
            let bytes = a.elements * a.element_bytes;
            self.comparer.executor().refresh(a.log, a.address, bytes)?;
            for f in &a.fields {
                let report = a.field(f, &mut self.comparer, c)?;
                if let Some((e, number)) = furthest(a, &report)
                    && worst.as_ref().is_none_or(|w| w.0 < e)
                {
                    worst = Some((e, number));
                }
                reports.push(report);
            }
            let found = self.comparer.compare_integers(&DeviceIntegers {
                candidate: a.log,
                original: a.original,
                elements: a.elements,
                element_bytes: a.element_bytes,
                scalars: &a.integers,
            })?;
            integers.count += found.count;
            integers.mismatches += found.mismatches;
        }
        Ok(JudgedReplay {
            judgement: c.judge(&reports, integers),
            worst: worst.map(|w| w.1).unwrap_or_default(),
        })
    }
}

impl ComparedAllocation {
    fn field<E: Executor>(
        &self,
        f: &ComparedField,
        comparer: &mut DeviceComparer<E>,
        c: &AppCriterion,
    ) -> Result<ErrorReport, ExecError> {
        let wrong = |e: kerf_num::metrics::CompareError| ExecError::Device {
            what: "comparing outputs".into(),
            why: e.to_string(),
        };
        // As doubles, as a program's own copies are compared.
        let options = CompareOptions::new(Format::F64, c.floor, &[]).map_err(wrong)?;
        let options = options.only_quantiles(c.quantiles());
        let values = DeviceValues {
            candidate: self.log,
            elements: self.elements,
            element_bytes: self.element_bytes,
            offsets: &[f.offset],
            stored: Some(f.format),
            reference: f.reference,
        };
        comparer.compare(&values, &options)
    }
}

/// The number of an array that is furthest off by its own size, and its error.
fn furthest(a: &ComparedAllocation, r: &ErrorReport) -> Option<(f64, WorstNumber)> {
    let at = r.max_rel_at.as_ref()?;
    let words = format!(
        "number {} of {} of allocation #{} is {:e} instead of {:e}",
        at.index + 1,
        a.elements,
        a.number,
        at.got,
        at.reference
    );
    let is_small = at.reference.abs().max(r.floor) < SMALL * r.peak;
    Some((r.max_rel, WorstNumber { words, is_small }))
}

/// The numbers of a format at an offset of each element, as pairs of doubles.
fn pairs(bytes: &[u8], (offset, element): (usize, usize), format: Format) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len() / element * 16);
    for e in bytes.chunks_exact(element) {
        let mut word = [0u8; 8];
        word[..format.bytes()].copy_from_slice(&e[offset..offset + format.bytes()]);
        let x = match format {
            Format::F64 => f64::from_le_bytes(word),
            _ => format.decode(u64::from_le_bytes(word)),
        };
        out.extend(x.to_le_bytes());
        out.extend([0u8; 8]);
    }
    out
}

/// What replays leave, on either device.
pub enum ReplayOutputs {
    /// On the CPU.
    Cpu(Box<OutputComparer<CpuExecutor>>),
    /// On a GPU.
    Cuda(Box<OutputComparer<CudaExecutor>>),
}

impl ReplayOutputs {
    /// On a device such as `cpu` or `cuda:0`; see [`OutputComparer::new`].
    pub fn new(
        device: &str,
        copies: &[Copy],
        recorded: &[u8],
    ) -> Result<(ReplayOutputs, Vec<LoggedCopy>), CallFailure> {
        match device.split_once(':').unwrap_or((device, "0")) {
            ("cuda", n) => {
                let comparer = cuda_comparer(n.parse().unwrap_or(0))?;
                let (outputs, copies) = OutputComparer::new(comparer, copies, recorded)?;
                Ok((ReplayOutputs::Cuda(Box::new(outputs)), copies))
            }
            _ => {
                let (outputs, copies) = OutputComparer::new(cpu_comparer()?, copies, recorded)?;
                Ok((ReplayOutputs::Cpu(Box::new(outputs)), copies))
            }
        }
    }

    /// See [`OutputComparer::judge`].
    pub fn judge(&mut self, c: &AppCriterion) -> Result<JudgedReplay, CallFailure> {
        match self {
            ReplayOutputs::Cpu(o) => o.judge(c),
            ReplayOutputs::Cuda(o) => o.judge(c),
        }
    }

    /// Writes `count` numbers at an address of a GPU to another address in another format. False on the CPU, where
    /// nothing is done.
    pub fn convert(
        &mut self,
        from: (u64, Format),
        to: (u64, Format),
        count: usize,
    ) -> Result<bool, CallFailure> {
        let ReplayOutputs::Cuda(o) = self else {
            return Ok(false);
        };
        let exec = o.comparer.executor();
        let mut adopted =
            |(address, f): (u64, Format)| (exec.adopt("numbers", address, count * f.bytes()), f);
        let (from, to) = (adopted(from), adopted(to));
        let stored = |(id, f): (BufferId, Format)| (id, f.into());
        let done = o.comparer.convert(stored(from), stored(to), count);
        done.map(|_| true).map_err(failed)
    }
}

/// Bytes of device memory that comparisons of these copies take.
pub fn need(copies: &[Copy]) -> u64 {
    let each = pieces(copies).into_values().map(|(first, list)| {
        let bytes: u64 = list.iter().map(|p| p.logged as u64).sum();
        let floats = first.element.as_ref().map_or(0, |(scalars, size)| {
            let numbers = scalars.iter().filter(|(_, k)| float_format(k).is_some());
            numbers.count() as u64 * (bytes / size)
        });
        2 * bytes + 16 * floats
    });
    each.sum()
}

/// A comparer on the CPU.
fn cpu_comparer() -> Result<DeviceComparer<CpuExecutor>, CallFailure> {
    DeviceComparer::on_cpu(CpuOptions::default()).map_err(failed)
}

/// A comparer on a GPU.
fn cuda_comparer(ordinal: i32) -> Result<DeviceComparer<CudaExecutor>, CallFailure> {
    let code = DeviceComparer::code(ordinal).map_err(failed)?;
    DeviceComparer::on_cuda(code, ordinal).map_err(failed)
}
