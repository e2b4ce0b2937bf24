//! Moving average of the ends of the range over the steps (Jacob et al., 2018, Quantization and Training of Neural
//! Networks for Efficient Integer-Arithmetic-Only Inference): `m = momentum * m + (1 - momentum) * end`. The momentum
//! is not printed in the chapter; 0.99 is the usual value. The first step uses the tensor's own range.
use super::{At, Choice, Entry, Method, Needs, Place, pack, unpack};
use crate::decision::{PointReport, Range};

pub(super) const ENTRY: Entry = Entry {
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

impl Method for MovingAverage {
    fn needs(&self) -> Needs {
        Needs {
            every_step: true,
            ..Needs::default()
        }
    }
    fn choose(&mut self, _: &At, place: &Place) -> Choice {
        Choice {
            range: self.ends[place.index].map(|(lo, hi)| Range::Fixed {
                lo: vec![lo as f32],
                hi: vec![hi as f32],
            }),
            ..Choice::at(place.bits)
        }
    }
    fn learn(&mut self, _: &At, place: &Place, r: &PointReport) {
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
