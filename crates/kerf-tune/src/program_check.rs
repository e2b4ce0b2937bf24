//! The check of the program for undefined behaviour, beside the search where that is a GPU's work.
use crate::error::TuneError;
use crate::evaluate::Input;
use crate::event::{TuneEvent, Watch};
use crate::precheck::{PrecheckRequest, RunningCheck, SanitizerCheck};
use crate::request::TuneRequest;
use crate::subject::Subject;
use kerf_run::job::Device;

/// The check of the program for undefined behaviour.
pub(crate) enum ProgramCheck {
    /// It has ended, and what it came to was said.
    Done(SanitizerCheck),
    /// It runs on the CPU, while a GPU counts and measures.
    Running(RunningCheck),
}

impl ProgramCheck {
    /// Begins it. Where the search needs the CPU too, it ends here.
    pub(crate) fn begin(
        request: &TuneRequest,
        subject: &Subject,
        input: &Input,
        watch: &mut Watch,
    ) -> Result<ProgramCheck, TuneError> {
        let check = PrecheckRequest {
            job: request.job.clone(),
            checks: request.checks,
            program: request.program.clone(),
        };
        let mut begun = ProgramCheck::Running(check.start(subject.workload.clone(), input.seed));
        if request.job.device == Device::Cpu {
            begun.end(watch)?;
        }
        Ok(begun)
    }

    /// It runs no longer, and what it came to has not been looked at.
    pub(crate) fn is_news(&self) -> bool {
        matches!(self, ProgramCheck::Running(check) if check.is_finished())
    }

    /// Waits for its end; what it came to is said once. A fault is an error.
    pub(crate) fn end(&mut self, watch: &mut Watch) -> Result<SanitizerCheck, TuneError> {
        let looked_at = ProgramCheck::Done(SanitizerCheck::Not {
            why: "it found a fault".into(),
        });
        let found = match std::mem::replace(self, looked_at) {
            ProgramCheck::Done(c) => c,
            ProgramCheck::Running(check) => {
                let c = check.result().map_err(TuneError::Undefined)?;
                say(&c, watch);
                c
            }
        };
        *self = ProgramCheck::Done(found.clone());
        Ok(found)
    }
}

fn say(c: &SanitizerCheck, watch: &mut Watch) {
    match (c, c.gap()) {
        (SanitizerCheck::Not { .. }, Some(gap)) => watch(&TuneEvent::Warning(&gap)),
        (_, Some(gap)) => watch(&TuneEvent::Note(&gap)),
        (_, None) => {}
    }
    c.notes().iter().for_each(|n| watch(&TuneEvent::Note(n)));
}
