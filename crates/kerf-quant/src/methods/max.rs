//! MAX: the range of the tensor itself, in every step (Dao 2021, eq. 4.3 and 4.5).
use super::{At, Choice, Entry, Method, Place};

pub(super) const ENTRY: Entry = Entry {
    name: "max",
    what: "the range of the tensor itself",
    source: "Dao 2021, section 4.3.1",
    make: |_, _| Box::new(Max),
};

struct Max;

impl Method for Max {
    fn choose(&mut self, _: &At, place: &Place) -> Choice {
        Choice::at(place.bits)
    }
}
