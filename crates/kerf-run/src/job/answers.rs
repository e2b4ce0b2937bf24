//! Outputs against expected contents, by the rule of `numpy.allclose`.
//!
//! Expected contents come in files. On a GPU they are uploaded once, stay there for the next job of the same process, and
//! outputs are compared where they are: a verdict is all that comes back. Elsewhere, and where the device has no room, the host
//! compares by the same rule.
use super::inputs_key::file_version;
use super::report::OutputAnswer;
use super::turn::alone;
use super::{Device, Job, JobError};
use crate::memory;
use crate::run::{KEPT_BYTES, WorkloadSession};
use kerf_exec::compare::{DeviceComparer, DeviceIntegers};
use kerf_exec::cpu::available_memory;
use kerf_exec::cuda::{CudaExecutor, DeviceMemory};
use kerf_exec::{ExecError, Executor};
use kerf_num::metrics::{CloseRule, Closeness, NumpyType};
use kerf_workload::elem::ElemType;
use kerf_workload::generate::perturb::format_of;
use kerf_workload::npy;
use kerf_workload::scalar::Scalar;
use kerf_workload::workload::BufferSpec;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Expected contents stay on the device where its free memory is this many times as large as they and the workload.
const ROOM: usize = 3;

/// Expected contents that stay in memory take at most this part of what is free.
const KEPT_PART: usize = 8;

/// What outputs are expected to be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExpectedOutputs {
    /// A `.npy` file for each output that is compared, by the output's name.
    pub files: Vec<(String, PathBuf)>,
    /// Relative tolerance: a part of the output's own size.
    pub rtol: f64,
    /// Absolute tolerance.
    pub atol: f64,
}

/// An output and what it is expected to be.
struct Answer {
    /// Position of the buffer.
    buffer: usize,
    name: String,
    file: PathBuf,
    /// Which contents of the file.
    version: String,
    rule: CloseRule,
    count: usize,
}

impl Answer {
    fn bytes(&self) -> usize {
        self.count * self.rule.expected.bytes()
    }
}

fn number_type(s: Scalar) -> NumpyType {
    match format_of(s) {
        Some(f) => NumpyType::Float(f),
        None => NumpyType::Integer {
            bytes: s.bytes(),
            signed: s.int_range().is_some_and(|(least, _)| least < 0),
        },
    }
}

/// The type of all numbers of an output, which lie one beside the other.
fn numbers_of(b: &BufferSpec) -> Option<NumpyType> {
    match &b.elem {
        ElemType::Scalar(s) | ElemType::Vector(s, _) => Some(number_type(*s)),
        ElemType::Struct(_) => None,
    }
}

fn answer(
    session: &WorkloadSession,
    (name, file): &(String, PathBuf),
    tolerances: (f64, f64),
) -> Result<Answer, JobError> {
    let refuse = |why: String| JobError::Input(format!("--answer {name}: {why}"));
    let all = session.outputs();
    let spec = |b: &usize| &session.workload.buffers[*b];
    let buffer = all.iter().copied().find(|b| spec(b).name == *name);
    let buffer = buffer.ok_or_else(|| {
        let names: Vec<&str> = all.iter().map(|b| &spec(b).name[..]).collect();
        refuse(format!("no such output; there are {}", names.join(", ")))
    })?;
    let spec = spec(&buffer);
    // What is a mistake of the file is told with the file's name.
    let header = npy::inspect(file).map_err(|e| refuse(e.to_string()))?;
    let (Some(got), Some(expected)) = (numbers_of(spec), header.scalar().map(number_type)) else {
        return Err(refuse(
            "structures are not compared with an answer; give an output of numbers".into(),
        ));
    };
    let rule = CloseRule::new(expected, got, tolerances).ok_or_else(|| {
        refuse("numpy.allclose has no rule for bf16; compare with --reference".into())
    })?;
    let count = spec.len * spec.elem.scalar_count();
    let has = header.shape.iter().product::<usize>();
    if has != count {
        return Err(refuse(format!(
            "{} has {has} numbers, and the output {count}",
            file.display()
        )));
    }
    Ok(Answer {
        buffer,
        name: name.clone(),
        file: file.clone(),
        version: format!("{}{}", file.display(), file_version(file)),
        rule,
        count,
    })
}

