//! What one job leaves for the next in the same process.
use super::baseline::{Baseline, JobContents};
use super::finished::{Libdevice, prints};
use super::report::JobSeconds;
use super::resident::{Resident, stays_on_device};
use super::resident_inputs::inputs_key;
use super::shadowed::ReferenceCode;
use super::timed::TimedProgram;
use super::turn::alone;
use super::{Job, JobError};
use crate::run::{Contents, FirstContents, WorkloadSession};
use kerf_clang::compile::Toolchain;
use kerf_clang::sha256;
use kerf_exec::cuda::{Code, KeptContext, assemble, keep};
use kerf_ir::finish;
use kerf_ir::program::Program;
use kerf_llvm::Module;
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Instant;

/// What one job leaves for the next in the same process.
#[derive(Default)]
pub struct Workshop {
    libdevice: Libdevice,
    /// PTX of the program as it is, by digest and architecture.
    own: Option<(String, String, String)>,
    /// Programs under plans: most plans are evaluated more than once, on other inputs or with more samples.
    planned: PlannedPrograms,
    references: ReferenceCode,
    /// The program as it is on the GPU, with all that it depends on.
    base: Option<(String, TimedProgram)>,
    /// What stays on the GPU; it goes before its context.
    resident: Option<Resident>,
    context: Option<KeptContext>,
    originals: Option<Originals>,
}

/// PTX of programs under plans, the last ones made.
#[derive(Default)]
struct PlannedPrograms(VecDeque<(String, Rc<PlannedCode>)>);

/// Bytes of PTX that are kept, at most.
const KEPT_PTX: usize = 64 << 20;

/// A program under a plan.
pub(super) struct PlannedCode {
    pub ptx: String,
    /// Kernels write lines for people.
    pub prints: bool,
}

impl PlannedPrograms {
    /// All of a job that its code depends on: what is run, not on which inputs and how often.
    fn key(job: &Job, program: &Program) -> Option<String> {
        let code = Job {
            seed: None,
            perturb: None,
            accept: None,
            reference: false,
            count: None,
            warmup: 0,
            repeats: 1,
            steady_repeats: None,
            sample_s: 0.0,
            energy_s: 0.0,
            save: None,
            baseline: false,
            scatter: false,
            brief: false,
            ..job.clone()
        };
        let job = serde_json::to_string(&code).ok()?;
        Some(format!("{} {job}", sha256(&program.bitcode)))
    }

    fn get(&self, key: &str) -> Option<Rc<PlannedCode>> {
        let found = self.0.iter().find(|(k, _)| k == key);
        found.map(|(_, code)| code.clone())
    }

    fn keep(&mut self, key: String, code: Rc<PlannedCode>) {
        self.0.push_back((key, code));
        let bytes = |all: &VecDeque<(String, Rc<PlannedCode>)>| -> usize {
            all.iter().map(|(k, c)| k.len() + c.ptx.len()).sum()
        };
        while self.0.len() > 1 && bytes(&self.0) > KEPT_PTX {
            self.0.pop_front();
        }
    }
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

    /// The PTX of a job's program under its plan: of the program as it is, and the module that the plan was applied to.
    pub(super) fn planned_code(
        &mut self,
        job: &Job,
        (m, program): (&Module, &Program),
    ) -> Result<Rc<PlannedCode>, JobError> {
        let key = PlannedPrograms::key(job, program);
        if let Some(code) = key.as_ref().and_then(|k| self.planned.get(k)) {
            return Ok(code);
        }
        self.finish(m, &job.toolchain())?;
        let ptx = ptx(m, &job.arch)?;
        let code = Rc::new(PlannedCode {
            ptx,
            prints: prints(m),
        });
        if let Some(key) = key {
            self.planned.keep(key, code.clone());
        }
        Ok(code)
    }

