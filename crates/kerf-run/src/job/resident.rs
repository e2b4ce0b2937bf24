//! What stays on a GPU between evaluations: references, and the program that compares outputs with them.
//!
//! At full size nothing of an evaluation that grows with the problem is the processor's work: the reference is computed
//! on the GPU, its shadows stay there, and outputs are compared where they are. Only reports come back.
use super::inputs_key::inputs_key;
use super::reference::{OutputCriterion, value_at, verdict};
use super::report::{Output, ReferenceInfo};
use super::resident_inputs::ResidentInputs;
use super::shadowed::ReferenceOutput;
use super::shadowed::{
    Attempt, Reference, ReferenceCode, on_gpu, run_with_shadows, scalars_by_format,
};
use super::{Device, Job, JobError, ReferenceRoute};
use crate::device_inputs::DeviceGenerator;
use crate::held::{HeldBuffer, HeldNumbers};
use crate::run::{DeviceContents, FirstContents, LoadedBuffers, WorkloadSession};
use kerf_clang::sha256;
use kerf_exec::compare::{DeviceComparer, DeviceIntegers, DeviceValues};
use kerf_exec::cuda::{CudaExecutor, DeviceMemory, read_device};
use kerf_exec::shadow_space::{BufferScalars, ENTRY, ShadowExecutor, pairs};
use kerf_exec::{ExecError, Executor};
use kerf_ir::program::Program;
use kerf_num::Format;
use kerf_num::metrics::{ErrorReport, Integers, Scatter, ScatterBuilder};
use kerf_workload::generate::perturb::format_of;
use kerf_workload::workload::BufferSpec;

/// References that are kept: the search's input, and those of validation in their turn.
const KEPT: usize = 2;

/// Elements of an output whose errors are looked at in one go.
const SLICE: usize = 1 << 23;

/// A program after its run, with its buffers.
pub(super) struct RunOnDevice<'a> {
    pub exec: &'a dyn Executor,
    pub loaded: &'a LoadedBuffers,
}

/// The reference of one output.
struct DeviceOutput {
    /// What the unchanged program left.
    original: DeviceMemory,
    /// Pairs of high and low words of its floats, by format.
    shadows: Vec<(Format, DeviceMemory)>,
}

impl DeviceOutput {
    /// Copies what the host computed to the device.
    fn upload(b: &BufferSpec, (bytes, values): &ReferenceOutput) -> Result<DeviceOutput, JobError> {
        let mut shadows = Vec::new();
        for (format, _) in scalars_by_format(b) {
            let all = values.get(&format).map_or(&[][..], Vec::as_slice);
            let pairs: Vec<u8> = all
                .iter()
                .flat_map(|d| [d.hi, d.lo])
                .flat_map(f64::to_le_bytes)
                .collect();
            let memory = DeviceMemory::with_bytes(&pairs, "shadows of an output")?;
            shadows.push((format, memory));
        }
        Ok(DeviceOutput {
            original: DeviceMemory::with_bytes(bytes, &b.name)?,
            shadows,
        })
    }

    /// Digests of all that it holds.
    fn digests(&self, digest: &mut ResidentInputs) -> Result<Vec<[u64; 2]>, ExecError> {
        let shadows = self.shadows.iter().map(|(_, memory)| memory);
        let all = [&self.original].into_iter().chain(shadows);
        all.map(|memory| digest.digest_memory(memory)).collect()
    }
}

/// The reference of a program on one input.
struct DeviceReference {
    key: String,
    info: ReferenceInfo,
    outputs: Vec<DeviceOutput>,
    /// Of each output, when it was made.
    digests: Vec<Vec<[u64; 2]>>,
}

/// Why the reference of a program and its inputs is not on the device.
struct Refused {
    key: String,
    why: Vec<String>,
}

/// What stays on a GPU.
pub(super) struct Resident {
    comparer: DeviceComparer<CudaExecutor>,
    inputs: ResidentInputs,
    references: Vec<DeviceReference>,
    code: ReferenceCode,
    refused: Option<Refused>,
}

