//! Quant-Noise: only a random part of the values is quantized in training, all in evaluation (Fan et al., 2020). The
//! publication does that to weights; the chapter (section 4.5) to activations of convolutions and matrices with a
//! part of 20 %, which is done here; other activations are quantized whole.
use super::{ActivationPoint, At, MethodEntry, RangeChoice, RangeMethod};
use crate::decision::Noise;

pub(super) const ENTRY: MethodEntry = MethodEntry {
    name: "quant-noise",
    what: "a random fifth of the values is quantized",
    source: "Fan et al. 2020",
    make: |n, _| Box::new(QuantNoise(n.portion as f32)),
};

struct QuantNoise(f32);

impl RangeMethod for QuantNoise {
    fn choose(&mut self, _: &At, place: &ActivationPoint) -> RangeChoice {
        RangeChoice {
            noise: match place.matrices {
                true => Noise::Portion(self.0),
                false => Noise::None,
            },
            ..RangeChoice::at(place.bits)
        }
    }
}
