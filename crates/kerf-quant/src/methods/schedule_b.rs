//! ScheduleB: 32 bits in the first epoch, one fewer in each that follows, down to those asked for (Dao 2021, section
//! 4.5.1). A training too short for that goes down by more in each epoch, so that at least the last one is at the bits
//! asked for; the chapter's trainings are longer.
use super::{ActivationPoint, At, MethodEntry, RangeChoice, RangeMethod};

pub(super) const ENTRY: MethodEntry = MethodEntry {
    name: "schedule-b",
    what: "32 bits, one fewer in each epoch",
    source: "Dao 2021, section 4.5.1",
    make: |_, _| Box::new(ScheduleB),
};

struct ScheduleB;

impl RangeMethod for ScheduleB {
    fn choose(&mut self, at: &At, place: &ActivationPoint) -> RangeChoice {
        let way = 32.0 - place.bits;
        let fall = match at.epochs {
            0 | 1 => way,
            n => (way / (n - 1) as f64).max(1.0),
        };
        let bits = match at.epochs {
            0 | 1 => place.bits,
            _ => 32.0 - fall * at.epoch as f64,
        };
        RangeChoice::at(bits.max(place.bits))
    }
}