/// Everything that decides a reference of a program.
fn key(job: &Job, session: &WorkloadSession, program: &Program) -> String {
    format!(
        "{} {} {:?} {:?}",
        sha256(&program.bitcode),
        inputs_key(session),
        session.params,
        job.libdevice
    )
}

/// Can outputs stay on the device? Those that are saved are read, and runs that measure energy change them.
pub(super) fn stays_on_device(job: &Job) -> bool {
    let on_gpu = job.device == Device::Cuda && job.reference_route == ReferenceRoute::Gpu;
    on_gpu && job.reference && job.save.is_none() && job.energy_s == 0.0
}

impl Resident {
    /// On the GPU of a job, for references of a program. All that takes compilers is made at once.
    pub(super) fn new(
        job: &Job,
        own: &WorkloadSession,
        program: &Program,
    ) -> Result<Resident, JobError> {
        let at = job.ordinal;
        let mut code = ReferenceCode::default();
        let (comparer, generator) = std::thread::scope(|s| {
            let comparer = s.spawn(|| DeviceComparer::code(at));
            let generator = s.spawn(|| DeviceGenerator::code(at));
            code.prepare(job, own, program);
            (comparer.join(), generator.join())
        });
        let failed = |_| JobError::Worker("a thread that assembles code failed".into());
        Ok(Resident {
            comparer: DeviceComparer::on_cuda(comparer.map_err(failed)??, at)?,
            inputs: ResidentInputs::new(generator.map_err(failed)??, at)?,
            references: Vec::new(),
            code,
            refused: None,
        })
    }

    /// The reference's story, where the reference is on the device; why not, elsewhere. It is computed where it is not
    /// there yet.
    pub(super) fn reference(
        &mut self,
        job: &Job,
        session: &WorkloadSession,
        program: &Program,
    ) -> Result<Result<ReferenceInfo, Vec<String>>, JobError> {
        let key = key(job, session, program);
        if let Some(at) = self.references.iter().position(|r| r.key == key) {
            // The last used is the last to go.
            let r = self.references.remove(at);
            let info = ReferenceInfo {
                kept: true,
                ..r.info.clone()
            };
            self.references.push(r);
            return Ok(Ok(info));
        }
        if let Some(r) = self.refused.as_ref().filter(|r| r.key == key) {
            return Ok(Err(r.why.clone()));
        }
        let contents = self.inputs.contents(session)?;
        let contents = contents.map(FirstContents::Device);
        let attempt = match on_gpu(job, session, program, &mut self.code)? {
            Ok(mut exec) => {
                run_with_shadows(Device::Cuda, session, &mut exec, contents, keep_output)?
            }
            Err(why) => Attempt::NeedsHost(why),
        };
        match attempt {
            Attempt::Done(info, outputs) => {
                self.keep(key, info.clone(), outputs)?;
                Ok(Ok(info))
            }
            Attempt::NeedsHost(why) => {
                let refused = why.clone();
                self.refused = Some(Refused { key, why: refused });
                Ok(Err(why))
            }
        }
    }

    /// Keeps a reference; the oldest goes for it.
    fn keep(
        &mut self,
        key: String,
        info: ReferenceInfo,
        outputs: Vec<DeviceOutput>,
    ) -> Result<(), JobError> {
        if self.references.len() >= KEPT {
            self.references.remove(0);
        }
        let all = outputs.iter().map(|o| o.digests(&mut self.inputs));
        let digests = all.collect::<Result<_, _>>()?;
        self.references.push(DeviceReference {
            key,
            info,
            outputs,
            digests,
        });
        Ok(())
    }

