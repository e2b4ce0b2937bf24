//! What a search knows of the program before plans run: its counts, and the models of time and error that it goes by.
use super::prepare::SearchSpace;
use crate::coded::{Assembler, Coded};
use crate::counts;
use crate::event::{TuneEvent, Watch};
use crate::full_size::{self, FullCounts};
use crate::launch;
use crate::launch::strategy::TuneStrategy;
use crate::layouts::LEAST;
use crate::models::{self, PredictedTimes};
use crate::prediction::{CostKind, ErrorPredictor, TimePredictor};
use crate::request::TuneRequest;
use crate::subject::Subject;
use crate::tunable::Tunable;
use kerf_pass::Plan;
use kerf_predict::cost::{self, CostError};
use kerf_run::job::{Device, ProgramCounts};
use std::collections::BTreeSet;

/// What was counted of the program as it is, and the model of the device that predicts times from it.
pub(super) struct CountedProgram {
    /// None where the static score is asked for, or nothing could be counted.
    pub counts: Option<ProgramCounts>,
    pub device: Result<cost::CostModel, CostError>,
    /// At the sizes of a GPU, where there is none and they are others.
    pub full: Option<FullCounts>,
    /// Why nothing was counted, or not on the search's own device.
    pub notes: Vec<String>,
}

impl CountedProgram {
    pub fn obtain(request: &TuneRequest, space: &SearchSpace) -> CountedProgram {
        let counted = match request.cost {
            CostKind::Static => Ok(None),
            CostKind::Counts => counts::obtain(request, &space.subject, &space.input).map(Some),
        };
        let mut notes = Vec::new();
        let counts = counted.unwrap_or_else(|e| {
            notes.push(format!(
                "nothing could be counted, so times are by the static score: {e}"
            ));
            None
        });
        if let Some(c) = counts.as_ref().filter(|c| !c.needs_cpu.is_empty()) {
            let why = c.needs_cpu.join("; ");
            notes.push(format!(
                "the program was counted on the CPU executor: {why}"
            ));
        }
        let predicts = request.job.device == Device::Cpu && counts.is_some();
        let full = match predicts {
            true => full_size::count(request, &space.subject, &space.input),
            false => Ok(None),
        };
        let full = full.unwrap_or_else(|e| {
            notes.push(format!(
                "times are of the sizes that ran, not of a GPU's: {e}"
            ));
            None
        });
        CountedProgram {
            counts,
            full,
            device: cost::CostModel::new(&request.profile),
            notes,
        }
    }
}

impl CountedProgram {
    /// Kernels whose predicted part of the time is below what is taken for a gain, by the names that plans have for them.
    pub fn minor_kernels(&self, subject: &Subject) -> BTreeSet<String> {
        let (Some(counts), Ok(device)) = (&self.counts, &self.device) else {
            return BTreeSet::new();
        };
        let module = subject.program.module().ok();
        let work = counts::work(counts);
        let predicted = module.and_then(|m| device.predict(&m, &Plan::default(), &work).ok());
        let Some(predicted) = predicted else {
            return BTreeSet::new();
        };
        let seconds = |symbol: Option<&str>| -> f64 {
            let launches = predicted.launches.iter();
            let mine = launches.filter(|l| symbol.is_none_or(|s| l.symbol == s));
            mine.map(|l| l.repeats as f64 * l.device_seconds).sum()
        };
        let least = LEAST * seconds(None);
        let minor = subject.kernels.iter();
        let minor = minor.filter(|k| seconds(Some(&k.symbol)) < least);
        minor.map(|k| k.name.clone()).collect()
    }
}

/// The assembler, where machine code is at hand of all plans: none of double words is read, and times of two models are no
/// ratio.
fn readable_code<'r>(request: &'r TuneRequest, tunable: &Tunable) -> Option<&'r Assembler> {
    let assembler = request.assembler.as_ref();
    assembler.filter(|_| !tunable.has_double_words())
}

/// The models of time and error that the search goes by.
pub(super) struct SearchModels<'s> {
    pub cost: Box<dyn TimePredictor + 's>,
    /// What judges plans where nothing is measured, if it is another one.
    pub judge: Option<Box<dyn TimePredictor + 's>>,
    /// Times from machine code, beside them.
    pub code: Option<Coded<'s>>,
    pub errors: Box<dyn ErrorPredictor>,
    /// Why it is not the cost model that was asked for.
    pub notes: Vec<String>,
}

impl<'s> SearchModels<'s> {
    /// Those of a search without a GPU; none with one, or where nothing was counted.
    fn predicted(
        request: &'s TuneRequest,
        space: &'s SearchSpace,
        counted: &'s CountedProgram,
    ) -> Option<PredictedTimes<'s>> {
        let own = counted
            .counts
            .as_ref()
            .filter(|_| request.job.device == Device::Cpu)?;
        let device = counted.device.as_ref().ok()?;
        let (subject, tunable) = (&space.subject, &space.tunable);
        models::predicted_times(
            (subject, tunable),
            device,
            (own, counted.full.as_ref()),
            launch::prepare::recount(request, subject, space.input, counted.full.as_ref()),
            readable_code(request, tunable),
        )
        .ok()
    }

    pub fn new(
        request: &'s TuneRequest,
        space: &'s SearchSpace,
        counted: &'s CountedProgram,
        watch: &mut Watch,
    ) -> SearchModels<'s> {
        let (subject, tunable) = (&space.subject, &space.tunable);
        let counts = counted.counts.as_ref();
        if let Some(all) = Self::predicted(request, space, counted) {
            let full = counted.full.as_ref().map(|f| &f.counts);
            let note = models::unfilled(subject, &counted.device, full.or(counts));
            note.iter().for_each(|n| watch(&TuneEvent::Note(n)));
            return SearchModels {
                cost: Box::new(all.guide),
                judge: all.judge.map(|j| -> Box<dyn TimePredictor> { Box::new(j) }),
                code: None,
                errors: models::sensitivity(subject, tunable, counts),
                notes: Vec::new(),
            };
        }
        let (cost, note) = models::cost_model(
            subject,
            tunable,
            &request.profile,
            &counted.device,
            counts,
            launch::prepare::recount(request, subject, space.input, counted.full.as_ref()),
        );
        if request.job.device == Device::Cpu {
            let note = models::unfilled(subject, &counted.device, counts);
            note.iter().for_each(|n| watch(&TuneEvent::Note(n)));
        }
        // Where nothing is measured, times are the predictions, and one model makes them.
        let measures =
            request.job.device == Device::Cuda && request.strategy == TuneStrategy::GUIDED;
        let assembler = readable_code(request, tunable).filter(|_| measures);
        let code = models::code_model(
            subject,
            tunable,
            &counted.device,
            counts,
            assembler,
            &mut |done, of| watch(&TuneEvent::Compiled { done, of }),
        );
        SearchModels {
            cost,
            judge: None,
            code,
            errors: models::sensitivity(subject, tunable, counts),
            notes: note.into_iter().collect(),
        }
    }
}
