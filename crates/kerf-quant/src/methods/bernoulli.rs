//! Bernoulli noise: a value goes to one of its two neighbours on the grid, to the upper one with the probability of
//! its fraction (Polino, Pascanu and Alistarh, 2018, Model compression via distillation and quantization). The chapter
//! says that Bernoulli noise is added to the output of the quantization and gives no formula; this is the cited one.
//! Evaluation rounds to nearest.
use super::{ActivationPoint, At, MethodEntry, RangeChoice, RangeMethod};
use crate::decision::Noise;

pub(super) const ENTRY: MethodEntry = MethodEntry {
    name: "bernoulli",
    what: "rounding up with the probability of the fraction",
    source: "Polino et al. 2018",
    make: |_, _| Box::new(Bernoulli),
};

struct Bernoulli;

impl RangeMethod for Bernoulli {
    fn choose(&mut self, _: &At, place: &ActivationPoint) -> RangeChoice {
        RangeChoice {
            noise: Noise::Rounding,
            ..RangeChoice::at(place.bits)
        }
    }
}
