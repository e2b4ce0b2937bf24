//! Inputs on a GPU: made there once, then copied on the device to every program that runs on them.
use super::JobError;
use super::inputs_key::inputs_key;
use crate::device_inputs::{DeviceGenerator, DeviceInputError, Filled};
use crate::run::{DeviceContents, WorkloadSession, digest_inputs};
use kerf_exec::compare::DeviceComparer;
use kerf_exec::cuda::{Code, CudaExecutor, DeviceMemory, read_device};
use kerf_exec::{ExecError, Executor};
use kerf_workload::workload::BufferSpec;
use std::sync::Arc;

/// Inputs that are kept: the search's, and those of validation in their turn.
const KEPT: usize = 2;

/// Inputs stay on the device where its free memory is this many times as large: programs that run on them have buffers
/// and copies of their own, two programs are measured beside each other, and a reference has shadows.
const ROOM: usize = 8;

/// First contents of the buffers of one session.
struct ResidentInput {
    key: String,
    contents: DeviceContents,
    digests: Vec<[u64; 2]>,
}

/// The inputs that were used last, and what makes them.
pub(super) struct ResidentInputs {
    generator: DeviceGenerator<CudaExecutor>,
    /// The last is the one used last.
    all: Vec<ResidentInput>,
}

impl ResidentInputs {
    pub(super) fn new(generator: Code, ordinal: i32) -> Result<ResidentInputs, ExecError> {
        Ok(ResidentInputs {
            generator: DeviceGenerator::on_cuda(generator, ordinal)?,
            all: Vec::new(),
        })
    }

    /// A digest of memory on the device.
    pub(super) fn digest_memory(&mut self, memory: &DeviceMemory) -> Result<[u64; 2], ExecError> {
        self.digest_bytes(memory, memory.bytes())
    }

    fn digest_bytes(&mut self, memory: &DeviceMemory, bytes: usize) -> Result<[u64; 2], ExecError> {
        let exec = self.generator.executor();
        let buffer = exec.adopt("digested", memory.address(), memory.bytes());
        self.generator.digest(buffer, bytes)
    }

    /// The first content of a buffer: made on the device, or by the host where the device cannot.
    fn make_buffer(
        &mut self,
        session: &WorkloadSession,
        b: &BufferSpec,
    ) -> Result<DeviceMemory, JobError> {
        let memory = DeviceMemory::zeroed(b.bytes().unwrap_or(0), &b.name)?;
        let exec = self.generator.executor();
        let buffer = exec.adopt(&b.name, memory.address(), memory.bytes());
        let (sizes, perturb) = (&session.workload.sizes, session.perturb.as_ref());
        let filled = self
            .generator
            .fill(b, session.seed, sizes, perturb, buffer)
            .map_err(|e| match e {
                DeviceInputError::Exec(e) => JobError::Exec(e),
                DeviceInputError::Generate(e) => session.unmade(b, &e).into(),
                e @ DeviceInputError::Disagreement { .. } => JobError::Worker(e.to_string()),
            })?;
        Ok(match filled {
            Filled::OnDevice if !session.change.concerns(b) => memory,
            Filled::OnDevice => DeviceMemory::with_bytes(&session.made(b)?, &b.name)?,
            Filled::NeedsHost(_) => DeviceMemory::with_bytes(&session.made(b)?, &b.name)?,
        })
    }

    fn make(&mut self, session: &WorkloadSession) -> Result<ResidentInput, JobError> {
        let (mut contents, mut digests) = (Vec::new(), Vec::new());
        for b in &session.workload.buffers {
            let memory = self.make_buffer(session, b)?;
            digests.push(self.digest_bytes(&memory, b.bytes().unwrap_or(0))?);
            contents.push(Arc::new(memory));
        }
        Ok(ResidentInput {
            key: inputs_key(session),
            contents: Arc::new(contents),
            digests,
        })
    }

    /// First contents of a session's buffers, made where they are not there; none where the device has too little memory
    /// to keep them.
    pub(super) fn contents(
        &mut self,
        session: &WorkloadSession,
    ) -> Result<Option<DeviceContents>, JobError> {
        let key = inputs_key(session);
        if let Some(at) = self.all.iter().position(|i| i.key == key) {
            let found = self.all.remove(at);
            self.all.push(found);
        } else {
            let bytes = crate::memory::arena_bytes(session.workload);
            let free = self.generator.executor().free_memory()?;
            if bytes.saturating_mul(ROOM) > free.unwrap_or(usize::MAX) {
                return Ok(None);
            }
            if self.all.len() >= KEPT {
                self.all.remove(0);
            }
            let made = self.make(session)?;
            self.all.push(made);
        }
        Ok(self.all.last().map(|i| i.contents.clone()))
    }

