//! What one job leaves for the next in the same process.
use super::answers::AnswerShelf;
use super::baseline::{Baseline, JobContents};
use super::count::{CountingShelf, CountingTools};
use super::finished::{Libdevice, prints};
use super::inputs_key::inputs_key;
use super::loss_code::LossCode;
use super::planned::{CompileProgram, MakeCode, PlanShelf, PlannedCode};
use super::report::JobSeconds;
use super::resident::{Resident, stays_on_device};
use super::resident_inputs::ResidentInputs;
use super::shadowed::ReferenceCode;
use super::timed::TimedProgram;
use super::turn::{alone, kept_or_alone};
use super::{Device, Job, JobError};
use crate::device_inputs::DeviceGenerator;
use crate::run::{Contents, FirstContents, KEPT_BYTES, WorkloadSession};
use kerf_clang::compile::Toolchain;
use kerf_clang::sha256;
use kerf_exec::ExecError;
use kerf_exec::cpu::available_memory;
use kerf_exec::cuda::watch::Watch;
use kerf_exec::cuda::{Code, KeptContext, assemble, keep};
use kerf_ir::finish;
use kerf_ir::program::Program;
use kerf_llvm::Module;
use std::sync::Arc;

/// Jobs that leave their inputs for others leave at most this part of the free memory.
const KEPT_PART: usize = 8;