fn read(path: &Path) -> Result<Vec<u8>, JobError> {
    let array = npy::read(path).map_err(|e| JobError::Input(format!("--answer: {e}")))?;
    Ok(array.bytes)
}

/// Expected contents on a GPU.
struct DeviceAnswer {
    version: String,
    memory: DeviceMemory,
    /// When they were uploaded.
    digest: [u64; 2],
}

/// What stays on a GPU.
struct DeviceAnswers {
    ordinal: i32,
    held: Vec<DeviceAnswer>,
    comparer: DeviceComparer<CudaExecutor>,
}

impl DeviceAnswers {
    fn new(ordinal: i32) -> Result<DeviceAnswers, ExecError> {
        let code = DeviceComparer::code(ordinal)?;
        Ok(DeviceAnswers {
            ordinal,
            held: Vec::new(),
            comparer: DeviceComparer::on_cuda(code, ordinal)?,
        })
    }

    fn digest(&mut self, memory: &DeviceMemory) -> Result<[u64; 2], ExecError> {
        let exec = self.comparer.executor();
        let buffer = exec.adopt("answer", memory.address(), memory.bytes());
        self.comparer.digest_integers(&DeviceIntegers {
            candidate: buffer,
            original: buffer,
            elements: memory.bytes() / 8,
            element_bytes: 8,
            scalars: &[(0, 8)],
        })
    }

    /// Takes the contents that have changed since they were uploaded out, and says whether there were any.
    fn drop_changed(&mut self) -> Result<bool, ExecError> {
        let mut any = false;
        for a in std::mem::take(&mut self.held) {
            match self.digest(&a.memory)? == a.digest {
                true => self.held.push(a),
                false => any = true,
            }
        }
        Ok(any)
    }

    /// Uploads the contents that are not there; false where the device has no room for them.
    fn upload(&mut self, all: &[Answer], session: &WorkloadSession) -> Result<bool, JobError> {
        self.held
            .retain(|h| all.iter().any(|a| a.version == h.version));
        for a in all {
            if self.held.iter().any(|h| h.version == a.version) {
                continue;
            }
            let need = a
                .bytes()
                .saturating_add(memory::arena_bytes(session.workload));
            let free = self.comparer.executor().free_memory()?;
            if need.saturating_mul(ROOM) > free.unwrap_or(usize::MAX) {
                return Ok(false);
            }
            let memory = match DeviceMemory::with_bytes(&read(&a.file)?, &a.name) {
                Err(ExecError::Memory(_)) => return Ok(false),
                made => made?,
            };
            let digest = self.digest(&memory)?;
            self.held.push(DeviceAnswer {
                version: a.version.clone(),
                memory,
                digest,
            });
        }
        Ok(true)
    }

    /// Compares an output at an address with its contents, which are there.
    fn compare(&mut self, a: &Answer, address: u64) -> Result<Option<Closeness>, ExecError> {
        let Some(held) = self.held.iter().find(|h| h.version == a.version) else {
            return Ok(None);
        };
        let exec = self.comparer.executor();
        let expected = exec.adopt(&a.name, held.memory.address(), held.memory.bytes());
        let got = exec.adopt(&a.name, address, a.count * a.rule.got.bytes());
        let found = self.comparer.closeness(&a.rule, expected, got, a.count)?;
        Ok(Some(found))
    }
}

/// A run whose outputs are where it left them.
pub(super) trait FinishedRun {
    /// Where on the device a buffer's output is, if it is held there as the workload has it.
    fn address(&self, buffer: usize) -> Option<u64>;
    /// Bytes of all outputs, in the workload's order.
    fn outputs(&mut self) -> Result<&[Vec<u8>], JobError>;
}

/// Expected contents that stay from one job to the next.
#[derive(Default)]
pub(super) struct AnswerShelf {
    /// What the job of now asks for.
    asked: Vec<Answer>,
    device: Option<DeviceAnswers>,
    /// A job ran since it was seen that contents on the device are as they were uploaded.
    unchecked: bool,
    /// In this process's memory, by version.
    host: Vec<(String, Arc<Vec<u8>>)>,
}

