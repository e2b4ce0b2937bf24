//! PACT: a learned clipping level alpha for each result of a ReLU (Choi et al., 2018): the range is [0, alpha],
//! dy/dalpha = 1 where x >= alpha and 0 elsewhere, and alpha decays. Other activations have their own range. Alpha
//! begins at the first batch's highest value, follows the gradient at the network's learning rate, and moves by a
//! tenth of itself in a step at most, which the publication does not need at its small rates.
use super::{
    ActivationPoint, At, MethodEntry, MethodNeeds, RangeChoice, RangeMethod, pack, unpack,
};
use crate::decision::{GridRange, PointReport};

pub(super) const ENTRY: MethodEntry = MethodEntry {
    name: "pact",
    what: "a learned upper end for results of ReLUs",
    source: "Choi et al. 2018",
    make: |n, points| {
        Box::new(Pact {
            decay: n.decay,
            alpha: vec![None; points],
        })
    },
};

struct Pact {
    decay: f64,
    alpha: Vec<Option<f64>>,
}

impl RangeMethod for Pact {
    fn needs(&self) -> MethodNeeds {
        MethodNeeds::learning()
    }
    fn choose(&mut self, _: &At, place: &ActivationPoint) -> RangeChoice {
        RangeChoice {
            range: self.alpha[place.index].map(|a| GridRange::Fixed {
                lo: vec![0.0],
                hi: vec![a as f32],
            }),
            ..RangeChoice::at(place.bits)
        }
    }
    fn learn(&mut self, at: &At, place: &ActivationPoint, r: &PointReport) {
        if !place.relu {
            return;
        }
        let max = r.max.first().map_or(0.0, |m| f64::from(*m));
        let slot = &mut self.alpha[place.index];
        match (slot.as_mut(), r.gradient) {
            (None, _) => *slot = Some(max).filter(|m| *m > 0.0),
            (Some(a), Some(g)) => {
                let change = f64::from(at.rate) * (g.above + self.decay * *a);
                *a -= change.clamp(-0.1 * *a, 0.1 * *a);
            }
            _ => {}
        }
    }
    fn save(&self) -> serde_json::Value {
        pack(&self.alpha)
    }
    fn load(&mut self, saved: &serde_json::Value) -> bool {
        unpack(&mut self.alpha, saved)
    }
}