    /// Takes a reference that the host computed.
    pub(super) fn take(
        &mut self,
        job: &Job,
        session: &WorkloadSession,
        program: &Program,
        reference: &Reference,
    ) -> Result<(), JobError> {
        let specs = session.outputs().into_iter();
        let specs = specs.map(|o| &session.workload.buffers[o]);
        let outputs = specs
            .zip(&reference.outputs)
            .map(|(b, values)| DeviceOutput::upload(b, values))
            .collect::<Result<_, _>>()?;
        let key = key(job, session, program);
        self.keep(key, reference.info.clone(), outputs)
    }

    /// What a session's buffers begin with, in their own formats; none where the device has no room to keep it.
    pub(super) fn contents(
        &mut self,
        session: &WorkloadSession,
    ) -> Result<Option<DeviceContents>, JobError> {
        self.inputs.contents(session)
    }

    /// The same in the formats that the session holds them in, and what numbers of each buffer lost.
    pub(super) fn held(
        &mut self,
        session: &WorkloadSession,
        own: &DeviceContents,
    ) -> Result<(DeviceContents, Vec<[u64; 2]>), JobError> {
        ResidentInputs::held(&mut self.comparer, session, own)
    }

    /// Digest of the inputs used last.
    pub(super) fn inputs_digest(&self) -> Option<String> {
        self.inputs.digest()
    }

    /// Inputs and the reference used last are as they were made. A GPU reports few writes beyond a program's own
    /// buffers.
    pub(super) fn check_intact(&mut self, session: &WorkloadSession) -> Result<(), JobError> {
        if let Some(name) = self.inputs.changed_buffer(session)? {
            return Err(JobError::Overwritten(format!("the inputs of `{name}`")));
        }
        let Some(r) = self.references.last() else {
            return Ok(());
        };
        for ((o, digests), output) in r.outputs.iter().zip(&r.digests).zip(session.outputs()) {
            if o.digests(&mut self.inputs)? != *digests {
                let name = &session.workload.buffers[output].name;
                return Err(JobError::Overwritten(format!("the reference of `{name}`")));
            }
        }
        Ok(())
    }

    /// Compares the outputs of a run, which are still on the device, with the reference used last.
    pub(super) fn compare(
        &mut self,
        session: &WorkloadSession,
        run: &RunOnDevice,
        job: &Job,
    ) -> Result<Vec<Output>, JobError> {
        let Resident {
            comparer,
            references,
            inputs,
            ..
        } = self;
        // The host would have to make all of them first.
        let mut finite = || match inputs.all_finite(session)? {
            Some(finite) => Ok(finite),
            None => Ok(session.inputs_are_finite()?),
        };
        let gone = || JobError::Worker("the reference is gone from the device".into());
        let reference = references.last().ok_or_else(gone)?;
        let outputs = session.outputs().into_iter().zip(&reference.outputs);
        outputs
            .map(|(o, r)| {
                let mut one = OutputOnDevice::new(comparer, session, run, o)?;
                one.scatter = job.scatter;
                one.brief = job.brief;
                one.compare(session, r, &mut finite)
            })
            .collect()
    }
}

/// Copies what an output is compared with out of the reference's program.
fn keep_output(
    session: &WorkloadSession,
    exec: &mut CudaExecutor,
    buffers: &LoadedBuffers,
    output: usize,
) -> Result<DeviceOutput, JobError> {
    let id = buffers.ids[buffers.binding[output]];
    let b = &session.workload.buffers[output];
    let bytes = b.bytes().unwrap_or(0);
    // Not by the executor: its copies to memory without shadows are losses of the program's.
    let address = exec.device_address(id).ok_or(ExecError::NoBuffer(output))?;
    let original = DeviceMemory::copy_of(address, bytes, &b.name)?;
    let mut shadows = Vec::new();
    for (format, scalars) in scalars_by_format(b) {
        let bytes = 16 * scalars.len() * scalars[0].elements;
        let memory = DeviceMemory::zeroed(bytes, "shadows of an output")?;
        let out = exec.adopt("shadows", memory.address(), bytes);
        exec.write_shadows(id, &scalars, out)?;
        shadows.push((format, memory));
    }
    Ok(DeviceOutput { original, shadows })
}

