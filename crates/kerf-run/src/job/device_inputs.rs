//! Inputs on a GPU: made once, then copied on the device to every program that runs on them.
use super::JobError;
use crate::run::{DeviceContents, WorkloadSession};
use kerf_exec::compare::{DeviceComparer, DeviceIntegers};
use kerf_exec::cuda::{CudaExecutor, DeviceMemory};
use kerf_exec::{ExecError, Executor};
use std::sync::Arc;

/// Inputs that are kept: the search's, and those of validation in their turn.
const KEPT: usize = 2;

/// Inputs stay on the device where its free memory is this many times as large: programs that run on them have buffers
/// and copies of their own, two programs are measured beside each other, and a reference has shadows.
const ROOM: usize = 8;

/// All that the first contents of a session's buffers depend on.
pub(super) fn inputs_key(s: &WorkloadSession) -> String {
    let w = s.workload;
    format!("{:?} {:?} {} {:?}", w.buffers, w.sizes, s.seed, s.perturb)
}

/// A digest of memory on the device, which is a multiple of 16 bytes long.
pub(super) fn digest_memory(
    comparer: &mut DeviceComparer<CudaExecutor>,
    memory: &DeviceMemory,
) -> Result<[u64; 2], ExecError> {
    let exec = comparer.executor();
    let words = exec.adopt("digested", memory.address(), memory.bytes());
    comparer.digest_integers(&DeviceIntegers {
        candidate: words,
        original: words,
        elements: memory.bytes() / 8,
        element_bytes: 8,
        scalars: &[(0, 8)],
    })
}

/// First contents of the buffers of one session.
struct DeviceInput {
    key: String,
    contents: DeviceContents,
    digests: Vec<[u64; 2]>,
}

impl DeviceInput {
    fn make(
        comparer: &mut DeviceComparer<CudaExecutor>,
        session: &WorkloadSession,
    ) -> Result<DeviceInput, JobError> {
        let (mut contents, mut digests) = (Vec::new(), Vec::new());
        for b in &session.workload.buffers {
            let memory = DeviceMemory::with_bytes(&session.made(b)?, &b.name)?;
            digests.push(digest_memory(comparer, &memory)?);
            contents.push(Arc::new(memory));
        }
        Ok(DeviceInput {
            key: inputs_key(session),
            contents: Arc::new(contents),
            digests,
        })
    }

    /// The name of a buffer of which a byte is not as it was made.
    fn changed_buffer<'a>(
        &self,
        comparer: &mut DeviceComparer<CudaExecutor>,
        session: &WorkloadSession<'a>,
    ) -> Result<Option<&'a str>, ExecError> {
        for (i, memory) in self.contents.iter().enumerate() {
            if digest_memory(comparer, memory)? != self.digests[i] {
                return Ok(Some(&session.workload.buffers[i].name));
            }
        }
        Ok(None)
    }
}

/// The inputs that were used last.
#[derive(Default)]
pub(super) struct DeviceInputs {
    /// The last is the one used last.
    all: Vec<DeviceInput>,
}

impl DeviceInputs {
    /// First contents of a session's buffers, made where they are not there; none where the device has too little memory
    /// to keep them.
    pub(super) fn contents(
        &mut self,
        comparer: &mut DeviceComparer<CudaExecutor>,
        session: &WorkloadSession,
    ) -> Result<Option<DeviceContents>, JobError> {
        let key = inputs_key(session);
        if let Some(at) = self.all.iter().position(|i| i.key == key) {
            let found = self.all.remove(at);
            self.all.push(found);
        } else {
            let bytes = crate::memory::arena_bytes(session.workload);
            let free = comparer.executor().free_memory()?.unwrap_or(usize::MAX);
            if bytes.saturating_mul(ROOM) > free {
                return Ok(None);
            }
            if self.all.len() >= KEPT {
                self.all.remove(0);
            }
            self.all.push(DeviceInput::make(comparer, session)?);
        }
        Ok(self.all.last().map(|i| i.contents.clone()))
    }

    /// Contents in the formats that a session holds its buffers in; those that are held in their own are shared.
    pub(super) fn held(
        &self,
        comparer: &mut DeviceComparer<CudaExecutor>,
        session: &WorkloadSession,
        own: &DeviceContents,
    ) -> Result<DeviceContents, JobError> {
        let mut out = Vec::new();
        for (i, memory) in own.iter().enumerate() {
            let Some(h) = session.held(i) else {
                out.push(memory.clone());
                continue;
            };
            let b = &session.workload.buffers[i];
            let bytes = b.bytes().unwrap_or(0);
            let narrow = DeviceMemory::zeroed(h.bytes(bytes), &b.name)?;
            let exec = comparer.executor();
            let from = exec.adopt(&b.name, memory.address(), memory.bytes());
            let to = exec.adopt(&b.name, narrow.address(), narrow.bytes());
            comparer.convert((from, h.from), (to, h.to), bytes / h.from.bytes())?;
            out.push(Arc::new(narrow));
        }
        Ok(Arc::new(out))
    }

    /// Digest of the inputs used last: equal inputs have equal digests.
    pub(super) fn digest(&self) -> Option<String> {
        let used = self.all.last()?;
        let words = used.digests.iter().flatten();
        Some(words.map(|w| format!("{w:016x}")).collect())
    }

    /// The name of a buffer of the inputs used last of which a byte is not as it was made.
    pub(super) fn changed_buffer<'a>(
        &self,
        comparer: &mut DeviceComparer<CudaExecutor>,
        session: &WorkloadSession<'a>,
    ) -> Result<Option<&'a str>, ExecError> {
        match self.all.last() {
            Some(used) => used.changed_buffer(comparer, session),
            None => Ok(None),
        }
    }
}
