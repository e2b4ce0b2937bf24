//! Moving average of the ends of the range over the steps (Jacob et al., 2018, Quantization and Training of Neural
//! Networks for Efficient Integer-Arithmetic-Only Inference): `m = momentum * m + (1 - momentum) * end`. The momentum
//! is not printed in the chapter; 0.99 is the usual value. The first step uses the tensor's own range.
use super::{
    ActivationPoint, At, MethodEntry, MethodNeeds, RangeChoice, RangeMethod, pack, unpack,
};
use crate::decision::{GridRange, PointReport};

pub(super) const ENTRY: MethodEntry = MethodEntry {
    name: "moving-average",
    what: "the range averaged over past steps",
    source: "Jacob et al. 2018",
    make: |n, points| {
        Box::new(MovingAverage {
            momentum: n.momentum,
            ends: vec![None; points],
        })
    },
};

struct MovingAverage {
    momentum: f64,
    ends: Vec<Option<(f64, f64)>>,
}

impl RangeMethod for MovingAverage {
    fn needs(&self) -> MethodNeeds {
        MethodNeeds {
            every_step: true,
            ..MethodNeeds::default()
        }
    }
    fn choose(&mut self, _: &At, place: &ActivationPoint) -> RangeChoice {
        RangeChoice {
            range: self.ends[place.index].map(|(lo, hi)| GridRange::Fixed {
                lo: vec![lo as f32],
                hi: vec![hi as f32],
            }),
            ..RangeChoice::at(place.bits)
        }
    }
    fn learn(&mut self, _: &At, place: &ActivationPoint, r: &PointReport) {
        let (Some(lo), Some(hi)) = (r.min.first(), r.max.first()) else {
            return;
        };
        let (lo, hi) = (f64::from(*lo), f64::from(*hi));
        let m = self.momentum;
        self.ends[place.index] = Some(match self.ends[place.index] {
            None => (lo, hi),
            Some((a, b)) => (m * a + (1.0 - m) * lo, m * b + (1.0 - m) * hi),
        });
    }
    fn save(&self) -> serde_json::Value {
        pack(&self.ends)
    }
    fn load(&mut self, saved: &serde_json::Value) -> bool {
        unpack(&mut self.ends, saved)
    }
}
