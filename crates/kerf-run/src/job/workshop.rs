//! What one job leaves for the next in the same process.
use super::finished::Libdevice;
use super::resident::Resident;
use super::shadowed::ReferenceCode;
use super::{Job, JobError};
use crate::run::{Contents, WorkloadSession};
use kerf_clang::compile::Toolchain;
use kerf_clang::sha256;
use kerf_exec::cuda::{Code, KeptContext, assemble, keep};
use kerf_ir::finish;
use kerf_ir::program::Program;
use kerf_llvm::Module;

/// What one job leaves for the next in the same process.
#[derive(Default)]
pub struct Workshop {
    libdevice: Libdevice,
    /// PTX of the program as it is, by digest and architecture.
    own: Option<(String, String, String)>,
    references: ReferenceCode,
    /// What stays on the GPU; it goes before its context.
    resident: Option<Resident>,
    context: Option<KeptContext>,
    originals: Option<Originals>,
}

/// What buffers begin with, in their own formats.
struct Originals {
    /// All that they depend on.
    key: String,
    contents: Contents,
    /// Their digest.
    digest: Option<String>,
}

impl Workshop {
    /// Finishes a prepared module.
    pub(super) fn finish(&mut self, m: &Module, tools: &Toolchain) -> Result<(), JobError> {
        self.libdevice.finish(m, tools)
    }

    /// What a session's buffers begin with, where that can be kept: most jobs of a worker have the same inputs.
    pub(super) fn originals(&mut self, s: &WorkloadSession) -> Result<Option<Contents>, JobError> {
        let w = s.workload;
        let key = format!("{:?} {:?} {} {:?}", w.buffers, w.sizes, s.seed, s.perturb);
        if let Some(o) = self.originals.as_ref().filter(|o| o.key == key) {
            return Ok(Some(o.contents.clone()));
        }
        self.originals = s.originals()?.map(|contents| Originals {
            key,
            contents,
            digest: None,
        });
        Ok(self.originals.as_ref().map(|o| o.contents.clone()))
    }

    /// Digest of a session's inputs, after [`Workshop::originals`] of the same.
    pub(super) fn inputs(&mut self, s: &WorkloadSession) -> Result<String, JobError> {
        let Some(o) = &mut self.originals else {
            return Ok(s.inputs()?);
        };
        if let Some(d) = &o.digest {
            return Ok(d.clone());
        }
        let digest = s.inputs_of(Some(&o.contents))?;
        Ok(o.digest.insert(digest).clone())
    }

    /// The context of a GPU stays with the process.
    pub(super) fn keep_context(&mut self, ordinal: i32) -> Result<(), JobError> {
        if self.context.is_none() {
            self.context = Some(keep(ordinal)?);
        }
        Ok(())
    }

    /// Code of references.
    pub(super) fn reference_code(&mut self) -> &mut ReferenceCode {
        &mut self.references
    }

    /// What stays on the job's GPU.
    pub(super) fn resident(&mut self, job: &Job) -> Result<&mut Resident, JobError> {
        self.keep_context(job.ordinal)?;
        let resident = match self.resident.take() {
            Some(r) => r,
            None => Resident::new(job)?,
        };
        Ok(self.resident.insert(resident))
    }

    /// A program as it is, assembled for a GPU.
    pub(super) fn assembled(
        &mut self,
        p: &Program,
        tools: &Toolchain,
        ordinal: i32,
    ) -> Result<Code, JobError> {
        let digest = sha256(&p.bitcode);
        if let Some((d, arch, ptx)) = &self.own
            && (d, arch) == (&digest, &tools.arch)
        {
            // The driver keeps what it compiled, on disk.
            return Ok(assemble(ptx, ordinal)?);
        }
        let m = p.module()?;
        self.finish(&m, tools)?;
        let ptx = finish::ptx(&m, &tools.arch).map_err(|e| JobError::Compile {
            message: e.0,
            help: None,
        })?;
        let code = assemble(&ptx, ordinal)?;
        self.own = Some((digest, tools.arch.clone(), ptx));
        Ok(code)
    }
}