/// May outputs be compared where they are? Runs that measure energy change them afterwards.
pub(super) fn compares_on_device(job: &Job) -> bool {
    job.device == Device::Cuda && job.energy_s == 0.0
}

impl AnswerShelf {
    /// Finds out what a job expects, and refuses what cannot be compared.
    pub(super) fn ask(&mut self, job: &Job, session: &WorkloadSession) -> Result<(), JobError> {
        self.asked.clear();
        let Some(asked) = &job.answers else {
            return Ok(());
        };
        let tolerances = (asked.rtol, asked.atol);
        let all = asked.files.iter();
        let all = all.map(|f| answer(session, f, tolerances));
        self.asked = all.collect::<Result<_, _>>()?;
        Ok(())
    }

    /// Uploads what the job needs, before it runs.
    pub(super) fn prepare(&mut self, job: &Job, session: &WorkloadSession) -> Result<(), JobError> {
        let unchecked = std::mem::replace(&mut self.unchecked, true);
        if self.asked.is_empty() || !compares_on_device(job) {
            return Ok(());
        }
        let _turn = alone(job)?;
        if self
            .device
            .as_ref()
            .is_none_or(|d| d.ordinal != job.ordinal)
        {
            // What is on another GPU goes first.
            self.device = None;
            match DeviceAnswers::new(job.ordinal) {
                Ok(device) => self.device = Some(device),
                // The host compares then.
                Err(ExecError::Compile(_) | ExecError::Memory(_)) => return Ok(()),
                Err(e) => return Err(e.into()),
            }
        }
        let Some(device) = &mut self.device else {
            return Ok(());
        };
        if unchecked {
            device.drop_changed()?;
        }
        if !device.upload(&self.asked, session)? {
            self.device = None;
        }
        Ok(())
    }

    /// Expected contents in this process's memory.
    fn on_host(&mut self, job: &Job, a: &Answer) -> Result<Arc<Vec<u8>>, JobError> {
        if let Some((_, bytes)) = self.host.iter().find(|(v, _)| *v == a.version) {
            return Ok(bytes.clone());
        }
        let bytes = Arc::new(read(&a.file)?);
        let most = KEPT_BYTES.max(available_memory() / KEPT_PART);
        let kept: usize = self.host.iter().map(|(_, b)| b.len()).sum();
        if job.keep_inputs && kept + bytes.len() <= most {
            self.host.push((a.version.clone(), bytes.clone()));
        }
        Ok(bytes)
    }

    fn compared(
        &mut self,
        job: &Job,
        session: &WorkloadSession,
        a: &Answer,
        run: &mut dyn FinishedRun,
    ) -> Result<Closeness, JobError> {
        let address = run.address(a.buffer).filter(|_| compares_on_device(job));
        if let (Some(address), Some(device)) = (address, &mut self.device)
            && let Some(found) = device.compare(a, address)?
        {
            return Ok(found);
        }
        let expected = self.on_host(job, a)?;
        let position = session.outputs().iter().position(|b| *b == a.buffer);
        let all = run.outputs()?;
        let got = position.and_then(|p| all.get(p));
        let gone = || JobError::Worker(format!("the output `{}` was not read", a.name));
        Ok(a.rule.compare(&expected, got.ok_or_else(gone)?))
    }

    /// Compares the outputs of a run, which are where the run left them; gives them by name.
    pub(super) fn compare(
        &mut self,
        job: &Job,
        session: &WorkloadSession,
        run: &mut dyn FinishedRun,
    ) -> Result<Vec<(String, OutputAnswer)>, JobError> {
        let all = std::mem::take(&mut self.asked);
        if all.is_empty() {
            return Ok(Vec::new());
        }
        self.host
            .retain(|(v, _)| all.iter().any(|a| a.version == *v));
        let _turn = alone(job)?;
        let mut found = Vec::new();
        for a in all {
            let closeness = self.compared(job, session, &a, run)?;
            let answer = OutputAnswer {
                accepted: closeness.is_close(),
                closeness,
            };
            found.push((a.name, answer));
        }
        if let Some(device) = self.device.as_mut().filter(|_| compares_on_device(job)) {
            if device.drop_changed()? {
                return Err(JobError::Overwritten("an expected output".into()));
            }
            self.unchecked = false;
        }
        Ok(found)
    }
}