/// What one job leaves for the next in the same process.
#[derive(Default)]
pub struct Workshop {
    libdevice: Libdevice,
    /// PTX of the program as it is, by digest and architecture.
    own: Option<(String, String, String)>,
    /// Programs under plans.
    planned: PlanShelf,
    references: ReferenceCode,
    /// The program as it is on the GPU, with all that it depends on.
    base: Option<(String, TimedProgram)>,
    /// What stays on the GPU; it goes before its context.
    resident: Option<Resident>,
    /// Inputs alone, for jobs that leave theirs on a GPU.
    kept_inputs: Option<(i32, ResidentInputs)>,
    /// A job had them, and did not come to the point where it is seen that it left them as they were.
    inputs_unchecked: bool,
    /// Expected outputs.
    pub(super) answers: AnswerShelf,
    context: Option<KeptContext>,
    /// The sensors of a board.
    watch: Option<(i32, Arc<Watch>)>,
    counting: CountingShelf,
    originals: Option<Originals>,
    /// What counts the losses of the plan that was asked for last.
    pub(super) losses: Option<LossCode>,
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
    ) -> Result<Arc<PlannedCode>, JobError> {
        let libdevice = &mut self.libdevice;
        self.planned.code(job, program, || {
            libdevice.finish(m, &job.toolchain())?;
            Ok(PlannedCode::new(ptx(m, &job.arch)?, prints(m)))
        })
    }

    /// Begins with the code of the plans, and of the jobs, that a job says are likely to come next.
    pub(super) fn make_ahead(
        &self,
        job: &Job,
        program: &Program,
        (compile, make): (CompileProgram, MakeCode),
    ) {
        self.planned.make_ahead(job, program, make);
        self.planned.make_next(job, (compile, make));
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
            let turn = kept_or_alone(None, job, spent)?;
            let resident = self.resident()?;
            if let Some(own) = resident.contents(session)? {
                let (held, lost) = resident.held(session, &own)?;
                return Ok(JobContents {
                    own: Some(FirstContents::Device(own)),
                    held: Some(FirstContents::Device(held)),
                    lost,
                    turn: Some(turn),
                });
            }
        }
        let unchecked = self.inputs_unchecked;
        if let Some(inputs) = self.kept_inputs(job, session)? {
            if unchecked {
                inputs.drop_changed(session)?;
            }
            let contents = inputs.contents(session)?.map(FirstContents::Device);
            if contents.is_some() {
                self.inputs_unchecked = true;
                return Ok(JobContents {
                    own: contents.clone(),
                    held: contents,
                    ..JobContents::default()
                });
            }
        }
        let originals = self.originals(job, session)?;
        let held = originals.as_ref().map(|o| session.as_held(o));
        Ok(JobContents {
            own: originals.map(FirstContents::Host),
            held: held.map(FirstContents::Host),
            ..JobContents::default()
        })
    }

    /// What keeps the inputs of a job on its GPU, where it wants that. Buffers that a plan holds otherwise are made by the
    /// host.
    fn kept_inputs(
        &mut self,
        job: &Job,
        session: &WorkloadSession,
    ) -> Result<Option<&mut ResidentInputs>, JobError> {
        let as_declared = session.storage.iter().all(Option::is_none);
        if !job.keep_inputs || job.device != Device::Cuda || stays_on_device(job) || !as_declared {
            return Ok(None);
        }
        let at = job.ordinal;
        if self.kept_inputs.as_ref().is_none_or(|(gpu, _)| *gpu != at) {
            // What is on another GPU goes first.
            self.kept_inputs = None;
            let made = DeviceGenerator::code(at).and_then(|code| ResidentInputs::new(code, at));
            match made {
                Ok(inputs) => self.kept_inputs = Some((at, inputs)),
                // Without it inputs are copied for each job.
                Err(ExecError::Compile(_) | ExecError::Memory(_)) => return Ok(None),
                Err(e) => return Err(e.into()),
            }
        }
        Ok(self.kept_inputs.as_mut().map(|(_, inputs)| inputs))
    }

    /// Fails if a job has overwritten inputs that it leaves for others: a kernel wrote beyond its buffers.
    pub(super) fn check_kept_inputs(
        &mut self,
        job: &Job,
        session: &WorkloadSession,
    ) -> Result<(), JobError> {
        let Some(inputs) = self.kept_inputs(job, session)? else {
            return Ok(());
        };
        if !inputs.was_used_last(session) {
            return Ok(());
        }
        if let Some(name) = inputs.changed_buffer(session)? {
            let what = format!("the inputs of `{name}`");
            return Err(JobError::Overwritten(what));
        }
        self.inputs_unchecked = false;
        Ok(())
    }

    /// The sensors of a GPU, where NVML is there. Opening it takes tens of milliseconds.
    pub(super) fn watch(&mut self, ordinal: i32) -> Option<Arc<Watch>> {
        if let Some((at, watch)) = &self.watch
            && *at == ordinal
        {
            return Some(watch.clone());
        }
        let watch = Arc::new(Watch::new(ordinal as u32).ok()?);
        self.watch = Some((ordinal, watch.clone()));
        Some(watch)
    }

    /// What a session's buffers begin with in this process's memory: most jobs of a worker have the same inputs.
    fn originals(&mut self, job: &Job, s: &WorkloadSession) -> Result<Option<Contents>, JobError> {
        let key = inputs_key(s);
        if let Some(o) = self.originals.as_ref().filter(|o| o.key == key) {
            return Ok(Some(o.contents.clone()));
        }
        self.originals = None;
        let most = match job.keep_inputs {
            true => KEPT_BYTES.max(available_memory() / KEPT_PART),
            false => KEPT_BYTES,
        };
        self.originals = s.originals(most)?.map(|contents| Originals {
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

    /// What a counting run takes from earlier ones; the context of the job's GPU too, which takes longer to make than most
    /// programs run.
    pub(super) fn for_counting(
        &mut self,
        job: &Job,
        session: &WorkloadSession,
    ) -> Result<CountingTools<'_>, JobError> {
        let contents = match job.counts_on_cpu() {
            true => {
                let originals = self.originals(job, session)?;
                originals.map(|o| FirstContents::Host(session.as_held(&o)))
            }
            false => {
                self.keep_context(job.ordinal)?;
                self.held_on_device(job, session)?
            }
        };
        Ok(CountingTools {
            libdevice: &mut self.libdevice,
            shelf: &mut self.counting,
            contents,
        })
    }

    /// Contents that a search keeps on the job's GPU, as a session holds them.
    fn held_on_device(
        &mut self,
        job: &Job,
        session: &WorkloadSession,
    ) -> Result<Option<FirstContents>, JobError> {
        let Some(resident) = self.resident.as_mut().filter(|_| stays_on_device(job)) else {
            return Ok(None);
        };
        // What converts would be in others' times.
        let _turn = alone(job)?;
        Ok(match resident.contents(session)? {
            Some(own) => Some(FirstContents::Device(resident.held(session, &own)?.0)),
            None => None,
        })
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

pub(super) fn ptx(m: &Module, arch: &str) -> Result<String, JobError> {
    finish::ptx(m, arch).map_err(|e| JobError::Compile {
        message: e.0,
        help: None,
    })
}
