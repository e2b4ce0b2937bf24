//! ScheduleA: activations at 32, 16, 8 bits one after the other, each for an equal part of the training (Zhuang et al.,
//! 2018, Towards effective low-bitwidth convolutional neural networks). For fewer bits than 8 these follow as one more
//! stage. The chapter does not say how long a stage is.
use super::{ActivationPoint, At, MethodEntry, RangeChoice, RangeMethod};

pub(super) const ENTRY: MethodEntry = MethodEntry {
    name: "schedule-a",
    what: "32, 16, 8 bits, then those asked for",
    source: "Zhuang et al. 2018",
    make: |_, _| Box::new(ScheduleA),
};

struct ScheduleA;

impl RangeMethod for ScheduleA {
    fn choose(&mut self, at: &At, place: &ActivationPoint) -> RangeChoice {
        let higher = [32.0, 16.0, 8.0].into_iter().filter(|b| *b > place.bits);
        let stages: Vec<f64> = higher.chain([place.bits]).collect();
        let stage = (at.progress() * stages.len() as f64) as usize;
        RangeChoice::at(stages[stage.min(stages.len() - 1)])
    }
}