    /// What the buffers of a job's programs begin with, where that can be kept.
    pub(super) fn contents(
        &mut self,
        job: &Job,
        session: &WorkloadSession,
        spent: &mut JobSeconds,
    ) -> Result<JobContents, JobError> {
        if stays_on_device(job) {
            // What makes and converts inputs would be in others' times.
            let clock = Instant::now();
            let _turn = alone(job)?;
            spent.wait_s += clock.elapsed().as_secs_f64();
            let resident = self.resident()?;
            if let Some(own) = resident.contents(session)? {
                let held = resident.held(session, &own)?;
                return Ok(JobContents {
                    own: Some(FirstContents::Device(own)),
                    held: Some(FirstContents::Device(held)),
                });
            }
        }
        let originals = self.originals(session)?;
        let held = originals.as_ref().map(|o| session.as_held(o));
        Ok(JobContents {
            own: originals.map(FirstContents::Host),
            held: held.map(FirstContents::Host),
        })
    }

    /// What a session's buffers begin with in this process's memory: most jobs of a worker have the same inputs.
    fn originals(&mut self, s: &WorkloadSession) -> Result<Option<Contents>, JobError> {
        let key = inputs_key(s);
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

    /// Digest of a session's inputs, after [`Workshop::contents`] of the same.
    pub(super) fn inputs(&mut self, job: &Job, s: &WorkloadSession) -> Result<String, JobError> {
        if stays_on_device(job)
            && let Some(d) = self.resident()?.inputs_digest()
        {
            return Ok(d);
        }
        let Some(o) = &mut self.originals else {
            return Ok(s.inputs()?);
        };
        if let Some(d) = &o.digest {
            return Ok(d.clone());
        }
        let digest = s.inputs_of(Some(&o.contents))?;
        Ok(o.digest.insert(digest).clone())
    }

    /// All that a baseline on the device depends on.
    fn baseline_key(job: &Job, own: &WorkloadSession, p: &Program) -> String {
        let (program, inputs) = (sha256(&p.bitcode), inputs_key(own));
        format!(
            "{program} {} {:?} {} {}",
            job.arch, own.params, job.sample_s, inputs
        )
    }

    /// The program as it is, for a measurement beside a plan's.
    pub(super) fn baseline(
        &mut self,
        job: &Job,
        own: &WorkloadSession,
        p: &Program,
    ) -> Result<Baseline, JobError> {
        let key = Self::baseline_key(job, own, p);
        match self.base.take() {
            Some((k, program)) if k == key => Ok(Baseline::Loaded(Box::new(program))),
            _ => {
                let code = self.assembled(p, &job.toolchain(), job.ordinal)?;
                Ok(Baseline::Code(code))
            }
        }
    }

    /// Leaves the program as it is on the device for the next measurement.
    pub(super) fn keep_baseline(
        &mut self,
        job: &Job,
        own: &WorkloadSession,
        p: &Program,
        program: TimedProgram,
    ) {
        if stays_on_device(job) && program.batch.is_some() {
            self.base = Some((Self::baseline_key(job, own, p), program));
        }
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

    /// Starts what stays on the job's GPU, where it is not there.
    pub(super) fn start_resident(
        &mut self,
        job: &Job,
        own: &WorkloadSession,
        program: &Program,
    ) -> Result<(), JobError> {
        if stays_on_device(job) && self.resident.is_none() {
            self.keep_context(job.ordinal)?;
            self.resident = Some(Resident::new(job, own, program)?);
        }
        Ok(())
    }

    /// What stays on the job's GPU.
    pub(super) fn resident(&mut self) -> Result<&mut Resident, JobError> {
        let missing = || JobError::Worker("nothing was started on the GPU".into());
        self.resident.as_mut().ok_or_else(missing)
    }

    /// A program as it is, assembled for a GPU.
    fn assembled(
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
        let ptx = ptx(&m, &tools.arch)?;
        let code = assemble(&ptx, ordinal)?;
        self.own = Some((digest, tools.arch.clone(), ptx));
        Ok(code)
    }
}

fn ptx(m: &Module, arch: &str) -> Result<String, JobError> {
    finish::ptx(m, arch).map_err(|e| JobError::Compile {
        message: e.0,
        help: None,
    })
}