    /// Contents in the formats that a session holds its buffers in; those that are held in their own are shared. And what
    /// the numbers of each buffer lost on the way: how many saturate, and how many a scaled format does not hold.
    pub(super) fn held(
        comparer: &mut DeviceComparer<CudaExecutor>,
        session: &WorkloadSession,
        own: &DeviceContents,
    ) -> Result<(DeviceContents, Vec<[u64; 2]>), JobError> {
        let mut out = Vec::new();
        let mut lost = vec![[0; 2]; own.len()];
        for (i, memory) in own.iter().enumerate() {
            let Some(h) = session.held(i) else {
                out.push(memory.clone());
                continue;
            };
            let b = &session.workload.buffers[i];
            let bytes = b.bytes().unwrap_or(0);
            let Some(formats) = h.device_formats() else {
                // Layouts are made by the host: device code converts formats.
                let wide = read_device(memory.address(), bytes)?;
                lost[i] = h.losses(&wide);
                out.push(Arc::new(DeviceMemory::with_bytes(
                    &h.narrow(&wide),
                    &b.name,
                )?));
                continue;
            };
            let narrow = DeviceMemory::zeroed(h.bytes(bytes), &b.name)?;
            let exec = comparer.executor();
            let from = exec.adopt(&b.name, memory.address(), memory.bytes());
            let to = exec.adopt(&b.name, narrow.address(), narrow.bytes());
            let numbers = bytes / formats.from.bytes();
            lost[i] = comparer.convert((from, formats.from.into()), (to, formats.to), numbers)?;
            out.push(Arc::new(narrow));
        }
        Ok((Arc::new(out), lost))
    }

    /// Are a session's inputs those that were used last?
    pub(super) fn was_used_last(&self, session: &WorkloadSession) -> bool {
        let key = inputs_key(session);
        self.all.last().is_some_and(|used| used.key == key)
    }

    /// Whether every floating-point value of a session's inputs is finite; none where they are not those that were used last.
    pub(super) fn all_finite(
        &mut self,
        session: &WorkloadSession,
    ) -> Result<Option<bool>, ExecError> {
        if !self.was_used_last(session) {
            return Ok(None);
        }
        let contents = self.all.last().map(|used| used.contents.clone());
        let each = contents.iter().flat_map(|all| all.iter());
        for (memory, b) in each.zip(&session.workload.buffers) {
            if !b.elem.has_float() {
                continue;
            }
            let exec = self.generator.executor();
            let buffer = exec.adopt(&b.name, memory.address(), memory.bytes());
            if !self.generator.all_finite(b, buffer)? {
                return Ok(Some(false));
            }
        }
        Ok(Some(true))
    }

    /// Leaves nothing that is not known to be as it was made, after a job that may have written anywhere.
    pub(super) fn drop_changed(&mut self, session: &WorkloadSession) -> Result<(), ExecError> {
        let intact = self.was_used_last(session) && self.changed_buffer(session)?.is_none();
        let last = self.all.pop().filter(|_| intact);
        self.all = last.into_iter().collect();
        Ok(())
    }

    /// Digest of the inputs used last: equal inputs have equal digests.
    pub(super) fn digest(&self) -> Option<String> {
        let used = self.all.last()?;
        Some(digest_inputs(&used.digests))
    }

    /// The name of a buffer of the inputs used last of which a byte is not as it was made.
    pub(super) fn changed_buffer<'a>(
        &mut self,
        session: &WorkloadSession<'a>,
    ) -> Result<Option<&'a str>, ExecError> {
        let Some(used) = self.all.last() else {
            return Ok(None);
        };
        let (contents, digests) = (used.contents.clone(), used.digests.clone());
        for (i, b) in session.workload.buffers.iter().enumerate() {
            if self.digest_bytes(&contents[i], b.bytes().unwrap_or(0))? != digests[i] {
                return Ok(Some(&b.name));
            }
        }
        Ok(None)
    }
}
