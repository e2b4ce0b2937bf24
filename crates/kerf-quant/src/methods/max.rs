//! MAX: the range of the tensor itself, in every step (Dao 2021, eq. 4.3 and 4.5).
use super::{ActivationPoint, At, MethodEntry, RangeChoice, RangeMethod};

pub(super) const ENTRY: MethodEntry = MethodEntry {
    name: "max",
    what: "the range of the tensor itself",
    source: "Dao 2021, section 4.3.1",
    make: |_, _| Box::new(Max),
};

struct Max;

impl RangeMethod for Max {
    fn choose(&mut self, _: &At, place: &ActivationPoint) -> RangeChoice {
        RangeChoice::at(place.bits)
    }
}