/// Numbers that the device holds as codes, in the workload's format; that has so many bytes.
fn decoded_on_device(
    comparer: &mut DeviceComparer<CudaExecutor>,
    (address, numbers): (u64, HeldNumbers),
    bytes: usize,
    name: &str,
) -> Result<DeviceMemory, JobError> {
    let wide = DeviceMemory::zeroed(bytes, name)?;
    let exec = comparer.executor();
    let from = exec.adopt(name, address, numbers.bytes(bytes));
    let to = exec.adopt(name, wide.address(), bytes);
    let count = bytes / numbers.from.bytes();
    comparer.convert((from, numbers.to), (to, numbers.from.into()), count)?;
    Ok(wide)
}

/// An output of a run, on the device.
struct OutputOnDevice<'a> {
    comparer: &'a mut DeviceComparer<CudaExecutor>,
    buffer: usize,
    spec: &'a BufferSpec,
    address: u64,
    /// Numbers of codes, or of records that are laid out otherwise; the address is theirs then.
    _decoded: Option<DeviceMemory>,
    /// Bytes of an element, and the format that its numbers are held in where that is not the workload's.
    element_bytes: usize,
    held: Option<(Format, Format)>,
    /// How its errors are spread is looked at too.
    scatter: bool,
    /// Only quantiles that are asked for.
    brief: bool,
}

impl<'a> OutputOnDevice<'a> {
    fn new(
        comparer: &'a mut DeviceComparer<CudaExecutor>,
        session: &WorkloadSession<'a>,
        run: &RunOnDevice,
        buffer: usize,
    ) -> Result<OutputOnDevice<'a>, JobError> {
        let loaded = run.loaded;
        let at = loaded.binding[buffer];
        let spec = &session.workload.buffers[buffer];
        let held = session.held(at);
        let address = run.exec.device_address(loaded.ids[at]);
        let mut address = address.ok_or(ExecError::NoBuffer(at))?;
        let mut decoded = None;
        let formats = held.as_ref().and_then(HeldBuffer::device_formats);
        let floats = formats.and_then(|n| Some((n.from, n.to.float()?)));
        if let Some(h) = held.filter(|_| floats.is_none()) {
            let own = spec.bytes().unwrap_or(0);
            let memory = match formats {
                Some(n) => decoded_on_device(comparer, (address, n), own, &spec.name)?,
                None => {
                    let stored = read_device(address, h.bytes(own))?;
                    DeviceMemory::with_bytes(&h.widen(&stored, own), &spec.name)?
                }
            };
            address = memory.address();
            decoded = Some(memory);
        }
        let held = floats;
        let size = spec.elem.size();
        let scaled = |(from, to): (Format, Format)| size / from.bytes() * to.bytes();
        Ok(OutputOnDevice {
            comparer,
            buffer,
            spec,
            address,
            _decoded: decoded,
            element_bytes: held.map_or(size, scaled),
            held,
            scatter: false,
            brief: false,
        })
    }

    /// Bytes of the workload's element as bytes of the device's.
    fn scaled(&self, bytes: usize) -> usize {
        match self.held {
            Some((from, to)) => bytes / from.bytes() * to.bytes(),
            None => bytes,
        }
    }

    fn integers(&self) -> Vec<(usize, usize)> {
        let all = self.spec.elem.scalars();
        let some = all.iter().filter(|(_, s)| format_of(*s).is_none());
        some.map(|(at, s)| (*at, s.bytes())).collect()
    }

    /// How the errors of the numbers at some offsets of the elements are spread, where the device cannot tell. The host looks
    /// at them, slice by slice.
    fn spread(
        &self,
        offsets: &[usize],
        format: Format,
        shadows: &DeviceMemory,
        floor: f64,
    ) -> Result<Scatter, JobError> {
        let (numbers, stored) = (offsets.len(), self.held.map_or(format, |(_, to)| to));
        let (len, size) = (self.spec.len, self.element_bytes);
        let mut all = ScatterBuilder::new(numbers * len, floor, &self.spec.npy_shape());
        for first in (0..len).step_by(SLICE) {
            let elements = SLICE.min(len - first);
            let bytes = read_device(self.address + (first * size) as u64, elements * size)?;
            let (from, entries) = (ENTRY * numbers * first, ENTRY * numbers * elements);
            let exact = read_device(shadows.address() + from as u64, entries)?;
            all.add(numbers * elements, |part| {
                let place = |k: usize| k / numbers * size + offsets[k % numbers];
                let values = part.clone().map(|k| value_at(&bytes, place(k), stored));
                let exact = &exact[ENTRY * part.start..ENTRY * part.end];
                (values.collect(), pairs(exact))
            });
        }
        Ok(all.finish())
    }

    fn compare(
        &mut self,
        session: &WorkloadSession,
        reference: &DeviceOutput,
        inputs_are_finite: &mut dyn FnMut() -> Result<bool, JobError>,
    ) -> Result<Output, JobError> {
        let bytes = self.element_bytes * self.spec.len;
        let exec = self.comparer.executor();
        let candidate = exec.adopt(&self.spec.name, self.address, bytes);
        let mut out = Output::empty(self.spec);
        let mut digest = [0u64; 2];
        let mut reports: Vec<ErrorReport> = Vec::new();
        let compared = OutputCriterion::for_output(session, self.buffer);
        let by_format = scalars_by_format(self.spec);
        for ((format, scalars), (_, shadows)) in by_format.iter().zip(&reference.shadows) {
            let offsets = self.offsets(scalars);
            let exec = self.comparer.executor();
            let values = DeviceValues {
                candidate,
                elements: self.spec.len,
                element_bytes: self.element_bytes,
                offsets: &offsets,
                stored: self.held.map(|(_, to)| to),
                reference: exec.adopt("shadows", shadows.address(), shadows.bytes()),
            };
            add(&mut digest, self.comparer.digest(&values, *format)?);
            let mut options = compared.options(*format)?;
            if self.brief {
                options = options.only_quantiles(&compared.quantiles());
            }
            let mut report = self.comparer.compare(&values, &options)?;
            compared.set_peak(&mut report);
            if let Some(image) = compared.image(offsets.len()) {
                report.ssim = self.comparer.ssim(&values, *format, image, &report)?;
            }
            if self.scatter {
                let shape = self.spec.npy_shape();
                let found = self
                    .comparer
                    .scatter(&values, *format, report.floor, &shape)?;
                out.scatter.push(match found {
                    Some(found) => found,
                    None => self.spread(&offsets, *format, shadows, report.floor)?,
                });
            }
            out.push_report(*format, report.clone());
            reports.push(report);
        }
        let places = self.integers();
        let exec = self.comparer.executor();
        let original = &reference.original;
        let integers = DeviceIntegers {
            candidate,
            original: exec.adopt("original", original.address(), original.bytes()),
            elements: self.spec.len,
            element_bytes: self.element_bytes,
            scalars: &places,
        };
        let found: Integers = self.comparer.compare_integers(&integers)?;
        add(&mut digest, self.comparer.digest_integers(&integers)?);
        out.integer_mismatches = (found.count > 0).then_some(found.mismatches);
        out.verdict = verdict(compared.criterion, &reports, found, inputs_are_finite)?;
        out.digest = format!("{:016x}{:016x}", digest[0], digest[1]);
        Ok(out)
    }

    fn offsets(&self, scalars: &[BufferScalars]) -> Vec<usize> {
        scalars.iter().map(|s| self.scaled(s.offset)).collect()
    }
}

fn add(sum: &mut [u64; 2], more: [u64; 2]) {
    for (s, m) in sum.iter_mut().zip(more) {
        *s = s.rotate_left(1).wrapping_add(m);
    }
}
